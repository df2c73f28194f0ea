"""What a policy is: its schedule, its door, and the order in which it may be called.

The literal twins in `paper` and the compiled ones in `engine` share this class, so that both refuse
the same input with the same words and draw the same luck. A subclass says only how it decides
(`_choose`) and what it learns (`_learn`).
"""

from __future__ import annotations

import inspect
import math
import operator
from typing import Any, ClassVar, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

TIE = 1e-9
"""Values this close count as equal; readings R4 and R15 in `heavybandit.paper` say how."""

LONGEST = 1.0 + 1e-6
"""Contexts may be this long: a unit vector normalised in single precision still passes."""

LONGEST_HORIZON = 2**53
"""Beyond, plays can no longer be counted in double precision."""

CONTEXT_STREAM, NOISE_STREAM, POLICY_STREAM, THETA_STREAM = range(4)

EXPLORE_RULES = ("first", "random", "widest", "optimistic")


def stream(seed: int, which: int) -> np.random.Generator:
    """One of a seed's separate random streams; it depends on nothing but its two arguments."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(which,)))


def whole(name: str, value: SupportsIndex, least: int) -> int:
    """A whole number of at least `least`, or an error that names the argument."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        hint = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() else ""
        raise TypeError(
            f"{name} must be a whole number of at least {least}, got {value!r}{hint}"
        ) from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def real(name: str, value: float, allowed: str, low: float, high: float, *, top: bool) -> float:
    """A number above `low` and below `high` (or equal to it, if `top`); `allowed` says so."""
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise TypeError(f"{name} must be a number {allowed}, got {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number {allowed}, got {value!r}") from None
    if not (low < number < high or (top and number == high)):
        raise ValueError(f"{name} must be {allowed}, got {number!r}")
    return number


def flag(name: str, value: bool) -> bool:
    """True or False, or an error that names the argument."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """One of the named choices, or an error that lists them."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
    return value


class _Named:
    """Refuses wrong arguments in the name of the class that was called, and lists the right ones.

    Python would name the base whose __init__ is inherited, which nobody has heard of.
    """

    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        """Keep the signature of __init__ that of the class, though __new__ takes anything."""
        whole_one = inspect.signature(cls.__init__)
        _, *own = whole_one.parameters.values()
        cls.__signature__ = whole_one.replace(parameters=own)

    def __new__(cls, *args: Any, **given: Any) -> Self:
        known = cls.__signature__
        if not args and not given:  # copied or unpickled, without __init__
            return super().__new__(cls)
        try:
            known.bind_partial(*args, **given)  # what is unknown comes before what is missing
            known.bind(*args, **given)
        except TypeError as error:
            raise TypeError(
                f"{cls.__name__}: {error}; its arguments are {', '.join(known.parameters)}"
            ) from None
        return super().__new__(cls)


