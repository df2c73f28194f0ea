"""What the experiments of several notebooks are made of: policies, noises and a small world."""

from __future__ import annotations

from functools import partial

from ..pipeline.recipes import CONTROLS, Recipe, recipe
from ..pipeline.spec import Experiment

four_seeds = partial(Experiment, seeds=4, checkpoints=20)
"""Long runs, few of them."""
totals = partial(Experiment, checkpoints=1, curve_seeds=0)
"""Runs of which the regret at the end is all that is kept."""

PAPER_POLICIES = tuple(
    recipe(name, v="printed", delta=0.01)
    for name in ("SupBMM", "SupBTC", "MoM", "CRT", "MENU", "TOFU")
)
CONTROL_POLICIES = tuple(recipe(name) for name in CONTROLS)


SECTION6_T = recipe("section6", noise="student-t")
LITTLE_T = recipe("StudentT", df=3.0, scale=0.03)
LITTLE_PARETO = recipe("SymmetricPareto", shape=1.6, scale=0.05)  # no variance; ε = ½


def small_world(law: Recipe = LITTLE_T, dim: int = 2) -> Recipe:
    """Where the printed constants do learn: few dimensions and arms, gaps that matter, small noise.

    Contexts of random direction, so that uniform play costs about 0.7 a play in two dimensions.
    """
    return recipe("symmetric", noise=law, n_arms=4, dim=dim)


def audit_of(name: str, policy: Recipe, horizon: int, seeds: int, *worlds: Recipe) -> Experiment:
    return Experiment(
        name=f"audit_{name}",
        what=f"Lemmas 3, 5 and 6 along {policy.name}'s trajectories, {horizon:.0e} plays, "
        f"ε = {dict(policy.params).get('eps', 1.0):g}, {seeds} seeds",
        worlds=worlds,
        policies=(policy,),
        horizons=(horizon,),
        seeds=seeds,
        checkpoints=1,
        curve_seeds=seeds,
        audit=True,
    )
