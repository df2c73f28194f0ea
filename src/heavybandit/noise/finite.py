"""Noises of finitely many values, whose moments are sums."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from .. import checks
from ..policy import LARGEST
from .base import TAIL, Additive, Checked, FloatArray, Form, Noise


class Finite(Noise):
    """A noise with which a payoff has finitely many values: every moment is a sum over them."""

    @abstractmethod
    def law(self, mean: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """What a payoff with this noiseless mean can be, and how probable each value is."""

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """The first value whose cumulative probability exceeds a uniform on [0, 1)."""
        values, chances = self.law()
        return values[np.searchsorted(np.cumsum(chances[:-1]), rng.random(n), side="right")]

    def moment_about(self, q: float, a: float, mean: float = 0.0) -> float:
        """Σ p|x − a|^q, one by one: powers of an array have other last bits on some processors."""
        law = zip(*(numbers.tolist() for numbers in self.law(mean)), strict=True)
        return math.fsum(p * abs(x - a) ** q for x, p in law)


@dataclass(frozen=True)
class Levels(Finite, Additive):
    """Any noise of finitely many values."""

    values: Sequence[float]  # what the noise can be
    probabilities: Sequence[float]  # how probable each of them is

    def __post_init__(self) -> None:
        for name in ("values", "probabilities"):
            given = checks.unmasked(name, getattr(self, name))
            listed = np.atleast_1d(np.array(given, dtype=object)).tolist()
            numbers = tuple(checks.real(name, x, -LARGEST, LARGEST, "[]") for x in listed)
            object.__setattr__(self, name, numbers)
        n, p = len(self.values), self.probabilities
        if len(p) != n or min(p, default=0) <= 0 or abs(math.fsum(p) - 1) > 1e-9:
            raise ValueError(f"probabilities must be {n} positive numbers of sum 1, got {p!r:.60}")

    @classmethod
    def pareto(cls, exponent: float, scale: float = 1.0, *, one_sided: bool = False) -> Self:
        """A Pareto tail in steps: P(|X| ≥ scale·2^k) = 2^{−ka} for k = 0, 1, …, a the exponent.

        Both signs alike, or one-sided with the mean taken out. The last k is the first with
        ka ≥ 80: the longest horizon, 2^53 plays, would go beyond it once in 10⁸ runs.
        """
        checks.real("exponent", exponent, *TAIL)
        checks.positive("scale", scale, LARGEST)
        steps = range(math.ceil(80 / exponent) + 1)
        sizes = [scale * 2.0**k for k in steps]
        chances = [(1 - 2.0**-exponent) * 2.0 ** (-exponent * k) for k in steps]
        if checks.flag("one_sided", one_sided):
            mean = math.fsum(p * x for x, p in zip(sizes, chances, strict=True))
            return cls([x - mean for x in sizes], chances)
        return cls([*(-x for x in sizes), *sizes], [p / 2 for p in (*chances, *chances)])

    def law(self, mean: float = 0.0) -> tuple[FloatArray, FloatArray]:
        return mean + np.array(self.values), np.array(self.probabilities)

    @property
    def mean(self) -> float:
        return math.fsum(p * x for x, p in zip(self.values, self.probabilities, strict=True))

    @property
    def name(self) -> str:
        """How many values there are, how far they reach and their variance."""
        ends = f"{min(self.values):g} to {max(self.values):g}"
        return f"levels({len(self.values)} from {ends}, variance {self.central_moment(1):.4g})"


@dataclass(frozen=True)
class Empirical(Finite, Additive):
    """What was seen once, drawn again: each of the values with the same probability.

    For residuals of real payoffs. Their mean is taken out, unless `centred` is False.
    """

    values: Sequence[float]  # residuals, in any order
    centred: bool = True  # whether their mean is subtracted, as equation (1) would need

    def __post_init__(self) -> None:
        seen = np.array(checks.unmasked("values", self.values))
        if seen.ndim != 1 or not seen.size or seen.dtype.kind not in "iuf":
            what = (
                f"an array of shape {seen.shape}, {seen.dtype}" if seen.ndim else repr(self.values)
            )
            raise ValueError(f"values must be a list of numbers, got {what:.60}")
        if not np.isfinite(seen).all():
            first = int(np.flatnonzero(~np.isfinite(seen))[0])
            raise ValueError(f"values must be finite; number {first + 1} is {seen[first]}")
        listed = [
            checks.real("values", x, -LARGEST, LARGEST, "[]")
            for x in seen.astype(np.float64).tolist()
        ]
        shift = math.fsum(listed) / len(listed) if checks.flag("centred", self.centred) else 0.0
        values, counts = np.unique(np.array(listed) - shift, return_counts=True)
        object.__setattr__(self, "values", tuple(listed))
        object.__setattr__(self, "_law", (values, counts / len(listed)))

    def law(self, mean: float = 0.0) -> tuple[FloatArray, FloatArray]:
        values, chances = self._law  # type: ignore[attr-defined]
        return mean + values, chances

    @property
    def mean(self) -> float:
        """0 when centred, else the mean of the values."""
        return 0.0 if self.centred else math.fsum(self.values) / len(self.values)

    @property
    def name(self) -> str:
        """How many values there are, how far they reach once centred, and their variance."""
        values = self.law()[0]
        ends = f"{values[0]:.4g} to {values[-1]:.4g}"
        return f"empirical({len(self.values)} from {ends}, variance {self.central_moment(1):.4g})"


@dataclass(frozen=True)
class _Striking(Checked, Finite, Additive):
    """A size, and how often it strikes."""

    size: float
    probability: float

    @classmethod
    def for_moment(cls, v: float, probability: float, eps: float) -> Self:
        """The noise of this kind with E|X|^{1+ε} = v."""
        checks.positive("v", v)
        checks.eps("eps", eps)
        unit = cls(1.0, probability).moment_about(1 + eps, 0.0)
        return cls(float((v / unit) ** (1 / (1 + eps))), probability)


@dataclass(frozen=True)
class Extremal(_Striking):
    """±size or 0: the noise for which Markov's inequality, and so Lemma 1's start, is tight.

    P(|X| ≥ size) = probability = E|X|^{1+ε}/size^{1+ε}
    """

    probability: float = 1.0  # each sign half of that; else 0
    label: ClassVar[str] = "extremal"

    def law(self, mean: float = 0.0) -> tuple[FloatArray, FloatArray]:
        p = self.probability
        return mean + np.array([-self.size, self.size, 0.0]), np.array([p / 2, p / 2, 1 - p])


@dataclass(frozen=True)
class Lottery(_Striking):
    """A large gain now and then, a small loss otherwise; mean 0, so all of the tail is on one side.

    size with probability p, else −size·p/(1−p)
    """

    probability: float = 0.5  # how often the gain is won, p
    label, ends = "lottery", "()"

    @property
    def loss(self) -> float:
        """What is lost otherwise, size·p/(1−p)."""
        return self.size * self.probability / (1 - self.probability)

    def law(self, mean: float = 0.0) -> tuple[FloatArray, FloatArray]:
        p = self.probability
        return mean + np.array([self.size, -self.loss]), np.array([p, 1 - p])


@dataclass(frozen=True)
class TwoPointPayoff(Checked, Finite):
    """Payoffs 1/γ with probability γ·mean, else 0: the lower bound's (equation (23)).

    Not additive: the draws are uniforms on [0, 1), and a payoff is 1/γ where draw < γ·mean. With a
    `lift` both payoffs are lower by it, and 1/γ − lift has probability γ·(mean + lift), so that
    means from −lift on are possible: rare large payoffs that are all there is to learn from.
    """

    gamma: float  # γ, the inverse of the one payoff besides 0; γ·mean must be a probability
    lift: float = 0.0  # how far below 0 means may be
    label: ClassVar[str] = "two-point"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least("lift", self.lift, 0)

    @property
    def form(self) -> Form:
        return Form(gamma=self.gamma, lift=self.lift)

    def probability(self, mean: float | FloatArray) -> float | FloatArray:
        """γ·(mean + lift), the probability of the larger payoff."""
        p = self.gamma * (mean + self.lift)
        possible = np.asarray((p >= 0) & (p <= 1))
        if not possible.all():
            low, high = 0 - self.lift, 1 / self.gamma - self.lift
            said = "[-lift, 1/gamma - lift]" if self.lift else "[0, 1/gamma]"
            wrong = np.asarray(mean)[~possible].flat[0]
            raise ValueError(f"mean must be in {said} = [{low:g}, {high:g}], got {wrong}")
        return p

    def check_means(self, means: float | FloatArray) -> None:
        self.probability(means)

    def telling_means(self, low: float, high: float) -> tuple[float, ...]:
        """The ends of what is possible, and the mean with probability ½.

        The raw moment is affine in the probability p; the central one is
        γ^{−q} p(1−p) ((1−p)^{q−1} + p^{q−1}), whose factors are concave for q ≤ 2 and largest at ½.
        """
        least, middle, most = (p / self.gamma - self.lift for p in (0, 0.5, 1))
        low, high = max(low, least), min(high, most)
        return low, min(max(middle, low), high), high

    def law(self, mean: float = 0.0) -> tuple[FloatArray, FloatArray]:
        p = float(self.probability(mean))
        return np.array([1 / self.gamma, 0.0]) - self.lift, np.array([p, 1 - p])

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.random(n)

    def payoffs(self, mean: float | FloatArray, draws: FloatArray) -> FloatArray:
        self.probability(mean)  # refuses means that are no probabilities over γ
        return self.form.payoffs(mean, draws)

    def central_moment(self, eps: float, mean: float = 0.0) -> float:
        """p |1/γ − lift − mean|^{1+ε} + (1−p) |mean + lift|^{1+ε},  p = γ·(mean + lift)"""
        checks.eps("eps", eps)
        return self.moment_about(1 + eps, mean, mean)

    def raw_moment(self, eps: float, mean: float) -> float:
        """p (1/γ − lift)^{1+ε} + (1−p) lift^{1+ε},  p = γ·(mean + lift)"""
        checks.eps("eps", eps)
        return self.moment_about(1 + eps, 0.0, mean)
