"""One look for all figures: the same colour, marker and line for a policy everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .policy import Floats
from .simulate import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Look(NamedTuple):
    """How a policy is drawn; colours from Okabe and Ito, which colour-blind readers tell apart."""

    colour: str
    marker: str
    line: str


LOOKS = {
    "SupBMM": Look("#D55E00", "o", "-"),
    "SupBTC": Look("#0072B2", "s", "-"),
    "FlatBMM": Look("#D55E00", "o", ":"),
    "FlatBTC": Look("#0072B2", "s", ":"),
    "MoM": Look("#009E73", "^", "--"),
    "CRT": Look("#CC79A7", "v", "--"),
    "MENU": Look("#E69F00", "D", "--"),
    "TOFU": Look("#56B4E9", "P", "--"),
    "Uniform": Look("#000000", "", "-"),
    "GreedyRidge": Look("#666666", "X", "-."),
    "LinUCB": Look("#999999", "*", "-."),
}
OTHER = Look("#882255", "h", "-")  # a policy of the reader's own

METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}


def look(policy: str) -> Look:
    """How to draw the policy of that name."""
    return LOOKS.get(policy, OTHER)


def regret_figure(runs: Sequence[Sequence[Run]], title: str) -> Figure:
    """Pseudo-regret against plays: for each policy the median over seeds, and their range."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for same in runs:
        draw_regret(axes, same[0].policy, same[0].plays, np.array([run.curve for run in same]))
    axes.set(xlabel="plays", ylabel="pseudo-regret", title=title, xlim=(0, None), ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_regret(axes: Axes, policy: str, plays: Any, curves: Floats) -> None:
    """Draw one policy's curves (seeds, checkpoints): median and band, labelled at its end."""
    style = look(policy)
    x = np.concatenate([[0], plays])
    middle = np.concatenate([[0.0], np.median(curves, axis=0)])
    every = max(1, len(x) // 8)
    axes.plot(
        x, middle, style.line, color=style.colour, marker=style.marker, markevery=(every, every)
    )
    if len(curves) > 1:
        low, high = curves.min(axis=0), curves.max(axis=0)
        axes.fill_between(plays, low, high, color=style.colour, alpha=0.15, linewidth=0)
    axes.annotate(
        policy,
        (x[-1], middle[-1]),
        xytext=(7, 0),
        textcoords="offset points",
        color=style.colour,
        va="center",
        annotation_clip=False,
    )


def check_figure_name(path: str | Path) -> str:
    """The kind of figure a file name asks for, or an error that lists the kinds there are."""
    suffix = Path(path).suffix.lower()
    if suffix not in METADATA:
        raise ValueError(f"a figure's file must end in {', '.join(METADATA)}; got {str(path)!r}")
    if not Path(path).absolute().parent.is_dir():
        raise ValueError(f"there is no folder {str(Path(path).parent)!r} to draw a figure in")
    return suffix


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; the same figure gives the same bytes."""
    import matplotlib as mpl

    suffix = check_figure_name(path)
    with mpl.rc_context({"svg.hashsalt": "heavybandit"}):
        figure.savefig(path, dpi=150, metadata=METADATA[suffix])
