"""The ledger: what the paper says, where it is checked, and what came out.

An entry's verdict is computed from its evidence by one of the rules below, which are stated here
and tested before any experiment uses them; nobody types a verdict in. A statement whose notebook
does not exist is absent.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scipy.stats import beta

from .store import write_whole

HOLDS = "holds"
SILENT = "holds, but says nothing at this scale"
OTHER_MECHANISM = "reproduced, by another mechanism"
REPAIRED = "false as printed, holds as repaired"
NOT_REPRODUCED = "not reproduced"
OPEN = "cannot be settled"
VERDICTS = (HOLDS, SILENT, OTHER_MECHANISM, REPAIRED, NOT_REPRODUCED, OPEN)

IDS = (
    "example-1",
    *(f"lemma-{i}" for i in range(1, 9)),
    "prop-1",
    "prop-2",
    "thm-1",
    "thm-2",
    "thm-3",
    "stages-suffice",
    "remark-tighter",
    "remark-storage",
    "remark-moments",
    "sec6-moments",
    "sec6-outperform-t",
    "sec6-outperform-pareto",
    "sec6-supbmm-smallest",
    "abstract-matching",
)
"""Every statement that gets an entry, in the order of the table; lemmas as the paper compiles."""

CONFIDENCE = 0.99
"""Of every interval that a rule looks at, each side."""

ROUNDING = 1e-9
"""By how much an inequality between computed numbers may be missed."""


@dataclass(frozen=True)
class Claim:
    """One statement of the paper and what came of it."""

    id: str  # one of IDS
    where: str  # where in the paper
    statement: str  # in our words, one sentence
    notebook: str  # the file that settles it
    test: str  # the test of the rule or of the code it rests on
    evidence: dict[str, Any]  # the numbers that the rule looked at
    verdict: str  # one of VERDICTS

    def __post_init__(self) -> None:
        if self.id not in IDS:
            raise ValueError(f"id must be one of {', '.join(IDS)}; got {self.id!r}")
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {'; '.join(VERDICTS)}; got {self.verdict!r}")


def limits(hits: int, trials: int) -> tuple[float, float]:
    """Clopper and Pearson's lower and upper limits on a probability, each at CONFIDENCE."""
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(
            f"hits must be from 0 to trials, and trials at least 1; {hits} of {trials}"
        )
    low = float(beta.ppf(1 - CONFIDENCE, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(CONFIDENCE, hits + 1, trials - hits)) if hits < trials else 1.0
    return low, high


def always_at_most(worst_ratio: float) -> str:
    """An inequality that must hold in every case: by the largest left over right side.

    Holds if that is at most 1 (up to rounding); otherwise it is not reproduced.
    """
    return HOLDS if worst_ratio <= 1 + ROUNDING else NOT_REPRODUCED


def probability_at_most(cases: list[tuple[int, int]], allowed: float) -> str:
    """A probability that must stay below `allowed` in every case, each (hits, trials).

    Not reproduced if in some case even the lower limit is above; holds if in every case the upper
    limit is not; otherwise it cannot be settled by so few trials.
    """
    if not cases:
        raise ValueError("cases must hold at least one (hits, trials)")
    bounds = [limits(*case) for case in cases]
    if any(low > allowed for low, _ in bounds):
        return NOT_REPRODUCED
    return HOLDS if all(high <= allowed for _, high in bounds) else OPEN


def with_slack(verdict: str, *, matters: bool) -> str:
    """What holds but makes no difference at any scale in sight is said to be silent."""
    return SILENT if verdict == HOLDS and not matters else verdict


def repaired(*, as_printed: bool, as_repaired: bool) -> str:
    """A statement checked as printed and in a mended form, each found true or false."""
    if as_printed:
        return HOLDS
    return REPAIRED if as_repaired else NOT_REPRODUCED


def read(folder: str | Path) -> list[Claim]:
    """The ledger's entries, in order; none if there is no ledger yet."""
    path = Path(folder) / "claims.json"
    if not path.exists():
        return []
    return [Claim(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def record(claim: Claim, folder: str | Path) -> None:
    """Enter a claim, in place of an earlier one of the same id; the same ledger, the same bytes."""
    entries = {entry.id: entry for entry in read(folder)} | {claim.id: claim}
    ordered = [asdict(entries[key]) for key in IDS if key in entries]
    text = json.dumps(ordered, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    path = Path(folder) / "claims.json"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_whole(path, text, path.parent)
