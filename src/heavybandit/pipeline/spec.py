"""What an experiment is, as data: worlds × policies × horizons × seeds.

Policies, worlds and noises are recipes, so that an experiment is plain data. Its i-th run is
`experiment.runs()[i]`, and row i of its table belongs to that run. A run knows how it is carried
out (`Spec.run`) and how its result is written down (`Spec.row`, `Spec.curve_rows`), so that other
kinds of experiments need no special case anywhere; `replication.coverage` has one.
"""

from __future__ import annotations

import functools
import math
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .recipes import WORLDS, Recipe, digest, make_world, policies, spelled_out, with_bound

if TYPE_CHECKING:
    from ..simulate import Run

ENGINE_VERSION = 2
"""Raised whenever a change makes any run come out differently; stored runs name theirs."""


def engine_of(policy: Recipe) -> int:
    """The version of the engine that this policy's runs come from.

    A later one than ENGINE_VERSION where a change made only its runs come out differently: the
    circulated thresholds for ε < 1, and SafeRidge while all payoffs were 0.
    """
    given = dict(policy.params)
    circulated = given.get("constants") == "circulated" and policy.name in ("FlatBTC", "TOFU")
    changed = policy.name == "SafeRidge" or (circulated and given.get("eps", 1.0) < 1)
    return 3 if changed else ENGINE_VERSION


DRAW = 1 / 12
"""What a payoff costs that is one of many in its round, beside a play that is a round of its own.

Measured at d = 10, K = 20: 40 to 110 ns beside 500 to 1,400 ns.
"""
SEVERAL_PLAYS = ("SupBMM", "FlatBMM", "MoM", "MENU")
"""Policies with many plays per round."""

Report = Callable[[int], None]
"""What is told how many plays were just made."""


class Spec(ABC):
    """One run: everything that determines it, how it is carried out, and how it is written down."""

    seed: int
    columns: ClassVar[tuple[str, ...]]

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Plain data, engine version included."""

    @property
    @abstractmethod
    def plays(self) -> int:
        """How many plays it takes at the most."""

    @property
    def work(self) -> float:
        """About how long it takes, in plays that are each a round of their own."""
        return float(self.plays)

    @abstractmethod
    def text(self) -> str:
        """What messages call it."""

    @classmethod
    @abstractmethod
    def run(cls, group: Sequence[Self], report: Report | None = None) -> list[dict[str, Any]]:
        """Carry out runs that go together; their results, as plain data, in the same order."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What was asked for, by the names of the columns that a table read back has."""

    @abstractmethod
    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        """Its line in the table of runs, a cell for each of `columns`."""

    @property
    @abstractmethod
    def curve_columns(self) -> tuple[str, ...]:
        """The columns of the table of curves."""

    @abstractmethod
    def curve_rows(self, index: int, result: dict[str, Any]) -> list[list[str]]:
        """Its lines in the table of curves."""

    @functools.cached_property
    def key(self) -> str:
        """The run's identity: a hash of all that determines it."""
        return digest(self.as_json())

    @functools.cached_property
    def group(self) -> str:
        """The identity of the runs that go together with this one; here it goes alone."""
        return self.key


def number(value: float | None) -> str:
    """Nine significant digits, counts exactly; empty for what was never observed."""
    if isinstance(value, int):
        return str(value)
    return "" if value is None else f"{value:.9g}"


