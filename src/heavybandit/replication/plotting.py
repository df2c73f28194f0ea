"""One look for all figures: the same colour, marker and line for a policy everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..pipeline.targets import check_target, naming
from ..policy import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..policy import Floats
    from ..simulate import Run


OTHERS = (  # policies of the reader's own, and the same one with other settings, in this order
    Look("#661100", "h", "-"),
    Look("#117733", "<", "--"),
    Look("#332288", ">", "-."),
    Look("#999933", "p", ":"),
    Look("#AA4499", "8", "-"),
)

METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}


def look(policy: str) -> Look:
    """How to draw the policy of that name: as its class says."""
    from ..engine import POLICIES  # numba, which who only reads results does not need

    return POLICIES[policy].look if policy in POLICIES else OTHERS[0]


def looks(policies: Sequence[str]) -> dict[str, Look]:
    """How to draw several policies in one figure: each its own way, while there are enough.

    What follows a colon are settings. The first of several with different ones, and who comes
    without any, looks as usual.
    """
    from ..engine import POLICIES

    names = {policy: policy.partition(":")[0] for policy in policies}
    found: dict[str, Look] = {}
    for policy in sorted(policies, key=len):
        if names[policy] in POLICIES and look(names[policy]) not in found.values():
            found[policy] = look(names[policy])
    left = set(policies) - set(found)
    unusual = sorted(left, key=lambda p: (names[p] in POLICIES, policies.index(p)))
    return found | {policy: OTHERS[i % len(OTHERS)] for i, policy in enumerate(unusual)}


PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours for what is not a policy, in a fixed order."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))


def panels(
    count: int = 1, *, down: int = 1, size: tuple[float, float] = (7.0, 4.2), **shared: Any
) -> Any:
    """A figure and its axes, without boxes: side by side, and row by row if there are several.

    `shared` as in plt.subplots.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(down, count, squeeze=False, **shared).ravel()
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, (axes[0] if len(axes) == 1 else list(axes))


