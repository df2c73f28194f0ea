"""The run that notebook 00 watches is the paper's, and what is said of it is right."""

import numpy as np
import pytest

import heavybandit as hb
from heavybandit import paper, theory
from heavybandit.noise import StudentT
from heavybandit.replication import plotting
from heavybandit.replication import the_algorithms as chapter
from small_worlds import SameArms

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
MEANS = X @ np.array([0.6, 0.2])
V = X[[0, 1, 0, 1]]


def played(build, horizon=1_100, **settings):
    """A policy after a run on the three arms, and the arms it played."""
    policy = build(horizon, 3, 2, v=0.39, **settings)
    arms = []
    for draw in StudentT(3, 0.1).draw(np.random.default_rng(0), policy.rounds):
        arms.append(policy.select(X))
        policy.update(MEANS[arms[-1]] + draw)
    return policy, arms


@pytest.fixture(scope="module")
def watched():
    return played(chapter.Watched, width_scale=1 / 30)


def test_being_watched_changes_no_choice(watched):
    policy, arms = watched
    _, others = played(paper.SupBTC, width_scale=1 / 30)
    assert arms == others
    assert [one.arm for one in policy.record] == arms


def test_the_record_has_what_the_master_compared(watched):
    """Widths above 2^{-s} are explored, and nothing grows once all are below 1/√T."""
    policy, _ = watched
    for one in policy.record:
        *passed, last = one.visits
        assert all((visit.w <= 2.0**-s).all() for s, visit in enumerate(passed, 1))
        assert one.arm in last.arms
        width = last.w[last.arms.index(one.arm)]
        if one.explored:
            assert width > 2.0 ** -len(one.visits)
        else:
            assert (last.w <= 1 / np.sqrt(policy.rounds)).all()
    explored = [len(one.visits) for one in policy.record if one.explored]
    sizes = [len(rounds) for rounds in policy._Psi[1:]]
    assert [explored.count(s) for s in range(1, policy.n_stages + 1)] == sizes
    assert not policy.record[-1].explored


def test_arms_are_named_as_they_are_offered(watched):
    policy, _ = watched
    seen = {visit.arms for one in policy.record for visit in one.visits}
    assert seen == {(0, 1, 2), (0, 2), (0,)}


def test_the_story_counts_rounds_and_names_who_falls():
    """Two arms: stage 1 explores in rounds 1 and 2, arm 2 does not pass it; stage 2 in round 3."""
    both = chapter.Visit((0, 1), np.array([1.0, -0.5]), np.array([0.5, 0.25]))  # cut 1.5 − 1
    alone = chapter.Visit((0,), np.array([1.0]), np.array([0.5]))
    record = [
        chapter.Round((both,), 0, True),
        chapter.Round((both,), 1, True),
        chapter.Round((both, alone), 0, True),
        chapter.Round((both, alone), 0, False),
    ]
    first, second = chapter.story(record)
    assert list(first.values()) == ["1", "1/2", "1, 2", "1 to 2", 2, 0.5, "2"]
    assert list(second.values()) == ["2", "1/4", "1", "3 to 3", 1, None, "none"]
    assert chapter.exploits_from(record) == 4
    *_, passed, explores = chapter.opening(record, 3)
    assert list(passed.values()) == [3, 1, "1/2", "1.000, −0.500", "0.500, 0.250", "is passed"]
    assert list(explores.values()) == [3, 2, "1/4", "1.000", "0.500", "explores arm 1"]
    assert len(chapter.opening(record, 4)) == 6


def test_the_length_of_a_stage_is_that_of_the_run(watched):
    policy, _ = watched
    factor = (theory.alpha_btc(1, policy.horizon, 3, 0.39, 0.01, 1.0) + 1) / 30
    rows = chapter.story(policy.record)[:-1]
    assert len(rows) >= 4
    for s, row in enumerate(rows, 1):
        offered = X[[int(arm) - 1 for arm in row["arms in it"].split(", ")]]
        assert chapter.rounds_to_pass(offered, factor, s) == row["number of rounds, |Ψˢ|"]


def test_the_length_of_a_stage_by_hand():
    """7/√(1 + n) ≤ ½ from n = 195 on, where both are equal (R15); two such arms need twice that."""
    assert chapter.rounds_to_pass(X[:1], 7.0, 1) == 195
    assert chapter.rounds_to_pass(X[:2], 7.0, 1) == 390
    assert chapter.rounds_to_pass(X, 7.0, 1) == 390  # the third is a combination of the others
    assert chapter.rounds_to_pass(X[:1], 0.5, 1) == 0


