"""Notebook 00: Algorithms 1–3 on three arms in two dimensions, watched and drawn.

`Watched` is the literal SupBTC, which also keeps what the basic algorithm told the master in each
stage of each round. Everything else here counts, tabulates or draws what it kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import paper
from ..policy import TIE, Floats
from . import plotting
from .showing import fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Visit(NamedTuple):
    """What the basic algorithm told the master in one stage of one round."""

    arms: tuple[int, ...]  # Â_s, from 0
    r_hat: Floats
    w: Floats  # with `width_scale`, as the master compares it


class Round(NamedTuple):
    """The stages that one round went through; the last of them chose the arm."""

    visits: tuple[Visit, ...]
    arm: int
    explored: bool  # whether Ψ of the last stage takes this round (step 12)


class Watched(paper.SupBTC):
    """SupBTC as transcribed, which keeps a record of every stage of every round."""

    def _prepare(self) -> None:
        super()._prepare()
        self.record: list[Round] = []

    def _choose(self, X: Floats, u: float) -> int:
        self._offer: Floats = X
        self._visits: list[Visit] = []
        return super()._choose(X, u)

    def _basic(self, V: Floats, Y: Floats, X: Floats) -> tuple[Floats, Floats]:
        r_hat, w = super()._basic(V, Y, X)
        same = (X[:, None, :] == self._offer[None, :, :]).all(axis=2)  # contexts name their arms
        arms = tuple(int(arm) for arm in same.argmax(axis=1))
        self._visits.append(Visit(arms, r_hat, self.width_scale * w))
        return r_hat, w

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        super()._learn(x, payoffs)
        self.record.append(Round(tuple(self._visits), self._selected, self._grows is not None))


class FewPlays(paper.MENU):
    """MENU with seven plays per round, where its theory asks for ⌈24 ln(eT/δ)⌉."""

    def _plays_and_rounds(self) -> tuple[int, int]:
        return 7, self.horizon // 7


def told(policy: Any, V: Floats, Y: Floats) -> Floats:
    """θ̂ of a baseline with one arm, to which these contexts were offered and which was paid Y."""
    for x, payoffs in zip(V, Y, strict=True):
        policy.select([x])
        policy.update(payoffs)
    kept = policy._history()
    return np.asarray(policy._estimate(np.eye(V.shape[1]) + V.T @ V, *kept))


def left(record: Sequence[Round], stage: int) -> tuple[Visit, tuple[int, ...]] | None:
    """What a stage said in the first round that went past it, and who entered the next stage."""
    passed = (r.visits for r in record if len(r.visits) > stage)
    found = next(passed, None)
    return (found[stage - 1], found[stage].arms) if found else None


def cut(visit: Visit, stage: int) -> float:
    """Step 14: an arm passes if its upper bound is at least this, max(r̂ + w) − 2^{1−s}."""
    return float((visit.r_hat + visit.w).max() - 2.0 ** (1 - stage))


def story(record: Sequence[Round]) -> list[dict[str, Any]]:
    """One row per stage: when it explored, for how many rounds, and which arms did not pass it."""
    rows = []
    for s in range(1, max(len(r.visits) for r in record) + 1):
        took = [t for t, r in enumerate(record, 1) if r.explored and len(r.visits) == s]
        entered = next(r.visits[s - 1].arms for r in record if len(r.visits) >= s)
        visit, passed = left(record, s) or (None, entered)
        span = f"{took[0]:,} to {took[-1]:,}" if took else "none"
        row: dict[str, Any] = {"stage s": str(s), "width allowed, 2⁻ˢ": f"1/{2**s}"}
        row |= {"arms in it": _listed(entered), "explored in rounds": span}
        row |= {"number of rounds, |Ψˢ|": len(took), "cut": cut(visit, s) if visit else None}
        rows.append(row | {"arms that fall": _listed([a for a in entered if a not in passed])})
    return rows


def opening(record: Sequence[Round], count: int) -> list[dict[str, Any]]:
    """The first rounds, one row for each stage that they went through."""
    rows: list[dict[str, Any]] = []
    for t, one in enumerate(record[:count], 1):
        for s, visit in enumerate(one.visits, 1):
            both = (", ".join(fixed(x, 3) for x in values) for values in visit[1:])
            row = dict(zip(("estimates", "widths"), both, strict=True))
            chose = f"{'explores' if one.explored else 'exploits'} arm {one.arm + 1}"
            said = "is passed" if s < len(one.visits) else chose
            rows.append({"round t": t, "stage s": s, "2⁻ˢ": f"1/{2**s}", **row, "the stage": said})
    return rows


def _listed(arms: Sequence[int]) -> str:
    """Arms as the paper counts them, from 1."""
    return ", ".join(str(arm + 1) for arm in arms) or "none"


def exploits_from(record: Sequence[Round]) -> int:
    """The first round from which on step 8 applied in every round."""
    return len(record) + 1 - [r.explored for r in reversed(record)].index(True)


def rounds_to_pass(X: Floats, factor: float, stage: int) -> int:
    """How many rounds a stage takes until all of these arms have factor·‖x‖_{A⁻¹} ≤ 2^{-s}.

    For contexts that stay the same, a factor that does (ε = 1), and "some arm" read as the first
    wide one. By Sherman–Morrison m more plays of x turn q = xᵀA⁻¹x into q/(1 + mq), so x is narrow
    after m = ⌈(factor·2ˢ)² − 1/q⌉ plays; and an arm that is narrow stays so.
    """
    A, total = np.eye(X.shape[1]), 0
    for x in X:
        q = float(x @ np.linalg.inv(A) @ x)
        m = max(0, math.ceil((factor * 2**stage / (1 + TIE)) ** 2 - 1 / q))
        A, total = A + m * np.outer(x, x), total + m
    return total


GREY = "#666666"


def _near(axes: Axes, place: tuple[float, float], text: str, **font: Any) -> None:
    """Words a few points above a place."""
    font = {"ha": "center", "va": "bottom", "xytext": (0, 3), **font}
    axes.annotate(text, place, textcoords="offset points", fontsize=8, **font)


def draw_medians(axes: Sequence[Axes], estimates: Floats, means: Floats) -> None:
    """One panel per arm: its r estimates, one for each play j, their median and the true mean."""
    for a, (one, row) in enumerate(zip(axes, estimates, strict=True)):
        j, colour = np.arange(1, len(row) + 1), plotting.PALETTE[a]
        middle = float(paper.lower_median(row))
        chosen = int(np.flatnonzero(row == middle)[0])
        one.plot(j, row, "o", color="#FFFFFF", markeredgecolor=colour, label="an estimate")
        one.axhline(middle, color=colour, linewidth=1.2)
        one.plot(j[chosen], middle, "o", color=colour, markersize=8, label="their median")
        one.axhline(means[a], color=GREY, linestyle=":", label="the true mean")
        one.set_title(f"arm {a + 1}: the median is that of play {chosen + 1}", fontsize=9)
        one.set(xticks=j, xlabel="play j of each round")
    axes[1].legend(fontsize=8, frameon=False, loc="upper center")
    axes[0].set_ylabel("estimated payoff")


def draw_terms(axes: Sequence[Axes], terms: Floats, y: Floats, h: Floats) -> None:
    """One panel per arm: |β_τ r_τ| of each round against h; what is above it is dropped."""
    tau = np.arange(1, len(y) + 1)
    for a, (one, row) in enumerate(zip(axes, np.abs(terms), strict=True)):
        colour, kept = plotting.PALETTE[a], row <= h[a] * (1 + TIE)
        one.axhline(h[a], color="#000000", linewidth=1.2)
        one.bar(tau[kept], row[kept], 0.6, color=colour)
        one.bar(tau[~kept], row[~kept], 0.6, color="#FFFFFF", edgecolor=colour, hatch="////")
        for x, size, payoff in zip(tau[~kept], row[~kept], y[~kept], strict=True):
            _near(one, (x, size), f"payoff {payoff:g}\ndropped".replace("-", "−"))
        one.set(xticks=tau, xlabel="round τ", ylim=(0, 1.25 * np.abs(terms).max()))
        one.set_title(f"estimate of arm {a + 1}", fontsize=9)
        _near(one, (tau[0] - 0.3, h[a]), f"h = {h[a]:.3f}", ha="left")
    axes[0].set_ylabel("size of the term, |β r|")


def draw_screening(axes: Sequence[Axes], record: Sequence[Round], means: Floats) -> None:
    """One panel per stage: intervals when it was first passed or exploited, the cut, who falls."""
    for s, one in enumerate(axes, 1):
        found = left(record, s)
        visit, passed = found or (record[-1].visits[-1], record[-1].visits[-1].arms)
        for arm, r_hat, w in zip(*visit, strict=True):
            colour = plotting.PALETTE[arm] if arm in passed else GREY
            one.vlines(arm + 1, r_hat - w, r_hat + w, color=colour, linewidth=5)
            one.plot(arm + 1.18, means[arm], "D", color="#FFFFFF", markeredgecolor="#000000", ms=4)
            if arm not in passed:
                _near(one, (arm + 1, r_hat - w), "falls", va="top", xytext=(0, -3))
        if found:
            one.axhline(cut(visit, s), color="#000000", linestyle="--", linewidth=1.0)
            _near(one, (0.55, cut(visit, s)), "cut", ha="left")
        words = f"passed: w ≤ 1/{2**s}" if found else "exploits: w ≤ 1/√T"
        one.set_title(f"stage {s} {words}", fontsize=9)
        one.set(xlim=(0.5, len(means) + 0.5), xticks=range(1, len(means) + 1))
    for one in axes[3:]:
        one.set_xlabel("arm")
    for one in axes[::3]:
        one.set_ylabel("payoff")


def draw_run(axes: Sequence[Axes], record: Sequence[Round], means: Floats) -> None:
    """One panel per arm: its interval in the stage that chooses; below, which stage that is."""
    *above, below = axes
    last = max(len(r.visits) for r in record)
    chose = np.array([len(r.visits) if r.explored else last + 1 for r in record])
    starts = np.flatnonzero(np.diff(chose, prepend=0)) + 1
    grid = np.geomspace(1, len(record), 400).astype(int)  # as fine as a page shows
    t = np.unique([*grid, *(k + i for k in starts for i in range(8) if k + i <= len(record))])
    shown = [record[k - 1] for k in t]
    for a, one in enumerate(above):
        low, high = np.transpose([_interval(r.visits[-1], a) for r in shown])
        colour = plotting.PALETTE[a]
        one.fill_between(t, low, high, color=colour, alpha=0.4, linewidth=0, step="post")
        one.axhline(means[a], color="#000000", linestyle=":", linewidth=1.2)
        one.set_ylabel(f"payoff of arm {a + 1}", color=plotting.ink(colour), fontsize=9)
        one.set_ylim(-0.6, 0.85)
        falls = max(k for k, r in enumerate(record, 1) if a in r.visits[-1].arms)
        if falls < len(record):
            words = f"falls after\nround {falls}"
            one.annotate(words, (falls * 1.1, means[a] - 0.05), va="top", fontsize=9)
        played = [k for k, r in zip(t, shown, strict=True) if r.arm == a]
        height = chose[np.array(played) - 1] + 0.22 * (a - 1)
        below.plot(played, height, plotting.MARKERS[a], color=colour, ms=3.5, label=f"arm {a + 1}")
    names = [f"stage {s}" for s in range(1, last + 1)] + ["exploits"]
    below.set_yticks(range(1, last + 2), names)
    below.set(xscale="log", xlabel="round t", ylim=(last + 1.6, 0.4))
    below.set_xticks([10**k for k in range(4) if 10**k <= len(record)], minor=False)
    below.xaxis.set_major_formatter("{x:,.0f}")
    below.legend(title="played", fontsize=8, title_fontsize=8, frameon=False, loc="lower left")


def _interval(visit: Visit, arm: int) -> tuple[float, float]:
    """An arm's interval in a stage, or nothing if it did not get there."""
    if arm not in visit.arms:
        return math.nan, math.nan
    at = visit.arms.index(arm)
    return float(visit.r_hat[at] - visit.w[at]), float(visit.r_hat[at] + visit.w[at])
