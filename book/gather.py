"""Gathers the sources of the reading edition: `python book/gather.py`, then Sphinx (`make book`).

They go to build/book/source: the pages of book/ and the notebooks as they are committed, never
executed again, with links led to other pages of the book or to a page that shows the file; and the
pages that follow from the package: claims, algorithms, errata, API. What does not fit together is
an error with a sentence, so that no page is published with a hole.
"""

from __future__ import annotations

import ast
import base64
import functools
import inspect
import os
import re
import shutil
import sys
import textwrap
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

import explore
import front
import heavybandit
import notes
import steps
from chapters import chapter, short
from heavybandit.engine.policies import Compiled
from heavybandit.replication import claims, ledger
from heavybandit.replication.notebooks import numbered

ROOT = Path(__file__).parents[1]
MODULES = {  # module → what it is called in the contents; each gets a page of the API
    "paper": "The paper transcribed",
    "theory": "Closed forms",
    "later": "Later algorithms",
    "noise": "Noises",
    "instances": "Worlds",
    "simulate": "Simulation",
    "replication.claims": "The rules of the ledger",
    "replication.regrets": "Regret, as the notebooks read it",
    "replication.theorem_1": "Lemma 4's check",
}
# A link, whose words may hold code; or code in a fence or in backticks, which is not followed.
LINK = re.compile(r"(!?\[(?:[^\]`]|`[^`]*`)*\]\()([^)\s]+)(\))|```.*?```|`[^`\n]*`", re.S)


