"""What the explorer reads is what data/ holds, and a cell names the runs behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import explore

HEAD = "run,world,world_settings,policy,settings,horizon,seed,plays,regret\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two policies with two seeds each, of which one has curves, and a board about them."""
    rows = ["0,w,n,Uniform,,10,5,10,4.0", "1,w,n,LinUCB,v=1,10,5,9,1.8"]
    rows += ["2,w,n,Uniform,,10,6,10,6.0", "3,w,n,LinUCB,v=1,10,6,9,2.7"]
    (tmp_path / "a.runs.csv").write_text(HEAD + "\n".join(rows) + "\n")
    (tmp_path / "a.curves.csv").write_text("run,plays,regret\n0,5,2\n0,10,4\n2,5,4\n2,10,6\n")
    (tmp_path / "b.runs.csv").write_text("run,estimator\n0,bmm\n")
    (tmp_path / "leaderboard.csv").write_text(
        'instance,noise,policy,cost\nw,n,"LinUCB, tuned",50.0000\nw,n,Uniform,100.0000\n'
        "w,n,LinUCB,51.0000\n"
    )
    return tmp_path


def test_runs_that_differ_in_their_seed_are_a_group_with_the_tables_own_regrets(data: Path) -> None:
    (found,) = explore.tables(data).values()
    assert [(one["policy"], one["seeds"], one["regrets"]) for one in found] == [
        ("Uniform", [5, 6], [4.0, 6.0]),
        ("LinUCB", [5, 6], [1.8, 2.7]),
    ]
    line = {"plays": [5, 10], "mean": [3.0, 5.0], "low": [2.2, 4.2], "high": [3.8, 5.8]}
    assert found[0]["curve"] == line
    assert "curve" not in found[1]


def test_a_cost_of_the_board_names_the_group_that_gives_it_and_no_other(data: Path) -> None:
    made = explore.board(explore.tables(data), data)
    assert [row[3] for row in made["rows"]] == [
        ["50.0000", "a", 1],  # (1.8 + 2.7)/2/9 of (4 + 6)/2/10
        ["100.0000", "a", 0],
        ["51.0000"],
    ]


def test_powers_of_ten_are_written_as_a_reader_writes_them() -> None:
    assert explore.in_words("1e+05 plays, 1e6 more, ε = 1") == "10⁵ plays, 10⁶ more, ε = 1"


def test_a_script_hands_over_json(tmp_path: Path) -> None:
    explore.script(tmp_path / "a.js", "table", "a", [{"x": 0.1}])
    text = (tmp_path / "a.js").read_text()
    head, _, content = text.rstrip(";\n").partition(" = ")
    assert head == "(window.heavybanditData ??= {}).table_a"
    assert json.loads(content) == [{"x": 0.1}]
