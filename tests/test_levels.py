"""Noises of finitely many values: their laws, their moments, and a Pareto tail in steps."""

import math

import numpy as np
import pytest

from heavybandit import noise


def test_moments_of_levels_are_sums_by_hand():
    # −1 once in 4, 1/2 twice, 4 once: mean 1, variance ¼·4 + ½·¼ + ¼·9 = 27/8
    kind = noise.Levels(values=[-1, 0.5, 4], probabilities=[0.25, 0.5, 0.25])
    assert kind.mean == 1
    assert kind.central_moment(1) == 27 / 8
    assert kind.raw_moment(1, 0.5) == 27 / 8 + 1.5**2
    assert kind.raw_moment(0.5, 1.0) == pytest.approx(0.5 * 1.5**1.5 + 0.25 * 5**1.5)


def test_the_special_cases_of_levels_have_its_draws_and_moments():
    for kind in (noise.Extremal(4.0, 0.1), noise.Lottery(4.0, 0.1)):
        values, chances = kind.law()
        same = noise.Levels(values, chances)
        assert kind.draw(np.random.default_rng(1), 500).tolist() == (
            same.draw(np.random.default_rng(1), 500).tolist()
        )
        assert kind.raw_moment(0.7, 0.3) == same.raw_moment(0.7, 0.3)
        assert kind.law(0.3)[0].tolist() == (0.3 + values).tolist()


@pytest.mark.parametrize("exponent", [1.05, 2.2, 3.0])
def test_steps_of_a_pareto_tail_have_its_probabilities_beyond_what_the_longest_run_sees(exponent):
    for one_sided in (False, True):
        kind = noise.Levels.pareto(exponent, 0.5, one_sided=one_sided)
        values, chances = kind.law()
        shift = 0.5 - values.min() if one_sided else 0.0  # the mean that was taken out
        sizes = np.abs(values + shift)
        assert kind.mean == pytest.approx(0, abs=1e-12)
        for k in range(30):
            tail = math.fsum(chances[sizes >= 0.4999 * 2**k])
            assert tail == pytest.approx(2 ** (-exponent * k), rel=1e-9)
        assert chances.min() * 2**53 < 1e-7
        assert set(np.sign(values)) == {-1, 1}
        if not one_sided:
            assert sorted(values) == sorted(-values)
