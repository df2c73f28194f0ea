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
from heavybandit.replication import catalogue, claims, leaps, real_payoffs

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
        "a seed; ln 10¹⁵ over ln 10⁴; a limit, in milliseconds": "70,000 3.75 100",
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
RECORDED = {  # of each chapter, the claim whose recorded values it may cite without showing them
    "03_theorem_1": "thm-1",
    "04_theorem_2": "thm-2",
    "05_theorem_3": "thm-3",
}
NOT_SHOWN = {  # results that no output has in this form, and the test that holds them
    "03_theorem_1": {"10⁻⁵": "test_where_uniform_play_violates_a_bound…"},
    "04_theorem_2": {
        "10⁻⁴": "test_where_uniform_play_violates_a_bound…",
        "28": "test_what_supbtc_costs_more…",
        "457,000": "test_stage_1_takes…",
    },
    "05_theorem_3": {"36": "a second moment, from the proof in the chapter's text"},
}


def recorded(chapter: str) -> set[str]:
    """The numbers of a chapter's text that are recorded values of its own claim."""
    values = FROM_EVIDENCE | AT_MOST
    return {number for number, (id, _) in values.items() if id == RECORDED[chapter]}


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
    known = shown | recorded(chapter) | NOT_SHOWN[chapter].keys()
    was_set = " ".join(SETTINGS[chapter].values()).split()
    assert {n for n in said - known if not rounds_to(n, shown)} == set(was_set)


@pytest.mark.parametrize("chapter", ["03_theorem_1", "04_theorem_2", "05_theorem_3"])
def test_what_came_out_is_what_the_chapter_shows(chapter: str) -> None:
    said, shown = said_by(ROOT / "notebooks" / f"{chapter}.ipynb")
    known = numbers(shown) | recorded(chapter)
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


# Chapters 00, 01, 02, 06, 07, 08 and 10: the numbers of a finding are tied to the output that each
# comes from, and all other numbers of the prose stand in an output or in a cell, or are listed.

