"""The page "What the bounds say" in a browser: its formulas, sentences, table, drawing, address."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from heavybandit import theory

if TYPE_CHECKING:
    from playwright.sync_api import Page

    OpenPage = Callable[..., Page]

Setting = dict[str, float]

SECTION6: Setting = {
    "T": 1e5,
    "eps": 1.0,
    "d": 10,
    "K": 20,
    "v": 3.0,
    "raw": 4.0,
    "delta": 0.01,
    "cost": 0.08,
}
# The ends of each slider, as the page promises them.
ENDS = {
    "T": (100, 1e16),
    "eps": (0.05, 1.0),
    "d": (1, 20_000),
    "K": (2, 1_000),
    "v": (1e-3, 1e3),
    "raw": (1e-3, 1e3),
    "delta": (1e-6, 0.5),
    "cost": (1e-3, 2.0),
}
WHOLE = ("T", "d", "K")


def random_settings(count: int, seed: int) -> Iterator[Setting]:
    """Settings between the ends of the sliders, evenly in logarithms."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        drawn = {
            name: math.exp(rng.uniform(math.log(low), math.log(high)))
            for name, (low, high) in ENDS.items()
        }
        yield {name: round(x) if name in WHOLE else x for name, x in drawn.items()}


def corners() -> list[Setting]:
    """All combinations of the ends, with T = 3 and the least K and d of Theorem 3 besides."""
    ends = {**ENDS, "T": (3, 100, 1e16), "d": (1, 4, 5, 20_000), "K": (2, 4, 1_000), "cost": (2.0,)}
    return [dict(zip(ends, one, strict=True)) for one in itertools.product(*ends.values())]


def bound(which: str, s: Setting) -> Callable[[Any], Any]:
    """An upper bound of theory.py as a function of T alone, one or an array."""
    function = {"theorem1": theory.theorem1, "theorem2": theory.theorem2}[which]
    v = s["v"] if which == "theorem1" else s["raw"]
    return lambda T: function(T, int(s["d"]), int(s["K"]), v, s["delta"], s["eps"])


def from_which_on(which: str, s: Setting, rate: float) -> float:
    """theory.horizon_of_use between the two T of a grid where the bound last crosses the line.

    All at once, because the search through every T takes a tenth of a second and tests ask for
    hundreds; test_horizons_of_use_agree_on_a_grid compares with that search.
    """
    value = bound(which, s)
    T = np.geomspace(3, 1e290, 6_000)
    useless = np.flatnonzero(~(value(T) < rate * T))
    if not useless.size or useless[-1] + 1 == T.size:
        return theory.horizon_of_use(value, rate)
    low, high = T[useless[-1] : useless[-1] + 2].tolist()
    return theory.horizon_of_use(value, rate, start=low, stop=high)


def address(s: Setting) -> str:
    return "?" + "&".join(f"{name}={value!r}" for name, value in s.items())


def enter(page: Page, s: Setting) -> None:
    """Type a setting into the page's fields."""
    for name, value in s.items():
        page.locator(f"#bounds-{name}-exact").fill(f"{value:g}")


def expected_table(s: Setting) -> dict[str, float | None]:
    """Every number in the page's tables by theory.py; None where nothing is said."""
    T, d, K, eps = s["T"], int(s["d"]), int(s["K"]), s["eps"]
    table: dict[str, float | None] = {}
    for which in ("theorem1", "theorem2"):
        table[f"at-{which}"] = bound(which, s)(T)
        table[f"trivial-{which}"] = from_which_on(which, s, theory.TRIVIAL)
        table[f"uniform-{which}"] = from_which_on(which, s, s["cost"])
    table["at-trivial"], table["at-uniform"] = 2 * T, s["cost"] * T
    claim = float(theory.theorem3(T, d, eps))
    table["at-theorem3"] = claim if theory.theorem3_applies(T, d, K, eps) else None
    table["from-theorem3"], repaired = least_horizons(d, K, eps)
    table["from-theorem3-repaired"] = repaired
    table["at-theorem3-repaired"] = claim if repaired is not None and repaired <= T else None
    return table


