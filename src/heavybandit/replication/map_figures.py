"""The figures of notebook 07: the map of readings, the calibration, and what is worth using."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..policy import EXPLORE_RULES
from . import plotting
from .regrets import Runs, paired
from .showing import power
from .statistics import YES
from .what_is_left_open import INSTANCES, LAWS, SCALES, VERDICTS, WIDTHS, Cell, Place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = dict(zip(VERDICTS, ("#0072B2", "#EBA81E", "#E3D8EE", "#BBBBBB"), strict=True))
NAMES = dict(zip(INSTANCES, ("aligned", "misaligned", "symmetric"), strict=True))
WORDS = dict(
    zip(WIDTHS, ("as printed", "× 0.1", "× 0.01", "calibrated", "circulated"), strict=True)
)


def own(cell: Cell) -> bool:
    """Whether the cell is a reading of Section 6 itself: its instance and one of its noises."""
    return cell.instance == "section6" and cell.law != LAWS["map_half"]


def map_figure(found: Sequence[Cell]) -> Figure:
    """The cells of Section 6's own instance and noises: one row per reading."""
    cells = {(c.width, c.explore, c.horizon, c.law): c for c in found if own(c)}
    readings = list(dict.fromkeys(key[:2] for key in cells))
    places = sorted(dict.fromkeys(key[2:] for key in cells), key=lambda place: place[0])
    grid = [[cells.get((*reading, *place)) for place in places] for reading in readings]
    named = [
        [
            c.winner.replace("Sup", "Sup" if c.explore in EXPLORE_RULES else "Flat") if c else ""
            for c in row
        ]
        for row in grid
    ]
    figure, axes = plotting.panels(size=(plotting.WIDE, 6.6))
    colours = [[INK[c.verdict] if c else None for c in row] for row in grid]
    plotting.mosaic(
        axes, colours, named, [[bool(c and c.best == c.winner) for c in r] for r in grid]
    )
    heads = [f"{law.replace(', ', chr(10))}\n{power(T)} plays" for T, law in places]
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(places)), heads, fontsize=9)
    axes.set_yticks(
        range(len(readings)), [f"{WORDS[w]}, {e}".replace(", –", "") for w, e in readings]
    )
    for i, (above, below) in enumerate(pairwise(readings)):
        if above[0] != below[0]:
            axes.axhline(i + 0.5, color="#000000", linewidth=0.8)
    plotting.keys(figure, INK, 2)
    true = sum(c.outperform == YES for c in cells.values())
    words = f"Section 6's own instance: the paper's order is there in {true} of {len(cells)} cells,"
    more = "and only with the circulated constants do both also beat uniform play"
    plotting.finding(figure, f"{words}\n{more}")
    return figure


def worlds_figure(found: Sequence[Cell]) -> Figure:
    """The cells of other instances and noises, counted by width: one panel per instance."""
    others = [c for c in found if not own(c)]
    figure, axes = plotting.panels(3, size=(plotting.WIDE, 3.6), sharey=True)
    for one, instance in zip(axes, INSTANCES, strict=True):
        here = [c for c in others if c.instance == instance]
        counts = np.array(
            [[sum((c.width, c.verdict) == (w, v) for c in here) for v in VERDICTS] for w in WIDTHS]
        )
        shares = 100 * counts / counts.sum(axis=1, keepdims=True)
        words = counts.astype(str).tolist()
        plotting.stacked(one, list(WORDS.values()), shares, list(INK.values()), words)
        law = ", no variance" if instance == "section6" else ""
        one.set_title(f"{NAMES[instance]}{law} ({len(here)} cells)", fontsize=9.5)
        one.set_xlabel("% of cells (in the bars: how many)", fontsize=9)
        one.tick_params(labelsize=9)
    axes[0].set_ylabel("widths", fontsize=9)
    plotting.keys(figure, INK, 2)
    true = sum(c.outperform == YES for c in others)
    said = f"In other worlds the order is there in {true} of {len(others)} cells"
    plotting.finding(figure, f"{said}: on an aligned instance,\nor with the circulated constants")
    return figure


