"""What the engine costs, as `make bench` measured it: a row a comparison of two sides.

    data/bench.csv    a row a comparison, as in `Cost`
    data/bench.json   what was measured, versions, the machine in general terms, a checksum

These are measurements of a machine. They come out differently every time, so that neither `verify`
nor `compare` looks at them, and `make reproduce` does not make them again.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..pipeline.store import StoreError, write_whole

TABLE, SIDECAR = "bench.csv", "bench.json"
RENEW = "renew both files with: python tests/benchmark.py --full --record data"
BY = ("ratio", "difference")


@dataclass(frozen=True)
class Cost:
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


COLUMNS = tuple(field.name for field in fields(Cost))


def judged(goal: str, median: float) -> str:
    """The verdict on a median: "met", "missed", or nothing where there is no goal."""
    if not goal:
        return ""
    sign, bound = goal[:1], float(goal[1:])
    if sign not in ("≤", "≥") or not math.isfinite(bound):
        raise ValueError(f"a goal must read like '≤ 3' or '≥ 500', got {goal!r}")
    return "met" if (median <= bound if sign == "≤" else median >= bound) else "missed"


def save(costs: Iterable[Cost], about: dict[str, Any], folder: str | Path) -> list[Path]:
    """Write the rows and what is to be known about them into a folder; returns both files."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cost in costs:
        writer.writerow([_text(getattr(cost, name)) for name in COLUMNS])
    table = out.getvalue()
    sidecar = {**about, "files": {TABLE: _sha256(table.encode())}}
    texts = {TABLE: table, SIDECAR: json.dumps(sidecar, indent=1, ensure_ascii=False) + "\n"}
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_whole(target / name, text, target)
    except OSError as error:
        raise StoreError(f"cannot write costs into {target}: {error.strerror}") from error
    return [target / name for name in texts]


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


def load(folder: str | Path) -> list[Cost]:
    """The rows of a folder, or an error that says what is wrong with its files."""
    path = Path(folder) / TABLE
    wanted = about(folder)["files"][TABLE]
    try:
        raw = path.read_bytes()
    except OSError:
        raise StoreError(f"{path} is missing or cannot be read; {RENEW}") from None
    if _sha256(raw) != wanted:
        raise StoreError(
            f"{path} was changed after it was made (its checksum does not match); {RENEW}"
        )
    try:
        header, *rows = csv.reader(io.StringIO(raw.decode(), newline=""))
    except (ValueError, csv.Error):
        raise StoreError(f"{path} cannot be read as a table; {RENEW}") from None
    if tuple(header) != COLUMNS:
        raise StoreError(f"{path} must have the columns {', '.join(COLUMNS)}; {RENEW}")
    costs = []
    for line, row in enumerate(rows, start=2):
        try:
            costs.append(_cost(row))
        except ValueError as error:
            raise StoreError(f"{path}, line {line}: {error}; {RENEW}") from None
    return costs


def _text(value: str | float | None) -> str:
    """Six significant digits: more than any clock here is good for."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cost(row: list[str]) -> Cost:
    """A row as a `Cost`, or a ValueError that says what cannot be."""
    if len(row) != len(COLUMNS):
        raise ValueError(f"a row has {len(COLUMNS)} cells, this one has {len(row)}")
    cells: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    for name in ("T", "d", "K", "plays", "turns"):
        cells[name] = int(cells[name]) if cells[name] or name == "turns" else None
    cells["eps"] = float(cells["eps"]) if cells["eps"] else None
    for name in ("one_median", "other_median", "median", "low", "high"):
        cells[name] = float(cells[name])
        if not math.isfinite(cells[name]):
            raise ValueError(f"{name} must be finite, got {cells[name]}")
    cost = Cost(**cells)
    if cost.by not in BY:
        raise ValueError(f"by must be one of {', '.join(BY)}; got {cost.by!r}")
    if not cost.low <= cost.median <= cost.high:
        raise ValueError(
            f"the median must lie between low and high, got {cost.median} and "
            f"[{cost.low}, {cost.high}]"
        )
    if cost.verdict != judged(cost.goal, cost.median):
        raise ValueError(
            f"the verdict on {cost.median} with the goal {cost.goal!r} cannot be {cost.verdict!r}"
        )
    return cost


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
