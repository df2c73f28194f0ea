"""What `make bench` runs: how fast the engine is, as ratios measured within one run.

The machine may be shared, so no time stands alone. The two sides of a comparison take turns, each
turn gives one ratio, and the table has their median, smallest and largest; verdicts go by the
median. Times are processor time of this process on one thread, so that waiting for a processor does
not count, except for sweeps, whose worker processes only the clock can see. Microseconds (µs) are
for orientation. Exit code 0, or with --strict 1 on a miss.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from operator import ge, le, sub, truediv
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported

import numpy as np

import heavybandit as hb
from heavybandit.engine.offers import price
from heavybandit.experiments import Experiment, recipe
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, Floats, stream
from heavybandit.simulate import BLOCK_DOUBLES
from heavybandit.store import Store
from heavybandit.sweep import run_group, sweep

SEED = 2020
WORLD = hb.section6("student-t")
THETA, K, D = WORLD.theta_star(SEED), WORLD.n_arms, WORLD.dim
CONTROLS = (hb.Uniform, hb.GreedyRidge, hb.LinUCB)
BASELINES = (hb.MoM, hb.CRT, hb.MENU, hb.TOFU)
POLICIES = (*CONTROLS, hb.SupBMM, hb.SupBTC, hb.FlatBMM, hb.FlatBTC, *BASELINES)
# Policy, horizon, width_scale. With width_scale 1 SupBTC stays in stage 1 at such horizons.
TWINS = [("SupBTC", T, 1.0) for T in (500, 1000, 2000, 4000)] + [("SupBTC", 2000, 0.1)]
TWINS += [("TOFU", T, 1.0) for T in (500, 1000, 2000)]

Side = Callable[[], float]  # does its work once and returns µs a round, or MB
Row = tuple[str, ...]  # what, the medians of both sides, ratio [min, max], goal, verdict


def compare(what: str, one: Side, other: Side, turns: int, goal: str = "", by=truediv) -> Row:
    """Let the two sides take turns and compare them, turn by turn; a goal reads like "≤ 3"."""
    measured = []
    for turn in range(turns):
        print(f"{what}: turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
        measured.append((one(), other()))
    medians = [f"{median(side):.2f}" for side in zip(*measured, strict=True)]
    results = [by(*pair) for pair in measured]
    holds = le if goal.startswith("≤") else ge
    verdict = goal and ("met" if holds(median(results), float(goal[1:])) else "missed")
    spread = f"{median(results):.2f} [{min(results):.2f}, {max(results):.2f}]"
    return (what, *medians, spread, goal, verdict)


def table(title: str, one: str, other: str, result: str, rows: list[Row]) -> int:
    """Print a section's rows under their headings, aligned; returns how many missed their goal."""
    lines = [("", one, other, f"{result} [min, max]", "goal", ""), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(f"\n{title}")
    for what, *cells, verdict in lines:
        numbers = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=False)]
        print("  ".join([f"  {what:<{widths[0]}}", *numbers, verdict]).rstrip(), flush=True)
    return sum(line[-1] == "missed" for line in lines)


def build(cls: Any, horizon: int, **settings: Any) -> Any:
    """A fresh policy with the constants of theory; v = 4 for those that ask for it."""
    return cls(horizon, K, D, **({} if cls in CONTROLS else {"v": 4.0}), **settings)


def timed(rounds: int, work: Callable[..., Any], *arguments: Any) -> float:
    """µs a round."""
    start = time.process_time()
    work(*arguments)
    return 1e6 * (time.process_time() - start) / rounds


def playing(cls: Any, horizon: int, **settings: Any) -> Side:
    """A whole simulation by a fresh policy, the drawing of the world included."""
    rounds = build(cls, horizon, **settings).rounds
    return lambda: timed(rounds, hb.simulate, build(cls, horizon, **settings), WORLD, SEED)


