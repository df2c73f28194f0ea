"""`heavybandit board`: a policy of the reader's through the protocol of the benchmark."""

from __future__ import annotations

import argparse
import json
import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np

from . import DIFFERS, OK


def add_board(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("policy", nargs="?", help="path/to/file.py:ClassName; with --check, nothing")
    said = "run a sample of an entry again; this executes the Python source in it"
    add("--check", type=Path, metavar="FILE", help=said)
    add("--out", type=Path, metavar="FILE", help="the entry (default CLASSNAME.board.json)")
    add("--plot", type=Path, metavar="FILE", help="draw it among the others: .png, .svg, .pdf")
    add("--store", help="finished runs (default build/store)")
    add("--data", default="data", help="where the recorded entries are (default data)")
    add("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    add("--dask", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786")
    add("--seed", type=int, help="of the sample (default: random, and printed)")
    add("--plays", type=float, default=3e5, help="how many the sample may take (default 3e5)")
    add("--all", action="store_true", help="run all of the entry again, not a sample")
    add("--quiet", action="store_true", help="no progress")


def do_board(options: argparse.Namespace) -> int:
    """Enter a policy, or check an entry."""
    if (options.policy is None) == (options.check is None):
        raise ValueError("name a policy, path/to/file.py:ClassName, or an entry with --check FILE")
    return _check(options) if options.check else _enter(options)


def _check(options: argparse.Namespace) -> int:
    from ..checks import whole
    from ..pipeline.progress import say
    from ..pipeline.spec import made_with
    from ..replication import plotting
    from ..replication.protocol import HELD_OUT
    from . import entering
    from .results import check_plays

    check_plays(options.plays)
    seed = secrets.randbelow(2**31) if options.seed is None else whole("--seed", options.seed, 0)
    if options.plot:
        plotting.check_figure_name(options.plot)
    entry = entering.read_entry(options.check)
    entering.check_recorded(options.data)  # before the work, not after it
    lines = len(entry["source"].splitlines())
    say(f"heavybandit: executing {entry['policy']}, {lines} lines of Python in {options.check}")
    others = {name: one for name, one in made_with().items() if entry["made_with"][name] != one}
    for name, one in others.items():
        print(f"made with {name} {entry['made_with'][name]}, run again with {one}: bits may differ")
    plays = float("inf") if options.all else options.plays
    found = entering.check(entry, options.data, seed, plays)
    for difference in found.differences:
        print(f"differs: {difference}")
    count = len(found.differences)
    scores = f", {found.scores} of {len(entry['scores'])} scores" if entry["scores"] else ""
    print(
        f"{found.runs} of {len(entry['runs'])} runs of {entry['policy']}, from {found.cells} of "
        f"{len(HELD_OUT)} cells{scores} and {found.shares} of {len(entry['same'])} shares of equal "
        f"arms simulated again: {count or 'no'} difference{'s' * (count != 1)}"
    )
    if not options.all:
        print(f"a sample drawn with --seed {seed}; --all runs everything again")
    if count:
        return DIFFERS
    _show(entry, options)
    return OK


def _enter(options: argparse.Namespace) -> int:
    from ..own.checking import check_policy
    from ..own.loading import FILE_AND_NAME, load
    from ..pipeline.store import Store, default_store
    from ..pipeline.sweep import sweep
    from ..pipeline.targets import check_target, naming
    from ..replication import plotting
    from . import entering
    from .results import check_workers

    filed = FILE_AND_NAME.fullmatch(options.policy)
    if not filed or filed["rest"] is not None:
        raise ValueError(f"policy must be path/to/file.py:ClassName, got {options.policy!r}")
    if options.plot:
        plotting.check_figure_name(options.plot)
    out = options.out or Path(f"{filed['name']}.board.json")
    check_target("--out", out)
    check_workers(options.workers)
    problems = check_policy(load(filed["file"], filed["name"]))
    if problems:
        raise ValueError(f"{options.policy} is no policy yet: {'; '.join(problems)}")
    entering.check_recorded(options.data)  # before the work, not after it
    store = Store(options.store or default_store())

    def carry_out(plan: Any) -> list[dict[str, Any]]:
        how = {"workers": options.workers, "dask": options.dask, "progress": not options.quiet}
        specs = plan.runs()
        there = [store.load(spec) for spec in specs]
        count = len(there) - there.count(None)
        if count and not options.quiet:
            print(f"{plan.name}: {count:,} of {len(specs):,} runs are in the store", flush=True)
        if None in there:
            sweep(plan, store, **how)
        return [found or store.load(spec) for found, spec in zip(there, specs, strict=True)]  # type: ignore[misc]

    own = entering.Own(str(Path(filed["file"]).absolute()), filed["name"])
    if not options.quiet:
        ahead, each = entering.plays_ahead(own), entering.seconds_per_play(own)
        minutes = ahead * each / options.workers / 60
        print(
            f"{ahead:,} plays are to be made, at {1e6 * each:,.0f} µs per play about {minutes:.1f} "
            f"minutes with --workers {options.workers}, less what is in the store; with Ctrl-C it "
            f"stops, and the same command goes on",
            flush=True,
        )
    entry = entering.enter(own, carry_out, options.data)
    with naming(out):
        out.write_text(json.dumps(entry, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _show(entry, options)
    print(f"the entry is in {out}; check it with: heavybandit board --check {out}")
    return OK


def _show(entry: dict[str, Any], options: argparse.Namespace) -> None:
    """The entry among the recorded ones, by group and mean cost; its own rows have an arrow."""
    from ..replication import leaderboard as board
    from ..replication import plotting
    from ..replication.board_tables import board_rows, draw_board
    from ..replication.showing import number
    from . import entering

    found = board.with_others(entering.costs(entry, options.data), entry, options.data)
    own, recorded = entering.same_arms(entry), board.flags(options.data)[1]
    group, unknown = "", bool(np.isnan(own).any())
    print(f"{'':<34} {'mean cost':>9}  {'minus tuned ridge':>17}  {'worst cell':>10}  frozen in")
    for row in board_rows(found, np.concatenate([recorded, own], axis=1)):
        if row["constants"] != group:
            group = row["constants"]
            print(group)
        mine = row["entry"].endswith(board.OWN)
        frozen = "?" if mine and unknown else row["cells frozen"]
        print(
            f"{'→' if mine else ' '} {row['entry']:<32} {row['mean cost']:>9.1f}  "
            f"{row['minus tuned ridge']:>17}  {row['worst cell']:>10.0f}  {frozen:>9}"
        )
    print(
        "costs in % of uniform play's, mean over cells; ± are 95 % limits for all entries "
        "together; frozen: cells in which at least 99 % of arms are the same if all payoffs are 0"
    )
    if unknown:
        print("?: it cannot be copied, or fails if all payoffs are 0")
    chosen = entry["entries"][-1]
    if chosen:
        told = ", ".join(f"{knob} = {number(value)}" for knob, value in chosen.items())
        print(f"tuned over {len(entry['scores'])} configurations: {told}")
    if options.plot:
        plotting.save(draw_board(found), options.plot)
        print(f"drawn in {options.plot}")
