"""Policies, worlds and noises written as data: a name with parameters.

A `Recipe` can be hashed, stored, sent to another machine and compared; what its name stands for is
looked up when it is built.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import instances, later, noise, paper

Registry = Mapping[str, Callable[..., Any]]
"""What recipes' names stand for."""

_LAWS = (
    *("Gaussian", "StudentT", "Pareto", "SymmetricPareto", "AlphaStable", "LogNormal", "Outliers"),
    *("Extremal", "Lottery", "TwoPointPayoff", "Levels", "Empirical", "Varying", "Units"),
)
NOISES: Registry = {name: getattr(noise, name) for name in _LAWS} | {
    "Levels.pareto": noise.Levels.pareto
}
_INSTANCES = ("section6", "misaligned", "symmetric", "lower_bound", "fixed_arms", "sphere_arms")
WORLDS: Registry = {name: getattr(instances, name) for name in _INSTANCES}
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB")


def policies() -> Registry:
    """Every policy by name. Imported only now: whoever reads results needs no compiled code."""
    from ..engine import POLICIES

    return POLICIES


@dataclass(frozen=True)
class Recipe:
    """A name and its parameters, sorted; what they mean is looked up when it is built."""

    name: str
    params: tuple[tuple[str, Any], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain data, the same for equal recipes."""
        return {
            "name": self.name,
            "params": {k: v.as_json() if isinstance(v, Recipe) else v for k, v in self.params},
        }

    def settings(self) -> str:
        """The parameters as they stand in tables: delta=0.01 v=4.0."""
        return " ".join(f"{k}={v.text() if isinstance(v, Recipe) else v}" for k, v in self.params)

    def text(self) -> str:
        """The whole as it stands in tables: SupBTC(delta=0.01 v=4.0)."""
        return f"{self.name}({self.settings()})" if self.params else self.name

    def build(self, registry: Registry, **more: Any) -> Any:
        """Make what it describes."""
        if self.name not in registry:
            raise ValueError(f"name must be one of {', '.join(registry)}; got {self.name!r}")
        params = {k: v.build(NOISES) if isinstance(v, Recipe) else v for k, v in self.params}
        return registry[self.name](**params, **more)


NOT_SPELLED_OUT: dict[str, Any] = {"lift": 0.0}
"""Settings that came after results had been recorded. While they are at this value, which changes
nothing, descriptions are those that the results were made from, and so are streams salted by them.
"""


@functools.cache
def _defaults(build: Callable[..., Any]) -> dict[str, Any]:
    """The defaults of what builds a policy, a noise or a world; a seed is no setting."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(build).parameters.items()
        if parameter.default is not inspect.Parameter.empty and name != "seed"
    }


def spelled_out(what: Recipe, registry: Registry) -> dict[str, Any]:
    """A recipe with its defaults, so that a change of a default is a change of the run.

    Numbers are floats, since 4 and 4.0 are the same run; named noises become what they stand for.
    """
    defaults = _defaults(registry[what.name]) if what.name in registry else {}
    params = defaults | dict(what.params)
    plain: dict[str, Any] = {}
    for name, value in sorted(params.items()):
        if name in NOT_SPELLED_OUT and value == NOT_SPELLED_OUT[name]:
            continue
        if isinstance(value, Recipe):
            plain[name] = spelled_out(value, NOISES)
        elif isinstance(value, str) and value in noise.SECTION6:
            plain[name] = repr(noise.SECTION6[value])
        else:
            plain[name] = _floats(value)
    return {"name": what.name, "params": plain}


def _floats(value: Any) -> Any:
    """A number as a float, alone or in lists; anything else as it is."""
    if isinstance(value, tuple):
        return [_floats(one) for one in value]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number else value


def _hashable(value: Any) -> Any:
    """A list, such as JSON gives, as a tuple; anything else as it is."""
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def recipe(name: str, **params: Any) -> Recipe:
    """A recipe; the order in which parameters are given does not matter."""
    return Recipe(name, tuple((key, _hashable(value)) for key, value in sorted(params.items())))


def read_noise(text: str) -> Recipe:
    """The noise NAME(setting=value, …), where a value may be a noise that is written the same way.

    Read as Python reads it, but nothing is executed.
    """
    try:
        return _noise_of(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise ValueError(f"noise must be NAME(setting=value, …), got {text!r}") from None


def _noise_of(node: ast.expr) -> Recipe:
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    name = ast.unparse(call.func)
    if name not in NOISES:
        raise ValueError(f"there is no noise {name!r}; there are {', '.join(NOISES)}")
    known = inspect.signature(NOISES[name]).parameters
    for unnamed in call.args:
        raise ValueError(f"settings of {name} must have names, got {ast.unparse(unnamed)!r}")
    params: dict[str, Any] = {}
    for one in call.keywords:
        if one.arg is None or one.arg not in known:
            raise ValueError(f"{name} has no parameter {one.arg!r}; it has {', '.join(known)}")
        if isinstance(one.value, ast.Call | ast.Name | ast.Attribute):
            params[one.arg] = _noise_of(one.value)
            continue
        try:
            params[one.arg] = ast.literal_eval(one.value)
        except (TypeError, ValueError):
            said = ast.unparse(one.value)
            raise ValueError(f"{one.arg} of {name} must be a number, got {said!r}") from None
    return recipe(name, **params)


def canonical(data: Any) -> str:
    """JSON in the one form that is hashed."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: Any) -> str:
    """SHA-256 of the canonical form."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def make_world(world: Recipe, horizon: int) -> Any:
    """Build a world; the lower bound's construction depends on the horizon too."""
    more = {"horizon": horizon} if world.name == "lower_bound" else {}
    return world.build(WORLDS, **more)


def with_bound(policy: Recipe, world: Any) -> Recipe:
    """The policy with v="printed" or v="exact" replaced by the number it stands for here.

    "printed" is Section 6's bound. "exact" is the noise's own moment, the largest for the world's
    means, or, where they change, for means from −‖θ*‖ to ‖θ*‖. Central or raw as the policy's class
    says (reading R7), a policy of one's own takes the raw one; the circulated constants take the
    central one throughout.
    """
    params = dict(policy.params)
    if params.get("v") not in ("printed", "exact"):
        return policy
    literal = getattr(paper, policy.name, None) or getattr(later, policy.name, None)
    circulated = params.get("constants") == "circulated"
    moment = "central" if circulated else getattr(literal, "moment", "raw")
    fixed, printed = getattr(world, "means", None), getattr(world, f"v_{moment}", None)
    if params["v"] == "printed" and printed is None:
        raise ValueError(f"v='printed' needs a noise that the paper prints; {world.name} has none")
    if params["v"] == "printed" or isinstance(world, instances.LowerBound):
        bound = printed  # Theorem 3's world knows the means of its two points
    else:
        eps, reach = float(params.get("eps", 1.0)), getattr(world, "theta_norm", 1.0)
        means = world.noise.telling_means(-reach, reach) if fixed is None else fixed.tolist()
        bound = max(getattr(world.noise, f"{moment}_moment")(eps, mean) for mean in means)
    return recipe(policy.name, **{**params, "v": bound})
