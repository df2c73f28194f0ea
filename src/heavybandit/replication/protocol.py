"""The benchmark of notebook 09 as data: worlds, knobs, budgets, seeds and entries.

Written down before it is run, and the same for everyone:

- **Knobs.** A policy is tuned in those of `RANGES` that it has, and in nothing else.
- **Budget.** Every policy gets the same number of configurations, whether it has one knob or four:
  64 points of Sobol's sequence over the ranges, on a logarithmic scale; 8 points around each of the
  4 best of them, in boxes of one decade to each side; 8 around each of the 2 best of all so far, in
  boxes of half a decade; and 16 around the best, in a box of a quarter. If centres lie in each
  other's boxes, only the best of them is used. A box may extend beyond a range; values outside it
  are then tried too.
- **Training.** A configuration's score is its mean cost, in percent of uniform play's, over the
  training cells on two seeds. The lowest score wins, and of equal ones the first.
- **Judgement.** Every entry plays the held-out cells, on seeds that tuning never saw. No held-out
  cell is a training cell; one shares its world with a training cell, but differs in its horizon and
  in the ε and v that policies are given.
- **Moves.** Afterwards each knob of each winner is moved by a decade up and down, on the training
  cells. A winner lies inside its range if no move scores more than 2 points lower than it does.
- **Slack.** What the second half of a policy's budget gained over the first, and what the best move
  gains: how much lower a longer search might have come in training. It is taken off before a policy
  is said to cost more than another.
- **Limits.** Costs are averaged over the held-out cells, seed by seed; differences are paired. All
  differences in one table have simultaneous limits (Bonferroni, Student's t, 95 % for that table).
  The same difference can therefore have different limits in two tables. No order is stated unless
  its table supports it even after the slack of the one that costs more is taken off: for its tuned
  constants, and likewise for those of every recorded counter-example that has other values of the
  knobs and is otherwise the policy that was tuned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from ..pipeline.recipes import Recipe, make_world, recipe, with_bound
from ..pipeline.spec import Plan, RunSpec, Spec, as_result, engine_of, number
from ..policy import Floats

RANGES = {
    "ridge": (1e-5, 1e5),
    "width_scale": (1e-7, 10.0),
    "threshold_scale": (1e-3, 100.0),
    "level_scale": (1e-3, 10.0),
}
"""What is tried at first, from … to."""

DROPPING = ("SupBTC", "TOFU")
"""Whose thresholds start at 0.3: they look at all that may be dropped again in every round, which
for smaller thresholds is most of the history."""

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "ClippedUCB, clips off": ("ClippedUCB", {"clips": False}),
}
"""Contestants that are a policy with a setting that is no knob."""

_WIDTHS, _CLIPS = ("ridge", "width_scale"), ("ridge", "width_scale", "threshold_scale")
KNOBS: dict[str, tuple[str, ...]] = {
    "SupBMM": (*_WIDTHS, "level_scale"),
    "SupBTC": (*_CLIPS, "level_scale"),
    **dict.fromkeys(("MoM", "MENU", "LinUCB", "Thompson"), _WIDTHS),
    **dict.fromkeys(("CRT", "TOFU", "HeavyOFUL", "HvtUCB", "ClippedUCB"), _CLIPS),
    "ClippedUCB, clips off": _WIDTHS,
    "SafeRidge": ("ridge", "threshold_scale"),
    "GreedyRidge": ("ridge",),
}
"""Who is tuned, in which knobs: all that each has and that do something. FlatBMM and FlatBTC are no
entries: nobody has published them as algorithms, and for ε < 1 FlatBTC goes through its history in
most rounds."""

UNBOUNDED = ("Uniform", "GreedyRidge", "LinUCB", "Thompson", "ClippedUCB", "SafeRidge")
"""Who needs no bound on a moment."""

SIZES = (64, 32, 16, 16)  # configurations of each step of the tuning
CENTRES = (4, 2, 1)  # around how many of the best so far those after the first lie
BOXES = (1.0, 1 / 2, 1 / 4)  # how many decades they reach to each side
MARGIN = 2.0  # points of score
TUNING_SEEDS, FIRST_TUNING_SEED = 2, 900
BOARD_SEEDS, FIRST_BOARD_SEED = 24, 4000


@dataclass(frozen=True)
class Cell:
    """A world at a horizon, and what policies are told about its payoffs."""

    name: str
    world: Recipe
    horizon: int
    eps: float = 1.0  # of the moment that policies are told
    true_eps: float | None = None  # of the moment whose bound they are told, if another
    v_factor: float = 1.0  # by which that bound is wrong

    def policy(self, entry: Recipe) -> Recipe:
        """The entry as it plays here."""
        if entry.name in UNBOUNDED:
            return entry
        told = {"delta": 0.01, **dict(entry.params)}
        v = exact_bound(self, entry.name, str(told.get("constants", "theory")))
        return recipe(entry.name, **told, v=self.v_factor * v, eps=self.eps)


@functools.cache
def exact_bound(cell: Cell, policy: str, constants: str) -> float:
    """The exact moment that a policy needs a bound on; an integral, for some noises."""
    exact = recipe(policy, v="exact", eps=cell.true_eps or cell.eps, constants=constants)
    bounded = with_bound(exact, make_world(cell.world, cell.horizon))
    return float(dict(bounded.params)["v"])


T3 = recipe("StudentT", df=3.0)
SKEWED = recipe("LogNormal", sigma=1.5, scale=0.5)
HALF = recipe("SymmetricPareto", shape=1.6, scale=1.0)  # no variance; ε = ½
STABLE = recipe("AlphaStable", alpha=1.7, scale=1.0)  # likewise
GROSS = recipe("Outliers", scale=0.3, size=30.0, probability=0.02)


def _varying(base: float, tilt: float, law: Recipe = SKEWED) -> Recipe:
    return recipe("Varying", noise=law, base=base, tilt=tilt)


TRAINING = (
    Cell("aligned, Student's t", recipe("section6", noise=T3), 3_000),
    Cell(
        "misaligned, log-normal",
        recipe("misaligned", noise=SKEWED, dim=5, n_arms=10, theta_norm=0.5),
        3_000,
    ),
    Cell("symmetric, no variance", recipe("symmetric", noise=HALF), 5_000, eps=0.5),
    Cell(
        "fixed arms, gross errors",
        recipe("sphere_arms", noise=GROSS, theta_norm=0.3, draw=1),
        3_000,
    ),
    Cell(
        "misaligned, skewed noise grows with the mean",
        recipe("misaligned", noise=_varying(3.0, 3.6), dim=5, n_arms=10),
        3_000,
    ),
    Cell(
        "symmetric, Student's t, units × 10",
        recipe("symmetric", noise=recipe("Units", noise=T3, factor=10.0), dim=20, n_arms=10),
        3_000,
    ),
    Cell(
        "symmetric, rare large payoffs",
        recipe("symmetric", noise=recipe("TwoPointPayoff", gamma=0.05, lift=1.0), dim=5, n_arms=4),
        10_000,
    ),
    Cell(
        "symmetric, α-stable, ‖θ*‖ = 0.3",
        recipe("symmetric", noise=STABLE, dim=5, n_arms=4, theta_norm=0.3),
        5_000,
        eps=0.5,
    ),
)

HELD_OUT = (
    Cell("aligned, log-normal", recipe("section6", noise=SKEWED), 10_000),
    Cell(
        "misaligned, Student's t, 50 arms",
        recipe("misaligned", noise=recipe("StudentT", df=2.5), dim=20, n_arms=50),
        10_000,
    ),
    Cell(
        "symmetric, log-normal, ‖θ*‖ = 0.3",
        recipe("symmetric", noise=recipe("LogNormal"), n_arms=10, theta_norm=0.3),
        10_000,
    ),
    Cell("fixed arms, Student's t", recipe("sphere_arms", noise=T3, dim=10, n_arms=20), 10_000),
    Cell(
        "fixed arms, skewed α-stable",
        recipe("sphere_arms", noise=recipe("AlphaStable", alpha=1.7, skew=0.8, scale=1.0)),
        10_000,
        eps=0.5,
    ),
    Cell(
        "misaligned, skewed noise grows with the mean",
        recipe("misaligned", noise=_varying(1.0, 1.0, recipe("LogNormal", sigma=2.0, scale=2.0))),
        10_000,
    ),
    Cell(
        "symmetric, skew differs between arms",
        recipe("symmetric", noise=_varying(0.0, 4.0)),
        10_000,
    ),
    Cell(
        "misaligned, Student's t, units × 100",
        recipe("misaligned", noise=recipe("Units", noise=T3, factor=100.0)),
        10_000,
    ),
    Cell(
        "symmetric, Student's t, offset + 10",
        recipe("symmetric", noise=recipe("Units", noise=T3, offset=10.0)),
        10_000,
    ),
    Cell(
        "fixed arms, rare large payoffs",
        recipe(
            "sphere_arms", noise=recipe("TwoPointPayoff", gamma=0.02, lift=1.0), dim=5, n_arms=4
        ),
        10_000,
    ),
    Cell("symmetric, gross errors, d = 40", recipe("symmetric", noise=GROSS, dim=40), 10_000),
    Cell(
        "symmetric, no variance, v and ε misstated",
        recipe("symmetric", noise=HALF),
        10_000,
        eps=1.0,
        true_eps=0.5,
        v_factor=0.1,
    ),
    Cell(
        "symmetric, Student's t, 10⁵ plays",
        recipe("symmetric", noise=T3, theta_norm=0.3),
        100_000,
    ),
    Cell(
        "symmetric, Student's t, 10³ plays", recipe("symmetric", noise=T3, dim=5, n_arms=4), 1_000
    ),
)


def rounded(value: float) -> float:
    """Three significant digits: what is written down is what is run."""
    return float(f"{value:.3g}")


@functools.cache
def _unit_points(n: int, axes: int) -> Floats:
    """Points of Sobol's sequence in the unit cube, moved off its sides."""
    from scipy.stats import qmc  # slow to import, and whoever lists experiments needs no points

    points: Floats = qmc.Sobol(axes, scramble=False).random_base2(n.bit_length() - 1)
    return np.asarray((points + 0.5 / n) % 1.0)


