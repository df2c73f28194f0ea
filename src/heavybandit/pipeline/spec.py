"""What an experiment is, as data: worlds × policies × horizons × seeds, or designs × noises.

A policy, a noise or a world is written as a `Recipe`, a name with parameters, so that an experiment
can be hashed, stored, sent to another machine and compared. `catalogue` has them all by name.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from .. import engine, instances, noise, theory
from ..checks import one_of, whole
from ..replication import coverage

ENGINE_VERSION = 2
"""Raised whenever a change makes any run come out differently; stored runs name theirs."""

NOISES: dict[str, Callable[..., Any]] = {
    "Gaussian": noise.Gaussian,
    "StudentT": noise.StudentT,
    "Pareto": noise.Pareto,
    "SymmetricPareto": noise.SymmetricPareto,
    "Extremal": noise.Extremal,
    "Lottery": noise.Lottery,
    "TwoPointPayoff": noise.TwoPointPayoff,
}
WORLDS: dict[str, Callable[..., Any]] = {
    "section6": instances.section6,
    "misaligned": instances.misaligned,
    "symmetric": instances.symmetric,
    "lower_bound": instances.lower_bound,
}
BOUND_BY_CENTRAL = ("SupBMM", "FlatBMM", "MoM", "MENU", "HeavyOFUL", "HvtUCB")
BOUND_BY_RAW = ("SupBTC", "FlatBTC", "CRT", "TOFU")
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB")
POLICIES: dict[str, Callable[..., Any]] = {
    name: getattr(engine, name)
    for name in (*BOUND_BY_CENTRAL, *BOUND_BY_RAW, *CONTROLS, "Blind", "ClippedUCB")
}


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

    @staticmethod
    def from_json(data: dict[str, Any]) -> Recipe:
        """The recipe behind `as_json`."""
        return recipe(
            data["name"],
            **{
                k: Recipe.from_json(v) if isinstance(v, dict) else v
                for k, v in data["params"].items()
            },
        )

    def text(self) -> str:
        """As it stands in tables: SupBTC(delta=0.01 v=4.0)."""
        shown = " ".join(f"{k}={v.text() if isinstance(v, Recipe) else v}" for k, v in self.params)
        return f"{self.name}({shown})" if shown else self.name

    def build(self, registry: dict[str, Callable[..., Any]], **more: Any) -> Any:
        """Make what it describes."""
        if self.name not in registry:
            raise ValueError(f"name must be one of {', '.join(registry)}; got {self.name!r}")
        params = {k: v.build(NOISES) if isinstance(v, Recipe) else v for k, v in self.params}
        return registry[self.name](**params, **more)


def spelled_out(what: Recipe, registry: dict[str, Callable[..., Any]]) -> dict[str, Any]:
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


class Spec(ABC):
    """One run: everything that determines it, and nothing else."""

    seed: int

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Plain data, engine version included."""

    @property
    @abstractmethod
    def plays(self) -> int:
        """How many plays it takes at the most; what progress counts."""

    @abstractmethod
    def text(self) -> str:
        """What messages call it."""

    @property
    def key(self) -> str:
        """The run's identity: a hash of all that determines it."""
        return digest(self.as_json())

    @property
    def group(self) -> str:
        """The identity of the runs that go together with this one; here it goes alone."""
        return self.key


@dataclass(frozen=True)
class RunSpec(Spec):
    """A policy in a world."""

    world: Recipe
    policy: Recipe
    horizon: int
    seed: int
    checkpoints: int
    audit: bool = False  # whether every interval of every stage visited is formed and counted

    def as_json(self) -> dict[str, Any]:
        """Plain data, engine version included."""
        return {**self._shared(), "policy": spelled_out(self.policy, POLICIES)}

    def _shared(self) -> dict[str, Any]:
        return {
            "world": spelled_out(self.world, WORLDS),
            "horizon": self.horizon,
            "seed": self.seed,
            "checkpoints": self.checkpoints,
            "engine": ENGINE_VERSION,
            **({"audit": True} if self.audit else {}),
        }

    @property
    def plays(self) -> int:
        """The horizon."""
        return self.horizon

    def text(self) -> str:
        """The policy, its horizon and its seed."""
        return f"{self.policy.text()} at horizon {self.horizon}, seed {self.seed}"

    @property
    def group(self) -> str:
        """The identity of the runs that share the world, the horizon and the seed."""
        return digest(self._shared())

    def make_world(self) -> Any:
        """The world it takes place in."""
        return make_world(self.world, self.horizon)

    def make_policy(self, world: Any) -> Any:
        """A fresh policy for that world, seeded like the run."""
        return self.policy.build(
            POLICIES, horizon=self.horizon, n_arms=world.n_arms, dim=world.dim, seed=self.seed
        )


