"""The page "What the bounds say" in a browser: its formulas and what it says in words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from heavybandit import theory

from .bounds import (
    ENDS,
    SECTION6,
    UPPER,
    Setting,
    assert_table,
    bound,
    from_which_on,
    least_printed,
    least_repaired,
    random_settings,
    uniform_on_construction,
)
from .conftest import load


@pytest.fixture(scope="module")
def bounds_page(browser: Browser, book: str) -> Iterator[Page]:
    """The page, opened once: nothing here changes it."""
    page = browser.new_page()
    yield load(page, f"{book}bounds.html")
    page.close()


# The formulas


def corners() -> list[Setting]:
    """All combinations of the ends, with T = 3 and the least K and d of Theorem 3 besides."""
    ends = {**ENDS, "T": (3, 100, 1e16), "d": (1, 4, 5, 20_000), "K": (2, 4, 1_000), "cost": (2.0,)}
    return [dict(zip(ends, one, strict=True)) for one in itertools.product(*ends.values())]


FORMULAS: dict[str, tuple[str, Callable[..., Any]]] = {  # of the page: its arguments, its twin
    "logTerm": ("T K delta", theory.log_term),
    "playsPerRound": ("T K delta", theory.plays_per_round),
    "theorem1": ("T d K v delta eps", theory.theorem1),
    "theorem2": ("T d K raw delta eps", theory.theorem2),
    "theorem3": ("T d eps", theory.theorem3),
    "theorem3Gamma": ("T K eps", theory.theorem3_gamma),
    "uniformOnConstruction": ("T K eps", uniform_on_construction),
    "theorem3Applies": ("T d K eps", theory.theorem3_applies),
    "theorem3Printed": ("d K eps", least_printed),
    "theorem3Repaired": ("d K eps", least_repaired),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_equals_theory_on_a_grid(name: str, bounds_page: Page) -> None:
    arguments, twin = FORMULAS[name]
    calls = [[s[a] for a in arguments.split()] for s in (*corners(), *random_settings(400, seed=1))]
    wanted = [twin(*values) for values in calls]
    assert sum(value is not None for value in wanted) > 200
    found = bounds_page.evaluate(
        """([name, calls, holds]) => calls.map(
          (values, i) => holds[i] ? window.heavybanditBounds[name](...values) : null)""",
        [name, calls, [value is not None for value in wanted]],
    )
    for values, shown, value in zip(calls, found, wanted, strict=True):
        if value is None or isinstance(value, bool):
            assert shown is value, values
        else:
            assert shown == pytest.approx(float(value), rel=1e-9), values


Call = tuple[float, ...]
UPPER_CALL: Call = (100, 10, 20, 3, 0.01, 1)
# A call that is accepted, and the places of its arguments with what each may not be.
REFUSED: dict[str, tuple[Callable[..., object], Call, list[tuple[int, float]]]] = {
    "theorem1": (theory.theorem1, UPPER_CALL, [(0, 2), (1, 0), (2, 0), (3, 0), (5, 2)]),
    "theorem2": (theory.theorem2, UPPER_CALL, [(1, 0), (3, -1), (4, 1), (5, 0)]),
    "theorem3": (theory.theorem3, (100, 10, 1), [(0, 2), (1, 0), (2, 2)]),
    "theorem3Gamma": (theory.theorem3_gamma, (100, 4, 1), [(0, 2), (1, 0), (2, 0)]),
    "theorem3Applies": (theory.theorem3_applies, (100, 4, 4, 1), [(0, 2), (1, 0), (2, 0), (3, 0)]),
    "theorem3Repaired": (theory.theorem3_repaired, (10, 4, 1), [(1, 3), (0, 4), (2, 0)]),
    "absHorizon": (partial(theory.horizon_of_use, abs), (2, 3, 4), [(0, 0), (1, 0), (2, 2)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_theory_refuses_the_page_refuses_in_its_words(name: str, bounds_page: Page) -> None:
    twin, accepted, changes = REFUSED[name]
    calls = [(*accepted[:i], wrong, *accepted[i + 1 :]) for i, wrong in changes]
    said = bounds_page.evaluate(
        """([name, calls]) => {
          const b = window.heavybanditBounds;
          const all = {...b, absHorizon: (...rest) => b.horizonOfUse(Math.abs, ...rest)};
          return calls.map((values) => {
            try { return `accepted, with ${all[name](...values)}`; }
            catch (error) { return error.message; }
          });
        }""",
        [name, calls],
    )
    for words, values in zip(said, calls, strict=True):
        with pytest.raises(ValueError, match="must be") as refused:
            twin(*values)
        assert words == str(refused.value), values


def test_horizons_of_use_agree_on_a_grid(bounds_page: Page) -> None:
    ends = [{n: ENDS[n][i] for n in ENDS} for i in (0, 1)]  # at the first one nothing is in reach
    grid = [SECTION6, *ends, *random_settings(5, seed=2)]
    found = bounds_page.evaluate(
        """(grid) => {
          const b = window.heavybanditBounds;
          return grid.map(({d, K, v, raw, delta, eps, cost}) => [
            (T) => b.theorem1(T, d, K, v, delta, eps),
            (T) => b.theorem2(T, d, K, raw, delta, eps),
          ].map((bound) => [2, cost].map((rate) => String(b.horizonOfUse(bound, rate)))));
        }""",
        grid,
    )
    for s, both in zip(grid, found, strict=True):
        for which, pair in zip(UPPER, both, strict=True):
            twin = cache(bound(which, s))  # both rates ask for the same thousands of horizons
            for rate, T in zip((2, s["cost"]), pair, strict=True):
                wanted = theory.horizon_of_use(twin, rate)
                assert float(T) == pytest.approx(wanted, rel=1e-9), f"{which}, {rate} a play, {s}"


def test_horizons_of_use_agree_at_the_edges_of_the_search(bounds_page: Page) -> None:
    edges: list[tuple[str, Callable[[float], float], float]] = [
        ("(T) => T", lambda T: T, 3.0),  # below throughout: the start itself
        ("(T) => T", lambda T: T, 1e-3),
        ("(T) => 3 * T", lambda T: 3 * T, 3.0),  # never below
        ("(T) => 1e20 * T ** 0.5", lambda T: 1e20 * T**0.5, 3.0),
        ("(T) => 1e20 * T / T ** 0.5", lambda T: 1e20 * T / T**0.5, 3.0),  # overflows at the end
        ("(T) => Math.log(T) ** 5 * T ** 0.9", lambda T: math.log(T) ** 5 * T**0.9, 3.0),  # a hump
    ]
    for script, twin, start in edges:
        call = f"String(window.heavybanditBounds.horizonOfUse({script}, 2, {start}))"
        wanted = theory.horizon_of_use(twin, 2, start)
        assert float(bounds_page.evaluate(call)) == pytest.approx(wanted, rel=1e-9), script


# The sentences


def in_words(x: float) -> str:
    """A number as the page's sentences write it: 4.1·10⁷, 2,795, 0.08."""
    mantissa, exponent = f"{x:.1e}".split("e")
    power = int(exponent)
    if power >= 5:
        shortest = f"{float(mantissa):g}" if float(mantissa) == x / 10**power else mantissa
        raised = f"10{str(power).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
        return raised if shortest == "1" else f"{shortest}·{raised}"
    if power >= 2:
        return f"{math.floor(x + 0.5):,}"
    return f"{float(f'{x:.2g}'):g}"


