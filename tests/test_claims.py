"""Every rule of the ledger reaches every verdict it can give, and the ledger keeps its order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from heavybandit import claims
from heavybandit.claims import Claim


def claim(id: str = "prop-1", verdict: str = claims.HOLDS, **evidence: float) -> Claim:
    return Claim(
        id, "Section 3", "something", "01_x.ipynb", "tests/test_claims.py", evidence, verdict
    )


def test_an_inequality_holds_up_to_rounding_and_not_beyond() -> None:
    assert claims.always_at_most(1.0) == claims.HOLDS
    assert claims.always_at_most(1 + 1e-12) == claims.HOLDS
    assert claims.always_at_most(1.001) == claims.NOT_REPRODUCED
    assert claims.always_at_most(float("nan")) == claims.NOT_REPRODUCED


def test_a_probability_holds_fails_or_stays_open() -> None:
    assert claims.probability_at_most([(0, 1000), (10, 1000)], 0.25) == claims.HOLDS
    assert claims.probability_at_most([(0, 1000), (400, 1000)], 0.25) == claims.NOT_REPRODUCED
    assert claims.probability_at_most([(0, 1000)], 1e-6) == claims.OPEN
    assert claims.probability_at_most([(0, 1000), (250, 1000)], 0.25) == claims.OPEN
    with pytest.raises(ValueError, match="at least one"):
        claims.probability_at_most([], 0.25)


@given(trials=st.integers(1, 400), data=st.data())
def test_limits_are_where_the_binomial_tails_have_one_percent(
    trials: int, data: st.DataObject
) -> None:
    hits = data.draw(st.integers(0, trials))
    low, high = claims.limits(hits, trials)
    assert 0 <= low <= hits / trials <= high <= 1
    if hits:
        assert binom.sf(hits - 1, trials, low) == pytest.approx(0.01, rel=1e-6)
    if hits < trials:
        assert binom.cdf(hits, trials, high) == pytest.approx(0.01, rel=1e-6)


def test_limits_of_nothing_in_n_trials_by_hand() -> None:
    """With no hit the upper limit solves (1−p)^n = 0.01."""
    assert claims.limits(0, 100) == (0.0, pytest.approx(1 - 0.01 ** (1 / 100)))


@pytest.mark.parametrize(("hits", "trials"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_counts_are_refused(hits: int, trials: int) -> None:
    with pytest.raises(ValueError, match="hits"):
        claims.limits(hits, trials)


def test_only_what_holds_can_be_silent() -> None:
    assert claims.with_slack(claims.HOLDS, matters=False) == claims.SILENT
    assert claims.with_slack(claims.HOLDS, matters=True) == claims.HOLDS
    assert claims.with_slack(claims.OPEN, matters=False) == claims.OPEN


def test_repaired_needs_the_print_to_fail_and_the_repair_to_hold() -> None:
    assert claims.repaired(as_printed=True, as_repaired=True) == claims.HOLDS
    assert claims.repaired(as_printed=False, as_repaired=True) == claims.REPAIRED
    assert claims.repaired(as_printed=False, as_repaired=False) == claims.NOT_REPRODUCED


def test_the_ledger_keeps_the_papers_order_and_replaces_by_id(tmp_path: Path) -> None:
    for entry in (claim("thm-1"), claim("lemma-2"), claim("lemma-2", claims.OPEN, n=3)):
        claims.record(entry, tmp_path)
    assert [entry.id for entry in claims.read(tmp_path)] == ["lemma-2", "thm-1"]
    assert claims.read(tmp_path)[0].verdict == claims.OPEN
    keys = ["id", "where", "statement", "notebook", "test", "evidence", "verdict"]
    assert [list(e) for e in json.loads((tmp_path / "claims.json").read_text())] == [keys, keys]


def test_recording_again_changes_no_byte(tmp_path: Path) -> None:
    claims.record(claim(), tmp_path)
    before = (tmp_path / "claims.json").stat().st_mtime_ns
    claims.record(claim(), tmp_path)
    assert (tmp_path / "claims.json").stat().st_mtime_ns == before


def test_an_unknown_id_or_verdict_is_refused() -> None:
    with pytest.raises(ValueError, match="id must be one of"):
        claim("lemma-9")
    with pytest.raises(ValueError, match="verdict must be one of"):
        claim(verdict="true")


def test_infinite_evidence_is_refused_and_the_ledger_stays_as_it_was(tmp_path: Path) -> None:
    claims.record(claim(), tmp_path)
    before = (tmp_path / "claims.json").read_bytes()
    with pytest.raises(ValueError, match="JSON"):
        claims.record(claim("lemma-1", ratio=float("inf")), tmp_path)
    assert (tmp_path / "claims.json").read_bytes() == before
