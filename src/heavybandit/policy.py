"""What a policy is: its settings, its schedule, its door, the order in which it may be called.

The literal twins in `paper` and `later` and the compiled ones in `engine` share these classes, so
that both take the same arguments, refuse the same input with the same words and draw the same
random numbers. A subclass declares its settings and says only how often it plays
(`_plays_and_rounds`), what it starts with (`_prepare`), how it decides (`_choose`) and what it
learns (`_learn`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import checks

Floats = NDArray[np.float64]

TIE = 1e-9
"""Values this close count as equal; readings R4 and R15 in `heavybandit.paper` say how.

It is absolute, for values of about 1, as the model's payoffs are. Rounding may exceed it where
payoffs are 10⁴ and more and v, their square, is 10⁸; then a policy and its literal twin may choose
different arms in a tie."""

LONGEST = 1.0 + 1e-6
"""Contexts may be this long: a unit vector normalised in single precision still passes."""


def told_norm(norm: float) -> str:
    """A norm above LONGEST, in as many digits as it takes for a division by it to be enough."""
    norm = float(norm)  # of NumPy's, an infinite one would warn
    digits = (f"{norm:.{n}g}" for n in range(4, 18))
    return next((told for told in digits if norm / float(told) <= LONGEST), f"{norm:g}")


LONGEST_HORIZON = 2**53
"""Beyond, plays can no longer be counted in double precision."""

LARGEST = 1e100
"""Payoffs and constants beyond could leave double precision when they are squared or multiplied."""

MOST_ARMS, MOST_DIMENSIONS = 2**24, 2**15
"""More fit no memory, of which a d × d matrix at that d takes 8 GB."""

CONTEXT_STREAM, NOISE_STREAM, POLICY_STREAM, THETA_STREAM = range(4)

EXPLORE_RULES = ("first", "random", "widest", "optimistic")
CONSTANTS = ("theory", "circulated")
SHOWN = ("zero", "noise")
"""What a copy may be shown beside its run: payoffs of 0, or the noise of the same plays alone."""

NOT_GIVEN = inspect.Parameter.empty


def stream(seed: int, which: int) -> np.random.Generator:
    """One of a seed's separate random streams; it depends on nothing but its two arguments."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(which,)))


class Setting(NamedTuple):
    """A constructor's argument: what checks it, and what it is if it is not given."""

    check: Callable[..., Any]
    limits: tuple[Any, ...]
    default: Any
    kw_only: bool


def setting(
    check: Callable[..., Any], *limits: Any, default: Any = NOT_GIVEN, kw_only: bool = True
) -> Any:
    """Declare a constructor's argument, which `check(name, value, *limits)` lets pass or refuses.

    If the default is None, None is not checked: `_begin` or `_prepare` deals with it.
    """
    return Setting(check, limits, default, kw_only)


@dataclass_transform(kw_only_default=True, field_specifiers=(setting,))
class Declared:
    """Makes the constructor from the settings that a class and its bases declare, seed last.

    Wrong arguments are refused in the name of the class that was called, with the right ones.
    """

    _settings: ClassVar[dict[str, Setting]]
    _arguments: ClassVar[inspect.Signature]
    __signature__: ClassVar[inspect.Signature | None]

    def __init_subclass__(cls) -> None:
        settings: dict[str, Setting] = {}
        types: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            settings |= {k: one for k, one in vars(base).items() if isinstance(one, Setting)}
            types |= inspect.get_annotations(base)
        settings["seed"] = settings.pop("seed")
        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        parameters = []
        for name, (_, _, default, kw_only) in settings.items():
            hint = f"{types[name]} | None" if default is None else types[name]
            one = inspect.Parameter(name, kinds[kw_only], default=default, annotation=hint)
            parameters.append(one)
        cls._settings = settings
        cls._arguments = inspect.Signature(parameters, return_annotation="None")
        made_here = cls.__init__ is Declared.__init__  # or else its own signature counts
        cls.__signature__ = cls._arguments if made_here else None

    def __init__(self, *args: Any, **given: Any) -> None:
        known = self._arguments
        try:
            known.bind_partial(*args, **given)  # what is unknown comes before what is missing
            bound = known.bind(*args, **given)
        except TypeError as error:
            raise TypeError(
                f"{type(self).__name__}: {error}; its arguments are {', '.join(known.parameters)}"
            ) from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            check, limits, default, _ = self._settings[name]
            left_out = value is None and default is None
            setattr(self, name, None if left_out else check(name, value, *limits))
        self._begin()

    def _begin(self) -> None:
        """Start afresh, with settings that have been checked."""
        raise NotImplementedError


