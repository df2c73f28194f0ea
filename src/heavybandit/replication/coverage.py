"""How far off Algorithms 1 and 2 are when the contexts are fixed and only the noise is drawn.

This is the setting of Lemma 2 and of Propositions 1 and 2: a history of contexts V that does not
depend on payoffs, arms X on offer, and payoffs drawn again and again. The estimates are those of
`paper.bmm` or `paper.btc`, of many repetitions at once since A and β do not depend on payoffs (a
test holds them equal); beside them stands ridge regression on the same plays.
Errors are counted in units of c = √(xᵀA⁻¹x), so that the propositions read |error|/c ≤ α + 1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .. import instances, theory
from ..checks import one_of, whole
from ..noise import Noise
from ..pipeline.recipes import NOISES, Recipe, digest, spelled_out
from ..pipeline.spec import DRAW, Plan, Report, Spec, number
from ..policy import CONTEXT_STREAM, NOISE_STREAM, TIE, Floats, stream

COUNTING = 2
"""Raised whenever `repeat` counts otherwise; stored repetitions name theirs."""

DESIGN_SEED = 2020
"""Designs are drawn from this seed, once and for all; the seeds of repetitions are others."""

BINS = 20
"""Bins of a histogram to a power of ten: bin k is what is at most 10^{k/BINS} and in none below."""

FLOOR = -4 * BINS  # everything at most 10^{-4}, zero included, is in one bin

TOGETHER = 1 << 17  # payoffs, or terms, of the repetitions that are computed at once


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


@dataclass(frozen=True)
class Trial:
    """What is drawn again and again: a design, its noise, and the interval that is asked for."""

    design: Design
    noise: Noise
    estimator: str  # one of ESTIMATORS
    eps: float  # ε
    horizon: int  # T
    delta: float  # δ
    plays: int  # plays per round

    def __post_init__(self) -> None:
        one_of("estimator", self.estimator, ESTIMATORS)


def repeat(
    trial: Trial, reps: int, seed: int, salt: int | None = None, report: Report | None = None
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
    from ..engine.offers import draw  # compiled, and not needed by who only reads results

    design, noise, eps, plays = trial.design, trial.noise, trial.eps, trial.plays
    n, K = len(design.V), len(design.X)
    moment = design.raw_moment if trial.estimator == "BTC" else design.central_moment
    v = moment(noise, eps)
    factor = widths(design, trial.estimator, v, eps, trial.horizon, trial.delta)
    means, truth = design.means, design.X @ design.theta
    c, pooled, c_pooled = design.c(), design.beta(plays), design.c(plays)
    ridge_mean = design.beta() @ means
    truncated = 0
    high, low = np.zeros((2, K), dtype=np.int64)
    off, moved, ridge = np.empty((3, reps, K))
    first = np.empty((reps, plays))
    key = (NOISE_STREAM,) if salt is None else (NOISE_STREAM, salt)
    rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=key))
    together = max(1, TOGETHER // (n * max(plays, K)))
    for done in range(0, reps, together):
        here = slice(done, min(done + together, reps))
        draws = draw(noise, rng, (here.stop - done) * n * plays).reshape(-1, n, plays)
        Y = noise.payoffs(means[:, None], draws)
        r_hat, columns, dropped = estimates(trial, Y)
        truncated += dropped
        off[here] = (r_hat - truth) / c
        moved[here] = (r_hat - ridge_mean) / c
        ridge[here] = (Y.sum(axis=2) @ pooled.T - truth) / c_pooled
        singles = (columns - ridge_mean[:, None]) / c[:, None]
        first[here] = singles[:, 0]
        high += np.count_nonzero(singles > factor.alpha, axis=(0, 2))
        low += np.count_nonzero(singles < -factor.alpha, axis=(0, 2))
        if report:
            report(Y.size)
    largest, of_ridge = np.abs(off).max(axis=1), np.abs(ridge).max(axis=1)
    return {
        "v": v,
        "alpha": factor.alpha,
        "misses": int((largest > factor.alpha + 1).sum()),
        "noise": int((np.abs(moved).max(axis=1) > factor.alpha).sum()),
        "tenth": int((largest > factor.tenth + 1).sum()),
        "bounded": int((of_ridge > factor.bounded + 1).sum()),
        "scaled": int((of_ridge > factor.scaled + 1).sum()),
        "as_wide": int((np.abs(ridge) * c_pooled > (factor.alpha + 1) * c).any(axis=1).sum()),
        "truncated": truncated,
        "high": high.tolist(),
        "low": low.tolist(),
        "histograms": {
            "largest": histogram(largest),
            "single": histogram(np.abs(first)),
            "ridge": histogram(of_ridge),
        },
    }


def estimates(trial: Trial, Y: Floats) -> tuple[Floats, Floats, int]:
    """What Algorithm 1 or 2 makes of the payoffs Y (reps, n, plays) of each repetition.

    r̂ (reps, K), ridge regression's estimates from single plays (reps, K, plays), and how many terms
    BTC dropped. Steps as in `paper.bmm` and `paper.btc`.
    """
    V, X = trial.design.V, trial.design.X
    A_inv = np.linalg.inv(np.eye(V.shape[1]) + V.T @ V)  # step 1 of both
    columns = X @ (A_inv @ (V.T @ Y))  # steps 2, 3 and 5 of Algorithm 1
    if trial.estimator == "BMM":
        middle = (Y.shape[2] - 1) // 2
        return np.partition(columns, middle)[..., middle], columns, 0  # step 6
    beta = X @ A_inv @ V.T  # step 5
    h = np.linalg.norm(beta, ord=1 + trial.eps, axis=1, keepdims=True)  # step 6
    terms = beta * Y[:, None, :, 0]
    kept = np.abs(terms) <= h * (1 + TIE)  # step 7
    r_hat = np.where(kept, terms, 0.0).sum(axis=2)  # steps 8–9
    return r_hat, columns, int(np.count_nonzero(~kept))


def histogram(values: Floats) -> list[tuple[int, int]]:
    """The bins that are not empty (see BINS and FLOOR), and how many values each holds."""
    logs = BINS * np.log10(np.maximum(values, 10.0 ** (FLOOR / BINS)))
    bins, counts = np.unique(np.ceil(logs - 1e-9).astype(int), return_counts=True)
    return list(zip(bins.tolist(), counts.tolist(), strict=True))


COUNTED = ("misses", "noise", "tenth", "bounded", "scaled", "as_wide", "truncated")
BY_ARM = ("high", "low")


@dataclass(frozen=True)
class Case:
    """A fixed design and a noise for Algorithm 1 or 2, and how sure it is to be."""

    design: Recipe  # the history and the arms on offer
    noise: Recipe
    eps: float  # ε; v is the exact moment of that order
    horizon: int  # T, which the confidence factor depends on
    delta: float  # δ
    plays: int = 0  # plays per round; 0 for as many as Proposition 1 prints (BMM) or one (BTC)


@functools.cache
def _design(design: Recipe) -> Design:
    return design.build(DESIGNS)


@dataclass(frozen=True)
class CoverageSpec(Spec):
    """Repetitions of a case; see `repeat`."""

    estimator: str  # BMM or BTC
    case: Case
    reps: int
    seed: int

    columns = (
        *("run", "estimator", "design", "rounds", "arms", "law", "eps", "v", "horizon", "delta"),
        *("plays", "alpha", "seed", "reps", *COUNTED, *BY_ARM),
    )

    def __post_init__(self) -> None:
        one_of("estimator", self.estimator, ESTIMATORS)
        whole("plays", self.case.plays, 0)

    def as_json(self) -> dict[str, Any]:
        return {**self.as_case(), "reps": self.reps, "seed": self.seed}

    def as_case(self) -> dict[str, Any]:
        """The same without how often it is repeated, and from which seed."""
        return {
            "estimator": self.estimator,
            "design": spelled_out(self.case.design, DESIGNS),
            "noise": spelled_out(self.case.noise, NOISES),
            "eps": float(self.case.eps),
            "horizon": self.case.horizon,
            "delta": float(self.case.delta),
            "plays": self.plays_a_round,
            "counting": COUNTING,
        }

    @property
    def salt(self) -> int:
        """What gives each case a noise of its own."""
        return int(digest(self.as_case())[:8], 16)

    @classmethod
    def run(cls, group: Sequence[Self], report: Report | None = None) -> list[dict[str, Any]]:
        return [repeat(one.trial(), one.reps, one.seed, one.salt, report) for one in group]

    def trial(self) -> Trial:
        """The case with its design and noise built."""
        asked = self.estimator, self.case.eps, self.case.horizon, self.case.delta
        return Trial(self.make_design(), self.make_noise(), *asked, self.plays_a_round)

    def settings(self) -> dict[str, Any]:
        """The case, and who was asked."""
        return {
            "estimator": self.estimator,
            "design": self.case.design,
            "law": self.case.noise,
            "eps": self.case.eps,
            "horizon": self.case.horizon,
            "delta": self.case.delta,
            "plays": self.plays_a_round,
            "seed": self.seed,
            "reps": self.reps,
        }

    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        """What is by arm is separated by spaces."""
        case, design = self.case, self.make_design()
        return [
            *(str(index), self.estimator, case.design.text(), str(len(design.V))),
            *(str(len(design.X)), case.noise.text(), number(case.eps), number(result["v"])),
            *(str(case.horizon), number(case.delta), str(self.plays_a_round)),
            *(number(result["alpha"]), str(self.seed), str(self.reps)),
            *(str(result[name]) for name in COUNTED),
            *(" ".join(str(x) for x in result[name]) for name in BY_ARM),
        ]

    @property
    def curve_columns(self) -> tuple[str, ...]:
        """Histograms stand in place of curves."""
        return ("run", "kind", "bin", "counts")

    def curve_rows(self, index: int, result: dict[str, Any]) -> list[list[str]]:
        """One line per histogram: its first bin, and the counts from there to its last bin."""
        lines = []
        for kind, bins in sorted(result["histograms"].items()):
            held, first = dict(bins), min(bins)[0]
            counts = (str(held.get(k, 0)) for k in range(first, max(bins)[0] + 1))
            lines.append([str(index), kind, str(first), " ".join(counts)])
        return lines

    def make_design(self) -> Design:
        """The history and the arms on offer."""
        return _design(self.case.design)

    def make_noise(self) -> Noise:
        """The noise of the payoffs."""
        return self.case.noise.build(NOISES)

    @property
    def plays_a_round(self) -> int:
        """As the case says, or as the paper does."""
        if self.case.plays:
            return self.case.plays
        if self.estimator == "BTC":
            return 1
        n_arms = len(self.make_design().X)
        return theory.plays_per_round(self.case.horizon, n_arms, self.case.delta)

    @property
    def plays(self) -> int:
        """All payoffs that are drawn."""
        return self.reps * len(self.make_design().V) * self.plays_a_round

    @property
    def work(self) -> float:
        return self.plays * DRAW

    def text(self) -> str:
        return (
            f"{self.estimator} on {self.case.design.text()} with {self.case.noise.text()}, "
            f"eps {self.case.eps}, horizon {self.case.horizon}, seed {self.seed}"
        )


@dataclass(frozen=True)
class Coverage(Plan):
    """A named set of cases for one of the basic algorithms, each repeated reps × seeds times."""

    estimator: str
    cases: tuple[Case, ...]
    reps: int  # repetitions per seed

    def as_json(self) -> dict[str, Any]:
        specs = [CoverageSpec(self.estimator, case, self.reps, seed=0) for case in self.cases]
        return {
            "name": self.name,
            "cases": [{**spec.as_case(), "reps": self.reps} for spec in specs],
            "seeds": self.seeds,
            "first_seed": self.first_seed,
        }

    def groups(self) -> Iterator[list[CoverageSpec]]:
        for case in self.cases:
            for seed in range(self.first_seed, self.first_seed + self.seeds):
                yield [CoverageSpec(self.estimator, case, self.reps, seed)]
