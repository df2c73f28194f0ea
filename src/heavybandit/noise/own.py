"""A noise by its name in Section 6, or made of any object that can draw."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np

from .. import checks
from .base import Additive, FloatArray, Noise
from .tails import Pareto, StudentT


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


PARTS = (1, 6, 13)  # of draws that are asked for at once, and again in parts

MANY = 4_000  # draws in which what happens in one of a thousand shows

REMEDY = (
    "take all that one draw needs from rng before the next, as rng.random((n, 2)) does for two "
    "numbers each, or let hb.noise.InOrder(noise, one_by_one=True) ask for them one by one"
)

FROM_RNG = "draw must take its numbers from the rng that it is given, and it left rng as it was"


def parts_of(n: int) -> tuple[int, ...]:
    """n as PARTS, most of the rest, and a few at the end, for what is last has no consequence."""
    ends = (0, *np.cumsum(PARTS), max(sum(PARTS), n - 7), n)
    return tuple(np.diff(np.unique(np.minimum(ends, n))).tolist())


def both_ways(noise: Any, parts: tuple[int, ...], seed: int) -> tuple[list[Any], Any]:
    """Draws in parts, and as many at once from a generator with the same seed."""
    rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
    pieces = [np.atleast_1d(noise.draw(rng, n)) for n in parts]
    return pieces, noise.draw(again, sum(parts))


def in_order(noise: Any, parts: tuple[int, ...] = PARTS, seed: int = 1) -> bool:
    """Whether draws in parts are the same as at once, as far as so many draws can tell."""
    pieces, once = both_ways(noise, parts, seed)
    return np.array_equal(np.concatenate(pieces), once)


def from_elsewhere(draw: Callable[[Any, int], Any]) -> bool:
    """Whether draws differ from one another though their generator has not moved.

    A noise that is constant needs no generator.
    """
    rng = np.random.default_rng(1)
    before = position(rng)
    with suppress(Exception):  # what else is wrong with it is said where it is used
        return np.unique(draw(rng, MANY)).size > 1 and position(rng) == before
    return False


def position(rng: Any) -> tuple[str, int]:
    """What changes in a generator when something is drawn, or another is made from it."""
    bits = rng.bit_generator
    return str(bits.state), getattr(bits.seed_seq, "n_children_spawned", 0)


def remedy(noise: Any) -> str:
    """What to do about a noise whose draws depend on how many are asked for at once."""
    return FROM_RNG if from_elsewhere(noise.draw) else REMEDY


def out_of_order(noise: Any, plays: int) -> bool:
    """Whether a noise of the reader's gives other draws in parts than at once.

    It may be slow, so it is asked for at most a tenth of the draws of a run with so many plays,
    but for twenty, twice, in any case.
    """
    inner = noise
    while _of_this_package(inner) and hasattr(inner, "noise"):
        inner = inner.noise
    if _of_this_package(inner) and not isinstance(inner, OwnNoise):
        return False
    tested = isinstance(getattr(inner, "own", None), InOrder)  # on more draws than here
    parts = PARTS if tested else parts_of(max(sum(PARTS), min(MANY, plays // 20)))
    try:
        pieces, once = both_ways(noise, parts, seed=1)
        if [np.shape(x) for x in (*pieces, once)] != [(n,) for n in (*parts, sum(parts))]:
            return False
        together = np.concatenate(pieces)
        finite = np.isfinite(together).all() and np.isfinite(once).all()
        return bool(finite) and not np.array_equal(together, once)
    except Exception:  # what else is wrong with it is said where it is used
        return False


def _of_this_package(noise: Any) -> bool:
    return type(noise).__module__.startswith(f"{__package__}.")


class InOrder:
    """Any law as a noise whose draws do not depend on how many are asked for at once.

    law         a frozen law of scipy.stats, an object with draw(rng, n), or a function of (rng, n)
    centred     whether the mean is subtracted, where the law states one by a method mean()
    one_by_one  True to ask for one draw after the other; None to find out whether that is needed

    Where draws in parts come out the same as at once they are asked for in blocks, else one by one,
    which takes some 100 microseconds each with scipy's. To find out, some thousand draws are
    compared; where draws depend on the block because of an event that is rarer than that, only
    one_by_one=True helps. Moments are those of an object that has moment_about; scipy's laws are
    asked for the mean only, so give policies their v as a number.
    """

    def __init__(self, law: Any, centred: bool = True, one_by_one: bool | None = None) -> None:
        if isinstance(law, type):
            raise TypeError(f"law must be an object, got the class {law.__name__}; add ()")
        if one_by_one is not None and one_by_one is not True:
            raise ValueError(f"one_by_one must be None or True, got {one_by_one!r:.60}")
        ways: dict[str, Callable[[Any, int], Any]] = {
            "draw": lambda rng, n: law.draw(rng, n),
            "rvs": lambda rng, n: law.rvs(size=n, random_state=rng),
            "sample": lambda rng, n: law.sample(n, rng=rng),
            "__call__": lambda rng, n: law(rng, n),
        }
        way = next((way for way in ways if callable(getattr(law, way, None))), None)
        if way is None:
            raise TypeError(
                f"law must be a frozen law of scipy.stats, an object with a method draw(rng, n) or "
                f"a function of (rng, n); got {law!r:.60}"
            )
        family = getattr(law, "dist", law)  # of a frozen law
        known = (getattr(family, name, None) for name in ("name", "__name__"))
        self.name = str(next(filter(None, known), type(family).__name__))
        self._ask, self.shift = ways[way], 0.0
        stated: Any = getattr(law, "mean", None)
        if stated is not None:
            try:
                self.mean = float(stated() if callable(stated) else stated)
            except TypeError:  # a family without its parameters, or a law of vectors
                raise TypeError(
                    f"law must be a frozen law of scipy.stats or the like, as scipy.stats.t(3) is, "
                    f"which draws numbers and has one mean, got {self.name}"
                ) from None
            if not math.isfinite(self.mean):
                raise ValueError(f"law must have a finite mean, {self.name} has {self.mean}")
            if checks.flag("centred", centred):
                self.shift, self.mean = self.mean, 0.0
        if hasattr(law, "moment_about"):
            self.moment_about = lambda q, a: law.moment_about(q, a + self.shift)
        self.one_by_one = one_by_one is True
        if not self.one_by_one:
            short = all(in_order(self, PARTS, seed) for seed in range(5))
            self.one_by_one = not (short and in_order(self, parts_of(MANY)))

    def draw(self, rng: np.random.Generator, n: int) -> FloatArray:
        """The next n numbers: at once if that makes no difference, else one after the other."""
        if not self.one_by_one:
            return self._drawn(rng, n) - self.shift
        before = position(rng)
        drawn = np.array([self._drawn(rng, 1).item() for _ in range(n)])
        if n and position(rng) == before and from_elsewhere(self._ask):  # one number, repeated
            raise ValueError(f"{FROM_RNG} ({self.name})")
        return drawn - self.shift

    def _drawn(self, rng: np.random.Generator, n: int) -> FloatArray:
        drawn = checks.real_numbers(f"draws of {self.name}", self._ask(rng, n))
        return drawn.astype(np.float64, copy=False)


SECTION6: dict[str, Noise] = {
    "student-t": StudentT(df=3.0),
    "pareto": Pareto(shape=3.0, scale=0.01),
    "pareto-centred": Pareto(shape=3.0, scale=0.01, centred=True),
}


def by_name(name: str) -> Noise:
    """Section 6's two noises as printed, and the Pareto noise with its mean taken out."""
    if name in SECTION6:
        return SECTION6[name]
    plain = name.lower().replace("-", "").replace("_", "")
    for family in families():
        if plain in (family.__name__.lower(), getattr(family, "label", "").replace("-", "")):
            needed = [f"{f.name}=…" for f in fields(family) if f.default is MISSING]
            raise ValueError(
                f"noise must be one of {', '.join(SECTION6)}, or an object; got {name!r}, a "
                f"family: give hb.noise.{family.__name__}({', '.join(needed)})"
            )
    raise ValueError(f"noise must be one of {', '.join(SECTION6)}, or a noise; got {name!r}")


