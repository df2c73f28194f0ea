"""The bias of a stage's payoffs, from everything that was played and paid in it."""

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.engine.state import N_SUSPECTS
from heavybandit.noise import StudentT
from heavybandit.replication.theorem_1 import biases, stage_bias

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
