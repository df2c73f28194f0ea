"""Notebook 08: how long the engine takes, as `make bench` measured it.

    data/bench.csv    one row per comparison of two sides, as in `Timing`
    data/bench.json   what was measured, versions, the machine in general terms, a checksum

These are measurements of a machine. They come out differently every time, so that neither `verify`
nor `compare` looks at them, and `make reproduce` does not make them again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..checks import one_of
from ..pipeline.store import StoreError
from ..pipeline.tables import csv_text, read_csv, sha256, sidecar_text, write_if_new

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
    plays: int | None  # plays a round
    eps: float | None  # ε
    one: str  # what one side is
    other: str  # what the other is
    unit: str  # of both sides: µs a round, MB, ms or s
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
        record = json.loads(path.read_text(encoding="utf-8"))
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
        if sha256(path.read_bytes()) != wanted:
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
