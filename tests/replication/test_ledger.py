"""The table of claims in README.md follows data/claims.json, and its links lead somewhere."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from heavybandit import theory
from heavybandit.cli import main
from heavybandit.engine import truncation
from heavybandit.replication import claims, ledger
from stored import claim

ROOT = Path(__file__).parents[2]
LEDGER = claims.read(ROOT / "data")


@pytest.mark.parametrize(
    ("file", "entries"), [("README.md", ledger.chosen(LEDGER)), ("CLAIMS.md", LEDGER)]
)
def test_readme_and_claims_hold_the_tables_that_the_ledger_gives(file, entries):
    text = (ROOT / file).read_text(encoding="utf-8")
    assert ledger.with_table(text, entries, file) == text, f"renew it with: {ledger.RENEW}"


def test_every_entry_chosen_for_the_readme_is_in_the_ledger():
    assert {entry.id for entry in ledger.chosen(LEDGER)} == set(ledger.CHOSEN)


def test_the_table_has_a_line_for_every_entry_with_its_verdict():
    lines = ledger.table(LEDGER, ledger.Links()).splitlines()[2:]
    assert len(lines) == len(LEDGER) > 0
    for line, entry in zip(lines, LEDGER, strict=True):
        assert f" | {entry.verdict} | {entry.rests_on} | " in line
        assert f"**{entry.where}.**" in line


def test_what_looks_like_html_in_the_ledger_is_shown_and_not_obeyed():
    """One that has ^{…} gets its own <sup>."""
    words = "<script>x</script> & y^{2} <b>, `a < b`"
    line = ledger.table([replace(claim(), statement=words, where="<i>")], ledger.Links())
    for part in ("&lt;script&gt;x&lt;/script&gt; &amp; y<sup>2</sup> &lt;b&gt;", "**&lt;i&gt;.**"):
        assert part in line
    assert "`a < b`" in line  # code is shown as it is
    assert "&lt;b&gt;" in replace(claim(), statement="<b>")._repr_markdown_()


def test_a_backtick_or_a_line_break_in_a_statement_hides_nothing_from_escaping():
    line = ledger.table([replace(claim(), statement="a ` <b>\nc `x<y` ` <i>")], ledger.Links())
    assert "a ` <b> c `x&lt;y` ` &lt;i&gt;" in line  # code from the first to the second
    assert line.count("\n| ") == 2  # what divides it from its head, and itself


def test_every_link_of_the_table_leads_to_a_file():
    targets = re.findall(r"\]\(([^)]+)\)", ledger.table(LEDGER, ledger.Links()))
    assert len(targets) == 3 * len(LEDGER)
    assert [target for target in targets if not (ROOT / target).is_file()] == []


@pytest.mark.parametrize("id", claims.STATEMENTS)
def test_every_statement_names_a_function_or_class_of_the_package(id):
    module, found = ledger.resolve(claims.STATEMENTS[id][2])
    assert callable(found)
    assert module.__name__.startswith("heavybandit.")


def test_a_name_is_resolved_to_its_module_and_to_what_it_stands_for():
    assert ledger.resolve("theory.theorem1") == (theory, theory.theorem1)
    assert ledger.resolve("engine.truncation.btc_learn") == (truncation, truncation.btc_learn)
    file = ledger.source_file("engine.truncation.btc_learn")
    assert file == "src/heavybandit/engine/truncation.py"
    assert ledger.resolve("simulate.simulate")[0].__name__ == "heavybandit.simulate"
    for wrong in ("theory.theorem9", "nowhere.bmm", "paper.bmm.nothing"):
        with pytest.raises(ValueError, match=f"{wrong} is no name of heavybandit"):
            ledger.resolve(wrong)


def test_powers_and_indices_are_set_and_code_is_left_alone():
    assert claims.superscripts("T^{1/(1+ε)}2^s and p_{a*}") == (
        "T<sup>1/(1+ε)</sup>2<sup>s</sup> and p<sub>a*</sub>"
    )
    assert claims.superscripts("`x^{2}` y^{2}") == "`x^{2}` y<sup>2</sup>"


def test_a_bar_in_a_statement_does_not_begin_a_column():
    line = ledger.table([claim()], ledger.Links()).splitlines()[-1]
    assert r"of \|y\| |" in line
    assert len(re.findall(r"(?<!\\)\|", line)) == len(ledger.HEADER) + 1
    assert "[a b](tests/replication/test_ledger.py)" in line


def test_writing_renews_what_is_between_the_markers_and_nothing_else(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{ledger.BEGIN}\nstale\n{ledger.END}\nafter\n")
    ledger.write(readme, [claim()])
    text = readme.read_text()
    assert text.startswith(f"before\n{ledger.BEGIN}\n\n| statement |")
    assert text.endswith(f"|\n\n{ledger.END}\nafter\n")
    assert "stale" not in text
    ledger.write(readme, [claim()])
    assert readme.read_text() == text


@pytest.mark.parametrize("marks", ["", "B", "E B", "B B E"])
def test_a_file_without_its_two_markers_is_refused_and_kept(marks, tmp_path):
    readme, text = tmp_path / "README.md", marks.replace("B", ledger.BEGIN).replace("E", ledger.END)
    readme.write_text(text)
    with pytest.raises(ValueError, match=r"README.md must hold <!-- claims: begin -->"):
        ledger.write(readme, [claim()])
    assert readme.read_text() == text


def test_the_command_prints_the_table_or_writes_it(tmp_path, capsys):
    data = ["--data", str(ROOT / "data")]
    assert main(["claims", "--markdown", *data]) == 0
    assert capsys.readouterr().out == ledger.table(LEDGER, ledger.Links())
    readme = tmp_path / "README.md"
    readme.write_text(f"{ledger.BEGIN}\n{ledger.END}\n")
    assert main(["claims", "--write-readme", str(readme), *data]) == 0
    assert ledger.table(ledger.chosen(LEDGER), ledger.Links()) in readme.read_text()
    assert main(["claims", "--write-claims", str(readme), *data]) == 0
    assert ledger.table(LEDGER, ledger.Links()) in readme.read_text()
    assert main(["claims", "--write-readme", str(tmp_path / "none.md"), *data]) == 2
    assert "none.md" in capsys.readouterr().err
