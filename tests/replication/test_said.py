"""Every number of README.md, the guide, the landing page, the poster and the page on bounds.

`prose` says how a phrase is held. What policies cost in the advice is named by comments in the text
and held by test_advice.py; ERRATA.md is held by phrases where it has results, and its other
numbers stand in the chapters that its rows name.
"""

import functools
import inspect
import re
import tomllib

import pytest

import came_out as out
import front
import heavybandit as hb
import prose
from came_out import HORIZONS, powers
from heavybandit import practice
from heavybandit.policy import TIE
from heavybandit.replication import board_tables, claims, leaderboard, protocol, section_6
from prose import (
    COUNTED,
    MEASURED,
    NAME,
    READ_OFF,
    SET_UP,
    Is,
    Recorded,
    Shown,
    Source,
    capital,
    count,
    rounded,
    two_digits,
)

A_TABLE = re.compile(r"<!-- claims: begin.*?claims: end -->", re.S)
"""Generated, and compared by test_ledger.py."""


@functools.cache
def page(name: str) -> str:
    """The text of a page without what is generated or held elsewhere."""
    if name == "answers":
        return front.answers(claims.read(out.DATA), out.BOARD)
    if name == "poster":
        panels = tomllib.loads(prose.read("book/poster.toml"))
        return "\n".join(panel["alt"] for panel in panels["section"])
    text = A_TABLE.sub(" ", prose.read(name))
    if name == "book/glossary.md":
        return text.partition("## Words")[2].replace("```", "")
    *advice, last = prose.COSTS.split(text)
    costs = (prose.PERCENTAGE.sub("¦", words) for words in advice[::2])
    return "\n".join([*costs, last]) if advice else text


def versions() -> list[str]:
    text = prose.read("pyproject.toml")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


