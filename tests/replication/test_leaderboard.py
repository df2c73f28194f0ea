"""The benchmark: the protocol is what it says, choices follow from data, limits hold together."""

from __future__ import annotations

import inspect
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

import heavybandit as hb
from heavybandit.pipeline.recipes import make_world, policies, recipe
from heavybandit.replication import (
    board_tables,
    catalogue,  # noqa: F401  (it enters the experiments)
    protocol,
)
from heavybandit.replication import leaderboard as board
from heavybandit.replication.leaderboard import BOARD, RIDGE, Entry, Standings
from heavybandit.replication.protocol import BOXES, CENTRES, HELD_OUT, KNOBS, SIZES, TRAINING

DATA = Path(__file__).parents[2] / "data"
A, B = Entry("CRT", "tuned"), Entry("TOFU", "tuned")


def test_every_policy_is_tuned_in_all_the_knobs_that_it_has() -> None:
    for name, knobs in KNOBS.items():
        policy, fixed = protocol.VARIANTS.get(name, (name, {}))
        known = inspect.signature(getattr(hb, policy)).parameters
        idle = {"threshold_scale"} if fixed == {"clips": False} else set()
        assert set(knobs) == set(protocol.RANGES) & set(known) - idle


def test_every_policy_gets_the_same_number_of_different_configurations() -> None:
    for name in KNOBS:
        tried = board.configurations(name)
        assert len(tried) == sum(SIZES) == 128
        # Rounding may meet; and where one knob is all, boxes that overlap have points in common.
        common = 4 if len(KNOBS[name]) > 1 else 12
        assert len({tuple(one.items()) for one in tried}) >= len(tried) - common
        for knob in KNOBS[name]:
            low, high = protocol.range_of(name, knob)
            first = [one[knob] for one in tried[: SIZES[0]]]
            assert low <= min(first) < low * 10
            assert high / 10 < max(first) <= high


def test_the_steps_that_follow_lie_in_boxes_around_the_best() -> None:
    for name, chosen in board.CHOSEN.items():
        tried = board.configurations(name)
        for step, (decades, count) in enumerate(zip(BOXES, CENTRES, strict=True)):
            begin, each = sum(SIZES[: 1 + step]), SIZES[1 + step] // count
            assert len(chosen[step]) == count
            for place, centre in enumerate(chosen[step]):
                for one in tried[begin + place * each : begin + (place + 1) * each]:
                    for knob, value in tried[centre].items():
                        assert abs(math.log10(one[knob] / value)) <= decades + 0.01


def test_centres_are_the_best_that_lie_in_no_box_of_a_better_one() -> None:
    tried = [{"ridge": r, "width_scale": 1.0} for r in (1.0, 5.0, 20.0, 300.0, 1e5, 2e5)]
    tried.append({"ridge": 5.0, "width_scale": 100.0})
    scores = [3.0, 2.0, 4.0, 5.0, 6.0, 6.0, 2.0]
    assert protocol.best_apart(tried, scores, 0) == (1, 6, 3, 4)
    assert protocol.best_apart(tried, scores, 1) == (1, 6)
    assert protocol.best_apart(tried, scores, 2) == (1,)
    assert protocol.best_apart(tried, scores, 3) == (1,)
    assert protocol.best_apart([{"ridge": 1.0}, {"ridge": 10.0}], [1.0, 2.0], 0) == (0,)  # its edge
    alike = [{"ridge": 10.0 ** (-2 * i)} for i in range(64)]
    assert protocol.best_apart(alike, [2.0, 1.0] * 32, 0) == (1, 3, 5, 7)


def test_the_choices_are_those_of_lowest_score_in_the_data() -> None:
    for step in range(len(STEPS := board.STEPS)):
        assert board.best(DATA, step + 1) == {name: c[step] for name, c in board.CHOSEN.items()}
    assert len(STEPS) == 1 + len(BOXES)


def test_tuning_never_sees_a_held_out_cell_nor_a_seed_of_the_board() -> None:
    kept = {(cell.world, cell.horizon, cell.eps) for cell in HELD_OUT}
    assert not {(cell.world, cell.horizon, cell.eps) for cell in TRAINING} & kept
    tuning = {spec.seed for plan in (*board.STEPS, board.MOVES) for spec in plan.runs()}
    judged = {spec.seed for plan in (board.JUDGED, board.FLAGS) for spec in plan.runs()}
    assert not tuning & judged
    for cells in (TRAINING, HELD_OUT):
        assert len({cell.name for cell in cells}) == len(cells)


def test_plans_know_how_many_entries_they_make() -> None:
    for plan in board.EXPERIMENTS:
        assert plan.count == len(plan.entries)
    for judged in (board.MOVES, board.JUDGED, board.FLAGS):
        assert len(judged.entries) == len(set(judged.entries))


