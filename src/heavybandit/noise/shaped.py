"""Payoffs that are more than the mean plus a noise: in other units, or noisier where they pay more.

Regret is still counted in units of xᵀθ*, so that costs can be compared.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import checks
from ..policy import LARGEST
from .base import Additive, FloatArray, Form, Noise
from .finite import TwoPointPayoff
from .own import as_noise


@dataclass(frozen=True)
class Shaped(Noise):
    """A noise made of another one by a `Form`, which moments follow from too."""

    noise: Any  # the other noise, or its name in Section 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", as_noise(self.noise))
        for name, value in vars(self).items():
            if name != "noise":
                checks.finite(name, value)

    @property
    @abstractmethod
    def form(self) -> Form:
        """How payoffs come from means and draws."""

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        draws: FloatArray = self.noise.draw(rng, n)
        return draws

    def payoffs(self, mean: float | FloatArray, draws: FloatArray) -> FloatArray:
        return self.form.payoffs(mean, draws)

    @abstractmethod
    def moment_about(self, q: float, a: float, mean: float) -> float:
        """E|payoff − a|^q for a payoff with this noiseless mean."""

    def central_moment(self, eps: float, mean: float = 0.0) -> float:
        checks.eps("eps", eps)
        checks.finite("mean", mean)
        return self.moment_about(1 + eps, float(self.form.expected(mean)), mean)

    def raw_moment(self, eps: float, mean: float) -> float:
        checks.eps("eps", eps)
        checks.finite("mean", mean)
        return self.moment_about(1 + eps, 0.0, mean)

    @property
    def name(self) -> str:
        """The other noise's name, with what is not at its default."""
        changed = [
            f"{key}={value:g}"
            for key, value in vars(self).items()
            if key != "noise" and value != type(self).__dataclass_fields__[key].default
        ]
        return f"{self.label}({', '.join([self.noise.name, *changed])})"


@dataclass(frozen=True)
class Varying(Shaped):
    """Noise that depends on the mean m: the payoff is m + (base + growth·|m| + tilt·m)·X.

    With `growth` the noise is larger where more is at stake. With `tilt` it is larger for larger
    means, and where the bracket is negative the skew of X is turned round, so that arms differ in
    the direction of their tails.
    """

    base: float = 1.0
    growth: float = 0.0
    tilt: float = 0.0
    label: ClassVar[str] = "varying"

    def __post_init__(self) -> None:
        super().__post_init__()
        law = self.noise
        if payoff_form(law) != Form() or law.mean:
            why = f"whose mean is {law.mean:.4g}" if payoff_form(law) == Form() else "which is not"
            raise ValueError(
                f"noise must be of mean 0 and added to the mean payoff, got {law.name}, {why}"
            )

    @property
    def form(self) -> Form:
        return Form(base=self.base, growth=self.growth, tilt=self.tilt)

    def telling_means(self, low: float, high: float) -> tuple[float, ...]:
        """The ends and 0, between which the payoff is affine in the mean, so its moments convex."""
        return (low, 0.0, high) if low < 0 < high else (low, high)

    def moment_about(self, q: float, a: float, mean: float) -> float:
        """|s|^q E|X − (a − m)/s|^q, s = base + growth·|m| + tilt·m"""
        spread = float(self.form.spread(mean))
        if spread == 0:
            return float(abs(mean - a) ** q)
        about: float = self.noise.moment_about(q, (a - mean) / spread)
        return float(abs(spread) ** q * about)


@dataclass(frozen=True)
class Units(Shaped):
    """Payoffs in other units and counted from elsewhere: factor·payoff + offset.

    What a linear model sees has the parameter factor·θ*, so that the paper's ‖θ*‖ ≤ 1 no longer
    holds for a large factor, nor linearity for an offset.
    """

    factor: float = 1.0
    offset: float = 0.0
    label: ClassVar[str] = "units"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("factor", self.factor, LARGEST)
        if payoff_form(self.noise) is None:
            raise ValueError(
                f"noise must be one whose draws are added to the mean, or of this package; got "
                f"{self.noise.name}, which has a method payoffs of its own"
            )

    @property
    def form(self) -> Form:
        inner: Form = self.noise.form
        factor, offset = self.factor * inner.factor, self.factor * inner.offset + self.offset
        return inner._replace(factor=factor, offset=offset)

    @property
    def mean(self) -> float:
        """What is added to factor·m + offset on average."""
        return float(self.factor * self.noise.mean)

    def check_means(self, means: float | FloatArray) -> None:
        self.noise.check_means(means)

    def telling_means(self, low: float, high: float) -> tuple[float, ...]:
        means: tuple[float, ...] = self.noise.telling_means(low, high)
        return means

    def moment_about(self, q: float, a: float, mean: float) -> float:
        """factor^q E|payoff − (a − offset)/factor|^q"""
        about = (a - self.offset) / self.factor
        if isinstance(self.noise, Additive):
            return float(self.factor**q * self.noise.moment_about(q, about - mean))
        return float(self.factor**q * self.noise.moment_about(q, about, mean))

    def central_moment(self, eps: float, mean: float = 0.0) -> float:
        """factor^{1+ε} times that of the other noise."""
        return float(self.factor ** (1 + eps) * self.noise.central_moment(eps, mean))


def payoff_form(noise: Any) -> Form | None:
    """How a noise makes payoffs, as numbers for the kernels; None if it has a way of its own."""
    known = (Additive.payoffs, TwoPointPayoff.payoffs, Shaped.payoffs)
    form: Form | None = noise.form if getattr(type(noise), "payoffs", None) in known else None
    return form
