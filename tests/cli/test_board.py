"""`heavybandit board`: what it refuses, and an entry checked from its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heavybandit.cli import entering
from heavybandit.replication.protocol import HELD_OUT

LAZY = """
class Lazy:
    def __init__(self, horizon, n_arms, dim):
        self.plays, self.rounds = 1, horizon

    def select(self, contexts):
        return 0

    def update(self, payoffs):
        pass
"""


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
        ("board --check nothing.json", "nothing.json cannot be read"),
    ],
)
@pytest.mark.usefixtures("lazy")
def test_what_cannot_be_done_is_refused(refused, line, words):
    assert words in refused(line)


@pytest.mark.usefixtures("lazy")
def test_it_says_beforehand_how_long_it_will_take(typed, monkeypatch):
    """One cell of 1,000 plays, one seed, no knobs; 0.12 s for a play are a minute for each of two
    workers."""
    from heavybandit.cli import board

    monkeypatch.setattr(board, "_show", lambda *_: None)
    monkeypatch.setattr(entering, "seconds_per_play", lambda _: 0.12)
    out = typed("board lazy.py:Lazy --workers 2 --store store", silent=False)
    assert out.startswith("1,000 plays are to be made, at 120,000 µs per play about 1.0 minutes")


@pytest.mark.usefixtures("lazy")
def test_a_policy_is_entered_and_its_entry_checked(typed, monkeypatch):
    from heavybandit.cli import board

    monkeypatch.setattr(board, "_show", lambda *_: None)  # it needs the recorded board's cells
    out = typed("board lazy.py:Lazy --workers 1 --quiet --store store")
    assert "heavybandit board --check Lazy.board.json" in out
    assert "1 of 1 runs of Lazy simulated again" in typed("board --check Lazy.board.json --seed 1")
    entry = json.loads(Path("Lazy.board.json").read_text(encoding="utf-8"))
    assert entry["source"] == LAZY
    entry["runs"] = [[1000, "0.5"]]
    Path("Lazy.board.json").write_text(json.dumps(entry), encoding="utf-8")
    assert "1 difference" in typed("board --check Lazy.board.json", code=1)
