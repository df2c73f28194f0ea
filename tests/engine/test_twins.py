"""The engine and the literal transcription choose the same arm in every round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit.engine.state import R_HAT
from heavybandit.noise import Extremal, Gaussian, Noise, Pareto, StudentT, SymmetricPareto

EPS = (1.0, 0.7, 0.5, 0.25)
RULES = ("first", "random", "widest", "optimistic")
MASTERS = ("SupBMM", "SupBTC")
FLAT = ("FlatBMM", "FlatBTC")
BASELINES = ("MoM", "CRT", "MENU", "TOFU")
NOISES: tuple[Noise, ...] = (
    Gaussian(0.3),
    StudentT(3.0),
    Pareto(3.0, 0.01),
    SymmetricPareto(1.6, 0.3),
    SymmetricPareto(1.3, 0.5),
    Extremal(2.0, 0.1),
)


def awkward_contexts(rng: np.random.Generator, n: int, K: int, d: int) -> np.ndarray:
    """Rounds of unit, shrunken, zero, repeated and collinear contexts, and whole flat rounds."""
    X = rng.normal(size=(n, K, d))
    X[::2] = np.abs(X[::2])
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    kind = rng.integers(8, size=(n, K))
    X[kind == 1] *= rng.random(((kind == 1).sum(), 1))
    X[kind == 2] = 0.0
    repeats = np.argwhere(kind == 3)
    X[repeats[:, 0], repeats[:, 1]] = X[repeats[:, 0], (repeats[:, 1] + 1) % K]
    axes = np.argwhere(kind == 4)
    X[axes[:, 0], axes[:, 1]] = np.eye(d)[rng.integers(d, size=len(axes))]
    line = X[0, 0] / max(np.linalg.norm(X[0, 0]), 1e-300)
    on_line = np.argwhere(kind == 5)
    X[on_line[:, 0], on_line[:, 1]] = rng.uniform(-1, 1, (len(on_line), 1)) * line
    return X


def section6_contexts(rng: np.random.Generator, n: int, K: int, d: int) -> np.ndarray:
    X = rng.random((n, K, d))
    return X / np.linalg.norm(X, axis=2, keepdims=True)


def play_both(
    name: str,
    contexts: np.ndarray,
    noise: Noise,
    rng: np.random.Generator,
    rounds: int | None = None,
    **kwargs: Any,
) -> Any:
    """Drive both twins with the payoffs of the arm they agree on; returns the compiled one."""
    n, K, d = contexts.shape
    fast = getattr(hb, name)(n_arms=K, dim=d, **kwargs)
    literal = getattr(hb.paper, name)(n_arms=K, dim=d, **kwargs)
    assert (fast.plays, fast.rounds) == (literal.plays, literal.rounds)
    theta = rng.normal(size=d)
    theta /= np.linalg.norm(theta)
    for t in range(min(rounds or n, n, fast.rounds)):
        X = contexts[t]
        arm = fast.select(X)
        assert arm == literal.select(X), f"round {t + 1} of {name} with {kwargs}"
        payoffs = X[arm] @ theta + noise.draw(rng, fast.plays)
        fast.update(payoffs)
        literal.update(payoffs)
    return fast


def moment(noise: Noise, eps: float) -> float:
    """An honest v, or 1 where the noise has no such moment: the arms must agree all the same."""
    v = noise.raw_moment(eps, 1.0)
    return v if np.isfinite(v) else 1.0


@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("explore", RULES)
def test_supbtc_agrees_while_stages_fill_terms_are_truncated_and_arms_eliminated(
    explore: str, eps: float
) -> None:
    rng = np.random.default_rng([1, RULES.index(explore), EPS.index(eps)])
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    policy = play_both(
        "SupBTC",
        section6_contexts(rng, 1200, 6, 3),
        noise,
        rng,
        horizon=1200,
        eps=eps,
        v=moment(noise, eps),
        width_scale=0.02 if eps == 1 else 0.005,
        explore=explore,
        seed=3,
    )
    seen = policy.diagnostics
    assert sum(n > 0 for n in seen["explored"]) >= 3
    assert seen["truncated"] > 0
    assert min(n for n in seen["arms_entering"] if n == n) < 5
    assert seen["suspects"] < 0.2 * policy.rounds


@pytest.mark.parametrize("explore", RULES)
@pytest.mark.parametrize("eps", EPS)
def test_supbmm_agrees_while_stages_fill_and_arms_are_eliminated(explore: str, eps: float) -> None:
    rng = np.random.default_rng([2, RULES.index(explore), EPS.index(eps)])
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    policy = play_both(
        "SupBMM",
        section6_contexts(rng, 500, 5, 3),
        noise,
        rng,
        rounds=500,
        horizon=70_000,
        eps=eps,
        v=moment(noise, eps),
        width_scale={1.0: 0.05, 0.7: 0.02, 0.5: 0.01, 0.25: 0.003}[eps],
        explore=explore,
        seed=4,
    )
    seen = policy.diagnostics
    assert sum(n > 0 for n in seen["explored"]) >= 3
    assert min(n for n in seen["arms_entering"] if n == n) < 4.5


@pytest.mark.parametrize("explore", RULES)
@pytest.mark.parametrize(
    ("name", "eps", "scale"),
    [
        ("SupBTC", 1.0, 0.01),
        ("SupBTC", 0.7, 0.005),
        ("SupBTC", 0.5, 0.003),
        ("SupBTC", 0.25, 0.001),
        ("SupBMM", 1.0, 0.04),
        ("SupBMM", 0.7, 0.015),
        ("SupBMM", 0.5, 0.005),
        ("SupBMM", 0.25, 0.001),
    ],
)
def test_masters_agree_on_awkward_contexts_while_everything_happens(
    name: str, eps: float, scale: float, explore: str
) -> None:
    """Zero, repeated and collinear contexts; stages fill, terms and arms are dropped."""
    rng = np.random.default_rng([7, EPS.index(eps), RULES.index(explore)])
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    policy = play_both(
        name,
        awkward_contexts(rng, 900, 6, 3),
        noise,
        rng,
        horizon=900 if name == "SupBTC" else 60_000,
        eps=eps,
        v=moment(noise, eps),
        width_scale=scale,
        explore=explore,
        seed=5,
    )
    seen = policy.diagnostics
    assert sum(n > 0 for n in seen["explored"]) >= 2
    assert min(n for n in seen["arms_entering"] if n == n) < 4
    assert sum(seen["exploited"]) > 0
    assert name == "SupBMM" or seen["truncated"] > 0


@pytest.mark.parametrize("name", MASTERS)
def test_masters_agree_while_they_exploit(name: str) -> None:
    rng = np.random.default_rng([3, MASTERS.index(name)])
    policy = play_both(
        name,
        section6_contexts(rng, 400, 4, 2),
        Gaussian(0.1),
        rng,
        horizon=400 if name == "SupBTC" else 40_000,
        v=1.0,
        width_scale=0.005 if name == "SupBTC" else 0.03,
    )
    assert sum(policy.diagnostics["exploited"]) > 50
    assert sum(policy.diagnostics["explored"]) > 10


@pytest.mark.parametrize("horizon", [5, 6, 7, 17, 18, 19, 20])
def test_masters_agree_where_the_stages_run_out(horizon: int) -> None:
    """Contexts of norm ½, widths between 1/√T and 2^{-S}: every round runs past stage S."""
    rng = np.random.default_rng([4, horizon])
    X = 0.5 * section6_contexts(rng, horizon, 4, 2)
    stages = math.floor(math.log(horizon))
    width = (1 / math.sqrt(horizon) + 2.0**-stages) / 2
    scale = 2 * width / (1 + hb.theory.alpha_btc(1.0, horizon, 4, 1.0, 0.01, 1.0))
    policy = play_both("SupBTC", X, Gaussian(0.3), rng, horizon=horizon, v=1.0, width_scale=scale)
    assert policy.diagnostics["exploited"] == [0] * (stages - 1) + [horizon]
    assert policy.diagnostics["explored"] == [0] * stages


@pytest.mark.parametrize("eps", [1.0, 0.5])
def test_a_hundred_thousand_repeats_leave_no_rounding_behind(eps: float) -> None:
    """n repeats of e that pay 0, then z ⟂ e that pays 1: z's estimate is 1/(1+1), kept by a tie."""
    for angle in np.linspace(0.1, 3.0, 12):
        e, z = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        n = 100_000
        policy = hb.FlatBTC(n + 2, 1, 2, eps=eps, v=1.0)
        X = np.repeat(e[None, None], n, axis=0)
        zeros = np.zeros(n)
        draws = np.zeros(n)
        policy.play_block(
            X, zeros[:, None], zeros, draws, 0.0, 0.0, np.empty(n), np.empty(n, dtype=np.int64)
        )
        policy.select(z[None])
        policy.update(1.0)
        policy.select(z[None])
        r_hat = policy._state.line[R_HAT, 0]
        assert r_hat == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("constants", ["theory", "circulated"])
