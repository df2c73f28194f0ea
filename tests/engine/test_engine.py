"""The engine: closed forms by hand, its building blocks against NumPy, and the same bits again."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

import heavybandit as hb
from heavybandit.engine import _cache, lanes, linear, medians, truncation
from heavybandit.engine import state as names
from heavybandit.engine.lanes import LANES
from heavybandit.engine.state import R_HAT, THETA_NOW, WIDTH, new_state
from heavybandit.noise import StudentT, SymmetricPareto
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, TIE, stream

PAPER = ("SupBMM", "SupBTC", "FlatBMM", "FlatBTC", "MoM", "CRT", "MENU", "TOFU")
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB", "Blind")
LATER = ("HeavyOFUL", "HvtUCB", "ClippedUCB")
KNOW_A_MOMENT = (*PAPER, "HeavyOFUL", "HvtUCB")
SEVERAL_PLAYS = ("SupBMM", "FlatBMM", "MENU", "MoM")


def build(name: str, n_arms: int, dim: int, *, long: bool = True, **more: Any) -> Any:
    """A policy with narrow widths, so that it does something in a short run."""
    horizon = (40_000 if long else 2_500) if name in SEVERAL_PLAYS else (600 if long else 100)
    if name in KNOW_A_MOMENT:
        more = {"v": 1.0, "width_scale": 0.1 if name == "SupBMM" else 0.02, **more}
    if name in ("FlatBMM", "MENU") and not long:
        horizon, more["constants"] = 600, "circulated"
    return getattr(hb, name)(horizon, n_arms, dim, **more)


# Closed forms in one dimension. After n plays of x = 1: A = 1 + n, so A⁻¹x = x/(1+n).


def fed(policy: Any, rounds: Iterable[Any]) -> Any:
    """The policy after rounds in which every arm offered x = 1 and paid this."""
    for payoffs in rounds:
        assert policy.select(np.ones((policy.n_arms, 1))) == 0
        policy.update(payoffs)
    return policy


def bounds(policy: Any, *contexts: float) -> tuple[np.ndarray, np.ndarray]:
    """r̂ and w, as a compiled policy without stages computes them for these contexts."""
    policy.select(np.array(contexts).reshape(-1, 1))
    line = policy._state.line[:, : len(contexts)].copy()
    return line[R_HAT], line[WIDTH]


def literal_bounds(policy: Any) -> tuple[float, float]:
    """θ̂ and β/√A of a literal baseline in one dimension: r̂ and w of x = 1."""
    V, Y = policy._history()
    A = np.eye(1) + V.T @ V
    return float(policy._estimate(A, V, Y)[0]), policy._beta(A) / math.sqrt(A[0, 0])


def growth(t: int, eps: float) -> float:
    """t^{(1−ε)/(2(1+ε))}."""
    return t ** ((1 - eps) / (2 * (1 + eps)))


@pytest.mark.parametrize(("eps", "estimate"), [(1.0, -0.2), (0.5, 0.3)])
def test_btc_drops_payoffs_above_the_norm_of_ones(eps: float, estimate: float) -> None:
    """n = 4, A = 5, β = 1/5, h = 4^{1/(1+ε)}/5: payoffs up to 2, or 2.52, of 1, −2, 2.5, 3 count.

    The sums are 1 − 2 = −1 and 1 − 2 + 2.5 = 1.5; −2 is exactly at the threshold for ε = 1.
    """
    y = np.array([1.0, -2.0, 2.5, 3.0])
    r_hat, w = hb.paper.btc(np.ones((4, 1)), y, np.array([[1.0], [-0.5]]), 6.0, eps)
    np.testing.assert_allclose(r_hat, [estimate, -estimate / 2], rtol=1e-14)
    np.testing.assert_allclose(w, [7 / math.sqrt(5), 3.5 / math.sqrt(5)], rtol=1e-14)
    r_hat, _ = bounds(fed(hb.FlatBTC(100, 2, 1, eps=eps, v=1.0), y), 1.0, -0.5)
    np.testing.assert_allclose(r_hat, [estimate, -estimate / 2], rtol=1e-14)


@settings(max_examples=60)
@given(
    eighths=st.lists(st.integers(-400, 400), min_size=1, max_size=150),
    eps=st.sampled_from([1.0, 0.7, 0.5, 0.25]),
)
def test_btc_in_one_dimension_is_the_mean_of_payoffs_up_to_a_root_of_n(
    eighths: list[int], eps: float
) -> None:
    """r̂ = Σ y 1{|y| ≤ n^{1/(1+ε)}}/(1+n) and w = (α+1)/√(1+n), α at round n+1."""
    y, n, T, v, delta = np.array(eighths) / 8, len(eighths), 1000, 1.5, 0.01
    kept = y[np.abs(y) <= n ** (1 / (1 + eps)) * (1 + TIE)]
    L = math.log(2 * T * 3 * math.log(T) / delta)
    alpha = (2 / 3 * L + math.sqrt(2 * L * v) + v) * growth(n + 1, eps)
    wanted = kept.sum() / (1 + n), (alpha + 1) / math.sqrt(1 + n)
    literal = hb.paper.btc(np.ones((n, 1)), y, np.ones((1, 1)), alpha, eps)
    np.testing.assert_allclose(np.ravel(literal), wanted, rtol=1e-12, atol=1e-12)
    policy = fed(hb.FlatBTC(T, 3, 1, eps=eps, v=v, delta=delta), y)
    r_hat, w = bounds(policy, 1.0, 0.25, -1.0)
    np.testing.assert_allclose(r_hat, wanted[0] * np.array([1, 0.25, -1]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(w, wanted[1] * np.array([1, 0.25, 1]), rtol=1e-12)


def test_bmm_is_the_median_of_its_columns() -> None:
    """Two rounds, A = 3, columns sum to 3, −6, 9: estimates 1, −2, 3 and their median 1."""
    Y = np.array([[1.0, -5.0, 4.0], [2.0, -1.0, 5.0]])
    r_hat, w = hb.paper.bmm(np.ones((2, 1)), Y, np.array([[1.0], [-1.0], [0.5]]), alpha=6.0)
    np.testing.assert_allclose(r_hat, [1.0, -1.0, 0.5], rtol=1e-14)
    np.testing.assert_allclose(w, 7 / math.sqrt(3) * np.array([1, 1, 0.5]), rtol=1e-14)


def test_bmm_of_an_even_count_is_the_lower_median() -> None:
    """T = 10⁵, K = 2: r = ⌈8 ln(4·10⁵ ln(10⁵)/0.01)⌉ = ⌈159.6⌉ = 160. One round that paid 1 … 160
    makes the estimates j/2; the 80th is 40. For x = −1 the 80th of −80 … −1/2 is −40.5."""
    payoffs = np.random.default_rng(0).permutation(160) + 1.0
    r_hat, _ = hb.paper.bmm(np.ones((1, 1)), payoffs[None], np.array([[1.0], [-1.0]]), 1.0)
    assert r_hat.tolist() == [40.0, -40.5]
    policy = hb.FlatBMM(100_000, 2, 1, v=3.0)
    assert policy.plays == 160
    r_hat, w = bounds(fed(policy, [payoffs]), 1.0, -1.0)
    assert r_hat.tolist() == [40.0, -40.5]
    np.testing.assert_allclose(w, 7 / math.sqrt(2), rtol=1e-14)  # α = √36


@settings(max_examples=25)
@given(seed=st.integers(0, 999), n=st.integers(1, 12), eps=st.sampled_from([1.0, 0.5]))
def test_bmm_in_one_dimension_is_the_lower_median_of_means(seed: int, n: int, eps: float) -> None:
    """r̂ = lower median of column sums/(1+n), w = ((12v)^{1/(1+ε)} t^… + 1)/√(1+n)."""
    policy = hb.FlatBMM(60_000, 2, 1, v=3.0, eps=eps)
    Y = np.random.default_rng(seed).standard_t(2, size=(n, policy.plays))
    wanted = np.sort(Y.sum(axis=0))[(policy.plays - 1) // 2] / (1 + n)
    alpha = 36 ** (1 / (1 + eps)) * growth(n + 1, eps)
    r_hat, w = bounds(fed(policy, Y), 1.0, 0.5)
    np.testing.assert_allclose(r_hat[0], wanted, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(w, (alpha + 1) / math.sqrt(1 + n) * np.array([1, 0.5]), rtol=1e-12)


@pytest.mark.parametrize("module", [hb, hb.paper])
def test_schedules_of_the_masters_by_hand(module: Any) -> None:
    """T = 10⁵, K = 20, δ = 0.01: 8 ln(4·10⁶ · 11.5129/0.01) = 178.004, so r = 179, T₀ = 558, and
    ln 558 = 6.32 gives S = 6; SupBTC has ln 10⁵ = 11.5 and S = 11."""
    bmm = module.SupBMM(100_000, 20, 10, v=3.0)
    assert (bmm.plays, bmm.rounds, bmm.n_stages) == (179, 558, 6)
    btc = module.SupBTC(100_000, 20, 10, v=4.0)
    assert (btc.plays, btc.rounds, btc.n_stages) == (1, 100_000, 11)
    assert module.SupBTC(3, 20, 10, v=4.0).n_stages == 1
    assert module.SupBTC(2980, 20, 10, v=4.0).n_stages == 7  # e⁸ = 2980.96
    assert module.SupBTC(2981, 20, 10, v=4.0).n_stages == 8


def test_the_masters_exploit_at_one_over_the_root_of_their_rounds() -> None:
    assert hb.SupBMM(100_000, 20, 10, v=3.0)._state.num[names.LEVEL] == 1 / math.sqrt(558)
    assert hb.SupBTC(100_000, 20, 10, v=4.0)._state.num[names.LEVEL] == 1 / math.sqrt(100_000)


def unit_width_supbtc(module: Any, width: float) -> Any:
    """SupBTC of horizon 100, one arm, one dimension, whose width is width/√(1+n) in each stage."""
    L = math.log(2 * 100 * math.log(100) / 0.01)
    alpha = 2 / 3 * L + math.sqrt(2 * L * 4) + 4
    return module.SupBTC(100, 1, 1, v=4.0, width_scale=width / (alpha + 1))


@pytest.mark.parametrize(
    ("width", "explored", "exploited"),
    [(1.0, [3, 15, 63, 19], [0, 0, 0, 0]), (1 / 8, [0, 0, 0, 1], [0, 0, 0, 99])],
)
def test_a_stage_of_supbtc_explores_until_its_width_is_two_to_the_minus_s(
    width: float, explored: list[int], exploited: list[int]
) -> None:
    """T = 100, S = 4. Width 1/√(1+n) is at most 2^{-s} after 4^s − 1 rounds: 3, 15, 63, and 19
    are left. Width 1/8/√(1+n) is small enough for three stages from the start; one round brings
    stage 4 to 1/8/√2 = 0.088, which is below 1/√100, so that the other 99 rounds exploit."""
    policy = unit_width_supbtc(hb, width)
    literal = unit_width_supbtc(hb.paper, width)
    for _ in range(100):
        policy.select([[1.0]])
        policy.update(0.5)
        literal.select([[1.0]])
        literal.update(0.5)
    assert policy.diagnostics["explored"] == explored
    assert policy.diagnostics["exploited"] == exploited
    assert [len(Psi) for Psi in literal._Psi[1:]] == explored


def test_a_stage_of_supbmm_explores_until_its_width_is_two_to_the_minus_s() -> None:
    """v = 3 makes α + 1 = √36 + 1 = 7, so scale 1/7 makes the width 1/√(1+n). T = 15 400, K = 1:
    r = ⌈8 ln(2 · 15 400 · 9.642/0.01)⌉ = 138, T₀ = 111, S = 4: 3, 15, 63, and 30 are left."""
    policy = hb.SupBMM(15_400, 1, 1, v=3.0, width_scale=1 / 7)
    literal = hb.paper.SupBMM(15_400, 1, 1, v=3.0, width_scale=1 / 7)
    assert (policy.plays, policy.rounds, policy.n_stages) == (138, 111, 4)
    for either in (policy, literal):
        for _ in range(111):
            either.select([[1.0]])
            either.update(np.zeros(138))
    assert policy.diagnostics["explored"] == [3, 15, 63, 30]
    assert policy.diagnostics["visited"] == [111, 108, 93, 30]
    assert [len(Psi) for Psi in literal._Psi[1:]] == [3, 15, 63, 30]


@pytest.mark.parametrize("module", [hb, hb.paper])
@pytest.mark.parametrize(("pays", "stages_survived"), [(1.5, 0), (4 / 3, 1), (1.2, 1), (8 / 15, 2)])
def test_a_master_keeps_the_arms_within_two_to_the_one_minus_s_of_the_best(
    module: Any, pays: float, stages_survived: int
) -> None:
    """Contexts e₁, e₂, widths 1/√(1+n), and only e₂ pays. Stage s plays each surviving arm 4^s − 1
    times; then r̂ of e₂ is pays·(1 − 4^{-s}), none of it truncated, and e₁'s is 0. So e₁ falls
    after stage 1 if ¾·pays > 1, after stage 2 if 15/16·pays > ½; at equality it stays."""
    L = math.log(2 * 2 * 100 * math.log(100) / 0.01)
    alpha = 2 / 3 * L + math.sqrt(2 * L * 4) + 4
    policy = module.SupBTC(100, 2, 2, v=4.0, width_scale=1 / (alpha + 1))
    arms = []
    for _ in range(99):
        arms.append(policy.select(np.eye(2)))
        policy.update(pays if arms[-1] == 1 else 0.0)
    played = [3 * [0], 3 * [1], 15 * [0], 15 * [1], 63 * [0]][: 2 * stages_survived + 2]
    assert arms == [*itertools.chain(*played), *99 * [1]][:99]


THREE = [  # estimates in one dimension, and the one with the smallest median distance
    ([0.0, 1.0, 5.0], 0),  # medians 1, 1, 4: the lowest index of the tie
    ([0.0, 2.0, 3.0], 1),  # 2, 1, 1
    ([9.0, 4.0, 3.5], 1),  # 5, 0.5, 0.5
    ([7.0, 7.5, 7.0], 0),  # 0 (a pair of equals), 0.5, 0
]


def menu_state(theta: np.ndarray, A: np.ndarray) -> Any:
    """A compiled MENU that has come to these estimates (d, k)."""
    d, k = theta.shape
    state = new_state(kind=names.MENU, n_arms=1, dim=d, plays=k, columns=k)
    state.A_inv[0] = np.linalg.inv(A)
    state.b[0] = A @ theta
    return state


def literal_menu(theta: np.ndarray, A: np.ndarray) -> np.ndarray:
    """θ̂ of the literal MENU with k = 3: V = I and Y = Aθ̃ make VᵀY = Aθ̃."""
    d, k = theta.shape
    policy = hb.paper.MENU(60_000, 1, d, v=1.0)
    policy.plays = k
    return policy._estimate(A, np.eye(d), A @ theta)


@pytest.mark.parametrize(("estimates", "chosen"), THREE)
def test_menu_chooses_the_estimate_in_the_middle(estimates: list[float], chosen: int) -> None:
    theta, A = np.array([estimates]), np.array([[4.0]])
    state = menu_state(theta, A)
    medians.menu_estimate(state)
    assert state.vector[THETA_NOW, 0] == pytest.approx(estimates[chosen], abs=1e-14)
    assert literal_menu(theta, A)[0] == pytest.approx(estimates[chosen], abs=1e-14)


def test_menu_measures_distances_in_the_norm_of_A() -> None:
    """(1,0), (0,0), (0,1.5) with A = diag(4,1): distances 2, 1.5, 2.5 and medians 2, 1.5, 1.5,
    so the second; with A = I they would be 1, 1.5, 1.8, the medians 1, 1, 1.5, so the first."""
    theta = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.5]])
    for A, chosen in ((np.diag([4.0, 1.0]), 1), (np.eye(2), 0)):
        state = menu_state(theta, A)
        medians.menu_estimate(state)
        np.testing.assert_allclose(state.vector[THETA_NOW], theta[:, chosen], atol=1e-14)
        np.testing.assert_allclose(literal_menu(theta, A), theta[:, chosen], atol=1e-14)


def test_tofu_in_one_dimension_drops_payoffs_above_its_threshold_and_takes_them_up_again() -> None:
    """v = ln(2T/δ) makes b_t = 1 for ε = 1, so payoffs up to √(1+n) count. After 1, 2.5, −1.5 that
    is 2: θ̂ = (1 − 1.5)/4. Three zeros later it is √7 = 2.65: θ̂ = (1 + 2.5 − 1.5)/7."""
    v = math.log(2 * 1000 / 0.01)
    policy, literal = (module.TOFU(1000, 1, 1, v=v) for module in (hb, hb.paper))
    policy.audit()  # with a single arm no estimate would be needed
    for payoffs, estimate in (([1.0, 2.5, -1.5], -0.125), ([0.0] * 3, 2 / 7)):
        fed(policy, payoffs)
        fed(literal, payoffs)
        assert bounds(policy, 1.0)[0][0] == pytest.approx(estimate, abs=1e-14)
        assert literal_bounds(literal)[0] == pytest.approx(estimate, abs=1e-14)
    assert policy.diagnostics["truncated"] == 4  # 2.5, in rounds 3 to 6: √6 = 2.45


@pytest.mark.parametrize("width_scale", [1.0, 3.0])
@pytest.mark.parametrize("eps", [1.0, 0.5])
def test_tofu_does_without_some_roots_and_nothing_changes(eps: float, width_scale: float) -> None:
    world = hb.section6(SymmetricPareto(shape=1.8, scale=0.3), n_arms=6, dim=3)
    lazy, thorough = (
        hb.TOFU(3000, 6, 3, v=4.0, eps=eps, width_scale=width_scale) for _ in range(2)
    )
    thorough.audit()
    one, other = (hb.simulate(p, world, seed=3, keep_arms=True) for p in (lazy, thorough))
    np.testing.assert_array_equal(one.arms, other.arms)
    for same in ("intervals", "intervals_missed", "suspects", "most_suspects"):
        assert one.diagnostics[same] == other.diagnostics[same]
    assert one.diagnostics["matrix_roots"] < other.diagnostics["matrix_roots"] - 50


def test_tofu_copes_with_widths_that_vanish() -> None:
    world = hb.section6(SymmetricPareto(shape=1.8, scale=0.3), n_arms=6, dim=3)
    settings = {"horizon": 300, "n_arms": 6, "dim": 3, "v": 4.0, "width_scale": 5e-324}
    ours, literal = (
        hb.simulate(module.TOFU(constants="circulated", **settings), world, 3, keep_arms=True)
        for module in (hb, hb.paper)
    )
    np.testing.assert_array_equal(ours.arms, literal.arms)


def test_tofu_with_eps_below_one_has_a_threshold_that_grows() -> None:
    """ε = ½, v = ln(2T/δ): b_t = t^{1/6}, n = t − 1, so payoffs up to √t·t^{1/6} = t^{2/3} count:
    4 does not at t = 7 (3.66), and does at t = 8, exactly at the threshold."""
    v = math.log(2 * 1000 / 0.01)
    policy, literal = (module.TOFU(1000, 1, 1, v=v, eps=0.5) for module in (hb, hb.paper))
    policy.audit()  # with a single arm no estimate would be needed
    for payoffs, estimate in (([4.0, 1.0, 0, 0, 0, 0], 1 / 7), ([0.0], 5 / 8)):
        fed(policy, payoffs)
        fed(literal, payoffs)
        assert bounds(policy, 1.0)[0][0] == pytest.approx(estimate, abs=1e-14)
        assert literal_bounds(literal)[0] == pytest.approx(estimate, abs=1e-14)


@pytest.mark.parametrize(
    ("eps", "payoffs", "estimate"),
    [
        # t^{1/4}: 1 at t = 1, so 1.5 is dropped for good; 2 at t = 16, so 2 is kept.
        (1.0, [1.5, *[0.0] * 14, 2.0], 2 / 17),
        # t^{1/3}: 2 at t = 8, so −2 is kept; 2.0801 at t = 9, so 2.09 is dropped.
        (0.5, [1.5, *[0.0] * 6, -2.0, 2.09], -2 / 10),
    ],
)
def test_crt_truncates_on_arrival_at_a_root_of_t(
    eps: float, payoffs: list[float], estimate: float
) -> None:
    policy, literal = (fed(m.CRT(1000, 1, 1, v=1.0, eps=eps), payoffs) for m in (hb, hb.paper))
    assert bounds(policy, 1.0)[0][0] == pytest.approx(estimate, abs=1e-15)
    assert literal_bounds(literal)[0] == pytest.approx(estimate, abs=1e-15)
    assert policy.diagnostics["truncated"] == (1 if eps == 1 else 2)


def test_mom_takes_the_lower_median_of_means_of_consecutive_payoffs() -> None:
    """T = 10⁴, ε = 1: m = 100 rounds of r = 100. δ = 0.5: k = ⌊8 ln 4⌋ = 11 groups of n = 9, and
    the last payoff is unused. 0 … 98 have the group means 4, 13, …, 94; the sixth is 49, over 2."""
    policy, literal = (m.MoM(10_000, 1, 1, v=1.0, delta=0.5) for m in (hb, hb.paper))
    assert (policy.plays, policy.rounds) == (100, 100)
    payoffs = np.append(np.arange(99.0), 1e9)
    assert bounds(fed(policy, [payoffs]), 1.0)[0][0] == 24.5
    assert literal_bounds(fed(literal, [payoffs]))[0] == 24.5


def test_mom_of_an_even_number_of_groups_takes_the_lower_median() -> None:
    """δ = 0.3: k = ⌊8 ln(2/0.3)⌋ = ⌊15.2⌋ = 15; δ = 0.25: ⌊16.6⌋ = 16 groups of 6. The eighth of
    the means 2.5, 8.5, … is 44.5."""
    policy, literal = (m.MoM(10_000, 1, 1, v=1.0, delta=0.25) for m in (hb, hb.paper))
    assert bounds(fed(policy, [np.arange(100.0)]), 1.0)[0][0] == 22.25
    assert literal_bounds(fed(literal, [np.arange(100.0)]))[0] == 22.25


def printed_beta(name: str, policy: Any, t: int) -> float:
    """β_t of READINGS' table in one dimension, where det A = t after t − 1 plays of x = 1."""
    T, v, delta, eps = policy.horizon, policy.v, policy.delta, policy.eps
    root = 1 / (1 + eps)
    if name == "MoM":
        m, r = policy.rounds, policy.plays
        bracket = math.sqrt(2 * math.log(m * math.sqrt(t))) + math.sqrt(t)
        return (12 * v) ** root * (8 * math.log(2 * m / delta) / r) ** (eps * root) * bracket + 1
    if name == "CRT":
        spread = 2 * math.sqrt(2 * t**root * math.log(math.sqrt(t) / delta))
        return spread + math.sqrt(2 * v**2 * math.log(t)) + 1
    if name == "MENU":
        return 3 * ((9 * v) ** root * growth(t, eps) + 1)
    return 4 * v**root * math.log(2 * T / delta) ** (eps * root) * growth(t, eps) + 1