def rows(
    axes: Axes,
    names: Sequence[str],
    values: Sequence[float],
    *,
    spans: Sequence[tuple[float, float]] | None = None,
    which: int = 0,
    label: str | None = None,
    lower: float = 0.0,
) -> None:
    """One dot per row, the first row on top, with a bar over its span; `which` picks the identity.

    lower   by how much of a row it stands below its middle
    """
    places = np.arange(len(names)) + lower
    colour, marker = PALETTE[which], MARKERS[which]
    if spans is not None:
        axes.hlines(places, *np.transpose(spans), color=colour, linewidth=2.5, alpha=0.45)
    axes.plot(values, places, marker, color=colour, markersize=4.5, linestyle="none", label=label)
    axes.set_yticks(np.arange(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", linewidth=0.4, alpha=0.5)


def style(which: int) -> dict[str, Any]:
    """The identity of a line that is not a policy's: colour, marker and dashes."""
    line = {"color": PALETTE[which], "marker": MARKERS[which], "linestyle": LINES[which]}
    return {**line, "markersize": 4}


def rule(axes: Axes, x: float, text: str, line: str = "-") -> None:
    """A vertical line that says what it stands for."""
    axes.axvline(x, color="#000000", linewidth=1.0, linestyle=line)
    _above(axes, x, text, 3, va="bottom", fontsize=8)


def _above(axes: Axes, x: float, text: str, points: float, **font: Any) -> None:
    """Words so many points above the axes, centred at x."""
    font |= {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "center"}
    axes.annotate(text, (x, 1.0), xytext=(0, points), **font)


def show(figure: Figure, name: str, alt: str, out: str | Path) -> None:
    """Write a figure as PNG and SVG into a folder of chapters and show it, with words beside it."""
    from IPython.display import Image, display

    target = Path(out) / "figures"
    target.mkdir(parents=True, exist_ok=True)
    for suffix in (".png", ".svg"):
        save(figure, target / f"{name}{suffix}")
    display(Image(filename=str(target / f"{name}.png"), alt=alt, width=760))


def regret_figure(runs: Sequence[Sequence[Run]], title: str) -> Figure:
    """Regret against plays: for each policy the median over seeds, and their range.

    runs   for each policy a list of its runs, one per seed
    """
    try:
        lists = [list(same) for same in runs]
    except TypeError:  # one run, or runs that are in no list
        lists = []
    if not lists or not all(same and hasattr(same[0], "curve") for same in lists):
        raise TypeError(
            f"runs must be one list per policy, each with a run per seed; of one seed each that is "
            f"[[run], [run]]; got {runs!r:.60}"
        )
    _check_lists(lists)
    figure, axes = panels()
    ends = {}
    drawn = looks([same[0].policy for same in lists])
    for same in lists:
        policy, plays, curves = same[0].policy, same[0].plays, np.array([run.curve for run in same])
        middle, style = np.median(curves, axis=0), drawn[policy]
        x, y = np.concatenate([[0], plays]), np.concatenate([[0], middle])
        every = max(1, len(x) // 8)
        marks: dict[str, Any] = {"marker": style.marker, "markevery": (every, every)}
        axes.plot(x, y, style.line, color=style.colour, **marks)
        ends[policy] = float(middle[-1])
        if len(curves) > 1:
            low, high = curves.min(axis=0), curves.max(axis=0)
            axes.fill_between(plays, low, high, color=style.colour, alpha=0.15, linewidth=0)
    axes.set(xlabel="plays", ylabel="regret", title=title, xlim=(0, None), ylim=(0, None))
    top, right = axes.get_ylim()[1], axes.get_xlim()[1]
    names = sorted(ends, key=ends.__getitem__)
    places = apart([ends[name] / top for name in names], 0.06)
    for name, place in zip(names, places, strict=True):
        line_label(axes, right, place * top, name, drawn[name].colour)
    return figure


def _check_lists(lists: Sequence[Sequence[Run]]) -> None:
    """Refuse lists of which no median could be drawn, or whose lines could not be told apart."""
    names: set[str] = set()
    for same in lists:
        first, here = same[0], {run.policy for run in same}
        if len(here) > 1:
            raise ValueError(
                f"runs must be lists of one policy, got {', '.join(sorted(here))} in one list; "
                f"of lists of one seed each, list(zip(*runs)) makes such lists"
            )
        if here <= names:
            raise ValueError(
                f"runs must have policies of different names, got two lists of {first.policy}; "
                f'dataclasses.replace(run, policy="…") gives a run another name'
            )
        names |= here
        for run in same:
            if not np.array_equal(run.plays, first.plays):
                said = (
                    f"{len(one.plays)} points up to {one.plays[-1]} plays" for one in (first, run)
                )
                raise ValueError(
                    f"runs of {first.policy} must have the same plays, got one of "
                    f"{' and one of '.join(said)}; give them the same horizon and checkpoints"
                )


def apart(places: Sequence[float], least: float) -> list[float]:
    """Ascending places moved to be at least so far apart, both neighbours alike; none below 0."""
    moved = np.array(places, dtype=float)
    for _ in range(200):
        for i in np.flatnonzero(np.diff(moved) < least - 1e-9).tolist():
            push = (least - (moved[i + 1] - moved[i])) / 2
            moved[i] -= max(push, 0.0)
            moved[i + 1] += max(push, 0.0)
    moved[0] = max(moved[0], 0.0)
    for j in range(1, len(moved)):  # none below 0, where the axis with its numbers is
        moved[j] = max(moved[j], moved[j - 1] + least - 1e-9)
    return [float(place) for place in moved]


def _inside(axes: Axes, place: tuple[float, float], text: str, ink: str, **font: Any) -> None:
    """Words in the middle of a patch."""
    axes.annotate(text, place, ha="center", va="center", color=ink, **font)


def mosaic(
    axes: Axes,
    colours: Sequence[Sequence[str | None]],
    words: Sequence[Sequence[str]],
    bold: Sequence[Sequence[bool]] | None = None,
) -> None:
    """Squares in rows, each with a colour and a word; None leaves a hole."""
    from matplotlib.patches import Rectangle

    for i, (line, said) in enumerate(zip(colours, words, strict=True)):
        for j, (colour, word) in enumerate(zip(line, said, strict=True)):
            if colour is None:
                continue
            axes.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, color=colour, linewidth=0))
            weight = "bold" if bold and bold[i][j] else "normal"
            _inside(axes, (j, i), word, over(colour), fontsize=8, fontweight=weight)
    axes.set(xlim=(-0.6, len(colours[0]) - 0.4), ylim=(len(colours) - 0.4, -0.6))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def contrast(colour: str) -> float:
    """How well words of this colour stand out on white, from 1 to 21, as the WCAG counts it."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(1.05 / (np.array([0.2126, 0.7152, 0.0722]) @ linear + 0.05))


def ink(colour: str) -> str:
    """The colour for words: as it is, or darkened until it can be read on white."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    for percent in range(100, 0, -5):
        darker = "#" + "".join(f"{round(part * percent / 100):02X}" for part in parts)
        if contrast(darker) >= 4.5:
            break
    return darker


def draw_horizons(
    axes: Axes, policy: str, horizons: Sequence[int], regrets: Sequence[Floats], label: str = ""
) -> None:
    """Draw total regret against the horizon: median and range over seeds, labelled at its end."""
    style = look(policy)
    middle = [float(np.median(values)) for values in regrets]
    ends = [(float(values.min()), float(values.max())) for values in regrets]
    axes.vlines(horizons, *np.transpose(ends), color=style.colour, linewidth=2.5, alpha=0.45)
    axes.plot(horizons, middle, style.line, color=style.colour, marker=style.marker, markersize=4.5)
    line_label(axes, horizons[-1], middle[-1], label or policy, style.colour)


def stage_bars(axes: Axes, shares: Floats, names: Sequence[str]) -> None:
    """One bar per row of `shares`, cut into stages, each with its number where there is room."""
    import matplotlib as mpl

    stages = shares.shape[1]
    for i, row in enumerate(shares):
        bottom = 0.0
        for s, share in enumerate(row):
            colour = mpl.colormaps["viridis"](0.85 * s / max(1, stages - 1))
            axes.bar(i, share, bottom=bottom, color=colour, edgecolor="#FFFFFF", linewidth=0.5)
            if share > 0.08:
                ink = "#FFFFFF" if s < 0.6 * stages else "#000000"
                _inside(axes, (i, bottom + share / 2), str(s + 1), ink)
            bottom += share
    axes.set_xticks(range(len(names)), names)


def line_label(axes: Axes, x: float, y: float, text: str, colour: str = "#000000") -> None:
    """Words right of a point of a line, which may be at the edge of the axes."""
    font: dict[str, Any] = {
        "va": "center",
        "annotation_clip": False,
        "color": ink(colour),
        "fontsize": 8,
    }
    axes.annotate(text, (x, y), textcoords="offset points", xytext=(7, 0), **font)


def check_figure_name(path: str | Path) -> str:
    """The kind of figure a file name asks for; an error if it is none, or could not be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in METADATA:
        raise ValueError(f"a figure's file must end in {', '.join(METADATA)}; got {str(path)!r}")
    check_target("a figure", Path(path))
    return suffix


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; the same figure gives the same bytes."""
    import matplotlib as mpl

    suffix = check_figure_name(path)
    with naming(Path(path)), mpl.rc_context({"svg.hashsalt": "heavybandit"}):
        figure.savefig(path, dpi=150, metadata=METADATA[suffix])


WIDE = 7.9
"""Inches: shown 760 pixels wide, a figure of this width has its fonts in the points they say."""


def finding(figure: Figure, words: str, size: float = 11.0) -> None:
    """The title over all panels, which says what is seen in them."""
    figure.suptitle(words, x=0.01, ha="left", fontsize=size, fontweight="bold")


def over(colour: str) -> str:
    """White or black, whichever is easier to read on this colour."""
    return "#FFFFFF" if contrast(colour) ** 2 > 21 else "#000000"


def stacked(
    axes: Axes,
    names: Sequence[str],
    table: Floats,
    colours: Sequence[str],
    words: Sequence[Sequence[str]],
    least: float = 0.06,
) -> None:
    """One horizontal bar per name, the first on top, cut by the columns of `table`.

    A part as long as `least` of the longest bar carries its words.
    """
    longest = table.sum(axis=1).max()
    for i, (row, said) in enumerate(zip(table, words, strict=True)):
        left = 0.0
        for part, colour, word in zip(row.tolist(), colours, said, strict=True):
            if part > 0:
                axes.barh(i, part, 0.78, left, color=colour, edgecolor="#FFFFFF", linewidth=0.6)
            if part >= least * longest:
                _inside(axes, (left + part / 2, i), word, over(colour), fontsize=8)
            left += part
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, longest))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def keys(figure: Figure, colours: Mapping[str, str], columns: int) -> None:
    """What colours stand for, under all panels."""
    from matplotlib.patches import Patch

    patches = [Patch(color=colour, label=words) for words, colour in colours.items()]
    placed: dict[str, Any] = {"loc": "outside lower left", "ncols": columns, "frameon": False}
    figure.legend(handles=patches, fontsize=9, **placed)


