"""Noises with a density: the Gaussian as a control, Student's t, Pareto's on one side or two, the
log-normal, and small noise with gross errors.

The hypergeometric functions are written in the form (Pfaff's or Euler's) whose argument lies in
[0, 1): the textbook form loses digits when the noise is small beside the mean.
"""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy  # which imports scipy.special, and slowly, when a moment is first asked for

from .base import Additive, Checked, FloatArray


@dataclass(frozen=True)
class Gaussian(Checked, Additive):
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
class StudentT(Checked, Additive):
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
class Pareto(Checked, Additive):
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
class SymmetricPareto(Checked, Additive):
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


@dataclass(frozen=True)
class LogNormal(Checked, Additive):
    """scale·(e^{σZ − σ²/2} − 1), Z standard Gaussian: mean 0, a long tail to the right.

    All moments exist, but they grow like e^{q²σ²/2}. `Varying(LogNormal(σ), base=0, tilt=1)` makes
    payoffs that are the mean times a log-normal number of mean 1.
    """

    sigma: float = 1.0  # σ, the standard deviation of the logarithm
    scale: float = 1.0  # what 1 plus the noise is multiplied by before its mean is taken out
    label: ClassVar[str] = "log-normal"

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """By `math.expm1`, with a compiled twin, for the same reason as in `SymmetricPareto`."""
        drawn, sigma = rng.standard_normal(n).tolist(), self.sigma
        drawn = [self.scale * math.expm1(sigma * z - sigma * sigma / 2) for z in drawn]
        return np.array(drawn, dtype=np.float64)

    def moment_about(self, q: float, a: float) -> float:
        """scale^q E|Y − c|^q, c = 1 + a/scale, Y log-normal of mean 1: e^{q(q−1)σ²/2} for c = 0;
        at q = 2 e^{σ²} − 1 + (1−c)²; else an integral over Z, on both sides of where Y = c."""
        sigma, c = self.sigma, 1 + a / self.scale
        if q == 2:
            return float(self.scale**2 * (math.expm1(sigma**2) + (1 - c) ** 2))

        def at(z: float) -> float:
            density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            return abs(math.exp(sigma * z - sigma**2 / 2) - c) ** q * density

        centre = q * sigma  # about which Y^q times the density is Gaussian
        kink = math.log(c) / sigma + sigma / 2 if c > 0 else 0.0  # where Y = c
        ends = [x for x in sorted((0.0, kink, centre)) if -12 < x < centre + 12]
        ends = [-12.0, *ends, centre + 12.0]
        quad = scipy.integrate.quad
        pieces = [
            quad(at, low, high, epsabs=0, epsrel=1e-11, limit=200)[0]
            for low, high in itertools.pairwise(ends)
        ]
        return float(self.scale**q * math.fsum(pieces))


@dataclass(frozen=True)
class Outliers(Checked, Additive):
    """Small Gaussian noise, and now and then a gross error: Gaussian too, but of another size."""

    scale: float = 0.1  # the usual standard deviation
    size: float = 10.0  # the standard deviation of a gross error
    probability: float = 0.01  # of a gross error
    label: ClassVar[str] = "outliers"

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """One uniform for each: below `probability` a gross error, whose quantile it is as well."""
        u, p = rng.random(n), self.probability
        gross = u < p
        level = np.where(gross, u / p, (u - p) / (1 - p) if p < 1 else 0.0)
        quantiles = scipy.special.ndtri(level * (1 - 2.0**-52) + 2.0**-53)  # never 0 or 1
        return np.where(gross, self.size, self.scale) * quantiles

    def moment_about(self, q: float, a: float) -> float:
        """The mixture of the two Gaussians' moments."""
        usual, gross = (Gaussian(s).moment_about(q, a) for s in (self.scale, self.size))
        return (1 - self.probability) * usual + self.probability * gross