@pytest.mark.parametrize("eps", [1.0, 0.5])
@pytest.mark.parametrize(("name", "divisor"), [("MoM", 40), ("CRT", 10), ("MENU", 50), ("TOFU", 5)])
def test_widths_of_the_baselines_are_those_of_the_table(
    name: str, divisor: float, eps: float
) -> None:
    kwargs = {"horizon": 60_000, "n_arms": 1, "dim": 1, "v": 1.7, "delta": 0.05, "eps": eps}
    assert getattr(hb.paper, name)._circulated_divisor == divisor
    for constants, shrink in (("theory", 1), ("circulated", divisor)):
        policy = getattr(hb, name)(**kwargs, constants=constants, width_scale=0.5)
        literal = getattr(hb.paper, name)(**kwargs, constants=constants)
        if name == "MENU":
            # 24 ln(e · 60 000/0.05) = 359.9
            assert policy.plays == literal.plays == (360 if constants == "theory" else 51)
        for t in range(1, 6):
            beta = printed_beta(name, policy, t) / shrink
            assert bounds(policy, 1.0)[1][0] == pytest.approx(0.5 * beta / math.sqrt(t), rel=1e-12)
            assert literal_bounds(literal)[1] == pytest.approx(shrink * beta / math.sqrt(t))
            fed(policy, [np.zeros(policy.plays)])
            fed(literal, [np.zeros(policy.plays)])


