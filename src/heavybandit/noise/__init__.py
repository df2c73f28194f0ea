"""Heavy-tailed noises with their exact 1+ε moments (equations (6) and (12)).

A noise turns a noiseless mean payoff into payoffs in two steps, so that the random numbers of a
run depend on its seed alone and never on the arms that were chosen:

    draws = noise.draw(rng, n)               # a stream: n then m draws are n + m draws
    payoffs = noise.payoffs(mean, draws)     # mean + draws, unless the noise depends on the mean

Throughout q = 1+ε, X is the noise, and E|X−a|^q is the quantity every moment comes from.
"""

from .base import Additive, FloatArray, Form, Noise
from .finite import Empirical, Extremal, Finite, Levels, Lottery, TwoPointPayoff
from .own import SECTION6, InOrder, OwnNoise, as_noise, by_name
from .shaped import Shaped, Units, Varying, payoff_form
from .stable import AlphaStable
from .tails import (
    Gaussian,
    LogNormal,
    Outliers,
    Pareto,
    StudentT,
    SymmetricPareto,
    pareto_moment_about,
)

__all__ = [
    "SECTION6",
    "Additive",
    "AlphaStable",
    "Empirical",
    "Extremal",
    "Finite",
    "FloatArray",
    "Form",
    "Gaussian",
    "InOrder",
    "Levels",
    "LogNormal",
    "Lottery",
    "Noise",
    "Outliers",
    "OwnNoise",
    "Pareto",
    "Shaped",
    "StudentT",
    "SymmetricPareto",
    "TwoPointPayoff",
    "Units",
    "Varying",
    "as_noise",
    "by_name",
    "pareto_moment_about",
    "payoff_form",
]
