"""Notebook 06, Section 6: its experiments, Figure 1, and what a policy does seen from outside.

Which arms a policy plays, and what its payoffs would tell it: the ranks and the ridge estimate are
worked out from the contexts, the arms and the payoffs alone, in the same way for every policy,
whatever it makes of them itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import theory
from ..instances import PRINTED_BOUNDS
from ..pipeline.recipes import recipe
from ..policy import CONTEXT_STREAM, NOISE_STREAM, Floats, stream
from .counterfactuals import Beside
from .ingredients import CONTROL_POLICIES, PAPER_POLICIES, SECTION6_T, totals
from .regrets import Runs, paired
from .showing import fixed, power

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..engine import Compiled
    from ..engine.state import Ints
    from ..simulate import Run, World

SECTION6 = (SECTION6_T, recipe("section6", noise="pareto"))
EXPERIMENTS = (
    Beside(
        name="section6",
        what="Figure 1: both noises, the six algorithms and four controls, and copies of them that "
        "are shown payoffs of 0 or noise alone",
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
    Beside(
        name="section6_rounds",
        what="Section 6 with T counted in rounds: SupBMM, 10⁴ rounds of 204 plays and 10⁵ of 225",
        worlds=SECTION6,
        policies=PAPER_POLICIES[:1],
        horizons=(204 * 10**4, 225 * 10**5),
        seeds=3,
        first_seed=100,
        checkpoints=50,
    ),
)

FOUND = (
    "With the constants that the paper prints, and the first arm whose confidence interval is "
    'still wide as "some arm", its two algorithms choose exactly the same arms in the experiment '
    "of Section 6 when every payoff is replaced by 0, at 10⁴, 10⁵ and 10⁶ plays; so their lead "
    "over the four baselines does not come from learning."
)
"""What was found, in one sentence: the same words in the chapter, in the ledger and on every page
that tells it."""

NOISES = {"student-t": "Student's t noise", "pareto": "Pareto noise"}
HORIZONS = EXPERIMENTS[0].horizons
COMPARED = ("SupBMM", "SupBTC", "MENU", "MoM", "CRT", "TOFU")  # the six algorithms of Figure 1
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB", "Blind")
PLAIN = {"Uniform": "uniform play", "GreedyRidge": "greedy ridge"}
"""What figures and tables call the controls."""

Ends = dict[str, tuple[float, float, str]]
"""Where a curve ends, and its colour, by name."""
Curves = Mapping[tuple[str, int, str], tuple["Ints", Floats]]
"""The plays and the (seeds, checkpoints) regrets of each noise, horizon and policy."""

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


def width_factor(policy: str, noise: str, horizon: float) -> float:
    """α + 1 of SupBMM or SupBTC with the printed bound on this noise's moment."""
    central, raw = PRINTED_BOUNDS[noise]
    if policy == "SupBMM":
        return float(theory.alpha_bmm(1.0, central, 1.0)) + 1
    return float(theory.alpha_btc(1.0, horizon, 20, raw, 0.01, 1.0)) + 1


def gap(one: Runs, other: Runs, places: int = 4) -> str:
    """A paired difference in cost and its limit, as tables show them."""
    mean, limit = paired(one, other)
    return f"{fixed(mean, places)} ± {fixed(limit, places)}"


# The figures of the notebook. Regrets and plays are in thousands.

UNDER = ("CRT", "SupBMM")  # broad and pale, since TOFU and uniform play would hide them


def _draw(axes: Axes, curves: Mapping[str, tuple[Ints, Floats]], grey: bool = False) -> Ends:
    """Mean curves; returns where each ends. Markers are set apart, so that none hides another."""
    from . import plotting

    ends = {}
    for i, (policy, (plays, table)) in enumerate(curves.items()):
        look = plotting.look(policy)
        x, y = np.r_[0, plays] / 1000, np.r_[0.0, table.mean(axis=0)] / 1000
        colour = "#BBBBBB" if grey else look.colour
        if policy in UNDER and not grey:
            axes.plot(x, y, "-", color=colour, linewidth=5, alpha=0.4, solid_capstyle="butt")
        style: dict[str, Any] = {
            "linewidth": 1.3,
            "zorder": 2.2 + (policy == "Uniform"),
            "markersize": 4.5,
        }
        marks: dict[str, Any] = {
            "marker": "" if grey else look.marker,
            "markevery": (0.06 + 0.035 * i, 0.25),
        }
        axes.plot(x, y, look.line, color=colour, clip_on=False, **style, **marks)
        ends[PLAIN.get(policy, policy)] = float(x[-1]), float(y[-1]), colour
    return ends