def led_labels(
    axes: Axes,
    ends: Mapping[str, tuple[float, float, str]],
    size: float = 8.0,
    least: float = 0.07,
) -> None:
    """Names right of the axes, each led by a thin line from where its curve ends.

    ends    name → its last point (x, y) and its colour; the limits of the axes must be final
    least   how far apart names must be, as a share of the axes' height
    """
    top, right = axes.get_ylim()[1], axes.get_xlim()[1]
    names = sorted(ends, key=lambda name: ends[name][1])
    places = apart([ends[name][1] / top for name in names], least)
    for name, place in zip(names, places, strict=True):
        x, y, colour = ends[name]
        font: dict[str, Any] = {"fontsize": size, "color": ink(colour), "va": "center"}
        lead = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
        lead["relpos"] = (0.0, 0.5)
        where: dict[str, Any] = {"xytext": (right * 1.07, place * top), "annotation_clip": False}
        axes.annotate(name, (x, y), arrowprops=lead, **where, **font)


def diverging(x: float) -> str:
    """Blue below 0, white at 0, orange above; full at −1 and 1, and beyond.

    Light enough for black words, which a dark page turns into white ones on dark colours.
    """
    full = "#74B3E3" if x < 0 else "#F0984A"
    share = min(1.0, abs(x))
    parts = [255 + share * (int(full[i : i + 2], 16) - 255) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part):02X}" for part in parts)


def over_columns(axes: Axes, heads: Mapping[float, str], points: float) -> None:
    """What groups of columns have in common, so many points above the axes."""
    for x, words in heads.items():
        _above(axes, x, words, points, fontsize=9, fontweight="bold")
