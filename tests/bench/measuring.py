"""Turns and tables: how two sides are compared, and how the outcome is printed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from operator import sub, truediv
from statistics import median
from typing import Any

from heavybandit.replication.timings import Timing, judged

Side = Callable[[], float]  # does its work once and returns what it cost
Pair = tuple[float, float]

A_ROUND = "µs per round"


def timed(rounds: int, work: Callable[..., Any], *arguments: Any) -> float:
    """µs per round, of processor time: waiting for a processor does not count."""
    start = time.process_time()
    work(*arguments)
    return 1e6 * (time.process_time() - start) / rounds


def say(text: str) -> None:
    """Tell whoever waits what is being measured."""
    print(text, file=sys.stderr, flush=True)


def turns_of(what: str, one: Side, other: Side, turns: int) -> list[Pair]:
    """Let the two sides take turns, so that a change of the machine's mood meets both."""
    pairs = []
    for turn in range(turns):
        say(f"{what}: turn {turn + 1} of {turns}")
        pairs.append((one(), other()))
    return pairs


def weigh(
    section: str,
    what: str,
    sides: tuple[str, str],
    pairs: Sequence[Pair],
    *,
    goal: str = "",
    by: str = "ratio",
    unit: str = A_ROUND,
    policy: str = "",
    **setting: Any,
) -> Timing:
    """Compare what two sides cost, turn by turn; `setting` has T, d, K, plays and eps."""
    found = [{"ratio": truediv, "difference": sub}[by](*pair) for pair in pairs]
    places = {name: setting.get(name) for name in ("T", "d", "K", "plays", "eps")}
    return Timing(
        section=section,
        what=what,
        policy=policy,
        **places,
        one=sides[0],
        other=sides[1],
        unit=unit,
        one_median=median(pair[0] for pair in pairs),
        other_median=median(pair[1] for pair in pairs),
        by=by,
        # Judged as it will be printed and written, so that a file never contradicts itself.
        median=float(f"{median(found):.6g}"),
        low=float(f"{min(found):.6g}"),
        high=float(f"{max(found):.6g}"),
        turns=len(found),
        goal=goal,
        verdict=judged(goal, float(f"{median(found):.6g}")),
    )


def table(title: str, costs: Sequence[Timing]) -> None:
    """Print a section's rows under their headings, aligned."""
    print(f"\n{title}, {costs[0].unit}")
    head = ("", costs[0].one, costs[0].other, f"{costs[0].by} [min, max]", "goal", "")
    lines = [head, *(_cells(cost) for cost in costs)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for what, *cells, verdict in lines:
        numbers = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=False)]
        print("  ".join([f"  {what:<{widths[0]}}", *numbers, verdict]).rstrip(), flush=True)


def _cells(cost: Timing) -> tuple[str, ...]:
    spread = f"{cost.median:.2f} [{cost.low:.2f}, {cost.high:.2f}]"
    medians = f"{cost.one_median:.2f}", f"{cost.other_median:.2f}"
    return (cost.what, *medians, spread, cost.goal, cost.verdict)
