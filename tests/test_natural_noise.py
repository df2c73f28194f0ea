"""Stable and log-normal laws, gross errors, residuals drawn again, payoffs that depend on means."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import heavybandit as hb
from heavybandit import noise

# Stable laws


def stable_moment(kind, q, a):
    """(2/π) Γ(1+q) sin(πq/2) ∫ (1 − Re E e^{it(X−a)}) t^{−q−1} dt, in t = e^y, in one piece.

    1 − e^{−p} cos x = (1 − e^{−p}) cos x + 2 sin²(x/2), which keeps its digits for small t; below
    t = e⁻⁴⁰ it is (scale·t)^α + a²t²/2, and above the last t it is 1.
    """

    def f(y):
        t = math.exp(y)
        power = (kind.scale * t) ** kind.alpha
        x = kind.slant * power - a * t
        return (-math.expm1(-power) * math.cos(x) + 2 * math.sin(x / 2) ** 2) * math.exp(-q * y)

    low, high, alpha = -40.0, math.log(60) / kind.alpha - math.log(kind.scale), kind.alpha
    pieces = itertools.pairwise([*np.linspace(low, -8, 9), *np.linspace(-8, high, 60)[1:]])
    inside = sum(integrate.quad(f, *ends, epsabs=0, epsrel=1e-9, limit=200)[0] for ends in pieces)
    below = kind.scale**alpha * math.exp((alpha - q) * low) / (alpha - q)
    below += a * a / 2 * math.exp((2 - q) * low) / (2 - q)
    above = math.exp(-q * high) / q
    return 2 / math.pi * math.gamma(1 + q) * math.sin(math.pi * q / 2) * (inside + below + above)


@pytest.mark.parametrize(("alpha", "skew", "scale"), [(1.5, 0, 1), (1.8, 1, 0.2), (1.3, -0.5, 2)])
def test_moments_of_a_stable_noise_are_those_of_its_characteristic_function(alpha, skew, scale):
    kind = noise.AlphaStable(alpha, skew, scale)
    for q, a in itertools.product((1.05, 1.2, 1.45), (-4.0, 0.0, 0.3, 25.0)):
        expected = stable_moment(kind, q, a) if q < alpha else math.inf
        assert kind.moment_about(q, a) == pytest.approx(expected, rel=1e-7)
    assert kind.central_moment(1) == math.inf


@pytest.mark.parametrize("alpha", [1.02, 1.1, 1.5, 1.9])
@pytest.mark.parametrize("skew", [-1.0, 0.0, 0.5])
@pytest.mark.parametrize("far", [1e2, 9e3, 3e4, 1e6, 1e12, 1e100])
def test_moments_of_a_stable_noise_far_from_its_mean_are_between_their_limits(alpha, skew, far):
    """|a|^q ≤ E|X−a|^q, by Jensen, ≤ |a|^q + 2^{2−q} E|X|^q, by von Bahr and Esseen."""
    kind, q = noise.AlphaStable(alpha, skew), (1 + alpha) / 2
    beyond = kind.moment_about(q, far) / far**q - 1
    assert -1e-9 <= beyond <= 2 ** (2 - q) * kind.moment_about(q, 0) / far**q + 1e-9


def test_a_stable_noise_of_index_2_is_gaussian_and_its_mean_size_is_known():
    assert noise.AlphaStable(2.0, 0.0, 0.5).raw_moment(0.5, 0.3) == (
        noise.Gaussian(math.sqrt(0.5)).raw_moment(0.5, 0.3)
    )
    # E|X| = (2/π) Γ(1 − 1/α) for a symmetric law of scale 1
    for alpha in (1.2, 1.7, 1.999):
        expected = 2 / math.pi * math.gamma(1 - 1 / alpha)
        assert noise.AlphaStable(alpha).moment_about(1.0, 0.0) == pytest.approx(expected)


def test_uniforms_at_the_ends_of_their_range_give_finite_stable_numbers():
    ends = (0.0, 2.0**-53, 0.5, 1 - 2.0**-53)
    for alpha, skew, u, w in itertools.product((1.05, 1.5, 2.0), (-1, 0, 1), ends, ends):
        kind = noise.AlphaStable(alpha, skew)
        number = noise.stable.stable_number(u, w, alpha, *kind.turn_and_stretch)
        assert math.isfinite(number)


# The log-normal law and gross errors


@given(st.floats(0.05, 2.5), st.floats(0.01, 10), st.floats(1.01, 2))
def test_moments_of_a_log_normal_noise_agree_with_its_closed_forms(sigma, scale, q):
    kind = noise.LogNormal(sigma, scale)
    # about −scale it is E Y^q, Y log-normal of mean 1
    expected = scale**q * math.exp(q * (q - 1) * sigma**2 / 2)
    assert kind.moment_about(q, -scale) == pytest.approx(expected, rel=1e-8)
    assert kind.central_moment(1) == pytest.approx(scale**2 * math.expm1(sigma**2))
    # continuous where the closed form for q = 2 takes over from the integral
    for a in (-3.0, 0.0, 2.0):
        below = kind.moment_about(2 - 1e-9, a)
        assert below == pytest.approx(kind.moment_about(2.0, a), rel=1e-5)


def test_gross_errors_are_as_frequent_and_as_large_as_they_should_be():
    # E X² = 0.95·0.1² + 0.05·8², and a quarter of the gross ones exceed 8·1.1503
    kind = noise.Outliers(0.1, 8.0, 0.05)
    assert kind.central_moment(1) == pytest.approx(0.95 * 0.01 + 0.05 * 64)
    draws = np.abs(kind.draw(np.random.default_rng(5), 100_000))
    p = 0.05 * 0.25
    assert abs(np.mean(draws > 8 * 1.150349) - p) < 4 * math.sqrt(p / 100_000)
    assert np.isfinite(noise.Outliers(1.0, 2.0, 1.0).draw(np.random.default_rng(5), 1000)).all()


# What was seen once, drawn again


def test_residuals_drawn_again_are_levels_with_their_frequencies():
    # −1 and 0 twice each, 4 and 7 once each: mean 9/6
    seen = [7, -1, 0, -1, 0, 4]
    kind = noise.Empirical(seen)
    same = noise.Levels([-2.5, -1.5, 2.5, 5.5], [1 / 3, 1 / 3, 1 / 6, 1 / 6])
    assert kind.mean == 0
    assert noise.Empirical(seen, centred=False).mean == 1.5
    for eps in (0.3, 1.0):
        assert kind.raw_moment(eps, 0.4) == pytest.approx(same.raw_moment(eps, 0.4))
    draws = kind.draw(np.random.default_rng(1), 6000)
    assert set(draws) == {-2.5, -1.5, 2.5, 5.5}
    assert np.sum(draws == 5.5) == pytest.approx(1000, abs=4 * math.sqrt(1000))
    assert kind.name == "empirical(6 from -2.5 to 5.5, variance 8.917)"


@pytest.mark.parametrize("values", [[], 3.0, [[1.0, 2.0]], ["a", "b"], [1.0, math.nan]])
def test_values_that_cannot_be_drawn_again_are_refused(values):
    with pytest.raises(
        ValueError, match=r"^values must be (a list of numbers, got|finite; number 2)"
    ):
        noise.Empirical(values)


# Payoffs that depend on the mean

LAW = noise.Levels([-1.0, 0.5, 4.0], [0.6, 0.2, 0.2])  # skewed, and not centred
ZERO = noise.Empirical([-1.0, -1.0, -1.0, 3.0])
SHAPES = (
    noise.Varying(ZERO, base=0.0, growth=2.0),
    noise.Varying(ZERO, base=0.5, tilt=1.5),
    noise.Varying(ZERO, base=1.0, growth=-1.0, tilt=0.3),
    noise.Units(LAW, factor=100.0),
    noise.Units(LAW, offset=10.0),
    noise.Units(noise.Units(LAW, 2.0, offset=1.0), 3.0, offset=-2.0),
    noise.Units(noise.Varying(ZERO, base=0.2, growth=1.0, tilt=-1.0), factor=3.0, offset=-2.0),
    noise.Units(noise.TwoPointPayoff(0.25, lift=1.0), factor=10.0, offset=5.0),
    noise.TwoPointPayoff(0.5, lift=1.0),
)
by_shape = pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.name)


def outcomes(kind, mean):
    """All payoffs with their probabilities, from the draws that a noise can have."""
    inner = kind
    while isinstance(inner, noise.Shaped):
        inner = inner.noise
    if isinstance(inner, noise.TwoPointPayoff):
        p = inner.gamma * (mean + inner.lift)
        return kind.payoffs(mean, np.array([0.0, 1 - 1e-16])), [p, 1 - p]
    draws, chances = inner.law()
    return kind.payoffs(mean, draws), chances.tolist()


@by_shape
@given(mean=st.floats(-1, 1), eps=st.floats(0.1, 1))
def test_moments_of_shaped_payoffs_are_sums_over_them(kind, mean, eps):
    paid, chances = outcomes(kind, mean)
    expected = math.fsum(p * x for x, p in zip(paid, chances, strict=True))
    raw = math.fsum(p * abs(x) ** (1 + eps) for x, p in zip(paid, chances, strict=True))
    central = math.fsum(
        p * abs(x - expected) ** (1 + eps) for x, p in zip(paid, chances, strict=True)
    )
    assert kind.raw_moment(eps, mean) == pytest.approx(raw, rel=1e-9, abs=1e-12)
    assert kind.central_moment(eps, mean) == pytest.approx(central, rel=1e-9, abs=1e-12)
    assert kind.form.expected(mean) + kind.mean == pytest.approx(expected, abs=1e-12)


@by_shape
@given(reach=st.floats(0.05, 1), eps=st.floats(0.1, 1))
def test_no_mean_has_a_larger_moment_than_the_telling_ones(kind, reach, eps):
    for moment in (kind.raw_moment, kind.central_moment):
        most = max(moment(eps, mean) for mean in kind.telling_means(-reach, reach))
        between = max(moment(eps, mean) for mean in np.linspace(-reach, reach, 41))
        assert between <= most * (1 + 1e-12)


def test_payoffs_by_hand():
    draws = np.array([-1.0, 3.0])
    # the bracket is 0.5 + 2·0.25 = 1 at ¼ and 0.5 + 2·(−½) = −½ at −½, which turns the skew round
    tilted = noise.Varying(ZERO, base=0.5, tilt=2.0)
    assert tilted.payoffs(0.25, draws).tolist() == [-0.75, 3.25]
    assert tilted.payoffs(-0.5, draws).tolist() == [0.0, -2.0]
    assert noise.Varying(ZERO, 0.5, growth=2.0).payoffs(-0.5, draws).tolist() == [-2.0, 4.0]
    assert noise.Units(tilted, 10, offset=1.0).payoffs(-0.5, draws).tolist() == [1.0, -19.0]
    # 1/γ − lift = 3 with probability ¼·(−½ + 1) = 1/8, else −1
    lifted = noise.TwoPointPayoff(0.25, lift=1.0)
    assert lifted.payoffs(-0.5, np.array([0.124, 0.126])).tolist() == [3.0, -1.0]


class RoundByRound:
    """A compiled policy that is asked for one round at a time, by select and update."""

    def __init__(self, policy):
        self.plays, self.rounds = policy.plays, policy.rounds
        self.select, self.update = policy.select, policy.update


@by_shape
def test_kernels_make_the_same_shaped_payoffs_to_the_last_bit(kind):
    world = hb.symmetric(kind, n_arms=6, dim=4, theta_norm=0.9)
    in_blocks, one_by_one = (
        hb.simulate(wrap(hb.LinUCB(300, 6, 4)), world, seed=3, keep_arms=True)
        for wrap in (lambda policy: policy, RoundByRound)
    )
    assert in_blocks.arms.tolist() == one_by_one.arms.tolist()
    assert in_blocks.curve.tobytes() == one_by_one.curve.tobytes()
    assert len(set(in_blocks.arms.tolist())) > 1


def test_intervals_are_held_against_what_is_paid_on_average():
    # without noise to speak of, and with a width for payoffs ten times as large, none is missed
    world = hb.symmetric(noise.Units(noise.Gaussian(0.01), factor=10), n_arms=6, dim=4)
    run = hb.simulate(hb.LinUCB(2000, 6, 4, alpha=19.0), world)
    assert run.diagnostics["intervals"] > 10_000
    assert run.diagnostics["intervals_missed"] == 0
    narrow = hb.simulate(hb.LinUCB(2000, 6, 4, alpha=0.0), world)
    assert narrow.diagnostics["intervals_missed"] > 0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: noise.Varying("pareto"), r"got pareto\(shape=3\), whose mean is 0.015"),
        (
            lambda: noise.Varying(noise.TwoPointPayoff(0.5)),
            r"got two-point\(gamma=0.5\), which is not",
        ),
        (lambda: noise.Varying("student-t", growth=math.nan), "growth must be finite, got nan"),
        (
            lambda: noise.Units("student-t", factor=0),
            r"factor must be positive, from 1e-100 to 1e\+100, got 0",
        ),
        (lambda: noise.TwoPointPayoff(0.5, lift=-1), "lift must be at least 0"),
        (lambda: noise.AlphaStable(1.0), r"alpha must be in \(1, 2\], got 1.0"),
        (lambda: noise.AlphaStable(1.5, 2), r"skew must be in \[-1, 1\], got 2"),
        (
            lambda: (
                hb.symmetric(noise.TwoPointPayoff(0.5))
                and hb.simulate(
                    hb.Uniform(10, 20, 10),
                    hb.symmetric(noise.Units(noise.TwoPointPayoff(0.5), 2.0)),
                )
            ),
            r"mean must be in \[0, 1/gamma\] = \[0, 2\], got -0",
        ),
    ],
)
def test_shapes_that_make_no_sense_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


# Laws of others


def test_a_frozen_law_of_scipy_is_a_noise_that_is_centred():
    law = noise.as_noise(stats.gamma(2.0, scale=3.0))
    draws = law.draw(np.random.default_rng(1), 100_000)
    assert abs(draws.mean()) < 4 * math.sqrt(18 / 100_000)
    assert law.mean == 0
    assert law.name == "gamma"
    assert hb.check_noise(lambda: stats.t(3)) == []
    assert hb.simulate(hb.Uniform(100, 20, 10), hb.section6(stats.t(3))).world == "section6/t"
    with pytest.raises(ValueError, match="law must have a finite mean, cauchy has nan"):
        noise.as_noise(stats.cauchy())


@pytest.mark.parametrize("law", [stats.levy_stable, stats.t, stats.multivariate_normal([0, 0])])
def test_a_law_of_scipy_that_draws_no_numbers_as_it_is_is_refused(law):
    with pytest.raises(TypeError, match=r"^law must be a frozen law of scipy.stats .*, got "):
        hb.section6(law)


class Mixed:
    """A mixture as one would write it first: its draws depend on how many are asked for."""

    def draw(self, rng, n):
        return np.where(rng.random(n) < 0.1, 9 * rng.standard_normal(n), rng.standard_normal(n))


def redrawn(rng, n):
    """Depends on how many are asked for at once about once in 800 draws."""
    x = rng.standard_t(3, size=n)
    far = np.abs(x) > 12
    x[far] = rng.normal(size=far.sum())
    return x


@pytest.mark.parametrize(
    "law",
    [
        stats.levy_stable(1.5, 0.0),
        Mixed(),
        redrawn,
        lambda rng, n: rng.random(n) + rng.standard_normal(n) - 0.5,
    ],
    ids=["stable", "mixture", "redrawn", "function"],
)
def test_laws_that_depend_on_the_block_are_drawn_in_order(law):
    kind = noise.as_noise(noise.InOrder(law))
    rng, again = np.random.default_rng(2), np.random.default_rng(2)
    parts = np.concatenate([kind.draw(rng, n) for n in (3, 0, 5, 12)])
    assert parts.tolist() == kind.draw(again, 20).tolist()
    assert len(set(parts)) == 20
    assert kind.own.one_by_one


def from_a_seed(_, n):
    return np.random.RandomState(0).standard_normal(n)


class FromASeed:
    def rvs(self, size, random_state):
        return from_a_seed(random_state, size)


class FromItsOwn:
    def __init__(self):
        self.rng = np.random.default_rng(1)

    def draw(self, _, n):
        return self.rng.standard_normal(n)


@pytest.mark.parametrize("one_by_one", [None, True])
@pytest.mark.parametrize("law", [from_a_seed, FromASeed(), FromItsOwn()])
def test_a_law_that_draws_from_elsewhere_is_refused_and_not_one_number_repeated(law, one_by_one):
    own = noise.InOrder(law, one_by_one=one_by_one)
    with pytest.raises(ValueError, match="draw must take its numbers from the rng that it is give"):
        own.draw(np.random.default_rng(2), 1)
    with pytest.raises(ValueError, match="numbers from the rng"):
        hb.simulate(hb.Uniform(50, 20, 10), hb.section6(own))
    (said,) = hb.check_noise(lambda: own)
    assert "draw must take its numbers from the rng" in said


def test_a_noise_that_draws_from_elsewhere_is_not_advised_to_do_so_one_by_one():
    own = type("Own", (), {"draw": staticmethod(from_a_seed)})
    with pytest.raises(ValueError, match="not meet the same noise; draw must take its numbers fr"):
        hb.simulate(hb.Uniform(50, 20, 10), hb.section6(own()))
    (said,) = hb.check_noise(own)
    assert "draw must take its numbers from the rng" in said
    assert "InOrder" not in said


@pytest.mark.parametrize(
    "law",
    [
        lambda _, n: np.zeros(n),
        lambda rng, n: np.full(n, 0.5) if n == 1 else rng.random(n) * 0 + 0.5,
        lambda rng, n: rng.spawn(1)[0].standard_normal(n),
    ],
    ids=["constant", "constant, if alone", "from a generator made of the given one"],
)
def test_a_law_that_needs_no_number_of_the_given_generator_is_as_good(law):
    own = noise.InOrder(law, one_by_one=True)
    assert own.draw(np.random.default_rng(2), 0).size == 0
    assert own.draw(np.random.default_rng(2), 3).size == 3
    hb.simulate(hb.Uniform(50, 20, 10), hb.section6(own))


def test_a_law_can_be_drawn_one_by_one_without_being_asked_before():
    asked = []

    def counted(rng, n):
        asked.append(n)
        return rng.standard_normal(n)

    law = noise.InOrder(counted, one_by_one=True)
    assert asked == []
    law.draw(np.random.default_rng(2), 3)
    assert asked == [1, 1, 1]
    assert not noise.InOrder(counted).one_by_one
    with pytest.raises(ValueError, match="one_by_one must be None or True, got False"):
        noise.InOrder(counted, one_by_one=False)
