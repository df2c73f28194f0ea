"""Every number of a chapter's finding, one by one; `prose` says how a phrase is held."""

import math

import pytest

import came_out as out
import prose
from came_out import HORIZONS, RIDGE, means, powers
from heavybandit.replication import protocol, section_6
from prose import (
    COUNTED,
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

SMALL_WORLD: dict[str, Source] = {"(two dimensions, four arms, little noise)": SET_UP}
SHORT = r"SupBTC, T = 10,000: transcription over engine (\S+) "
FLAT = (
    r"SupBTC, T = 10,000,000: last tenth of the run over its first three tenths (\S+) .*? ≤ (\S+) "
)

SAID: dict[str, dict[str, Source]] = {
    "00": {
        "all contexts have length 1": NAME,
        "with widths a thirtieth of the printed ones": "the chapter has width_scale=1 / 30",
        "the two inferior arms": NAME,
        "after rounds {44} and {734},": Shown(
            "00", r"1/8 1, 2, 3 \S+ to (\S+) .* 1/32 1, 3 \S+ to (\S+) "
        ),
        "applies from round {1,276} on": Shown("00", r"Step 8 applies from round (\S+) on"),
        "the same two screenings": NAME,
        "at least {57,375} and {1,201,367} plays": Shown(
            "00", r"stage 3 is passed at horizons from (\S+) on, and stage 5 from (\S+) on"
        ),
        "three arms in two dimensions": SET_UP,
        "The four baselines": NAME,
    },
    "01": {
        "prescribes {158} plays of every": Shown("01", r"Section 6 200 20 (\d+) "),
        "although {61} are enough": Shown("01", r"Lemma 2's proof: 25/144 (\d+) "),
        "and {7 to 17} for the": Shown("01", r"as counted, K = 20 (\d+ to \d+) "),
        "the eight noises": SET_UP,
        "with {20} arms": Shown("01", r"as counted, K = (20) "),
        "{7} to {10} times narrower": Shown(
            "01", r"BMM is wider by .*? (\S+) to (\S+) times", two_digits("{:.0f}")
        ),
    },
    "02": {
        "understated by a factor of ten": SET_UP,
        "in all of {10,000} repetitions": Shown("02", r"rare and large, δ/T = 10⁻⁶ (\S+) 0 \1 "),
        "with eight other noises": SET_UP,
        "at most {17} at a time": Recorded("remark-storage", "most suspects at any time"),
        "our two runs": COUNTED,
        "and {none} at the end": Recorded(
            "remark-storage", "suspects at the end of 100,000 rounds, at most", count
        ),
        "the end of {100,000} rounds": Shown("02", r"Compiled FlatBTC, (\S+) rounds"),
    },
    "03": SMALL_WORLD
    | {
        "up to {10¹⁵} plays (ε = 1,": out.LONGEST_LEAP,
        "exceeds {0.6} % of the bound": Recorded(
            "thm-1", out.SHARE, lambda share: f"{math.ceil(1000 * share) / 10}"
        ),
        "From {3·10¹¹} plays on": Recorded("thm-1", out.VIOLATED, rounded),
        "is below {10⁻⁵} of it": out.below("leaps_bmm"),
        "exceeds 2 per play": NAME,
        "until {8·10¹⁰} plays": Recorded("thm-1", out.BELOW_2, rounded),
        "uniform play until {10¹⁴} plays": Recorded("thm-1", out.BELOW_UNIFORM, rounded),
        "at {10⁶} plays its": Shown("03", r"Mean regret at T = (10⁶), ε = 1; and the check"),
        "regret is {17,222}, and that of greedy ridge regression is {1.4}": Shown(
            "03", r"SupBMM greedy ridge largest .*? horizons (\S+) (\S+) "
        ),
        "{Three} steps of the proof are false": Is(lambda: [out.repaired("03")], capital),
        "All {three} can be repaired": Is(lambda: [out.repaired("03")], count),
    },
    "04": SMALL_WORLD
    | {
        "up to {10¹⁵} plays (ε = 1,": out.LONGEST_LEAP_BTC,
        "exceeds a {100th} of the bound": out.NO_MORE_THAN,
        "From {10¹⁰} plays on": Recorded("thm-2", out.VIOLATED, rounded),
        "on {two} of the {four} instances": Is(
            lambda: [(out.first_able() > out.first_able().min()).sum(), len(out.first_able())],
            count,
        ),
        "instances from {10¹¹} on": powers(lambda: [out.first_able().max()]),
        "is below {10⁻⁴} of it": out.below("leaps_btc"),
        "as uniform play at {10⁴} plays": powers(lambda: section_6.HORIZONS[:1]),
        "{35} % and {28} % *more*": Is(lambda: out.more_than_uniform("SupBTC"), "{:.0f}".format),
        "*more* at {10⁵} and {10⁶} plays": powers(lambda: section_6.HORIZONS[1:]),
        "exceeds 2 per play": NAME,
        "until {4·10⁹} plays": Recorded("thm-2", out.BELOW_2, rounded),
        "uniform play until {5.5·10¹²}": Shown("04", r"Theorem 2 \S+ (\S+) Theorem 1"),
        "does learn for ε = 1": NAME,
        "printed half-widths": NAME,
        "takes all of {10⁵} plays": powers(lambda: [out.all_in_stage_1()]),
        "and {457,000} of 10⁶": Is(lambda: [out.in_stage_1()]),
    },
    "05": {
        "With K = 4 arms and ε = 1, from d = {9,217} on": Recorded("thm-3", out.FALSE_FROM),
        "So for ε = 1": NAME,
        "the two points that we tried": COUNTED,
        "at one of them": COUNTED,
        "a second moment of {36}": Shown(
            "05", r"16,001 \S+ printed γ, means \S+ and 0 \d+ (\S+) ", two_digits("{:.0f}")
        ),
        "rests on two lemmas": NAME,
        "three steps of its printed proof": COUNTED,
    },
    "06": {
        "its two algorithms choose": NAME,
        "every payoff is replaced by 0": NAME,
        "at {10⁴}, {10⁵} and {10⁶} plays": HORIZONS,
        "the four baselines": NAME,
        "Student's t noise at all {three} horizons": out.SEEN_T,
        "Pareto noise at {two} of three": out.SEEN_PARETO,
        "up to 10⁵ plays the baselines": READ_OFF,
        "(at 10⁶ TOFU has begun to learn)": READ_OFF,
        "at {one} of the three horizons": out.SEEN_SMALLEST,
        "the two do learn": NAME,
    },
    "07": {
        "instance, half-widths": NAME,
        "is there in {8} of {8} cases, and in": Is(lambda: out.with_order(out.nearest())),
        "in {none} of them do both": Is(lambda: [(out.nearest().learns == "yes").sum()], count),
        "is there in {4} of {4} cases on": Is(
            lambda: out.with_order(out.map_cells()[0].query("width == 'circulated'"))
        ),
        "the paper's two algorithms": NAME,
        "in {4} of {176} cases with stages": Is(
            lambda: out.with_order(out.map_cells()[1].query("width != 'circulated'"))
        ),
        "in {6} of {11} with those constants": Is(
            lambda: out.with_order(out.map_cells()[1].query("width == 'circulated'"))
        ),
        "the best of the six algorithms": NAME,
        "{6} times as large in the median": Is(lambda: [out.over_ridge()], "{:.0f}".format),
    },
    "08": {
        "For ε = 1, SupBTC": NAME,
        "In its two runs of {200,000} plays": Shown(
            "08", r"Payoffs kept one by one in (\S+) plays"
        ),
        "plays with ε = 1 at most": NAME,
        "(For ε < 1 all": NAME,
        "at most {39} payoffs": Shown("08", r"SupBTC, half-widths × 0.01, ε = 1 \S+ (\d+) "),
        "(every {500} plays)": Shown("08", r"looked at every (\d+) plays"),
        "At T = 10⁴ plays the engine that does this was about {2,200} times": Shown(
            "08", SHORT, two_digits("{:,.0f}")
        ),
        "each of the two runs of {1,500} rounds": Shown(
            "08", r"against transcription, (\S+) rounds"
        ),
        "in only {0.06} % of the rounds": Shown("08", r"exact matrix root computed \S+ % (\S+) % "),
        "of a run of {200,000} plays": Shown("08", r"TOFU: share of its (\S+) rounds"),
        "was shorter at {10⁷} plays than at {10⁴}": powers(lambda: out.longest_first("TOFU")),
        "{One} of the": Shown("08", r"(\d+) of \d+ goals missed", capital),
        "of the {23} goals": Shown("08", r"\d+ of (\d+) goals missed"),
        "rises {1.23}-fold within a run of SupBTC over 10⁷ plays (goal: at most {1.2})": Shown(
            "08", FLAT
        ),
    },
    "09": {
        "The {six} algorithms of Section 6": Is(lambda: [len(section_6.COMPARED)], count),
        "two later algorithms": NAME,
        "two policies of our own": NAME,
        "two others do so too": COUNTED,
        "those of the {four} parameters": Is(lambda: [len(protocol.RANGES)], count),
        "judged on {14} held-out cells, one of which": out.HELD_OUT,
        "without any tuning {24.8} % of uniform play's regret on average, against {32.6} %.": means(
            "SafeRidge, defaults", RIDGE
        ),
        "our other policy, at {27.6} %, and TOFU at {28.7} %": means(
            "ClippedUCB, ridge 150, counter", "TOFU, ridge 250, counter"
        ),
        "on the two cells in which": COUNTED,
        "without these two it is not": COUNTED,
        "turned four entries (TOFU, LinUCB, CRT and ClippedUCB without clips)": COUNTED,
        "widths near 0,": READ_OFF,
        "each of the other {20} entries with": Is(out.beside_safe),
        "in one of the {14} cells": out.HELD_OUT,
        "costs {121} % and tuned ridge regression {71} %": Is(
            lambda: [out.cost("grows with", p) for p in ("SafeRidge, defaults", RIDGE)],
            "{:.0f}".format,
        ),
        "LinUCB costs {33.7} % and the": means("LinUCB, published"),
        "heavy tails {76.5} to {105.6} %.": means("TOFU, published", "MENU, published"),
        "HEAVY-OFUL costs {42.1} %, and MoM, CRT, MENU and TOFU {53.8} to {66.6} %": means(
            *(f"{name}, public code, published" for name in ("HeavyOFUL", "TOFU", "MoM"))
        ),
    },
    "10": {
        "at {one} of its {six} sites": Is(
            lambda: [sum(50 not in rates for rates in out.sites()), len(out.sites())], count
        ),
    },
}


@pytest.mark.parametrize(
    ("chapter", "phrase"), [(chapter, phrase) for chapter in SAID for phrase in SAID[chapter]]
)
def test_a_number_of_a_finding_is_the_one_that_it_comes_from(chapter: str, phrase: str) -> None:
    prose.check(prose.finding(chapter), phrase, SAID[chapter][phrase])


@pytest.mark.parametrize("chapter", SAID)
def test_every_number_of_a_finding_is_in_a_phrase(chapter: str) -> None:
    assert prose.left_over(prose.finding(chapter), map(prose.plain, SAID[chapter])) == []
