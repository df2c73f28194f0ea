"""The ledger as a table to read: in README.md, and on the first page of the reading edition.

Both show statement, verdict, notebook, function and test; only where the links lead differs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from ..pipeline.tables import write_if_new
from .claims import STATEMENTS, Claim

PACKAGE = __name__.partition(".")[0]
BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"
HEADER = ("statement", "verdict", "notebook", "function", "test")
RENEW = "heavybandit claims --write-readme README.md"


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
    """The file of the repository that holds a dotted name."""
    file = Path(str(resolve(dotted)[0].__file__))
    return f"src/{file.relative_to(Path(__file__).parents[2]).as_posix()}"


def sentence(test: str) -> str:
    """A test's name in words: tests/test_x.py::test_a_b → a b."""
    return test.partition("::")[2].removeprefix("test_").replace("_", " ")


def superscripts(text: str) -> str:
    """x^{a} and x_{a} as HTML, which Markdown passes on; what stands in backticks stays."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\^(?:\{([^{}]*)\}|(\w))", r"<sup>\1\2</sup>", parts[i])
        parts[i] = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", parts[i])
    return "`".join(parts)


def table(entries: Sequence[Claim], links: Links) -> str:
    """The entries as a Markdown table, one a line."""
    lines = [row(HEADER), row(["---"] * len(HEADER))]
    for entry in entries:
        said = f"**{entry.where}.** {superscripts(entry.statement)}"
        where = links.notebook(entry.notebook), links.function(STATEMENTS[entry.id][2])
        lines.append(row([said, entry.verdict, *where, links.test(entry.test)]))
    return "\n".join(lines) + "\n"


def row(cells: Sequence[str]) -> str:
    """One line of a Markdown table; a bar in a cell would begin another."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def with_table(text: str, entries: Sequence[Claim], file: str = "README.md") -> str:
    """The text with the table between its two markers renewed."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        raise ValueError(f"{file} must hold {BEGIN} and, after it, {END}, each once")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{table(entries, Links())}\n{END}{after}"


def write_readme(path: Path, entries: Sequence[Claim]) -> None:
    """Renew the table in a file, which is replaced as a whole or not at all."""
    text = path.read_text(encoding="utf-8")
    write_if_new(path, with_table(text, entries, path.name))
