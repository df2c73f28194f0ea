"""Consolidated results: the same bytes from the same runs, read back by the index of a run."""

import csv
import hashlib
import json
import math
import os
import re
import shutil
from decimal import Decimal

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandit as hb
from forging import change_a_digit, change_lines, contents, seal_again, texts
from heavybandit.pipeline.recipes import recipe
from heavybandit.pipeline.spec import ENGINE_VERSION, EXPERIMENTS, Experiment, number
from heavybandit.pipeline.store import Store, StoreError
from heavybandit.pipeline.sweep import sweep
from heavybandit.pipeline.tables import check_files, consolidate, differences, read, read_curves
from heavybandit.pipeline.verify import verify
from heavybandit.replication import claims
from stored import claim
from tiny import AUDITED, TINY

FILES = ("tiny.runs.csv", "tiny.curves.csv", "tiny.json")


# Consolidation.


@pytest.mark.parametrize("data", [TINY, AUDITED], ids=["curves", "stages"], indirect=True)
def test_the_same_runs_give_the_same_bytes_in_whatever_order_and_company_they_were_done(
    data, tmp_path
):
    experiment = EXPERIMENTS["tiny"]
    backwards, shuffled = Store(tmp_path / "backwards"), Store(tmp_path / "shuffled")
    for spec in reversed(experiment.runs()):
        backwards.save(spec, spec.run([spec])[0])
    sweep(experiment, shuffled, progress=False, shuffle=3)
    for store in (backwards, shuffled):
        consolidate(experiment, store, tmp_path / "again")
        assert contents(tmp_path / "again") == contents(data)
        shutil.rmtree(tmp_path / "again")


def test_consolidation_makes_three_files_and_says_which(tiny_store, tmp_path):
    target = tmp_path / "deep" / "data"
    made = consolidate(TINY, tiny_store, target)
    assert made == [target / name for name in FILES]
    assert sorted(target.iterdir()) == sorted(made)


def test_a_file_that_is_as_it_should_be_is_not_rewritten(tiny_store, data):
    for path in data.iterdir():
        os.utime(path, ns=(10**18, 10**18))
    (data / "tiny.curves.csv").write_text("run,plays,regret\n")
    changed = (data / "tiny.curves.csv").stat().st_mtime_ns
    wanted = {path: 10**18 for path in data.iterdir() if path.name != "tiny.curves.csv"}
    consolidate(TINY, tiny_store, data)
    times = {path: path.stat().st_mtime_ns for path in data.iterdir()}
    assert times.pop(data / "tiny.curves.csv") >= changed
    assert times == wanted
    assert check_files("tiny", data) == []


FOREIGN = [b"my own notes\n", b"\nmy own notes", b"\xff\xfe", b"run,plays,regret,why\n0,1,2,3\n"]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        *((file, content) for file in FILES for content in FOREIGN),
        *(("tiny.json", b) for b in (b"{}", b"[]", b'{"experiment": "tiny"}', b"null")),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_a_file_of_somebody_elses_is_not_overwritten(tiny_store, data, file, content, alone):
    if alone:
        shutil.rmtree(data)
        data.mkdir()
    else:
        change_lines(data, "curves", lambda lines: lines[:-1])  # would be renewed
    (data / file).write_bytes(content)
    before = contents(data)
    with pytest.raises(
        StoreError, match=rf"{re.escape(file)} was not written by a sweep .* --data"
    ):
        consolidate(TINY, tiny_store, data)
    assert contents(data) == before


@pytest.mark.parametrize("length", [0, 1, 30, 300])
def test_results_of_ours_that_were_cut_short_are_renewed(tiny_store, data, length):
    wanted = contents(data)
    for name in FILES:
        (data / name).write_bytes(wanted[name][:length])
    consolidate(TINY, tiny_store, data)
    assert contents(data) == wanted


@pytest.mark.parametrize("renewed", [0, 1, 2])
def test_results_of_an_older_version_are_renewed_and_again_after_an_interruption(
    tiny_store, data, renewed
):
    wanted = contents(data)
    for kind in ("runs", "curves"):
        change_lines(data, kind, lambda lines: [f"old_{line}" for line in lines])
    seal_again(data)
    for name in FILES[:renewed]:
        (data / name).write_bytes(wanted[name])
    consolidate(TINY, tiny_store, data)
    assert contents(data) == wanted