class Look(NamedTuple):
    """How a policy is drawn, in every figure; colours that colour-blind readers tell apart."""

    colour: str
    marker: str
    line: str


class Policy(Declared):
    """A policy that plays `plays` times per round for `rounds` rounds, within `horizon` plays (R1).

    `select` may be asked again before `update`: it answers for the same round with the same random
    numbers. A call that is refused changes nothing.
    """

    look: ClassVar[Look]

    horizon: int = setting(checks.whole, 1, kw_only=False)
    n_arms: int = setting(checks.whole, 1, MOST_ARMS, kw_only=False)
    dim: int = setting(checks.whole, 1, MOST_DIMENSIONS, kw_only=False)
    seed: int = setting(checks.whole, 0, default=0)

    def _begin(self) -> None:
        if self.horizon > LONGEST_HORIZON:
            raise ValueError(f"horizon must be at most 2**53, got {checks.short(self.horizon)}")
        self._rng = stream(self.seed, POLICY_STREAM)
        self._drawn: Any = None
        self._offered: Floats | None = None
        self._selected = -1
        self._played = 0
        self.plays, self.rounds = self._plays_and_rounds()
        if self.rounds < 1:
            raise ValueError(
                f"horizon must hold at least one round, got {self.horizon}, and "
                f"{type(self).__name__} would play its arm {self.plays} times per round "
                f"(a number that may grow with the horizon)"
            )
        try:
            self._prepare()
        except MemoryError:
            raise ValueError(
                f"horizon, n_arms and dim must leave room in memory, got {self.horizon}, "
                f"{self.n_arms} and {self.dim}, for which {type(self).__name__} finds none"
            ) from None

    def _plays_and_rounds(self) -> tuple[int, int]:
        """How often the arm of a round is played, and how many rounds the horizon holds."""
        return 1, self.horizon

    def _prepare(self) -> None:
        """Set up what the policy knows before its first round."""
        raise NotImplementedError

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
        """The arm to play in this round, given one context per row; (n_arms, dim)."""
        X = self._checked_contexts(contexts)
        if self._played >= self.rounds:
            raise RuntimeError(
                f"select was called after the last of {self.rounds} rounds; the constants hold for "
                f"horizon={self.horizon} only, so build a policy with a longer horizon"
            )
        if self._drawn is None:
            self._drawn = self._draw_numbers(1)[0]
        arm = self._choose(X, self._drawn)
        self._offered, self._selected = X, arm
        return arm

    def update(self, payoffs: ArrayLike) -> None:
        """Learn from the payoffs of the arm just selected; (plays,), or a number if plays is 1."""
        if self._offered is None:
            raise RuntimeError("update was called before select; payoffs belong to a selected arm")
        checked = self._checked_payoffs(payoffs)
        self._learn(self._offered[self._selected], checked)
        self._played += 1
        self._offered, self._selected, self._drawn = None, -1, None

    def decline(self) -> None:
        """Leave the round that was offered unplayed; the next has new random numbers.

        Without this a randomised policy that is asked again answers as before: on a log it would
        wait for the arm that it has in mind, and arms seldom logged would count too often.
        """
        self._offered, self._selected, self._drawn = None, -1, None

    def _checked_contexts(self, contexts: ArrayLike) -> Floats:
        X = _as_floats("contexts", contexts, (self.n_arms, self.dim), "(n_arms, dim)")
        with np.errstate(over="ignore"):  # an infinite length is too long all the same
            lengths = np.sqrt(np.add.reduce(X * X, axis=1))
        if lengths.max() <= LONGEST:  # not so where an entry is infinite or not a number
            return X
        if not np.isfinite(X).all():
            arm = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
            raise ValueError(f"contexts must be finite; the context of arm {arm} is {X[arm]}")
        arm = int(np.argmax(lengths))
        raise ValueError(
            f"contexts must have Euclidean norm at most 1, as the paper assumes; "
            f"the context of arm {arm} has norm {told_norm(lengths[arm])}"
        )

    def _checked_payoffs(self, payoffs: ArrayLike) -> Floats:
        y = _as_floats("payoffs", payoffs, (self.plays,), "(plays,)")
        if not (np.abs(y) <= LARGEST).all():
            which = int(np.flatnonzero(~(np.abs(y) <= LARGEST))[0])
            raise ValueError(
                f"payoffs must be finite and at most {LARGEST:g} in absolute value; "
                f"number {which} is {y[which]}"
            )
        return y

    def _draw_numbers(self, rounds: int) -> Floats:
        """Random numbers for the next rounds: for most policies one in [0, 1) per round.

        Drawn in one call or in several, it is the same.
        """
        return self._rng.random(rounds)

    def _choose(self, X: Floats, u: Any) -> int:
        """The arm to play; u is what `_draw_numbers` gave for this round."""
        raise NotImplementedError

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        raise NotImplementedError


