"""Notebook 04, Theorem 2: SupBTC's regret, and Lemmas 3, 5 and 6 along its runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..pipeline.recipes import recipe
from . import plotting
from .ingredients import SECTION6_T, audit_of, learning, small_world
from .regrets import Runs, curves
from .showing import power

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXACT = recipe("SupBTC", v="exact")
HALF = recipe("SupBTC", v="exact", eps=0.5)
NARROW = recipe("SupBTC", v="exact", eps=0.5, width_scale=0.2)
EXPERIMENTS = (
    *learning(2, "SupBTC", 7, "with the printed widths and a fifth of them", HALF, NARROW),
    audit_of("btc", EXACT, 10**4, 500, small_world()),
    audit_of("btc_long", EXACT, 10**5, 20, small_world(), SECTION6_T),
)


def cost_figure(found: list[Runs], uniform: float, folder: str | Path, title: str) -> Figure:
    """Cost along the run of the first seed, one panel per horizon, and that of uniform play."""
    figure, axes = plotting.panels(len(found), size=(8.0, 3.4), sharey=True)
    for ax, one in zip(axes, found, strict=True):
        plays, regret = curves(one, "theorem_section6", folder)
        edges = np.r_[0, plays]
        ax.stairs(
            np.diff(np.r_[0.0, regret[0]]) / np.diff(edges),
            edges,
            linewidth=1.8,
            color=plotting.look(one.policy).colour,
            baseline=None,
        )
        ax.axhline(uniform, color="#000000", linewidth=1.2)
        plotting.line_label(ax, 0.55 * plays[-1], 0.9 * uniform, "uniform play")
        ax.set(xlabel="plays made", ylim=(0, None))
        ax.set_title(f"{one.policy}, T = {power(one.horizon)}", fontsize=10)
        size = round(math.log10(one.horizon))
        ax.ticklabel_format(axis="x", style="sci", scilimits=(size, size), useMathText=True)
    axes[0].set_ylabel("cost (regret per play)")
    figure.suptitle(title)
    return figure
