"""What the explorer reads: the recorded regrets of data/ as small scripts, one per table.

A table is data/NAME.runs.csv, one run per row. Runs that differ in their seed only are a group.
Each table becomes NAME.js, which the page loads when a reader chooses one of its places; index.js
says which places there are, and holds the map of readings and the board, whose cells name the
groups behind them. They are JSON in a script, because a page that is opened from a folder may load
a script and nothing else. Regrets are the tables' own, digit by digit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heavybandit.pipeline.spec import EXPERIMENTS
from heavybandit.replication import catalogue  # noqa: F401  (names the experiments)
from heavybandit.replication import what_is_left_open as atlas
from heavybandit.replication.plotting import look
from heavybandit.replication.protocol import Judged

SAME = ["world", "world_settings", "policy", "settings", "horizon"]
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
Group = dict[str, Any]
Ref = tuple[str, int]  # a table and the number of a group in it


def groups(name: str, folder: Path) -> list[Group]:
    """The groups of a table in the order of its runs, with a curve where the runs have one."""
    table = pd.read_csv(folder / f"{name}.runs.csv", na_filter=False)
    plan = EXPERIMENTS.get(name)
    if plan is not None and getattr(plan, "spec", None) is Judged:
        # Its lines are short; what was run says the rest.
        specs: list[Any] = plan.runs()
        table["world"] = [spec.world.name for spec in specs]
        table["world_settings"] = [spec.world.settings() for spec in specs]
        table["settings"] = [spec.policy.settings() for spec in specs]
        table["horizon"] = [spec.horizon for spec in specs]
    if not {*SAME, "seed", "plays", "regret"} <= set(table.columns):
        return []  # of another kind: coverage, or leaps
    curves = pd.read_csv(folder / f"{name}.curves.csv")
    drawn = curves if {"run", "plays", "regret"} <= set(curves.columns) else curves.iloc[:0]
    found = []
    for (world, where, policy, settings, horizon), rows in table.groupby(SAME, sort=False):
        made = {
            "world": world,
            "where": where,
            "horizon": int(horizon),
            "policy": policy,
            "settings": settings,
            "plays": int(rows["plays"].iloc[0]),
            "seeds": rows["seed"].tolist(),
            "regrets": rows["regret"].tolist(),
        }
        if len(drawn) and len(mine := drawn[drawn["run"].isin(rows["run"])]):
            made["curve"] = curve(mine)
        found.append(made)
    return found


def curve(rows: pd.DataFrame) -> dict[str, list[float]]:
    """Mean regret and its first and ninth decile over seeds, after so many plays."""
    regret = rows.pivot(index="run", columns="plays", values="regret").to_numpy()
    low, high = np.quantile(regret, (0.1, 0.9), axis=0)
    lines = {"mean": regret.mean(axis=0), "low": low, "high": high}
    rounded = {key: [float(f"{x:.9g}") for x in line] for key, line in lines.items()}
    return {"plays": sorted(int(x) for x in rows["plays"].unique()), **rounded}


def tables(folder: Path) -> dict[str, list[Group]]:
    """All tables that hold regrets, by name."""
    names = sorted(path.name.removesuffix(".runs.csv") for path in folder.glob("*.runs.csv"))
    found = {name: groups(name, folder) for name in names}
    return {name: made for name, made in found.items() if made}


def readings(found: dict[str, list[Group]], folder: Path) -> dict[str, Any]:
    """The map of readings: one row per cell of data/map.csv, the groups behind each cost."""
    text = pd.read_csv(folder / "map.csv", dtype=str, na_filter=False)
    cells, rows = atlas.cells(folder), []
    for cell, shown in zip(cells, text.to_dict("records"), strict=True):
        names = [name for name, law in atlas.LAWS.items() if law == cell.law and name in found]
        behind = {
            policy: next(refs(found, names, one.world, cell.horizon, one.policy, one.regrets))
            for policy, one in (cell.six | cell.controls).items()
        }
        rows.append([[shown[c], *behind.get(c, ())] for c in text.columns])
    return {
        "columns": list(text.columns),
        "rows": rows,
        "filters": ["instance", "noise", "horizon"],
    }


def refs(
    found: dict[str, list[Group]],
    names: list[str],
    world: str,
    horizon: int,
    policy: str,
    regrets: Any,
) -> Iterator[Ref]:
    """The groups of some tables with this world, horizon, policy and these regrets."""
    for name in names:
        for i, one in enumerate(found[name]):
            same = (one["world"], one["horizon"], one["policy"]) == (world, horizon, policy)
            if same and one["regrets"] == list(regrets):
                yield name, i


def board(found: dict[str, list[Group]], folder: Path) -> dict[str, Any]:
    """The board as data/leaderboard.csv has it, its costs led to the groups behind them.

    Costs are in percent of uniform play's. The table behind a world and a noise is the one in which
    most of their costs are found. Nothing of the module that wrote the board is used, so another
    board needs another choice of columns here and no more.
    """
    text = pd.read_csv(folder / "leaderboard.csv", dtype=str, na_filter=False)
    text = text.drop(columns="frozen", errors="ignore")  # the column before it says it too
    behind: dict[int, Ref] = {}
    percents = {name: list(in_percent(made)) for name, made in found.items()}
    for _, block in text.groupby(["instance", "noise"], sort=False):
        matched = [
            {
                i: (name, groups_[0])
                for i, policy, cost in zip(block.index, block["policy"], block["cost"], strict=True)
                if (groups_ := [g for g, who, x in percents[name] if same(policy, cost, who, x)])
            }
            for name in found
        ]
        best: dict[int, Ref] = max(matched, key=len)
        behind |= best
    at = list(text.columns).index("cost")
    rows = [
        [[x, *behind.get(i, ())] if j == at else [x] for j, x in enumerate(row)]
        for i, row in zip(text.index, text.to_numpy().tolist(), strict=True)
    ]
    return {"columns": list(text.columns), "rows": rows, "filters": ["instance", "noise"]}


def same(label: str, cost: str, policy: str, percent: float) -> bool:
    """Whether a line of the board can be a group's: its first word is alike, its cost the same."""
    return re.split(r"\W", label)[0] == policy and f"{percent:.4f}" == cost


