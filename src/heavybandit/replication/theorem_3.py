"""Notebook 05, Theorem 3: policies on its construction, and Lemma 8 exactly.

Lemma 8 bounds how much making one arm the good one changes what an algorithm sees. A deterministic
algorithm is a binary tree: after each sequence of payoffs, paid or not,
it names the next arm. With few plays all sequences can be gone through.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from .. import theory
from ..instances import LowerBound
from ..pipeline.recipes import recipe
from ..pipeline.spec import Experiment
from ..policy import Floats
from . import plotting
from .ingredients import CONTROL_POLICIES, PAPER_POLICIES
from .regrets import Ints, Runs, paired, slope
from .statistics import mean_limit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def _lower(name: str, eps: float, longest: int, only: str | None = None) -> Experiment:
    """All policies with exact v, but for TOFU, or one of them. The good arms differ by seed."""
    six = (recipe(p.name, v="exact", eps=eps, delta=0.01) for p in PAPER_POLICIES)
    everyone = (*six, *CONTROL_POLICIES)
    return Experiment(
        name=name,
        what=f"Theorem 3's construction, repaired, ε = {eps:g}: {only or 'all policies but TOFU'}",
        worlds=tuple(
            recipe("lower_bound", dim=dim, n_arms=n_arms, eps=eps, gamma_from="stage")
            for dim, n_arms in ((5, 4), (17, 16), (9, 4), (17, 4))  # one stage, and several
        ),
        policies=tuple(p for p in everyone if (p.name == only if only else p.name != "TOFU")),
        horizons=tuple(T for T in (1_000, 4_000, 16_000) if longest >= T),
        seeds=20,
        checkpoints=1,
        curve_seeds=0,
    )


EXPERIMENTS = (
    _lower("lower", 1.0, 16_000),
    _lower("lower_half", 0.5, 16_000),
    _lower("lower_tofu", 1.0, 4_000, only="TOFU"),  # whose matrix roots take a hundred times longer
    _lower("lower_tofu_half", 0.5, 4_000, only="TOFU"),
)


def kl_bits(p: Floats | float, q: Floats | float) -> Floats:
    """KL(p‖q) of two Bernoulli variables, with logarithms to base 2 as in the proof of Lemma 8."""
    p, q, rel_entr = np.asarray(p), np.asarray(q), scipy.special.rel_entr
    return np.asarray((rel_entr(p, q) + rel_entr(1 - p, 1 - q)) / np.log(2))


def random_tree(rng: np.random.Generator, n_arms: int, plays: int) -> list[Ints]:
    """An algorithm at random: for each number of plays so far, the arm after each sequence."""
    return [rng.integers(n_arms, size=2**t) for t in range(plays)]


def stubborn_tree(arm: int, plays: int) -> list[Ints]:
    """The algorithm that always plays one arm: the most that a change of that arm can show."""
    return [np.full(2**t, arm) for t in range(plays)]


def greedy_tree(arm: int, n_arms: int, plays: int) -> list[Ints]:
    """Stays with an arm while it pays, and goes to the next when it does not."""
    levels = [np.array([arm])]
    for _ in range(1, plays):
        stay = levels[-1]
        levels.append(np.column_stack([(stay + 1) % n_arms, stay]).ravel())
    return levels


def change_of_measure(tree: list[Ints], good: int, p: float) -> tuple[float, float]:
    """Total variation between P_good and P_unif on the payoffs, and E_unif[N_good].

    All arms pay with probability p under P_unif; the good one with 2p under P_good. For 0 ≤ f ≤ M,
    the most that E_good f can exceed E_unif f is M times the total variation.
    """
    unif, changed, count = np.ones(1), np.ones(1), 0.0
    for arms in tree:
        count += float(unif[arms == good].sum())
        pays = np.where(arms == good, 2 * p, p)
        unif = np.column_stack([unif * (1 - p), unif * p]).ravel()
        changed = np.column_stack([changed * (1 - pays), changed * pays]).ravel()
    return float(np.abs(unif - changed).sum() / 2), count


# Where the printed γ is refuted, and where the bound is proved with another


def refuted_from(n_arms: int, eps: float, v: float) -> int:
    """The least d from which on the printed γ and raw moments of at most v refute Theorem 3.

    d − 1 ≥ K (32v(1 − 1/K))^{(1+ε)/ε}
    """
    K = n_arms
    return 1 + math.ceil(K * (32 * v * (1 - 1 / K)) ** ((1 + eps) / eps))


def until_the_first_payoff(
    horizon: int, n_stages: int, n_arms: int, mean: float, gamma: float
) -> float:
    """What every algorithm pays at least if one arm per stage has this mean and the rest pay 0.

    S m μ (1 − (1 + mq)/K),  m = ⌊T/S⌋,  q = γμ
    """
    S, m, K, q = n_stages, horizon // n_stages, n_arms, gamma * mean
    return S * m * mean * (1 - (1 + m * q) / K)


def stage_by_stage(world: LowerBound) -> float:
    """What the construction's S stages cost every algorithm at least, by the proof of Lemma 7."""
    m, K = float(world.stage_length), world.n_arms
    return world.n_stages * float(theory.lemma7_with_gamma(m, K, world.eps, world.gamma))


