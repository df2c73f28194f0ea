"""Every page of the built book, in a real browser."""

from __future__ import annotations

import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable

import pytest
from PIL import Image
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
DESK, PHONE = 1400, 375
MET: set[str] = set()  # kinds of words whose colours were looked at
RESIZED = """() => new Promise((done) => {
  const article = document.querySelector(".bd-article") ?? document.body;
  const rest = () => (article.dataset.fitted ?? String(article.clientWidth)) ===
    String(article.clientWidth) ? done() : setTimeout(rest, 20);
  requestAnimationFrame(() => requestAnimationFrame(rest));
})"""  # formulas are broken for the new width
# How much further in broken lines of code go on than they begin.
GOES_ON = """all => all.filter((line) => line.checkVisibility()).map((line) => {
  const words = document.createTreeWalker(line, NodeFilter.SHOW_TEXT), boxes = [];
  while (words.nextNode()) {
    if (!words.currentNode.data.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(words.currentNode);
    range.setStart(words.currentNode, /\\S/.exec(words.currentNode.data).index);
    boxes.push(...range.getClientRects());
  }
  const [first] = boxes, top = line.getBoundingClientRect().top;
  if (first && first.top > top + first.height) return -1;
  const after = boxes.filter((box) => box.top > first.top + first.height / 2 && box.width > 0);
  return after.length ? Math.min(...after.map((box) => box.x)) - first.x : null;
}).filter((found) => found !== null)"""
DARK = '() => document.documentElement.dataset.theme === "dark"'


@pytest.fixture(scope="session")
def watch(page: Page, book: str) -> checks.Watch:
    return checks.Watch(page, book)


def fits(page: Page) -> list[str]:
    """What does not fit the width at hand."""
    return [*checks.overflow(page), *checks.fitting(page), *checks.lines(page)]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_whole_readable_and_asks_for_nothing_elsewhere(
    path: str, open_page: Open, watch: checks.Watch, book: str
) -> None:
    """Opened once: as narrow as a phone, as wide as a desk, then dark."""
    watch.wrong.clear()
    page = open_page(path, width=PHONE)
    wrong = [f"{PHONE}: {found}" for found in fits(page)]
    page.set_viewport_size({"width": DESK, "height": 900})
    page.evaluate(RESIZED)
    wrong += [f"{DESK}: {found}" for found in fits(page)]
    wrong += [*checks.formulas(page), *checks.images(page), *checks.links(page, book, BOOK)]
    wrong += checks.shrunk(page)
    wrong += [*checks.tab_stops(page), *checks.words(page), *checks.accessibility(page)]
    checks.only_new_kinds(page, MET)
    wrong += [f"light: {found}" for found in checks.colours(page)]
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(DARK)
    wrong += [f"dark: {found}" for found in checks.colours(page)]
    assert "\n".join([*wrong, *watch.wrong]) == ""


def test_the_book_has_a_page_for_every_notebook_and_everything_it_promises(open_page: Open) -> None:
    promised = {"algorithms", "glossary", "readings", "errata", "api", "search", "api_theory"}
    promised |= {"poster", "verdicts", "use", "explorer", "bounds"}
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")}
    assert {f"{name}.html" for name in promised | notebooks} <= set(PAGES)
    page = open_page("index.html")
    sidebar = page.locator(".bd-sidebar-primary a").evaluate_all("all => all.map(a => a.pathname)")
    linked = [name for name in (path.lstrip("/") for path in sidebar) if name[:2].isdigit()]
    assert linked == sorted(f"{name}.html" for name in notebooks)
    # the landing page: a link to the paper, a strip of verdicts, three sentences, three doors
    article = page.locator(".bd-article")
    assert article.locator('a[href*="arxiv.org"]').count() == 1
    assert article.locator("ul.verdicts").count() == 1
    assert [len(one.split(". ")) for one in article.locator("ol > li").all_inner_texts()] == [1] * 3
    doors = article.locator(".door strong").all_inner_texts()
    assert doors == ["Read along", "What breaks", "Use it"]
    assert article.locator("h2, img").count() == 0


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
    page = open_page("verdicts.html")
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
    page = open_page("verdicts.html")
    for row in page.locator("table.claims tbody tr").all():
        cells = row.locator("td")
        assert [cells.nth(i).locator("a").count() for i in (3, 4, 5)] == [1, 1, 1]


