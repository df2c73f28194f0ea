"""Each check catches the fault it is there for: a small page is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from . import checks, chromium
from .conftest import load

GOOD = """<!doctype html><html lang="en"><head><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"></head>
<body><main class="bd-article"><h1>A page</h1>
<p id="here">Words, and <a href="#here">a link to them</a>.</p>{body}</main></body></html>"""
MATH = """<p><mjx-container style="display: inline-block; {style}">
<mjx-math style="display: block">y</mjx-math></mjx-container></p>"""
WIDE = "<div style='overflow-x: auto; min-width: {}px'>{}</div>"
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

Found = Callable[..., list[str]]


@pytest.fixture(scope="module")
def fresh(browser: Browser) -> Iterator[Page]:
    """A page of its own, because a watch stays on the page it was put on."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture(scope="module")
def found(
    fresh: Page, serve: Callable[[Path], str], tmp_path_factory: pytest.TempPathFactory
) -> Found:
    """What all checks find on a page with the given body, each body opened once."""

    @cache
    def find(body: str) -> list[str]:
        folder = tmp_path_factory.mktemp("page")
        (folder / "index.html").write_text(GOOD.format(body=body))
        origin = serve(folder)
        watch = checks.Watch(fresh, origin)
        load(fresh, origin + "index.html", width=375)
        wrong = [*checks.formulas(fresh), *checks.images(fresh), *checks.overflow(fresh)]
        wrong += [*checks.fitting(fresh), *checks.tab_stops(fresh), *checks.words(fresh)]
        wrong += [*checks.lines(fresh), *checks.shrunk(fresh)]
        wrong += [*checks.links(fresh, origin, folder), *checks.accessibility(fresh)]
        checks.only_new_kinds(fresh, set())
        return [*wrong, *checks.colours(fresh), *watch.wrong]

    return find


def test_a_good_page_passes(found: Found) -> None:
    body = f'<code>$x$ \\[y\\]</code><img src="{PIXEL}" alt="A dot"><span hidden>$</span>'
    assert found(body) == []


