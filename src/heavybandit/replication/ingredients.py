"""What the experiments of several notebooks are made of: policies, noises and a small world."""

from __future__ import annotations

from functools import partial

from ..pipeline.recipes import CONTROLS, Recipe, recipe
from ..pipeline.spec import Experiment
from .showing import power

four_seeds = partial(Experiment, seeds=4, checkpoints=20, curve_seeds=1)
"""Long runs, few of them; of one the curve is kept, of all the regret."""
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

    Contexts of random direction, so that uniform play costs about 0.7 per play in two dimensions.
    """
    return recipe("symmetric", noise=law, n_arms=4, dim=dim)


def learning(
    theorem: int, policy: str, longest: int, for_half: str, *halves: Recipe
) -> tuple[Experiment, ...]:
    """Theorem 1 or 2 where its policy learns: as T grows, the same for ε = ½, and as d grows.

    for_half   what is run for ε = ½, in words
    halves     and the policies that run there
    """
    exact, name = recipe(policy, v="exact"), f"theorem{theorem}"
    horizons = tuple(10**k for k in range(4, longest + 1))
    learns = f"with the printed constants where it learns, to {power(horizons[-1])} plays"
    wholly = f"Theorem {theorem}: {policy} {learns}"
    half = f"Theorem {theorem} without a variance, ε = ½, {for_half}"
    rare, dims = small_world(LITTLE_PARETO), tuple(small_world(dim=d) for d in (2, 4, 8, 16))
    by_dim = f"Theorem {theorem}: {policy}'s regret as the dimension grows"
    return (
        four_seeds(name, wholly, (small_world(),), (exact,), horizons),
        four_seeds(f"{name}_half", half, (rare,), halves, horizons),
        four_seeds(f"{name}_dims", by_dim, dims, (exact,), horizons[-2:-1]),
    )


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
