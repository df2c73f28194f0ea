"""Repetitions on fixed histories: designs, widths, and every count against a literal recount."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandit import instances, noise
from heavybandit.pipeline import spec as experiments
from heavybandit.pipeline import tables as results
from heavybandit.pipeline.spec import Case, Coverage, CoverageSpec, digest, recipe
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.sweep import run_group, sweep
from heavybandit.pipeline.tables import consolidate, load, verify
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, TIE, Floats, stream
from heavybandit.replication import coverage
from heavybandit.replication.catalogue import EXPERIMENTS
from heavybandit.replication.coverage import (
    BINS,
    DESIGNS,
    FLOOR,
    Design,
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
def test_a_design_has_n_contexts_then_k_arms_in_round_n_plus_1_none_longer_than_1(
    design: Design, shape: tuple[int, int, int]
) -> None:
    n, K, d = shape
    assert (design.V.shape, design.X.shape, design.theta.shape) == ((n, d), (K, d), (d,))
    assert design.t == n + 1
    for vectors in (design.V, design.X, design.theta[None]):
        assert np.linalg.norm(vectors, axis=1).max() <= 1 + 1e-12
    assert design.means == pytest.approx([float(x @ design.theta) for x in design.V])


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_is_the_same_every_time(name: str) -> None:
    one, other = DESIGNS[name](rounds=6), DESIGNS[name](rounds=6)
    for field in ("V", "X", "theta"):
        assert np.array_equal(getattr(one, field), getattr(other, field))


@pytest.mark.parametrize("name", ["section6", "line"])
def test_a_design_is_drawn_from_the_designs_seed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = DESIGNS[name](rounds=6)
    monkeypatch.setattr(coverage, "DESIGN_SEED", 2021)
    after = DESIGNS[name](rounds=6)
    assert not np.any(before.V == after.V)
    assert not np.any(before.X[:10] == after.X[:10])


def test_section_6_s_design_is_a_first_arm_a_round_and_then_all_arms_of_the_next() -> None:
    drawn = instances.section6().contexts(stream(2020, CONTEXT_STREAM), 0, 4, 1)
    design = coverage.section6_design(3)
    assert np.array_equal(design.V, [drawn[0][0], drawn[1][0], drawn[2][0]])
    assert np.array_equal(design.X, drawn[3])
    assert design.theta == pytest.approx(np.full(10, 10**-0.5))
    assert design.V.min() >= 0


def test_the_line_is_badly_conditioned_and_hides_half_of_theta() -> None:
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


def test_one_context_again_and_again_is_a_mean_that_is_shrunk_by_1_in_n_plus_1() -> None:
    design = coverage.same_design(8)
    assert design.beta() == pytest.approx(np.full((1, 8), 1 / 9))
    assert design.c() == pytest.approx([1 / 3])
    assert design.beta(plays=3) == pytest.approx(np.full((1, 8), 1 / 25))
    assert design.c(plays=3) == pytest.approx([1 / 5])
    assert design.means.tolist() == [1.0] * 8


@pytest.mark.parametrize("name", ["section6", "same"])
def test_a_history_of_no_rounds_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        DESIGNS[name](rounds=0)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.integers(1, 5))
def test_beta_and_c_are_those_of_a_history_in_which_every_play_is_a_row(
    seed: int, n: int, dim: int, plays: int
) -> None:
    rng = np.random.default_rng(seed)
    V, X, theta = (rng.uniform(-1, 1, size) for size in ((n, dim), (3, dim), (dim,)))
    design = Design(V, X, theta)
    stacked = np.vstack([V] * plays)
    A_inv = np.linalg.inv(np.eye(dim) + stacked.T @ stacked)
    for a in range(3):
        assert design.beta(plays)[a] == pytest.approx([X[a] @ A_inv @ x for x in V], abs=1e-12)
        assert design.c(plays)[a] == pytest.approx(math.sqrt(X[a] @ A_inv @ X[a]))
    once = np.linalg.inv(np.eye(dim) + V.T @ V)
    assert design.beta() == pytest.approx(X @ once @ V.T, abs=1e-12)
    assert design.c() == pytest.approx(np.sqrt(np.diag(X @ once @ X.T)))


def test_a_designs_moments_are_the_largest_in_its_history_by_hand() -> None:
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
def test_widths_are_the_printed_ones_at_the_round_after_the_history(
    estimator: str, v: float, eps: float, T: int, delta: float
) -> None:
    design, q, K = coverage.line_design(7, dim=3), 1 + eps, 13
    L, growth = math.log(2 * K * T * math.log(T) / delta), 8 ** ((1 - eps) / (2 * q))

    def alpha(u: float) -> float:
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


def bin_of(value: float) -> int:
    """The first bin whose upper end is not below the value."""
    k = FLOOR
    while value > 10 ** (k / BINS):
        k += 1
    return k


def salted(seed: int, salt: int | None) -> np.random.Generator:
    """The noise of a seed, or what a salt makes of it."""
    if salt is None:
        return stream(seed, NOISE_STREAM)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(NOISE_STREAM, salt)))


def recount(
    design: Design,
    law: noise.Noise,
    estimator: str,
    eps: float,
    factor: Widths,
    plays: int,
    reps: int,
    seed: int,
    salt: int | None = None,
) -> dict[str, Any]:
    """What `repeat` counts, a repetition, an arm and a play at a time, as the paper has it."""
    V, X, theta = design.V, design.X, design.theta
    n, K = len(V), len(X)
    A_inv = np.linalg.inv(np.eye(V.shape[1]) + sum(np.outer(x, x) for x in V))
    A_all_inv = np.linalg.inv(np.eye(V.shape[1]) + plays * sum(np.outer(x, x) for x in V))
    beta = [[float(X[a] @ A_inv @ V[i]) for i in range(n)] for a in range(K)]
    c = [math.sqrt(X[a] @ A_inv @ X[a]) for a in range(K)]
    counts: Counter[str] = Counter()
    high, low = [0] * K, [0] * K
    bins: dict[str, list[int]] = {"largest": [], "single": [], "ridge": []}
    rng = salted(seed, salt)
    for _ in range(reps):
        Y: list[Floats] = []
        for i in range(n):  # payoffs come a round after the other, all plays of a round together
            Y.append(law.payoffs(float(V[i] @ theta), law.draw(rng, plays)))
        off, moved, ridge, outside = [], [], [], []
        for a in range(K):
            truth = float(X[a] @ theta)
            bias = sum(beta[a][i] * float(V[i] @ theta) for i in range(n)) - truth
            estimates = [sum(beta[a][i] * Y[i][j] for i in range(n)) for j in range(plays)]
            if estimator == "BMM":
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
    names = ("misses", "noise", "tenth", "bounded", "scaled", "as_wide", "truncated")
    return {
        **{name: counts[name] for name in names},
        "high": high,
        "low": low,
        "histograms": {kind: sorted(Counter(found).items()) for kind, found in bins.items()},
    }


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize(("estimator", "plays"), [("BMM", 4), ("BMM", 3), ("BTC", 1), ("BTC", 2)])
def test_repetitions_count_what_a_literal_recount_does(
    law: noise.Noise, estimator: str, plays: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # with the printed widths little is ever missed, so that other widths are put in their place
    factor, reps = Widths(alpha=0.5, tenth=0.2, bounded=0.3, scaled=0.7), 60
    monkeypatch.setattr(coverage, "widths", lambda *_: factor)
    found = repeat(SMALL, law, estimator, 0.5, 100, 0.1, plays, reps, seed=3)
    wanted = recount(SMALL, law, estimator, 0.5, factor, plays, reps, seed=3)
    moment = SMALL.raw_moment if estimator == "BTC" else SMALL.central_moment
    assert found.pop("v") == moment(law, 0.5)
    assert found.pop("alpha") == 0.5
    assert found == wanted
    # the recount is worth something: nothing that is counted happens always or never
    for name in ("misses", "noise", "tenth", "bounded", "scaled", "as_wide"):
        assert 0 < wanted[name] < reps, name
    assert len({wanted[name] for name in ("misses", "noise", "tenth")}) == 3
    assert wanted["bounded"] != wanted["scaled"]
    assert (0 < wanted["truncated"] < 15 * reps) == (estimator == "BTC")
    assert min(wanted["high"] + wanted["low"]) > 0
    assert max(wanted["high"] + wanted["low"]) < plays * reps
    assert wanted["high"] != wanted["low"]


@pytest.mark.parametrize(("estimator", "plays"), [("BMM", 1), ("BTC", 1)])
def test_repetitions_use_the_printed_widths_with_the_exact_moment(
    estimator: str, plays: int
) -> None:
    law, reps = noise.Extremal.for_moment(1.0, 1 / 150, 1.0), 600
    v = 1.0 if estimator == "BMM" else 1 + max(float(x @ SMALL.theta) ** 2 for x in SMALL.V)
    factor = widths(SMALL, estimator, v, 1.0, 6, 0.9)
    found = repeat(SMALL, law, estimator, 1.0, 6, 0.9, plays, reps, seed=0)
    assert found.pop("v") == pytest.approx(v)
    assert found.pop("alpha") == pytest.approx(factor.alpha)
    assert found == recount(SMALL, law, estimator, 1.0, factor, plays, reps, seed=0)
    if estimator == "BMM":
        assert 0 < found["misses"] < found["tenth"]
        assert 0 < found["scaled"] < found["bounded"]


def test_ridge_regression_is_held_to_the_half_widths_of_the_algorithm_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """n = 8, payoffs of 20 once in 20: k of them make ridge's estimate 20k/(1 + 8·plays), for 1.

    α + 1 = 3.5 and c = ⅓ make the half-width 7/6. One play: 20k/9 − 1 exceeds it from k = 1 on.
    Three: 4k/5 − 1 does from k = 3 on; with its own c = ⅕ the 1 of k = 0 would exceed 7/10.
    """
    monkeypatch.setattr(coverage, "widths", lambda *_: Widths(2.5, 9.0, 9.0, 9.0))
    law, reps = noise.TwoPointPayoff(1 / 20), 80
    for plays, enough in ((1, 1), (3, 3)):
        found = repeat(coverage.same_design(8), law, "BMM", 1.0, 99, 0.1, plays, reps, seed=6)
        draws = stream(6, NOISE_STREAM).random((reps, 8 * plays))
        hits = np.count_nonzero(draws < 1 / 20, axis=1)
        assert found["as_wide"] == np.count_nonzero(hits >= enough)
        assert 0 < found["as_wide"] < np.count_nonzero(hits >= enough - 1)


def test_one_arm_outside_its_own_half_width_is_enough() -> None:
    """With the printed widths and a noise that strikes rarely, against the literal recount."""
    law, reps = noise.Extremal.for_moment(1.0, 1 / 150, 1.0), 400
    found = repeat(SMALL, law, "BMM", 1.0, 6, 0.9, 2, reps, seed=1)
    factor = widths(SMALL, "BMM", 1.0, 1.0, 6, 0.9)
    wanted = recount(SMALL, law, "BMM", 1.0, factor, 2, reps, seed=1)
    assert found["as_wide"] == wanted["as_wide"]
    assert 0 < found["as_wide"] < reps / 4


@pytest.mark.parametrize("salt", [None, 0, 1, 2**32 - 1])
@pytest.mark.parametrize("estimator", ["BMM", "BTC"])
def test_a_salt_is_another_stream_of_the_same_seed(
    estimator: str, salt: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    factor, law = Widths(alpha=0.5, tenth=0.2, bounded=0.3, scaled=0.7), noise.StudentT(3.0)
    monkeypatch.setattr(coverage, "widths", lambda *_: factor)
    found = repeat(SMALL, law, estimator, 1.0, 100, 0.1, 2, 20, seed=3, salt=salt)
    for name in ("v", "alpha"):
        del found[name]
    assert found == recount(SMALL, law, estimator, 1.0, factor, 2, 20, seed=3, salt=salt)


def test_no_two_salts_and_no_two_seeds_have_the_same_noise() -> None:
    def counted(seed: int, salt: int | None) -> str:
        found = repeat(SMALL, noise.StudentT(3.0), "BMM", 1.0, 100, 0.1, 2, 20, seed, salt)
        return str(found["histograms"])

    pairs = [(seed, salt) for seed in (0, 1) for salt in (None, 0, 1, 7)]
    assert len({counted(*pair) for pair in pairs}) == len(pairs)
    assert counted(1, 7) == counted(1, 7)


@pytest.mark.parametrize("estimator", ["BMM", "BTC"])
def test_repetitions_depend_on_the_seed_and_on_nothing_else(estimator: str) -> None:
    def counted(seed: int) -> dict[str, Any]:
        return repeat(SMALL, noise.StudentT(3.0), estimator, 1.0, 100, 0.1, 2, 20, seed)

    assert counted(1) == counted(1)
    kinds = [counted(seed)["histograms"] for seed in range(4)]
    for kind in ("largest", "single", "ridge"):
        assert len({str(found[kind]) for found in kinds}) == 4


@pytest.mark.parametrize("plays", [1, 4])
def test_repetitions_report_every_play_as_they_go(plays: int) -> None:
    reported: list[int] = []
    repeat(SMALL, noise.Gaussian(), "BMM", 1.0, 100, 0.1, plays, 7, 0, report=reported.append)
    assert reported == [5 * plays] * 7


def test_if_every_payoff_is_truncated_the_estimate_is_0_in_every_repetition() -> None:
    # n = 8, β = 1/9, ε = 1: h = β√8, so that 3 is above h/β = 2.83 and is dropped, 0 is kept.
    # The estimate is 0 for a mean of 1, c = ⅓: the error is 3c, in bin ⌈20 log₁₀ 3⌉ = 10.
    reps, law = 50, noise.TwoPointPayoff(1 / 3)
    found = repeat(coverage.same_design(8), law, "BTC", 1.0, 100, 0.1, 1, reps, seed=5)
    hits = int(np.count_nonzero(stream(5, NOISE_STREAM).random(8 * reps) < 1 / 3))
    assert found["v"] == pytest.approx(3)  # ⅓·3²
    assert found["histograms"]["largest"] == [(10, reps)]
    assert found["truncated"] == hits
    assert found["misses"] == 0  # α is above 2
    # at 2.8 nothing is dropped, and the estimate is the shrunk mean
    found = repeat(
        coverage.same_design(8), noise.TwoPointPayoff(1 / 2.8), "BTC", 1.0, 100, 0.1, 1, reps, 5
    )
    assert found["truncated"] == 0
    assert found["histograms"]["largest"] == found["histograms"]["ridge"] != [(10, reps)]


def test_without_any_noise_the_ridges_bias_is_all_that_is_left() -> None:
    # γ = 1: every payoff is 1. The estimate is n/(n+1), the error 1/9 = c/3, in bin ⌈−9.5⌉ = −9.
    found = repeat(coverage.same_design(8), noise.TwoPointPayoff(1.0), "BTC", 1.0, 99, 0.1, 1, 6, 0)
    assert found["histograms"] == {"largest": [(-9, 6)], "single": [(FLOOR, 6)], "ridge": [(-9, 6)]}
    for name in ("misses", "noise", "tenth", "bounded", "scaled", "as_wide", "truncated"):
        assert found[name] == 0
    assert (found["high"], found["low"]) == ([0], [0])


# Histograms.


@pytest.mark.parametrize(
    ("value", "k"),
    [(1.0, 0), (1.0001, 1), (10.0, 20), (2.0, 7), (0.5, -6), (0.0, -80), (1e-9, -80), (1e-4, -80)],
)
def test_known_values_are_in_their_bins(value: float, k: int) -> None:
    assert histogram(np.array([value])) == [(k, 1)]


def test_the_upper_end_of_a_bin_is_in_it_and_what_is_above_is_in_the_next() -> None:
    for k in range(FLOOR, 200):
        assert histogram(np.array([10 ** (k / BINS)])) == [(k, 1)]
        assert histogram(np.array([10 ** (k / BINS) * 1.0001])) == [(k + 1, 1)]


@given(st.lists(st.floats(0, 1e12), max_size=30))
def test_a_histogram_counts_every_value_once_where_it_belongs(values: list[float]) -> None:
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


# Experiments.

SECTION6 = Case(recipe("section6", rounds=5), recipe("StudentT", df=3.0), 1.0, 10_000, 0.01)
SPEC = CoverageSpec("BMM", SECTION6, reps=10, seed=4)


def test_a_round_has_as_many_plays_as_printed_one_for_btc_or_what_the_case_says() -> None:
    printed = math.ceil(8 * math.log(2 * 20 * 10_000 * math.log(10_000) / 0.01))
    assert SPEC.plays_a_round == printed
    assert SPEC.plays == 10 * 5 * printed
    truncating = dataclasses.replace(SPEC, estimator="BTC")
    assert (truncating.plays_a_round, truncating.plays) == (1, 10 * 5)
    for estimator in coverage.ESTIMATORS:
        few = CoverageSpec(estimator, dataclasses.replace(SECTION6, plays=7), 10, 4)
        assert (few.plays_a_round, few.plays) == (7, 10 * 5 * 7)


@pytest.mark.parametrize("name", ["bmm", "SupBMM", ""])
def test_an_unknown_estimator_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"estimator .*BMM.*BTC.*{name!r}"):
        CoverageSpec(name, SECTION6, 10, 0)


CHANGES: dict[str, Callable[[CoverageSpec], CoverageSpec]] = {
    "estimator": lambda spec: dataclasses.replace(spec, estimator="BTC"),
    "reps": lambda spec: dataclasses.replace(spec, reps=11),
    "seed": lambda spec: dataclasses.replace(spec, seed=5),
    **{
        field: lambda spec, field=field, value=value: dataclasses.replace(  # type: ignore[misc]
            spec, case=dataclasses.replace(spec.case, **{field: value})
        )
        for field, value in {
            "design": recipe("section6", rounds=6),
            "noise": recipe("StudentT", df=3.5),
            "eps": 0.5,
            "horizon": 10_001,
            "delta": 0.02,
            "plays": 8,
        }.items()
    },
}


def test_every_field_is_part_of_a_runs_identity() -> None:
    fields = {field.name for kind in (CoverageSpec, Case) for field in dataclasses.fields(kind)}
    assert set(CHANGES) == fields - {"case"}
    # with plays given, so that no change shows up in the number of plays alone
    given_plays = CoverageSpec("BMM", dataclasses.replace(SECTION6, plays=7), 10, 4)
    changed = [change(given_plays).key for change in CHANGES.values()]
    assert len({given_plays.key, *changed}) == 1 + len(CHANGES)


def test_a_run_names_how_it_was_counted_and_not_the_engine_that_it_does_not_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert SPEC.as_json()["counting"] == coverage.COUNTING
    assert "engine" not in SPEC.as_json()
    key, salt = SPEC.key, SPEC.salt
    monkeypatch.setattr(experiments, "ENGINE_VERSION", experiments.ENGINE_VERSION + 1)
    assert (SPEC.key, SPEC.salt) == (key, salt)
    monkeypatch.setattr(coverage, "COUNTING", coverage.COUNTING + 1)
    assert SPEC.key != key


def test_every_case_has_a_salt_of_its_own_that_its_seeds_and_repetitions_share() -> None:
    given_plays = CoverageSpec("BMM", dataclasses.replace(SECTION6, plays=7), 10, 4)
    salts = {field: change(given_plays).salt for field, change in CHANGES.items()}
    assert {field for field, salt in salts.items() if salt == given_plays.salt} == {"reps", "seed"}
    assert len(set(salts.values())) == len(CHANGES) - 1
    assert all(0 <= salt < 2**32 for salt in salts.values())


def test_a_salt_is_the_first_eight_digits_of_the_cases_checksum() -> None:
    written_out = (
        f'{{"counting":{coverage.COUNTING},"delta":0.01,'
        '"design":{"name":"section6","params":{"rounds":5.0}},"eps":1.0,"estimator":"BTC",'
        '"horizon":10000,"noise":{"name":"StudentT","params":{"df":3.0,"scale":1.0}},"plays":1}'
    )
    checksum = hashlib.sha256(written_out.encode()).hexdigest()
    assert CoverageSpec("BTC", SECTION6, 10, 4).salt == int(checksum[:8], 16)


@pytest.mark.parametrize("name", ["prop1", "prop2"])
def test_no_two_cases_of_an_experiment_draw_the_same_noise(name: str) -> None:
    salts = {run.case: run.salt for run in EXPERIMENTS[name].runs()}  # type: ignore[union-attr]
    assert len(salts) > 50
    assert len(set(salts.values())) == len(salts)


def test_what_is_said_and_what_goes_without_saying_are_the_same_run() -> None:
    said = dataclasses.replace(
        SECTION6,
        noise=recipe("StudentT", df=3, scale=1),
        plays=SPEC.plays_a_round,
    )
    assert CoverageSpec("BMM", said, 10, 4).key == SPEC.key
    with_default, spelled = recipe("same"), recipe("same", rounds=2_500)
    keys = {
        CoverageSpec("BTC", dataclasses.replace(SECTION6, design=d), 1, 0).key
        for d in (with_default, spelled)
    }
    assert len(keys) == 1


def test_a_run_is_called_by_all_that_tells_it_apart() -> None:
    assert SPEC.text() == (
        "BMM on section6(rounds=5) with StudentT(df=3.0), eps 1.0, horizon 10000, seed 4"
    )


TINY_CASES = (
    Case(recipe("section6", rounds=5), recipe("StudentT", df=3.0), 1.0, 6, 0.9),
    Case(recipe("same", rounds=50), recipe("SymmetricPareto", shape=1.6), 0.5, 51, 0.9, 3),
)
TINY = {
    estimator: Coverage(
        name="tiny",
        what="for tests",
        estimator=estimator,
        cases=TINY_CASES,
        reps=8,
        seeds=2,
        first_seed=5,
    )
    for estimator in coverage.ESTIMATORS
}
by_estimator = pytest.mark.parametrize("estimator", coverage.ESTIMATORS)


@by_estimator
def test_descriptions_survive_json(estimator: str) -> None:
    for what in (SPEC, TINY[estimator], *TINY[estimator].runs()):
        described = what.as_json()
        assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert TINY[estimator].as_json()["cases"][1]["estimator"] == estimator
    assert TINY[estimator].as_json()["cases"][1]["plays"] == 3


def test_a_description_names_every_field_of_an_experiment_but_its_sentence() -> None:
    tiny = TINY["BMM"]
    changes: dict[str, Any] = {
        "name": "other",
        "estimator": "BTC",
        "cases": TINY_CASES[:1],
        "reps": 9,
        "seeds": 3,
        "first_seed": 6,
    }
    assert {*changes, "what"} == {field.name for field in dataclasses.fields(Coverage)}
    changed = {digest(dataclasses.replace(tiny, **{k: v}).as_json()) for k, v in [*changes.items()]}
    assert len({digest(tiny.as_json()), *changed}) == 1 + len(changes)
    assert dataclasses.replace(tiny, what="reworded").as_json() == tiny.as_json()


def test_more_seeds_add_runs_and_leave_the_others_as_they_are() -> None:
    few, more = TINY["BMM"], dataclasses.replace(TINY["BMM"], seeds=4)
    assert few.as_json()["cases"] == more.as_json()["cases"]
    assert (few.as_json()["seeds"], more.as_json()["seeds"]) == (2, 4)
    assert {run.key for run in few.runs()} < {run.key for run in more.runs()}
    assert (few.curve_seeds, more.curve_seeds) == (2, 4)
    assert all("seed" not in case for case in few.as_json()["cases"])


def test_every_run_goes_alone_a_case_after_the_other_and_its_seeds_in_order() -> None:
    groups = list(TINY["BTC"].groups())
    assert [len(group) for group in groups] == [1] * 4
    assert [(run.case, run.seed) for (run,) in groups] == [
        (TINY_CASES[0], 5),
        (TINY_CASES[0], 6),
        (TINY_CASES[1], 5),
        (TINY_CASES[1], 6),
    ]
    assert TINY["BTC"].runs() == [run for (run,) in groups]
    assert all((run.estimator, run.reps) == ("BTC", 8) for (run,) in groups)
    assert len({run.key for (run,) in groups}) == 4
    assert all(run.group == run.key for (run,) in groups)


# From a sweep to a verification.


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with all runs of both TINYs."""
    store = Store(tmp_path_factory.mktemp("store"))
    for experiment in TINY.values():
        sweep(experiment, store, progress=False)
    return store


