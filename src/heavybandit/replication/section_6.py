"""Notebook 06, Section 6: its experiments, Figure 1, and what a policy does seen from outside.

Which arms a policy plays, and what its payoffs would tell it: the ranks and the ridge estimate are
worked out from the contexts, the arms and the payoffs alone, in the same way for every policy,
whatever it makes of them itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..pipeline.recipes import recipe
from ..pipeline.spec import Experiment
from ..policy import CONTEXT_STREAM, NOISE_STREAM, Floats, stream
from .ingredients import CONTROL_POLICIES, PAPER_POLICIES, SECTION6_T, totals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..engine import Compiled
    from ..engine.state import Ints
    from ..simulate import Run, World

SECTION6 = (SECTION6_T, recipe("section6", noise="pareto"))
EXPERIMENTS = (
    Experiment(
        name="section6",
        what="Figure 1: both noises, the six algorithms and four controls",
        worlds=SECTION6,
        policies=(*PAPER_POLICIES, *CONTROL_POLICIES, recipe("Blind")),
        horizons=(10**4, 10**5, 10**6),
        seeds=10,
        first_seed=100,  # 0 to 9 were looked at before the rules were settled
        checkpoints=50,
    ),
    totals(
        name="section6_short",
        what="Section 6 at 10⁴ plays, where the two algorithms are close: 400 seeds",
        worlds=SECTION6,
        policies=(*PAPER_POLICIES[:2], recipe("Uniform")),
        horizons=(10**4,),
        seeds=400,
        first_seed=1_000,
    ),
    totals(
        name="section6_close",
        what="Section 6 at 10⁵ plays, where SupBMM and uniform play are close: 100 seeds",
        worlds=SECTION6,
        policies=(PAPER_POLICIES[0], recipe("Uniform")),
        horizons=(10**5,),
        seeds=100,
        first_seed=1_000,
    ),
    totals(
        name="section6_centred",
        what="Section 6 with the Pareto noise's mean taken away",
        worlds=(recipe("section6", noise="pareto-centred"),),
        policies=(*PAPER_POLICIES, *CONTROL_POLICIES),
        horizons=(10**4, 10**5),
        seeds=10,
        first_seed=100,
    ),
)

NOISES = {"student-t": "Student's t noise", "pareto": "Pareto noise"}
HORIZONS = EXPERIMENTS[0].horizons
COMPARED = ("SupBMM", "SupBTC", "MENU", "MoM", "CRT", "TOFU")  # the six algorithms of Figure 1


def figure_1(curves: Mapping[tuple[str, int, str], tuple[Ints, Floats]]) -> Figure:
    """The paper's Figure 1: mean cumulative regret against plays, one panel per noise and horizon.

    curves   the plays and the (seeds, checkpoints) regrets of each noise, horizon and policy
    """
    from . import plotting

    figure, axes = plotting.panels(len(HORIZONS), down=len(NOISES), size=(12.0, 7.0))
    for one, (noise, T) in zip(axes, product(NOISES, HORIZONS), strict=True):
        plotting.draw_means(one, {policy: curves[noise, T, policy] for policy in COMPARED})
        one.set_title(f"{NOISES[noise]}, $T=10^{{{len(str(T)) - 1}}}$", fontsize=10)
        one.ticklabel_format(style="sci", scilimits=(0, 4), axis="both")
    for one in axes[len(HORIZONS) :]:
        one.set_xlabel("plays")
    for one in axes[:: len(HORIZONS)]:
        one.set_ylabel("regret")
    return figure


BLOCK = 4096  # rounds whose contexts are drawn at a time
TRIALS = 2_000  # rounds on which an estimate is tried afterwards


@dataclass(frozen=True)
class Habits:
    """One run: how often each rank was played, and what could have been known at its end.

    The trials are rounds of the same world that the policy has not seen.
    """

    run: Run
    by_mean: Ints  # (K,) rounds in which the arm played was the best, the second best, …
    by_width: Ints  # (K,) … the widest by √(xᵀA⁻¹x) over all rounds before, the second widest, …
    half_width: float  # what its widths have come down to: mean over the trials' best arms
    error: float  # how far ridge on its own data is off there: mean |xᵀ(θ̂ − θ*)|
    greedy_cost: float  # what playing by that ridge estimate alone would cost a play

    @property
    def widest(self) -> float:
        """The share of rounds in which it played the widest arm."""
        return float(self.by_width[0] / self.by_width.sum())

    @property
    def mean_rank(self) -> float:
        """The mean rank by true mean of the arm played: 1 is the best, (K+1)/2 uniform play."""
        return float(1 + self.by_mean @ np.arange(len(self.by_mean)) / self.by_mean.sum())


def habits(policy: Compiled, world: World, seed: int = 0) -> Habits:
    """Let a fresh policy play all its rounds, and look at what it did."""
    from ..engine import offers
    from ..simulate import simulate

    run = simulate(policy, world, seed, checkpoints=1, keep_arms=True)
    assert run.arms is not None
    K, d, plays = world.n_arms, world.dim, policy.plays
    contexts, noise = stream(seed, CONTEXT_STREAM), stream(seed, NOISE_STREAM)
    theta = np.asarray(world.theta_star(seed))
    A_inv, b = np.eye(d), np.zeros(d)
    by_mean, by_width = np.zeros((2, K), dtype=np.int64)
    ranks = np.empty(BLOCK, dtype=np.int64)
    for first in range(0, policy.rounds, BLOCK):
        n = min(BLOCK, policy.rounds - first)
        X = np.ascontiguousarray(offers.contexts(world, contexts, first, n, plays))
        arms = run.arms[first : first + n]
        means, played = estimates(X, theta), np.arange(n)
        chosen = means[played, arms]
        by_mean += np.bincount((means > chosen[:, None]).sum(axis=1), minlength=K)
        scratch = np.empty(d), np.empty((d, K)), np.empty(K)
        offers.rank_by_width(X, arms, A_inv, ranks[:n], *scratch)
        by_width += np.bincount(ranks[:n], minlength=K)
        draws = offers.draw(world.noise, noise, n * plays)
        paid = world.noise.payoffs(np.repeat(chosen, plays), draws)
        b += np.einsum("t,td->d", paid.reshape(n, plays).mean(axis=1), X[played, arms])
    X = offers.contexts(world, contexts, policy.rounds, TRIALS, plays)
    ridge = np.einsum("de,e->d", A_inv, b)
    return Habits(run, by_mean, by_width, *_at_the_end(policy, X, theta, A_inv, ridge))


def estimates(X: Floats, theta: Floats) -> Floats:
    """xᵀθ of all contexts; by einsum, whose last bits are the same on every processor."""
    return np.asarray(np.einsum("...d,d->...", X, theta))


def _at_the_end(
    policy: Compiled, X: Floats, theta: Floats, A_inv: Floats, ridge: Floats
) -> tuple[float, float, float]:
    """Half-width, error and greedy cost; see `Habits`."""
    from ..engine.decide import width_factor
    from ..engine.state import KIND

    state = policy._state
    factor = width_factor(state.num, state.clock[KIND], float(policy.rounds))  # of √(xᵀA⁻¹x)
    means, trial = estimates(X, theta), np.arange(len(X))
    best = X[trial, means.argmax(axis=1)]
    c = np.sqrt(np.einsum("td,de,te->t", best, A_inv, best))
    greedy = means[trial, estimates(X, ridge).argmax(axis=1)]
    return (
        float(max(factor, 0.0) * c.mean()),  # Blind's factor is a sign
        float(np.abs(estimates(best, ridge - theta)).mean()),
        float((means.max(axis=1) - greedy).mean()),
    )