def least_horizons(d: int, K: int, eps: float) -> tuple[float | None, float | None]:
    """The least T of Theorem 3 as printed and as repaired, where there is one."""
    printed = (2.0 * d) ** ((1 + eps) / (2 * eps)) if K >= 4 and d >= K else None
    if printed is not None:  # theory.py says whether a T is long enough, not which one is
        assert theory.theorem3_applies(printed * (1 + 1e-9), d, K, eps)
        assert not theory.theorem3_applies(printed * (1 - 1e-9), d, K, eps)
    repaired = theory.theorem3_repaired(d, K, eps) if K >= 4 and d > K else None
    return printed, repaired


def uniform_on_construction(T: float, K: int, eps: float = 1.0) -> float:
    """Tγ^ε (1 − 1/K): what uniform play costs on Theorem 3's construction with the printed γ."""
    return T * float(theory.theorem3_gamma(T, K, eps)) ** eps * (1 - 1 / K)


def assert_table(page: Page, s: Setting) -> None:
    shown = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("#bounds td[id]")]
             .map((cell) => [cell.id.replace("bounds-", ""), cell.dataset.value ?? null]))"""
    )
    wanted = expected_table(s)
    assert shown.keys() == wanted.keys()
    for cell, value in wanted.items():
        if value is None:
            assert shown[cell] is None, f"{cell} shows {shown[cell]} at {s}"
        else:
            assert float(shown[cell]) == pytest.approx(value, rel=1e-9), f"{cell} at {s}"


def in_words(x: float, more: int = 1) -> str:
    """A number as the page's sentences write it: 4.1·10⁷, 2,795, 0.08."""
    mantissa, exponent = f"{x:.{more}e}".split("e")
    power = int(exponent)
    if power >= 5:
        shortest = f"{float(mantissa):g}" if float(mantissa) == x / 10**power else mantissa
        raised = f"10{str(power).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
        return raised if shortest == "1" else f"{shortest}·{raised}"
    if power >= 2:
        return f"{math.floor(x + 0.5):,}"
    return f"{float(f'{x:.{more + 1}g}'):g}"


# The formulas


def test_every_formula_equals_theory_on_a_grid(open_page: OpenPage) -> None:
    grid = [*corners(), *random_settings(400, seed=1)]
    found = open_page("bounds.html").evaluate(
        """(grid) => {
          const b = window.heavybanditBounds;
          return grid.map(({T, d, K, v, raw, delta, eps}) => ({
            logTerm: b.logTerm(T, K, delta),
            playsPerRound: b.playsPerRound(T, K, delta),
            theorem1: b.theorem1(T, d, K, v, delta, eps),
            theorem2: b.theorem2(T, d, K, raw, delta, eps),
            theorem3: b.theorem3(T, d, eps),
            theorem3Gamma: b.theorem3Gamma(T, K, eps),
            uniformOnConstruction: b.uniformOnConstruction(T, K, eps),
            theorem3Applies: b.theorem3Applies(T, d, K, eps),
            theorem3Printed: K >= 4 && d >= K ? b.theorem3Printed(d, K, eps) : null,
            theorem3Repaired: K >= 4 && d > K ? b.theorem3Repaired(d, K, eps) : null,
          }));
        }""",
        grid,
    )
    assert len(grid) > 500
    for s, values in zip(grid, found, strict=True):
        T, d, K, eps = float(s["T"]), int(s["d"]), int(s["K"]), s["eps"]
        printed, repaired = least_horizons(d, K, eps)
        wanted = {
            "logTerm": float(theory.log_term(T, K, s["delta"])),
            "playsPerRound": theory.plays_per_round(T, K, s["delta"]),
            "theorem1": bound("theorem1", s)(T),
            "theorem2": bound("theorem2", s)(T),
            "theorem3": float(theory.theorem3(T, d, eps)),
            "theorem3Gamma": float(theory.theorem3_gamma(T, K, eps)),
            "uniformOnConstruction": uniform_on_construction(T, K, eps),
            "theorem3Applies": theory.theorem3_applies(T, d, K, eps),
            "theorem3Printed": printed,
            "theorem3Repaired": repaired,
        }
        assert values.keys() == wanted.keys()
        for name, value in wanted.items():
            if value is None or isinstance(value, bool):
                assert values[name] is value, f"{name} at {s}"
            else:
                assert values[name] == pytest.approx(value, rel=1e-9), f"{name} at {s}"


