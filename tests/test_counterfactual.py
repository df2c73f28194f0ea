"""A copy that is shown other payoffs: against two runs by hand, and what it may be shown."""

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, stream
from small_worlds import SameArms, Scripted, Silence, TwoArms, simple
from streams import assert_same_run

K, D = 6, 4
POLICIES = {
    "SupBTC": lambda m: m.SupBTC(900, K, D, v=4.0, width_scale=0.01, explore="random", seed=3),
    "SupBMM": lambda m: m.SupBMM(60_000, K, D, v=3.0, width_scale=0.03),
    "TOFU": lambda m: m.TOFU(300, K, D, v=4.0, width_scale=0.01),
    "MENU": lambda m: m.MENU(20_000, K, D, v=3.0, width_scale=0.01),
}


def by_hand(policy, world, seed, shown):
    """The arms of a policy that is shown zeros or noise, round by round, and their regret."""
    contexts, noise = stream(seed, CONTEXT_STREAM), stream(seed, NOISE_STREAM)
    theta, arms, regret = world.theta_star(seed), [], 0.0
    for t in range(policy.rounds):
        (X,) = world.contexts(contexts, t, 1, policy.plays)
        arm = policy.select(X)
        draws = world.noise.draw(noise, policy.plays)
        policy.update(0 * draws if shown == "zero" else draws - world.noise.mean)
        arms.append(arm)
        regret += policy.plays * ((X @ theta).max() - X[arm] @ theta)
    return np.array(arms), regret


@pytest.mark.parametrize("shown", ["zero", "noise"])
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("noise", ["student-t", "pareto"])
def test_a_copy_goes_its_own_way_by_what_it_is_shown(name, noise, shown):
    """Compiled and in blocks, against a plain loop; rounds are counted by the run's own stages."""
    world = hb.section6(noise, n_arms=K, dim=D)
    found = hb.counterfactual(
        POLICIES[name](hb), world, 5, shown, keep_arms=True, block=37, checkpoints=7
    )
    assert_same_run(
        found.run, hb.simulate(POLICIES[name](hb), world, 5, keep_arms=True, checkpoints=7)
    )
    arms, regret = by_hand(POLICIES[name](hb), world, 5, shown)
    np.testing.assert_array_equal(found.other.arms, arms)
    assert found.other.regret == pytest.approx(regret, rel=1e-12)
    same = arms == found.run.arms
    rounds = found.run.plays // (found.run.plays[-1] // len(arms))
    np.testing.assert_array_equal(found.same, np.cumsum(same)[rounds - 1])
    assert found.share == same.mean() < 1
    assert found.first == 1 + int(np.argmin(same))
    seen = found.run.diagnostics
    if name.startswith("Sup"):
        by_stage = np.add(seen["explored"], seen["exploited"])
        deepest = len(found.rounds_by_stage)
        np.testing.assert_array_equal(found.rounds_by_stage, by_stage[:deepest])
        assert not by_stage[deepest:].any()
        assert deepest > 1
    assert found.same_by_stage.sum() == same.sum()
    assert (found.same_by_stage <= found.rounds_by_stage).all()


def test_the_literal_twin_and_its_copy_choose_what_the_compiled_ones_do():
    fast, slow = (
        hb.counterfactual(POLICIES["TOFU"](module), simple(), 5, "noise", keep_arms=True)
        for module in (hb, hb.paper)
    )
    np.testing.assert_array_equal(fast.other.arms, slow.other.arms)
    np.testing.assert_array_equal(fast.same, slow.same)


def test_who_ignores_payoffs_chooses_the_same_arms():
    policies = [
        hb.Uniform(500, K, D, seed=1),
        hb.Blind(500, K, D),
        hb.SupBTC(500, K, D, v=4.0),  # as printed: it does not leave stage 1
        Scripted([0, 1, 5] * 50),
    ]
    for beside in hb.counterfactuals(policies, simple()):
        assert [one.shown for one in beside] == ["zero", "noise"]
        for one in beside:
            assert (one.share, one.first) == (1.0, None)
            assert one.other.regret == pytest.approx(one.run.regret)
    assert policies[-1].payoffs  # the original learns, and its copy has a history of its own
    assert "500 of 500 rounds if shown zero" in repr(
        hb.counterfactual(hb.Blind(500, K, D), simple())
    )


def test_greedy_plays_the_first_arm_if_nothing_pays():
    """Means −0.8 and −0.4: once arm 0 has paid less than nothing, arm 1 looks better."""
    world = SameArms([[1.0], [0.5]], [-0.8], Silence())
    found = hb.counterfactual(hb.GreedyRidge(10, 2, 1), world, keep_arms=True)
    assert found.run.arms.tolist() == [0] + [1] * 9
    assert found.other.arms.tolist() == [0] * 10
    assert (found.same[-1], found.first) == (1, 2)


def test_payoffs_of_a_copy_are_noise_about_zero():
    """Pareto noise has the mean 0.015, which is noise's and no arm's."""
    draws, shown = hb.noise.by_name("pareto").draw(stream(2, NOISE_STREAM), 12), []

    class Watching(Scripted):
        def update(self, payoffs):
            super().update(payoffs)
            shown.append(payoffs)

        def __deepcopy__(self, memo):
            return Watching(self.arms, self.plays)

    # The original plays its block, here all rounds, before its copy does.
    hb.counterfactual(Watching([0] * 4, 3), hb.section6("pareto", n_arms=2, dim=1), 2, "noise")
    np.testing.assert_array_equal(np.ravel(shown[4:]), draws - 0.015)


def test_two_point_payoffs_have_no_noise_to_be_shown_but_zeros():
    world = hb.lower_bound(600, 9, 4, 1.0)
    assert hb.counterfactual(hb.LinUCB(600, 4, 9), world).share < 1
    with pytest.raises(ValueError, match=r"shown must be 'zero' in .*, got 'noise': its payoffs"):
        hb.counterfactual(hb.LinUCB(600, 4, 9), world, shown="noise")


def test_what_cannot_be_shown_or_copied_is_refused():
    with pytest.raises(ValueError, match="shown must be one of zero, noise; got 'payoffs'"):
        hb.counterfactual(hb.Uniform(9, 2, 1), TwoArms(), shown="payoffs")
    stuck = Scripted([0, 1])
    stuck.file = open(__file__)  # noqa: SIM115
    with stuck.file, pytest.raises(TypeError, match=r"copy\.deepcopy can copy; Scripted is not"):
        hb.counterfactual(stuck, TwoArms())
    assert not stuck.payoffs
