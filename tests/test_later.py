"""The later algorithms: closed forms by hand, the regressions against scipy, twins arm by arm."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import t as student

import heavybandit as hb
from heavybandit import later, later_theory
from heavybandit.engine import huber
from heavybandit.engine import state as names
from heavybandit.engine.state import R_HAT, WIDTH, State, new_state
from heavybandit.noise import Noise, StudentT, SymmetricPareto
from streams import NOISES, awkward_contexts, section6_contexts

Floats = NDArray[np.float64]
HUBER = ("HeavyOFUL", "HvtUCB")
LATER = (*HUBER, "ClippedUCB")
EPS = (1.0, 0.5, 0.3)
THIRD = 1 / 3  # e = (1−ε)/(2(1+ε)) = 1/4 and 1/(1+ε) = 3/4
T16 = math.exp(16) / 3  # ln 3T = 16
D16 = 2 * T16**2 * math.exp(-16)  # Λ = ln(2T²/δ) = 16


# Closed forms.


@pytest.mark.parametrize(
    ("value", "by_hand"),
    [
        (later_theory.exponent(THIRD), 1 / 4),
        (later_theory.exponent(1.0), 0),
        (later_theory.log_term(T16, D16), 16),
        # T² = 9 and 9/ridge = e − 1; then the same with 4·2 in the denominator
        (later_theory.kappa(3, 1, 9 / (math.e - 1)), 1),
        (later_theory.kappa(3, 2, 9 / (8 * (math.e - 1)), 4.0), 2),
        # √16·2/8, √36·2/8, √16/4
        (later_theory.tau_0(T16, 8, D16, THIRD), 1),
        (later_theory.tau_0(T16, 18, D16, THIRD), 1.5),
        (later_theory.tau_0(T16, 8, D16, 1.0), 1),
        # c₁ = 16^{1/2}/(48·16^{3/2}) = 1/768, and 2c₁·24 = 1/16
        (later_theory.heavy_oful_floor(T16, 24, D16, THIRD)[0], 4 * math.sqrt(23)),
        (later_theory.heavy_oful_floor(T16, 24, D16, THIRD)[1], 2),
        (later_theory.heavy_oful_beta(0, T16, 8, 9.0, D16, THIRD), 3),
        (later_theory.heavy_oful_beta(16, T16, 8, 9.0, D16, THIRD), 9 + 24 * 16 * 2),
        (later_theory.heavy_oful_beta(16, T16, 8, 9.0, D16, 1.0), 9 + 24 * 16),
        (later_theory.hvt_ucb_beta(0, T16, 8, 6.0, D16, THIRD), 6),
        (later_theory.hvt_ucb_beta(16, T16, 8, 6.0, D16, THIRD), 107 * 16 * 2 + 6),
        (later_theory.hvt_ucb_beta(5, T16, 8, 6.0, D16, 1.0), 107 * 16 + 6),
    ],
)
def test_a_closed_form_has_the_value_worked_out_by_hand(value: float, by_hand: float) -> None:
    assert value == pytest.approx(by_hand, rel=1e-12)


@settings(max_examples=60)
@given(
    T=st.integers(3, 10**6),
    d=st.integers(1, 30),
    eps=st.floats(0.05, 1),
    delta=st.floats(1e-6, 0.5),
    t=st.integers(0, 1000),
    constants=st.sampled_from(["theory", "circulated"]),
)
def test_the_literal_methods_are_the_closed_forms(
    T: int, d: int, eps: float, delta: float, t: int, constants: str
) -> None:
    oful = later.HeavyOFUL(T, 2, d, eps=eps, v=1.0, delta=delta, constants=constants)
    ridge, divisor = (d / 100, 10_000) if constants == "circulated" else (float(d), 1)
    kappa = later_theory.kappa(T, d, ridge)
    assert oful._kappa() == pytest.approx(kappa, rel=1e-12)
    assert oful._tau_0(kappa) == pytest.approx(later_theory.tau_0(T, kappa, delta, eps), rel=1e-12)
    beta = later_theory.heavy_oful_beta(t, T, kappa, ridge, delta, eps) / (divisor if t else 1)
    assert oful._beta(t) == pytest.approx(beta, rel=1e-12)
    hvt = later.HvtUCB(T, 2, d, eps=eps, v=1.0, delta=delta, width_scale=0.5)
    kappa = later_theory.kappa(T, d, float(d), later_theory.ALPHA)
    assert hvt._kappa() == pytest.approx(kappa, rel=1e-12)
    beta = 0.5 * later_theory.hvt_ucb_beta(t, T, kappa, float(d), delta, eps)
    assert hvt._beta(t) == pytest.approx(beta, rel=1e-12)


def estimate_and_width(policy: Any) -> tuple[float, float]:
    """θ̂ and the width of x = 1, as a policy in one dimension has them now."""
    if isinstance(policy, hb.engine.Compiled):
        policy.select(np.ones((1, 1)))
        return tuple(policy._state.line[[R_HAT, WIDTH], 0])
    if isinstance(policy, later.HeavyOFUL):
        beta = policy.width_scale * policy._beta(policy.round - 1)
        return policy._theta[0], beta / math.sqrt(policy._H[0, 0])
    return policy._theta[0], policy._beta(policy.round - 1) / math.sqrt(policy._V[0, 0])


@pytest.mark.parametrize("module", [hb, later])
@pytest.mark.parametrize("constants", ["theory", "circulated"])
@pytest.mark.parametrize("eps", [1.0, 0.5])
@pytest.mark.parametrize("paid", [0.3, -1e6])
def test_two_rounds_of_heavy_oful_by_hand(
    module: Any, constants: str, eps: float, paid: float
) -> None:
    """x = 1 in one dimension, T = 100: H is λ before the first round, where β_0 counts.

    Unclipped, θ̂ = (r/σ²)/(λ + 1/σ²); clipped, λθ̂ = ±τ/σ, cut off at the ball.
    """
    T, v, delta, scale = 100, 1e-6, 0.01, 0.5
    lam, rho, divisor = (0.01, math.sqrt(1.1), 10_000) if constants == "circulated" else (1, 1, 1)
    policy = module.HeavyOFUL(
        T, 1, 1, eps=eps, v=v, delta=delta, width_scale=scale, clip_scale=0.5, constants=constants
    )
    assert estimate_and_width(policy) == pytest.approx((0.0, scale), rel=1e-12)  # √λ/√λ
    kappa = later_theory.kappa(T, 1, lam)
    steep, flat = later_theory.heavy_oful_floor(T, kappa, delta, eps)
    n = 1 / math.sqrt(lam)
    sigma = max(v ** (1 / (1 + eps)), 0.1, n * steep, math.sqrt(n) * flat)
    assert sigma > 1
    w = n / sigma
    tau = 0.5 * later_theory.tau_0(T, kappa, delta, eps) * math.sqrt(1 + w * w) / w
    free = paid / sigma**2 / (lam + sigma**-2)
    clipped = abs(paid - free) / sigma > tau
    assert clipped == (paid < -1)
    theta = math.copysign(min(tau / sigma / lam, rho), paid) if clipped else free
    policy.select(np.ones((1, 1)))
    policy.update(paid)
    beta = later_theory.heavy_oful_beta(1, T, kappa, lam, delta, eps) / divisor
    wanted = (theta, scale * beta / math.sqrt(lam + sigma**-2))
    assert estimate_and_width(policy) == pytest.approx(wanted, rel=1e-11)
    assert clips_of(policy) == clipped


@pytest.mark.parametrize("module", [hb, later])
@pytest.mark.parametrize("eps", [1.0, 0.5])
@pytest.mark.parametrize("paid", [0.3, -1e9])
def test_two_rounds_of_hvt_ucb_by_hand(module: Any, eps: float, paid: float) -> None:
    """x = 1 in one dimension: V_1 = 1 + 1/(4σ²), θ̂ = clip(r/σ, τ)/(σV_1), cut off at ±1."""
    T, v, delta, scale = 100, 1e-6, 0.01, 0.5
    policy = module.HvtUCB(T, 1, 1, eps=eps, v=v, delta=delta, width_scale=scale, clip_scale=0.01)
    beta_0 = scale * math.sqrt(6)
    assert estimate_and_width(policy) == pytest.approx((0.0, beta_0), rel=1e-12)
    kappa = later_theory.kappa(T, 1, 1.0, 4.0)
    tau_0 = later_theory.tau_0(T, kappa, delta, eps)
    sigma = math.sqrt(2 * beta_0 / (tau_0 * 2))
    assert sigma > max(v ** (1 / (1 + eps)), 0.1)
    w = 1 / (2 * sigma)
    tau = 0.01 * tau_0 * math.sqrt(1 + w * w) / w
    V_1 = 1 + 1 / (4 * sigma**2)
    z = paid / sigma
    moved = math.copysign(min(abs(z), tau), z) / (sigma * V_1)
    policy.select(np.ones((1, 1)))
    policy.update(paid)
    beta_1 = scale * later_theory.hvt_ucb_beta(1, T, kappa, 1.0, delta, eps)
    wanted = (max(-1.0, min(1.0, moved)), beta_1 / math.sqrt(V_1))
    assert estimate_and_width(policy) == pytest.approx(wanted, rel=1e-11)
    assert clips_of(policy) == (abs(z) > tau)


def clips_of(policy: Any) -> int:
    """Rounds clipped so far, as either twin counts them."""
    if isinstance(policy, hb.engine.Compiled):
        return int(policy.diagnostics["truncated"])  # type: ignore[call-overload]
    return int(policy.clipped)


# The regressions.


def distance_from_minimum(
    V: Floats, y: Floats, sigma: Floats, tau: Floats, ridge: float, radius: float, theta: Floats
) -> float:
    """How far θ is from the conditions of a minimum in the ball, beside the pulls that balance.

    Inside, the gradient is 0; on the sphere it is −μθ with μ ≥ 0.
    """
    pulls = V.T * (later.clip((y - V @ theta) / sigma, tau) / sigma)
    gradient = ridge * theta - pulls.sum(axis=1)
    length = float(np.linalg.norm(theta))
    assert length <= radius * (1 + 1e-9)
    if length > radius * (1 - 1e-9):
        gradient = gradient + max(0.0, -float(gradient @ theta) / length**2) * theta
    return float(np.linalg.norm(gradient) / (np.abs(pulls).sum() + ridge * radius))


def harsh_data(rng: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats, float, float]:
    """Weights over four decades, thresholds over six, collinear and tiny contexts, wild payoffs."""
    d, n = int(rng.integers(1, 6)), int(rng.integers(1, 60))
    V = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        V = rng.normal(size=(n, 1)) * V[0]
    V /= np.maximum(1, np.linalg.norm(V, axis=1, keepdims=True))
    if rng.random() < 0.3:
        V *= 10.0 ** rng.uniform(-8, 0, size=(n, 1))
    sigma = 10.0 ** rng.uniform(-3, 1, size=n)
    tau = 10.0 ** rng.uniform(-4, 2, size=n)
    y = V @ rng.normal(size=d) + rng.standard_t(1.5, size=n) * 10.0 ** rng.uniform(-2, 1)
    if rng.random() < 0.4:
        y *= np.where(rng.random(n) < 0.2, 10.0 ** rng.uniform(0, 14, size=n), 1)
    radius = float(rng.choice([1.0, math.sqrt(1.1), 100.0]))
    return V, y, sigma, tau, 10.0 ** rng.uniform(-2, 1), radius


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32))
def test_huber_regression_meets_the_conditions_of_a_minimum(seed: int) -> None:
    data = harsh_data(np.random.default_rng(seed))
    assert distance_from_minimum(*data, later.huber_regression(*data)) < 1e-9


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), radius=st.sampled_from([0.2, 1e3]))
def test_huber_regression_is_what_scipy_finds(seed: int, radius: float) -> None:
    """With the ball almost always active, and never; most residuals clipped."""
    rng = np.random.default_rng(seed)
    n, d = 25, 3
    V = section6_contexts(rng, n, 1, d)[:, 0]
    y = V @ np.ones(d) + rng.standard_t(2, size=n)
    sigma, tau = rng.uniform(0.5, 2, size=n), rng.uniform(0.05, 0.5, size=n)

    def loss(theta: Floats) -> float:
        z = np.abs(y - V @ theta) / sigma
        return float(theta @ theta / 2 + np.where(z <= tau, z**2 / 2, tau * z - tau**2 / 2).sum())

    found = minimize(
        loss,
        np.zeros(d),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda theta: radius**2 - theta @ theta},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    theta = later.huber_regression(V, y, sigma, tau, 1.0, radius)
    assert loss(theta) <= loss(found.x) + 1e-7
    np.testing.assert_allclose(theta, found.x, atol=2e-4)
    assert np.linalg.norm(theta) <= radius * (1 + 1e-12)


def filled(V: Floats, y: Floats, sigma: Floats, tau: Floats, ridge: float, radius: float) -> State:
    """The state in which HEAVY-OFUL's kernel would be after these rounds, but for θ̂."""
    d = V.shape[1]
    state = new_state(
        kind=names.HEAVY_OFUL,
        n_arms=2,
        dim=d,
        plays=1,
        truncates=True,
        suspect_numbers=3,
        ridge=ridge,
        constants=(1.0,) * 7,
    )
    scaled, paid, reach = V / sigma[:, None], y / sigma, radius * np.linalg.norm(V, axis=1)
    surely_clipped = (np.abs(y) - reach) / sigma > tau * (1 + huber.SPARE)
    suspicious = ((np.abs(y) + reach) / sigma > tau * (1 - huber.SPARE)) & ~surely_clipped
    side = np.sign(paid) * (np.abs(paid) > tau)  # at θ = 0
    inside = side == 0
    pull = np.where(inside, paid, side * np.where(inside, 0.0, tau))[:, None] * scaled
    surely_inside = ~suspicious & ~surely_clipped
    state.huber.gram[:] = ridge * np.eye(d) + scaled[surely_inside].T @ scaled[surely_inside]
    state.total[0] = pull[~suspicious].sum(axis=0)
    state.huber.M[:] = ridge * np.eye(d) + scaled[inside].T @ scaled[inside]
    state.huber.c[:] = pull.sum(axis=0)
    state.A_inv[0] = np.linalg.inv(ridge * np.eye(d) + scaled.T @ scaled)
    rows = np.column_stack([scaled, paid, tau, side])[suspicious]
    state.stage[0, names.N_SUSPECTS] = len(rows)
    state.huber.clipped[names.NOW] = np.count_nonzero(side)
    state.huber.clipped[names.ALWAYS] = np.count_nonzero(surely_clipped)
    return state._replace(suspects=np.ascontiguousarray(rows[None]))


