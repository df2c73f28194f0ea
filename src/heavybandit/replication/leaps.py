"""Notebooks 03 to 05: the regret at horizons where the bounds say something, by leaps.

The protocol, fixed before any of these runs was made. Runs with other seeds had shown that the
regret hardly depends on the seed at such gaps, that "idle" is the worst of the instances, and how
narrow intervals must be to miss.

- instance "coin" and "pareto" have K unit vectors that add up to 0: evenly spaced on a circle for
           d = 2, ±e_1, …, ±e_d otherwise. θ* is `gap` times the last of them, so that uniform play
           costs `gap` per play; the best arm is the last one because the first wide arm is explored
           first. "two-point" has the arms of Theorem 3 with a single stage, d = K + 1: the last
           pays 2·gap in the mean, the others gap, as 1/gap or 0. "idle" is made to be bad: e_1, e_2
           and e_3 pay −gap in the mean, and the last arm, the vector 0, pays 0. It has no width, so
           that it is never explored, and the others survive although their gap is up to 1½ times
           as large as elsewhere.
- noise    ±1 for "coin" and "idle"; "pareto" has a tail of exponent 2.2 in steps and variance 1.
           Policies are given the exact moments as v, and δ = 0.01.
- horizons Powers of ten from 10³ on, and from 10⁸ to 10¹⁵ also those between them, √10 apart.
- gaps     0.9·2^{−j}, in "idle" 0.675·2^{−j}, from j = 1 down to the first that is at most 4/√T.
           Arms are dropped when their gap exceeds 2^{1−s}, in "idle" 3·2^{−s}. At such a level
           chance would decide; at nine tenths of it an arm stays for one more stage.
- worst    A minimax bound is about the worst instance for each T. The worst gap must not be the
           smallest, and even the regret 2·gap·T of the smallest must be below the worst regret, so
           that no smaller gap can be worse. From 10⁸ plays on, where slopes are fitted, it must not
           be the largest either; at shorter horizons it may be, for arms with that gap may not be
           dropped before the plays are over.
- between  At 10¹² plays, gaps from 2⁶/√T to 2¹⁰/√T in steps of 2^{1/12}: by how much the worst gap
           of all exceeds the worst of the grid.
- dims     At T = 10¹² with "coin": d = 2 to 64 with K = 2d, and d = 2 with K = 4 to 64.
- δ        Failures (a mean outside an interval, or the best arm eliminated) are counted with
           "coin", gap 0.45, T = 10¹², δ = 0.1, in 10⁴ runs of each policy. As a control that they
           would be seen, so are those of 500 runs with half-widths of ¼, 1/16, 1/64 and 1/256.
- verdict  `claims.bound_tested`: a cell counts as a test of the bound if uniform play would violate
           the bound on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import instances, noise, paper, theory
from ..pipeline.recipes import digest, policies
from ..pipeline.spec import Plan, Report, Spec, number, plays_of
from ..policy import Floats
from .regrets import lemma_5_allows
from .statistics import CONFIDENCE

if TYPE_CHECKING:
    import pandas as pd

    from ..simulate import Run

VERSION = 2
"""Raised whenever a leap comes out differently; stored runs name theirs."""

POLICIES = ("SupBMM", "SupBTC")
DIMS = {"coin": 2, "pareto": 2, "two-point": 5, "idle": 3}  # by instance; each has four arms
DELTA = 0.01
TAIL = 2.2  # the exponent of "pareto"


@dataclass(frozen=True)
class Cell:
    """A policy on one instance at one horizon."""

    policy: str  # one of POLICIES
    instance: str  # one of DIMS
    dim: int
    n_arms: int
    horizon: int
    gap: float
    delta: float = DELTA
    width_scale: float = 1.0

    def world(self) -> instances.FixedArms:
        """The instance; see the protocol."""
        K, d = self.n_arms, self.dim
        if self.instance == "idle":
            return instances.fixed_arms(np.eye(K, d), np.full(d, -self.gap), LAWS["coin"])
        if self.instance == "two-point":
            X = np.zeros((K, K + 1))
            X[:, 0] = math.sqrt(0.5)
            X[np.arange(K), 1 + np.arange(K)] = math.sqrt(0.5)
            theta = np.zeros(K + 1)
            theta[[0, -1]] = math.sqrt(2) * self.gap
            return instances.fixed_arms(X, theta, noise.TwoPointPayoff(self.gap))
        X = circle(K) if d == 2 else np.vstack([np.eye(d), -np.eye(d)])
        return instances.fixed_arms(X, self.gap * X[-1], LAWS[self.instance])

    def v(self, world: instances.FixedArms) -> float:
        """The exact moment that the policy is to be told, central or raw."""
        moment = getattr(world.noise, f"{getattr(paper, self.policy).moment}_moment")
        return max(moment(1.0, mean) for mean in world.means.tolist())

    def bound(self, v: float) -> float:
        """What Theorem 1 or 2 says of it."""
        bound = theory.theorem1 if self.policy == "SupBMM" else theory.theorem2
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
    *("v", "bound", "uniform", "mean", "sd", "largest", "above", "missed", "lost"),
    *("lemma_5", "lemma_6", "most_6", "most_3", "truncated"),
)
"""Columns of results, over the seeds of a cell.

