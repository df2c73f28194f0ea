"""The questions, each a function from a scale to the rows that answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from statistics import median
from typing import Any

from heavybandit.replication.timings import Timing

from . import peers as others
from .measuring import Pair, Side, turns_of, weigh
from .sides import (
    POLICIES,
    Alone,
    Case,
    alone,
    leap_ms,
    marginal_ms,
    simulating_ms,
    swept,
)

GROWN = ("SupBTC", "SupBMM", "TOFU", "LinUCB", "CRT")
# The last tenth of a run over its first three. A cost like t would give 6.3, one like √t 2.7.
FLAT = 1.2


@dataclass(frozen=True)
class Scale:
    """How much is measured: by default, as with --full."""

    name: str = "full"
    few: int = 3  # turns of what is slow …
    some: int = 5
    many: int = 15  # … and of what is quick
    short: int = 10**5  # horizons of engine against engine
    long: int = 10**6
    numpy: int = 20_000  # rounds against NumPy
    peers: int = 5_000  # and against the peers
    literal: tuple[int, ...] = (1_000, 2_000, 5_000, 10_000)  # horizons of SupBTC in paper.py
    literal_tofu: tuple[int, ...] = (1_000, 2_000, 5_000)
    # horizons and turns, in processes of their own
    grown: tuple[tuple[int, int], ...] = ((10**4, 3), (10**5, 3), (10**6, 3), (10**7, 1))
    grown_policies: tuple[str, ...] = GROWN
    sideways: int = 20_000  # the horizon at which d, K, δ and ε vary
    d: tuple[int, ...] = (2, 5, 10, 20, 40)
    K: tuple[int, ...] = (5, 20, 80)
    delta: tuple[float, ...] = (0.5, 1e-2, 1e-4, 1e-8, 1e-16)  # with which SupBMM's plays grow
    eps: tuple[float, ...] = (1.0, 0.75, 0.5, 0.25)
    sweeps: tuple[int, int] = (100, 1000)  # runs of a short and of a long sweep
    pools: tuple[int, ...] = (1, 2)  # and their workers
    seeds: int = 16  # seeds of the sweep that two workers share
    leapt: tuple[int, ...] = (10**4, 10**6, 10**9, 10**12, 10**15)  # horizons of leaps
    judged: bool = True  # goals are for these horizons, not for a try

    def goal(self, goal: str) -> str:
        """The goal, where there is any judging."""
        return goal if self.judged else ""


FULL = Scale()
DEFAULT = Scale(
    name="default",
    few=2,
    some=3,
    many=9,
    literal_tofu=(1_000, 2_000),
    grown=((10**4, 2), (10**5, 2), (10**6, 2)),
    sideways=10_000,
    seeds=8,
)
QUICK = Scale(
    name="quick",
    few=1,
    some=1,
    many=2,
    short=1_000,
    long=2_000,
    numpy=300,
    peers=100,
    literal=(50, 100),
    literal_tofu=(50,),
    grown=((3_000, 1),),
    grown_policies=("SupBTC",),
    sideways=1_000,
    d=(2, 10),
    K=(5, 20),
    delta=(0.5, 1e-2),
    eps=(1.0, 0.5),
    sweeps=(20, 40),
    pools=(1,),  # a few runs are over before a second worker has started
    seeds=1,
    leapt=(10**4, 10**6),
    judged=False,
)
SCALES = {scale.name: scale for scale in (QUICK, DEFAULT, FULL)}


def measured(
    section: str,
    what: str,
    names: tuple[str, str],
    one: Side,
    other: Side,
    turns: int,
    **words: Any,
) -> Timing:
    """Two sides, turn by turn; `words` as for `weigh`."""
    pairs = turns_of(f"{section}: {what}", one, other, turns)
    return weigh(section, what, names, pairs, **words)


def uniform(scale: Scale) -> Iterator[Timing]:
    """SupBTC over Uniform, which only draws an arm."""
    one, other = Case("SupBTC", scale.short), Case("Uniform", scale.short)
    words = {"goal": scale.goal("≤ 3"), **one.setting}
    sides = ("SupBTC", "Uniform"), one.whole(), other.whole()
    yield measured("uniform", f"T = {scale.short:,}", *sides, scale.many, **words)


def horizon(scale: Scale) -> Iterator[Timing]:
    """A long horizon over a short one, for the two that would go through their history."""
    names = f"T = {scale.long:,}", f"T = {scale.short:,}"
    for policy in ("SupBTC", "TOFU"):
        one, other = Case(policy, scale.long), Case(policy, scale.short)
        words = {"goal": scale.goal("≤ 2"), **one.setting}
        yield measured("horizon", policy, names, one.whole(), other.whole(), scale.few, **words)


def numpy(scale: Scale) -> Iterator[Timing]:
    """LinUCB in NumPy over LinUCB in the engine, contexts and noise drawn beforehand."""
    yield _against("numpy", "NumPy", scale.numpy, scale.many, scale.goal("≥ 8"))


def peers(scale: Scale) -> Iterator[Timing]:
    """LinUCB in other packages over LinUCB in the engine, contexts and noise drawn beforehand.

    The goal is for the faster of the two, and so for both.
    """
    for name in others.installed():
        yield _against("peers", name, scale.peers, scale.some, scale.goal("≥ 100"))


def _against(section: str, name: str, rounds: int, turns: int, goal: str) -> Timing:
    task, words = others.task(rounds), {"goal": goal, **Case("LinUCB", rounds).setting}
    sides = ("peer", "engine"), task.other(name), task.engine()
    return measured(section, f"{name}, T = {rounds:,}", *sides, turns, **words)


@cache
def _transcribed(scale: Scale) -> list[Timing]:
    """SupBTC as transcribed over the engine, at growing T."""
    rows = []
    for T in scale.literal:
        turns = scale.some if T <= 2_000 else 1  # at T = 10⁴ a turn takes most of a minute
        goal = scale.goal("≥ 500") if T == 10_000 else ""
        rows.append(_twins(Case("SupBTC", T), f"SupBTC, T = {T:,}", turns, goal))
    return rows


def paper(scale: Scale) -> Iterator[Timing]:
    """The paper as transcribed over the engine."""
    yield from _transcribed(scale)
    for T in scale.literal_tofu:
        yield _twins(Case("TOFU", T), f"TOFU, T = {T:,}", scale.few if T <= 2_000 else 1)
    # At the constants of theory SupBTC never leaves stage 1 at such horizons.
    T = scale.literal[1]
    narrow = Case("SupBTC", T, width_scale=0.1)
    yield _twins(narrow, f"SupBTC, T = {T:,}, widths × 0.1", scale.few)


def paper_grows(scale: Scale) -> Iterator[Timing]:
    """SupBTC's ratio at each horizon over that at the horizon before."""
    for before, row in pairwise(_transcribed(scale)):
        what, sides = f"SupBTC, T = {row.T:,} over {before.T:,}", ("ratio at T", "ratio before")
        words = {"unit": "times", "goal": scale.goal("≥ 1"), "policy": "SupBTC"}
        yield weigh("paper grows", what, sides, [(row.median, before.median)], T=row.T, **words)