def draw(rounds: int, plays: int) -> None:
    """What a simulation draws: contexts, their means and the noise, in the same blocks."""
    contexts, noise = stream(SEED, CONTEXT_STREAM), stream(SEED, NOISE_STREAM)
    block = BLOCK_DOUBLES // max(K * D, plays)
    means, best = np.empty((block, K)), np.empty(block)
    for first in range(0, rounds, block):
        n = min(block, rounds - first)
        price(WORLD.contexts(contexts, first, n, plays), THETA, means, best)
        WORLD.noise.draw(noise, n * plays)


def numpy_linucb(X: Floats, payoffs: Floats, factor: float, arms: list[int]) -> None:
    """LinUCB in NumPy, written for speed: all arms at once, A⁻¹ by Sherman–Morrison."""
    A_inv, b, theta = np.eye(D), np.zeros(D), np.zeros(D)
    for offered, pays in zip(X, payoffs, strict=True):
        solved = offered.dot(A_inv)  # A⁻¹x, a row an arm
        squares = np.vecdot(solved, offered)  # xᵀA⁻¹x
        # In round 1 all unit contexts tie but for rounding, and the lowest index wins.
        arm = int((offered.dot(theta) + factor * np.sqrt(squares)).argmax()) if arms else 0
        u = solved[arm]
        A_inv -= u[:, None] * (u / (1.0 + squares[arm]))
        b += pays[arm] * offered[arm]
        theta = A_inv.dot(b)
        arms.append(arm)


def against_numpy(rounds: int, turns: int) -> Row:
    """LinUCB in NumPy and in the engine, over contexts and noise drawn beforehand."""
    X = WORLD.contexts(stream(SEED, CONTEXT_STREAM), 0, rounds, 1)
    draws = WORLD.noise.draw(stream(SEED, NOISE_STREAM), rounds)
    means, best, curve = np.empty((rounds, K)), np.empty(rounds), np.empty(rounds)
    price(X, THETA, means, best)
    payoffs, arms = means + draws[:, None], np.empty(rounds, dtype=np.int64)

    def engine() -> float:
        play = build(hb.LinUCB, rounds).play_block
        return timed(rounds, play, X, means, best, draws, 0.0, 0.0, curve, arms)

    def loop() -> float:
        factor, chosen = build(hb.LinUCB, rounds).alpha + 1, []
        took = timed(rounds, numpy_linucb, X, payoffs, factor, chosen)
        assert chosen == arms.tolist(), "the NumPy loop chose other arms than the engine"
        return took

    engine()  # fills `arms`
    return compare(f"LinUCB, T = {rounds:,}", loop, engine, turns, "≥ 8")


def peak_here(horizon: int) -> float:
    """Peak resident memory of this process in MB, after SupBTC has played."""
    playing(hb.SupBTC, horizon)()
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss starts from the peak of the process that started us
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


def peak_of_a_child(horizon: int) -> Side:
    """The same of a fresh process."""
    command = [sys.executable, __file__, "--peak", str(horizon)]
    return lambda: float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def sweeping(experiment: Experiment, workers: int) -> float:
    """Seconds on the clock for a sweep from an empty store."""
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        sweep(experiment, Store(folder), workers=workers, progress=False)
        return time.perf_counter() - start


def many_short_runs(runs: int) -> Experiment:
    """So many runs of 50 plays, one a group: little to simulate, all the more to schedule."""
    only = (recipe("section6", noise="student-t"),), (recipe("Uniform"),)
    return Experiment("short", "", *only, (50,), seeds=runs, checkpoints=10)


def marginal_ms(workers: int, few: int, many: int) -> float:
    """Milliseconds that one more run adds to a sweep, once it is under way."""
    short, long = (sweeping(many_short_runs(runs), workers) for runs in (few, many))
    return 1e3 * (long - short) / (many - few)


def simulating_ms(runs: int) -> float:
    """Milliseconds a run for the same simulations with no sweep around them."""
    groups = list(many_short_runs(runs).groups())
    start = time.perf_counter()
    for group in groups:
        run_group(group)
    return 1e3 * (time.perf_counter() - start) / runs


