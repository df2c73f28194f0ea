"""Coverage results as a reader looks at them: a case at a time, with its limits and its tail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..pipeline import tables
from ..pipeline.spec import by_name
from ..policy import Floats
from . import plotting
from .coverage import BINS, BY_ARM, COUNTED, Case, CoverageSpec
from .regrets import Ints
from .statistics import limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure
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
    plays: int  # plays per round
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
    def noise(self) -> str:
        """Noise and ε in a few words."""
        return f"{self.law}, ε = {self.eps:g}"

    @property
    def name(self) -> str:
        """Design, noise and ε in a few words."""
        return f"{self.design}, {self.noise}"

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
    for i, spec in enumerate(cast(list[CoverageSpec], by_name(name).runs())):
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
        for bin, count in enumerate(np.atleast_1d(line.counts).tolist(), line.bin):
            if count:
                kept[bin] = kept.get(bin, 0) + count
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


def by_history(cases: Sequence[Covered]) -> dict[str, list[Covered]]:
    """The cases of each history, in order."""
    return {one: [c for c in cases if c.design == one] for one in [c.design for c in cases]}


def by_noise(cases: Sequence[Covered]) -> dict[str, list[Covered]]:
    """The cases of each noise, in order."""
    return {one: [c for c in cases if c.noise == one] for one in [c.noise for c in cases]}


def middle(case: Covered, kind: str = "largest") -> float:
    """The median of a histogram's values: the least level that at most half of them exceed."""
    levels, above = case.tail(kind)
    return float(levels[np.argmax(above <= 0.5)])


def draw_by_noise(
    panels: Mapping[str, Sequence[float]], cases: Sequence[Covered], title: str, **axis: Any
) -> Figure:
    """One row per noise and one marker per history; one panel per value, named under its axis."""
    noises, histories = list(by_noise(cases)), list(by_history(cases))
    figure, axes = plotting.panels(len(panels), size=(7.8, 4.4), sharey=True)
    for k, (one, label) in enumerate(zip(np.atleast_1d(axes), panels, strict=True)):
        found = {(c.design, c.noise): x for c, x in zip(cases, panels[label], strict=True)}
        for i, history in enumerate(histories):
            column = [found.get((history, noise), np.nan) for noise in noises]
            name, below = None if k else history, 0.16 * (i - (len(histories) - 1) / 2)
            plotting.rows(one, noises, column, which=i, label=name, lower=below)
        one.set(xlabel=label, **axis)
    figure.suptitle(title)
    columns = 4 if len(histories) < 5 else 3
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
    return figure


def draw_slack(cases: Sequence[Covered], title: str) -> Figure:
    """For each history: the largest |error|/c, median to maximum, beside the half-width over c."""
    figure, axes = plotting.panels(2, down=2, size=(7.8, 6.0), sharex=True, sharey=True)
    for one, (history, same) in zip(axes, by_history(cases).items(), strict=True):
        noises = [case.noise for case in same]
        spans = [(middle(case), case.largest("largest")) for case in same]
        words = ("largest |error|/c: median to maximum", "α + 1: half-width/c")
        said = words if one is axes[0] else (None, None)
        plotting.rows(one, noises, [m for m, _ in spans], spans=spans, label=said[0])
        plotting.rows(one, noises, [case.alpha + 1 for case in same], which=1, label=said[1])
        one.set(xscale="log")
        one.set_title(history, fontsize=10)
    for one in axes[2:]:
        one.set_xlabel("in units of c")
    figure.suptitle(title)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def draw_lemma_1(curves: Mapping[str, tuple[Floats, Floats]]) -> Figure:
    """The share of Lemma 1's bound that each noise uses against s, named where its line ends."""
    figure, axes = plotting.panels(size=(7.8, 4.2))
    s = np.geomspace(1e-4, 0.4, 50)
    axes.plot(s, 1 / (2 + s), color="#000000")
    plotting.line_label(axes, 0.4, 0.5, "one extremal variable\n(exact)")
    ends = sorted((float(np.log10(used[np.argmax(s)])), name) for name, (s, used) in curves.items())
    places = plotting.apart([place + 4 for place, _ in ends], 0.14)
    heights = {name: 10 ** (y - 4) for (_, name), y in zip(ends, places, strict=True)}
    for i, (name, (s, used)) in enumerate(curves.items()):
        axes.plot(s, used, **plotting.style(i))
        plotting.line_label(axes, 0.4, heights[name], name, plotting.PALETTE[i])
    axes.axhline(1, color="#000000", linewidth=0.8)
    axes.annotate("the whole bound", (1.1e-4, 1.1), fontsize=9)
    axes.set(xscale="log", yscale="log", xlim=(1e-4, 0.42), ylim=(1e-3, 1.7), xlabel="s")
    axes.set_ylabel("probability over its bound 2s + s²")
    axes.set_title("No noise tried uses more than half of Lemma 1's bound")
    return figure