def test_what_theory_refuses_the_page_refuses_with_the_same_words(bounds_page: Page) -> None:
    arguments: list[tuple[str, Callable[..., object], tuple[float, ...]]] = [
        ("theorem1", theory.theorem1, (2, 10, 20, 3, 0.01, 1)),
        ("theorem1", theory.theorem1, (100, 0, 20, 3, 0.01, 1)),
        ("theorem1", theory.theorem1, (100, 10, 0, 3, 0.01, 1)),
        ("theorem1", theory.theorem1, (100, 10, 20, 0, 0.01, 1)),
        ("theorem1", theory.theorem1, (100, 10, 20, 3, 0.01, 2)),
        ("theorem2", theory.theorem2, (100, 0, 20, 3, 0.01, 1)),
        ("theorem2", theory.theorem2, (100, 10, 20, -1, 0.01, 1)),
        ("theorem2", theory.theorem2, (100, 10, 20, 3, 1, 1)),
        ("theorem2", theory.theorem2, (100, 10, 20, 3, 0.01, 0)),
        ("theorem3", theory.theorem3, (2, 10, 1)),
        ("theorem3", theory.theorem3, (100, 0, 1)),
        ("theorem3", theory.theorem3, (100, 10, 2)),
        ("theorem3Gamma", theory.theorem3_gamma, (2, 4, 1)),
        ("theorem3Gamma", theory.theorem3_gamma, (100, 0, 1)),
        ("theorem3Gamma", theory.theorem3_gamma, (100, 4, 0)),
        ("theorem3Applies", theory.theorem3_applies, (2, 4, 4, 1)),
        ("theorem3Applies", theory.theorem3_applies, (100, 0, 4, 1)),
        ("theorem3Applies", theory.theorem3_applies, (100, 4, 0, 1)),
        ("theorem3Applies", theory.theorem3_applies, (100, 4, 4, 0)),
        ("theorem3Repaired", theory.theorem3_repaired, (10, 3, 1)),
        ("theorem3Repaired", theory.theorem3_repaired, (4, 4, 1)),
        ("theorem3Repaired", theory.theorem3_repaired, (10, 4, 0)),
        ("constantHorizon", functools.partial(theory.horizon_of_use, abs), (0,)),
        ("constantHorizon", functools.partial(theory.horizon_of_use, abs), (2, 0)),
        ("constantHorizon", functools.partial(theory.horizon_of_use, abs), (2, 3, 2)),
    ]
    said = bounds_page.evaluate(
        """(calls) => {
          const b = window.heavybanditBounds;
          const all = {...b, constantHorizon: (...rest) => b.horizonOfUse(Math.abs, ...rest)};
          return calls.map(([name, values]) => {
            try { return `accepted, with ${all[name](...values)}`; }
            catch (error) { return error.message; }
          });
        }""",
        [[name, values] for name, _, values in arguments],
    )
    for words, (name, twin, values) in zip(said, arguments, strict=True):
        with pytest.raises(ValueError, match="must be") as refused:
            twin(*values)
        assert words == str(refused.value), f"{name}{values}"


