"""Audited runs: one line per stage instead of a curve."""

import dataclasses
import math

import pytest

import heavybandit as hb
from forging import change_lines, check_a_changed_digit, contents, seal_again, texts
from heavybandit.pipeline.recipes import make_world
from heavybandit.pipeline.spec import EXPERIMENTS, RunSpec
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.tables import check_files, consolidate
from heavybandit.pipeline.verify import verify
from tiny import AUDITED, TINY, filled, published

STAGE_COLUMNS = ["run", "stage", "visited", "explored", "sum_c", "best_lost", "far_arms"]


@pytest.fixture(scope="module")
def audited_store(tmp_path_factory):
    """A store with all runs of AUDITED."""
    return filled(tmp_path_factory.mktemp("audited"), AUDITED)


@pytest.fixture
def audited(audited_store, tmp_path, monkeypatch):
    """A folder with AUDITED's results, and AUDITED among the experiments."""
    return published(monkeypatch, audited_store, tmp_path / "data", AUDITED)


def test_an_audited_run_has_the_columns_of_others_and_stages_for_a_curve():
    one, other = AUDITED.runs()[0], TINY.runs()[0]
    assert one.columns == other.columns
    assert list(one.curve_columns) == STAGE_COLUMNS
    assert list(other.curve_columns) == ["run", "plays", "regret"]


def test_a_stage_has_a_line_if_it_was_visited_by_hand():
    seen = {
        "visited": [12_345_678_901, 7, 0, 0],
        "explored": [5, 0, 0, 0],
        "sum_c": [1 / 3, 0.0, 0.0, 0.0],
        "best_lost": [0, 2, 0, 0],
        "far_arms": [0, 14, 0, 0],
    }
    assert AUDITED.runs()[0].curve_rows(3, {"diagnostics": seen}) == [
        ["3", "1", "12345678901", "5", "0.333333333", "0", "0"],
        ["3", "2", "7", "0", "0", "2", "14"],
    ]


def test_the_stage_table_says_what_every_audited_run_counted(audited):
    rows, stages = texts(audited)
    assert [row["run"] for row in rows] == [str(i) for i in range(12)]
    wanted = []
    for i, spec in enumerate(AUDITED.runs()):
        assert isinstance(spec, RunSpec)
        world = make_world(spec.world, spec.horizon)
        run = hb.simulate(spec.make_policy(world), world, spec.seed, audit=True)
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


def test_audited_results_have_no_differences_and_come_out_the_same_again(audited, tmp_path):
    check = verify(audited, seed=0, plays=math.inf)
    assert (check.runs, check.plays, check.differences) == (12, 12 * 300, [])
    backwards = Store(tmp_path / "backwards")
    for spec in reversed(AUDITED.runs()):
        backwards.save(spec, spec.run([spec])[0])
    consolidate(AUDITED, backwards, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(audited)


@pytest.mark.parametrize("column", STAGE_COLUMNS[1:])
def test_a_changed_digit_of_a_stage_is_found_by_checksum_and_by_simulating_again(audited, column):
    words = ("run 0", "SupBTC", "seed 5", "curve")
    check_a_changed_digit(audited, "tiny.curves.csv", 2, column, runs=12, words=words)


@pytest.mark.parametrize(
    "forge",
    [
        lambda lines: lines[:-1],
        lambda lines: [*lines, lines[-1]],
        lambda lines: (
            ["run,plays,regret\n"] + [",".join(x.split(",")[:3]) + "\n" for x in lines[1:]]
        ),
    ],
    ids=["a stage missing", "a stage twice", "a table of curves"],
)
def test_simulating_all_again_finds_stages_that_were_added_left_out_or_renamed(audited, forge):
    change_lines(audited, "curves", forge)
    seal_again(audited)
    assert verify(audited, seed=0, plays=math.inf).differences != []


def test_results_without_an_audit_are_not_taken_for_audited_ones(audited, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "tiny", dataclasses.replace(AUDITED, audit=False))
    found = check_files("tiny", audited)
    assert len(found) == 1
    assert "another description of tiny" in found[0]