THE_TWO: dict[str, Source] = {
    "its two algorithms choose": NAME,
    "every payoff is replaced by 0": NAME,
    "at {10⁴}, {10⁵} and {10⁶} plays": HORIZONS,
    "the four baselines": NAME,
}
FIGURE: dict[str, Source] = {
    "Two panels of mean": COUNTED,
    "the {six} algorithms of Section 6": Is(lambda: [len(section_6.COMPARED)], count),
    "runs with {four} controls": Is(lambda: [len(section_6.CONTROLS)], count),
    "*10⁵ plays, printed constants": "the horizon that the cell of the figure asks for",
    "the paper's two are ahead": NAME,
}
SIMULTANEOUS = Is(lambda: [2 * leaderboard.simultaneous(1) - 1], "{:.2f}".format)
PAGES: dict[str, dict[str, Source]] = {
    "README.md": THE_TWO
    | FIGURE
    | {
        "one of several options": NAME,
        "of some order 1 + ε, 0 < ε ≤ 1, is": NAME,
        "{23} statements of the paper receive": Is(lambda: [len(claims.read(out.DATA))]),
        "Student's t noise at {three} of three horizons": out.SEEN_T,
        "Pareto noise at {two} of three": out.SEEN_PARETO,
        "the better of the two": NAME,
        "in every run, up to {10¹⁵} plays": out.LONGEST_LEAP,
        "exceeds a {100th} of its bound": out.NO_MORE_THAN,
        "until {8·10¹⁰} plays (Theorem 1)": Recorded("thm-1", out.BELOW_2, rounded),
        "and {4·10⁹} plays (Theorem 2)": Recorded("thm-2", out.BELOW_2, rounded),
        "tries {68} ways to run it and {187} variations": Is(lambda: map(len, out.map_cells())),
        "of {14} held-out simulated *worlds*": out.HELD_OUT,
        "with {10³} to {10⁵} plays": powers(
            lambda: [min(out.held_out("plays")), max(out.held_out("plays"))]
        ),
        "the best of {128} configurations": Is(lambda: [sum(protocol.SIZES)]),
        "paired over {24} seeds": Is(lambda: [protocol.BOARD_SEEDS]),
        "limits exclude 0; they": NAME,
        "for all entries together with confidence {0.95}": SIMULTANEOUS,
        "on a moment of order 1 + ε": NAME,
        "payoffs are about 1:": NAME,
        "in one of the {14} worlds": out.HELD_OUT,
        "eight fixed, orthogonal arms of which two have means above 0, one twice as high as": (
            "came_out.best_arm_first_and_last has them"
        ),
        "Student's t noise, 10⁴ plays, defaults, median of ten seeds": "and these",
        "is {0} if the best arm is listed first, and {4,488} if it is listed last": Is(
            lambda: out.best_arm_first_and_last()[:2], "{:,.0f}".format
        ),
        "is {0} and {4,499}, and": Is(lambda: out.best_arm_first_and_last()[2:4], "{:,.0f}".format),
        "is {152} and {125}.": Is(lambda: out.best_arm_first_and_last()[4:], "{:,.0f}".format),
        "Python {3.11}, {3.12} or {3.13} (on": Is(versions, str),
        "On two cores": SET_UP,
        "about six minutes and the second sixteen": MEASURED,
        "three arms in two dimensions": SET_UP,
        "tested at up to {10¹⁵} plays": out.LONGEST_LEAP,
        "moments of at most 2": NAME,
        "(K = 4, ε = 1: from d = {9,217})": Recorded("thm-3", out.FALSE_FROM),
        "run in {255} settings": Is(lambda: [sum(map(len, out.map_cells()))]),
        "if every payoff is 0": NAME,
        "for ε = 1 without rescanning": NAME,
        "at 10⁴ plays about {2,200} times as fast": Shown(
            "08",
            r"SupBTC, T = 10,000: transcription over engine (\S+) ",
            two_digits("{:,.0f}"),
        ),
        "with one of them inside": NAME,
        "in half a minute": MEASURED,
        "is seen at one horizon": NAME,
        "has all {23} statements": Is(lambda: [len(claims.read(out.DATA))]),
        "the five members": COUNTED,
        "1+ε moment": NAME,
        "(Section 6 prints {4})": Is(
            lambda: [hb.instances.PRINTED_BOUNDS["student-t"][1]], "{:.0f}".format
        ),
        "when one of them is": NAME,
        "up to half a minute": MEASURED,
        "**Two implementations.**": NAME,
        "for ε = 1 never rescans": NAME,
        "hold the two equal": NAME,
        "on thousands of generated histories": "as many as hypothesis is told to generate",
        ", two tables) goes into": COUNTED,
        "in a trial, one of twenty such changes was found": "a trial that is not repeated",
        "with 2 to {40} dimensions": Is(lambda: [max(out.held_out("d"))]),
        "reach {10⁸} plays": powers(lambda: [out.longest("theorem")]),
        "and {10⁶} on Section 6": powers(lambda: section_6.HORIZONS[-1:]),
        "({2·10⁷} where T counts rounds)": Is(lambda: [out.longest("section6")], rounded),
        "Those of {10¹⁵} plays need ε = 1": out.LONGEST_LEAP,
        "on Linux with Python {3.11} and {3.13},": Is(lambda: versions()[::2], str),
        "notebooks with {3.12};": Is(lambda: versions()[1:2], str),
        "and four others": COUNTED,
        "shown payoffs of 0": NAME,
    },
    "book/guide.md": {
        "moment of order 1 + ε, 0 < ε ≤ 1.": NAME,
        "the mean context is 0": NAME,
        "paired over {24} seeds": Is(lambda: [protocol.BOARD_SEEDS]),
        "limits exclude 0. They": NAME,
        "together with confidence {0.95}": SIMULTANEOUS,
        "in all {14} held-out cells": out.HELD_OUT,
        "is above {10⁵} plays": powers(lambda: [max(out.held_out("plays"))]),
        "regression tuned on {eight} worlds": out.TRAINING,
        "Over all {14} cells": out.HELD_OUT,
        "on the two cells that have them": COUNTED,
        "brings mean payoffs between −1 and 1, as the algorithms assume (‖θ\\*‖ ≤ 1)": NAME,
        "are 10 too large": "the cell is called offset + 10",
        "contexts longer than 1": NAME,
        "value tuned on {eight} worlds": out.TRAINING,
        "was {264}; 1,000 cannot": Is(
            lambda: [leaderboard.configurations("GreedyRidge")[_chosen()]["ridge"]], "{:.0f}".format
        ),
        "the default of {1}": Is(
            lambda: [inspect.signature(hb.GreedyRidge).parameters["ridge"].default], "{:g}".format
        ),
        "Compare the two": NAME,
        "(width factors below 10⁻⁶": READ_OFF,
        "told ε = 1 and a tenth of": "the cell has v × 0.1",
        "payoffs are about 1": NAME,
        "{Three} cells do not": Is(lambda: [out.fixed(protocol.HELD_OUT)], capital),
        "by less than {10⁻⁹} count as equal": powers(lambda: [TIE]),
        "settles on a wrong one": NAME,
        "in the first two cells": COUNTED,
        "without these the two are": COUNTED,
        "{seven} of the": Is(
            lambda: [len(protocol.TRAINING) - out.fixed(protocol.TRAINING)], count
        ),
        "of the {eight} training cells": out.TRAINING,
        "widths near 0": READ_OFF,
    },
    "book/index.md": {
        "{23} statements of the paper": Is(lambda: [len(claims.read(out.DATA))]),
        "three questions": NAME,
    },
    "answers": {
        "in {100} % of rounds": Is(lambda: [100 * min(_same_arm())], "{:.0f}".format),
        "payoff is replaced by 0": NAME,
        "at {10⁴}, {10⁵} and {10⁶} plays": HORIZONS,
        "With K = 4, ε = 1 and second moments of at most 2": "the recorded value is called so",
        "from d = {9,217} on": Recorded("thm-3", out.FALSE_FROM),
        "at d = 16,001 and 10⁶ plays it": "the recorded value is called so",
        "a regret of {3,953}": Recorded("thm-3", "claimed there"),
        "has at most {3,000}": Recorded("thm-3", out.UNIFORM_AT_MOST),
        "over the {5} held-out": Is(lambda: [board_tables.skewed(out.BOARD).cell.nunique()]),
        "tuned HeavyOFUL, {25.1} % of": Is(lambda: out.skewed_costs()[:1], "{:.1f}".format),
        "costs {27.4} %, and": Is(lambda: out.skewed_costs()[1:2], "{:.1f}".format),
        "tuning, {37.7} %": Is(lambda: out.skewed_costs()[2:], "{:.1f}".format),
        "in {3} of these worlds some entry": Is(lambda: out.below_ridge()[:1]),
        "no entry does in more than {1} of them": Is(lambda: out.below_ridge()[1:]),
        "best one there": NAME,
    },
    "poster": {
        "up to ten to the {15} plays": Is(
            lambda: [len(str(out.read("leaps_bmm", out.DATA).horizon.max())) - 1]
        ),
        "for four ways to choose": COUNTED,
        "the {six} algorithms": Is(lambda: [len(section_6.COMPARED)], count),
        "beside {four} controls": Is(lambda: [len(section_6.CONTROLS)], count),
    },
    "book/bounds.md": {
        "[−1, 1]": NAME,
        "more than 2 per play": NAME,
        "above 2T": NAME,
        "{0.08} per play on": Shown(
            "03", r"uniform play, (\S+) per play 10¹⁴", lambda x: f"{float(x):.2f}"
        ),
        "the two settings about": COUNTED,
        "bound falls to a sixth, Theorem 2's only to a half": READ_OFF,
        "costs less than half of": READ_OFF,
        "does at T = 10⁴ already": READ_OFF,
        "from {2·10⁹} plays on": Shown(
            "03", r"0\.583 \S+ (2\.2·10⁹) ε = ½", lambda x: x[0] + x[3:]
        ),
        "For ε = 1, d = 16,001 and K = 4": NAME,
        "bound of 2 on": NAME,
    },
    "book/glossary.md": {
        "{six} ridge regressions": Is(lambda: [2 * len(practice.RIDGES)], count),
        "payoffs in [0, 1]": NAME,
        "at least {99} %": Is(lambda: [board_tables.FROZEN], "{:.0f}".format),
        "every payoff were 0": NAME,
        "In chapter 07": NAME,
        "half-width": NAME,
        "ε = 1": NAME,
        "Two dimensions, four arms": SET_UP,
        "costs {0.73}": Is(lambda: [out.in_small_world("Uniform")], "{:.2f}".format),
    },
    "book/use.md": {},
}
ERRATA: dict[str, Source] = {
    "from d = {9,217} on). On": Recorded("thm-3", out.FALSE_FROM),
    "already from d = {2,305} on": Shown("05", r"moments at most 2 1 4 (\S+) "),
    "at least {40,561} where": Recorded(
        "thm-3", "printed γ, no bound on moments, d = 16,001: at least"
    ),
    "where {3,953} is claimed": Recorded("thm-3", "claimed there"),
    "at most −{191.9} where 25 is claimed": Recorded("lemma-7", out.AS_PRINTED, lambda x: f"{-x}"),
    "{0.152} > {0.111}": Recorded("lemma-8", "KL inequality in general, p = 1, q = 0.9"),
    "{323} times the largest": Shown("06", r"Theorem 1 \(SupBMM\) \S+ (\S+) "),
    "its mean is {0.015}": Shown("06", r"the mean of this noise is (0\.\d+)\)"),
    "seen at {10⁴}, {10⁵} and {10⁶} plays with Student's t": Is(
        lambda: out.seen("sec6-outperform-t"), str
    ),
    "and at {10⁴} and {10⁵} with Pareto": Is(lambda: out.seen("sec6-outperform-pareto"), str),
    "seen at {one} of three horizons": out.SEEN_SMALLEST,
    "of three horizons, {10⁵} plays": Is(lambda: out.seen("sec6-supbmm-smallest"), str),
    "with {5}, {6}, {7} or {17} to {20} rounds": Is(lambda: [*_run_out()[:4], _run_out()[-1]]),
}