def test_in_section_6_both_upper_bounds_say_nothing_at_100_000_plays(bounds_page: Page) -> None:
    assert bounds_page.inner_text("#bounds-summary") == (
        "At T = 10⁵ Theorems 1 and 2 say nothing, and Theorem 3 does not apply."
    )
    first = bounds_page.inner_text("#bounds-say-theorem1")
    assert "promises at most 6.5·10⁷, more than the 2·10⁵" in first  # 64,523,859 by theory.py
    assert "says nothing before T = 8.2·10¹⁰" in first  # as in notebook 03
    assert "says nothing before T = 3.7·10⁹" in bounds_page.inner_text("#bounds-say-theorem2")
    assert_table(bounds_page, SECTION6)


def test_the_sentences_on_upper_bounds_are_true_of_every_setting(bounds_page: Page) -> None:
    settings = [*random_settings(60, seed=3), *near_the_lines(40, seed=4)]
    found = bounds_page.evaluate(
        "(all) => all.map((s) => window.heavybanditBounds.sentences(s))", settings
    )
    told = set()
    for s, said in zip(settings, found, strict=True):
        T, plays = s["T"], theory.plays_per_round(s["T"], int(s["K"]), s["delta"])
        for which in UPPER:
            value, sentence = bound(which, s)(T), said[f"bounds-say-{which}"]
            if which == "theorem1" and plays > T:
                state, numbers = "too short for one", [str(plays)]
            elif value >= 2 * T:
                trivial = from_which_on(which, s, 2)
                state = "says nothing before" if trivial < math.inf else "nothing at any T"
                numbers = [in_words(x) for x in (value, 2 * T, trivial) if x < math.inf]
            elif value >= s["cost"] * T:
                state, numbers = "but uniform play costs", [in_words(value), in_words(2 * T)]
            else:
                state, numbers = "does better", [in_words(value), in_words(s["cost"] * T)]
            told.add(state)
            assert state in sentence, f"{sentence} at {s}"
            for number in numbers:
                assert number in sentence, f"{number} is not in: {sentence} at {s}"
            silent = state in ("says nothing before", "nothing at any T")
            both = "Theorems 1 and 2 say nothing" in said["bounds-summary"]
            each = f"Theorem {which[-1]} says nothing" in said["bounds-summary"]
            assert silent is (both or each), f"{said['bounds-summary']} at {s}"
    assert len(told) == 4, f"only these cases were met: {told}"


