"""The worlds: Section 6, the construction of Theorem 3, and three that the paper lacks.

A world says how many arms it has and in how many dimensions, draws the contexts of a round, knows
θ* and carries a noise. Anything with these five members can be simulated:

    n_arms, dim, noise
    theta_star(seed) -> (dim,)
    contexts(rng, first_round, n_rounds, plays) -> (n_rounds, n_arms, dim)

`contexts` is asked for consecutive rounds (counted from 0) with one generator, and must draw from
it in order, so that the size of the blocks does not show. `plays` is how often
the asking policy plays an arm per round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import checks
from . import noise as noises
from .checks import one_of, whole
from .noise import Noise, as_noise
from .noise.own import PARTS, parts_of
from .policy import (
    LONGEST,
    MOST_ARMS,
    MOST_DIMENSIONS,
    THETA_STREAM,
    Floats,
    stream,
    told_norm,
)

PRINTED_BOUNDS = {"student-t": (3.0, 4.0), "pareto": (1.0, 2.0), "pareto-centred": (1.0, 2.0)}
"""Section 6's bounds on the second central and the second raw moment, by noise.

The centred Pareto noise is not in the paper; the bounds printed for the other hold for it too."""


@dataclass(frozen=True)
class UniformContexts:
    """Contexts with entries uniform on [low, 1], divided by their norm; a fixed θ*."""

    name: str  # what tables and figures call it
    n_arms: int  # K
    dim: int  # d
    noise: Noise  # what is added to the mean
    theta: tuple[float, ...]  # θ*
    low: float = 0.0  # 0: the positive orthant, as in Section 6; −1: symmetric about 0
    v_central: float | None = None  # the bound on the central moment that the paper prints
    v_raw: float | None = None  # and the one on the raw moment
    theta_norm: float = 1.0  # ‖θ*‖

    def theta_star(self, seed: int) -> Floats:
        """θ*, the same for every seed."""
        return np.array(self.theta)

    def contexts(
        self, rng: np.random.Generator, first_round: int, n_rounds: int, plays: int
    ) -> Floats:
        """The contexts of the next rounds; `engine.offers.contexts` is the compiled twin."""
        X = self.points(rng, n_rounds)
        squares = np.zeros(X.shape[:2])
        for i in range(self.dim):  # coordinate by coordinate, as the twin adds them up
            squares += X[:, :, i] * X[:, :, i]
        norms = np.where(squares > 0, np.sqrt(squares), 1.0)  # zero stays zero
        return X / norms[:, :, None]

    def points(self, rng: np.random.Generator, n_rounds: int) -> Floats:
        """The contexts of the next rounds before they are divided by their norms."""
        X = rng.random((n_rounds, self.n_arms, self.dim))
        if self.low:
            X *= 1.0 - self.low
            X += self.low
        return X


def _world(
    name: str,
    noise: str | Noise,
    n_arms: int,
    dim: int,
    theta_norm: float,
    direction: Floats,
    low: float = 0.0,
) -> UniformContexts:
    """A world with θ* = theta_norm·direction, and the bounds that the paper prints, if any."""
    v_central, v_raw = (
        PRINTED_BOUNDS.get(noise, (None, None)) if isinstance(noise, str) else (None,) * 2
    )
    law, norm = as_noise(noise), checks.real("theta_norm", theta_norm, 0, 1, "(]")
    smaller = "" if norm == 1 else f" with norm {norm:g}"
    return UniformContexts(
        name=f"{name}{smaller}/{law.name}",
        n_arms=whole("n_arms", n_arms, 1, MOST_ARMS),
        dim=whole("dim", dim, 1, MOST_DIMENSIONS),
        noise=law,
        theta=tuple(float(norm * x) for x in direction),
        low=low,
        v_central=v_central,
        v_raw=v_raw,
        theta_norm=norm,
    )


def _along_ones(dim: int) -> Floats:
    """1/√d in every coordinate."""
    return np.full(whole("dim", dim, 1, MOST_DIMENSIONS), 1 / math.sqrt(dim))


def section6(
    noise: str | Noise = "student-t", *, n_arms: int = 20, dim: int = 10, theta_norm: float = 1.0
) -> UniformContexts:
    """Section 6: d = 10, K = 20, θ* = 1/√d, contexts uniform on [0,1]^d and then normalised.

    `noise` is "student-t", "pareto" (as printed, mean 0.015), "pareto-centred", or a noise.
    θ* points along the mean context, so that the arm nearest to the mean is the best one.
    `theta_norm` is ‖θ*‖, 1 in the paper.
    """
    return _world("section6", noise, n_arms, dim, theta_norm, _along_ones(dim))


def misaligned(
    noise: str | Noise = "student-t", *, n_arms: int = 20, dim: int = 10, theta_norm: float = 1.0
) -> UniformContexts:
    """Section 6 with a θ* at a right angle to the mean context: its signs alternate."""
    whole("dim", dim, 2, MOST_DIMENSIONS)
    theta = np.zeros(dim)
    even = dim - dim % 2
    theta[:even:2], theta[1:even:2] = 1.0, -1.0
    return _world("misaligned", noise, n_arms, dim, theta_norm, theta / math.sqrt(even))


def symmetric(
    noise: str | Noise = "student-t", *, n_arms: int = 20, dim: int = 10, theta_norm: float = 1.0
) -> UniformContexts:
    """Section 6 with entries uniform on [−1,1] before normalising: the mean context is 0."""
    return _world("symmetric", noise, n_arms, dim, theta_norm, _along_ones(dim), low=-1.0)


@dataclass(frozen=True)
class FixedArms:
    """The same contexts in every round: a bandit with finitely many arms, and linear payoffs."""

    arms: tuple[tuple[float, ...], ...]  # x_a, one per arm
    theta: tuple[float, ...]  # θ*
    noise: Noise

    @property
    def name(self) -> str:
        """What tables and figures call it."""
        return f"fixed-arms/{self.noise.name}"

    @property
    def n_arms(self) -> int:
        """K"""
        return len(self.arms)

    @property
    def dim(self) -> int:
        """d"""
        return len(self.theta)

    @property
    def means(self) -> Floats:
        """x_aᵀθ*, one per arm, coordinate by coordinate as `engine.offers.price` adds them up."""
        means = np.zeros(self.n_arms)
        for column, weight in zip(np.array(self.arms).T, self.theta, strict=True):
            means += column * weight
        return means

    def theta_star(self, seed: int) -> Floats:
        """θ*, the same for every seed."""
        return np.array(self.theta)

    def contexts(
        self, rng: np.random.Generator, first_round: int, n_rounds: int, plays: int
    ) -> Floats:
        """The contexts, again and again."""
        return np.broadcast_to(np.array(self.arms), (n_rounds, self.n_arms, self.dim))


def fixed_arms(contexts: Any, theta: Any, noise: str | Noise = "student-t") -> FixedArms:
    """A world with one and the same context for each arm, (n_arms, dim), of norm 1 at most."""
    given = {"contexts": (contexts, 2), "theta": (theta, 1)}
    arrays = []
    for name, (numbers, axes) in given.items():
        kind = "a list of equally long lists" if axes == 2 else "a list"
        try:
            raw = np.array(checks.unmasked(name, numbers))
            if raw.dtype.kind not in "biuf":  # neither text nor complex numbers
                raise TypeError
        except (TypeError, ValueError) as error:
            if "masked" in str(error):
                raise
            raise TypeError(f"{name} must be {kind} of numbers, got {numbers!r:.60}") from None
        array = raw.astype(np.float64)
        if array.ndim != axes or not array.size or not np.isfinite(array).all():
            raise ValueError(f"{name} must be {kind} of finite numbers, got {numbers!r:.60}")
        arrays.append(array)
    X, theta = arrays
    if theta.size != X.shape[1]:
        raise ValueError(f"theta must have as many entries as a context, {X.shape[1]}; got {theta}")
    with np.errstate(over="ignore"):  # an infinite length is too long all the same
        longest = float(np.sqrt((X * X).sum(axis=1)).max())
    if longest > LONGEST:
        raise ValueError(f"contexts must have norm at most 1, got one of norm {told_norm(longest)}")
    world = FixedArms(tuple(map(tuple, X.tolist())), tuple(theta.tolist()), as_noise(noise))
    world.noise.check_means(world.means)
    return world


def sphere_arms(
    noise: str | Noise = "student-t",
    *,
    n_arms: int = 8,
    dim: int = 5,
    theta_norm: float = 1.0,
    draw: int = 0,
) -> FixedArms:
    """Fixed arms in directions that were drawn once and for all, uniformly; and θ* likewise.

    `draw` numbers the worlds of this kind; it has nothing to do with the seed of a run.
    """
    rng = stream(whole("draw", draw, 0), THETA_STREAM)
    shape = whole("n_arms", n_arms, 1, MOST_ARMS) + 1, whole("dim", dim, 1, MOST_DIMENSIONS)
    points = rng.standard_normal(shape)
    for point in points:
        point /= math.sqrt(math.fsum(x * x for x in point.tolist()))
    norm = checks.real("theta_norm", theta_norm, 0, 1, "(]")
    return fixed_arms(points[1:], norm * points[0], noise)


GAMMA_FROM = ("horizon", "stage", "capped")


@dataclass(frozen=True)
class LowerBound:
    """The construction in the proof of Theorem 3: S = ⌊(d−1)/K⌋ stages, each a K-armed bandit.

    Feature 0 is √½ for every arm. In stage j (counted from 0) feature jK+i of arm i is √½ too, and
    the rest is 0. θ*_0 = √2 γ^ε; in each stage one arm i_j, drawn uniformly, has
    θ*_{jK+i_j} = √2 γ^ε. So that arm pays 2γ^ε in the mean and the others γ^ε, as 1/γ or nothing.

    The paper puts trial t into stage ⌊t/m⌋; here trials are counted from 0 and the last stage takes
    the T − mS trials that are left over, as the count of S stages demands.
    """

    horizon: int  # T, in plays
    dim: int  # d
    n_arms: int  # K
    eps: float  # ε
    gamma_from: str = "horizon"
    """"horizon" as printed; "stage": γ from the stage's length, to which Lemma 7 is applied; or
    "capped": the same, but no larger than ‖θ*‖ ≤ 1 allows."""

    def __post_init__(self) -> None:
        whole("horizon", self.horizon, 1)
        whole("n_arms", self.n_arms, 1)
        whole("dim", self.dim, 1)
        checks.eps("eps", self.eps)
        one_of("gamma_from", self.gamma_from, GAMMA_FROM)
        if self.dim < self.n_arms + 1:
            raise ValueError(
                f"dim must be at least n_arms + 1 = {self.n_arms + 1}: with dim={self.dim} the "
                f"construction has ⌊(dim−1)/n_arms⌋ = 0 stages"
            )
        if self.horizon < self.n_stages:
            raise ValueError(
                f"horizon must give each of the {self.n_stages} stages a play, got {self.horizon}"
            )

    @property
    def name(self) -> str:
        """What tables and figures call it."""
        return f"lower-bound/gamma-from-{self.gamma_from}"

    @property
    def n_stages(self) -> int:
        """S = ⌊(d−1)/K⌋."""
        return (self.dim - 1) // self.n_arms

    @property
    def stage_length(self) -> int:
        """m = ⌊T/S⌋."""
        return self.horizon // self.n_stages

    @property
    def gamma(self) -> float:
        """γ = (K/(T+2K))^{1/(1+ε)} with T as printed, or with the stage's length in its place.

        ‖θ*‖ ≤ 1 as long as γ ≤ (2(S+1))^{−1/(2ε)}.
        """
        length = self.horizon if self.gamma_from == "horizon" else self.stage_length
        gamma = float((self.n_arms / (length + 2 * self.n_arms)) ** (1 / (1 + self.eps)))
        if self.gamma_from == "capped":
            gamma = min(gamma, float((2 * (self.n_stages + 1)) ** (-1 / (2 * self.eps))))
        return gamma

    @property
    def noise(self) -> Noise:
        """Pays 1/γ with probability γ·mean, else 0."""
        return noises.TwoPointPayoff(self.gamma)

    @property
    def theta_norm(self) -> float:
        """‖θ*‖ = √2 γ^ε √(S+1); the paper assumes it is at most 1."""
        return math.sqrt(2 * (self.n_stages + 1)) * self.gamma**self.eps

    @property
    def v_raw(self) -> float:
        """The bound on the raw 1+ε moment that the paper prints."""
        return 2.0

    @property
    def v_central(self) -> float:
        """The larger of the two kinds of arms' central 1+ε moments."""
        means = (self.gamma**self.eps, 2 * self.gamma**self.eps)
        return max(self.noise.central_moment(self.eps, mean) for mean in means)

    def good_arms(self, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """i_j for each stage, counted from 0."""
        return stream(seed, THETA_STREAM).integers(self.n_arms, size=self.n_stages)

    def theta_star(self, seed: int) -> Floats:
        """θ*, drawn anew for each seed."""
        theta = np.zeros(self.dim)
        theta[0] = math.sqrt(2) * self.gamma**self.eps
        features = 1 + self.n_arms * np.arange(self.n_stages) + self.good_arms(seed)
        theta[features] = theta[0]
        return theta

    def contexts(
        self, rng: np.random.Generator, first_round: int, n_rounds: int, plays: int
    ) -> Floats:
        """The contexts of the next rounds; a round belongs to the stage of its first play."""
        play = plays * np.arange(first_round, first_round + n_rounds)
        stage = np.minimum(play // self.stage_length, self.n_stages - 1)
        X = np.zeros((n_rounds, self.n_arms, self.dim))
        X[:, :, 0] = math.sqrt(0.5)
        arms = np.arange(self.n_arms)
        features = 1 + self.n_arms * stage[:, None] + arms
        X[np.arange(n_rounds)[:, None], arms, features] = math.sqrt(0.5)
        return X


def lower_bound(
    horizon: int, dim: int, n_arms: int, eps: float, *, gamma_from: str = "horizon"
) -> LowerBound:
    """The construction of Theorem 3 as a world; see `LowerBound`."""
    return LowerBound(horizon, dim, n_arms, eps, gamma_from)


@dataclass(frozen=True)
class OwnWorld:
    """A world of any class with the five members that are listed above."""

    own: Any
    """The object that draws the contexts."""

    noise: Noise
    """Its noise, if need be made into one."""

    @property
    def n_arms(self) -> int:
        """K"""
        return int(self.own.n_arms)

    @property
    def dim(self) -> int:
        """d"""
        return int(self.own.dim)

    @property
    def name(self) -> str:
        """The object's name, or its class and noise."""
        return str(getattr(self.own, "name", f"{type(self.own).__name__}/{self.noise.name}"))

    @property
    def v_raw(self) -> float | None:
        """What the object states, if it does."""
        return getattr(self.own, "v_raw", None)

    @property
    def v_central(self) -> float | None:
        """Likewise."""
        return getattr(self.own, "v_central", None)

    def theta_star(self, seed: int) -> Floats:
        """θ*, as the object gives it."""
        theta: Floats = self.own.theta_star(seed)
        return theta

    def contexts(
        self, rng: np.random.Generator, first_round: int, n_rounds: int, plays: int
    ) -> Floats:
        """Contexts, as the object draws them."""
        X: Floats = self.own.contexts(rng, first_round, n_rounds, plays)
        return X


def contexts_in_parts(world: Any, parts: tuple[int, ...], plays: int, seed: int = 1) -> Floats:
    """The contexts of the first rounds, asked for in parts, from a generator that no run has."""
    rng, first, blocks = np.random.default_rng(seed), 0, []
    for n in parts:
        offered = checks.real_numbers("contexts", world.contexts(rng, first, n, plays))
        blocks.append(np.array(offered, dtype=np.float64))
        first += n
    return np.concatenate(blocks)


def contexts_out_of_order(world: Any, rounds: int, plays: int) -> bool:
    """Whether a world of the reader's gives other contexts in parts than at once."""
    own = world.own if isinstance(world, OwnWorld) else world
    if type(own).__module__.startswith(f"{__package__}."):
        return False
    parts = parts_of(min(sum(PARTS), rounds))  # a log may end there
    try:
        once = contexts_in_parts(own, (sum(parts),), plays)
        if len(once) != sum(parts):
            return False
        return not np.array_equal(once, contexts_in_parts(own, parts, plays), equal_nan=True)
    except Exception:  # what else is wrong with them is said where they are used
        return False
