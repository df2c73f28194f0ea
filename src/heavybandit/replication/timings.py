"""Notebook 08: how long the engine takes, as `make bench` measured it.

    data/bench.csv    one row per comparison of two sides, as in `Timing`
    data/bench.json   what was measured, versions, the machine in general terms, a checksum

These are measurements of a machine. They come out differently every time, so that neither `verify`
nor `compare` looks at them, and `make reproduce` does not make them again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import one_of
from ..pipeline.scratch import bytes_of, text_of
from ..pipeline.store import StoreError
from ..pipeline.tables import csv_text, read_csv, sha256, sidecar_text, write_if_new
from ..simulate import simulate
from . import plotting
from .showing import number, power

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..policy import Floats

TABLE, SIDECAR = "bench.csv", "bench.json"
RENEW = "renew both files with: python tests/benchmark.py --full --record data"


@dataclass(frozen=True)
class Timing:
    """Two sides that took turns: the median of each, and how they compare turn by turn."""

    section: str  # which question it belongs to; "growth T" is the growth with T
    what: str  # the comparison, in words
    policy: str  # empty where there is no single one
    T: int | None  # the horizon, in plays
    d: int | None  # dimensions
    K: int | None  # arms
    plays: int | None  # plays per round
    eps: float | None  # ε
    one: str  # what one side is
    other: str  # what the other is
    unit: str  # of both sides: µs per round, MB, ms or s
    one_median: float  # the median of one side
    other_median: float  # and of the other
    by: str  # "ratio", one over the other, or "difference", one minus the other
    median: float  # of the turns' ratios or differences
    low: float  # the smallest of them
    high: float  # and the largest
    turns: int  # how many there were
    goal: str  # such as "≤ 3"; empty where there is none
    verdict: str  # "met" or "missed", by the median; empty without a goal


COLUMNS = tuple(field.name for field in fields(Timing))


def judged(goal: str, median: float) -> str:
    """The verdict on a median: "met", "missed", or nothing where there is no goal."""
    if not goal:
        return ""
    sign, bound = goal[:1], float(goal[1:])
    if sign not in ("≤", "≥") or not math.isfinite(bound):
        raise ValueError(f"a goal must read like '≤ 3' or '≥ 500', got {goal!r}")
    return "met" if (median <= bound if sign == "≤" else median >= bound) else "missed"


def save(timings: Iterable[Timing], about: dict[str, Any], folder: str | Path) -> list[Path]:
    """Write the rows and what is to be known about them into a folder; returns both files."""
    rows = ([_text(getattr(timing, name)) for name in COLUMNS] for timing in timings)
    texts = {TABLE: csv_text(COLUMNS, rows)}
    texts[SIDECAR] = sidecar_text(about, texts)
    target = Path(folder)
    try:
        return [write_if_new(target / name, text) for name, text in texts.items()]
    except OSError as error:
        raise StoreError(f"cannot write timings into {target}: {error.strerror}") from error


def about(folder: str | Path) -> dict[str, Any]:
    """What the sidecar says: how much was measured, versions, the machine."""
    path = Path(folder) / SIDECAR
    try:
        record = json.loads(text_of(path))
        if not isinstance(record["files"][TABLE], str):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError):
        raise StoreError(f"{path} is missing or cannot be read; {RENEW}") from None
    return dict(record)


def load(folder: str | Path) -> list[Timing]:
    """The rows of a folder, or an error that says what is wrong with its files."""
    path = Path(folder) / TABLE
    wanted = about(folder)["files"][TABLE]
    try:
        if sha256(bytes_of(path)) != wanted:
            raise StoreError(f"{path} was changed after it was made (its checksum does not match)")
        table = read_csv(path)
    except OSError:
        raise StoreError(f"{path} is missing or cannot be read; {RENEW}") from None
    except StoreError as error:
        raise StoreError(f"{error}; {RENEW}") from None
    if tuple(table.columns) != COLUMNS:
        raise StoreError(f"{path} must have the columns {', '.join(COLUMNS)}; {RENEW}")
    timings = []
    for line, row in enumerate(table.to_numpy().tolist(), start=2):
        try:
            timings.append(_timing(row))
        except ValueError as error:
            raise StoreError(f"{path}, line {line}: {error}; {RENEW}") from None
    return timings


def _text(value: str | float | None) -> str:
    """Six significant digits: more than any clock here is good for."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _timing(row: list[str]) -> Timing:
    """A row as a `Timing`, or a ValueError that says what cannot be."""
    cells: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    for name in ("T", "d", "K", "plays", "turns"):
        cells[name] = int(cells[name]) if cells[name] or name == "turns" else None
    cells["eps"] = float(cells["eps"]) if cells["eps"] else None
    for name in ("one_median", "other_median", "median", "low", "high"):
        cells[name] = float(cells[name])
        if not math.isfinite(cells[name]):
            raise ValueError(f"{name} must be finite, got {cells[name]}")
    timing = Timing(**cells)
    one_of("by", timing.by, ("ratio", "difference"))
    if not timing.low <= timing.median <= timing.high:
        raise ValueError(
            f"the median must lie between low and high, got {timing.median} and "
            f"[{timing.low}, {timing.high}]"
        )
    if timing.verdict != judged(timing.goal, timing.median):
        raise ValueError(
            f"the verdict on {timing.median} with the goal {timing.goal!r} "
            f"cannot be {timing.verdict!r}"
        )
    return timing


