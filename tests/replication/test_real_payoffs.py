"""The replayed experiment: its table, its log, and fixed arms against a count by hand."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.replication import real_payoffs as real

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def people():
    return real.people(DATA)


@pytest.mark.skipif(find_spec("statsmodels") is None, reason="needs the extra logs")
def test_the_stored_table_is_what_statsmodels_ships(people):
    assert real.derive().equals(people.drop(columns="arm"))


def test_the_table_is_the_experiment_as_it_is_described(people):
    assert len(people) == 20_190
    assert people.person.nunique() == 5_912
    assert sorted(people.rate.unique()) == [0, 25, 50, 95, 100]
    assert people.groupby("person").rate.nunique().max() == 1  # a plan was drawn once
    assert people.groupby("household").rate.nunique().max() == 1  # and for whole families
    counts = people.groupby(["site", "rate"]).size().unstack(fill_value=0)
    assert (counts == 0).sum().to_dict() == {0: 0, 25: 0, 50: 1, 95: 1, 100: 5}
    assert counts.loc[real.LEFT_OUT, 50] == 0


def test_a_log_has_one_block_of_features_per_arm_and_fits_its_probabilities(people):
    kept = people[people.site != real.LEFT_OUT]
    log = real.log_of(kept, seed=3)
    n, K, width = len(kept), len(real.RATES), 1 + len(real.TRAITS)
    blocks = log.contexts.reshape(n, K, K, width)
    for arm in range(K):
        assert (blocks[:, arm, arm, 0] > 0).all()
        assert not np.delete(blocks[:, arm], arm, axis=1).any()
    assert np.sqrt((log.contexts**2).sum(axis=2)).max() == pytest.approx(1)
    assert -real.UNIT * log.payoffs.mean() == pytest.approx(kept.visits.mean())
    # within a site the arms of the log have the shares that are given as their probabilities
    first = log.propensities[:, 0] == log.propensities[0, 0]
    assert np.mean(log.arms[first] == 0) == pytest.approx(log.propensities[0, 0])


def test_a_fixed_arm_is_replayed_as_the_mean_of_its_sites(people):
    kept = people[people.site != real.LEFT_OUT]
    log, sizes = real.log_of(kept, seed=1), kept.groupby("site").size()
    for arm in range(len(real.RATES)):
        run = real.judged(real.Always(arm), log)
        by_site = kept[kept.arm == arm].groupby("site").visits.mean()
        expected = (by_site * sizes).sum() / sizes.sum()
        assert real.visits([run])["visits"] == pytest.approx(expected)
        assert -real.UNIT * run.unbiased == pytest.approx(expected)


def test_a_site_where_an_arm_was_not_drawn_is_refused(people):
    with pytest.raises(ValueError, match="arm 2 could not have been drawn in round"):
        real.judged(real.Always(0), real.log_of(people, seed=0))


def test_a_difference_of_fixed_arms_has_the_limits_of_independent_means(people):
    # At one site a household has one arm, so that the two means are independent; for one comparison
    # the squares of their limits add up, but for households in place of those with each arm.
    kept = people[(people.site == 1) & people.arm.isin([0, 3])].assign(arm=lambda x: x.arm // 3)
    found = []
    for seed in (0, 1):
        rows = kept.iloc[np.random.default_rng(seed).permutation(len(kept))]
        shares = rows.arm.value_counts(normalize=True).sort_index()
        log = real.Log(
            np.broadcast_to(np.eye(2) / 2, (len(rows), 2, 2)), rows.arm.to_numpy(),
            -rows.visits.to_numpy() / real.UNIT, np.tile(shares, (len(rows), 1)),
            rows.household.to_numpy(),
        )  # fmt: skip
        found.append((log, *(real.judged(real.Always(arm), log) for arm in (0, 1))))
    logs, free, dear = (list(each) for each in zip(*found, strict=True))
    one = real.more_than(free, dear, logs, comparisons=1)
    means = kept.groupby("arm").visits.mean()
    assert one["difference"] == pytest.approx(means[0] - means[1])
    limits = [real.UNIT * (run[0].high - run[0].mean) for run in (free, dear)]
    assert one["at most"] - one["difference"] == pytest.approx(np.hypot(*limits), rel=0.01)
    six = real.more_than(free, dear, logs, comparisons=6)
    assert six["at least"] < one["at least"]
    itself = real.more_than(free, free, logs, comparisons=1)  # the same households, so no doubt
    assert itself == pytest.approx({"difference": 0, "at least": 0, "at most": 0}, abs=1e-12)


def test_limits_of_visits_are_those_of_payoffs_turned_round(people):
    few = people[people.site == 1].iloc[:600]
    few = few[few.arm.isin([0, 3])].assign(arm=lambda rows: rows.arm // 3)
    runs = [
        hb.replay(
            real.Always(1), np.eye(2) / 2, few.arm, -few.visits / real.UNIT,
            few.arm.value_counts(normalize=True).sort_index(), seed=seed,
        )
        for seed in (0, 1)
    ]  # fmt: skip
    found = real.visits(runs)
    assert found["from"] < found["visits"] < found["to"]
    assert found["visits"] == pytest.approx(few[few.arm == 1].visits.mean())
    assert found["smallest estimate"] == found["largest estimate"] == pytest.approx(found["visits"])
    assert found["rounds used"] == (few.arm == 1).sum()


def test_an_arm_is_the_same_arm_in_a_log_that_lists_arms_backwards(people):
    log = real.log_of(people[people.site != real.LEFT_OUT], seed=1)
    turned = real.listed_backwards(log)
    last = len(real.RATES) - 1
    for arm in range(last + 1):
        one, other = (
            real.judged(real.Always(a), in_) for a, in_ in ((arm, log), (last - arm, turned))
        )
        assert (one.mean, one.low, one.high) == (other.mean, other.low, other.high)
        assert (log.contexts[:, arm] == turned.contexts[:, last - arm]).all()


def test_policies_are_replayed_fresh_on_each_log_and_told_the_moment_if_they_ask(people):
    few = people[(people.site == 1) & people.arm.isin([0, 1, 2, 3])].iloc[:900]
    logs = [real.log_of(few, seed) for seed in (0, 1)]
    runs = real.replays(("GreedyRidge", "CRT"), logs)
    assert {name: len(several) for name, several in runs.items()} == {"GreedyRidge": 2, "CRT": 2}
    n, K, d = logs[1].contexts.shape
    crt = hb.CRT(n, K, d, v=float((logs[0].payoffs ** 2).mean()))
    assert runs["CRT"][1].mean == real.judged(crt, logs[1]).mean
    shares = real.shares(runs)
    assert shares.sum(axis=1).tolist() == pytest.approx([1, 1])
    table = real.differences(runs, runs["CRT"], logs)
    assert table.difference["CRT"] == 0
    alone = real.more_than(runs["GreedyRidge"], runs["CRT"], logs, comparisons=2)
    assert table.loc["GreedyRidge"].to_dict() == alone
