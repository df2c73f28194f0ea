"""Ridge, level and threshold scale (reading R16) against closed forms and against each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit import theory
from heavybandit.engine.state import R_HAT, WIDTH
from streams import MASTERS, PLAIN, SEVERAL_PLAYS, section6_contexts

ONE = np.ones((1, 1))


def fed(policy: Any, payoffs: np.ndarray) -> Any:
    """The policy, which has one arm in one dimension, after rounds with x = 1 that paid this."""
    for payoff in payoffs:
        policy.select(ONE)
        policy.update(payoff)
    return policy


@pytest.mark.parametrize(
    ("level", "explored", "exploited"),
    [(0.5, [0, 0, 0, 3], [0, 0, 0, 97]), (2.0, [0] * 4, [100, 0, 0, 0])],
)
def test_the_level_is_scaled(level: float, explored: list[int], exploited: list[int]) -> None:
    """Width 1/8/√(1+n), T = 100. Half of 1/√100 is below 2^{-4}: three rounds bring stage 4 there,
    and then the stages have run out (R12). Twice 1/√100 is above 1/8: nothing is ever explored."""
    scale = 1 / 8 / (theory.alpha_btc(1.0, 100, 1, 4.0, 0.01, 1.0) + 1)
    policy, literal = (
        fed(module.SupBTC(100, 1, 1, v=4.0, width_scale=scale, level_scale=level), np.ones(100))
        for module in (hb, hb.paper)
    )
    assert policy.diagnostics["explored"] == explored
    assert policy.diagnostics["exploited"] == exploited
    assert [len(Psi) for Psi in literal._Psi[1:]] == explored


@pytest.mark.parametrize("name", ["FlatBTC", "CRT", "TOFU"])
def test_ridge_and_threshold_scale_in_one_dimension(name: str) -> None:
    """A = 3 + n: r̂ = Σ y 1{|y| ≤ limit}/A, with half of BTC's √n, CRT's t^{1/4} and TOFU's b√A as
    limit. CRT takes det A relative to det A₁ = 3."""
    n, lam, T = 40, 3.0, 1000
    y = np.random.default_rng(0).uniform(-4, 4, n)
    log_det = math.log((lam + n) / lam)
    alpha = theory.alpha_btc(1.0, T, 1, 1.5, 0.01, 1.0)
    limit, factor = {
        "FlatBTC": (math.sqrt(n), alpha + 1),
        "CRT": (np.arange(1, n + 1) ** 0.25, theory.crt_beta(n + 1, log_det, 1.5, 0.01, 1.0)),
        "TOFU": (
            theory.tofu_threshold(1.0, T, 1.5, 0.01, 1.0) * math.sqrt(lam + n),
            theory.tofu_beta(1.0, T, 1, 1.5, 0.01, 1.0),
        ),
    }[name]
    kept = np.abs(y) <= 0.5 * limit
    assert 0 < kept.sum() < n
    policy = getattr(hb, name)(T, 1, 1, v=1.5, ridge=lam, threshold_scale=0.5)
    fed(policy, y).select(ONE)
    wanted = y[kept].sum() / (lam + n), factor / math.sqrt(lam + n)
    np.testing.assert_allclose(policy._state.line[[R_HAT, WIDTH], 0], wanted, rtol=1e-11)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(MASTERS + PLAIN),
    lam=st.floats(1, 300),
    eps=st.sampled_from([1.0, 0.5]),
    seed=st.integers(0, 2**16),
)
def test_a_ridge_is_the_same_as_shorter_contexts(
    name: str, lam: float, eps: float, seed: int
) -> None:
    """λI + Σxxᵀ = λ(I + Σ(x/√λ)(x/√λ)ᵀ): it divides contexts by √λ, and changes nothing else."""
    horizon = 6000 if name in SEVERAL_PLAYS else 150
    ridged, plain = (
        getattr(hb, name)(horizon, 5, 3, v=1.0, eps=eps, width_scale=0.02, ridge=ridge)
        for ridge in (lam, 1.0)
    )
    rng = np.random.default_rng(seed)
    for X in section6_contexts(rng, min(ridged.rounds, 150), 5, 3):
        arm = ridged.select(X)
        assert plain.select(X / math.sqrt(lam)) == arm
        payoffs = X[arm, 0] + rng.standard_t(2, ridged.plays)
        ridged.update(payoffs)
        plain.update(payoffs)


@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_thresholds_below_a_variance_are_scaled_where_they_are_raised(scale: float) -> None:
    """For ε < 1 some suspects need the norm itself, and are dropped or kept by its multiple."""
    settings = {"v": 1.0, "eps": 0.5, "width_scale": 1e-3, "threshold_scale": scale}
    fast, literal = (module.FlatBTC(400, 5, 3, **settings) for module in (hb, hb.paper))
    rng = np.random.default_rng(1)
    for X in section6_contexts(rng, 400, 5, 3):
        arm = fast.select(X)
        assert literal.select(X) == arm
        payoff = X[arm, 0] + 10 * scale * rng.standard_t(1.6)
        fast.update(payoff)
        literal.update(payoff)
    assert fast.diagnostics["history_scans"] > 100


def test_uniform_play_holds_no_matrix_however_many_dimensions():
    """At d = 10,001 one matrix would take 800 MB, and it has nothing to estimate."""
    arrays = [part for part in hb.Uniform(2, 4, 10_001)._state if isinstance(part, np.ndarray)]
    assert sum(array.nbytes for array in arrays) < 2**20
