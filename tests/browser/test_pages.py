"""Every page of the built book, in a real browser."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from . import checks
from .conftest import BOOK

ROOT = BOOK.parents[2]
PAGES = sorted(
    str(path.relative_to(BOOK))
    for path in BOOK.rglob("*.html")
    if "_static" not in path.relative_to(BOOK).parts
)
Open = Callable[..., Page]
DARK = '() => document.documentElement.dataset.theme === "dark"'


@pytest.fixture(scope="session")
def watch(page: Page, book: str) -> checks.Watch:
    return checks.Watch(page, book)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole_readable_and_asks_for_nothing_elsewhere(
    path: str, open_page: Open, watch: checks.Watch, book: str
) -> None:
    watch.wrong.clear()
    page = open_page(path, width=375)
    wrong = checks.overflow(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    wrong += [*checks.formulas(page), *checks.images(page), *checks.links(page, book, BOOK)]
    wrong += [f"light: {found}" for found in checks.accessibility(page)]
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(DARK)
    wrong += [f"dark: {found}" for found in checks.accessibility(page, checks.COLOUR_RULES)]
    assert "\n".join([*wrong, *watch.wrong]) == ""


def test_the_book_has_a_page_for_every_notebook_and_everything_it_promises(open_page: Open) -> None:
    promised = {"algorithms", "glossary", "readings", "errata", "api", "search", "api_theory"}
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")}
    assert {f"{name}.html" for name in promised | notebooks} <= set(PAGES)
    page = open_page("index.html")
    sidebar = page.locator(".bd-sidebar-primary a").evaluate_all("all => all.map(a => a.pathname)")
    linked = [name for name in (path.lstrip("/") for path in sidebar) if name[:2].isdigit()]
    assert linked == sorted(f"{name}.html" for name in notebooks)


def test_figures_keep_the_words_that_the_notebook_gives_them(open_page: Open) -> None:
    (path,) = (ROOT / "notebooks").glob("01_*.ipynb")
    outputs = [o for c in json.loads(path.read_text())["cells"] for o in c.get("outputs", [])]
    figures = [o for o in outputs if "image/png" in o.get("data", {})]
    words = [" ".join(o["metadata"]["image/png"]["alt"].split()) for o in figures]
    shown = open_page(f"{path.stem}.html").locator(".cell_output img")
    assert shown.evaluate_all("all => all.map(i => i.alt)") == words
    assert words


def test_a_button_shows_the_claims_of_its_verdict_and_their_number(open_page: Open) -> None:
    entries = json.loads((ROOT / "data" / "claims.json").read_text())
    counts = Counter(entry["verdict"] for entry in entries)
    page = open_page("index.html")
    buttons = page.locator(".claims-filters button")
    words = [f"{verdict} ({n})" for verdict, n in (("all", counts.total()), *counts.items())]
    assert sorted(buttons.all_inner_texts()) == sorted(words)
    rows = page.locator("table.claims tbody tr:visible")
    assert rows.count() == counts.total()
    for verdict, number in counts.items():
        button = page.locator(f'.claims-filters button[data-verdict="{verdict}"]')
        button.focus()
        page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator('.claims-filters [aria-pressed="true"]').count() == 1
        assert rows.locator("td:nth-child(2)").all_inner_texts() == [verdict] * number
        assert page.locator(".claims-shown").inner_text().startswith(f"{number} of ")
    page.locator('.claims-filters button[data-verdict="all"]').click()
    assert rows.count() == counts.total()


def test_every_claim_links_to_its_chapter_its_function_and_its_test(open_page: Open) -> None:
    page = open_page("index.html")
    for row in page.locator("table.claims tbody tr").all():
        cells = row.locator("td")
        assert [cells.nth(i).locator("a").count() for i in (3, 4, 5)] == [1, 1, 1]


def test_search_finds_a_word_and_shows_where(open_page: Open) -> None:
    page = open_page("search.html?q=Bernstein")
    results = page.locator("#search-results ul.search li a")
    results.first.wait_for()
    assert any("02_proposition_2" in (a.get_attribute("href") or "") for a in results.all())
    page = open_page("search.html?q=xyzzyplugh")
    page.get_by_text("did not match any documents").wait_for()


def test_the_switch_turns_the_page_dark_and_it_stays_so(open_page: Open) -> None:
    page = open_page("index.html")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("button.theme-switch-button:visible").click()
    page.locator('button.theme-change-button[data-mode="dark"]:visible').click()
    page.wait_for_function(DARK)
    page.wait_for_function(f"was => ({ground})() !== was", arg=light)
    page.reload()
    page.wait_for_function(DARK)


def test_a_step_stands_beside_its_source_and_on_a_phone_above_it(open_page: Open) -> None:
    page = open_page("algorithms.html")

    def boxes() -> list[dict[str, float]]:
        parts = (page.locator(f".step .{part}").first for part in ("says", "does"))
        return [dict(part.bounding_box() or {}) for part in parts]

    words, source = boxes()
    assert source["x"] >= words["x"] + words["width"]
    page.set_viewport_size({"width": 375, "height": 800})
    words, source = boxes()
    assert source["y"] >= words["y"] + words["height"]
    assert source["width"] <= 375
