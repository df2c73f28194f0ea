"""Thompson sampling: its law in closed form, its random numbers, its twins, and its knobs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2, kstest

import heavybandit as hb
from heavybandit import later, theory
from heavybandit.engine.state import THETA_NOW
from heavybandit.engine.thompson import rotate_in
from heavybandit.noise import Noise
from heavybandit.policy import POLICY_STREAM, stream
from streams import NOISES, awkward_contexts, section6_contexts

Floats = NDArray[np.float64]
both = pytest.mark.parametrize("module", [hb, later], ids=["compiled", "literal"])


def drawn(policy: Any, z: Floats) -> Floats:
    """θ̃ of the round that was just selected for, z being its random numbers."""
    if isinstance(policy, hb.engine.Compiled):
        return np.array(policy._state.vector[THETA_NOW])  # type: ignore[attr-defined]
    return np.array(policy._draw(z))


@both
def test_rounds_in_one_dimension_by_hand(module: Any) -> None:
    """x = ½ and ridge 2: θ̃ = b/A + v z/√A, and of the arms 1 and −1 its sign chooses."""
    T, delta, scale = 50, 0.02, 0.1
    policy = module.Thompson(T, 2, 1, delta=delta, width_scale=scale, ridge=2.0, seed=9)
    rng, v = stream(9, POLICY_STREAM), scale * math.sqrt(9 * math.log(T / delta))
    A, b, arms = 2.0, 0.0, set()
    for payoff in np.linspace(-3, 4, T):
        z = rng.standard_normal(1)
        theta = b / A + v * z[0] / math.sqrt(A)
        arm = policy.select(np.array([[0.5], [-0.5]]))
        assert drawn(policy, z) == pytest.approx(theta, rel=1e-12)
        assert arm == (theta < 0)
        arms.add(arm)
        policy.update(payoff)
        A += 0.25
        b += (-0.5 if arm else 0.5) * payoff
    assert arms == {0, 1}


@given(
    T=st.integers(1, 10**9), d=st.integers(1, 50), delta=st.floats(1e-9, 0.5), scale=st.floats(0, 9)
)
def test_v_is_the_closed_form(T: int, d: int, delta: float, scale: float) -> None:
    literal = later.Thompson(T, 1, d, delta=delta, width_scale=0.01 + scale)
    wanted = (0.01 + scale) * theory.thompson_v(T, d, delta)
    assert literal._v() == pytest.approx(wanted, rel=1e-14)
    assert theory.thompson_v(1000, 4, 0.001) == pytest.approx(6 * math.sqrt(6 * math.log(10)))


@both
def test_what_is_drawn_has_the_law_of_the_posterior(module: Any) -> None:
    """(θ̃ − θ̂)ᵀA(θ̃ − θ̂)/v² is χ² with d degrees of freedom, and each whitened part is normal."""
    rng, d = np.random.default_rng(3), 3
    V = awkward_contexts(rng, 30, 1, d)[:, 0]
    y = rng.standard_t(3, 30)
    policy = module.Thompson(10_000, 1, d, ridge=0.5, width_scale=0.3)
    for x, payoff in zip(V, y, strict=True):
        policy.select(x[None])
        policy.update(payoff)
    A = 0.5 * np.eye(d) + V.T @ V
    v = 0.3 * theory.thompson_v(10_000, d, 0.01)
    draws = []
    for _ in range(4000):  # declined rounds teach nothing, and each has random numbers of its own
        policy.select(V[:1])
        draws.append(drawn(policy, policy._drawn))
        policy.decline()
    errors = np.array(draws) - np.linalg.solve(A, V.T @ y)
    distances = np.einsum("nd,de,ne->n", errors, A, errors) / v**2
    assert kstest(distances, chi2(d).cdf).pvalue > 0.01
    for direction in np.eye(d):
        spread = v * math.sqrt(direction @ np.linalg.solve(A, direction))
        assert kstest(errors @ direction / spread, "norm").pvalue > 0.01


@both
def test_a_round_has_d_standard_normal_numbers_of_the_policys_own_stream(module: Any) -> None:
    """With A = I and nothing learnt θ̃ = v z; asked again, a round answers with the same z."""
    policy = module.Thompson(100, 4, 4, seed=5)
    z = stream(5, POLICY_STREAM).standard_normal((3, 4))
    for t in range(3):
        assert policy.select(np.eye(4)) == policy.select(np.eye(4)) == np.argmax(z[t])
        np.testing.assert_array_equal(policy._drawn, z[t])
        policy.decline()


@settings(max_examples=150)
@given(
    noise=st.sampled_from(NOISES),
    K=st.integers(1, 7),
    d=st.integers(1, 6),
    given=st.fixed_dictionaries(
        {
            "delta": st.sampled_from([0.001, 0.01, 0.5]),
            "width_scale": st.sampled_from([10.0, 1.0, 0.1, 0.001, 1e-6]),
            "ridge": st.sampled_from([0.01, 1.0, 7.0, 1000.0]),
            "seed": st.integers(0, 2**16),
        }
    ),
)
def test_twins_draw_the_same_and_choose_the_same_arms(
    noise: Noise, K: int, d: int, given: dict[str, Any]
) -> None:
    """Zero, repeated and collinear contexts, so that arms tie too."""
    rng = np.random.default_rng(given["seed"])
    X = awkward_contexts(rng, 60, K, d)
    fast, literal = (module.Thompson(60, K, d, **given) for module in (hb, later))
    for t, offer in enumerate(X, start=1):
        arm = fast.select(offer)
        assert arm == literal.select(offer), f"round {t} with {given}"
        theta = drawn(literal, literal._drawn)
        np.testing.assert_allclose(drawn(fast, literal._drawn), theta, rtol=1e-9, atol=1e-9)
        payoff = offer[arm, 0] + noise.draw(rng, 1)
        fast.update(payoff)
        literal.update(payoff)


def test_twins_agree_in_a_simulation_and_random_numbers_change_arms() -> None:
    """Blocks of the compiled twin against rounds of the literal one."""
    world = hb.section6("student-t", n_arms=6, dim=4)
    runs = [
        hb.simulate(
            module.Thompson(900, 6, 4, width_scale=0.1, seed=seed), world, 2, keep_arms=True
        )
        for module, seed in ((hb, 1), (later, 1), (hb, 2))
    ]
    np.testing.assert_array_equal(runs[0].arms, runs[1].arms)
    assert runs[0].regret == runs[1].regret
    assert (runs[0].arms != runs[2].arms).sum() > 100


def test_a_payoff_too_large_leaves_the_random_numbers_of_its_round() -> None:
    """The block breaks off at it; that round is then the same as if all were played one by one."""
    n, d = 9, 3
    X = section6_contexts(np.random.default_rng(4), n, 5, d)
    broken, whole = (hb.Thompson(n, 5, d, seed=6) for _ in range(2))
    draws = np.zeros(n)
    draws[5] = 1e101
    record = np.empty(n), np.empty(n, dtype=np.int64)
    with pytest.raises(ValueError, match="the noise gave one that is not in round 6"):
        broken.play_block(X, np.zeros((n, 5)), np.zeros(n), draws, hb.noise.Form(), 0.0, *record)
    for offer in X[:5]:
        whole.select(offer)
        whole.update(0.0)
    assert broken.select(X[5]) == whole.select(X[5])
    np.testing.assert_array_equal(broken._drawn, whole._drawn)


def test_rotations_keep_the_normal_equations_for_a_hundred_thousand_rounds() -> None:
    """RᵀR = λI + Σxxᵀ and Rᵀq = Σr·x, with contexts almost on a line and heavy-tailed payoffs."""
    rng, n, d, lam = np.random.default_rng(7), 100_000, 4, 1e-3
    V = rng.normal(size=(n, d)) * np.array([1.0, 1e-2, 1e-3, 1e-3])
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    y = rng.standard_t(2, size=n)
    factor = math.sqrt(lam) * np.eye(d, d + 1)
    for row in np.column_stack([V, y]):
        rotate_in(factor, row)
    R, q = factor[:, :d], factor[:, d]
    assert np.array_equal(R, np.triu(R))
    A = lam * np.eye(d) + V.T @ V
    np.testing.assert_allclose(R.T @ R, A, rtol=1e-10, atol=1e-10)
    theta = np.linalg.solve(A, V.T @ y)
    np.testing.assert_allclose(np.linalg.solve(R, q), theta, rtol=1e-8)


@pytest.mark.parametrize("ridge", [0.1, 1.0, 20.0])
def test_without_width_it_is_greedy_ridge(ridge: float) -> None:
    world = hb.section6("student-t", n_arms=6, dim=3)
    policies = [hb.GreedyRidge(800, 6, 3, ridge=ridge)]
    policies += [hb.Thompson(800, 6, 3, ridge=ridge, width_scale=w) for w in (1e-13, 0.1)]
    greedy, bare, wide = (hb.simulate(p, world, 4, keep_arms=True).arms for p in policies)
    assert greedy is not None
    np.testing.assert_array_equal(bare, greedy)
    assert (wide != greedy).any()
    assert len(set(greedy.tolist())) > 2


@both
@settings(max_examples=30)
@given(lam=st.floats(1, 300), unit=st.floats(0.01, 100), seed=st.integers(0, 2**16))
def test_a_ridge_shortens_contexts_and_a_width_is_in_the_payoffs_unit(
    module: Any, lam: float, unit: float, seed: int
) -> None:
    """λI + Σxxᵀ = λ(I + Σ(x/√λ)(x/√λ)ᵀ); payoffs and width times `unit` give `unit` times θ̃."""
    shape: dict[str, Any] = {"horizon": 60, "n_arms": 5, "dim": 3, "seed": seed}
    ridged = module.Thompson(**shape, ridge=lam, width_scale=0.1)
    shorter = module.Thompson(**shape, width_scale=0.1)
    dearer = module.Thompson(**shape, ridge=lam, width_scale=0.1 * unit)
    rng = np.random.default_rng(seed)
    for X in section6_contexts(rng, 60, 5, 3):
        arm = ridged.select(X)
        assert shorter.select(X / math.sqrt(lam)) == dearer.select(X) == arm
        payoff = X[arm, 0] + rng.standard_t(2)
        ridged.update(payoff)
        shorter.update(payoff)
        dearer.update(unit * payoff)