def test_an_unfinished_experiment_is_an_error_that_counts_and_says_how_to_go_on(
    tiny_store, tmp_path
):
    store = Store(tmp_path / "store")
    for spec in TINY.runs()[:7]:
        store.save(spec, tiny_store.load(spec))
    with pytest.raises(StoreError, match=r"5 of 12 runs of tiny.*heavybandit sweep tiny"):
        consolidate(TINY, store, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_have_nine_significant_digits(value):
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
def test_known_numbers_are_written_as_expected(value, text):
    assert number(value) == text


def test_every_row_says_what_the_store_says(tiny_store, data):
    with (data / "tiny.runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    specs = TINY.runs()
    assert [row["run"] for row in rows] == [str(i) for i in range(12)]
    for row, spec in zip(rows, specs, strict=True):
        result = tiny_store.load(spec)
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


def test_settings_tell_runs_of_the_same_policy_and_world_apart(data):
    rows, _ = texts(data)
    assert rows[0]["settings"] == "v=4.0 width_scale=0.02"
    assert rows[0]["world_settings"] == "dim=2 n_arms=3 noise=student-t"
    assert rows[-1]["world_settings"] == "dim=2 n_arms=3 noise=Gaussian(scale=0.5)"
    columns = ("world", "world_settings", "policy", "settings", "horizon", "seed")
    assert len({tuple(row[c] for c in columns) for row in rows}) == len(rows)


def test_counts_are_written_exactly_however_large():
    spec = TINY.runs()[0]
    result = spec.run([spec])[0]
    count = 12_345_678_901
    result["plays"][-1] = count
    result["diagnostics"] |= {"truncated": count, "visited": [count, 1]}
    row = dict(zip(spec.columns, spec.row(0, result), strict=True))
    assert row["plays"] == row["truncated"] == "12345678901"
    assert row["visited"] == "12345678901 1"


def test_curves_are_there_for_the_first_seeds_only_and_complete(tiny_store, data):
    _, rows = texts(data)
    wanted = []
    for i, spec in enumerate(TINY.runs()):
        if spec.seed == 5:  # the first one; curve_seeds is 1
            result = tiny_store.load(spec)
            points = zip(result["plays"], result["curve"], strict=True)
            wanted += [
                {"run": str(i), "plays": str(plays), "regret": f"{regret:.9g}"}
                for plays, regret in points
            ]
    assert len(wanted) == 6 * 4
    assert rows == wanted


# Reading.


def test_row_i_is_what_run_i_computed_with_its_settings_as_columns(tiny_store, data):
    table, curves = read("tiny", data), read_curves("tiny", data)
    assert list(table.index) == list(range(12))
    for i, spec in enumerate(TINY.runs()):
        row, result = table.iloc[i], tiny_store.load(spec)
        seen = result["diagnostics"]
        assert {name: row[name] for name in spec.settings()} == spec.settings()
        assert row["regret"] == float(f"{result['regret']:.9g}")
        assert row["truncated"] == seen["truncated"]
        explored = row["explored"]
        assert list(explored if isinstance(explored, tuple) else (explored,)) == seen["explored"]
        mine = curves[curves["run"] == i]
        assert mine["plays"].tolist() == (result["plays"] if spec.seed == 5 else [])
    assert table["policy_width_scale"].isna().sum() == 4  # uniform play has none
    assert table["world_noise"].iloc[-1] == TINY.worlds[1].params[-1][1]


def test_a_table_is_parsed_once_until_it_changes(data):
    first = read("tiny", data)
    assert read("tiny", data) is first
    change_a_digit(data, "tiny.runs.csv", 1, "truncated")
    os.utime(data / "tiny.runs.csv", ns=(10**18, 10**18))
    assert read("tiny", data)["truncated"][0] != first["truncated"][0]


def test_a_table_with_other_rows_than_the_experiments_runs_is_refused(data):
    change_lines(data, "runs", lambda lines: lines[:-1])
    with pytest.raises(StoreError, match=r"tiny\.runs\.csv has other columns or other runs"):
        read("tiny", data)


def test_reading_what_is_not_there_says_how_to_make_it(tmp_path):
    with pytest.raises(StoreError, match=r"tiny\.runs\.csv.*heavybandit sweep tiny"):
        read("tiny", tmp_path)


# The sidecar.


def test_the_sidecar_has_versions_and_checksums_that_match(data):
    sidecar = json.loads((data / "tiny.json").read_text())
    assert sidecar["made_with"]["heavybandit"] == hb.__version__
    assert sidecar["made_with"]["numpy"] == np.__version__
    assert sidecar["made_with"]["numba"] == numba.__version__
    assert sidecar["experiment"]["engine"] == ENGINE_VERSION
    assert sidecar["files"] == {
        name: hashlib.sha256((data / name).read_bytes()).hexdigest() for name in FILES[:2]
    }


def from_json(written):
    """The recipe behind `Recipe.as_json`."""
    params = written["params"].items()
    return recipe(
        written["name"], **{k: from_json(v) if isinstance(v, dict) else v for k, v in params}
    )


def test_the_sidecar_describes_the_experiment_so_that_it_can_be_rebuilt(data):
    asked = json.loads((data / "tiny.json").read_text())["experiment"]
    rebuilt = Experiment(
        name=asked["name"],
        what=TINY.what,
        worlds=tuple(from_json(w) for w in asked["worlds"]),
        policies=tuple(from_json(p) for p in asked["policies"]),
        horizons=tuple(asked["horizons"]),
        **{k: asked[k] for k in ("seeds", "first_seed", "checkpoints", "curve_seeds")},
    )
    assert rebuilt == TINY
    assert [r.key for r in rebuilt.runs()] == [r.key for r in TINY.runs()]


def test_the_sidecar_has_no_path_of_this_machine_and_no_time(data):
    def leaves(value):
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


# Two folders.


@pytest.fixture
def committed(data, tmp_path):
    """A copy of the folder with TINY's results."""
    return shutil.copytree(data, tmp_path / "committed")


def test_a_folder_does_not_differ_from_its_copy(data, committed):
    # Versions of what computed the results may differ; the results may not.
    (committed / "tiny.json").write_text("{}")
    assert differences(data, committed) == []


def test_missing_new_and_differing_files_are_named(data, committed):
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
def test_a_table_that_is_none_is_named_even_if_its_checksum_matches(data, content):
    (data / "tiny.runs.csv").write_bytes(content)
    seal_again(data)
    found = verify(data, seed=0, plays=1).differences
    assert len(found) == 1
    assert "tiny.runs.csv" in found[0]


def test_runs_computed_with_different_versions_are_not_mixed(tmp_path, monkeypatch):
    store = Store(tmp_path / "store")
    specs = TINY.runs()
    for spec in specs[1:]:
        store.save(spec, spec.run([spec])[0])
    monkeypatch.setattr("heavybandit.pipeline.store.made_with", lambda: {"numpy": "0.0"})
    store.save(specs[0], specs[0].run([specs[0]])[0])
    with pytest.raises(StoreError, match=r'different versions.*"numpy":"0.0"'):
        consolidate(TINY, store, tmp_path / "data")
    assert not list(tmp_path.glob("data/*.csv"))


# Ledgers of two folders.


def test_ledgers_that_agree_are_no_difference_and_ledgers_that_differ_are(data, committed):
    """One on one side only is no difference either."""
    for folder in (data, committed):
        claims.record(claim(verdict=claims.HOLDS), folder)
        assert differences(data, committed) == differences(committed, data) == []
    claims.record(claim(verdict=claims.OPEN), data)
    assert differences(data, committed) == ["claims.json differs"]
    assert differences(committed, data) == ["claims.json differs"]
    change_a_digit(committed, "tiny.runs.csv", 1, "regret")
    assert differences(data, committed) == ["claims.json differs", "tiny.runs.csv differs"]


@pytest.mark.parametrize("table", ["map.csv", "leaderboard.csv"])
def test_tables_that_differ_are_a_difference(data, committed, table):
    (data / table).write_text("a\n")
    assert differences(data, committed) == []
    (committed / table).write_text("b\n")
    assert differences(data, committed) == [f"{table} differs"]
