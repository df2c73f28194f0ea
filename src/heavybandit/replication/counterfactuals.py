"""Experiments in which every policy has copies that are shown other payoffs on the same contexts.

What is recorded of a run is what other experiments record, and besides how often each copy chose
the same arm: in all, until each checkpoint, and by the stage in which the run itself chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..pipeline import tables
from ..pipeline.recipes import Recipe, make_world
from ..pipeline.spec import Experiment, Report, RunSpec, as_result, by_name, number
from ..policy import SHOWN, Floats
from .showing import power
from .statistics import mean_limit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURED = ("same", "first", "regret", "stages")
"""Columns of each copy.

same     rounds in which it chose the same arm as the run
first    the first round in which it did not; empty if there is none
regret   its own regret, in the true means
stages   `same` by the stage in which the run chose its arm
"""


@dataclass(frozen=True)
class BesideSpec(RunSpec):
    """A policy in a world, and a copy of it for each of SHOWN."""

    columns = (
        *(*RunSpec.columns, "rounds"),
        *(f"{what}_{shown}" for shown in SHOWN for what in MEASURED),
    )

    def _shared(self) -> dict[str, Any]:
        return {**super()._shared(), "shown": list(SHOWN)}

    @property
    def plays(self) -> int:
        return self.horizon * (1 + len(SHOWN))

    @classmethod
    def run(cls, group: Sequence[Self], report: Report | None = None) -> list[dict[str, Any]]:
        """Simulate policies and their copies together, on contexts that are drawn once."""
        from ..counterfactual import counterfactuals

        first = group[0]
        world = make_world(first.world, first.horizon)
        found = counterfactuals(
            [spec.make_policy(world) for spec in group],
            world,
            first.seed,
            shown=SHOWN,
            checkpoints=first.checkpoints,
            progress=report or False,
        )
        return [
            as_result(beside[0].run)
            | {"rounds": beside[0].rounds}
            | {
                one.shown: {
                    "same": one.same.tolist(),
                    "first": one.first,
                    "regret": one.other.regret,
                    "stages": one.same_by_stage.tolist(),
                }
                for one in beside
            }
            for beside in found
        ]

    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        cells = [*super().row(index, result), str(result["rounds"])]
        for copy in (result[shown] for shown in SHOWN):
            cells += [str(copy["same"][-1]), number(copy["first"]), number(copy["regret"])]
            cells.append(" ".join(map(str, copy["stages"])))
        return cells

    @property
    def curve_columns(self) -> tuple[str, ...]:
        return (*super().curve_columns, *(f"same_{shown}" for shown in SHOWN))

    def curve_rows(self, index: int, result: dict[str, Any]) -> list[list[str]]:
        same = zip(*(result[shown]["same"] for shown in SHOWN), strict=True)
        lines = super().curve_rows(index, result)
        return [[*line, *map(str, counts)] for line, counts in zip(lines, same, strict=True)]


@dataclass(frozen=True)
class Beside(Experiment):
    """Policies in worlds, each with its copies."""

    def as_json(self) -> dict[str, Any]:
        return {**super().as_json(), "shown": list(SHOWN)}

    def groups(self) -> Iterator[list[RunSpec]]:
        for group in super().groups():
            yield [
                BesideSpec(one.world, one.policy, one.horizon, one.seed, one.checkpoints)
                for one in group
            ]

    def size(self) -> tuple[int, int]:
        runs, plays = super().size()
        return runs, plays * (1 + len(SHOWN))


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Copies:
    """The copies of one policy in one world at one horizon that were shown the same, a seed each.

    What is by stage goes by the stage in which the run itself chose its arm, and is one list per
    seed, as long as that run's stages.
    """

    world: Recipe
    horizon: int
    policy: Recipe
    index: tuple[int, ...]  # which runs of the experiment they belong to
    seeds: tuple[int, ...]
    rounds: int  # that each made
    shown: str  # one of SHOWN
    shares: Floats  # (seeds,) of rounds with the same arm as the run
    first: tuple[int | None, ...]  # the first round with another arm
    regrets: Floats  # (seeds,) of the copies
    rounds_by_stage: tuple[tuple[int, ...], ...]
    same_by_stage: tuple[tuple[int, ...], ...]

    @property
    def share(self) -> tuple[float, float]:
        """The mean share of rounds with the same arm, and its limit."""
        return float(self.shares.mean()), mean_limit(self.shares)

    @property
    def stages(self) -> tuple[Ints, Ints]:
        """Rounds by stage and those with the same arm, summed over the seeds."""
        deepest = max(map(len, self.same_by_stage))
        summed = np.zeros((2, deepest), dtype=np.int64)
        for rounds, same in zip(self.rounds_by_stage, self.same_by_stage, strict=True):
            summed[:, : len(same)] += np.array([rounds[: len(same)], same])
        return summed[0], summed[1]


def copies(name: str, folder: str | Path) -> list[Copies]:
    """An experiment's copies in `data/`, seeds together, in order."""
    table = tables.read(name, folder)
    together: dict[tuple[Recipe, int, Recipe], list[int]] = {}
    for i, spec in enumerate(by_name(name).runs()):
        assert isinstance(spec, BesideSpec)
        together.setdefault((spec.world, spec.horizon, spec.policy), []).append(i)
    found = []
    for (world, horizon, policy), index in together.items():
        rows = table.iloc[index]
        rounds = int(rows["rounds"].iloc[0])
        explored, exploited = (list(map(_several, rows[c])) for c in ("explored", "exploited"))
        visits = [np.add(a, b).tolist() for a, b in zip(explored, exploited, strict=True)]
        for shown in SHOWN:
            first = [None if np.isnan(x) else int(x) for x in rows[f"first_{shown}"].astype(float)]
            one = Copies(
                world=world,
                horizon=horizon,
                policy=policy,
                index=tuple(index),
                seeds=tuple(rows["seed"].tolist()),
                rounds=rounds,
                shown=shown,
                shares=rows[f"same_{shown}"].to_numpy(np.float64) / rounds,
                first=tuple(first),
                regrets=rows[f"regret_{shown}"].to_numpy(np.float64),
                # A policy without stages explores none: all its rounds are in the first.
                rounds_by_stage=tuple(tuple(v) if any(v) else (rounds,) for v in visits),
                same_by_stage=tuple(map(_several, rows[f"stages_{shown}"])),
            )
            found.append(one)
    return found


