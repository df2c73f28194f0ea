"""The later algorithms: first rounds by hand, twins arm by arm, and what each is made for."""

from __future__ import annotations

import inspect
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t as student

import heavybandit as hb
from heavybandit import later, theory
from heavybandit.engine import state as names
from heavybandit.engine.state import R_HAT, WIDTH
from heavybandit.noise import Form, Noise, StudentT, SymmetricPareto
from streams import NOISES, awkward_contexts, section6_contexts

Floats = NDArray[np.float64]
HUBER = ("HeavyOFUL", "HvtUCB")
LATER = (*HUBER, "ClippedUCB")
EPS = (1.0, 0.5, 0.3)
SETTINGS: dict[str, tuple[Any, ...]] = {
    "eps": EPS,
    "v": (1e-4, 0.3, 30.0),
    "width_scale": (1.0, 0.01, 1e-4),
    "clips": (True, False),
    "ridge": (1.0, 0.1, 30.0),
    "constants": ("theory", "circulated"),
    "threshold_scale": (10.0, 1.0, 0.1, 0.003),
}


# Closed forms, and first rounds by hand.


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
    kappa = theory.huber_kappa(T, d, ridge)
    assert oful._kappa() == pytest.approx(kappa, rel=1e-12)
    assert oful._tau_0(kappa) == pytest.approx(theory.huber_tau_0(T, kappa, delta, eps), rel=1e-12)
    beta = theory.heavy_oful_beta(t, T, kappa, ridge, delta, eps) / (divisor if t else 1)
    assert oful._beta(t) == pytest.approx(beta, rel=1e-12)
    hvt = later.HvtUCB(T, 2, d, eps=eps, v=1.0, delta=delta, width_scale=0.5)
    kappa = theory.huber_kappa(T, d, float(d), theory.HVT_ALPHA)
    assert hvt._kappa() == pytest.approx(kappa, rel=1e-12)
    beta = 0.5 * theory.hvt_ucb_beta(t, T, kappa, float(d), delta, eps)
    assert hvt._beta(t) == pytest.approx(beta, rel=1e-12)


def estimate_and_width(policy: Any) -> tuple[float, float]:
    """θ̂ and the width of x = 1, as a policy in one dimension has them now."""
    if isinstance(policy, hb.engine.Compiled):
        policy.select(np.ones((1, 1)))
        return tuple(policy._state.line[[R_HAT, WIDTH], 0])
    oful, beta = isinstance(policy, later.HeavyOFUL), policy._beta(policy.round - 1)
    scale, A = (policy.width_scale, policy._H) if oful else (1.0, policy._V)
    return policy._theta[0], scale * beta / math.sqrt(A[0, 0])


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
        T,
        1,
        1,
        eps=eps,
        v=v,
        delta=delta,
        width_scale=scale,
        threshold_scale=0.5,
        constants=constants,
    )
    assert estimate_and_width(policy) == pytest.approx((0.0, scale), rel=1e-12)  # √λ/√λ
    kappa = theory.huber_kappa(T, 1, lam)
    steep, flat = theory.heavy_oful_floor(T, kappa, delta, eps)
    n = 1 / math.sqrt(lam)
    sigma = max(v ** (1 / (1 + eps)), 0.1, n * steep, math.sqrt(n) * flat)
    assert sigma > 1
    w = n / sigma
    tau = 0.5 * theory.huber_tau_0(T, kappa, delta, eps) * math.sqrt(1 + w * w) / w
    free = paid / sigma**2 / (lam + sigma**-2)
    clipped = abs(paid - free) / sigma > tau
    assert clipped == (paid < -1)
    theta = math.copysign(min(tau / sigma / lam, rho), paid) if clipped else free
    policy.select(np.ones((1, 1)))
    policy.update(paid)
    beta = theory.heavy_oful_beta(1, T, kappa, lam, delta, eps) / divisor
    wanted = (theta, scale * beta / math.sqrt(lam + sigma**-2))
    assert estimate_and_width(policy) == pytest.approx(wanted, rel=1e-11)
    assert clips_of(policy) == clipped


