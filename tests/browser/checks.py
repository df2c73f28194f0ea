"""What is asked of every page; each check returns what is wrong, in sentences."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SEVERE = ("serious", "critical")
COLOUR_RULES = ("color-contrast", "link-in-text-block")  # those whose answer depends on the theme
# words that a reader should never meet
LEAKED = ("TypeAliasForwardRef", "_NestedSequence", "Alias for field number", "~typing", "ndarray[")
# an article in the place of "per", as in 2 a play
DIALECT = re.compile(r"(?<!±)\b\d[\d.,]*\s(?:a play|a round|an arm|a row)\b")
TALLEST = 3  # lines in the head of a table
LONGEST = 700  # signs of a signature: what is longer has a value in it that is no reading matter
SMALLEST = 0.7  # of its size, to which a formula may be set smaller so that it fits

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

# At the present width: a formula, code or figure that is cut, and what scrolls where it should not.
FITTING = r"""() => {
  const found = [];
  const shown = (node) => node.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
  const inner = (block) => {
    const look = getComputedStyle(block);
    return block.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight);
  };
  for (const formula of document.querySelectorAll("mjx-container")) {
    let block = formula.parentElement;
    while (/^inline|contents/.test(getComputedStyle(block).display)) block = block.parentElement;
    const drawn = formula.querySelector("mjx-math");
    if (!drawn || !formula.checkVisibility()) continue;
    const over = drawn.getBoundingClientRect().width - inner(block);
    const tex = shown(formula);
    if (over > 1) found.push(`a formula exceeds its block by ${Math.round(over)}: ${tex}`);
    const size = parseFloat(getComputedStyle(formula).fontSize) /
      parseFloat(getComputedStyle(formula.parentElement).fontSize);
    if (size < LEAST) found.push(`a formula is set at ${size.toFixed(2)} of its size: ${tex}`);
  }
  for (const formula of document.querySelectorAll("span.math")) {
    const before = formula.previousSibling ?? formula.closest(".with-sign")?.previousSibling;
    if (!/[(“‘[]$/.test(before?.data ?? "") || !formula.checkVisibility()) continue;
    const sign = document.createRange();
    sign.setStart(before, before.data.length - 1);
    sign.setEnd(before, before.data.length);
    const next = formula.getClientRects()[0];
    if (next && next.left < sign.getBoundingClientRect().left)
      found.push(`a bracket is left behind by its formula: ${shown(formula)}`);
  }
  for (const row of document.querySelectorAll(".wide-table thead tr")) {
    const look = getComputedStyle(row.cells[0]);
    const inside = row.cells[0].clientHeight - parseFloat(look.paddingTop) -
      parseFloat(look.paddingBottom);
    const lines = Math.round(inside / parseFloat(look.lineHeight));
    if (lines > TALLEST) found.push(`the head of a table has ${lines} lines: ${shown(row)}`);
  }
  for (const name of document.querySelectorAll("table.table code .pre"))
    for (const part of name.childNodes) {
      const all = document.createRange();
      all.selectNode(part);
      const lines = new Set([...all.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) found.push(`a name is broken within a word: ${shown(name)}`);
    }
  for (const code of document.querySelectorAll("pre"))
    if (code.scrollWidth > code.clientWidth + 1) found.push(`code is cut: ${shown(code)}`);
  const scrolls = (e, axis) => /auto|scroll/.test(getComputedStyle(e)["overflow" + axis]);
  for (const e of document.querySelectorAll(".bd-article *")) {
    if (scrolls(e, "Y") && e.scrollHeight > e.clientHeight + 1)
      found.push(`${e.tagName.toLowerCase()} scrolls within the page: ${shown(e)}`);
    if (!scrolls(e, "X") || e.scrollWidth <= e.clientWidth + 1) continue;
    if (e.tabIndex < 0) found.push(`a wide ${e.tagName.toLowerCase()} cannot be scrolled by keys`);
    for (let up = e.parentElement; up; up = up.parentElement)
      if (scrolls(up, "X") && up.scrollWidth > up.clientWidth + 1)
        found.push(`one scrolling box is in another: ${shown(e)}`);
  }
  return found;
}""".replace("LEAST", str(SMALLEST)).replace("TALLEST", str(TALLEST))

# What must stand in one line and does not.
LINES = r"""() => {
  const found = [];
  const lines = (range) => new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size;
  const range = document.createRange();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement;
    if (parent.closest("code, pre, script, style, mjx-container, select, [hidden]")) continue;
    for (const tie of node.data.matchAll(/\d\s%|\S\s[=≥≤<>±]\s\S/g)) {
      range.setStart(node, tie.index);
      range.setEnd(node, tie.index + tie[0].length);
      if (lines(range) > 1) found.push(`a line ends within ${tie[0]} of: ${parent.textContent}`);
    }
  }
  for (const raised of document.querySelectorAll(".bd-article :is(sup, sub)")) {
    const before = raised.previousSibling;
    if (!/\S$/.test(before?.data ?? "") || !raised.checkVisibility()) continue;
    range.selectNodeContents(before);
    if (raised.getClientRects()[0].top > [...range.getClientRects()].at(-1).bottom - 3)
      found.push(`a line begins with the raised ${raised.textContent}`);
  }
  for (const cell of document.querySelectorAll(".wide-table tbody td")) {
    range.selectNodeContents(cell);
    if (/^[−\d][^a-z]*( (to|of) [^a-z]*)?$/i.test(cell.textContent) && lines(range) > 1)
      found.push(`a number is broken: ${cell.textContent}`);
  }
  return found;
}"""

# Words of a figure have 8 points or more at the size at which it was drawn.
SHRUNK = r"""() => [...document.querySelectorAll(".cell_output img")]
  .filter((image) => image.width < image.naturalWidth - 1)
  .map((image) => `a figure is shown at ${(image.width / image.naturalWidth).toFixed(2)} of its ` +
    `size: ${image.alt.slice(0, 60)}`)"""

TAB_STOPS = r"""() => [...document.querySelectorAll("mjx-container, mjx-container *")]
  .filter((e) => e.tabIndex >= 0)
  .map((e) => "a formula is a tab stop: " + e.textContent.slice(0, 60))"""

PREPARE = r"""() => {
  for (const change of document.getAnimations()) {
    try { change.finish(); } catch { /* it has no end */ }
  }
  for (const formula of document.querySelectorAll("mjx-container")) formula.textContent = "x";
}"""

# Code as plain text, and its coloured words again: axe walks through every element.
PLAIN_CODE = r"""() => {
  window.coloured = [...document.querySelectorAll("pre")].map((e) => [e, [...e.childNodes]]);
  for (const [code] of window.coloured) code.textContent = code.textContent;
}"""
COLOURED_CODE = "() => window.coloured.forEach(([code, words]) => code.replaceChildren(...words))"

# Colours follow from the tags, classes, states and styles around a word: one of each kind is
# enough, on whichever page it was met first.
ONLY_NEW_KINDS = r"""(met) => {
  const known = new Set(met), kinds = [], kept = new Set([document.body]);
  const one = (e) => [e.tagName, e.className, e.getAttribute("style"), e.ariaPressed, e.ariaCurrent,
    /^(bounds|explorer|regrets)/.test(e.id) ? e.id : ""].join(".");
  const chain = (e) => one(e) + (e === document.body ? "" : ">" + chain(e.parentElement));
  const speaks = (e) => e.matches("input, select") ||
    [...e.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  for (const e of document.body.querySelectorAll("*")) {
    if (!speaks(e) || !e.checkVisibility()) continue;
    const kind = chain(e);
    if (known.has(kind)) continue;
    known.add(kind);
    kinds.push(kind);
    for (let up = e; up && !kept.has(up); up = up.parentElement) kept.add(up);
  }
  for (const e of [...document.body.querySelectorAll("*")]) {
    if (kept.has(e) || !kept.has(e.parentElement)) continue;
    e.style.setProperty("display", "none", "important");
    e.replaceChildren();  // it stays where it is, since colours may follow from the place
  }
  return kinds;
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


def fitting(page: Page) -> list[str]:
    """At this width no formula or code is cut, and nothing scrolls inside what scrolls."""
    return list(page.evaluate(FITTING))


def lines(page: Page) -> list[str]:
    """At this width no line ends within an equation or a number."""
    return list(page.evaluate(LINES))


def shrunk(page: Page) -> list[str]:
    """Where there is room, every figure has the size at which it was drawn."""
    return list(page.evaluate(SHRUNK))


def tab_stops(page: Page) -> list[str]:
    """The keyboard goes from link to link, not through every formula."""
    return list(page.evaluate(TAB_STOPS))


def words(page: Page) -> list[str]:
    """Nothing that a tool left behind is shown as text."""
    text = page.evaluate("() => document.body.textContent")
    signatures = page.evaluate(
        "() => [...document.querySelectorAll('dt.sig')].map(e => e.innerText)"
    )
    long = [one for one in signatures if len(one) > LONGEST]
    leaked = [word for word in LEAKED if word in text] + DIALECT.findall(text)
    told = page.evaluate(
        "() => [...document.querySelectorAll('dd > p, dd li code')].map(e => e.innerText)"
    )
    raw = [one for one in told if re.search(r"[_^]\{|[\u0302)]_\w\b", one)]
    return [
        *(f"{word} is shown" for word in leaked),
        *(f"a signature has {len(one)} signs: {one[:60]}" for one in long),
        *(f"an index is not set: {one[:60]}" for one in raw),
    ]


def accessibility(page: Page) -> list[str]:
    """What axe finds to be serious or critical, but for colours; of code only the box."""
    page.evaluate(PLAIN_CODE)
    wrong = _axe(page, {"rules": {rule: {"enabled": False} for rule in COLOUR_RULES}})
    page.evaluate(COLOURED_CODE)
    return wrong


def only_new_kinds(page: Page, met: set[str]) -> None:
    """Leave of a page what has colours that were not met before, and remember them."""
    page.evaluate(PREPARE)
    met.update(page.evaluate(ONLY_NEW_KINDS, list(met)))


def colours(page: Page) -> list[str]:
    """What axe finds to be serious or critical in the colours of the theme that is on."""
    return _axe(page, {"runOnly": list(COLOUR_RULES)})


def _axe(page: Page, options: dict[str, Any]) -> list[str]:
    """axe takes seconds for a page of many elements, so formulas, which have the colour of their
    paragraph, are emptied first. (To exclude elements costs far more: for each element axe asks
    whether one that is excluded contains it.) It is kept from loading style sheets again
    (`preload`): it looks for their imports where they are not.
    """
    page.evaluate(PREPARE)
    options |= {"resultTypes": ["violations"], "preload": False}
    axe = Axe("null") if page.evaluate("() => 'axe' in window") else Axe()  # brought along once
    results = axe.run(page, options=options).response
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
