"""Consolidated results: small tidy text files with a provenance sidecar, and their verification.

    data/NAME.runs.csv     a row a run: world, policy, its settings, horizon, seed, regret, counts
    data/NAME.curves.csv   run, plays, regret; for the first seeds only
    data/NAME.json         the experiment, versions of what computed it, checksums of both files

A run of a coverage experiment is some repetitions of a case, and its curves are histograms. Audited
runs have, instead of curves, a line a stage that was visited.

Numbers have 9 significant digits; counts are exact. The same runs give the same bytes, whatever the
order, the workers or the machine, as long as the libraries named in the sidecar are the same.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..replication.catalogue import EXPERIMENTS, by_name
from .spec import (
    Coverage,
    CoverageSpec,
    Experiment,
    Recipe,
    RunSpec,
    Spec,
    canonical,
    digest,
)
from .store import Store, StoreError, sweep_up, write_whole
from .sweep import run_group, sweep

COUNTS = (
    "estimates",
    "truncated",
    "suspects",
    "most_suspects",
    "history_scans",
    "matrix_roots",
    "intervals",
    "intervals_missed",
)
BY_STAGE = ("explored", "exploited", "visited", "arms_entering")
COLUMNS = (
    "run",
    "world",
    "world_settings",
    "policy",
    "settings",
    "horizon",
    "seed",
    "plays",
    "regret",
    *COUNTS,
    *BY_STAGE,
)


def number(value: float | None) -> str:
    """Nine significant digits, counts exactly; empty for what was never observed."""
    if isinstance(value, int):
        return str(value)
    return "" if value is None else f"{value:.9g}"


def _settings(what: Recipe) -> str:
    return " ".join(f"{k}={v.text() if isinstance(v, Recipe) else v}" for k, v in what.params)


def run_row(index: int, spec: RunSpec, result: dict[str, Any]) -> list[str]:
    """A run's line in NAME.runs.csv; by-stage counts are separated by spaces."""
    seen = result["diagnostics"]
    return [
        str(index),
        spec.world.name,
        _settings(spec.world),
        spec.policy.name,
        _settings(spec.policy),
        str(spec.horizon),
        str(spec.seed),
        str(result["plays"][-1]),
        number(result["regret"]),
        *(str(seen[name]) for name in COUNTS),
        *(" ".join(number(x) or "-" for x in seen[name]) for name in BY_STAGE),
    ]


def curve_rows(index: int, result: dict[str, Any]) -> list[list[str]]:
    """A run's lines in NAME.curves.csv."""
    return [
        [str(index), str(plays), number(regret)]
        for plays, regret in zip(result["plays"], result["curve"], strict=True)
    ]


AUDITED = ("visited", "explored", "sum_c", "best_lost", "far_arms")


def stage_rows(index: int, result: dict[str, Any]) -> list[list[str]]:
    """An audited run's lines in NAME.curves.csv: what each stage that was visited counted."""
    seen = result["diagnostics"]
    return [
        [str(index), str(s + 1), *(number(seen[name][s]) for name in AUDITED)]
        for s, visits in enumerate(seen["visited"])
        if visits
    ]


COVERED = ("misses", "noise", "tenth", "bounded", "scaled", "as_wide", "truncated")
BY_ARM = ("high", "low")
COVERAGE_COLUMNS = (
    "run",
    "estimator",
    "design",
    "rounds",
    "arms",
    "law",
    "eps",
    "v",
    "horizon",
    "delta",
    "plays",
    "alpha",
    "seed",
    "reps",
    *COVERED,
    *BY_ARM,
)


def coverage_row(index: int, spec: CoverageSpec, result: dict[str, Any]) -> list[str]:
    """A line of a coverage experiment's NAME.runs.csv; what is by arm is separated by spaces."""
    design = spec.make_design()
    return [
        str(index),
        spec.estimator,
        spec.case.design.text(),
        str(len(design.V)),
        str(len(design.X)),
        spec.case.noise.text(),
        number(spec.case.eps),
        number(result["v"]),
        str(spec.case.horizon),
        number(spec.case.delta),
        str(spec.plays_a_round),
        number(result["alpha"]),
        str(spec.seed),
        str(spec.reps),
        *(str(result[name]) for name in COVERED),
        *(" ".join(str(x) for x in result[name]) for name in BY_ARM),
    ]


def histogram_rows(index: int, result: dict[str, Any]) -> list[list[str]]:
    """The lines of a coverage experiment's NAME.curves.csv; bins as in `coverage.histogram`."""
    return [
        [str(index), kind, str(k), str(count)]
        for kind, bins in sorted(result["histograms"].items())
        for k, count in bins
    ]


@dataclass(frozen=True)
class Form:
    """How the runs of one kind of experiment are written down."""

    columns: tuple[str, ...]
    row: Callable[[int, Any, dict[str, Any]], list[str]]
    curve_columns: tuple[str, ...]
    curve_rows: Callable[[int, dict[str, Any]], list[list[str]]]