def test_search_finds_a_word_and_shows_where(open_page: Open) -> None:
    page = open_page("search.html?q=Bernstein")
    results = page.locator("#search-results ul.search li a")
    results.first.wait_for()
    assert any("02_proposition_2" in (a.get_attribute("href") or "") for a in results.all())
    page.wait_for_function(
        """() => document.querySelectorAll("#search-results .context").length ===
             document.querySelectorAll("#search-results ul.search > li").length"""
    )
    said = page.locator("#search-results .context").all_inner_texts()
    assert any("with the bound h for centred terms" in " ".join(one.split()) for one in said)
    assert not any("\\" in one or "..." in one for one in said)  # no TeX, no word that is cut
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


def test_a_step_lights_its_lines_and_on_a_phone_shows_them(open_page: Open) -> None:
    page = open_page("algorithms.html", width=DESK)
    step = page.locator(".step", has_text="The level of truncation")
    lit = page.locator(".source .line.lit")
    step.hover()
    assert lit.all_inner_texts()[0].strip().endswith("# step 6")
    line = page.locator(".source .line", has_text="kept = np.where")
    line.hover()
    assert "counts as 0" in page.locator(".step.lit").inner_text()
    page.mouse.move(0, 0)
    assert lit.count() == 0
    step.locator("button").focus()
    page.keyboard.press("Enter")
    assert step.locator("button").get_attribute("aria-pressed") == "true"
    assert lit.count() == 1
    here = step.locator(".here")
    assert not here.is_visible()
    # also where the source is taller than the window, what lights up is in sight
    deep = page.locator(".step", has_text="Look at them in the next stage")
    deep.scroll_into_view_if_needed()
    deep.hover()
    assert page.locator(".line.lit", has_text="s = s + 1").evaluate(
        "e => e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().bottom < innerHeight"
    )
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert here.inner_text().startswith("h = np.linalg.norm")  # without its number and indentation
    assert "# step" not in here.inner_text()


def test_code_is_folded_but_for_the_argument_and_one_switch_opens_it_all(open_page: Open) -> None:
    page = open_page("00_the_algorithms.html")
    folded, open_cells = page.locator("details.above-input"), page.locator(".cell > .cell_input")
    assert folded.count() > open_cells.count() > 3
    assert page.locator("details.above-input[open]").count() == 0
    switch = page.locator(".fold-switch")
    switch.focus()
    page.keyboard.press("Enter")
    assert page.locator("details.above-input[open]").count() == folded.count()
    page.reload()
    assert switch.get_attribute("aria-pressed") == "true"
    switch.click()
    assert page.locator("details.above-input[open]").count() == 0
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.evaluate(RESIZED)
    places = page.locator(".highlight .line").evaluate_all(GOES_ON)
    assert len(places) > 50  # lines that are broken on a phone
    assert min(places) > 5  # go on further in than they begin, and none begins with an empty line
    # where a little smaller is enough, a displayed formula is not broken
    assert page.locator(".math", has_text="(12v)").locator("mjx-mtable").count() == 0
    said = page.locator("p", has_text="Otherwise nearly all of the 2,000 rounds").inner_text()
    assert "width_scale\xa0=\xa01/30" in said  # no line ends at the sign


def test_numbers_stand_right_and_words_left_and_a_caption_is_read_unscrolled(
    open_page: Open,
) -> None:
    page = open_page("07_what_is_left_open.html", width=PHONE)
    sides = page.locator(".wide-table tbody :is(th, td)").evaluate_all(
        "all => all.map((cell) => [cell.textContent, getComputedStyle(cell).textAlign])"
    )
    assert {side for text, side in sides if text.strip().isalpha()} == {"left"}
    assert "right" in {side for _, side in sides}
    wide = page.locator(".wide-table[tabindex]")
    assert wide.count() > 0
    broken = wide.locator("td:not(.long)").evaluate_all(
        """all => all.map((cell) => {
             const words = document.createRange();
             words.selectNodeContents(cell);
             const tops = [...words.getClientRects()].map((box) => Math.round(box.top));
             return new Set(tops).size > 1 ? cell.textContent : null;
           }).filter((text) => text)"""
    )
    assert broken == []  # where there is to be scrolled anyway, a short cell is one line
    assert wide.locator("caption").evaluate_all(
        "all => all.every((caption) => caption.getBoundingClientRect().right <= innerWidth)"
    )
    page.set_viewport_size({"width": DESK, "height": 900})
    page.evaluate(RESIZED)
    sizes = page.locator(".cell_output").evaluate_all(
        """all => all.map((cell) => [...cell.querySelectorAll(".wide-table table")]
             .map((table) => getComputedStyle(table).fontSize))"""
    )
    assert max(len(set(of_cell)) for of_cell in sizes) == 1  # tables of one cell are set alike