def made_with() -> dict[str, Any]:
    """What this process computes with; two that differ here may differ in their bits."""
    from .. import __version__

    return {
        "engine": ENGINE_VERSION,
        "heavybandit": __version__,
        "numba": numba.__version__,
        "numpy": np.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


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
    or −1 that makes it larger. Central or raw as the policy needs it (reading R7); the circulated
    constants take the central one throughout.
    """
    params = dict(policy.params)
    central = policy.name in BOUND_BY_CENTRAL or params.get("constants") == "circulated"
    if params.get("v") == "printed":
        params["v"] = world.v_central if central else world.v_raw
        if params["v"] is None:
            raise ValueError(
                f"v='printed' needs a noise that the paper prints; {world.name} has none"
            )
    elif params.get("v") == "exact":
        eps = float(params.get("eps", 1.0))
        law = world.noise
        if isinstance(law, noise.TwoPointPayoff):  # the world knows its two means
            params["v"] = world.v_central if central else world.v_raw
        else:
            raw = max(law.raw_moment(eps, mean) for mean in (-1.0, 1.0))
            params["v"] = law.central_moment(eps) if central else raw
    return recipe(policy.name, **params)


@dataclass(frozen=True)
class Experiment:
    """A named set of runs, in a fixed order."""

    name: str
    what: str  # one sentence for lists
    worlds: tuple[Recipe, ...]
    policies: tuple[Recipe, ...]  # v may be "printed" or "exact"
    horizons: tuple[int, ...]  # in plays
    seeds: int  # how many …
    first_seed: int = 0  # … from this one on
    checkpoints: int = 100  # points a curve
    curve_seeds: int = 10  # curves go into data/ for so many seeds; totals for all
    audit: bool = False  # audited runs: instead of curves, what each stage counted

    def __post_init__(self) -> None:
        if self.audit and not {p.name for p in self.policies} <= {"SupBMM", "SupBTC"}:
            raise ValueError(f"audit is for policies with stages; {self.name} has others")

    def as_json(self) -> dict[str, Any]:
        """Plain data, for provenance."""
        return {
            "name": self.name,
            "worlds": [w.as_json() for w in self.worlds],
            "policies": [p.as_json() for p in self.policies],
            "horizons": list(self.horizons),
            "seeds": self.seeds,
            "first_seed": self.first_seed,
            "checkpoints": self.checkpoints,
            "curve_seeds": self.curve_seeds,
            "engine": ENGINE_VERSION,
            **({"audit": True} if self.audit else {}),
        }

    def groups(self) -> Iterator[list[RunSpec]]:
        """The runs, those that share a world, a horizon and a seed together."""
        for world in self.worlds:
            for horizon in self.horizons:
                built = make_world(world, horizon)
                policies = [with_bound(policy, built) for policy in self.policies]
                for seed in range(self.first_seed, self.first_seed + self.seeds):
                    yield [
                        RunSpec(world, policy, horizon, seed, self.checkpoints, self.audit)
                        for policy in policies
                    ]

    def runs(self) -> list[RunSpec]:
        """All runs, in order."""
        return [spec for group in self.groups() for spec in group]


@dataclass(frozen=True)
class Case:
    """A fixed design and a noise for Algorithm 1 or 2, and how sure it is to be."""

    design: Recipe  # the history and the arms on offer
    noise: Recipe
    eps: float  # ε; v is the exact moment of that order
    horizon: int  # T, which the confidence factor depends on
    delta: float  # δ
    plays: int = 0  # plays a round; 0 for as many as Proposition 1 prints (BMM) or one (BTC)


@functools.cache
def _design(design: Recipe) -> coverage.Design:
    built: coverage.Design = design.build(coverage.DESIGNS)
    return built


@dataclass(frozen=True)
class CoverageSpec(Spec):
    """Repetitions of a case; see `coverage.repeat`."""

    estimator: str  # BMM or BTC
    case: Case
    reps: int
    seed: int

    def __post_init__(self) -> None:
        one_of("estimator", self.estimator, coverage.ESTIMATORS)
        whole("plays", self.case.plays, 0)

    def as_json(self) -> dict[str, Any]:
        """Plain data, versions included."""
        return {**self._case(), "reps": self.reps, "seed": self.seed}

    def _case(self) -> dict[str, Any]:
        return {
            "estimator": self.estimator,
            "design": spelled_out(self.case.design, coverage.DESIGNS),
            "noise": spelled_out(self.case.noise, NOISES),
            "eps": float(self.case.eps),
            "horizon": self.case.horizon,
            "delta": float(self.case.delta),
            "plays": self.plays_a_round,
            "counting": coverage.COUNTING,
        }

    @property
    def salt(self) -> int:
        """What gives each case a noise of its own."""
        return int(digest(self._case())[:8], 16)

    def make_design(self) -> coverage.Design:
        """The history and the arms on offer."""
        return _design(self.case.design)

    def make_noise(self) -> noise.Noise:
        """The noise of the payoffs."""
        built: noise.Noise = self.case.noise.build(NOISES)
        return built

    @property
    def plays_a_round(self) -> int:
        """As the case says, or as the paper does."""
        if self.case.plays:
            return self.case.plays
        if self.estimator == "BTC":
            return 1
        n_arms = len(self.make_design().X)
        return theory.plays_per_round(self.case.horizon, n_arms, self.case.delta)

    @property
    def plays(self) -> int:
        """All payoffs that are drawn."""
        return self.reps * len(self.make_design().V) * self.plays_a_round

    def text(self) -> str:
        """The estimator, the design, the noise and the seed."""
        return (
            f"{self.estimator} on {self.case.design.text()} with {self.case.noise.text()}, "
            f"eps {self.case.eps}, horizon {self.case.horizon}, seed {self.seed}"
        )


@dataclass(frozen=True)
class Coverage:
    """A named set of cases for one of the basic algorithms, each repeated reps × seeds times."""

    name: str
    what: str  # one sentence for lists
    estimator: str
    cases: tuple[Case, ...]
    reps: int  # repetitions a seed
    seeds: int  # how many …
    first_seed: int = 0  # … from this one on

    @property
    def curve_seeds(self) -> int:
        """Histograms go into data/ for all seeds."""
        return self.seeds

    def as_json(self) -> dict[str, Any]:
        """Plain data, for provenance."""
        firsts = [CoverageSpec(self.estimator, case, self.reps, 0).as_json() for case in self.cases]
        return {
            "name": self.name,
            "cases": [{k: v for k, v in first.items() if k != "seed"} for first in firsts],
            "seeds": self.seeds,
            "first_seed": self.first_seed,
        }

    def groups(self) -> Iterator[list[CoverageSpec]]:
        """The runs, each on its own."""
        for case in self.cases:
            for seed in range(self.first_seed, self.first_seed + self.seeds):
                yield [CoverageSpec(self.estimator, case, self.reps, seed)]

    def runs(self) -> list[CoverageSpec]:
        """All runs, in order."""
        return [spec for group in self.groups() for spec in group]


@dataclass(frozen=True)
class Together:
    """Several experiments as one, so that the workers start once and none waits for the others."""

    experiments: tuple[Experiment | Coverage, ...]

    @property
    def name(self) -> str:
        """The name of a single one, or how many they are."""
        names = [one.name for one in self.experiments]
        return names[0] if len(names) == 1 else f"{len(names)} experiments"

    def groups(self) -> Iterator[list[RunSpec] | list[CoverageSpec]]:
        """Their groups of runs; the longest first, so that no long one is left for the end."""
        every = [group for one in self.experiments for group in one.groups()]
        yield from sorted(every, key=lambda group: -sum(spec.plays for spec in group))

    def runs(self) -> list[RunSpec | CoverageSpec]:
        """All runs."""
        return [spec for one in self.experiments for spec in one.runs()]