def percent(one: Copies) -> str:
    """The mean share of rounds with the same arm as tables show it; 100 % if there were no others.

    One decimal, cut and not rounded up to 100.
    """
    return "100 %" if (one.shares == 1).all() else f"{min(100 * one.share[0], 99.9):.1f} %"


def _several(cell: Any) -> tuple[Any, ...]:
    """What a run has by stage; a single stage is a number in the table."""
    return cell if isinstance(cell, tuple) else (cell,)


def over_time(one: Copies, name: str, folder: str | Path) -> tuple[Ints, Floats]:
    """Checkpoints in plays, and the share of rounds with the same arm since the one before.

    The second is (seeds, checkpoints), for the seeds that have curves.
    """
    table = tables.read_curves(name, folder)
    mine = table[table["run"].isin(one.index)]
    same = mine.pivot(index="run", columns="plays", values=f"same_{one.shown}")
    plays = same.columns.to_numpy(dtype=np.int64)
    rounds = np.diff(plays * one.rounds // plays[-1], prepend=0)
    return plays, np.diff(same.to_numpy(dtype=np.float64), axis=1, prepend=0) / rounds


def same_arm_figure(
    shares: Mapping[str, Mapping[int, Mapping[str, Copies]]],
    timed: Mapping[str, Mapping[str, tuple[Ints, Floats]]],
    plain: Mapping[str, str],
    words: str,
) -> Figure:
    """How often copies chose the same arm: in all, above, and along the longest runs, below.

    shares   noise → horizon → policy → its copies
    timed    noise → policy → `over_time` of its copies at the longest horizon
    plain    what some policies are called
    words    what is seen
    """
    from . import plotting

    size = (plotting.WIDE, 7.9)
    figure, axes = plotting.panels(
        len(shares), down=2, size=size, sharex="row", sharey="row", height_ratios=(3, 2)
    )
    for one, (noise, by_horizon) in zip(axes, shares.items(), strict=False):
        for k, (T, found) in enumerate(by_horizon.items()):
            names = [plain.get(name, name) for name in found]
            values = [100 * copies.share[0] for copies in found.values()]
            placed: dict[str, Any] = {"which": k, "lower": 0.24 * (k - 1)}
            plotting.rows(one, names, values, label=f"T = {power(T)}", **placed)
        one.set(xlim=(-2, 102), title=noise)
        one.set_xlabel("% of rounds with the same arm if every payoff is 0", fontsize=9)
    axes[0].legend(frameon=False, loc=(0.35, 0.02), fontsize=9)
    for one, (_, lines) in zip(axes[len(shares) :], timed.items(), strict=True):
        ends = {}
        for i, (policy, (plays, table)) in enumerate(lines.items()):
            look, x, y = plotting.look(policy), plays / 1000, 100 * table.mean(axis=0)
            marks: dict[str, Any] = {"marker": look.marker, "markevery": (0.05 * i, 0.3)}
            one.plot(x, y, look.line, color=look.colour, markersize=4.5, clip_on=False, **marks)
            ends[policy] = float(x[-1]), float(y[-1]), look.colour
        one.set(xlim=(0, plays[-1] / 1000), ylim=(0, 105), title=f"T = {power(plays[-1])}, in time")
        one.set_xlabel("plays (thousands)", fontsize=9)
        plotting.led_labels(one, ends, least=0.075)
    axes[len(shares)].set_ylabel("% of rounds since the previous checkpoint")
    for one in axes:
        one.title.set_fontsize(10)
        one.tick_params(labelsize=9)
    plotting.finding(figure, words)
    return figure
