"""Notebooks 03 to 05: the regret at horizons where the bounds say something, by leaps.

The protocol, fixed before any of these runs was made:

- arms     For the noises "coin" and "pareto" K unit vectors that add up to 0: evenly spaced on a
           circle for d = 2, ±e_1, …, ±e_d otherwise. θ* is `gap` times the last of them, so that
           uniform play costs `gap` per play; the best arm is the last one because the first wide
           arm is explored first. For "two-point" the arms of Theorem 3 with a single stage,
           d = K + 1: the last pays 2·gap in the mean, the others gap, as 1/gap or 0.
- noise    "coin" is ±1; "pareto" has a tail of exponent 2.2 in steps and variance 1. Policies are
           given the exact moments as v, and δ = 0.01.
- gaps     2^{−j} from ½ down to the first that is at most 1/(2√T): a minimax bound is about the
           worst instance for each T, and the worst gap must not be at either end of its grid.
- dims     At T = 10¹² with the noise "pareto": d = 2 to 64 with K = 2d, and d = 2 with K = 4 to 64,
           every second gap of the grid.
- δ        Failures (a mean outside an interval, or the best arm eliminated) are counted in 10⁴ runs
           of each policy at δ = 0.1.
- verdict  `claims.bound_tested`: a horizon counts as a test of the bound if uniform play would
           violate it on the grid's largest gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import instances, noise, paper, theory
from ..pipeline.recipes import policies
from ..pipeline.spec import Plan, Report, Spec, number
from ..policy import Floats
from .regrets import lemma_5_allows
from .statistics import CONFIDENCE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VERSION = 1
"""Raised whenever a leap comes out differently; stored runs name theirs."""

POLICIES = ("SupBMM", "SupBTC")
NOISES = ("coin", "pareto", "two-point")
DELTA = 0.01
TAIL = 2.2  # the exponent of "pareto"


@dataclass(frozen=True)
class Cell:
    """A policy on one instance at one horizon."""

    policy: str  # one of POLICIES
    noise: str  # one of NOISES
    dim: int
    n_arms: int
    horizon: int
    gap: float
    delta: float = DELTA

    def world(self) -> instances.FixedArms:
        """The instance; see the protocol."""
        K, d = self.n_arms, self.dim
        if self.noise == "two-point":
            X = np.zeros((K, K + 1))
            X[:, 0] = math.sqrt(0.5)
            X[np.arange(K), 1 + np.arange(K)] = math.sqrt(0.5)
            theta = np.zeros(K + 1)
            theta[[0, -1]] = math.sqrt(2) * self.gap
            return instances.fixed_arms(X, theta, noise.TwoPointPayoff(self.gap))
        X = circle(K) if d == 2 else np.vstack([np.eye(d), -np.eye(d)])
        return instances.fixed_arms(X, self.gap * X[-1], LAWS[self.noise])

    def v(self, world: instances.FixedArms) -> float:
        """The exact moment that the policy is to be told, central or raw."""
        moment = getattr(world.noise, f"{getattr(paper, self.policy).moment}_moment")
        return max(moment(1.0, mean) for mean in world.means.tolist())

    @property
    def bound(self) -> float:
        """What Theorem 1 or 2 says of it."""
        bound = theory.theorem1 if self.policy == "SupBMM" else theory.theorem2
        v = self.v(self.world())
        return float(bound(self.horizon, self.dim, self.n_arms, v, self.delta, 1.0))


def circle(n_arms: int) -> Floats:
    """Evenly spaced unit vectors, (n_arms, 2); exact where a coordinate is 0 or ±1."""
    turn = 2 * np.pi * np.arange(n_arms) / n_arms
    return np.round(np.column_stack([np.cos(turn), np.sin(turn)]), 15)


def _unit_pareto() -> noise.Levels:
    """The tail in steps, scaled to variance 1."""
    plain = noise.Levels.pareto(TAIL)
    return noise.Levels.pareto(TAIL, scale=1 / math.sqrt(plain.central_moment(1.0)))


LAWS = {"coin": noise.Levels([-1.0, 1.0], [0.5, 0.5]), "pareto": _unit_pareto()}


MEASURED = (
    *("v", "bound", "mean", "sd", "largest", "missed", "lost", "lemma_5", "lemma_6", "most_6"),
    *("most_3", "exploited", "deepest", "truncated"),
)
"""Columns of results, over the seeds of a cell.

v           the moment that the policy was told
bound       Theorem 1's or 2's
mean, sd    of the regret;  `largest`: the largest
missed      seeds in which a mean lay outside an interval;  `lost`: … the best arm was eliminated
lemma_5     mean of what Lemma 5 allows, given the rounds n_s that each stage explored:
            r (Σ_s min(2, 2^{3−s}) n_s + 2 · rounds that exploited / √T₀)