def test_notes_stand_in_the_margin_and_on_a_phone_in_the_text(open_page: Open) -> None:
    page = open_page("03_theorem_1.html", width=DESK)
    note = page.locator("aside.margin", has_text="Errata · Theorem 1").first
    text = dict(page.locator(".bd-article section > p").first.bounding_box() or {})
    contents = dict(page.locator(".bd-sidebar-secondary").bounding_box() or {})
    beside = dict(note.bounding_box() or {})
    assert beside["x"] >= text["x"] + text["width"]
    assert contents["y"] + contents["height"] <= beside["y"] < 900  # in sight, and not covered
    page.set_viewport_size({"width": PHONE, "height": 800})
    assert dict(note.bounding_box() or {})["x"] < 40


def test_the_keyboard_shows_where_it_is_in_the_head_and_the_sidebar(open_page: Open) -> None:
    page = open_page("bounds.html", width=DESK)
    for _ in range(12):
        page.keyboard.press("Tab")
        name, style, width = page.evaluate(
            """() => { const node = document.activeElement, look = getComputedStyle(node);
              return [node.className, look.outlineStyle, look.outlineWidth]; }"""
        )
        assert (style, float(width.removesuffix("px")) >= 2) == ("solid", True), name
    toggle = page.locator("button.primary-toggle:visible")
    toggle.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    look = toggle.evaluate("e => [getComputedStyle(e).outlineStyle, e.matches(':focus-visible')]")
    assert look == ["solid", True]


def test_a_figure_is_drawn_in_lines_and_grows_when_it_is_pressed(open_page: Open) -> None:
    page = open_page("01_proposition_1.html", width=390)
    figures = page.locator(".cell_output img")
    assert figures.count() > 3
    assert all(src.endswith(".svg") for src in figures.evaluate_all("all => all.map(i => i.src)"))
    small = figures.first.bounding_box()
    sign = "e => getComputedStyle(e.closest('button'), '::after').content"
    assert "press to enlarge" in figures.first.evaluate(sign)  # letters are small on a phone
    figures.first.locator("xpath=ancestor::button").focus()
    page.keyboard.press("Enter")
    large = page.locator("dialog[open] img")
    assert large.get_attribute("alt") == figures.first.get_attribute("alt")
    assert dict(large.bounding_box() or {})["width"] > 1.8 * dict(small or {})["width"]
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("() => document.activeElement.matches('button:has(img)')")


