"""What stands beside a chapter's text: readings, errata where they bite, words of the glossary.

All of it is taken from readings.md, ERRATA.md and glossary.md when the book is gathered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Passed by when words are looked for: fences, code, formulas, links, headings, tables, tags.
SKIPPED = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|!?\[[^\]]*\]\([^)]*\)|^#.*?$|^\|.*?$|<[^>]+>",
    re.S | re.M,
)
READING = re.compile(r"\bR\d{1,2}\b")
STATEMENT = re.compile(r"(?:Theorem|Lemma|Proposition|Algorithm|Section) \d+")


@dataclass(frozen=True)
class Erratum:
    """One row of ERRATA.md."""

    where: str
    printed: str
    chapters: tuple[str, ...]  # the numbers of the notebooks that show it

    @property
    def statements(self) -> list[str]:
        """The numbered statements it is about: Theorems 1, 2 are two, Lemma 4 with step 11 one."""
        about = self.where.partition(" with ")[0]
        return STATEMENT.findall(re.sub(r"(\w+)s (\d+), (\d+)", r"\1 \2 \1 \3", about))


@dataclass(frozen=True)
class Notes:
    """All that can stand beside a text."""

    readings: dict[str, str]  # R5 → what is open, and how it is read
    errata: tuple[Erratum, ...]
    terms: tuple[str, ...]


def rows(text: str) -> Iterable[list[str]]:
    """The cells of each line of the tables in a Markdown text, without heads."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def read(readings: str, errata: str, glossary: str) -> Notes:
    """The notes of the three files' texts."""
    found = {row[0]: f"{row[1]}: {row[2]}" for row in rows(readings) if READING.fullmatch(row[0])}
    listed = [
        Erratum(row[0], row[1], tuple(row[3].split(", ")))
        for row in rows(errata)
        if len(row) == 4 and re.fullmatch(r"\d\d(, \d\d)*", row[3])
    ]
    block = re.search(r"^```\{glossary\}\n(.*?)^```", glossary, re.S | re.M)
    terms = re.findall(r"^(\S.*)$", block[1], re.M) if block else []
    return Notes(found, tuple(listed), tuple(terms))


def plain(text: str) -> str:
    """A text of the same length in which what is no prose is blank."""
    return SKIPPED.sub(lambda match: " " * len(match[0]), text)


def margin(title: str, body: str) -> str:
    """A note in the margin, in MyST Markdown."""
    return f"```{{margin}} {title}\n{body}\n```\n\n"


class Beside:
    """Puts notes beside one chapter, each once, and leads each term to the glossary once."""

    def __init__(self, notes: Notes, number: str) -> None:
        self.notes = notes
        self.readings = dict(notes.readings)
        self.errata: dict[str, list[Erratum]] = {}
        for one in notes.errata:
            for statement in one.statements if number in one.chapters else ():
                self.errata.setdefault(statement, []).append(one)
        self.terms = list(notes.terms)

    def cell(self, text: str, opening: bool = False) -> str:
        """A cell of prose with notes before the paragraphs they belong to.

        The chapter's first cell tells what came out, so errata wait for what follows it.
        """
        parts = re.split(r"(\n{2,})", text)
        fenced = False
        for i in range(0, len(parts), 2):
            told = "" if fenced else self.paragraph(parts[i], opening)
            fenced ^= parts[i].count("```") % 2 == 1
            parts[i] = told or parts[i]
        return "".join(parts)

    def paragraph(self, text: str, opening: bool) -> str:
        """One paragraph with its notes before it and its terms led to the glossary."""
        prose, before = plain(text), ""
        if text.startswith((" ", "|", "```", "%", "(")) or not prose.strip():
            return text
        named = READING.findall(text)
        for name in dict.fromkeys(named):
            if name in self.readings:
                said = self.readings.pop(name)  # of which only the first letter may change
                before += margin(f"Reading {name}", f"{said[0].upper()}{said[1:]}.")
        for statement in () if opening else dict.fromkeys(STATEMENT.findall(prose)):
            if found := self.errata.pop(statement, None):
                before += margin(f"Errata · {statement}", self._errata(found))
                for others in self.errata.values():  # what is about several statements stands once
                    others[:] = [one for one in others if one not in found]
        return before + self._linked(text)

    @staticmethod
    def _errata(found: list[Erratum]) -> str:
        lines = []
        for one in found:
            where, printed = (text.replace("*", "\\*") for text in (one.where, one.printed))
            lines.append(f"- <strong>{where}</strong>, as printed: {printed}")
        return "\n".join([*lines, "", "[What is true](errata.md)"])

    def _linked(self, text: str) -> str:
        for term in list(self.terms):
            match = re.search(rf"\b{re.escape(term)}s?\b", plain(text), re.I)
            if match and not text[: match.start()].endswith("*"):
                self.terms.remove(term)
                role = f"{{term}}`{match[0]} <{term}>`"
                text = text[: match.start()] + role + text[match.end() :]
        return text
