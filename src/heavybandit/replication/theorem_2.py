"""Notebook 04, Theorem 2: SupBTC's regret, and Lemmas 3, 5 and 6 along its runs."""

from __future__ import annotations

from ..pipeline.recipes import recipe
from .ingredients import LITTLE_PARETO, SECTION6_T, audit_of, four_seeds, small_world

EXACT = recipe("SupBTC", v="exact")
HALF = recipe("SupBTC", v="exact", eps=0.5)
NARROW = recipe("SupBTC", v="exact", eps=0.5, width_scale=0.2)
EXPERIMENTS = (
    four_seeds(
        name="theorem2",
        what="Theorem 2: SupBTC with the printed constants where it learns, to 10⁷ plays",
        worlds=(small_world(),),
        policies=(EXACT,),
        horizons=tuple(10**k for k in range(4, 8)),
    ),
    four_seeds(
        name="theorem2_half",
        what="Theorem 2 without a variance, ε = ½, with the printed widths and a fifth of them",
        worlds=(small_world(LITTLE_PARETO),),
        policies=(HALF, NARROW),
        horizons=tuple(10**k for k in range(4, 8)),
    ),
    four_seeds(
        name="theorem2_dims",
        what="Theorem 2: SupBTC's regret as the dimension grows",
        worlds=tuple(small_world(dim=dim) for dim in (2, 4, 8, 16)),
        policies=(EXACT,),
        horizons=(10**6,),
    ),
    audit_of("btc", EXACT, 10**4, 500, small_world()),
    audit_of("btc_long", EXACT, 10**5, 20, small_world(), SECTION6_T),
)
