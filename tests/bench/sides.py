"""What is timed: whole simulations, the floors below them, a fresh process, a sweep."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import heavybandit as hb
from heavybandit.engine import offers
from heavybandit.pipeline.recipes import recipe
from heavybandit.pipeline.spec import Experiment
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.sweep import sweep
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, stream
from heavybandit.replication.leaps import DELTA, Cell
from heavybandit.simulate import BLOCK_DOUBLES

from .measuring import Side, say, timed

SEED = 2020
V = 4.0  # Section 6's bound on the raw second moment
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB")
POLICIES = (*CONTROLS, "SupBMM", "SupBTC", "FlatBMM", "FlatBTC", "MoM", "CRT", "MENU", "TOFU")


@dataclass(frozen=True)
class Case:
    """A policy in Section 6's world with Student's t noise, at the constants of theory."""

    policy: str  # its name
    T: int  # the horizon, in plays
    d: int = 10  # dimensions
    K: int = 20  # arms
    eps: float = 1.0  # ε, for the policies that have one
    delta: float | None = None  # δ, or the policy's own default
    width_scale: float | None = None  # likewise
    literal: bool = False  # the transcription in paper.py instead of the engine

    @property
    def world(self) -> Any:
        return hb.section6("student-t", n_arms=self.K, dim=self.d)

    def build(self) -> Any:
        """A fresh policy."""
        asked = {"delta": self.delta, "width_scale": self.width_scale}
        settings = {name: value for name, value in asked.items() if value is not None}
        if self.policy not in CONTROLS:
            settings |= {"v": V, "eps": self.eps}
        return getattr(hb.paper if self.literal else hb, self.policy)(
            self.T, self.K, self.d, **settings
        )

    @property
    def setting(self) -> dict[str, Any]:
        """What a row says about the case."""
        eps = None if self.policy in CONTROLS else self.eps
        named = {"policy": self.policy, "T": self.T, "d": self.d, "K": self.K, "eps": eps}
        return {**named, "plays": self.build().plays}

    def whole(self) -> Side:
        """The whole simulation by a fresh policy, the drawing of the world included."""
        rounds, world = self.build().rounds, self.world
        return lambda: timed(rounds, hb.simulate, self.build(), world, SEED)

    def drawing(self, most: int | None = None) -> Side:
        """The world alone, without a policy: contexts, what they pay in the mean, noise."""
        policy = self.build()
        rounds = min(policy.rounds, most or policy.rounds)
        return partial(timed, rounds, draw, self.world, rounds, policy.plays)

    def noise(self) -> Side:
        """The policy's own noise alone."""
        policy = self.build()
        noise = partial(draw, self.world, policy.rounds, policy.plays, only_noise=True)
        return partial(timed, policy.rounds, noise)


