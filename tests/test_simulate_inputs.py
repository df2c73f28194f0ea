"""What a simulation takes for a policy, a world or a noise, and what it refuses."""

import math

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.noise import Gaussian
from small_worlds import Scripted, Silence, TwoArms, simple

# A policy, a world and a noise of one's own.


@pytest.mark.parametrize("name", ["SupBTC", "FlatBTC", "TOFU"])
def test_all_sorts_of_policies_play_in_a_world_of_ones_own(name):
    fast, literal = (
        getattr(module, name)(200, 2, 1, v=1.0, width_scale=0.05) for module in (hb, hb.paper)
    )
    a, b = hb.simulate_all([fast, literal], TwoArms(Gaussian(0.1)), keep_arms=True)
    np.testing.assert_array_equal(a.arms, b.arms)
    assert a.regret == b.regret
    assert a.regret < 0.5 * 200 * 0.25  # half of what uniform play would cost


class Doubled(Gaussian):
    """Not mean + draw: a compiled policy must meet these payoffs too."""

    def payoffs(self, mean, draws):
        return 2 * mean + draws


def test_a_noise_with_payoffs_of_its_own_reaches_compiled_policies():
    world = hb.section6(Doubled(0.1), n_arms=6, dim=4)
    fast = hb.simulate(hb.LinUCB(200, 6, 4), world, keep_arms=True)
    literal = hb.simulate(hb.paper.SupBTC(200, 6, 4, v=1.0, width_scale=0.02), world)
    twin = hb.simulate(hb.SupBTC(200, 6, 4, v=1.0, width_scale=0.02), world)
    plain = hb.simulate(hb.LinUCB(200, 6, 4), hb.section6(Gaussian(0.1), n_arms=6, dim=4))
    assert twin.regret == literal.regret
    assert fast.regret != plain.regret


@pytest.mark.parametrize("kind", [np.float32, np.asfortranarray, np.ndarray.tolist])
def test_contexts_of_other_types_are_as_good(kind):
    other = spoilt(contexts=lambda *args: kind(TwoArms.contexts(*args)))
    wanted = hb.simulate(Scripted([1] * 6), TwoArms())
    run = hb.simulate(Scripted([1] * 6), other)
    np.testing.assert_allclose(run.curve, wanted.curve, rtol=1e-6)


@pytest.mark.parametrize("answer", [np.int64(1), np.uint8(1), np.array(1)])
def test_any_kind_of_whole_number_is_an_arm(answer):
    assert hb.simulate(Scripted([answer]), TwoArms(), keep_arms=True).arms.tolist() == [1]


def test_a_block_longer_than_the_run_costs_no_memory():
    run = hb.simulate(Scripted([1] * 3), TwoArms(), block=10**13)
    assert run.regret == pytest.approx(1.4)


# What is refused.


def spoilt(noise=None, **members):
    """Two arms, with members that are not as they should be."""
    return type("Spoilt", (TwoArms,), {"name": "spoilt", **members})(noise)


def nine_rounds(kind):
    """A policy of nine rounds for TwoArms."""
    if kind == "plain":
        return Scripted([0] * 9)
    if kind == "uniform":
        return hb.Uniform(9, 2, 1)
    return (hb.paper if kind == "literal" else hb).CRT(9, 2, 1, v=1.0)


by_kind = pytest.mark.parametrize("kind", ["literal", "compiled", "uniform", "plain"])


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("seed", -1), ("seed", 0.5), ("block", 0), ("block", 1.5)),
        *(("checkpoints", x) for x in (0, -1, True, [], [0], [[1, 2]], 2.5)),
        *(("checkpoints", x) for x in ("many", [math.nan], [2.5])),
    ],
)
def test_bad_arguments_are_refused_by_name(argument, value):
    with pytest.raises((ValueError, TypeError), match=argument):
        hb.simulate(Scripted([0] * 5), TwoArms(), **{argument: value})


@pytest.mark.parametrize("answer", [-1, 2, 1.5, None, "0", math.nan, [0], 1 << 70])
@pytest.mark.parametrize("block", [None, 2])
def test_an_answer_that_is_no_arm_is_refused_with_policy_round_and_answer(answer, block):
    with pytest.raises(ValueError, match="select of Scripted") as caught:
        hb.simulate(Scripted([0, 1, 0, answer, 0]), TwoArms(), block=block)
    assert "round 4" in str(caught.value)
    assert f"returned {answer!r}" in str(caught.value)


@pytest.mark.parametrize(("n_arms", "dim", "named"), [(5, 4, "n_arms=5"), (6, 3, "dim=3")])
@pytest.mark.parametrize("module", [hb, hb.paper])
def test_a_policy_for_another_world_is_refused(module, n_arms, dim, named):
    with pytest.raises(ValueError, match=f"policy was built with {named}"):
        hb.simulate(module.SupBTC(50, n_arms, dim, v=1.0), simple())