def families() -> list[Any]:
    """The classes of noises in this package that stand for one law each."""
    found: list[Any] = [Noise]
    for kind in found:
        found.extend(kind.__subclasses__())
    return [
        kind for kind in found if kind.__module__.startswith(__package__) and hasattr(kind, "label")
    ]


def as_noise(own: Any) -> Noise:
    """A noise as it is, by its name in Section 6, or made of an object that can draw."""
    if isinstance(own, Noise):
        return own
    if isinstance(own, str):
        return by_name(own)
    called = type(own).__name__
    if isinstance(own, type):
        raise TypeError(f"noise must be an object, got the class {own.__name__}; add ()")
    if not callable(getattr(own, "draw", None)):
        if any(callable(getattr(own, way, None)) for way in ("rvs", "sample")):
            return OwnNoise(InOrder(own))
        got = f"{own!r:.60}" if type(own).__module__ == "builtins" else f"a {called} without one"
        raise TypeError(
            f"noise must be one of {', '.join(SECTION6)}, a frozen law of scipy.stats, or an "
            f"object with a method draw(rng, n); got {got}"
        )
    if hasattr(own, "payoffs"):
        raise TypeError(
            f"{called} has a method payoffs, so it must derive from heavybandit.noise.Noise; "
            f"without one its draws are added to the mean"
        )
    return OwnNoise(own)