@pytest.mark.parametrize("eps", [1.0, 0.5])
def test_circulated_widths_of_the_flat_policies_are_those_of_the_table(eps: float) -> None:
    kwargs = {"horizon": 10_000, "n_arms": 1, "dim": 1, "v": 3.0, "eps": eps}
    bmm = hb.FlatBMM(**kwargs, constants="circulated")
    btc = hb.FlatBTC(**kwargs, constants="circulated")
    assert (bmm.plays, bmm.rounds, btc.plays) == (31, 322, 1)
    for t in range(1, 6):
        wide = growth(t, eps) / math.sqrt(t)
        factor = 0.01 / 6 * 36 ** (1 / (1 + eps))
        assert bounds(bmm, 1.0)[1][0] == pytest.approx(factor * wide, rel=1e-12)
        assert bounds(btc, 1.0)[1][0] == pytest.approx(0.01 * wide, rel=1e-12)
        fed(bmm, [np.zeros(31)])
        fed(btc, [0.0])


def test_linucb_and_greedy_ridge_in_one_dimension() -> None:
    """r̂ = Σy/(1+n); LinUCB's w is (√(½ ln(2TK/δ)) + 1)/√(1+n)."""
    payoffs = [1.0, 50.0, -3.0]
    r_hat, w = bounds(fed(hb.LinUCB(1000, 2, 1), payoffs), 1.0, 0.5)
    np.testing.assert_allclose(r_hat, [12.0, 6.0], rtol=1e-14)
    factor = math.sqrt(math.log(2 * 1000 * 2 / 0.01) / 2) + 1
    np.testing.assert_allclose(w, [factor / 2, factor / 4], rtol=1e-14)
    r_hat, w = bounds(fed(hb.GreedyRidge(1000, 2, 1), payoffs), 1.0, 0.5)
    np.testing.assert_allclose(r_hat, [12.0, 6.0], rtol=1e-14)
    assert not w.any()