def one_worker_or_two(horizon: int, seeds: int) -> Row:
    """The same sweep with one worker and with two, starting the processes included."""
    names = ("SupBTC", "TOFU", "LinUCB", "Uniform")
    policies = tuple(recipe(n, **({} if n in ("LinUCB", "Uniform") else {"v": 4.0})) for n in names)
    only = (recipe("section6", noise="student-t"),), policies
    big = Experiment("big", "", *only, (horizon,), seeds=seeds)
    sides = [partial(sweeping, big, workers) for workers in (1, 2)]
    return compare(f"{len(names) * seeds} runs of {horizon:,} plays", *sides, 1, "≥ 1.7")


def measure(less: int, few: int, some: int, many: int) -> int:
    """Every section, with horizons divided by `less`; returns how many goals were missed."""
    T6, T5, T4 = 10**6 // less, 10**5 // less, 10**4 // less
    for cls in (*POLICIES, hb.paper.SupBTC, hb.paper.TOFU):
        playing(cls, 500)()  # compiles, or loads what was compiled before
    row = compare(f"T = {T5:,}", playing(hb.SupBTC, T5), playing(hb.Uniform, T5), many, "≤ 3")
    missed = table("1. SupBTC over Uniform, µs a round", "SupBTC", "Uniform", "ratio", [row])
    title, rows = "2. A long horizon over a short one, µs a round", []
    for cls in (hb.SupBTC, hb.TOFU):
        rows += [compare(cls.__name__, playing(cls, T6), playing(cls, T5), some, "≤ 2")]
    missed += table(title, f"T = {T6:,}", f"T = {T5:,}", "ratio", rows)
    title = "3. NumPy over the engine, contexts and noise drawn beforehand, µs a round"
    missed += table(title, "NumPy", "engine", "ratio", [against_numpy(2 * T4, many)])
    row = compare("SupBTC", peak_of_a_child(T6), peak_of_a_child(T4), few, "≤ 50", sub)
    missed += table("4. Peak memory, MB", f"T = {T6:,}", f"T = {T4:,}", "difference", [row])
    title, rows = "5. The paper as transcribed over the engine, µs a round", []
    for name, T, scale in TWINS:
        twins = getattr(hb.paper, name), getattr(hb, name)
        sides = [playing(cls, T // less, width_scale=scale) for cls in twins]
        rows += [compare(f"{name}, T = {T // less:,}, widths × {scale:g}", *sides, few)]
    table(title, "hb.paper", "engine", "ratio", rows)
    title, rows = f"6. Drawing the world as a share of the whole, T = {T5:,}, µs a round", []
    for policy in [build(cls, T5) for cls in POLICIES]:
        drawing = partial(timed, policy.rounds, draw, policy.rounds, policy.plays)
        what = f"{type(policy).__name__}, plays a round: {policy.plays}"
        rows += [compare(what, drawing, playing(type(policy), T5), few)]
    table(title, "drawing", "whole", "share", rows)
    title, rows = "7. What a sweep adds to a run, ms", []
    for workers in (1, 2):
        sides = partial(marginal_ms, workers, 100, 1000), partial(simulating_ms, 500)
        rows += [compare(f"workers: {workers}", *sides, few, "≤ 5", sub)]
    missed += table(title, "in a sweep", "alone", "difference", rows)
    title = "8. One worker over two, seconds"
    return missed + table(title, "one", "two", "ratio", [one_worker_or_two(T5, 32)])


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="How fast the engine is, as ratios in one run.")
    parser.add_argument("--quick", action="store_true", help="horizons ÷ 10 and few turns")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a goal is missed")
    parser.add_argument("--peak", type=int, metavar="T", help="only SupBTC's peak memory in MB")
    asked = parser.parse_args()
    if asked.peak:
        print(peak_here(asked.peak))
        return 0
    start = time.perf_counter()
    print(f"{WORLD.name}, K = {K}, d = {D}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    missed = measure(10, 1, 2, 5) if asked.quick else measure(1, 3, 5, 15)
    took = time.perf_counter() - start
    print(f"\ngoals missed: {missed}; took {took:.0f} s, load now {os.getloadavg()[0]:.1f}")
    return int(asked.strict and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