def _chosen() -> int:
    (found,) = leaderboard.CHOSEN["GreedyRidge"][-1]
    return found


def _same_arm() -> list[float]:
    found = [prose.evidence(f"sec6-outperform-{noise}") for noise in ("t", "pareto")]
    return [one[at]["same arm"] for one in found for at in one if at.startswith("T = ")]


def _run_out() -> list[int]:
    return prose.evidence("stages-suffice")["rounds for which they can run out"]


@pytest.mark.parametrize(
    ("name", "phrase"), [(name, phrase) for name in PAGES for phrase in PAGES[name]]
)
def test_a_number_on_a_page_is_the_one_that_it_comes_from(name: str, phrase: str) -> None:
    prose.check(page(name), phrase, PAGES[name][phrase])


@pytest.mark.parametrize("name", PAGES)
def test_every_number_of_a_page_is_in_a_phrase(name: str) -> None:
    cells = [cell.name.replace("*", r"\*") for cell in protocol.HELD_OUT]
    assert prose.left_over(page(name), [*map(prose.plain, PAGES[name]), *cells]) == []


@pytest.mark.parametrize("phrase", ERRATA)
def test_a_result_among_the_errata_is_the_recorded_one(phrase: str) -> None:
    prose.check(prose.read("ERRATA.md"), phrase, ERRATA[phrase])


@pytest.mark.parametrize("name", ["README.md", "ERRATA.md", "book/guide.md", "book/index.md"])
def test_a_link_to_a_chapter_that_shows_a_number_shows_its_own(name: str) -> None:
    links = re.findall(
        r"\[(?:notebook |chapter )?(\d\d)\]\([^)]*?(\d\d)_\w+\.ipynb", prose.read(name)
    )
    assert [shown for shown, _ in links] == [to for _, to in links]
