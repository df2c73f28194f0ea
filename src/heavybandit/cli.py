"""The command line: `heavybandit run | sweep | verify | compare | notebooks | claims | list`.

Exit codes: 0 all is well; 1 something was compared and differs; 2 the command cannot be carried out
as given; 3 the store, the data, the cluster or a notebook failed; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import os
import secrets
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__, claims, results
from .catalogue import EXPERIMENTS, by_name
from .experiments import NOISES, POLICIES, WORLDS, Recipe, Together, recipe, with_bound
from .ledger import Links, table, write_readme
from .noise import SECTION6
from .notebooks import NotebookError
from .plotting import check_figure_name, regret_figure, save
from .simulate import Run, simulate
from .store import Store, StoreError
from .sweep import SweepError, plays_of, sweep

OK, DIFFERS, CANNOT, UNUSABLE, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; returns the exit code."""
    options = _parser().parse_args(arguments)
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
        sub.set_defaults(do=do)
        return sub

    run = command(
        "run",
        _run,
        "Simulate one policy in one world and print its regret beside uniform play's.",
        "heavybandit run SupBTC --noise pareto --horizon 100000 --set width_scale=0.05 "
        "--seeds 5 --plot regret.png",
    )
    run.add_argument(
        "policy", help=f"one of {', '.join(POLICIES)}, or path/to/file.py:ClassName for your own"
    )
    run.add_argument("--world", default="section6", help=f"one of {', '.join(WORLDS)}")
    run.add_argument(
        "--noise",
        help=f"{', '.join(SECTION6)}, or a family with parameters such as "
        "SymmetricPareto:shape=1.5,scale=0.3 (default: student-t)",
    )
    run.add_argument("--horizon", type=_plays, default=10_000, help="plays (default 10000)")
    run.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    run.add_argument("--seeds", type=int, default=1, help="how many seeds (default 1)")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the policy; v may be 'printed' or 'exact' (default: printed in "
        "Section 6's noises, else exact)",
    )
    run.add_argument(
        "--world-set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the world, such as n_arms=4",
    )
    run.add_argument("--plot", type=Path, metavar="FILE", help="draw the curves: .png, .svg, .pdf")

    go = command(
        "sweep",
        _sweep,
        "Simulate every run of an experiment that is not finished yet, and renew its results.",
        "heavybandit sweep section6 --workers 2",
    )
    go.add_argument("names", nargs="*", metavar="NAME", help="experiments; see heavybandit list")
    go.add_argument("--all", action="store_true", help="all experiments")
    go.add_argument("--store", default="build/store", help="finished runs (default build/store)")
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


def _plays(text: str) -> int:
    """A whole number of plays; 1e6 is one too."""
    try:
        value = float(text)
        if value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"a whole number of plays is needed, got {text!r}")


def _settings(pairs: Sequence[str], option: str) -> dict[str, Any]:
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


def _noise(text: str) -> str | Recipe:
    family, colon, rest = text.partition(":")
    if family not in (*SECTION6, *NOISES) or (colon and family not in NOISES):
        raise ValueError(
            f"there is no noise {family!r}; there are {', '.join([*SECTION6, *NOISES])}"
        )
    if family in SECTION6:
        return family
    params = _settings(rest.split(","), "--noise") if colon else {}
    _check_settings(family, NOISES[family], params)
    return recipe(family, **params)


