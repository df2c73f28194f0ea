"""The policies against closed forms by hand, most of them in one dimension.

After n plays of x = 1 there, A = 1 + n, so that A⁻¹x = x/(1+n).
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit import theory
from heavybandit.engine import medians
from heavybandit.engine import state as names
from heavybandit.engine.state import R_HAT, THETA_NOW, WIDTH, new_state
from heavybandit.noise import SymmetricPareto
from heavybandit.policy import TIE

twins = pytest.mark.parametrize("module", [hb, hb.paper], ids=["compiled", "literal"])


def fed(policy, rounds):
    """The policy after rounds in which every arm offered x = 1 and paid this."""
    for payoffs in rounds:
        assert policy.select(np.ones((policy.n_arms, 1))) == 0
        policy.update(payoffs)
    return policy


def bounds(policy, *contexts):
    """r̂ and w, as a compiled policy without stages computes them for these contexts."""
    policy.select(np.array(contexts).reshape(-1, 1))
    line = policy._state.line[:, : len(contexts)].copy()
    return line[R_HAT], line[WIDTH]


def at_one(policy):
    """r̂ and w of x = 1: of a compiled policy without stages, or θ̂ and β/√A of a literal baseline,
    before its width scale and the divisor of circulated constants."""
    if hasattr(policy, "_state"):
        r_hat, w = bounds(policy, 1.0)
        return r_hat[0], w[0]
    V, Y = policy._history()
    A = np.eye(1) + V.T @ V
    return float(policy._estimate(A, V, Y)[0]), policy._beta(A) / math.sqrt(A[0, 0])


def alpha_btc(T, K, v):
    """α of Proposition 2 in the first round, with δ = 0.01."""
    return theory.alpha_btc(1, T, K, v, 0.01, 1)


@pytest.mark.parametrize(("eps", "estimate"), [(1.0, -0.2), (0.5, 0.3)])
def test_btc_drops_payoffs_above_the_norm_of_ones(eps, estimate):
    """n = 4, A = 5, β = 1/5, h = 4^{1/(1+ε)}/5: payoffs up to 2, or 2.52, of 1, −2, 2.5, 3 count.

    The sums are 1 − 2 = −1 and 1 − 2 + 2.5 = 1.5; −2 is exactly at the threshold for ε = 1.
    """
    y = np.array([1.0, -2.0, 2.5, 3.0])
    literal, w = hb.paper.btc(np.ones((4, 1)), y, np.array([[1.0], [-0.5]]), 6.0, eps)
    np.testing.assert_allclose(w, [7 / math.sqrt(5), 3.5 / math.sqrt(5)], rtol=1e-14)
    ours, _ = bounds(fed(hb.FlatBTC(100, 2, 1, eps=eps, v=1.0), y), 1.0, -0.5)
    for r_hat in (literal, ours):
        np.testing.assert_allclose(r_hat, [estimate, -estimate / 2], rtol=1e-14)


@settings(max_examples=60)
@given(
    eighths=st.lists(st.integers(-400, 400), min_size=1, max_size=150),
    eps=st.sampled_from([1.0, 0.7, 0.5, 0.25]),
)
def test_btc_in_one_dimension_is_the_mean_of_payoffs_up_to_a_root_of_n(eighths, eps):
    """r̂ = Σ y 1{|y| ≤ n^{1/(1+ε)}}/(1+n) and w = (α+1)/√(1+n), α at round n+1."""
    y, n = np.array(eighths) / 8, len(eighths)
    kept = y[np.abs(y) <= n ** (1 / (1 + eps)) * (1 + TIE)]
    alpha = alpha_btc(1000, 3, 1.5) * theory.growth(n + 1, eps)
    wanted = kept.sum() / (1 + n), (alpha + 1) / math.sqrt(1 + n)
    literal = hb.paper.btc(np.ones((n, 1)), y, np.ones((1, 1)), alpha, eps)
    np.testing.assert_allclose(np.ravel(literal), wanted, rtol=1e-12, atol=1e-12)
    r_hat, w = bounds(fed(hb.FlatBTC(1000, 3, 1, eps=eps, v=1.5), y), 1.0, 0.25, -1.0)
    np.testing.assert_allclose(r_hat, wanted[0] * np.array([1, 0.25, -1]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(w, wanted[1] * np.array([1, 0.25, 1]), rtol=1e-12)


def test_bmm_is_the_median_of_its_columns():
    """Two rounds, A = 3, columns sum to 3, −6, 9: estimates 1, −2, 3 and their median 1."""
    Y = np.array([[1.0, -5.0, 4.0], [2.0, -1.0, 5.0]])
    r_hat, w = hb.paper.bmm(np.ones((2, 1)), Y, np.array([[1.0], [-1.0], [0.5]]), alpha=6.0)
    np.testing.assert_allclose(r_hat, [1.0, -1.0, 0.5], rtol=1e-14)
    np.testing.assert_allclose(w, 7 / math.sqrt(3) * np.array([1, 1, 0.5]), rtol=1e-14)


def test_bmm_of_an_even_count_is_the_lower_median():
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
def test_bmm_in_one_dimension_is_the_lower_median_of_means(seed, n, eps):
    """r̂ = lower median of column sums/(1+n), w = ((12v)^{1/(1+ε)} t^… + 1)/√(1+n)."""
    policy = hb.FlatBMM(60_000, 2, 1, v=3.0, eps=eps)
    Y = np.random.default_rng(seed).standard_t(2, size=(n, policy.plays))
    wanted = np.sort(Y.sum(axis=0))[(policy.plays - 1) // 2] / (1 + n)
    alpha = 36 ** (1 / (1 + eps)) * theory.growth(n + 1, eps)
    r_hat, w = bounds(fed(policy, Y), 1.0, 0.5)
    np.testing.assert_allclose(r_hat[0], wanted, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(w, (alpha + 1) / math.sqrt(1 + n) * np.array([1, 0.5]), rtol=1e-12)


@twins
def test_schedules_of_the_masters_by_hand(module):
    """T = 10⁵, K = 20, δ = 0.01: 8 ln(4·10⁶ · 11.5129/0.01) = 178.004, so r = 179, T₀ = 558, and
    ln 558 = 6.32 gives S = 6; SupBTC has ln 10⁵ = 11.5 and S = 11. e⁸ = 2980.96.

    They exploit at the width 1/√T₀.
    """
    bmm = module.SupBMM(100_000, 20, 10, v=3.0)
    assert (bmm.plays, bmm.rounds, bmm.n_stages) == (179, 558, 6)
    btc = module.SupBTC(100_000, 20, 10, v=4.0)
    assert (btc.plays, btc.rounds) == (1, 100_000)
    for horizon, stages in ((100_000, 11), (3, 1), (2980, 7), (2981, 8)):
        assert module.SupBTC(horizon, 20, 10, v=4.0).n_stages == stages
    if module is hb:
        assert bmm._state.num[names.LEVEL] == 1 / math.sqrt(558)
        assert btc._state.num[names.LEVEL] == 1 / math.sqrt(100_000)


@pytest.mark.parametrize(
    ("name", "horizon", "v", "alpha", "width", "explored", "exploited"),
    [
        ("SupBTC", 100, 4.0, alpha_btc(100, 1, 4.0), 1.0, [3, 15, 63, 19], [0, 0, 0, 0]),
        ("SupBTC", 100, 4.0, alpha_btc(100, 1, 4.0), 1 / 8, [0, 0, 0, 1], [0, 0, 0, 99]),
        ("SupBMM", 15_400, 3.0, 6.0, 1.0, [3, 15, 63, 30], [0, 0, 0, 0]),
    ],
)
def test_a_stage_explores_until_its_width_is_two_to_the_minus_s(
    name, horizon, v, alpha, width, explored, exploited
):
    """One arm, S = 4. Width 1/√(1+n) is at most 2^{-s} after 4^s − 1 rounds: 3, 15, 63, and 19 of
    100 are left. Width 1/8/√(1+n) is small enough for three stages from the start; one round
    brings stage 4 to 1/8/√2 = 0.088, which is below 1/√100, so that the other 99 rounds exploit.
    SupBMM: r = ⌈8 ln(2 · 15 400 · 9.642/0.01)⌉ = 138, T₀ = 111, and 30 rounds are left."""
    policy, literal = (
        getattr(module, name)(horizon, 1, 1, v=v, width_scale=width / (alpha + 1))
        for module in (hb, hb.paper)
    )
    plays, rounds = (138, 111) if name == "SupBMM" else (1, 100)
    assert (policy.plays, policy.rounds, policy.n_stages) == (plays, rounds, 4)
    for either in (policy, literal):
        fed(either, np.full((rounds, plays), 0.5))
    seen = policy.diagnostics
    assert seen["explored"] == explored
    assert seen["exploited"] == exploited
    assert seen["visited"] == [rounds - sum(explored[:s]) for s in range(4)]
    assert [len(Psi) for Psi in literal._Psi[1:]] == explored


@twins
@pytest.mark.parametrize(("pays", "stages_survived"), [(1.5, 0), (4 / 3, 1), (1.2, 1), (8 / 15, 2)])
def test_a_master_keeps_the_arms_within_two_to_the_one_minus_s_of_the_best(
    module, pays, stages_survived
):
    """Contexts e₁, e₂, widths 1/√(1+n), and only e₂ pays. Stage s plays each surviving arm 4^s − 1
    times; then r̂ of e₂ is pays·(1 − 4^{-s}), none of it truncated, and e₁'s is 0. So e₁ falls
    after stage 1 if ¾·pays > 1, after stage 2 if 15/16·pays > ½; at equality it stays."""
    policy = module.SupBTC(100, 2, 2, v=4.0, width_scale=1 / (alpha_btc(100, 2, 4.0) + 1))
    arms = []
    for _ in range(99):
        arms.append(policy.select(np.eye(2)))
        policy.update(pays if arms[-1] == 1 else 0.0)
    played = [3 * [0], 3 * [1], 15 * [0], 15 * [1], 63 * [0]][: 2 * stages_survived + 2]
    assert arms == [*itertools.chain(*played), *99 * [1]][:99]


@pytest.mark.parametrize(
    ("theta", "A", "chosen"),
    [  # a row per coordinate, a column per estimate
        ([[0.0, 1.0, 5.0]], [4.0], 0),  # median distances 1, 1, 4: the lowest index of the tie
        ([[0.0, 2.0, 3.0]], [4.0], 1),  # 2, 1, 1
        ([[9.0, 4.0, 3.5]], [4.0], 1),  # 5, 0.5, 0.5
        ([[7.0, 7.5, 7.0]], [4.0], 0),  # 0 (a pair of equals), 0.5, 0
        # distances 2, 1.5, 2.5 in the norm of A, so medians 2, 1.5, 1.5
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.5]], [4.0, 1.0], 1),
        # distances 1, 1.5, 1.8, so medians 1, 1, 1.5
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.5]], [1.0, 1.0], 0),
    ],
)
def test_menu_chooses_the_estimate_with_the_smallest_median_distance_in_the_norm_of_A(
    theta, A, chosen
):
    """In the literal MENU, V = I and Y = Aθ̃ make VᵀY = Aθ̃."""
    theta, A, d = np.array(theta), np.diag(A), len(A)
    state = new_state(kind=names.MENU, n_arms=1, dim=d, plays=3, columns=3)
    state.A_inv[0], state.b[0] = np.linalg.inv(A), A @ theta
    medians.menu_estimate(state)
    np.testing.assert_allclose(state.vector[THETA_NOW], theta[:, chosen], atol=1e-14)
    literal = hb.paper.MENU(60_000, 1, d, v=1.0)
    literal.plays = 3
    found = literal._estimate(A, np.eye(d), A @ theta)
    np.testing.assert_allclose(found, theta[:, chosen], atol=1e-14)


@twins
@pytest.mark.parametrize(
    ("eps", "phases", "truncated"),
    [
        # b_t = 1, so payoffs up to √(1+n) count. After 1, 2.5, −1.5 that is 2; three zeros later
        # √7 = 2.65. In rounds 3 to 6, up to √6 = 2.45, it was less than 2.5.
        (1.0, [([1.0, 2.5, -1.5], (1 - 1.5) / 4), ([0.0] * 3, (1 + 2.5 - 1.5) / 7)], 4),
        # b_t = t^{1/6}, n = t − 1, so payoffs up to √t·t^{1/6} = t^{2/3} count: 4 does not in
        # rounds 2 to 7 (3.66), and does at t = 8, exactly at the threshold.
        (0.5, [([4.0, 1.0, 0, 0, 0, 0], 1 / 7), ([0.0], 5 / 8)], 6),
        # The same for 3.7, just above 7^{2/3} = 3.66. With b_8, one round ahead, it would count at
        # t = 7 already, up to √7·8^{1/6} = 3.74; with b_9, two rounds ahead, up to 3.82.
        (0.5, [([3.7, 1.0, 0, 0, 0, 0], 1 / 7), ([0.0], 4.7 / 8)], 6),
    ],
)
def test_tofu_in_one_dimension_drops_payoffs_above_its_threshold_and_takes_them_up_again(
    module, eps, phases, truncated
):
    """v = ln(2T/δ) makes b_1 = 1."""
    policy = module.TOFU(1000, 1, 1, v=math.log(2 * 1000 / 0.01), eps=eps)
    if module is hb:
        policy.audit()  # with a single arm no estimate would be needed
    for payoffs, estimate in phases:
        assert at_one(fed(policy, payoffs))[0] == pytest.approx(estimate, abs=1e-14)
    assert module is hb.paper or policy.diagnostics["truncated"] == truncated


@pytest.mark.parametrize("width_scale", [1.0, 3.0])
@pytest.mark.parametrize("eps", [1.0, 0.5])
def test_tofu_does_without_some_roots_and_nothing_changes(eps, width_scale):
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


def test_tofu_copes_with_widths_that_vanish():
    world = hb.section6(SymmetricPareto(shape=1.8, scale=0.3), n_arms=6, dim=3)
    settings = {"v": 4.0, "width_scale": 1e-100, "constants": "circulated"}
    ours, literal = (
        hb.simulate(module.TOFU(300, 6, 3, **settings), world, 3, keep_arms=True)
        for module in (hb, hb.paper)
    )
    np.testing.assert_array_equal(ours.arms, literal.arms)


@twins
@pytest.mark.parametrize(
    ("eps", "payoffs", "estimate", "truncated"),
    [
        # t^{1/4}: 1 at t = 1, so 1.5 is dropped for good; 2 at t = 16, so 2 is kept.
        (1.0, [1.5, *[0.0] * 14, 2.0], 2 / 17, 1),
        # t^{1/3}: 2 at t = 8, so −2 is kept; 2.0801 at t = 9, so 2.09 is dropped.
        (0.5, [1.5, *[0.0] * 6, -2.0, 2.09], -2 / 10, 2),
    ],
)
def test_crt_truncates_on_arrival_at_a_root_of_t(module, eps, payoffs, estimate, truncated):
    policy = fed(module.CRT(1000, 1, 1, v=1.0, eps=eps), payoffs)
    assert at_one(policy)[0] == pytest.approx(estimate, abs=1e-15)
    assert module is hb.paper or policy.diagnostics["truncated"] == truncated


@twins
@pytest.mark.parametrize(
    ("delta", "payoffs", "estimate"),
    [
        # k = ⌊8 ln 4⌋ = 11 groups of n = 9, and the last payoff is unused. 0 … 98 have the group
        # means 4, 13, …, 94; the sixth is 49.
        (0.5, np.append(np.arange(99.0), 1e9), 49 / 2),
        # k = ⌊8 ln 8⌋ = ⌊16.6⌋ = 16 groups of 6; the eighth of the means 2.5, 8.5, … is 44.5.
        (0.25, np.arange(100.0), 44.5 / 2),
    ],
    ids=["odd", "even"],
)
def test_mom_takes_the_lower_median_of_means_of_consecutive_payoffs(
    module, delta, payoffs, estimate
):
    """T = 10⁴, ε = 1: m = 100 rounds of r = 100."""
    policy = module.MoM(10_000, 1, 1, v=1.0, delta=delta)
    assert (policy.plays, policy.rounds) == (100, 100)
    assert at_one(fed(policy, [payoffs]))[0] == estimate


def printed_beta(name, policy, t):
    """β_t of the closed forms in one dimension, where det A = t after t − 1 plays of x = 1."""
    log_det, known = math.log(t), (policy.v, policy.delta, policy.eps)
    if name == "MoM":
        return theory.mom_beta(t, policy.rounds, policy.plays, log_det, *known)
    if name == "CRT":
        return theory.crt_beta(t, log_det, *known)
    if name == "MENU":
        return theory.menu_beta(t, 1, policy.v, policy.eps)
    return theory.tofu_beta(t, policy.horizon, 1, *known)


@pytest.mark.parametrize("eps", [1.0, 0.5])
@pytest.mark.parametrize(("name", "divisor"), [("MoM", 40), ("CRT", 10), ("MENU", 50), ("TOFU", 5)])
def test_widths_of_the_baselines_are_those_of_the_closed_forms(name, divisor, eps):
    kwargs = {"horizon": 60_000, "n_arms": 1, "dim": 1, "v": 1.7, "delta": 0.05, "eps": eps}
    assert getattr(hb.paper, name)._circulated_divisor == divisor
    for constants, shrink in (("theory", 1), ("circulated", divisor)):
        policy = getattr(hb, name)(**kwargs, constants=constants, width_scale=0.5)
        literal = getattr(hb.paper, name)(**kwargs, constants=constants)
        if name == "MENU":
            # 24 ln(e · 60 000/0.05) = 359.9
            assert policy.plays == literal.plays == (360 if constants == "theory" else 51)
        for t in range(1, 6):
            width = printed_beta(name, policy, t) / math.sqrt(t)
            assert at_one(policy)[1] == pytest.approx(0.5 * width / shrink, rel=1e-12)
            assert at_one(literal)[1] == pytest.approx(width)
            fed(policy, [np.zeros(policy.plays)])
            fed(literal, [np.zeros(policy.plays)])


@pytest.mark.parametrize("eps", [1.0, 0.5])
def test_circulated_widths_of_the_flat_policies_are_those_of_the_table(eps):
    factors = {"FlatBMM": 0.01 / 6 * 36 ** (1 / (1 + eps)), "FlatBTC": 0.01}
    for (name, factor), schedule in zip(factors.items(), ((31, 322), (1, 10_000)), strict=True):
        policy = getattr(hb, name)(10_000, 1, 1, v=3.0, eps=eps, constants="circulated")
        assert (policy.plays, policy.rounds) == schedule
        for t in range(1, 6):
            wanted = factor * theory.growth(t, eps) / math.sqrt(t)
            assert at_one(policy)[1] == pytest.approx(wanted, rel=1e-12)
            fed(policy, [np.zeros(policy.plays)])


def test_linucb_and_greedy_ridge_in_one_dimension():
    """r̂ = Σy/(1+n); LinUCB's w is (√(½ ln(2TK/δ)) + 1)/√(1+n)."""
    factor = math.sqrt(math.log(2 * 1000 * 2 / 0.01) / 2) + 1
    for policy, wide in ((hb.LinUCB(1000, 2, 1), factor), (hb.GreedyRidge(1000, 2, 1), 0.0)):
        r_hat, w = bounds(fed(policy, [1.0, 50.0, -3.0]), 1.0, 0.5)
        np.testing.assert_allclose(r_hat, [12.0, 6.0], rtol=1e-14)
        np.testing.assert_allclose(w, [wide / 2, wide / 4], rtol=1e-14)