v           the moment that the policy was told
bound       Theorem 1's or 2's
uniform     the expected regret of uniform play
mean, sd    of the regret;  `largest`: the largest;  `above`: seeds in which it exceeds the bound
missed      seeds in which a mean lay outside an interval;  `lost`: … the best arm was eliminated
lemma_5     mean of what Lemma 5 allows, given the rounds n_s that each stage explored:
            r (Σ_s min(2, 2^{3−s}) n_s + 2 · rounds that exploited / √T₀)
lemma_6     mean of what is left of the proof when Lemma 6 bounds each n_s in it:
            r (40 (1 + α) √d Σ_s √(n_s ln n_s) + 2 √T₀)
most_6      the largest n_s over what Lemma 6 allows;  `most_3`: Σc over what Lemma 3 allows
truncated   mean number of terms that an estimate left out
"""


@dataclass(frozen=True)
class LeapSpec(Spec):
    """All seeds of a cell."""

    cell: Cell
    seed: int  # the first
    seeds: int

    columns = (
        *("run", "policy", "instance", "dim", "n_arms", "horizon", "gap", "delta", "width_scale"),
        *("seed", "seeds", *MEASURED),
    )

    def as_json(self) -> dict[str, Any]:
        return {**self.settings(), "leap": VERSION}

    def settings(self) -> dict[str, Any]:
        return {**asdict(self.cell), "seed": self.seed, "seeds": self.seeds}

    @property
    def plays(self) -> int:
        """The budget of `verify` counts a leap as a million plays, whatever its horizon."""
        return 10**6 * self.seeds

    @property
    def work(self) -> float:
        """A leap takes about a millisecond, whatever its horizon."""
        return 1_000.0 * self.seeds

    def text(self) -> str:
        one = self.cell
        return f"{one.policy} leaping {one.horizon:.0e} plays, {one.instance}, gap {one.gap:g}"

    @property
    def group(self) -> str:
        """The identity of the runs that differ from this one in their gap only."""
        return digest({**self.as_json(), "gap": None})

    @classmethod
    def run(cls, group: Sequence[Self], report: Report | None = None) -> list[dict[str, Any]]:
        first = group[0]
        seeds = range(first.seed, first.seed + first.seeds)
        found = measure_all([one.cell for one in group], seeds)
        if report:
            report(plays_of(group))
        return found

    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        one = self.cell
        return [
            *(str(index), one.policy, one.instance, str(one.dim), str(one.n_arms)),
            *(str(one.horizon), number(one.gap), number(one.delta), number(one.width_scale)),
            *(str(self.seed), str(self.seeds)),
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
    return measure_all([cell], seeds)[0]


def measure_all(cells: Sequence[Cell], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The same of several cells; those that differ in their gap only are quickest together."""
    from ..engine.leap import leap_together

    pairs = []
    for cell in cells:
        world = cell.world()
        names = ("horizon", "n_arms", "dim", "delta", "width_scale")
        settings = {name: getattr(cell, name) for name in names}
        pairs.append((policies()[cell.policy](**settings, v=cell.v(world), eps=1.0), world))
    every = leap_together(pairs, seeds, checkpoints=1)
    return [
        _measured(cell, *pair, found) for cell, pair, found in zip(cells, pairs, every, strict=True)
    ]


