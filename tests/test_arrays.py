"""Arrays of real numbers, wherever they are taken: nothing masked, no text, nothing complex."""

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.noise import InOrder
from small_worlds import Scripted, TwoArms


def hidden(values, mask=True):
    return np.ma.masked_array(values, mask=mask)


# Masked entries in lists: NumPy makes an array of a list, and goes on with what is behind masks.

X = [[0.5, 0.1], [0.1, 0.5]]
LISTS = {
    "arrays": [hidden(X[0], [True, False]), hidden(X[1], False)],
    "one of two": [X[0], hidden(X[1], [True, False])],
    "an entry": [X[0], [np.ma.masked, 0.5]],
    "a tuple": (X[0], hidden(X[1], [True, False])),
}


@pytest.mark.parametrize("given", LISTS.values(), ids=LISTS)
def test_a_masked_entry_in_a_list_of_contexts_is_refused(given):
    with pytest.raises(ValueError, match=r"^contexts must not be masked, and 1 of 4 entries are"):
        hb.LinUCB(9, 2, 2).select(given)
    with pytest.raises(ValueError, match=r"^contexts must not be masked, and 1 of 4 entries are"):
        hb.fixed_arms(given, [0.5, 0.1])
    with pytest.raises(ValueError, match=r"^contexts must not be masked"):
        hb.replay(hb.LinUCB(2, 2, 2), given, [0, 1], [1.0, 2.0])


def test_lists_with_arrays_of_which_nothing_is_masked_are_as_good_as_others():
    unhidden = [hidden(x, False) for x in X]
    assert hb.fixed_arms(unhidden, hidden([0.5, 0.1], False)) == hb.fixed_arms(X, [0.5, 0.1])
    assert hb.LinUCB(9, 2, 2).select(unhidden) == hb.LinUCB(9, 2, 2).select(X)


def test_a_masked_entry_in_a_list_of_payoffs_is_refused():
    policy = hb.GreedyRidge(9, 2, 2, plays=2)
    policy.select(X)
    with pytest.raises(ValueError, match=r"^payoffs must not be masked, and 1 of 2 entries are"):
        policy.update([1.0, np.ma.masked])


# Worlds and noises.


class Drawn:
    """A noise whose draws are changed by a function."""

    def __init__(self, change):
        self.change = change

    def draw(self, rng, n):
        return self.change(np.zeros(n))


def spoilt(part, change):
    """Two arms, and what one part of this world gives is changed by a function."""
    if part == "draws":
        return TwoArms(Drawn(change))
    members = {
        "contexts": lambda *args: change(TwoArms.contexts(*args)),
        "theta_star": lambda *args: change(TwoArms.theta_star(*args)),
    }
    return type("Spoilt", (TwoArms,), {"name": "spoilt", part: members[part]})()


def as_text(values):
    return values.astype(str)


def as_complex(values):
    return values + 0.5j


def as_dates(values):
    return values.astype("M8[s]")


def as_objects(values):
    return values.astype(object)


def masked_in_a_list(values):
    return [hidden(x) for x in values]


parts = pytest.mark.parametrize("part", ["contexts", "theta_star", "draws"])
kinds = pytest.mark.parametrize("change", [as_text, as_complex, as_dates, as_objects])


@parts
@kinds
@pytest.mark.parametrize("policy", [lambda: hb.Uniform(9, 2, 1), lambda: Scripted([0] * 9)])
def test_a_simulation_refuses_what_does_not_hold_real_numbers(part, change, policy):
    with pytest.raises(
        TypeError, match=rf"^{part} of .* must be an array of real numbers, got one of dtype"
    ):
        hb.simulate(policy(), spoilt(part, change))


@parts
@kinds
def test_a_world_that_does_not_give_real_numbers_is_found_by_its_check(part, change):
    said = hb.check_world(lambda: spoilt(part, change))
    assert "numbers" in said[0]


@parts
def test_a_list_of_masked_arrays_of_a_world_or_a_noise_is_refused(part):
    world = spoilt(part, masked_in_a_list)
    with pytest.raises(ValueError, match=rf"^{part} of .* must not be masked"):
        hb.simulate(Scripted([0] * 9), world)
    assert "must not be masked" in hb.check_world(lambda: world)[0]


@pytest.mark.parametrize("change", [hidden, masked_in_a_list])
def test_a_noise_whose_draws_are_masked_is_found_by_its_check(change):
    (said,) = hb.check_noise(lambda: Drawn(change))
    assert "draws must not be masked, and 20 of 20 entries are" in said


def test_masked_draws_are_not_unmasked_by_asking_in_order():
    with pytest.raises(ValueError, match=r"^draws of \S+ must not be masked"):
        InOrder(lambda rng, n: hidden(rng.random(n))).draw(np.random.default_rng(1), 3)
