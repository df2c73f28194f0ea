"""What a reader is shown of coverage results is what the files hold; binomial tails by hand."""

import dataclasses
import itertools
import math
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from heavybandit.pipeline.recipes import recipe
from heavybandit.pipeline.store import StoreError
from heavybandit.replication import claims
from heavybandit.replication.catalogue import EXPERIMENTS
from heavybandit.replication.coverage import BINS, Case, Coverage, histogram
from heavybandit.replication.intervals import (
    DESIGN_LABELS,
    LAW_LABELS,
    Covered,
    bad_enough,
    by_history,
    by_noise,
    cases,
    draw_by_noise,
    extremal_tail,
    median_errs,
    middle,
    misses_by_noise,
    plays_enough,
    ridge_too_often,
)
from tiny import filled, published

# Medians and extremal noise.


@given(st.floats(0, 1), st.integers(1, 6))
def test_a_median_errs_if_half_of_the_estimates_do(p, plays):
    half = sum(
        math.prod(p if bad else 1 - p for bad in pattern)
        for pattern in itertools.product((False, True), repeat=plays)
        if 2 * sum(pattern) >= plays
    )
    assert median_errs(p, plays) == pytest.approx(half, abs=1e-15)


@given(st.floats(0, 0.4), st.floats(1e-6, 1))
def test_plays_are_enough_and_two_fewer_are_not(bad, failure):
    plays = plays_enough(bad, failure)
    assert plays % 2 == 1
    assert median_errs(bad, plays) <= failure
    for fewer in range(1, plays, 2):
        assert median_errs(bad, fewer) > failure


def test_known_shares_of_bad_estimates_are_bearable():
    assert bad_enough(1, 0.2) == pytest.approx(0.2)
    assert bad_enough(2, 0.19) == pytest.approx(0.1)  # 2·0.1·0.9 + 0.1²
    assert bad_enough(3, 10 / 64) == pytest.approx(0.25)  # 3·¼²·¾ + ¼³
    assert bad_enough(5, 0.00856) == pytest.approx(0.1)  # 10·0.1³·0.9² + 5·0.1⁴·0.9 + 0.1⁵


@pytest.mark.parametrize(
    ("call", "words"),
    [
        *(
            (partial(plays_enough, bad, 0.1), rf"bad is {bad}, but must be in \[0, 0.5\)")
            for bad in (0.5, 0.7, 1.0, -0.1, math.nan)  # a median of coins gains nothing by plays
        ),
        *((partial(plays_enough, 0.1, x), f"failure is {x}") for x in (0.0, -1.0, math.nan)),
        *((partial(bad_enough, 5, x), f"failure is {x}") for x in (0.7, -0.1, 0.0, math.nan)),
    ],
)
def test_what_no_plays_and_no_share_of_bad_estimates_give_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@given(st.integers(1, 200), st.floats(1e-9, 0.4))
def test_a_bearable_share_is_borne_and_a_larger_one_is_not(plays, failure):
    bad = bad_enough(plays, failure)
    assert 0 < bad < 0.5
    assert median_errs(bad, plays) == pytest.approx(failure, rel=0.01)
    assert median_errs(bad * 1.01, plays) > failure
    assert plays_enough(bad * 0.99, failure) <= plays + 1  # of an odd number


@given(st.integers(0, 6), st.floats(0, 1), st.integers(0, 7))
def test_the_extremal_tail_is_a_sum_over_all_outcomes(n, p, strikes):
    chance = {-1: p / 2, 0: 1 - p, 1: p / 2}
    wanted = sum(
        math.prod(chance[x] for x in outcome)
        for outcome in itertools.product(chance, repeat=n)
        if abs(sum(outcome)) >= strikes
    )
    assert extremal_tail(n, p, strikes) == pytest.approx(wanted, rel=1e-12, abs=1e-15)


# A case.

SOME_VALUES = st.lists(st.integers(1, 10**6).map(lambda k: k / 1000), min_size=1, max_size=40)

SETTING = {"eps": 0.5, "v": 1.0, "rounds": 50, "arms": 3, "horizon": 1000, "delta": 0.1, "plays": 3}
BASE = Covered(
    **{"design": "one context", "law": "extremal", **SETTING, "alpha": 2.0, "reps": 100},
    counts={"misses": 7, "noise": 5},
    high=np.array([4, 9, 0]),
    low=np.array([6, 2, 10]),
    histograms={"largest": {-2: 1, 0: 5, 3: 4}, "single": {1: 10}},
)


def test_a_case_says_what_it_is_what_it_may_and_what_is_worst():
    assert BASE.name == "one context, extremal, ε = 0.5"
    assert BASE.allowed == pytest.approx(1e-4)
    assert (BASE.trials("misses"), BASE.trials("noise")) == ((7, 100), (5, 100))
    assert BASE.worst_single() == (11, 300)  # 9 + 2, of 100 repetitions of 3 plays
    assert BASE.worst_side() == (10, 300)
    assert dataclasses.replace(BASE, high=BASE.low, low=BASE.high).worst_side() == (10, 300)


