"""α-stable noise: what sums of heavy-tailed numbers look like, with tails of index α below 2."""

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from .. import checks
from .base import Additive, Checked, FloatArray
from .tails import Gaussian

FAR = 1e4  # scales from the mean beyond which an integral over waves loses its digits


def stable_number(u: float, w: float, alpha: float, turn: float, stretch: float) -> float:
    """A stable variable from uniforms u, w on [0, 1) (Chambers, Mallows and Stuck 1976).

    stretch · sin(α(V+B)) / (cos V)^{1/α} · (cos(V − α(V+B))/W)^{(1−α)/α} with the turn B,
    V = π(u − ½) and W = −ln(1 − w), kept off the ends of their ranges. By `math`, since NumPy's
    functions of arrays have other last bits on some processors.
    """
    angle = math.pi * ((u - 0.5) + 2.0**-54)
    wait = -math.log(1.0 - w) if w > 0.0 else 2.0**-54
    turned = alpha * (angle + turn)
    bent = math.pow(max(math.cos(angle - turned), 2.0**-60) / wait, (1.0 - alpha) / alpha)
    return stretch * math.sin(turned) / math.pow(math.cos(angle), 1.0 / alpha) * bent


@dataclass(frozen=True)
class AlphaStable(Checked, Additive):
    """α-stable noise of mean 0: E exp(itX) = exp(−|scale·t|^α (1 − i·skew·sgn(t) tan(πα/2))).

    Moments below order α exist. For α = 2 it is Gaussian with variance 2·scale². This is the form
    S1 of scipy's `levy_stable`, whose draws depend on how many are asked for at once.
    """

    alpha: float = 1.5  # the tail index α, in (1, 2]
    skew: float = 0.0  # β, from −1 (all of the tail to the left) to 1
    scale: float = 1.0
    label: ClassVar[str] = "alpha-stable"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("alpha", self.alpha, 1, 2, "(]")
        checks.real("skew", self.skew, -1, 1, "[]")

    @property
    def slant(self) -> float:
        """β tan(πα/2), by which the two tails differ."""
        return self.skew * math.tan(math.pi * self.alpha / 2)

    @property
    def turn_and_stretch(self) -> tuple[float, float]:
        """B = arctan(slant)/α, and scale·(1 + slant²)^{1/(2α)}."""
        stretch = math.pow(1 + self.slant**2, 1 / (2 * self.alpha))
        return math.atan(self.slant) / self.alpha, self.scale * stretch

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """Two uniforms for each; `engine.offers.draw` is the compiled twin."""
        pairs, how = rng.random((n, 2)).tolist(), (self.alpha, *self.turn_and_stretch)
        return np.array([stable_number(u, w, *how) for u, w in pairs], dtype=np.float64)

    def moment_about(self, q: float, a: float) -> float:
        """Infinite for q ≥ α < 2; with C = (2/π) Γ(1+q) sin(πq/2) and slant τ,

        E|X|^q = (2/π) Γ(q) sin(πq/2) Γ(1−q/α) scale^q (1+τ²)^{q/(2α)} cos((q/α) arctan τ)
        E|X−a|^q = E|X|^q + C ∫ e^{−(scale·t)^α} [cos(τ(scale·t)^α) − cos(τ(scale·t)^α − at)]
        t^{−q−1} dt over t > 0, which is done numerically

        Both come from E|Y|^q = C ∫ (1 − Re E exp(itY)) t^{−q−1} dt, which holds for 0 < q < 2.
        If |a| is FAR scales or more the waves are too many, and E|X−a|^q, which lies between |a|^q
        and |a|^q + 2^{2−q} E|X|^q (Jensen; von Bahr and Esseen), is taken as |a|^q + E|X|^q.
        """
        alpha, slant, scale = self.alpha, self.slant, self.scale
        if alpha == 2:
            return Gaussian(math.sqrt(2) * scale).moment_about(q, a)
        if q >= alpha:
            return math.inf
        sine = 2 / math.pi * math.gamma(q) * math.sin(math.pi * q / 2)
        bend = (1 + slant**2) ** (q / (2 * alpha)) * math.cos(q / alpha * math.atan(slant))
        at_zero = sine * math.gamma(1 - q / alpha) * bend
        b = a / scale
        if b == 0:
            return float(scale**q * at_zero)
        if abs(b) >= FAR:
            return float(abs(a) ** q + scale**q * at_zero)

        def from_zero(t: float) -> float:
            # cos x − cos(x − bt) = −2 sin(x − bt/2) sin(bt/2), which vanishes like t²
            wave = math.sin(slant * t**alpha - b * t / 2) * math.sin(b * t / 2)
            return -2 * math.exp(-(t**alpha)) * wave / t**2 if t else b * b / 2

        # A half wave of cos(bt) with the weight t^{1−q}, then the three terms of
        # cos x − cos x cos(bt) − sin x sin(bt) by themselves; beyond t^α = 40 nothing is left.
        last = 40 ** (1 / alpha)
        first = min(math.pi / abs(b), last)
        rest = (first, last)
        quad = functools.partial(scipy.integrate.quad, epsabs=1e-13, epsrel=1e-10, limit=400)

        def even(t: float) -> float:
            return math.exp(-(t**alpha)) * t ** (-q - 1) * math.cos(slant * t**alpha)

        def odd(t: float) -> float:
            return math.exp(-(t**alpha)) * t ** (-q - 1) * math.sin(slant * t**alpha)

        terms = [quad(from_zero, 0, first, weight="alg", wvar=(1 - q, 0))[0]]
        if first < last:
            terms += [
                quad(even, *rest)[0],
                -quad(even, *rest, weight="cos", wvar=b)[0],
                -quad(odd, *rest, weight="sin", wvar=b)[0],
            ]
        return float(scale**q * (at_zero + q * sine * math.fsum(terms)))