def test_horizons_of_use_agree_on_a_grid(open_page: OpenPage) -> None:
    ends = [{n: ENDS[n][i] for n in ENDS} for i in (0, 1)]  # at the first one nothing is in reach
    grid = [SECTION6, *ends, *random_settings(5, seed=2)]
    found = open_page("bounds.html").evaluate(
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
        for which, pair in zip(("theorem1", "theorem2"), both, strict=True):
            for rate, T in zip((2, s["cost"]), pair, strict=True):
                wanted = theory.horizon_of_use(bound(which, s), rate)
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


@pytest.fixture
def bounds_page(open_page: OpenPage) -> Page:
    return open_page("bounds.html")


# The sentences


def test_in_section_6_both_upper_bounds_say_nothing_at_a_hundred_thousand(
    bounds_page: Page,
) -> None:
    assert bounds_page.inner_text("#bounds-summary") == (
        "At T = 10⁵ Theorems 1 and 2 say nothing, and Theorem 3 does not apply."
    )
    first = bounds_page.inner_text("#bounds-say-theorem1")
    assert "promises at most 6.5·10⁷, more than the 2·10⁵" in first  # 64,523,859 by theory.py
    assert "says nothing before T = 8.2·10¹⁰" in first  # as in notebook 03
    assert "says nothing before T = 3.7·10⁹" in bounds_page.inner_text("#bounds-say-theorem2")
    assert_table(bounds_page, SECTION6)


def test_the_sentences_on_upper_bounds_are_true_of_every_setting(open_page: OpenPage) -> None:
    settings = [*random_settings(60, seed=3), *near_the_lines(40, seed=4)]
    found = open_page("bounds.html").evaluate(
        "(all) => all.map((s) => window.heavybanditBounds.sentences(s))", settings
    )
    told = set()
    for s, said in zip(settings, found, strict=True):
        T, plays = s["T"], theory.plays_per_round(s["T"], int(s["K"]), s["delta"])
        for which in ("theorem1", "theorem2"):
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
        {"d": 50, "K": 4, "eps": 1 / 3, "T": 5_000},
        "needs T ≥ (2d)^((1+ε)/(2ε)) = 10,000, and here T = 5,000.",
        "= 7,353, and here T = 5,000.",
        "Theorem 3 does not apply.",
    ),
    (
        {"d": 50, "K": 4, "eps": 1 / 3, "T": 8_000},
        "= 10,000, and here T = 8,000.",
        "is proved from T = 7,353 on",
        "Theorem 3 is proved as repaired.",
    ),
    (  # √40·√100/32 = 1.976; uniform play: 100·√(4/108)·¾ = 14.43; 40²/4 = 400
        {"d": 41, "K": 4, "T": 100},
        "at least 1.976 in expectation; on its construction uniform play costs 14.43.",
        "= 400, and here T = 100.",
        "Theorem 3 is claimed, but Theorem 3′ does not cover this T.",
    ),
    (  # √16·√10⁴/32 = 12.5; uniform play: 10⁴·√(4/10,008)·¾ = 149.94
        {"d": 17, "K": 4, "T": 1e4},
        "claims that for every algorithm there is an instance that costs it at least 12.5 in "
        "expectation; on its construction uniform play costs 150.",
        "is proved from T = 64 on: for every algorithm there is an instance that costs it at least "
        "12.5 in expectation.",
        "Theorem 3 holds as repaired.",
    ),
    (  # notebook 05: 1,500 against 2,795
        {"d": 8_001, "K": 4, "T": 1e6},
        "at least 2,795 in expectation. Its construction does not show that: uniform play costs "
        "1,500 there.",
        "= 1.6·10⁷, and here T = 10⁶.",
        "Theorem 3's construction does not show what it claims.",
    ),
    (  # notebook 05: at most 3,000 against 3,953
        {"d": 16_001, "K": 4, "T": 1e6},
        "at least 3,953 in expectation. That is false: with the printed γ and moments of at most "
        "2, uniform play costs no more than 3,000 on any such instance.",
        "= 6.4·10⁷, and here T = 10⁶.",
        "Theorem 3 is false as printed, read with its proof's bound of 2 on the moments.",
    ),
    (
        {"d": 16_001, "K": 4, "T": 1e8},
        "That is false",
        "is proved from T = 6.4·10⁷ on",
        "Theorem 3 is false as printed, read with its proof's bound of 2 on the moments, but "
        "proved as repaired.",
    ),
]


def test_the_sentences_on_the_lower_bound_name_what_is_missing_or_false(
    bounds_page: Page,
) -> None:
    for setting, printed, repaired, end in LOWER:
        said = bounds_page.evaluate(
            "(s) => window.heavybanditBounds.sentences(s)", {**SECTION6, **setting}
        )
        assert printed in said["bounds-say-theorem3"]
        assert repaired in said["bounds-say-theorem3-repaired"]
        assert said["bounds-summary"].endswith(f", and {end}")


def test_the_numbers_in_the_prose_follow_from_theory(bounds_page: Page) -> None:
    prose = " ".join(bounds_page.locator("p").all_inner_texts()).replace("’", "'")
    least = {**SECTION6, "v": ENDS["v"][0], "raw": ENDS["raw"][0]}
    falls = [bound(one, least)(1e5) / bound(one, SECTION6)(1e5) for one in ("theorem1", "theorem2")]
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
    assert min(from_which_on(one, smaller, 2) for one in ("theorem1", "theorem2")) > 1e16