def in_percent(made: list[Group]) -> Iterator[tuple[int, str, float]]:
    """Each group's number, policy and cost in percent of uniform play's in the same place."""
    place = ("world", "where", "horizon")
    uniform = {
        tuple(one[key] for key in place): cost(one) for one in made if one["policy"] == "Uniform"
    }
    for i, one in enumerate(made):
        if scale := uniform.get(tuple(one[key] for key in place)):
            yield i, one["policy"], 100 * cost(one) / scale


def cost(one: Group) -> float:
    """Mean regret per play."""
    return float(np.mean(one["regrets"]) / one["plays"])


def write(folder: Path, out: Path) -> None:
    """Write index.js and one script per table."""
    found = tables(folder)
    out.mkdir(parents=True, exist_ok=True)
    places: dict[str, dict[str, Any]] = {}
    for name, made in found.items():
        script(out / f"{name}.js", "table", name, made)
        for one in made:
            place = [one["world"], one["where"], one["horizon"]]
            about = places.setdefault(
                name, {"what": in_words(EXPERIMENTS[name].what), "places": []}
            )
            if place not in about["places"]:
                about["places"].append(place)
    colours = {one["policy"]: look(one["policy"]).colour for made in found.values() for one in made}
    index = {"places": places, "colours": colours}
    index |= {"map": readings(found, folder), "board": board(found, folder)}
    script(out / "index.js", "index", "", index)


def in_words(text: str) -> str:
    """Powers of ten as a reader writes them: 1e+05 is 10⁵."""
    return re.sub(r"\b1e\+?0*(\d+)", lambda m: f"10{m[1].translate(RAISED)}", text)


def script(path: Path, kind: str, name: str, content: object) -> None:
    """A script that hands its content to the page."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_text(
        f"(window.heavybanditData ??= {{}}).{kind}{f'_{name}' if name else ''} = {text};\n",
        encoding="utf-8",
    )