def _measured(cell: Cell, policy: Any, world: Any, found: list[Run]) -> dict[str, Any]:
    """What came of a cell's runs."""
    v, bound = policy.v, cell.bound(policy.v)
    regrets = np.array([run.regret for run in found])
    along = np.array(
        [_along(cell, v, run.diagnostics, policy.plays, policy.rounds) for run in found]
    )
    return {
        "v": v,
        "bound": bound,
        "uniform": cell.horizon * float(world.means.max() - world.means.mean()),
        "mean": float(regrets.mean()),
        "sd": float(regrets.std(ddof=1)),
        "largest": float(regrets.max()),
        "above": int(np.count_nonzero(regrets > bound)),
        "missed": sum(any(run.diagnostics["arms_missed"]) for run in found),
        "lost": sum(any(run.diagnostics["best_lost"]) for run in found),
        **dict(zip(("lemma_5", "lemma_6"), along[:, :2].mean(axis=0).tolist(), strict=True)),
        **dict(zip(("most_6", "most_3"), along[:, 2:4].max(axis=0).tolist(), strict=True)),
        "truncated": float(along[:, 4].mean()),
    }


def _along(
    cell: Cell, v: float, seen: dict[str, Any], plays: int, rounds: int
) -> tuple[float, ...]:
    """The proof's steps along one run: see `lemma_5` and what follows it in MEASURED."""
    n = np.array(seen["explored"], dtype=float)
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
        seen["truncated"] / max(1, seen["estimates"]),
    )


@dataclass(frozen=True)
class Leaps(Plan):
    """Cells that are leapt through, each with the same seeds, so many of them to a row."""

    cells: tuple[Cell, ...]
    per_row: int

    def as_json(self) -> dict[str, Any]:
        """Cells that differ in horizon and gap only are one entry, with the gaps by horizon."""
        entries: dict[Cell, dict[str, str]] = {}
        for same in self._alike():
            alike = entries.setdefault(replace(same[0], horizon=0, gap=0.0), {})
            alike[str(same[0].horizon)] = " ".join(repr(cell.gap) for cell in same)
        cells = [{**asdict(cell), "gaps": gaps} for cell, gaps in entries.items()]
        for entry in cells:
            del entry["horizon"], entry["gap"]
        return {**asdict(replace(self, cells=())), "cells": cells, "leap": VERSION}

    def _alike(self) -> list[list[Cell]]:
        """The cells, those together that differ in their gap only."""
        return [list(same) for _, same in groupby(self.cells, lambda one: replace(one, gap=0.0))]

    def has_curve(self, spec: Spec) -> bool:
        return False

    def groups(self) -> Iterator[list[LeapSpec]]:
        for cells in self._alike():
            for first in range(self.first_seed, self.first_seed + self.seeds, self.per_row):
                yield [LeapSpec(cell, first, self.per_row) for cell in cells]


def gaps(instance: str, horizon: int) -> list[float]:
    """The grid of the protocol, from the largest."""
    most = 0.675 if instance == "idle" else 0.9
    last = math.ceil(math.log2(most / 4 * math.sqrt(horizon)))
    return [most * 2.0**-j for j in range(1, last + 1)]


def between(_: str, horizon: int) -> list[float]:
    """The fine grid, the same for every instance."""
    return [2.0 ** (j / 12) / math.sqrt(horizon) for j in range(72, 121)]


def _cells(
    policies: Sequence[str],
    horizons: Sequence[int],
    grid: Callable[[str, int], list[float]],
) -> tuple[Cell, ...]:
    """All instances, and gaps by horizon."""
    return tuple(
        Cell(policy, instance, dim, 4, T, gap)
        for policy in policies
        for instance, dim in DIMS.items()
        for T in horizons
        for gap in grid(instance, T)
    )