REGRET = Form(COLUMNS, run_row, ("run", "plays", "regret"), curve_rows)
AUDIT = Form(COLUMNS, run_row, ("run", "stage", *AUDITED), stage_rows)
REPEATED = Form(COVERAGE_COLUMNS, coverage_row, ("run", "kind", "bin", "count"), histogram_rows)


def form_of(experiment: Experiment | Coverage) -> Form:
    """How an experiment's runs are written down."""
    if isinstance(experiment, Coverage):
        return REPEATED
    return AUDIT if experiment.audit else REGRET


def _csv(header: tuple[str, ...], rows: Iterator[list[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def _has_curve(experiment: Experiment | Coverage, spec: Spec) -> bool:
    return spec.seed - experiment.first_seed < experiment.curve_seeds


def consolidate(experiment: Experiment | Coverage, store: Store, folder: str | Path) -> list[Path]:
    """Write an experiment's finished runs as text into a folder; returns the files.

    A file that is already as it should be is not touched.
    """
    form = form_of(experiment)
    specs: Sequence[Spec] = experiment.runs()
    results = [store.load(spec) for spec in specs]
    missing = results.count(None)
    if missing:
        raise StoreError(
            f"{missing} of {len(specs)} runs of {experiment.name} are not finished; "
            f"go on with: heavybandit sweep {experiment.name}"
        )
    done = [result for result in results if result is not None]
    runs = _csv(form.columns, (form.row(i, specs[i], done[i]) for i in range(len(specs))))
    curves = _csv(
        form.curve_columns,
        (
            row
            for i in range(len(specs))
            if _has_curve(experiment, specs[i])
            for row in form.curve_rows(i, done[i])
        ),
    )
    texts = {f"{experiment.name}.runs.csv": runs, f"{experiment.name}.curves.csv": curves}
    texts[f"{experiment.name}.json"] = provenance(experiment, texts, _versions(specs, store))
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        sweep_up(target)
        for name, text in texts.items():
            path = target / name
            if not path.exists() or path.read_bytes() != text.encode():
                write_whole(path, text, target)
    except OSError as error:
        raise StoreError(f"cannot write results into {target}: {error.strerror}") from error
    return [target / name for name in texts]


def _versions(specs: Sequence[Spec], store: Store) -> dict[str, Any]:
    """What all of the runs were computed with, or an error if they differ in it."""
    found = {canonical(store.computed_with(spec)) for spec in specs}
    if len(found) > 1:
        raise StoreError(
            f"the runs in {store.folder} were computed with different versions "
            f"({' and '.join(sorted(found))}), so their bits may differ; use a new --store"
        )
    versions: dict[str, Any] = json.loads(found.pop())
    return versions


def provenance(
    experiment: Experiment | Coverage, texts: dict[str, str], computed_with: dict[str, Any]
) -> str:
    """The sidecar: what was asked, what computed it, and what came out, by checksum."""
    return (
        json.dumps(
            {
                "experiment": experiment.as_json(),
                "experiment_sha256": digest(experiment.as_json()),
                "made_with": computed_with,
                "files": {name: _sha256(text.encode()) for name, text in texts.items()},
            },
            indent=1,
        )
        + "\n"
    )


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@dataclass(frozen=True)
class Check:
    """What a verification found: how much was looked at, and everything that differs."""

    runs: int
    plays: int
    differences: list[str]


def consolidated(folder: str | Path) -> list[str]:
    """The names of the experiments whose results are in a folder."""
    found = {
        path.name.removesuffix(ending)
        for ending in (".runs.csv", ".curves.csv")
        for path in Path(folder).glob(f"*{ending}")
    }
    return sorted(found)


def load(name: str, folder: str | Path) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The rows of an experiment's runs and curves, as text."""
    rows: list[list[dict[str, str]]] = []
    for kind in ("runs", "curves"):
        path = Path(folder) / f"{name}.{kind}.csv"
        try:
            with path.open(newline="", encoding="utf-8") as file:
                rows.append(list(csv.DictReader(file)))
        except FileNotFoundError:
            raise StoreError(
                f"there is no {path}; make it with: heavybandit sweep {name}"
            ) from None
    return rows[0], rows[1]


def ensure(name: str, folder: str | Path, store: str | Path = "build/store") -> None:
    """Do what is missing of an experiment, if its results are not in a folder or are not whole."""
    if check_files(name, folder):
        experiment, kept = by_name(name), Store(store)
        sweep(experiment, kept, workers=os.cpu_count() or 1)
        consolidate(experiment, kept, folder)


def check_files(name: str, folder: str | Path) -> list[str]:
    """What is wrong with an experiment's files, without simulating anything."""
    folder = Path(folder)
    sidecar = folder / f"{name}.json"
    try:
        record = json.loads(sidecar.read_text())
        files, asked = record["files"], record["experiment_sha256"]
        if not isinstance(files, dict):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError):
        return [f"{sidecar} is missing or cannot be read"]
    if name not in EXPERIMENTS:
        return [f"{sidecar} belongs to an experiment that no longer exists"]
    problems = []
    if asked != digest(EXPERIMENTS[name].as_json()):
        problems.append(
            f"{sidecar} was made from another description of {name}; "
            f"renew it with: heavybandit sweep {name}"
        )
    for file in (f"{name}.runs.csv", f"{name}.curves.csv"):
        path = folder / file
        checksum = files.get(file)
        if not path.exists():
            problems.append(f"{path} is missing")
        elif _sha256(path.read_bytes()) != checksum:
            problems.append(f"{path} was changed after it was made (its checksum does not match)")
    return problems


def verify(folder: str | Path, *, seed: int, plays: float, names: list[str] | None = None) -> Check:
    """Simulate a random sample of the consolidated runs again and compare, digit by digit.

    The sample is one run of every experiment, and as many more as `plays` plays allow, drawn
    without replacement.
    """
    differences: list[str] = []
    candidates: list[tuple[str, int, Spec]] = []
    tables: dict[str, tuple[dict[str, list[str]], dict[str, list[list[str]]]]] = {}
    for name in names or consolidated(folder):
        problems = check_files(name, folder) or _what_is_odd(name, folder)
        differences += problems
        if not problems:
            tables[name] = _tables(name, folder)
            candidates += [(name, i, spec) for i, spec in enumerate(EXPERIMENTS[name].runs())]
    spent = extra = 0
    looked_at: Counter[str] = Counter()
    for choice in np.random.default_rng(seed).permutation(len(candidates)):
        name, index, spec = candidates[choice]
        if looked_at[name]:
            if extra + spec.plays > plays:
                continue
            extra += spec.plays
        result = run_group([spec])[0]
        rows, curves = tables[name]
        form = form_of(EXPERIMENTS[name])
        who = f"{name}: run {index}, {spec.text()}"
        if rows.get(str(index)) != form.row(index, spec, result):
            differences.append(f"{who}: its row comes out differently")
        wanted = form.curve_rows(index, result) if _has_curve(EXPERIMENTS[name], spec) else []
        if curves.get(str(index), []) != wanted:
            differences.append(f"{who}: its curve comes out differently")
        spent += spec.plays
        looked_at[name] += 1
    return Check(looked_at.total(), spent, differences)


def _what_is_odd(name: str, folder: str | Path) -> list[str]:
    """What is wrong with the tables' form: other columns, or other runs than the experiment's."""
    experiment = EXPERIMENTS[name]
    form = form_of(experiment)
    specs: Sequence[Spec] = experiment.runs()
    curves = [i for i, spec in enumerate(specs) if _has_curve(experiment, spec)]
    found = []
    for kind, columns, runs in (
        ("runs", form.columns, list(range(len(specs)))),
        ("curves", form.curve_columns, curves),
    ):
        path = Path(folder) / f"{name}.{kind}.csv"
        try:
            with path.open(newline="", encoding="utf-8") as file:
                header, *rows = csv.reader(file)
            numbers = [row[0] for row in rows]
        except (ValueError, IndexError, csv.Error):
            found.append(f"{path} cannot be read as a table")
            continue
        if kind == "curves":
            numbers = list(dict.fromkeys(numbers))
        if tuple(header) != columns or numbers != [str(i) for i in runs]:
            found.append(f"{path} has other columns or other runs than {name} has")
    return found


def _tables(
    name: str, folder: str | Path
) -> tuple[dict[str, list[str]], dict[str, list[list[str]]]]:
    runs, curves = load(name, folder)
    by_run: dict[str, list[list[str]]] = {}
    for row in curves:
        by_run.setdefault(row["run"], []).append(list(row.values()))
    return {row["run"]: list(row.values()) for row in runs}, by_run


def differences(made: str | Path, committed: str | Path) -> list[str]:
    """Which result files and ledgers of two folders differ; versions in sidecars are not compared.

    The ledger, the map and the leaderboard count only if both folders have them: notebooks make
    these, not sweeps.
    """
    found = []
    ours, theirs = Path(made), Path(committed)
    for name in ("claims.json", "map.csv", "leaderboard.csv"):
        both = [folder / name for folder in (ours, theirs)]
        if all(path.exists() for path in both) and both[0].read_bytes() != both[1].read_bytes():
            found.append(f"{name} differs")
    for name in sorted(set(consolidated(ours)) | set(consolidated(theirs))):
        for kind in ("runs.csv", "curves.csv"):
            a, b = ours / f"{name}.{kind}", theirs / f"{name}.{kind}"
            if not a.exists():
                found.append(f"{a.name} was not made again")
            elif not b.exists():
                found.append(f"{b.name} is new")
            elif a.read_bytes() != b.read_bytes():
                found.append(f"{a.name} differs")
    return found
