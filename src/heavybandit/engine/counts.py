"""How often each value of an arm's payoffs comes in many plays, drawn at once: for `leap`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..policy import Floats
from .state import Ints

THIN = 2.0**-12  # where p is smaller and n huge, NumPy's binomial generator loses digits


class Law:
    """What an arm pays, and how probable each value is."""

    def __init__(self, values: Floats, chances: Floats) -> None:
        self.values = values
        self.chances = chances.tobytes()  # laws that agree in these are drawn alike
        self.by_size = np.argsort(np.abs(values), kind="stable")
        self.ordered = values[self.by_size]
        self.sizes = np.abs(self.ordered)
        self.common_first = np.argsort(-chances, kind="stable")[: np.count_nonzero(chances)]
        # the probability of each of these values and all rarer ones, and of nothing
        self.tails = np.append(np.cumsum(chances[self.common_first[::-1]])[::-1], 0.0)
        self.rarer = (self.tails[1:] / self.tails[:-1]).tolist()


class Draw(NamedTuple):
    """Counts that were drawn, what they were asked for, and where the stream then stood."""

    asked: tuple[bytes, int, int]
    counts: Ints
    after: Any


class Drawn:
    """Multinomial counts: how many payoffs are rarer than the commonest value, than the next, …

    That share of the payoffs left is a ratio of sums of small probabilities, which is accurate
    where 1 − p is not. The last few payoffs are drawn one by one.

    before   what another run with the same seed has drawn, in order. As long as this run asks for
             the same it need not be drawn again; afterwards the list has what this run drew.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        laws: Sequence[Law],
        plays: int,
        before: list[Draw] | None = None,
    ) -> None:
        self.rng, self.laws, self.plays, self.before = rng, laws, plays, before
        self.few = 8 * (plays + 24)  # from here on, one by one is quicker
        self.numbers = 0  # random numbers drawn, for those who count what a run costs
        self.done = 0  # draws made or taken from `before`
        self.behind = False  # whether the stream has yet to follow those taken

    def __call__(self, stage: int, arm: int, rounds: int) -> Ints:
        law, drawn = self.laws[arm], self.before
        if drawn is None:
            return self._draw(law, rounds)
        asked = (law.chances, rounds, self.plays)
        if self.done == len(drawn) or drawn[self.done].asked != asked:
            del drawn[self.done :]
            if self.behind:
                self.rng.bit_generator.state = drawn[-1].after
                self.behind = False
            drawn.append(Draw(asked, self._draw(law, rounds), self.rng.bit_generator.state))
        else:
            self.behind = True
        self.done += 1
        return drawn[self.done - 1].counts

    def _draw(self, law: Law, rounds: int) -> Ints:
        plays = self.plays
        counts = np.zeros((len(law.values), plays), dtype=np.int64)
        left: Any = rounds if plays == 1 else np.full(plays, rounds)  # a number is quicker
        i = 0
        while (left if plays == 1 else left.sum(dtype=np.float64)) > self.few:
            if not law.rarer[i]:  # the rarest value takes all that is left
                counts[law.common_first[i]] = left
                return counts
            rarer = self._binomial(left, law.rarer[i])
            counts[law.common_first[i]] = left - rarer
            left, i = rarer, i + 1
        columns = np.repeat(np.arange(plays), left)
        self.numbers += columns.size
        tails = law.tails[i:]
        at_most = np.searchsorted(tails[:0:-1], tails[0] * self.rng.random(columns.size), "right")
        place = law.common_first[len(law.common_first) - at_most] * plays + columns
        counts += np.bincount(place, minlength=counts.size).reshape(counts.shape)
        return counts

    def _binomial(self, n: Any, p: float) -> Any:
        while p < THIN:  # Binomial(n, p) is Binomial(Binomial(n, THIN), p/THIN)
            n, p = self.rng.binomial(n, THIN), p / THIN
            self.numbers += self.plays
        self.numbers += self.plays
        return self.rng.binomial(n, p)
