"""Notebook 09, beyond the paper: the leaderboard, its experiments and its tables.

- Everyone is tuned first, on seeds that only serve calibration, in nine worlds: three instances,
  each with Student's t noise, a skewed noise with a large variance, and a noise without a variance.
- A cost is a share of uniform play's in the same world. The values of a policy's grid that cost
  least, in the geometric mean over the nine worlds, are taken for all of them.
- The board is then played on other seeds, and in a tenth world that tuning has not seen: Theorem
  3's instance, where rare large payoffs are the message.
- Later algorithms stand beside the regression that they become if nothing is ever clipped, with the
  same regularisation, weights and width.
- Differences are paired over seeds, with limits at `statistics.CONFIDENCE` to each side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..pipeline.recipes import Recipe, recipe
from ..pipeline.spec import Experiment
from ..pipeline.tables import csv_text, write_if_new
from ..policy import Floats
from . import plotting, regrets
from .ingredients import totals
from .regrets import by_world
from .showing import fixed, power
from .statistics import mean_limit
from .what_is_left_open import BASELINE_NAMES, HALF, SCALES, SKEWED, UNBOUNDED, informed, worlds

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# Every knob of every policy: its name, and the values tried.
# At the smallest widths a policy is as good as greedy.
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    **{name: {"width_scale": SCALES} for name in ("SupBMM", "SupBTC", *BASELINE_NAMES)},
    **{name: {"width_scale": SCALES} for name in ("FlatBMM", "FlatBTC", "LinUCB")},
    "GreedyRidge": {"ridge": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)},
    "HeavyOFUL": {"width_scale": (1e-2, 1e-3, 1e-4, 1e-5), "clip_scale": (1.0, 0.1, 0.03, 0.01)},
    "HvtUCB": {"width_scale": (1e-4, 1e-5, 1e-6, 1e-7), "clip_scale": (1.0, 0.1, 0.03, 0.01)},
    "ClippedUCB": {
        "width": (0.01, 0.1),
        "clip": (0.5, 1.0, 2.0),
        "growth": (0.0, 0.25),
        "ridge": (1.0, 10.0),
    },
}
LATER = ("HeavyOFUL", "HvtUCB", "ClippedUCB")

TUNED: dict[str, dict[str, float]] = {
    **{name: {"width_scale": 0.01} for name in ("SupBMM", "SupBTC")},
    **{name: {"width_scale": 0.001} for name in (*BASELINE_NAMES, "FlatBMM", "FlatBTC")},
    "LinUCB": {"width_scale": 0.01},
    "GreedyRidge": {"ridge": 100.0},
    "HeavyOFUL": {"width_scale": 1e-5, "clip_scale": 0.01},
    "HvtUCB": {"width_scale": 1e-7, "clip_scale": 0.01},
    "ClippedUCB": {"width": 0.1, "clip": 1.0, "growth": 0.0, "ridge": 10.0},
}
"""The values of least cost in the tuning experiments; a test holds them to those tables."""


@dataclass(frozen=True)
class Law:
    """A kind of noise, and what policies are told about it."""

    name: str  # what experiments are called by
    words: str  # what tables and figures call it
    noise: Recipe | str
    v: str  # "printed" or "exact"
    eps: float


LAWS = (
    Law("t", "Student's t", "student-t", "printed", 1.0),
    Law("skewed", "skewed", SKEWED, "exact", 1.0),
    Law("half", "no variance", HALF, "exact", 0.5),
)
RARE = Law("rare", "rare and large", "two points", "exact", 1.0)
RARE_WORLD = recipe("lower_bound", dim=5, n_arms=4, eps=1.0, gamma_from="stage")


def world_recipes(law: Law) -> tuple[Recipe, ...]:
    """The instances with this noise; rare payoffs have an instance of their own."""
    return (RARE_WORLD,) if law is RARE else worlds(law.noise)


def grid(name: str) -> list[dict[str, float]]:
    """All values of a policy's knobs that are tried, in order."""
    knobs = GRIDS[name]
    return [dict(zip(knobs, values, strict=True)) for values in itertools.product(*knobs.values())]


@dataclass(frozen=True)
class Entry:
    """Someone on the board: a policy, by whose constants, and whether it may clip."""

    name: str
    reading: str  # "theory", "circulated", "tuned" or "–"
    clips: bool = True  # False for the regression beside a later algorithm

    @property
    def label(self) -> str:
        """What tables and figures call it."""
        return self.name if self.clips else f"{self.name}, never clips"

    def recipe(self, law: Law) -> Recipe:
        """The policy as it plays with this noise."""
        given: dict[str, object] = {} if self.clips else {"clips": False}
        if self.reading == "circulated":
            given["constants"] = "circulated"
        return informed(recipe(self.name), law.v, law.eps, **given, **knobs(self))


