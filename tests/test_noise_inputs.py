"""Noises refuse bad input with a sentence that names the argument."""

import math

import numpy as np
import pytest

from heavybandit import noise

REFUSED = {
    "scale": [
        lambda: noise.Gaussian(0),
        lambda: noise.StudentT(3, math.inf),
        lambda: noise.SymmetricPareto(2, -1),
        lambda: noise.Gaussian(1e308),
        lambda: noise.Pareto(3.0, 1e-320),
        lambda: noise.AlphaStable(scale=1e101),
        lambda: noise.Levels.pareto(2.5, 1e101),
    ],
    "df": [lambda: noise.StudentT(1), lambda: noise.StudentT(51)],
    "shape": [lambda: noise.Pareto(1.0), lambda: noise.SymmetricPareto(math.nan)],
    "size": [
        *(lambda size=size: noise.Lottery(size) for size in (0, math.inf, 1e200)),
        lambda: noise.Extremal(0),
    ],
    "sigma": [lambda: noise.LogNormal(0), lambda: noise.LogNormal(100)],
    "factor": [lambda f=f: noise.Units(noise.Gaussian(), f) for f in (0, 1e308)],
    "probability": [
        lambda: noise.Extremal(1, 1.5),
        lambda: noise.Extremal.for_moment(1, 0, 1),
        *(lambda p=p: noise.Lottery(1, p) for p in (0, 1, math.nan)),
        lambda: noise.Lottery.for_moment(1, 1, 1),
    ],
    "v": [
        lambda: noise.Extremal.for_moment(-1, 0.5, 1),
        lambda: noise.Lottery.for_moment(0, 0.5, 1),
    ],
    "eps": [
        lambda: noise.Gaussian().central_moment(0),
        lambda: noise.Lottery(1).raw_moment(1.1, 1),
        lambda: noise.Lottery.for_moment(1, 0.5, 0),
        lambda: noise.TwoPointPayoff(0.5).raw_moment(1.1, 1),
    ],
    "gamma": [lambda: noise.TwoPointPayoff(0)],
    "values": [
        lambda: noise.Levels([1, math.inf], [0.5, 0.5]),
        lambda: noise.Levels([1e308, -1e308], [0.5, 0.5]),
        lambda: noise.Empirical([1.0, 1e308]),
    ],
    "probabilities": [
        *(lambda p=p: noise.Levels([0, 1], p) for p in ([1.0], [0, 1], [0.5, 0.4], [], 1)),
        lambda: noise.Levels([], []),
    ],
    "exponent": [lambda: noise.Levels.pareto(1), lambda: noise.Levels.pareto(math.nan)],
    "mean": [
        lambda: noise.Gaussian().raw_moment(1, math.inf),
        lambda: noise.TwoPointPayoff(0.5).payoffs(2.1, np.zeros(1)),
        lambda: noise.TwoPointPayoff(0.5).raw_moment(1, -0.1),
        lambda: noise.TwoPointPayoff(0.5).central_moment(1, math.nan),
    ],
}


@pytest.mark.parametrize("argument", REFUSED)
def test_bad_input_is_refused_with_a_sentence_that_names_the_argument(argument):
    for call in REFUSED[argument]:
        with pytest.raises(ValueError, match=rf"^{argument} must be .*, got "):
            call()


LARGEST = [
    *(noise.Gaussian(scale) for scale in (1e-100, 1e100)),
    *(noise.StudentT(2.5, scale) for scale in (1e-100, 1e100)),
    *(noise.SymmetricPareto(2.5, scale) for scale in (1e-100, 1e100)),
    *(noise.AlphaStable(1.9, 0.5, scale) for scale in (1e-100, 1e100)),
    *(noise.LogNormal(10.0, scale) for scale in (1e-100, 1e100)),
    noise.Outliers(1e-100, 1e100),
    noise.Lottery(1e100),
    noise.Units(noise.StudentT(2.5), 1e100),
    noise.Levels([1e100, -1e100], [0.5, 0.5]),
]


@pytest.mark.parametrize("kind", LARGEST, ids=lambda kind: kind.name)
@pytest.mark.filterwarnings("ignore:The occurrence of roundoff error")
def test_moments_of_all_sizes_that_are_allowed_are_numbers(kind):
    for eps in (0.1, 1.0):
        assert kind.central_moment(eps, 0.5) >= 0
        assert kind.raw_moment(eps, 0.5) >= 0


@pytest.mark.parametrize("make", [noise.Empirical, lambda x: noise.Levels(x, [0.5, 0.5])])
def test_a_masked_value_is_refused_and_not_read_behind_its_mask(make):
    with pytest.raises(ValueError, match=r"^values must not be masked, and 1 of 2 entries are"):
        make(np.ma.masked_equal([-999.0, 1.0], -999.0))
    assert make(np.ma.masked_equal([-2.0, 2.0], -999.0)).values == (-2.0, 2.0)
