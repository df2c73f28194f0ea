"""The ledger: what the paper says, where it is checked, and what came out.

An entry's verdict is computed from its evidence by one of the rules below, each with a test that
drives it to every verdict it can give; nobody types a verdict in. Notebooks state which rule they
use before they show a number. A statement whose notebook does not exist is absent.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ..checks import one_of
from ..pipeline.scratch import text_of
from ..pipeline.tables import write_if_new
from .statistics import NO, YES, all_below_0, limits

HOLDS = "holds"
SILENT = "holds, but says nothing at this scale"
OTHER_MECHANISM = "reproduced, by another mechanism"
REPAIRED = "false as printed, holds as repaired"
NOT_REPRODUCED = "not reproduced"
OPEN = "cannot be settled"
VERDICTS = (HOLDS, SILENT, OTHER_MECHANISM, REPAIRED, NOT_REPRODUCED, OPEN)

PROVED = "proved"
COMPUTED = "computed exactly"
NOT_REFUTED = "not refuted by the runs reported"
SEEN = "seen in the runs reported"
SUPPORTS = (PROVED, COMPUTED, NOT_REFUTED, SEEN)
"""What a verdict rests on, from the strongest to the weakest: a proof that the notebook gives; all
cases computed, without sampling; runs that could have refuted it and did not; runs that show it."""

_STATEMENTS = """\
example-1 | Section 3.1, Example 1 | paper.lower_median
  Of two estimates each can be the better one for an arm
  replication/test_claims.py::test_an_inequality_holds_up_to_rounding_and_not_beyond
lemma-1 | Section 5.1, Lemma 1 | theory.lemma1
  A weighted sum of centred noise exceeds χ with probability at most 2s + s²
  replication/test_intervals.py::test_the_extremal_tail_is_a_sum_over_all_outcomes
lemma-2 | Section 5.1, Lemma 2 | theory.lemma2_threshold
  The noise moves a single estimate by more than αc with probability at most ¼
  replication/test_claims.py::test_a_probability_holds_fails_or_stays_open
lemma-3 | Section 5.2, Lemma 3 | theory.lemma3
  The sum of c over a stage's n rounds is at most 5√(d n ln n)
  test_simulate.py::test_an_audit_counts_by_stage_what_the_paper_holds
lemma-4 | Section 5.2, Lemma 4 | replication.theorem_1.biases
  Given a stage's contexts, its payoffs are independent
  replication/test_theorem_1.py::test_the_biases_of_many_seeds_are_those_of_each_run
lemma-5 | Section 5.2, Lemma 5 | replication.regrets.audit
  If Propositions 1 and 2 apply in every stage, then with probability 1 − δS, in every round and
  stage, all intervals hold, the best arm survives, and what survives is within 2^{3−s} of it
  test_simulate.py::test_an_audit_counts_by_stage_what_the_paper_holds
lemma-6 | Section 5.2, Lemma 6 | theory.lemma6
  A stage s of n rounds has n ≤ 5·2^s(1 + α)√(d n ln n)
  test_simulate.py::test_an_audit_counts_by_stage_what_the_paper_holds
lemma-7 | Section 5.5, Lemma 7 | theory.lemma7
  With the good one of K arms drawn at random, the expected sum of payoffs of every algorithm is
  below that of the good arm, 2γ^{ε}T (printed: 2γ^{1+ε}T, with a probability in place of the mean
  payoff), by at least T^{1/(1+ε)}K^{ε/(1+ε)}/8
  test_theory.py::test_lemma_7_follows_from_lemma_8
lemma-8 | Section 5.6, Lemma 8 | theory.lemma8
  Making arm a the good one raises the mean of any f of the payoffs by no more than stated
  replication/test_theorem_3.py::test_lemma_8_holds_for_every_algorithm_every_arm_and_every_f
prop-1 | Section 3.1, Proposition 1 | paper.bmm
  BMM's interval covers all arms with probability at least 1 − δ/T
  replication/test_coverage.py::test_repetitions_count_what_a_literal_recount_does
