"""What is asked of every page; each check returns what is wrong, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SEVERE = ("serious", "critical")
COLOUR_RULES = ("color-contrast", "link-in-text-block")  # those whose answer depends on the theme

# Text that a reader sees and that is neither code nor typeset mathematics.
RAW_TEX = r"""() => {
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement;
    if (parent.closest("code, pre, script, style, noscript, mjx-container")) continue;
    if (!/\$|\\\(|\\\[|\\begin\{/.test(node.data) || !parent.checkVisibility()) continue;
    found.push("raw TeX is shown: " + node.data.trim().slice(0, 80));
  }
  for (const error of document.querySelectorAll("mjx-merror, [data-mjx-error]"))
    found.push("MathJax could not set: " + error.textContent.slice(0, 80));
  for (const formula of document.querySelectorAll(".math"))
    if (!formula.querySelector("mjx-container"))
      found.push("a formula was not set: " + formula.textContent.slice(0, 80));
  return found;
}"""

IMAGES = r"""async () => {
  const found = [];
  for (const image of document.images) {
    image.loading = "eager";
    await image.decode().catch(() => {});
    const name = image.getAttribute("src");
    if (!image.naturalWidth) found.push(`the image ${name} was not loaded`);
    if (!image.alt.trim()) found.push(`the image ${name} has no alt text`);
  }
  return found;
}"""

OVERFLOW = r"""() => {
  const page = document.documentElement;
  if (page.scrollWidth <= page.clientWidth) return [];
  const wide = [...document.body.querySelectorAll("*")]
    .filter((e) => e.getBoundingClientRect().right > page.clientWidth + 1)
    .slice(0, 3)
    .map((e) => e.tagName.toLowerCase() + (e.className ? "." + e.className : ""));
  return [`the page is ${page.scrollWidth} wide on ${page.clientWidth}: ${wide.join(", ")}`];
}"""

PREPARE = r"""() => {
  for (const change of document.getAnimations()) {
    try { change.finish(); } catch { /* it has no end */ }
  }
  const seen = new Set();
  for (const word of document.querySelectorAll("pre span, .sig span, .sig em")) {
    const ground = word.closest("pre, .sig");
    const kind = `${word.className} in ${ground.parentElement.parentElement.className}`;
    if (seen.has(kind)) word.replaceWith(...word.childNodes);
    else seen.add(kind);
  }
}"""

# For rules on colour alone: the size of a formula, which says what scrolls, is no part of them.
WITHOUT_FORMULAS = r"""() => {
  for (const formula of document.querySelectorAll("mjx-container")) formula.textContent = "x";
}"""

TARGETS = '() => [...document.querySelectorAll("a[href]")].map((a) => a.href)'


class Watch:
    """Collects what goes wrong while a page loads."""

    def __init__(self, page: Page, origin: str) -> None:
        self.wrong: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(f"a script failed: {error}"))
        page.on("requestfailed", lambda r: self.wrong.append(f"the request of {r.url} failed"))
        page.on("response", self._response)
        page.on("request", lambda r: self._request(r.url, origin))

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.wrong.append(f"the console has an error: {message.text}")

    def _response(self, response: Any) -> None:
        if response.status >= 400:
            self.wrong.append(f"{response.url} was answered with {response.status}")

    def _request(self, url: str, origin: str) -> None:
        if not url.startswith((origin, "data:", "blob:", "about:")):
            self.wrong.append(f"{url} was asked for, which is not served here")


def formulas(page: Page) -> list[str]:
    """Every formula is set."""
    return list(page.evaluate(RAW_TEX))


def images(page: Page) -> list[str]:
    """Every image is loaded, and has words for those who do not see it."""
    return list(page.evaluate(IMAGES))


def overflow(page: Page) -> list[str]:
    """The page does not scroll sideways."""
    return list(page.evaluate(OVERFLOW))


def accessibility(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds to be serious or critical, by all of its rules or by those named.

    axe takes seconds for a page of many elements, so it is spared what is alike: of coloured code
    one word of each colour is left as it is, and what MathJax draws has its paragraph's colour;
    when only colours are asked about, formulas are emptied.
    It is kept from loading style sheets again (`preload`): it looks for their imports where they
    are not.
    """
    page.evaluate(PREPARE)
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
    if rules:
        options["runOnly"] = list(rules)
    if rules and set(rules) <= set(COLOUR_RULES):
        page.evaluate(WITHOUT_FORMULAS)
    results = Axe().run(page, {"exclude": [["mjx-container"]]}, options).response
    return [
        f"{violation['id']}: {violation['help']}; {node['html'][:150]}"
        for violation in results["violations"]
        if violation["impact"] in SEVERE
        for node in violation["nodes"][:3]
    ]


def links(page: Page, origin: str, folder: Path) -> list[str]:
    """Every link within the book leads to a file that is there and to an anchor that it has."""
    wrong = []
    for target in sorted(set(page.evaluate(TARGETS))):
        if not target.startswith(origin):
            continue
        url, fragment = urldefrag(target)
        file = folder / unquote(urlsplit(url).path).lstrip("/")
        file = file / "index.html" if file.is_dir() else file
        if not file.is_file():
            wrong.append(f"a link leads to {target}, where there is nothing")
        elif fragment and unquote(fragment) not in anchors(file):
            wrong.append(f"a link leads to {target}, and the page has no such anchor")
    return wrong


@cache
def anchors(file: Path) -> frozenset[str]:
    """The ids of an HTML file."""
    found: set[str] = set()

    class Ids(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.update(value for name, value in attrs if name in ("id", "name") and value)

    Ids().feed(file.read_text(encoding="utf-8"))
    return frozenset(found)