def range_of(policy: str, knob: str) -> tuple[float, float]:
    """Between which values a knob is tried at first."""
    low, high = RANGES[knob]
    return (0.3 if knob == "threshold_scale" and policy in DROPPING else low), high


def contestant(name: str, **knobs: float) -> Recipe:
    """Someone who is tuned, with these knobs."""
    policy, fixed = VARIANTS.get(name, (name, {}))
    return recipe(policy, **fixed, **knobs)


def first_step(policy: str, knobs: tuple[str, ...]) -> list[dict[str, float]]:
    """The configurations that are tried at first."""
    found = []
    ends = {name: np.log10(range_of(policy, name)) for name in knobs}
    for point in _unit_points(SIZES[0], len(knobs)).tolist():
        spans = zip(ends.items(), point, strict=True)
        found.append({name: rounded(10 ** (a + x * (b - a))) for (name, (a, b)), x in spans})
    return found


def best_apart(
    tried: Sequence[dict[str, float]], scores: Sequence[float], step: int
) -> tuple[int, ...]:
    """Around which configurations a step looks: the best so far, none in the box of a better one.

    After the last step: the best. Of equal scores the first counts.
    """
    count, decades = (CENTRES[step], BOXES[step]) if step < len(CENTRES) else (1, 0.0)
    found: list[int] = []
    for i in np.argsort(scores, kind="stable").tolist():
        far = (
            any(abs(np.log10(tried[i][n] / c)) > decades for n, c in tried[j].items())
            for j in found
        )
        if len(found) < count and all(far):
            found.append(i)
    return tuple(found)