def near_the_lines(count: int, seed: int) -> Iterator[Setting]:
    """Long horizons and light tails, where bounds do say something, and the shortest T."""
    for i, s in enumerate(random_settings(count, seed=seed)):
        yield {**s, "eps": 1.0, "T": 1e16 if i % 2 else 101, "d": 3, "v": 0.1, "raw": 0.1}


LOWER: list[tuple[Setting, str, str, str]] = [  # a setting, both sentences, how the summary ends
    (
        {"d": 10, "K": 20},
        "Theorem 3 needs d ≥ K, and here d = 10 and K = 20.",
        "Theorem 3′ needs d ≥ K + 1, and here d = 10 and K = 20.",
        "Theorem 3 does not apply.",
    ),
    (
        {"d": 10, "K": 3},
        "Theorem 3 needs K ≥ 4, and here K = 3.",
        "Theorem 3′ needs K ≥ 4, and here K = 3.",
        "Theorem 3 does not apply.",
    ),
    (
        {"d": 20, "K": 20},
        "with d = K its construction has no stage",
        "Theorem 3′ needs d ≥ K + 1",
        "Theorem 3 holds, though its construction has no stage.",
    ),
    (  # (2·50)² = 10,000 and 49·(49/4)² = 7,353
        {"d": 50, "K": 4, "eps": 1 / 3, "T": 120},  # 0.38⁴·49·(49/4)² = 153
        "needs T ≥ (2d)^((1+ε)/(2ε)) = 10,000, and here T = 120.",
        "= 153, and here T = 120.",
        "Theorem 3 does not apply.",
    ),
    (
        {"d": 50, "K": 4, "eps": 1 / 3, "T": 8_000},
        "= 10,000, and here T = 8,000.",
        "is proved from T = 153 on",
        "Theorem 3 is proved as repaired.",
    ),
    (  # √400·√1,000/32 = 19.76; uniform play: 1,000·√(4/1,008)·¾ = 47.25; 0.38²·400²/4 = 5,776
        {"d": 401, "K": 4, "T": 1_000},
        "at least 19.76 in expectation; on its construction uniform play costs 47.25.",
        "= 5,776, and here T = 1,000.",
        "Theorem 3 is claimed, but Theorem 3′ does not cover this T.",
    ),
    (  # √16·√10⁴/32 = 12.5; uniform play: 10⁴·√(4/10,008)·¾ = 149.94
        {"d": 17, "K": 4, "T": 1e4},
        "claims that for every algorithm there is an instance that costs it at least 12.5 in "
        "expectation; on its construction uniform play costs 150.",
        "is proved from T = 34 on: for every algorithm there is an instance that costs it at least "
        "12.5 in expectation.",
        "Theorem 3 holds as repaired.",
    ),
    (  # notebook 05: 1,500 against 2,795
        {"d": 8_001, "K": 4, "T": 1e6},
        "at least 2,795 in expectation. Its construction does not show that: uniform play costs "
        "1,500 there.",
        "= 2.3·10⁶, and here T = 10⁶.",
        "Theorem 3's construction does not show what it claims.",
    ),
    (  # notebook 05: at most 3,000 against 3,953
        {"d": 16_001, "K": 4, "T": 1e6},
        "at least 3,953 in expectation. That is false: with the printed γ and moments of at most "
        "2, uniform play costs no more than 3,000 on any such instance.",
        "= 9.2·10⁶, and here T = 10⁶.",
        "Theorem 3 is false as printed, read with its proof's bound of 2 on the moments.",
    ),
    (
        {"d": 16_001, "K": 4, "T": 1e8},
        "That is false",
        "is proved from T = 9.2·10⁶ on",
        "Theorem 3 is false as printed, read with its proof's bound of 2 on the moments, but "
        "proved as repaired.",
    ),
]


