"""The leaderboard: how everyone is tuned, compared and ranked."""

import csv
import dataclasses
import io
import math
from pathlib import Path

import numpy as np
import pytest

from heavybandit.pipeline.recipes import WORLDS, make_world, policies, with_bound
from heavybandit.replication import catalogue  # noqa: F401  (it enters the experiments)
from heavybandit.replication import leaderboard as board
from heavybandit.replication.leaderboard import LAWS, PLAIN, RARE, TUNED, UNIFORM, Entry, Standings

DATA = Path(__file__).parents[2] / "data"
A, B, C = Entry("CRT", "tuned"), Entry("TOFU", "tuned"), Entry("HvtUCB", "tuned")


def place(**costs):
    """A world in which CRT, TOFU and plain ridge have these costs."""
    who = {"crt": A, "tofu": B, "ridge": PLAIN}
    return Standings("aligned", LAWS[0], {who[k]: np.array(v) for k, v in costs.items()}, {})


def test_tuned_values_are_those_of_least_cost_in_the_tuning_experiments():
    assert board.tuned_values(DATA) == TUNED
    assert list(TUNED) == list(board.GRIDS)


def test_tuning_takes_the_geometric_mean_over_worlds(tmp_path, monkeypatch):
    """One value costs 1 % and 100 % of uniform play, the other 20 % and 20 %: the arithmetic mean
    would take the second, the geometric one, 10 % against 20 %, takes the first."""

    @dataclasses.dataclass
    class Cost:
        world: str
        per_play: float

    monkeypatch.setattr(board, "GRIDS", {"CRT": {"width_scale": (1.0, 0.1)}})
    monkeypatch.setattr(board, "TUNING", board.TUNING[:1])
    costs = [("one", 0.01), ("one", 0.2), ("one", 1.0), ("two", 1.0), ("two", 0.2), ("two", 1.0)]
    monkeypatch.setattr(board.regrets, "runs", lambda *_: [Cost(*cost) for cost in costs])
    assert board.tuned_values(tmp_path) == {"CRT": {"width_scale": 1.0}}


def test_tuning_and_board_share_no_seed_and_tuning_never_sees_the_tenth_world():
    tried = {spec.seed for one in board.TUNING for spec in one.runs()}
    reported = {spec.seed for one in (*board.BOARDS, *board.PUBLISHED) for spec in one.runs()}
    assert tried == {800, 801, 802}
    assert not tried & reported
    seen = {world for one in board.TUNING for world in one.worlds}
    assert len(seen) == 9
    assert board.RARE_WORLD not in seen
    assert {world for one in board.BOARDS for world in one.worlds} == seen | {board.RARE_WORLD}


@pytest.mark.parametrize("law", [*LAWS, RARE], ids=lambda law: law.name)
def test_everyone_can_be_built_in_every_world(law):
    for recipe in board.world_recipes(law):
        world = make_world(recipe, 10_000) if law is RARE else recipe.build(WORLDS)
        for entry in (*board.BOARD, *board.AS_PUBLISHED):
            policy = with_bound(entry.recipe(law), world).build(
                policies(), horizon=10_000, n_arms=world.n_arms, dim=world.dim
            )
            assert getattr(policy, "clips", True) == entry.clips
            for knob, value in board.knobs(entry).items():
                assert getattr(policy, knob) == value


def test_gaps_are_paired_over_seeds():
    """Differences 1 and 3: mean 2, standard error 1, Student's 99 % point with one degree of
    freedom 31.82."""
    world = place(crt=[11.0, 53.0], tofu=[10.0, 50.0])
    assert world.gap(A, B) == pytest.approx((2.0, 31.8205), rel=1e-5)
    assert world.cost(A) == 32.0


def test_ranks_have_the_places_that_they_may_be():
    """CRT and TOFU cannot be told apart, ridge is surely behind both."""
    spread = [0.0, 1.0, 2.0, 3.0]
    world = place(
        crt=[10 + x for x in spread],
        tofu=[10.1 + x for x in (1.0, 0.0, 3.0, 2.0)],
        ridge=[90 + x for x in spread],
    )
    assert world.rank(A) == (1, 1, 2)
    assert world.rank(B) == (2, 1, 2)
    assert world.rank(PLAIN) == (3, 3, 3)


def test_the_order_goes_by_the_mean_over_worlds():
    worlds = [place(crt=[10, 10], tofu=[20, 20]), place(crt=[50, 50], tofu=[20, 20])]
    assert board.order(worlds) == [B, A]
    mean, off = board.overall(worlds, A, B)
    assert (mean, off) == (10.0, 0.0)


def test_later_algorithms_are_compared_with_themselves_and_others_with_ridge():
    assert board.control(C) == Entry("HvtUCB", "tuned", clips=False)
    assert board.control(dataclasses.replace(C, clips=False)) == PLAIN
    assert board.control(A) == PLAIN


@pytest.mark.parametrize("kind", ["board", "published"])
def test_committed_worlds_have_everyone_on_one_scale(kind):
    worlds = board.standings(kind, DATA)
    entries = board.BOARD if kind == "board" else board.AS_PUBLISHED
    assert len(worlds) == 10
    for world in worlds:
        assert tuple(world.costs) == entries
        assert world.cost(UNIFORM) == pytest.approx(100)
        assert all(0 <= share <= 100 for share in world.clipped.values())
        for entry, share in world.clipped.items():
            assert entry.clips or share == 0


def test_the_committed_table_is_what_data_gives(tmp_path):
    path = board.write_table(board.standings("board", DATA), tmp_path)
    assert path.read_bytes() == (DATA / "leaderboard.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert len(rows) == 10 * len(board.BOARD)
    for row in rows:
        assert int(row["first"]) <= int(row["rank"]) <= int(row["last"])
        assert math.isfinite(float(row["over_ridge"]))


def test_everyone_is_in_one_group_and_has_a_name_of_its_own():
    shown = [entry for group in board.GROUPS.values() for entry in group]
    assert sorted(map(board.title, shown)) == sorted(map(board.title, board.BOARD))
    assert len(set(map(board.title, shown))) == len(shown) == len(board.BOARD)


def test_ranges_run_over_the_noises_of_an_instance():
    worlds = [place(crt=[10, 12], tofu=[1, 1]), place(crt=[30, 32], tofu=[1, 1])]
    table = board.ranges(worlds, {"CRT": A, "TOFU": B})
    assert table.loc["CRT", "aligned"] == "11.0 to 31.0"
    assert table.loc["TOFU", "aligned"] == "1.0"
