"""The figures and tables of what was leapt through, in notebooks 03 to 05."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import theory
from ..pipeline.recipes import policies
from ..policy import NOISE_STREAM, stream
from . import plotting
from .leaps import Cell, informative, slack, slope
from .showing import fixed
from .statistics import limits

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .timings import Timing

WORDS = {"coin": "±1", "pareto": "Pareto tail", "two-point": "two-point", "idle": "idle arm"}


def horizons_figure(rows: pd.DataFrame, by: str, uniform: float, title: str) -> Figure:
    """Worst regret over √T against T, one line for each instance or policy, beside the bounds.

    by        "instance", of one policy; or "policy", of one instance, with the lower bound of
              Theorem 3′ for d = 5
    uniform   what uniform play loses per play on the largest gap
    """
    figure, axes = plotting.panels(size=(8.0, 4.8))
    T = rows["horizon"].unique().astype(float)
    ends: list[tuple[float, str, str]] = []
    for which, (name, same) in enumerate(rows.groupby(by, sort=False)):
        kind = plotting.style(which)
        if by == "policy":
            colour, marker, line = plotting.look(name)
            kind |= {"color": colour, "marker": marker, "linestyle": line}
        if by == "instance" and which == 0:
            kind["linewidth"] = 3.5  # another line lies on it
        middle, off = same["over_root"], same["off"]
        down = np.minimum(off, 0.9 * middle)  # a logarithmic axis has no 0
        axes.errorbar(T, middle, [down, off], capsize=2, **kind)
        ends.append((float(middle.iloc[-1]), WORDS.get(name, name), kind["color"]))
        theorem = f"Theorem {1 + (same['policy'].iloc[0] == 'SupBTC')}"
        if by == "policy" or which == 0:
            bound = same["bound"].to_numpy() / np.sqrt(T)
            axes.plot(T, bound, color="#000000", linewidth=1, linestyle=("-", "--")[which])
            ends.append((float(bound[-1]), theorem, "#000000"))
    axes.plot(T, uniform * np.sqrt(T), ":", color="#666666", linewidth=1.2)
    where = T[-3], 2 * uniform * math.sqrt(T[-3])
    axes.annotate("uniform play, largest gap", where, fontsize=8, ha="right")
    if by == "policy":
        lower = theory.theorem3(T, 5, 1.0) / np.sqrt(T)
        axes.plot(T, lower, color="#000000", linewidth=1.5)
        ends.append((float(lower[-1]), "lower bound", "#000000"))
    axes.set(xscale="log", yscale="log", xlabel="plays T", ylabel="regret over √T", title=title)
    ends.sort()
    spread = plotting.apart([9 + math.log10(height) for height, _, _ in ends], 0.3)
    for place, (_, words, colour) in zip(spread, ends, strict=True):
        plotting.line_label(axes, T[-1], 10 ** (place - 9), words, colour)
    return figure


def horizons_table(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """How the worst regret grows with T, one row per instance."""
    table = []
    for instance, same in rows.groupby("instance", sort=False):
        middle, low, high = slope(same)
        table.append(
            {
                "instance": WORDS[instance],
                "slope of ln regret in ln T": f"{middle:.3f} ({low:.3f} to {high:.3f})",
                "regret over √T, least": same["over_root"].min(),
                "regret over √T, largest": same["over_root"].max(),
                "regret over bound, largest": same["ratio"].max(),
                "slope of the bound": slope(same.assign(mean=same["bound"]))[0],
            }
        )
    return table


def tests_table(table: pd.DataFrame, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Which combinations of gap and T could violate the bound, and by how much none did.

    table   all combinations;  `rows`: those with the worst gap for each T
    """
    found = []
    for instance, same in table.groupby("instance", sort=False):
        able, worst = informative(same), rows[rows["instance"] == instance]
        found.append(
            {
                "instance": WORDS[instance],
                "gaps and T": len(same),
                "… where uniform play violates the bound": len(able),
                "from T": able["horizon"].min(),
                "regret over bound there, largest": (able["largest"] / able["bound"]).max(),
                "at the worst gaps: 2ΔT over bound, largest": (
                    2 * worst["gap"] * worst["horizon"] / worst["bound"]
                ).max(),
            }
        )
    return found


def steps_table(rows: pd.DataFrame, horizons: Sequence[int]) -> list[dict[str, Any]]:
    """The factor that each step of the proof loses, one row per instance and horizon."""
    shown = {"instance": "instance", "horizon": "T", "step_5": "Lemma 5", "step_6": "Lemma 6"}
    shown |= {"step_end": "last step", "union": "… of it δ/ln T", "steps": "bound over regret"}
    shown |= {"most_3": "Σc over Lemma 3", "most_6": "n over Lemma 6"}
    table = slack(rows[rows["horizon"].isin(horizons)])[list(shown)].rename(columns=shown)
    return table.replace({"instance": WORDS}).to_dict("records")