def test_the_compiled_fit_is_the_minimum_whatever_the_data() -> None:
    """And starting from 0 it takes few passes, with the ball active in a good share of cases."""
    rng = np.random.default_rng(11)
    active = clipped = 0
    passes = []
    for _ in range(600):
        data = harsh_data(rng)
        V, y, sigma, tau, _, radius = data
        state = filled(*data)
        passes.append(huber.fit(state, radius))
        theta = state.theta[0]
        assert distance_from_minimum(*data, theta) < 1e-9
        active += np.linalg.norm(theta) > radius * (1 - 1e-9)
        clipped += (np.abs(y - V @ theta) / sigma > tau).mean() > 0.3
    assert 150 < active < 450
    assert clipped > 200
    assert 3 < max(passes) < huber.MOST_PASSES / 2


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_the_compiled_fit_is_the_literal_regression(seed: int) -> None:
    """Data that leave the minimum well determined, so that the two can be compared digit by digit.

    And a fit that starts from the minimum stays there, after one pass.
    """
    rng = np.random.default_rng(seed)
    n, d = 40, 3
    V = section6_contexts(rng, n, 1, d)[:, 0]
    data = (
        V,
        V @ np.ones(d) + rng.standard_t(1.5, size=n),
        rng.uniform(0.1, 2, size=n),
        10.0 ** rng.uniform(-2, 1, size=n),
        3.0,
        float(rng.choice([0.5, 1.0, 10.0])),
    )
    state = filled(*data)
    huber.fit(state, data[-1])
    theta = state.theta[0].copy()
    np.testing.assert_allclose(theta, later.huber_regression(*data), atol=1e-11)
    assert huber.fit(state, data[-1]) <= 1
    np.testing.assert_allclose(state.theta[0], theta, atol=1e-13)