class Book:
    """The sources being gathered: which files have a page, and which must be given one."""

    def __init__(self, root: Path, out: Path) -> None:
        self.root = root
        self.out = out
        self.chapters = numbered(root / "notebooks")
        texts = (root / name for name in ("book/readings.md", "ERRATA.md", "book/glossary.md"))
        self.notes = notes.read(*(p.read_text(encoding="utf-8") for p in texts))
        self.pages = {f"notebooks/{path.name}": path.name for path in self.chapters}
        self.pages |= {"ERRATA.md": "errata.md", "README.md": "index.md"}
        self.pages |= {f"book/{path.name}": path.name for path in (root / "book").glob("*.md")}
        self.pages |= {f"book/{name}": name for name in api()}

    def relinked(self, text: str, home: str, page: str) -> str:
        """Markdown of a file in `home` with its relative links led to pages of the book."""

        def lead(match: re.Match[str]) -> str:
            before, target, after = match.groups()
            path, sharp, fragment = (target or "").partition("#")
            if not path or re.match(r"[a-z]+:", target):
                return match[0]
            return f"{before}{self.page_of(home, path, page)}{sharp}{fragment}{after}"

        return LINK.sub(lead, text)

    def page_of(self, home: str, link: str, page: str) -> str:
        """The source file of the book that stands for a link to a file of the repository."""
        file = os.path.normpath(os.path.join(home, link)).replace(os.sep, "/")
        if file in self.pages:
            return self.pages[file]
        if not (self.root / file).is_file():
            raise ValueError(f"{page} links to {link}, and {file} is no file of the repository")
        if file.endswith((".png", ".svg")):
            return self._copied(self.in_lines(file))
        return self.shown(file)

    def in_lines(self, file: str) -> str:
        """The SVG beside a PNG, which stays sharp when it is enlarged, where there is one."""
        drawn = f"{file.removesuffix('.png')}.svg"
        return drawn if (self.root / drawn).is_file() else file

    def figure(self, png: str, page: str) -> str:
        """The SVG of a figure that a notebook holds as PNG, in base64."""
        raw = base64.b64decode(png)
        for path in sorted((self.root / "figures").glob("*.png")):
            if path.stat().st_size == len(raw) and path.read_bytes() == raw:
                return path.with_suffix(".svg").read_text(encoding="utf-8")
        raise ValueError(f"{page} shows a figure that is not in figures/: execute it again")

    def _copied(self, file: str) -> str:
        target = self.out / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.root / file, target)
        return file

    def shown(self, file: str) -> str:
        """A page that shows a file as it is; searches pass it by."""
        name = self.pages[file] = f"source/{file}.md"
        text = (self.root / file).read_text(encoding="utf-8")
        language = "python" if file.startswith("src/") else "text"
        self.write(
            name,
            f"---\norphan: true\nnosearch: true\n---\n\n# {file}\n\n"
            f"~~~~~~{{code-block}} {language}\n:linenos:\n\n{text}\n~~~~~~\n",
        )
        return name

    def write(self, name: str, text: str) -> None:
        """Write one source."""
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class PageLinks(ledger.Links):
    """Where the links of the claims table lead from a page of the book."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def notebook(self, file: str) -> str:
        """A link to the chapter."""
        return f"[{file[:2]}]({file})"

    def function(self, dotted: str) -> str:
        """A link into the API or, for what is not part of it, to the source."""
        name = dotted.rpartition(".")[2]  # where it stands is seen where the link leads
        if any(dotted.startswith(f"{module}.") for module in MODULES):
            return f"{{py:obj}}`{name} <heavybandit.{dotted}>`"
        return f"[`{name}`]({self.book.page_of('', ledger.source_file(dotted), 'verdicts.md')})"

    def test(self, test: str) -> str:
        """A link to the file that holds the test."""
        file = test.partition("::")[0]
        return f"[{ledger.sentence(test)}]({self.book.page_of('', file, 'verdicts.md')})"


def gather(root: Path = ROOT, out: Path | None = None) -> Path:
    """Write all sources of the book; returns their folder."""
    out = out or root / "build" / "book" / "source"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    book = Book(root, out)
    shutil.copytree(root / "book" / "_static", out / "_static")
    explore.write(root / "data", out / "_static" / "explorer")
    shutil.copyfile(root / "book" / "conf.py", out / "conf.py")
    for path in sorted((root / "book").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if path.name == "glossary.md":
            check_glossary(text)
        book.write(path.name, filled(book.relinked(text, "book", path.name), book, path.name))
    for path in book.chapters:
        book.write(path.name, chapter(path, book))
    book.write("errata.md", errata((root / "ERRATA.md").read_text(encoding="utf-8"), book))
    for name, text in api().items():
        book.write(name, text)
    return out


def filled(text: str, book: Book, page: str) -> str:
    """A page with what follows from the repository in the places of its marks."""
    for mark in re.findall(r"^<!-- (\w+) -->$", text, re.M):
        text = text.replace(f"<!-- {mark} -->", made(mark, book, page))
    return text


def made(mark: str, book: Book, page: str) -> str:
    """What stands in the place of a mark."""
    if mark == "contents":
        return contents(book)
    if mark in ("findings", "advice"):
        readme = (book.root / "README.md").read_text(encoding="utf-8")
        text = front.findings(readme)
        if mark == "advice":
            text = front.section(readme, "What should I use?")
        return book.relinked(text, "", page)
    if mark == "algorithms":
        return book.relinked(algorithms(book), "book", page)
    entries = claims.read(book.root / "data")
    if mark == "verdicts":
        return front.strip(entries)
    if mark == "answers":
        board = pd.read_csv(book.root / "data" / "leaderboard.csv")
        return book.relinked(front.answers(entries, board), "book", page)
    if mark == "claims":
        return f"```{{table}}\n:class: claims\n\n{ledger.table(entries, PageLinks(book))}```"
    if mark == "poster":
        panels = tomllib.loads((book.root / "book" / "poster.toml").read_text(encoding="utf-8"))
        return book.relinked(front.poster(panels["section"], entries), "book", page)
    raise ValueError(f"{page} has the mark {mark!r}, which stands for nothing")


def contents(book: Book) -> str:
    """The table of contents."""
    parts = {
        "Beside the paper": ["poster.md", "algorithms.md", "bounds.md", "readings.md"],
        "What was found": [f"{short(path)} <{path.name}>" for path in book.chapters],
        "What breaks": ["verdicts.md", "errata.md"],
        "Use it": ["use.md", "guide.md", "explorer.md"],
        "Look up": ["glossary.md", "api.md"],
        "Modules": [f"{title} <{page_name(module)}>" for module, title in MODULES.items()],
    }
    return "\n\n".join(
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```"
        for caption, pages in parts.items()
    )


def errata(text: str, book: Book) -> str:
    """The errata with the last column's notebook numbers as links."""
    by_number = {path.name[:2]: path.name for path in book.chapters}
    lines = []
    for line in book.relinked(text, "", "ERRATA.md").splitlines():
        head, bar, last = line.removesuffix(" |").rpartition("| ")
        if bar and re.fullmatch(r"\d\d(, \d\d)*", last):
            named = (f"[{n}]({by_number[n]})" if n in by_number else n for n in last.split(", "))
            line = f"{head}{bar}{', '.join(named)} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def algorithms(book: Book) -> str:
    """Algorithms 1 to 3, the words beside the source."""
    words = tomllib.loads((book.root / "book" / "algorithms.toml").read_text(encoding="utf-8"))
    source = (book.root / "src" / "heavybandit" / "paper.py").read_text(encoding="utf-8")
    return steps.page(words["algorithm"], source, book.notes.readings)


