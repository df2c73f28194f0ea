"""Results as text: small tidy tables with a provenance sidecar, written and read in one place.

    data/NAME.runs.csv     one row per run; row i belongs to `experiment.runs()[i]`
    data/NAME.curves.csv   run, plays, regret, for the first seeds; of audited runs one row per
                           stage, of coverage experiments histograms
    data/NAME.json         the experiment, versions of what computed it, checksums of both files

Numbers have 9 significant digits; counts are exact. The same runs give the same bytes, whatever the
order, the workers or the machine, as long as the libraries named in the sidecar are the same.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .recipes import canonical, digest
from .scratch import bytes_of, text_of, write_whole
from .spec import ENGINE_VERSION, EXPERIMENTS, Plan, by_name, made_with
from .store import Store, StoreError

if TYPE_CHECKING:
    from pandas import DataFrame

FROM_NOTEBOOKS = ("claims.json", "map.csv", "leaderboard.csv")
"""What notebooks write into data/, and no sweep does."""


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as it stands in a file."""
    from pandas import DataFrame

    table = DataFrame(list(rows), columns=list(header), dtype=object)
    return table.to_csv(index=False, lineterminator="\n")


def write_if_new(path: Path, text: str) -> Path:
    """Write a file whole or not at all, and leave one alone that is as it should be."""
    if not path.exists() or bytes_of(path) != text.encode():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text, path.parent)
    return path


def read_csv(path: Path) -> DataFrame:
    """A table, every cell as the text that it is."""
    from pandas import read_csv
    from pandas.errors import ParserError

    try:
        content = io.BytesIO(bytes_of(path))
        table = read_csv(content, dtype=object, keep_default_na=False, na_filter=False)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    except (ParserError, ValueError) as error:  # not text, no header, or a row that is too long
        why = str(error).strip().rpartition("error: ")[2]
        raise StoreError(f"{path} cannot be read as a table: {why}") from None
    if not table.map(lambda cell: isinstance(cell, str)).all(axis=None):
        raise StoreError(f"{path} cannot be read as a table: a row has too few cells")
    return table


def sha256(raw: bytes) -> str:
    """A checksum as sidecars have it."""
    return hashlib.sha256(raw).hexdigest()


def sidecar_text(record: dict[str, Any], texts: dict[str, str]) -> str:
    """A sidecar: what is to be known about some files, and their checksums."""
    files = {name: sha256(text.encode()) for name, text in texts.items()}
    return json.dumps({**record, "files": files}, indent=1, ensure_ascii=False) + "\n"


def file_names(name: str) -> tuple[str, str]:
    """An experiment's two tables."""
    return f"{name}.runs.csv", f"{name}.curves.csv"


def consolidate(experiment: Plan, store: Store, folder: str | Path) -> list[Path]:
    """Write an experiment's finished runs as text into a folder; returns the files.

    Results of ours are replaced; what cannot be told from somebody else's file is not, as a table
    with older columns that is broken or has lost its sidecar (`check_place`).
    """
    specs = experiment.runs()
    records = [record for spec in specs if (record := store.record(spec)) is not None]
    missing = len(specs) - len(records)
    if missing:
        raise StoreError(
            f"{missing} of {len(specs)} runs of {experiment.name} are not finished; "
            f"go on with: heavybandit sweep {experiment.name}"
        )
    versions = {canonical(record["made_with"]) for record in records}
    if len(versions) > 1:
        raise StoreError(
            f"the runs in {store.folder} were computed with different versions "
            f"({' and '.join(sorted(versions))}), so their bits may differ; use a new --store"
        )
    rows, curve_rows = [], []
    for i, (spec, record) in enumerate(zip(specs, records, strict=True)):
        try:
            rows.append(spec.row(i, record["result"]))
            if experiment.has_curve(spec):
                curve_rows += spec.curve_rows(i, record["result"])
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(
                f"{store.path(spec)} holds no result of {spec.text()}: {error!r}; remove it, and "
                f"the same command does that run again"
            ) from None
    runs, curves = file_names(experiment.name)
    texts = {
        runs: csv_text(specs[0].columns, rows),
        curves: csv_text(specs[0].curve_columns, curve_rows),
    }
    about = _about(experiment, records[0]["made_with"])
    texts[f"{experiment.name}.json"] = sidecar_text(about, texts)
    target = Path(folder)
    check_place(experiment, target)
    with _writing_into(target):
        target.mkdir(parents=True, exist_ok=True)
        return [write_if_new(target / name, text) for name, text in texts.items()]


@contextmanager
def _writing_into(folder: Path) -> Iterator[None]:
    """Name the folder in an error of the system, and the file if it is known."""
    try:
        yield
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        raise StoreError(f"cannot write results into {folder}: {named}{error.strerror}") from error


def check_place(experiment: Plan, folder: str | Path) -> None:
    """Refuse a folder in which another's file has the name of one of an experiment's.

    A sidecar of ours is known by its members. A table of ours has the columns of now, or is what
    the sidecar beside it was made with, in an older version. One with the columns of now that was
    cut short is ours too.
    """
    with _writing_into(Path(folder)):
        _check_place(experiment, Path(folder))


def _check_place(experiment: Plan, folder: Path) -> None:
    name, first = experiment.name, experiment.runs()[0]
    sidecar, made = folder / f"{name}.json", dict[str, str]()
    begins = f'{{\n "experiment": {{\n  "name": "{name}"'.encode()
    if sidecar.exists():
        raw = bytes_of(sidecar)
        try:
            record = json.loads(raw)
            ours = {"experiment", "made_with", "files"} <= record.keys()
            made = dict(record["files"]) if ours else {}
        except (ValueError, TypeError, AttributeError, RecursionError):
            ours = raw.startswith(begins) or begins.startswith(raw)
        if not ours:
            raise _foreign(sidecar)
    for file, columns in zip(file_names(name), (first.columns, first.curve_columns), strict=True):
        path = folder / file
        if not path.exists():
            continue
        raw, header = bytes_of(path), ",".join(columns).encode()
        ours = raw.partition(b"\n")[0].rstrip() == header or header.startswith(raw)
        if not ours and sha256(raw) != made.get(file):
            raise _foreign(path)


