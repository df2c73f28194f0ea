"""Policies, worlds and noises written as data: a name with parameters.

A `Recipe` can be hashed, stored, sent to another machine and compared; what its name stands for is
looked up when it is built.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import instances, later, noise, paper

Registry = Mapping[str, Callable[..., Any]]
"""What recipes' names stand for."""

_LAWS = ("Gaussian", "StudentT", "Pareto", "SymmetricPareto", "Extremal", "Lottery")
NOISES: Registry = {name: getattr(noise, name) for name in (*_LAWS, "TwoPointPayoff")}
_INSTANCES = ("section6", "misaligned", "symmetric", "lower_bound")
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


def spelled_out(what: Recipe, registry: Registry) -> dict[str, Any]:
    """A recipe with its defaults, so that a change of a default is a change of the run.

    Numbers are floats, since 4 and 4.0 are the same run; named noises become what they stand for.
    """
    known = inspect.signature(registry[what.name]).parameters if what.name in registry else {}
    params = {
        name: parameter.default
        for name, parameter in known.items()
        if parameter.default is not inspect.Parameter.empty and name != "seed"
    } | dict(what.params)
    plain: dict[str, Any] = {}
    for name, value in sorted(params.items()):
        if isinstance(value, Recipe):
            plain[name] = spelled_out(value, NOISES)
        elif isinstance(value, str) and value in noise.SECTION6:
            plain[name] = repr(noise.SECTION6[value])
        else:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            plain[name] = float(value) if number else value
    return {"name": what.name, "params": plain}


def recipe(name: str, **params: Any) -> Recipe:
    """A recipe; the order in which parameters are given does not matter."""
    return Recipe(name, tuple(sorted(params.items())))


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

    "printed" is Section 6's bound. "exact" is the noise's own moment, the raw one for the mean of 1
    or −1 that makes it larger. Central or raw as the policy's class says (reading R7), a policy of
    one's own takes the raw one; the circulated constants take the central one throughout.
    """
    params = dict(policy.params)
    if params.get("v") not in ("printed", "exact"):
        return policy
    literal = getattr(paper, policy.name, None) or getattr(later, policy.name, None)
    circulated = params.get("constants") == "circulated"
    moment = "central" if circulated else getattr(literal, "moment", "raw")
    if params["v"] == "printed" or isinstance(world.noise, noise.TwoPointPayoff):
        bound = getattr(world, f"v_{moment}")  # such a world knows the means of its two points
        if bound is None:
            raise ValueError(
                f"v='printed' needs a noise that the paper prints; {world.name} has none"
            )
    else:
        eps, law = float(params.get("eps", 1.0)), world.noise
        bound = law.central_moment(eps)
        if moment == "raw":
            bound = max(law.raw_moment(eps, mean) for mean in (-1.0, 1.0))
    return recipe(policy.name, **{**params, "v": bound})
