"""The sources of the reading edition: links lead somewhere, names exist, nothing has a hole."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import chapters
import conf
import gather as book
import heavybandit
from gather import Book
from heavybandit import paper
from heavybandit.replication import claims

ROOT = Path(__file__).parents[2]
DRAWN = {"image/svg+xml": "<svg/>"}


@pytest.fixture
def small(tmp_path: Path) -> Book:
    """A repository with a notebook, a page, a source file and a figure."""
    for name in ("notebooks", "book", "src", "figures"):
        (tmp_path / name).mkdir()
    notebook(tmp_path / "notebooks" / "01_a.ipynb", "# 01 · A thing: is it so?")
    (tmp_path / "book" / "glossary.md").write_text("```{glossary}\ncost\n  What is lost.\n```\n")
    (tmp_path / "book" / "readings.md").write_text("| R5 | the median | the lower one |\n")
    (tmp_path / "ERRATA.md").write_text("| Lemma 6 | n ≤ θ* | n ≥ 2 | 01, 02 |\n")
    (tmp_path / "src" / "x.py").write_text("x = 1\n")
    (tmp_path / "figures" / "f.png").write_bytes(b"png")
    return Book(tmp_path, tmp_path / "out")


def notebook(path: Path, *markdown: str, outputs: Sequence[dict[str, Any]] = ()) -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}
        for text in markdown
    ]
    cells.append({"cell_type": "code", "metadata": {}, "source": [], "outputs": outputs})
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))


def figure(alt: str) -> dict[str, Any]:
    shown = {"data": {"image/png": "cG5n"}, "metadata": {"image/png": {"alt": alt}}}
    return {"output_type": "display_data", **shown}


@pytest.mark.parametrize(
    ("home", "text", "led"),
    [
        ("book", "[a](../notebooks/01_a.ipynb#what)", "[a](01_a.ipynb#what)"),
        ("notebooks", "[a](01_a.ipynb)", "[a](01_a.ipynb)"),
        ("book", "[b](../ERRATA.md) [`c`](glossary.md)", "[b](errata.md) [`c`](glossary.md)"),
        ("book", "[`x`](../src/x.py)", "[`x`](source/src/x.py.md)"),
        ("book", "![f](../figures/f.png)", "![f](figures/f.png)"),
        *(("book", text, text) for text in ("`[a](b)`\n```\n[a](b)\n```", "[x](https://a.org/a)")),
        ("book", "[y](#here)", "[y](#here)"),
    ],
)
def test_a_link_to_a_file_leads_to_its_page_and_all_else_is_left_alone(
    home: str, text: str, led: str, small: Book
) -> None:
    assert small.relinked(text, home, "p.md") == led


def test_what_has_no_page_of_its_own_is_copied_or_shown(small: Book) -> None:
    small.relinked("[`x`](../src/x.py) ![f](../figures/f.png)", "book", "p.md")
    assert (small.out / "figures" / "f.png").read_bytes() == b"png"
    shown = (small.out / "source" / "src" / "x.py.md").read_text()
    for part in ("# src/x.py\n", "x = 1\n", "nosearch: true"):
        assert part in shown


def test_a_link_to_nothing_is_refused_and_named(small: Book) -> None:
    with pytest.raises(ValueError, match=r"p.md links to ../gone.py, and gone.py is no file"):
        small.relinked("[a](../gone.py)", "book", "p.md")


def test_a_chapter_keeps_its_outputs_and_gives_its_figures_words(small: Book) -> None:
    path = small.root / "notebooks" / "01_a.ipynb"
    (small.root / "figures" / "f.svg").write_text("<svg/>")
    printed = {"output_type": "stream", "text": ["1\n"]}
    outputs = [figure("A line\nthat rises."), printed]
    notebook(path, "# 01 · A thing", "See [x](../src/x.py).", outputs=outputs)
    made = json.loads(chapters.chapter(path, small))["cells"]
    assert made[1]["source"] == ["See [x](source/src/x.py.md)."]
    assert made[2]["outputs"] == [{**outputs[0], "data": DRAWN, "metadata": {}}, printed]
    assert made[2]["metadata"]["mystnb"] == {"image": {"alt": "A line that rises."}}
    notebook(path, "# 01 · A thing", outputs=[figure("one"), figure("two")])
    with pytest.raises(ValueError, match=r"01_a.ipynb has a cell with 2 figures"):
        chapters.chapter(path, small)
    (small.root / "figures" / "f.png").write_bytes(b"old")
    notebook(path, "# 01 · A thing", outputs=[figure("one")])
    with pytest.raises(ValueError, match=r"01_a.ipynb shows a figure that is not in figures/"):
        chapters.chapter(path, small)


def test_the_contents_take_up_every_notebook(small: Book) -> None:
    notebook(small.root / "notebooks" / "02_b.ipynb", "# 02 · B: so")
    contents = book.contents(Book(small.root, small.out))
    assert contents.index("01 · A thing <01_a.ipynb>") < contents.index("02 · B <02_b.ipynb>")


def test_a_mark_that_stands_for_nothing_is_refused(small: Book) -> None:
    with pytest.raises(ValueError, match=r"p.md has the mark 'claim', which stands for nothing"):
        book.filled("Words.\n\n<!-- claim -->\n", small, "p.md")


def test_errata_link_to_chapters(small: Book) -> None:
    text = "| a | T<sup>1/2</sup> | 01, 07 |\n| b | c | reading |\n"
    assert book.errata(text, small) == (
        "| a | T<sup>1/2</sup> | [01](01_a.ipynb), 07 |\n| b | c | reading |\n"
    )


def test_the_errata_show_powers_and_indices_on_any_page_that_shows_markdown() -> None:
    text = (ROOT / "ERRATA.md").read_text(encoding="utf-8")
    assert re.search(r"<sup>[^<]+</sup>", text)
    assert claims.superscripts(text) == text


def test_the_glossary_names_only_what_is_in_the_package() -> None:
    text = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    book.check_glossary(text)
    assert len(re.findall(r"^\| (?!symbol|---)", text, re.M)) > 40
    row = "| $x$ | {} | words |\n"
    book.check_glossary(row.format("`theory.growth`, `beta` in `paper.btc`"))
    for wrong in ("`theory.shrink`", "`gamma` in `paper.btc`", "`x` in `nowhere.f`"):
        with pytest.raises(ValueError, match=r"shrink|gamma in paper.btc|nowhere"):
            book.check_glossary(row.format(wrong))


def test_names_are_those_of_a_function_or_of_a_class_with_its_bases() -> None:
    assert {"V", "beta", "kept", "einsum"} <= book.names_used(paper.btc)
    assert "b" not in book.names_used(paper.btc)
    assert {"n_stages", "_Psi", "upper", "horizon", "round"} <= book.names_used(paper.SupBTC)


def test_the_readings_are_those_that_the_source_names() -> None:
    table = re.findall(r"^\| (R\d+) \|", (ROOT / "book" / "readings.md").read_text(), re.M)
    assert table == [f"R{i}" for i in range(1, 17)]
    assert set(re.findall(r"\(?\b(R\d+)\b", str(paper.__doc__))) == set(table)


def test_the_circulated_divisors_are_those_of_the_source() -> None:
    table = (ROOT / "book" / "readings.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| (\w+) \| \$\\beta/(\d+)\$ \|", table, re.M))
    policies = (paper.MoM, paper.CRT, paper.MENU, paper.TOFU)
    assert {name: float(x) for name, x in told.items()} == {
        policy.__name__: policy._circulated_divisor for policy in policies
    }


def test_the_api_has_every_public_name_and_module() -> None:
    pages = book.api()
    for name in heavybandit.__all__:
        assert f":: heavybandit.{name}\n" in pages["api.md"] + pages.get(f"api_{name}.md", "")
    assert ".. automodule:: heavybandit.replication.claims\n" in pages["api_claims.md"]


def test_the_members_of_policies_stand_once() -> None:
    page = book.api()["api.md"]
    assert ".. autoclass:: heavybandit.Uniform\n\n" in page
    assert ".. autoclass:: heavybandit.SupBTC\n   :members: moment\n\n" in page
    assert page.endswith(".Compiled\n   :members:\n   :inherited-members:\n```\n")


def test_names_beside_their_meanings_become_a_list() -> None:
    lines = [
        "What it does.",
        "",
        "seed, T  a number,",
        "         and `more` of it",
        "x  y_i",
        "End.",
    ]
    assert conf.restructured(lines) == [
        *("What it does.", "", ""),
        "- ``seed, T`` a number, and \\ ``more``\\  of it",
        *("- ``x`` y\\ :sub:`i`\\ ", "", "End."),
    ]


def test_what_python_says_of_a_named_tuples_member_is_left_out() -> None:
    lines = ["Alias for field number 2"]
    conf.as_it_stands(lines)
    assert lines == []


def test_a_docstring_stands_as_it_is() -> None:
    lines = [
        "|Σ β_i X_i| ≤ x* t^{1/2} by `eps`: n_arms a_",
        "",
        "    V  (n, d)",
        "    Y",
        "",
        "End.",
    ]
    assert conf.restructured(lines) == [
        "\\|Σ β\\ :sub:`i`\\  X\\ :sub:`i`\\ \\| ≤ x\\* t\\ :sup:`1/2`\\  "
        "by \\ ``eps``\\ \\: n\\_arms a\\_",
        "",
        *("", ".. code-block:: text", ""),
        *("    V  (n, d)", "    Y", "", "", "End."),
    ]


def test_everything_is_gathered_from_the_repository(tmp_path: Path) -> None:
    out = book.gather(ROOT, tmp_path / "source")
    entries = claims.read(ROOT / "data")
    first = (out / "verdicts.md").read_text(encoding="utf-8")
    assert sum(f" | {entry.verdict} | " in first for entry in entries) == len(entries)
    assert "{py:obj}`lemma1 <heavybandit.theory.lemma1>`" in first
    assert "](source/src/heavybandit/engine/truncation.py.md)" in first
    notebooks = {path.name for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")}
    assert {path.name for path in out.glob("*.ipynb")} == notebooks
    algorithms = (out / "algorithms.md").read_text(encoding="utf-8")
    assert "**Step 1.**" in algorithms
    assert {f"**R{i}.**" for i in range(1, 16)} == set(re.findall(r"\*\*R\d+\.\*\*", algorithms))
    again = book.gather(ROOT, tmp_path / "again")
    one, other = (
        {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}
        for root in (out, again)
    )
    assert one == other


def test_a_source_that_misses_a_step_stops_the_build_with_a_sentence(tmp_path: Path) -> None:
    for folder in ("book", "src/heavybandit"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copyfile(ROOT / "ERRATA.md", tmp_path / "ERRATA.md")
    (tmp_path / "notebooks").mkdir()
    source = tmp_path / "src" / "heavybandit" / "paper.py"
    source.write_text(re.sub(r"# steps? 15\b", "# then", source.read_text(encoding="utf-8")))
    with pytest.raises(ValueError, match="Algorithm 3: step 15 of the text has no line"):
        book.algorithms(Book(tmp_path, tmp_path / "out"))