# What notebook 08 shows of them.

SPAN = 4_000
"""Plays of which a figure shows the most suspects."""


def of(timings: Iterable[Timing], *sections: str) -> list[Timing]:
    """The comparisons that belong to these questions."""
    return [timing for timing in timings if timing.section in sections]


def twins(timings: Iterable[Timing], policy: str) -> list[Timing]:
    """The transcription over the engine at the printed constants, by horizon."""
    return [c for c in of(timings, "paper") if c.policy == policy and "×" not in c.what]


def spread(timing: Timing) -> str:
    """The smallest and the largest of the turns' ratios or differences; a single one has none."""
    if timing.turns == 1:
        return "one turn"
    return f"{number(timing.low)} to {number(timing.high)}"


SECTIONS = {
    "uniform": "{policy} over uniform play, {what}",
    "horizon": "{policy}, one round at 10⁶ plays over one at 10⁵",
    "numpy": "LinUCB: {what}, over the engine",
    "peers": "LinUCB: {what}, over the engine",
    "paper": "{what}: transcription over engine",
    "paper grows": "{what}: growth of that ratio",
    "floor world": "{what}: whole simulation over drawing the world",
    "floor noise": "{what}: whole simulation over drawing the noise",
    "flat": "{what}: last tenth of the run over its first three tenths",
    "memory": "{what}: peak memory minus that at 10⁴ plays, MB",
    "growth d": "{what}: whole simulations",
    "sweeps": "time added to each run by a sweep, {what}, ms",
    "workers": "{what}: one worker over two",
}
"""What a question asks, in the words of the table of goals."""


def goals(timings: Iterable[Timing]) -> list[dict[str, Any]]:
    """The comparisons that have a goal, as rows of a table."""
    return [
        {
            "comparison": SECTIONS[c.section].format(what=c.what, policy=c.policy),
            "median": c.median,
            "smallest and largest": spread(c),
            "goal": c.goal,
            "result": c.verdict,
        }
        for c in timings
        if c.goal
    ]


Points = list[tuple[float, float]]


def rise(points: Points) -> float:
    """The largest value over one before it, by ascending x; 1 where none is larger."""
    values = [y for _, y in points]
    return max(later / value for i, value in enumerate(values) for later in values[i:])


