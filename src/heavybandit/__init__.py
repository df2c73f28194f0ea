"""heavybandit: an executable reading of

    Xue, Wang, Wang, Zhang. Nearly Optimal Regret for Stochastic Linear Bandits with Heavy-Tailed
    Payoffs. IJCAI 2020.

`paper` is the paper transcribed, `engine` the same policies compiled; `theory` has every bound,
`noise` and `instances` the worlds, `simulate` brings a policy and a world together.
"""

from . import instances, later, noise, paper, theory
from .engine import (
    CRT,
    MENU,
    TOFU,
    Blind,
    ClippedUCB,
    FlatBMM,
    FlatBTC,
    GreedyRidge,
    HeavyOFUL,
    HvtUCB,
    LinUCB,
    MoM,
    SupBMM,
    SupBTC,
    Uniform,
)
from .instances import lower_bound, misaligned, section6, symmetric
from .own.checking import check_noise, check_policy, check_world
from .simulate import Run, simulate, simulate_all

__version__ = "0.1.0"

__all__ = [
    "CRT",
    "MENU",
    "TOFU",
    "Blind",
    "ClippedUCB",
    "FlatBMM",
    "FlatBTC",
    "GreedyRidge",
    "HeavyOFUL",
    "HvtUCB",
    "LinUCB",
    "MoM",
    "Run",
    "SupBMM",
    "SupBTC",
    "Uniform",
    "check_noise",
    "check_policy",
    "check_world",
    "instances",
    "later",
    "lower_bound",
    "misaligned",
    "noise",
    "paper",
    "section6",
    "simulate",
    "simulate_all",
    "symmetric",
    "theory",
]
