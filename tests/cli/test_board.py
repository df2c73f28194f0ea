"""`heavybandit board`: what it refuses, and an entry checked from its file."""

from __future__ import annotations

import argparse
import errno
import json
import os
from pathlib import Path

import pytest

from heavybandit.cli import board as show_board
from heavybandit.cli import entering, main
from heavybandit.pipeline.spec import made_with
from heavybandit.replication import leaderboard as board
from heavybandit.replication.protocol import HELD_OUT

DATA = Path(__file__).parents[2] / "data"
LAZY = """
class Lazy:
    def __init__(self, horizon, n_arms, dim):
        self.plays, self.rounds = 1, horizon

    def select(self, contexts):
        return 0

    def update(self, payoffs):
        pass
"""


ENTRY = {
    "policy": "Lazy",
    "source": LAZY,
    "knobs": [],
    "scores": [],
    "entries": [{}],
    "runs": [[1000, "1.0"]],
    "same": ["1"],
}


@pytest.fixture
def lazy(tmp_path, monkeypatch):
    """A folder with a policy, and a benchmark of one short cell and one seed."""
    (tmp_path / "lazy.py").write_text(LAZY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(entering, "HELD_OUT", HELD_OUT[-1:])
    monkeypatch.setattr(entering, "BOARD_SEEDS", 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("board", "name a policy"),
        ("board lazy.py:Lazy --check x.json", "name a policy"),
        ("board Lazy", "path/to/file.py:ClassName, got 'Lazy'"),
        ("board lazy.py:Lazy --plot lazy.txt", "txt"),
        ("board lazy.py:Lazy --out gone/new.json", "--out must be in a folder that exists"),
        ("board lazy.py:Lazy --out .", "--out must be a file"),
        ("board lazy.py:Lazy --plot gone/new.png", "'gone'"),
        ("board --check nothing.json", "nothing.json cannot be read"),
        ("board --check nothing.json --plot nothing.txt", "txt"),
        ("board --check nothing.json --seed -1", "--seed must be at least 0, got -1"),
    ],
)
@pytest.mark.usefixtures("lazy")
def test_what_cannot_be_done_is_refused(refused, line, words):
    assert words in refused(line)


@pytest.mark.usefixtures("lazy")
def test_it_says_beforehand_how_long_it_will_take(typed, monkeypatch):
    """One cell of 1,000 plays, no knobs, one seed that is also played beside a copy; 0.12 s per
    play are three minutes for each of two workers."""
    monkeypatch.setattr(show_board, "_show", lambda *_: None)
    monkeypatch.setattr(entering, "seconds_per_play", lambda _: 0.12)
    out = typed(f"board lazy.py:Lazy --workers 2 --store store --data {DATA}", silent=False)
    assert out.startswith("3,000 plays are to be made, at 120,000 µs per play about 3.0 minutes")


@pytest.mark.usefixtures("lazy")
def test_a_policy_is_entered_and_its_entry_checked(typed, monkeypatch, capsys):
    monkeypatch.setattr(show_board, "_show", lambda *_: None)  # it needs the recorded board's cells
    out = typed(f"board lazy.py:Lazy --workers 1 --quiet --store store --data {DATA}")
    assert "heavybandit board --check Lazy.board.json" in out
    again = typed(f"board lazy.py:Lazy --workers 1 --store store --data {DATA}", silent=False)
    assert "Lazy, judged on 1 cells: 1 of 1 runs are in the store" in again
    checked = typed(f"board --check Lazy.board.json --seed 1 --data {DATA}", silent=False)
    assert "1 of 1 runs of Lazy, from 1 of 14 cells and 1 of 1 shares of equal arms" in checked
    assert "a sample drawn with --seed 1; --all runs everything again" in checked
    assert "a sample" not in typed(
        f"board --check Lazy.board.json --all --data {DATA}", silent=False
    )
    entry = json.loads(Path("Lazy.board.json").read_text(encoding="utf-8"))
    assert entry["source"] == LAZY
    assert main(["board", "--check", "Lazy.board.json", "--data", str(DATA)]) == 0
    said = capsys.readouterr().err
    assert said == "heavybandit: executing Lazy, 10 lines of Python in Lazy.board.json\n"
    entry["made_with"]["numpy"] = "1.0"
    Path("Lazy.board.json").write_text(json.dumps(entry), encoding="utf-8")
    assert "made with numpy 1.0, run again with" in typed(
        f"board --check Lazy.board.json --data {DATA}", silent=False
    )
    entry["runs"] = [[1000, "0.5"]]
    Path("Lazy.board.json").write_text(json.dumps(entry), encoding="utf-8")
    assert "1 difference" in typed(
        f"board --check Lazy.board.json --data {DATA}", code=1, silent=False
    )


