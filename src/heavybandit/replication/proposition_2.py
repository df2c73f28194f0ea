"""Notebook 02, Proposition 2: Algorithm 2 on fixed histories, and exact truncated moments.

BTC keeps a term Z = β·r if |Z| ≤ h and puts 0 in its place otherwise. The proof bounds the bias
|Σ(E Z_i 1 − E Z_i)| by v·h and the variance by Σ E Z_i² 1 ≤ v·h². Both sides are computed here
without drawing anything, from E[X^k; a ≤ X ≤ b] of each noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, singledispatch
from typing import TYPE_CHECKING

import numpy as np
import scipy

from ..noise import Extremal, Lottery, Noise, Pareto, StudentT, SymmetricPareto, TwoPointPayoff
from ..pipeline.recipes import recipe
from ..policy import TIE, Floats
from . import plotting
from .coverage import Case, Coverage, Design
from .proposition_1 import FIXED_CASES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RARE_AND_LARGE = Case(
    recipe("same", rounds=2_500), recipe("TwoPointPayoff", gamma=1 / 50.5), 1.0, 10_000, 0.01
)
"""A payoff that is 50.5 or nothing: each is just large enough to be truncated."""

PROP2 = Coverage(
    name="prop2",
    what="Proposition 2: Algorithm 2 on fixed histories, noise drawn again and again",
    estimator="BTC",
    cases=(*FIXED_CASES, RARE_AND_LARGE),
    reps=2_000,
    seeds=5,
)
EXPERIMENTS = (PROP2,)

Partial = Callable[[int, Floats, Floats], Floats]


@singledispatch
def truncated_moments(noise: Noise, mean: Floats, limit: Floats) -> tuple[Floats, Floats]:  # noqa: ARG001
    """E[Y; |Y| ≤ limit] and E[Y²; |Y| ≤ limit] of payoffs Y with these means."""
    raise TypeError(f"the truncated moments of {type(noise).__name__} are not known in closed form")


def _shifted(partial: Partial, mean: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """The moments of Y = mean + X from E[X^k; a ≤ X ≤ b]."""
    low, high = -limit * (1 + TIE) - mean, limit * (1 + TIE) - mean
    zeroth, first, second = (partial(k, low, high) for k in range(3))
    return mean * zeroth + first, mean**2 * zeroth + 2 * mean * first + second


@truncated_moments.register
def _(noise: StudentT, mean: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """With f and F the standard density and distribution function, the primitives are

    k = 0: F(x)    k = 1: −(ν+x²)/(ν−1) f(x)    k = 2: ν(ν−1)/(ν−2) F_{ν−2}(x√((ν−2)/ν)) − νF(x)

    the last because (1+x²/ν)f(x) is a density of ν−2 degrees of freedom but for its scale.
    """
    nu, scale, gamma, stdtr = noise.df, noise.scale, scipy.special.gamma, scipy.special.stdtr
    if not nu > 2:
        raise ValueError(f"df is {nu}, but must be above 2 for the closed form")

    def primitive(k: int, x: Floats) -> Floats:
        if k == 0:
            return np.asarray(stdtr(nu, x))
        if k == 1:
            norm = gamma((nu + 1) / 2) / (gamma(nu / 2) * np.sqrt(nu * np.pi))
            return np.asarray(-(nu + x**2) / (nu - 1) * norm * (1 + x**2 / nu) ** (-(nu + 1) / 2))
        tail = stdtr(nu - 2, x * np.sqrt((nu - 2) / nu))
        return np.asarray(nu * (nu - 1) / (nu - 2) * tail - nu * stdtr(nu, x))

    def partial(k: int, low: Floats, high: Floats) -> Floats:
        return scale**k * (primitive(k, high / scale) - primitive(k, low / scale))

    return _shifted(partial, mean, limit)


def _pareto_partial(k: int, low: Floats, high: Floats, s: float, x_m: float) -> Floats:
    """E[P^k; low ≤ P ≤ high] for the density s x_m^s / x^{s+1} on x ≥ x_m."""
    a, b = np.maximum(low, x_m), np.maximum(high, x_m)
    if k == s:
        return np.asarray(s * x_m**s * np.log(b / a))
    return np.asarray(s * x_m**s * (b ** (k - s) - a ** (k - s)) / (k - s))


@truncated_moments.register
def _(noise: Pareto, mean: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """The noise's mean, if it is taken out, is taken out of the payoffs' mean instead."""
    shift = noise.printed_mean if noise.centred else 0.0
    moments = partial(_pareto_partial, s=noise.shape, x_m=noise.scale)
    return _shifted(moments, mean - shift, limit)


@truncated_moments.register
def _(noise: SymmetricPareto, mean: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """Half of each sign."""
    s, x_m = noise.shape, noise.scale

    def partial(k: int, low: Floats, high: Floats) -> Floats:
        up, down = _pareto_partial(k, low, high, s, x_m), _pareto_partial(k, -high, -low, s, x_m)
        return (up + (-1) ** k * down) / 2

    return _shifted(partial, mean, limit)


def _few_values(k: int, low: Floats, high: Floats, law: dict[float, float]) -> Floats:
    """E[X^k; low ≤ X ≤ high] for values with their probabilities."""
    return np.sum([q * x**k * ((low <= x) & (x <= high)) for x, q in law.items()], axis=0)


@truncated_moments.register
def _(noise: Extremal, mean: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """A sum over −size, 0 and size."""
    p = noise.probability
    law = {-noise.size: p / 2, 0.0: 1 - p, noise.size: p / 2}
    return _shifted(partial(_few_values, law=law), mean, limit)


@truncated_moments.register
def _(noise: Lottery, mean: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """A sum over the gain and the loss."""
    p = noise.probability
    law = {noise.size: p, -noise.loss: 1 - p}
    return _shifted(partial(_few_values, law=law), mean, limit)


@truncated_moments.register
def _(noise: TwoPointPayoff, mean: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """1/γ with probability γ·mean is kept or not."""
    if noise.lift:
        raise ValueError(f"lift must be 0 where payoffs are truncated, got {noise.lift}")
    kept = 1 / noise.gamma <= limit * (1 + TIE)
    return np.where(kept, mean, 0.0), np.where(kept, mean / noise.gamma, 0.0)


def bias_and_variance(design: Design, noise: Noise, eps: float) -> tuple[Floats, Floats]:
    """By arm, |bias|/(v·h) and ΣE[Z²]/(v·h²); Proposition 2's proof says that neither exceeds 1."""
    v = design.raw_moment(noise, eps)
    bias, second, h = _exactly(design, noise, eps)
    scale = np.where(h > 0, h, 1.0)  # an arm of which the history says nothing has neither
    return bias / (v * scale), second / (v * scale**2)


