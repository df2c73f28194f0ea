"""What the page "What the bounds say" must show, by theory.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from heavybandit import theory

Setting = dict[str, float]

SLIDERS = {  # the low end that the page promises, Section 6's value, the high end
    "T": (100, 1e5, 1e16),
    "eps": (0.05, 1.0, 1.0),
    "d": (1, 10, 20_000),
    "K": (2, 20, 1_000),
    "v": (1e-3, 3.0, 1e3),
    "raw": (1e-3, 4.0, 1e3),
    "delta": (1e-6, 0.01, 0.5),
    "cost": (1e-3, 0.08, 2.0),
}
ENDS = {name: (low, high) for name, (low, _, high) in SLIDERS.items()}
SECTION6: Setting = {name: value for name, (_, value, _) in SLIDERS.items()}
UPPER = ("theorem1", "theorem2")


def random_settings(count: int, seed: int) -> Iterator[Setting]:
    """Settings between the ends of the sliders, evenly in logarithms."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        drawn = {name: math.exp(rng.uniform(*np.log(ends))) for name, ends in ENDS.items()}
        whole = {name: round(drawn[name]) for name in ("d", "K")}
        yield {**drawn, **whole, "T": float(round(drawn["T"]))}


def bound(which: str, s: Setting) -> Callable[[Any], Any]:
    """An upper bound of theory.py as a function of T alone, one or an array."""
    function = {"theorem1": theory.theorem1, "theorem2": theory.theorem2}[which]
    v = s["v"] if which == "theorem1" else s["raw"]
    return lambda T: function(T, int(s["d"]), int(s["K"]), v, s["delta"], s["eps"])


def from_which_on(which: str, s: Setting, rate: float) -> float:
    """theory.horizon_of_use between the two T of a grid where the bound last crosses the line.

    All at once, because the search through every T takes a tenth of a second and tests ask for
    hundreds; test_horizons_of_use_agree_on_a_grid compares with that search.
    """
    value = bound(which, s)
    T = np.geomspace(3, 1e290, 6_000)
    useless = np.flatnonzero(~(value(T) < rate * T))
    if not useless.size or useless[-1] + 1 == T.size:
        return theory.horizon_of_use(value, rate)
    low, high = T[useless[-1] : useless[-1] + 2].tolist()
    return theory.horizon_of_use(value, rate, start=low, stop=high)


def least_printed(d: int, K: int, eps: float) -> float | None:
    """The least T of Theorem 3 as printed, where there is one."""
    if K < 4 or d < K:
        return None
    least = (2.0 * d) ** ((1 + eps) / (2 * eps))
    # theory.py says whether a T is long enough, not which one is
    assert theory.theorem3_applies(least * (1 + 1e-9), d, K, eps)
    assert not theory.theorem3_applies(least * (1 - 1e-9), d, K, eps)
    return least


def least_repaired(d: int, K: int, eps: float) -> float | None:
    """The least T of Theorem 3 as repaired, where there is one."""
    return theory.theorem3_repaired(d, K, eps) if K >= 4 and d > K else None


def uniform_on_construction(T: float, K: int, eps: float = 1.0) -> float:
    """Tγ^ε (1 − 1/K): what uniform play costs on Theorem 3's construction with the printed γ."""
    return T * float(theory.theorem3_gamma(T, K, eps)) ** eps * (1 - 1 / K)


def expected_table(s: Setting) -> dict[str, float | None]:
    """Every number in the page's tables by theory.py; None where nothing is said."""
    T, d, K, eps = s["T"], int(s["d"]), int(s["K"]), s["eps"]
    table: dict[str, float | None] = {"at-trivial": 2 * T, "at-uniform": s["cost"] * T}
    for which in UPPER:
        table[f"at-{which}"] = bound(which, s)(T)
        table[f"trivial-{which}"] = from_which_on(which, s, theory.TRIVIAL)
        table[f"uniform-{which}"] = from_which_on(which, s, s["cost"])
    claim = float(theory.theorem3(T, d, eps))
    table["at-theorem3"] = claim if theory.theorem3_applies(T, d, K, eps) else None
    table["from-theorem3"] = least_printed(d, K, eps)
    table["from-theorem3-repaired"] = repaired = least_repaired(d, K, eps)
    table["at-theorem3-repaired"] = claim if repaired is not None and repaired <= T else None
    return table


def assert_table(page: Page, s: Setting) -> None:
    """The page's tables hold what theory.py says of the setting."""
    shown = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("#bounds td[id]")]
             .map((cell) => [cell.id.replace("bounds-", ""), cell.dataset.value ?? null]))"""
    )
    wanted = expected_table(s)
    assert shown.keys() == wanted.keys()
    for cell, value in wanted.items():
        if value is None:
            assert shown[cell] is None, f"{cell} shows {shown[cell]} at {s}"
        else:
            assert float(shown[cell]) == pytest.approx(value, rel=1e-9), f"{cell} at {s}"


def read(page: Page, place: str) -> str:
    """What is read in a place; where no line may end there is a space of another kind."""
    return page.inner_text(place).replace("\xa0", " ")