TIED = {  # chapter → what is said, where it stands in the outputs, and how a number is rounded
    "00_the_algorithms": [
        (
            "screened out after rounds {} and {},",
            r"1/8 1, 2, 3 \S+ to (\S+) .* 1/32 1, 3 \S+ to (\S+) ",
        ),
        ("step 8 applies from round {} on", r"Step 8 applies from round (\S+) on"),
        (
            "at least {} and {} plays",
            r"stage 3 is passed at horizons from (\S+) on, and stage 5 from (\S+) on",
        ),
    ],
    "01_proposition_1": [
        ("prescribes {} plays of every", r"Section 6 200 20 (\d+) "),
        ("although {} are enough", r"Lemma 2's proof: 25/144 (\d+) "),
        ("and {} for the eight noises", r"as counted, K = 20 (\d+ to \d+) "),
        ("that we tried with {} arms", r"as counted, K = (20) "),
        ("{} to {} times narrower", r"BMM is wider by .*? (\S+) to (\S+) times", "{:.0f}"),
    ],
    "02_proposition_2": [
        (
            "misses in all of {} repetitions",
            r"rare and large, δ/T = 10⁻⁶ (\S+) 0 \1 ",
        ),
        ("at most {} at a time", r"at the end terms dropped estimates Student's t (\d+) 0 "),
        ("none at the end of {} rounds", r"Compiled FlatBTC, (\S+) rounds"),
    ],
    "06_section_6": [("at {}, {} and {} plays", r"T = (10⁴) T = (10⁵) T = (10⁶) ")],
    "07_what_is_left_open": [],  # below, by the map
    "08_what_it_costs": [
        ("at most {} payoffs", r"SupBTC, half-widths × 0.01, ε = 1 \S+ (\d+) "),
        (
            "about {} times as fast as the literal",
            r"SupBTC, T = 10,000: transcription over engine (\S+) ",
            "{:,.0f}",
        ),
        ("of the {} goals", r"\d+ of (\d+) goals missed"),
        (
            "over 10⁶ plays takes {} times as long as drawing",
            r"SupBTC, T = 1,000,000: whole simulation over drawing the world (\S+) ",
            "{:.1f}",
        ),
        (
            "rises {}-fold within a run of 10⁷ plays",
            r"TOFU, T = 10,000,000: last tenth of the run over its first three tenths (\S+) ",
            "{:.1f}",
        ),
        ("two workers are {} times as fast", r"one worker over two (\S+) ", "{:.1f}"),
    ],
    "10_real_payoffs": [],  # its finding has no number but in words; below
}
ROUNDED = "an output, rounded"
SETTING = "a setting, in the package"
SUM = "a sum over a table"
BY_HAND = "worked out in the text"
LITERATURE = "of a source that is named there"
NOT_IN_OUTPUTS = {  # chapter → why → the numbers of its prose that no output and no cell has
    "00_the_algorithms": {BY_HAND: "0.09 0.15 0.36 0.52 20"},
    "01_proposition_1": {
        SETTING: "1.3 2.2 64 30",
        SUM: "320,000 670,000 790,000",
        BY_HAND: "0.16 0.174",
        ROUNDED: "1.7 300 10⁻³",
    },
    "02_proposition_2": {SETTING: "0.05 1,000 2,500", SUM: "650,000", BY_HAND: "0.3 0.505 9"},
    "06_section_6": {
        ROUNDED: "0.08 0.10 0.11 0.001 28 41 1,000 13,000 700",
    },
    "07_what_is_left_open": {
        ROUNDED: "0.025 0.037 0.040 0.065 14 32 15 73",
        SETTING: "1.6 2.2 200 7.6",
        SUM: "255",
        BY_HAND: "157",
    },
    "08_what_it_costs": {
        ROUNDED: "3,600 50,000",
        SETTING: "16 4,000 150 220",
        BY_HAND: "0.6 2.7 6.3 9",
        "of a run that no cell shows": "1.3 2.5 48,000",
    },
    "10_real_payoffs": {LITERATURE: "27 77", SETTING: "40"},
}
NAMED = re.compile(
    r"(?i)\b(?:lemma|theorem|section|algorithm|proposition|step|stage|equation|arm|round|seed|item)s?"
    r" \(?\d+(?![\d,.]*\d)(?:(?:, | and | to | or |–)\d+(?![\d,.]*\d))*\)?|\bR\d+\b"
    r"|\b(?:arxiv\S* ?)?(?:19|20|21)\d\d(?:\.\d{4,5})?\b(?![.,]\d)"
)
"""What is called by a number: statements, steps, arms, years and papers."""


def prose_of(chapter: str) -> tuple[str, str, set[str]]:
    """A chapter's finding, its outputs, both on one line, and all numbers that its cells have."""
    path = ROOT / "notebooks" / f"{chapter}.ipynb"
    said, shown = (" ".join(text.split()) for text in said_by(path))
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = " ".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    return said, shown, numbers(shown) | numbers(code.replace("_", ""))


@pytest.mark.parametrize("chapter", TIED)
def test_the_numbers_of_a_finding_are_those_of_the_outputs_that_they_come_from(
    chapter: str,
) -> None:
    said, shown, _ = prose_of(chapter)
    for words, pattern, *shape in TIED[chapter]:
        found = re.search(pattern, shown)
        assert found, f"no output has {pattern}"
        values = [
            shape[0].format(float(f"{float(x.replace(',', '')):.2g}")) if shape else x
            for x in found.groups()
        ]
        assert words.format(*values) in said