lemma_6     mean of what is left of the proof when Lemma 6 bounds each n_s in it:
            r (40 (1 + α) √d Σ_s √(n_s ln n_s) + 2 √T₀)
most_6      the largest n_s over what Lemma 6 allows;  `most_3`: Σc over what Lemma 3 allows
exploited   mean share of the rounds that exploited
deepest     the deepest stage visited
truncated   mean number of terms that an estimate left out
"""


@dataclass(frozen=True)
class LeapSpec(Spec):
    """All seeds of a cell."""

    cell: Cell
    seed: int  # the first
    seeds: int

    columns = (
        *("run", "policy", "noise", "dim", "n_arms", "horizon", "gap", "delta", "seed", "seeds"),
        *MEASURED,
    )

    def as_json(self) -> dict[str, Any]:
        return {**self.settings(), "leap": VERSION}

    def settings(self) -> dict[str, Any]:
        return {**asdict(self.cell), "seed": self.seed, "seeds": self.seeds}

    @property
    def plays(self) -> int:
        """A leap costs the same whatever its horizon: here a million plays."""
        return 10**6 * self.seeds

    def text(self) -> str:
        one = self.cell
        return f"{one.policy} leaping {one.horizon:.0e} plays, {one.noise}, gap {one.gap:g}"

    @classmethod
    def run(cls, group: Sequence[Self], report: Report | None = None) -> list[dict[str, Any]]:
        results = []
        for one in group:
            results.append(measure(one.cell, range(one.seed, one.seed + one.seeds)))
            if report:
                report(one.plays)
        return results

    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        one = self.cell
        return [
            *(str(index), one.policy, one.noise, str(one.dim), str(one.n_arms), str(one.horizon)),
            *(number(one.gap), number(one.delta), str(self.seed), str(self.seeds)),
            *(number(result[name]) for name in MEASURED),
        ]

    @property
    def curve_columns(self) -> tuple[str, ...]:
        """There are no curves: regret at the end of the horizon is what a bound is about."""
        return ("run",)

    def curve_rows(self, index: int, result: dict[str, Any]) -> list[list[str]]:
        return []


def measure(cell: Cell, seeds: Sequence[int]) -> dict[str, Any]:
    """What came of a cell's seeds, by the names in MEASURED."""
    from ..engine.leap import leap

    world = cell.world()
    shape = {"horizon": cell.horizon, "n_arms": cell.n_arms, "dim": cell.dim, "delta": cell.delta}
    v = cell.v(world)
    found = []
    for seed in seeds:
        policy = policies()[cell.policy](**shape, v=v, eps=1.0, seed=seed)
        found.append((leap(policy, world, seed, checkpoints=1), policy))
    regrets = np.array([run.regret for run, _ in found])
    along = np.array([_along(cell, v, run.diagnostics, p.plays, p.rounds) for run, p in found])
    return {
        "v": v,
        "bound": cell.bound,
        "mean": float(regrets.mean()),
        "sd": float(regrets.std(ddof=1)),
        "largest": float(regrets.max()),
        "missed": sum(any(run.diagnostics["arms_missed"]) for run, _ in found),
        "lost": sum(any(run.diagnostics["best_lost"]) for run, _ in found),
        **dict(zip(("lemma_5", "lemma_6"), along[:, :2].mean(axis=0).tolist(), strict=True)),
        **dict(zip(("most_6", "most_3"), along[:, 2:4].max(axis=0).tolist(), strict=True)),
        "exploited": float(along[:, 4].mean()),
        "deepest": int(along[:, 5].max()),
        "truncated": float(along[:, 6].mean()),
    }


def _along(
    cell: Cell, v: float, seen: dict[str, Any], plays: int, rounds: int
) -> tuple[float, ...]:
    """The proof's steps along one run: see `lemma_5` and what follows it in MEASURED."""
    n = np.array(seen["explored"], dtype=float)
    exploited = float(sum(seen["exploited"]))
    stage = 1 + np.arange(len(n))
    if cell.policy == "SupBMM":
        alpha = float(theory.alpha_bmm(1.0, v, 1.0))
    else:
        alpha = float(theory.alpha_btc(1.0, cell.horizon, cell.n_arms, v, cell.delta, 1.0))
    sums = 40 * (1 + alpha) * math.sqrt(cell.dim) * np.sqrt(n * np.log(np.maximum(n, 1))).sum()
    several = n >= 2  # Lemmas 3 and 6 need two rounds
    allowed_3 = theory.lemma3(cell.dim, n[several])
    allowed_6 = 2.0 ** stage[several] * (1 + alpha) * allowed_3  # theory.lemma6 of each stage
    return (
        float(lemma_5_allows(n, plays, rounds)),
        plays * float(sums + 2 * math.sqrt(rounds)),
        float(np.max(n[several] / allowed_6, initial=0.0)),
        float(np.max(np.array(seen["sum_c"])[several] / allowed_3, initial=0.0)),
        exploited / rounds,
        float(np.flatnonzero(seen["visited"])[-1] + 1),
        seen["truncated"] / max(1, seen["estimates"]),
    )


