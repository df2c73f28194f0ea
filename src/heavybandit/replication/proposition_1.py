"""Notebook 01, Proposition 1: Algorithm 1 on fixed histories, with noise drawn again and again."""

from __future__ import annotations

from collections.abc import Iterator

from .. import noise
from ..pipeline.recipes import Recipe, recipe
from .coverage import Case, Coverage


def _fixed_designs() -> Iterator[tuple[Recipe, int, float]]:
    """Designs, their rounds, and how often the extremal noise strikes that hurts Lemma 2 there.

    It must strike rarely enough for a single strike to exceed αc, and then as often as it can;
    where all weights are equal that is once in 12n draws. A lottery, whose losses eat into its
    gains, must strike a little more rarely. Chosen on the designs alone.
    """
    yield recipe("section6", rounds=200), 200, 1 / 2600
    yield recipe("section6", rounds=5), 5, 1 / 90
    yield recipe("line", rounds=200), 200, 1 / 2600
    yield recipe("same", rounds=50), 50, 1 / 622


def _noises(strikes: float) -> Iterator[tuple[Recipe, float]]:
    """Noises and their ε."""
    yield recipe("StudentT", df=3.0), 1.0
    yield recipe("Pareto", shape=2.2, scale=1.0, centred=True), 1.0
    for eps in (1.0, 0.5):
        law = noise.Extremal.for_moment(1.0, strikes, eps)
        yield recipe("Extremal", size=law.size, probability=law.probability), eps
        skewed = noise.Lottery.for_moment(1.0, strikes / 1.14, eps)
        yield recipe("Lottery", size=skewed.size, probability=skewed.probability), eps
    yield recipe("SymmetricPareto", shape=1.6), 0.5
    yield recipe("SymmetricPareto", shape=1.3), 0.25


FIXED_CASES = tuple(
    Case(design, law, eps, horizon, delta)
    for design, rounds, strikes in _fixed_designs()
    for law, eps in _noises(strikes)
    # Section 6's T and δ, where δ/T is 10⁻⁶, and the shortest T, where it can be seen.
    for horizon, delta in ((10_000, 0.01), (rounds + 1, 0.9))
)
FEW_PLAYS_CASES = tuple(
    Case(design, law, eps, rounds + 1, 0.9, plays)
    for design, rounds, strikes in _fixed_designs()
    for law, eps in _noises(strikes)
    if law.name in ("Extremal", "Lottery") and eps == 1
    for plays in (1, 3, 7, 15)
)

PROP1 = Coverage(
    name="prop1",
    what="Proposition 1: Algorithm 1 on fixed histories, noise drawn again and again",
    estimator="BMM",
    cases=(*FIXED_CASES, *FEW_PLAYS_CASES),
    reps=1_000,
    seeds=5,
)
EXPERIMENTS = (PROP1,)
