"""Heavy-tailed noises with their exact 1+ε moments (equations (6) and (12)).

A noise turns a noiseless mean payoff into payoffs in two steps, so that the random numbers of a
run depend on its seed alone and never on the arms that were chosen:

    draws = noise.draw(rng, n)               # a stream: n then m draws are n + m draws
    payoffs = noise.payoffs(mean, draws)     # mean + draws, except for TwoPointPayoff

Throughout q = 1+ε, X is the noise, and E|X−a|^q is the quantity every moment comes from. The
hypergeometric functions are written in the form (Pfaff's or Euler's) whose argument lies in
[0, 1): the textbook form loses digits when the noise is small beside the mean.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import scipy  # which imports scipy.special, and slowly, when a moment is first asked for
from numpy.typing import NDArray

from .. import checks

FloatArray = NDArray[np.float64]

TAIL = (1, 50, "(]")  # up to 1 the mean is infinite, above 50 closed forms here lose their digits


@dataclass(frozen=True)
class Noise(ABC):
    """What every noise can do."""

    label: ClassVar[str]

    @abstractmethod
    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """The next n numbers of this noise's stream."""

    @abstractmethod
    def payoffs(self, mean: float | FloatArray, draws: FloatArray) -> FloatArray:
        """The payoffs of an arm with this noiseless mean, given draws of the noise."""

    @property
    def mean(self) -> float:
        """What the noise adds to the mean payoff on average; 0 unless said otherwise."""
        return 0.0

    @abstractmethod
    def central_moment(self, eps: float, mean: float = 0.0) -> float:
        """E|payoff − E payoff|^{1+ε}, which v bounds in equation (6)."""

    @abstractmethod
    def raw_moment(self, eps: float, mean: float) -> float:
        """E|payoff|^{1+ε}, which v bounds in equation (12)."""

    @property
    def name(self) -> str:
        """A short identity: the first parameter, and those that are not at their default."""
        label = getattr(self, "label", type(self).__name__)
        shown = [
            f for i, f in enumerate(fields(self)) if i == 0 or getattr(self, f.name) != f.default
        ]
        values = (f"{f.name}={str(getattr(self, f.name)).removesuffix('.0')}" for f in shown)
        return f"{label}({', '.join(values)})" if shown else label


class Additive(Noise):
    """A noise X that is added to the mean: its moments all come from E|X − a|^q."""

    @abstractmethod
    def moment_about(self, q: float, a: float) -> float:
        """E|X − a|^q, infinite where the tail makes it so."""

    def payoffs(self, mean: float | FloatArray, draws: FloatArray) -> FloatArray:
        return mean + draws

    def central_moment(self, eps: float, mean: float = 0.0) -> float:
        """E|X − E X|^{1+ε}, the same for every mean."""
        checks.eps("eps", eps)
        checks.finite("mean", mean)
        return self.moment_about(1 + eps, self.mean)

    def raw_moment(self, eps: float, mean: float) -> float:
        """E|mean + X|^{1+ε}"""
        checks.eps("eps", eps)
        checks.finite("mean", mean)
        return self.moment_about(1 + eps, -mean)


class _Checked(Noise):
    """A noise of ours, whose parameters are checked by their names."""

    ends: ClassVar[str] = "(]"  # of the interval from 0 to 1 in which a probability lies

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in ("scale", "size", "gamma"):
                checks.positive(name, value)
            elif name in ("df", "shape"):
                checks.real(name, value, *TAIL)
            elif name == "probability":
                checks.real(name, value, 0, 1, self.ends)


@dataclass(frozen=True)
class Gaussian(_Checked, Additive):
    """Gaussian noise: light tails, a control."""

    scale: float = 1.0  # the standard deviation σ
    label: ClassVar[str] = "gaussian"

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        return self.scale * rng.standard_normal(n)

    def moment_about(self, q: float, a: float) -> float:
        """σ^q 2^{q/2} Γ((q+1)/2)/√π · 1F1(−q/2; 1/2; −a²/(2σ²))"""
        at_zero = self.scale**q * 2 ** (q / 2) * math.gamma((q + 1) / 2) / math.sqrt(math.pi)
        return float(at_zero * scipy.special.hyp1f1(-q / 2, 0.5, -((a / self.scale) ** 2) / 2))


