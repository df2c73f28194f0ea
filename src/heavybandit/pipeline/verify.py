"""Stored results, simulated again: a random sample or all of them, compared digit by digit."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .interrupts import check
from .scratch import text_of
from .spec import EXPERIMENTS, Plan, Spec, made_with
from .store import StoreError
from .tables import check_files, consolidated, file_names, read_csv

LONG = 10**7
"""Runs of so many plays take seconds or minutes each: a sample has them only if it may be so large,
or if an experiment has no shorter ones."""


@dataclass(frozen=True)
class Check:
    """What a verification found: how much was looked at, and everything that differs."""

    runs: int
    plays: int
    differences: list[str]
    other_versions: list[str]  # what results were made with, where it is not what is here


def verify(folder: str | Path, *, seed: int, plays: float, names: list[str] | None = None) -> Check:
    """Simulate a random sample of the consolidated runs again and compare, digit by digit.

    The sample is one run of every experiment, not a LONG one, and as many more as `plays` plays
    allow, drawn without replacement.
    """
    differences: list[str] = []
    others: dict[str, int] = {}
    candidates: list[tuple[str, int, Spec]] = []
    tables: dict[str, _Tables] = {}
    for name in names or consolidated(folder):
        problems = check_files(name, folder)
        if not problems:
            tables[name] = _Tables(EXPERIMENTS[name], Path(folder))
            problems = tables[name].problems
        differences += problems
        if not problems:
            for what in _unlike_here(name, folder):
                others[what] = others.get(what, 0) + 1
            candidates += [(name, i, spec) for i, spec in enumerate(EXPERIMENTS[name].runs())]
    shortest: dict[str, int] = {}
    for name, _, spec in candidates:
        shortest[name] = min(spec.plays, shortest.get(name, spec.plays))
    spent = extra = 0
    looked_at: Counter[str] = Counter()
    for choice in np.random.default_rng(seed).permutation(len(candidates)):
        name, index, spec = candidates[choice]
        if looked_at[name] or spec.plays >= max(LONG, shortest[name] + 1):
            if extra + spec.plays > plays:
                continue
            extra += spec.plays
        check()
        result = spec.run([spec])[0]
        who = f"{name}: run {index}, {spec.text()}"
        differences += [f"{who}: {what}" for what in tables[name].unlike(index, spec, result)]
        spent += spec.plays
        looked_at[name] += 1
    told = [f"{what} ({count} experiments)" for what, count in others.items()]
    return Check(looked_at.total(), spent, differences, told)


def _unlike_here(name: str, folder: str | Path) -> list[str]:
    """The versions that an experiment's results name, where they are not those of this process."""
    stated = json.loads(text_of(Path(folder) / f"{name}.json"))["made_with"]
    return [
        f"{part} {stated[part]}, here {one}"
        for part, one in made_with().items()
        if stated[part] != one
    ]


class _Tables:
    """An experiment's two tables as text, and what is wrong with their form."""

    def __init__(self, experiment: Plan, folder: Path) -> None:
        self.experiment = experiment
        self.problems: list[str] = []
        specs = experiment.runs()
        curves = [i for i, spec in enumerate(specs) if experiment.has_curve(spec)]
        wanted = ((specs[0].columns, range(len(specs))), (specs[0].curve_columns, curves))
        self.rows: list[dict[str, list[list[str]]]] = []
        for file, (columns, runs) in zip(file_names(experiment.name), wanted, strict=True):
            path = folder / file
            try:
                table = read_csv(path)
            except StoreError as error:
                self.problems.append(str(error))
                continue
            numbers = table.iloc[:, 0]
            if columns == specs[0].curve_columns:
                numbers = numbers.drop_duplicates()  # a run has several lines there
            if tuple(table.columns) != columns or [*numbers] != [str(i) for i in runs]:
                self.problems.append(
                    f"{path} has other columns or other runs than {experiment.name} has"
                )
            by_run = table.groupby(table.iloc[:, 0], sort=False)
            self.rows.append({run: lines.to_numpy().tolist() for run, lines in by_run})

    def unlike(self, index: int, spec: Spec, result: dict[str, Any]) -> list[str]:
        """What comes out differently from what the tables have of a run."""
        curve = spec.curve_rows(index, result) if self.experiment.has_curve(spec) else []
        wanted = {"row": [spec.row(index, result)], "curve": curve}
        return [
            f"its {what} comes out differently"
            for (what, lines), table in zip(wanted.items(), self.rows, strict=True)
            if lines != table.get(str(index), [])
        ]
