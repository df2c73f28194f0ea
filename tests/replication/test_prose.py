"""Numbers in the rest of the chapters, ERRATA.md and what figures are called.

test_findings.py and test_said.py hold the numbers that a reader meets first, one by one. A number
in digits anywhere else in a chapter's prose stands in an output or in a cell of the chapter, or is
listed here with the reason; nbval holds the outputs to the code. So a number that is changed in the
text alone is found, unless the chapter has the new one elsewhere.
"""

import re

import pytest

import came_out as out
import listing
import prose
from heavybandit.replication import real_payoffs
from prose import Is, Recorded, Shown, Source

ROUNDED = "an output, rounded"
SETTING = "a setting, in the package"
SUM = "a sum over a table"
BY_HAND = "worked out in the text"
LITERATURE = "of a source that is named there"
TIED_HERE = "see TIED"
ELSEWHERE = "of a run or a table that no cell of the chapter shows"
LISTED: dict[str, dict[str, str]] = {  # chapter → why → numbers
    "00": {BY_HAND: "0.09 0.15 0.36 0.52 20"},
    "01": {
        SETTING: "1.3 2.2 64 30",
        SUM: "320,000 670,000 790,000",
        BY_HAND: "0.16 0.174",
        ROUNDED: "0.08 1.7 300 10⁻³",
    },
    "02": {
        SETTING: "0.05 1,000 2,500",
        SUM: "650,000",
        BY_HAND: "0.3 0.505 9",
        ROUNDED: "0.86 0.99",
    },
    "03": {
        SETTING: "1.6 2.2 70,000 16th 64th 256th",
        BY_HAND: "0.06 3.75 80",
        ROUNDED: "2.4 8·10¹⁰",
        TIED_HERE: "31 0.73 10⁻⁵",
    },
    "04": {
        SETTING: "0.05 1.6 2.2 16th 64th 256th",
        BY_HAND: "1,300 17",
        ROUNDED: "31 38",
        TIED_HERE: "10⁻⁴",
        ELSEWHERE: "1.4",
    },
    "05": {
        BY_HAND: "0.25 0.33 14 17 25 44 23.99",
        ROUNDED: "24 36 1,943 2,795",
        TIED_HERE: "191.9 1,500 3,000 3,953",
        SETTING: "10³ 1,000 2·10⁵",
    },
    "06": {ROUNDED: "0.08 0.10 0.11 0.001 28 41 1,000 13,000 700", BY_HAND: "8"},
    "07": {
        ROUNDED: "0.025 0.037 0.040 0.065 14 32 15 73",
        SETTING: "1.6 2.2 200 7.6",
        SUM: "255",
        BY_HAND: "157",
    },
    "08": {
        ROUNDED: "50,000",
        SETTING: "16 24 4,000 150 220",
        BY_HAND: "0.6 2.7 6.3 9",
        TIED_HERE: "0.75 1.04 1.11",
        ELSEWHERE: "1.3 2.5 48,000 1,100 2.09 1.71 520 1.54",  # the last four: former measurements
    },
    "09": {
        SETTING: "900 1.4826",
        LITERATURE: "2310.18701 2506.04775",
        ELSEWHERE: "84.7 6.5",  # of the third board; β with another κ
    },
    "10": {LITERATURE: "27 77", TIED_HERE: "40"},
}
FIGURES: dict[str, str] = {  # numbers that descriptions of figures have read off the figure alone
    "01": "0.005 0.02 4.5 487",
    "02": "22 351",
    "03": "10³ 10¹¹ 250,000 30,000 320 830",
    "04": "10³ 410 5·10¹² 7,000 81,000",
    "05": "0.06 170 280 430 750",
    "06": "0.04 34 7 70 81 97",
    "09": "39 74 76",
}
TIED: dict[str, dict[str, Source]] = {  # results that no output has in this form
    "03": {
        "and {31} % more at 10⁶": Is(lambda: [out.more_at_a_million("SupBMM")], "{:.0f}".format),
        "uniform play costs {0.73} there": Is(
            lambda: [out.in_small_world("Uniform")], "{:.2f}".format
        ),
        "regret is below {10⁻⁵} of it": out.below("leaps_bmm"),
    },
    "04": {"regret is below {10⁻⁴} of it": out.below("leaps_btc")},
    "05": {
        "at most −{191.9} where": Recorded("lemma-7", out.AS_PRINTED, lambda x: f"{-x}"),
        "fails ({1,500} against": Recorded(
            "thm-3", "d = 8,001, T = 10⁶: uniform play on the printed construction"
        ),
        "(at most {3,000} against": Recorded("thm-3", out.UNIFORM_AT_MOST),
        "against {3,953})": Recorded("thm-3", "claimed there"),
    },
    "07": {
        "the difference, {−67.2 ± 67.4} per 10⁴ plays, is just not significant": Shown(
            "07", r"− greedy ridge, 1 play .*? FlatBTC \d+ (\S+ ± \S+) "
        ),
    },
    "08": {
        "takes {1.04} µs here": Is(
            lambda: [out.timed("growth T", "SupBTC", 10**4).one_median], "{:.2f}".format
        ),
        "and {0.75} µs in the table above": Is(
            lambda: [out.timed("paper", "SupBTC", 10**4).other_median], "{:.2f}".format
        ),
        "no goal was set, the factor is {1.11}": Is(
            lambda: [out.timed("flat", "SupBTC", 10**5).median], "{:.2f}".format
        ),
        "the {0.5} to {0.6} µs per round": Is(out.drawing_the_world, "{:.1f}".format),
    },
    "10": {"in units of {40} visits": Is(lambda: [real_payoffs.UNIT], "{:g}".format)},
}