def chance_of_a_miss(design: Design, noise: Noise, eps: float, alpha: float) -> float:
    """A bound on the probability that BTC misses any arm by more than (α + 1)c, from its law alone.

    Bernstein's inequality with second moments (notebook 02), with the exact bias and ΣE[Z²]:
    Σ_a 2 exp(−x²/(2ΣE[Z²] + ⅔xh)), x = αc − |bias|; the ridge's own bias is at most c.
    """
    bias, second, h = _exactly(design, noise, eps)
    x = alpha * design.c() - bias
    if np.any(x <= 0):
        return 1.0
    spread = 2 * second + 2 / 3 * x * h
    with np.errstate(divide="ignore"):
        chances = np.where(spread > 0, 2 * np.exp(-(x**2) / spread), 0.0)
    return min(1.0, float(chances.sum()))


def _exactly(design: Design, noise: Noise, eps: float) -> tuple[Floats, Floats, Floats]:
    """By arm, the bias of the truncated sum, ΣE[Z²] and h."""
    beta = design.beta()
    h = np.linalg.norm(beta, ord=1 + eps, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = h[:, None] / np.abs(beta)  # a payoff above this is dropped
    never = np.finfo(float).max ** 0.25
    limit = np.where(beta == 0, never, np.minimum(limit, never))  # a weight of 0 drops nothing
    means = np.broadcast_to(design.means, beta.shape)
    first, second = truncated_moments(noise, means, limit)
    bias = np.abs(np.sum(beta * (first - means - noise.mean), axis=1))
    return bias, np.sum(beta**2 * second, axis=1), h


def draw_bernstein(x: Floats, ratios: Mapping[str, Floats]) -> Figure:
    """Bounds over the probability that they bound, against x; each named where its line ends."""
    figure, axes = plotting.panels(size=(7.8, 4.2))
    for i, (name, ratio) in enumerate(ratios.items()):
        shown = ratio < 1e12
        axes.plot(x[shown], ratio[shown], color=plotting.PALETTE[i], linestyle=plotting.LINES[i])
        end = x[shown][-1], ratio[shown][-1]
        plotting.line_label(axes, *end, name, plotting.PALETTE[i])
    axes.axhline(1, color="#000000", linewidth=0.8)
    axes.annotate("a bound must stay above this line", (3, 0.2), fontsize=9)
    axes.set(yscale="log", ylim=(1e-5, 1e13), xlim=(0, 122), xlabel="deviation x, in units of h")
    axes.set_ylabel("bound over exact probability")
    axes.set_title("With Var and h the displayed bound is smaller than the probability")
    return figure


def draw_storage(rounds: Floats, kept: Mapping[str, Sequence[int]], most: int) -> Figure:
    """Payoffs that are kept one by one against the round, beside all payoffs so far; `most` is how
    many there ever were, also between the rounds that are drawn."""
    figure, axes = plotting.panels(size=(7.8, 4.0))
    axes.plot(rounds, rounds, color="#000000", linestyle="--")
    axes.annotate("all payoffs\n(the remark)", (700, 4e3), ha="right", fontsize=9)
    places = {0: (130, 21), 1: (100, 0.12)}
    for i, (noise, seen) in enumerate(kept.items()):
        colour = plotting.PALETTE[i]
        axes.plot(rounds, seen, color=colour, linestyle=plotting.LINES[i], linewidth=1.3)
        words = f"suspects, {noise} noise"
        axes.annotate(words, places[i], color=plotting.ink(colour), fontsize=9)
    axes.set(xscale="log", yscale="symlog", ylim=(-0.2, 2e5), xlabel="round")
    axes.set_ylabel("payoffs kept")
    axes.set_yticks([0, 1, 10, 100, 1e3, 1e4, 1e5])
    axes.set_title(f"Of {rounds[-1]:,.0f} payoffs at most {most} are kept at a time")
    return figure
