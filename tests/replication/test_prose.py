"""Numbers in prose: those of what came out stand in an output of their chapter, or are listed here.

nbval holds the outputs to the code, so a number that is changed in the text alone is found.
"""

import json
import math
import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import heavybandit as hb
from heavybandit.pipeline.tables import read
from heavybandit.replication import catalogue, claims

ROOT = Path(__file__).parents[2]
assert "section6" in catalogue.EXPERIMENTS
EVIDENCE = {entry.id: entry.evidence for entry in claims.read(ROOT / "data")}
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
NUMBER = re.compile(r"(?<![\w₀-₉])\d[\d,.]*(?:·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*")


def rounded(value: float) -> str:
    """A power of ten with one digit before it, as prose has it: 8.2e10 is 8·10¹⁰."""
    digit, power = f"{value:.0e}".split("e")
    ten = "10" + str(int(power)).translate(SUPERSCRIPTS)
    return ten if digit == "1" else f"{digit}·{ten}"


def said_by(path: Path) -> tuple[str, str]:
    """What a chapter says came out, and all that its cells put out."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    first = next(
        "".join(c["source"]) for c in cells if "**What came out.**" in "".join(c["source"])
    )
    outputs = []
    for cell in cells:
        for output in cell.get("outputs", ()):
            kinds = output.get("data", {})
            outputs += ["".join(kinds.get(kind, "")) for kind in ("text/html", "text/markdown")]
            outputs += ["".join(output.get("text", "")), "".join(kinds.get("text/plain", ""))]
    return first, unescape(re.sub(r"<[^>]*>", " ", "\n".join(outputs)))


def numbers(text: str) -> set[str]:
    """The numbers of a text; those of headings, links and formulas are names."""
    text = re.sub(
        r"(?m)^#.*$|\$[^$]*\$|\[[^]]*\]\([^)]*\)|\b(?:Lemma|Theorem|Section)s? \d+", " ", text
    )
    return {found.rstrip(".,") for found in NUMBER.findall(text)}


BELOW_2 = "T from which the bound is below 2 per play, Section 6"
FROM_EVIDENCE = {  # number → the recorded value that it is, rounded
    "8·10¹⁰": ("thm-1", BELOW_2),
    "10¹⁴": ("thm-1", "T from which it is below uniform play"),
    "3·10¹¹": ("thm-1", "by leaps, uniform play violates the bound from"),
    "4·10⁹": ("thm-2", BELOW_2),
    "10¹⁰": ("thm-2", "by leaps, uniform play violates the bound from"),
}
AT_MOST = {"0.6": ("thm-1", 0.006), "100": ("thm-2", 1 / 100)}  # the share no run exceeds
LEAPS = "the largest gap alone; the chapter's table has the largest over all gaps"
NOT_SHOWN = {  # numbers of prose that no output has, and why
    "03_theorem_1": {"10⁻⁵": LEAPS},
    "04_theorem_2": {
        "10⁻⁴": LEAPS,
        "28": "test_what_supbtc_costs_more…",
        "457,000": "counted in data/theorem2_half.runs.csv, explored, stage 1",
    },
    "05_theorem_3": {"36": "a second moment, from the proof in the chapter's text"},
}


@pytest.mark.parametrize("number", FROM_EVIDENCE)
def test_a_number_that_a_verdict_rests_on_is_the_recorded_one(number: str) -> None:
    id, what = FROM_EVIDENCE[number]
    assert rounded(EVIDENCE[id][what]) == number


@pytest.mark.parametrize("number", AT_MOST)
def test_a_share_of_the_bound_that_no_run_exceeds_is_as_recorded(number: str) -> None:
    id, share = AT_MOST[number]
    assert share / 2 < EVIDENCE[id]["by leaps, regret over bound, largest"] <= share


def test_what_supbtc_costs_more_than_uniform_play_is_as_recorded() -> None:
    runs = read("section6", ROOT / "data")
    runs = runs[runs.world_noise == "student-t"]
    for horizon, more in ((100_000, "35 %"), (1_000_000, "28 %")):
        cost = runs[runs.horizon == horizon].groupby("policy").regret.mean()
        assert f"{cost['SupBTC'] / cost['Uniform'] - 1:.0%}".replace("%", " %") == more


@pytest.mark.parametrize("chapter", ["03_theorem_1", "04_theorem_2", "05_theorem_3"])
def test_what_came_out_is_what_the_chapter_shows(chapter: str) -> None:
    said, shown = said_by(ROOT / "notebooks" / f"{chapter}.ipynb")
    known = numbers(shown) | FROM_EVIDENCE.keys() | AT_MOST.keys()
    assert numbers(said) - known == NOT_SHOWN.get(chapter, {}).keys()


def test_what_the_readme_found_is_what_its_chapters_show() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = text.partition("## What was found")[2].partition("\n## ")[0]
    chapters = set(re.findall(r"\((notebooks/\w+\.ipynb)\)", found))
    shown = set.union(*(numbers(said_by(ROOT / chapter)[1]) for chapter in chapters))
    points = {f"{n}" for n in range(1, 10)}  # of the list
    assert numbers(found) - shown - FROM_EVIDENCE.keys() - points == set()


def test_the_readme_says_what_listing_fixed_arms_in_another_order_costs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    said = " ".join(text.partition("the regret of `hb.ClippedUCB` is")[2].split())
    theta = np.array([1, 0.5, 0, 0, 0, 0, 0, 0]) / math.sqrt(1.25)
    medians = []
    for policy in (hb.ClippedUCB, hb.LinUCB):
        for arms in (np.eye(8), np.eye(8)[::-1]):
            world = hb.fixed_arms(arms, theta, hb.noise.StudentT(df=3.0))
            regrets = [hb.simulate(policy(10_000, 8, 8), world, s).regret for s in range(10)]
            medians.append(f"{np.median(regrets):,.0f}")
    a, b, c, d = medians
    first, last = f"{a} if the best arm is listed first", f"and {b} if it is listed last"
    assert said.startswith(f"{first}, {last}; that of `hb.LinUCB` is {c} and {d}.")


# Chapter 09, the guide and the README's advice: what a policy costs, by cell and on average.

BOARD_TABLE = pd.read_csv(ROOT / "data" / "leaderboard.csv")
MEANS = BOARD_TABLE.groupby("policy").cost.mean()
COSTS = {
    (f"{instance}, {noise}", policy): cost
    for instance, noise, policy, cost in zip(
        *(BOARD_TABLE[c] for c in ("instance", "noise", "policy", "cost")), strict=True
    )
}
SAID = re.compile(r"<!-- ([^>]*) -->")


def cited(text: str) -> list[tuple[list[str], str]]:
    """Of each comment that names costs: what it names, and the words between it and the last one.

    A comment is a list of CELL: POLICY, separated by semicolons; `mean` stands for all cells.
    """
    pieces = SAID.split(text)
    return [
        ([name.strip() for name in names.split(";")], " ".join(words.split()))
        for words, names in zip(pieces[::2], pieces[1::2], strict=False)
    ]


def cost_of(name: str) -> str:
    """The recorded cost that a name in a comment stands for, in whole percent."""
    cell, _, policy = name.rpartition(": ")
    return f"{MEANS[policy] if cell == 'mean' else COSTS[cell, policy]:.0f}"


ADVICE = {
    "guide": (ROOT / "book" / "guide.md").read_text(encoding="utf-8"),
    "readme": (ROOT / "README.md")
    .read_text(encoding="utf-8")
    .partition("## What should I use?")[2]
    .partition("\n## ")[0],
}


@pytest.mark.parametrize("place", ADVICE)
def test_every_cost_in_the_advice_is_the_recorded_one(place: str) -> None:
    """Percentages before a comment are the costs that it names, in that order, and none besides."""
    text = ADVICE[place]
    for names, words in cited(text):
        percents = re.findall(r"\d+(?=(?:(?:,| and| to| against) \d+)* %)", words)
        assert percents == [cost_of(name) for name in names], words
    assert not re.findall(r"\d+ %", SAID.split(text)[-1])
    assert len(cited(text)) >= 4


ARXIV = "the number of a paper"
BEYOND = {  # numbers of chapter 09's prose that no output has, and why
    "2,000": "plays of board_flags, leaderboard.FLAGS",
    "99": "board_tables.FROZEN",
    "150": "SupBMM's plays per round, 125 to 179 on the held-out cells",
    "2310.18701": ARXIV,
    "2506.04775": ARXIV,
}


def test_chapter_09_says_what_it_shows() -> None:
    """All prose from the tuning on; what stands before it are formulas and the protocol."""
    path = ROOT / "notebooks" / "09_beyond_the_paper.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    begin = next(i for i, text in enumerate(prose) if "## What tuning chose" in text)
    _, shown = said_by(path)
    said = set.union(*(numbers(text) for text in [prose[0], *prose[begin:]]))
    assert said - numbers(shown) == BEYOND.keys()