def figure_1(curves: Curves) -> Figure:
    """The paper's Figure 1 at three horizons: cumulative regret against plays, with two controls.

    One row per horizon, one column per noise.
    """
    from . import plotting

    size = (plotting.WIDE, 9.0)
    figure, axes = plotting.panels(len(NOISES), down=len(HORIZONS), size=size, sharey="row")
    for one, (T, noise) in zip(axes, product(HORIZONS, NOISES), strict=True):
        shown = (*COMPARED, "Uniform", "Blind")
        ends = _draw(one, {policy: curves[noise, T, policy] for policy in shown})
        one.set(xlim=(0, T / 1000), ylim=(0, 2.05e-4 * T), xlabel="plays (thousands)")
        one.set_title(f"{NOISES[noise]}, T = {power(T)} plays", fontsize=9.5)
        one.tick_params(labelsize=8.5)
        plotting.led_labels(one, ends, least=0.075)
    for one in axes[:: len(NOISES)]:
        one.set_ylabel("cumulative regret (thousands)")
    words = (
        "At 10⁴ and 10⁵ plays SupBMM and SupBTC are the lowest of the six,\n"
        "but at no horizon is one of the six significantly below uniform play"
    )
    plotting.finding(figure, words, 10.5)
    return figure


def figure_1_with_controls(curves: Curves, noise: str = "student-t", T: int = 10**5) -> Figure:
    """One panel of Figure 1, and beside it the same runs with controls."""
    from . import plotting

    figure, axes = plotting.panels(2, size=(7.0, 4.5), sharey=True)
    six = {policy: curves[noise, T, policy] for policy in COMPARED}
    baselines = {policy: six[policy] for policy in COMPARED[2:]}
    coloured = {policy: curves[noise, T, policy] for policy in (*COMPARED[:2], *CONTROLS)}
    ends = _draw(axes[0], six)
    grey = _draw(axes[1], baselines, grey=True)
    beside = _draw(axes[1], coloured)
    beside["blind to payoffs"] = beside.pop("Blind")
    beside["the four\nbaselines"] = (*max(grey.values())[:2], "#777777")
    for policy, (plays, table) in coloured.items():
        low, high = np.quantile(table, (0.1, 0.9), axis=0) / 1000
        colour = plotting.look(policy).colour
        axes[1].fill_between(plays / 1000, low, high, color=colour, alpha=0.18, linewidth=0)
    for one, named in zip(axes, (ends, beside), strict=True):
        one.set(
            xlim=(0, T / 1000), ylim=(0, 2.1e-4 * T), yticks=np.arange(0, 2.1e-4 * T, T / 20000)
        )
        one.set_xlabel("plays (thousands)", fontsize=10.5)
        plotting.led_labels(one, named, 10, 0.075)
    axes[0].set_ylabel("mean cumulative regret (thousands)", fontsize=10.5)
    axes[0].set_title("The six algorithms of Section 6", fontsize=10.5, loc="left")
    axes[1].set_title("The same runs, with controls", fontsize=10.5, loc="left")
    shown = f"{NOISES[noise]}, mean of ten seeds; bands: first to ninth decile"
    figure.supxlabel(shown, fontsize=9.5)
    words = (
        "SupBMM, the winner of Section 6, loses as much\nas choosing arms at random (uniform play)"
    )
    plotting.finding(figure, words, 13)
    return figure


def differences(every: Mapping[tuple[str, int, str], Runs]) -> Figure:
    """Paired differences from uniform play, one dot per policy and horizon, with their limits."""
    from . import plotting

    figure, axes = plotting.panels(2, size=(plotting.WIDE, 4.9), sharex=True, sharey=True)
    names = (*COMPARED, *CONTROLS[1:])
    for one, (noise, words) in zip(axes, NOISES.items(), strict=True):
        for k, T in enumerate(HORIZONS):
            gaps = [paired(every[noise, T, name], every[noise, T, "Uniform"]) for name in names]
            spans = [(mean - off, mean + off) for mean, off in gaps]
            named: dict[str, Any] = {
                "which": k,
                "label": f"T = {power(T)}",
                "lower": 0.22 * (k - 1),
            }
            shown = [PLAIN.get(name, name) for name in names]
            plotting.rows(one, shown, [mean for mean, _ in gaps], spans=spans, **named)
        one.axvline(0.0, color="#000000", linewidth=1.0)
        one.set_title(words, fontsize=10)
        one.set_xlabel("cost minus that of uniform play (regret per play)", fontsize=9)
        one.set_xticks([-0.05, 0.0, 0.05, 0.1])
        one.tick_params(labelsize=9)
    axes[0].legend(frameon=False, loc="lower right", fontsize=9)
    words = "None of the six costs significantly less than uniform play, at any horizon"
    plotting.finding(figure, words)
    return figure


