"""The replay estimator: by enumeration of all logs there could have been, and in closed form."""

import contextlib
import itertools
import math
from collections import Counter

import numpy as np
import pytest

import heavybandit as hb


class Static:
    """Plays what a table says about the context of arm 0, whatever it was paid."""

    plays, rounds = 1, 10**6

    def __init__(self, table):
        self.table, self.paid = table, []

    def select(self, contexts):
        return self.table[round(float(contexts[0, 0]) * 10)]

    def update(self, payoffs):
        self.paid.append(float(payoffs[0]))


def log_of(kinds, n_arms=2):
    """Contexts of rounds that come in kinds 0, 1, …, which the first feature tells apart."""
    X = np.zeros((len(kinds), n_arms, 2))
    X[:, :, 0] = np.array(kinds)[:, None] / 10
    X[:, :, 1] = np.arange(n_arms) / n_arms
    return X


def test_without_bias_for_a_policy_that_does_not_learn():
    # Three rounds of two kinds, arm 1 drawn with probability 0.3 or 0.6 by kind; payoffs known.
    kinds, chance = [0, 1, 1], {0: (0.7, 0.3), 1: (0.4, 0.6)}
    pay = {(0, 0): 5.0, (0, 1): -1.0, (1, 0): 2.0, (1, 1): 40.0}
    p = np.array([chance[k] for k in kinds])
    for table in itertools.product((0, 1), repeat=2):
        expected = sum(pay[k, table[k]] for k in kinds) / 3
        found = 0.0
        for arms in itertools.product((0, 1), repeat=3):
            paid = [pay[k, a] for k, a in zip(kinds, arms, strict=True)]
            probability = math.prod(p[t, a] for t, a in enumerate(arms))
            counting = [table[k] == a for k, a in zip(kinds, arms, strict=True)]
            if sum(counting) >= 2:
                run = hb.replay(Static(table), log_of(kinds), arms, paid, p)
                assert run.used == sum(counting)
                assert run.rounds.tolist() == [t for t in range(3) if counting[t]]
                found += probability * run.unbiased
            else:  # refused, since one payoff has no interval; its share by hand
                found += probability * sum(
                    y / p[t, a] / 3
                    for t, (a, y) in enumerate(zip(arms, paid, strict=True))
                    if counting[t]
                )
        assert found == pytest.approx(expected)


class Copycat:
    """Learns: repeats an arm in the next rounds of a kind once it has been paid more than 1."""

    plays, rounds = 1, 2

    def __init__(self):
        self.liked, self.history = {}, []

    def select(self, contexts):
        self.kind = round(float(contexts[0, 0]) * 10)
        self.arm = self.liked.get(self.kind, len(self.history) % 2)
        return self.arm

    def update(self, payoffs):
        self.history.append((self.kind, self.arm))
        if payoffs[0] > 1:
            self.liked[self.kind] = self.arm
        else:
            self.liked[1 - self.kind] = 1 - self.arm


def test_what_a_policy_learns_from_is_distributed_as_in_a_real_run():
    # Kinds are fair coins, and so are the logged arms. Of all logs of six rounds in which two
    # count, the two that count are as frequent as the two rounds of a real run.
    pay = {(0, 0): 0.0, (0, 1): 2.0, (1, 0): 3.0, (1, 1): 1.0}

    def real(kinds):
        policy = Copycat()
        for kind in kinds:
            arm = policy.select(log_of([kind])[0])
            policy.update(np.array([pay[kind, arm]]))
        return tuple(policy.history)

    wanted = Counter(real(kinds) for kinds in itertools.product((0, 1), repeat=2))
    found = Counter()
    for kinds in itertools.product((0, 1), repeat=6):
        X = log_of(kinds)
        for arms in itertools.product((0, 1), repeat=6):
            policy = Copycat()
            paid = [pay[k, a] for k, a in zip(kinds, arms, strict=True)]
            with contextlib.suppress(ValueError):  # fewer than two rounds count
                run = hb.replay(policy, X, arms, paid)
                assert run.used == 2
                assert run.mean == np.mean([pay[seen] for seen in policy.history])
                found[tuple(policy.history)] += 1
    assert len(wanted) > 2
    total = sum(found.values())
    assert total > 3000  # of 4,096 logs
    assert {seen: count / total for seen, count in found.items()} == pytest.approx(
        {seen: count / 4 for seen, count in wanted.items()}
    )