# The controls


def test_a_key_on_a_slider_changes_sentence_table_and_output(bounds_page: Page) -> None:
    before = bounds_page.inner_text("#bounds-say-theorem1")
    bounds_page.locator("#bounds-T").press("ArrowRight")
    assert bounds_page.inner_text("#bounds-T-output") == "1.2·10⁵"
    assert bounds_page.input_value("#bounds-T-exact") == "120000"
    assert bounds_page.get_attribute("#bounds-T", "aria-valuetext") == "1.2·10⁵"
    after = bounds_page.inner_text("#bounds-say-theorem1")
    assert after != before
    assert "At T = 1.2·10⁵" in after
    assert "At T = 1.2·10⁵" in bounds_page.inner_text("#bounds-summary[aria-live=polite]")
    assert_table(bounds_page, {**SECTION6, "T": 120_000})


def test_each_slider_reaches_both_its_ends(bounds_page: Page) -> None:
    for name, ends in ENDS.items():
        for key, end in zip(("Home", "End"), ends, strict=True):
            bounds_page.locator(f"#bounds-{name}").press(key)
            assert_table(bounds_page, {**SECTION6, name: end})
        bounds_page.get_by_role("button", name="Section 6").click()


def test_a_slider_follows_the_mouse(bounds_page: Page) -> None:
    slider = bounds_page.locator("#bounds-eps")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    bounds_page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    eps = float(bounds_page.input_value("#bounds-eps-exact"))
    assert 0.45 < eps < 0.6  # the middle of 0.05 to 1 is 0.525
    assert_table(bounds_page, {**SECTION6, "eps": eps})


def test_a_typed_number_is_taken_exactly(bounds_page: Page) -> None:
    bounds_page.get_by_label("K, arms: exact value").fill("137")
    assert_table(bounds_page, {**SECTION6, "K": 137})
    bounds_page.get_by_label("T, plays: exact value").fill("3e9")
    assert_table(bounds_page, {**SECTION6, "K": 137, "T": 3e9})


def test_a_number_out_of_range_is_refused_in_a_sentence(bounds_page: Page) -> None:
    for field, typed, words in (
        ("d", "0", 'd is "0", but must be a whole number from 1 to 20,000.'),
        ("K", "4.5", 'K is "4.5", but must be a whole number from 2 to 1,000.'),
        ("eps", "1.01", 'ε is "1.01", but must be a number from 0.05 to 1.'),
        ("T", "", 'T is "", but must be a whole number from 100 to 10¹⁶.'),
    ):
        place = bounds_page.locator(f"#bounds-{field}-exact")
        was = place.input_value()
        place.fill(typed)
        assert bounds_page.inner_text("#bounds-note") == words
        assert place.get_attribute("aria-invalid") == "true"
        assert_table(bounds_page, SECTION6)
        place.press("Tab")
        assert place.input_value() == was
        assert place.get_attribute("aria-invalid") is None
        assert bounds_page.inner_text("#bounds-note") == ""


def test_presets_are_settings_and_section_6_brings_back_the_first(bounds_page: Page) -> None:
    # On the printed construction: √(4/1,000,008)·¾ and √(4/10,008)·¾ a play, to three digits
    refuted = {**SECTION6, "d": 16_001, "K": 4, "v": 2.0, "raw": 2.0, "T": 1e6, "cost": 0.0015}
    proved = {**refuted, "d": 41, "T": 1e4, "cost": 0.015}
    for s in (refuted, proved):
        assert s["cost"] * s["T"] == pytest.approx(uniform_on_construction(s["T"], 4), rel=5e-4)
    for button, setting in (
        ("Theorem 3 refuted", refuted),
        ("Theorem 3′ proved", proved),
        (
            "Small world (notebook 03)",
            {**SECTION6, "d": 2, "K": 4, "v": 0.0027, "raw": 1.0027, "cost": 0.73, "T": 1e10},
        ),
        ("Section 6", SECTION6),
    ):
        bounds_page.get_by_role("button", name=button).click()
        assert_table(bounds_page, setting)


