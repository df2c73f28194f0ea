"""What a noise is, and what those that are added to the mean have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import checks
from ..policy import LARGEST

FloatArray = NDArray[np.float64]

LARGEST_SIGMA = 10.0  # of a logarithm: E|X|² is e^100 times a square of the scale then
TAIL = (1, 50, "(]")  # up to 1 the mean is infinite, above 50 closed forms here lose their digits


class Form(NamedTuple):
    """How a payoff comes from a mean m and a draw X, in numbers that compiled loops can use too.

    factor·(m + (base + growth·|m| + tilt·m)·X) + offset, or, where γ is positive and X uniform,
    factor·(1/γ − lift if X < γ·(m + lift), else −lift) + offset
    """

    gamma: float = 0.0
    lift: float = 0.0
    factor: float = 1.0
    offset: float = 0.0
    base: float = 1.0
    growth: float = 0.0
    tilt: float = 0.0

    def payoffs(self, mean: float | FloatArray, draws: FloatArray) -> FloatArray:
        """The payoffs; `engine.drive.pay` is the compiled twin."""
        paid: FloatArray
        if self.gamma > 0:
            won = draws < self.gamma * (mean + self.lift)
            paid = np.where(won, 1 / self.gamma, 0.0) - self.lift
        else:
            paid = mean + self.spread(mean) * draws
        return self.factor * paid + self.offset

    def spread(self, mean: float | FloatArray) -> float | FloatArray:
        """What a draw is multiplied by before it is added to this mean."""
        return self.base + self.growth * np.abs(mean) + self.tilt * mean

    def expected(self, mean: float | FloatArray) -> float | FloatArray:
        """What is paid on average, if the draws are centred."""
        return self.factor * mean + self.offset


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

    def check_means(self, means: float | FloatArray) -> None:  # noqa: B027
        """Refuse noiseless means that this noise cannot have; most can have any."""

    def telling_means(self, low: float, high: float) -> tuple[float, ...]:
        """Means among which a moment has its largest value, of all means from low to high."""
        return low, high

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

    form: ClassVar[Form] = Form()

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


class Checked(Noise):
    """A noise of ours, whose parameters are checked by their names."""

    ends: ClassVar[str] = "(]"  # of the interval from 0 to 1 in which a probability lies

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in ("scale", "size", "gamma"):
                checks.positive(name, value, LARGEST)  # payoffs beyond are refused
            elif name == "sigma":
                checks.real(name, value, 0, LARGEST_SIGMA, "(]")
            elif name in ("df", "shape"):
                checks.real(name, value, *TAIL)
            elif name == "probability":
                checks.real(name, value, 0, 1, self.ends)