def next_step(centres: Sequence[dict[str, float]], step: int) -> list[dict[str, float]]:
    """The configurations that are tried around these, after `step` steps."""
    each, decades = SIZES[step] // CENTRES[step - 1], BOXES[step - 1]
    points = (2 * _unit_points(each, len(centres[0])) - 1).tolist()
    return [
        {
            n: rounded(c * 10 ** (decades * x))
            for (n, c), x in zip(centre.items(), point, strict=True)
        }
        for centre in centres
        for point in points
    ]


def moves(centre: dict[str, float]) -> list[dict[str, float]]:
    """Each knob a decade up and down."""
    return [{**centre, n: rounded(c * by)} for n, c in centre.items() for by in (10.0, 0.1)]


@dataclass(frozen=True)
class Trial(RunSpec):
    """A run of the benchmark: an entry in a cell."""

    cell: str = ""
    entry: int = 0  # its place among the experiment's entries

    columns: ClassVar[tuple[str, ...]] = ("run", "policy", "entry", "seed", "plays", "regret")

    def settings(self) -> dict[str, Any]:
        return {"cell": self.cell, "policy": self.policy.name, "entry": self.entry}

    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        """A short line: there are many of them, and the sidecar says what an entry is.

        It also lists the cells, which follow one another; `tables.read` tells a run's.
        """
        return [
            *(str(index), self.policy.name, str(self.entry), str(self.seed)),
            *(str(result["plays"][-1]), number(result["regret"])),
        ]