def one_arm_never_good(horizon: float, n_arms: int, eps: float) -> tuple[float, float]:
    """At d = K, with one arm that is never good: what is proved over the claim, and ‖θ*‖².

    Lemma 7's proof for K − 1 arms; θ* has two entries √2 γ^ε.
    """
    gamma = float(theory.theorem3_gamma(horizon, n_arms - 1, eps))
    least = theory.lemma7_with_gamma(horizon, n_arms - 1, eps, gamma)
    return least / theory.theorem3(horizon, n_arms, eps), 4 * gamma ** (2 * eps)


def proved_from(dim: int, n_arms: int, eps: float) -> int:
    """The least T ≥ 2d from which on `stage_by_stage` with a capped γ is at least the claim.

    While m = ⌊T/S⌋ stays the same only the claim grows, so the last T of each m decides. It can
    fail only where the cap is in force: elsewhere the proof of Theorem 3′ asks no more than T ≥ 2d.
    """
    S = (dim - 1) // n_arms
    longest = math.ceil(theory.theorem3_repaired(dim, n_arms, eps) / S)
    m = np.arange(2 * dim // S, longest + 1, dtype=np.float64)
    cap = float((2 * (S + 1)) ** (-1 / (2 * eps)))
    capped = theory.theorem3_gamma(m, n_arms, eps) >= cap
    last = S * (m + 1) - 1
    proved = S * theory.lemma7_with_gamma(m, n_arms, eps, cap)
    fails = last[capped & (proved < theory.theorem3(last, dim, eps))]
    return max(2 * dim, int(fails[-1]) + 1) if len(fails) else 2 * dim


# What the chapter shows


def region_figure(points: Sequence[tuple[int, float]]) -> Figure:
    """The plane of d and T for K = 4 and ε = 1: what is claimed, refuted and proved."""
    figure, axes = plotting.panels(size=(8.0, 4.8))
    orange, blue, green = "#D55E00", "#0072B2", "#009E73"
    d = np.unique(np.geomspace(300, 2 * 10**5, 120).astype(int))
    least: dict[str, tuple[str, str, Any]] = {
        "printed: T ≥ 2d": ("#000000", "-", 2 * d),
        "proved above,\nby computing": (blue, "--", [proved_from(int(x), 4, 1.0) for x in d]),
        "Theorem 3′": (green, "-.", [theory.theorem3_repaired(int(x), 4, 1.0) for x in d]),
    }
    light, full = "on its own\nconstruction", "on any instance with\nmoments ≤ 2"
    for v, dark, words in ((1, 0.12, light), (2, 0.3, full)):
        edge = refuted_from(4, 1.0, v)
        right = np.r_[edge, d[d > edge]]
        axes.fill_between(right, 2 * right, 1e12, color=orange, alpha=dark, linewidth=0)
        axes.annotate(words, (1.1 * edge, 6e9), fontsize=8)
    axes.annotate("printed γ refuted", (2_540, 1e11), fontsize=9, fontweight="bold")
    for text, (colour, line, T) in least.items():
        axes.plot(d, T, color=colour, linestyle=line)
        plotting.line_label(axes, d[-1], T[-1], text, colour)
    for dim, T in points:
        axes.plot([dim], [T], marker="X", color=orange, markersize=8)
    if points:
        words = "T = 10⁶, d = " + " and ".join(f"{dim:,}" for dim, _ in points)
        arrow = {"arrowstyle": "-", "color": orange}
        axes.annotate(words, points[0], (340, 3e8), fontsize=8, arrowprops=arrow)
    title = "The printed γ is refuted in the shade; above the blue line another γ proves the bound"
    axes.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="plays T")
    axes.set(ylim=(300, 1e12), xlim=(300, 1.8e6))
    axes.set_title(title, fontsize=10)
    return figure


