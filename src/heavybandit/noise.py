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
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import scipy  # which imports scipy.special, and slowly, when a moment is first asked for
from numpy.typing import NDArray

from . import checks

FloatArray = NDArray[np.float64]


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
        """mean + draws"""
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


def _tail(name: str, value: float) -> None:
    """Refuse a tail index of 1 or less, where the mean is infinite, or above 50.

    Above 50 the closed forms below are no longer accurate in double precision.
    """
    checks.real(name, value, 1, 50, "(]")


@dataclass(frozen=True)
class Gaussian(Additive):
    """Gaussian noise: light tails, a control."""

    scale: float = 1.0
    """The standard deviation σ."""

    label: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        checks.positive("scale", self.scale)

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        return self.scale * rng.standard_normal(n)

    def moment_about(self, q: float, a: float) -> float:
        """σ^q 2^{q/2} Γ((q+1)/2)/√π · 1F1(−q/2; 1/2; −a²/(2σ²))"""
        at_zero = self.scale**q * 2 ** (q / 2) * math.gamma((q + 1) / 2) / math.sqrt(math.pi)
        return float(at_zero * scipy.special.hyp1f1(-q / 2, 0.5, -((a / self.scale) ** 2) / 2))


@dataclass(frozen=True)
class StudentT(Additive):
    """Student's t noise: symmetric, moments below order df exist (Section 6 has df = 3)."""

    df: float = 3.0
    """The degrees of freedom ν, in (1, 50] (beyond, use Gaussian)."""

    scale: float = 1.0
    """What the standard variable is multiplied by."""

    label: ClassVar[str] = "student-t"

    def __post_init__(self) -> None:
        _tail("df", self.df)
        checks.positive("scale", self.scale)

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
class Pareto(Additive):
    """Pareto noise, one-sided and as printed not centred (Section 6 has shape 3, scale 0.01)."""

    shape: float = 3.0
    """The tail index s, in (1, 50]: moments below order s exist."""

    scale: float = 0.01
    """The smallest value x_m."""

    centred: bool = False
    """Whether the mean s x_m/(s−1) is subtracted, as equation (1) would need."""

    label: ClassVar[str] = "pareto"

    def __post_init__(self) -> None:
        _tail("shape", self.shape)
        checks.positive("scale", self.scale)

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
class SymmetricPareto(Additive):
    """A Pareto variable with a random sign: symmetric, infinite variance for shape ≤ 2."""

    shape: float
    """The tail index s, in (1, 50]: moments below order s exist."""

    scale: float = 1.0
    """The smallest absolute value x_m."""

    label: ClassVar[str] = "symmetric-pareto"

    def __post_init__(self) -> None:
        _tail("shape", self.shape)
        checks.positive("scale", self.scale)

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


@dataclass(frozen=True)
class Extremal(Additive):
    """±size or 0: the noise for which Markov's inequality, and so Lemma 1's start, is tight.

    P(|X| ≥ size) = probability = E|X|^{1+ε}/size^{1+ε}
    """

    size: float
    """The one absolute value besides 0."""

    probability: float = 1.0
    """How often the noise is not 0, each sign half of that."""

    label: ClassVar[str] = "extremal"

    def __post_init__(self) -> None:
        checks.positive("size", self.size)
        checks.real("probability", self.probability, 0, 1, "(]")

    @classmethod
    def for_moment(cls, v: float, probability: float, eps: float) -> Self:
        """The extremal noise with E|X|^{1+ε} = v: size (v/probability)^{1/(1+ε)}."""
        checks.positive("v", v)
        checks.positive("probability", probability)
        checks.eps("eps", eps)
        return cls((v / probability) ** (1 / (1 + eps)), probability)

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        uniform, p = rng.random(n), self.probability
        return np.where(uniform < p / 2, -self.size, np.where(uniform < p, self.size, 0.0))

    def moment_about(self, q: float, a: float) -> float:
        """p/2 (|size−a|^q + |size+a|^q) + (1−p)|a|^q"""
        p, ends = self.probability, abs(self.size - a) ** q + abs(self.size + a) ** q
        return float(p / 2 * ends + (1 - p) * abs(a) ** q)


