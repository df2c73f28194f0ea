"""Consolidated results: the same bytes from the same runs; verification finds what was changed."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit.pipeline import tables as results
from heavybandit.pipeline.spec import (
    ENGINE_VERSION,
    Coverage,
    Experiment,
    Recipe,
    RunSpec,
    digest,
    recipe,
)
from heavybandit.pipeline.store import Store, StoreError
from heavybandit.pipeline.sweep import run_group, sweep
from heavybandit.pipeline.tables import (
    check_files,
    consolidate,
    differences,
    ensure,
    load,
    number,
    verify,
)
from heavybandit.replication import claims
from heavybandit.replication.catalogue import EXPERIMENTS

TINY = Experiment(
    name="tiny",
    what="for tests",
    worlds=(
        recipe("section6", noise="student-t", n_arms=3, dim=2),
        recipe("symmetric", noise=recipe("Gaussian", scale=0.5), n_arms=3, dim=2),
    ),
    policies=(
        recipe("SupBTC", v=4.0, width_scale=0.02),
        recipe("TOFU", v=4.0, eps=0.5, width_scale=0.1),
        recipe("Uniform"),
    ),
    horizons=(300,),
    seeds=2,
    first_seed=5,
    checkpoints=4,
    curve_seeds=1,
)
FILES = ("tiny.runs.csv", "tiny.curves.csv", "tiny.json")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with all runs of TINY."""
    store = Store(tmp_path_factory.mktemp("store"))
    sweep(TINY, store, progress=False)
    return store