def all_prose(chapter: str) -> str:
    """Every text cell of a chapter."""
    cells = json.loads((ROOT / "notebooks" / f"{chapter}.ipynb").read_text("utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


@pytest.mark.parametrize("chapter", NOT_IN_OUTPUTS)
def test_a_number_in_prose_stands_in_an_output_or_in_a_cell_or_is_listed(chapter: str) -> None:
    prose = all_prose(chapter)
    listed = {one for group in NOT_IN_OUTPUTS[chapter].values() for one in group.split()}
    assert numbers(NAMED.sub(" ", prose)) - prose_of(chapter)[2] == listed


def test_the_counts_of_chapter_07_are_those_of_the_map() -> None:
    said, _, _ = prose_of("07_what_is_left_open")
    cells = pd.read_csv(ROOT / "data" / "map.csv", dtype={"width": str})
    own = cells[(cells.instance == "section6") & cells.noise.str.contains("Student|Pareto")]
    other = cells.drop(own.index)
    near = own[(own.width == "1") & ~own.noise.str.contains("exact")]
    near = near[near.explore.isin(["first", "random"])]
    assert not (near.learns == "yes").any()

    def true(part: pd.DataFrame) -> str:
        return f"{(part.outperform == 'yes').sum()} of {len(part)}"

    ours, flat = (part[part.width == "circulated"] for part in (own, other))
    assert f"the paper's order is there in {true(near)} cases" in said
    assert f"the order is there in {true(ours)} cases on Section 6's own" in said
    assert (ours.learns == "yes").all()
    staged = other[other.width != "circulated"]
    assert f"the order is there in {true(staged)} cases with stages and in {true(flat)}" in said
    printed = cells[(cells.width == "1")]
    six = printed[["SupBMM", "SupBTC", "MoM", "CRT", "MENU", "TOFU"]].min(axis=1)
    over = six / printed.GreedyRidge
    assert (over > 1).all()
    large = over[~printed.noise.str.contains("Pareto")]
    assert f"{large.median():.0f} times as large in the median where the noise is large" in said


def test_a_difference_that_is_just_not_significant_is_given_with_its_limit() -> None:
    shown = prose_of("07_what_is_left_open")[1]
    found = re.search(r"− greedy ridge, 1 play .*? FlatBTC \d+ (\S+ ± \S+) ", shown)
    assert found
    said = f"the difference, {found[1]} per 10⁴ plays, is just not significant"
    assert said in all_prose("07_what_is_left_open")


def test_at_how_many_horizons_chapter_06_sees_an_order_is_as_recorded() -> None:
    said, _, _ = prose_of("06_section_6")
    words = {f"{n} of 3 horizons": word for n, word in enumerate(("none", "one", "two", "three"))}
    for_t, for_pareto, smallest = (
        words[EVIDENCE[f"sec6-{id}"]["seen at"]]
        for id in ("outperform-t", "outperform-pareto", "supbmm-smallest")
    )
    assert f"with Student's t noise at all {for_t} horizons" in said
    assert f"with Pareto noise at {for_pareto} of three" in said
    assert f'"SupBMM achieves the smallest regret" is seen at {smallest} of the three' in said


def test_at_how_many_sites_chapter_10_misses_an_arm_is_as_in_the_log() -> None:
    said, _, _ = prose_of("10_real_payoffs")
    rates = pd.read_csv(ROOT / "data" / "rand_hie.csv").groupby("site").rate.unique()
    lacks = [site for site, drawn in rates.items() if 50 not in drawn]
    assert (len(rates), len(lacks)) == (6, 1)
    assert "at one of its six sites one arm was never drawn" in said
    assert f"in units of {real_payoffs.UNIT:g} visits" in all_prose("10_real_payoffs")


# Chapter 09.

ARXIV = "the number of a paper"
BEYOND = {  # numbers of chapter 09's prose that no output has, and why
    "2,000": "plays of board_flags, leaderboard.FLAGS",
    "99": "board_tables.FROZEN",
    "150": "SupBMM's plays per round, 125 to 179 on the held-out cells",
    "84.7": "what the third board gave SupBMM, in the history of data/leaderboard.csv",
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