def draw_plays(bad: float, allowed: float, printed: int, arms: int) -> Figure:
    """Three bounds on the chance of a miss against the plays per round, and what is allowed."""
    plays = np.arange(1, printed + 6, 2)
    shares = {
        "¼ bad\n(Lemma 2)": (0.25, (121, 2e-10)),
        "25/144 bad\n(Lemma 2's proof)": (25 / 144, (79, 3e-9)),
        "share bad\nas counted": (bad, (28, 1e-10)),
    }
    curves = {"the proof: 2K exp(−r/8)": (2 * arms * np.exp(-plays / 8), (93, 2e-3))}
    for name, (share, place) in shares.items():
        curves[name] = np.array([2 * arms * median_errs(share, int(r)) for r in plays]), place
    figure, axes = plotting.panels(size=(7.8, 4.2))
    for i, (name, (chance, place)) in enumerate(curves.items()):
        colour = plotting.PALETTE[i]
        axes.plot(plays, chance, color=colour, linestyle=plotting.LINES[i])
        axes.annotate(name, place, color=plotting.ink(colour), fontsize=9)
    axes.axhline(allowed, color="#000000", linewidth=0.8)
    axes.annotate("δ/(T ln T)", (1, allowed / 4), fontsize=9)
    axes.set(yscale="log", ylim=(1e-12, 3), xlim=(0, printed + 6), xlabel="plays per round, r")
    axes.set_ylabel(f"bound on the probability of a miss, {arms} arms")
    plotting.rule(axes, printed, "r as printed")
    return figure


def draw_ridge(cases: Sequence[Covered], scaled: Sequence[float]) -> Figure:
    """How often the largest error exceeds multiples of the half-width: BMM's, and ridge's."""
    figure, axes = plotting.panels(len(cases), size=(7.8, 3.5), sharey=True)
    for one, case, half in zip(axes, cases, scaled, strict=True):
        halves = {"BMM": ("largest", case.alpha + 1), "ridge, scaled": ("ridge", half)}
        for i, (name, (kind, width)) in enumerate(halves.items()):
            x, above = case.tail(kind)
            look: dict[str, Any] = {"color": plotting.PALETTE[i], "linestyle": plotting.LINES[i]}
            look["label"] = name if one is axes[0] else None
            one.plot(x[above > 0] / width, above[above > 0], **look)
        one.axvline(1, color="#000000", linewidth=0.8)
        one.set(xscale="log", yscale="log", xlim=(1e-3, 200), ylim=(1e-4, 1.5))
        one.set_title(case.noise, fontsize=10)
        one.set_xticks([1e-3, 1e-2, 0.1, 1, 10, 100])
    axes[1].set_xlabel("largest error over half-width")
    axes[0].set_ylabel("share of repetitions above")
    figure.suptitle("Ridge regression's errors keep the noise's tail; BMM's do not")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


RIDGE = {"bounded": "bounded", "scaled": "scaled", "as_wide": "as wide"}
"""Ridge regression's three intervals, and what tables call them."""


def misses_by_noise(cases: Sequence[Covered], own: str) -> list[dict[str, Any]]:
    """One row per noise, over all histories: repetitions that `own` misses, and that ridge does."""
    return [
        {"noise": name, own: sum(case.counts["misses"] for case in same)}
        | {words: sum(case.counts[kind] for case in same) for kind, words in RIDGE.items()}
        for name, same in by_noise(cases).items()
    ]


def ridge_too_often(cases: Sequence[Covered]) -> list[dict[str, Any]]:
    """One row per interval: in how many cases ridge regression misses more often than δ/T."""
    rows = []
    for kind, words in list(RIDGE.items())[1:]:
        over = [case for case in cases if limits(*case.trials(kind))[0] > case.allowed]
        found = [case.counts[kind] for case in over]
        row = {"interval": words, "cases": len(over)}
        row |= {"with several misses": sum(count > 1 for count in found)}
        rows.append(row | {"most misses in a case": max(found)})
    return rows