def test_the_sentences_on_the_lower_bound_name_what_is_missing_or_false(bounds_page: Page) -> None:
    for setting, printed, repaired, end in LOWER:
        said = bounds_page.evaluate(
            "(s) => window.heavybanditBounds.sentences(s)", {**SECTION6, **setting}
        )
        assert printed in said["bounds-say-theorem3"]
        assert repaired in said["bounds-say-theorem3-repaired"]
        assert said["bounds-summary"].endswith(f", and {end}")


def test_the_numbers_in_the_prose_follow_from_theory(bounds_page: Page) -> None:
    prose = " ".join(bounds_page.locator("p").all_inner_texts()).replace("’", "'")
    prose = prose.replace("\u00a0", " ")
    least = {**SECTION6, "v": ENDS["v"][0], "raw": ENDS["raw"][0]}
    falls = [bound(one, least)(1e5) / bound(one, SECTION6)(1e5) for one in UPPER]
    assert "Theorem 1's bound falls to a sixth, Theorem 2's only to a half" in prose
    assert falls == pytest.approx([1 / 6, 1 / 2], rel=0.06)
    small = {**SECTION6, "d": 2, "K": 4, "v": 0.0027}
    assert "its bound promises less than uniform play costs from 2·10⁹ plays on" in prose
    assert from_which_on("theorem1", small, 0.73) == pytest.approx(2e9, rel=0.1)
    assert "for ε = 1, d = 16,001 and K = 4 it is false as printed" in prose
    for T in (2 * 16_001, 1e6, 1e16):  # wherever it applies
        assert theory.theorem3_applies(T, 16_001, 4, 1.0)
        assert 2 * uniform_on_construction(T, 4) < theory.theorem3(T, 16_001, 1.0)
    # That it leaves the drawing, for both bounds, when ε is made smaller:
    smaller = {**SECTION6, "eps": 0.4}
    assert "Make ε smaller, and that T leaves the drawing" in prose
    assert min(from_which_on(one, smaller, 2) for one in UPPER) > 1e16
