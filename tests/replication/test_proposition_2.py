"""Truncated moments against integrals and sums, and what Proposition 2's proof says of them."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad

from heavybandit import noise, paper
from heavybandit.policy import TIE
from heavybandit.replication import claims, coverage
from heavybandit.replication.coverage import Design
from heavybandit.replication.proposition_2 import (
    bias_and_variance,
    chance_of_a_miss,
    truncated_moments,
)

MEANS = (-1.0, -0.3, 0.0, 0.4, 1.0)
LIMITS = (0.05, 0.5, 1.0, 1.7, 4.0, 60.0, 5_000.0)
PARETO = ((1.3, 0.5), (1.6, 2.0), (2.0, 1.0), (2.2, 1.0), (3.0, 0.01), (4.0, 0.3))
WHOLE_LINE = (-math.inf, math.inf)


def student(nu, scale):
    """Γ((ν+1)/2)/(Γ(ν/2) √(νπ)) (1 + x²/ν)^{−(ν+1)/2}, stretched by the scale."""
    peak = math.gamma((nu + 1) / 2) / (math.gamma(nu / 2) * math.sqrt(nu * math.pi) * scale)
    return (lambda x: peak * (1 + (x / scale) ** 2 / nu) ** (-(nu + 1) / 2)), *WHOLE_LINE


def pareto(s, x_m, shift=0.0):
    """s x_m^s/x^{s+1} from x_m on, moved down by the shift."""
    return (lambda x: s * x_m**s / (x + shift) ** (s + 1)), x_m - shift, math.inf


def mirrored(s, x_m):
    return (lambda x: s * x_m**s / abs(x) ** (s + 1) / 2 if abs(x) > x_m else 0.0), *WHOLE_LINE


DENSITIES = [  # and where they jump
    *(
        (noise.StudentT(df, scale), student(df, scale), (0.0,))
        for df, scale in ((2.1, 1.0), (3.0, 1.0), (2.5, 0.3), (7.0, 2.0), (30.0, 0.5))
    ),
    *((noise.Pareto(s, x_m), pareto(s, x_m), ()) for s, x_m in PARETO),
    *(
        (noise.Pareto(s, x_m, centred=True), pareto(s, x_m, s * x_m / (s - 1)), ())
        for s, x_m in PARETO
    ),
    *((noise.SymmetricPareto(s, x_m), mirrored(s, x_m), (-x_m, x_m)) for s, x_m in PARETO),
]
by_law = partial(pytest.mark.parametrize, "law", ids=lambda law: law.name)


def integrals(density, jumps, mean, limit):
    """∫ (mean + x)^k f(x) dx over |mean + x| ≤ limit, k = 1, 2, in pieces without jumps."""
    f, start, end = density
    limit *= 1 + TIE  # what is equal in exact arithmetic is kept (R15)
    low, high = max(-limit - mean, start), min(limit - mean, end)
    if low >= high:
        return 0.0, 0.0
    # pieces grow like powers of 4, since a tail does not fit into one
    marks = [*jumps, *(sign * 4.0**k / 100 for sign in (-1, 1) for k in range(12))]
    near = start if math.isfinite(start) else 0.0
    cuts = sorted({low, high, *(m for m in (*marks, *(near + m for m in marks)) if low < m < high)})

    def moment(k):
        return sum(
            quad(lambda x: (mean + x) ** k * f(x), a, b, epsabs=1e-13, epsrel=1e-10)[0]
            for a, b in itertools.pairwise(cuts)
        )

    return moment(1), moment(2)


def moments(law, mean, limit):
    first, second = truncated_moments(law, np.array([mean]), np.array([limit]))
    assert (first.shape, second.shape) == ((1,), (1,))
    return float(first[0]), float(second[0])


@pytest.mark.parametrize(
    ("law", "density", "jumps"), DENSITIES, ids=[law.name for law, _, _ in DENSITIES]
)
def test_truncated_moments_are_the_integrals_of_the_density(law, density, jumps):
    pairs = list(itertools.product(MEANS[::2], LIMITS[::2]))
    found = np.transpose(truncated_moments(law, *np.transpose(pairs)))
    wanted = np.array([integrals(density, jumps, *pair) for pair in pairs])
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-11)
    cut = (wanted == 0).all(axis=1)  # no payoff is as small as the limit
    assert not found[cut].any()


@by_law([law for law, _, _ in DENSITIES])
def test_a_limit_that_cuts_nothing_leaves_the_mean_and_the_second_moment(law):
    # what is left of the tail beyond 10^40 is 10^{−40·0.1} of the second moment at the most
    for mean in MEANS:
        first, second = moments(law, mean, 1e40)
        assert first == pytest.approx(mean + law.mean, rel=1e-9, abs=1e-11)
        exact = law.raw_moment(1.0, mean)
        if math.isfinite(exact):
            assert second == pytest.approx(exact, rel=2e-4)


def points(law, mean):
    """The payoffs of a noise that takes few values, and their probabilities."""
    if isinstance(law, noise.Extremal):
        p = law.probability
        yield from ((mean - law.size, p / 2), (mean, 1 - p), (mean + law.size, p / 2))
    elif isinstance(law, noise.Lottery):
        p = law.probability
        yield from ((mean + law.size, p), (mean - law.size * p / (1 - p), 1 - p))
    elif isinstance(law, noise.TwoPointPayoff):
        yield from ((1 / law.gamma, law.gamma * mean), (0.0, 1 - law.gamma * mean))


FEW_VALUES = (
    *(
        kind(*a)
        for kind in (noise.Extremal, noise.Lottery)
        for a in ((4.0, 0.1), (1.0,), (0.2, 0.7))
    ),
    *(noise.TwoPointPayoff(gamma) for gamma in (0.2, 1.0)),
)


@by_law(FEW_VALUES)
def test_truncated_moments_of_few_values_are_sums_over_them(law):
    means = [m for m in MEANS if m >= 0 or isinstance(law, noise.Additive)]
    pairs = list(itertools.product(means, (*LIMITS, 1e40)))
    found = np.transpose(truncated_moments(law, *np.transpose(pairs)))
    for both, (mean, limit) in zip(found, pairs, strict=True):
        kept = [(y, q) for y, q in points(law, mean) if abs(y) <= limit]
        wanted = [sum(q * y for y, q in kept), sum(q * y**2 for y, q in kept)]
        assert both == pytest.approx(wanted, abs=1e-12), (mean, limit)


@by_law([noise.Extremal(0.2, 1.0), noise.Lottery(0.2, 0.4), noise.TwoPointPayoff(1 / 0.3)])
def test_a_payoff_at_the_limit_is_kept_whatever_its_last_bit_says(law):
    whole = sum(q * y for y, q in points(law, 0.1))
    for limit in (0.3, 0.3 * (1 - 1e-14)):
        assert moments(law, 0.1, limit)[0] == pytest.approx(whole)
    assert moments(law, 0.1, 0.3 * (1 - 1e-8))[0] != pytest.approx(whole)


# What is refused.


def test_a_noise_without_a_closed_form_is_refused_by_name():
    with pytest.raises(TypeError, match="Gaussian"):
        bias_and_variance(coverage.same_design(3), noise.Gaussian(), 1.0)


@pytest.mark.parametrize("df", [1.5, 2.0])
def test_students_t_of_2_or_fewer_degrees_of_freedom_is_refused(df):
    with pytest.raises(ValueError, match=f"df is {df}, but must be above 2"):
        truncated_moments(noise.StudentT(df), np.zeros(1), np.ones(1))


# Proposition 2's proof.

SMALL = Design(
    np.array([[0.9, 0.1], [0.2, -0.6], [0.5, 0.5], [0.0, 0.7]]),
    np.array([[0.8, 0.6], [-0.4, 0.9], [1.0, 0.0]]),
    np.array([0.6, 0.5]),
)


def one(mean):
    """n = 1, one arm, d = 1: β = h = ½, c = √½, and the play pays `mean` on average."""
    return Design(np.ones((1, 1)), np.ones((1, 1)), np.array([mean]))


def by_enumeration(law, eps):
    """Bias, ΣE[Z²], h and c of each arm of SMALL: a sum over terms and values."""
    A_inv = np.linalg.inv(np.eye(2) + SMALL.V.T @ SMALL.V)
    for x in SMALL.X:
        beta = [float(x @ A_inv @ row) for row in SMALL.V]
        h = sum(abs(b) ** (1 + eps) for b in beta) ** (1 / (1 + eps))
        bias = second = 0.0
        for b, row in zip(beta, SMALL.V, strict=True):
            for y, q in points(law, float(row @ SMALL.theta)):
                kept = abs(b * y) <= h
                bias -= 0.0 if kept else q * b * y
                second += q * (b * y) ** 2 if kept else 0.0
        yield abs(bias), second, h, math.sqrt(x @ A_inv @ x)


@pytest.mark.parametrize("eps", [1.0, 0.5])
@by_law([noise.Extremal(1.5, 0.3), noise.Extremal(6.0, 0.1), noise.Lottery(6.0, 0.1)])
def test_bias_and_variance_are_sums_over_terms_and_values(law, eps):
    means = [float(x @ SMALL.theta) for x in SMALL.V]
    v = max(sum(q * abs(y) ** (1 + eps) for y, q in points(law, mean)) for mean in means)
    wanted = [
        (bias / (v * h), second / (v * h**2)) for bias, second, h, _ in by_enumeration(law, eps)
    ]
    assert np.all(np.max(wanted, axis=0) > 0)  # something is dropped, and something is kept
    assert np.transpose(bias_and_variance(SMALL, law, eps)) == pytest.approx(np.array(wanted))


def estimates(law, seed):
    """Algorithm 2's estimates of SMALL's arms after 10 000 histories, ε = 1."""
    draws = law.draw(np.random.default_rng(seed), 40_000).reshape(-1, 4)
    return np.array([paper.btc(SMALL.V, SMALL.means + row, SMALL.X, 0.0, 1.0)[0] for row in draws])


def test_the_bias_is_what_algorithm_2_is_off_by_on_average():
    # rule: within 4 standard errors of the mean over 10 000 histories
    law, eps = noise.Pareto(2.2, 1.0, centred=True), 1.0
    off = estimates(law, 12) - SMALL.beta() @ SMALL.means
    h = np.linalg.norm(SMALL.beta(), axis=1)
    bias = bias_and_variance(SMALL, law, eps)[0] * SMALL.raw_moment(law, eps) * h
    error = off.std(axis=0) / math.sqrt(len(off))
    assert np.all(np.abs(np.abs(off.mean(axis=0)) - bias) <= 4 * error)
    assert np.any(bias > 20 * error)


def test_one_rare_payoff_has_a_bias_that_comes_as_near_to_the_bound_as_one_likes():
    """A payoff 1/γ > 1 is dropped, and the estimate is 0.

    The bias is βm, v = γm·γ^{−(1+ε)} = mγ^{−ε}, and the ratio βm/(vh) = γ^ε, whatever m.
    """
    for gamma, eps, m in itertools.product((0.3, 0.9, 0.999), (1.0, 0.5), (0.2, 1.0)):
        bias, variance = bias_and_variance(one(m), noise.TwoPointPayoff(gamma), eps)
        assert bias == pytest.approx([gamma**eps])
        assert variance.tolist() == [0.0]


def test_one_payoff_at_the_limit_has_the_variance_of_the_bound():
    """γ = 1: a payoff 1 = h/β is kept, ΣE[Z²] = β²m, and v·h² = m·β²."""
    bias, variance = bias_and_variance(one(0.7), noise.TwoPointPayoff(1.0), 1.0)
    assert bias == pytest.approx([0.0], abs=1e-15)
    assert variance == pytest.approx([1.0])


def test_a_term_of_weight_0_adds_nothing():
    """The second context says nothing about the arm, and is as good as not there."""
    V, theta = np.array([[0.5, 0.0], [0.0, 0.5]]), np.array([0.6, 0.6])
    for law in (noise.StudentT(3.0), noise.SymmetricPareto(1.6), noise.Extremal(2.0, 0.4)):
        with_it = bias_and_variance(Design(V, np.eye(2)[:1], theta), law, 0.5)
        without = bias_and_variance(Design(V[:1], np.eye(2)[:1], theta), law, 0.5)
        assert np.array(with_it) == pytest.approx(np.array(without))


tenths = st.integers(-10, 10).map(lambda k: k / 10)


@st.composite
def laws(draw, eps):
    """A noise with mean 0 and a finite moment of order 1 + ε."""
    scale, above = draw(st.floats(0.05, 5)), draw(st.floats(0.05, 3))
    shape = 1 + eps + above
    assume(abs(shape - 2) > 0.01)  # there the second truncated moment is a logarithm
    return draw(
        st.sampled_from(
            [
                noise.StudentT(2 + above, scale),
                noise.Pareto(shape, scale, centred=True),
                noise.SymmetricPareto(shape, scale),
                noise.Extremal(scale, min(1.0, above)),
                noise.Lottery(scale, min(0.99, above / 3)),
                noise.TwoPointPayoff(min(1.0, 1 / scale)),
            ]
        )
    )


@given(st.data(), st.floats(0.1, 1), st.integers(1, 4), st.integers(1, 3))
def test_neither_bias_nor_variance_exceeds_the_proofs_bound(data, eps, n, dim):
    law = data.draw(laws(eps))
    vectors = st.lists(tenths, min_size=dim, max_size=dim)
    V, X = (
        np.array(data.draw(st.lists(vectors, min_size=rows, max_size=rows))) / math.sqrt(dim)
        for rows in (n, 2)
    )
    theta = np.array(data.draw(vectors)) / math.sqrt(dim)
    if isinstance(law, noise.TwoPointPayoff):
        V, theta = np.abs(V), np.abs(theta)
    design = Design(V, X, theta)
    assume(np.all(np.abs(design.beta()).max(axis=1) > 1e-6))
    assume(design.raw_moment(law, eps) > 0)
    for ratio in bias_and_variance(design, law, eps):
        assert ratio.shape == (2,)
        assert np.all(ratio >= 0)
        assert np.all(ratio <= 1 + TIE + claims.ROUNDING)


def test_a_noise_with_a_mean_of_its_own_is_measured_against_it():
    """Nothing of a payoff of 0.01 and more is dropped at 1, but for a tail: no bias to speak of."""
    bias, _ = bias_and_variance(one(0.0), noise.Pareto(), 1.0)
    # Dropped is P > 1, whose mean part is s x_m^s/(s−1) = 1.5e-6; h = ½, β = ½, v = 3e-4.
    assert bias[0] == pytest.approx(1.5e-6 / 3e-4, rel=1e-6)


def test_an_arm_of_which_the_history_says_nothing_has_neither_bias_nor_variance():
    design = Design(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.zeros(2))
    assert bias_and_variance(design, noise.StudentT(), 1.0) == ([0.0], [0.0])


# A bound on the probability of a miss.


def test_a_chance_of_a_miss_by_hand_where_nothing_and_where_everything_is_truncated():
    """A payoff of ±1 is kept: no bias, E[Z²] = ¼. One of 2 > h/β is dropped: bias ½, E[Z²] = 0.

    With α = 6√2, x = αc = 6, and the first bound is 2 exp(−36/(2·¼ + ⅔·6·½)) = 2 exp(−14.4).
    With α = √2·(x + ½) the second is 2 exp(−x²/(⅓x)) = 2 exp(−3x); it says nothing from x = ln 2/3
    down, and no bias is overcome by α ≤ √½.
    """
    kept = chance_of_a_miss(one(0.0), noise.Extremal(1.0), 1.0, 6 * math.sqrt(2))
    assert kept == pytest.approx(2 * math.exp(-14.4))
    for x in (3.0, 0.5, 0.23, 0.0, -0.2, -0.5, -3.0):
        alpha = math.sqrt(2) * (x + 0.5)
        dropped = chance_of_a_miss(one(1.0), noise.TwoPointPayoff(0.5), 1.0, alpha)
        assert dropped == pytest.approx(2 * math.exp(-3 * x) if x >= 0.5 else 1.0)


@pytest.mark.parametrize("eps", [1.0, 0.5])
@by_law([noise.Extremal(6.0, 0.1), noise.Lottery(6.0, 0.1), noise.Lottery(0.5, 0.8)])
def test_a_chance_of_a_miss_sums_over_arms_terms_and_values(law, eps):
    for alpha in (4.0, 6.0, 9.0):
        wanted = 0.0
        for bias, second, h, c in by_enumeration(law, eps):
            x = alpha * c - bias
            wanted += 2 * math.exp(-(x**2) / (2 * second + 2 / 3 * x * h))
        assert 0 < wanted < 1
        assert chance_of_a_miss(SMALL, law, eps, alpha) == pytest.approx(wanted)


@by_law([noise.Extremal(1.2, 0.9), noise.Lottery(1.5, 0.3), noise.StudentT(3.0)])
def test_algorithm_2_misses_no_more_often_than_its_chance_says(law):
    """Rule: the lower limit on the frequency of 10 000 histories is not above the bound."""
    errors = np.abs(estimates(law, 13) - SMALL.X @ SMALL.theta) / SMALL.c()
    seen = 0
    for alpha in (0.0, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0):
        misses = int(np.count_nonzero((errors > alpha + 1).any(axis=1)))
        assert claims.limits(misses, len(errors))[0] <= chance_of_a_miss(SMALL, law, 1.0, alpha)
        seen += misses > 0
    assert seen > 1


def test_an_arm_of_which_the_history_says_nothing_is_not_missed_and_adds_nothing():
    """Its estimate is 0 whatever the payoffs, and the ridge's own bias is at most c."""
    history, law = np.array([[1.0, 0.0]]), noise.Extremal(1.0)
    known, unknown = np.eye(2)[:1], np.eye(2)[1:]
    assert chance_of_a_miss(Design(history, unknown, np.zeros(2)), law, 1.0, 0.5) == 0.0
    alone, both = (
        chance_of_a_miss(Design(history, X, np.zeros(2)), law, 1.0, 5.0)
        for X in (known, np.vstack([known, unknown]))
    )
    assert both == pytest.approx(alone)
    assert alone > 0


def test_a_chance_of_a_miss_below_the_allowed_one_follows_from_the_printed_alpha():
    """Proposition 2: with the exact v and the printed α, δ/T is enough for all arms together."""
    T, delta = 100, 0.1
    for law, eps in ((noise.StudentT(3.0), 1.0), (noise.SymmetricPareto(1.6), 0.5)):
        v = SMALL.raw_moment(law, eps)
        alpha = coverage.widths(SMALL, "BTC", v, eps, T, delta).alpha
        assert chance_of_a_miss(SMALL, law, eps, alpha) <= delta / T


def test_one_arm_that_is_sure_to_be_missed_is_enough_to_say_nothing():
    """Of e₁ every payoff is dropped, and ½√½ is below its bias of ½; of e₂ nothing is known."""
    design = Design(np.array([[1.0, 0.0]]), np.eye(2), np.array([1.0, 0.0]))
    assert chance_of_a_miss(design, noise.TwoPointPayoff(0.5), 1.0, 0.5) == 1.0
