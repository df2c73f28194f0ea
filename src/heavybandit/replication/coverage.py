"""How far off Algorithms 1 and 2 are when the contexts are fixed and only the noise is drawn.

This is the setting of Lemma 2 and of Propositions 1 and 2: a history of contexts V that does not
depend on payoffs, arms X on offer, and payoffs drawn again and again. Every repetition calls
`paper.bmm` or `paper.btc` as they are printed, and beside them ridge regression on the same plays.
Errors are counted in units of c = √(xᵀA⁻¹x), so that the propositions read |error|/c ≤ α + 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import instances, paper, theory
from ..engine.offers import draw
from ..noise import Noise
from ..policy import CONTEXT_STREAM, NOISE_STREAM, TIE, Floats, one_of, stream, whole

COUNTING = 2
"""Raised whenever `repeat` counts otherwise; stored repetitions name theirs."""

DESIGN_SEED = 2020
"""Designs are drawn from this seed, once and for all; the seeds of repetitions are others."""

BINS = 20
"""Bins of a histogram to a power of ten; bin k holds what is at most 10^{k/BINS}."""

FLOOR = -4 * BINS  # everything at most 10^{-4}, zero included, is in one bin


@dataclass(frozen=True)
class Design:
    """A fixed history and the arms on offer after it."""

    V: Floats  # (n, d) contexts played
    X: Floats  # (K, d) contexts on offer
    theta: Floats  # (d,) θ*

    @property
    def t(self) -> int:
        """The round in which the arms are on offer: the first after the history."""
        return len(self.V) + 1

    @property
    def means(self) -> Floats:
        """Mean payoffs of the history, Vθ*."""
        return self.V @ self.theta

    def beta(self, plays: int = 1) -> Floats:
        """(K, n) weights of the payoffs in ridge regression, if each was made `plays` times."""
        return np.linalg.solve(self._gram(plays), self.X.T).T @ self.V.T

    def c(self, plays: int = 1) -> Floats:
        """(K,) √(xᵀA⁻¹x)."""
        return np.sqrt(np.einsum("ad,da->a", self.X, np.linalg.solve(self._gram(plays), self.X.T)))

    def _gram(self, plays: int) -> Floats:
        return np.eye(self.V.shape[1]) + plays * self.V.T @ self.V

    def raw_moment(self, noise: Noise, eps: float) -> float:
        """The smallest v of equation (12) for this history: the largest raw moment in it."""
        return max(noise.raw_moment(eps, float(m)) for m in np.unique(self.means))

    def central_moment(self, noise: Noise, eps: float) -> float:
        """The smallest v of equation (6) for this history: the largest central moment in it."""
        return max(noise.central_moment(eps, float(m)) for m in np.unique(self.means))


def section6_design(rounds: int = 200) -> Design:
    """Contexts, arms and θ* of Section 6; each round played one of its arms, whichever it was."""
    world = instances.section6()
    X = world.contexts(stream(DESIGN_SEED, CONTEXT_STREAM), 0, whole("rounds", rounds, 1) + 1, 1)
    return Design(X[:-1, 0], X[-1], world.theta_star(0))


def line_design(rounds: int = 200, dim: int = 10) -> Design:
    """A badly conditioned history: coordinate i of a context is ten times smaller than i − 1.

    The arms are ten more such contexts and the coordinate axes. θ* lies half in the direction that
    is known best and half in the one that is not known at all, where all that the ridge can do is
    to answer 0.
    """
    whole("rounds", rounds, 1)
    rng = stream(DESIGN_SEED, CONTEXT_STREAM)
    drawn = rng.standard_normal((rounds + 10, dim)) * 0.1 ** np.arange(dim)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    theta = np.zeros(dim)
    theta[[0, -1]] = math.sqrt(0.5)
    return Design(drawn[:rounds], np.vstack([drawn[rounds:], np.eye(dim)]), theta)


def same_design(rounds: int = 2_500) -> Design:
    """One context played again and again, and on offer once more: a mean in one dimension."""
    one = np.ones((1, 1))
    return Design(np.ones((whole("rounds", rounds, 1), 1)), one, one[0])


DESIGNS: dict[str, Callable[..., Design]] = {
    "section6": section6_design,
    "line": line_design,
    "same": same_design,
}
ESTIMATORS = ("BMM", "BTC")


@dataclass(frozen=True)
class Widths:
    """What the propositions and their rivals put in front of c."""

    alpha: float  # α_t of Proposition 1 or 2, with the exact v
    tenth: float  # the same with v understated by 10
    bounded: float  # ridge regression's α, for payoffs in [0, 1]
    scaled: float  # the same for a sub-Gaussian noise of variance v^{2/(1+ε)}


def widths(design: Design, estimator: str, v: float, eps: float, T: int, delta: float) -> Widths:
    """The confidence factors at the design's round."""
    K, t = len(design.X), float(design.t)
    # Payoffs in [0, 1] are sub-Gaussian with a variance proxy of ¼; hence the factor of 2.
    chu = float(theory.linucb_alpha(T, K, delta))
    scaled = 2 * v ** (1 / (1 + eps)) * chu
    if estimator == "BMM":
        exact, tenth = (theory.alpha_bmm(t, u, eps) for u in (v, v / 10))
    else:
        exact, tenth = (theory.alpha_btc(t, T, K, u, delta, eps) for u in (v, v / 10))
    return Widths(exact, tenth, chu, scaled)