def knobs(entry: Entry) -> dict[str, float]:
    """The values that it was tuned to."""
    return TUNED[entry.name] if entry.reading == "tuned" else {}


UNIFORM = Entry("Uniform", "–")
PLAIN = Entry("GreedyRidge", "–")  # ridge regression with weight 1, untuned
BOARD = (
    *(Entry(name, "tuned") for name in GRIDS),
    *(Entry(name, "tuned", clips=False) for name in LATER),
    PLAIN,
    UNIFORM,
)
"""Who plays for the leaderboard."""

AS_PUBLISHED = (
    *(Entry(name, "theory") for name in GRIDS if name not in ("FlatBMM", "FlatBTC", *UNBOUNDED)),
    *(Entry(name, "theory", clips=False) for name in LATER[:2]),
    *(Entry(n, "circulated") for n in ("FlatBMM", "FlatBTC", *BASELINE_NAMES, "HeavyOFUL")),
    Entry("HeavyOFUL", "circulated", clips=False),
    UNIFORM,
)
"""The constants of theory and of public code."""


TUNING = tuple(
    totals(
        name=f"tuning_{law.name}",
        what=f"the knobs of every policy, {law.words} noise, on seeds that only serve calibration",
        worlds=world_recipes(law),
        policies=(
            *(informed(recipe(n), law.v, law.eps, **tried) for n in GRIDS for tried in grid(n)),
            recipe("Uniform"),
        ),
        horizons=(10**4,),
        seeds=3,
        first_seed=800,
    )
    for law in LAWS
)


def _boards(kind: str, what: str, entries: Iterable[Entry], seeds: int) -> tuple[Experiment, ...]:
    """The entries in all worlds, one experiment per noise."""
    return tuple(
        totals(
            name=f"{kind}_{law.name}",
            what=f"{what}, {law.words} noise, {seeds} seeds",
            worlds=world_recipes(law),
            policies=tuple(entry.recipe(law) for entry in entries),
            horizons=(10**4,),
            seeds=seeds,
            first_seed=500,
        )
        for law in (*LAWS, RARE)
    )


BOARDS = _boards("board", "the leaderboard: tuned policies and controls", BOARD, seeds=30)
PUBLISHED = _boards("published", "constants of theory and of public code", AS_PUBLISHED, seeds=10)
EXPERIMENTS = (*TUNING, *BOARDS, *PUBLISHED)

PLACES = {"section6": "aligned", "lower_bound": "Theorem 3's"}
"""What tables call an instance, if not by its name."""


def tuning_costs(folder: str | Path) -> dict[str, Floats]:
    """By policy, for each value of its grid: the geometric mean over the worlds of its cost."""
    logs: dict[str, list[Floats]] = {name: [] for name in GRIDS}
    for experiment in TUNING:
        for here in by_world(regrets.runs(experiment.name, folder)).values():
            shares = iter(np.log([100 * one.per_play / here[-1].per_play for one in here[:-1]]))
            for name in GRIDS:
                logs[name].append(np.array([next(shares) for _ in grid(name)]))
    return {name: np.exp(np.mean(tried, axis=0)) for name, tried in logs.items()}


def tuned_values(folder: str | Path) -> dict[str, dict[str, float]]:
    """Of the values tried in the tuning experiments those that cost least, by policy.

    In the geometric mean no world counts for more because it is hard; of equal ones the first of
    the grid.
    """
    return {n: grid(n)[int(np.argmin(costs))] for n, costs in tuning_costs(folder).items()}


@dataclass(frozen=True)
class Standings:
    """One of the board's worlds: everyone's cost a seed, in percent of uniform play's mean."""

    instance: str
    law: Law
    costs: dict[Entry, Floats]  # (seeds,) each
    clipped: dict[Entry, float]  # the share of rounds whose residual was clipped, in percent

    def cost(self, entry: Entry) -> float:
        """The mean over seeds."""
        return float(self.costs[entry].mean())

    def gap(self, one: Entry, other: Entry) -> tuple[float, float]:
        """How much more one costs than the other: the mean, and how far it may be off."""
        difference = self.costs[one] - self.costs[other]
        return float(difference.mean()), mean_limit(difference)

    def rank(self, entry: Entry) -> tuple[int, int, int]:
        """The place by mean cost, and the first and the last that it may be.

        From one more than the number of those surely below it to the number of those not surely
        above it.
        """
        others = [other for other in self.costs if other != entry]
        gaps = [self.gap(entry, other) for other in others]
        place = 1 + sum(mean > 0 for mean, _ in gaps)
        best = 1 + sum(mean - off > 0 for mean, off in gaps)
        worst = 1 + sum(mean + off > 0 for mean, off in gaps)
        return place, best, worst