@dataclass(frozen=True)
class StudentT(_Checked, Additive):
    """Student's t noise: symmetric, moments below order df exist (Section 6 has df = 3)."""

    df: float = 3.0  # the degrees of freedom ν, in (1, 50] (beyond, use Gaussian)
    scale: float = 1.0  # what the standard variable is multiplied by
    label: ClassVar[str] = "student-t"

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        return self.scale * rng.standard_t(self.df, n)

    def moment_about(self, q: float, a: float) -> float:
        """With z = (a/scale)²/ν, and infinite if q ≥ ν:

        scale^q ν^{q/2} Γ((q+1)/2) Γ((ν−q)/2)/(√π Γ(ν/2)) · 2F1(−q/2, (ν−q)/2; 1/2; −z)

        where 2F1(−q/2, (ν−q)/2; 1/2; −z) = (1+z)^{q/2} 2F1(−q/2, (1+q−ν)/2; 1/2; z/(1+z)).
        """
        nu = self.df
        if q >= nu:
            return math.inf
        z = (a / self.scale) ** 2 / nu
        gammas = math.gamma((q + 1) / 2) * math.gamma((nu - q) / 2) / math.gamma(nu / 2)
        at_zero = self.scale**q * nu ** (q / 2) * gammas / math.sqrt(math.pi)
        shift = (1 + z) ** (q / 2) * scipy.special.hyp2f1(
            -q / 2, (1 + q - nu) / 2, 0.5, z / (1 + z)
        )
        return float(at_zero * shift)


def pareto_moment_about(q: float, a: float, s: float, x_m: float) -> float:
    """E|X − a|^q for X with density s x_m^s / x^{s+1} on x ≥ x_m, and infinite if q ≥ s.

    With x = x_m/u, E|X−a|^q = s x_m^q ∫₀¹ u^{s−q−1} |1 − (a/x_m) u|^q du, which is

    a < 0:        s/(s−q) (x_m−a)^q 2F1(−q, 1; s−q+1; a/(a−x_m))
    0 ≤ a ≤ x_m:  s/(s−q) x_m^q 2F1(−q, s−q; s−q+1; a/x_m)
    a > x_m:      s a^q [(x_m/a)^s B(s−q, q+1) + z^{q+1}/(q+1) 2F1(1, q+1−s; q+2; z)], z = 1 − x_m/a

    where the two terms of the last line are the parts above and below a.
    """
    if q >= s:
        return math.inf
    hyp2f1 = scipy.special.hyp2f1
    if a < 0:
        return float(s / (s - q) * (x_m - a) ** q * hyp2f1(-q, 1, s - q + 1, a / (a - x_m)))
    if a <= x_m:
        return float(s / (s - q) * x_m**q * hyp2f1(-q, s - q, s - q + 1, a / x_m))
    z = (a - x_m) / a
    above = (x_m / a) ** s * scipy.special.beta(s - q, q + 1)
    below = z ** (q + 1) / (q + 1) * hyp2f1(1, q + 1 - s, q + 2, z)
    return float(s * a**q * (above + below))


@dataclass(frozen=True)
class Pareto(_Checked, Additive):
    """Pareto noise, one-sided and as printed not centred (Section 6 has shape 3, scale 0.01)."""

    shape: float = 3.0  # the tail index s, in (1, 50]: moments below order s exist
    scale: float = 0.01  # the smallest value x_m
    centred: bool = False  # whether the mean s x_m/(s−1) is subtracted, as equation (1) would need
    label: ClassVar[str] = "pareto"

    @property
    def printed_mean(self) -> float:
        """The mean of the density as printed, s x_m/(s−1)."""
        return self.shape * self.scale / (self.shape - 1)

    @property
    def mean(self) -> float:
        """s x_m/(s−1), or 0 when centred."""
        return 0.0 if self.centred else self.printed_mean

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        draws = self.scale * (1 + rng.pareto(self.shape, n))
        return draws - self.printed_mean if self.centred else draws

    def moment_about(self, q: float, a: float) -> float:
        """As in `pareto_moment_about`, about a + s x_m/(s−1) when centred."""
        shift = self.printed_mean if self.centred else 0.0
        return pareto_moment_about(q, a + shift, self.shape, self.scale)


