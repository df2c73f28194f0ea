"""Notebook 04, Theorem 2: SupBTC's regret, and Lemmas 3, 5 and 6 along its runs."""

from __future__ import annotations

from .ingredients import (
    BTC_EXACT,
    BTC_HALF,
    BTC_HALF_NARROW,
    LITTLE_PARETO,
    LITTLE_T,
    SECTION6_T,
    audit_of,
    four_seeds,
    small_world,
)

EXPERIMENTS = (
    four_seeds(
        name="theorem2",
        what="Theorem 2: SupBTC with the printed constants where it learns, to 10⁷ plays",
        worlds=(small_world(LITTLE_T),),
        policies=(BTC_EXACT,),
        horizons=tuple(10**k for k in range(4, 8)),
    ),
    four_seeds(
        name="theorem2_half",
        what="Theorem 2 without a variance, ε = ½, with the printed widths and a fifth of them",
        worlds=(small_world(LITTLE_PARETO),),
        policies=(BTC_HALF, BTC_HALF_NARROW),
        horizons=tuple(10**k for k in range(4, 8)),
    ),
    four_seeds(
        name="theorem2_dims",
        what="Theorem 2: SupBTC's regret as the dimension grows",
        worlds=tuple(small_world(LITTLE_T, dim) for dim in (2, 4, 8, 16)),
        policies=(BTC_EXACT,),
        horizons=(10**6,),
    ),
    audit_of("btc", BTC_EXACT, 10**4, 500, small_world(LITTLE_T)),
    audit_of("btc_long", BTC_EXACT, 10**5, 20, small_world(LITTLE_T), SECTION6_T),
)