@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("name", FLAT + BASELINES)
def test_plain_policies_agree(name: str, eps: float, constants: str) -> None:
    rng = np.random.default_rng([5, (FLAT + BASELINES).index(name), EPS.index(eps)])
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    rounds = {"FlatBTC": 700, "TOFU": 700, "CRT": 700, "MENU": 60}.get(name, 150)
    horizon = {"FlatBMM": 40_000, "MENU": 40_000, "MoM": 30_000}.get(name, rounds)
    policy = play_both(
        name,
        section6_contexts(rng, rounds, 6, 4),
        noise,
        rng,
        horizon=horizon,
        eps=eps,
        v=moment(noise, eps),
        width_scale=0.05 if constants == "theory" else 1.0,
        constants=constants,
    )
    if name == "CRT" or (name in ("FlatBTC", "TOFU") and eps > 0.5):
        assert policy.diagnostics["truncated"] > 0


@settings(max_examples=120, deadline=None)
@given(
    name=st.sampled_from(MASTERS + FLAT + BASELINES),
    eps=st.sampled_from(EPS),
    explore=st.sampled_from(RULES),
    noise=st.sampled_from(NOISES),
    d=st.integers(1, 5),
    K=st.integers(1, 7),
    v=st.sampled_from([0.01, 0.3, 1.0, 4.0, 30.0]),
    delta=st.sampled_from([0.001, 0.01, 0.5]),
    width_scale=st.sampled_from([1.0, 0.1, 0.01, 0.001]),
    seed=st.integers(0, 2**16),
)
def test_twins_agree_on_awkward_contexts_whatever_the_parameters(
    name: str,
    eps: float,
    explore: str,
    noise: Noise,
    d: int,
    K: int,
    v: float,
    delta: float,
    width_scale: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    several = name in ("SupBMM", "FlatBMM", "MENU", "MoM")
    kwargs: dict[str, Any] = {"explore": explore} if name in MASTERS else {}
    play_both(
        name,
        awkward_contexts(rng, 25 if several else 120, K, d),
        noise,
        rng,
        horizon=6000 if several else 120,
        eps=eps,
        v=v,
        delta=delta,
        width_scale=width_scale,
        seed=seed,
        **kwargs,
    )


@pytest.mark.parametrize("name", ["SupBTC", "FlatBTC", "TOFU"])
def test_payoffs_of_any_size_do_not_disturb_the_others(name: str) -> None:
    """A payoff of 1e12 among small ones is truncated without a trace of rounding left behind."""
    rng = np.random.default_rng(6)
    X = section6_contexts(rng, 300, 5, 3)
    fast = getattr(hb, name)(horizon=300, n_arms=5, dim=3, v=1.0, width_scale=0.01)
    literal = getattr(hb.paper, name)(horizon=300, n_arms=5, dim=3, v=1.0, width_scale=0.01)
    for t in range(300):
        arm = fast.select(X[t])
        assert arm == literal.select(X[t])
        payoff = X[t, arm, 0] + (1e12 if t % 20 == 3 else 0.1 * rng.normal())
        fast.update(payoff)
        literal.update(payoff)
    assert fast.diagnostics["truncated"] > 0


@pytest.mark.parametrize("name", MASTERS + FLAT + BASELINES)
def test_twins_agree_on_the_lower_bound_construction(name: str) -> None:
    """Deterministic contexts and payoffs of two values: exact ties in almost every round."""
    several = name in ("SupBMM", "FlatBMM", "MENU", "MoM")
    horizon = 30_000 if several else 600
    world = hb.lower_bound(horizon, dim=9, n_arms=4, eps=1.0, gamma_from="stage")
    kwargs: dict[str, Any] = {"horizon": horizon, "n_arms": 4, "dim": 9, "v": 2.0}
    for scale in (1.0, 0.1, 0.01):
        fast = getattr(hb, name)(width_scale=scale, **kwargs)
        literal = getattr(hb.paper, name)(width_scale=scale, **kwargs)
        a = hb.simulate(fast, world, seed=1, keep_arms=True)
        b = hb.simulate(literal, world, seed=1, keep_arms=True)
        np.testing.assert_array_equal(a.arms, b.arms)
        assert a.regret == b.regret
