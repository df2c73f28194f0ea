"""The guide and the advice of the README: what a policy costs is what is recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import prose
from heavybandit.replication import board_tables, leaderboard
from heavybandit.replication.what_is_left_open import CALIBRATED

ROOT = Path(__file__).parents[2]
BOARD_TABLE = pd.read_csv(ROOT / "data" / "leaderboard.csv")
MEANS = BOARD_TABLE.groupby("policy").cost.mean()
SKEWED = board_tables.skewed(BOARD_TABLE).groupby("policy").cost.mean()
COSTS = {
    (f"{instance}, {noise}", policy): cost
    for instance, noise, policy, cost in zip(
        *(BOARD_TABLE[c] for c in ("instance", "noise", "policy", "cost")), strict=True
    )
}
FOR_HEAVY_TAILS = ("SupBMM", "SupBTC", "MoM", "CRT", "MENU", "TOFU", "HeavyOFUL", "HvtUCB")


def cited(text: str) -> list[tuple[list[str], str]]:
    """Of each comment that names costs: what it names, and the words between it and the last one.

    A comment is a list of CELL: POLICY, separated by semicolons; `mean` stands for all cells,
    and `skewed` for those with skewed noise.
    """
    pieces = prose.COSTS.split(text)
    return [
        ([name.strip() for name in names.split(";")], " ".join(words.split()))
        for words, names in zip(pieces[::2], pieces[1::2], strict=False)
    ]


def cost_of(name: str) -> str:
    """The recorded cost that a name in a comment stands for, in whole percent."""
    cell, _, policy = name.rpartition(": ")
    over_cells = {"mean": MEANS, "skewed": SKEWED}
    return f"{over_cells[cell][policy] if cell in over_cells else COSTS[cell, policy]:.0f}"


ADVICE = {
    "guide": (ROOT / "book" / "guide.md").read_text(encoding="utf-8"),
    "readme": (ROOT / "README.md")
    .read_text(encoding="utf-8")
    .partition("## What should I use?")[2]
    .partition("\n## ")[0],
}


def test_constants_that_are_advised_are_those_that_were_judged() -> None:
    readme = prose.read("README.md")
    ridge = leaderboard.tuned("GreedyRidge")["ridge"]
    assert re.findall(r"\bridge=([\d.]+)", readme) == [str(ridge)]
    assert f"was {ridge:g};" in ADVICE["guide"]
    scale = CALIBRATED["CRT"]
    assert re.findall(r"CRT:width_scale=([\d.]+)", readme) == [str(scale)] * 3
    judged = {entry.name: dict(entry.recipe.params) for entry in leaderboard.BOARD}
    for name in ("ClippedUCB, ridge 150", "TOFU, ridge 250"):
        for knob, value in judged[name].items():
            assert f"`{knob}={value:g}`" in ADVICE["guide"]


OFFSET = "symmetric, Student's t, offset + 10"


def test_what_the_advice_calls_lowest_least_and_most_is_so() -> None:
    theory = MEANS[[f"{name}, published" for name in FOR_HEAVY_TAILS]]
    assert MEANS.idxmin() == "SafeRidge, defaults"
    assert (theory.idxmin(), theory.idxmax()) == ("TOFU, published", "MENU, published")
    offset = {policy: cost for (cell, policy), cost in COSTS.items() if cell == OFFSET}
    others = {policy: cost for policy, cost in offset.items() if "SafeRidge" not in policy}
    assert min(others, key=others.__getitem__) == "HvtUCB, ridge 124, counter"


@pytest.mark.parametrize("place", ADVICE)
def test_every_cost_in_the_advice_is_the_recorded_one(place: str) -> None:
    """Percentages before a comment are the costs that it names, in that order, and none besides."""
    text = ADVICE[place]
    for names, words in cited(text):
        percents = prose.PERCENTAGE.findall(words)
        assert percents == [cost_of(name) for name in names], words
    assert not re.findall(r"\d+ %", prose.COSTS.split(text)[-1])
    assert len(cited(text)) >= 4
