"""The landing page and the poster follow from the ledger and from README.md."""

from __future__ import annotations

from pathlib import Path

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
    found = front.findings(readme)
    assert found in readme
    assert found.count("**") == 6
    with pytest.raises(ValueError, match="3 findings, each with a bold sentence: 2"):
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