@pytest.fixture
def data(filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with TINY's results, and TINY among the experiments."""
    monkeypatch.setitem(EXPERIMENTS, "tiny", TINY)
    consolidate(TINY, filled, tmp_path / "data")
    return tmp_path / "data"


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


# Consolidation.


def test_the_same_runs_give_the_same_bytes_in_whatever_order_and_company_they_were_done(
    data: Path, tmp_path: Path
) -> None:
    backwards, shuffled = Store(tmp_path / "backwards"), Store(tmp_path / "shuffled")
    for spec in reversed(TINY.runs()):
        backwards.save(spec, run_group([spec])[0])
    sweep(TINY, shuffled, progress=False, shuffle=3)
    for store in (backwards, shuffled):
        consolidate(TINY, store, tmp_path / "again")
        assert contents(tmp_path / "again") == contents(data)
        shutil.rmtree(tmp_path / "again")


def test_consolidation_makes_three_files_and_says_which(filled: Store, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "data"
    made = consolidate(TINY, filled, target)
    assert made == [target / name for name in FILES]
    assert sorted(target.iterdir()) == sorted(made)


def test_a_file_that_is_as_it_should_be_is_not_rewritten(filled: Store, data: Path) -> None:
    for path in data.iterdir():
        os.utime(path, ns=(10**18, 10**18))
    (data / "tiny.curves.csv").write_text("run,plays,regret\n")
    changed = (data / "tiny.curves.csv").stat().st_mtime_ns
    wanted = {path: 10**18 for path in data.iterdir() if path.name != "tiny.curves.csv"}
    consolidate(TINY, filled, data)
    times = {path: path.stat().st_mtime_ns for path in data.iterdir()}
    assert times.pop(data / "tiny.curves.csv") >= changed
    assert times == wanted
    assert check_files("tiny", data) == []


def test_an_unfinished_experiment_is_an_error_that_counts_and_says_how_to_go_on(
    filled: Store, tmp_path: Path
) -> None:
    store = Store(tmp_path / "store")
    for spec in TINY.runs()[:7]:
        result = filled.load(spec)
        assert result is not None
        store.save(spec, result)
    with pytest.raises(StoreError, match=r"5 of 12 runs of tiny.*heavybandit sweep tiny"):
        consolidate(TINY, store, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_have_nine_significant_digits(value: float) -> None:
    text = number(value)
    assert len(Decimal(text).as_tuple().digits) <= 9
    assert math.isclose(float(text), value, rel_tol=5e-9, abs_tol=1e-320)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.333333333"),
        (123456.7891234, "123456.789"),
        (-2.5e-7, "-2.5e-07"),
        (0.0, "0"),
        (20.0, "20"),
        (None, ""),
    ],
)
def test_known_numbers_are_written_as_expected(value: float | None, text: str) -> None:
    assert number(value) == text


def test_every_row_says_what_the_store_says(filled: Store, data: Path) -> None:
    with (data / "tiny.runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    specs = TINY.runs()
    assert [row["run"] for row in rows] == [str(i) for i in range(12)]
    for row, spec in zip(rows, specs, strict=True):
        result = filled.load(spec)
        assert result is not None
        seen = result["diagnostics"]
        assert None not in row  # no cell too many …
        assert None not in row.values()  # … and none too few
        assert (row["world"], row["policy"]) == (spec.world.name, spec.policy.name)
        assert (row["horizon"], row["seed"]) == ("300", str(spec.seed))
        assert row["plays"] == str(result["plays"][-1])
        assert row["regret"] == f"{result['regret']:.9g}"
        for name in ("estimates", "truncated", "suspects", "intervals", "intervals_missed"):
            assert int(row[name]) == seen[name]
        for name in ("explored", "exploited", "visited"):
            assert [int(x) for x in row[name].split()] == seen[name]
        entering = ["-" if x is None else f"{x:.9g}" for x in seen["arms_entering"]]
        assert row["arms_entering"].split() == entering


def test_settings_tell_runs_of_the_same_policy_and_world_apart(data: Path) -> None:
    rows, _ = load("tiny", data)
    assert rows[0]["settings"] == "v=4.0 width_scale=0.02"
    assert rows[0]["world_settings"] == "dim=2 n_arms=3 noise=student-t"
    assert rows[-1]["world_settings"] == "dim=2 n_arms=3 noise=Gaussian(scale=0.5)"
    columns = ("world", "world_settings", "policy", "settings", "horizon", "seed")
    assert len({tuple(row[c] for c in columns) for row in rows}) == len(rows)


def test_counts_are_written_exactly_however_large() -> None:
    spec = TINY.runs()[0]
    result = run_group([spec])[0]
    count = 12_345_678_901
    result["plays"][-1] = count
    result["diagnostics"] |= {"truncated": count, "visited": [count, 1]}
    row = dict(zip(results.COLUMNS, results.run_row(0, spec, result), strict=True))
    assert row["plays"] == row["truncated"] == "12345678901"
    assert row["visited"] == "12345678901 1"


def test_curves_are_there_for_the_first_seeds_only_and_complete(filled: Store, data: Path) -> None:
    _, rows = load("tiny", data)
    wanted = []
    for i, spec in enumerate(TINY.runs()):
        if spec.seed == 5:  # the first one; curve_seeds is 1
            result = filled.load(spec)
            assert result is not None
            points = zip(result["plays"], result["curve"], strict=True)
            wanted += [
                {"run": str(i), "plays": str(plays), "regret": f"{regret:.9g}"}
                for plays, regret in points
            ]
    assert len(wanted) == 6 * 4
    assert rows == wanted


# The sidecar.


def test_the_sidecar_has_versions_and_checksums_that_match(data: Path) -> None:
    sidecar = json.loads((data / "tiny.json").read_text())
    assert sidecar["made_with"]["heavybandit"] == hb.__version__
    assert sidecar["made_with"]["numpy"] == np.__version__
    assert sidecar["made_with"]["numba"] == numba.__version__
    assert sidecar["experiment"]["engine"] == ENGINE_VERSION
    assert sidecar["files"] == {
        name: hashlib.sha256((data / name).read_bytes()).hexdigest() for name in FILES[:2]
    }


def test_the_sidecar_describes_the_experiment_so_that_it_can_be_rebuilt(data: Path) -> None:
    asked = json.loads((data / "tiny.json").read_text())["experiment"]
    rebuilt = Experiment(
        name=asked["name"],
        what=TINY.what,
        worlds=tuple(Recipe.from_json(w) for w in asked["worlds"]),
        policies=tuple(Recipe.from_json(p) for p in asked["policies"]),
        horizons=tuple(asked["horizons"]),
        **{k: asked[k] for k in ("seeds", "first_seed", "checkpoints", "curve_seeds")},
    )
    assert rebuilt == TINY
    assert [r.key for r in rebuilt.runs()] == [r.key for r in TINY.runs()]


def test_the_sidecar_has_no_path_of_this_machine_and_no_time(data: Path) -> None:
    def leaves(value: Any) -> list[Any]:
        if isinstance(value, dict):
            return [x for k, v in value.items() for x in (k, *leaves(v))]
        if isinstance(value, list):
            return [x for v in value for x in leaves(v)]
        return [value]

    for leaf in leaves(json.loads((data / "tiny.json").read_text())):
        if isinstance(leaf, str):
            assert not re.search(r"[/\\~]|\d{4}-\d\d|\d\d:\d\d", leaf), leaf
        else:
            assert leaf < 10**6, leaf  # a time in seconds would be larger


# Verification.


def seal_again(data: Path) -> None:
    """Make the sidecar's checksums match whatever the files are now."""
    sidecar = json.loads((data / "tiny.json").read_text())
    for name in sidecar["files"]:
        sidecar["files"][name] = hashlib.sha256((data / name).read_bytes()).hexdigest()
    (data / "tiny.json").write_text(json.dumps(sidecar))


def test_fresh_results_have_no_differences(data: Path) -> None:
    check = verify(data, seed=0, plays=math.inf)
    assert (check.runs, check.plays, check.differences) == (12, 12 * 300, [])


def change_a_digit(data: Path, name: str, line: int, column: str) -> None:
    """Change the last digit of one number."""
    rows = list(csv.reader((data / name).read_text().splitlines()))
    cell = rows[0].index(column)
    old = rows[line][cell]
    rows[line][cell] = old[:-1] + str((int(old[-1]) + 1) % 10)
    with (data / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


@pytest.mark.parametrize(
    ("name", "line", "column", "words"),
    [
        ("tiny.runs.csv", 3, "regret", ["run 2", "Uniform", "seed 5", "row"]),
        ("tiny.runs.csv", 4, "intervals_missed", ["run 3", "SupBTC", "seed 6", "row"]),
        ("tiny.runs.csv", 1, "visited", ["run 0", "SupBTC", "seed 5", "row"]),
        ("tiny.curves.csv", 2, "regret", ["run 0", "SupBTC", "seed 5", "curve"]),
    ],
)
def test_a_changed_digit_is_found_by_checksum_and_by_simulating_again(
    data: Path, name: str, line: int, column: str, words: list[str]
) -> None:
    change_a_digit(data, name, line, column)
    by_checksum = verify(data, seed=0, plays=math.inf)
    assert len(by_checksum.differences) == 1
    assert name in by_checksum.differences[0]
    assert "checksum" in by_checksum.differences[0]
    assert by_checksum.runs == 0  # nothing can be said about runs from a file that was changed

    seal_again(data)
    by_simulation = verify(data, seed=0, plays=math.inf)
    assert by_simulation.runs == 12
    assert len(by_simulation.differences) == 1
    for word in words:
        assert word in by_simulation.differences[0]


def a_row_too_many(data: Path) -> None:
    with (data / "tiny.runs.csv").open("a") as file:
        file.write(",".join(["99", *["0"] * (len(results.COLUMNS) - 1)]) + "\n")


def a_row_twice(data: Path) -> None:
    lines = (data / "tiny.runs.csv").read_text().splitlines(keepends=True)
    forged = lines[1].replace("student-t", "pareto")
    (data / "tiny.runs.csv").write_text("".join([lines[0], forged, *lines[1:]]))


def a_row_missing(data: Path) -> None:
    lines = (data / "tiny.runs.csv").read_text().splitlines(keepends=True)
    (data / "tiny.runs.csv").write_text("".join(lines[:-1]))


def a_curve_missing(data: Path) -> None:
    (data / "tiny.curves.csv").write_text("run,plays,regret\n")


def a_curve_too_many(data: Path) -> None:
    with (data / "tiny.curves.csv").open("a") as file:
        file.write("11,300,1.5\n")


def columns_exchanged(data: Path) -> None:
    text = (data / "tiny.runs.csv").read_text()
    (data / "tiny.runs.csv").write_text(text.replace("estimates,truncated", "truncated,estimates"))


def a_column_renamed(data: Path) -> None:
    text = (data / "tiny.runs.csv").read_text()
    (data / "tiny.runs.csv").write_text("ruin" + text.removeprefix("run"))


@pytest.mark.parametrize(
    "forge",
    [
        a_row_too_many,
        a_row_twice,
        a_row_missing,
        a_curve_missing,
        a_curve_too_many,
        columns_exchanged,
        a_column_renamed,
    ],
)
def test_simulating_all_again_finds_what_was_added_left_out_or_renamed(
    data: Path, forge: Callable[[Path], None]
) -> None:
    forge(data)
    seal_again(data)
    assert verify(data, seed=0, plays=math.inf).differences != []


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(data: Path, name: str) -> None:
    (data / name).unlink()
    found = check_files("tiny", data)
    assert len(found) == 1
    assert f"{data / name} is missing" in found[0]
    assert verify(data, seed=0, plays=1, names=["tiny"]).differences == found


@pytest.mark.parametrize(
    "sidecar",
    [
        "",
        "{",
        "{}",
        "[]",
        "null",
        '{"files": {}}',
        '{"files": [], "experiment_sha256": ""}',
        '{"files": null, "experiment_sha256": ""}',
    ],
)
def test_a_sidecar_that_cannot_be_read_is_named(data: Path, sidecar: str) -> None:
    (data / "tiny.json").write_text(sidecar)
    found = verify(data, seed=0, plays=1).differences
    assert len(found) == 1
    assert f"{data / 'tiny.json'} is missing or cannot be read" in found[0]


def test_a_sidecar_that_vouches_for_no_file_is_not_taken_for_a_good_one(data: Path) -> None:
    asked = digest(TINY.as_json())
    (data / "tiny.json").write_text(json.dumps({"files": {}, "experiment_sha256": asked}))
    assert check_files("tiny", data) != []


def test_results_of_an_experiment_that_is_gone_are_named(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(EXPERIMENTS, "tiny")
    check = verify(data, seed=0, plays=1)
    assert check.runs == 0
    assert len(check.differences) == 1
    assert "tiny.json belongs to an experiment that no longer exists" in check.differences[0]


@pytest.mark.parametrize(
    "change", [{"seeds": 3}, {"curve_seeds": 2}, {"policies": TINY.policies[::-1]}]
)
def test_results_made_from_another_description_are_named(
    data: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    monkeypatch.setitem(EXPERIMENTS, "tiny", dataclasses.replace(TINY, **change))
    found = verify(data, seed=0, plays=1).differences
    assert len(found) == 1
    assert "another description of tiny" in found[0]
    assert "heavybandit sweep tiny" in found[0]


def test_a_new_sentence_about_an_experiment_does_not_make_its_results_old(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXPERIMENTS, "tiny", dataclasses.replace(TINY, what="reworded"))
    assert check_files("tiny", data) == []


def test_loading_what_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"tiny\.runs\.csv.*heavybandit sweep tiny"):
        load("tiny", tmp_path)


def sampled(
    data: Path, monkeypatch: pytest.MonkeyPatch, *, seed: int, plays: float
) -> list[RunSpec]:
    """The runs that a verification simulates."""
    seen: list[RunSpec] = []

    def watched(specs: list[RunSpec]) -> list[dict[str, Any]]:
        seen.extend(specs)
        return run_group(specs)

    monkeypatch.setattr(results, "run_group", watched)
    check = verify(data, seed=seed, plays=plays)
    assert check.differences == []
    assert (check.runs, check.plays) == (len(seen), 300 * len(seen))
    return seen


@pytest.mark.parametrize(
    ("plays", "runs"), [(0, 1), (1, 1), (299, 1), (300, 2), (600, 3), (1000, 4), (math.inf, 12)]
)
def test_a_sample_has_one_run_and_as_many_more_as_its_plays_allow(
    data: Path, monkeypatch: pytest.MonkeyPatch, plays: float, runs: int
) -> None:
    seen = sampled(data, monkeypatch, seed=1, plays=plays)
    assert len(seen) == len({spec.key for spec in seen}) == runs


def test_a_sample_is_determined_by_its_seed_and_differs_between_seeds(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [sampled(data, monkeypatch, seed=seed, plays=900) for seed in (0, 1, 2, 3)]
    again = [sampled(data, monkeypatch, seed=seed, plays=900) for seed in (0, 1, 2, 3)]
    assert samples == again
    # Four equal samples of 4 of 12 would have the probability (1/495)³.
    assert len({frozenset(spec.key for spec in sample) for sample in samples}) > 1


# Two folders.


def test_a_folder_does_not_differ_from_its_copy(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "copy")
    # Versions of what computed the results may differ; the results may not.
    (tmp_path / "copy" / "tiny.json").write_text("{}")
    assert differences(data, tmp_path / "copy") == []


def test_missing_new_and_differing_files_are_named(data: Path, tmp_path: Path) -> None:
    committed = tmp_path / "committed"
    shutil.copytree(data, committed)
    change_a_digit(committed, "tiny.curves.csv", 1, "regret")
    for kind in ("runs", "curves"):
        shutil.copy(data / f"tiny.{kind}.csv", data / f"fresh.{kind}.csv")
        shutil.copy(data / f"tiny.{kind}.csv", committed / f"old.{kind}.csv")
    assert differences(data, committed) == [
        "fresh.runs.csv is new",
        "fresh.curves.csv is new",
        "old.runs.csv was not made again",
        "old.curves.csv was not made again",
        "tiny.curves.csv differs",
    ]


@pytest.mark.parametrize("content", [b"", b"\n", b"run,world\n\n", b"\xff\xfe", b'"'])
def test_a_table_that_is_none_is_named_even_if_its_checksum_matches(
    data: Path, content: bytes
) -> None:
    (data / "tiny.runs.csv").write_bytes(content)
    seal_again(data)
    found = verify(data, seed=0, plays=1).differences
    assert len(found) == 1
    assert "tiny.runs.csv" in found[0]


def test_runs_computed_with_different_versions_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    specs = TINY.runs()
    for spec in specs[1:]:
        store.save(spec, run_group([spec])[0])
    monkeypatch.setattr("heavybandit.pipeline.store.made_with", lambda: {"numpy": "0.0"})
    store.save(specs[0], run_group([specs[0]])[0])
    with pytest.raises(StoreError, match=r'different versions.*"numpy":"0.0"'):
        consolidate(TINY, store, tmp_path / "data")
    assert not list(tmp_path.glob("data/*.csv"))


def test_a_deleted_table_is_missed_even_if_nobody_names_it(data: Path) -> None:
    (data / "tiny.runs.csv").unlink()
    assert any("tiny.runs.csv is missing" in d for d in verify(data, seed=0, plays=1).differences)


# Ledgers of two folders.


def entry(verdict: str) -> claims.Claim:
    return claims.Claim("prop-1", "Section 3", "something", "01.ipynb", "tests", {}, verdict)


def test_ledgers_that_agree_are_no_difference_and_ledgers_that_differ_are(
    data: Path, tmp_path: Path
) -> None:
    committed = tmp_path / "committed"
    shutil.copytree(data, committed)
    for folder in (data, committed):
        claims.record(entry(claims.HOLDS), folder)
    assert differences(data, committed) == []
    claims.record(entry(claims.OPEN), data)
    assert differences(data, committed) == ["claims.json differs"]
    assert differences(committed, data) == ["claims.json differs"]
    change_a_digit(committed, "tiny.runs.csv", 1, "regret")
    assert differences(data, committed) == ["claims.json differs", "tiny.runs.csv differs"]


@pytest.mark.parametrize("table", ["map.csv", "leaderboard.csv"])
def test_tables_that_differ_are_a_difference(data: Path, tmp_path: Path, table: str) -> None:
    committed = tmp_path / "committed"
    shutil.copytree(data, committed)
    (data / table).write_text("a\n")
    assert differences(data, committed) == []
    (committed / table).write_text("b\n")
    assert differences(data, committed) == [f"{table} differs"]


def test_a_ledger_on_one_side_only_is_no_difference(data: Path, tmp_path: Path) -> None:
    committed = tmp_path / "committed"
    shutil.copytree(data, committed)
    claims.record(entry(claims.HOLDS), committed)
    assert differences(data, committed) == []
    assert differences(committed, data) == []


# What is missing is made.


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What every sweep that `ensure` asks for has done; in this process, whatever the machine."""
    done: list[Any] = []

    def here(experiment: Any, store: Store, *, workers: int) -> None:
        assert workers >= 1
        done.append(sweep(experiment, store, workers=1, progress=False))

    monkeypatch.setattr(results, "sweep", here)
    return done


def test_results_that_are_whole_are_left_alone(
    data: Path, tmp_path: Path, swept: list[Any]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in data.iterdir()}
    ensure("tiny", data, tmp_path / "store")
    assert swept == []
    assert not (tmp_path / "store").exists()
    assert {path: path.stat().st_mtime_ns for path in data.iterdir()} == before


def test_results_that_are_not_there_are_made(data: Path, tmp_path: Path, swept: list[Any]) -> None:
    ensure("tiny", tmp_path / "new", tmp_path / "store")
    assert [(summary.found, summary.done) for summary in swept] == [(0, 12)]
    assert contents(tmp_path / "new") == contents(data)
    ensure("tiny", str(tmp_path / "new"), str(tmp_path / "store"))
    assert len(swept) == 1


def test_runs_that_are_stored_are_not_done_again(
    data: Path, filled: Store, tmp_path: Path, swept: list[Any]
) -> None:
    store = Store(tmp_path / "store")
    for spec in TINY.runs()[:7]:
        result = filled.load(spec)
        assert result is not None
        store.save(spec, result)
    ensure("tiny", tmp_path / "new", tmp_path / "store")
    assert [(summary.found, summary.done) for summary in swept] == [(7, 5)]
    assert contents(tmp_path / "new") == contents(data)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: (data / "tiny.runs.csv").unlink(),
        lambda data: (data / "tiny.curves.csv").unlink(),
        lambda data: (data / "tiny.json").unlink(),
        lambda data: (data / "tiny.json").write_text("{"),
        lambda data: change_a_digit(data, "tiny.runs.csv", 3, "regret"),
        lambda data: change_a_digit(data, "tiny.curves.csv", 2, "regret"),
    ],
    ids=["no runs", "no curves", "no sidecar", "bad sidecar", "changed run", "changed curve"],
)
def test_results_that_do_not_check_are_renewed(
    data: Path, filled: Store, swept: list[Any], spoil: Callable[[Path], Any]
) -> None:
    good = contents(data)
    spoil(data)
    ensure("tiny", data, filled.folder)
    assert [(summary.found, summary.done) for summary in swept] == [(12, 0)]
    assert contents(data) == good


def test_results_of_another_description_are_renewed(
    data: Path, tmp_path: Path, swept: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = dataclasses.replace(TINY, worlds=TINY.worlds[:1], seeds=1)
    monkeypatch.setitem(EXPERIMENTS, "tiny", fewer)
    ensure("tiny", data, tmp_path / "store")
    assert [(summary.runs, summary.done) for summary in swept] == [(3, 3)]
    assert check_files("tiny", data) == []
    assert len(load("tiny", data)[0]) == 3


def test_an_experiment_that_does_not_exist_cannot_be_made(tmp_path: Path, swept: list[Any]) -> None:
    with pytest.raises(ValueError, match="there is no experiment 'sectoin6'"):
        ensure("sectoin6", tmp_path / "data", tmp_path / "store")
    assert swept == []
    assert not list(tmp_path.iterdir())


# Audited runs: a line a stage.

AUDITED = Experiment(
    name="tiny",
    what="for tests",
    worlds=(
        recipe("symmetric", noise=recipe("StudentT", df=2.5, scale=3.0), n_arms=4, dim=2),
        recipe("section6", noise="student-t", n_arms=3, dim=2),
    ),
    policies=(
        recipe("SupBTC", v=1.0, width_scale=0.02),
        recipe("SupBTC", v=1.0, width_scale=0.1),
    ),
    horizons=(300,),
    seeds=3,
    first_seed=5,
    checkpoints=4,
    curve_seeds=2,
    audit=True,
)
STAGE_COLUMNS = ["run", "stage", "visited", "explored", "sum_c", "best_lost", "far_arms"]


@pytest.fixture(scope="module")
def audited_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with all runs of AUDITED."""
    store = Store(tmp_path_factory.mktemp("audited"))
    sweep(AUDITED, store, progress=False)
    return store


@pytest.fixture
def audited(audited_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with AUDITED's results, and AUDITED among the experiments."""
    monkeypatch.setitem(EXPERIMENTS, "tiny", AUDITED)
    consolidate(AUDITED, audited_store, tmp_path / "data")
    return tmp_path / "data"


def test_every_kind_of_experiment_has_its_form() -> None:
    assert results.form_of(TINY) is results.REGRET
    assert results.form_of(AUDITED) is results.AUDIT
    for experiment in EXPERIMENTS.values():
        form = results.form_of(experiment)
        if isinstance(experiment, Coverage):
            assert form is results.REPEATED
        else:
            assert form is (results.AUDIT if experiment.audit else results.REGRET)
    assert results.AUDIT.columns == results.REGRET.columns
    assert list(results.AUDIT.curve_columns) == STAGE_COLUMNS


def test_a_stage_has_a_line_if_it_was_visited_by_hand() -> None:
    seen = {
        "visited": [12_345_678_901, 7, 0, 0],
        "explored": [5, 0, 0, 0],
        "sum_c": [1 / 3, 0.0, 0.0, 0.0],
        "best_lost": [0, 2, 0, 0],
        "far_arms": [0, 14, 0, 0],
    }
    assert results.stage_rows(3, {"diagnostics": seen}) == [
        ["3", "1", "12345678901", "5", "0.333333333", "0", "0"],
        ["3", "2", "7", "0", "0", "2", "14"],
    ]


def test_the_stage_table_says_what_every_audited_run_counted(audited: Path) -> None:
    rows, stages = load("tiny", audited)
    assert [row["run"] for row in rows] == [str(i) for i in range(12)]
    wanted = []
    for i, spec in enumerate(AUDITED.runs()):
        run = hb.simulate(
            spec.make_policy(spec.make_world()), spec.make_world(), spec.seed, audit=True
        )
        seen = run.diagnostics
        assert rows[i]["regret"] == f"{run.regret:.9g}"
        assert int(rows[i]["intervals"]) == seen["intervals"] == seen["estimates"]
        for s, visits in enumerate(seen["visited"] if spec.seed < 7 else []):  # curve_seeds is 2
            if visits:
                numbers = {name: f"{seen[name][s]:.9g}" for name in STAGE_COLUMNS[2:]}
                wanted.append({"run": str(i), "stage": str(s + 1), **numbers})
    assert stages == wanted
    # and there was something to write down
    for name in STAGE_COLUMNS[1:]:
        assert len({row[name] for row in stages}) > 1, name
    assert len({row["stage"] for row in stages}) > 3


def test_audited_results_have_no_differences_and_come_out_the_same_again(
    audited: Path, tmp_path: Path
) -> None:
    check = verify(audited, seed=0, plays=math.inf)
    assert (check.runs, check.plays, check.differences) == (12, 12 * 300, [])
    backwards = Store(tmp_path / "backwards")
    for spec in reversed(AUDITED.runs()):
        backwards.save(spec, run_group([spec])[0])
    consolidate(AUDITED, backwards, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(audited)


@pytest.mark.parametrize("column", STAGE_COLUMNS[1:])
def test_a_changed_digit_of_a_stage_is_found_by_checksum_and_by_simulating_again(
    audited: Path, column: str
) -> None:
    change_a_digit(audited, "tiny.curves.csv", 2, column)
    by_checksum = verify(audited, seed=0, plays=math.inf)
    assert by_checksum.runs == 0
    assert "checksum" in by_checksum.differences[0]
    seal_again(audited)
    by_simulation = verify(audited, seed=0, plays=math.inf)
    assert by_simulation.runs == 12
    assert len(by_simulation.differences) == 1
    for word in ("run 0", "SupBTC", "seed 5", "curve"):
        assert word in by_simulation.differences[0]


def a_stage_missing(data: Path) -> None:
    lines = (data / "tiny.curves.csv").read_text().splitlines(keepends=True)
    (data / "tiny.curves.csv").write_text("".join(lines[:-1]))


def a_stage_twice(data: Path) -> None:
    lines = (data / "tiny.curves.csv").read_text().splitlines(keepends=True)
    (data / "tiny.curves.csv").write_text("".join([*lines, lines[-1]]))


def a_table_of_curves(data: Path) -> None:
    _, *lines = (data / "tiny.curves.csv").read_text().splitlines()
    kept = [",".join(line.split(",")[:3]) for line in lines]
    (data / "tiny.curves.csv").write_text("\n".join(["run,plays,regret", *kept]) + "\n")


@pytest.mark.parametrize("forge", [a_stage_missing, a_stage_twice, a_table_of_curves])
def test_simulating_all_again_finds_stages_that_were_added_left_out_or_renamed(
    audited: Path, forge: Callable[[Path], None]
) -> None:
    forge(audited)
    seal_again(audited)
    assert verify(audited, seed=0, plays=math.inf).differences != []


def test_results_without_an_audit_are_not_taken_for_audited_ones(
    audited: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXPERIMENTS, "tiny", dataclasses.replace(AUDITED, audit=False))
    found = check_files("tiny", audited)
    assert len(found) == 1
    assert "another description of tiny" in found[0]