@pytest.mark.usefixtures("lazy")
def test_an_entry_that_cannot_be_written_is_named(capsys, monkeypatch):
    write = Path.write_text

    def full(path, *given, **named):
        if path.name == "Lazy.board.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *given, **named)

    monkeypatch.setattr(Path, "write_text", full)
    line = f"board lazy.py:Lazy --workers 1 --quiet --store store --data {DATA}"
    assert main(line.split()) == 2
    said = capsys.readouterr().err
    assert said == "heavybandit: Lazy.board.json cannot be written: No space left on device\n"


def changed(tmp_path, how):
    """The policy with another body of `update`."""
    (tmp_path / "lazy.py").write_text(LAZY.replace("        pass", f"        {how}"))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("how", ["raise SystemExit(0)", "raise KeyError('late')"])
@pytest.mark.usefixtures("lazy")
def test_a_policy_that_fails_in_the_benchmark_is_told_with_its_line(
    refused, tmp_path, how, workers, monkeypatch
):
    """After the hundred rounds of its check, and after those that tell how long a play takes."""
    monkeypatch.setattr(entering, "seconds_per_play", lambda _: 1e-6)
    monkeypatch.setattr(entering, "BOARD_SEEDS", 2)
    late = f"self.k = getattr(self, 'k', 0) + 1\n        if self.k > 500:\n            {how}"
    changed(tmp_path, late)
    said = refused(f"board lazy.py:Lazy --workers {workers} --quiet --store s --data {DATA}")
    assert "Lazy failed: " in said
    assert "(lazy.py, line 12, in update)" in said


@pytest.mark.usefixtures("lazy")
def test_a_policy_that_ends_the_program_is_no_policy(refused, tmp_path):
    changed(tmp_path, "raise SystemExit(0)")
    assert "could not be played: SystemExit: 0 (lazy.py" in refused("board lazy.py:Lazy")


@pytest.mark.usefixtures("lazy")
def test_an_entry_that_ends_the_program_is_not_taken_for_a_good_one(typed, monkeypatch, capsys):
    monkeypatch.setattr(show_board, "_show", lambda *_: None)
    typed(f"board lazy.py:Lazy --workers 1 --quiet --store store --data {DATA}")
    entry = json.loads(Path("Lazy.board.json").read_text(encoding="utf-8"))
    entry["source"] = LAZY.replace("        pass", "        raise SystemExit(0)")
    Path("Lazy.board.json").write_text(json.dumps(entry), encoding="utf-8")
    assert main(["board", "--check", "Lazy.board.json", "--data", str(DATA)]) == 2
    executing, said = capsys.readouterr().err.splitlines()
    assert executing.startswith("heavybandit: executing Lazy")
    assert said.startswith("heavybandit: Lazy failed: SystemExit: 0")


@pytest.mark.parametrize("workers", [0, -1, 100_000])
@pytest.mark.usefixtures("lazy")
def test_a_number_of_workers_that_makes_no_sense_is_refused_before_the_work(refused, workers):
    said = refused(f"board lazy.py:Lazy --workers {workers}")
    assert "--workers must be from 1 to" in said
    assert f"got {workers}" in said


@pytest.mark.usefixtures("lazy")
def test_missing_recorded_entries_are_noticed_before_the_work(refused):
    entry = {**ENTRY, "protocol": entering.protocol_digest(), "made_with": made_with()}
    Path("whole.json").write_text(json.dumps(entry), encoding="utf-8")
    for line in ("board lazy.py:Lazy --workers 1", "board --check whole.json"):
        assert "nowhere" in refused(f"{line} --data nowhere", code=3)


