"""What `make bench` runs: what the engine costs, as ratios measured within one run.

The machine may be shared, so no time stands alone. The two sides of a comparison take turns, each
turn gives one ratio, and the table has their median, smallest and largest; verdicts go by the
median. Times are processor time on one thread, so that waiting for a processor does not count,
except for sweeps, whose worker processes only the clock can see. Microseconds (µs) are for
orientation. The tables are also written as text, which `heavybandit.replication.timings` reads:
into build/bench, or where --record says. With --only, what is recorded there of other sections
stays. Exit code 0, or with --strict 1 on a miss.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported

from bench import peers
from bench.measuring import say, table
from bench.sections import SCALES, SECTIONS, Scale
from bench.sides import POLICIES, SEED, Case, V, run_alone, sweep_alone
from heavybandit.pipeline.spec import ENGINE_VERSION
from heavybandit.pipeline.store import StoreError
from heavybandit.replication import timings

PACKAGES = ("heavybandit", "numpy", "scipy", "numba", "mabwiser", "coba")


def about(scale: Scale, sections: list[str]) -> dict[str, Any]:
    """What is to be known about the numbers, and nothing that names the machine."""
    made_with: dict[str, Any] = {"python": platform.python_version(), "engine": ENGINE_VERSION}
    for package in PACKAGES:
        try:
            made_with[package] = version(package)
        except PackageNotFoundError:
            made_with[package] = None
    return {
        "what": "costs of the engine, measured on one machine by tests/benchmark.py",
        "scale": scale.name,
        "sections": sections,
        "world": Case("SupBTC", scale.short).world.name,
        "seed": SEED,
        "v": V,
        "made_with": made_with,
        "machine": {
            "system": platform.system(),
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
        },
    }


def measure(scale: Scale, sections: list[str]) -> list[timings.Timing]:
    """Every section asked for, printed as soon as it is done."""
    say("compiling, or loading what was compiled before")
    for policy in POLICIES:
        Case(policy, 500).whole()()
    found: list[timings.Timing] = []
    for number, name in enumerate(sections, start=1):
        title, section = SECTIONS[name]
        rows = list(section(scale))
        if rows:
            table(f"{number}. {title}", rows)
        if name == "peers" and (absent := sorted(set(peers.MODULES) - set(peers.installed()))):
            print(
                f"\n{number}. {title}: left out {' and '.join(absent)}, which are not installed; "
                f"{peers.HOW_TO_GET_THEM}"
            )
        found += rows
    return found


def beside(
    rows: list[timings.Timing], told: dict[str, Any], folder: Path
) -> tuple[list[timings.Timing], dict[str, Any]]:
    """New rows and what is to be known about them, among what a folder has of other sections."""
    try:
        before, known = timings.load(folder), timings.about(folder)
    except StoreError:
        return rows, told
    if known["scale"] != told["scale"]:
        raise SystemExit(
            f"--only adds to a record of the same scale; {folder} was measured at the scale "
            f"{known['scale']!r}, this was {told['scale']!r}"
        )
    new = told["sections"]
    every = [row for row in before if row.section.replace(" ", "-") not in new] + rows
    every.sort(key=lambda row: list(SECTIONS).index(row.section.replace(" ", "-")))
    known["sections"] = [name for name in SECTIONS if name in {*known["sections"], *new}]
    known["added_with"] = known.get("added_with", {}) | dict.fromkeys(new, told["made_with"])
    return every, {name: value for name, value in known.items() if name != "files"}


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="What the engine costs, as ratios in one run.")
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--quick", action="store_true", help="a try of seconds; nothing is judged")
    much.add_argument("--full", action="store_true", help="more turns, and horizons to 10⁷")
    parser.add_argument("--only", metavar="NAMES", help=f"of {', '.join(SECTIONS)}; with commas")
    parser.add_argument(
        "--record", metavar="FOLDER", default="build/bench", help="default: %(default)s"
    )
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a goal is missed")
    parser.add_argument("--alone", nargs=2, metavar=("POLICY", "T"), help=argparse.SUPPRESS)
    parser.add_argument("--swept", nargs=3, type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args(given)
    asked.sections = asked.only.split(",") if asked.only else list(SECTIONS)
    for name in asked.sections:
        if name not in SECTIONS:
            parser.error(f"--only must name some of {', '.join(SECTIONS)}; got {name!r}")
    return asked


def main(given: list[str] | None = None) -> int:
    """Measure, print, write, and return the exit code."""
    asked = arguments(given)
    if asked.alone:
        print(json.dumps(dataclasses.asdict(run_alone(asked.alone[0], int(asked.alone[1])))))
        return 0
    if asked.swept:
        print(json.dumps(sweep_alone(*asked.swept)))
        return 0
    scale = SCALES["quick" if asked.quick else "full" if asked.full else "default"]
    start = time.perf_counter()
    case = Case("SupBTC", scale.short)
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{case.world.name}, K = {case.K}, d = {case.d} unless said otherwise; {load}")
    found = measure(scale, asked.sections)
    record, told = Path(asked.record), about(scale, asked.sections)
    rows, told = beside(found, told, record) if asked.only else (found, told)
    written = timings.save(rows, told, record)
    missed = [cost for cost in found if cost.verdict == "missed"]
    judged = sum(bool(cost.goal) for cost in found)
    print(f"\ngoals missed: {len(missed)} of {judged}" if judged else "\nno goal was judged")
    for cost in missed:
        print(f"  {cost.section}: {cost.what}: {cost.median:.2f}, goal {cost.goal}")
    print(f"written: {' and '.join(str(path) for path in written)}")
    print(f"took {time.perf_counter() - start:.0f} s, load now {os.getloadavg()[0]:.1f}")
    return int(asked.strict and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
