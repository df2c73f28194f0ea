"""The landing page and the poster follow from the ledger and from README.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import front
from heavybandit.replication import claims

ROOT = Path(__file__).parents[2]
ENTRIES = claims.read(ROOT / "data")


def test_every_verdict_has_a_sign_and_the_strip_has_every_statement_in_the_papers_order() -> None:
    assert set(front.SIGNS) == set(claims.VERDICTS)
    strip = front.strip(ENTRIES)
    assert strip.count("<li>") == len(ENTRIES)
    sections = [front.section_of(entry) for entry in front.in_order(ENTRIES)]
    assert sections == sorted(sections)  # no number has two digits
    holding = sum(entry.verdict == claims.HOLDS for entry in ENTRIES)
    assert f"✓</span> {holding} hold" in strip


def test_the_findings_are_those_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = front.findings(readme).splitlines()
    assert len(found) == 3
    told = " ".join(front.section(readme, "What was found").split())
    for one in found:
        sentence, links = one.removeprefix("1. ").split(" (chapter")
        assert f"**{sentence}.**" in told
        assert ".ipynb" in links
    with pytest.raises(ValueError, match="a bold sentence and a chapter each: 2"):
        front.findings(readme.replace("\n2. **", "\n**"))
    with pytest.raises(ValueError, match="must have a section 'What was found'"):
        front.findings("# Nothing\n")


def test_the_poster_leaves_no_claim_out() -> None:
    one = {"title": "All", "claim": ENTRIES[0].id, "figure": "f", "alt": "A figure."}
    everywhere = sorted({front.section_of(entry) for entry in ENTRIES})
    assert f"**{ENTRIES[0].where}.**" in front.poster([one | {"sections": everywhere}], ENTRIES)
    with pytest.raises(ValueError, match="has no section for the claim"):
        front.poster([one | {"sections": everywhere[1:]}], ENTRIES)
    with pytest.raises(ValueError, match="names the claim lemma-0, which is not settled"):
        front.poster([one | {"claim": "lemma-0", "sections": []}], ENTRIES)


def test_three_questions_are_answered_with_the_recorded_numbers() -> None:
    board = pd.DataFrame(
        [
            ("a", "log-normal", "GreedyRidge, tuned", "tuned", 30.0, 0.0, 0.0),
            ("a", "log-normal", "HvtUCB, tuned", "tuned", 21.0, -9.0, 10.0),
            ("a", "skew differs", "GreedyRidge, tuned", "tuned", 10.0, 0.0, 0.0),
            ("a", "skew differs", "HvtUCB, tuned", "tuned", 9.0, -1.0, 2.0),
            ("a", "skew differs", "SafeRidge, defaults", "defaults", 37.0, 27.0, 40.0),
            ("a", "skew differs", "Lucky", "counter", 1.0, -9.0, 10.0),
            ("a", "gross errors", "GreedyRidge, tuned", "tuned", 90.0, 0.0, 0.0),
        ],
        columns=[
            "instance",
            "noise",
            "policy",
            "constants",
            "cost",
            "over_ridge",
            "over_ridge_off",
        ],
    )
    said = " ".join(front.answers(ENTRIES, board).split())
    assert "the 2 held-out worlds with skewed noise: tuned HvtUCB, 15.0 % of uniform play" in said
    assert "tuned ridge regression costs 20.0 %, and SafeRidge, which needs no tuning, 37.0" in said
    assert "in none of these worlds does an entry cost significantly less than that" in said
    board.loc[1, "over_ridge_off"] = 8.0
    assert "but no entry does in more than 1 of them" in front.answers(ENTRIES, board)
    recorded = next(entry.evidence for entry in ENTRIES if entry.id == "thm-3")
    first = recorded["printed γ, moments at most 2, K = 4, ε = 1: refuted from d"]
    assert f"false from d = {first:,} on" in said
    assert first == 1 + 4 * (32 * 2 * (1 - 1 / 4)) ** 2  # K (32 v (1 − 1/K))^((1+ε)/ε), chapter 05
    assert "the same arm in 100 % of rounds" in said
    looks = [replace(e, evidence=e.evidence | {"T = 10⁴": {"same arm": 0.9}}) for e in ENTRIES]
    with pytest.raises(ValueError, match=r"SupBMM does look at payoffs: the same arm in 0\.9"):
        front.answers(looks, board)
