"""Notebook 09, beyond the paper: the benchmark's experiments, and what is read from them.

`protocol` says what is run. Here are the entries, the choices that tuning came to (a test holds
them to the data), and costs with their limits; `board_tables` shows them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..pipeline import tables
from ..pipeline.recipes import Recipe, recipe
from ..policy import Floats
from .protocol import (
    BOARD_SEEDS,
    BOXES,
    CENTRES,
    FIRST_BOARD_SEED,
    FIRST_TUNING_SEED,
    HELD_OUT,
    KNOBS,
    RANGES,
    SIZES,
    TRAINING,
    TUNING_SEEDS,
    Judged,
    Shown,
    Trials,
    best_apart,
    contestant,
    first_step,
    moves,
    next_step,
)
from .statistics import mean_limit

CHOSEN: dict[str, tuple[tuple[int, ...], ...]] = {
    "SupBMM": ((16, 35, 31, 47), (66, 76), (108,), (121,)),
    "SupBTC": ((11, 41, 7, 59), (79, 94), (96,), (124,)),
    "MoM": ((62, 14, 30, 38), (84, 62), (84,), (84,)),
    "MENU": ((46, 1, 52, 41), (67, 68), (67,), (122,)),
    "LinUCB": ((29, 2, 61, 34), (95, 29), (95,), (95,)),
    "Thompson": ((2, 54, 58, 50), (68, 78), (68,), (68,)),
    "CRT": ((34, 26, 41, 6), (71, 67), (97,), (113,)),
    "TOFU": ((34, 22, 41, 37), (71, 81), (71,), (71,)),
    "HeavyOFUL": ((42, 2, 22, 38), (79, 93), (79,), (121,)),
    "HvtUCB": ((54, 42, 37, 22), (54, 42), (100,), (119,)),
    "ClippedUCB": ((26, 41, 34, 53), (26, 41), (103,), (103,)),
    "ClippedUCB, clips off": ((29, 2, 41, 34), (95, 29), (95,), (95,)),
    "SafeRidge": ((25, 33, 17, 13), (68, 78), (68,), (113,)),
    "GreedyRidge": ((41, 18, 21, 6), (41, 76), (41,), (41,)),
}
"""By policy, which of its configurations were best after each step of the tuning: those around
which the next step looks, and at last the winner."""


def configurations(policy: str, steps: int = len(SIZES)) -> list[dict[str, float]]:
    """What is tried of a policy in so many steps, in order."""
    found = first_step(policy, KNOBS[policy])
    for step, best in enumerate(CHOSEN.get(policy, ())[: steps - 1], start=1):
        if step < len(SIZES):
            found += next_step([found[i] for i in best], step)
    return found


def tuned(policy: str) -> dict[str, float]:
    """The configuration that tuning chose."""
    return configurations(policy)[CHOSEN[policy][-1][0]]


UNIFORM = recipe("Uniform")


def _step(step: int) -> tuple[Recipe, ...]:
    """The entries of a step of the tuning; uniform play is the first of all."""
    begin = sum(SIZES[: step - 1])
    tried = (contestant(p, **one) for p in KNOBS for one in configurations(p, step)[begin:])
    return (UNIFORM, *tried) if step == 1 else tuple(tried)


def _moves() -> tuple[Recipe, ...]:
    return tuple(contestant(p, **one) for p in KNOBS for one in moves(tuned(p)))


@dataclass(frozen=True)
class Entry:
    """Someone on the board."""

    name: str
    group: str  # one of GROUPS
    policy: Recipe | None = None  # if it is not the policy of that name as tuned

    @property
    def label(self) -> str:
        """Its name among all: of the policies that appear more than once, with their constants."""
        return self.name if self.name == "Uniform" else f"{self.name}, {self.group}"

    @property
    def recipe(self) -> Recipe:
        """The policy without what a cell tells it."""
        return self.policy or contestant(self.name, **tuned(self.name))

    @property
    def kind(self) -> tuple[str, dict[str, Any]]:
        """The policy and those of its settings that are no knobs."""
        settings = self.recipe.params
        return self.recipe.name, {key: value for key, value in settings if key not in RANGES}


GROUPS = {
    "tuned": f"tuned constants, {sum(SIZES)} configurations each",
    "defaults": "no tuning at all",
    "published": "constants of theorems, or of public code",
    "counter": "counter-examples to former boards",
}
UNTUNED = (
    Entry("SafeRidge", "defaults", recipe("SafeRidge")),
    Entry("SafeRidge, clips off", "defaults", recipe("SafeRidge", clips=False)),
    Entry("ClippedUCB", "defaults", recipe("ClippedUCB")),
    Entry("ClippedUCB, clips off", "defaults", recipe("ClippedUCB", clips=False)),
    Entry("GreedyRidge", "defaults", recipe("GreedyRidge")),
    Entry("Uniform", "defaults", UNIFORM),
    *(
        Entry(name, "published", recipe(name))
        for name in ("SupBMM", "SupBTC", "MoM", "CRT", "MENU", "TOFU", "LinUCB", "Thompson")
    ),
    *(Entry(name, "published", recipe(name)) for name in ("HeavyOFUL", "HvtUCB")),
    *(
        Entry(f"{name}, public code", "published", recipe(name, constants="circulated"))
        for name in ("MoM", "CRT", "MENU", "TOFU", "HeavyOFUL")
    ),
    Entry("GreedyRidge, ridge 1,000", "counter", recipe("GreedyRidge", ridge=1000.0)),
    Entry("CRT, without width", "counter", recipe("CRT", width_scale=1e-9, ridge=300.0)),
    Entry("SupBMM, level scaled", "counter", recipe("SupBMM", width_scale=0.01, level_scale=0.01)),
    Entry(
        "ClippedUCB, ridge 816",
        "counter",
        recipe("ClippedUCB", ridge=816.0, width_scale=0.00121, threshold_scale=8.77),
    ),
    Entry("MoM, ridge 0.863", "counter", recipe("MoM", ridge=0.863, width_scale=0.00535)),
    Entry("MENU, ridge 3.9", "counter", recipe("MENU", ridge=3.9, width_scale=0.00169)),
    Entry(
        "HvtUCB, ridge 124",
        "counter",
        recipe("HvtUCB", ridge=124.0, width_scale=1.99e-7, threshold_scale=0.0556),
    ),
    Entry(
        "ClippedUCB, ridge 150",
        "counter",
        recipe("ClippedUCB", ridge=150.0, width_scale=1.0, threshold_scale=25.0),
    ),
    Entry("MENU, ridge 30", "counter", recipe("MENU", ridge=30.0, width_scale=0.015)),
    Entry(
        "SupBTC, ridge 60",
        "counter",
        recipe("SupBTC", ridge=60.0, width_scale=0.006, threshold_scale=20.0, level_scale=0.009),
    ),
    Entry(
        "TOFU, ridge 250",
        "counter",
        recipe("TOFU", ridge=250.0, width_scale=0.002, threshold_scale=0.3),
    ),
    Entry("TOFU, ridge 400", "counter", recipe("TOFU", ridge=400.0, width_scale=1e-6)),
    Entry(
        "MENU's public code, ridge 30",
        "counter",
        recipe("MENU", constants="circulated", ridge=30.0, width_scale=0.75),
    ),
)
BOARD = (*(Entry(name, "tuned") for name in KNOBS), *UNTUNED)
OWN = " (own)"
"""What the name of an entry of the reader's ends with."""
RIDGE = Entry("GreedyRidge", "tuned")
"""Whom everyone is compared with."""
PLACES = {entry.name: i for i, entry in enumerate(BOARD) if entry.group != "tuned"}
"""Where entries that are not tuned stand among all."""