def _as_floats(name: str, values: ArrayLike, shape: tuple[int, ...], meaning: str) -> Floats:
    """A private float64 copy, so that the caller's later changes cannot reach the policy."""
    values = checks.unmasked(name, values)
    try:
        raw = np.asarray(values)
        if raw.dtype.kind not in "biuf":  # neither text nor dates nor complex numbers
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be an array of shape {shape} = {meaning} of real numbers, "
            f"got {values!r:.60}"
        ) from None
    if raw.ndim == 0 and shape == (1,):
        raw = raw.reshape(shape)
    if raw.shape != shape:
        raise ValueError(f"{name} must have the shape {shape} = {meaning}, got {raw.shape}")
    return np.array(raw, dtype=np.float64, order="C")


class HeavyTailedPolicy(Policy):
    """A policy whose widths are built from a moment bound, as all of the paper's are.

    eps          ε in (0, 1]: the payoffs have 1+ε moments
    v            a bound on that moment, central or raw as `moment` says (R7)
    delta        δ in (0, 1): the guarantees hold with probability 1 − δ
    width_scale  multiplies every half-width; 1 is the theory
    ridge        λ > 0: regressions start from A₁ = λI; 1 is the paper's
    """

    moment: ClassVar[str]
    """Which moment v bounds, "central" or "raw"."""

    horizon: int = setting(checks.whole, 3, kw_only=False)  # below, ln T < 1
    eps: float = setting(checks.eps, default=1.0)
    v: float = setting(checks.positive, LARGEST, default=None)
    delta: float = setting(checks.delta, default=0.01)
    width_scale: float = setting(checks.positive, LARGEST, default=1.0)
    ridge: float = setting(checks.ridge, default=1.0)

    def _begin(self) -> None:
        if self.v is None:
            raise TypeError(
                f"v must be given: {type(self).__name__} needs a bound on the {self.moment} 1+eps "
                f"moment of payoffs, got None; {self.moment}_moment of a noise gives it"
            )
        super()._begin()


class StagedSettings(HeavyTailedPolicy):
    """Algorithm 3 over one of the basic algorithms; "some arm" (step 11) is chosen by `explore`.

    "first", the lowest index; "random"; "widest"; or "optimistic", the largest upper bound, which
    looks at payoffs and so voids the independence that the paper's analysis needs. `level_scale`
    multiplies the width 1/√T₀ at which the master exploits (step 8).
    """

    explore: str = setting(checks.one_of, EXPLORE_RULES, default="first")
    level_scale: float = setting(checks.positive, LARGEST, default=1.0)


class TruncatingSettings(HeavyTailedPolicy):
    """Drops or clips what is too large; `threshold_scale` multiplies what is still allowed."""

    threshold_scale: float = setting(checks.positive, LARGEST, default=1.0)


class PlainSettings(HeavyTailedPolicy):
    """No stages: the largest upper bound over the whole history.

    `constants` are those of the theory, or those of the code that was circulated.
    """

    constants: str = setting(checks.one_of, CONSTANTS, default="theory")

    @property
    def _circulated(self) -> bool:
        return self.constants == "circulated"