def _twins(case: Case, what: str, turns: int, goal: str = "") -> Timing:
    """The engine is over in milliseconds: its side of a turn is the median of five runs."""
    engine, literal = case.whole(), replace(case, literal=True).whole()

    def steady() -> float:
        return median(engine() for _ in range(5))

    words = {"goal": goal, **case.setting}
    return measured("paper", what, ("paper.py", "engine"), literal, steady, turns, **words)


def floor_world(scale: Scale) -> Iterator[Timing]:
    """A whole simulation over drawing its world: contexts, what they pay in the mean, noise."""
    cases = [Case(policy, scale.short) for policy in POLICIES]
    cases += [Case(policy, scale.long) for policy in GROWN]
    for case in cases:
        goal = scale.goal("≤ 2") if case.policy == "SupBTC" else ""
        turns = scale.some if scale.short == case.T else scale.few
        yield _over_a_floor("floor world", case, "drawing", turns, goal)


def floor_noise(scale: Scale) -> Iterator[Timing]:
    """A whole simulation over drawing the policy's own noise, where a round has many plays."""
    for policy in ("SupBMM", "FlatBMM", "MoM", "MENU"):
        for T in (scale.short, scale.long):
            judged = policy == "SupBMM" and scale.long == T
            goal = scale.goal("≤ 5") if judged else ""
            turns = scale.few if policy in ("FlatBMM", "MENU") else scale.some
            yield _over_a_floor("floor noise", Case(policy, T), "noise", turns, goal)