def standings(kind: str, folder: str | Path) -> list[Standings]:
    """The worlds of the "board" or of what is "published", in order."""
    entries = BOARD if kind == "board" else AS_PUBLISHED
    found = []
    for law in (*LAWS, RARE):
        for name, here in by_world(regrets.runs(f"{kind}_{law.name}", folder)).items():
            by_entry = dict(zip(entries, here, strict=True))
            scale = by_entry[UNIFORM].per_play / 100
            costs = {e: one.regrets / one.plays / scale for e, one in by_entry.items()}
            clipped = {
                e: 100 * float(one.truncated.mean()) / one.plays
                for e, one in by_entry.items()
                if e.name in LATER
            }
            found.append(Standings(PLACES.get(name, name), law, costs, clipped))
    return found


def overall(found: list[Standings], one: Entry, other: Entry) -> tuple[float, float]:
    """The gap averaged over worlds, seed by seed: the mean, and how far it may be off."""
    gaps = np.mean([world.costs[one] - world.costs[other] for world in found], axis=0)
    return float(gaps.mean()), mean_limit(gaps)


def order(found: list[Standings]) -> list[Entry]:
    """Everyone, by mean cost over all worlds."""
    return sorted(found[0].costs, key=lambda entry: float(np.mean([w.cost(entry) for w in found])))


def control(entry: Entry) -> Entry:
    """Whom it is compared with: itself without clipping, if it is a later one, else plain ridge."""
    if entry.name in LATER and entry.clips:
        return Entry(entry.name, entry.reading, clips=False)
    return PLAIN


COLUMNS = (
    *("instance", "noise", "policy", "reading", "knobs", "cost", "over_ridge", "over_ridge_off"),
    *("over_control", "over_control_off", "rank", "first", "last", "clipped"),
)


def write_table(found: list[Standings], folder: str | Path) -> Path:
    """Write everyone's standing in every world as leaderboard.csv; returns its path."""
    rows = [
        [
            world.instance,
            world.law.words,
            entry.label,
            entry.reading,
            " ".join(f"{k}={v:g}" for k, v in knobs(entry).items()),
            f"{world.cost(entry):.4f}",
            *(f"{x:.4f}" for x in world.gap(entry, PLAIN)),
            *(f"{x:.4f}" for x in world.gap(entry, control(entry))),
            *world.rank(entry),
            f"{world.clipped[entry]:.3f}" if entry in world.clipped else "",
        ]
        for world in found
        for entry in order([world])
    ]
    return write_if_new(Path(folder) / "leaderboard.csv", csv_text(COLUMNS, rows))


# What notebook 09 shows of it.

GROUPS: dict[str, tuple[Entry, ...]] = {
    "later; two to four settings tuned": tuple(Entry(name, "tuned") for name in LATER),
    "the same, without clipping": tuple(Entry(name, "tuned", clips=False) for name in LATER),
    "one setting tuned": tuple(Entry(name, "tuned") for name in GRIDS if name not in LATER),
    "nothing tuned": (PLAIN, UNIFORM),
}
"""Who had how many settings tuned; within a group no order is meant."""


def title(entry: Entry) -> str:
    """What a row of the board is called; the two ridge regressions differ in their weight."""
    if entry.name != "GreedyRidge":
        return entry.label
    return f"{entry.name}, ridge {knobs(entry).get('ridge', 1.0):g}"


def ranges(found: list[Standings], names: dict[str, Entry]) -> DataFrame:
    """Costs as a table, one row per entry: of each instance the smallest and largest of its noises.

    names   what each row is called
    """
    import pandas as pd

    instances = list(dict.fromkeys(world.instance for world in found))
    cells = {
        name: [
            _range([w.cost(entry) for w in found if w.instance == instance])
            for instance in instances
        ]
        for name, entry in names.items()
    }
    return pd.DataFrame.from_dict(cells, orient="index", columns=instances)


def _range(costs: list[float]) -> str:
    ends = f"{min(costs):.1f}", f"{max(costs):.1f}"
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def tuned_rows() -> list[dict[str, object]]:
    """For each policy how many settings were tried, what was chosen, and what lies at an edge."""
    rows: list[dict[str, object]] = []
    for name, values in TUNED.items():
        edges = [k for k, x in values.items() if x in (min(GRIDS[name][k]), max(GRIDS[name][k]))]
        chosen = ", ".join(
            f"{k} = {power(x) if 0 < x < 1e-3 else f'{x:g}'}" for k, x in values.items()
        )
        count = len(grid(name))
        rows.append(
            {
                "policy": name,
                "combinations tried": count,
                "chosen": chosen,
                "at the edge of its grid": ", ".join(edges) or "none",
            }
        )
    return rows