prop-2 | Section 3.1, Proposition 2 | paper.btc
  BTC's interval covers all arms with probability at least 1 − δ/T
  replication/test_coverage.py::test_repetitions_count_what_a_literal_recount_does
thm-1 | Section 3.2, Theorem 1 | theory.theorem1
  If neither the choice of "some arm" nor the contexts depend on payoffs (the paper states no such
  condition), SupBMM's regret is at most the bound printed, with probability at least 1 − δ
  test_theory.py::test_theorem_1_covers_what_its_proof_derives
thm-2 | Section 3.2, Theorem 2 | theory.theorem2
  If neither the choice of "some arm" nor the contexts depend on payoffs (the paper states no such
  condition), SupBTC's regret is at most the bound printed, with probability at least 1 − δ
  test_theory.py::test_theorem_2_is_the_last_line_of_its_proof
thm-3 | Section 4, Theorem 3 | theory.theorem3
  With the printed γ = (K/(T+2K))^{1/(1+ε)} and raw moments of at most v = 2, as in its proof (the
  statement bounds no moment), every algorithm has an instance with payoffs in {0, 1/γ} that costs
  it at least (d−1)^{ε/(1+ε)}T^{1/(1+ε)}/32 in expectation, for every d ≥ K (false for
  d − 1 ≥ K(32v(1−1/K))^{(1+ε)/ε})
  replication/test_theorem_3.py::test_theorem_3_prime_has_its_bound_from_its_horizon_on
stages-suffice | Section 3.2, Algorithm 3 | paper.SupBTC
  An arm is found within S = ⌊ln T⌋ stages
  engine/test_twins.py::test_masters_agree_where_the_stages_run_out
remark-tighter | Section 3.1, remark after Proposition 1 | theory.linucb_alpha
  For ε = 1 BMM's intervals are tighter than Chu et al.'s, whose α is O(√ln(TK))
  replication/test_claims.py::test_an_inequality_holds_up_to_rounding_and_not_beyond
remark-storage | Section 3.1, remark after Proposition 2 | engine.truncation.btc_learn
  BTC only needs to store historical payoffs
  engine/test_twins.py::test_plain_policies_agree
remark-moments | Section 3.2, remark after Theorem 1 | noise.Additive.moment_about
  Lower central moments are bounded by powers of higher ones, so the bound for ε = 1 holds for all
  higher moments too
  test_noise.py::test_norms_rise_with_the_order
sec6-moments | Section 6 | noise.Additive.moment_about
  The bounds on the moments of the two noises
  test_noise.py::test_section_6_has_the_moments_of_its_noises
sec6-outperform-t | Section 6 | instances.section6
  With Student's t noise the two algorithms outperform the rest
  replication/test_claims.py::test_an_order_counts_as_merit_only_if_choices_use_payoffs_and_cost_less_than_uniform_play
sec6-outperform-pareto | Section 6 | instances.section6
  With Pareto noise the two algorithms outperform the rest
  replication/test_claims.py::test_an_order_counts_as_merit_only_if_choices_use_payoffs_and_cost_less_than_uniform_play
sec6-supbmm-smallest | Section 6 | paper.SupBMM
  SupBMM has the smallest regret
  replication/test_claims.py::test_an_order_counts_as_merit_only_if_choices_use_payoffs_and_cost_less_than_uniform_play
abstract-matching | Abstract | theory.theorem3
  For ε = 1 and T ≥ max{2d, 0.38²(d−1)²/K} the upper bounds, if they hold, and Theorem 3 as repaired
  have the same order in d and T up to powers of logarithms
  test_theory.py::test_the_lower_bound_lies_below_both_upper_bounds