def _over_a_floor(section: str, case: Case, floor: str, turns: int, goal: str = "") -> Timing:
    plays = case.build().plays
    what = f"{case.policy}, T = {case.T:,}" + (f", plays: {plays}" if plays > 1 else "")
    below = case.drawing() if floor == "drawing" else case.noise()
    words = {"goal": goal, **case.setting}
    return measured(section, what, ("whole", floor), case.whole(), below, turns, **words)


@cache
def _processes(scale: Scale) -> dict[tuple[str, int], list[Alone]]:
    """Every policy at every horizon, each turn in a process of its own; the policies take turns."""
    heard: dict[tuple[str, int], list[Alone]] = {}
    for T, turns in scale.grown:
        for _ in range(turns):
            for policy in scale.grown_policies:
                heard.setdefault((policy, T), []).append(alone(policy, T))
    return heard


def growth_T(scale: Scale) -> Iterator[Timing]:
    """µs per round as T grows, over drawing the world."""
    for (policy, T), turns in sorted(_processes(scale).items()):
        pairs = [(turn.whole, turn.drawing) for turn in turns]
        what, sides = f"{policy}, T = {T:,}", ("whole", "drawing")
        yield weigh("growth T", what, sides, pairs, **Case(policy, T).setting)


def flat(scale: Scale) -> Iterator[Timing]:
    """The last tenth of a run over its first three, one play per round."""
    for (policy, T), turns in sorted(_processes(scale).items()):
        setting = Case(policy, T).setting
        if setting["plays"] == 1 and scale.short <= T:
            goal = f"≤ {FLAT}" if policy in ("SupBTC", "TOFU") and T >= 10**6 else ""
            pairs = [(turn.late, turn.early) for turn in turns]
            what, sides = f"{policy}, T = {T:,}", ("last tenth", "first three")
            yield weigh("flat", what, sides, pairs, goal=scale.goal(goal), **setting)


def memory(scale: Scale) -> Iterator[Timing]:
    """Peak memory of a process that simulates, at T and at the smallest T."""
    heard = _processes(scale)
    smallest = min(T for _, T in heard)
    for (policy, T), turns in sorted(heard.items()):
        goal = scale.goal("≤ 50") if policy == "SupBTC" and T >= 10**6 else ""
        base = heard[policy, smallest]
        pairs: list[Pair] = [
            (turn.peak, first.peak) for turn, first in zip(turns, base, strict=False)
        ]
        what, sides = f"{policy}, T = {T:,}", ("at T", "smallest T")
        words = {"by": "difference", "unit": "MB", "goal": goal}
        yield weigh("memory", what, sides, pairs, **words, **Case(policy, T).setting)


def varied(setting: str, policies: Sequence[str], scale: Scale) -> Iterator[Timing]:
    """As one setting varies, over drawing the world; δ is varied for the plays that it asks for."""
    section = f"growth {'plays' if setting == 'delta' else setting}"
    for value in getattr(scale, setting):
        for policy in policies:
            case = Case(policy, scale.sideways, **{setting: value})
            where = {"delta": f"r = {case.build().plays}", "eps": f"ε = {value:g}"}
            what = f"{policy}, {where.get(setting, f'{setting} = {value}')}"
            sides = ("whole", "drawing"), case.whole(), case.drawing()
            yield measured(section, what, *sides, scale.some, **case.setting)