def repeat(
    design: Design,
    noise: Noise,
    estimator: str,
    eps: float,
    horizon: int,
    delta: float,
    plays: int,
    reps: int,
    seed: int,
    salt: int | None = None,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Draw the payoffs of a history `reps` times and count how far off the estimates are.

    A salt gives the seed another stream, so that cases with the same seed are independent.

    misses     repetitions in which some arm's error exceeds (α + 1)c      Propositions 1, 2
    noise      … in which some arm's error but for the ridge's bias exceeds αc
    tenth      … in which some arm's error exceeds (α + 1)c with v understated by 10
    bounded    ridge regression on the same plays, with its own c and α for payoffs in [0, 1]
    scaled     … and with that α scaled to the noise
    as_wide    … and with the half-widths of Algorithm 1 or 2 themselves
    high, low  by arm, single estimates (of reps · plays) that the noise moves by more than αc,
               up and down                                                 Lemma 2
    truncated  terms that BTC dropped, over all arms
    largest    histogram of the largest |error|/c of the arms
    single     histogram of |noise|/c of single estimates of the first arm
    ridge      histogram of the largest |error|/c of ridge regression
    """
    one_of("estimator", estimator, ESTIMATORS)
    V, X = design.V, design.X
    n, K = len(V), len(X)
    one_each = estimator == "BTC"
    v = (design.raw_moment if one_each else design.central_moment)(noise, eps)
    factor = widths(design, estimator, v, eps, horizon, delta)
    means, truth = design.means, X @ design.theta
    beta, c, pooled, c_pooled = design.beta(), design.c(), design.beta(plays), design.c(plays)
    ridge_bias = beta @ means - truth
    h = np.linalg.norm(beta, ord=1 + eps, axis=1, keepdims=True)
    truncated = 0
    high, low = np.zeros(K, dtype=np.int64), np.zeros(K, dtype=np.int64)
    off, moved, ridge = np.empty((reps, K)), np.empty((reps, K)), np.empty((reps, K))
    first = np.empty((reps, plays))
    key = (NOISE_STREAM,) if salt is None else (NOISE_STREAM, salt)
    rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=key))
    for i in range(reps):
        Y = noise.payoffs(means[:, None], draw(noise, rng, n * plays).reshape(n, plays))
        if one_each:
            r_hat, _ = paper.btc(V, Y[:, 0], X, factor.alpha, eps)
            truncated += int(np.count_nonzero(np.abs(beta * Y[:, 0]) > h * (1 + TIE)))
        else:
            r_hat, _ = paper.bmm(V, Y, X, factor.alpha)
        off[i] = (r_hat - truth) / c
        moved[i] = (r_hat - truth - ridge_bias) / c
        ridge[i] = (pooled @ Y.sum(axis=1) - truth) / c_pooled
        singles = beta @ (Y - means[:, None]) / c[:, None]
        first[i] = singles[0]
        high += np.count_nonzero(singles > factor.alpha, axis=1)
        low += np.count_nonzero(singles < -factor.alpha, axis=1)
        report(n * plays)
    largest, of_ridge = np.abs(off).max(axis=1), np.abs(ridge).max(axis=1)
    return {
        "v": v,
        "alpha": factor.alpha,
        "misses": int(np.count_nonzero(largest > factor.alpha + 1)),
        "noise": int(np.count_nonzero(np.abs(moved).max(axis=1) > factor.alpha)),
        "tenth": int(np.count_nonzero(largest > factor.tenth + 1)),
        "bounded": int(np.count_nonzero(of_ridge > factor.bounded + 1)),
        "scaled": int(np.count_nonzero(of_ridge > factor.scaled + 1)),
        "as_wide": int(
            np.count_nonzero((np.abs(ridge) * c_pooled > (factor.alpha + 1) * c).any(axis=1))
        ),
        "truncated": truncated,
        "high": high.tolist(),
        "low": low.tolist(),
        "histograms": {
            "largest": histogram(largest),
            "single": histogram(np.abs(first)),
            "ridge": histogram(of_ridge),
        },
    }


def histogram(values: Floats) -> list[tuple[int, int]]:
    """Bins and how many values they hold: bin k those of at most 10^{k/BINS} and above the next.

    Everything at most 10^{FLOOR/BINS} is in the bin FLOOR.
    """
    logs = BINS * np.log10(np.maximum(values, 10.0 ** (FLOOR / BINS)))
    bins, counts = np.unique(np.ceil(logs - 1e-9).astype(int), return_counts=True)
    return list(zip(bins.tolist(), counts.tolist(), strict=True))
