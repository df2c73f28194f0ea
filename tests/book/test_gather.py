"""The sources of the reading edition: links lead somewhere, names exist, nothing has a hole."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import gather as book
import heavybandit
from gather import Book
from heavybandit import paper
from heavybandit.replication import claims

ROOT = Path(__file__).parents[2]


@pytest.fixture
def small(tmp_path: Path) -> Book:
    """A repository with a notebook, a page, a source file and a figure."""
    for name in ("notebooks", "book", "src", "figures"):
        (tmp_path / name).mkdir()
    notebook(tmp_path / "notebooks" / "01_a.ipynb", "# 01 · A thing: is it so?")
    (tmp_path / "book" / "glossary.md").write_text("# Glossary\n")
    (tmp_path / "src" / "x.py").write_text("x = 1\n")
    (tmp_path / "figures" / "f.png").write_bytes(b"png")
    return Book(tmp_path, tmp_path / "out")


def notebook(path: Path, *markdown: str, outputs: list[dict[str, Any]] | None = None) -> Path:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}
        for text in markdown
    ]
    if outputs is not None:
        code = {"cell_type": "code", "metadata": {}, "source": [], "outputs": outputs}
        cells.append({**code, "execution_count": 1})
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content))
    return path


def figure(alt: str) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "data": {"image/png": "aGk="},
        "metadata": {"image/png": {"alt": alt}},
    }


def test_a_link_to_a_notebook_the_errata_or_a_page_leads_to_its_page(small: Book) -> None:
    text = "[a](../notebooks/01_a.ipynb#what) [b](../ERRATA.md) [`c`](glossary.md)"
    assert small.relinked(text, "book", "p.md") == (
        "[a](01_a.ipynb#what) [b](errata.md) [`c`](glossary.md)"
    )
    assert small.relinked("[a](01_a.ipynb)", "notebooks", "p.md") == "[a](01_a.ipynb)"


def test_a_link_to_any_other_file_leads_to_a_page_that_shows_it(small: Book) -> None:
    assert small.relinked("[`x`](../src/x.py)", "book", "p.md") == "[`x`](source/src/x.py.md)"
    shown = (small.out / "source" / "src" / "x.py.md").read_text()
    assert "# src/x.py\n" in shown
    assert "x = 1\n" in shown
    assert "nosearch: true" in shown


def test_a_figure_is_copied(small: Book) -> None:
    assert small.relinked("![f](../figures/f.png)", "book", "p.md") == "![f](figures/f.png)"
    assert (small.out / "figures" / "f.png").read_bytes() == b"png"


def test_code_addresses_and_anchors_are_left_alone(small: Book) -> None:
    text = "`[a](b)` and\n```\n[a](b)\n```\n[x](https://example.org/a) [y](#here)"
    assert small.relinked(text, "book", "p.md") == text


def test_a_link_to_nothing_is_refused_and_named(small: Book) -> None:
    with pytest.raises(ValueError, match=r"p.md links to ../gone.py, and gone.py is no file"):
        small.relinked("[a](../gone.py)", "book", "p.md")


def test_a_chapter_keeps_its_outputs_and_gives_its_figures_words(small: Book) -> None:
    path = small.root / "notebooks" / "01_a.ipynb"
    outputs = [figure("A line\nthat rises."), {"output_type": "stream", "text": ["1\n"]}]
    notebook(path, "# 01 · A thing", "See [x](../src/x.py).", outputs=outputs)
    made = json.loads(book.chapter(path, small))["cells"]
    assert made[1]["source"] == ["See [x](source/src/x.py.md)."]
    assert made[2]["outputs"] == outputs
    assert made[2]["metadata"]["mystnb"] == {"image": {"alt": "A line that rises."}}
    notebook(path, "# 01 · A thing", outputs=[figure("one"), figure("two")])
    with pytest.raises(ValueError, match=r"01_a.ipynb has a cell with 2 figures"):
        book.chapter(path, small)


def test_the_contents_take_up_every_notebook_and_the_pages_there_are(small: Book) -> None:
    assert "01 · A thing <01_a.ipynb>" in book.contents(small)
    assert "bounds.md" not in book.contents(small)
    (small.root / "book" / "bounds.md").write_text("# Bounds\n")
    notebook(small.root / "notebooks" / "02_b.ipynb", "# 02 · B: so")
    again = book.contents(Book(small.root, small.out))
    assert "\nbounds.md\n" in again
    assert again.index("<01_a.ipynb>") < again.index("02 · B <02_b.ipynb>")


def test_the_first_page_must_have_its_two_marks(small: Book) -> None:
    (small.root / "data").mkdir()
    with pytest.raises(ValueError, match=r"must hold <!-- contents --> once, not 0 times"):
        book.first_page("<!-- claims -->", small)


def test_errata_link_to_chapters_and_set_powers(small: Book) -> None:
    text = "| a | T^{1/2} | 01, 07 |\n| b | c | reading |\n"
    assert book.errata(text, small) == (
        "| a | T<sup>1/2</sup> | [01](01_a.ipynb), 07 |\n| b | c | reading |\n"
    )


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
    assert table == [f"R{i}" for i in range(1, 16)]
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


def test_a_docstring_stands_as_it_is() -> None:
    lines = ["|Σ β_i X_i| ≤ x* by `eps`: a_", "", "    V  (n, d)", "    Y", "", "End."]
    assert book.restructured(lines) == [
        "\\|Σ β\\_i X\\_i\\| ≤ x\\* by \\ ``eps``\\ \\: a\\_",
        "",
        *("", ".. code-block:: text", ""),
        *("    V  (n, d)", "    Y", "", "", "End."),
    ]


def test_everything_is_gathered_from_the_repository(tmp_path: Path) -> None:
    out = book.gather(ROOT, tmp_path / "source")
    entries = claims.read(ROOT / "data")
    first = (out / "index.md").read_text(encoding="utf-8")
    assert sum(f" | {entry.verdict} | " in first for entry in entries) == len(entries)
    assert "{py:obj}`theory.lemma1 <heavybandit.theory.lemma1>`" in first
    assert "](source/src/heavybandit/engine/truncation.py.md)" in first
    notebooks = {path.name for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")}
    assert {path.name for path in out.glob("*.ipynb")} == notebooks
    assert "**Step 1.**" in (out / "algorithms.md").read_text(encoding="utf-8")
    again = book.gather(ROOT, tmp_path / "again")
    assert {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()} == {
        p.relative_to(again): p.read_bytes() for p in again.rglob("*") if p.is_file()
    }


def test_a_source_that_misses_a_step_stops_the_build_with_a_sentence(tmp_path: Path) -> None:
    for folder in ("book", "src/heavybandit"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    source = tmp_path / "src" / "heavybandit" / "paper.py"
    source.write_text(re.sub(r"# steps? 15\b", "# then", source.read_text(encoding="utf-8")))
    with pytest.raises(ValueError, match="Algorithm 3: step 15 of the text has no line"):
        book.algorithms(tmp_path)
