"""Numbers in prose: those of what came out stand in an output of their chapter, or are listed here.

nbval holds the outputs to the code, so a number that is changed in the text alone is found.
"""

import json
import math
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.pipeline.tables import read
from heavybandit.replication import catalogue, claims, leaps

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


def rounds_to(number: str, shown: set[str]) -> bool:
    """Whether one of the numbers shown is this one when it is rounded to as many places."""
    plain = number.replace(",", "")
    if not re.fullmatch(r"[\d.]+", plain) or len(plain.replace(".", "").lstrip("0")) < 2:
        return False  # a single digit would match too much
    longer = [one for one in (x.replace(",", "") for x in shown) if re.fullmatch(r"\d+\.\d+", one)]
    places = len(plain.partition(".")[2])
    return plain in [f"{float(one):.{places}f}" for one in longer]


BELOW_2 = "T from which the bound is below 2 per play, Section 6"
FROM_EVIDENCE = {  # number → the recorded value that it is, rounded
    "8·10¹⁰": ("thm-1", BELOW_2),
    "10¹⁴": ("thm-1", "T from which it is below uniform play"),
    "3·10¹¹": ("thm-1", "by leaps, uniform play violates the bound from"),
    "4·10⁹": ("thm-2", BELOW_2),
    "10¹⁰": ("thm-2", "by leaps, uniform play violates the bound from"),
}
SETTINGS = {  # numbers of a chapter's text that are no results, by what they are
    "03_theorem_1": {
        "δ, and for three comparisons": "0.01 0.06",
        "scales and shape of noises, exponent of a tail": "0.03 0.05 1.6 2.2",
        "a seed; ln 10¹⁵ over ln 10⁴": "70,000 3.75",
        "40 times √(8L/2L); test_what_uniform_play_costs…": "80 0.73",
    },
    "04_theorem_2": {
        "scales and shape of noises, the largest gap": "0.03 0.05 1.6 0.45",
        "1,297 in the table; horizons fitted; 1.06 in the table, rounded up": "1,300 15 7",
        "greedy ridge, in notebook 03": "1.4",
    },
    "05_theorem_3": {
        "a probability; in proofs; trees": "0.001 0.25 0.38 200",
        "printed constants; κ over ¾, in per cent": "120 40 44",
        "the example; d and T; where the figure ends": "14 28 17 1,000 10³ 2·10⁵",
        "one less than in the table; a formula at T = 16,000": "1,943 23.99",
    },
}
AT_MOST = {"0.6": ("thm-1", 0.006), "100": ("thm-2", 1 / 100)}  # the share no run exceeds
NOT_SHOWN = {  # results that no output has in this form, and the test that holds them
    "03_theorem_1": {"10⁻⁵": "test_where_uniform_play_violates_a_bound…"},
    "04_theorem_2": {
        "10⁻⁴": "test_where_uniform_play_violates_a_bound…",
        "28": "test_what_supbtc_costs_more…",
        "457,000": "test_stage_1_takes…",
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


@pytest.mark.parametrize(("name", "most"), [("leaps_bmm", 1e-5), ("leaps_btc", 1e-4)])
def test_where_uniform_play_violates_a_bound_regrets_are_below_the_share_said(
    name: str, most: float
) -> None:
    able = leaps.informative(read(name, ROOT / "data"))
    assert most / 10 < (able["largest"] / able["bound"]).max() < most


def test_stage_1_takes_457_000_plays_of_a_million() -> None:
    runs = read("theorem2_half", ROOT / "data")
    wide = runs[(runs.horizon == 10**6) & runs.policy_width_scale.isna()]
    assert round(wide.explored.iloc[0][0], -3) == 457_000


def test_what_uniform_play_costs_in_notebook_03_is_as_recorded() -> None:
    small, large = (read(f"theorem_{name}", ROOT / "data") for name in ("controls", "section6"))
    chance = small[(small.policy == "Uniform") & (small.horizon == 10**6)]
    assert f"{(chance.regret / chance.plays).mean():.2f}" == "0.73"
    cost = large[large.horizon == 10**6].groupby("policy").regret.mean()
    assert f"{cost['SupBMM'] / cost['Uniform'] - 1:.0%}" == "31%"


@pytest.mark.parametrize("chapter", ["03_theorem_1", "04_theorem_2", "05_theorem_3"])
def test_every_number_of_a_chapter_is_shown_or_was_set(chapter: str) -> None:
    """As it stands in an output or, with two significant digits, as one of them is rounded."""
    path = ROOT / "notebooks" / f"{chapter}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    said = numbers("\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown"))
    shown = numbers(said_by(path)[1])
    known = shown | FROM_EVIDENCE.keys() | AT_MOST.keys() | NOT_SHOWN[chapter].keys()
    was_set = " ".join(SETTINGS[chapter].values()).split()
    assert {n for n in said - known if not rounds_to(n, shown)} == set(was_set)


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
