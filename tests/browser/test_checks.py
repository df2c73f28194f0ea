"""Each check catches the fault it is there for: a small page is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from . import checks, chromium
from .conftest import load

GOOD = """<!doctype html><html lang="en"><head><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"></head>
<body><main><h1>A page</h1>
<p id="here">Words, and <a href="#here">a link to them</a>.</p>{body}</main></body></html>"""
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

Found = Callable[..., list[str]]


@pytest.fixture(scope="module")
def fresh(browser: Browser) -> Iterator[Page]:
    """A page of its own, because a watch stays on the page it was put on."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture
def found(fresh: Page, serve: Callable[[Path], str], tmp_path: Path) -> Found:
    """What all checks find on a page with the given body, axe by the rules named."""

    def find(body: str, rules: Sequence[str] = ()) -> list[str]:
        (tmp_path / "index.html").write_text(GOOD.format(body=body))
        origin = serve(tmp_path)
        watch = checks.Watch(fresh, origin)
        load(fresh, origin + "index.html", width=375)
        checks.anchors.cache_clear()
        wrong = [*checks.formulas(fresh), *checks.images(fresh), *checks.overflow(fresh)]
        wrong += [*checks.links(fresh, origin, tmp_path), *checks.accessibility(fresh, rules)]
        return wrong + watch.wrong

    return find


def test_a_good_page_passes(found: Found) -> None:
    body = f'<code>$x$ \\[y\\]</code><img src="{PIXEL}" alt="A dot"><span hidden>$</span>'
    assert found(body) == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<script>console.error('bad luck')</script>", "the console has an error: bad luck"),
        ("<script>throw new Error('bad luck')</script>", "a script failed: "),
        ("<script src='gone.js'></script>", "gone.js was answered with 404"),
        ("<script src='http://127.0.0.1:9/x.js'></script>", "which is not served here"),
        ("<p>costs $x^2$</p>", "raw TeX is shown: costs $x^2$"),
        ("<p>the formula \\(x^2\\)</p>", "raw TeX is shown: the formula"),
        ("<p>the formula \\[x^2\\]</p>", "raw TeX is shown: the formula"),
        ("<p>\\begin{align}x\\end{align}</p>", "raw TeX is shown: \\begin{align}"),
        ("<span class='math'>x^2</span>", "a formula was not set: x^2"),
        ("<mjx-merror>Undefined \\foo</mjx-merror>", "MathJax could not set: Undefined"),
        (f"<img src='{PIXEL}'>", "has no alt text"),
        (f"<img src='{PIXEL}' alt=' '>", "has no alt text"),
        ("<img src='gone.png' alt='A dot'>", "the image gone.png was not loaded"),
        ("<a href='gone.html'>words</a>", "gone.html, where there is nothing"),
        ("<a href='index.html#gone'>words</a>", "#gone, and the page has no such anchor"),
        ("<div style='width: 500px'>words</div>", "the page is 50"),
        ("<button></button>", "button-name: "),
        ("<p style='color: #ccc; background: #fff'>pale</p>", "color-contrast: "),
    ],
)
def test_a_fault_is_caught_and_named(body: str, says: str, found: Found) -> None:
    assert any(says in wrong for wrong in found(body)), found(body)


def test_a_pale_word_beside_a_formula_is_caught_by_the_rules_on_colours(found: Found) -> None:
    pale = "<p style='color: #ccc; background: #fff'>pale <mjx-container>y</mjx-container></p>"
    (wrong,) = found(pale, checks.COLOUR_RULES)
    assert wrong.startswith("color-contrast: ")
    assert "pale <mjx-container>x</mjx-container>" in wrong


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
