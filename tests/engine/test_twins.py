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
from heavybandit.noise import Form, Gaussian, Noise, StudentT, SymmetricPareto
from streams import MASTERS, NOISES, PLAIN, SEVERAL_PLAYS, awkward_contexts, section6_contexts

EPS = (1.0, 0.7, 0.5, 0.25)
RULES = ("first", "random", "widest", "optimistic")
# Each rule with two ε and each ε with two rules: neither looks at the other.
RULES_WITH_EPS = [(RULES[i], EPS[j]) for i in range(4) for j in range(4) if (i + j) % 2 == 0]
TRUNCATING = ("SupBTC", "FlatBTC", "CRT", "TOFU")


def play_both(
    name: str, contexts: np.ndarray, noise: Noise, rng: np.random.Generator, **kwargs: Any
) -> Any:
    """Drive both twins with the payoffs of the arm they agree on; returns the compiled one."""
    _, K, d = contexts.shape
    fast = getattr(hb, name)(n_arms=K, dim=d, **kwargs)
    literal = getattr(hb.paper, name)(n_arms=K, dim=d, **kwargs)
    assert (fast.plays, fast.rounds) == (literal.plays, literal.rounds)
    theta = rng.normal(size=d)
    theta /= np.linalg.norm(theta)
    for t, X in enumerate(contexts[: fast.rounds]):
        arm = fast.select(X)
        assert arm == literal.select(X), f"round {t + 1} of {name} with {kwargs}"
        payoffs = X[arm] @ theta + noise.draw(rng, fast.plays)
        fast.update(payoffs)
        literal.update(payoffs)
    return fast


def noise_with(eps: float) -> tuple[Noise, float]:
    """A noise that has barely a moment of order 1+ε, and an honest v."""
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.05 + eps, 0.3)
    return noise, noise.raw_moment(eps, 1.0)


@pytest.mark.parametrize(("explore", "eps"), RULES_WITH_EPS)
@pytest.mark.parametrize(
    ("name", "contexts", "shape", "horizon", "scales"),
    [
        ("SupBTC", section6_contexts, (1200, 6, 3), 1200, (0.02, 0.005, 0.005, 0.005)),
        ("SupBMM", section6_contexts, (500, 5, 3), 70_000, (0.05, 0.02, 0.01, 0.003)),
        ("SupBTC", awkward_contexts, (900, 6, 3), 900, (0.01, 0.005, 0.003, 0.001)),
        ("SupBMM", awkward_contexts, (900, 6, 3), 60_000, (0.04, 0.015, 0.005, 0.001)),
    ],
)
def test_masters_agree_while_stages_fill_terms_are_truncated_and_arms_eliminated(
    name: str, contexts: Any, shape: Any, horizon: int, scales: Any, explore: str, eps: float
) -> None:
    """Scales by ε. Of the awkward contexts some are zero, repeated or collinear."""
    awkward = contexts is awkward_contexts
    rng = np.random.default_rng([1 + awkward, RULES.index(explore), EPS.index(eps)])
    noise, v = noise_with(eps)
    policy = play_both(
        name,
        contexts(rng, *shape),
        noise,
        rng,
        horizon=horizon,
        eps=eps,
        v=v,
        width_scale=scales[EPS.index(eps)],
        explore=explore,
        seed=3,
    )
    seen = policy.diagnostics
    assert sum(n > 0 for n in seen["explored"]) >= (2 if awkward else 3)
    assert min(n for n in seen["arms_entering"] if n == n) < (4 if awkward else 4.5)
    assert sum(seen["exploited"]) > 0 or not awkward
    if name == "SupBTC":
        assert seen["truncated"] > 0
        assert seen["suspects"] < 0.2 * policy.rounds


@pytest.mark.parametrize("K", [8, 9, 15, 16, 17, 20, 24, 25, 33, 50])
@pytest.mark.parametrize("name", MASTERS + PLAIN)
def test_twins_agree_with_more_arms_than_are_worked_on_at_once(name: str, K: int) -> None:
    """Arms go through the engine in groups of 8, 16 and 24, and the rest one by one."""
    rng = np.random.default_rng([7, (MASTERS + PLAIN).index(name), K])
    rounds, horizon = (30, 12_000) if name in SEVERAL_PLAYS else (90, 90)
    screens = {"level_scale": 0.1} if name in MASTERS else {}
    policy = play_both(
        name,
        awkward_contexts(rng, rounds, K, 7),
        StudentT(3.0),
        rng,
        horizon=horizon,
        v=1.0,
        width_scale=0.1 if name == "SupBMM" else 0.02,
        **screens,
    )
    if name == "SupBTC":
        assert min(n for n in policy.diagnostics["arms_entering"] if n == n) < K


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
        n, X = 100_000, np.repeat(e[None, None], 100_000, axis=0)
        policy, zeros = hb.FlatBTC(n + 2, 1, 2, eps=eps, v=1.0), np.zeros(n)
        curve, arms = np.empty(n), np.empty(n, dtype=np.int64)
        policy.play_block(X, zeros[:, None], zeros, zeros, Form(), 0.0, curve, arms)
        policy.select(z[None])
        policy.update(1.0)
        policy.select(z[None])
        assert policy._state.line[R_HAT, 0] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("constants", ["theory", "circulated"])
