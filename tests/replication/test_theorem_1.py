"""The bias of a stage's payoffs, from everything that was played and paid in it."""

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.engine.state import N_SUSPECTS
from heavybandit.noise import StudentT
from heavybandit.policy import CONTEXT_STREAM, stream
from heavybandit.replication.theorem_1 import biases, follow, stage_bias

WORLD = hb.symmetric(StudentT(2.2, 2.0), n_arms=4, dim=3)
SETTINGS = {"horizon": 400, "v": 4.0, "width_scale": 0.05}


def played(seed, explore, **more):
    """SupBTC and its literal twin after the same run; the twin has kept everything."""
    made = []
    for module in (hb, hb.paper):
        policy = module.SupBTC(n_arms=4, dim=3, explore=explore, seed=seed, **{**SETTINGS, **more})
        run = hb.simulate(policy, WORLD, seed=seed, keep_arms=True)
        made.append((policy, run))
    (fast, one), (literal, other) = made
    np.testing.assert_array_equal(one.arms, other.arms)
    return fast, literal


def literal_bias(literal, theta, stage):
    """Σ w_τ η_τ/√(Σ w_τ²), w_τ = θ*ᵀA⁻¹x_τ, over the rounds of a stage."""
    V, Y = literal._history()
    rounds = literal._Psi[stage]
    A_inv = np.linalg.inv(np.eye(V.shape[1]) + sum(np.outer(V[t], V[t]) for t in rounds))
    weights = [float(theta @ A_inv @ V[t]) for t in rounds]
    noise = [float(Y[t, 0] - V[t] @ theta) for t in rounds]
    total = sum(w * eta for w, eta in zip(weights, noise, strict=True))
    return total / float(np.sqrt(sum(w**2 for w in weights)))


@pytest.mark.parametrize("explore", ["first", "random", "optimistic"])
@pytest.mark.parametrize("eps", [1.0, 0.5])
def test_the_bias_of_a_stage_is_that_of_all_its_contexts_and_payoffs(explore, eps):
    suspects, cleared, visited = 0, 0, set()
    for seed in range(4):
        fast, literal = played(seed, explore, eps=eps)
        theta = WORLD.theta_star(seed)
        for stage in range(1, fast.n_stages + 1):
            rounds, kept = len(literal._Psi[stage]), int(fast._state.stage[stage - 1, N_SUSPECTS])
            if rounds:
                wanted = literal_bias(literal, theta, stage)
                assert stage_bias(fast, theta, stage) == pytest.approx(wanted, rel=1e-9, abs=1e-9)
                suspects, cleared = suspects + kept, cleared + rounds - kept
                visited.add(stage)
        first = next(s for s in range(1, fast.n_stages + 1) if literal._Psi[s])
        if first == 1:
            assert stage_bias(fast, theta) == stage_bias(fast, theta, 1)
    assert suspects > 20
    assert cleared > 100
    assert len(visited) > 1


def test_the_bias_by_hand_of_three_payoffs_in_one_dimension():
    """Contexts 1, θ* = ½, payoffs 1, 0 and 2: all weights are θ*/4, so it is Σ(y − ½)/√3."""
    policy = hb.SupBTC(100, 1, 1, v=4.0)
    for payoff in (1.0, 0.0, 2.0):
        policy.select([[1.0]])
        policy.update(payoff)
    assert stage_bias(policy, np.array([0.5])) == pytest.approx(1.5 / np.sqrt(3))
    assert stage_bias(policy, np.array([-0.5])) == pytest.approx(-4.5 / np.sqrt(3))


def test_a_stage_without_rounds_is_refused_with_a_sentence():
    fresh = hb.SupBTC(100, 4, 3, v=4.0)
    for stage in (1, 2):
        with pytest.raises(ValueError, match=f"stage must be .* rounds; stage {stage} has none"):
            stage_bias(fresh, WORLD.theta_star(0), stage)
    for stage in (0, -3, 99):  # and one that does not exist
        with pytest.raises(ValueError, match="stage"):
            stage_bias(fresh, WORLD.theta_star(0), stage)
    fresh.select(np.eye(4, 3))
    fresh.update(1.0)
    assert np.isfinite(stage_bias(fresh, WORLD.theta_star(0)))
    with pytest.raises(ValueError, match="stage 2 has none"):
        stage_bias(fresh, WORLD.theta_star(0), 2)


@pytest.mark.parametrize("explore", ["first", "optimistic"])
def test_the_biases_of_many_seeds_are_those_of_each_run(explore):
    settings = {**SETTINGS, "width_scale": 0.2}
    found = biases(WORLD, explore, range(3, 7), **settings)
    wanted = []
    for seed in range(3, 7):
        fast, literal = played(seed, explore, width_scale=0.2)
        wanted.append(stage_bias(fast, WORLD.theta_star(seed)))
        assert wanted[-1] == pytest.approx(literal_bias(literal, WORLD.theta_star(seed), 1))
    assert found.tolist() == wanted
    assert len(set(wanted)) == 4


def test_following_a_run_sees_what_the_basic_algorithm_said_and_who_was_dropped():
    """Recomputed from the history alone, with the rounds of each stage that came before."""
    settings = {**SETTINGS, "horizon": 120, "n_arms": 4, "dim": 3, "seed": 5}
    plain, policy = (hb.paper.SupBTC(**settings) for _ in range(2))
    arms = hb.simulate(plain, WORLD, seed=5, keep_arms=True).arms
    visits = follow(policy, WORLD, seed=5)
    assert policy._Psi == plain._Psi
    V, Y = plain._history()
    X = WORLD.contexts(stream(5, CONTEXT_STREAM), 0, 120, 1)
    np.testing.assert_array_equal(V, X[np.arange(120), arms])
    alive, dropped = np.arange(4), 0
    for visit in visits:
        t, s = visit.round, visit.stage
        alive = np.arange(4) if s == 1 else alive
        np.testing.assert_array_equal(visit.arms, alive)
        before = [tau for tau in plain._Psi[s] if tau < t - 1]
        offered = X[t - 1]
        r_hat, w = hb.paper.btc(V[before], Y[before, 0], offered[alive], plain._alpha_btc(), 1.0)
        np.testing.assert_allclose(visit.r_hat, r_hat, atol=1e-12)
        np.testing.assert_allclose(visit.w, 0.05 * w)
        np.testing.assert_allclose(visit.means, offered @ WORLD.theta_star(5))
        upper = visit.r_hat + visit.w
        alive, were = alive[upper >= upper.max() - 2.0 ** (1 - s)], len(alive)
        dropped += were - len(alive)
    assert {visit.round for visit in visits} == set(range(1, 121))
    assert dropped > 10
    assert max(visit.stage for visit in visits) > 2
