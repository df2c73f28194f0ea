"""Whether the moments that a noise states can be its own: rules that no heavy tail can set off.

A sample of heavy-tailed draws says little of a mean, since most of it may lie in values that were
not drawn. So what is compared are means of truncated variables, by Bernstein's inequality with the
variances that the stated moments themselves imply. If they are right, each of the comparisons below
goes wrong with probability e^{−DOUBT} at the most, whatever the tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, pairwise

import numpy as np

from ..noise import FloatArray

ORDERS = (1.01, 1.1, 1.25, 1.5, 1.75, 2.0)  # q = 1+ε at which moments are asked for
CUTS = (3.0, 10.0, 30.0, 100.0)  # where variables are cut off, in units of their norm
DOUBT = 25.0  # e⁻²⁵ is 10⁻¹¹
SLACK = 1e-3  # a moment may come from an integral done numerically

Moment = Callable[[float, float], float]


def contradiction(moment: Moment, mean: float, draws: FloatArray) -> str | None:
    """The first thing about stated moments E|X−a|^q and a mean that cannot be, in words."""
    finite = {}
    for q in ORDERS:
        value = moment(q, 0.0)
        if math.isnan(value) or value < 0:
            return f"moment_about({q:g}, 0) is E|X|^{q:g}, so it cannot be {value:g}"
        if math.isfinite(value):
            finite[q] = value
    if not finite:
        return (
            f"moment_about({ORDERS[0]:g}, 0) is infinite, and so are all of higher order; the "
            f"policies of the paper need a finite moment of order 1+eps"
        )
    rules = chain(_norms(moment), _shifted(moment, finite), _drawn(moment, finite, draws))
    return next(rules, None) or _averaged(finite, mean, draws)


def _norms(moment: Moment) -> Iterator[str]:
    """(E|X|^q)^{1/q} rises with q."""
    norms = [(q, moment(q, 0.0) ** (1 / q)) for q in ORDERS]
    for (p, lower), (q, upper) in pairwise(norms):
        if lower > upper * (1 + SLACK):
            yield (
                f"(E|X|^q)^(1/q) must rise with q, but by moment_about(q, 0) it is {lower:.4g} for "
                f"q = {p:g} and {upper:.4g} for q = {q:g}"
            )


def _shifted(moment: Moment, finite: dict[float, float]) -> Iterator[str]:
    """|a| − ‖X‖ ≤ ‖X−a‖ ≤ |a| + ‖X‖, and at q = 2 the parallelogram's law."""
    for q, at_zero in finite.items():
        norm = at_zero ** (1 / q)
        for a in (-1.0, 1.0, -4 * norm - 1, 4 * norm + 1):
            low, high = abs(abs(a) - norm) ** q, (abs(a) + norm) ** q
            value = moment(q, a)
            if not low * (1 - SLACK) <= value <= high * (1 + SLACK):
                yield (
                    f"moment_about({q:g}, {a:.3g}) must lie between {low:.4g} and {high:.4g}, "
                    f"since moment_about({q:g}, 0) is {at_zero:.4g}; it is {value:.4g}"
                )
    if 2.0 in finite:
        a = 1 + finite[2.0] ** 0.5
        both, wanted = moment(2.0, a) + moment(2.0, -a), 2 * finite[2.0] + 2 * a * a
        if abs(both - wanted) > SLACK * wanted:
            yield (
                f"moment_about(2, a) + moment_about(2, -a) must be 2 moment_about(2, 0) + 2a², "
                f"which is {wanted:.4g} for a = {a:.3g}; it is {both:.4g}"
            )


def _drawn(moment: Moment, finite: dict[float, float], draws: FloatArray) -> Iterator[str]:
    """Truncated means of the draws against what the moments allow them to be."""
    n = len(draws)
    for a in (0.0, -1.0, 1.0):
        about = {q: moment(q, a) for q in finite}
        size = np.abs(draws - a)
        for q, m in about.items():
            # E min(|X−a|^q, cap) is at most m, and its variance at most cap·m.
            cap = CUTS[1] * m
            mean = float(np.minimum(size**q, cap).mean())
            most = m + math.sqrt(2 * cap * m * DOUBT / n) + cap * DOUBT / (3 * n)
            if mean > most * (1 + SLACK):
                yield (
                    f"moment_about({q:g}, {a:g}) is {m:.4g}, but the average of |X−a|^q over "
                    f"{n:,} draws is {mean:.4g} even with the largest cut off; it is too small, or "
                    f"the draws are too wide"
                )
            for p, higher in about.items():
                if p <= q or not higher:  # nothing can be lost where all is 0
                    continue
                for cut in CUTS:
                    # Cutting at c loses at most E|X−a|^p c^{q−p}; the variance is at most
                    # c^{2q−p} E|X−a|^p.
                    c = cut * higher ** (1 / p)
                    mean = float((np.minimum(size, c) ** q).mean())
                    off = math.sqrt(2 * c ** (2 * q - p) * higher * DOUBT / n)
                    least = m - higher * c ** (q - p) - off - c**q * DOUBT / (3 * n)
                    if mean < least * (1 - SLACK):
                        yield (
                            f"moment_about({q:g}, {a:g}) is {m:.4g}, but the average of "
                            f"|X−a|^q over {n:,} draws, cut off at {c**q:.3g}, is {mean:.4g}; "
                            f"with moment_about({p:g}, {a:g}) = {higher:.4g} it must be at least "
                            f"{least:.4g}"
                        )


def _averaged(finite: dict[float, float], mean: float, draws: FloatArray) -> str | None:
    """The mean of the draws, cut off to both sides, against the one stated."""
    n, q = len(draws), max(finite)
    for cut in CUTS:
        c = cut * finite[q] ** (1 / q)
        found = float(np.clip(draws, -c, c).mean())
        lost = finite[q] * c ** (1 - q) if c else 0.0
        off = math.sqrt(2 * c ** (2 - q) * finite[q] * DOUBT / n) + 2 * c * DOUBT / (3 * n)
        if abs(found - mean) > lost + off + SLACK * abs(mean):
            return (
                f"{n:,} draws are {found:.4g} on average and not {mean:.4g}: subtract it in draw "
                f"(and in moment_about), or state it as the noise's member mean"
            )
    return None
