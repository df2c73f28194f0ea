"""Lemma 4: given a stage's contexts, are its payoffs independent of them?

If they are, the noise of a stage's payoffs, weighed by anything that its contexts determine, has
mean 0. `stage_bias` weighs it as the stage's own ridge estimate of θ*ᵀθ̂ does: where an algorithm
goes on with an arm because it paid well by chance, and leaves it because it paid badly, that
estimate ends up too low, as sample means in bandits do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import SupBTC
from ..engine.state import N_SUSPECTS
from ..policy import Floats, whole
from ..simulate import simulate


def stage_bias(policy: SupBTC, theta: Floats, stage: int = 1) -> float:
    """θ*ᵀA⁻¹Vᵀη over the norm of its weights, for the noise η of a stage of a SupBTC that played.

    Mean 0 and the noise's own variance if η is independent of V.
    """
    if whole("stage", stage, 1) > policy.n_stages:
        raise ValueError(f"stage must be at most {policy.n_stages}, got {stage}")
    s, state = stage - 1, policy._state
    kept = state.suspects[s, : state.stage[s, N_SUSPECTS]]
    payoffs = state.total[s] + kept[:, :-1].T @ kept[:, -1]  # Vᵀy
    weights = state.A_inv[s] @ theta
    spread = weights @ state.btc.gram[s] @ weights
    if not spread > 0:
        raise ValueError(f"stage must be one that has rounds; stage {stage} has none")
    return float(weights @ (payoffs - state.btc.gram[s] @ theta) / np.sqrt(spread))


def biases(world: Any, explore: str, seeds: range, stage: int = 1, **settings: Any) -> Floats:
    """`stage_bias` of a stage after a whole run, for each seed."""
    found = []
    for seed in seeds:
        policy = SupBTC(n_arms=world.n_arms, dim=world.dim, explore=explore, seed=seed, **settings)
        simulate(policy, world, seed=seed, checkpoints=1)
        found.append(stage_bias(policy, world.theta_star(seed), stage))
    return np.array(found)