def _entries() -> tuple[Recipe, ...]:
    return tuple(entry.recipe for entry in BOARD)


_TUNING: dict[str, Any] = {"seeds": TUNING_SEEDS, "first_seed": FIRST_TUNING_SEED}
_MOVES = 2 * sum(map(len, KNOBS.values()))
STEPS = (
    Trials(
        "tuning_1",
        f"the benchmark's tuning: {SIZES[0]} configurations of every policy on the training cells",
        TRAINING,
        1 + SIZES[0] * len(KNOBS),
        functools.partial(_step, 1),
        **_TUNING,
    ),
    *(
        Trials(
            f"tuning_{2 + i}",
            f"{SIZES[1 + i]} more around the best {CENTRES[i]}, {decades:.2g} decades to each side",
            TRAINING,
            SIZES[1 + i] * len(KNOBS),
            functools.partial(_step, 2 + i),
            **_TUNING,
        )
        for i, decades in enumerate(BOXES)
    ),
)
MOVES = Trials(
    "tuning_moves",
    "each knob of each choice a decade up and down, on the training cells",
    TRAINING,
    _MOVES,
    _moves,
    **_TUNING,
)
_JUDGED: dict[str, Any] = {"first_seed": FIRST_BOARD_SEED}
JUDGED = Trials(
    "board",
    f"the benchmark: everyone on the held-out cells, {BOARD_SEEDS} seeds",
    HELD_OUT,
    len(BOARD),
    _entries,
    seeds=BOARD_SEEDS,
    spec=Judged,
    **_JUDGED,
)
FLAGS = Trials(
    "board_flags",
    "everyone on the held-out cells, one seed, beside copies whose payoffs are all 0",
    HELD_OUT,
    len(BOARD),
    _entries,
    seeds=1,
    spec=Shown,
    **_JUDGED,
)
_DECIDED = min((len(CHOSEN.get(policy, ())) for policy in KNOBS), default=0)
"""How many steps of the tuning have been decided; what needs more cannot be run yet."""
EXPERIMENTS = (
    *STEPS[: 1 + _DECIDED],
    *((MOVES, JUDGED, FLAGS) if len(BOXES) < _DECIDED else ()),
)