PARTS = {
    "rank 1 (best, narrowest)": "#0072B2",
    "ranks 2 to 10": "#A9CFE5",
    "ranks 11 to 19": "#F9E0CC",
    "rank 20 (worst, widest)": "#F0984A",
}
STAGES = ("#0072B2", "#EBA81E", "#5CC3A0")


def ranks(seen: Mapping[str, list[Habits]]) -> Figure:
    """How often each policy played the best and the worst arm, and the narrowest and the widest."""
    from . import plotting

    figure, axes = plotting.panels(2, size=(plotting.WIDE, 4.6), sharey=True)
    names = [PLAIN.get(name, name) for name in seen]
    for one, which in zip(axes, ("by_mean", "by_width"), strict=True):
        counts = np.array([sum(getattr(h, which) for h in found) for found in seen.values()])
        counts = counts if which == "by_mean" else counts[:, ::-1]  # the narrowest first
        parts = np.add.reduceat(counts, [0, 1, 10, 19], axis=1) / counts.sum(axis=1)[:, None]
        shares = [[f"{100 * x:.0f} %" for x in row] for row in parts]
        plotting.stacked(one, names, 100 * parts, list(PARTS.values()), shares, 0.1)
        one.set_xlabel("% of rounds", fontsize=9)
        one.tick_params(axis="x", labelsize=9)
    axes[0].set_title("by true mean: from the best arm to the worst", fontsize=9.5)
    axes[1].set_title("by width: from the narrowest arm to the widest", fontsize=9.5)
    plotting.keys(figure, PARTS, len(PARTS))
    words = "The four baselines play the widest arm, which is mostly the worst"
    plotting.finding(figure, words)
    return figure


def widths(seen: Mapping[str, list[Habits]], apart: float) -> Figure:
    """The half-width that each policy uses for the best arm, and the error of ridge regression."""
    from . import plotting

    figure, axes = plotting.panels(size=(plotting.WIDE, 3.9))
    names = [name for name, found in seen.items() if found[0].half_width]
    half, error = (
        [float(np.mean([getattr(h, what) for h in seen[name]])) for name in names]
        for what in ("half_width", "error")
    )
    axes.hlines(range(len(names)), error, half, color="#CCCCCC", linewidth=1.5, zorder=1)
    plotting.rows(axes, names, half, which=0)
    plotting.rows(axes, names, error, which=1)
    plotting.rule(axes, apart / 2, f"half of best arm minus mean arm: {apart / 2:.2f}")
    named = {"textcoords": "offset points", "va": "center", "fontsize": 9}
    ridge, own = (plotting.ink(plotting.PALETTE[which]) for which in (1, 0))
    axes.annotate("error of ridge", (error[0], 0), (-8, 0), ha="right", color=ridge, **named)
    axes.annotate("half-width", (half[0], 0), (8, 0), color=own, **named)
    axes.set(xscale="log", xlim=(1e-3, 30))
    axes.set_xlabel("for the best arm, after 10⁵ plays (log scale)", fontsize=9)
    axes.tick_params(labelsize=9)
    words = "Each of the six uses half-widths 20 to 1,000 times the error that its data allow"
    plotting.finding(figure, words)
    return figure


def stages(every: Mapping[tuple[str, int, str], Runs], noise: str = "student-t") -> Figure:
    """In which stage the rounds of the two algorithms explored, at each horizon."""
    from . import plotting

    figure, axes = plotting.panels(size=(plotting.WIDE, 3.1))
    names, bars = [], np.zeros((2 * len(HORIZONS), 3))
    for i, (policy, T) in enumerate(product(COMPARED[:2], HORIZONS)):
        one = every[noise, T, policy]
        by_stage = one.explored.sum(axis=0)
        assert not one.exploited.any()
        assert not by_stage[3:].any()
        bars[i] = 100 * by_stage[:3] / by_stage.sum()
        names.append(f"{policy}, T = {power(T)}: {by_stage.sum() // len(one.seeds):,} rounds")
    words = [
        [f"{'stage ' if x > 12 else ''}{s + 1}: {x:.0f} %" for s, x in enumerate(row)]
        for row in bars.tolist()
    ]
    plotting.stacked(axes, names, bars, STAGES, words)
    axes.set_xlabel("% of all rounds; no round of any run exploited", fontsize=9)
    axes.tick_params(axis="x", labelsize=9)
    said = "no run gets past stage 3, and at 10⁴ plays none leaves stage 1"
    plotting.finding(figure, f"With {NOISES[noise]} {said}")
    return figure