def draw_twins(known: Sequence[Timing]) -> Figure:
    """Time per round against the horizon: transcription, engine, and drawing the world."""
    figure, axes = plotting.panels(2, size=(plotting.WIDE, 4.3), sharey=True)
    first_long = min(c.T or 0 for c in of(known, "growth T"))
    rises = []
    lowest = min(c.other_median for c in of(known, "growth T") if c.policy in ("SupBTC", "TOFU"))
    for one, name in zip(axes, ("SupBTC", "TOFU"), strict=True):
        pairs = twins(known, name)
        long = [c for c in of(known, "growth T") if c.policy == name]
        last, look = pairs[-1], plotting.look(name)
        ink, end = plotting.ink(look.colour), float(last.T or 0)
        engine = [(c.T, c.other_median) for c in pairs]
        engine += [(c.T, c.one_median) for c in long if c.T and last.T and c.T > last.T]
        rises.append(rise([(T, took) for T, took in engine if T and first_long <= T]))
        style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "markersize": 5}
        one.plot(*zip(*[(c.T, c.one_median) for c in pairs], strict=True), "--", **style)
        one.plot(*zip(*engine, strict=True), "-", **style)
        one.plot(*zip(*[(c.T, c.other_median) for c in long], strict=True), ":", color="#000000")
        ends = {"arrowstyle": "<->", "color": "#555555", "shrinkA": 5, "shrinkB": 5}
        one.annotate("", (end, last.one_median), (end, last.other_median), arrowprops=ends)
        middle = math.sqrt(last.one_median * last.other_median)
        plotting.line_label(one, end, middle, f"factor {number(last.median)}")
        words = f"{name}, transcription\n(paper.py)"
        plotting.line_label(one, end, last.one_median, words, look.colour)
        below = {"textcoords": "offset points", "ha": "right", "fontsize": 8}
        one.annotate(f"{name}, engine", engine[-1], xytext=(0, 9), color=ink, **below)
        floor = (long[-1].T, long[-1].other_median)
        one.annotate("drawing the world only", floor, xytext=(0, -13), **below)
        one.set(xscale="log", yscale="log", xlabel="horizon T, plays", xlim=(700, 1.4e7))
        one.set_ylim(0.45 * lowest, 2e4)  # room for the words below the lowest line
    axes[0].set_ylabel("time per round, µs")
    first, *_, last = twins(known, "SupBTC")
    slower = last.one_median / first.one_median
    longest = max(c.T or 0 for c in of(known, "growth T"))
    figure.suptitle(
        f"From {power(first.T or 0)} to {power(last.T or 0)} plays a round of SupBTC's "
        f"transcription becomes {slower:.1f} times as long;\n"
        f"from {power(first_long)} to {power(longest)} plays one of the engine becomes at most "
        f"{max(rises):.1f} times as long, for SupBTC and TOFU",
        fontsize=10,
    )
    return figure


def count_suspects(player: Any, world: Any, seed: int, block: int) -> Floats:
    """Let a policy of the engine play; how many payoffs it kept after every block of plays."""
    seen: list[int] = []

    def count(_: int) -> None:
        seen.append(int(player.diagnostics["suspects"]))

    simulate(player, world, seed, block=block, progress=count)
    return np.array(seen, dtype=np.float64)


def exact_roots(player: Any) -> int:
    """In how many rounds a TOFU of the engine computed the exact root of its matrix."""
    from ..engine.roots import DECOMPOSED

    return int(player._state.tofu.use[DECOMPOSED])


