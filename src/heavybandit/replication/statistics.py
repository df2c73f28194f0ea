"""Limits on probabilities and means: the one confidence, and where each limit comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from ..policy import Floats

CONFIDENCE = 0.99
"""Of every interval that a rule looks at, each side."""

YES, NO, UNCLEAR = "yes", "no", "?"


def limits(hits: int, trials: int) -> tuple[float, float]:
    """Clopper and Pearson's lower and upper limits on a probability, each at CONFIDENCE."""
    from scipy.stats import beta  # slow to import, and whoever lists experiments needs no limit

    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(
            f"hits must be from 0 to trials, and trials at least 1; {hits} of {trials}"
        )
    low = float(beta.ppf(1 - CONFIDENCE, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(CONFIDENCE, hits + 1, trials - hits)) if hits < trials else 1.0
    return low, high


def mean_limit(values: Floats, confidence: float = CONFIDENCE) -> float:
    """How far the mean of a sample may be off, at this confidence to each side, by Student's t."""
    n = len(values)
    if n < 2:
        raise ValueError(f"values must be at least two; there are {n}")
    return float(_student_quantile(confidence, n - 1) * values.std(ddof=1) / math.sqrt(n))


@cache
def _student_quantile(confidence: float, freedom: int) -> float:
    """Kept: a map asks for the same few a hundred thousand times, and scipy checks each anew."""
    from scipy.stats import t as student

    return student.ppf(confidence, freedom)


def all_below_0(differences: Sequence[tuple[float, float]]) -> str:
    """Whether all differences, each a mean and how far it may be off, are below 0.

    YES if each significantly is, NO if one is significantly above 0, else UNCLEAR.
    """
    if all(mean + off < 0 for mean, off in differences):
        return YES
    return NO if any(mean - off > 0 for mean, off in differences) else UNCLEAR
