"""Coverage results as a reader looks at them: a case at a time, with its limits and its tail."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..pipeline import tables
from ..pipeline.spec import by_name
from ..policy import Floats
from .coverage import BINS, BY_ARM, COUNTED, Case, CoverageSpec
from .regrets import Ints
from .statistics import limits

if TYPE_CHECKING:
    from pandas import DataFrame

DESIGN_LABELS = {
    "section6(rounds=200)": "Section 6",
    "section6(rounds=5)": "few rounds",
    "line(rounds=200)": "badly conditioned",
    "same(rounds=50)": "one context",
    "same(rounds=2500)": "one context, 2500 rounds",
}
LAW_LABELS = {
    "StudentT": "Student's t",
    "Pareto": "skewed Pareto",
    "Extremal": "extremal",
    "Lottery": "lottery",
    "SymmetricPareto": "symmetric Pareto",
    "TwoPointPayoff": "rare and large",
}


@dataclass(frozen=True)
class Covered:
    """A case with the repetitions of all seeds together; counts as in `coverage.repeat`."""

    design: str  # what figures and tables call it
    law: str  # the noise, likewise
    eps: float
    v: float  # the exact moment
    rounds: int  # n
    arms: int  # K
    horizon: int  # T
    delta: float  # δ
    plays: int  # plays a round
    alpha: float  # α_t
    reps: int
    counts: dict[str, int]
    high: Ints  # by arm
    low: Ints
    histograms: dict[str, dict[int, int]]  # kind → bin → how many

    @property
    def allowed(self) -> float:
        """δ/T, the probability with which Propositions 1 and 2 may miss."""
        return self.delta / self.horizon

    @property
    def name(self) -> str:
        """Design, noise and ε in a few words."""
        return f"{self.design}, {self.law}, ε = {self.eps:g}"

    def trials(self, count: str) -> tuple[int, int]:
        """How often something happened, and of how many repetitions."""
        return self.counts[count], self.reps

    def worst_single(self) -> tuple[int, int]:
        """Of the arm where most single estimates go astray: how many, and of how many."""
        return int((self.high + self.low).max()), self.reps * self.plays

    def worst_side(self) -> tuple[int, int]:
        """The same for the arm and the side, up or down, where most go astray."""
        return int(max(self.high.max(), self.low.max())), self.reps * self.plays

    def tail(self, kind: str) -> tuple[Floats, Floats]:
        """Levels, and the fraction of values above each, down to 0 at the last."""
        found = self.histograms[kind]
        bins = np.arange(min(found) - 1, max(found) + 1)
        counts = np.array([found.get(int(k), 0) for k in bins])
        above = counts.sum() - np.cumsum(counts)
        return 10.0 ** (bins / BINS), above / counts.sum()

    def largest(self, kind: str) -> float:
        """The level that no value exceeded: the upper end of the last bin."""
        return float(10.0 ** (max(self.histograms[kind]) / BINS))

    def enough(self, failure: float) -> float:
        """An α with which medians of the first arm's estimates would have failed so rarely.

        The least level that single estimates exceed no more often than a median of so many plays
        can bear; up to the width of a bin, and by counting both sides for one.
        """
        bearable = bad_enough(self.plays, failure / (2 * self.arms))
        levels, above = self.tail("single")
        return float(levels[np.argmax(above <= bearable)])

    def mechanism(self) -> float:
        """An upper limit, at CONFIDENCE, on the miss probability, by Proposition 1's proof.

        A median errs only if half of the r independent estimates err to the same side. How often
        one does was counted; the binomial tail and the union over arms and sides are exact.
        """
        side = limits(*self.worst_side())[1]
        return min(1.0, 2 * self.arms * median_errs(side, self.plays))


def median_errs(bad: float, plays: int) -> float:
    """The probability that at least half of `plays` independent estimates are bad."""
    from scipy.stats import binom

    return float(binom.sf((plays + 1) // 2 - 1, plays, bad))


def plays_enough(bad: float, failure: float) -> int:
    """The fewest plays, an odd number, with which the median errs with at most this probability."""
    if not 0 <= bad < 0.5:
        raise ValueError(f"bad is {bad}, but must be in [0, 0.5) for more plays to help")
    if not failure > 0:
        raise ValueError(f"failure is {failure}, but must be positive")
    plays = 1
    while median_errs(bad, plays) > failure:
        plays += 2
    return plays


def bad_enough(plays: int, failure: float) -> float:
    """The largest share of bad estimates with which a median of them fails no more often."""
    most = median_errs(0.5, plays)
    if not 0 < failure <= most:
        raise ValueError(f"failure is {failure}, but must be in (0, {most:.3g}] for {plays} plays")
    from scipy.optimize import brentq

    return float(brentq(lambda bad: median_errs(bad, plays) - failure, 0.0, 0.5, xtol=1e-12))


def extremal_tail(n: int, probability: float, strikes: int) -> float:
    """P(|Σ X_i|/size ≥ strikes) for n independent X_i that are ±size or 0 (exact)."""
    law = np.array([1.0])
    for _ in range(n):
        law = np.convolve(law, [probability / 2, 1 - probability, probability / 2])
    sums = np.arange(-n, n + 1)
    return float(law[np.abs(sums) >= strikes].sum())


def cases(name: str, folder: str | Path) -> list[Covered]:
    """The cases of a coverage experiment in `data/`, in order."""
    table, bins = tables.read(name, folder), tables.read_curves(name, folder)
    together: dict[Case, list[int]] = {}
    for i, spec in enumerate(by_name(name).runs()):
        if isinstance(spec, CoverageSpec):
            together.setdefault(spec.case, []).append(i)
    return [
        _covered(case, table.iloc[same], bins[bins["run"].isin(same)])
        for case, same in together.items()
    ]


def _covered(case: Case, rows: DataFrame, bins: DataFrame) -> Covered:
    """Row i of the table belongs to run i; the repetitions of all seeds are added up."""
    first = rows.iloc[0]
    histograms: dict[str, dict[int, int]] = {}
    for line in bins.itertuples():
        kept = histograms.setdefault(line.kind, {})
        kept[line.bin] = kept.get(line.bin, 0) + line.count
    by_arm = {side: np.sum([np.atleast_1d(cell) for cell in rows[side]], axis=0) for side in BY_ARM}
    return Covered(
        design=DESIGN_LABELS[case.design.text()],
        law=LAW_LABELS[case.noise.name],
        eps=case.eps,
        v=float(first["v"]),
        rounds=int(first["rounds"]),
        arms=int(first["arms"]),
        horizon=case.horizon,
        delta=case.delta,
        plays=int(first["plays"]),
        alpha=float(first["alpha"]),
        reps=int(rows["reps"].sum()),
        counts={name: int(rows[name].sum()) for name in COUNTED},
        histograms=histograms,
        **by_arm,
    )
