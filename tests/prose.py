"""Numbers in prose, and how they are held to what they come from.

Of a page that is held number by number a test lists phrases. Numbers in braces must be those that
the phrase's source gives now: an output of a chapter, the ledger, a table of data/, or the package.
A phrase without braces is one that nothing computes, with the reason. A number that is in no
phrase, in digits or in words, makes the test fail, and so does a phrase that is not on the page: a
number that is changed in the text alone is found wherever it stands. What is called by a number, as
Lemma 4 is, code, formulas and headings are left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from heavybandit.replication import claims

ROOT = Path(__file__).parents[1]
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
NUMBER = re.compile(r"(?<![\w₀-₉])\d[\d,.]*(?:·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*(?:th\b)?")
COUNTS = re.findall(
    r"\w+",
    "none one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty",
)
WORD = re.compile(
    rf"(?i)\b(?:none|one(?= of\b)|{'|'.join(COUNTS[2:])}|thirty|forty|fifty|hundreds?|thousands?"
    r"|twice|half|(?<=a )(?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|\w+[td]ieth"
    r"|hundredth|thousandth))\b"
)
NAMED = re.compile(
    r"(?i)\b(?:lemma|theorem|section|algorithm|proposition|step|stage|equation|arm|round|seed|item"
    r"|notebook|chapter|figure|example|assumption)s?"
    r" \(?\d+(?![\d,.]*\d)(?:(?:, | and | to | or |–)\d+(?![\d,.]*\d))*\)?|\bR\d+\b"
    r"|\b(?:arxiv\S* ?)?(?:19|20|21)\d\d(?:\.\d{4,5})?\b(?![.,]\d)"
)
"""What is called by a number: statements, steps, arms, years and papers."""
NO_PROSE = re.compile(
    r"(?ms)^```.*?^```|^\d+\. |<!--.*?-->|^#[^\n]*$|^\|[ \-|]*\|$|\$\$.*?\$\$|\$[^$]*\$|`[^`]*`"
    r"|\[[\d, ]*\]\([^)]*\)|\]\([^)]*\)|<[^>\n]*>|https?://\S+"
)
"""Code, comments, headings, formulas, and where links lead."""

COSTS = re.compile(r"<!-- ([^>]*) -->")
"""A comment that names the costs in the words before it; test_advice.py holds them."""
PERCENTAGE = re.compile(r"\d+(?=(?:(?:,| and| to| against)\s+\d+)*\s+%)")


def rounded(value: float) -> str:
    """A power of ten with one digit before it, as prose has it: 8.2e10 is 8·10¹⁰."""
    digit, power = f"{value:.0e}".split("e")
    ten = "10" + str(int(power)).translate(SUPERSCRIPTS)
    return ten if digit == "1" else f"{digit}·{ten}"


def two_digits(shape: str) -> Callable[[Any], str]:
    """Rounds to two significant digits and then formats, as findings do."""
    return lambda value: shape.format(float(f"{float(str(value).replace(',', '')):.2g}"))


def one_line(text: str) -> str:
    return " ".join(text.split())


def read(name: str) -> str:
    """A page of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def path_of(chapter: str) -> Path:
    """The notebook whose name begins with these two digits."""
    (path,) = (ROOT / "notebooks").glob(f"{chapter}_*.ipynb")
    return path