@dataclass(frozen=True)
class Leaps(Plan):
    """Cells that are leapt through, each with the same seeds, so many of them to a row."""

    cells: tuple[Cell, ...]
    per_row: int

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "leap": VERSION}

    def has_curve(self, spec: Spec) -> bool:
        return False

    def groups(self) -> Iterator[list[LeapSpec]]:
        for cell in self.cells:
            for first in range(self.first_seed, self.first_seed + self.seeds, self.per_row):
                yield [LeapSpec(cell, first, self.per_row)]


def gaps(horizon: int) -> list[float]:
    """The grid of the protocol."""
    last = math.ceil(math.log2(2 * math.sqrt(horizon)))
    return [2.0**-j for j in range(1, last + 1)]


def _cells(policy: str, horizons: Sequence[int]) -> tuple[Cell, ...]:
    """All noises and gaps."""
    return tuple(
        Cell(policy, law, 5 if law == "two-point" else 2, 4, T, gap)
        for law in NOISES
        for T in horizons
        for gap in gaps(T)
    )


HORIZONS = tuple(10**k for k in range(3, 16))
SHAPES = (*((d, 2 * d) for d in (2, 4, 8, 16, 32, 64)), *((2, K) for K in (8, 16, 32, 64)))
EXPERIMENTS = (
    *(
        Leaps(
            name=f"leaps_{policy[-3:].lower()}",
            what=f"Theorem {theorem} at 10³ to 10¹⁵ plays: {policy} by leaps, three noises, "
            "a grid of gaps",
            cells=_cells(policy, HORIZONS),
            seeds=5,
            per_row=5,
        )
        for theorem, policy in enumerate(POLICIES, 1)
    ),
    Leaps(
        name="leaps_shapes",
        what="Theorems 1 and 2 at 10¹² plays as d and K grow, by leaps",
        cells=tuple(
            Cell(policy, "pareto", d, K, 10**12, gap)
            for policy in POLICIES
            for d, K in SHAPES
            for gap in gaps(10**12)[::2]
        ),
        seeds=2,
        per_row=2,
    ),
    Leaps(
        name="leaps_failures",
        what="how often an interval misses or the best arm is lost, by leaps, δ = 0.1",
        cells=tuple(Cell(policy, "pareto", 2, 4, 10**6, 2.0**-3, 0.1) for policy in POLICIES),
        seeds=10_000,
        per_row=200,
    ),
)


def worst(table: pd.DataFrame) -> pd.DataFrame:
    """For each policy, noise, shape and horizon the row of the gap with the largest mean regret.

    Adds `inside`, whether that gap is at neither end of its grid; `over_root`, mean regret over √T,
    with `off`, its limit by Student's t; and `ratio`, the largest regret over the bound.
    """
    from scipy.stats import t as student

    by = table.groupby(["policy", "noise", "dim", "n_arms", "horizon"], sort=False)
    table = table.assign(
        inside=(table["gap"] > by["gap"].transform("min"))
        & (table["gap"] < by["gap"].transform("max"))
    )
    rows = table.loc[by["mean"].idxmax()].reset_index(drop=True)
    root = np.sqrt(rows["horizon"].astype(float))
    off = student.ppf(CONFIDENCE, rows["seeds"] - 1) * rows["sd"] / np.sqrt(rows["seeds"])
    return rows.assign(
        over_root=rows["mean"] / root, off=off / root, ratio=rows["largest"] / rows["bound"]
    )


def slope(rows: pd.DataFrame, over: str = "horizon") -> tuple[float, float, float]:
    """The slope of ln mean regret against ln of a column, and its limits, by least squares."""
    from scipy.stats import linregress, t

    found = linregress(np.log(rows[over].astype(float)), np.log(rows["mean"]))
    half = float(t.ppf(CONFIDENCE, len(rows) - 2) * found.stderr)
    return float(found.slope), float(found.slope - half), float(found.slope + half)


def informative_from(rows: pd.DataFrame) -> float:
    """The first horizon at which uniform play would violate the bound on the largest gap, ½."""
    lost = 0.5 * rows["horizon"].astype(float)
    return float(rows["horizon"][rows["bound"] < lost].min())


def slack(rows: pd.DataFrame) -> pd.DataFrame:
    """By which factor each step of the proof exceeds the one before it, from regret to bound."""
    return rows.assign(
        step_5=rows["lemma_5"] / rows["mean"],
        step_6=rows["lemma_6"] / rows["lemma_5"],
        step_end=rows["bound"] / rows["lemma_6"],
        steps=rows["bound"] / rows["mean"],
    )