def test_greedy_ridge_takes_the_plain_mean_of_a_rounds_payoffs():
    """With x = 1, Σy/(λ + n): means of p plays weigh like single plays with p times the ridge."""
    payoffs = np.array([[1.0, 50.0, -3.0], [0.0, 0.0, 6.0]])
    policy = hb.GreedyRidge(9, 1, 1, plays=3)
    assert (policy.plays, policy.rounds) == (3, 3)
    assert at_one(fed(policy, payoffs))[0] == pytest.approx(18 / (1 + 2), rel=1e-14)
    single = fed(hb.GreedyRidge(100, 1, 1, ridge=6.0), payoffs.ravel())
    means = fed(hb.GreedyRidge(100, 1, 1, plays=3, ridge=2.0), payoffs)
    for either in (single, means):
        assert at_one(either)[0] == pytest.approx(54 / (6 + 6), rel=1e-14)
    for wrong, words in (
        ({"plays": 10}, "plays must be at most the horizon, 9; got 10"),
        ({"ridge": 0.0}, "ridge must be"),
    ):
        with pytest.raises(ValueError, match=words):
            hb.GreedyRidge(9, 1, 1, **wrong)


@pytest.mark.parametrize("prefer", ["narrowest", "widest"])
def test_blind_plays_the_narrowest_or_the_widest_arm_whatever_is_paid(prefer):
    rng = np.random.default_rng(21)
    policies = [hb.Blind(60, 7, 3, prefer=prefer) for _ in range(2)]
    A = np.eye(3)
    for _ in range(60):
        X = rng.normal(size=(7, 3))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        width = np.sqrt(np.einsum("ad,de,ae->a", X, np.linalg.inv(A), X))
        arms = [policy.select(X) for policy in policies]
        if len(np.unique(width.round(9))) == 7:  # in the first round all are 1
            assert arms[0] == (width.argmin() if prefer == "narrowest" else width.argmax())
        assert arms[0] == arms[1]
        A += np.outer(X[arms[0]], X[arms[0]])
        policies[0].update(rng.standard_t(2, size=1))
        policies[1].update(np.array([1e6]))