def check_glossary(text: str) -> None:
    """Refuse a glossary that names what is not in the package.

    In its second column `a.b` is a dotted name of the package, and `x` in `a.b` is an argument, a
    variable or an attribute that the source of a.b uses.
    """
    for line in text.splitlines():
        cells = line.split(" | ")
        if not line.startswith("| ") or len(cells) < 3:
            continue
        for name, place in re.findall(r"`([^`]+)` in `([^`]+)`", cells[1]):
            if name not in names_used(ledger.resolve(place)[1]):
                raise ValueError(f"glossary.md names {name} in {place}, which does not use it")
        for dotted in re.findall(r"`([^`]+)`", re.sub(r"`[^`]+` in `[^`]+`", "", cells[1])):
            ledger.resolve(dotted)


def names_used(found: Any) -> set[str]:
    """Every name, argument and attribute in the source of a function, or of a class."""
    sources = [found]
    if inspect.isclass(found):
        sources = [cls for cls in found.__mro__ if cls.__module__.startswith(heavybandit.__name__)]
    return set().union(*map(names_in, sources))


@functools.cache  # most classes share their bases, and finding a source means parsing its file
def names_in(source: Any) -> frozenset[str]:
    """The same of one function, or of one class without its bases."""
    used: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(source)))):
        for kind, field in ((ast.Name, "id"), (ast.arg, "arg"), (ast.Attribute, "attr")):
            if isinstance(node, kind):
                used.add(getattr(node, field))
        if isinstance(node, ast.FunctionDef):
            used.add(node.name)
    return frozenset(used)


def page_name(module: str) -> str:
    """The page of a module of the API."""
    return f"api_{module.rpartition('.')[2]}.md"


def api() -> dict[str, str]:
    """The pages of the API: one of the public names, and one per module."""
    public = []
    for name in heavybandit.__all__:
        found = getattr(heavybandit, name)
        if isinstance(found, ModuleType):
            if name not in MODULES:
                raise ValueError(f"heavybandit.{name} is public, but has no page of the API")
            continue
        kind = "autoclass" if inspect.isclass(found) else "autofunction"
        options = [":members:", ":inherited-members:"] if kind == "autoclass" else []
        if inspect.isclass(found) and issubclass(found, Compiled):
            # all policies have the same members, which stand once
            options = [":members: moment"] * hasattr(found, "moment")
        target = f"heavybandit.{name}"
        if name in MODULES:  # simulate is a function and a module, and the module has the anchor
            target += f".{name}"
            options.append(":no-index:")
        public.append("\n   ".join([f".. {kind}:: {target}", *options]) + "\n")
    pages = {
        page_name(module): f"# {title}\n\n`heavybandit.{module}`\n\n"
        f"```{{eval-rst}}\n.. automodule:: heavybandit.{module}\n   :members:\n```\n"
        for module, title in MODULES.items()
    }
    modules = "\n".join(
        f"- [{title}]({page_name(module)}): `heavybandit.{module}`"
        for module, title in MODULES.items()
    )
    pages["api.md"] = (
        "# API\n\nWhat `import heavybandit as hb` offers, with signatures and docstrings as they "
        "stand in the source, and the modules it comes from. What all policies have in common is "
        "listed once, at the end.\n\n## Modules\n\n"
        f"{modules}\n\n## Public names\n\n"
        "```{eval-rst}\n" + "\n".join(public) + "```\n\n"
        "## What every policy has\n\n"
        "```{eval-rst}\n.. autoclass:: heavybandit.engine.policies.Compiled\n"
        "   :members:\n   :inherited-members:\n```\n"
    )
    return pages


if __name__ == "__main__":
    try:
        gather()
    except (ValueError, OSError) as error:
        sys.exit(f"book/gather.py: {error}")
