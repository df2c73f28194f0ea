"""Exact moments against numerical integration of the densities, and draws against both."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from heavybandit import noise, theory

EPS = (1.0, 0.7, 0.5, 0.25)
MEANS = (-1.0, -0.3, 0.0, 0.015, 0.7, 1.0, 30.0)

SYMMETRIC = (
    (noise.Gaussian(), stats.norm()),
    (noise.Gaussian(0.2), stats.norm(scale=0.2)),
    (noise.StudentT(1.5), stats.t(1.5)),
    (noise.StudentT(2.5, scale=0.3), stats.t(2.5, scale=0.3)),
    (noise.StudentT(), stats.t(3)),
    (noise.StudentT(4, scale=2), stats.t(4, scale=2)),
    (noise.StudentT(7), stats.t(7)),
)
PARETO = tuple((s, x_m) for s in (1.4, 1.6, 2.5, 3.0, 6.0) for x_m in (0.01, 2.0))
ALL = (
    *(kind for kind, _ in SYMMETRIC),
    noise.Pareto(),
    noise.Pareto(centred=True),
    noise.Pareto(1.6, 2.0),
    noise.SymmetricPareto(1.6),
    noise.SymmetricPareto(3.0, 0.5),
    noise.Extremal(4.0, 0.1),
    noise.Extremal(1.0),
    noise.Lottery(4.0, 0.1),
    noise.Lottery(1.0),
    noise.Lottery(0.3, 0.8),
    noise.TwoPointPayoff(0.2),
    noise.Levels([-1.0, 0.5, 4.0], [0.25, 0.5, 0.25]),
    noise.Levels.pareto(2.2, 0.1),
    noise.Levels.pareto(3.0, one_sided=True),
    noise.Empirical([3.0, -1.0, 0.5, -1.0]),
    noise.AlphaStable(1.7, 0.0, 0.3),
    noise.AlphaStable(1.6, -1.0),
    noise.LogNormal(1.2, 0.5),
    noise.Outliers(0.1, 8.0, 0.05),
    noise.TwoPointPayoff(0.2, lift=1.0),
)
ADDITIVE = tuple(kind for kind in ALL if isinstance(kind, noise.Additive))
by_kind = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
by_additive = pytest.mark.parametrize("kind", ADDITIVE, ids=lambda kind: kind.name)


def integral(f, *ends):
    """∫ f over consecutive pieces, so that no piece has a kink inside."""
    return sum(
        quad(f, low, high, epsabs=0, epsrel=1e-11, limit=200)[0]
        for low, high in itertools.pairwise(ends)
        if low < high
    )


def density_of(kind):
    """The density as Section 6 prints it (Student's t) or as everyone knows it (Gaussian)."""
    if isinstance(kind, noise.Gaussian):
        peak = 1 / (math.sqrt(2 * math.pi) * kind.scale)
        return lambda x: peak * math.exp(-((x / kind.scale) ** 2) / 2)
    nu = kind.df
    peak = math.gamma((nu + 1) / 2) / (math.sqrt(nu * math.pi) * math.gamma(nu / 2) * kind.scale)
    return lambda x: peak * (1 + (x / kind.scale) ** 2 / nu) ** (-(nu + 1) / 2)


def symmetric_moment(density, q, a):
    """∫ |x−a|^q density(x) dx, the tails in x = ±b e^y, where a power tail is exponential."""
    b = 1 + 2 * abs(a)

    def tail(y):
        x = b * math.exp(y)
        return (abs(x - a) ** q + abs(x + a) ** q) * density(x) * x

    low, high = min(a, 0.0), max(a, 0.0)
    inside = integral(lambda x: abs(x - a) ** q * density(x), -b, low, high, b)
    # at y = 300 what is left of a power tail is below e^{−0.25·300}, and exp is far from overflow
    return inside + integral(tail, 0, 2, 20, 300)


def pareto_moment(s, x_m, q, a):
    """∫ |x−a|^q s x_m^s/x^{s+1} dx in x = x_m e^y, split at the kink a."""

    def f(y):
        x = x_m * math.exp(y)
        return abs(x - a) ** q * s * math.exp(-s * y)

    kink = math.log(a / x_m) if a > x_m else 0.0
    return integral(f, 0, kink, kink + 2, kink + 20, kink + 300)


# Moments


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("kind", [kind for kind, _ in SYMMETRIC], ids=lambda kind: kind.name)
def test_moments_of_a_symmetric_noise_are_the_integrals_of_its_density(kind, eps):
    q = 1 + eps
    if isinstance(kind, noise.StudentT) and q >= kind.df:
        assert kind.central_moment(eps) == math.inf
        assert kind.raw_moment(eps, 1.0) == math.inf
        return
    for mean in MEANS:
        by_integral = symmetric_moment(density_of(kind), q, -mean)
        assert kind.raw_moment(eps, mean) == pytest.approx(by_integral, rel=1e-8)
        assert kind.central_moment(eps, mean) == kind.raw_moment(eps, 0.0)


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize(("s", "x_m"), PARETO)
def test_moments_of_pareto_noise_are_the_integrals_of_the_printed_density(s, x_m, eps):
    q, centre = 1 + eps, s * x_m / (s - 1)
    printed, centred = noise.Pareto(s, x_m), noise.Pareto(s, x_m, centred=True)
    symmetric = noise.SymmetricPareto(s, x_m)
    if q >= s:
        for kind in (printed, centred, symmetric):
            assert kind.central_moment(eps) == math.inf
            assert kind.raw_moment(eps, 1.0) == math.inf
        return
    central = pareto_moment(s, x_m, q, centre)
    assert printed.central_moment(eps) == pytest.approx(central, rel=1e-8)
    assert centred.central_moment(eps) == pytest.approx(central, rel=1e-8)
    for mean in MEANS:
        right, left = pareto_moment(s, x_m, q, -mean), pareto_moment(s, x_m, q, mean)
        about_centre = pareto_moment(s, x_m, q, centre - mean)
        assert printed.raw_moment(eps, mean) == pytest.approx(right, rel=1e-8)
        assert centred.raw_moment(eps, mean) == pytest.approx(about_centre, rel=1e-8)
        assert symmetric.raw_moment(eps, mean) == pytest.approx((left + right) / 2, rel=1e-8)


def test_section_6_has_the_moments_of_its_noises():
    student, pareto = noise.by_name("student-t"), noise.by_name("pareto")
    assert student.central_moment(1) == pytest.approx(3)  # ν/(ν−2)
    assert student.raw_moment(1, 1.0) == pytest.approx(4)
    assert pareto.mean == pytest.approx(0.015)  # s x_m/(s−1)
    assert pareto.central_moment(1) == pytest.approx(7.5e-5)  # s x_m²/((s−1)²(s−2))
    assert noise.by_name("pareto-centred").mean == 0


@by_kind
@given(mean=st.floats(-1, 1))
def test_the_second_raw_moment_is_the_central_one_plus_the_squared_mean(kind, mean):
    if isinstance(kind, noise.TwoPointPayoff):
        mean = abs(mean)
    if math.isfinite(kind.central_moment(1, mean)):
        expected = kind.central_moment(1, mean) + (mean + kind.mean) ** 2
        assert kind.raw_moment(1, mean) == pytest.approx(expected, rel=1e-9)


@by_kind
@given(mean=st.floats(0, 1), low=st.floats(0.01, 1), high=st.floats(0.01, 1))
def test_norms_rise_with_the_order(kind, mean, low, high):
    # Lyapunov, as the remark after Theorem 1 has it; an infinite moment stays infinite
    low, high = sorted((low, high))
    for moment in (kind.central_moment, kind.raw_moment):
        smaller = moment(low, mean) ** (1 / (1 + low))
        assert smaller <= moment(high, mean) ** (1 / (1 + high)) * (1 + 1e-9)


@given(st.floats(0.05, 1), st.floats(-2, 2), st.floats(0.1, 10))
def test_moments_scale_with_the_noise(eps, mean, scale):
    for make in (
        lambda s: noise.Gaussian(s),
        lambda s: noise.StudentT(2.5, s),
        lambda s: noise.Pareto(2.5, s),
        lambda s: noise.SymmetricPareto(2.5, s),
        lambda s: noise.Extremal(s, 0.3),
        lambda s: noise.Lottery(s, 0.3),
    ):
        scaled = make(scale).raw_moment(eps, scale * mean)
        assert scaled == pytest.approx(scale ** (1 + eps) * make(1.0).raw_moment(eps, mean))


@pytest.mark.parametrize("kind", [noise.StudentT(50), noise.Pareto(50), noise.SymmetricPareto(50)])
def test_moments_stay_accurate_at_the_lightest_tail_allowed(kind):
    # a noise small beside the mean moves |mean|^q by the second-order term of its expansion
    for eps in (0.25, 0.7):
        q, far = 1 + eps, 1e6
        centre = far + kind.mean
        second = q * (q - 1) / 2 * kind.central_moment(1) / centre**2
        assert kind.raw_moment(eps, far) == pytest.approx(centre**q * (1 + second), rel=1e-10)


# The extreme noises


@given(st.floats(0.01, 100), st.floats(0.001, 1), st.floats(0.05, 1))
def test_extremal_noise_makes_markov_tight(v, probability, eps):
    kind = noise.Extremal.for_moment(v, probability, eps)
    assert kind.central_moment(eps) == pytest.approx(v)
    assert v / kind.size ** (1 + eps) == pytest.approx(probability)
    # and so Lemma 1, at χ = size, is loose by a factor of 2 and a square only
    bound = theory.lemma1([1.0], v, eps, kind.size)
    assert bound == pytest.approx(2 * probability + probability**2)


def test_a_lottery_has_the_moments_of_its_gain_and_its_loss_by_hand():
    # gain 3 once in 4, else a loss of 3·¼/¾ = 1
    kind = noise.Lottery(3.0, 0.25)
    assert kind.loss == pytest.approx(1)
    assert kind.mean == 0
    assert kind.central_moment(1) == pytest.approx(0.25 * 9 + 0.75)
    assert kind.central_moment(0.5, 0.7) == pytest.approx(0.25 * 3**1.5 + 0.75)
    assert kind.raw_moment(1, -1.0) == pytest.approx(0.25 * 4 + 0.75 * 4)  # 2 or −2
    assert kind.raw_moment(0.5, 1.0) == pytest.approx(0.25 * 4**1.5)  # 4 or 0
    assert kind.moment_about(3.0, 0.5) == pytest.approx(0.25 * 2.5**3 + 0.75 * 1.5**3)


@given(st.floats(0.01, 100), st.floats(0.001, 0.999), st.floats(0.05, 1), st.floats(-2, 2))
def test_moments_of_a_lottery_are_sums_over_its_two_values(size, p, eps, mean):
    kind = noise.Lottery(size, p)
    values = ((size, p), (-size * p / (1 - p), 1 - p))
    assert sum(q * x for x, q in values) == pytest.approx(0, abs=1e-9 * size)
    assert kind.mean == 0
    central = sum(q * abs(x) ** (1 + eps) for x, q in values)
    raw = sum(q * abs(mean + x) ** (1 + eps) for x, q in values)
    assert kind.central_moment(eps, mean) == pytest.approx(central)
    assert kind.raw_moment(eps, mean) == pytest.approx(raw)


@given(st.floats(0.01, 100), st.floats(0.001, 0.999), st.floats(0.05, 1))
def test_a_lottery_for_a_moment_has_that_moment(v, probability, eps):
    kind = noise.Lottery.for_moment(v, probability, eps)
    assert kind.probability == probability
    gain, loss = kind.size ** (1 + eps), kind.loss ** (1 + eps)
    assert probability * gain + (1 - probability) * loss == pytest.approx(v)
    assert kind.central_moment(eps) == pytest.approx(v)


def test_a_fair_lottery_is_the_extremal_noise_that_always_strikes():
    for eps, mean in itertools.product(EPS, MEANS):
        fair, extremal = noise.Lottery(2.0), noise.Extremal(2.0)
        assert fair.raw_moment(eps, mean) == pytest.approx(extremal.raw_moment(eps, mean))
    assert noise.Lottery.for_moment(4.0, 0.5, 1.0).size == pytest.approx(2)


@given(st.floats(4, 1e9), st.integers(4, 100), st.floats(0.05, 1))
def test_the_lower_bounds_payoffs_have_raw_moments_1_and_2(horizon, n_arms, eps):
    gamma = theory.theorem3_gamma(horizon, n_arms, eps)
    kind = noise.TwoPointPayoff(gamma)
    assert kind.raw_moment(eps, gamma**eps) == pytest.approx(1)
    assert kind.raw_moment(eps, 2 * gamma**eps) == pytest.approx(2)
    assert kind.raw_moment(eps, 2 * gamma**eps) <= 2 * (1 + 1e-12)


def test_the_central_moment_of_two_points_is_the_sum_over_them():
    # γ = 1/4, mean 2: payoff 4 or 0, each with probability 1/2, both 2 away from the mean
    kind = noise.TwoPointPayoff(0.25)
    assert kind.central_moment(0.5, 2.0) == pytest.approx(2**1.5)
    assert kind.raw_moment(0.5, 2.0) == pytest.approx(0.5 * 4**1.5)
    # mean 1: 4 with probability 1/4, three away; 0 with 3/4, one away
    assert kind.central_moment(1, 1.0) == pytest.approx(0.25 * 9 + 0.75 * 1)


def test_two_point_payoffs_follow_the_engines_rule():
    kind = noise.TwoPointPayoff(0.2)
    draws = np.array([0.0, 0.0999, 0.1, 0.5])
    assert kind.payoffs(0.5, draws).tolist() == [5.0, 5.0, 0.0, 0.0]
    assert kind.payoffs(0.0, draws).tolist() == [0.0] * 4
    assert kind.payoffs(5.0, draws).tolist() == [5.0] * 4


@by_additive
def test_additive_noise_is_added_to_the_mean(kind):
    draws = kind.draw(np.random.default_rng(1), 5)
    assert kind.payoffs(0.7, draws).tolist() == (0.7 + draws).tolist()


# Draws


@by_kind
@given(n=st.integers(0, 40), m=st.integers(0, 40), seed=st.integers(0, 2**32))
def test_drawing_n_and_then_m_is_drawing_n_plus_m(kind, n, m, seed):
    apart, at_once = np.random.default_rng(seed), np.random.default_rng(seed)
    draws = np.concatenate([kind.draw(apart, n), kind.draw(apart, m)])
    assert draws.dtype == np.float64
    assert draws.tolist() == kind.draw(at_once, n + m).tolist()


def symmetric_pareto_cdf(s, x_m):
    half = stats.pareto(s, scale=x_m)
    return lambda x: np.where(x > 0, 1 - half.sf(x) / 2, half.sf(-x) / 2)


def stable_cdf(alpha, skew, scale):
    """scipy's, between points that lie closer than what the test can tell apart."""
    grid = np.sinh(np.linspace(-9, 9, 4001))
    values = stats.levy_stable(alpha, skew).cdf(grid)
    return lambda x: np.interp(x / scale, grid, values)


CDFS = (
    *((kind, law.cdf) for kind, law in SYMMETRIC),
    (noise.Pareto(), stats.pareto(3, scale=0.01).cdf),
    (noise.Pareto(1.6, 2.0), stats.pareto(1.6, scale=2.0).cdf),
    (noise.Pareto(centred=True), stats.pareto(3, scale=0.01, loc=-0.015).cdf),
    (noise.SymmetricPareto(1.6), symmetric_pareto_cdf(1.6, 1.0)),
    (noise.SymmetricPareto(3.0, 0.5), symmetric_pareto_cdf(3.0, 0.5)),
    (noise.TwoPointPayoff(0.2), stats.uniform.cdf),
    (noise.LogNormal(1.2, 0.5), stats.lognorm(1.2, -0.5, 0.5 * math.exp(-0.72)).cdf),
    (noise.Outliers(0.1, 8.0, 0.05), lambda x: stats.norm.cdf([x / 8, x / 0.1]).T @ [0.05, 0.95]),
    *(
        (noise.AlphaStable(a, b, 0.3), stable_cdf(a, b, 0.3))
        for a, b in ((1.7, 0.0), (1.6, -1.0), (1.1, 0.5), (2.0, 0.0))
    ),
)


@pytest.mark.parametrize(("kind", "cdf"), CDFS, ids=[kind.name for kind, _ in CDFS])
def test_draws_have_the_distribution_function_of_the_noise(kind, cdf):
    # rule: Kolmogorov's distance below 1.95/√n, exceeded by a right sampler once in a thousand
    n = 40_000
    draws = np.sort(kind.draw(np.random.default_rng(2020), n))
    exact, grid = cdf(draws), np.arange(n + 1) / n
    distance = max(np.max(exact - grid[:-1]), np.max(grid[1:] - exact))
    assert distance < 1.95 / math.sqrt(n)


@by_additive
def test_the_moments_of_draws_are_the_exact_moments(kind):
    # rule: within 4 standard errors, which are exact too: the variance of |X−EX|^q is
    # E|X−EX|^{2q} − (E|X−EX|^q)², so only orders with 2q below the tail index are tried
    n = 200_000
    draws = kind.draw(np.random.default_rng(46), n)
    tried = 0
    for q in (0.5, 0.7, 1.25, 1.5, 2.0):
        exact, second = kind.moment_about(q, kind.mean), kind.moment_about(2 * q, kind.mean)
        if math.isfinite(second):
            error = math.sqrt(max(second - exact**2, 0.0) / n)
            sampled = np.mean(np.abs(draws - kind.mean) ** q)
            assert abs(sampled - exact) <= 4 * error + 1e-12
            tried += 1
    assert tried >= 2


@by_additive
def test_draws_balance_about_the_mean(kind):
    # rule: the mean of the draws cut at ±c is within 4 standard errors of its exact value, 0 for
    # a symmetric noise; c/√n bounds the standard error. A Pareto noise lies on one side.
    draws, c = kind.draw(np.random.default_rng(7), 100_000), 10.0
    if isinstance(kind, noise.LogNormal) or getattr(kind, "skew", 0):
        # Most draws lie on the side away from the tail. Chebyshev's rule for the share above 0,
        # which is P(Z > σ/2), and ½ − arctan(slant)/(πα) below 0 for a stable law.
        share = (
            stats.norm.sf(0.6)
            if isinstance(kind, noise.LogNormal)
            else (0.5 + math.atan(kind.slant) / (math.pi * kind.alpha))
        )
        assert abs(np.mean(draws > 0) - share) <= 4 * math.sqrt(share * (1 - share) / len(draws))
    elif isinstance(kind, noise.Pareto):
        shift = kind.scale if not kind.centred else kind.scale - 0.015
        assert draws.min() >= shift - 1e-15
        assert draws.min() == pytest.approx(shift, abs=1e-3 * kind.scale)
    else:
        values, p = kind.law() if isinstance(kind, noise.Finite) else (np.zeros(1), np.ones(1))
        cut = np.mean(np.clip(draws, -c, c)) - np.sum(p * np.clip(values, -c, c))
        assert abs(cut) <= 4 * c / math.sqrt(len(draws))
        signs = np.sign(draws) - np.sum(p * np.sign(values))
        assert abs(np.mean(signs)) <= 4 * math.sqrt(np.mean(signs**2) / len(draws))


@pytest.mark.parametrize(
    ("kind", "mean", "shares"),
    [
        *((noise.Extremal(4.0, p), 0.0, {-4.0: p / 2, 4.0: p / 2, 0.0: 1 - p}) for p in (0.1, 1.0)),
        *((noise.Lottery(4.0, p), 0.0, {4.0: p, -4 * p / (1 - p): 1 - p}) for p in (0.1, 0.5, 0.8)),
        (noise.TwoPointPayoff(0.2), 0.7, {5.0: 0.2 * 0.7, 0.0: 1 - 0.2 * 0.7}),
    ],
)
def test_payoffs_of_few_values_take_each_as_often_as_they_should(kind, mean, shares):
    # rule: binomial counts within 4 standard deviations
    n = 50_000
    payoffs = kind.payoffs(mean, kind.draw(np.random.default_rng(3), n))
    left = n
    for value, p in shares.items():
        count = np.sum(np.isclose(payoffs, value, rtol=1e-12, atol=0))
        assert abs(count - n * p) <= 4 * math.sqrt(n * p * (1 - p))
        left -= count
    assert left == 0


# Names and bad input


def test_names_are_short_and_tell_noises_apart():
    assert noise.StudentT().name == "student-t(df=3)"
    assert noise.StudentT(2.5, 0.1).name == "student-t(df=2.5, scale=0.1)"
    assert noise.Pareto(centred=True).name == "pareto(shape=3, centred=True)"
    assert noise.Extremal(4, 0.1).name == "extremal(size=4, probability=0.1)"
    assert noise.Lottery(4, 0.1).name == "lottery(size=4, probability=0.1)"
    assert noise.Lottery(2.5).name == "lottery(size=2.5)"
    assert noise.SymmetricPareto(np.float64(1.5)).name == "symmetric-pareto(shape=1.5)"
    assert len({kind.name for kind in ALL}) == len(ALL)


def test_section_6_noises_are_found_by_name():
    assert noise.by_name("student-t") == noise.StudentT(3.0, 1.0)
    assert noise.by_name("pareto") == noise.Pareto(3.0, 0.01, centred=False)
    assert noise.by_name("pareto-centred") == noise.Pareto(3.0, 0.01, centred=True)
    with pytest.raises(
        ValueError, match=r"^noise must be one of student-t, pareto, pareto-centred, .*'cauchy'"
    ):
        noise.by_name("cauchy")


@by_kind
def test_a_noise_cannot_be_changed(kind):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(kind, dataclasses.fields(kind)[0].name, 1.0)
