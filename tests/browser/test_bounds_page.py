"""The page "What the bounds say" in a browser: its controls, table, drawing and address."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from heavybandit import theory

from .bounds import (
    ENDS,
    SECTION6,
    Setting,
    assert_table,
    bound,
    expected_table,
    read,
    uniform_on_construction,
)

OpenPage = Callable[..., Page]


def enter(page: Page, s: Setting) -> None:
    """Type a setting into the page's fields."""
    for name, value in s.items():
        page.locator(f"#bounds-{name}-exact").fill(f"{value:g}")


# The controls


def test_a_key_on_a_slider_changes_sentence_table_and_output(bounds_page: Page) -> None:
    before = bounds_page.inner_text("#bounds-say-theorem1")
    bounds_page.locator("#bounds-T").press("ArrowRight")
    assert bounds_page.inner_text("#bounds-T-output") == "1.2·10⁵"
    assert bounds_page.input_value("#bounds-T-exact") == "120000"
    assert bounds_page.get_attribute("#bounds-T", "aria-valuetext") == "1.2·10⁵"
    after = bounds_page.inner_text("#bounds-say-theorem1")
    assert after != before
    assert "At T\xa0=\xa01.2·10⁵" in after  # no line ends at the sign
    assert "At T = 1.2·10⁵" in read(bounds_page, "#bounds-summary[aria-live=polite]")
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
    # On the printed construction: √(4/1,000,008)·¾ and √(4/10,008)·¾ per play, to three digits
    refuted = {**SECTION6, "d": 16_001, "K": 4, "v": 2.0, "raw": 2.0, "T": 1e6, "cost": 0.0015}
    proved = {**refuted, "d": 41, "T": 1e4, "cost": 0.015}
    small = {**SECTION6, "d": 2, "K": 4, "v": 0.0027, "raw": 1.0027, "cost": 0.73, "T": 1e10}
    for s in (refuted, proved):
        assert s["cost"] * s["T"] == pytest.approx(uniform_on_construction(s["T"], 4), rel=5e-4)
    for button, setting in (
        ("Theorem 3 refuted", refuted),
        ("Theorem 3′ proved", proved),
        ("Small world (notebook 03)", small),
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
    """A line's points as (T, regret); the line of 2 per play, with known ends, is the scale."""
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


@pytest.mark.parametrize("width", [1400, 1280, 375])
def test_nothing_is_cut_off_and_no_label_covers_another(open_page: OpenPage, width: int) -> None:
    """As it is first drawn too: from 1200 on a column appears after the drawing was measured."""
    page = open_page("bounds.html?d=16001&K=4&eps=0.6&cost=2", width=width)
    for T in (None, 100, 1e16):
        if T:
            enter(page, {"T": T})
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


def test_on_a_phone_the_settings_and_the_drawing_come_first(open_page: OpenPage) -> None:
    page = open_page("bounds.html", width=390)
    tops = [
        page.locator(place).first.bounding_box()
        for place in (".hb-presets", "#bounds-plot svg", ".bd-article section > p")
    ]
    presets, drawing, prose = (dict(box or {}) for box in tops)
    assert presets["y"] < drawing["y"] < prose["y"]
    assert drawing["y"] + drawing["height"] < 844  # the height of such a phone


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
    bounds_page.goto(bounds_page.url + "?" + "&".join(f"{n}={x!r}" for n, x in s.items()))
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
