"""The ledger as a table to read: in README.md, in CLAIMS.md and in the reading edition.

All show the same columns; only where the links lead differs, and README.md has a choice of entries.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ..pipeline.scratch import text_of
from ..pipeline.tables import write_if_new
from .claims import STATEMENTS, Claim, shown

PACKAGE = __name__.partition(".")[0]
BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"
HEADER = ("statement", "verdict", "support", "notebook", "function", "test")
CHOSEN = (
    *("prop-1", "prop-2", "thm-1", "thm-2", "thm-3", "abstract-matching"),
    *("sec6-outperform-t", "sec6-outperform-pareto", "sec6-supbmm-smallest"),
)
"""The entries that README.md shows; CLAIMS.md has all."""
RENEW = "heavybandit claims --write-readme README.md --write-claims CLAIMS.md"


class Links:
    """Where the table's links lead: from README.md, to the files of the repository."""

    def notebook(self, file: str) -> str:
        """A link to a notebook, named by its number."""
        return f"[{file[:2]}](notebooks/{file})"

    def function(self, dotted: str) -> str:
        """A link to a function, named as in the package."""
        return f"[`{dotted}`]({source_file(dotted)})"

    def test(self, test: str) -> str:
        """A link to a test, whose name is a sentence."""
        return f"[{sentence(test)}]({test.partition('::')[0]})"


def resolve(dotted: str) -> tuple[ModuleType, Any]:
    """The module that holds a dotted name such as theory.theorem1, and what the name stands for."""
    module: ModuleType = import_module(PACKAGE)
    found: Any = module
    for name in dotted.split("."):
        if hasattr(found, "__path__") and find_spec(f"{found.__name__}.{name}"):
            module = found = import_module(f"{found.__name__}.{name}")
        elif hasattr(found, name):
            found = getattr(found, name)
        else:
            raise ValueError(f"{dotted} is no name of {PACKAGE}: there is no {name!r} in it")
    return module, found


def source_file(dotted: str) -> str:
    """The file of the repository that holds a dotted name, whichever package passes it on."""
    module, found = resolve(dotted)
    file = Path(str(sys.modules[getattr(found, "__module__", module.__name__)].__file__))
    return f"src/{file.relative_to(Path(__file__).parents[2]).as_posix()}"


def sentence(test: str) -> str:
    """A test's name in words: tests/test_x.py::test_a_b → a b."""
    return test.partition("::")[2].removeprefix("test_").replace("_", " ")


def table(entries: Sequence[Claim], links: Links) -> str:
    """The entries as a Markdown table, one per line."""
    lines = [row(HEADER), row(["---"] * len(HEADER))]
    for entry in entries:
        said = f"**{shown(entry.where)}.** {shown(entry.statement)}"
        where = links.notebook(shown(entry.notebook)), links.function(STATEMENTS[entry.id][2])
        test, rests_on = links.test(shown(entry.test)), shown(entry.rests_on)
        lines.append(row([said, entry.verdict, rests_on, *where, test]))
    return "\n".join(lines) + "\n"


def row(cells: Sequence[str]) -> str:
    """One line of a Markdown table; a bar in a cell would begin another."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def with_table(text: str, entries: Sequence[Claim], file: str) -> str:
    """The text with the table between its two markers renewed."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        raise ValueError(f"{file} must hold {BEGIN} and, after it, {END}, each once")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{table(entries, Links())}\n{END}{after}"


def chosen(entries: Sequence[Claim]) -> list[Claim]:
    """The entries of README.md."""
    return [entry for entry in entries if entry.id in CHOSEN]


def write(path: Path, entries: Sequence[Claim]) -> None:
    """Renew the table in a file, which is replaced as a whole or not at all."""
    text = text_of(path)
    write_if_new(path, with_table(text, entries, path.name))
