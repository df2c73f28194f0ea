"""What a reader brings along: classes in files, noises and worlds that derive from nothing.

`heavybandit run` and the checks load, adapt and quote them by this; `instances` and `simulate` use
it to take a noise that only draws.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..noise import SECTION6, Additive, FloatArray, Noise

FILE_AND_NAME = re.compile(r"(?P<file>.+\.py):(?P<name>\w+)(?::(?P<rest>.*))?", re.S)
"""path/to/file.py:NAME, and after another colon the settings."""


def load(path: str, name: str) -> Callable[..., Any]:
    """The class or function called `name` in a Python file."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"there is no file {path!r} to take {name!r} from")
    label = f"heavybandit_own_{file.stem}"  # may be called like a module that is in use
    spec = importlib.util.spec_from_file_location(label, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[label] = module
    # Its neighbours can be imported, but last: a json.py among them must not replace the library.
    sys.path.append(str(file.absolute().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} cannot be loaded: {told(error, {str(file)})}") from error
    build: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(build):
        own = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == label]
        has = f"it has {', '.join(own)}" if own else "it defines no class"
        raise ValueError(f"{path} has no class {name!r}; {has}")
    return build


def files_of(build: Any) -> set[str]:
    """The files that a class, with its bases, or a function is written in; not those of ours."""
    found = set()
    for one in getattr(build, "__mro__", (build,)):
        if str(getattr(one, "__module__", "")).partition(".")[0] == __package__.partition(".")[0]:
            continue
        for member in (one, *vars(one).values()) if inspect.isclass(one) else (one,):
            inner = member.fget if isinstance(member, property) else member
            code = getattr(inspect.unwrap(inner) if callable(inner) else inner, "__code__", None)
            if code is not None:
                found.add(code.co_filename)
    return found


def place(error: BaseException, files: set[str]) -> str:
    """The innermost line of these files on the way to an error: "mine.py, line 9, in select"."""
    absolute = {str(Path(file).absolute()) for file in files} | files
    inside = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in absolute]
    if not inside:
        return ""
    method = "" if inside[-1].name.startswith("<") else f", in {inside[-1].name}"
    return f"{Path(inside[-1].filename).name}, line {inside[-1].lineno}{method}"


CALLS = {
    "__init__": "a policy gets horizon, n_arms, dim and its settings by name, others settings",
    "select": "it begins def select(self, contexts)",
    "update": "it begins def update(self, payoffs)",
    "draw": "it begins def draw(self, rng, n)",
    "moment_about": "it begins def moment_about(self, q, a)",
    "theta_star": "it begins def theta_star(self, seed)",
    "contexts": "it begins def contexts(self, rng, first_round, n_rounds, plays)",
}
WRONG_CALL = re.compile(r"(\w+)\(\) (?:takes|missing|got) ")


def told(error: BaseException, files: set[str]) -> str:
    """An error in words, with its place in these files if it has one.

    A method that does not take what it is given fails before it begins, in no line of its own; then
    it is said how it has to begin.
    """
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    where = place(error, files)
    if where:
        return f"{said} ({where})"
    call = WRONG_CALL.search(said) if isinstance(error, TypeError) else None
    return f"{said}; {CALLS[call[1]]}" if call and call[1] in CALLS else said


def arguments_of(build: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """A callable's parameters by name; none are known of one that hides them."""
    try:
        return inspect.signature(build).parameters
    except (TypeError, ValueError):
        return {}


def takes_any(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Whether there is a **kwargs."""
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


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


@dataclass(frozen=True)
class OwnWorld:
    """A world of any class with the five members that `instances` lists."""

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

    def theta_star(self, seed: int) -> FloatArray:
        """θ*, as the object gives it."""
        theta: FloatArray = self.own.theta_star(seed)
        return theta

    def contexts(self, rng: Any, first_round: int, n_rounds: int, plays: int) -> FloatArray:
        """Contexts, as the object draws them."""
        X: FloatArray = self.own.contexts(rng, first_round, n_rounds, plays)
        return X


def without_default(build: Callable[..., Any], name: str) -> bool:
    """Whether an argument of that name must be given."""
    known = arguments_of(build).get(name)
    return known is not None and known.default is inspect.Parameter.empty