def clipping_rows(found: list[Standings]) -> list[dict[str, str]]:
    """By world: what clipping changes for each later algorithm, and how often it clips."""
    rows = []
    for world in found:
        row = {"world": f"{world.instance}, {world.law.words}"}
        for name in LATER:
            entry = Entry(name, "tuned")
            gap, off = world.gap(entry, control(entry))
            share = world.clipped[entry]
            row[name] = f"{fixed(gap, 1)} ± {off:.1f} ({share:.1f} %)"
        rows.append(row)
    return rows


def draw_costs(found: list[Standings]) -> Figure:
    """Everyone's mean cost with its limits on a logarithmic axis, one panel per instance."""
    instances = list(dict.fromkeys(world.instance for world in found))
    figure, axes = plotting.panels(len(instances), size=(7.9, 7.6), sharey=True)
    lines: list[str | Entry] = []
    for words, group in GROUPS.items():
        lines += [words, *group]
    names = [title(line) if isinstance(line, Entry) else line for line in lines]
    for one, instance in zip(axes, instances, strict=True):
        here = [world for world in found if world.instance == instance]
        for world in here:
            which = (*LAWS, RARE).index(world.law)
            costs = [world.costs[line] if isinstance(line, Entry) else _NOTHING for line in lines]
            means = [float(values.mean()) for values in costs]
            offs = [mean_limit(values) for values in costs]
            spans = [(max(m - off, 0.5), m + off) for m, off in zip(means, offs, strict=True)]
            lower = 0.24 * (which - 1) if len(here) > 1 else 0.0
            label = world.law.words
            plotting.rows(one, names, means, spans=spans, which=which, label=label, lower=lower)
        one.axvline(100, color="#000000", linewidth=0.8)
        one.set(xscale="log", xlim=(0.9, 300))
        one.set_xticks([1, 10, 100], ["1", "10", "100"])
        one.set_title(instance, fontsize=9)
    for label, line in zip(axes[0].get_yticklabels(), lines, strict=True):
        label.set(fontsize=8, fontweight="normal" if isinstance(line, Entry) else "bold")
    drawn = {m.get_label(): m for one in axes for m in one.lines if m.get_label() in _WORDS}
    below: dict[str, Any] = {"loc": "outside lower center", "ncols": 4, "frameon": False}
    figure.legend(drawn.values(), drawn, fontsize=9, **below)
    axes[0].tick_params(axis="y", length=0)
    axes[1].set_xlabel("mean cost, % of uniform play's, logarithmic")
    figure.suptitle(
        "Which of these tuned policies costs least depends on the instance", fontsize=10
    )
    return figure


_NOTHING = np.full(2, np.nan)  # a heading has no cost
_WORDS = {law.words for law in (*LAWS, RARE)}


def draw_clipping(found: list[Standings]) -> Figure:
    """Cost with clipping minus cost without, by world, for each later algorithm."""
    figure, axes = plotting.panels(size=(7.9, 5.8))
    for which, name in enumerate(LATER):
        entry, look = Entry(name, "tuned"), plotting.look(name)
        gap, off = np.transpose([world.gap(entry, control(entry)) for world in found])
        at = np.arange(len(found)) + 0.22 * (which - 1)
        axes.hlines(at, gap - off, gap + off, color=look.colour, linewidth=2.5, alpha=0.5)
        axes.plot(gap, at, look.marker, color=look.colour, markersize=5, label=name)
    axes.set_yticks(range(len(found)), [f"{w.instance}, {w.law.words}" for w in found])
    axes.axvline(0, color="#000000", linewidth=1)
    axes.set(xlabel="cost with clipping minus cost without, points (% of uniform play's)")
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.legend(fontsize=9, frameon=False, loc="lower left")
    axes.set_title("Clipping lowers the cost in nine of ten worlds", fontsize=10)
    return figure


def exploring(entry: Entry, folder: str | Path) -> dict[str, float]:
    """By world of the board: in which share of its rounds, in percent, a staged policy explored."""
    shares = {}
    for law in LAWS:
        for name, here in by_world(regrets.runs(f"board_{law.name}", folder)).items():
            one = dict(zip(BOARD, here, strict=True))[entry]
            explored = float(one.explored.sum(axis=1).mean())
            rounds = explored + float(one.exploited.mean())
            shares[f"{PLACES.get(name, name)}, {law.words}"] = 100 * explored / rounds
    return shares