def _foreign(path: Path) -> StoreError:
    return StoreError(
        f"{path} was not written by a sweep and would be overwritten; move it away, or let results "
        f"go into another folder with --data"
    )


def _about(experiment: Plan, versions: dict[str, Any]) -> dict[str, Any]:
    """What a sidecar says beside its checksums."""
    described = experiment.as_json()
    return {
        "experiment": json.loads(json.dumps(described)),
        "experiment_sha256": digest(described),
        "made_with": versions,
    }


def consolidated(folder: str | Path) -> list[str]:
    """The names of the experiments of whose results a folder has at least one file."""
    tables = [(path.name, end) for end in file_names("") for path in Path(folder).glob(f"*{end}")]
    sidecars = {name for name in EXPERIMENTS if (Path(folder) / f"{name}.json").exists()}
    return sorted({name.removesuffix(end) for name, end in tables} | sidecars)


def check_files(name: str, folder: str | Path) -> list[str]:
    """What is wrong with an experiment's files, without simulating anything."""
    folder = Path(folder)
    sidecar = folder / f"{name}.json"
    try:
        record = json.loads(text_of(sidecar))
        files, versions = record["files"], record["made_with"]
        if not (isinstance(files, dict) and isinstance(versions, dict)):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return [f"{sidecar} is missing or cannot be read"]
    if name not in EXPERIMENTS:
        return [f"{sidecar} belongs to an experiment that no longer exists"]
    problems = []
    if record != {**_about(EXPERIMENTS[name], versions), "files": files}:
        problems.append(
            f"{sidecar} was made from another description of {name}; "
            f"renew it with: heavybandit sweep {name}"
        )
    if versions.keys() != made_with().keys() or versions["engine"] != ENGINE_VERSION:
        problems.append(f"{sidecar} does not name what this engine's results are made with")
    for file in file_names(name):
        path = folder / file
        try:
            same = sha256(bytes_of(path)) == files.get(file)
        except FileNotFoundError:
            problems.append(f"{path} is missing")
        except OSError as error:
            problems.append(f"{path} cannot be read: {error.strerror}")
        else:
            what = f"{path} was changed after it was made (its checksum does not match)"
            problems += [] if same else [what]
    return problems


def read(name: str, folder: str | Path) -> DataFrame:
    """An experiment's runs, row i that of `experiment.runs()[i]`, its settings as columns.

    Counts and numbers are numbers, and what is by stage or by arm is a tuple of them. A setting
    that a run was not given is missing (NaN). A file is read once, until it changes.
    """
    return _read(name, *_current(folder, file_names(name)[0], name))


def read_curves(name: str, folder: str | Path) -> DataFrame:
    """An experiment's curves; the column `run` says which of `experiment.runs()` each row is of."""
    return _read_curves(*_current(folder, file_names(name)[1], name))


def _current(folder: str | Path, file: str, name: str) -> tuple[Path, int, int]:
    """A file, and when it was last changed and how large it is."""
    path = Path(folder).resolve() / file
    try:
        found = path.stat()
    except FileNotFoundError:
        raise StoreError(
            f"there is no {Path(folder) / file}; make it with: heavybandit sweep {name}"
        ) from None
    return path, found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=128)
def _read(name: str, path: Path, changed: int, size: int) -> DataFrame:  # noqa: ARG001
    from pandas import DataFrame

    text, specs = read_csv(path), by_name(name).runs()
    if tuple(text.columns) != specs[0].columns or len(text) != len(specs):
        raise StoreError(f"{path} has other columns or other runs than {name} has")
    settings = DataFrame([spec.settings() for spec in specs])
    counted = [c for c in text.columns if c not in settings.columns and "settings" not in c]
    return settings.assign(**{c: [_value(cell) for cell in text[c]] for c in counted})


@functools.lru_cache(maxsize=128)
def _read_curves(path: Path, changed: int, size: int) -> DataFrame:  # noqa: ARG001
    text = read_csv(path)
    return text.assign(**{c: [_value(cell) for cell in text[c]] for c in text.columns})


def _value(cell: str) -> Any:
    """A number, several of them as a tuple, or text; "-" and nothing are NaN."""
    if " " in cell:
        return tuple(_value(part) for part in cell.split())
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return float("nan") if cell in ("", "-") else cell


def same_bytes(one: Path, other: Path) -> bool:
    """Whether two files hold the same."""
    try:
        return bytes_of(one) == bytes_of(other)
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be read: {error.strerror}") from None


def differences(made: str | Path, committed: str | Path) -> list[str]:
    """Which result files of two folders differ; versions in sidecars are not compared.

    What notebooks write counts only if both folders have it: sweeps do not make that.
    """
    found = []
    names = sorted({*consolidated(made), *consolidated(committed)})
    for file in (*FROM_NOTEBOOKS, *(file for name in names for file in file_names(name))):
        ours, theirs = Path(made) / file, Path(committed) / file
        if ours.exists() and theirs.exists():
            if not same_bytes(ours, theirs):
                found.append(f"{file} differs")
        elif file not in FROM_NOTEBOOKS:
            found.append(f"{file} is new" if ours.exists() else f"{file} was not made again")
    return found