# Faults that do not change what is said of others stand on one page, each with its own words.
TOGETHER = {
    f"<dl><dt class='sig'>{'x ' * 400}</dt><dd>y</dd></dl>": "a signature has 799",
    "<dl><dt>x</dt><dd><p>a bound β_{t−1}</p></dd></dl>": "an index is not set: a bound",
    "<p>Alias for field number 2</p>": "Alias for field number is shown",
    "<script>console.error('bad luck')</script>": "the console has an error: bad luck",
    "<script>throw new Error('worse')</script>": "a script failed: worse",
    "<script src='gone.js'></script>": "gone.js was answered with 404",
    "<script src='http://127.0.0.1:9/x.js'></script>": "/x.js was asked for, which is not served",
    "<p>costs $x^2$</p>": "raw TeX is shown: costs $x^2$",
    "<p>inline \\(x^2\\)</p>": "raw TeX is shown: inline",
    "<p>displayed \\[x^2\\]</p>": "raw TeX is shown: displayed",
    "<p>\\begin{align}x\\end{align}</p>": "raw TeX is shown: \\begin{align}",
    "<span class='math'>x^2</span>": "a formula was not set: x^2",
    "<mjx-merror>Undefined \\foo</mjx-merror>": "MathJax could not set: Undefined",
    f"<img src='{PIXEL}'>": f"the image {PIXEL} has no alt text",
    f"<img src='{PIXEL}#' alt=' '>": f"the image {PIXEL}# has no alt text",
    "<img src='gone.png' alt='A dot'>": "the image gone.png was not loaded",
    "<a href='gone.html'>words</a>": "gone.html, where there is nothing",
    "<a href='index.html#gone'>words</a>": "#gone, and the page has no such anchor",
    "<mjx-container tabindex='0'>y</mjx-container>": "a formula is a tab stop: y",
    "<p>TypeAliasForwardRef('Floats')</p>": "TypeAliasForwardRef is shown",
    "<p>_NestedSequence[complex]</p>": "_NestedSequence is shown",
    "<p>it costs 2 a play.</p>": "2 a play is shown",
    "<button></button>": "button-name: ",
    "<p style='color: #ccc; background: #fff'>pale</p>": "color-contrast: ",
}
NARROW_COLUMN = "<table class='table' style='width: 50px; table-layout: fixed'><td>{}</td></table>"
NAME = "<code><span class='pre' style='overflow-wrap: anywhere'>theorem_three</span></code>"
RAISED = "<p style='width: 1px; overflow-wrap: anywhere'>(x)<sup>(2)</sup></p>"
NARROW = "<div class='wide-table' style='width: 8px'><table>{}</table></div>"
DRAWN = "data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 width=%2240%22/%3E"
LEFT = "<p style='width: 90px'>words (<span class='math'>{}</span></p>"
HEAD = "<div class='wide-table'><table><thead><tr><th style='line-height: 1em'>{}</table></div>"
ALONE = {  # they change the width of the page or its boxes
    "<div style='width: 500px'>words</div>": "the page is 50",
    MATH.format(style="width: 400px"): "a formula exceeds its block by ",
    MATH.format(style="font-size: 40%"): "a formula is set at 0.40 of its size",
    MATH.format(style="font-size: 65%"): "a formula is set at 0.65 of its size",
    HEAD.format("word<br>" * 4): "the head of a table has 4 lines: wordword",
    f"<pre style='overflow: hidden'>{'x' * 90}</pre>": "code is cut: xxx",
    f"<pre style='height: 1em; overflow: auto'>{'x<br>' * 9}</pre>": "pre scrolls within",
    WIDE.format(20, f"<table><td>{'x' * 90}</table>"): "a wide div cannot be scrolled",
    "<p style='width: 1px'>words d &ge; 1</p>": "a line ends within d ≥ 1 of: words",
    RAISED: "a line begins with the raised (2)",
    "<p style='width: 1px'>words 99 %</p>": "a line ends within 9 % of: words",
    NARROW.format("<td>0.1 (0.0 to 0.2)"): "a number is broken: 0.1 (0.0 to 0.2)",
    f"<div class='cell_output'><img src='{DRAWN}' alt='A' width='20'></div>": "shown at 0.50 of",
    LEFT.format(MATH.format(style="width: 80px")[3:-4]): "a bracket is left behind",
    "<p style='width: 1px'>costs<br>12 &plusmn; 3, at least</p>": "a line ends within 2 ± 3",
    NARROW_COLUMN.format(NAME): "a name is broken within a word: theorem",
    WIDE.format(9, WIDE.format(500, f"<p>{'x' * 90}</p>")): "one scrolling box is in another",
}


@pytest.mark.parametrize("says", TOGETHER.values())
def test_a_fault_is_caught_and_named_among_others(says: str, found: Found) -> None:
    wrong = found("".join(TOGETHER))
    assert sum(says in one for one in wrong) == 1, wrong


@pytest.mark.parametrize(("body", "says"), ALONE.items())
def test_a_fault_is_caught_and_named(body: str, says: str, found: Found) -> None:
    assert any(says in wrong for wrong in found(body)), found(body)


def test_one_word_of_each_kind_is_enough_to_find_a_pale_one(found: Found, fresh: Page) -> None:
    pale = "<b style='color: #ccc; background: #fff'>pale <mjx-container>y</mjx-container></b>"
    wrong = found("<p>dark</p>" * 3 + f"<p>dark {pale}</p>" * 2)
    assert [one.split(":")[0] for one in wrong] == ["color-contrast"]
    assert "pale <mjx-container>x</mjx-container>" in wrong[0]
    met: set[str] = set()
    for left in (3, 0):  # a p, an i and the p around it; the second time all was met before
        fresh.set_content("<p>dark</p>" * 3 + "<p>dark <i>slanted</i></p>" * 2)
        checks.only_new_kinds(fresh, met)
        assert fresh.locator("p:visible, i:visible").count() == left
    assert len(met) == 2


def test_without_a_browser_it_is_said_and_is_a_failure_only_if_required(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chromium.shutil, "which", lambda _: None)
    for required, code in (("", 0), ("required", 1)):
        monkeypatch.setenv("HEAVYBANDIT_BROWSER", required)
        assert chromium.main() == code
        said = capsys.readouterr().out
        assert "NOT run" in said
        assert "apt-get install chromium" in said
