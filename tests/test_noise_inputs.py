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
    ],
    "df": [lambda: noise.StudentT(1), lambda: noise.StudentT(51)],
    "shape": [lambda: noise.Pareto(1.0), lambda: noise.SymmetricPareto(math.nan)],
    "size": [lambda: noise.Extremal(0), lambda: noise.Lottery(0), lambda: noise.Lottery(math.inf)],
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
    "values": [lambda: noise.Levels([1, math.inf], [0.5, 0.5])],
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