def test_a_tail_by_hand():
    levels, above = BASE.tail("largest")
    assert levels == pytest.approx([10 ** (k / 20) for k in range(-3, 4)])
    assert above == pytest.approx([1, 0.9, 0.9, 0.4, 0.4, 0.4, 0])
    assert BASE.largest("largest") == pytest.approx(10**0.15)
    assert BASE.largest("single") == pytest.approx(10**0.05)


def test_a_middle_is_the_least_level_that_at_most_half_exceed():
    assert middle(BASE) == pytest.approx(1)  # one value is at most 0.79, five more at most 1
    assert middle(BASE, "single") == pytest.approx(10**0.05)


OTHER_NOISE = dataclasses.replace(BASE, law="lottery")
OTHER_HISTORY = dataclasses.replace(BASE, design="few rounds", eps=0.25)


def test_cases_are_grouped_by_history_and_by_noise_with_its_order():
    found = [BASE, OTHER_HISTORY, OTHER_NOISE]
    assert by_history(found) == {"one context": [BASE, OTHER_NOISE], "few rounds": [OTHER_HISTORY]}
    assert list(by_noise(found)) == ["extremal, ε = 0.5", "extremal, ε = 0.25", "lottery, ε = 0.5"]


def test_a_figure_by_noise_has_a_row_per_noise_and_a_marker_where_there_is_a_case():
    found = [BASE, OTHER_HISTORY, OTHER_NOISE]
    (axes,) = draw_by_noise({"share": [1.0, 2.0, 3.0]}, found, "a finding").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(by_noise(found))
    drawn = {line.get_label(): line.get_xdata() for line in axes.get_lines()}
    assert np.array_equal(drawn["one context"], [1, np.nan, 3], equal_nan=True)
    assert np.array_equal(drawn["few rounds"], [np.nan, 2, np.nan], equal_nan=True)
    assert axes.get_xlabel() == "share"


COUNTS = {"misses": 0, "bounded": 9, "scaled": 3, "as_wide": 1}


def test_misses_are_added_up_over_the_histories_of_a_noise():
    here, there = (dataclasses.replace(BASE, design=name, counts=COUNTS) for name in "ab")
    other = dataclasses.replace(OTHER_NOISE, counts=COUNTS)
    assert misses_by_noise([here, other, there], "BMM") == [
        {"noise": "extremal, ε = 0.5", "BMM": 0, "bounded": 18, "scaled": 6, "as wide": 2},
        {"noise": "lottery, ε = 0.5", "BMM": 0, "bounded": 9, "scaled": 3, "as wide": 1},
    ]


def test_ridge_misses_too_often_where_even_the_lower_limit_is_above_the_allowed():
    often = dataclasses.replace(BASE, counts=COUNTS)  # 1 of 100 is at least 1.005·10⁻⁴, above 10⁻⁴
    seldom = dataclasses.replace(often, delta=0.9)  # 3 of 100 is still above 9·10⁻⁴, and 1 is not
    found = [list(row.values()) for row in ridge_too_often([often, seldom])]
    assert found == [["scaled", 2, 2, 3], ["as wide", 1, 0, 1]]  # cases, with several, the most


@given(SOME_VALUES)
def test_a_tail_is_the_fraction_of_the_values_that_were_above(values):
    found = dict(histogram(np.array(values)))
    case = dataclasses.replace(BASE, histograms={"ridge": found})
    levels, above = case.tail("ridge")
    ends = [v * (1 + 1e-9) for v in levels]
    assert above == pytest.approx([np.mean(np.array(values) > end) for end in ends])
    assert (above[0], above[-1]) == (1, 0)
    assert case.largest("ridge") == pytest.approx(levels[-1], rel=1e-15)  # pow of arrays, of one
    assert max(values) <= case.largest("ridge") * (1 + 1e-9)
    assert max(values) > case.largest("ridge") * 10 ** (-1 / BINS)


def test_the_mechanism_is_a_binomial_tail_over_arms_and_sides_by_hand():
    """No estimate of n = 100, or of 300, is astray: their share's limit p has (1−p)^n = 0.01."""
    none = dataclasses.replace(BASE, high=np.zeros(3, int), low=np.zeros(3, int))
    alone = dataclasses.replace(none, plays=1, arms=1)
    assert alone.mechanism() == pytest.approx(2 * (1 - 0.01 ** (1 / 100)))
    worst = claims.limits(10, 300)[1]
    assert binom.cdf(10, 300, worst) == pytest.approx(0.01)
    for case, p in ((none, 1 - 0.01 ** (1 / 300)), (BASE, worst)):
        assert case.mechanism() == pytest.approx(2 * 3 * (3 * p**2 * (1 - p) + p**3))  # 2 of 3