def test_greedy_ridge_takes_the_plain_mean_of_a_rounds_payoffs() -> None:
    policy = hb.GreedyRidge(9, 2, 1, plays=3)
    r_hat, _ = bounds(fed(policy, [[1.0, 50.0, -3.0], [0.0, 0.0, 6.0]]), 1.0, 0.5)
    assert r_hat[0] == pytest.approx(18.0 / 3, rel=1e-14)
    assert (policy.plays, policy.rounds) == (3, 3)
    with pytest.raises(ValueError, match="plays must be at most the horizon, 9; got 10"):
        hb.GreedyRidge(9, 2, 1, plays=10)


def test_means_of_p_plays_weigh_like_single_plays_with_p_times_the_ridge() -> None:
    """In one dimension with x = 1: Σy/(λ + n)."""
    single = fed(hb.GreedyRidge(100, 2, 1, ridge=6.0), [1.0, 50.0, -3.0, 0.0, 0.0, 6.0])
    r_hat, _ = bounds(single, 1.0, 0.5)
    assert r_hat[0] == pytest.approx(54 / (6 + 6), rel=1e-14)
    means = fed(hb.GreedyRidge(100, 2, 1, plays=3, ridge=2.0), [[1.0, 50.0, -3.0], [0.0, 0.0, 6.0]])
    assert bounds(means, 1.0, 0.5)[0][0] == pytest.approx(r_hat[0], rel=1e-14)
    with pytest.raises(ValueError, match="ridge must be"):
        hb.GreedyRidge(100, 2, 1, ridge=0.0)