@pytest.mark.parametrize("cell", [*TRAINING, *HELD_OUT], ids=lambda cell: cell.name)
def test_everyone_can_be_built_in_every_cell_with_what_it_is_told(cell: protocol.Cell) -> None:
    world = make_world(cell.world, cell.horizon)
    for entry in BOARD:
        told = cell.policy(entry.recipe)
        shape = {"horizon": cell.horizon, "n_arms": world.n_arms, "dim": world.dim}
        policy = told.build(policies(), **shape)
        for knob, value in entry.recipe.params:
            assert getattr(policy, knob) == value
        if hasattr(policy, "v"):
            assert 0 < policy.v < math.inf
            assert policy.eps == cell.eps


def test_misstated_moments_are_wrong_by_their_factor() -> None:
    right = protocol.Cell("right", recipe("symmetric", noise=protocol.HALF), 1_000, eps=0.5)
    wrong = protocol.Cell("wrong", right.world, 1_000, eps=1.0, true_eps=0.5, v_factor=0.1)
    one, other = (dict(cell.policy(recipe("CRT")).params) for cell in (right, wrong))
    assert other["v"] == pytest.approx(0.1 * one["v"])
    assert (one["eps"], other["eps"]) == (0.5, 1.0)


def test_a_policy_that_never_looks_at_payoffs_chooses_as_if_they_were_0() -> None:
    cell = HELD_OUT[0]
    names = ("Uniform", "GreedyRidge")
    group = [
        protocol.Shown(cell.world, recipe(name), 300, 1, 1, False, cell.name, i)
        for i, name in enumerate(names)
    ]
    uniform, ridge = (one["diagnostics"]["same"] for one in protocol.Shown.run(group))
    assert uniform == 1.0
    assert ridge < 0.5


def board_of(*costs: list[list[float]]) -> Standings:
    """Costs by entry, cell and seed, for CRT, TOFU and tuned ridge regression."""
    return Standings((A, B, RIDGE), np.moveaxis(np.array(costs), 0, 2))


def test_gaps_are_averaged_over_cells_and_paired_over_seeds() -> None:
    """Differences 1 and 3 after averaging: mean 2, standard error 1; one degree of freedom."""
    found = board_of([[11, 53], [1, 3]], [[10, 50], [0, 0]], [[0, 0], [0, 0]])
    gap, off = found.gap(A, B, comparisons=5)
    assert gap == 2.0
    assert off == pytest.approx(student.ppf(1 - 0.05 / 10, 1) * 1.0)
    assert found.cell_gap(1, A, B, 1)[0] == 2.0


def test_a_gap_over_some_cells_leaves_the_others_out() -> None:
    found = board_of([[11, 53], [1, 3]], [[10, 50], [0, 0]], [[0, 0], [0, 0]])
    assert found.gap(A, B, 5, [1]) == found.cell_gap(1, A, B, 5)
    assert found.gap(A, B, 5, [0, 1]) == found.gap(A, B, 5)
    assert (found.mean(A, [0]), found.mean(A)) == (32, 17)


def test_cells_that_are_left_out_count_neither_in_means_nor_in_limits() -> None:
    """CRT costs 4 more than ridge regression in the last cell and 1 less in all others."""
    n, noise = len(HELD_OUT), np.random.default_rng(0).normal(size=24)
    more = np.where(np.arange(n) == n - 1, 4.0, -1.0)[:, None]
    crt, ridge = 50 + more + noise, np.full((n, 24), 50.0)
    found = Standings((A, RIDGE), np.stack([crt, ridge], axis=2))
    assert board_tables.above_ridge(found, A, n) == [n - 1]
    (row, itself) = board_tables.split_rows(found, [A, RIDGE], [n - 1])
    gap, off = found.cell_gap(0, A, RIDGE, 1)
    assert row["there, minus tuned ridge"] == board_tables.signed(gap, off, 1)
    assert itself["there, minus tuned ridge"] == "–"
    assert row["in the other cells"] == pytest.approx(found.mean(A, range(n - 1)))
    steps = {"all": (), "without": (n - 1,)}
    (shown,) = board_tables.left_out_rows(found, A, [RIDGE], steps)
    assert shown["all"] == board_tables.signed(*found.gap(A, RIDGE, 2), 1)
    assert shown["without"] == board_tables.signed(*found.cell_gap(0, A, RIDGE, 2), 1)


def test_a_counter_example_stands_beside_its_own_policy_as_tuned() -> None:
    found = board.standings(DATA)
    rows = {row["case"]: row for row in board_tables.counter_rows(found)}
    assert list(rows) == [entry.name for entry in BOARD if entry.group == "counter"]
    for name, policy, constants in (
        ("MoM, ridge 0.863", "MoM", "λ 0.863, widths × 0.00535"),
        ("MENU's public code, ridge 30", "MENU", "λ 30, widths × 0.75"),
    ):
        counter = next(entry for entry in BOARD if entry.name == name)
        assert rows[name] == {
            "case": name,
            "constants": constants,
            "cost": found.mean(counter),
            "beside": f"tuned {policy}",
            "its cost": found.mean(Entry(policy, "tuned")),
        }


