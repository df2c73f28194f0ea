"""What is allowed at the door: a check gives the value back, or says what is allowed instead.

All use one form of words, "{name} must be {what is allowed}, got {value}". What is of the wrong
kind is a TypeError, what is of the right kind but out of range a ValueError.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any, SupportsFloat, SupportsIndex, TypeVar, cast

import numpy as np

Form = TypeVar("Form", bound=Callable[..., Any])


LEAST_RIDGE, LARGEST_RIDGE = 1e-9, 1e9
"""Below, the inverse of a matrix that starts so small loses all its digits; above, 1 + T/λ is 1."""

LEAST_DELTA = 1e-200
"""Below, 2T²/δ and its like could be infinite."""


def ended(what: str, error: StopIteration) -> RuntimeError:
    """What to raise for a StopIteration out of the reader's code, with the lines it came from.

    It must not leave this package: a caller's `map` or generator would take it for its own end.
    """
    said = f"{what} raised StopIteration: it asked an iterator that had run out"
    return RuntimeError(said).with_traceback(error.__traceback__)


def whole(name: str, value: SupportsIndex, least: int, most: int | None = None) -> int:
    """A whole number of at least `least`, and of at most `most` if that is given."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        hint = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() else ""
        raise TypeError(
            f"{name} must be a whole number of at least {least}, got {value!r}{hint}"
        ) from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {short(number)}")
    if most is not None and number > most:
        raise ValueError(f"{name} must be at most {most}, got {short(number)}")
    return number


def real(
    name: str,
    value: SupportsFloat,
    low: float = -math.inf,
    high: float = math.inf,
    ends: str = "()",
    allowed: str = "",
) -> float:
    """A number between `low` and `high`; `ends` are "(" or "[" and ")" or "]", as on paper."""
    allowed = allowed or f"in {ends[0]}{low:g}, {high:g}{ends[1]}"
    try:
        if isinstance(value, bool | np.bool_ | str | bytes):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number {allowed}, got {value!r}") from None
    except OverflowError:  # a whole number, or a fraction, beyond all floats
        raise ValueError(f"{name} must be {allowed}, got {short(value)}") from None
    at_an_end = (number == low and ends[0] == "[") or (number == high and ends[1] == "]")
    if not (low < number < high or at_an_end):
        raise ValueError(f"{name} must be {allowed}, got {number!r}")
    return number


def short(value: object) -> str:
    """A value as messages show it, however many digits it has."""
    if isinstance(value, int) and abs(value) >= 10**4000:  # Python writes no more than 4,300
        return f"{'-' * (value < 0)}2**{abs(value).bit_length() - 1} or more"
    digits = str(value)
    return digits if len(digits) <= 40 else f"{digits[:20]}… ({len(digits)} digits)"


def finite(name: str, value: SupportsFloat) -> float:
    """A number that is not infinite."""
    return real(name, value, allowed="finite")


def positive(name: str, value: SupportsFloat, most: float | None = None) -> float:
    """A number above 0 that is not infinite; if `most` is given, from 1/most to most."""
    if most is None:
        return real(name, value, 0, allowed="positive and finite")
    return real(name, value, 1 / most, most, "[]", f"positive, from {1 / most:g} to {most:g}")


def at_least(name: str, value: SupportsFloat, least: float) -> float:
    """A number of at least `least` that is not infinite."""
    return real(name, value, least, ends="[)", allowed=f"at least {least} and finite")


def eps(name: str, value: SupportsFloat) -> float:
    """ε in (0, 1], the range of the paper's moment conditions."""
    return real(name, value, 0, 1, "(]")


def delta(name: str, value: SupportsFloat) -> float:
    """δ, a probability below 1, and not so close to 0 that 1/δ is infinite."""
    return real(name, value, LEAST_DELTA, 1, "[)")


def ridge(name: str, value: SupportsFloat) -> float:
    """A multiple of the unit matrix that a regression starts with."""
    return real(name, value, LEAST_RIDGE, LARGEST_RIDGE, "[]")


def unmasked(name: str, values: Any) -> Any:
    """Values without masked entries: NumPy would go on with what stands behind a mask."""
    hidden = _masked(values)
    if hidden:
        raise ValueError(
            f"{name} must not be masked, and {hidden} of {_size(values)} entries are; "
            f"fill them, or leave them out"
        )
    return values.data if isinstance(values, np.ma.MaskedArray) else values


HOLDERS = (list, tuple, np.ma.MaskedArray)


def _masked(values: Any, levels: int = 3) -> int:
    """How many entries are masked, also of arrays in a list, or in lists in it."""
    if isinstance(values, np.ma.MaskedArray):
        return int(np.sum(values.mask))
    if not levels or not isinstance(values, list | tuple):
        return 0
    return sum(_masked(part, levels - 1) for part in values if isinstance(part, HOLDERS))


def _size(values: Any) -> int:
    """How many entries there are, also where a list is no array because its parts do not fit."""
    return sum(map(_size, values)) if isinstance(values, list | tuple) else int(np.size(values))


def real_numbers(name: str, values: Any) -> np.ndarray[Any, Any]:
    """An array that holds real numbers: no text, no dates, nothing complex and nothing masked."""
    values = unmasked(name, values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # lists that are not equally long
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        got = f"one of dtype {array.dtype}" if array.ndim else f"{values!r:.60}"
        raise TypeError(f"{name} must be an array of real numbers, got {got}")
    return array


def unchangeable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that whoever is given it cannot make writeable again: it stands in `bytes`."""
    return np.ndarray(array.shape, array.dtype, array.tobytes())


def flag(name: str, value: bool) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def one_of(name: str, value: str, choices: tuple[str, ...]) -> str:
    """One of the named choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
    return value


LEAST = {
    "horizon": 3,  # below, ln T < 1 and the paper's logarithms lose their sense
    **dict.fromkeys(("t", "n_arms", "dim", "plays", "rounds", "stage"), 1),
    **dict.fromkeys(("alpha", "log_det", "n", "unif_count"), 0),
}
POSITIVE = ("v", "c", "chi", "gamma", "kappa", "regret_per_play", "ridge", "start")
CHECKS = {"eps": eps, "delta": delta} | dict.fromkeys(POSITIVE, positive)


def checked(**least: float) -> Callable[[Form], Form]:
    """Check a closed form's arguments, numbers or arrays, as their names ask (LEAST, CHECKS).

    `least` replaces entries of LEAST. Other demands, and names that are in neither, are the
    function's own business.
    """
    limits = LEAST | least

    def decorate(form: Form) -> Form:
        names = tuple(inspect.signature(form).parameters)

        @functools.wraps(form)
        def door(*args: Any, **given: Any) -> Any:
            for name, value in (*zip(names, args, strict=False), *given.items()):
                array = isinstance(value, np.ndarray) and value.size > 0
                for entry in (value.min(), value.max()) if array else (value,):
                    if name in limits:
                        at_least(name, entry, limits[name])
                    elif name in CHECKS:
                        CHECKS[name](name, entry)
            return form(*args, **given)

        return cast(Form, door)

    return decorate