@pytest.mark.parametrize("eps", EPS)
@pytest.mark.parametrize("name", PLAIN)
def test_plain_policies_agree(name: str, eps: float, constants: str) -> None:
    rng = np.random.default_rng([5, PLAIN.index(name), EPS.index(eps)])
    noise, v = noise_with(eps)
    rounds = {"FlatBTC": 700, "TOFU": 700, "CRT": 700, "MENU": 60}.get(name, 150)
    horizon = {"FlatBMM": 40_000, "MENU": 40_000, "MoM": 30_000}.get(name, rounds)
    policy = play_both(
        name,
        section6_contexts(rng, rounds, 6, 4),
        noise,
        rng,
        horizon=horizon,
        eps=eps,
        v=v,
        width_scale=0.05 if constants == "theory" else 1.0,
        constants=constants,
    )
    if name == "CRT" or (name in ("FlatBTC", "TOFU") and eps > 0.5):
        assert policy.diagnostics["truncated"] > 0


@pytest.mark.parametrize("module", [hb, hb.paper], ids=["compiled", "literal"])
@pytest.mark.parametrize(
    ("name", "v", "small", "large"),
    # After 64 rounds with x = 1: h = 8/65 by the 2-norm, 16/65 by the 1.5-norm; and with
    # v/ln(2T/δ) = 64, b_t = 8·63^{1/6} or 64^{2/3}·65^{1/6}, of terms r/√65, so r ≤ 129 or 258.
    [("FlatBTC", 1.0, -0.1, 10.0), ("TOFU", 64 * math.log(2 * 100 / 0.01), -2.0, 200.0)],
)
def test_circulated_thresholds_drop_a_payoff_that_those_of_the_paper_keep(
    module: Any, name: str, v: float, small: float, large: float
) -> None:
    for constants, arm in (("theory", 0), ("circulated", 1)):
        policy = getattr(module, name)(100, 2, 1, v=v, eps=0.5, constants=constants)
        for payoff in [small] * 63 + [large]:
            policy.select([[1.0], [1.0]])
            policy.update(payoff)
        assert policy.select([[1.0], [-1.0]]) == arm
    late = module.TOFU(100, 2, 1, v=v, eps=0.5, constants="circulated")
    late.select([[1.0], [1.0]])
    late.update(-1e-3)  # b_2 = 0 there: its threshold lags two rounds
    assert late.select([[1.0], [-1.0]]) == 0
    late.update(0.0)
    assert late.select([[1.0], [-1.0]]) == 1


@settings(max_examples=120, deadline=None)
@given(
    name=st.sampled_from(MASTERS + PLAIN),
    explore=st.sampled_from(RULES),
    noise=st.sampled_from(NOISES),
    d=st.integers(1, 5),
    K=st.integers(1, 7),
    level=st.sampled_from([1.0, 0.02, 5.0]),
    threshold=st.sampled_from([1.0, 0.1, 0.01, 20.0]),
    given=st.fixed_dictionaries(
        {
            "eps": st.sampled_from(EPS),
            "v": st.sampled_from([0.01, 0.3, 1.0, 4.0, 30.0]),
            "delta": st.sampled_from([0.001, 0.01, 0.5]),
            "width_scale": st.sampled_from([1.0, 0.1, 0.01, 0.001]),
            "ridge": st.sampled_from([1.0, 0.01, 7.0, 1000.0]),
            "seed": st.integers(0, 2**16),
        }
    ),
)
def test_twins_agree_on_awkward_contexts_whatever_the_parameters(
    name: str,
    explore: str,
    noise: Noise,
    d: int,
    K: int,
    level: float,
    threshold: float,
    given: dict[str, Any],
) -> None:
    rng = np.random.default_rng(given["seed"])
    if name in MASTERS:
        given = {**given, "explore": explore, "level_scale": level}
    if name in TRUNCATING:
        given = {**given, "threshold_scale": threshold}
    rounds, horizon = (25, 6000) if name in SEVERAL_PLAYS else (120, 120)
    play_both(name, awkward_contexts(rng, rounds, K, d), noise, rng, horizon=horizon, **given)


class Spikes(Gaussian):
    """Small noise, and 10¹² in about one play of twenty."""

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        return np.where(rng.random(size) < 0.05, 1e12, super().draw(rng, size))


@pytest.mark.parametrize("name", ["SupBTC", "FlatBTC", "TOFU"])
def test_payoffs_of_any_size_do_not_disturb_the_others(name: str) -> None:
    """A payoff of 10¹² among small ones is truncated without a trace of rounding left behind."""
    rng = np.random.default_rng(6)
    contexts = section6_contexts(rng, 300, 5, 3)
    policy = play_both(name, contexts, Spikes(0.1), rng, horizon=300, v=1.0, width_scale=0.01)
    assert policy.diagnostics["truncated"] > 0


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("name", MASTERS + PLAIN)
def test_twins_agree_on_the_lower_bound_construction(name: str, scale: float) -> None:
    """Deterministic contexts and payoffs of two values: exact ties in almost every round."""
    horizon = 30_000 if name in SEVERAL_PLAYS else 600
    world = hb.lower_bound(horizon, dim=9, n_arms=4, eps=1.0, gamma_from="stage")
    fast, literal = (
        hb.simulate(
            getattr(module, name)(horizon, 4, 9, v=2.0, width_scale=scale), world, 1, keep_arms=True
        )
        for module in (hb, hb.paper)
    )
    np.testing.assert_array_equal(fast.arms, literal.arms)
    assert fast.regret == literal.regret