def test_in_the_dark_a_figure_has_a_dark_ground_and_light_letters(open_page: Open) -> None:
    page = open_page("01_proposition_1.html", dark=True)
    page.wait_for_function(DARK)
    figure = page.locator(".cell_output img").first
    figure.scroll_into_view_if_needed()
    with Image.open(io.BytesIO(figure.screenshot())) as shot:
        edge = shot.convert("L").getpixel((2, shot.height // 2))
        grey = sorted(shot.convert("L").get_flattened_data())
    assert edge == grey[len(grey) // 2]  # without a frame
    ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert ground == f"rgb({edge}, {edge}, {edge})"  # that of the page
    assert grey[-len(grey) // 500] > 200  # letters and axes


def test_a_card_on_a_phone_names_its_columns_with_their_formulas(open_page: Open) -> None:
    page = open_page("readings.html", width=PHONE)
    names = page.locator("tr", has_text="payoffs are cut, in the order").locator(".column-name")
    assert names.first.is_visible()
    assert names.locator("mjx-container").count() == 3  # θ̂, β and t
    page.set_viewport_size({"width": DESK, "height": 900})
    assert not names.first.is_visible()


def test_the_poster_prints_on_one_sheet_of_a2_and_in_the_dark_as_in_the_light(
    open_page: Open,
) -> None:
    page = open_page("poster.html", width=DESK, dark=True)
    sheets = page.pdf(prefer_css_page_size=True)  # the size that the page itself asks for
    (box,) = re.findall(rb"/MediaBox\s*\[([^]]*)\]", sheets)
    assert [float(x) for x in box.split()] == pytest.approx([0, 0, 1684, 1191], abs=1)
    page.set_viewport_size({"width": 2154, "height": 1496})  # A2 in landscape without its margins
    page.emulate_media(media="print", color_scheme="dark")
    assert checks.overflow(page) == []
    ink = page.locator(".panel p").evaluate_all(
        """all => all.filter((e) => !e.closest(".panel-verdict, a"))
             .map((e) => Math.max(...getComputedStyle(e).color.match(/\\d+/g).slice(0, 3)))"""
    )
    assert max(ink) < 120  # dark letters on white paper
    assert page.locator(".panel img").evaluate_all(
        "all => all.every((e) => getComputedStyle(e).filter === 'none')"
    )
    assert page.locator(".panel-verdict").evaluate_all(
        "all => all.every((e) => getComputedStyle(e).printColorAdjust === 'exact')"
    )  # else the ground of a verdict is left out, and its light letters stand on white
    page.emulate_media(media="screen")


def test_the_sign_of_the_search_field_does_not_cover_its_words(open_page: Open) -> None:
    for width in (DESK, PHONE):
        field = open_page("search.html", width=width).locator("main input[type=search]")
        sign = field.locator("xpath=..").locator("svg, i").first.bounding_box()
        begins = field.evaluate(
            "e => e.getBoundingClientRect().x + parseFloat(getComputedStyle(e).paddingLeft)"
        )
        assert sign is not None
        assert sign["x"] + sign["width"] <= begins


def test_a_formula_after_another_begins_a_line_rather_than_being_broken(open_page: Open) -> None:
    page = open_page("05_theorem_3.html", width=PHONE)
    lines = page.locator(".bd-article mjx-mtable:not(mjx-mtable *)").evaluate_all(
        """all => all.map((table) => [...table.querySelectorAll("mjx-mtr")]
             .filter((line) => line.closest("mjx-mtable") === table)
             .map((line) => [...line.querySelectorAll("mjx-mspace")].map((space) => ({
                begins: space.getBoundingClientRect().x - line.getBoundingClientRect().x < 5,
                wide: space.getBoundingClientRect().width > 1.5 * parseFloat(
                  getComputedStyle(line).fontSize)}))))"""
    )
    assert len(lines) > 2
    for table in lines:
        for line, following in itertools.pairwise(table):
            two = any(space["wide"] and not space["begins"] for space in line)
            assert not (two and any(space["begins"] for space in following)), table


def test_the_names_of_rows_stay_in_sight_while_a_wide_table_is_scrolled(open_page: Open) -> None:
    page = open_page("09_beyond_the_paper.html", width=PHONE)
    place = page.locator(".wide-table[tabindex]", has_text="how much more the others cost")
    cells = page.locator(".wide-table", has_text="Training cells and held-out cells")
    assert cells.get_attribute("tabindex") is None
    assert cells.locator("tr.group").all_inner_texts() == ["training", "held out"]
    board = page.locator(".wide-table", has_text="over 14 held-out cells, 24 seeds")
    assert board.locator("tr.group").count() == 4  # each name once
    assert board.locator("thead th").first.inner_text() == "entry"
    beside = page.locator(".wide-table", has_text="beside all other entries with default")
    assert beside.get_attribute("tabindex") is None  # a name above its row leaves room for the rest
    assert beside.locator("tbody tr.name-above").count() == 21
    name = place.locator("tbody tr > :first-child").first
    before = dict(name.bounding_box() or {})
    fades = "e => getComputedStyle(e).maskImage !== 'none'"
    assert place.evaluate(fades)  # there is more to the right
    assert place.evaluate("e => { e.scrollLeft = 60; return e.scrollLeft; }") == 60
    assert dict(name.bounding_box() or {})["x"] == pytest.approx(before["x"], abs=1)
    for theme in ("light", "dark"):  # a name has the ground of its row
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.wait_for_function(f"() => document.documentElement.dataset.theme === '{theme}'")
        grounds = place.locator("tr").evaluate_all(
            """all => all.map((row) => [row, row.cells[0]])
                 .map((pair) => pair.map((e) => getComputedStyle(e).backgroundColor))"""
        )
        assert [name for _, name in grounds] == [row for row, _ in grounds]
    place.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    page.wait_for_function(f"e => !({fades})(e)", arg=place.element_handle())
    page.set_viewport_size({"width": DESK, "height": 900})
    page.evaluate(RESIZED)
    assert page.locator("tr.name-above").count() == 0