def _own_policy(text: str) -> Callable[..., Any]:
    """The class or function NAME of path/to/file.py:NAME."""
    path, _, name = text.rpartition(":")
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"there is no file {path!r} to take the policy {name!r} from")
    label = f"heavybandit_policy_{file.stem}"  # may be called like a module that is in use
    spec = importlib.util.spec_from_file_location(label, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[label] = module
    # Its neighbours can be imported, but last: a json.py among them must not replace the library.
    sys.path.append(str(file.absolute().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    build: Callable[..., Any] | None = getattr(module, name, None)
    if build is None:
        own = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == label]
        has = f"it has {', '.join(own)}" if own else "it defines no class"
        raise ValueError(f"{path} has no {name!r}; {has}")
    return build


def _run(options: argparse.Namespace) -> int:
    params = _settings(options.set, "--set")
    world_params = _settings(options.world_set, "--world-set")
    if options.world not in WORLDS:
        raise ValueError(f"there is no world {options.world!r}; there are {', '.join(WORLDS)}")
    if options.world == "lower_bound":
        world_params = {
            "dim": 9,
            "n_arms": 4,
            "eps": 1.0,
            "horizon": options.horizon,
        } | world_params
        if options.noise:
            raise ValueError("--noise does not go with lower_bound, which has its own payoffs")
    else:
        world_params["noise"] = _noise(options.noise or "student-t")
    _check_settings(options.world, WORLDS[options.world], world_params)
    world = recipe(options.world, **world_params).build(WORLDS)
    shape = {"horizon": options.horizon, "n_arms": world.n_arms, "dim": world.dim}
    if ":" in options.policy:
        build = _own_policy(options.policy)
    else:
        if options.policy.endswith(".py"):
            raise ValueError(f"name the class too: {options.policy}:ClassName")
        if options.policy not in POLICIES:
            raise ValueError(
                f"there is no policy {options.policy!r}; there are {', '.join(POLICIES)}; "
                f"one of your own is named path/to/file.py:ClassName"
            )
        if options.policy not in ("Uniform", "GreedyRidge", "LinUCB", "Blind"):
            printed = getattr(world, "v_raw", None) is not None
            params.setdefault("v", "printed" if printed else "exact")
        params = dict(with_bound(recipe(options.policy, **params), world).params)
        build = POLICIES[options.policy]
        _check_settings(options.policy, build, params)
    if options.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {options.seeds}")
    if options.plot:
        check_figure_name(options.plot)  # before the work, not after it
    runs: list[Run] = []
    uniform: list[Run] = []
    for seed in range(options.seed, options.seed + options.seeds):
        runs.append(_one_run(options.policy, build, {**shape, **params}, world, seed))
        control = POLICIES["Uniform"](**shape, seed=seed)
        uniform.append(simulate(control, world, seed, checkpoints=[*map(int, runs[-1].plays)]))
    _table(runs, uniform)
    if options.plot:
        spread = f", {len(runs)} seeds: median and range" if len(runs) > 1 else ""
        title = f"{runs[0].policy} in {runs[0].world}{spread}"
        save(regret_figure([runs, uniform], title), options.plot)
        print(f"drawn in {options.plot}")
    return OK


def _one_run(
    name: str, build: Callable[..., Any], arguments: dict[str, Any], world: Any, seed: int
) -> Run:
    progress = sys.stderr.isatty()
    if name in POLICIES:
        policy = build(**arguments, seed=seed)
        return simulate(policy, world, seed, progress=progress)
    try:
        policy = build(**arguments)
        for member in ("plays", "rounds"):
            if not hasattr(policy, member):
                raise ValueError(f"it must set {member}, a whole number")
        if policy.plays * policy.rounds > arguments["horizon"]:
            raise ValueError(
                f"plays * rounds must be at most horizon={arguments['horizon']}, "
                f"they are {policy.plays} * {policy.rounds}"
            )
        return simulate(policy, world, seed, progress=progress)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        raise ValueError(f"{name} failed: {type(error).__name__}: {error} ({where})") from error


def _check_settings(name: str, build: Callable[..., Any], params: dict[str, Any]) -> None:
    """Refuse a parameter that a policy, world or noise does not know, with those it does."""
    known = set(inspect.signature(build).parameters)
    given_otherwise = {"horizon", "seed"} | ({"n_arms", "dim"} if name in POLICIES else set())
    for param in params:
        if param not in known:
            own = sorted(known - given_otherwise)
            has = f"it has {', '.join(own)}" if own else "it has none"
            raise ValueError(f"{name} has no parameter {param!r}; {has}")


def _table(runs: list[Run], uniform: list[Run]) -> None:
    """Regret at ten checkpoints: the mean over seeds, its range, and uniform play's mean."""
    seeds = f"mean of {len(runs)} seeds" if len(runs) > 1 else f"seed {runs[0].seed}"
    print(f"{runs[0].policy} in {runs[0].world}: pseudo-regret, {seeds}")
    spread = f" {'lowest':>14} {'highest':>14}" if len(runs) > 1 else ""
    print(f"{'plays':>12} {'regret':>14} {'per play':>10}{spread} {'uniform':>14}")
    mine = np.array([run.curve for run in runs])
    control = np.mean([run.curve for run in uniform], axis=0)
    points = len(runs[0].plays)
    for i in sorted({round((k + 1) * points / 10) - 1 for k in range(10)} - {-1}):
        plays, mean = runs[0].plays[i], mine[:, i].mean()
        low, high = mine[:, i].min(), mine[:, i].max()
        spread = f" {low:>14.2f} {high:>14.2f}" if len(runs) > 1 else ""
        print(f"{plays:>12} {mean:>14.2f} {mean / plays:>10.4f}{spread} {control[i]:>14.2f}")


def _sweep(options: argparse.Namespace) -> int:
    names = list(EXPERIMENTS) if options.all else options.names
    if not names:
        raise ValueError(f"name an experiment ({', '.join(EXPERIMENTS)}) or give --all")
    if options.workers < 1:
        raise ValueError(f"--workers must be at least 1, got {options.workers}")
    together = Together(tuple(by_name(name) for name in names))
    store = Store(options.store)
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
            f"{together.name} are finished and kept in {options.store}; "
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
    check = results.verify(options.data, seed=seed, plays=plays, names=names)
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
    from .notebooks import execute_all

    count = execute_all(options.folder, options.out, _settings(options.set, "--set"))
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