def _without_nan(value: Any) -> Any:
    """NaN becomes null, which JSON has."""
    if isinstance(value, list):
        return [_without_nan(v) for v in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def as_result(run: Run) -> dict[str, Any]:
    """What is stored of a run."""
    return {
        "regret": run.regret,
        "plays": run.plays.tolist(),
        "curve": run.curve.tolist(),
        "diagnostics": {k: _without_nan(v) for k, v in run.diagnostics.items()},
    }


COUNTS = (
    *("estimates", "truncated", "suspects", "most_suspects", "history_scans", "matrix_roots"),
    *("intervals", "intervals_missed"),
)
BY_STAGE = ("explored", "exploited", "visited", "arms_entering")
AUDITED = ("visited", "explored", "sum_c", "best_lost", "far_arms")


@dataclass(frozen=True)
class RunSpec(Spec):
    """A policy in a world."""

    world: Recipe
    policy: Recipe
    horizon: int
    seed: int
    checkpoints: int
    audit: bool = False  # whether every interval of every stage visited is formed and counted

    columns: ClassVar[tuple[str, ...]] = (
        *("run", "world", "world_settings", "policy", "settings", "horizon", "seed"),
        *("plays", "regret", *COUNTS, *BY_STAGE),
    )

    def as_json(self) -> dict[str, Any]:
        spelled = spelled_out(self.policy, policies())
        return {**self._shared(), "policy": spelled, "engine": engine_of(self.policy)}

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
        return self.horizon

    @property
    def work(self) -> float:
        return self.plays * (DRAW if self.policy.name in SEVERAL_PLAYS else 1.0)

    def text(self) -> str:
        return f"{self.policy.text()} at horizon {self.horizon}, seed {self.seed}"

    @functools.cached_property
    def group(self) -> str:
        """The identity of the runs that share the world, the horizon and the seed."""
        return digest(self._shared())

    @classmethod
    def run(cls, group: Sequence[Self], report: Report | None = None) -> list[dict[str, Any]]:
        """Simulate policies together in the same world, whose contexts are drawn once."""
        from ..simulate import simulate_all

        first = group[0]
        world = make_world(first.world, first.horizon)
        runs = simulate_all(
            [spec.make_policy(world) for spec in group],
            world,
            first.seed,
            checkpoints=first.checkpoints,
            audit=first.audit,
            progress=report or False,
        )
        return [as_result(run) for run in runs]

    def make_policy(self, world: Any) -> Any:
        """A fresh policy for that world, seeded like the run."""
        return self.policy.build(
            policies(), horizon=self.horizon, n_arms=world.n_arms, dim=world.dim, seed=self.seed
        )

    def settings(self) -> dict[str, Any]:
        """The parameters of the world and of the policy are world_NAME and policy_NAME."""
        return {
            "world": self.world.name,
            **{f"world_{name}": value for name, value in self.world.params},
            "policy": self.policy.name,
            **{f"policy_{name}": value for name, value in self.policy.params},
            "horizon": self.horizon,
            "seed": self.seed,
        }

    def row(self, index: int, result: dict[str, Any]) -> list[str]:
        """A line of the table of runs; by-stage counts are separated by spaces."""
        seen = result["diagnostics"]
        return [
            *(str(index), self.world.name, self.world.settings()),
            *(self.policy.name, self.policy.settings(), str(self.horizon), str(self.seed)),
            *(str(result["plays"][-1]), number(result["regret"])),
            *(str(seen[name]) for name in COUNTS),
            *(" ".join(number(x) or "-" for x in seen[name]) for name in BY_STAGE),
        ]

    @property
    def curve_columns(self) -> tuple[str, ...]:
        """Regret at checkpoints; of an audited run, what each stage counted."""
        return ("run", "stage", *AUDITED) if self.audit else ("run", "plays", "regret")

    def curve_rows(self, index: int, result: dict[str, Any]) -> list[list[str]]:
        """One line per checkpoint, or per stage that was visited."""
        seen = result["diagnostics"]
        if self.audit:
            return [
                [str(index), str(s + 1), *(number(seen[name][s]) for name in AUDITED)]
                for s, visits in enumerate(seen["visited"])
                if visits
            ]
        points = zip(result["plays"], result["curve"], strict=True)
        return [[str(index), str(plays), number(regret)] for plays, regret in points]


version_of = functools.cache(version)  # it reads a package's description every time


def made_with() -> dict[str, Any]:
    """What this process computes with; two that differ here may differ in their bits."""
    return {
        "engine": ENGINE_VERSION,
        **{name: version_of(name) for name in ("heavybandit", "numba", "numpy")},
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


@dataclass(frozen=True)
class Plan(ABC):
    """A named set of runs, in a fixed order: an `Experiment`, or another kind with its own runs."""

    name: str
    what: str  # one sentence for lists
    _: KW_ONLY
    seeds: int  # how many …
    first_seed: int = 0  # … from this one on

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Plain data, for provenance."""

    @abstractmethod
    def groups(self) -> Iterator[Sequence[Spec]]:
        """The runs, those that go together in one list."""

    def runs(self) -> list[Spec]:
        """All runs, in order."""
        return [spec for group in self.groups() for spec in group]

    def size(self) -> tuple[int, int]:
        """How many runs there are, and how many plays they take at the most."""
        return len(self.runs()), plays_of(self.runs())

    def has_curve(self, spec: Spec) -> bool:
        """Whether the table of curves has lines of this run."""
        return True


@dataclass(frozen=True)
class Experiment(Plan):
    """Policies in worlds."""

    worlds: tuple[Recipe, ...]
    policies: tuple[Recipe, ...]  # v may be "printed" or "exact"
    horizons: tuple[int, ...]  # in plays
    _: KW_ONLY
    checkpoints: int = 100  # points per curve
    curve_seeds: int = 10  # curves go into data/ for so many seeds; totals for all
    audit: bool = False  # audited runs: instead of curves, what each stage counted

    def __post_init__(self) -> None:
        if self.audit and not {p.name for p in self.policies} <= {"SupBMM", "SupBTC"}:
            raise ValueError(f"audit is for policies with stages; {self.name} has others")

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "worlds": [w.as_json() for w in self.worlds],
            "policies": [p.as_json() for p in self.policies],
            "horizons": list(self.horizons),
            "seeds": self.seeds,
            "first_seed": self.first_seed,
            "checkpoints": self.checkpoints,
            "curve_seeds": self.curve_seeds,
            "engine": max(map(engine_of, self.policies), default=ENGINE_VERSION),
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

    def has_curve(self, spec: Spec) -> bool:
        return spec.seed - self.first_seed < self.curve_seeds

    def size(self) -> tuple[int, int]:
        """The same without building the runs, whose bounds take scipy's help."""
        each = len(self.worlds) * len(self.policies) * self.seeds
        return each * len(self.horizons), each * sum(self.horizons)


@dataclass(frozen=True)
class Together:
    """Several experiments as one, so that the workers start once and none waits for the others."""

    experiments: tuple[Plan, ...]

    @property
    def name(self) -> str:
        """The name of a single one, or how many they are."""
        names = [one.name for one in self.experiments]
        return names[0] if len(names) == 1 else f"{len(names)} experiments"

    def groups(self) -> Iterator[Sequence[Spec]]:
        """Their groups of runs; the longest first, so that no long one is left for the end."""
        every = [group for one in self.experiments for group in one.groups()]
        yield from sorted(every, key=lambda group: -work_of(group))

    def runs(self) -> list[Spec]:
        """All runs, experiment after experiment."""
        return [spec for one in self.experiments for spec in one.runs()]


def plays_of(specs: Iterable[Spec]) -> int:
    """How many plays runs take at the most."""
    return sum(spec.plays for spec in specs)


def work_of(specs: Iterable[Spec]) -> float:
    """About how long runs take; what progress counts."""
    return math.fsum(spec.work for spec in specs)


EXPERIMENTS: dict[str, Plan] = {}
"""Every experiment that is known by name; `replication.catalogue` enters those of this paper."""


def by_name(name: str) -> Plan:
    """The experiment of that name, or an error that lists them all."""
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