def regrets(plan: Trials, folder: str | Path) -> Floats:
    """Regret per play made, by cell, seed and entry."""
    table = tables.read(plan.name, folder)
    shape = len(plan.cells), plan.seeds, plan.count
    per_play = table["regret"].to_numpy(np.float64) / table["plays"].to_numpy(np.float64)
    return np.asarray(per_play.reshape(shape))


def scores(folder: str | Path, steps: int) -> dict[str, Floats]:
    """Of each policy's configurations, in order: the mean cost over the training cells, in percent.

    A cost is regret per play over uniform play's mean in that cell.
    """
    found = [regrets(plan, folder) for plan in STEPS[:steps]]
    uniform = found[0][:, :, 0].mean(axis=1)
    each = [costs.mean(axis=1) / uniform[:, None] * 100 for costs in found]
    parts: dict[str, list[Floats]] = {policy: [] for policy in KNOBS}
    for step, (costs, size) in enumerate(zip(each, SIZES, strict=False)):
        for i, policy in enumerate(KNOBS):
            begin = (step == 0) + i * size
            parts[policy].append(costs[:, begin : begin + size].mean(axis=0))
    return {policy: np.concatenate(tried) for policy, tried in parts.items()}


def best(folder: str | Path, steps: int) -> dict[str, tuple[int, ...]]:
    """The configurations that count after so many steps, as `protocol.best_apart` says."""
    return {
        policy: best_apart(configurations(policy, steps), tried.tolist(), steps - 1)
        for policy, tried in scores(folder, steps).items()
    }


