"""The command line: `heavybandit run | template | sweep | verify | compare | notebooks | …`.

Exit codes: 0 all is well; 1 something was compared and differs; 2 the command cannot be carried out
as given; 3 the store, the data, the cluster or a notebook failed; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import difflib
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from .. import __version__
from ..engine import POLICIES
from ..noise import SECTION6
from ..pipeline import tables as results
from ..pipeline.recipes import NOISES, WORLDS
from ..pipeline.spec import Together, plays_of
from ..pipeline.store import Store, StoreError, default_store
from ..pipeline.sweep import SweepError, sweep
from ..pipeline.verify import verify
from ..replication import claims
from ..replication.catalogue import EXPERIMENTS, by_name
from ..replication.ledger import Links, table, write_readme
from ..replication.notebooks import NotebookError
from . import run as running
from .contenders import read_settings

TEMPLATES = {
    "policy": "{}:MyPolicy --beside LinUCB,GreedyRidge --seeds 5 --plot regret.png",
    "noise": "GreedyRidge --noise {}:MyNoise --beside LinUCB,CRT --seeds 5 --plot regret.png",
    "world": "GreedyRidge --world {}:MyWorld --beside LinUCB,CRT --seeds 5 --plot regret.png",
}
"""What there are starting files for, and how to run what they hold."""

OK, DIFFERS, CANNOT, UNUSABLE, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; returns the exit code."""
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        _refuse(unknown[0], options.said_to)
    try:
        code: int = options.do(options)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("\nheavybandit: stopped.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (StoreError, SweepError, NotebookError) as error:
        _say(error)
        return UNUSABLE
    except (ValueError, TypeError, RuntimeError, OSError) as error:
        _say(error)
        return CANNOT


def _refuse(word: str, command: argparse.ArgumentParser) -> NoReturn:
    """Say, with the usage of that command, that it does not know a word it was given."""
    if not word.startswith("-"):
        command.error(f"there is no place for {word!r}")
    option = word.partition("=")[0]
    options = [name for action in command._actions for name in action.option_strings]
    near = difflib.get_close_matches(option, options, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(options)}"
    command.error(f"there is no option {option!r}{hint}")


def _say(error: Exception) -> None:
    """An error in one line, whatever its message looks like."""
    print(f"heavybandit: {' '.join(str(error).split())}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heavybandit",
        description="Linear bandits with heavy-tailed payoffs: the algorithms of Xue et al. "
        "(IJCAI 2020) and their experiments.",
        epilog="exit codes: 0 well, 1 something differs, 2 cannot be done as given, "
        "3 store, data, cluster or notebook failed, 130 stopped",
    )
    parser.add_argument("--version", action="version", version=f"heavybandit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, do: Callable[..., int], what: str, example: str) -> Any:
        sub = commands.add_parser(
            name,
            help=what,
            description=what,
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(do=do, said_to=sub)
        return sub

    running.add_arguments(
        command(
            "run",
            running.run,
            "Simulate policies in one world and print their regret beside uniform play's.",
            "heavybandit run SupBTC --noise pareto --horizon 100000 --set width_scale=0.05 "
            "--beside LinUCB,GreedyRidge --seeds 5 --plot regret.png",
        )
    )

    template = command(
        "template",
        _template,
        "Write a file to start from: a policy, a noise or a world of your own.",
        "heavybandit template policy mine.py",
    )
    template.add_argument("kind", choices=TEMPLATES, metavar="KIND", help=", ".join(TEMPLATES))
    template.add_argument("file", nargs="?", type=Path, metavar="FILE", help="(default my_KIND.py)")

    go = command(
        "sweep",
        _sweep,
        "Simulate every run of an experiment that is not finished yet, and renew its results.",
        "heavybandit sweep section6 --workers 2",
    )
    go.add_argument("names", nargs="*", metavar="NAME", help="experiments; see heavybandit list")
    go.add_argument("--all", action="store_true", help="all experiments")
    go.add_argument("--store", default=None, help="finished runs (default build/store)")
    go.add_argument("--data", default="data", help="where the text files go (default data)")
    go.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)"
    )
    go.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786")
    go.add_argument("--shuffle", type=int, metavar="SEED", help="take the runs in a random order")
    go.add_argument("--quiet", action="store_true", help="no progress")

    check = command(
        "verify",
        _verify,
        "Simulate stored results again, a random sample or all, and demand equality.",
        "heavybandit verify section6 --plays 5000000",
    )
    check.add_argument("names", nargs="*", metavar="NAME", help="experiments (default: all there)")
    check.add_argument("--data", default="data", help="where the text files are (default data)")
    check.add_argument("--all", action="store_true", help="every run, not a sample")
    check.add_argument("--seed", type=int, help="of the sample (default: random, and printed)")
    check.add_argument(
        "--plays",
        type=float,
        default=2e6,
        help="how many plays the sample may take beyond one run of each experiment (default 2e6)",
    )

    compare = command(
        "compare",
        _compare,
        "Say which result files of two folders differ.",
        "heavybandit compare build/reproduce/data data",
    )
    compare.add_argument("made", help="a folder of results")
    compare.add_argument("committed", help="the folder to compare it with")

    books = command(
        "notebooks",
        _notebooks,
        "Execute the numbered notebooks in order, into a folder; stops at the first that fails.",
        "heavybandit notebooks --out build/notebooks",
    )
    books.add_argument("--folder", default="notebooks", help="where they are (default notebooks)")
    books.add_argument("--out", default="build/notebooks", help="(default build/notebooks)")
    books.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of every notebook",
    )

    ledger = command(
        "claims",
        _claims,
        "Show what came of each statement of the paper.",
        "heavybandit claims",
    )
    ledger.add_argument("--data", default="data", help="where claims.json is (default data)")
    how = ledger.add_mutually_exclusive_group()
    how.add_argument("--markdown", action="store_true", help="print the table of README.md")
    how.add_argument(
        "--write-readme", type=Path, metavar="FILE", help="renew the table between FILE's markers"
    )

    command("list", _list, "List experiments, policies, worlds and noises.", "heavybandit list")
    return parser