def test_every_control_has_a_name_for_those_who_do_not_see_it(bounds_page: Page) -> None:
    inputs = bounds_page.locator("#bounds input")
    assert inputs.count() == 2 * len(ENDS)
    names = [
        bounds_page.locator(f"#bounds-{name}").evaluate("(slider) => slider.labels[0].textContent")
        for name in ENDS
    ]
    assert len(set(names) - {""}) == len(ENDS)
    for kind, suffix in (("slider", ""), ("spinbutton", ": exact value")):
        for name in names:
            role = bounds_page.get_by_role(kind, name=name + suffix, exact=True)  # type: ignore[arg-type]
            assert role.count() == 1, name + suffix


def test_the_keyboard_goes_through_the_controls_and_shows_where_it_is(bounds_page: Page) -> None:
    bounds_page.locator(".hb-presets button").last.focus()
    for name in ENDS:  # in the order of the page
        for suffix in ("", "-exact"):
            bounds_page.keyboard.press("Tab")
            focused = bounds_page.evaluate(
                """() => { const node = document.activeElement, look = getComputedStyle(node);
                  return [node.id, look.outlineStyle, parseFloat(look.outlineWidth)]; }"""
            )
            assert focused == [f"bounds-{name}{suffix}", "solid", 3]


# The drawing


LINES = ("theorem1", "theorem2", "trivial", "uniform", "theorem3", "theorem3-repaired")


def drawn(page: Page, which: str) -> list[tuple[float, float]]:
    """A line's points as (T, regret): the line of 2 a play, whose ends are known, is the scale."""
    paths = [
        [
            tuple(float(x) for x in point.split(","))
            for point in page.locator(f"#bounds-path-{name}").get_attribute("d")[1:].split("L")
            if point
        ]
        for name in ("trivial", which)
    ]
    (x0, y0), (x1, y1) = paths[0][0], paths[0][-1]
    return [
        (10 ** (2 + 14 * (x - x0) / (x1 - x0)), 2 * 10 ** (2 + 14 * (y - y0) / (y1 - y0)))
        for x, y in paths[1]
    ]


def test_each_bound_is_drawn_where_theory_puts_it(bounds_page: Page) -> None:
    s = {**SECTION6, "d": 41, "K": 4, "eps": 0.7, "T": 1e8}
    enter(bounds_page, s)
    table = expected_table(s)
    formula: dict[str, Callable[[float], float]] = {
        "theorem1": bound("theorem1", s),
        "theorem2": bound("theorem2", s),
        "trivial": lambda T: 2 * T,
        "uniform": lambda T: 0.08 * T,
        "theorem3": lambda T: float(theory.theorem3(T, 41, 0.7)),
        "theorem3-repaired": lambda T: float(theory.theorem3(T, 41, 0.7)),
    }
    for width in (1280, 375):
        bounds_page.set_viewport_size({"width": width, "height": 900})
        widths = bounds_page.evaluate(
            """async () => {
              await new Promise(requestAnimationFrame);  // after the event that tells of the size
              const plot = document.querySelector("#bounds-plot");
              return [plot.clientWidth, plot.querySelector("svg").clientWidth];
            }"""
        )
        assert widths[0] == widths[1] < width
        for which in LINES:
            points = drawn(bounds_page, which)
            assert len(points) > 100
            first = table.get(f"from-{which}") or 100
            assert points[0][0] == pytest.approx(max(100, first), rel=0.02), which
            assert points[-1][0] == pytest.approx(1e16, rel=0.02), which
            for T, regret in points:  # to a hundredth of a pixel on either axis
                assert regret == pytest.approx(formula[which](T), rel=0.02), which


def test_a_lower_bound_that_holds_nowhere_is_not_drawn(bounds_page: Page) -> None:
    for which in LINES:
        path = bounds_page.locator(f"#bounds-path-{which}").get_attribute("d")
        assert bool(path) is not which.startswith("theorem3"), which