def policies_figure(found: Sequence[Runs], dim: int) -> Figure:
    """Mean regret over Theorem 3's bound at each policy's longest horizon, for both ε."""
    figure, axes = plotting.panels(size=(8.0, 4.4))
    from ..engine import POLICIES  # numba, which who only reads results does not need

    mine = [one for one in found if one.dim == dim and one.n_arms == 4]
    policies = sorted({one.policy for one in mine}, key=list(POLICIES).index)
    means: list[float] = []
    for which, eps in enumerate((1.0, 0.5)):
        middle, spans = [], []
        for policy in policies:
            same = [o for o in mine if o.policy == policy and float(o.where["eps"]) == eps]
            one = max(same, key=lambda o: o.horizon)
            over = one.regrets / theory.theorem3(float(one.plays), dim, eps)
            middle.append(float(over.mean()))
            spans.append((middle[-1] - mean_limit(over), middle[-1] + mean_limit(over)))
        below, label = 0.3 * which - 0.15, f"ε = {eps:g}"
        plotting.rows(axes, policies, middle, spans=spans, which=which, label=label, lower=below)
        means += middle
    plotting.rule(axes, 1.0, "the bound")
    plotting.rule(axes, 24.0, "uniform play")
    axes.set(xlabel="mean regret over the bound (20 seeds; bars: limits at 99 % to each side)")
    axes.set(xlim=(0, 30))
    times = f"{min(means):.0f} to {max(means):.0f} times"
    axes.set_title(f"No policy comes near the bound: all cost {times} as much", pad=18)
    axes.title.set_fontsize(10)
    axes.legend(fontsize=8, loc=(0.12, 0.42))
    return figure


def gap_figure(horizon: float) -> Figure:
    """Theorem 1 over Theorem 3′ against d, for three ε."""
    figure, axes = plotting.panels(size=(8.0, 4.2))
    d = np.unique(np.geomspace(5, 7_000, 60).astype(int))
    for i, eps in enumerate((1.0, 0.5, 0.25)):
        above = [theory.theorem1(horizon, int(x), 4, 2.0, 0.01, eps) for x in d]
        ratio = np.array(above) / [theory.theorem3(horizon, int(x), eps) for x in d]
        axes.loglog(d, ratio, color=plotting.PALETTE[i], linestyle=plotting.LINES[i])
        plotting.line_label(axes, d[-1], ratio[-1], f"ε = {eps:g}", plotting.PALETTE[i])
    axes.set(xlabel="dimension d", ylabel="Theorem 1 over Theorem 3′", xlim=(4, 2e4))
    axes.set_title("Only for ε = 1 does the ratio of the bounds not grow with d", fontsize=10)
    return figure


