"""Result files changed by hand, as verification must find them; most of an experiment "tiny"."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file's bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def texts(data: Path) -> list[list[dict[str, str]]]:
    """The rows of both tables, every cell as the text that it is."""
    both = [(data / f"tiny.{kind}.csv").read_text() for kind in ("runs", "curves")]
    return [list(csv.DictReader(text.splitlines())) for text in both]


def seal_again(data: Path, name: str = "tiny") -> None:
    """Make the sidecar's checksums match whatever the files are now."""
    sidecar = json.loads((data / f"{name}.json").read_text())
    for file in sidecar["files"]:
        sidecar["files"][file] = hashlib.sha256((data / file).read_bytes()).hexdigest()
    (data / f"{name}.json").write_text(json.dumps(sidecar))


def change_a_digit(data: Path, name: str, line: int, column: str) -> None:
    """Change the last digit of one number."""
    rows = list(csv.reader((data / name).read_text().splitlines()))
    cell = rows[0].index(column)
    old = rows[line][cell]
    rows[line][cell] = old[:-1] + str((int(old[-1]) + 1) % 10)
    with (data / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def change_lines(data: Path, kind: str, change: Callable[[list[str]], list[str]]) -> None:
    """Make other lines of a table's lines, the header among them."""
    path = data / f"tiny.{kind}.csv"
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
