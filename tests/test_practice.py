"""SafeRidge: first rounds by hand, twins arm by arm, no units, and what its safeguard notices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit import later
from heavybandit.engine import state as names
from heavybandit.noise import Noise, Outliers, StudentT, TwoPointPayoff
from heavybandit.practice import Y_SCALE
from streams import NOISES, awkward_contexts, section6_contexts

MODULES = pytest.mark.parametrize("module", [hb, later])


def estimate(policy: Any) -> np.ndarray:
    """θ̂ in units of the scale, as either twin keeps it."""
    if isinstance(policy, hb.engine.Compiled):
        return np.array(policy._state.theta[0][:-1])
    return np.array(policy._theta / (policy._scale or 1.0))


def raw_share(policy: Any) -> float:
    """The share of payoffs as they are, worked out anew from what the literal twin has counted."""
    n = policy.round - 1
    told, came = policy._told_spread[2], policy._spread[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = np.nan_to_num(np.maximum(policy._both[2], 0) ** 2 / (told * came))
    L = ((1 - squared * n / (n + 10)) ** (-n / 2)).max()
    return float((L - 1) / (L + 9))


def means(policy: Any) -> list[float]:
    """Of payoffs clipped, of payoffs, and of the signs of what was clipped away."""
    compiled = isinstance(policy, hb.engine.Compiled)
    came = policy._state.forecasts.came[0] if compiled else policy._came
    return [float(one) for one in came]


@MODULES
def test_two_rounds_by_hand(module: Any) -> None:
    """d = 1, contexts 1 and then ½, payoffs 2 and then 3.

    Ridge 1, 10, 100 and no intercept: after round 1 b = 2, A = λ + 1, so round 2 is forecast as
    1/(λ + 1); before, the forecast was 0, as it was for the others, and the scale is 2. All
    forecasts rise with the payoff, so ρ = 1 and all likelihoods are the same; weights are 1, 10,
    100 for no intercept and a tenth of that with one. Of two rounds 0, p the products about the
    means sum to p/2·(3 − 2) and the squares to p²/2, so the slope is 1/p, and shares are the weight
    times (2/p + 10)/12. The residual, at most 3, is below 4·1.4826·2.
    """
    policy = module.SafeRidge(10, 1, 1, ridge=1.0)
    for x, payoff in ((1.0, 2.0), (0.5, 3.0)):
        policy.select(np.array([[x]]))
        policy.update(payoff)
    lam = np.array([1.0, 10.0, 100.0])
    weights = np.concatenate([lam, lam / 10]) / (1.1 * lam.sum())
    # With an intercept of precision 0.01: A₁ = diag(λ, 0.01) + 11ᵀ.
    wanted = 0.0
    for i, weight in enumerate(weights):
        one = i >= 3
        A, b = np.diag([lam[i % 3], 0.01]), np.zeros(2)
        forecast = 0.0
        for x, payoff in ((1.0, 2.0), (0.5, 3.0)):
            z = np.array([x, one])
            forecast = z @ np.linalg.solve(A, b)
            A, b = A + np.outer(z, z), b + payoff * z
        wanted += weight * (2 / forecast + 10) / 12 * np.linalg.solve(A, b)[0]
    moved = 2 * math.exp(-0.5 / math.sqrt(2))  # the residual, 1 or less, is below the scale
    assert estimate(policy) == pytest.approx(wanted / moved, rel=1e-12)


@MODULES
def test_a_residual_is_clipped_at_a_multiple_of_the_scale(module: Any) -> None:
    """One arm x = 0: nothing is learnt but the mean, which is what forecasts come to.

    Payoffs 1, 1, 9: the scale starts at 1, and the second residual, 0, divides it by e^{½/√2}. The
    third is clipped at 2·1.4826 of that from what is expected: the mean, 1, and what the three
    regressions with an intercept (an eleventh of the weight, times 10/12 while slopes are unknown)
    forecast, 2/2.01, beyond the mean of what they forecast before, 0 and 1/1.01.
    """
    policy = module.SafeRidge(10, 1, 1, threshold_scale=2.0)
    for payoff in (1.0, 1.0, 9.0):
        policy.select(np.zeros((1, 1)))
        policy.update(payoff)
    expected = 1 + 10 / (11 * 12) * (2 / 2.01 - 0.5 / 1.01)
    kept = expected + 2 * Y_SCALE * math.exp(-0.5 / math.sqrt(2))
    assert means(policy) == pytest.approx([(2 + kept) / 3, 11 / 3, 1 / 3], rel=1e-12)


@MODULES
def test_nothing_is_clipped_while_all_payoffs_were_0(module: Any) -> None:
    """There is no scale yet: cut off at 0 times anything, the first payoff would be lost."""
    policy = module.SafeRidge(10, 1, 1)
    for payoff in (0.0, 0.0, 5.0):
        policy.select(np.ones((1, 1)))
        policy.update(payoff)
    assert means(policy) == pytest.approx([5 / 3, 5 / 3, 0.0], rel=1e-12)


@MODULES
def test_the_scale_never_falls_to_0(module: Any) -> None:
    """From 0 it could not rise again. It starts at the first payoff and falls by e^{−½/√t}."""
    policy = module.SafeRidge(40, 1, 1)
    for payoff in (2e-300, *[0.0] * 20):
        policy.select(np.ones((1, 1)))
        policy.update(payoff)
    assert (policy._scale if module is later else policy._state.num[names.SAFE_SCALE]) == 1e-300


@MODULES
@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e8, 1e90])
def test_the_largest_threshold_clips_so_little_and_overflows_nothing(
    module: Any, ratio: float
) -> None:
    """Payoffs as large as they may be, and every third so many times smaller."""
    (most,) = module.SafeRidge._settings["threshold_scale"].limits
    policy = module.SafeRidge(60, 3, 2, threshold_scale=most)
    for t, offer in enumerate(section6_contexts(np.random.default_rng(0), 60, 3, 2)):
        policy.select(offer)
        policy.update(-1e100 if t % 3 else -1e100 / ratio)
        assert np.isfinite(estimate(policy)).all(), t
    with pytest.raises(ValueError, match=r"^threshold_scale must be positive, from"):
        module.SafeRidge(60, 3, 2, threshold_scale=1.01 * most)


def play_both(X: np.ndarray, noise: Noise, rng: np.random.Generator, size: float, **more: Any):
    fast, literal = (module.SafeRidge(*X.shape, **more) for module in (hb, later))
    theta = rng.normal(size=X.shape[2])
    theta /= np.linalg.norm(theta)
    for t, offer in enumerate(X, start=1):
        arm = fast.select(offer)
        assert arm == literal.select(offer), f"round {t} with {more}"
        payoff = offer[arm] @ theta + size * noise.draw(rng, 1)
        fast.update(payoff)
        literal.update(payoff)
    assert fast.diagnostics["truncated"] == literal.clipped
    return fast, literal


@pytest.mark.parametrize("clips", [True, False])
def test_twins_agree_while_they_clip(clips: bool) -> None:
    rng = np.random.default_rng([7, clips])
    more = {"clips": clips, "threshold_scale": 1.0}
    fast, literal = play_both(section6_contexts(rng, 600, 5, 3), StudentT(2.0), rng, 1.0, **more)
    assert (literal.clipped > 50) == clips
    np.testing.assert_allclose(estimate(fast), estimate(literal), rtol=1e-7)
    np.testing.assert_allclose(fast._state.forecasts.both, literal._both, rtol=1e-7, atol=1e-9)
    assert fast._state.num[names.SAFE_SCALE] == pytest.approx(literal._scale, rel=1e-9)


@settings(max_examples=60)
@given(
    noise=st.sampled_from(NOISES),
    K=st.integers(1, 6),
    d=st.integers(1, 4),
    size=st.sampled_from([0.1, 1.0, 30.0]),
    ridge=st.sampled_from([0.1, 10.0, 1e4]),
    threshold_scale=st.sampled_from([0.3, 4.0]),
    seed=st.integers(0, 2**16),
)
def test_twins_agree_on_awkward_contexts_whatever_the_parameters(
    noise: Noise, K: int, d: int, size: float, ridge: float, threshold_scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    more = {"ridge": ridge, "threshold_scale": threshold_scale}
    play_both(awkward_contexts(rng, 50, K, d), noise, rng, size, **more)


def arms_of(noise: Noise, **more: Any) -> np.ndarray:
    world = hb.symmetric(noise, dim=4, n_arms=6)
    run = hb.simulate(hb.SafeRidge(2_000, 6, 4, **more), world, seed=3, keep_arms=True)
    assert run.arms is not None
    return run.arms


@pytest.mark.parametrize("factor", [100.0, 1e-6, 2.0**40])
def test_payoffs_in_other_units_change_no_arm(factor: float) -> None:
    home, away = arms_of(StudentT(3.0)), arms_of(hb.noise.Units(StudentT(3.0), factor=factor))
    np.testing.assert_array_equal(home, away)
    assert len(set(home.tolist())) == 6


def costs(policy: Any, world: Any) -> float:
    """Regret in percent of uniform play's, over four seeds."""
    shape = (3_000, world.n_arms, world.dim)
    own, uniform = (
        sum(hb.simulate(kind(*shape), world, seed=seed).regret for seed in range(4))
        for kind in (policy, hb.Uniform)
    )
    return 100 * own / uniform