@pytest.mark.parametrize("prefer", ["narrowest", "widest"])
def test_blind_plays_the_narrowest_or_the_widest_arm_whatever_is_paid(prefer: str) -> None:
    rng = np.random.default_rng(21)
    policies = [hb.Blind(60, 7, 3, prefer=prefer) for _ in range(2)]
    A = np.eye(3)
    for _ in range(60):
        X = unit_contexts(rng, 7, 3, near_a_line=False)
        width = np.sqrt(np.einsum("ad,de,ae->a", X, np.linalg.inv(A), X))
        arms = [policy.select(X) for policy in policies]
        if len(np.unique(width.round(9))) == 7:  # in the first round all are 1
            assert arms[0] == (width.argmin() if prefer == "narrowest" else width.argmax())
        assert arms[0] == arms[1]
        A += np.outer(X[arms[0]], X[arms[0]])
        policies[0].update(rng.standard_t(2, size=1))
        policies[1].update(np.array([1e6]))


# Building blocks against NumPy.


def unit_contexts(rng: np.random.Generator, n: int, d: int, near_a_line: bool) -> np.ndarray:
    V = rng.normal(size=(n, d))
    if near_a_line:
        V = np.ones(d) / math.sqrt(d) + 1e-3 * V / np.linalg.norm(V, axis=1, keepdims=True)
    return V / np.linalg.norm(V, axis=1, keepdims=True)


@pytest.mark.parametrize("near_a_line", [False, True])
def test_rank_one_updates_stay_with_the_inverse_for_a_hundred_thousand_rounds(
    near_a_line: bool,
) -> None:
    d = 10
    V = unit_contexts(np.random.default_rng(7), 100_000, d, near_a_line)
    A_inv, scratch, log_det = np.eye(d), np.empty(d), 0.0
    for x in V:
        log_det += linear.add_context(A_inv, x, scratch)
    A = np.eye(d) + V.T @ V
    error = np.linalg.norm(A_inv @ A - np.eye(d))
    assert np.linalg.cond(A) > 1e4 or not near_a_line
    assert error < (1e-8 if near_a_line else 1e-11)
    np.testing.assert_array_equal(A_inv, A_inv.T)
    assert log_det == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-11)


def symmetric_matrix(kind: str, d: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "indefinite":
        M = rng.normal(size=(d, d))
        return M + M.T
    if kind == "nearly diagonal":
        M = 1e-9 * rng.normal(size=(d, d))
        return M + M.T + np.diag(rng.random(d))
    if kind == "repeated eigenvalues":
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        M = Q @ np.diag(1.0 + (np.arange(d) % 2)) @ Q.T
        return (M + M.T) / 2
    rank = {"positive": 3 * d, "singular": (d + 1) // 2, "zero": 0}[kind]
    V = rng.normal(size=(rank, d))
    return V.T @ V


@pytest.mark.parametrize("d", [1, 2, 3, 7, 10, 24])
@pytest.mark.parametrize(
    "kind",
    ["positive", "singular", "zero", "indefinite", "nearly diagonal", "repeated eigenvalues"],
)
def test_jacobi_finds_eigenvalues_and_an_orthogonal_basis(kind: str, d: int) -> None:
    rng = np.random.default_rng([8, d])
    for _ in range(5):
        M = symmetric_matrix(kind, d, rng)
        size = np.abs(M).max() * d
        diagonal, Q = M.copy(), np.empty((d, d))
        linear.eigen(diagonal, Q)
        values = np.diag(diagonal).copy()
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(M), atol=3e-15 * size)
        np.testing.assert_allclose(Q.T @ Q, np.eye(d), atol=3e-14)
        np.testing.assert_allclose(Q @ np.diag(values) @ Q.T, M, atol=1e-14 * size)
        assert np.abs(diagonal - np.diag(values)).max() <= 1e-15 * size


@pytest.mark.parametrize("d", [1, 2, 3, 10, 24])
def test_eigenvectors_follow_a_shrinking_inverse_as_they_would_be_found_from_scratch(
    d: int,
) -> None:
    """200 updates of A⁻¹ by a context; each time the eigenvectors before are where it starts."""
    rng = np.random.default_rng([9, d])
    A_inv, Q = np.eye(d), np.eye(d)
    M, scratch = np.empty((d, d)), np.empty((d, d))
    for _ in range(200):
        linear.add_context(A_inv, rng.random(d) / d, np.empty(d))
        linear.eigen_again(A_inv, Q, M, scratch)
        values = np.diag(M)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A_inv), atol=1e-13)
        np.testing.assert_allclose(Q.T @ Q, np.eye(d), atol=1e-12)
        np.testing.assert_allclose(Q @ np.diag(values) @ Q.T, A_inv, atol=1e-12)


def test_jacobi_sees_a_small_eigenvalue_beside_a_large_one() -> None:
    """[[10¹², 1], [1, 1]] has eigenvalues 10¹² + 10⁻¹² and 1 − 10⁻¹²."""
    M, Q = np.array([[1e12, 1.0], [1.0, 1.0]]), np.empty((2, 2))
    linear.eigen(M, Q)
    assert 1 - M[1, 1] == pytest.approx(1e-12, rel=1e-3, abs=0)
    assert abs(Q[1, 0]) == pytest.approx(1e-12, rel=1e-9, abs=0)


@given(
    values=st.lists(st.integers(-3, 3) | st.floats(-1e300, 1e300), min_size=1, max_size=40),
    data=st.data(),
)
def test_order_statistic_is_the_entry_of_the_sorted_list(
    values: list[float], data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(values)))
    rank = data.draw(st.integers(0, n - 1))
    array = np.array(values, dtype=float)
    assert linear.order_statistic(array, n, rank) == sorted(values[:n])[rank]
    np.testing.assert_array_equal(array[n:], values[n:])
    assert sorted(array[:n]) == sorted(values[:n])


def test_order_statistic_keeps_to_time_on_sorted_equal_and_organ_pipe_lists() -> None:
    for values in (np.arange(999.0), np.zeros(999), np.abs(np.arange(999.0) - 499)):
        for rank in (0, 1, 499, 997, 998):
            assert linear.order_statistic(values.copy(), 999, rank) == np.sort(values)[rank]


@given(
    values=st.lists(
        st.sampled_from([0.0, 1.0, 1 - 0.5e-9, 1 - 2e-9, 1 + 0.5e-9, -7.0, 1e6]),
        min_size=1,
        max_size=8,
    ),
    data=st.data(),
)
def test_the_lowest_index_within_a_billionth_of_the_best_wins(
    values: list[float], data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, len(values)))
    first = next(i for i in range(n) if values[i] >= max(values[:n]) - 1e-9)
    assert linear.lowest_near_best(np.array(values), n) == first
    assert hb.paper.argmax(np.array(values[:n])) == first
    assert hb.paper.argmin(-np.array(values[:n])) == first
    assert linear.largest(np.array(values), n) == max(values[:n])


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_cholesky_is_numpys(d: int) -> None:
    V = np.random.default_rng(d).normal(size=(2 * d, d))
    M, L = V.T @ V, np.zeros((d, d))
    for shift in (0.0, 2.5):
        linear.cholesky(M, shift, L)
        expected = np.linalg.cholesky(M + shift * np.eye(d))
        np.testing.assert_allclose(L, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 7, 20])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 10])