@pytest.mark.parametrize("module", [hb, later])
@pytest.mark.parametrize("eps", [1.0, 0.5])
@pytest.mark.parametrize("paid", [0.3, -1e9])
def test_two_rounds_of_hvt_ucb_by_hand(module: Any, eps: float, paid: float) -> None:
    """x = 1 in one dimension: V_1 = 1 + 1/(4σ²), θ̂ = clip(r/σ, τ)/(σV_1), cut off at ±1."""
    T, v, delta, scale = 100, 1e-6, 0.01, 0.5
    policy = module.HvtUCB(
        T, 1, 1, eps=eps, v=v, delta=delta, width_scale=scale, threshold_scale=0.01
    )
    beta_0 = scale * math.sqrt(6)
    assert estimate_and_width(policy) == pytest.approx((0.0, beta_0), rel=1e-12)
    kappa = theory.huber_kappa(T, 1, 1.0, 4.0)
    tau_0 = theory.huber_tau_0(T, kappa, delta, eps)
    sigma = math.sqrt(2 * beta_0 / (tau_0 * 2))
    assert sigma > max(v ** (1 / (1 + eps)), 0.1)
    w = 1 / (2 * sigma)
    tau = 0.01 * tau_0 * math.sqrt(1 + w * w) / w
    V_1 = 1 + 1 / (4 * sigma**2)
    z = paid / sigma
    moved = math.copysign(min(abs(z), tau), z) / (sigma * V_1)
    policy.select(np.ones((1, 1)))
    policy.update(paid)
    beta_1 = scale * theory.hvt_ucb_beta(1, T, kappa, 1.0, delta, eps)
    wanted = (max(-1.0, min(1.0, moved)), beta_1 / math.sqrt(V_1))
    assert estimate_and_width(policy) == pytest.approx(wanted, rel=1e-11)
    assert clips_of(policy) == (abs(z) > tau)


def clips_of(policy: Any) -> int:
    """Rounds clipped so far, as either twin counts them."""
    if isinstance(policy, hb.engine.Compiled):
        return int(policy.diagnostics["truncated"])  # type: ignore[call-overload]
    return int(policy.clipped)


# Twins.


def play_both(
    name: str, X: Floats, noise: Noise, rng: np.random.Generator, size: float = 1.0, **kwargs: Any
) -> tuple[Any, Any, int]:
    """Drive both twins with the same payoffs; also in how many rounds θ̂ was on the sphere."""
    fast, literal = (getattr(module, name)(*X.shape, **kwargs) for module in (hb, later))
    theta = rng.normal(size=X.shape[2])
    theta /= np.linalg.norm(theta)
    radius = math.sqrt(1.1) if kwargs.get("constants") == "circulated" else 1.0
    on_sphere = 0
    for t, offer in enumerate(X, start=1):
        arm = fast.select(offer)
        assert arm == literal.select(offer), f"round {t} of {name} with {kwargs}"
        payoff = offer[arm] @ theta + size * noise.draw(rng, 1)
        fast.update(payoff)
        literal.update(payoff)
        if name in HUBER:
            np.testing.assert_allclose(fast._state.theta[0], literal._theta, atol=1e-9)
            on_sphere += np.linalg.norm(literal._theta) > radius * (1 - 1e-9)
    assert clips_of(fast) == clips_of(literal)
    return fast, literal, on_sphere


def agree(name: str, eps: float, rounds: int, size: float, **kwargs: Any) -> tuple[Any, int]:
    """The compiled twin after rounds with noise far above what ν says, and those on the sphere."""
    rng = np.random.default_rng([1 + HUBER.index(name), EPS.index(eps)])
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    X = section6_contexts(rng, rounds, 5, 3)
    fast, _, on_sphere = play_both(name, X, noise, rng, size=size, eps=eps, v=0.01, **kwargs)
    return fast, on_sphere


@pytest.mark.parametrize("constants", ["theory", "circulated"])
@pytest.mark.parametrize("eps", EPS)
def test_heavy_oful_agrees_on_the_sphere_and_in_the_ball(eps: float, constants: str) -> None:
    """With sizes and thresholds at which many payoffs are clipped."""
    size, width_scale = (100.0, 1e-3) if constants == "theory" else (1000.0, 1.0)
    more = {"width_scale": width_scale, "threshold_scale": 0.1, "constants": constants}
    fast, on_sphere = agree("HeavyOFUL", eps, 150, size, **more)
    kept = fast._state.suspects[0, : fast.diagnostics["suspects"]]
    assert fast._state.huber.clipped[0] - np.count_nonzero(kept[:, -1]) > 20  # at every θ
    assert 20 < clips_of(fast) < 140
    assert on_sphere > 20
    assert on_sphere < 140 or constants == "circulated"  # whose small λ holds nothing back