HORIZONS = (*(10**k for k in range(3, 8)), *(math.isqrt(10**k) for k in range(16, 31)))
SHAPES = (*((d, 2 * d) for d in (2, 4, 8, 16, 32, 64)), *((2, K) for K in (8, 16, 32, 64)))
SCALES = (1.0, 2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8)
FAILING = Cell("", "coin", 2, 4, 10**12, 0.45, 0.1)
EXPERIMENTS = (
    *(
        Leaps(
            name=f"leaps_{policy[-3:].lower()}",
            what=f"Theorem {theorem} at 10³ to 10¹⁵ plays: {policy} by leaps, four instances, "
            "a grid of gaps",
            cells=_cells([policy], HORIZONS, gaps),
            seeds=10,
            per_row=10,
        )
        for theorem, policy in enumerate(POLICIES, 1)
    ),
    Leaps(
        name="leaps_between",
        what="Theorems 1 and 2 at 10¹² plays: gaps between those of the grid, by leaps",
        cells=_cells(POLICIES, [10**12], between),
        seeds=10,
        per_row=10,
    ),
    Leaps(
        name="leaps_shapes",
        what="Theorems 1 and 2 at 10¹² plays as d and K grow, by leaps",
        cells=tuple(
            Cell(policy, "coin", d, K, 10**12, gap)
            for policy in POLICIES
            for d, K in SHAPES
            for gap in gaps("coin", 10**12)
        ),
        seeds=4,
        per_row=4,
    ),
    Leaps(
        name="leaps_failures",
        what="how often an interval misses or the best arm is lost, by leaps, δ = 0.1",
        cells=tuple(replace(FAILING, policy=policy) for policy in POLICIES),
        seeds=10_000,
        per_row=500,
    ),
    Leaps(
        name="leaps_narrow",
        what="the same where intervals are too narrow: a control that failures are seen",
        cells=tuple(
            replace(FAILING, policy=policy, width_scale=scale)
            for policy in POLICIES
            for scale in SCALES[1:]
        ),
        seeds=500,
        per_row=500,
    ),
)


def worst(table: pd.DataFrame) -> pd.DataFrame:
    """For each policy, instance, shape and horizon the row of the gap with the largest mean regret.

    Adds `least_gap` and `most_gap`, the ends of the grid; `over_root`, mean regret over √T, with
    `off`, its limit by Student's t; and `ratio`, the largest regret over the bound.
    """
    from scipy.stats import t as student

    by = table.groupby(["policy", "instance", "dim", "n_arms", "horizon"], sort=False)
    ends = {"least_gap": by["gap"].transform("min"), "most_gap": by["gap"].transform("max")}
    table = table.assign(**ends)
    rows = table.loc[by["mean"].idxmax()].reset_index(drop=True)
    root = np.sqrt(rows["horizon"].astype(float))
    off = student.ppf(CONFIDENCE, rows["seeds"] - 1) * rows["sd"] / np.sqrt(rows["seeds"])
    return rows.assign(
        over_root=rows["mean"] / root, off=off / root, ratio=rows["largest"] / rows["bound"]
    )


def slope(rows: pd.DataFrame, over: str = "horizon") -> tuple[float, float, float]:
    """The slope of ln mean regret against ln of a column, and its limits, by least squares.

    The limits go by how far the points are from the line, as here they hardly vary with the seed
    but with where the horizon falls within a stage. `regrets.slope` has few horizons, and limits
    that go by how the seeds differ.
    """
    from scipy.stats import linregress, t

    found = linregress(np.log(rows[over].astype(float)), np.log(rows["mean"]))
    half = float(t.ppf(CONFIDENCE, len(rows) - 2) * found.stderr)
    return float(found.slope), float(found.slope - half), float(found.slope + half)


def informative(table: pd.DataFrame) -> pd.DataFrame:
    """The rows on which uniform play would violate the bound: tests that an algorithm can fail."""
    return table[table["bound"] < table["uniform"]]


def slack(rows: pd.DataFrame) -> pd.DataFrame:
    """By which factor each step of the proof exceeds the one before it, from regret to bound.

    And `union`, the part of it that comes from δ/ln T in place of δ, for the union over stages.
    """
    union = []
    for row in rows.itertuples():
        once = row.delta * math.log(row.horizon)
        cell = Cell(row.policy, row.instance, row.dim, row.n_arms, row.horizon, row.gap, once)
        union.append(row.bound / cell.bound(row.v))
    return rows.assign(
        step_5=rows["lemma_5"] / rows["mean"],
        step_6=rows["lemma_6"] / rows["lemma_5"],
        step_end=rows["bound"] / rows["lemma_6"],
        union=union,
        steps=rows["bound"] / rows["mean"],
    )