@pytest.mark.parametrize("missing", ["plays", "rounds", "select", "update"])
def test_what_is_no_policy_is_refused_by_what_it_lacks(missing):
    members = {"plays": 1, "rounds": 3, "select": lambda *_: 0, "update": lambda *_: None}
    del members[missing]
    with pytest.raises(TypeError, match=f"policy must have {missing}; Half has not"):
        hb.simulate(type("Half", (), members)(), TwoArms())


@pytest.mark.parametrize(
    ("member", "value"), [("plays", 0), ("plays", 1.5), ("rounds", 0), ("rounds", None)]
)
def test_a_policy_without_plays_or_rounds_is_refused(member, value):
    policy = Scripted([0, 0])
    setattr(policy, member, value)
    with pytest.raises((ValueError, TypeError), match=f"{member} of Scripted"):
        hb.simulate(policy, TwoArms())


@pytest.mark.parametrize("kind", ["plain", "uniform"])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda X: X * np.nan, "finite and no longer than 1; those of round 1 "),
        (lambda X: X * np.inf, "finite and no longer than 1; those of round 1 "),
        (lambda X: X * 1.001, "finite and no longer than 1; those of round 1 "),
        (lambda X: X[:, :1], "shape"),
        (lambda X: X[:, :, 0], "shape"),
        (lambda X: X[:-1], "have run out: there are 8 rounds of them, and 9 are to be played"),
    ],
)
def test_bad_contexts_of_a_world_are_refused_with_its_name(kind, spoil, said):
    world = spoilt(contexts=lambda *args: spoil(TwoArms.contexts(*args)))
    with pytest.raises(ValueError, match="contexts of world spoilt") as caught:
        hb.simulate(nine_rounds(kind), world)
    assert said in str(caught.value)


@pytest.mark.parametrize("block", [None, 1, 4])
def test_a_log_of_contexts_that_is_too_short_is_noticed_in_whatever_block(block):
    log = np.full((6, 2, 1), 0.5)
    world = spoilt(contexts=lambda _, __, first, n, ___: log[first : first + n])
    with pytest.raises(ValueError, match="there are 6 rounds of them, and 9 are to be played"):
        hb.simulate(nine_rounds("plain"), world, block=block)


@pytest.mark.parametrize("kind", ["plain", "uniform"])
def test_a_theta_longer_than_1_is_mentioned(kind):
    world = spoilt(theta_star=lambda *_: np.array([1.5]))
    with pytest.warns(UserWarning, match=r"has norm 1.5, and .*Units\(noise, factor=1.5\)") as seen:
        hb.simulate(nine_rounds(kind), world)
    assert seen[0].filename == __file__  # it points at the caller's line


@pytest.mark.parametrize("block", [None, 1, 3])
def test_the_round_of_a_bad_context_is_named_also_in_a_later_block(block):
    def late(self, rng, first, n, plays):
        X = TwoArms.contexts(self, rng, first, n, plays)
        X[np.arange(first, first + n) == 7, 1] = 1.1
        return X

    with pytest.raises(ValueError, match="those of round 8 are not"):
        hb.simulate(nine_rounds("plain"), spoilt(contexts=late), block=block)


@pytest.mark.parametrize("theta", [[], [0.8, 0.0], [[0.8]], [math.nan], [math.inf], 0.8])
@pytest.mark.parametrize("kind", ["plain", "uniform"])
def test_a_theta_of_the_wrong_shape_or_not_finite_is_refused(theta, kind):
    with pytest.raises((ValueError, TypeError), match="theta"):
        hb.simulate(nine_rounds(kind), spoilt(theta_star=lambda *_: np.array(theta)))


@by_kind
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_noise_that_is_not_finite_is_refused(kind, bad):
    policy = nine_rounds(kind)
    with pytest.raises(ValueError, match="payoffs must be finite"):
        hb.simulate(policy, TwoArms(Silence(spoiled_by=bad, spoils=4)))
    if kind != "plain":
        assert policy.round == 5


@by_kind
def test_a_noise_too_large_to_be_squared_is_refused(kind):
    with pytest.raises(ValueError, match="at most 1e\\+100 in absolute value"):
        hb.simulate(nine_rounds(kind), TwoArms(Silence(size=1.1e100)))


@by_kind
@pytest.mark.parametrize("part", ["contexts", "theta_star", "draws"])
def test_a_masked_entry_of_a_world_or_a_noise_is_refused(kind, part):
    def hidden(values):
        return np.ma.masked_array(values, mask=True)

    class Hidden(Silence):
        def draw(self, rng, n):
            return hidden(super().draw(rng, n))

    members = {
        "contexts": {"contexts": lambda *args: hidden(TwoArms.contexts(*args))},
        "theta_star": {"theta_star": lambda *_: hidden([0.8])},
        "draws": {"noise": Hidden()},
    }
    with pytest.raises(ValueError, match=rf"^{part} .*must not be masked"):
        hb.simulate(nine_rounds(kind), spoilt(**members[part]))


@by_kind
def test_a_noise_with_too_few_draws_is_refused(kind):
    class Short(Silence):
        def draw(self, rng, n):
            return np.zeros(n - 1)

    with pytest.raises(ValueError, match="draw of the noise must give 9 numbers"):
        hb.simulate(nine_rounds(kind), TwoArms(Short()))


