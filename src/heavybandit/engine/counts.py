"""How often each value of an arm's payoffs comes in many plays, drawn at once: for `leap`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..policy import Floats
from .state import Ints

THIN = 2.0**-12  # where p is smaller and n huge, NumPy's binomial generator loses digits


class Law:
    """What an arm pays, and how probable each value is."""

    def __init__(self, values: Floats, chances: Floats) -> None:
        self.values = values
        self.by_size = np.argsort(np.abs(values), kind="stable")
        self.sizes = np.abs(values)[self.by_size]
        self.common_first = np.argsort(-chances, kind="stable")[: np.count_nonzero(chances)]
        # the probability of each of these values and all rarer ones, and of nothing
        self.tails = np.append(np.cumsum(chances[self.common_first[::-1]])[::-1], 0.0)
        self.rarer = (self.tails[1:] / self.tails[:-1]).tolist()


class Drawn:
    """Multinomial counts: how many payoffs are rarer than the commonest value, than the next, …

    That share of the payoffs left is a ratio of sums of small probabilities, which is accurate
    where 1 − p is not. The last few payoffs are drawn one by one.
    """

    def __init__(self, rng: np.random.Generator, laws: Sequence[Law], plays: int) -> None:
        self.rng, self.laws, self.plays = rng, laws, plays
        self.few = 8 * (plays + 24)  # from here on, one by one is quicker

    def __call__(self, stage: int, arm: int, rounds: int) -> Ints:
        law, plays = self.laws[arm], self.plays
        counts = np.zeros((len(law.values), plays), dtype=np.int64)
        left: Any = rounds if plays == 1 else np.full(plays, rounds)  # a number is quicker
        i = 0
        while (left if plays == 1 else left.sum(dtype=np.float64)) > self.few:
            rarer = self._binomial(left, law.rarer[i]) if law.rarer[i] else 0 * left
            counts[law.common_first[i]] = left - rarer
            left, i = rarer, i + 1
        columns = np.repeat(np.arange(plays), left)
        tails = law.tails[i:]
        at_most = np.searchsorted(tails[:0:-1], tails[0] * self.rng.random(columns.size), "right")
        place = law.common_first[len(law.common_first) - at_most] * plays + columns
        counts += np.bincount(place, minlength=counts.size).reshape(counts.shape)
        return counts

    def _binomial(self, n: Any, p: float) -> Any:
        while p < THIN:  # Binomial(n, p) is Binomial(Binomial(n, THIN), p/THIN)
            n, p = self.rng.binomial(n, THIN), p / THIN
        return self.rng.binomial(n, p)