def between_table(fine: pd.DataFrame, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """By how much the worst of all gaps exceeds the worst of the grid, one row per instance.

    fine   the worst gaps of the fine grid;  `rows`: those of the protocol's
    """
    both = fine.merge(rows, on=["policy", "instance", "horizon"], suffixes=("_fine", ""))
    return [
        {
            "instance": WORDS[row.instance],
            "worst gap of the grid": row.gap,
            "regret over √T": row.over_root,
            "worst gap of all": row.gap_fine,
            "its regret over √T": row.over_root_fine,
            "ratio": row.over_root_fine / row.over_root,
        }
        for row in both.itertuples()
    ]


def failures_table(table: pd.DataFrame) -> list[dict[str, Any]]:
    """How many runs failed, one row per width."""
    found = []
    for scale, same in table.groupby("width_scale", sort=False):
        runs = int(same["seeds"].sum())
        missed, lost, above = (int(same[name].sum()) for name in ("missed", "lost", "above"))
        found.append(
            {
                "half-widths": "as printed" if scale == 1 else f"1/{1 / scale:.0f}",
                "runs": runs,
                "an interval missed": missed,
                "99 % limits on its probability": "{:.4f} to {:.4f}".format(*limits(missed, runs)),
                "best arm eliminated": lost,
                "regret above the bound": above,
            }
        )
    return found


def shapes_table(rows: pd.DataFrame) -> tuple[list[dict[str, Any]], str]:
    """How the worst regret changes with d and K, and its slopes in words."""
    shown = {"dim": "d", "n_arms": "K", "over_root": "regret over √T", "over": "bound over regret"}
    table = rows.assign(over=rows["bound"] / rows["mean"])[list(shown)].rename(columns=shown)
    along = {
        "d (K = 2d)": slope(rows[rows["n_arms"] == 2 * rows["dim"]], "dim"),
        "K (d = 2)": slope(rows[rows["dim"] == 2], "n_arms"),
    }
    words = [
        f"in {what} {fixed(m)} ({fixed(low)} to {fixed(high)})"
        for what, (m, low, high) in along.items()
    ]
    return table.to_dict("records"), " and ".join(words)


def work(cell: Cell, seed: int = 0) -> tuple[int, int, int]:
    """How many rounds a run by leaps has, stages it enters, and random numbers it draws."""
    from ..engine.counts import Drawn
    from ..engine.leap import rules_of, walk

    world = cell.world()
    make = policies()[cell.policy]
    policy = make(cell.horizon, cell.n_arms, cell.dim, v=cell.v(world), delta=cell.delta)
    rules = rules_of(policy, world)
    drawn = Drawn(stream(seed, NOISE_STREAM), rules.laws, policy.plays)
    return policy.rounds, len(walk(rules, drawn, {})[0]), drawn.numbers


def costs_table(found: Sequence[Timing], horizons: Sequence[int]) -> list[dict[str, Any]]:
    """What `make bench` measured of leaps, beside what such a run does, one row per horizon."""
    instances, rows = {words: instance for instance, words in WORDS.items()}, []
    for timed in found:
        if timed.section == "leaps" and timed.T and timed.T in horizons:
            T, noise = timed.T, timed.what.split(", ")[1]
            rounds, entered, numbers = work(Cell(timed.policy, instances[noise], 2, 4, T, T**-0.5))
            rows.append(
                {
                    "policy, noise": f"{timed.policy}, {noise}",
                    "T": T,
                    "rounds": rounds,
                    "stages entered": entered,
                    # to two digits: the last ones differ between versions of NumPy
                    "random numbers drawn": int(float(f"{numbers:.1e}")),
                    "ms": timed.one_median,
                    "ms per stage": timed.one_median / entered,
                }
            )
    return rows


def nearness_table(rows: pd.DataFrame, dim: int) -> list[dict[str, Any]]:
    """How far the worst regret is above the lower bound of Theorem 3′, one row per policy."""
    found = []
    for policy, same in rows.groupby("policy", sort=False):
        over = same["mean"] / theory.theorem3(same["horizon"].to_numpy(float), dim, 1.0)
        middle, low, high = slope(same.assign(mean=over))
        found.append(
            {
                "policy": policy,
                "least": over.min(),
                "largest": over.max(),
                "at the longest horizon": over.iloc[-1],
                "slope of its ln in ln T": f"{middle:.3f} ({low:.3f} to {high:.3f})",
            }
        )
    return found
