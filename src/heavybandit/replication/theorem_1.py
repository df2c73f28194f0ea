"""Notebook 03, Theorem 1: SupBMM's regret, Lemmas 3, 5 and 6 along its runs, and Lemma 4.

Lemma 4 says that a stage's payoffs are independent given its contexts. If they are, their noise,
weighed by anything that the contexts determine, has mean 0. `stage_bias` weighs it as the stage's
own ridge estimate of θ*ᵀθ̂ does: where an algorithm goes on with an arm because it paid well by
chance, and leaves it because it paid badly, that estimate ends up too low, as sample means in
bandits do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import whole
from ..pipeline.recipes import recipe
from ..policy import Floats
from .ingredients import (
    CONTROL_POLICIES,
    LITTLE_PARETO,
    PAPER_POLICIES,
    SECTION6_T,
    audit_of,
    four_seeds,
    learning,
    small_world,
)

EXACT, HALF = recipe("SupBMM", v="exact"), recipe("SupBMM", v="exact", eps=0.5)
EXPERIMENTS = (
    *learning(1, "SupBMM", 8, "to 10⁸ plays", HALF),
    four_seeds(
        name="theorem_controls",
        what="controls in the worlds of Theorems 1 and 2",
        worlds=(small_world(), small_world(LITTLE_PARETO)),
        policies=CONTROL_POLICIES,
        horizons=(10**4, 10**5, 10**6),
    ),
    four_seeds(
        name="theorem_section6",
        what="Theorems 1 and 2 on Section 6's instance, to 10⁶ plays",
        worlds=(SECTION6_T,),
        policies=(*PAPER_POLICIES[:2], *CONTROL_POLICIES),
        horizons=(10**4, 10**5, 10**6),
    ),
    audit_of("bmm", EXACT, 10**5, 500, small_world()),
    audit_of("bmm_half", HALF, 10**5, 500, small_world(LITTLE_PARETO)),
    audit_of("bmm_long", EXACT, 10**6, 20, small_world(), SECTION6_T),
)


def stage_bias(policy: Any, theta: Floats, stage: int = 1) -> float:
    """θ*ᵀA⁻¹Vᵀη over the norm of its weights, for the noise η of a stage of a SupBTC that played.

    Mean 0 and the noise's own variance if η is independent of V.
    """
    from ..engine.state import N_SUSPECTS

    if whole("stage", stage, 1) > policy.n_stages:
        raise ValueError(f"stage must be at most {policy.n_stages}, got {stage}")
    s, state = stage - 1, policy._state
    kept = state.suspects[s, : state.stage[s, N_SUSPECTS]]
    # By einsum, whose last bits, unlike BLAS's, are the same on every processor.
    payoffs = state.total[s] + np.einsum("kd,k->d", kept[:, :-1], kept[:, -1])  # Vᵀy
    weights = np.einsum("de,e->d", state.A_inv[s], theta)
    spread = np.einsum("d,de,e->", weights, state.btc.gram[s], weights)
    if not spread > 0:
        raise ValueError(f"stage must be one that has rounds; stage {stage} has none")
    noise = payoffs - np.einsum("de,e->d", state.btc.gram[s], theta)  # Vᵀη
    return float(np.einsum("d,d->", weights, noise) / np.sqrt(spread))


def biases(world: Any, explore: str, seeds: range, stage: int = 1, **settings: Any) -> Floats:
    """`stage_bias` of a stage after a whole run, for each seed."""
    from ..engine import SupBTC
    from ..simulate import simulate

    found = []
    for seed in seeds:
        policy = SupBTC(n_arms=world.n_arms, dim=world.dim, explore=explore, seed=seed, **settings)
        simulate(policy, world, seed=seed, checkpoints=1)
        found.append(stage_bias(policy, world.theta_star(seed), stage))
    return np.array(found)


@dataclass(frozen=True)
class Seen:
    """What a stage of a literal master saw when a round visited it."""

    round: int  # t
    stage: int  # s
    arms: NDArray[np.intp]  # Â_s, the arms that entered it
    r_hat: Floats  # their estimates …
    w: Floats  # … and half-widths
    means: Floats  # (K,) xᵀθ* of all arms on offer


def follow(policy: Any, world: Any, seed: int = 0) -> list[Seen]:
    """Let a master of `heavybandit.paper` play all its rounds, and keep what every stage saw.

    A round enters stage 1 first and each later stage at most once, so that the n-th call of the
    basic algorithm in a round belongs to stage n.
    """
    from ..simulate import simulate

    theta, visits, basic, choose = world.theta_star(seed), [], policy._basic, policy._choose
    calls: list[tuple[Floats, Floats, Floats]] = []

    def noted(V: Floats, Y: Floats, X: Floats) -> tuple[Floats, Floats]:
        r_hat, w = basic(V, Y, X)
        calls.append((X, r_hat, policy.width_scale * w))
        return r_hat, w

    def chosen(X: Floats, u: float) -> int:
        calls.clear()
        arm = choose(X, u)
        for stage, (offered, r_hat, w) in enumerate(calls, 1):
            arms = np.flatnonzero((X[:, None] == offered).all(axis=2).any(axis=1))
            visits.append(Seen(policy.round, stage, arms, r_hat, w, X @ theta))
        return int(arm)

    policy._basic, policy._choose = noted, chosen
    simulate(policy, world, seed, checkpoints=1)
    return visits