@pytest.mark.parametrize(("same", "frozen"), [("1", "14"), ("0.5", "0"), ("", "?")])
def test_an_entry_is_shown_among_the_recorded_ones(capsys, tmp_path, same, frozen):
    """One that has the plays and regrets of tuned ridge regression, and an arrow."""
    place = board.BOARD.index(board.RIDGE)
    regrets = board.regrets(board.JUDGED, DATA)[:, :, place].ravel().tolist()
    entry = {**ENTRY, "runs": [[1, regret] for regret in regrets], "same": [same] * len(HELD_OUT)}
    options = argparse.Namespace(data=DATA, plot=tmp_path / "all.png")
    show_board._show(entry, options)
    out = capsys.readouterr().out
    (mine,) = [line.split() for line in out.splitlines() if line.startswith("→")]
    (ridge,) = [
        line.split() for line in out.split("no tuning")[0].splitlines() if "GreedyRidge" in line
    ]
    assert mine[1:3] == ["Lazy", "(own)"]
    assert mine[3] == ridge[1]  # the mean cost
    assert mine[-1] == frozen
    assert ("fails if all payoffs are 0" in out) == (not same)
    assert len(out.splitlines()) > len(board.BOARD)
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("lazy")
@pytest.mark.parametrize(
    ("part", "value"),
    [
        *((part, ...) for part in ("protocol", "policy", "source", "entries", "runs", "made_with")),
        ("made_with", {}),
        ("made_with", "this engine"),
        ("made_with", {"engine": 1}),
        ("policy", 3),
        ("entries", [3]),
        ("entries", {}),
        ("runs", [None]),
        ("runs", [[1000]]),
        ("runs", [[float("nan"), "1.0"]]),
        ("runs", [[1000, 1.0]]),
        ("runs", [[1000, "nan"]]),
        ("runs", [[1000, "-1"]]),
        ("runs", [[1000, "2001"]]),
        ("runs", [[1001, "1"]]),
        ("runs", [[10**400, "1"]]),
        ("runs", [[0, "1"]]),
        ("same", ...),
        ("same", ["2"]),
        ("same", ["1", "1"]),
        ("same", [1.0]),
    ],
)
def test_an_entry_with_a_part_that_is_missing_or_of_another_kind_is_refused(refused, part, value):
    """`...` stands for a part that is not there."""
    entry = {**ENTRY, "protocol": entering.protocol_digest(), "made_with": made_with()}
    Path("whole.json").write_text(json.dumps(entry), encoding="utf-8")
    assert entering.read_entry("whole.json") == entry
    entry[part] = value
    forged = {name: one for name, one in entry.items() if one is not ...}
    Path("forged.json").write_text(json.dumps(forged), encoding="utf-8")
    assert "is not an entry that heavybandit board has written" in refused(
        "board --check forged.json"
    )


@pytest.mark.usefixtures("lazy")
def test_an_entry_that_conceals_a_knob_of_its_policy_is_refused(capsys):
    """It would stand among those that were not tuned, with a default chosen on the board."""
    entry = {**ENTRY, "protocol": entering.protocol_digest(), "made_with": made_with()}
    entry["source"] = LAZY.replace("dim)", "dim, ridge=7.0, level_scale=1.0)")
    Path("forged.json").write_text(json.dumps(entry), encoding="utf-8")
    assert main(["board", "--check", "forged.json", "--data", str(DATA)]) == 2
    said = capsys.readouterr().err
    assert "states the knobs [], and its policy has ['ridge', 'level_scale']" in said


@pytest.mark.usefixtures("lazy")
def test_what_is_no_file_or_nested_beyond_measure_is_no_entry_and_not_waited_for(refused):
    Path("deep.json").write_text("[" * 100_000, encoding="utf-8")
    assert "is not an entry" in refused("board --check deep.json")
    os.mkfifo("pipe.json")
    assert "pipe.json cannot be read: it is no regular file" in refused(
        "board --quiet --check pipe.json"
    )


@pytest.mark.usefixtures("lazy")
def test_everything_is_checked_if_all_is_asked_for_and_else_a_sample(typed, monkeypatch):
    entry = {**ENTRY, "protocol": entering.protocol_digest(), "made_with": made_with()}
    Path("whole.json").write_text(json.dumps(entry), encoding="utf-8")
    asked: list[float] = []

    def check(_entry, _data, _seed, plays):
        asked.append(plays)
        return entering.Checked(1, 1, 1, 0, ["a made-up difference"])

    monkeypatch.setattr(entering, "check", check)
    for more in ("", " --all", " --plays 7"):
        typed(f"board --check whole.json --data {DATA}{more}", code=1, silent=False)
    assert asked == [3e5, float("inf"), 7]