@dataclass(frozen=True)
class Lottery(Additive):
    """A large gain now and then, a small loss otherwise; mean 0, so all of the tail is on one side.

    size with probability p, else −size·p/(1−p)
    """

    size: float
    """The gain."""

    probability: float = 0.5
    """How often it is won, p."""

    label: ClassVar[str] = "lottery"

    def __post_init__(self) -> None:
        checks.positive("size", self.size)
        checks.real("probability", self.probability, 0, 1)

    @property
    def loss(self) -> float:
        """What is lost otherwise, size·p/(1−p)."""
        return self.size * self.probability / (1 - self.probability)

    @classmethod
    def for_moment(cls, v: float, probability: float, eps: float) -> Self:
        """The lottery with E|X|^{1+ε} = v."""
        checks.positive("v", v)
        checks.eps("eps", eps)
        unit = cls(1.0, probability).moment_about(1 + eps, 0.0)
        return cls(float((v / unit) ** (1 / (1 + eps))), probability)

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        return np.where(rng.random(n) < self.probability, self.size, -self.loss)

    def moment_about(self, q: float, a: float) -> float:
        """p|size−a|^q + (1−p)|loss+a|^q"""
        p = self.probability
        return float(p * abs(self.size - a) ** q + (1 - p) * abs(self.loss + a) ** q)


@dataclass(frozen=True)
class TwoPointPayoff(Noise):
    """Payoffs 1/γ with probability γ·mean, else 0: the lower bound's (equation (23)).

    Not additive: the draws are uniforms on [0, 1), and a payoff is 1/γ where draw < γ·mean.
    """

    gamma: float
    """γ, the inverse of the one payoff besides 0; γ·mean must be a probability."""

    label: ClassVar[str] = "two-point"

    def __post_init__(self) -> None:
        checks.positive("gamma", self.gamma)

    def probability(self, mean: float | FloatArray) -> float | FloatArray:
        """γ·mean, the probability of 1/γ."""
        p = self.gamma * mean
        if not np.all((p >= 0) & (p <= 1)):
            raise ValueError(f"mean must be in [0, 1/gamma] = [0, {1 / self.gamma}], got {mean}")
        return p

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        return rng.random(n)

    def payoffs(self, mean: float | FloatArray, draws: FloatArray) -> FloatArray:
        """1/γ where draw < γ·mean, else 0."""
        return np.where(draws < self.probability(mean), 1 / self.gamma, 0.0)

    def central_moment(self, eps: float, mean: float = 0.0) -> float:
        """p |1/γ − mean|^{1+ε} + (1−p) |mean|^{1+ε},  p = γ·mean"""
        checks.eps("eps", eps)
        p = float(self.probability(mean))
        hit, miss = abs(1 / self.gamma - mean) ** (1 + eps), abs(mean) ** (1 + eps)
        return float(p * hit + (1 - p) * miss)

    def raw_moment(self, eps: float, mean: float) -> float:
        """p (1/γ)^{1+ε},  p = γ·mean"""
        checks.eps("eps", eps)
        return float(self.probability(mean) * (1 / self.gamma) ** (1 + eps))


@dataclass(frozen=True)
class OwnNoise(Additive):
    """A noise of any class with `draw`, and perhaps `moment_about` and `mean`."""

    own: Any
    """The object that draws."""

    called: str = ""
    """What tables call it; otherwise as the object or its class is called."""

    def draw(self, rng: Any, n: int) -> FloatArray:
        """What the object draws."""
        drawn: FloatArray = self.own.draw(rng, n)
        return drawn

    @property
    def mean(self) -> float:
        """What the object says, or 0."""
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
