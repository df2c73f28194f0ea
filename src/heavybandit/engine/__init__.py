"""The paper's policies, compiled and streaming: the same arms as `heavybandit.paper`."""

from ._cache import drop_stale_binaries

drop_stale_binaries()

from .policies import (  # noqa: E402  (stale binaries go before any kernel is loaded)
    CRT,
    MENU,
    TOFU,
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

__all__ = [
    "CRT",
    "MENU",
    "TOFU",
    "Compiled",
    "FlatBMM",
    "FlatBTC",
    "GreedyRidge",
    "LinUCB",
    "MoM",
    "SupBMM",
    "SupBTC",
    "Uniform",
]