def test_rounds_that_explore_are_counted_of_policies_with_stages_alone() -> None:
    mom, sup = (
        board_tables.choice_rows([Entry(n, "tuned")], HELD_OUT[-1], 1)[0] for n in ("MoM", "SupBTC")
    )
    assert mom["rounds that explore"] is None
    assert (sup["plays per round"], sup["rounds"]) == (1, 1_000)
    assert 0 < sup["rounds that explore"] <= 1_000


def test_no_order_is_stated_that_the_limits_do_not_support() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(1, 8))
    found = board_of((10 + noise).tolist(), (10 - noise).tolist(), (90 + noise).tolist())
    none = {"CRT": 0.0, "TOFU": 0.0, "GreedyRidge": 0.0}
    for entries in ((A, B, RIDGE), (RIDGE, B, A)):
        assert set(board.order(found, entries, none)) == {(A, RIDGE), (B, RIDGE)}
    gap, off = found.gap(RIDGE, B, 3)
    for slack, stated in ((gap - off - 1e-9, True), (gap - off, False)):
        assert ((B, RIDGE) in board.order(found, (A, B, RIDGE), none | {"GreedyRidge": slack})) == (
            stated
        )


def test_an_order_must_hold_with_the_constants_of_counter_examples_too() -> None:
    noise = np.random.default_rng(0).normal(size=(1, 8))
    none = {"CRT": 0.0, "TOFU": 0.0}
    its, circulated = recipe("TOFU", ridge=3.0), recipe("TOFU", ridge=3.0, constants="circulated")
    for policy, cost, stated in (
        (its, 10, []),
        (its, 80, [(A, B)]),
        (circulated, 10, [(A, B)]),
        (recipe("CRT"), 10, [(A, B)]),
    ):
        other = Entry("TOFU, other constants", "counter", policy)
        costs = np.stack([10 + noise, 90 - noise, cost - noise], axis=2)
        assert board.order(Standings((A, B, other), costs), (A, B), none) == stated


def test_uniform_play_costs_100_percent_and_flags_are_shares() -> None:
    found = board.standings(DATA)
    uniform = next(entry for entry in BOARD if entry.name == "Uniform")
    np.testing.assert_allclose(found[uniform].mean(axis=1), 100)
    clipped, same = board.flags(DATA)
    assert same[:, BOARD.index(uniform)].min() == 100
    assert clipped[:, BOARD.index(RIDGE)].max() == 0
    assert 0 <= same.min() <= same.max() <= 100


def test_a_move_that_gains_puts_the_optimum_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the margin of the protocol none does; with a negative one half of them, up or down."""
    rows = board_tables.inside_rows(DATA)
    assert {(row["policy"], row["knob"]) for row in rows} == {
        (name, knob) for name, knobs in KNOBS.items() for knob in knobs
    }
    scores = board.scores(DATA, len(SIZES))
    assert all(row["score"] == pytest.approx(scores[row["policy"]].min()) for row in rows)
    demanded = float(np.median([row[move] for row in rows for move in ("× 10", "÷ 10")]))
    assert any(row["× 10"] < demanded <= row["÷ 10"] for row in rows)
    assert any(row["÷ 10"] < demanded <= row["× 10"] for row in rows)
    for margin in (protocol.MARGIN, -demanded):
        monkeypatch.setattr(board_tables, "MARGIN", margin)
        for row in board_tables.inside_rows(DATA):
            assert (row["inside"] == "yes") == (min(row["× 10"], row["÷ 10"]) >= -margin)


def test_slack_is_what_the_second_half_and_the_best_move_gain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two policies with made-up scores: one gains 3 late and 5 by a move, the other nothing."""
    half = sum(SIZES) // 2
    late = np.array([25.0] * (half - 1) + [20.0] + [17.0] * half)
    rows = [
        {"policy": "CRT", "× 10": 4.0, "÷ 10": -5.0},
        {"policy": "CRT", "× 10": -1.0, "÷ 10": 0.0},
        {"policy": "TOFU", "× 10": 4.0, "÷ 10": 0.0},
    ]
    monkeypatch.setattr(board_tables, "scores", lambda *_: {"CRT": late, "TOFU": late[::-1]})
    monkeypatch.setattr(board_tables, "inside_rows", lambda _: rows)
    assert board_tables.slack(DATA) == {"CRT": 8.0, "TOFU": 0.0}


def test_the_committed_table_is_what_data_gives(tmp_path: Path) -> None:
    found, flags = board.standings(DATA), board.flags(DATA)
    path = board_tables.write_table(found, *flags, tmp_path)
    assert path.read_bytes() == (DATA / "leaderboard.csv").read_bytes()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(HELD_OUT) * len(BOARD)
    assert len({entry.label for entry in BOARD}) == len(BOARD)