@pytest.mark.parametrize("width", [1280, 375])
def test_nothing_is_cut_off_and_no_label_covers_another(open_page: OpenPage, width: int) -> None:
    page = open_page("bounds.html", width=width)
    for T in (100, 1e16):
        enter(page, {"d": 16_001, "K": 4, "eps": 0.6, "cost": 2, "T": T})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        boxes = page.evaluate(
            """() => {
              const box = (node) => { const b = node.getBoundingClientRect();
                return [b.left, b.top, b.right, b.bottom]; };
              const all = (selector) => [...document.querySelectorAll(selector)].map(box);
              return {plot: box(document.querySelector("#bounds-plot")),
                      labels: all("#bounds-plot text.hb-label"), texts: all("#bounds-plot text")};
            }"""
        )
        left, top, right, bottom = boxes["plot"]
        assert len(boxes["labels"]) == len(LINES)
        for x0, y0, x1, y1 in boxes["texts"]:
            assert left <= x0 < x1 <= right
            assert top <= y0 < y1 <= bottom
        for a, b in itertools.combinations(boxes["labels"], 2):
            assert a[3] <= b[1] + 2 or b[3] <= a[1] + 2, "a label covers another"


def luminance(colour: str) -> float:
    """The relative luminance of "rgb(…)" by the definition of WCAG 2."""
    channels = [int(x) / 255 for x in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_letters_and_lines_stand_out_in_light_and_dark(open_page: OpenPage, dark: bool) -> None:
    page = open_page("bounds.html", dark=dark)
    page.get_by_role("button", name="Theorem 3′ proved").click()  # so that there are all the lines
    colours = page.evaluate(
        """() => {
          const style = (node) => getComputedStyle(node);
          const all = (selector) => [...document.querySelectorAll(selector)];
          return {ground: style(document.querySelector("#bounds")).backgroundColor,
                  letters: [...all("#bounds-plot text").map((node) => style(node).fill),
                            ...all("#bounds li, #bounds td, #bounds label, #bounds-note")
                              .map((node) => style(node).color)],
                  lines: all("#bounds-plot path.hb-line:not(.hb-theorem3-repaired)")
                           .map((node) => style(node).stroke),
                  borders: all("#bounds input[type=number], #bounds button")
                             .map((node) => style(node).borderTopColor)};
        }"""
    )
    ground = luminance(colours["ground"])
    assert (ground < 0.2) is dark

    def contrast(colour: str) -> float:
        low, high = sorted((ground, luminance(colour)))
        return (high + 0.05) / (low + 0.05)

    assert min(contrast(colour) for colour in colours["letters"]) >= 4.5
    assert min(contrast(colour) for colour in colours["lines"] + colours["borders"]) >= 3


# The address


def test_an_address_restores_its_setting(bounds_page: Page) -> None:
    s = {"T": 7e11, "eps": 0.85, "d": 33, "K": 7, "v": 1.5, "raw": 2.25, "delta": 0.2, "cost": 0.3}
    bounds_page.goto(bounds_page.url + address(s))
    assert_table(bounds_page, s)
    assert bounds_page.inner_text("#bounds-T-output") == "7·10¹¹"
    assert bounds_page.inner_text("#bounds-note") == ""


def test_a_changed_setting_is_in_the_address_and_survives_a_reload(bounds_page: Page) -> None:
    def stays(url: str) -> bool:
        return "highlight=regret" in url and url.endswith("#the-formulas")

    bounds_page.goto(bounds_page.url + "?highlight=regret#the-formulas")
    bounds_page.locator("#bounds-delta").press("Home")
    bounds_page.wait_for_url("**delta=0.000001**")
    assert stays(bounds_page.url)
    bounds_page.reload()
    assert_table(bounds_page, {**SECTION6, "delta": 1e-6})
    bounds_page.get_by_role("button", name="Section 6").click()
    bounds_page.wait_for_url(lambda url: "delta" not in url)
    assert stays(bounds_page.url)


def test_nonsense_in_an_address_is_refused_in_a_sentence(bounds_page: Page) -> None:
    bounds_page.goto(bounds_page.url + "?d=none&K=30&T=-5")
    assert bounds_page.inner_text("#bounds-note") == (
        'In the address, T is "-5", but must be a whole number from 100 to 10¹⁶. '
        'In the address, d is "none", but must be a whole number from 1 to 20,000.'
    )
    assert_table(bounds_page, {**SECTION6, "K": 30})