@dataclass(frozen=True)
class Standings:
    """The board: costs in percent of uniform play's mean in the same cell."""

    entries: tuple[Entry, ...]
    costs: Floats  # (cells, seeds, entries)

    def __getitem__(self, entry: Entry) -> Floats:
        """(cells, seeds) costs of an entry."""
        return np.asarray(self.costs[:, :, self.entries.index(entry)])

    def _of(self, entry: Entry, cells: Sequence[int] | None) -> Floats:
        return self[entry] if cells is None else self[entry][list(cells)]

    def group(self, name: str) -> list[Entry]:
        """The entries of a group, by mean cost."""
        return sorted((entry for entry in self.entries if entry.group == name), key=self.mean)

    def mean(self, entry: Entry, cells: Sequence[int] | None = None) -> float:
        """The mean over cells, all or these, and seeds."""
        return float(self._of(entry, cells).mean())

    def gap(
        self, one: Entry, other: Entry, comparisons: int, cells: Sequence[int] | None = None
    ) -> tuple[float, float]:
        """How much more one costs than the other, averaged over cells, paired over seeds.

        With how far that may be off if so many comparisons are to hold together.
        """
        differences = (self._of(one, cells) - self._of(other, cells)).mean(axis=0)
        return float(differences.mean()), mean_limit(differences, simultaneous(comparisons))

    def over_ridge(self, entry: Entry) -> tuple[float, float]:
        """The gap to tuned ridge regression; limits hold for everyone's together."""
        if entry == RIDGE:
            return 0.0, 0.0
        return self.gap(entry, RIDGE, len(self.entries) - 1)

    def cell_gap(
        self, cell: int, one: Entry, other: Entry, comparisons: int
    ) -> tuple[float, float]:
        """The same in one cell."""
        differences = self[one][cell] - self[other][cell]
        return float(differences.mean()), mean_limit(differences, simultaneous(comparisons))


def simultaneous(comparisons: int) -> float:
    """The confidence to each side of one of several limits that hold together at 95 %."""
    return 1 - 0.05 / (2 * comparisons)


def standings(folder: str | Path) -> Standings:
    """The board as it came out."""
    found = regrets(JUDGED, folder)
    uniform = found[:, :, PLACES["Uniform"]].mean(axis=1)
    return Standings(BOARD, 100 * found / uniform[:, None, None])


def with_others(costs: Floats, entry: dict[str, Any], folder: str | Path) -> Standings:
    """The recorded entries, and one of the reader's with its defaults and as it was tuned."""
    groups = ("defaults", "tuned")[: costs.shape[2]]
    own = tuple(Entry(f"{entry['policy']}{OWN}", group) for group in groups)
    recorded = standings(folder)
    together = np.concatenate([recorded.costs, costs], axis=2)
    return Standings((*recorded.entries, *own), together)


def flags(folder: str | Path) -> tuple[Floats, Floats]:
    """By cell and entry, in percent: payoffs clipped or dropped per play, of the board's runs; and
    rounds in which the arm would have been the same had all payoffs been 0."""
    table, zero = (tables.read(plan.name, folder) for plan in (JUDGED, FLAGS))
    shape = len(HELD_OUT), BOARD_SEEDS, len(BOARD)
    per_play = (table["truncated"] / table["plays"]).to_numpy(np.float64)
    clipped = 100 * per_play.reshape(shape).mean(axis=1)
    same = 100 * zero["same"].to_numpy(np.float64).reshape(len(HELD_OUT), len(BOARD))
    return clipped, same


def order(
    found: Standings, entries: Sequence[Entry], slack: dict[str, float]
) -> list[tuple[Entry, Entry]]:
    """All pairs of which the first costs less, by limits that hold for all pairs together.

    Also if the other, by its name, could be tuned to cost that much less, and with each of the
    values of its knobs that a counter-example gives it.
    """
    pairs = [(a, b) for i, a in enumerate(entries) for b in entries[i + 1 :]]
    below = []
    for pair in pairs:
        cheap, dear = sorted(pair, key=found.mean)
        counters = [one for one in found.group("counter") if one.kind == dear.kind]
        gaps = [found.gap(one, cheap, len(pairs)) for one in (dear, *counters)]
        if all(gap - off > slack[dear.name] for gap, off in gaps):
            below.append((cheap, dear))
    return below