@given(SOME_VALUES, st.integers(1, 60), st.integers(1, 20), st.floats(1e-6, 0.9))
def test_what_would_have_been_enough_is_exceeded_bearably_often_and_a_bin_less_is_not(
    values, plays, arms, failure
):
    found = dict(histogram(np.array(values)))
    case = dataclasses.replace(BASE, plays=plays, arms=arms, histograms={"single": found})
    enough = case.enough(failure)
    assert 20 * math.log10(enough) == pytest.approx(round(20 * math.log10(enough)))
    level = enough * (1 + 1e-9)
    above = [np.mean(np.array(values) > x) for x in (level, level * 10 ** (-1 / BINS))]
    assert 2 * arms * median_errs(above[0], plays) <= failure * (1 + 1e-6)
    assert 2 * arms * median_errs(above[1], plays) > failure * (1 - 1e-6)


# From the files.

FIRST = Case(
    recipe("section6", rounds=5), recipe("Extremal", size=100.0, probability=0.01), 1.0, 6, 0.9, 1
)
CHANGES = {
    "design": recipe("same", rounds=50),
    "noise": recipe("Extremal", size=100.0, probability=0.008),
    "eps": 0.5,
    "horizon": 10,
    "delta": 0.5,
    "plays": 3,
}
CASES = (FIRST, *(dataclasses.replace(FIRST, **{k: v}) for k, v in CHANGES.items()))
TINY = Coverage("tiny", "for tests", "BMM", CASES, reps=30, seeds=3, first_seed=4)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with TINY's results, and TINY among the experiments."""
    folder = tmp_path_factory.mktemp("intervals")
    with pytest.MonkeyPatch.context() as patch:
        yield published(patch, filled(folder / "store", TINY), folder / "data", TINY)


def test_cases_are_the_experiments_in_its_order_whatever_they_differ_in(data):
    assert set(CHANGES) == {field.name for field in dataclasses.fields(Case)}
    read = cases("tiny", data)
    assert len(read) == len(TINY.cases)
    for covered, case in zip(read, TINY.cases, strict=True):
        shape = ("one context", 50, 1) if case.design.name == "same" else ("few rounds", 5, 20)
        assert (covered.design, covered.rounds, covered.arms) == shape
        assert covered.law == "extremal"
        for name in ("eps", "horizon", "delta", "plays"):
            assert getattr(covered, name) == getattr(case, name)


def test_a_case_has_the_sums_over_its_seeds_and_nothing_of_another(data):
    read = cases("tiny", data)
    for covered, case in zip(read, TINY.cases, strict=True):
        runs = [run.run([run])[0] for run in TINY.runs() if run.case == case]
        assert len(runs) == 3
        assert covered.reps == 3 * 30
        assert covered.v == float(f"{runs[0]['v']:.9g}")
        assert covered.alpha == float(f"{runs[0]['alpha']:.9g}")
        assert covered.counts == {
            name: sum(run[name] for run in runs)
            for name in ("misses", "noise", "tenth", "bounded", "scaled", "as_wide", "truncated")
        }
        for side, found in (("high", covered.high), ("low", covered.low)):
            by_arm = zip(*(run[side] for run in runs), strict=True)
            assert found.tolist() == [sum(of_arm) for of_arm in by_arm]
        for kind in ("largest", "single", "ridge"):
            together = Counter()
            for run in runs:
                together.update(dict(run["histograms"][kind]))
            assert covered.histograms[kind] == dict(together)
        assert set(covered.histograms) == {"largest", "single", "ridge"}
        assert sum(covered.histograms["single"].values()) == 3 * 30 * covered.plays
    # and there was something to add up
    for name in ("misses", "noise", "tenth", "bounded", "scaled", "as_wide"):
        assert len({covered.counts[name] for covered in read}) > 1, name
    assert max(covered.high.max() for covered in read) > 0
    assert max(covered.low.max() for covered in read) > 0


def test_cases_that_were_never_made_say_how_to_make_them(tmp_path):
    with pytest.raises(StoreError, match="heavybandit sweep tiny"):
        cases("tiny", tmp_path)


def test_every_design_and_noise_of_the_experiments_has_a_label_of_its_own():
    for name in ("prop1", "prop2"):
        experiment = EXPERIMENTS[name]
        assert {case.design.text() for case in experiment.cases} <= set(DESIGN_LABELS)
        assert {case.noise.name for case in experiment.cases} <= set(LAW_LABELS)
    for labels in (DESIGN_LABELS, LAW_LABELS):
        assert len(set(labels.values())) == len(labels)
