"""What is done with results: `heavybandit sweep | verify | compare | notebooks | claims | list`.

Each command imports what it needs and no more: `list` should answer at once.
"""

from __future__ import annotations

import argparse
import os
import secrets
from pathlib import Path

from . import DIFFERS, INTERRUPTED, OK, SEVERAL

MOST_WORKERS = 8  # for each core: more wait for each other and for memory


def check_workers(workers: int) -> None:
    """Refuse a number of processes that can do no work, or none in time."""
    cores = os.cpu_count() or 1
    if not 1 <= workers <= MOST_WORKERS * cores:
        raise ValueError(
            f"--workers must be from 1 to {MOST_WORKERS * cores}, {MOST_WORKERS} for each of "
            f"{cores} cores, got {workers}"
        )


def check_plays(plays: float) -> None:
    """Refuse a number of plays for a sample that limits nothing, or is none."""
    if not plays >= 0:  # nan is neither
        raise ValueError(f"--plays must be at least 0, got {plays:g}")


def add_sweep(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("names", nargs="*", metavar="NAME", help="experiments; see heavybandit list")
    add("--all", action="store_true", help="all experiments")
    add("--store", help="finished runs (default build/store)")
    add("--data", default="data", help="where the text files go (default data)")
    add("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    add("--dask", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786")
    add("--shuffle", type=int, metavar="SEED", help="take the runs in a random order")
    add("--quiet", action="store_true", help="no progress")


def do_sweep(options: argparse.Namespace) -> int:
    """Fill the store, and write the result files from it."""
    from ..checks import whole
    from ..pipeline import tables
    from ..pipeline.progress import say
    from ..pipeline.spec import Together
    from ..pipeline.store import Store, default_store
    from ..pipeline.sweep import sweep
    from ..replication.catalogue import EXPERIMENTS, by_name

    names = list(EXPERIMENTS) if options.all else options.names
    if not names:
        raise ValueError(f"name an experiment ({', '.join(EXPERIMENTS)}) or give --all")
    check_workers(options.workers)
    if options.shuffle is not None:
        whole("--shuffle", options.shuffle, 0)
    together = Together(tuple(by_name(name) for name in names))
    store = Store(options.store or default_store())
    for one in together.experiments:  # before the work whose results could not be written
        tables.check_place(one, options.data)
    if not options.quiet:
        say(
            f"{together.name}: runs are kept in {store.folder.resolve()}, results go into "
            f"{Path(options.data).resolve()}"
        )
    try:
        summary = sweep(
            together,
            store,
            workers=options.workers,
            dask=options.dask,
            progress=not options.quiet,
            shuffle=options.shuffle,
        )
    except KeyboardInterrupt:
        runs = {spec.key: spec for spec in together.runs()}  # experiments may share some
        done = sum(store.load(spec) is not None for spec in runs.values())
        say(
            f"\nheavybandit: stopped. {done} of {len(runs)} runs of "
            f"{together.name} are finished and kept in {store.folder}; "
            f"the same command goes on from there."
        )
        return INTERRUPTED
    files = [tables.consolidate(one, store, options.data)[0] for one in together.experiments]
    elsewhere = f", {summary.elsewhere} by another process" if summary.elsewhere else ""
    where = str(files[0]) if len(files) == 1 else f"{options.data}: {', '.join(names)}"
    print(
        f"{together.name}: {summary.runs} runs, {summary.found} were there, "
        f"{summary.done} done now{elsewhere}; results in {where}, runs in {store.folder}"
    )
    return OK


def add_verify(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("names", nargs="*", metavar="NAME", help="experiments (default: all there)")
    add("--data", default="data", help="where the text files are (default data)")
    add("--all", action="store_true", help="every run, not a sample")
    add("--seed", type=int, help="of the sample (default: random, and printed)")
    add(
        "--plays",
        type=float,
        default=2e6,
        help="how many plays the sample may take beyond one run of each experiment (default 2e6)",
    )


def do_verify(options: argparse.Namespace) -> int:
    """Simulate stored results again."""
    from ..checks import whole
    from ..pipeline import tables
    from ..pipeline.store import StoreError
    from ..pipeline.verify import verify
    from ..replication.catalogue import by_name

    check_plays(options.plays)
    seed = secrets.randbelow(2**31) if options.seed is None else whole("--seed", options.seed, 0)
    for name in options.names:
        by_name(name)
    there = tables.consolidated(options.data)
    for name in options.names or ([] if there else [""]):
        if name not in there:
            raise StoreError(
                f"there are no results{f' of {name}' if name else ''} in the folder "
                f"{options.data!r} to verify; run this in the repository, name their folder with "
                f"--data, or make some with: heavybandit sweep {name or 'smoke'}"
            )
    names = options.names or there
    plays = float("inf") if options.all else options.plays
    check = verify(options.data, seed=seed, plays=plays, names=names)
    which = "all of them" if options.all else f"a sample drawn with --seed {seed}"
    for difference in check.differences:
        print(f"differs: {difference}")
    for difference in check.other_versions:
        print(f"made with other versions: {difference}")
    print(
        f"{check.runs} runs ({check.plays:.3g} plays) of {', '.join(names)} simulated again, "
        f"{which}: {len(check.differences) or 'no'} "
        f"difference{'s' * (len(check.differences) != 1)}"
    )
    return DIFFERS if check.differences else OK


def add_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("made", help="a folder of results")
    command.add_argument("committed", help="the folder to compare it with")


def do_compare(options: argparse.Namespace) -> int:
    """Compare two folders of results or of figures, file by file."""
    from ..pipeline import tables
    from ..pipeline.store import StoreError
    from ..replication.notebooks import differing_figures

    for folder in (options.made, options.committed):
        if not Path(folder).is_dir():
            raise ValueError(f"there is no folder {folder!r}")
    folders = options.made, options.committed
    compared = {".csv", ".json", ".png", ".svg"}
    if not any(file.suffix in compared for folder in folders for file in Path(folder).iterdir()):
        raise StoreError(f"neither {folders[0]!r} nor {folders[1]!r} has results or figures")
    found = [*tables.differences(*folders), *differing_figures(*folders)]
    print(*found or [f"nothing differs between {options.made} and {options.committed}"], sep="\n")
    return DIFFERS if found else OK


def add_notebooks(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--folder", default="notebooks", help="where they are (default notebooks)")
    add("--out", default="build/notebooks", help="(default build/notebooks)")
    add("--set", **SEVERAL, help="a parameter of every notebook")


def do_notebooks(options: argparse.Namespace) -> int:
    """Execute the numbered notebooks."""
    from ..replication.notebooks import execute_all
    from .contenders import read_settings

    count = execute_all(options.folder, options.out, read_settings(options.set, "--set"))
    print(f"{count} notebooks executed into {options.out}")
    return OK


def add_claims(command: argparse.ArgumentParser) -> None:
    command.add_argument("--data", default="data", help="where claims.json is (default data)")
    command.add_argument("--markdown", action="store_true", help="print the table of CLAIMS.md")
    for file, which in (("readme", "main entries"), ("claims", "entries")):
        words = f"renew the table of all {which} between FILE's markers"
        command.add_argument(f"--write-{file}", type=Path, metavar="FILE", help=words)


def do_claims(options: argparse.Namespace) -> int:
    """Show the ledger, or write it into a README."""
    from ..pipeline.store import StoreError
    from ..replication import claims
    from ..replication.ledger import Links, chosen, table, write

    path = Path(options.data) / "claims.json"
    try:
        entries = claims.read(options.data)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError):
        raise StoreError(f"{path} cannot be read as a list of claims") from None
    if not path.exists():
        raise StoreError(
            f"there is no {path}; run this in the repository, or name its folder with --data"
        )
    if options.write_readme:
        write(options.write_readme, chosen(entries))
    if options.write_claims:
        write(options.write_claims, entries)
    if options.markdown:
        print(table(entries, Links()), end="")
    elif not (options.write_readme or options.write_claims):
        shown = [(c.id, c.verdict, c.rests_on, c.where) for c in entries]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        for cells in shown:
            padded = (f"{x:<{w}}" for x, w in zip(cells, widths, strict=True))
            print("  ".join(padded).rstrip())
    return OK


def do_list(_: argparse.Namespace) -> int:
    """Print what the other commands can be given by name."""
    from ..engine import POLICIES
    from ..noise import SECTION6
    from ..pipeline.recipes import NOISES, WORLDS
    from ..replication.catalogue import EXPERIMENTS

    print("experiments")
    width = max(map(len, EXPERIMENTS))
    for e in EXPERIMENTS.values():
        runs, plays = e.size()
        print(f"  {e.name:<{width}} {e.what} ({runs} runs, {plays:.3g} plays)")
    for kind, names in (("policies", POLICIES), ("worlds", WORLDS)):
        print(f"{kind}\n  {', '.join(names)}")
    print(f"noises\n  {', '.join([*SECTION6, *NOISES])}")
    return OK
