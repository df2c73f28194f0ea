"""A notebook as a chapter of the reading edition.

Code is folded, but for the cells whose code is the argument; a switch on each page opens all.
Readings and errata stand in the margin where they bite.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from notes import Beside

if TYPE_CHECKING:
    from gather import Book

LONGEST = 15  # lines of an argument: what is longer is plumbing too
PLUMBING = re.compile(r"^\s*(import|from) |plotting\.|claims\.settle|\bfigure\b|display\(", re.M)
ARGUMENT = re.compile(r"\b(paper|theory)\.\w|# steps? \d")
FOR_TOOLS = re.compile(r"[ ]*# (noqa|type: ignore)\b.*$", re.M)  # comments that no reader needs
OPEN = "open"  # a notebook may say by this tag that a cell's code is to be read


def short(path: Path) -> str:
    """A chapter's title as the sidebar has room for: what stands before the colon."""
    first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    return first.splitlines()[0].removeprefix("# ").partition(":")[0]


def is_argument(code: str) -> bool:
    """Short, and computes with the paper's own algorithms and formulas: code to be read.

    What imports, draws, settles a claim or merely displays the package's source is not.
    """
    if len(code.splitlines()) > LONGEST or PLUMBING.search(code) or code.startswith("source("):
        return False
    return bool(ARGUMENT.search(code))


def chapter(path: Path, book: Book) -> str:
    """A notebook with its links led to pages, its figures in lines and its code folded."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    beside = Beside(book.notes, path.name[:2])
    for i, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            text = book.relinked(beside.cell(source, opening=i == 0), "notebooks", path.name)
            cell["source"] = text.splitlines(keepends=True)
        else:
            cell["source"] = FOR_TOOLS.sub("", source).splitlines(keepends=True)
            if OPEN not in cell["metadata"].get("tags", []) and not is_argument(source):
                cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-input"]
        draw_in_lines(cell, path.name, book)
    return json.dumps(notebook, ensure_ascii=False)


def draw_in_lines(cell: dict[str, Any], page: str, book: Book) -> None:
    """Replace a figure that a cell shows as PNG by the same as SVG, and keep its words."""
    drawn = [o for o in cell.get("outputs", []) if "image/png" in o.get("data", {})]
    if len(drawn) > 1:
        raise ValueError(f"{page} has a cell with {len(drawn)} figures, but 1 is allowed")
    for output in drawn:
        alt = output["metadata"].pop("image/png")["alt"]
        output["data"]["image/svg+xml"] = book.figure(output["data"].pop("image/png"), page)
        # myst-nb takes an image's words from its cell alone
        cell["metadata"]["mystnb"] = {"image": {"alt": " ".join(alt.split())}}