@dataclass(frozen=True)
class Judged(Trial):
    """A run of the board, with how many payoffs were clipped or dropped."""

    columns = (*Trial.columns, "truncated")
    settings = RunSpec.settings

    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        return [*super().row(index, result), str(result["diagnostics"]["truncated"])]


@dataclass(frozen=True)
class Shown(Trial):
    """The same beside a copy on the same contexts whose payoffs are all 0."""

    columns = (*Trial.columns, "same")

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "beside": "payoffs of 0"}

    @classmethod
    def run(cls, group: Any, report: Any = None) -> list[dict[str, Any]]:
        """Also the share of rounds in which both choose the same arm."""
        from ..counterfactual import counterfactuals

        world = make_world(group[0].world, group[0].horizon)
        found = counterfactuals(
            [spec.make_policy(world) for spec in group],
            world,
            group[0].seed,
            shown=("zero",),
            checkpoints=group[0].checkpoints,
            progress=report or False,
        )
        results = [as_result(one.run) for (one,) in found]
        for result, (one,) in zip(results, found, strict=True):
            result["diagnostics"]["same"] = one.share
        return results

    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        return [*super().row(index, result), number(result["diagnostics"]["same"])]


@dataclass(frozen=True)
class Trials(Plan):
    """Entries in cells, in the order cell, seed, entry; of a run the regret at the end is kept."""

    cells: tuple[Cell, ...]
    count: int  # of entries
    make: Callable[[], tuple[Recipe, ...]]  # makes them, when they are needed
    _: KW_ONLY
    spec: type[Trial] = Trial

    @functools.cached_property
    def entries(self) -> tuple[Recipe, ...]:
        """Who plays, as recipes without what a cell tells them."""
        return self.make()

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "cells": [{**vars(cell), "world": cell.world.as_json()} for cell in self.cells],
            "entries": [entry.as_json() for entry in self.entries],
            "seeds": self.seeds,
            "first_seed": self.first_seed,
            "engine": max(map(engine_of, self.entries)),
        }

    def told(self, cell: Cell, entry: Recipe) -> Recipe:
        """An entry as it plays in a cell."""
        return cell.policy(entry)

    def groups(self) -> Iterator[list[Spec]]:
        for cell in self.cells:
            policies = [self.told(cell, entry) for entry in self.entries]
            for seed in range(self.first_seed, self.first_seed + self.seeds):
                yield [
                    self.spec(cell.world, policy, cell.horizon, seed, 1, False, cell.name, i)
                    for i, policy in enumerate(policies)
                ]

    def size(self) -> tuple[int, int]:
        each = self.count * self.seeds
        return each * len(self.cells), each * sum(cell.horizon for cell in self.cells)

    def has_curve(self, spec: Spec) -> bool:
        return False
