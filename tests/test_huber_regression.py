"""Huber regression in a ball, literal and compiled, against a minimum's conditions and scipy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import heavybandit as hb
from heavybandit import later
from heavybandit.engine import huber
from heavybandit.engine import state as names
from heavybandit.engine.state import new_state
from streams import section6_contexts


def distance_from_minimum(V, y, sigma, tau, ridge, radius, theta):
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


def harsh_data(rng):
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
def test_huber_regression_meets_the_conditions_of_a_minimum(seed):
    data = harsh_data(np.random.default_rng(seed))
    assert distance_from_minimum(*data, later.huber_regression(*data)) < 1e-9


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), radius=st.sampled_from([0.2, 1e3]))
def test_huber_regression_is_what_scipy_finds(seed, radius):
    """With the ball almost always active, and never; most residuals clipped."""
    rng = np.random.default_rng(seed)
    n, d = 25, 3
    V = section6_contexts(rng, n, 1, d)[:, 0]
    y = V @ np.ones(d) + rng.standard_t(2, size=n)
    sigma, tau = rng.uniform(0.5, 2, size=n), rng.uniform(0.05, 0.5, size=n)

    def loss(theta):
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


def filled(V, y, sigma, tau, ridge, radius):
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
    always_clipped = (np.abs(y) - reach) / sigma > tau * (1 + huber.SPARE)
    suspicious = ((np.abs(y) + reach) / sigma > tau * (1 - huber.SPARE)) & ~always_clipped
    side = np.sign(paid) * (np.abs(paid) > tau)  # at θ = 0
    inside = side == 0
    pull = np.where(inside, paid, side * np.where(inside, 0.0, tau))[:, None] * scaled
    state.huber.gram[:] = ridge * np.eye(d) + scaled[inside].T @ scaled[inside]
    state.huber.pull[:] = pull.sum(axis=0)
    state.A_inv[0] = np.linalg.inv(ridge * np.eye(d) + scaled.T @ scaled)
    rows = np.column_stack([scaled, paid, tau, side])[suspicious]
    state.stage[0, names.N_SUSPECTS] = len(rows)
    state.huber.clipped[0] = np.count_nonzero(side)
    bundles = math.ceil(len(rows) / names.BUNDLE)
    huber_state = state.huber._replace(due=np.zeros(len(rows)), soonest=np.zeros(bundles))
    return state._replace(suspects=np.ascontiguousarray(rows[None]), huber=huber_state)


def test_the_compiled_fit_is_the_minimum_whatever_the_data():
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
def test_the_compiled_fit_is_the_literal_regression(seed):
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


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32),
    threshold_scale=st.sampled_from([0.001, 0.003, 0.02]),
    size=st.sampled_from([1.0, 5.0, 40.0]),
)
def test_suspects_that_are_passed_over_are_on_their_sides(seed, threshold_scale, size):
    """After every round all suspects stand where θ̂ puts them, looked at or not."""
    rng = np.random.default_rng(seed)
    T, K, d = 300, 4, 3
    knobs = {"width_scale": 1e-3, "threshold_scale": threshold_scale, "ridge": 1e-3}
    policy = hb.HeavyOFUL(T, K, d, v=0.01, **knobs)
    passed_over = 0
    for X in section6_contexts(rng, T, K, d):
        policy.update(X[policy.select(X)].sum() + size * rng.standard_t(1.5, size=1))
        state = policy._state
        kept = state.suspects[0, : policy.diagnostics["suspects"]]
        room = state.suspects.shape[1]
        assert len(state.huber.due) == names.BUNDLE * len(state.huber.soonest) == room
        due = state.huber.due[: len(kept)]
        passed_over += np.count_nonzero(due > state.huber.gone[0])
        starts = range(0, len(kept), names.BUNDLE)
        least = [due[first : first + names.BUNDLE].min() for first in starts]
        assert (state.huber.soonest[: len(least)] <= least).all()
        assert [huber.side_at(one, state.theta[0]) for one in kept] == kept[:, -1].tolist()
    assert len(kept) < 5 or passed_over > len(kept)


@given(seed=st.integers(0, 2**32))
def test_what_is_taken_out_of_the_quadratic_leaves_nothing_behind(seed):
    """Rounds of very different weights put in, and most of the heavy ones taken out again."""
    rng = np.random.default_rng(seed)
    d, n = 2, 60
    state = new_state(kind=names.HEAVY_OFUL, n_arms=2, dim=d, plays=1, ridge=1e-3)
    weights = 10.0 ** rng.uniform(-8, 4, size=n)
    rows, pulls = rng.normal(size=(n, d)) * weights[:, None], rng.normal(size=n) * weights
    out = np.flatnonzero((weights > 1e-3) & (rng.random(n) < 0.9))
    for sign, chosen in ((1.0, range(n)), (-1.0, out)):
        for k in chosen:
            huber.count(state.huber, rows[k], pulls[k], 0.0, sign)
    left = np.setdiff1d(np.arange(n), out)
    wanted = math.fsum([1e-3, *(rows[left, 0] * rows[left, 0])])
    assert state.huber.gram[0, 0] == pytest.approx(wanted, rel=1e-15)
    crossed = rows[left, 0] * rows[left, 1]
    assert abs(state.huber.gram[0, 1] - math.fsum(crossed)) <= 1e-15 * np.abs(crossed).sum()
    pulled = rows[left, 0] * pulls[left]
    assert abs(state.huber.pull[0] - math.fsum(pulled)) <= 1e-15 * np.abs(pulled).sum()


@pytest.mark.parametrize("paid", [0.1 * k for k in range(1, 10)])
def test_a_residual_at_its_threshold_in_the_minimum_does_not_keep_the_fit_busy(paid):
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
def test_a_minimum_in_the_ball_is_one(seed, d, radius, size):
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


def test_a_projection_moves_nothing_in_the_ball_and_a_minimum_on_the_sphere_stays():
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
