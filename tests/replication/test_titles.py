"""What the titles of figures say, one by one: is it so, and is it what the picture has?

A title above a figure is a finding like those in prose, and it is often typed in. Every figure has
one entry here: its title, with numbers in braces that a source gives now, and a check of its words,
which is in `drawn`.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape

import pytest

import came_out as out
import drawn
import prose
from came_out import powers
from drawn import asserted, entry, shown
from heavybandit.replication import section_6
from prose import NAME, Is, Recorded, Shown, Source, rounded

HALF_WIDTH = "half-width over largest error"


@dataclass(frozen=True)
class Title:
    """A title; `numbers` gives those in braces, and `true` says whether its words are."""

    words: str
    true: Callable[[], bool] | None = None
    numbers: Source = NAME


def picture(name: str) -> str:
    """All words of a figure; matplotlib writes them beside the shapes that it draws of them."""
    text = prose.read(f"figures/{name}.svg")
    return prose.one_line(unescape(" ".join(re.findall(r"<!-- (.*?) -->", text, re.DOTALL))))


def floor(value: float) -> str:
    return str(math.floor(value))


TITLES: dict[str, Title] = {
    "00_medians": Title(
        "For each arm the median comes from a different play, and outliers do not move it",
        drawn.medians_of_three_plays,
    ),
    "00_run": Title(
        "Every stage starts without data and narrows its intervals until it is passed",
        drawn.stages_one_after_the_other,
    ),
    "00_screening": Title(
        "Widths halve from stage to stage; arm 2 falls in stage 3, arm 3 in stage 5",
        lambda: (
            shown("00", r" 1/8 1, 2, 3 .*? (\d) 4 1/16 1, 3 ") == [2]
            and shown("00", r" 1/32 1, 3 .*? (\d) 6 1/64 1 ") == [3]
        ),
    ),
    "00_terms": Title(
        "The payoff {2.4} of round 3 is dropped for arm 1 but kept for arm 3",
        drawn.kept_for_one_arm,
        Shown("00", r"round 3 (\S+) "),
    ),
    "01_lemma_1": Title(
        "No noise tried uses more than half of Lemma 1's bound", drawn.half_of_lemma_1
    ),
    "01_lemma_2": Title(
        "Bad estimates are far rarer than Lemma 2's ¼",
        lambda: entry("lemma-2", "largest upper limit") < 1 / 12,
    ),
    "01_plays": Title(
        "{61} plays suffice by the proof's own numbers, not {158}",
        numbers=Is(
            lambda: [
                entry("prop-1", "plays sufficient by the proof's numbers"),
                *shown("01", r"Section 6 200 20 (\d+) "),
            ],
            "{:.0f}".format,
        ),
    ),
    "01_ridge": Title(
        "Ridge regression's errors keep the noise's tail; BMM's do not", drawn.tails_of_ridge
    ),
    "01_slack": Title(
        "The half-width is at least {6} times the largest error",
        numbers=Is(lambda: [entry("prop-1", HALF_WIDTH)], floor),
    ),
    "02_bernstein": Title(
        "With Var and h the displayed bound is smaller than the probability",
        drawn.displayed_bound_fails,
    ),
    "02_bias_variance": Title(
        "Rare and large payoffs nearly reach the bias bound",
        lambda: (
            0.95 < shown("02", r"bias/\(v h\) (\S+) one context, 2500 rounds, rare and")[0] <= 1
        ),
    ),
    "02_slack": Title(
        "The half-width is at least {4} times the largest error",
        numbers=Is(lambda: [entry("prop-2", HALF_WIDTH)], floor),
    ),
    "02_storage": Title(
        "Of {100,000} payoffs at most {17} are kept at a time",
        numbers=Is(
            lambda: [
                *shown("02", r"Compiled FlatBTC, (\S+) rounds"),
                entry("remark-storage", "most suspects at any time"),
            ],
            "{:,.0f}".format,
        ),
    ),
    "03_independence": Title(
        "Only the choice that looks at payoffs is biased", drawn.only_optimistic
    ),
    "03_leaps": Title(
        "SupBMM: worst regret over √T grows only slowly, far below the bound",
        lambda: drawn.grows_slowly("thm-1"),
    ),
    "03_learning": Title(
        "SupBMM learns, at over a thousand times the regret of greedy ridge", drawn.learns_at_a_cost
    ),
    "03_section6": Title(
        "Theorem 1's bound says something from {8·10¹⁰} plays on",
        numbers=Recorded("thm-1", out.BELOW_2, rounded),
    ),
    "03_stages": Title(
        "The last two stages that are reached take most of the rounds", drawn.last_two_stages
    ),
    "04_cost": Title(
        "SupBTC's cost rises towards the end of each stage", drawn.rises_before_a_stage_ends
    ),
    "04_leaps": Title(
        "SupBTC: worst regret over √T grows only slowly, far below the bound",
        lambda: drawn.grows_slowly("thm-2"),
    ),
    "04_learning": Title(
        "For ε = ½ the printed half-widths prevent learning up to {10⁵} plays",
        numbers=powers(lambda: [out.all_in_stage_1()]),
    ),
    "04_section6": Title(
        "Theorem 2's bound says something from {4·10⁹} plays on",
        numbers=Recorded("thm-2", out.BELOW_2, rounded),
    ),
    "04_stages": Title(
        "For ε = ½ stage 1 alone takes the first {10⁵} plays",
        numbers=powers(lambda: [out.all_in_stage_1()]),
    ),
    "05_gap": Title(
        "Only for ε = 1 does the ratio of the bounds not grow with d", drawn.only_for_one
    ),
    "05_leaps": Title(
        "The worst regret runs nearly parallel to the lower bound", drawn.nearly_parallel
    ),
    "05_policies": Title(
        "No policy comes near the bound: all cost {18} to {24} times as much",
        numbers=Is(drawn.over_the_bound, "{:.0f}".format),
    ),
    "05_region": Title(
        "The printed γ is refuted in the shade; above the blue line another γ proves the bound",
        drawn.refuted_and_proved,
    ),
    "06_differences": Title(
        "None of the six costs significantly less than uniform play, at any horizon",
        drawn.none_below_uniform,
    ),
    "06_figure_1": Title(
        "At {10⁴} and {10⁵} plays SupBMM and SupBTC are the lowest of the six, but at no horizon "
        "is one of the six significantly below uniform play",
        drawn.lowest_but_not_below,
        powers(lambda: section_6.HORIZONS[:2]),
    ),
    "06_figure_1_controls": Title(
        "SupBMM, the winner of Section 6, loses as much as choosing arms at random (uniform play)",
        drawn.as_much_as_at_random,
    ),
    "06_ranks": Title(
        "The four baselines play the widest arm, which is mostly the worst", drawn.widest_and_worst
    ),
    "06_same_arm": Title(
        "With every payoff replaced by 0, SupBMM and SupBTC choose the same arm in every round",
        drawn.always_the_same_arm,
    ),
    "06_stages": Title(
        "With Student's t noise no run gets past stage 3, and at {10⁴} plays none leaves stage 1",
        lambda: drawn.last_stage(10**6) == 3 and drawn.last_stage(10**4) == 1,
        powers(lambda: section_6.HORIZONS[:1]),
    ),
    "06_widths": Title(
        "Each of the six uses half-widths {20} to {1,000} times the error that its data allow",
        numbers=Is(drawn.over_the_error, lambda ratio: f"{float(f'{ratio:.0e}'):,.0f}"),
    ),
    "07_calibration": Title(
        "Smaller widths bring every policy without stages down to uniform play or below it; "
        "SupBMM returns to uniform play",
        drawn.shrinking_widths,
    ),
    "07_map": Title(
        "Section 6's own instance: the paper's order is there in {16} of {68} cells, and only with "
        "the circulated constants do both also beat uniform play",
        drawn.both_beat_uniform_as_circulated,
        Is(lambda: drawn.with_order(True)),
    ),
    "07_practice": Title(
        "No policy costs less than greedy ridge everywhere; means and medians of many plays do so "
        "on the aligned instance only",
        drawn.nowhere_below_ridge,
    ),
    "07_worlds": Title(
        "In other worlds the order is there in {10} of {187} cells: on an aligned instance, or "
        "with the circulated constants",
        drawn.aligned_or_circulated,
        Is(lambda: drawn.with_order(False)),
    ),
    "08_growth": Title(
        "From {10⁴} to {10⁷} plays the engine's time per play grows at most {2.5}-fold",
        numbers=Is(drawn.engine_grows, str),
    ),
    "08_suspects": Title(
        "Of {200,000} payoffs, at most {39} were kept one by one when counted",
        numbers=Shown(
            "08", r"kept one by one in (\S+) plays.*? half-widths × 0.01, ε = 1 \S+ (\d+) "
        ),
    ),
    "08_twins": Title(
        "From {10³} to {10⁴} plays a round of SupBTC's transcription becomes {8.4} times as long; "
        "from {10⁴} to {10⁷} plays one of the engine becomes at most {1.5} times as long",
        numbers=Is(drawn.twins, str),
    ),
    "09_board": Title(
        "Of these entries only SafeRidge, and ClippedUCB and TOFU with constants searched on these "
        "cells, cost significantly less than tuned ridge regression",
        drawn.only_these_below_ridge,
    ),
    "09_own": Title(
        "The template learns: it stays far below uniform play",
        lambda: asserted(
            "09", "all(ours.regret < 0.5 * uniform.regret for ours, *_, uniform in runs)"
        ),
    ),
    "10_visits": Title(
        "Greedy ridge, SafeRidge, ClippedUCB and, only just, TOFU lead to fewer visits than "
        "uniform play",
        lambda: asserted("10", 'fewer == ["GreedyRidge", "SafeRidge", "ClippedUCB", "TOFU"]'),
    ),
}


def test_every_figure_has_its_title_here() -> None:
    figures = sorted(path.stem for path in (prose.ROOT / "figures").glob("*.svg"))
    assert figures == sorted(TITLES)


@pytest.mark.parametrize("name", TITLES)
def test_a_title_is_in_its_picture_and_has_the_numbers_of_its_source(name: str) -> None:
    prose.check(picture(name), TITLES[name].words, TITLES[name].numbers)


@pytest.mark.parametrize("name", [name for name in TITLES if TITLES[name].true])
def test_what_a_title_says_is_true(name: str) -> None:
    true = TITLES[name].true
    assert true is not None
    assert true()


@pytest.mark.parametrize("name", TITLES)
def test_a_title_has_no_number_without_a_source(name: str) -> None:
    words = prose.NAMED.sub(
        " ", re.sub(r"{[^}]*}|ε = 1|every payoff replaced by 0", " ", TITLES[name].words)
    )
    assert prose.digits(words) == set()