def draw(world: Any, rounds: int, plays: int, *, only_noise: bool = False) -> None:
    """What a simulation draws, in the same blocks."""
    contexts, noise = stream(SEED, CONTEXT_STREAM), stream(SEED, NOISE_STREAM)
    theta = world.theta_star(SEED)
    block = max(1, BLOCK_DOUBLES // max(world.n_arms * world.dim, plays))
    means, best = np.empty((block, world.n_arms)), np.empty(block)
    for first in range(0, rounds, block):
        n = min(block, rounds - first)
        if not only_noise:
            offers.price(offers.contexts(world, contexts, first, n, plays), theta, means, best)
        offers.draw(world.noise, noise, n * plays)


@dataclass(frozen=True)
class Alone:
    """What a process that does nothing but one simulation says about itself."""

    whole: float  # µs per round
    drawing: float  # µs per round for the world alone
    early: float  # µs per round of the first three tenths
    late: float  # µs per round of the last tenth
    peak: float  # MB of resident memory, at most


DRAWN = 10**6  # rounds: drawing costs the same in every round


def run_alone(policy: str, T: int) -> Alone:
    """Be that process."""
    Case(policy, 500).whole()()  # loads what was compiled before
    case = Case(policy, T)
    fresh, world = case.build(), case.world
    done, total = 0, fresh.plays * fresh.rounds
    marks = [(0, time.process_time())]  # plays and processor seconds, at every tenth

    def reached(plays: int) -> None:
        nonlocal done
        done += plays
        if done * 10 >= total * len(marks):
            marks.append((done, time.process_time()))

    hb.simulate(fresh, world, SEED, progress=reached)
    peak = peak_now()

    def between(first: int, last: int) -> float:
        (plays_0, start), (plays_1, end) = marks[first], marks[last]
        return 1e6 * (end - start) / ((plays_1 - plays_0) / fresh.plays)

    # A short run has fewer blocks than tenths: then early and late are as near as can be.
    third = min(3, len(marks) - 1)
    whole, early, late = between(0, -1), between(0, third), between(-2, -1)
    return Alone(whole, case.drawing(DRAWN)(), early, late, peak)


def peak_now() -> float:
    """Peak resident memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss starts from the peak of the process that started us
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


def alone(policy: str, T: int) -> Alone:
    """Start that process, and hear what it says."""
    say(f"{policy} in a process of its own, T = {T:,}")
    program = Path(__file__).parents[1] / "benchmark.py"
    command = [sys.executable, str(program), "--alone", policy, str(T)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return Alone(**json.loads(answer))


def sweeping(experiment: Experiment, workers: int) -> float:
    """Seconds on the clock for a sweep from an empty store: only it can see the workers."""
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        sweep(experiment, Store(folder), workers=workers, progress=False)
        return time.perf_counter() - start


@dataclass(frozen=True)
class Swept:
    """What a process that does nothing but one sweep took, with its workers."""

    runs: int
    wall: float  # seconds on the clock, of the sweep alone
    processor: float  # seconds of all its processes, their start included


def sweep_alone(T: int, seeds: int, workers: int) -> tuple[int, float]:
    """Be that process: how many runs, and seconds on the clock."""
    experiment = some_long_runs(T, seeds)
    return len(experiment.runs()), sweeping(experiment, workers)


def swept(T: int, seeds: int, workers: int) -> Swept:
    """Start that process, and hear what it says. Workers count once they have ended, with it."""
    say(f"a sweep in a process of its own, workers: {workers}")
    program = Path(__file__).parents[1] / "benchmark.py"
    command = [sys.executable, str(program), "--swept", str(T), str(seeds), str(workers)]
    answer, processor = with_its_processes(command)
    runs, wall = json.loads(answer)
    return Swept(runs, wall, processor)


def with_its_processes(command: list[str]) -> tuple[bytes, float]:
    """What a command prints, and the processor seconds of all processes that it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return answer, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def many_short_runs(runs: int) -> Experiment:
    """So many runs of 50 plays, one a group: little to simulate, all the more to schedule."""
    only = (recipe("section6", noise="student-t"),), (recipe("Uniform"),)
    return Experiment("short", "", *only, (50,), seeds=runs, checkpoints=10)


def some_long_runs(T: int, seeds: int) -> Experiment:
    """Runs of four policies, long enough to share out."""
    names = ("SupBTC", "TOFU", "LinUCB", "Uniform")
    policies = tuple(recipe(n, **({} if n in CONTROLS else {"v": V})) for n in names)
    return Experiment(
        "long", "", (recipe("section6", noise="student-t"),), policies, (T,), seeds=seeds
    )


def marginal_ms(workers: int, few: int, many: int) -> float:
    """Milliseconds that one more run adds to a sweep, once it is under way."""
    short, long = (sweeping(many_short_runs(runs), workers) for runs in (few, many))
    return 1e3 * (long - short) / (many - few)


def simulating_ms(runs: int) -> float:
    """Milliseconds a run for the same simulations with no sweep around them."""
    groups = list(many_short_runs(runs).groups())
    start = time.perf_counter()
    for group in groups:
        group[0].run(group)
    return 1e3 * (time.perf_counter() - start) / runs


def leap_ms(policy: str, instance: str, T: int) -> float:
    """Milliseconds of a run by leaps, the policy's construction included.

    Four arms in two dimensions, with a gap of 1/√T: none is dropped, which takes the most steps.
    """
    cell = Cell(policy, instance, 2, 4, T, T**-0.5)
    world = cell.world()
    make = partial(getattr(hb, policy), T, 4, 2, v=cell.v(world), delta=DELTA)
    return timed(1, lambda: hb.leap(make(), world, SEED)) / 1e3