@cache
def cells(chapter: str, kind: str) -> list[str]:
    """The sources of a chapter's cells of a kind, `markdown` or `code`."""
    found = json.loads(path_of(chapter).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


@cache
def outputs(chapter: str) -> str:
    """All that a chapter's cells put out, tables too, on one line."""
    found = []
    for cell in json.loads(path_of(chapter).read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            kinds = output.get("data", {})
            found += ["".join(kinds.get(kind, "")) for kind in ("text/html", "text/markdown")]
            found += ["".join(output.get("text", "")), "".join(kinds.get("text/plain", ""))]
    return one_line(unescape(re.sub(r"<[^>]*>", " ", "\n".join(found))))


def descriptions(chapter: str) -> str:
    """What the figures of a chapter show, in words."""
    found = json.loads(path_of(chapter).read_text(encoding="utf-8"))["cells"]
    pictures = [
        output.get("metadata", {}).get("image/png", {})
        for cell in found
        for output in cell.get("outputs", ())
    ]
    return "\n".join(picture["alt"] for picture in pictures if "alt" in picture)


def finding(chapter: str) -> str:
    """What a chapter says came out: its first cell."""
    (said,) = (text for text in cells(chapter, "markdown") if "**What was found.**" in text)
    return said


def numbers(text: str) -> set[str]:
    """The numbers of a text in digits; those of headings, links and formulas are names."""
    text = re.sub(
        r"(?m)^#.*$|\$[^$]*\$|\[[^]]*\]\([^)]*\)|\b(?:Lemma|Theorem|Section)s? \d+", " ", text
    )
    return digits(text)


def digits(text: str) -> set[str]:
    """All numbers in digits."""
    return {found.rstrip(".,") for found in NUMBER.findall(text)}


def left_over(text: str, phrases: Iterable[str]) -> list[str]:
    """The numbers of a page, in digits and in words, that stand in none of the phrases."""
    text = one_line(NO_PROSE.sub(" ¦ ", text))
    known = [one.span() for one in NAMED.finditer(text)]
    for phrase in phrases:
        known += [one.span() for one in re.finditer(re.escape(phrase), text)]
    return [
        text[max(0, one.start() - 30) : one.end() + 20]
        for one in (*NUMBER.finditer(text), *WORD.finditer(text))
        if not any(begin <= one.start() < end for begin, end in known)
    ]


@dataclass(frozen=True)
class Shown:
    """Numbers that stand in the outputs of a chapter, or in its code: the groups of a pattern."""

    chapter: str
    pattern: str
    shape: Callable[[Any], str] = str

    def values(self) -> list[str]:
        where = outputs(self.chapter) + " " + one_line(" ".join(cells(self.chapter, "code")))
        found = re.search(self.pattern, where)
        assert found, f"chapter {self.chapter} shows no {self.pattern}"
        return [self.shape(one) for one in found.groups()]


@cache
def evidence(claim: str) -> dict[str, Any]:
    """What the ledger has recorded for a claim."""
    (entry,) = (one for one in claims.read(ROOT / "data") if one.id == claim)
    return entry.evidence


@dataclass(frozen=True)
class Recorded:
    """A value, or the values, of the evidence for a claim."""

    claim: str
    key: str
    shape: Callable[[Any], str] = "{:,}".format

    def values(self) -> list[str]:
        value = evidence(self.claim)[self.key]
        return [self.shape(one) for one in (value if isinstance(value, list) else [value])]


@dataclass(frozen=True)
class Is:
    """Numbers that are computed from the package or from data/."""

    compute: Callable[[], Iterable[Any]]
    shape: Callable[[Any], str] = "{:,}".format

    def values(self) -> list[str]:
        return [self.shape(one) for one in self.compute()]


Source = Shown | Recorded | Is | str
"""Where a number comes from, or why it is not computed."""
NAME = "of the paper, of the model, or what something is called"
COUNTED = "a count of what the text itself lists"
MEASURED = "a time, measured by hand on one machine"
SET_UP = "what was set, of which the package has no constant"
READ_OFF = "read off a figure or a table"


def plain(phrase: str) -> str:
    return phrase.replace("{", "").replace("}", "")


def check(text: str, phrase: str, source: Source) -> None:
    """The phrase is on the page, and what it has in braces is what its source gives now."""
    said = re.findall(r"\{([^}]*)\}", phrase)
    if isinstance(source, str):
        assert not said, f"{phrase!r}: no source is given for what is in braces"
    else:
        assert said == source.values()
    assert plain(phrase) in one_line(text)


def count(value: Any) -> str:
    """A number in words: 3 is three, and "3 of 3 horizons" too."""
    return COUNTS[int(str(value).split()[0])]


def capital(value: Any) -> str:
    """The same at the beginning of a sentence."""
    return count(value).capitalize()


def ten(value: float) -> str:
    """A power of ten."""
    return "10" + str(round(math.log10(value))).translate(SUPERSCRIPTS)
