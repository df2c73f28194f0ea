"""Policies as the command line names them: SupBTC, CRT:width_scale=0.003, mine.py:Mine:clip=1."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..engine import POLICIES
from ..noise import OwnNoise
from ..own.loading import FILE_AND_NAME, arguments_of, load
from ..pipeline.recipes import Recipe, with_bound

SHARED = {
    "horizon": "--horizon",
    **{size: f"--world-set {size}=…" for size in ("n_arms", "dim")},
    "seed": "--seed",
}
"""What is the same for all policies, and the option that sets it."""


def unknown(kind: str, name: str, known: Iterable[str]) -> ValueError:
    """The error about a policy, world or noise of a name that is not known."""
    if name.endswith(".py"):
        return ValueError(f"name the class too: {name}:ClassName")
    if kind == "policy" and "," in name:
        first, rest = name.split(",", 1)
        return ValueError(f"name one policy, and others by --beside: {first} --beside {rest}")
    return ValueError(
        f"there is no {kind} {name!r}; there are {', '.join(known)}; "
        f"one of your own is named path/to/file.py:ClassName"
    )


def read_settings(pairs: Sequence[str], option: str) -> dict[str, Any]:
    """NAME=VALUE pairs; numbers, true, false and null as in JSON, anything else as text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise ValueError(f"{option} must be NAME=VALUE, got {pair!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def check_settings(
    name: str, build: Callable[..., Any], params: dict[str, Any], otherwise: Sequence[str] = ()
) -> None:
    """Refuse a parameter that a policy, world or noise does not know, with those it does.

    otherwise   parameters that are given in other ways, and so are not offered
    """
    known = arguments_of(build)
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values()):
        return
    for param in params:
        if param not in known:
            own = sorted(set(known) - set(otherwise))
            has = f"it has {', '.join(own)}" if own else "it has none"
            raise ValueError(f"{name} has no parameter {param!r}; {has}")
        default, value = known[param].default, params[param]
        number = isinstance(default, int | float) and not isinstance(default, bool)
        if number and isinstance(value, str) and value not in ("printed", "exact"):
            raise ValueError(
                f"{param} must be a number, as its default {default!r} in {name} is, got {value!r}"
            )


@dataclass(frozen=True)
class Contender:
    """A policy as the command line names it."""

    text: str  # POLICIES' name, or path/to/file.py:ClassName
    build: Callable[..., Any]  # what makes it
    given: dict[str, Any]  # the settings that were asked for
    label: str = ""  # what the table and the figure call it
    v: str = ""  # "printed" or "exact" if its bound was looked up and not given
    settings: dict[str, Any] | None = None  # those asked for, and its bound

    @property
    def own(self) -> bool:
        """Whether it is the reader's."""
        return self.text not in POLICIES

    @property
    def name(self) -> str:
        """Its name without file and settings."""
        return self.text.rpartition(":")[2]

    def built(self, shape: dict[str, int], seed: int) -> Any:
        """A fresh policy; it gets the seed if it has an argument of that name."""
        seeded = {"seed": seed} if "seed" in arguments_of(self.build) else {}
        policy = self.build(**shape, **(self.settings or {}), **seeded)
        for member in ("plays", "rounds"):
            if not hasattr(policy, member):
                raise ValueError(f"it must set {member}, a whole number")
        if policy.plays * policy.rounds > shape["horizon"]:
            raise ValueError(
                f"plays * rounds must be at most horizon={shape['horizon']}, "
                f"they are {policy.plays} * {policy.rounds}"
            )
        return policy


def contender(text: str, option: str, more: dict[str, Any] | None = None) -> Contender:
    """What NAME, NAME:setting=value,… or path/to/file.py:NAME:… stands for."""
    filed = FILE_AND_NAME.fullmatch(text)
    if filed:
        name, rest = f"{filed['file']}:{filed['name']}", filed["rest"]
        build = load(filed["file"], filed["name"])
    else:
        name, colon, rest = text.partition(":")
        if name not in POLICIES:
            raise unknown("policy", name, POLICIES)
        rest = rest if colon else None
        build = POLICIES[name]
    given = read_settings(rest.split(","), option) if rest is not None else {}
    given |= more or {}
    for taken in SHARED:
        if taken in given:
            raise ValueError(f"{taken} is the same for all policies and set by {SHARED[taken]}")
    check_settings(name, build, given, tuple(SHARED))
    return Contender(name, build, given)


def contenders(first: str, more: dict[str, Any], beside: Sequence[str]) -> list[Contender]:
    """All policies of a run, each with a label of its own."""
    found = [contender(first, "POLICY", more)]
    for text in beside:
        # A comma separates policies, and also the settings of one: NAME=… belongs to the last.
        for one in re.split(r",(?!\w+=)", text):
            if not one:
                raise ValueError(f"--beside must be POLICY,POLICY,…, got {text!r}")
            found.append(contender(one, "--beside"))
    names = {c.name: {d.text for d in found if d.name == c.name} for c in found}
    labelled: dict[str, Contender] = {}
    for c in found:
        settings = ",".join(f"{key}={value}" for key, value in c.given.items())
        alone = len(names[c.name]) == 1 and not (c.own and c.name in POLICIES)
        name = c.name if alone else c.text
        label = f"{name}:{settings}" if settings else name
        if label in labelled:
            raise ValueError(f"policies must differ, {label} is given twice")
        labelled[label] = replace(c, label=label)
    return list(labelled.values())


def bounded(one: Contender, world: Any) -> Contender:
    """The contender with its bound v, if it needs one: what was given, else as it is looked up.

    A policy needs one if it has an argument v without a default, or with None. One of the reader's
    gets the raw moment.
    """
    params, looked_up = dict(one.given), ""
    v = arguments_of(one.build).get("v")
    if v is not None and v.default in (inspect.Parameter.empty, None) and "v" not in params:
        params["v"] = "exact" if getattr(world, "v_raw", None) is None else "printed"
    if params.get("v") in ("printed", "exact"):
        looked_up = params["v"]
        law = world.noise
        if isinstance(law, OwnNoise) and not hasattr(law.own, "moment_about"):
            raise ValueError(
                f"{one.label} needs v, a bound on a moment of the payoffs, and {law.name} has no "
                f"moment_about(q, a) to compute it from; add that method, or give v as a number: "
                f"{one.text}:v=…"
            )
    found = with_bound(Recipe("own" if one.own else one.text, tuple(params.items())), world)
    params = dict(found.params)
    if looked_up and math.isinf(params["v"]):
        order = 1 + float(params.get("eps", 1.0))
        raise ValueError(
            f"{one.label} needs a bound on the moment of order 1+eps = {order:g}, which is "
            f"infinite for {world.noise.name}; give it a smaller eps"
        )
    return replace(one, settings=params, v=looked_up)