def growth_d(scale: Scale) -> Iterator[Timing]:
    """As d varies; and at the largest d TOFU, which may need a matrix root, over SupBTC."""
    yield from varied("d", GROWN, scale)
    one, other = (Case(policy, scale.sideways, d=max(scale.d)) for policy in ("TOFU", "SupBTC"))
    words = {"goal": scale.goal("≤ 5"), **other.setting, "policy": ""}  # a row of two policies
    what, sides = f"TOFU over SupBTC, d = {one.d}", (one.whole(), other.whole())
    yield measured("growth d", what, ("TOFU", "SupBTC"), *sides, scale.some, **words)


def sweeps(scale: Scale) -> Iterator[Timing]:
    """What a sweep adds to a run."""
    for workers in scale.pools:
        what, runs = f"workers: {workers}", scale.sweeps[1] // 2
        sides = partial(marginal_ms, workers, *scale.sweeps), partial(simulating_ms, runs)
        words = {"by": "difference", "unit": "ms", "goal": scale.goal("≤ 5")}
        yield measured("sweeps", what, ("in a sweep", "alone"), *sides, scale.few, **words)


def workers(scale: Scale) -> Iterator[Timing]:
    """One worker over two for the same sweep, starting the processes included.

    Beside the clock the processor time of all processes: what two workers take more than one is
    what the second costs, and on a busy machine the clock says nothing.
    """
    one, two = (swept(scale.long, scale.seeds, workers) for workers in (1, 2))
    what = f"{one.runs} runs of {scale.long:,} plays"
    names, goal = ("one", "two"), scale.goal("≥ 1.7")
    yield weigh("workers", what, names, [(one.wall, two.wall)], unit="s", goal=goal)
    took = [(one.processor, two.processor)]
    yield weigh("workers", f"{what}, processor time", names, took, unit="s")


def leaps(scale: Scale) -> Iterator[Timing]:
    """A run by leaps at T over one at the shortest T, with few and with many values of noise."""
    shortest = scale.leapt[0]
    for policy in ("SupBMM", "SupBTC"):
        for instance, noise in (("coin", "±1"), ("pareto", "Pareto tail")):
            for T in scale.leapt:
                what = f"{policy}, {noise}, T = {T:,}"
                both = [partial(leap_ms, policy, instance, each) for each in (T, shortest)]
                words = {"unit": "ms", "policy": policy, "T": T, "d": 2, "K": 4, "eps": 1.0}
                yield measured("leaps", what, ("at T", "shortest T"), *both, scale.many, **words)


Section = Callable[[Scale], Iterator[Timing]]
SECTIONS: dict[str, tuple[str, Section]] = {
    "uniform": ("SupBTC over Uniform", uniform),
    "horizon": ("A long horizon over a short one", horizon),
    "numpy": ("LinUCB in NumPy over the engine, contexts and noise drawn beforehand", numpy),
    "peers": ("LinUCB in other packages over the engine, drawn beforehand, same arms", peers),
    "paper": ("The paper as transcribed over the engine", paper),
    "paper-grows": ("That ratio at a longer horizon over the same at a shorter one", paper_grows),
    "floor-world": ("A whole simulation over drawing its world", floor_world),
    "floor-noise": ("A whole simulation over drawing its own noise", floor_noise),
    "growth-T": ("As T grows, each in a process of its own", growth_T),
    "flat": ("The end of a run over its beginning", flat),
    "memory": ("Peak memory", memory),
    "growth-d": ("As d grows", growth_d),
    "growth-K": ("As K grows", partial(varied, "K", GROWN)),
    "growth-plays": ("As SupBMM's plays per round grow", partial(varied, "delta", ("SupBMM",))),
    # Below 1 thresholds depend on the whole history, and some must be looked up.
    "growth-eps": ("As ε falls", partial(varied, "eps", ("SupBTC", "SupBMM", "TOFU", "CRT"))),
    "sweeps": ("What a sweep adds to a run", sweeps),
    "workers": ("One worker over two", workers),
    "leaps": ("A run by leaps at T over one at the shortest T", leaps),
}