def _template(options: argparse.Namespace) -> int:
    file = options.file or Path(f"my_{options.kind}.py")
    if file.suffix != ".py":
        raise ValueError(f"a template's file must end in .py; got {str(file)!r}")
    source = Path(__file__).parents[1] / "own" / "templates" / f"{options.kind}.py"
    try:
        with file.open("x", encoding="utf-8") as new:  # refuses to overwrite
            new.write(source.read_text(encoding="utf-8").replace("my_noise.py", file.name))
    except FileExistsError:
        raise ValueError(f"{file} is there already, and is left as it is") from None
    except FileNotFoundError:
        raise ValueError(f"there is no folder {str(file.parent)!r} to write {file} in") from None
    print(f"written: {file}. Edit it, then try it beside others:")
    print(f"  heavybandit run {TEMPLATES[options.kind].format(file)}")
    return OK


def _sweep(options: argparse.Namespace) -> int:
    names = list(EXPERIMENTS) if options.all else options.names
    if not names:
        raise ValueError(f"name an experiment ({', '.join(EXPERIMENTS)}) or give --all")
    if options.workers < 1:
        raise ValueError(f"--workers must be at least 1, got {options.workers}")
    together = Together(tuple(by_name(name) for name in names))
    store = Store(options.store or default_store())
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
        done = sum(store.load(spec) is not None for spec in together.runs())
        print(
            f"\nheavybandit: stopped. {done} of {len(together.runs())} runs of "
            f"{together.name} are finished and kept in {store.folder}; "
            f"the same command goes on from there.",
            file=sys.stderr,
        )
        return INTERRUPTED
    files = [results.consolidate(one, store, options.data)[0] for one in together.experiments]
    elsewhere = f", {summary.elsewhere} by another process" if summary.elsewhere else ""
    where = str(files[0]) if len(files) == 1 else f"{options.data}: {', '.join(names)}"
    print(
        f"{together.name}: {summary.runs} runs, {summary.found} were there, "
        f"{summary.done} done now{elsewhere}; results in {where}"
    )
    return OK


def _verify(options: argparse.Namespace) -> int:
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    for name in options.names:
        by_name(name)
    if not options.names and not Path(options.data).is_dir():
        raise StoreError(f"there is no folder {options.data!r} with results to verify")
    names = options.names or results.consolidated(options.data)
    if not names:
        print(f"nothing to verify: no results in {options.data}")
        return OK
    plays = float("inf") if options.all else options.plays
    check = verify(options.data, seed=seed, plays=plays, names=names)
    which = "all of them" if options.all else f"a sample drawn with --seed {seed}"
    for difference in check.differences:
        print(f"differs: {difference}")
    print(
        f"{check.runs} runs ({check.plays:.3g} plays) of {', '.join(names)} simulated again, "
        f"{which}: {len(check.differences) or 'no'} "
        f"difference{'s' * (len(check.differences) != 1)}"
    )
    return DIFFERS if check.differences else OK


def _compare(options: argparse.Namespace) -> int:
    for folder in (options.made, options.committed):
        if not Path(folder).is_dir():
            raise ValueError(f"there is no folder {folder!r}")
    found = results.differences(options.made, options.committed)
    for difference in found:
        print(difference)
    if not found:
        print(f"nothing differs between {options.made} and {options.committed}")
    return DIFFERS if found else OK


def _notebooks(options: argparse.Namespace) -> int:
    from ..replication.notebooks import execute_all

    count = execute_all(options.folder, options.out, read_settings(options.set, "--set"))
    print(f"{count} notebooks executed into {options.out}" if count else "there are no notebooks")
    return OK


def _claims(options: argparse.Namespace) -> int:
    path = Path(options.data) / "claims.json"
    try:
        entries = claims.read(options.data)
    except (ValueError, TypeError):
        raise StoreError(f"{path} cannot be read as a list of claims") from None
    if not path.exists():
        raise StoreError(
            f"there is no {path}; run this in the repository, or name its folder with --data"
        )
    if options.write_readme:
        write_readme(options.write_readme, entries)
        return OK
    if options.markdown:
        print(table(entries, Links()), end="")
        return OK
    widths = [max(len(getattr(c, name)) for c in entries) for name in ("id", "verdict")]
    for c in entries:
        print(f"{c.id:<{widths[0]}}  {c.verdict:<{widths[1]}}  {c.where}")
    return OK


def _list(_: argparse.Namespace) -> int:
    print("experiments")
    width = max(map(len, EXPERIMENTS))
    for e in EXPERIMENTS.values():
        runs = e.runs()
        print(f"  {e.name:<{width}} {e.what} ({len(runs)} runs, {plays_of(runs):.3g} plays)")
    for kind, names in (("policies", POLICIES), ("worlds", WORLDS)):
        print(f"{kind}\n  {', '.join(names)}")
    print(f"noises\n  {', '.join([*SECTION6, *NOISES])}")
    return OK