def test_an_offset_costs_little_beside_what_it_costs_ridge_regression() -> None:
    world = hb.symmetric(hb.noise.Units(StudentT(3.0), offset=-20.0), dim=4, n_arms=6)
    assert costs(hb.SafeRidge, world) < 0.5 * costs(hb.GreedyRidge, world)


def test_clipping_goes_on_where_large_residuals_are_the_same_for_all_arms() -> None:
    world = hb.symmetric(Outliers(scale=0.3, size=30.0, probability=0.02), dim=4, n_arms=6)
    policy = later.SafeRidge(3_000, 6, 4)
    hb.simulate(policy, world, seed=0)
    assert policy.clipped > 40
    assert raw_share(policy) < 0.5
    assert costs(hb.SafeRidge, world) < 0.3 * costs(hb.GreedyRidge, world)


def test_clipping_is_given_up_where_large_payoffs_are_the_message() -> None:
    world = hb.symmetric(TwoPointPayoff(gamma=0.05, lift=1.0), dim=4, n_arms=6)
    policy = later.SafeRidge(3_000, 6, 4)
    hb.simulate(policy, world, seed=0)
    assert policy.clipped > 40
    assert raw_share(policy) > 0.8
    assert costs(hb.SafeRidge, world) < 0.5 * costs(hb.ClippedUCB, world)


@MODULES
def test_payoffs_of_any_size_can_be_computed(module: Any) -> None:
    rng = np.random.default_rng(6)
    policy = module.SafeRidge(100, 5, 3)
    for t, offer in enumerate(section6_contexts(rng, 100, 5, 3)):
        policy.select(offer)
        policy.update({3: 1e100, 11: -1e100, 12: 1e-100}.get(t % 20, rng.normal()))
        assert np.isfinite(estimate(policy)).all()