def slopes(found: Sequence[Runs], policies: Sequence[str]) -> list[dict[str, Any]]:
    """Slopes of ln regret in ln T (d = 9) and in ln(d − 1) (T = 16,000), one row per policy."""
    by = {(o.policy, float(o.where["eps"]), o.dim, o.horizon): o for o in found if o.n_arms == 4}
    rows = []
    for policy in policies:
        row: dict[str, Any] = {"policy": policy}
        for eps in (1.0, 0.5):
            same = [by[policy, eps, 9, T] for T in (1_000, 4_000, 16_000)]
            middle, low, high = slope(same, [float(o.plays) for o in same])
            row[f"in T, ε = {eps:g}"] = f"{middle:.3f} [{low:.3f}, {high:.3f}]"
            same = [by[policy, eps, d, 16_000] for d in (5, 9, 17)]
            middle, low, high = slope(same, [float(o.dim - 1) for o in same])
            row[f"in d − 1, ε = {eps:g}"] = f"{middle:.3f} [{low:.3f}, {high:.3f}]"
        rows.append(row)
    return rows


def first_stage(world: LowerBound) -> list[dict[str, Any]]:
    """The arms of the construction's first stage, one row per arm."""
    X, theta = world.contexts(np.random.default_rng(0), 0, 1, 1)[0], world.theta_star(0)
    return [
        {
            "arm": arm,
            "coordinates that are not 0": ", ".join(map(str, np.flatnonzero(x))),
            "mean payoff": float(x @ theta),
            "probability of 1/γ": world.gamma * float(x @ theta),
            "raw moment": world.noise.raw_moment(world.eps, float(x @ theta)),
        }
        for arm, x in enumerate(X, 1)
    ]


def over_lemma7(found: Sequence[Runs]) -> pd.DataFrame:
    """Mean regret over Lemma 7's bound on the one-stage instances, one row per policy."""
    import pandas as pd

    rows: dict[str, list[tuple[float, bool]]] = {}
    for one in found:
        if one.dim == one.n_arms + 1:
            bound = theory.lemma7(float(one.plays), one.n_arms, float(one.where["eps"]))
            below = bool(one.regrets.mean() + mean_limit(one.regrets) < bound)
            rows.setdefault(one.policy, []).append((float(one.regrets.mean() / bound), below))
    columns = ("least", "largest", "settings", "significantly below 1")
    table = {
        policy: (min(each)[0], max(each)[0], len(each), sum(below for _, below in each))
        for policy, each in rows.items()
    }
    return pd.DataFrame.from_dict(table, orient="index", columns=columns)


def other_instances(horizon: int, dim: int, n_arms: int) -> list[dict[str, Any]]:
    """For ε = 1, what three instances cost every algorithm at least, rounded down."""
    T, K, S = horizon, n_arms, (dim - 1) // n_arms
    gamma, few = float(theory.theorem3_gamma(float(T), K, 1.0)), 192
    capped = LowerBound(T, dim, K, 1.0, "capped")
    kinds = (
        ("printed γ, means 2γ and 0", S, 2 * gamma),
        ("printed γ, means 1/√192 and 0", few, few**-0.5),
        ("γ of Theorem 3′, means 2γ and γ", S, 2 * capped.gamma),
    )
    least = [until_the_first_payoff(T, S, K, mean, gamma) for _, S, mean in kinds[:2]]
    least.append(stage_by_stage(capped))
    return [
        {
            "d": dim,
            "claim": theory.theorem3(float(T), dim, 1.0),
            "instance": words,
            "stages": S,
            "second moment": mean / (capped.gamma if "3′" in words else gamma),
            "costs at least": math.floor(cost),
        }
        for (words, S, mean), cost in zip(kinds, least, strict=True)
    ]


def compared_with_uniform(found: Sequence[Runs], dim: int) -> list[tuple[str, float, float, float]]:
    """Policy, ε, and its regret per play less that of uniform play at its longest horizon.

    The difference is paired by seed: its mean, and how far that may be off.
    """
    mine = [one for one in found if one.dim == dim and one.n_arms == 4]
    by = {(one.policy, float(one.where["eps"]), one.horizon): one for one in mine}
    longest = {
        (policy, eps): max(o.horizon for o in mine if o.policy == policy) for policy, eps, _ in by
    }
    return [
        (policy, eps, *paired(by[policy, eps, T], by["Uniform", eps, T]))
        for (policy, eps), T in longest.items()
        if policy != "Uniform"
    ]