@pytest.mark.parametrize(("horizon", "later"), [(57_374, 0), (57_375, 1)])
def test_the_printed_widths_pass_stage_3_from_the_computed_horizon_on(horizon, later):
    """In the last of 57,375 rounds arm 2 has fallen; a play less, and it has not."""
    policy = hb.SupBTC(horizon, 3, 2, v=0.39)
    world = SameArms(X, [0.6, 0.2], StudentT(3, 0.1))
    run = hb.simulate(policy, world, seed=0, checkpoints=1)
    factor = theory.alpha_btc(1, horizon, 3, 0.39, 0.01, 1.0) + 1
    stages = [chapter.rounds_to_pass(X, factor, s) for s in (1, 2, 3)]
    assert sum(stages) == 57_374
    assert list(run.diagnostics["explored"][:5]) == [*stages, later, 0]
    entering = run.diagnostics["arms_entering"][3]
    assert entering == 2 if later else np.isnan(entering)


def test_no_unit_context_is_ever_as_narrow_as_step_8_asks_with_the_printed_factor():
    policy, _ = played(chapter.Watched, horizon=300)
    floor = (theory.alpha_btc(1, 300, 3, 0.39, 0.01, 1.0) + 1) / np.sqrt(300)
    widths = np.concatenate([visit.w for one in policy.record for visit in one.visits])
    assert widths.min() >= floor > 1 / np.sqrt(300)
    assert all(one.explored for one in policy.record)


SETTINGS = {"n_arms": 1, "dim": 2, "v": 1.0}
COLUMN = np.array([[0.6], [0.3], [2.4], [-6.0]])


@pytest.mark.parametrize(
    ("policy", "payoffs", "expected"),
    [  # A = 3I, so an estimate is a third of the sum of what is kept
        (paper.CRT(100, **SETTINGS), COLUMN, [0.2, 0.1]),  # η = 1, 1.19, 1.32, 1.41
        (paper.TOFU(100, **SETTINGS), COLUMN, [0.0, 0.1]),  # b = 0.318 against r/√3
        (paper.MoM(20, **SETTINGS), COLUMN + np.array([0, 50, 0, -50, 0]), [1.0, -1.9]),
    ],
)
def test_a_baseline_estimates_from_what_it_was_told(policy, payoffs, expected):
    assert policy.plays == payoffs.shape[1]
    np.testing.assert_allclose(chapter.told(policy, V, payoffs), expected, atol=1e-12)


def test_menu_takes_the_estimate_nearest_to_most_others():
    """Plays 1 to 6 pay 3 in every round, play 7 pays 30: any of the six is chosen."""
    payoffs = np.full((4, 7), 3.0)
    payoffs[:, 6] = 30.0
    policy = chapter.FewPlays(100, **SETTINGS)
    np.testing.assert_allclose(chapter.told(policy, V, payoffs), [2.0, 2.0])


def test_the_pictures_show_the_median_the_dropped_terms_and_who_falls(watched):
    policy, _ = watched
    _, axes = plotting.panels(3)
    chapter.draw_medians(axes, np.array([[0.0, 5.0, 1.0], [2.0, 1.0, 0.0], [3.0, 3.5, 9.0]]), MEANS)
    titles = [one.get_title() for one in axes]
    assert [int(title.split()[-1]) for title in titles] == [3, 2, 2]
    _, axes = plotting.panels(3)
    terms = np.array([[0.1, 0.9], [0.1, -0.2], [0.5, 0.6]])
    chapter.draw_terms(axes, terms, np.array([1.0, -6.0]), np.array([0.5, 0.5, 0.5]))
    said = [[text.get_text() for text in one.texts] for one in axes]
    assert [sum("dropped" in words for words in one) for one in said] == [1, 0, 1]
    assert "payoff −6\ndropped" in said[0]
    _, axes = plotting.panels(3, down=2)
    chapter.draw_screening(axes, policy.record, MEANS)
    falls = [any(text.get_text() == "falls" for text in one.texts) for one in axes]
    rows = chapter.story(policy.record)
    assert falls[: len(rows)] == [row["arms that fall"] != "none" for row in rows]
    _, axes = plotting.panels(down=4, sharex=True)
    chapter.draw_run(axes, policy.record, MEANS)
    ends = [[text.get_text() for text in one.texts] for one in axes[:3]]
    last = {row["arms that fall"]: row["explored in rounds"].split(" to ")[1] for row in rows}
    assert ends == [[], [f"falls after\nround {last['2']}"], [f"falls after\nround {last['3']}"]]
    names = [label.get_text() for label in axes[3].get_yticklabels()]
    assert names == [f"stage {s}" for s in range(1, len(rows) + 1)] + ["exploits"]
