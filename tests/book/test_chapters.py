"""Chapters: what is folded, and what stands beside the text."""

from __future__ import annotations

import pytest

import notes
from chapters import FOR_TOOLS, is_argument

NOTES = notes.read(
    "| R5 | the median | the lower one of $T$: SupBMM |\n| R12 | the end | exploit |\n",
    "| Lemma 6 | n ≤ θ* | n ≥ 2 | 03, 04 |\n| Theorems 1, 2 | any T | T ≥ 3 | 03 |\n"
    "| Sections 2 and 3.1 | A | A⁻¹ |\n| Lemma 8 | a | b | reading |\n",
    "```{glossary}\ncost\n  What is lost.\n\nuniform play\n  Any arm.\n```\n",
)


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("b = V.T @ Y  # step 2", True),
        ("theory.lemma6(1, alpha, 2, 3.0)", True),
        ("source(paper.bmm)", False),
        ("from heavybandit import paper\npaper.bmm", False),
        ("theory.growth(1.0, 1.0)\n" * 16, False),
        ("claims.settle('x', paper.bmm)", False),
        ("plotting.show(theory.growth)", False),
        ("Table(rows, 'words')", False),
    ],
)
def test_code_that_computes_with_the_paper_is_read_and_plumbing_is_folded(
    code: str, read: bool
) -> None:
    assert is_argument(code) is read


def test_what_a_comment_says_to_tools_alone_is_not_shown() -> None:
    code = "f = lambda: 1  # noqa: E731\ng = 2  # step 1\n"
    assert FOR_TOOLS.sub("", code) == "f = lambda: 1\ng = 2  # step 1\n"


def test_notes_are_read_from_their_tables() -> None:
    assert NOTES.readings == {
        "R5": "the median: the lower one of $T$: SupBMM",
        "R12": "the end: exploit",
    }
    assert [one.statements for one in NOTES.errata] == [["Lemma 6"], ["Theorem 1", "Theorem 2"]]
    assert NOTES.terms == ("cost", "uniform play")


def test_a_note_stands_once_before_the_paragraph_it_belongs_to() -> None:
    beside = notes.Beside(NOTES, "03")
    assert "margin" not in beside.cell("Lemma 6 is false.", opening=True)
    text = beside.cell("Words.\n\nBy (R5) and Lemma 6.\n\n```\nLemma 6\n\nR12\n```")
    assert text == (
        "Words.\n\n```{margin} Reading R5\nThe median: the lower one of $T$: SupBMM.\n```\n\n"
        "```{margin} Errata · Lemma 6\n- <strong>Lemma 6</strong>, as printed: n ≤ θ\\*\n\n"
        "[What is true](errata.md)\n```\n\nBy (R5) and Lemma 6.\n\n```\nLemma 6\n\nR12\n```"
    )
    assert "margin" not in beside.cell("Lemma 6 again, and R5.")
    assert "Lemma 6" not in notes.Beside(NOTES, "05").errata


def test_an_erratum_on_several_statements_stands_once_where_the_first_of_them_is_named() -> None:
    (number,) = NOTES.errata[1].chapters
    beside = notes.Beside(NOTES, number)
    assert "{margin} Errata · Theorem 2" in beside.cell("By Theorem 2.")
    assert "margin" not in beside.cell("By Theorem 1.")
    one = notes.Erratum("Lemma 4 with Algorithm 3, step 11", "a", ("03",))
    assert one.statements == ["Lemma 4"]


def test_a_term_leads_to_the_glossary_once_and_not_from_code_or_headings() -> None:
    beside = notes.Beside(NOTES, "03")
    assert beside.cell("# Uniform play\n\n`cost` $cost$ [cost](a.md)") == (
        "# Uniform play\n\n`cost` $cost$ [cost](a.md)"
    )
    assert (
        beside.cell("Uniform play costs.")
        == "{term}`Uniform play <uniform play>` {term}`costs <cost>`."
    )
    assert beside.cell("Uniform play costs.") == "Uniform play costs."
