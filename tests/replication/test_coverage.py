"""Repetitions on fixed histories: designs, widths, and every count against a literal recount."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandit import instances, noise, paper
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, TIE, stream
from heavybandit.replication import coverage
from heavybandit.replication.coverage import (
    BINS,
    COUNTED,
    DESIGNS,
    FLOOR,
    Design,
    Trial,
    Widths,
    histogram,
    repeat,
    widths,
)

# Designs.


@pytest.mark.parametrize(
    ("design", "shape"),
    [
        (coverage.section6_design(), (200, 20, 10)),
        (coverage.section6_design(5), (5, 20, 10)),
        (coverage.line_design(), (200, 20, 10)),
        (coverage.line_design(7, dim=3), (7, 13, 3)),
        (coverage.same_design(), (2500, 1, 1)),
        (coverage.same_design(4), (4, 1, 1)),
    ],
)
def test_a_design_has_n_contexts_then_k_arms_in_round_n_plus_1_none_longer_than_1(design, shape):
    n, K, d = shape
    assert (design.V.shape, design.X.shape, design.theta.shape) == ((n, d), (K, d), (d,))
    assert design.t == n + 1
    for vectors in (design.V, design.X, design.theta[None]):
        assert np.linalg.norm(vectors, axis=1).max() <= 1 + 1e-12
    assert design.means == pytest.approx([float(x @ design.theta) for x in design.V])


@pytest.mark.parametrize("name", ["section6", "line"])
def test_a_design_is_drawn_from_the_designs_seed(name, monkeypatch):
    before, again = DESIGNS[name](rounds=6), DESIGNS[name](rounds=6)
    for field in ("V", "X", "theta"):
        assert np.array_equal(getattr(before, field), getattr(again, field))
    monkeypatch.setattr(coverage, "DESIGN_SEED", 2021)
    after = DESIGNS[name](rounds=6)
    assert not np.any(before.V == after.V)
    assert not np.any(before.X[:10] == after.X[:10])


def test_section_6_s_design_is_a_first_arm_a_round_and_then_all_arms_of_the_next():
    drawn = instances.section6().contexts(stream(2020, CONTEXT_STREAM), 0, 4, 1)
    design = coverage.section6_design(3)
    assert np.array_equal(design.V, [drawn[0][0], drawn[1][0], drawn[2][0]])
    assert np.array_equal(design.X, drawn[3])
    assert design.theta == pytest.approx(np.full(10, 10**-0.5))
    assert design.V.min() >= 0


def test_the_line_is_badly_conditioned_and_hides_half_of_theta():
    design = coverage.line_design()
    assert np.linalg.cond(design.V) > 1e7
    axes = slice(10, 20)
    assert np.array_equal(design.X[axes], np.eye(10))
    c = design.c()[axes]
    assert c[0] < 0.1  # √(1/201) if the first axis had been played 200 times
    assert c[-1] == pytest.approx(1, abs=1e-9)  # nothing is known about the last
    # along the last axis the ridge answers 0 and the truth is √½
    assert (design.beta() @ design.means)[-1] == pytest.approx(0, abs=1e-6)
    assert design.X[-1] @ design.theta == pytest.approx(math.sqrt(0.5))
    assert np.linalg.norm(design.theta) == pytest.approx(1)


def test_one_context_again_and_again_is_a_mean_that_is_shrunk_by_1_in_n_plus_1():
    design = coverage.same_design(8)
    assert design.beta() == pytest.approx(np.full((1, 8), 1 / 9))
    assert design.c() == pytest.approx([1 / 3])
    assert design.beta(plays=3) == pytest.approx(np.full((1, 8), 1 / 25))
    assert design.c(plays=3) == pytest.approx([1 / 5])
    assert design.means.tolist() == [1.0] * 8


@pytest.mark.parametrize("name", DESIGNS)
def test_a_history_of_no_rounds_is_refused(name):
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        DESIGNS[name](rounds=0)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.integers(1, 5))
def test_beta_and_c_are_those_of_a_history_in_which_every_play_is_a_row(seed, n, dim, plays):
    rng = np.random.default_rng(seed)
    V, X, theta = (rng.uniform(-1, 1, size) for size in ((n, dim), (3, dim), (dim,)))
    design = Design(V, X, theta)
    stacked = np.vstack([V] * plays)
    A_inv = np.linalg.inv(np.eye(dim) + stacked.T @ stacked)
    for a in range(3):
        assert design.beta(plays)[a] == pytest.approx([X[a] @ A_inv @ x for x in V], abs=1e-12)
        assert design.c(plays)[a] == pytest.approx(math.sqrt(X[a] @ A_inv @ X[a]))


def test_a_designs_moments_are_the_largest_in_its_history_by_hand():
    design = Design(np.array([[0.25], [0.5], [1.0]]), np.ones((1, 1)), np.array([2.0]))
    # payoffs 2 or 0 with probability m/2, m = ½, 1, 2: raw 2m; central ¾, 1 and, at m = 2, 0
    two_points = noise.TwoPointPayoff(0.5)
    assert design.raw_moment(two_points, 1.0) == pytest.approx(4)
    assert design.central_moment(two_points, 1.0) == pytest.approx(1)
    # ±2 half of the time: central 2, raw 2 + m²; here the largest |m| is that of −1
    extremal, signed = noise.Extremal(2.0, 0.5), dataclasses.replace(design, theta=-np.ones(1))
    assert signed.raw_moment(extremal, 1.0) == pytest.approx(3)
    assert signed.central_moment(extremal, 1.0) == pytest.approx(2)
    # ε = ½: ½·2^{3/2}
    assert signed.central_moment(extremal, 0.5) == pytest.approx(math.sqrt(2))


# Widths.


@given(
    st.sampled_from(["BMM", "BTC"]),
    st.floats(0.01, 100),
    st.floats(0.05, 1),
    st.integers(4, 10**6),
    st.floats(0.01, 0.99),
)
def test_widths_are_the_printed_ones_at_the_round_after_the_history(estimator, v, eps, T, delta):
    design, q, K = coverage.line_design(7, dim=3), 1 + eps, 13
    L, growth = math.log(2 * K * T * math.log(T) / delta), 8 ** ((1 - eps) / (2 * q))

    def alpha(u):
        if estimator == "BMM":
            return (12 * u) ** (1 / q) * growth
        return (2 / 3 * L + math.sqrt(2 * L * u) + u) * growth

    found = widths(design, estimator, v, eps, T, delta)
    chu = math.sqrt(math.log(2 * T * K / delta) / 2)
    assert found.alpha == pytest.approx(alpha(v))
    assert found.tenth == pytest.approx(alpha(v / 10))
    assert found.bounded == pytest.approx(chu)
    assert found.scaled == pytest.approx(2 * v ** (1 / q) * chu)


# Repetitions.

SMALL = Design(
    np.array([[0.9, 0.1], [0.2, -0.6], [0.5, 0.5], [0.0, 0.7], [0.3, 0.3]]),
    np.array([[0.8, 0.6], [-0.4, 0.9], [1.0, 0.0]]),
    np.array([0.6, 0.5]),
)
LAWS = (
    noise.SymmetricPareto(1.6, 0.5),
    noise.Pareto(2.2, 1.0, centred=True),  # skewed, so that up and down differ
    noise.Extremal(3.0, 0.2),
)


def bin_of(value):
    """The first bin whose upper end is not below the value."""
    k = FLOOR
    while value > 10 ** (k / BINS):
        k += 1
    return k


def salted(seed, salt):
    """The noise of a seed, or what a salt makes of it."""
    if salt is None:
        return stream(seed, NOISE_STREAM)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(NOISE_STREAM, salt)))


def recount(trial, factor, reps, seed, salt=None):
    """What `repeat` counts, a repetition, an arm and a play at a time, as the paper has it."""
    design, law, plays, eps = trial.design, trial.noise, trial.plays, trial.eps
    V, X, theta = design.V, design.X, design.theta
    n, K = len(V), len(X)
    A_inv = np.linalg.inv(np.eye(V.shape[1]) + sum(np.outer(x, x) for x in V))
    A_all_inv = np.linalg.inv(np.eye(V.shape[1]) + plays * sum(np.outer(x, x) for x in V))
    beta = [[float(X[a] @ A_inv @ V[i]) for i in range(n)] for a in range(K)]
    c = [math.sqrt(X[a] @ A_inv @ X[a]) for a in range(K)]
    counts = Counter()
    high, low = [0] * K, [0] * K
    bins = {"largest": [], "single": [], "ridge": []}
    rng = salted(seed, salt)
    for _ in range(reps):
        Y = []
        for i in range(n):  # payoffs come a round after the other, all plays of a round together
            Y.append(law.payoffs(float(V[i] @ theta), law.draw(rng, plays)))
        off, moved, ridge, outside = [], [], [], []
        for a in range(K):
            truth = float(X[a] @ theta)
            bias = sum(beta[a][i] * float(V[i] @ theta) for i in range(n)) - truth
            estimates = [sum(beta[a][i] * Y[i][j] for i in range(n)) for j in range(plays)]
            if trial.estimator == "BMM":
                r_hat = sorted(estimates)[(plays - 1) // 2]
            else:
                h = sum(abs(b) ** (1 + eps) for b in beta[a]) ** (1 / (1 + eps))
                terms = [beta[a][i] * Y[i][0] for i in range(n)]
                kept = [z for z in terms if abs(z) <= h * (1 + TIE)]
                counts["truncated"] += n - len(kept)
                r_hat = sum(kept)
            off.append(abs(r_hat - truth) / c[a])
            moved.append(abs(r_hat - (truth + bias)) / c[a])
            pooled = sum(X[a] @ A_all_inv @ V[i] * Y[i][j] for i in range(n) for j in range(plays))
            ridge.append(abs(pooled - truth) / math.sqrt(X[a] @ A_all_inv @ X[a]))
            outside.append(abs(pooled - truth) > (factor.alpha + 1) * c[a])
            for estimate in estimates:
                single = (estimate - (truth + bias)) / c[a]
                high[a] += single > factor.alpha
                low[a] += single < -factor.alpha
                if a == 0:
                    bins["single"].append(bin_of(abs(single)))
        counts["misses"] += max(off) > factor.alpha + 1
        counts["noise"] += max(moved) > factor.alpha
        counts["tenth"] += max(off) > factor.tenth + 1
        counts["bounded"] += max(ridge) > factor.bounded + 1
        counts["scaled"] += max(ridge) > factor.scaled + 1
        counts["as_wide"] += any(outside)
        bins["largest"].append(bin_of(max(off)))
        bins["ridge"].append(bin_of(max(ridge)))
    return {
        **{name: counts[name] for name in COUNTED},
        "high": high,
        "low": low,
        "histograms": {kind: sorted(Counter(found).items()) for kind, found in bins.items()},
    }


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize(("estimator", "plays"), [("BMM", 4), ("BMM", 3), ("BTC", 1), ("BTC", 2)])
def test_repetitions_count_what_a_literal_recount_does(law, estimator, plays, monkeypatch):
    # with the printed widths little is ever missed, so that other widths are put in their place
    factor, reps = Widths(alpha=0.5, tenth=0.2, bounded=0.3, scaled=0.7), 60
    monkeypatch.setattr(coverage, "widths", lambda *_: factor)
    trial = Trial(SMALL, law, estimator, 0.5, 100, 0.1, plays)
    found, wanted = repeat(trial, reps, seed=3), recount(trial, factor, reps, seed=3)
    moment = SMALL.raw_moment if estimator == "BTC" else SMALL.central_moment
    assert found.pop("v") == moment(law, 0.5)
    assert found.pop("alpha") == 0.5
    assert found == wanted
    # the recount is worth something: nothing that is counted happens always or never
    for name in COUNTED[:-1]:
        assert 0 < wanted[name] < reps, name
    assert len({wanted[name] for name in ("misses", "noise", "tenth")}) == 3
    assert wanted["bounded"] != wanted["scaled"]
    assert (0 < wanted["truncated"] < 15 * reps) == (estimator == "BTC")
    assert min(wanted["high"] + wanted["low"]) > 0
    assert max(wanted["high"] + wanted["low"]) < plays * reps
    assert wanted["high"] != wanted["low"]


@pytest.mark.parametrize(("estimator", "plays"), [("BMM", 4), ("BMM", 7), ("BTC", 1)])
def test_many_repetitions_at_once_have_the_estimates_that_the_paper_s_algorithms_have(
    estimator, plays
):
    trial = Trial(coverage.line_design(30), noise.StudentT(3.0), estimator, 0.5, 99, 0.1, plays)
    V, X, rng = trial.design.V, trial.design.X, stream(0, NOISE_STREAM)
    Y = trial.design.means[:, None] + 9 * trial.noise.draw(rng, 20 * 30 * plays).reshape(20, 30, -1)
    found, _, dropped = coverage.estimates(trial, Y)
    assert (dropped > 0) == (estimator == "BTC")
    for r_hat, payoffs in zip(found, Y, strict=True):
        if estimator == "BMM":
            wanted, _ = paper.bmm(V, payoffs, X, 1.0)
        else:
            wanted, _ = paper.btc(V, payoffs[:, 0], X, 1.0, 0.5)
        np.testing.assert_allclose(r_hat, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("estimator", ["BMM", "BTC"])
def test_how_many_repetitions_are_computed_at_once_does_not_matter(estimator, monkeypatch):
    trial = Trial(SMALL, noise.SymmetricPareto(1.6), estimator, 0.5, 100, 0.1, 3)
    found = repeat(trial, 20, seed=3)
    monkeypatch.setattr(coverage, "TOGETHER", 7 * len(SMALL.V) * max(3, len(SMALL.X)))
    assert repeat(trial, 20, seed=3) == found


@pytest.mark.parametrize(
    ("estimator", "plays", "reps"), [("BMM", 1, 600), ("BMM", 2, 400), ("BTC", 1, 600)]
)
def test_repetitions_use_the_printed_widths_with_the_exact_moment(estimator, plays, reps):
    """The noise strikes rarely, so that one arm outside its own half-width has to be enough."""
    law = noise.Extremal.for_moment(1.0, 1 / 150, 1.0)
    trial = Trial(SMALL, law, estimator, 1.0, 6, 0.9, plays)
    v = 1.0 if estimator == "BMM" else 1 + max(float(x @ SMALL.theta) ** 2 for x in SMALL.V)
    factor = widths(SMALL, estimator, v, 1.0, 6, 0.9)
    found = repeat(trial, reps, seed=plays - 1)
    assert found.pop("v") == pytest.approx(v)
    assert found.pop("alpha") == pytest.approx(factor.alpha)
    assert found == recount(trial, factor, reps, seed=plays - 1)
    if plays == 2:
        assert 0 < found["as_wide"] < reps / 4
    elif estimator == "BMM":
        assert 0 < found["misses"] < found["tenth"]
        assert 0 < found["scaled"] < found["bounded"]


@pytest.mark.parametrize("salt", [None, 0, 1, 2**32 - 1])
@pytest.mark.parametrize("estimator", ["BMM", "BTC"])
def test_a_salt_is_another_stream_of_the_same_seed(estimator, salt, monkeypatch):
    factor, law = Widths(alpha=0.5, tenth=0.2, bounded=0.3, scaled=0.7), noise.StudentT(3.0)
    monkeypatch.setattr(coverage, "widths", lambda *_: factor)
    trial = Trial(SMALL, law, estimator, 1.0, 100, 0.1, 2)
    found = repeat(trial, 20, seed=3, salt=salt)
    assert found == repeat(trial, 20, seed=3, salt=salt)
    for name in ("v", "alpha"):
        del found[name]
    assert found == recount(trial, factor, 20, seed=3, salt=salt)


@pytest.mark.parametrize("estimator", ["BMM", "BTC"])
def test_no_two_salts_and_no_two_seeds_have_the_same_noise(estimator):
    trial = Trial(SMALL, noise.StudentT(3.0), estimator, 1.0, 100, 0.1, 2)
    pairs = [(seed, salt) for seed in range(4) for salt in (None, 0, 1, 7)]
    found = [repeat(trial, 20, *pair)["histograms"] for pair in pairs]
    for kind in ("largest", "single", "ridge"):
        assert len({str(one[kind]) for one in found}) == len(pairs)


@pytest.mark.parametrize("plays", [1, 4])
def test_repetitions_report_every_play_as_they_go(plays, monkeypatch):
    reported, trial = [], Trial(SMALL, noise.Gaussian(), "BMM", 1.0, 100, 0.1, plays)
    monkeypatch.setattr(coverage, "TOGETHER", 3 * 5 * max(plays, len(SMALL.X)))
    repeat(trial, 7, 0, report=reported.append)
    assert reported == [15 * plays, 15 * plays, 5 * plays]


def test_if_every_payoff_is_truncated_the_estimate_is_0_in_every_repetition():
    # n = 8, β = 1/9, ε = 1: h = β√8, so that 3 is above h/β = 2.83 and is dropped, 0 is kept.
    # The estimate is 0 for a mean of 1, c = ⅓: the error is 3c, in bin ⌈20 log₁₀ 3⌉ = 10.
    reps, law = 50, noise.TwoPointPayoff(1 / 3)
    found = repeat(Trial(coverage.same_design(8), law, "BTC", 1.0, 100, 0.1, 1), reps, seed=5)
    hits = int(np.count_nonzero(stream(5, NOISE_STREAM).random(8 * reps) < 1 / 3))
    assert found["v"] == pytest.approx(3)  # ⅓·3²
    assert found["histograms"]["largest"] == [(10, reps)]
    assert found["truncated"] == hits
    assert found["misses"] == 0  # α is above 2
    # at 2.8 nothing is dropped, and the estimate is the shrunk mean
    law = noise.TwoPointPayoff(1 / 2.8)
    found = repeat(Trial(coverage.same_design(8), law, "BTC", 1.0, 100, 0.1, 1), reps, 5)
    assert found["truncated"] == 0
    assert found["histograms"]["largest"] == found["histograms"]["ridge"] != [(10, reps)]


def test_without_any_noise_the_ridges_bias_is_all_that_is_left():
    # γ = 1: every payoff is 1. The estimate is n/(n+1), the error 1/9 = c/3, in bin ⌈−9.5⌉ = −9.
    law = noise.TwoPointPayoff(1.0)
    found = repeat(Trial(coverage.same_design(8), law, "BTC", 1.0, 99, 0.1, 1), 6, 0)
    assert found["histograms"] == {"largest": [(-9, 6)], "single": [(FLOOR, 6)], "ridge": [(-9, 6)]}
    assert not any(found[name] for name in COUNTED)
    assert (found["high"], found["low"]) == ([0], [0])


# Histograms.


def test_the_upper_end_of_a_bin_is_in_it_and_what_is_above_is_in_the_next():
    for k in range(FLOOR, 200):
        assert histogram(np.array([10 ** (k / BINS)])) == [(k, 1)]
        assert histogram(np.array([10 ** (k / BINS) * 1.0001])) == [(k + 1, 1)]


@given(st.lists(st.floats(0, 1e12), max_size=30))
def test_a_histogram_counts_every_value_once_where_it_belongs(values):
    found = histogram(np.array(values, dtype=float))
    ends = [10 ** (k / BINS) * (1 + 1e-9) for k, _ in found]
    assert [k for k, _ in found] == sorted({k for k, _ in found})
    assert all(count > 0 and k >= FLOOR for k, count in found)
    # as many values up to the end of a bin as there are in it and in those before it
    so_far = np.cumsum([count for _, count in found], dtype=int).tolist()
    assert so_far == [sum(value <= end for value in values) for end in ends]
    assert sum(count for _, count in found) == len(values)
    # and a bin is the narrowest: it has values above its lower end
    for k, count in found:
        lower = 10 ** ((k - 1) / BINS) if k > FLOOR else -1.0
        inside = [v for v in values if lower < v <= 10 ** (k / BINS) * (1 + 1e-9)]
        assert len(inside) >= count
