"""The paper's policies, compiled and streaming: the same arms as `heavybandit.paper`."""

from ._cache import drop_stale_binaries
from .drive import play_block
from .later import ClippedUCB, HeavyOFUL, HvtUCB
from .policies import (
    CRT,
    MENU,
    TOFU,
    Blind,
    Compiled,
    FlatBMM,
    FlatBTC,
    GreedyRidge,
    LinUCB,
    MoM,
    SupBMM,
    SupBTC,
    Uniform,
)

drop_stale_binaries(play_block)  # numba loads a binary at a kernel's first call, not before

__all__ = [
    "CRT",
    "MENU",
    "TOFU",
    "Blind",
    "ClippedUCB",
    "Compiled",
    "FlatBMM",
    "FlatBTC",
    "GreedyRidge",
    "HeavyOFUL",
    "HvtUCB",
    "LinUCB",
    "MoM",
    "SupBMM",
    "SupBTC",
    "Uniform",
]

POLICIES = {name: globals()[name] for name in __all__ if name != "Compiled"}