@pytest.mark.parametrize("eps", EPS)
def test_heavy_oful_agrees_while_room_is_made_for_suspects(eps: float) -> None:
    """Thresholds about as large as the noise: which rounds are clipped changes all the time."""
    fast, _ = agree("HeavyOFUL", eps, 150, 5.0, width_scale=1e-3, threshold_scale=0.003)
    assert fast.diagnostics["suspects"] > 2 * names.FIRST_SUSPECTS
    assert 20 < clips_of(fast) < 140


@pytest.mark.parametrize("eps", EPS)
def test_hvt_ucb_agrees_while_it_clips_and_projects(eps: float) -> None:
    fast, on_sphere = agree("HvtUCB", eps, 300, 5.0, width_scale=1e-3)
    assert 30 < clips_of(fast) < 270
    assert 30 < on_sphere < 270


@pytest.mark.parametrize("growth", [0.0, 0.3])
@pytest.mark.parametrize("clips", [True, False])
def test_clipped_ucb_agrees_while_it_clips(clips: bool, growth: float) -> None:
    rng = np.random.default_rng([3, clips])
    X = section6_contexts(rng, 600, 5, 3)
    fast, literal, _ = play_both("ClippedUCB", X, StudentT(2.0), rng, growth=growth, clips=clips)
    assert (clips_of(fast) > 0) == clips
    scale = fast._state.num[names.CLIPPED_SCALE]
    assert scale == pytest.approx(literal._scale, rel=1e-9)


@settings(max_examples=100)
@given(
    name=st.sampled_from(LATER),
    noise=st.sampled_from(NOISES),
    K=st.integers(1, 6),
    d=st.integers(1, 4),
    size=st.sampled_from([0.1, 1.0, 30.0]),
    data=st.data(),
    seed=st.integers(0, 2**16),
)
def test_twins_agree_on_awkward_contexts_whatever_the_parameters(
    name: str, noise: Noise, K: int, d: int, size: float, data: Any, seed: int
) -> None:
    """Zero, repeated and collinear contexts, so that arms tie too."""
    known = inspect.signature(getattr(hb, name)).parameters
    more = {name: data.draw(st.sampled_from(SETTINGS[name])) for name in SETTINGS if name in known}
    rng = np.random.default_rng(seed)
    play_both(name, awkward_contexts(rng, 50, K, d), noise, rng, size, seed=seed, **more)


@pytest.mark.parametrize("name", LATER)
def test_payoffs_of_any_size_do_not_disturb_the_others(name: str) -> None:
    """Payoffs of 1e12 and of 1e99 among small ones are clipped like others."""
    rng = np.random.default_rng(6)
    X = section6_contexts(rng, 120, 5, 3)
    kwargs: dict[str, Any] = {"v": 1.0, "width_scale": 0.01} if name in HUBER else {}
    fast, literal = (getattr(module, name)(120, 5, 3, **kwargs) for module in (hb, later))
    for t in range(120):
        arm = fast.select(X[t])
        assert arm == literal.select(X[t])
        payoff = {3: 1e12, 11: -1e99}.get(t % 20, X[t, arm, 0] + 0.1 * rng.normal())
        fast.update(payoff)
        literal.update(payoff)
    assert clips_of(fast) == clips_of(literal) >= 12


@pytest.mark.parametrize("module", [hb, later])
@pytest.mark.parametrize("name", HUBER)
def test_a_context_of_zero_teaches_nothing_whatever_it_paid(module: Any, name: str) -> None:
    """Not even 1e100, the largest payoff that may be."""
    taught, spared = (getattr(module, name)(1000, 2, 2, v=1e-4) for _ in range(2))
    arms = []
    for policy in (taught, spared):
        rng = np.random.default_rng(0)
        for t in range(40):
            zero = t % 4 == 0
            arms.append(policy.select((not zero) * section6_contexts(rng, 1, 2, 2)[0]))
            policy.update(1e100 if zero and policy is taught else 0.5)
    assert arms[:40] == arms[40:]
    theta = [p._state.theta[0] if module is hb else p._theta for p in (taught, spared)]
    np.testing.assert_array_equal(*theta)
    assert np.linalg.norm(theta[0]) > 1e-3
    assert clips_of(taught) == 0