def draw_suspects(kept: Mapping[str, Mapping[str, Floats]], block: int) -> Figure:
    """The most suspects in every SPAN plays, one panel per group.

    kept    by the panel's heading, then by policy: how many there were after every block of plays
    """
    figure, axes = plotting.panels(len(kept), size=(plotting.WIDE, 3.4), sharey=True)
    for one, (heading, lines) in zip(axes, kept.items(), strict=True):
        for name, counts in lines.items():
            look = plotting.look(name)
            most = np.maximum.reduceat(counts, np.arange(0, len(counts), SPAN // block))
            ends = SPAN * np.arange(1, len(most) + 1) / 1000
            one.plot(ends, most, look.line, color=look.colour, linewidth=1.4)
            peak = int(np.argmax(most))
            plotting.line_label(one, ends[peak], most[peak] + 1, name, look.colour)
        one.set(xlabel="plays, thousands", ylim=(0, 44), xlim=(0, None))
        one.set_title(heading, fontsize=9)
    axes[0].set_ylabel("payoffs kept one by one")
    every = [counts for lines in kept.values() for counts in lines.values()]
    largest, plays = (max(map(int, found)) for found in (map(max, every), map(len, every)))
    words = f"Of {plays * block:,} payoffs, at most {largest} were kept one by one when counted"
    figure.suptitle(words, fontsize=10)
    return figure


GROWTH = {"T": "horizon T, plays", "d": "dimensions d", "K": "arms K", "eps": "ε"}


def growth(known: Iterable[Timing], by: str) -> dict[str, Points]:
    """By policy, the time per play in µs as T, d, K or ε grows."""
    found: dict[str, Points] = {}
    for c in of(known, f"growth {by}"):
        if c.policy:
            points = found.setdefault(c.policy, [])
            points.append((float(getattr(c, by)), c.one_median / (c.plays or 1)))
    return {name: sorted(points) for name, points in found.items()}


def growth_finding(by: str, times: Mapping[str, Points]) -> str:
    """What a panel shows, in words: whose time grows or changes most, and by how much."""
    if by == "eps":
        changes = {one: max(rise(points), rise(points[::-1])) for one, points in times.items()}
        *_, second, most = sorted(changes, key=changes.__getitem__)
        folds = (number(changes[one], 2) for one in (most, second))
        return "ε: {}'s changes {}-fold, others at most {}-fold".format(most, *folds)
    rises = {one: rise(points) for one, points in times.items()}
    most = max(rises, key=rises.__getitem__)
    span = times[most][-1][0] / times[most][0][0]
    beside = {"T": "", "d": f" (d²: {number(span**2)}-fold)", "K": f" (K: {number(span, 2)}-fold)"}
    return f"{by}: {most}'s grows most, {number(rises[most], 2)}-fold{beside[by]}"


def draw_growth(known: Sequence[Timing]) -> Figure:
    """Time per play against T, d, K and ε."""
    figure, axes = plotting.panels(2, down=2, size=(plotting.WIDE, 6.6))
    names = ("SupBMM", "SupBTC", "TOFU", "CRT", "LinUCB")
    for one, (by, words) in zip(axes, GROWTH.items(), strict=True):
        times = growth(known, by)
        for name in names:
            look = plotting.look(name)
            if name in times:
                style: dict[str, Any] = {"color": look.colour, "marker": look.marker}
                one.plot(*zip(*times[name], strict=True), look.line, **style, markersize=5)
        one.set(yscale="log", xlabel=words, ylabel="time per play, µs")
        one.set_title(growth_finding(by, times), fontsize=9)
        one.set_xscale("linear" if by == "eps" else "log")
        if by != "T":
            ticks = sorted({getattr(c, by) for c in of(known, f"growth {by}")})
            one.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            one.set_xticks([], minor=True)
    horizons = growth(known, "T")
    (low, *_, high), most = [T for T, _ in horizons[names[0]]], max(map(rise, horizons.values()))
    words = f"From {power(low)} to {power(high)} plays the engine's time per play grows at most"
    figure.suptitle(f"{words} {number(most, 2)}-fold", fontsize=10)
    drawn = dict(zip(names, axes[0].lines, strict=True))
    below: dict[str, Any] = {"loc": "outside lower center", "ncols": 5, "frameon": False}
    figure.legend(drawn.values(), drawn, fontsize=9, **below)
    return figure
