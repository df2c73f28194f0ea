"""Every rule of the ledger reaches every verdict it can give, and the ledger keeps its order."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from heavybandit.replication import claims, ledger
from heavybandit.replication.claims import Claim
from stored import claim


def test_an_inequality_holds_up_to_rounding_and_not_beyond():
    assert claims.always_at_most(1.0) == claims.HOLDS
    assert claims.always_at_most(1 + 1e-12) == claims.HOLDS
    assert claims.always_at_most(1.001) == claims.NOT_REPRODUCED
    assert claims.always_at_most(float("nan")) == claims.NOT_REPRODUCED


def test_a_probability_holds_fails_or_stays_open():
    assert claims.probability_at_most([(0, 1000), (10, 1000)], 0.25) == claims.HOLDS
    assert claims.probability_at_most([(0, 1000), (400, 1000)], 0.25) == claims.NOT_REPRODUCED
    assert claims.probability_at_most([(0, 1000)], 1e-6) == claims.OPEN
    assert claims.probability_at_most([(0, 1000), (250, 1000)], 0.25) == claims.OPEN
    with pytest.raises(ValueError, match="at least one"):
        claims.probability_at_most([], 0.25)


@given(trials=st.integers(1, 400), data=st.data())
def test_limits_are_where_the_binomial_tails_have_one_percent(trials, data):
    hits = data.draw(st.integers(0, trials))
    low, high = claims.limits(hits, trials)
    assert 0 <= low <= hits / trials <= high <= 1
    if hits:
        assert binom.sf(hits - 1, trials, low) == pytest.approx(0.01, rel=1e-6)
    if hits < trials:
        assert binom.cdf(hits, trials, high) == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize(("hits", "trials"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(hits, trials):
    with pytest.raises(ValueError, match="hits"):
        claims.limits(hits, trials)


def test_a_statement_of_several_parts_is_as_good_as_its_worst():
    good, bad, unsettled = claims.HOLDS, claims.NOT_REPRODUCED, claims.OPEN
    assert claims.all_of([good, good]) == good
    assert claims.all_of([good, unsettled]) == unsettled
    assert claims.all_of([unsettled, bad, good]) == bad
    for parts in ([], [good, claims.REPAIRED]):
        with pytest.raises(ValueError, match="parts must"):
            claims.all_of(parts)


def test_what_cannot_be_seen_fails_only_by_hits_that_chance_does_not_give():
    assert claims.never_seen([(0, 5000), (0, 10)], 1e-6) == claims.HOLDS
    # One hit in 5,000 has a lower limit of 2e-6.
    assert claims.never_seen([(0, 5000), (1, 5000)], 1e-6) == claims.NOT_REPRODUCED
    assert claims.never_seen([(1, 5000)], 1e-5) == claims.HOLDS
    with pytest.raises(ValueError, match="at least one"):
        claims.never_seen([], 1e-6)


def test_means_are_zero_only_if_the_check_could_have_seen_otherwise():
    may_be, is_not = (0.1, 0.2), (-0.3, 0.2)
    assert claims.means_are_zero([may_be, (0.0, 0.2)], is_not) == claims.HOLDS
    assert claims.means_are_zero([may_be, is_not], is_not) == claims.NOT_REPRODUCED
    assert claims.means_are_zero([may_be], may_be) == claims.OPEN
    assert claims.means_are_zero([is_not], may_be) == claims.OPEN
    with pytest.raises(ValueError, match="at least one"):
        claims.means_are_zero([], is_not)


def test_an_order_counts_as_merit_only_if_choices_use_payoffs_and_cost_less_than_uniform_play():
    below, above, unclear = (-0.3, 0.2), (0.3, 0.2), (-0.1, 0.2)
    often, always = (0.7, 0.2), (1.0, 0.0)  # SAME_ARM is 0.95

    def rule(*horizons):
        return claims.outperforms([claims.Tried(*one) for one in horizons])

    assert rule(([below, below], [below], [often])) == claims.HOLDS
    assert rule(([above], [above], [always]), ([below], [below], [often])) == claims.HOLDS
    assert rule(([below], [below], [(0.94, 0.005)])) == claims.HOLDS
    for gains, same in (
        ([below, above], [often]),  # costs more than uniform play
        ([unclear], [often]),
        ([below], [often, always]),  # one of the two never looks
        ([below], [(0.94, 0.02)]),  # may be above
    ):
        other = ([above], [below], [often])
        assert rule(([below], gains, same), other) == claims.OTHER_MECHANISM
    refuted, open_ = ([below, above], [below], [often]), ([below, unclear], [below], [often])
    assert rule(refuted, ([above], [below], [often])) == claims.NOT_REPRODUCED
    assert rule(open_, ([above], [below], [always])) == claims.OPEN
    for nothing in (
        (),
        (([], [below], [often]),),
        (([below], [], [often]),),
        (([below],) * 2 + ([],),),
    ):
        with pytest.raises(ValueError, match="at least one"):
            rule(*nothing)


def test_only_what_holds_can_be_silent():
    assert claims.with_slack(claims.HOLDS, matters=False) == claims.SILENT
    assert claims.with_slack(claims.HOLDS, matters=True) == claims.HOLDS
    assert claims.with_slack(claims.OPEN, matters=False) == claims.OPEN


def test_repaired_needs_the_print_to_fail_and_the_repair_to_hold():
    assert claims.repaired(as_printed=True, as_repaired=True) == claims.HOLDS
    assert claims.repaired(as_printed=False, as_repaired=True) == claims.REPAIRED
    assert claims.repaired(as_printed=False, as_repaired=False) == claims.NOT_REPRODUCED


def test_the_ledger_keeps_the_papers_order_and_replaces_by_id(tmp_path):
    for entry in (claim("thm-1"), claim("lemma-2"), claim("lemma-2", claims.OPEN, n=3)):
        claims.record(entry, tmp_path)
    assert [entry.id for entry in claims.read(tmp_path)] == ["lemma-2", "thm-1"]
    assert claims.read(tmp_path)[0].verdict == claims.OPEN
    keys = ["id", "where", "statement", "notebook", "test", "evidence", "support", "verdict"]
    assert [list(e) for e in json.loads((tmp_path / "claims.json").read_text())] == [keys, keys]


def test_settling_enters_the_statement_with_its_place_and_returns_the_entry(tmp_path):
    settled = claims.settle("lemma-2", "01_x.ipynb", {"n": 3}, claims.OPEN, claims.SEEN, tmp_path)
    assert settled == Claim(
        "lemma-2",
        "Section 5.1, Lemma 2",
        "The noise moves a single estimate by more than αc with probability at most ¼",
        "01_x.ipynb",
        "tests/replication/test_claims.py::test_a_probability_holds_fails_or_stays_open",
        {"n": 3},
        claims.SEEN,
        claims.OPEN,
    )
    assert claims.read(tmp_path / "data") == [settled]
    again = claims.settle("lemma-2", "02_x.ipynb", {"n": 4}, claims.HOLDS, claims.SEEN, tmp_path)
    assert claims.read(tmp_path / "data") == [again]


def test_settled_statements_stand_in_the_order_in_which_they_are_listed(tmp_path):
    assert tuple(claims.STATEMENTS) == claims.IDS
    for id in reversed(claims.IDS):
        claims.settle(id, "01_x.ipynb", {}, claims.HOLDS, claims.SEEN, tmp_path)
    found = claims.read(tmp_path / "data")
    assert [entry.id for entry in found] == list(claims.STATEMENTS)
    listed = {id: (where, words) for id, (where, words, *_) in claims.STATEMENTS.items()}
    assert {entry.id: (entry.where, entry.statement) for entry in found} == listed
    assert len(set(listed.values())) == len(claims.IDS)


@pytest.mark.parametrize(("id", "verdict"), [("lemma-9", claims.HOLDS), ("lemma-1", "true")])
def test_what_cannot_be_settled_is_not_entered(id, verdict, tmp_path):
    with pytest.raises((KeyError, ValueError), match=r"lemma-9|verdict must be one of"):
        claims.settle(id, "01_x.ipynb", {}, verdict, claims.SEEN, tmp_path)
    assert not list(tmp_path.iterdir())


def test_recording_again_changes_no_byte(tmp_path):
    claims.record(claim(), tmp_path)
    before = (tmp_path / "claims.json").stat().st_mtime_ns
    claims.record(claim(), tmp_path)
    assert (tmp_path / "claims.json").stat().st_mtime_ns == before


def test_claims_recorded_at_the_same_moment_are_all_kept(tmp_path):
    """Notebooks are executed side by side, and each adds to the same file."""
    ids = [f"lemma-{i}" for i in range(1, 4)]
    script = (
        "import sys; from heavybandit.replication.claims import Claim, HOLDS, SEEN, record\n"
        "for _ in range(20):\n"
        "    record(Claim(sys.argv[1], '', '', '', '', {'n': _}, SEEN, HOLDS), sys.argv[2])"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, i, str(tmp_path)]) for i in ids]
    assert [process.wait() for process in running] == [0] * len(ids)
    assert [entry.id for entry in claims.read(tmp_path)] == ids


def test_a_claim_in_words_is_its_id_its_verdict_and_its_support():
    assert str(claim("lemma-1")) == "lemma-1: holds (seen in the runs reported)"
    shown = claims.Claim(**{**vars(claim("lemma-1")), "statement": "at most 2^s"})._repr_markdown_()
    assert "Section 3.** at most 2<sup>s</sup>: **holds** (seen in the runs reported)." in shown


def test_a_bound_is_tested_only_where_uniform_play_would_violate_it():
    assert claims.bound_tested([(0.9, 5.0), (0.1, 0.5)]) == claims.HOLDS
    assert claims.bound_tested([(0.9, 5.0), (0.1, 1.0)]) == claims.SILENT
    assert claims.bound_tested([(1.1, 5.0), (0.1, 0.5)]) == claims.NOT_REPRODUCED
    with pytest.raises(ValueError, match="at least one"):
        claims.bound_tested([])


def test_a_support_is_one_of_four_and_a_proof_is_named():
    with pytest.raises(ValueError, match="support must be one of"):
        claims.settle("lemma-2", "01_x.ipynb", {}, claims.HOLDS, "obvious", "nowhere")
    with pytest.raises(ValueError, match="lemma-2: evidence must name its proof"):
        claims.settle("lemma-2", "01_x.ipynb", {}, claims.HOLDS, claims.PROVED, "nowhere")


def test_every_form_of_an_entry_says_at_how_many_horizons_it_was_seen():
    once = claim(**{"seen at": "1 of 3 horizons"})
    words = f"{claims.SEEN}, at 1 of 3 horizons"
    assert once.rests_on == words
    for form in (repr(once), once._repr_markdown_(), ledger.table([once], ledger.Links())):
        assert words in form
    assert claim().rests_on == claims.SEEN


# The ledger that is committed.

ROOT = Path(__file__).parents[2]
LEDGER = claims.read(ROOT / "data")


def test_the_ledger_has_an_entry_for_every_statement_of_the_notebooks_there_are():
    recorded = {entry.id for entry in LEDGER}
    text = "".join(path.read_text() for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    assert recorded == {name for name in claims.IDS if f'\\"{name}\\"' in text}
    assert recorded


@pytest.mark.parametrize("entry", LEDGER, ids=lambda entry: entry.id)
def test_an_entry_names_a_test_and_a_notebook_that_shows_it_word_for_word(entry):
    """So a verdict that was changed in the ledger and carried into the tables is found here."""
    notebook = (ROOT / "notebooks" / entry.notebook).read_text()
    assert f'\\"{entry.id}\\"' in notebook
    outputs = [o for cell in json.loads(notebook)["cells"] for o in cell.get("outputs", ())]
    shown = ["".join(output.get("data", {}).get("text/markdown", "")) for output in outputs]
    assert shown.count(entry._repr_markdown_()) == 1
    if entry.support == claims.PROVED:
        assert f"**{entry.evidence['proof']}.**" in notebook
    file, _, name = entry.test.partition("::")
    assert f"def {name}(" in (ROOT / file).read_text()
    assert entry.evidence
    assert entry.statement
    assert entry.where


def test_an_unknown_id_or_verdict_is_refused():
    with pytest.raises(ValueError, match="id must be one of"):
        claim("lemma-9")
    with pytest.raises(ValueError, match="verdict must be one of"):
        claim(verdict="true")


def test_infinite_evidence_is_refused_and_the_ledger_stays_as_it_was(tmp_path):
    claims.record(claim(), tmp_path)
    before = (tmp_path / "claims.json").read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        claims.record(claim("lemma-1", ratio=float("inf")), tmp_path)
    assert (tmp_path / "claims.json").read_bytes() == before