@pytest.mark.parametrize("name", HUBER)
def test_the_estimate_stays_in_the_ball_though_nothing_is_clipped(name: str) -> None:
    policy = getattr(hb, name)(100, 2, 2, v=1.0, clips=False)
    for payoff in (0.3, 1e99, 0.2, -1e100):
        policy.select(0.9 * np.eye(2))
        policy.update(payoff)
        assert np.linalg.norm(policy._state.theta[0]) <= 1 + 1e-12
    assert np.linalg.norm(policy._state.theta[0]) == pytest.approx(1.0)


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
    bare = hb.ClippedUCB(800, 6, 3, ridge=ridge, clips=False, width_scale=1e-13)
    clipping = hb.ClippedUCB(800, 6, 3, ridge=ridge, width_scale=1e-13)
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
    policy = module.ClippedUCB(
        10, 1, 1, width_scale=0.1, ridge=2.0, threshold_scale=2.0, growth=0.5
    )
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


def play_all(policy: Any, X: Floats, means: Floats, noise: Floats) -> None:
    """Play as many rounds as there are contexts, in one block."""
    n = len(X)
    record = np.empty(n), np.empty(n, dtype=np.int64)
    policy.play_block(X, means, means.max(axis=1), noise, Form(), 0.0, *record)


def test_clipped_ucb_comes_to_the_median_of_the_noise_and_clips_its_tail() -> None:
    """t with 3 degrees of freedom: the median of |η| is its upper quartile q = 0.765, and
    P(|η| > 2·1.4826·q) = 0.108. ln s has a spread of 0.03 at T = 10⁵, the share clipped 0.001."""
    T = 100_000
    for size in (1.0, 0.01):
        policy = hb.ClippedUCB(T, 5, 3, threshold_scale=2.0, ridge=1.0)
        rng = np.random.default_rng(5)
        X = section6_contexts(rng, T, 5, 3)
        play_all(policy, X, X @ np.array([0.6, 0.0, 0.8]) * size, size * rng.standard_t(3, size=T))
        q = student(3).ppf(0.75)
        scale = policy._state.num[names.CLIPPED_SCALE]
        assert scale == pytest.approx(size * q, rel=0.1)
        share = 2 * student(3).sf(2 * 1.4826 * q)
        assert clips_of(policy) / T == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize(("rate", "lost"), [(0.05, True), (0.4, False)])
def test_clipped_ucb_loses_what_is_paid_seldom(rate: float, lost: bool) -> None:
    """1 in a share `rate` of the rounds, else 0: the limit that its docstring states."""
    n = 5_000
    policy = hb.ClippedUCB(n, 1, 1, threshold_scale=2.0, ridge=1.0)
    paid = np.where(np.random.default_rng(1).random(n) < rate, 1.0, 0.0)
    play_all(policy, np.ones((n, 1, 1)), np.zeros((n, 1)), paid)
    theta = policy._state.theta[0, 0]
    assert theta < 0.01 * rate if lost else theta == pytest.approx(paid.mean(), rel=0.01)


def test_growth_lets_the_clipping_end() -> None:
    world = hb.section6("student-t", n_arms=5, dim=3)
    policies = [hb.ClippedUCB(20_000, 5, 3, growth=growth) for growth in (0.0, 0.1, 0.2)]
    counts = [clips_of(played(policy, world)) for policy in policies]
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
    assert size_of(policy) == size_of(hb.HeavyOFUL(20_000, 10, 5, v=3.0))
    strict = played(hb.HeavyOFUL(1_000, 10, 5, v=3.0, threshold_scale=0.01), world)
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


@pytest.mark.parametrize("module", [hb, later])
def test_only_heavy_oful_has_a_circulated_reading(module: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'constants'"):
        module.HvtUCB(100, 2, 2, v=1.0, constants="circulated")
    assert module.HeavyOFUL(100, 2, 2, v=1.0, constants="circulated").constants == "circulated"