def test_products_over_arms_are_numpys_and_leave_later_blocks_alone(d: int, n: int) -> None:
    rng = np.random.default_rng([d, n])
    X, V, weights = rng.normal(size=(20, d)), rng.normal(size=(2 * d, d)), rng.normal(size=d)
    M, X_T = V.T @ V, np.empty((d, 20))
    linear.transpose(X, X_T, 0, len(X))
    np.testing.assert_array_equal(X_T, X.T)
    out, Y = np.full(20, 9.0), np.full((d, 20), 9.0)
    after = min(20, LANES * math.ceil(n / LANES))  # columns are worked on in blocks
    linear.quadratic_forms(M, X_T, 0, n, out)
    np.testing.assert_allclose(out[:n], np.einsum("ad,de,ae->a", X, M, X)[:n], rtol=1e-12)
    assert (out[after:] == 9).all()
    linear.combine(weights, X_T, n, out)
    np.testing.assert_allclose(out[:n], (X @ weights)[:n], rtol=1e-12, atol=1e-13)
    assert (out[after:] == 9).all()
    linear.multiply(M, X_T, n, Y)
    np.testing.assert_allclose(Y[:, :n], (M @ X.T)[:, :n], rtol=1e-12, atol=1e-12)
    assert (Y[:, after:] == 9).all()
    y = np.empty(d)
    assert linear.solve(M, X[0], y) == pytest.approx(X[0] @ M @ X[0], rel=1e-12)
    np.testing.assert_allclose(y, M @ X[0], rtol=1e-12, atol=1e-12)
    G = M.copy()
    linear.add_outer(G, np.zeros((d, d)), weights)
    np.testing.assert_allclose(G, M + np.outer(weights, weights), rtol=1e-14)


@njit
def compiled_combine(weights, X_T, start, out):  # type: ignore[no-untyped-def]
    lanes.combine_lanes(weights, X_T, start, out)


@njit
def compiled_quadratic(M, X_T, start, out):  # type: ignore[no-untyped-def]
    lanes.quadratic_lanes(M, X_T, start, out)


@pytest.mark.parametrize("start", [0, 3, 12])
@pytest.mark.parametrize("d", [1, 2, 7, 10, 33])
def test_compiled_lanes_have_the_bits_of_the_loops_that_they_stand_for(d: int, start: int) -> None:
    rng = np.random.default_rng([d, start])
    X_T, table, B = rng.normal(size=(d, 20)), rng.normal(size=(d, 3)), rng.normal(size=(d, d))
    M = np.tril(B @ B.T) + np.tril(B @ B.T, -1).T
    for weights in (np.ascontiguousarray(table[:, 1]), table[:, 1]):  # a column, too
        ours, plain = np.full(20, 9.0), np.full(20, 9.0)
        compiled_combine(weights, X_T, start, ours)
        lanes.combine_lanes(weights, X_T, start, plain)
        np.testing.assert_array_equal(ours, plain)
    ours, plain = np.full(20, 9.0), np.full(20, 9.0)
    compiled_quadratic(M, X_T, start, ours)
    lanes.quadratic_lanes(M, X_T, start, plain)
    np.testing.assert_array_equal(ours, plain)
    assert (ours[start : start + LANES] != 9).all()
    assert (np.delete(ours, np.s_[start : start + LANES]) == 9).all()


def test_lanes_refuse_columns_that_are_not_next_to_each_other() -> None:
    X_T = np.asfortranarray(np.ones((3, 8)))
    with pytest.raises(TypingError, match="C-ordered"):
        compiled_combine(np.ones(3), X_T, 0, np.ones(8))


# Truncation without the history.


