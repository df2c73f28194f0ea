"""Audited runs: one line per stage instead of a curve."""

import pytest

import heavybandit as hb
from forging import texts
from heavybandit.pipeline.recipes import make_world
from heavybandit.pipeline.spec import RunSpec
from tiny import AUDITED, TINY

STAGE_COLUMNS = ["run", "stage", "visited", "explored", "sum_c", "best_lost", "far_arms"]


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


@pytest.mark.parametrize("data", [AUDITED], indirect=True)
def test_the_stage_table_says_what_every_audited_run_counted(data):
    rows, stages = texts(data)
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