class Policy(_Named):
    """A policy that plays `plays` times a round for `rounds` rounds, within `horizon` plays (R1).

    `select` may be asked again before `update`: it answers for the same round with the same luck.
    A call that is refused changes nothing.
    """

    plays: int
    rounds: int

    def __init__(self, horizon: int, n_arms: int, dim: int, *, seed: int = 0) -> None:
        self.horizon = whole("horizon", horizon, self._shortest_horizon)
        if self.horizon > LONGEST_HORIZON:
            raise ValueError(f"horizon must be at most 2**53, got {self.horizon}")
        self.n_arms = whole("n_arms", n_arms, 1)
        self.dim = whole("dim", dim, 1)
        self.seed = whole("seed", seed, 0)
        self._rng = stream(self.seed, POLICY_STREAM)
        self._luck: float | None = None
        self._offered: Floats | None = None
        self._selected = -1
        self._played = 0

    _shortest_horizon = 1

    def _schedule(self, plays: int, rounds: int) -> None:
        """Fix the plays a round and the rounds, or say that the horizon holds not even one."""
        if rounds < 1:
            raise ValueError(
                f"horizon must hold at least one round, got {self.horizon}, and "
                f"{type(self).__name__} would play its arm {plays} times a round "
                f"(a number that may grow with the horizon)"
            )
        self.plays, self.rounds = plays, rounds

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} for {self.n_arms} arms in {self.dim} dimensions, "
            f"{self._played} of {self.rounds} rounds played>"
        )

    @property
    def round(self) -> int:
        """t: the 1-based index of the round that comes next, or is under way (R2)."""
        return self._played + 1

    def select(self, contexts: ArrayLike) -> int:
        """The arm to play in this round, given a context a row; (n_arms, dim)."""
        X = self._checked_contexts(contexts)
        if self._played >= self.rounds:
            raise RuntimeError(
                f"select was called after the last of {self.rounds} rounds; the constants hold for "
                f"horizon={self.horizon} only, so build a policy with a longer horizon"
            )
        if self._luck is None:
            self._luck = float(self._rng.random())
        arm = self._choose(X, self._luck)
        self._offered, self._selected = X, arm
        return arm

    def update(self, payoffs: ArrayLike) -> None:
        """Learn from the payoffs of the arm just selected; (plays,), or a number if plays is 1."""
        if self._offered is None:
            raise RuntimeError("update was called before select; payoffs belong to a selected arm")
        checked = self._checked_payoffs(payoffs)
        self._learn(self._offered[self._selected], checked)
        self._played += 1
        self._offered, self._selected, self._luck = None, -1, None

    def _checked_contexts(self, contexts: ArrayLike) -> Floats:
        expected = (self.n_arms, self.dim)
        X = _as_floats("contexts", contexts, f"an array of shape {expected} = (n_arms, dim)")
        if X.shape != expected:
            raise ValueError(
                f"contexts must have the shape {expected} = (n_arms, dim), got {X.shape}"
            )
        if not np.isfinite(X).all():
            arm = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
            raise ValueError(f"contexts must be finite; the context of arm {arm} is {X[arm]}")
        with np.errstate(over="ignore"):  # an infinite length is too long all the same
            lengths = np.sqrt((X * X).sum(axis=1))
        if lengths.max() > LONGEST:
            arm = int(np.argmax(lengths))
            raise ValueError(
                f"contexts must have Euclidean norm at most 1, as the paper assumes; "
                f"the context of arm {arm} has norm {lengths[arm]:.6g}"
            )
        return X

    def _checked_payoffs(self, payoffs: ArrayLike) -> Floats:
        y = _as_floats("payoffs", payoffs, f"an array of shape ({self.plays},) = (plays,)")
        if y.ndim == 0 and self.plays == 1:
            y = y.reshape(1)
        if y.shape != (self.plays,):
            raise ValueError(
                f"payoffs must have the shape ({self.plays},) = (plays,), got {y.shape}"
            )
        if not np.isfinite(y).all():
            which = int(np.flatnonzero(~np.isfinite(y))[0])
            raise ValueError(f"payoffs must be finite; number {which} is {y[which]}")
        return y

    def _choose(self, X: Floats, luck: float) -> int:
        raise NotImplementedError

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        raise NotImplementedError


def _as_floats(name: str, values: ArrayLike, wanted: str) -> Floats:
    """A private float64 copy, so that the caller's later changes cannot reach the policy."""
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "biuf":  # neither text nor dates nor complex numbers
            raise TypeError
        return np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {wanted} of real numbers, got {values!r:.60}") from None


class HeavyTailedPolicy(Policy):
    """A policy whose widths are built from a moment bound, as all of the paper's are.

    eps          ε in (0, 1]: the payoffs have 1+ε moments
    v            a bound on that moment: the central one for SupBMM, FlatBMM, MoM, MENU, HeavyOFUL
                 and HvtUCB, the raw one for SupBTC, FlatBTC, CRT and TOFU
    delta        δ in (0, 1): the guarantees hold with probability 1 − δ
    width_scale  multiplies every half-width; 1 is the theory
    """

    _shortest_horizon = 3  # below, ln T < 1; the baselines could do with less but gain nothing

    def __init__(
        self,
        horizon: int,
        n_arms: int,
        dim: int,
        *,
        eps: float = 1.0,
        v: float | None = None,
        delta: float = 0.01,
        width_scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(horizon, n_arms, dim, seed=seed)
        self.eps = real("eps", eps, "in (0, 1]", 0.0, 1.0, top=True)
        if v is None:
            raise TypeError(
                f"v must be given: {type(self).__name__} needs a bound on the 1+eps moment of "
                f"payoffs, got None; central_moment or raw_moment of a noise gives it"
            )
        self.v = real("v", v, "positive and finite", 0.0, math.inf, top=False)
        self.delta = real("delta", delta, "in (0, 1)", 0.0, 1.0, top=False)
        self.width_scale = real(
            "width_scale", width_scale, "positive and finite", 0.0, math.inf, top=False
        )


def describe(policy: Any) -> str:
    """The policy's name as it stands in tables and messages."""
    return type(policy).__name__