def stage_contexts(kind: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Contexts no longer than 1: of full rank, in a plane, or all on one line."""
    V = rng.normal(size=(n, d))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    V *= rng.uniform(0.1, 1, size=(n, 1))
    if kind == "line":
        V = rng.uniform(0.1, 1, size=(n, 1)) * V[0] / np.linalg.norm(V[0])
    if kind == "plane":
        V[:, 2:] = 0.0
    if kind == "short":
        V *= 1e-6
    return V


def stage_of(V: np.ndarray, eps: float, looks_after: Iterable[int] = ()) -> Any:
    """The state of a policy whose only stage has seen these contexts, which paid nothing."""
    policy = hb.FlatBTC(1000, 1, V.shape[1], eps=eps, v=1.0)
    for n, x in enumerate(V, start=1):
        policy.select(x[None])
        policy.update(0.0)
        if n in looks_after:
            truncation.look_again(policy._state, 0)
    return policy._state


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["full", "line", "plane", "short"]),
    d=st.integers(1, 6),
    n=st.integers(1, 60),
    seed=st.integers(0, 9999),
)
def test_a_cleared_payoff_is_never_truncated_and_almost_every_payoff_that_never_is_gets_cleared(
    kind: str, d: int, n: int, seed: int
) -> None:
    """A payoff of size √(q/(xᵀG⁺x)) is within the threshold of every arm if and only if q ≤ 1;
    the arm x = AG⁺x_τ, y = G⁺x_τ, attains it. So q below 1 is cleared, q above 1 is not, and what
    is cleared stays within the threshold of these arms and of random ones, also after growth."""
    rng = np.random.default_rng(seed)
    V = stage_contexts(kind, n, d, rng)
    state = stage_of(V, eps=1.0)
    truncation.look_again(state, 0)
    G = V.T @ V
    G_plus = np.linalg.pinv(G, rcond=1e-12, hermitian=True)
    leverage = np.einsum("nd,de,ne->n", V, G_plus, V)
    q = rng.choice([0.01, 0.5, 0.99, 0.9999, 1.0001, 1.5, 100.0], size=n)
    payoffs = rng.choice([-1, 1], size=n) * np.sqrt(q / leverage)
    reach = [truncation.leverage_bound(state.btc.whiten[0], x) for x in V]
    np.testing.assert_allclose(reach, leverage, rtol=1e-9)
    yes = np.array([truncation.cleared(reach[i], payoffs[i]) for i in range(n)])
    np.testing.assert_array_equal(yes, q < 1)
    grown = V
    for more in (0, 1, 30):
        grown = np.vstack([grown, stage_contexts("full", more, d, rng)])
        A = np.eye(d) + grown.T @ grown
        worst = V @ np.linalg.pinv(grown.T @ grown, rcond=1e-12, hermitian=True) @ A
        arms = np.vstack([worst, rng.normal(size=(20, d)), V])
        y = np.linalg.solve(A, arms.T).T
        beta = (y[:, None, :].astype(np.longdouble) * grown).sum(axis=2)
        h = np.sqrt((beta**2).sum(axis=1))  # the smallest of all thresholds: ε = 1
        terms = np.abs(beta[:, :n] * payoffs)[:, yes]
        assert (terms <= h[:, None] * (1 + 1e-12)).all()


def test_before_the_first_look_only_a_payoff_of_zero_is_cleared() -> None:
    W = stage_of(np.empty((0, 3)), eps=1.0).btc.whiten[0]
    reach = truncation.leverage_bound(W, np.eye(3)[0])
    assert truncation.cleared(reach, 0.0)
    assert not truncation.cleared(reach, 1e-12)


@settings(max_examples=40)
@given(
    kind=st.sampled_from(["full", "line", "plane", "short"]),
    d=st.integers(1, 5),
    n=st.integers(1, 300),
    looks=st.integers(0, 3),
    seed=st.integers(0, 9999),
    eps=st.sampled_from([0.7, 0.5, 0.1]),
)
def test_the_threshold_lies_between_its_bounds_at_all_times(
    kind: str, d: int, n: int, looks: int, seed: int, eps: float
) -> None:
    """ρ^{-e}‖β‖₂ ≤ ‖β‖_{1+ε} ≤ n^e‖β‖₂ for every y, e = (1−ε)/(2(1+ε)), with ρ as kept: at least
    the largest xᵀG⁺x of the stage, whether W is new, old or was never made."""
    rng = np.random.default_rng(seed)
    V = np.vstack([stage_contexts(kind, n, d, rng), stage_contexts("full", n // 3, d, rng)])
    cuts = sorted(rng.integers(1, len(V) + 1, size=looks))
    state = stage_of(V, eps=eps, looks_after=cuts)
    leverage = np.einsum("nd,de,ne->n", V, np.linalg.pinv(V.T @ V, rcond=1e-13), V)
    rho = state.btc.leverage[0]
    assert leverage.max() * (1 - 1e-9) <= rho <= 1
    if looks and cuts[-1] == len(V):
        assert rho <= leverage.max() * (1 + 1e-6)
    y = np.vstack([rng.normal(size=(20, d)), V @ np.linalg.pinv(V.T @ V, rcond=1e-13)])
    beta, e = y @ V.T, (1 - eps) / (2 * (1 + eps))
    h, norm = (np.linalg.norm(beta, ord=q, axis=1) for q in (1 + eps, 2))
    assert (rho**-e * norm <= h * (1 + 1e-9)).all()
    assert (h <= len(V) ** e * norm * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["SupBTC", "FlatBTC"])
def test_payoffs_are_cleared_though_all_contexts_lie_on_one_line(name: str) -> None:
    """λ_min(VᵀV) = 0 for ever, and yet the suspects stay few."""
    policy = getattr(hb, name)(2000, 1, 3, v=4.0, width_scale=0.01)
    rng = np.random.default_rng(9)
    for payoff in rng.standard_t(3, size=2000):
        policy.select(rng.uniform(0.1, 1) * np.array([[0.6, 0.0, -0.8]]))
        policy.update(payoff)
    assert policy.diagnostics["most_suspects"] < 60
    assert policy.diagnostics["truncated"] > 0


def test_suspects_stay_few_and_no_history_is_scanned() -> None:
    policy = hb.SupBTC(30_000, 20, 10, v=4.0, width_scale=0.05)
    seen = hb.simulate(policy, hb.section6("student-t")).diagnostics
    assert 0 < seen["most_suspects"] < 200
    assert seen["history_scans"] == 0
    assert seen["truncated"] > 10_000


def test_history_is_scanned_for_eps_below_one_and_rarely() -> None:
    world = hb.section6(SymmetricPareto(1.6, 0.3), n_arms=6, dim=3)
    policy = hb.SupBTC(3000, 6, 3, v=world.noise.raw_moment(0.5, 1.0), eps=0.5, width_scale=0.01)
    seen = hb.simulate(policy, world).diagnostics
    assert 0 < seen["history_scans"] < 0.1 * seen["estimates"]


# The same bits again.

WORLDS = {
    "student-t": hb.section6("student-t", n_arms=5, dim=3),
    "pareto": hb.section6("pareto", n_arms=5, dim=3),
    "lower-bound": hb.lower_bound(2500, 9, 4, 1.0, gamma_from="stage"),
    "symmetric-pareto": hb.section6(SymmetricPareto(1.6, 0.3), n_arms=5, dim=3),
}


def fingerprints() -> dict[str, str]:
    """A digest of the arms and the curve of a short run of every policy in every world."""
    digests = {}
    for place, world in WORLDS.items():
        eps = 0.5 if place == "symmetric-pareto" else 1.0
        for name in PAPER + CONTROLS + LATER:
            more = {"eps": eps} if name in KNOW_A_MOMENT else {}
            policy = build(name, world.n_arms, world.dim, long=False, seed=1, **more)
            run = hb.simulate(policy, world, seed=2, keep_arms=True)
            digest = hashlib.sha256(run.arms.tobytes() + run.curve.tobytes())
            digests[f"{name} in {place}"] = digest.hexdigest()
    return digests


@pytest.mark.parametrize("switch", ["0", "1"], ids=["compiled", "interpreted"])
def test_another_process_comes_to_the_same_bytes(switch: str) -> None:
    """Compiled or interpreted: a compiled kernel does just what its Python source says."""
    command = "import json, test_engine; print(json.dumps(test_engine.fingerprints()))"
    paths = [str(Path(__file__).parent), str(Path(hb.__file__).parents[1])]
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": switch,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": "12345",
    }
    done = subprocess.run(
        [sys.executable, "-c", command], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == fingerprints()


def test_fingerprints_tell_runs_apart() -> None:
    """All 60 differ but those of policies that choose alike for so short a time."""
    assert len(fingerprints()) == 60
    assert len(set(fingerprints().values())) > 37


@pytest.mark.parametrize("name", PAPER + CONTROLS + LATER)
def test_the_same_seed_is_the_same_run_and_another_seed_another(name: str) -> None:
    world = hb.section6("student-t", n_arms=6, dim=4)
    first, again, other = (
        hb.simulate(build(name, 6, 4), world, seed=seed, keep_arms=True) for seed in (3, 3, 4)
    )
    assert first.curve.tobytes() == again.curve.tobytes()
    assert first.arms.tobytes() == again.arms.tobytes()
    np.testing.assert_equal(first.diagnostics, again.diagnostics)
    assert first.curve.tobytes() != other.curve.tobytes()


BLOCKWISE: dict[str, dict[str, Any]] = {
    "SupBMM": {},
    "SupBTC": {"width_scale": 0.01},
    "SupBTC random": {"explore": "random", "width_scale": 0.01},
    "SupBTC history": {"eps": 0.5, "width_scale": 0.01},
    "TOFU": {},
    "MENU": {},
    "Uniform": {},
    "HeavyOFUL": {"clip_scale": 0.003},
    "HvtUCB": {"clip_scale": 0.003},
    "ClippedUCB": {},
}


@pytest.mark.parametrize("case", BLOCKWISE)
def test_the_size_of_the_blocks_does_not_show(case: str) -> None:
    world = hb.section6("student-t", n_arms=6, dim=4)
    runs = [
        hb.simulate(
            build(case.split()[0], 6, 4, seed=5, **BLOCKWISE[case]),
            world,
            seed=6,
            keep_arms=True,
            block=block,
        )
        for block in (None, 1, 7, 64)
    ]
    for run in runs[1:]:
        assert run.curve.tobytes() == runs[0].curve.tobytes()
        assert run.arms.tobytes() == runs[0].arms.tobytes()
        np.testing.assert_array_equal(run.plays, runs[0].plays)
        np.testing.assert_equal(run.diagnostics, runs[0].diagnostics)
    assert len(set(runs[0].arms.tolist())) > 1


class Rounds:
    """The rounds of a world one by one, with the streams of `simulate`."""

    def __init__(self, world: Any, seed: int, plays: int) -> None:
        self.world, self.plays, self.t = world, plays, 0
        self.context_rng = stream(seed, CONTEXT_STREAM)
        self.noise_rng = stream(seed, NOISE_STREAM)
        self.theta = world.theta_star(seed)

    def __iter__(self) -> Rounds:
        return self

    def __next__(self) -> tuple[np.ndarray, np.ndarray]:
        X = self.world.contexts(self.context_rng, self.t, 1, self.plays)[0]
        self.t += 1
        return X, self.world.noise.draw(self.noise_rng, self.plays)

    def payoffs(self, x: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Summed in the order in which the engine sums."""
        mean = 0.0
        for i in range(x.size):
            mean += x[i] * self.theta[i]
        return mean + draws


@pytest.mark.parametrize("name", PAPER + CONTROLS + LATER)
def test_round_by_round_is_the_same_as_in_blocks(name: str) -> None:
    world = hb.section6("student-t", n_arms=6, dim=4)
    run = hb.simulate(build(name, 6, 4, seed=1), world, seed=7, keep_arms=True)
    policy = build(name, 6, 4, seed=1)
    rounds = Rounds(world, 7, policy.plays)
    for wanted in run.arms:
        X, draws = next(rounds)
        arm = policy.select(X)
        assert arm == wanted
        policy.update(rounds.payoffs(X[arm], draws))
    by_hand = policy.diagnostics
    for counted in ("intervals", "intervals_missed"):  # without the truth there is no telling
        assert by_hand.pop(counted) == 0
        run.diagnostics.pop(counted)
    np.testing.assert_equal(by_hand, run.diagnostics)


@pytest.mark.parametrize("eps", [1.0, 0.5])
@pytest.mark.parametrize("name", PAPER + CONTROLS + LATER)
def test_a_policy_pickled_in_the_middle_of_a_round_goes_on_as_before(name: str, eps: float) -> None:
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.6, 0.3)
    world = hb.section6(noise, n_arms=6, dim=4)
    more = {"eps": eps} if name in KNOW_A_MOMENT else {}
    if name in ("SupBMM", "SupBTC"):
        more |= {"explore": "random"}
    policy = build(name, 6, 4, seed=2, **more)
    rounds = Rounds(world, 8, policy.plays)
    half = policy.rounds // 2
    arms = []
    for t in range(min(2 * half, 400)):
        X, draws = next(rounds)
        arm = policy.select(X)
        if t == min(half, 300):
            resumed = pickle.loads(pickle.dumps(policy))
        payoffs = rounds.payoffs(X[arm], draws)
        policy.update(payoffs)
        if t >= min(half, 300):
            if t > min(half, 300):
                assert resumed.select(X) == arm
            resumed.update(payoffs)
            arms.append(arm)
    np.testing.assert_equal(resumed.diagnostics, policy.diagnostics)
    assert resumed.round == policy.round
    assert len(arms) > 20
    assert len(set(arms)) > 1