WORDS = {"coin": "±1", "pareto": "Pareto tail", "two-point": "two-point"}


def horizons_figure(rows: pd.DataFrame, by: str, title: str) -> Figure:
    """Worst regret over √T against T, one line for each noise or policy, beside the bounds.

    by   "noise", of one policy; or "policy", of one noise, with Theorem 3's lower bound for d = 5
    """
    from . import plotting

    figure, axes = plotting.panels(size=(8.0, 4.8))
    T = np.array(HORIZONS, dtype=float)
    ends: list[tuple[float, str, str]] = []
    for which, (name, same) in enumerate(rows.groupby(by, sort=False)):
        kind = plotting.style(which)
        if by == "policy":
            colour, marker, line = plotting.look(name)
            kind |= {"color": colour, "marker": marker, "linestyle": line}
        middle, off = same["over_root"], same["off"]
        down = np.minimum(off, 0.9 * middle)  # a logarithmic axis has no 0
        axes.errorbar(T, middle, [down, off], capsize=2, **kind)
        ends.append((float(middle.iloc[-1]), WORDS.get(name, name), kind["color"]))
        theorem = f"Theorem {1 + (same['policy'].iloc[0] == 'SupBTC')}"
        if by == "policy" or which == 0:
            bound = same["bound"].to_numpy() / np.sqrt(T)
            axes.plot(T, bound, color="#000000", linewidth=1, linestyle=("-", "--")[which])
            ends.append((float(bound[-1]), theorem, "#000000"))
    axes.plot(T, np.sqrt(T) / 2, ":", color="#666666", linewidth=1.2)
    axes.annotate("uniform play, gap ½", (T[-2], np.sqrt(T[-2])), fontsize=8, ha="right")
    if by == "policy":
        lower = theory.theorem3(T, 5, 1.0) / np.sqrt(T)
        axes.plot(T, lower, color="#000000", linewidth=1.5)
        ends.append((float(lower[-1]), "lower bound", "#000000"))
    axes.set(xscale="log", yscale="log", xlabel="plays T", ylabel="regret over √T", title=title)
    ends.sort()
    spread = plotting.apart([9 + math.log10(height) for height, _, _ in ends], 0.3)
    for place, (_, words, colour) in zip(spread, ends, strict=True):
        plotting.line_label(axes, T[-1], 10 ** (place - 9), words, colour)
    return figure


def horizons_table(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """How the worst regret grows with T, one row per noise."""
    table = []
    for law, same in rows.groupby("noise", sort=False):
        middle, low, high = slope(same)
        table.append(
            {
                "noise": WORDS[law],
                "slope of ln regret in ln T": f"{middle:.3f} ({low:.3f} to {high:.3f})",
                "regret over √T, least": same["over_root"].min(),
                "regret over √T, largest": same["over_root"].max(),
                "regret over bound, largest": same["ratio"].max(),
                "uniform play violates the bound from T =": informative_from(same),
            }
        )
    return table


def steps_table(rows: pd.DataFrame, horizons: Sequence[int]) -> list[dict[str, Any]]:
    """The factor that each step of the proof loses, one row per noise and horizon."""
    shown = {"noise": "noise", "horizon": "T", "step_5": "Lemma 5", "step_6": "Lemma 6"}
    shown |= {"step_end": "last step", "steps": "bound over regret"}
    table = slack(rows[rows["horizon"].isin(horizons)])[list(shown)].rename(columns=shown)
    return table.replace({"noise": WORDS}).to_dict("records")


def shapes_table(rows: pd.DataFrame) -> tuple[list[dict[str, Any]], str]:
    """How the worst regret changes with d and K, and its slopes in words."""
    shown = {"dim": "d", "n_arms": "K", "over_root": "regret over √T", "over": "bound over regret"}
    table = rows.assign(over=1 / rows["ratio"])[list(shown)].rename(columns=shown)
    along = {
        "d (K = 2d)": slope(rows[rows["n_arms"] == 2 * rows["dim"]], "dim"),
        "K (d = 2)": slope(rows[rows["dim"] == 2], "n_arms"),
    }
    words = [
        f"in {what} {m:.2f} ({low:.2f} to {high:.2f})" for what, (m, low, high) in along.items()
    ]
    return table.to_dict("records"), " and ".join(words)


def nearness_table(rows: pd.DataFrame, dim: int) -> list[dict[str, Any]]:
    """How far the worst regret is above Theorem 3's lower bound, one row per policy and horizon."""
    return [
        {
            "policy": row.policy,
            "T": row.horizon,
            "worst regret": row.mean,
            "lower bound": theory.theorem3(float(row.horizon), dim, 1.0),
            "regret over lower bound": row.mean / theory.theorem3(float(row.horizon), dim, 1.0),
        }
        for row in rows.itertuples()
    ]
