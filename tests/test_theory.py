"""Closed forms against values worked out by hand, and the relations the paper's proofs use."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from heavybandit import theory

E2 = math.e**2  # a horizon with ln T = 2
L8 = 4 * math.exp(-6)  # the δ for which L = ln(2·1·e²·2/δ) = 8 at T = e², K = 1
THIRD = 1 / 3  # the ε with 1/(1+ε) = 3/4, ε/(1+ε) = 1/4 and growth t^{1/4}
T16 = math.exp(16) / 3  # ln 3T = 16
D81 = 2 * T16**2 * math.exp(-81)  # Λ = ln(2T²/δ) = 81

eps_values = st.floats(0.05, 1)
v_values = st.floats(0.01, 100)
delta_values = st.floats(1e-6, 0.5)
horizons = st.floats(3, 1e12)
arms = st.integers(1, 1000)
dims = st.integers(1, 100)


@pytest.mark.parametrize(
    ("value", "by_hand"),
    [
        (theory.growth(16.0, THIRD), 2),
        (theory.log_term(E2, 1, 0.5), 2 + math.log(8)),
        (theory.log_term(E2, 1, L8), 8),
        (theory.alpha_bmm(16.0, 16 / 12, THIRD), 8 * 2),
        (theory.alpha_bmm(1e9, 3, 1), 6),  # with a finite variance it does not grow
        (theory.alpha_btc(16.0, E2, 1, 4, L8, THIRD), (16 / 3 + 8 + 4) * 2),
        (theory.theorem1(E2, 1, 1, 3, L8, 1), 120 * 7 * 2 * 4 * math.e + 5 * 4 * math.e),
        # T^{1/(1+ε)} = e^{1.5} and (12v)^{3/4} = 8
        (theory.theorem1(E2, 4, 1, 16 / 12, L8, THIRD), 17280 * math.exp(1.5) + 20 * math.e),
        (theory.theorem2(E2, 4, 1, 4, L8, 1), (2 + 160 + 40 * (52 / 3) * 4) * math.e),
        (theory.theorem2(E2, 4, 1, 4, L8, THIRD), 162 * math.e + 8320 / 3 * math.exp(1.5)),
        (theory.theorem3(64.0, 17, 1), 4 * 8 / 32),
        (theory.theorem3(16.0, 17, THIRD), 2 * 8 / 32),
        (theory.theorem3_gamma(28.0, 4, 1), 1 / 3),
        (theory.theorem3_gamma(14 * 16.0, 16, THIRD), 1 / 8),  # (16/256)^{3/4}
        (theory.lemma1([2.0], 3, 1, 4), 2 * 0.75 + 0.75**2),
        (theory.lemma1([-16.0, 1.0], 2, 0.5, 4), 2 * (65 / 4) + (65 / 4) ** 2),
        (theory.lemma2_threshold(16.0, 16 / 12, THIRD, 0.5), 8),
        (theory.lemma3(4, math.e), 10 * math.sqrt(math.e)),
        (theory.lemma3(10, 0), 0),
        (theory.lemma6(3, 1, 4, math.e), 8 * 2 * 10 * math.sqrt(math.e)),
        (theory.lemma6(1, 6, 10, 1), 0),  # so as printed it fails for a stage of one round
        (theory.lemma7(64.0, 4, 1), 2),
        (theory.lemma7(16.0, 16, THIRD), 2),
        # p/(1−2p) is ½ for p = γ^{1+ε} = ¼, and 1/14 for 1/16; times T/K it is 4
        (theory.lemma7_with_gamma(32.0, 4, 1, 0.5), 16 * (3 / 4 - math.sqrt(math.log(2)))),
        (theory.lemma7_with_gamma(224.0, 4, THIRD, 1 / 8), 112 * (3 / 4 - math.sqrt(math.log(2)))),
        (theory.lemma7_with_gamma(1.0, 2, 1, 0.5), (1 / 2 - math.sqrt(math.log(2)) / 4) / 2),
        (theory.theorem3_repaired(5, 4, 1), 10),  # 0.38²·4 is less than 2d
        (theory.theorem3_repaired(401, 4, 1), 0.1444 * 400 * 100),
        (theory.theorem3_repaired(401, 4, 0.5), 0.054872 * 400 * 1000),
        (theory.theorem3_repaired(1601, 4, THIRD), 0.38**4 * 1600 * 400**2),
        (theory.theorem3_repaired(10**4, 4, 0.001), math.inf),  # and no overflow
        (theory.lemma8(3, 10, 8, 0.5, 1), 3 + 10 * math.sqrt(math.log(2))),
        # 2m/δ = e⁸, and 2 ln m + ln det A = 16
        (theory.mom_beta(9, 50, 16, 16 - 2 * math.log(50), 3, 100 * math.exp(-8), 1), 85),
        (theory.crt_threshold(16.0, 1), 2),
        # 4·√e from ln(√det A/δ) = 2, and √(2·9·2) = 6
        (theory.crt_beta(E2, 2, 3, math.exp(-1), 1), 4 * math.sqrt(math.e) + 6 + 1),
        (theory.menu_beta(16.0, 4, 4 / 9, THIRD), 3 * (8 * 2 + 1)),
        (theory.tofu_threshold(16.0, E2, 128, 2 * math.exp(-6), THIRD), 8 * 2),
        (theory.tofu_beta(16.0, E2, 4, 16, 8 * math.exp(-14), THIRD), 4 * 2 * 8 * 2 * 2 + 1),
        (theory.linucb_alpha(E2, 1, 2 * math.exp(-6)), 2),
        (theory.growth_exponent(THIRD), 1 / 4),
        (theory.growth_exponent(1.0), 0),
        (theory.huber_log_term(T16, D81), 81),
        # T² = 9 and 9/ridge = e − 1; then the same with 4·2 in the denominator
        (theory.huber_kappa(3, 1, 9 / (math.e - 1)), 1),
        (theory.huber_kappa(3, 2, 9 / (8 * (math.e - 1)), 4.0), 2),
        # √16·2/27, √36·2/27, √16/9
        (theory.huber_tau_0(T16, 8, D81, THIRD), 8 / 27),
        (theory.huber_tau_0(T16, 18, D81, THIRD), 12 / 27),
        (theory.huber_tau_0(T16, 8, D81, 1.0), 4 / 9),
        # c₁ = 16^{1/2}/(48·81^{3/2}) = 1/8748, and 2c₁·273.375 = 1/16
        (theory.heavy_oful_floor(T16, 24, D81, THIRD)[0], 9 * math.sqrt(23)),
        (theory.heavy_oful_floor(T16, 273.375, D81, THIRD)[1], 2),
        # Λτ₀ is 24, and 36 if ε = 1
        (theory.heavy_oful_beta(0, T16, 8, 9.0, D81, THIRD), 3),
        (theory.heavy_oful_beta(16, T16, 8, 9.0, D81, THIRD), 9 + 24 * 24 * 2),
        (theory.heavy_oful_beta(16, T16, 8, 9.0, D81, 1.0), 9 + 24 * 36),
        (theory.hvt_ucb_beta(0, T16, 8, 6.0, D81, THIRD), 6),
        (theory.hvt_ucb_beta(16, T16, 8, 6.0, D81, THIRD), 107 * 24 * 2 + 6),
        (theory.hvt_ucb_beta(5, T16, 8, 6.0, D81, 1.0), 107 * 36 + 6),
    ],
)
def test_a_closed_form_has_the_value_worked_out_by_hand(value, by_hand):
    assert value == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(
    ("count", "by_hand"),
    [
        (theory.plays_per_round(E2, 1, 0.5), 33),  # 8(2 + ln 8) = 32.6
        (theory.plays_per_round(100_000, 20, 0.01), 179),  # 8 ln(4·10⁸·11.513) = 178.004
        (theory.mom_schedule(10_000, 1), (100, 100)),
        (theory.mom_schedule(10_000, 0.5), (39, 256)),  # 10⁴^{0.4} = 39.8
        (theory.mom_groups(100, 0.01), (42, 2)),  # 8 ln 200 = 42.4
        (theory.mom_groups(5, 0.01), (5, 1)),
        (theory.menu_plays(10_000, 0.01), 356),  # 24(1 + ln 10⁶) = 355.6
    ],
)
def test_a_count_has_the_value_worked_out_by_hand(count, by_hand):
    assert count == by_hand
    assert all(type(n) is int for n in np.atleast_1d(np.array(count, dtype=object)))


@pytest.mark.parametrize("many", [4 * 10**18, 10**30, np.array([4 * 10**18])], ids=str)
@pytest.mark.parametrize(
    "form",
    [
        lambda T: theory.log_term(T, 20, 0.01),
        lambda T: theory.theorem1(T, 10, 20, 3, 0.01, 0.5),
        lambda T: theory.theorem2(T, 10, 20, 4, 0.01, 0.5),
        lambda T: theory.linucb_alpha(T, 20, 0.01),
    ],
    ids=["log_term", "theorem1", "theorem2", "linucb_alpha"],
)
def test_a_whole_number_of_plays_may_exceed_what_64_bits_hold(form, many):
    """2KT = 1.6·10²⁰ and dT = 4·10¹⁹ are above 2⁶⁴, though T = 4·10¹⁸ is not above 2⁶³."""
    np.testing.assert_allclose(form(many), form(many * 1.0), rtol=1e-15)


@pytest.mark.parametrize(
    ("horizon", "dim", "n_arms", "eps", "applies"),
    [
        (20, 10, 4, 1, True),  # T = 2d exactly
        (19, 10, 4, 1, False),
        (100, 10, 10, 1, True),
        (100, 9, 10, 1, False),
        (100, 10, 3, 1, False),
        (30, 40, 31, 1, False),  # T < K and T < 2d
        (65, 8, 4, 0.5, True),  # (2d)^{3/2} = 64
        (63, 8, 4, 0.5, False),
        (1e300, 8, 4, 1e-6, False),  # the power itself would overflow
    ],
)
def test_the_lower_bound_applies_exactly_under_its_printed_conditions(
    horizon, dim, n_arms, eps, applies
):
    assert theory.theorem3_applies(horizon, dim, n_arms, eps) is applies


@given(horizons, dims, arms, v_values, delta_values, eps_values)
def test_theorem_2_is_the_last_line_of_its_proof(T, d, K, v, delta, eps):
    alpha = theory.alpha_btc(T, T, K, v, delta, eps)
    proof = 2 * math.sqrt(T) + 40 * (1 + alpha) * math.log(T) * math.sqrt(d * T)
    # 40 ln T √(dT) α is 40 (…) ln T √d T^{1/(1+ε)}
    assert theory.theorem2(T, d, K, v, delta, eps) == pytest.approx(proof, rel=1e-11)


@given(horizons, dims, arms, v_values, delta_values, eps_values)
def test_theorem_1_covers_what_its_proof_derives(T, d, K, v, delta, eps):
    r = theory.plays_per_round(T, K, delta)
    for order in (eps, 1):
        alpha, bound = theory.alpha_bmm(T, v, order), theory.theorem1(T, d, K, v, delta, order)
        proof = 2 * math.sqrt(T * r) + 40 * (1 + alpha) * math.log(T) * math.sqrt(d * T * r)
        assert bound >= proof
    # at a finite variance by half: 120√2/(40√8) = 1.5 and 5√2/(2√8) = 1.25, because r ≥ 8L
    assert bound <= 1.5 * proof * (1 + 1e-12)


@given(st.floats(1, 1e9), v_values, eps_values, st.floats(0.001, 1))
def test_lemma_2_follows_from_lemma_1_with_room_to_spare(t, v, eps, c):
    # Hölder's worst case Σ|β|^{1+ε} = t^{(1−ε)/2} c^{1+ε} leaves 2/12 + 1/144 < 1/4
    beta = theory.growth(t, eps) * c
    bound = theory.lemma1([beta], v, eps, theory.lemma2_threshold(t, v, eps, c))
    assert bound == pytest.approx(2 / 12 + 1 / 144, rel=1e-9)
    assert bound < theory.LEMMA2


@given(st.integers(4, 10**6), st.floats(1, 1e6), eps_values)
def test_lemma_7_follows_from_lemma_8(K, plays_per_arm, eps):
    # the good arm is worth 2γ^ε, the others γ^ε, and E_unif[N_a] is T/K on average
    T = plays_per_arm * K
    gamma = theory.theorem3_gamma(T, K, eps)
    played = theory.lemma8(T / K, T, T / K, gamma, eps)
    assert gamma**eps * (T - played) >= theory.lemma7(T, K, eps)
    assert theory.lemma7_with_gamma(T, K, eps, gamma) >= theory.lemma7(T, K, eps)


@given(st.integers(1, 1000), st.floats(1, 1e9), eps_values, st.floats(0.01, 0.49))
def test_lemma_7_with_any_gamma_is_what_lemma_8_leaves_to_the_other_arms(K, T, eps, p):
    gamma = p ** (1 / (1 + eps))
    played = theory.lemma8(T / K, T, T / K, gamma, eps)
    left = gamma**eps * (T - played)
    assert theory.lemma7_with_gamma(T, K, eps, gamma) == pytest.approx(left, abs=1e-9 * T)


@given(horizons, dims, arms, v_values, delta_values, eps_values, st.floats(1.01, 10))
def test_upper_bounds_rise_with_everything_that_makes_the_problem_harder(
    T, d, K, v, delta, eps, factor
):
    for theorem in (theory.theorem1, theory.theorem2):
        bound = theorem(T, d, K, v, delta, eps)
        assert theorem(factor * T, d, K, v, delta, eps) > bound
        assert theorem(T, d + 1, K, v, delta, eps) > bound
        assert theorem(T, d, K + 1, v, delta, eps) > bound
        assert theorem(T, d, K, factor * v, delta, eps) > bound
        assert theorem(T, d, K, v, delta / factor, eps) > bound


@given(horizons, st.integers(4, 100), v_values, delta_values, eps_values)
def test_the_lower_bound_lies_below_both_upper_bounds(T, d, v, delta, eps):
    lower = theory.theorem3(T, d, eps)
    assert lower < theory.theorem1(T, d, d, v, delta, eps)
    assert lower < theory.theorem2(T, d, d, v, delta, eps)


# The horizon from which a bound says something


@given(st.floats(10, 1e6), st.floats(0.01, 2))
def test_the_horizon_of_use_of_a_square_root_is_the_square_of_the_ratio(c, rho):
    found = theory.horizon_of_use(lambda T: c * math.sqrt(T), rho)
    assert found == pytest.approx((c / rho) ** 2, rel=1e-12)


def test_the_last_crossing_counts_when_a_bound_is_useful_useless_and_useful_again():
    # T ln²T/√T against T: ln T = T^{1/4} at T = y⁴ with y = −4 W₋₁(−1/4), useful again from there
    def bound(T):
        return math.sqrt(T) * math.log(T) ** 2

    last = (-4 * lambertw(-0.25, -1).real) ** 4
    assert bound(3) < 3
    assert theory.horizon_of_use(bound, 1.0) == pytest.approx(last, rel=1e-12)


def test_a_bound_that_is_always_or_never_useful_says_so():
    assert theory.horizon_of_use(lambda T: T, 2.0) == 3.0
    assert theory.horizon_of_use(lambda T: T, 2.0, start=7.0) == 7.0
    assert theory.horizon_of_use(lambda T: 2 * T, 2.0) == math.inf
    assert theory.horizon_of_use(lambda T: 1e9 * math.sqrt(T), 1.0, stop=1e17) == math.inf


def test_overflow_near_the_largest_float_does_not_hide_a_horizon_of_use():
    def bound(T):
        return theory.theorem1(T, 10, 1000, 3, 1e-6, 1)

    assert theory.horizon_of_use(bound, 2) == pytest.approx(
        theory.horizon_of_use(bound, 2, stop=1e100), rel=1e-9
    )


@pytest.mark.parametrize(
    ("theorem", "v", "rho", "expected"),
    [
        (theory.theorem1, 3, theory.TRIVIAL, 8.162e10),
        (theory.theorem2, 4, theory.TRIVIAL, 3.695e9),
        (theory.theorem1, 3, 0.08, 1.0092e14),
        (theory.theorem2, 4, 0.08, 5.474e12),
    ],
)
def test_the_theorems_say_nothing_on_section_6_before_billions_of_plays(theorem, v, rho, expected):
    found = theory.horizon_of_use(lambda T: theorem(T, 10, 20, v, 0.01, 1), rho)
    assert found == pytest.approx(expected, rel=2e-4)
    later = found * np.geomspace(1, 1e6, 50)
    assert np.all(theorem(later, 10, 20, v, 0.01, 1) < rho * later)
    assert theorem(found * 0.999, 10, 20, v, 0.01, 1) > rho * found * 0.999


# Bad input

FORMS = [form for form in vars(theory).values() if hasattr(form, "__wrapped__")]
GOOD = {"horizon": 100, "dim": 10, "eps": 0.5, "delta": 0.01, "gamma": 0.1, "beta": [1], "stop": 9}
ALSO_BAD = {
    **dict.fromkeys(("v", "c", "chi", "gamma", "kappa", "ridge", "regret_per_play", "start"), (0,)),
    "eps": (0, 1.5),
    "delta": (0, 1),
    "stop": (4,),
}


def good_arguments(form):
    return {name: GOOD.get(name, 5.0) for name in inspect.signature(form).parameters}


TAKE_ARRAYS = [
    (form, name)
    for form in FORMS
    for name, parameter in inspect.signature(form).parameters.items()
    if parameter.annotation is theory.Number
]


@pytest.mark.parametrize(("form", "name"), TAKE_ARRAYS)
def test_an_array_gives_the_values_of_its_entries(form, name):
    x = np.array([3.0, 50.0, 1e6])
    good = good_arguments(form)
    one_by_one = [form(**good | {name: float(entry)}) for entry in x]
    np.testing.assert_allclose(form(**good | {name: x}), one_by_one, rtol=1e-14)


def test_bounds_and_widths_take_arrays():
    assert len(TAKE_ARRAYS) == 18


@pytest.mark.parametrize("form", FORMS)
def test_every_argument_of_every_closed_form_is_checked_by_its_name(form):
    good = good_arguments(form)
    if form is theory.horizon_of_use:
        good["bound"] = math.sqrt
    form(**good)
    for name in good.keys() - {"beta", "unif_mean", "bound"}:
        for value in (-1, math.nan, math.inf, *ALSO_BAD.get(name, ())):
            wrong = good | {name: value}
            with pytest.raises(ValueError, match=rf"^{name} must be .*, got "):
                form(**wrong)
            with pytest.raises(ValueError, match=rf"^{name} must be .*, got "):
                form(*wrong.values())


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("t", lambda: theory.growth(0.5, 1)),
        ("t", lambda: theory.growth(np.array([1.0, 0.0]), 1)),
        ("t", lambda: theory.growth(np.array([1.0, math.nan]), 1)),
        ("horizon", lambda: theory.theorem3(np.array([100.0, math.inf]), 10, 1)),
        ("horizon", lambda: theory.plays_per_round(2, 20, 0.01)),
        ("horizon", lambda: theory.lemma7_with_gamma(0.5, 4, 1, 0.1)),
        ("n_arms", lambda: theory.log_term(100.0, 0, 0.01)),
        ("n_arms", lambda: theory.theorem3_repaired(10, 3, 1)),
        ("dim", lambda: theory.theorem2(100.0, 0, 20, 3, 0.01, 1)),
        ("dim", lambda: theory.theorem3_repaired(4, 4, 1)),
        ("plays", lambda: theory.mom_groups(0, 0.01)),
        ("bound", lambda: theory.lemma8(1, 0, 8, 0.5, 1)),
        ("gamma", lambda: theory.lemma8(1, 10, 8, 0.8, 1)),  # 2γ² > 1
        ("gamma", lambda: theory.lemma7_with_gamma(100.0, 4, THIRD, 0.5**0.75)),  # 2γ^{1+ε} = 1
    ],
)
def test_bad_input_is_refused_with_a_sentence_that_names_the_argument(argument, call):
    with pytest.raises(ValueError, match=rf"^{argument} must be .*, got "):
        call()


@pytest.mark.parametrize("value", ["0.5", True, None, [0.5]])
def test_what_is_no_number_is_refused_as_such(value):
    with pytest.raises(TypeError, match=r"^eps must be a number in \(0, 1\], got "):
        theory.growth(5.0, value)
    with pytest.raises(ValueError, match=r"^eps must be in \(0, 1\], got 10{19}… \(401 digits\)$"):
        theory.growth(5.0, 10**400)


def test_the_repaired_horizon_is_infinite_rather_than_an_overflow():
    assert theory.theorem3_repaired(10**4, 4, 0.001) == math.inf