@pytest.mark.parametrize("paid", [0.1 * k for k in range(1, 10)])
def test_a_residual_at_its_threshold_in_the_minimum_does_not_keep_the_fit_busy(paid: float) -> None:
    """λ = x = 1: the minimum r/2 leaves a residual of r/2 = τ, to the last bit or nearly."""
    for nudge in (-1e-16, 0.0, 1e-16):
        one = np.ones(1)
        data = (np.ones((1, 1)), paid * one, one, (paid / 2 + nudge) * one, 1.0, 1.0)
        state = filled(*data)
        assert huber.fit(state, 1.0) <= 4
        assert state.theta[0, 0] == pytest.approx(paid / 2, abs=1e-15)


@settings(max_examples=80)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 6),
    radius=st.sampled_from([1.0, math.sqrt(1.1)]),
    size=st.floats(0, 300),
)
def test_a_minimum_in_the_ball_is_one(seed: int, d: int, radius: float, size: float) -> None:
    """(M + μI)θ = c with ‖θ‖ = radius and μ ≥ 0, for pulls c of up to 1e300."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-2, 2, size=d)
    M = root @ root.T + 0.1 * np.eye(d)
    free = rng.normal(size=d)
    free *= 1.01 * radius / np.linalg.norm(free)
    c = M @ free * 10.0**size
    theta = np.zeros(d)
    huber.minimum_in_ball(M, c, radius, theta, np.zeros((3, d, d)))
    assert np.linalg.norm(theta) == pytest.approx(radius, rel=1e-12)
    left = c / np.abs(c).max() - M @ theta / np.abs(c).max()
    mu = float(left @ theta) / radius**2
    assert mu >= 0
    np.testing.assert_allclose(left, mu * theta, atol=1e-9)
    if size < 10:
        np.testing.assert_allclose(later.project(free * 10.0**size, M, radius), theta, atol=1e-8)


def test_a_projection_moves_nothing_in_the_ball_and_a_minimum_on_the_sphere_stays() -> None:
    M = np.diag([1.0, 9.0])
    inside = np.array([0.3, -0.4])
    np.testing.assert_array_equal(later.project(inside, M, 0.5), inside)
    # θ = (a/(1+μ), 9b/(9+μ)) with μ = 3 for (a, b) = (2.4, −16/15): (0.6, −0.8)
    np.testing.assert_allclose(
        later.project(np.array([2.4, -16 / 15]), M, 1.0), [0.6, -0.8], rtol=1e-12
    )
    theta = np.zeros(2)
    huber.minimum_in_ball(np.eye(2), np.array([0.6, 0.8]), 1.0, theta, np.zeros((3, 2, 2)))
    np.testing.assert_allclose(theta, [0.6, 0.8], rtol=1e-14)


# Twins.


def play_both(
    name: str,
    contexts: Floats,
    noise: Noise,
    rng: np.random.Generator,
    size: float = 1.0,
    **kwargs: Any,
) -> tuple[Any, Any, int]:
    """Drive both twins with the same payoffs; also in how many rounds θ̂ was on the sphere."""
    n, K, d = contexts.shape
    fast = getattr(hb, name)(n, K, d, **kwargs)
    literal = getattr(later, name)(n, K, d, **kwargs)
    theta = rng.normal(size=d)
    theta /= np.linalg.norm(theta)
    radius = math.sqrt(1.1) if kwargs.get("constants") == "circulated" else 1.0
    on_sphere = 0
    for t in range(n):
        X = contexts[t]
        arm = fast.select(X)
        assert arm == literal.select(X), f"round {t + 1} of {name} with {kwargs}"
        payoff = X[arm] @ theta + size * noise.draw(rng, 1)
        fast.update(payoff)
        literal.update(payoff)
        if name in HUBER:
            np.testing.assert_allclose(fast._state.theta[0], literal._theta, atol=1e-9)
            on_sphere += np.linalg.norm(literal._theta) > radius * (1 - 1e-9)
    assert clips_of(fast) == clips_of(literal)
    return fast, literal, on_sphere


@pytest.mark.parametrize("constants", ["theory", "circulated"])
@pytest.mark.parametrize("eps", EPS)
def test_heavy_oful_agrees_on_the_sphere_and_in_the_ball(eps: float, constants: str) -> None:
    """Noise far above what ν says: many rounds are surely clipped."""
    rng = np.random.default_rng([1, EPS.index(eps)])
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    fast, _, on_sphere = play_both(
        "HeavyOFUL",
        section6_contexts(rng, 150, 5, 3),
        noise,
        rng,
        size=100.0 if constants == "theory" else 1000.0,
        eps=eps,
        v=0.01,
        width_scale=1e-3 if constants == "theory" else 1.0,
        clip_scale=0.1,
        constants=constants,
    )
    assert fast._state.huber.clipped[names.ALWAYS] > 20
    assert 20 < clips_of(fast) < 140
    assert on_sphere > 20
    assert on_sphere < 140 or constants == "circulated"  # whose small λ holds nothing back


@pytest.mark.parametrize("eps", EPS)
def test_heavy_oful_agrees_while_room_is_made_for_suspects(eps: float) -> None:
    """Thresholds about as large as the noise: which rounds are clipped changes all the time."""
    rng = np.random.default_rng([1, EPS.index(eps)])
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    fast, _, _ = play_both(
        "HeavyOFUL",
        section6_contexts(rng, 150, 5, 3),
        noise,
        rng,
        size=5.0,
        eps=eps,
        v=0.01,
        width_scale=1e-3,
        clip_scale=0.003,
    )
    assert fast.diagnostics["suspects"] > 2 * names.FIRST_SUSPECTS
    assert 20 < clips_of(fast) < 140


@pytest.mark.parametrize("eps", EPS)
def test_hvt_ucb_agrees_while_it_clips_and_projects(eps: float) -> None:
    rng = np.random.default_rng([2, EPS.index(eps)])
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    fast, _, on_sphere = play_both(
        "HvtUCB",
        section6_contexts(rng, 300, 5, 3),
        noise,
        rng,
        size=5.0,
        eps=eps,
        v=0.01,
        width_scale=1e-3,
    )
    assert 30 < clips_of(fast) < 270
    assert 30 < on_sphere < 270


@pytest.mark.parametrize("growth", [0.0, 0.3])
@pytest.mark.parametrize("clips", [True, False])
def test_clipped_ucb_agrees_while_it_clips(clips: bool, growth: float) -> None:
    rng = np.random.default_rng([3, clips])
    fast, literal, _ = play_both(
        "ClippedUCB",
        section6_contexts(rng, 600, 5, 3),
        StudentT(2.0),
        rng,
        growth=growth,
        clips=clips,
    )
    assert (clips_of(fast) > 0) == clips
    scale = fast._state.num[names.CLIPPED_SCALE]
    assert scale == pytest.approx(literal._scale, rel=1e-9)


@settings(max_examples=100)
@given(
    name=st.sampled_from(LATER),
    eps=st.sampled_from(EPS),
    noise=st.sampled_from(NOISES),
    d=st.integers(1, 4),
    K=st.integers(1, 6),
    v=st.sampled_from([1e-4, 0.3, 30.0]),
    width_scale=st.sampled_from([1.0, 0.01, 1e-4]),
    clips=st.booleans(),
    clip_scale=st.sampled_from([1.0, 0.1, 0.003]),
    constants=st.sampled_from(["theory", "circulated"]),
    size=st.sampled_from([0.1, 1.0, 30.0]),
    seed=st.integers(0, 2**16),
)
def test_twins_agree_on_awkward_contexts_whatever_the_parameters(
    name: str,
    eps: float,
    noise: Noise,
    d: int,
    K: int,
    v: float,
    width_scale: float,
    clips: bool,
    clip_scale: float,
    constants: str,
    size: float,
    seed: int,
) -> None:
    """Zero, repeated and collinear contexts, so that arms tie too."""
    rng = np.random.default_rng(seed)
    settings: dict[str, Any] = {"clips": clips}
    if name in HUBER:
        settings |= {"eps": eps, "v": v, "width_scale": width_scale, "clip_scale": clip_scale}
    else:
        settings |= {"width": width_scale, "clip": 10 * clip_scale}
    if name == "HeavyOFUL":
        settings["constants"] = constants
    play_both(name, awkward_contexts(rng, 50, K, d), noise, rng, size, seed=seed, **settings)


@pytest.mark.parametrize("name", LATER)
def test_payoffs_of_any_size_do_not_disturb_the_others(name: str) -> None:
    """Payoffs of 1e12 and of 1e300 among small ones are clipped like others."""
    rng = np.random.default_rng(6)
    X = section6_contexts(rng, 120, 5, 3)
    kwargs: dict[str, Any] = {"v": 1.0, "width_scale": 0.01} if name in HUBER else {}
    fast, literal = (getattr(module, name)(120, 5, 3, **kwargs) for module in (hb, later))
    for t in range(120):
        arm = fast.select(X[t])
        assert arm == literal.select(X[t])
        payoff = {3: 1e12, 11: -1e300}.get(t % 20, X[t, arm, 0] + 0.1 * rng.normal())
        fast.update(payoff)
        literal.update(payoff)
    assert clips_of(fast) == clips_of(literal) >= 12


@pytest.mark.parametrize("module", [hb, later])
@pytest.mark.parametrize("name", HUBER)
def test_a_context_of_zero_teaches_nothing_whatever_it_paid(module: Any, name: str) -> None:
    """1e308/σ overflows, and 0 times infinity would be no number."""
    taught, spared = (getattr(module, name)(1000, 2, 2, v=1e-4) for _ in range(2))
    arms = []
    for policy in (taught, spared):
        rng = np.random.default_rng(0)
        for t in range(40):
            zero = t % 4 == 0
            arms.append(policy.select((not zero) * section6_contexts(rng, 1, 2, 2)[0]))
            policy.update(1e308 if zero and policy is taught else 0.5)
    assert arms[:40] == arms[40:]
    theta = [p._state.theta[0] if module is hb else p._theta for p in (taught, spared)]
    np.testing.assert_array_equal(*theta)
    assert np.linalg.norm(theta[0]) > 1e-3
    assert clips_of(taught) == 0


@pytest.mark.parametrize("name", HUBER)
def test_the_estimate_stays_in_the_ball_though_nothing_is_clipped(name: str) -> None:
    policy = getattr(hb, name)(100, 2, 2, v=1.0, clips=False)
    for payoff in (0.3, 1e300, 0.2, -1e301):
        policy.select(0.9 * np.eye(2))
        policy.update(payoff)
        assert np.linalg.norm(policy._state.theta[0]) <= 1 + 1e-12
    assert np.linalg.norm(policy._state.theta[0]) == pytest.approx(1.0)


# What is left without clipping.


@pytest.mark.parametrize("module", [hb, later])
def test_heavy_oful_without_clipping_is_a_weighted_ridge_regression(module: Any) -> None:
    rng = np.random.default_rng(8)
    policy = module.HeavyOFUL(120, 3, 3, v=0.04, clips=False)
    told = later.HeavyOFUL(120, 3, 3, v=0.04, clips=False)  # keeps σ_s
    X = section6_contexts(rng, 120, 3, 3)
    for t in range(120):
        arm = policy.select(X[t])
        told.select(X[t])
        payoff = X[t, arm, 1] + 0.2 * rng.normal() + (1e3 if t == 50 else 0.0)
        told._selected = arm
        policy.update(payoff)
        told.update(payoff)
        V, y, sigma, _ = (np.array(column) for column in zip(*told._history, strict=True))
        closed = np.linalg.solve(3 * np.eye(3) + (V.T / sigma**2) @ V, V.T @ (y / sigma**2))
        theta = policy._state.theta[0] if module is hb else policy._theta
        if np.linalg.norm(closed) < 1:
            np.testing.assert_allclose(theta, closed, rtol=1e-9)
        else:
            assert t >= 50
            assert np.linalg.norm(theta) == pytest.approx(1)
    assert len(set(sigma)) > 20
    assert np.linalg.norm(closed) > 0.05


@pytest.mark.parametrize("ridge", [0.1, 1.0, 20.0])
def test_clipped_ucb_without_clips_and_widths_is_greedy_ridge(ridge: float) -> None:
    world = hb.section6("student-t", n_arms=6, dim=3)
    plain = hb.GreedyRidge(800, 6, 3, ridge=ridge)
    bare = hb.ClippedUCB(800, 6, 3, ridge=ridge, clips=False, width=1e-13)
    clipping = hb.ClippedUCB(800, 6, 3, ridge=ridge, width=1e-13)
    arms = [hb.simulate(p, world, 4, keep_arms=True).arms for p in (plain, bare, clipping)]
    np.testing.assert_array_equal(arms[1], arms[0])
    assert (arms[2] != arms[0]).any()
    assert len(set(arms[0].tolist())) > 2


# ClippedUCB's own.


@pytest.mark.parametrize("module", [hb, later])
def test_three_rounds_of_clipped_ucb_by_hand(module: Any) -> None:
    """s = 1 clips at 2·1.4826; each larger residual multiplies it by exp(½/√t), a smaller divides.

    x = ½ and ridge 2: A is 2.25, 2.5, 2.75. Width 0.1·1.4826·s/√A for x = 1.
    """
    policy = module.ClippedUCB(10, 1, 1, width=0.1, ridge=2.0, clip=2.0, growth=0.5)
    b, A, scale = 0.0, 2.0, 1.0
    for t, (paid, larger, clipped) in enumerate(
        [(5.0, True, True), (-0.5, False, False), (-20.0, True, True)], start=1
    ):
        mean = 0.5 * b / A
        limit = 2 * 1.4826 * scale * math.sqrt(t)
        assert (abs(paid - mean) > limit) == clipped
        assert (abs(paid - mean) > scale) == larger
        b += 0.5 * (mean + max(-limit, min(limit, paid - mean)))
        A += 0.25
        scale *= math.exp((0.5 if larger else -0.5) / math.sqrt(t))
        policy.select(np.full((1, 1), 0.5))
        policy.update(paid)
        policy.select(np.ones((1, 1)))
        wanted = b / A, 0.1 * 1.4826 * scale / math.sqrt(A)
        if module is hb:
            assert tuple(policy._state.line[[R_HAT, WIDTH], 0]) == pytest.approx(wanted, rel=1e-12)
        else:
            assert (policy._b[0] / policy._A[0, 0], policy._scale) == pytest.approx((b / A, scale))
    assert clips_of(policy) == 2


def test_clipped_ucb_comes_to_the_median_of_the_noise_and_clips_its_tail() -> None:
    """t with 3 degrees of freedom: the median of |η| is its upper quartile q = 0.765, and
    P(|η| > 2·1.4826·q) = 0.108. ln s has a spread of 0.03 at T = 10⁵, the share clipped 0.001."""
    T = 100_000
    for size in (1.0, 0.01):
        policy = hb.ClippedUCB(T, 5, 3, clip=2.0, ridge=1.0)
        rng = np.random.default_rng(5)
        X = section6_contexts(rng, T, 5, 3)
        means = X @ np.array([0.6, 0.0, 0.8]) * size
        policy.play_block(
            X,
            means,
            means.max(axis=1),
            size * rng.standard_t(3, size=T),
            0.0,
            0.0,
            np.empty(T),
            np.empty(T, dtype=np.int64),
        )
        q = student(3).ppf(0.75)
        scale = policy._state.num[names.CLIPPED_SCALE]
        assert scale == pytest.approx(size * q, rel=0.1)
        share = 2 * student(3).sf(2 * 1.4826 * q)
        assert clips_of(policy) / T == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize(("rate", "lost"), [(0.05, True), (0.4, False)])
def test_clipped_ucb_loses_what_is_paid_seldom(rate: float, lost: bool) -> None:
    """1 in a share `rate` of the rounds, else 0: the limit that its docstring states."""
    n = 5_000
    policy = hb.ClippedUCB(n, 1, 1, clip=2.0, ridge=1.0)
    paid = np.where(np.random.default_rng(1).random(n) < rate, 1.0, 0.0)
    zeros = np.zeros(n)
    policy.play_block(
        np.ones((n, 1, 1)),
        zeros[:, None],
        zeros,
        paid,
        0.0,
        0.0,
        np.empty(n),
        np.empty(n, dtype=np.int64),
    )
    theta = policy._state.theta[0, 0]
    assert theta < 0.01 * rate if lost else theta == pytest.approx(paid.mean(), rel=0.01)


def test_growth_lets_the_clipping_end() -> None:
    world = hb.section6("student-t", n_arms=5, dim=3)
    counts = [
        clips_of(played(hb.ClippedUCB(20_000, 5, 3, growth=growth), world))
        for growth in (0.0, 0.1, 0.2)
    ]
    assert counts[0] > 4 * counts[1] > 8 * counts[2] > 0


def played(policy: Any, world: Any) -> Any:
    hb.simulate(policy, world, seed=1)
    return policy


# What is kept.


def test_few_rounds_of_a_noise_with_variance_are_ever_suspects() -> None:
    """At the constants of the theory, and what is kept does not grow with the rounds."""
    world = hb.section6("student-t", n_arms=10, dim=5)
    policy = played(hb.HeavyOFUL(20_000, 10, 5, v=3.0), world)
    assert policy.diagnostics["most_suspects"] <= 16
    fresh = hb.HeavyOFUL(20_000, 10, 5, v=3.0)
    assert size_of(policy) == size_of(fresh)
    strict = played(hb.HeavyOFUL(1_000, 10, 5, v=3.0, clip_scale=0.01), world)
    assert strict.diagnostics["most_suspects"] > 50


@pytest.mark.parametrize("name", ["HvtUCB", "ClippedUCB"])
def test_one_step_a_round_keeps_nothing(name: str) -> None:
    world = hb.section6(SymmetricPareto(1.6, 0.3), n_arms=5, dim=3)
    more: dict[str, Any] = {"eps": 0.5, "v": 1e-3, "width_scale": 1e-3} if name == "HvtUCB" else {}
    policy = played(getattr(hb, name)(3_000, 5, 3, **more), world)
    assert clips_of(policy) > 100
    assert policy.diagnostics["suspects"] == 0
    assert size_of(policy) == size_of(getattr(hb, name)(3_000, 5, 3, **more))


def size_of(policy: Any) -> int:
    return len(pickle.dumps(policy._state))


# The door, where it is not the same for all policies.


def test_only_heavy_oful_has_a_circulated_reading() -> None:
    for module in (hb, later):
        with pytest.raises(TypeError, match="unexpected keyword argument 'constants'"):
            module.HvtUCB(100, 2, 2, v=1.0, constants="circulated")
        with pytest.raises(ValueError, match="constants must be one of theory, circulated"):
            module.HeavyOFUL(100, 2, 2, v=1.0, constants="shrunken")


def test_a_heavy_oful_that_had_to_make_room_goes_on_as_before_when_unpickled() -> None:
    rng = np.random.default_rng(3)
    X = section6_contexts(rng, 200, 4, 3)
    y = rng.standard_t(2, size=200)
    policy = hb.HeavyOFUL(200, 4, 3, v=0.01, clip_scale=0.003, width_scale=1e-3)
    for t in range(200):
        arm = policy.select(X[t])
        if t == 120:
            resumed = pickle.loads(pickle.dumps(policy))
        policy.update(y[t])
        if t >= 120:
            assert t == 120 or resumed.select(X[t]) == arm
            resumed.update(y[t])
    np.testing.assert_equal(resumed.diagnostics, policy.diagnostics)
    assert policy.diagnostics["suspects"] > 100