FACETS = (("SupBMM", "SupBTC", "FlatBMM", "FlatBTC"), ("MoM", "CRT", "MENU", "TOFU", "LinUCB"))


def calibration_figure(tried: Sequence[Runs], uniform: float) -> Figure:
    """What each policy costs as its widths shrink: one column per noise, one row per kind."""
    figure, axes = plotting.panels(2, down=2, size=(plotting.WIDE, 6.4), sharex=True, sharey=True)
    laws = {"student-t": "Student's t noise", "pareto": "Pareto noise"}
    for one, (names, law) in zip(axes, product(FACETS, laws), strict=True):
        ends = {}
        one.axhline(uniform, color="#000000", linewidth=1.0)
        for name in names:
            mine = [o for o in tried if (o.policy, o.where["noise"]) == (name, law)]
            costs = [o.per_play for o in mine if o.settings.get("explore", "first") == "first"]
            look = plotting.look(name)
            steps = range(len(SCALES))
            marks: dict[str, Any] = {"marker": look.marker, "markersize": 4.5, "clip_on": False}
            one.plot(steps, costs, look.line, color=look.colour, **marks)
            ends[name] = (len(SCALES) - 1.0, costs[-1], look.colour)
        ends["uniform play"] = (len(SCALES) - 1.0, uniform, "#000000")
        one.set(xlim=(-0.2, len(SCALES) - 1), ylim=(0, 0.2))
        one.set_xticks(range(len(SCALES)), [f"{scale:g}" for scale in SCALES])
        one.tick_params(labelsize=8.5)
        plotting.led_labels(one, ends)
    for one, words in zip(axes[:2], laws.values(), strict=True):
        one.set_title(words, fontsize=9.5)
    for one in axes[2:]:
        one.set_xlabel("width multiplier", fontsize=9)
    for one, words in zip(
        axes[::2], ("the paper's, with and without stages", "others"), strict=True
    ):
        one.set_ylabel(f"{words}\ncost (regret per play)", fontsize=9)
    plotting.finding(
        figure,
        "Smaller widths bring every policy without stages down to uniform play or below it;\n"
        "SupBMM returns to uniform play",
    )
    return figure


AGAINST = (
    *("CRT", "TOFU", "FlatBTC", "LinUCB", "GreedyRidge(plays=100)", "MoM", "FlatBMM"),
    *("MENU", "SupBTC", "SupBMM", "Blind"),
)


def practice_figure(found: Sequence[Place]) -> Figure:
    """What calibrated policies cost as a multiple of greedy ridge, where the noise is large."""
    places = [p for p in found if "Pareto" not in p.law]
    figure, axes = plotting.panels(size=(plotting.WIDE, 4.9))
    ratios, significant = [], []
    for name in AGAINST:
        pairs = [(p.everyone[name], p.everyone["GreedyRidge"]) for p in places]
        ratios.append([one.per_play / plain.per_play for one, plain in pairs])
        significant.append([abs(mean) > off for mean, off in (paired(*pair) for pair in pairs)])
    colours = [[plotting.diverging(math.log2(x) / 2) for x in row] for row in ratios]
    shown = [[f"{x:.2f}" if x < 10 else f"{x:.0f}" for x in row] for row in ratios]
    plotting.mosaic(axes, colours, shown, significant)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(places)), [NAMES[p.instance] for p in places], fontsize=8)
    groups = {3 * i + 1.0: places[3 * i] for i in range(len(places) // 3)}
    heads = {x: f"{p.law.partition(',')[0]}, {power(p.horizon)} plays" for x, p in groups.items()}
    plotting.over_columns(axes, heads, 22)
    names = [name.replace("GreedyRidge(plays=100)", "greedy, 100 plays") for name in AGAINST]
    axes.set_yticks(range(len(AGAINST)), names)
    words = "No policy costs less than greedy ridge everywhere;"
    more = "means and medians of many plays do so on the aligned instance only"
    plotting.finding(figure, f"{words}\n{more}")
    return figure