"""


def _statement(entry: str) -> tuple[str, tuple[str, str, str, str]]:
    head, *words, test = map(str.strip, entry.splitlines())
    id, where, function = head.split(" | ")
    return id, (where, " ".join(words), function, test)


STATEMENTS = dict(map(_statement, re.split(r"\n(?=\w)", _STATEMENTS.strip())))
"""Every statement that gets an entry, by its id: where it is, what it says, the function of the
package that computes or transcribes it, and the test of the rule or of the code that its verdict
rests on. In the order of the table; lemmas are numbered as the paper compiles."""

IDS = tuple(STATEMENTS)

ROUNDING = 1e-9
"""By how much an inequality between computed numbers may be missed."""


@dataclass(frozen=True, repr=False)
class Claim:
    """One statement of the paper and what came of it."""

    id: str  # one of IDS
    where: str  # where in the paper
    statement: str  # in our words, one sentence
    notebook: str  # the file that settles it
    test: str  # the test of the rule or of the code it rests on
    evidence: dict[str, Any]  # the numbers that the rule looked at
    support: str  # one of SUPPORTS
    verdict: str  # one of VERDICTS

    def __repr__(self) -> str:
        return f"{self.id}: {self.verdict} ({self.rests_on})"

    def _repr_markdown_(self) -> str:
        """The entry as a chapter shows it."""
        where, said, rests_on = map(shown, (self.where, self.statement, self.rests_on))
        return f"**Verdict · {where}.** {said}: **{self.verdict}** ({rests_on})."

    @property
    def rests_on(self) -> str:
        """The support and, where the evidence counts them, the horizons at which it was seen."""
        seen = self.evidence.get("seen at")
        return f"{self.support}, at {seen}" if seen else self.support

    def __post_init__(self) -> None:
        one_of("id", self.id, IDS)
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {'; '.join(VERDICTS)}; got {self.verdict!r}")
        one_of("support", self.support, SUPPORTS)
        if self.support == PROVED and "proof" not in self.evidence:
            raise ValueError(
                f"{self.id}: evidence must name its proof, as the notebook's text does, since its "
                f"support is {PROVED!r}"
            )


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


def all_of(verdicts: Sequence[str]) -> str:
    """A statement with several parts: holds if each does; otherwise as its worst part.

    Not reproduced comes before what cannot be settled.
    """
    if not verdicts or not set(verdicts) <= {HOLDS, NOT_REPRODUCED, OPEN}:
        raise ValueError(f"parts must each hold, fail or stay open; got {list(verdicts)}")
    return next((bad for bad in (NOT_REPRODUCED, OPEN) if bad in verdicts), HOLDS)


def never_seen(cases: list[tuple[int, int]], allowed: float) -> str:
    """A probability too small to see, each case (hits, trials).

    Not reproduced if some case has more hits than such a probability would give but once in a
    hundred; otherwise it holds as far as can be seen. The upper limits say how far that is.
    """
    if not cases:
        raise ValueError("cases must hold at least one (hits, trials)")
    return NOT_REPRODUCED if any(limits(*case)[0] > allowed for case in cases) else HOLDS


def means_are_zero(means: list[tuple[float, float]], contrast: tuple[float, float]) -> str:
    """Means that must be 0, each with how far it may be off, and one that should not be 0.

    Cannot be settled if the contrast may be 0 too, for then the check has no power; otherwise holds
    if each mean may be 0.
    """
    if not means:
        raise ValueError("means must hold at least one (mean, limit)")
    if abs(contrast[0]) <= contrast[1]:
        return OPEN
    return HOLDS if all(abs(mean) <= limit for mean, limit in means) else NOT_REPRODUCED


SAME_ARM = 0.95
"""A policy's choices depend on payoffs if a copy of it that is shown payoffs of 0, on the same
contexts, chooses the same arm in significantly less than this share of the rounds. (A policy that
ignores payoffs does so in all of them, greedy ridge regression in one round of K.)"""


class Tried(NamedTuple):
    """An order at one horizon; every number is a mean and how far it may be off."""

    order: Sequence[tuple[float, float]]  # differences that must be below 0 for it to be as said
    gains: Sequence[tuple[float, float]]  # the favoured policies' cost minus that of uniform play
    same: Sequence[tuple[float, float]]  # their shares of rounds with the same arm, shown zeros

    @property
    def depends(self) -> str:
        """Whether the choices of all the favoured policies depend on payoffs."""
        return all_below_0([(share - SAME_ARM, off) for share, off in self.same])


def outperforms(horizons: Sequence[Tried]) -> str:
    """That some policies cost less than others, at a horizon that the paper does not print.

    At a horizon the order is seen if every difference is significantly below 0, and refuted if one
    is significantly above. One horizon where it is seen will do. It holds, as the merit of the
    favoured policies, if at such a horizon the choices of all of them depend on payoffs (SAME_ARM)
    and all of them cost significantly less than uniform play; if at none, the order is there but
    learning is not its reason. If it is seen nowhere it is not reproduced, or cannot be settled
    unless it is refuted at every horizon.
    """
    if not horizons or not all(all(one) for one in horizons):
        raise ValueError("horizons must hold at least one, each with differences, gains and shares")
    seen = [one for one in horizons if all_below_0(one.order) == YES]
    if any(all_below_0(one.gains) == YES and one.depends == YES for one in seen):
        return HOLDS
    if seen:
        return OTHER_MECHANISM
    refuted = all(all_below_0(one.order) == NO for one in horizons)
    return NOT_REPRODUCED if refuted else OPEN


def with_slack(verdict: str, *, matters: bool) -> str:
    """What holds but makes no difference at any scale in sight is said to be silent."""
    return SILENT if verdict == HOLDS and not matters else verdict


def bound_tested(cases: Sequence[tuple[float, float]]) -> str:
    """An upper bound on regret along runs, each case with its largest regret over the bound.

    The second number of a case is the bound over what uniform play would lose: below 1 the bound is
    put to a test that an algorithm can fail. Not reproduced if a regret exceeds its bound; holds if
    some case is such a test; otherwise the bound says nothing about these cases.
    """
    if not cases:
        raise ValueError("cases must hold at least one (regret over bound, bound over uniform)")
    verdict = all_of([always_at_most(ratio) for ratio, _ in cases])
    return with_slack(verdict, matters=any(over_uniform < 1 for _, over_uniform in cases))


def repaired(*, as_printed: bool, as_repaired: bool) -> str:
    """A statement checked as printed and in a mended form, each found true or false."""
    if as_printed:
        return HOLDS
    return REPAIRED if as_repaired else NOT_REPRODUCED


def settle(
    id: str, notebook: str, evidence: dict[str, Any], verdict: str, support: str, out: str | Path
) -> Claim:
    """Enter what came of a statement into the ledger of a folder of chapters, and return it."""
    where, statement, _, test = STATEMENTS[one_of("id", id, IDS)]
    claim = Claim(id, where, statement, notebook, f"tests/{test}", evidence, support, verdict)
    record(claim, Path(out) / "data")
    return claim


def shown(text: str) -> str:
    """An entry's words in Markdown: what looks like HTML is escaped, powers and indices are set."""
    parts = " ".join(text.split()).split("`")
    code = (len(parts) - 1) // 2 * 2  # a backtick that is left over begins no code
    parts = [
        part if i % 2 and i < code else escape(part, quote=False) for i, part in enumerate(parts)
    ]
    return superscripts("`".join(parts))


def superscripts(text: str) -> str:
    """x^{a} and x_{a} as HTML, which Markdown passes on; what stands in backticks stays."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\^(?:\{([^{}]*)\}|(\w))", r"<sup>\1\2</sup>", parts[i])
        parts[i] = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", parts[i])
    return "`".join(parts)


def read(folder: str | Path) -> list[Claim]:
    """The ledger's entries, in order; none if there is no ledger yet."""
    path = Path(folder) / "claims.json"
    if not path.exists():
        return []
    return [Claim(**entry) for entry in json.loads(text_of(path))]


def record(claim: Claim, folder: str | Path) -> None:
    """Enter a claim, in place of an earlier one of the same id; the same ledger, the same bytes."""
    path = Path(folder) / "claims.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        entries = {entry.id: entry for entry in read(folder)} | {claim.id: claim}
        ordered = [asdict(entries[key]) for key in IDS if key in entries]
        text = json.dumps(ordered, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_if_new(path, text)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two notebooks that record at the same moment wait for each other, where locks exist."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
