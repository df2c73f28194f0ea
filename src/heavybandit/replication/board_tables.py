"""What notebook 09 shows of the benchmark: tables, a figure, and data/leaderboard.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..pipeline.recipes import make_world, policies, recipe
from ..pipeline.tables import csv_text, write_if_new
from ..policy import Floats
from ..simulate import simulate, simulate_all
from . import plotting
from .leaderboard import (
    CHOSEN,
    GROUPS,
    MOVES,
    OWN,
    RIDGE,
    STEPS,
    Entry,
    Standings,
    configurations,
    regrets,
    scores,
    simultaneous,
)
from .protocol import HELD_OUT, KNOBS, MARGIN, SIZES, T3, TRAINING, Cell, range_of
from .showing import fixed, number
from .statistics import mean_limit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FROZEN = 99.0
"""Percent of rounds with the same arm as if all payoffs were 0, from which an entry is frozen."""


def cell_rows() -> list[dict[str, Any]]:
    """What the cells are: sizes, horizons, and what policies are told."""
    rows = []
    for words, cells in (("training", TRAINING), ("held out", HELD_OUT)):
        for cell in cells:
            world = make_world(cell.world, cell.horizon)
            wrong = f", v × {cell.v_factor:g}" if cell.v_factor != 1 else ""
            rows.append(
                {
                    "set": words,
                    "cell": cell.name,
                    "d": world.dim,
                    "K": world.n_arms,
                    "plays": cell.horizon,
                    "ε told": f"{cell.eps:g}{wrong}",
                }
            )
    return rows


def inside_rows(folder: str | Path) -> list[dict[str, Any]]:
    """Each knob of each choice: its value, what was tried, and what a decade up and down scores.

    A move that scores lower by more than MARGIN would put the optimum elsewhere.
    """
    moved, first = regrets(MOVES, folder), regrets(STEPS[0], folder)
    uniform = first[:, :, 0].mean(axis=1)[:, None, None] / 100
    everything = np.concatenate([regrets(plan, folder) for plan in STEPS], axis=2) / uniform
    moved = moved / uniform
    rows, at = [], 0
    for i, policy in enumerate(KNOBS):
        tried, (chosen,) = configurations(policy), CHOSEN[policy][-1]
        step = next(k for k in range(len(SIZES)) if chosen < sum(SIZES[: k + 1]))
        before = sum(SIZES[:step])  # configurations of each policy in the steps before
        column = 1 + len(KNOBS) * before + i * SIZES[step] + chosen - before
        home = everything[:, :, column]
        for knob in KNOBS[policy]:
            values = [one[knob] for one in tried]
            row: dict[str, Any] = {
                "policy": policy,
                "knob": knob,
                "chosen": number(tried[chosen][knob]),
                "tried from": number(min(*values, *range_of(policy, knob))),
                "to": number(max(*values, *range_of(policy, knob))),
                "score": float(home.mean()),
            }
            inside = True
            for words in ("× 10", "÷ 10"):
                row[words] = float((moved[:, :, at] - home).mean())
                inside = inside and row[words] >= -MARGIN
                at += 1
            row["inside"] = "yes" if inside else "no"
            rows.append(row)
    return rows


def slack(folder: str | Path) -> dict[str, float]:
    """How much lower a longer search might have come with a policy, as `protocol` says."""
    found, half = scores(folder, len(SIZES)), sum(SIZES) // 2
    gains = {policy: float(tried[:half].min() - tried.min()) for policy, tried in found.items()}
    most = dict.fromkeys(found, 0.0)
    for row in inside_rows(folder):
        most[row["policy"]] = max(most[row["policy"]], -row["× 10"], -row["÷ 10"])
    return {policy: gains[policy] + most[policy] for policy in found}


def board_rows(found: Standings, same: Floats) -> list[dict[str, Any]]:
    """One row per entry, by group and then by mean cost, compared with tuned ridge regression."""
    rows = []
    for group, words in GROUPS.items():
        for entry in found.group(group):
            gap, off = found.over_ridge(entry)
            cells = found[entry].mean(axis=1)
            frozen = same[:, found.entries.index(entry)] >= FROZEN
            rows.append(
                {
                    "constants": words,
                    "entry": entry.name,
                    "mean cost": float(cells.mean()),
                    "minus tuned ridge": "–" if entry == RIDGE else signed(gap, off, 1),
                    "worst cell": float(cells.max()),
                    "cells above 100": int((cells > 100.05).sum()),  # beyond rounding
                    "cells frozen": int(frozen.sum()),
                }
            )
    return rows


def against_ridge(
    found: Standings, clipped: Floats, entries: Sequence[Entry]
) -> list[dict[str, Any]]:
    """By held-out cell: tuned ridge regression's cost, and how much more each entry costs.

    Limits hold for all of these together; in brackets the share of payoffs clipped or dropped.
    """
    rows = []
    for i, cell in enumerate(HELD_OUT):
        row: dict[str, Any] = {"cell": cell.name, "tuned ridge": float(found[RIDGE][i].mean())}
        for entry in entries:
            gap, off = found.cell_gap(i, entry, RIDGE, len(HELD_OUT) * len(entries))
            sure = "*" if abs(gap) > off else ""
            share = clipped[i, found.entries.index(entry)]
            row[f"{entry.name}, {entry.group}"] = f"{signed(gap, off)}{sure} ({share:.0f} %)"
        rows.append(row)
    return rows


def above_ridge(found: Standings, entry: Entry, comparisons: int) -> list[int]:
    """The held-out cells in which an entry costs significantly more than tuned ridge regression.

    With limits for so many comparisons together.
    """
    gaps = [found.cell_gap(i, entry, RIDGE, comparisons) for i in range(len(HELD_OUT))]
    return [i for i, (gap, off) in enumerate(gaps) if gap > off]


def split_rows(
    found: Standings, entries: Sequence[Entry], harmed: Sequence[int]
) -> list[dict[str, Any]]:
    """Each entry's mean cost over the cells in which clipping by default does harm, and elsewhere.

    Over the others it is compared with tuned ridge regression; limits hold for all of them.
    """
    others = [i for i in range(len(HELD_OUT)) if i not in harmed]
    rows = []
    for entry in entries:
        gap, off = found.gap(entry, RIDGE, len(entries) - 1, others)
        rows.append(
            {
                "entry": entry.name,
                "where default ClippedUCB is significantly dearer": found.mean(entry, harmed),
                "in the other cells": found.mean(entry, others),
                "there, minus tuned ridge": "–" if entry == RIDGE else signed(gap, off, 1),
            }
        )
    return rows


def left_out_rows(
    found: Standings, entry: Entry, others: Sequence[Entry], steps: Mapping[str, Sequence[int]]
) -> list[dict[str, Any]]:
    """How much more an entry costs than each of the others if cells are left out.

    steps   by the heading of a column, which of the cells are left out
    """
    rows = []
    for other in others:
        row = {f"{entry.name} minus": other.label}
        for words, without in steps.items():
            kept = [i for i in range(len(HELD_OUT)) if i not in without]
            gap, off = found.gap(entry, other, len(others) * len(steps), kept)
            row[words] = signed(gap, off, 1)
        rows.append(row)
    return rows


KNOB_WORDS = {
    "ridge": "λ",
    "width_scale": "widths ×",
    "threshold_scale": "thresholds ×",
    "level_scale": "level ×",
}
"""What a table calls a knob, in the order in which it has them."""


def counter_rows(found: Standings) -> list[dict[str, Any]]:
    """Mean costs of the counter-examples, in the order in which they were found, each beside the
    same policy as tuned."""
    rows = []
    for entry in found.entries:
        if entry.group == "counter":
            knobs = [item for item in entry.recipe.params if item[0] in KNOB_WORDS]
            knobs.sort(key=lambda item: list(KNOB_WORDS).index(item[0]))
            rows.append(
                {
                    "case": entry.name,
                    "constants": ", ".join(f"{KNOB_WORDS[key]} {_short(x)}" for key, x in knobs),
                    "cost": found.mean(entry),
                    "beside": f"tuned {entry.recipe.name}",
                    "its cost": found.mean(Entry(entry.recipe.name, "tuned")),
                }
            )
    return rows


def _short(value: float) -> str:
    """As it was written down, but with a power of ten where it is small."""
    return f"{value:,g}" if value >= 1e-4 else number(value)


def choice_rows(entries: Sequence[Entry], cell: Cell, seed: int) -> list[dict[str, Any]]:
    """How often each entry chooses an arm in one run on a cell, and in how many rounds it explores.

    Only policies with stages say when they explore.
    """
    rows = []
    world = make_world(cell.world, cell.horizon)
    for entry in entries:
        told = cell.policy(entry.recipe)
        shape = {"horizon": cell.horizon, "n_arms": world.n_arms, "dim": world.dim}
        policy = told.build(policies(), **shape)
        explored = simulate(policy, world, seed).diagnostics["explored"]
        rows.append(
            {
                "entry": entry.name,
                "plays per round": policy.plays,
                "rounds": policy.rounds,
                "rounds that explore": int(sum(explored)) if len(explored) > 1 else None,
            }
        )
    return rows


OFFSET = 10.0
"""What is added to all payoffs in the cell with an offset, and in `offset_rows`."""


def offset_rows(names: Sequence[str], horizon: int, seeds: int) -> list[dict[str, Any]]:
    """Costs of policies with their defaults in three worlds whose payoffs have an offset.

    The last of the names is compared with the first; limits hold for all worlds together.
    """
    noise = recipe("Units", noise=T3, offset=OFFSET)
    worlds = {"symmetric": "symmetric", "misaligned": "misaligned", "fixed arms": "sphere_arms"}
    kinds, rows = policies(), []
    for title, name in worlds.items():
        world = make_world(recipe(name, noise=noise), horizon)
        made = np.empty((seeds, len(names) + 1))
        for seed in range(seeds):
            field = [kinds[one](horizon, world.n_arms, world.dim) for one in (*names, "Uniform")]
            made[seed] = [run.regret for run in simulate_all(field, world, seed)]
        costs = 100 * made[:, :-1] / made[:, -1].mean()
        more = costs[:, 0] - costs[:, -1]
        limit = mean_limit(more, simultaneous(len(worlds)))
        row = {"world": title, **dict(zip(names, costs.mean(axis=0).tolist(), strict=True))}
        rows.append(row | {f"{names[0]} minus {names[-1]}": signed(more.mean(), limit)})
    return rows


def signed(gap: float, off: float, places: int = 0) -> str:
    """A difference and how far it may be off."""
    plus = "+" if gap > 0 else ""
    return f"{plus}{fixed(gap, places)} ± {off:.{places}f}"


COLUMNS = (
    *("instance", "noise", "policy", "constants", "cost", "over_ridge", "over_ridge_off"),
    *("clipped", "same_as_payoffs_of_0", "frozen"),
)


def write_table(found: Standings, clipped: Floats, same: Floats, folder: str | Path) -> Path:
    """Write everyone's standing in every held-out cell as leaderboard.csv; returns its path.

    Costs are in percent of uniform play's; limits hold for all differences in a cell together.
    `clipped` is over all seeds; `same_as_payoffs_of_0`, and whether that is FROZEN, is of one.
    """
    rows = []
    for i, cell in enumerate(HELD_OUT):
        instance, _, noise = cell.name.partition(", ")
        for entry in sorted(found.entries, key=lambda entry: float(found[entry][i].mean())):
            place = found.entries.index(entry)
            gap, off = found.cell_gap(i, entry, RIDGE, len(found.entries) - 1)
            rows.append(
                [
                    *(instance, noise, entry.label, entry.group),
                    *(f"{x:.4f}" for x in (found[entry][i].mean(), gap, off)),
                    *(f"{share[i, place]:.3f}" for share in (clipped, same)),
                    "yes" if same[i, place] >= FROZEN else "no",
                ]
            )
    return write_if_new(Path(folder) / "leaderboard.csv", csv_text(COLUMNS, rows))


def skewed(board: pd.DataFrame) -> pd.DataFrame:
    """Of leaderboard.csv the cells whose noise is skewed, without the counter-examples."""
    rows = board[board["noise"].str.contains("skew|log-normal") & (board["constants"] != "counter")]
    return rows.assign(cell=rows["instance"] + ", " + rows["noise"])


def skewed_costs(board: pd.DataFrame, others: Sequence[str], least: int = 2) -> pd.DataFrame:
    """Costs by cell with skewed noise, and their means: one column per policy.

    They are those of the tuned entries with the lowest means, as many as `least`, and the others'.
    """
    costs = skewed(board).pivot_table("cost", "cell", "policy", sort=False)
    costs.loc["mean"] = costs.mean()
    tuned = [policy for policy in costs if policy.endswith(", tuned")]
    lowest = costs.loc["mean", tuned].nsmallest(least).index
    return costs[[*lowest, *(one for one in others if one not in lowest)]]


def draw_board(found: Standings) -> Figure:
    """Mean cost of every entry over the held-out cells, with limits for its gap to tuned ridge."""
    shown: list[Entry | str] = []
    for group, words in GROUPS.items():
        shown += [words, *found.group(group)]
    figure, axes = plotting.panels(size=(7.9, 0.156 * len(shown)))
    reference = found.mean(RIDGE)
    for at, line in enumerate(shown):
        if isinstance(line, str):
            continue
        gap, off = found.over_ridge(line)
        colour = plotting.PALETTE[list(GROUPS).index(line.group)]
        axes.hlines(at, reference + gap - off, reference + gap + off, color=colour, linewidth=2.5)
        axes.plot(reference + gap, at, "o", color=colour, markersize=4.5)
    plotting.rule(axes, reference, "tuned ridge regression", line="--")
    plotting.rule(axes, 100, "uniform play")
    names = [line if isinstance(line, str) else line.name for line in shown]
    axes.set_yticks(range(len(shown)), names, fontsize=8)
    for label, line in zip(axes.get_yticklabels(), shown, strict=True):
        own = isinstance(line, Entry) and line.name.endswith(OWN)
        label.set_fontweight("bold" if isinstance(line, str) or own else "normal")
        label.set_backgroundcolor("#ffe9a8" if own else "none")
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("mean cost over the held-out cells, % of uniform play's")
    return figure