@pytest.mark.parametrize("name", PAPER + CONTROLS + LATER)
def test_asking_again_changes_nothing(name: str) -> None:
    world = hb.section6("student-t", n_arms=6, dim=4)
    more = {"explore": "random"} if name in ("SupBMM", "SupBTC") else {}
    asked_once, asked_often = (build(name, 6, 4, seed=3, **more) for _ in range(2))
    rounds = Rounds(world, 9, asked_once.plays)
    for _ in range(min(asked_once.rounds, 150)):
        X, draws = next(rounds)
        arm = asked_once.select(X)
        asked_often.select(np.roll(X, 1, axis=0))
        assert asked_often.select(X) == arm
        assert asked_often.select(X) == arm
        for policy in (asked_once, asked_often):
            policy.update(rounds.payoffs(X[arm], draws))
        np.testing.assert_equal(asked_often.diagnostics, asked_once.diagnostics)


def test_luck_is_one_draw_a_round_for_any_rule_of_exploring() -> None:
    """`random` picks ⌊luck·K⌋ of K wide arms: in the first round, with A = I, all are wide."""
    X = np.eye(5)
    arms = [hb.SupBTC(100, 5, 5, v=4.0, explore="random", seed=s).select(X) for s in range(300)]
    luck = [np.random.default_rng(np.random.SeedSequence(s, spawn_key=(2,))) for s in range(300)]
    assert arms == [int(rng.random() * 5) for rng in luck]
    assert [hb.Uniform(100, 5, 5, seed=s).select(X) for s in range(300)] == arms


# numba's cache.


@pytest.fixture
def engine_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the engine's sources with binaries that were made from them."""
    source = Path(_cache.__file__).parent
    engine = tmp_path / "heavybandit" / "engine"
    shutil.copytree(source, engine, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(source.parent / "policy.py", engine.parent)
    monkeypatch.setattr(_cache, "HERE", engine)
    _cache.drop_stale_binaries()
    for name in ("linear.solve.nbi", "linear.solve.1.nbc", "linear.cpython-311.pyc", "notes.txt"):
        (engine / "__pycache__" / name).write_text("kept?")
    return engine


def everything(engine: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(engine.parent)): path.read_bytes()
        for path in engine.parent.rglob("*")
        if path.is_file()
    }


def test_binaries_stay_while_the_sources_do(engine_copy: Path) -> None:
    before = everything(engine_copy)
    _cache.drop_stale_binaries()
    assert everything(engine_copy) == before


@pytest.mark.parametrize("edited", ["linear.py", "_compile.py", "../policy.py", "new.py"])
def test_binaries_and_nothing_else_go_when_a_source_changes(edited: str, engine_copy: Path) -> None:
    with (engine_copy / edited).open("a") as file:
        file.write("\n# edited\n")
    before = everything(engine_copy)
    _cache.drop_stale_binaries()
    after = everything(engine_copy)
    gone = {"engine/__pycache__/linear.solve.nbi", "engine/__pycache__/linear.solve.1.nbc"}
    stamp = "engine/__pycache__/sources.sha256"
    assert before.keys() - after.keys() == gone
    assert after.keys() <= before.keys()
    assert {name for name in after if after[name] != before[name]} == {stamp}
    _cache.drop_stale_binaries()
    assert everything(engine_copy) == after


def test_binaries_of_unknown_origin_go(engine_copy: Path) -> None:
    (engine_copy / "__pycache__" / "sources.sha256").unlink()
    _cache.drop_stale_binaries()
    assert not list((engine_copy / "__pycache__").glob("*.nb?"))
