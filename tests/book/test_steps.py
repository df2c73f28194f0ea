"""The words for the paper's steps and the lines that transcribe them have no gaps."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import steps

ROOT = Path(__file__).parents[2]
WORDS = tomllib.loads((ROOT / "book" / "algorithms.toml").read_text(encoding="utf-8"))["algorithm"]
PAPER = (ROOT / "src" / "heavybandit" / "paper.py").read_text(encoding="utf-8")
SOURCE = '''
def f(
    x,  # step 2
    y,
):
    """Words."""
    while True:  # step 3
        a = (x +
             y)  # steps 4–5, at once
        b = a  # no step, although it says # step 9
    return b  # steps 1, 7


def g():
    return 0  # step 8
'''
WHOLE = [[1, 2, 3, 4, 5, 7]]


def algorithm(
    *told: list[int], lines: int = 8, closing: tuple[int, ...] = (6, 8)
) -> dict[str, Any]:
    entries = [{"steps": numbers, "text": f"does {numbers}"} for numbers in told]
    printed = {"lines": lines, "closing": closing}
    return {"number": 1, "title": "f", "names": ["f"], "intro": "", "step": entries, **printed}


def test_marks_and_headings_name_one_step_a_range_or_several() -> None:
    assert [steps.numbers(mark) for mark in ("6", "8–10", "9, 17")] == [(6,), (8, 9, 10), (9, 17)]
    assert steps.heading([6]) == "Step 6"
    assert steps.heading([8, 9, 10]) == "Steps 8–10"
    assert steps.heading([1, 2, 9, 17, 18]) == "Steps 1–2, 9, 17–18"


def test_a_piece_is_the_statement_the_head_of_a_loop_or_the_argument_that_is_marked() -> None:
    found = {piece.steps: (piece.first, piece.text) for piece in steps.marked(SOURCE, ["f"])}
    assert found == {
        (2,): (3, "x,  # step 2"),
        (3,): (7, "while True:  # step 3"),
        (4, 5): (8, "a = (x +\n     y)  # steps 4–5, at once"),
        (1, 7): (11, "return b  # steps 1, 7"),
    }


def test_only_the_named_definitions_are_looked_at() -> None:
    assert [piece.steps for piece in steps.marked(SOURCE, ["g"])] == [(8,)]
    with pytest.raises(ValueError, match="h is no function or class of the source"):
        steps.marked(SOURCE, ["h"])


def test_each_step_gets_the_lines_that_are_marked_with_it_in_the_order_of_the_text() -> None:
    pairs = steps.paired(algorithm([1], [2], [3, 4], [5, 7]), SOURCE)
    assert [pair.steps for pair in pairs] == [(1,), (2,), (3, 4), (5, 7)]
    lines = [[piece.first for piece in pair.source] for pair in pairs]
    assert lines == [[11], [3], [7, 8], [8, 11]]


@pytest.mark.parametrize(
    ("told", "printed", "words"),
    [
        ([[1, 2, 3, 4, 5, 6, 7]], {}, "Algorithm 1: step 6 of the text has no line in f marked"),
        ([[1, 2, 3, 4, 7]], {}, "marked with step 5, but the text has no such step"),
        ([[1, 2], [2, 3, 4, 5, 7]], {}, "the text has step 2 more than once"),
        (WHOLE, {"lines": 7, "closing": ()}, "step 6 of the paper's 7 is neither in the text nor"),
        (WHOLE, {"closing": (6,)}, "step 8 of the paper's 8 is neither in the text nor in"),
        (WHOLE, {"lines": 6}, "Algorithm 1: step 7 is in the text and in the sou"),
        (WHOLE, {"closing": (6, 7, 8)}, "Algorithm 1: step 7 is in the text and in the sou"),
    ],
)
def test_a_step_that_the_text_the_source_and_the_paper_do_not_share_is_refused(
    told: list[list[int]], printed: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        steps.paired(algorithm(*told, **printed), SOURCE)


def test_the_algorithms_of_the_paper_are_told_and_transcribed_completely() -> None:
    """By hand from the paper: how many lines are numbered, and which only close something."""
    printed = {1: range(1, 8), 2: range(1, 11), 3: [*range(1, 16), 17, 18, 19]}
    assert [words["number"] for words in WORDS] == list(printed)
    for words in WORDS:
        assert words["lines"] == {1: 8, 2: 11, 3: 20}[words["number"]]
        told = [step for pair in steps.paired(words, PAPER) for step in pair.steps]
        assert told == list(printed[words["number"]])


def test_a_page_shows_the_source_whole_and_each_step_names_its_lines() -> None:
    words = algorithm([1, 7], [2], [3], [4, 5])
    words["step"][1]["text"] = "the median ([R5](readings.md))"
    page = steps.page([words], SOURCE, {"R5": "the lower one"})
    assert "{container} step line-3\n**Step 2.** the median" in page
    assert "{container} reading\n**R5.** The lower one.\n" in page
    assert "{container} step line-8 line-9\n**Steps 4–5.** does [4, 5]" in page
    assert "{container} step line-11\n**Steps 1, 7.** does [1, 7]" in page
    assert f":lineno-start: 2\n\n{SOURCE[1 : SOURCE.index('    return b')]}" in page
