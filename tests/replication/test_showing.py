"""What a chapter shows: code, tables and numbers."""

import math

import numpy as np
import pandas as pd
import pytest

from heavybandit import paper
from heavybandit.replication import showing


@pytest.mark.parametrize(
    ("x", "shown"),
    [(1e4, "10⁴"), (2.5e-7, "2.5·10⁻⁷"), (-1e3, "−10³"), (123456.0, "1.23456·10⁵"), (1, "10⁰")],
)
def test_powers_of_ten_are_written_with_superscripts(x, shown):
    assert showing.power(x) == shown


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        *[(-0.00001, "−10⁻⁵"), (0.0, "0"), (-0.0, "0"), (0.1234, "0.123"), (0.00099, "9.9·10⁻⁴")],
        *[(12345.6, "12,300"), (2_795, "2,795"), (10**15, "10¹⁵"), (np.int64(7), "7")],
        *[(999_950.0, "10⁶"), (math.nan, "–"), (-math.inf, "−∞"), (1.0, "1.00"), (-2.5, "−2.50")],
    ],
)
def test_numbers_are_written_as_one_reads_them(x, shown):
    assert showing.number(x) == shown


def test_what_rounds_to_zero_has_no_sign():
    assert (showing.fixed(-0.0004, 2), showing.fixed(-0.004, 3)) == ("0.00", "−0.004")
    assert showing.fixed(-1234.5, 1) == "−1,234.5"
    assert [showing.cell(x, "+.1f") for x in (-0.04, 0.04, -0.06)] == ["0.0", "0.0", "−0.1"]


def test_source_is_that_of_the_package_without_indentation():
    text = showing.source(paper.btc, paper.SupBTC._basic).data
    assert text.startswith("```python\ndef btc(")
    assert "\n\n\ndef _basic(" in text
    assert "# step 7" in text


def test_a_table_has_a_caption_names_and_formatted_cells():
    frame = pd.DataFrame({"cost": [0.5, math.nan], "T": [10**4, 10**5]}, index=["SupBMM", "a<b"])
    frame.index.name = "policy"
    table = showing.Table(frame, "cost & plays", {"cost": ".1f", "T": showing.power})
    shown = table._repr_html_()
    assert "<caption>cost &amp; plays</caption>" in shown
    for cell in (
        "<th>SupBMM</th>",
        "<th>a&lt;b</th>",
        "<td>0.5</td>",
        "<td>–</td>",
        "<td>10⁵</td>",
    ):
        assert cell in shown
    assert repr(table).splitlines()[0] == "cost & plays"


def test_rows_without_names_have_no_column_for_them():
    shown = showing.Table([{"a": -1, "b": True}], "one row")._repr_html_()
    assert shown.count("<th>") == 2
    assert "<td>−1</td>" in shown
    assert "<td>yes</td>" in shown


def test_a_format_for_no_column_is_refused():
    with pytest.raises(ValueError, match="got \\['x'\\]"):
        showing.Table([{"a": 1}], "one row", {"x": ".1f"})