def in_cells(chapter: str) -> set[str]:
    """The numbers of a chapter's outputs and of its code, but for what describes figures."""
    code = " ".join(prose.cells(chapter, "code"))
    code = re.sub(r'(?s)\balt = (?:"""|\(|").*?(?:"""|^\)|"$)', " ", code, flags=re.M)
    return prose.numbers(prose.outputs(chapter)) | prose.numbers(code.replace("_", ""))


def not_in_cells(chapter: str) -> set[str]:
    """The numbers of a chapter's prose, without its finding, that are in none of its cells."""
    said = (text for text in prose.cells(chapter, "markdown") if "**What was found.**" not in text)
    return prose.numbers(prose.NAMED.sub(" ", "\n".join(said))) - in_cells(chapter)


@pytest.mark.parametrize("chapter", LISTED)
def test_a_number_in_prose_stands_in_an_output_or_in_a_cell_or_is_listed(chapter: str) -> None:
    listed = {number for group in LISTED[chapter].values() for number in group.split()}
    assert not_in_cells(chapter) == listed


@pytest.mark.parametrize(
    ("chapter", "phrase"), [(chapter, phrase) for chapter in TIED for phrase in TIED[chapter]]
)
def test_a_result_in_prose_that_no_output_has_is_the_recorded_one(
    chapter: str, phrase: str
) -> None:
    prose.check("\n".join(prose.cells(chapter, "markdown")), phrase, TIED[chapter][phrase])


@pytest.mark.parametrize("chapter", LISTED)
def test_a_number_in_the_description_of_a_figure_stands_in_its_chapter_or_is_listed(
    chapter: str,
) -> None:
    """There 10⁵ is "10 to the 5", for programs that read aloud."""
    said = re.sub(
        r"(?:(\d) times )?\b(?:10|ten) to the (\d+)",
        lambda m: (f"{m[1]}·" if m[1] else "") + "10" + m[2].translate(prose.SUPERSCRIPTS),
        prose.one_line(prose.descriptions(chapter)),
    )
    known = in_cells(chapter) | prose.numbers("\n".join(prose.cells(chapter, "markdown")))
    listed = set(FIGURES.get(chapter, "").split())
    assert prose.numbers(prose.NAMED.sub(" ", said)) - known == listed


def test_no_number_on_a_page_differs_from_the_list_of_all_numbers() -> None:
    """In words, code and formulas too. If a change is meant: `python tests/listing.py`."""
    assert listing.changes() == []


def test_a_number_that_is_changed_anywhere_differs_from_the_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = listing.pages()
    for name, old, new in (
        ("README.md", "ridge=264.0", "ridge=0.264"),
        ("CLAIMS.md", "at one horizon", "at two horizons"),
        ("ERRATA.md", "32v(1−1/K)", "64v(1−1/K)"),
        ("book/bounds.md", "120", "220"),
        ("book/readings.md", "5, 6, 7", "5, 6, 8"),
        ("notebooks/09_beyond_the_paper.ipynb", "in six cells", "in nine cells"),
    ):
        assert old in pages[name]
        changed = pages | {name: pages[name].replace(old, new, 1)}
        monkeypatch.setattr(listing, "pages", lambda changed=changed: changed)
        page, *lines = listing.changes()
        assert page == f"# {name}"
        assert [line[0] for line in lines] in (["-", "+"], ["+"])


def test_a_number_among_the_errata_stands_in_a_chapter_that_its_row_names() -> None:
    """Formulas count too, here and there. test_said.py ties the results."""
    rows = re.findall(r"(?m)^\| (.* \|) ((?:\d\d(?:, )?)+) \|$", prose.read("ERRATA.md"))
    assert len(rows) >= 30
    for said, chapters in rows:
        known = set()
        for chapter in chapters.split(", "):
            texts = [*prose.cells(chapter, "markdown"), *prose.cells(chapter, "code")]
            everything = " ".join([*texts, prose.outputs(chapter)])
            known |= prose.digits(re.sub(r"\{,\}|(?<=\d)_(?=\d)", ",", everything))
        missing = prose.digits(prose.NAMED.sub(" ", said)) - known
        assert missing <= {"0.152"}, said  # chapter 05 has more digits