@pytest.fixture
def data(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A folder with a TINY's results, BMM's unless said otherwise, and it among EXPERIMENTS."""
    tiny = TINY[getattr(request, "param", "BMM")]
    monkeypatch.setitem(EXPERIMENTS, "tiny", tiny)
    consolidate(tiny, filled, tmp_path / "data")
    return tmp_path / "data"


both_estimators = pytest.mark.parametrize("data", coverage.ESTIMATORS, indirect=True)


def seal_again(data: Path) -> None:
    """Make the sidecar's checksums match whatever the files are now."""
    sidecar = json.loads((data / "tiny.json").read_text())
    for name in sidecar["files"]:
        sidecar["files"][name] = hashlib.sha256((data / name).read_bytes()).hexdigest()
    (data / "tiny.json").write_text(json.dumps(sidecar))


def change_a_digit(data: Path, name: str, line: int, column: str) -> None:
    """Change the last digit of one number."""
    rows = list(csv.reader((data / name).read_text().splitlines()))
    cell = rows[0].index(column)
    old = rows[line][cell]
    rows[line][cell] = old[:-1] + str((int(old[-1]) + 1) % 10)
    with (data / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


@both_estimators
def test_results_of_a_sweep_have_no_differences(data: Path) -> None:
    experiment = EXPERIMENTS["tiny"]
    check = verify(data, seed=0, plays=math.inf)
    assert check.differences == []
    assert (check.runs, check.plays) == (4, sum(run.plays for run in experiment.runs()))


@both_estimators
def test_every_line_says_what_repeat_does(data: Path) -> None:
    rows, curves = load("tiny", data)
    runs = [run for run in EXPERIMENTS["tiny"].runs() if isinstance(run, CoverageSpec)]
    lines: list[dict[str, str]] = []
    for i, (row, run) in enumerate(zip(rows, runs, strict=True)):
        first = run.case == TINY_CASES[0]
        design = coverage.section6_design(5) if first else coverage.same_design(50)
        law = noise.StudentT(3.0) if first else noise.SymmetricPareto(1.6)
        eps, T, plays = (1.0, 6, run.plays_a_round) if first else (0.5, 51, 3)
        found = repeat(design, law, run.estimator, eps, T, 0.9, plays, 8, run.seed, run.salt)
        assert row == {
            "run": str(i),
            "estimator": run.estimator,
            "design": "section6(rounds=5)" if first else "same(rounds=50)",
            "rounds": "5" if first else "50",
            "arms": "20" if first else "1",
            "law": "StudentT(df=3.0)" if first else "SymmetricPareto(shape=1.6)",
            "eps": "1" if first else "0.5",
            "v": f"{found['v']:.9g}",
            "horizon": str(T),
            "delta": "0.9",
            "plays": str(plays),
            "alpha": f"{found['alpha']:.9g}",
            "seed": str(5 + i % 2),
            "reps": "8",
            **{name: str(found[name]) for name in results.COVERED},
            **{name: " ".join(map(str, found[name])) for name in ("high", "low")},
        }
        for kind in ("largest", "ridge", "single"):
            for k, count in found["histograms"][kind]:
                lines.append({"run": str(i), "kind": kind, "bin": str(k), "count": str(count)})
    assert curves == lines


@both_estimators
@pytest.mark.parametrize(
    ("name", "line", "column", "words"),
    [
        *(
            ("tiny.runs.csv", 2, column, ["run 1", "section6(rounds=5)", "seed 6", "row"])
            for column in ("v", "alpha", "reps", *results.COVERED, "high", "low")
        ),
        ("tiny.runs.csv", 4, "misses", ["run 3", "same(rounds=50)", "seed 6", "row"]),
        ("tiny.curves.csv", 2, "count", ["run 0", "section6(rounds=5)", "seed 5", "curve"]),
        ("tiny.curves.csv", 2, "bin", ["run 0", "StudentT(df=3.0)", "seed 5", "curve"]),
        ("tiny.curves.csv", -1, "count", ["run 3", "SymmetricPareto", "seed 6", "curve"]),
    ],
)
def test_a_changed_count_is_found_by_checksum_and_by_repeating(
    data: Path, name: str, line: int, column: str, words: list[str]
) -> None:
    change_a_digit(data, name, line, column)
    by_checksum = verify(data, seed=0, plays=math.inf)
    assert by_checksum.runs == 0
    assert len(by_checksum.differences) == 1
    assert "checksum" in by_checksum.differences[0]

    seal_again(data)
    by_repeating = verify(data, seed=0, plays=math.inf)
    assert by_repeating.runs == 4
    assert len(by_repeating.differences) == 1
    for word in words:
        assert word in by_repeating.differences[0]


def test_a_histogram_left_out_is_found_even_if_the_checksum_matches(data: Path) -> None:
    lines = (data / "tiny.curves.csv").read_text().splitlines(keepends=True)
    (data / "tiny.curves.csv").write_text(
        "".join(x for x in lines if not x.startswith("3,single,"))
    )
    seal_again(data)
    assert verify(data, seed=0, plays=math.inf).differences != []


@by_estimator
def test_a_sweep_counts_as_many_plays_as_its_runs_say(estimator: str) -> None:
    for run in TINY[estimator].runs():
        reported: list[int] = []
        run_group([run], reported.append)
        assert sum(reported) == run.plays


def test_what_cannot_be_is_refused_at_the_door() -> None:
    with pytest.raises(ValueError, match="rounds"):
        coverage.line_design(0)
    with pytest.raises(ValueError, match="estimator must be one of"):
        coverage.repeat(coverage.same_design(2), noise.StudentT(), "OLS", 1.0, 10, 0.1, 1, 1, 0)
    design, law = recipe("same", rounds=2), recipe("StudentT")
    with pytest.raises(ValueError, match="plays"):
        CoverageSpec("BMM", Case(design, law, 1.0, 10, 0.1, -1), 1, 0)
    whole, real = (CoverageSpec("BMM", Case(design, law, eps, 10, 0.5), 1, 0) for eps in (1, 1.0))
    assert whole.key == real.key
