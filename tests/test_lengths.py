"""Lengths beyond 1, however little: refused or mentioned, and never told as 1."""

import math

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.policy import LONGEST, told_norm
from small_worlds import Scripted, TwoArms


class WorldOf(TwoArms):
    """Two arms, with a theta and contexts that are so long."""

    def __init__(self, theta, longest=1.0):
        super().__init__()
        self.theta, self.longest = theta, longest

    def theta_star(self, seed):
        return np.array([self.theta])

    def contexts(self, *args):
        return self.longest * super().contexts(*args)


@pytest.mark.parametrize("norm", [1.0000011, 1.0001, 1.00049, 1.2, 1.7320508, 2.0, 3.14159, 1e12])
def test_a_norm_is_told_in_as_many_digits_as_show_that_it_is_too_large_and_by_what(norm):
    told = told_norm(norm)
    assert float(told) > 1
    assert norm / float(told) <= LONGEST
    assert len(told) <= 9


def test_a_norm_is_told_in_few_digits_where_these_are_enough():
    assert [told_norm(x) for x in (1.0001, 1.5, 2.0, 1e9)] == ["1.0001", "1.5", "2", "1e+09"]
    assert [told_norm(x) for x in (np.float64(math.inf), math.nan)] == ["inf", "nan"]


def test_a_theta_that_is_hardly_too_long_is_not_said_to_have_norm_1():
    with pytest.warns(UserWarning, match=r"has norm 1\.0001, and .*Units\(noise, factor=1\.0001\)"):
        hb.simulate(Scripted([0]), WorldOf(1.0001))
    (said,) = hb.check_world(lambda: WorldOf(1.0001))
    assert "has norm 1.0001, and policies assume at most 1" in said
    assert said.endswith("factor=1.0001)")


def test_a_context_that_is_hardly_too_long_is_not_said_to_have_norm_1():
    long = np.array([[1.000002], [0.5]])
    with pytest.raises(ValueError, match=r"the context of arm 0 has norm 1\.000002$"):
        hb.LinUCB(9, 2, 1).select(long)
    with pytest.raises(ValueError, match=r"norm at most 1, got one of norm 1\.000002$"):
        hb.fixed_arms(long, [0.5])
    with pytest.raises(ValueError, match=r"arm 0 has 1\.000002 in round 1"):
        hb.replay(hb.LinUCB(2, 2, 1), long, [0, 1], [1.0, 2.0])
    (said,) = hb.check_world(lambda: WorldOf(0.8, 1.000002))
    assert said.endswith("one has 1.000002")
