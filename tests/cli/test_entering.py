"""A policy of the reader's in the benchmark: tuned by the protocol, written down, run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heavybandit.cli import entering
from heavybandit.pipeline.spec import Plan
from heavybandit.replication import leaderboard as board
from heavybandit.replication.protocol import BOARD_SEEDS, HELD_OUT, TRAINING

DATA = Path(__file__).parents[2] / "data"
MINE = '''
import numpy as np

class Mine:
    """Plays the arm along a fixed direction, which `ridge` turns; at random if it is asked to."""

    def __init__(self, horizon, n_arms, dim, ridge=1.0, v=None, seed=0):
        self.plays, self.rounds, self.ridge, self.v = 1, horizon, ridge, v
        self.rng = np.random.default_rng(seed)

    def select(self, contexts):
        return int(np.argmax(contexts[:, 0] + self.ridge * contexts[:, -1]))

    def update(self, payoffs):
        pass
'''


@pytest.fixture
def own(tmp_path: Path) -> entering.Own:
    file = tmp_path / "mine.py"
    file.write_text(MINE, encoding="utf-8")
    return entering.Own(str(file), "Mine")


def played(plan: Plan) -> list[dict[str, Any]]:
    """All runs of a plan, one by one."""
    return [spec.run([spec])[0] for spec in plan.runs()]


def test_tuning_finds_the_optimum_of_a_knob_with_the_protocols_budget(own: entering.Own) -> None:
    """A made-up regret that is least at ridge = 150."""
    tried: list[float] = []

    def made_up(plan: Plan) -> list[dict[str, Any]]:
        ridges = [dict(spec.policy.params)["ridge"] for spec in plan.runs()]  # type: ignore[attr-defined]
        tried.extend(ridges[: len(ridges) // (2 * len(TRAINING))])
        return [{"regret": 1 + abs(np.log10(x / 150)), "plays": [10]} for x in ridges]

    chosen, scores = entering.tune(own, made_up, DATA)
    assert own.knobs == ("ridge",)
    assert len(scores) == len(tried) == 128
    assert chosen["ridge"] == pytest.approx(150, rel=0.1)


def test_plays_ahead_are_those_of_tuning_and_of_two_entries(own: entering.Own) -> None:
    """128 configurations on two seeds of 35,000 plays; then defaults and choice on the board.

    There the first seed is played twice more, beside copies.
    """
    judged = (BOARD_SEEDS + 2) * sum(cell.horizon for cell in HELD_OUT)
    assert entering.plays_ahead(own) == 128 * 2 * 35_000 + 2 * judged
    assert 0 < entering.seconds_per_play(own, plays=50) < 1


def test_own_policies_are_told_what_they_have_arguments_for(own: entering.Own) -> None:
    plan = own.trials("told", TRAINING[:1], [{"ridge": 2.0}], seeds=1)
    (spec,) = plan.runs()
    assert dict(spec.policy.params) == {"ridge": 2.0, "v": 4.0}  # type: ignore[attr-defined]
    changed = Path(own.file)
    changed.write_text(MINE + "# another text\n", encoding="utf-8")
    (other,) = own.trials("told", TRAINING[:1], [{"ridge": 2.0}], seeds=1).runs()
    assert other.key != spec.key
    with pytest.raises(ValueError, match="was changed while its runs were under way"):
        spec.run([spec])


def test_an_entry_can_be_run_again_and_a_changed_one_is_found_out(
    own: entering.Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entering, "HELD_OUT", HELD_OUT[-1:])
    monkeypatch.setattr(entering, "BOARD_SEEDS", 2)
    monkeypatch.setattr(entering, "TRAINING", TRAINING[:1])
    monkeypatch.setattr(entering, "scores_of", lambda _own, tried, *_: [x["ridge"] for x in tried])
    entry = entering.enter(own, played, DATA)
    assert entry["entries"] == [{}, {"ridge": min(entry["scores"])}]
    assert len(entry["runs"]) == 4
    assert entry["same"] == ["1", "1"]  # it never looks at a payoff
    file = tmp_path / "mine.board.json"
    file.write_text(json.dumps(entry), encoding="utf-8")
    assert entering.read_entry(file) == entry
    assert entering.check(entry, DATA, 0, np.inf) == entering.Checked(4, 1, 2, 128, [])
    sample = entering.check(entry, DATA, 0, 1_500)
    assert (sample.runs, sample.shares, sample.scores) == (1, 1, 2)
    wrong_runs = entering.check({**entry, "runs": [[1000, "1"]] * 4}, DATA, 0, 1e9)
    assert (wrong_runs.runs, len(wrong_runs.differences)) == (4, 4)
    best = int(np.argmin(entry["scores"]))
    lower = [x - (i == best) for i, x in enumerate(entry["scores"])]  # of the one chosen alone
    for part, value, words in (
        ("entries", [{}, {"ridge": 3.0}], "by its scores it is"),  # never tuned
        ("scores", lower, "a score of"),
        ("same", ["0.5", "0.5"], "0.5 is stated, 1 comes out"),  # looks as if it learnt
        ("same", ["", ""], "nothing is stated, 1 comes out"),  # conceals it
    ):
        found = entering.check({**entry, part: value}, DATA, 0, 1_500)
        assert words in " ".join(found.differences)
    for wrong, words in (
        ({**entry, "protocol": "0"}, "another protocol"),
        ({**entry, "runs": entry["runs"][1:]}, "not whole"),
        ({**entry, "scores": entry["scores"][1:]}, "not whole"),
        ({**entry, "entries": [{"ridge": 264.0}, entry["entries"][1]]}, "not whole"),
        ({}, "not an entry"),
    ):
        file.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(ValueError, match=words):
            entering.read_entry(file)


def test_an_entry_stands_beside_the_recorded_ones_on_their_scale() -> None:
    """With the plays and regrets of the recorded tuned ridge it has its costs."""
    place = board.BOARD.index(board.RIDGE)
    recorded = board.regrets(board.JUDGED, DATA)[:, :, place]
    runs = [[1, regret] for regret in recorded.ravel().tolist()]
    entry = {"entries": [{}], "runs": runs, "policy": "Mine"}
    costs = entering.costs(entry, DATA)
    assert costs.shape == (len(HELD_OUT), BOARD_SEEDS, 1)
    found = board.with_others(costs, entry, DATA)
    assert len(found.entries) == len(board.BOARD) + 1
    np.testing.assert_allclose(found[found.entries[-1]], found[board.RIDGE])
    assert found.entries[-1].label == "Mine (own), defaults"
    assert found.over_ridge(found.entries[-1]) == pytest.approx((0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("self.rng =", "self.cannot_be_copied = (x for x in ()); self.rng ="),
        ("pass", "1 / payoffs[0]"),
    ],
)
def test_a_policy_that_cannot_play_with_payoffs_of_0_is_entered_without_a_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, instead: str
) -> None:
    monkeypatch.setattr(entering, "HELD_OUT", HELD_OUT[-1:])
    monkeypatch.setattr(entering, "BOARD_SEEDS", 1)
    monkeypatch.setattr(entering, "tune", lambda *_: ({"ridge": 2.0}, [0.0] * 128))
    file = tmp_path / "mine.py"
    file.write_text(MINE.replace(there, instead), encoding="utf-8")
    entry = entering.enter(entering.Own(str(file), "Mine"), played, DATA)
    assert entry["same"] == ["", ""]
    assert np.isnan(entering.same_arms(entry)).all()
    (tmp_path / "mine.json").write_text(json.dumps(entry), encoding="utf-8")
    assert entering.read_entry(tmp_path / "mine.json") == entry


def test_a_sample_reaches_every_cell_before_it_meets_one_twice(own: entering.Own) -> None:
    specs = own.judged([{}, {"ridge": 3.0}]).runs()
    cells = [spec.cell for spec in specs]  # type: ignore[attr-defined]
    once = sum(cell.horizon for cell in HELD_OUT)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        drawn = entering.sample(specs, rng, once)
        assert sorted(cells[i] for i in drawn) == sorted(cell.name for cell in HELD_OUT)
        more = entering.sample(specs, rng, 2 * once)
        assert len(more) == len(set(more)) > len(HELD_OUT)
    assert len(entering.sample(specs, np.random.default_rng(0), 1)) == 1
    assert sorted(entering.sample(specs, np.random.default_rng(0), 1e12)) == [*range(len(specs))]