@dataclass(frozen=True)
class SymmetricPareto(_Checked, Additive):
    """A Pareto variable with a random sign: symmetric, infinite variance for shape ≤ 2."""

    shape: float  # the tail index s, in (1, 50]: moments below order s exist
    scale: float = 1.0  # the smallest absolute value x_m
    label: ClassVar[str] = "symmetric-pareto"

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """±x_m U^{−1/s}, U uniform on (0, 1]; the lower half of [0, 1) gives the minus sign.

        By `math.pow`, since NumPy's power of an array has other last bits on some processors;
        `engine.offers.draw` is the compiled twin.
        """
        s, x_m = self.shape, self.scale
        draws = [
            -x_m * math.pow(1 - u, -1 / s) if u < 1 else x_m * math.pow(2 - u, -1 / s)
            for u in (2 * rng.random(n)).tolist()
        ]
        return np.array(draws, dtype=np.float64)

    def moment_about(self, q: float, a: float) -> float:
        """½ (E|P−a|^q + E|P+a|^q), P the Pareto variable."""
        s, x_m = self.shape, self.scale
        return (pareto_moment_about(q, a, s, x_m) + pareto_moment_about(q, -a, s, x_m)) / 2


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
            listed = np.atleast_1d(np.array(getattr(self, name), dtype=object)).tolist()
            object.__setattr__(self, name, tuple(checks.finite(name, x) for x in listed))
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
        checks.positive("scale", scale)
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
class _Striking(_Checked, Finite, Additive):
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
class TwoPointPayoff(_Checked, Finite):
    """Payoffs 1/γ with probability γ·mean, else 0: the lower bound's (equation (23)).

    Not additive: the draws are uniforms on [0, 1), and a payoff is 1/γ where draw < γ·mean.
    """

    gamma: float  # γ, the inverse of the one payoff besides 0; γ·mean must be a probability
    label: ClassVar[str] = "two-point"

    def probability(self, mean: float | FloatArray) -> float | FloatArray:
        """γ·mean, the probability of 1/γ."""
        p = self.gamma * mean
        if not np.all((p >= 0) & (p <= 1)):
            raise ValueError(f"mean must be in [0, 1/gamma] = [0, {1 / self.gamma}], got {mean}")
        return p

    def law(self, mean: float = 0.0) -> tuple[FloatArray, FloatArray]:
        p = float(self.probability(mean))
        return np.array([1 / self.gamma, 0.0]), np.array([p, 1 - p])

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.random(n)

    def payoffs(self, mean: float | FloatArray, draws: FloatArray) -> FloatArray:
        return np.where(draws < self.probability(mean), 1 / self.gamma, 0.0)

    def central_moment(self, eps: float, mean: float = 0.0) -> float:
        """p |1/γ − mean|^{1+ε} + (1−p) |mean|^{1+ε},  p = γ·mean"""
        checks.eps("eps", eps)
        return self.moment_about(1 + eps, mean, mean)

    def raw_moment(self, eps: float, mean: float) -> float:
        """p (1/γ)^{1+ε},  p = γ·mean"""
        checks.eps("eps", eps)
        return self.moment_about(1 + eps, 0.0, mean)


@dataclass(frozen=True)
class OwnNoise(Additive):
    """A noise of any class with `draw`, and perhaps `moment_about` and `mean`."""

    own: Any  # the object that draws
    called: str = ""  # what tables call it; otherwise as the object or its class is called

    def draw(self, rng: Any, n: int) -> FloatArray:
        drawn: FloatArray = self.own.draw(rng, n)
        return drawn

    @property
    def mean(self) -> float:
        said = getattr(self.own, "mean", 0.0)
        return float(said() if callable(said) else said)

    def moment_about(self, q: float, a: float) -> float:
        """What the object says, or an error that tells what its absence prevents."""
        if not hasattr(self.own, "moment_about"):
            raise ValueError(
                f"{type(self.own).__name__} has no method moment_about(q, a), which gives E|X−a|^q "
                f"and from which v is computed: add it, or give v as a number"
            )
        moment: float = self.own.moment_about(q, a)
        return moment

    @property
    def name(self) -> str:
        """As it is called, or the object's name, or that of its class."""
        return self.called or str(getattr(self.own, "name", type(self.own).__name__))


SECTION6: dict[str, Noise] = {
    "student-t": StudentT(df=3.0),
    "pareto": Pareto(shape=3.0, scale=0.01),
    "pareto-centred": Pareto(shape=3.0, scale=0.01, centred=True),
}


def by_name(name: str) -> Noise:
    """Section 6's two noises as printed, and the Pareto noise with its mean taken out."""
    if name not in SECTION6:
        raise ValueError(f"noise must be one of {', '.join(SECTION6)}, or a noise; got {name!r}")
    return SECTION6[name]


def as_noise(own: Any) -> Noise:
    """A noise as it is, or one made of an object that can draw."""
    if isinstance(own, Noise):
        return own
    called = type(own).__name__
    if isinstance(own, type):
        raise TypeError(f"noise must be an object, got the class {own.__name__}; add ()")
    if not callable(getattr(own, "draw", None)):
        got = f"{own!r:.60}" if type(own).__module__ == "builtins" else f"a {called} without one"
        raise TypeError(
            f"noise must be one of {', '.join(SECTION6)}, or an object with a method "
            f"draw(rng, n); got {got}"
        )
    if hasattr(own, "payoffs"):
        raise TypeError(
            f"{called} has a method payoffs, so it must derive from heavybandit.noise.Noise; "
            f"without one its draws are added to the mean"
        )
    return OwnNoise(own)
