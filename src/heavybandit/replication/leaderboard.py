"""The leaderboard of notebook 09: who costs what, where, and how surely.

A cost is given as a share of uniform play's mean cost in the same world, in percent. Differences
are paired over seeds, with limits at `claims.CONFIDENCE` to each side. A policy's rank in a world
is its place by mean cost; the ranks that it may have go from one more than the number of those
surely below it to the number of those not surely above it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..pipeline.store import write_whole
from ..policy import Floats
from . import beyond, regrets
from .beyond import LATER, PLAIN, UNIFORM, Entry, Law
from .regrets import Runs, mean_limit

PLACES = {"section6": "aligned", "lower_bound": "Theorem 3's"}
"""What tables call an instance, if not by its name."""


def tuned_values(folder: str | Path) -> dict[str, dict[str, float]]:
    """Of the values tried in the tuning experiments those that cost least, by policy.

    By the geometric mean over the nine worlds of the cost as a share of uniform play's, so that no
    world counts for more because it is hard; of equal ones the first of the grid.
    """
    costs: dict[str, Floats] = {}
    for experiment in beyond.TUNING:
        for here in _worlds(regrets.runs(experiment.name, folder)):
            shares = np.log([one.per_play / here[-1].per_play for one in here[:-1]])
            start = 0
            for name in beyond.GRIDS:
                size = len(beyond.grid(name))
                costs[name] = costs.get(name, np.zeros(size)) + shares[start : start + size]
                start += size
    return {name: beyond.grid(name)[int(np.argmin(total))] for name, total in costs.items()}


def _worlds(found: list[Runs]) -> Iterator[list[Runs]]:
    """The runs of each world, in the order of the experiment's policies."""
    by_world: dict[str, list[Runs]] = {}
    for one in found:
        by_world.setdefault(one.world, []).append(one)
    yield from by_world.values()


@dataclass(frozen=True)
class World:
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
        """The place by mean cost, and the first and the last that it may be."""
        others = [other for other in self.costs if other != entry]
        gaps = [self.gap(entry, other) for other in others]
        place = 1 + sum(mean > 0 for mean, _ in gaps)
        best = 1 + sum(mean - off > 0 for mean, off in gaps)
        worst = 1 + sum(mean + off > 0 for mean, off in gaps)
        return place, best, worst


def worlds(kind: str, folder: str | Path) -> list[World]:
    """The worlds of the "board" or of what is "published", in order."""
    entries = beyond.BOARD if kind == "board" else beyond.AS_PUBLISHED
    found = []
    for law in (*beyond.LAWS, beyond.RARE):
        for here in _worlds(regrets.runs(f"{kind}_{law.name}", folder)):
            by_entry = dict(zip(entries, here, strict=True))
            scale = by_entry[UNIFORM].per_play / 100
            costs = {e: one.regrets / one.plays / scale for e, one in by_entry.items()}
            clipped = {
                e: 100 * float(one.truncated.mean()) / one.plays
                for e, one in by_entry.items()
                if e.name in LATER
            }
            name = here[0].world
            found.append(World(PLACES.get(name, name), law, costs, clipped))
    return found


def overall(found: list[World], one: Entry, other: Entry) -> tuple[float, float]:
    """The gap averaged over worlds, seed by seed: the mean, and how far it may be off."""
    gaps = np.mean([world.costs[one] - world.costs[other] for world in found], axis=0)
    return float(gaps.mean()), mean_limit(gaps)


def order(found: list[World]) -> list[Entry]:
    """Everyone, by mean cost over all worlds."""
    return sorted(found[0].costs, key=lambda entry: float(np.mean([w.cost(entry) for w in found])))


def control(entry: Entry) -> Entry:
    """Whom it is compared with: itself without clipping, if it is a later one, else plain ridge."""
    if entry.name in LATER and entry.clips:
        return Entry(entry.name, entry.reading, clips=False)
    return PLAIN


COLUMNS = (
    "instance",
    "noise",
    "policy",
    "reading",
    "knobs",
    "cost",
    "over_ridge",
    "over_ridge_off",
    "over_control",
    "over_control_off",
    "rank",
    "first",
    "last",
    "clipped",
)


def write_table(found: list[World], folder: str | Path) -> Path:
    """Write everyone's standing in every world as leaderboard.csv; returns its path."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for world in found:
        for entry in order([world]):
            numbers = (
                world.cost(entry),
                *world.gap(entry, PLAIN),
                *world.gap(entry, control(entry)),
            )
            writer.writerow(
                [
                    world.instance,
                    world.law.words,
                    entry.label,
                    entry.reading,
                    " ".join(f"{k}={v:g}" for k, v in knobs(entry).items()),
                    *(f"{number:.4f}" for number in numbers),
                    *world.rank(entry),
                    f"{world.clipped[entry]:.3f}" if entry in world.clipped else "",
                ]
            )
    path = Path(folder) / "leaderboard.csv"
    write_whole(path, out.getvalue(), path.parent)
    return path


def knobs(entry: Entry) -> dict[str, float]:
    """The values that it was tuned to."""
    return beyond.TUNED[entry.name] if entry.reading == "tuned" else {}