def test_means_that_are_no_probabilities_are_refused_by_the_two_point_noise():
    with pytest.raises(ValueError, match="mean must be in"):
        hb.simulate(Scripted([0] * 3), TwoArms(hb.noise.TwoPointPayoff(2.0)))


class Mixed:
    """Draws all of one kind before those of the next, so that they depend on the block."""

    def draw(self, rng, n):
        return rng.standard_normal(n) * rng.choice([1.0, 5.0], n)


@by_kind
def test_a_noise_whose_draws_depend_on_the_block_is_refused_and_in_order_it_is_not(kind):
    for law in (Mixed(), hb.noise.Units(Mixed(), 10.0)):
        with pytest.raises(ValueError, match=r"depend on how many .* hb\.noise\.InOrder"):
            hb.simulate(nine_rounds(kind), TwoArms(law))
    runs = [
        hb.simulate(nine_rounds(kind), TwoArms(hb.noise.InOrder(Mixed())), block=block)
        for block in (None, 1)
    ]
    assert runs[0].curve.tolist() == runs[1].curve.tolist()


class Redrawn:
    """Depends on how many are asked for at once about once in 800 draws."""

    def draw(self, rng, n):
        x = rng.standard_t(3, size=n)
        far = np.abs(x) > 12
        x[far] = rng.normal(size=far.sum())
        return x


class Derived(hb.noise.Additive):
    def draw(self, rng, n):
        return Mixed().draw(rng, n)

    def moment_about(self, q, a):
        return math.inf


@pytest.mark.parametrize(
    "law",
    [
        Redrawn(),
        hb.noise.Units(hb.noise.Varying(Redrawn()), 10.0),
        hb.noise.Units(Derived(), 10.0),
    ],
    ids=["own", "in units", "derived, in units"],
)
def test_a_noise_that_seldom_depends_on_the_block_is_refused_too(law):
    with pytest.raises(ValueError, match="depend on how many"):
        hb.simulate(hb.GreedyRidge(40_000, 2, 1), TwoArms(law))


@pytest.mark.parametrize(("plays", "most"), [(9, 40), (5_000, 500), (200_000, 8_000)])
def test_a_noise_is_asked_for_few_draws_beyond_those_of_its_run(plays, most):
    class Counted:
        drawn = 0

        def draw(self, rng, n):
            self.drawn += n
            return rng.standard_normal(n)

    law = Counted()
    hb.simulate(hb.Uniform(plays, 2, 1), TwoArms(law))
    assert 40 <= law.drawn - plays <= most


def drawn_in_turns(_, rng, __, n, ___):
    """One feature of all rounds before the other, so that they depend on the block."""
    return np.concatenate([rng.uniform(0, 0.7, (n, 2, 1)) for _ in range(2)], axis=2)


def continued(self, _, __, n, ___):
    """Goes on where the last call ended, whichever round is asked for."""
    self.given = getattr(self, "given", 0) + n
    return np.full((n, 2, 1), 0.5) / self.given


@pytest.mark.parametrize(
    "members",
    [
        {"contexts": drawn_in_turns, "dim": 2, "theta_star": lambda *_: np.array([0.8, 0.0])},
        {"contexts": continued},
    ],
    ids=["drawn in turns", "continued"],
)
@pytest.mark.parametrize("noise", [None, "student-t"])  # a name is made into a noise
@pytest.mark.parametrize("play", [hb.simulate, hb.counterfactual])
def test_a_world_whose_contexts_depend_on_the_block_is_refused(play, noise, members):
    world = spoilt(noise, **members)
    policy = hb.Uniform(9, 2, world.dim)
    with pytest.raises(ValueError, match=r"^contexts of world spoilt depend on how many rounds"):
        play(policy, world)
    assert policy.round == 1


@pytest.mark.parametrize("rounds", [1, 2, 7, 8, 20, 30])
def test_a_log_of_contexts_is_asked_for_no_round_beyond_the_run(rounds):
    def logged(_, __, first, n, ___):
        assert first + n <= rounds
        return np.full((n, 2, 1), 0.5)

    assert hb.simulate(Scripted([0] * rounds), spoilt(contexts=logged)).regret == 0


def test_a_world_of_ones_own_may_name_its_noise():
    by_name, same = (
        hb.simulate(hb.LinUCB(50, 2, 1), TwoArms(law)) for law in ("student-t", hb.noise.StudentT())
    )
    assert by_name.curve.tolist() == same.curve.tolist()
    with pytest.raises(ValueError, match=r"a family: give hb.noise.Gaussian\(\)"):
        hb.simulate(hb.LinUCB(50, 2, 1), TwoArms("gaussian"))


def test_a_noise_that_is_a_class_and_no_object_is_refused():
    for kind in (hb.noise.StudentT, Mixed):
        with pytest.raises(TypeError, match=f"must be an object, got the class {kind.__name__}; a"):
            hb.simulate(hb.LinUCB(50, 2, 1), TwoArms(kind))