def made_log(n, chances, seed, payoff):
    """n rounds with arms drawn by these chances, the same in all rounds."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(2, size=n)
    arms = rng.choice(len(chances), size=n, p=chances)
    return log_of(kinds, len(chances)), arms, payoff(kinds, arms) + rng.standard_t(3, n)


def test_uniform_play_is_paid_the_mean_over_the_arms():
    chances = (0.5, 0.3, 0.2)
    X, arms, paid = made_log(30_000, chances, 1, lambda kinds, arms: arms + kinds)
    run = hb.replay(hb.Uniform(30_000, 3, 2), X, arms, paid, chances)
    assert run.low < 1.5 < run.high  # arms 0, 1, 2 and kinds 0, 1, all alike
    assert abs(run.unbiased - 1.5) < 0.2
    assert run.used == pytest.approx(10_000, abs=300)
    # w is 2, 10/3 or 5, used in proportion 0.5, 0.3, 0.2: (Σ w)²/Σ w² = n·9/(4·0.5 + …)
    second = sum(p * (1 / p) ** 2 for p in chances)
    assert run.effective / run.used == pytest.approx(9 / second, rel=0.03)
    assert np.unique(run.weights).tolist() == pytest.approx([2, 10 / 3, 5])


def test_an_offset_of_the_payoffs_adds_to_the_mean():
    X, arms, paid = made_log(500, (0.8, 0.2), 2, lambda _, arms: arms)
    plain, moved = (
        hb.replay(Static((1, 1)), X, arms, paid + offset, (0.8, 0.2)) for offset in (0.0, 100.0)
    )
    assert moved.mean - plain.mean == pytest.approx(100)
    assert moved.high - moved.low == pytest.approx(plain.high - plain.low)


def test_intervals_cover_as_often_as_they_say():
    # rule: 300 intervals of 95 % miss 15 times; a binomial count is below 30 but once in 5,000
    missed = 0
    for seed in range(300):
        X, arms, paid = made_log(400, (0.7, 0.3), seed, lambda kinds, arms: kinds - 2 * arms)
        run = hb.replay(Static((1, 0)), X, arms, paid, (0.7, 0.3))
        value = ((0 - 2) + (1 - 0)) / 2  # kind 0 plays arm 1, kind 1 arm 0
        missed += not run.low <= value <= run.high
    assert 3 <= missed < 30


def test_rounds_of_one_group_count_as_one_in_the_interval():
    # every round ten times over: ten times the payoffs, and as much known as before
    X, arms, paid = made_log(200, (0.5, 0.5), 3, lambda _, arms: arms)
    once = hb.replay(Static((0, 1)), X, arms, paid)
    again = np.repeat(np.arange(200), 10)
    grouped = hb.replay(Static((0, 1)), X[again], arms[again], paid[again], groups=again)
    taken_apart = hb.replay(Static((0, 1)), X[again], arms[again], paid[again])
    assert grouped.mean == pytest.approx(once.mean)
    assert grouped.high == pytest.approx(once.high)
    assert taken_apart.high - taken_apart.mean < 0.4 * (once.high - once.mean)


def test_thinned_rounds_have_equal_weights_and_each_context_its_share():
    chances = (0.8, 0.2)
    X, arms, paid = made_log(40_000, chances, 4, lambda kinds, arms: 3 * kinds + arms)
    weighted, thinned = (
        hb.replay(Static((0, 1)), X, arms, paid, chances, thin=thin, seed=5)
        for thin in (False, True)
    )
    # kind 0 plays arm 0, which was logged four times as often as arm 1
    share = [np.mean(X[run.rounds, 0, 0] > 0) for run in (weighted, thinned)]
    assert share == pytest.approx([0.2, 0.5], abs=0.02)
    assert set(thinned.weights) == {1.0}
    assert thinned.used == pytest.approx(0.2 * 40_000, abs=350)
    for run in (weighted, thinned):
        assert run.low < 2 < run.high  # half 0, half 3 + 1
        assert run.unbiased == pytest.approx(2, abs=0.2)


def test_the_horizon_of_the_policy_ends_it_and_is_said():
    X, arms, paid = made_log(900, (0.5, 0.5), 6, lambda _, arms: arms)
    told = []
    run = hb.replay(hb.LinUCB(100, 2, 2), X, arms, paid, progress=told.append)
    assert run.used == 100 < run.offered < 900 == run.logged
    assert sum(told) == run.offered
    assert "100 of " in repr(run)
    assert repr(run).endswith("logged rounds used until its horizon>")
    assert not repr(hb.replay(hb.LinUCB(900, 2, 2), X, arms, paid)).endswith("horizon>")


def test_policies_that_learn_are_paid_more_than_uniform_play_by_the_same_log():
    X, arms, paid = made_log(6_000, (0.25,) * 4, 7, lambda kinds, arms: kinds * arms)
    uniform, linucb = (
        hb.replay(kind(6_000, 4, 2), X, arms, paid) for kind in (hb.Uniform, hb.LinUCB)
    )
    assert linucb.low > uniform.high


GOOD = {
    "contexts": log_of([0, 1, 0, 1]),
    "arms": [0, 1, 1, 0],
    "payoffs": [1.0, 2.0, 3.0, 4.0],
}
LONG = {"contexts": log_of([0, 1] * 100), "payoffs": np.ones(200)}
BAD = {  # what is said → the log
    "payoffs must be a list of at least two numbers, got shape": {"payoffs": 3.0},
    "payoffs must be finite; that of round 2 is nan": {"payoffs": [1, math.nan, 3, 4]},
    "payoffs must be an array of numbers, got": {"payoffs": ["a", "b", "c", "d"]},
    "payoffs must be real numbers, got complex ones": {"payoffs": np.array([1, 2j, 3, 4])},
    "contexts must be real numbers, got complex ones": {"contexts": GOOD["contexts"] + 0j},
    "payoffs must not be masked, and 1 of 4 entries are": {
        "payoffs": np.ma.masked_equal([1, -999, 3, 4], -999)
    },
    r"as many rounds as payoffs, 4, .* got \(3, 2, 2\)": {"contexts": GOOD["contexts"][:3]},
    r"arm 0 has 3 in round 2, the longest": {
        "contexts": GOOD["contexts"] + np.array([0, 2.9, 0, 0])[:, None, None] * [[1, 0], [0, 0]]
    },
    r"arms must be as many as payoffs, 4; got shape \(3,\)": {"arms": [0, 1, 1]},
    "from 0 to 1, as contexts has 2 arms; that of round 3 is 2": {"arms": [0, 1, 2, 0]},
    "that of round 1 is 0.5": {"arms": [0.5, 1, 0, 0]},
    r"those of the logged arms, 4, or of all arms, \(4, 2\)": {"propensities": [0.5] * 3},
    "above 0 and at most 1; that of round 4 is 0": {"propensities": [0.5, 0.5, 0.5, 0]},
    "must have sum 1; those of round 1 have 1.1": {"propensities": [0.5, 0.6]},
    "arm 1 could not have been drawn in round 1": {"propensities": [1.0, 0.0]},
    "groups must be 4 labels": {"groups": [1, 2]},
    "arm 0 was logged in 160 of 200 rounds: give the probability": {
        **LONG,
        "arms": [0] * 160 + [1] * 40,
    },
    "arm 0 was logged in 100 of 200 rounds, and over these 1/p has the sum 500": {
        **LONG,
        "arms": [0, 1] * 100,
        "propensities": (0.2, 0.8),
    },
    "arm 1 was logged in 0 of 200 rounds, and": {
        **LONG,
        "arms": [0] * 200,
        "propensities": [0.9] * 200,
    },
}


@pytest.mark.parametrize(("says", "log"), BAD.items(), ids=BAD)
def test_what_is_wrong_with_a_log_is_said_before_the_policy_is_asked(says, log):
    policy = hb.LinUCB(10, 2, 2)
    with pytest.raises((ValueError, TypeError), match=says):
        hb.replay(policy, **(GOOD | log))
    assert policy.round == 1


@pytest.mark.parametrize(
    ("says", "policy"),
    [
        ("policy must be an object, got the class Uniform", lambda: hb.Uniform),
        ("policy must have plays; list has not", list),
        ("one play per round, .* GreedyRidge makes 3", lambda: hb.GreedyRidge(9, 2, 2, plays=3)),
        ("built with n_arms=3, but the log has n_arms=2", lambda: hb.Uniform(9, 3, 2)),
        ("must return a whole number from 0 to 1; .* returned 7", lambda: Static((7, 7))),
        ("say nothing: Static chose the logged arm in no more", lambda: Static((0, 0))),
    ],
)
def test_a_policy_that_cannot_be_replayed_is_refused(says, policy):
    one_each = GOOD | {"arms": [0, 1, 1, 1]}
    with pytest.raises((ValueError, TypeError), match=says):
        hb.replay(policy(), **one_each)


def test_a_policy_that_has_played_is_refused():
    for policy in (hb.LinUCB(10, 2, 2), Static((0, 1))):
        hb.replay(policy, **GOOD)
        with pytest.raises(ValueError, match=r"must be fresh: this \w+ has played \d rounds"):
            hb.replay(policy, **GOOD)


def test_a_policy_that_counts_its_own_rounds_from_0_is_fresh():
    policy = Static((0, 1))
    policy.round = 0
    assert hb.replay(policy, **GOOD).used >= 2


def test_a_log_with_a_payoff_that_no_policy_takes_is_refused_before_anything_is_learnt():
    policy = hb.LinUCB(10, 2, 2)
    with pytest.raises(ValueError, match=r"at most 1e\+100 in absolute value, got one of 1e\+150"):
        hb.replay(policy, **GOOD | {"payoffs": [*GOOD["payoffs"][:-1], 1e150]})
    assert policy.round == 1
