"""`heavybandit run`: policies side by side in one world, on the same seeds, contexts and noise."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..counterfactual import Counterfactual, check_shown, counterfactual
from ..engine import POLICIES
from ..instances import OwnWorld
from ..noise import SECTION6, OwnNoise, as_noise
from ..own.checking import check_noise, unrepeatable, world_problems
from ..own.loading import FILE_AND_NAME, arguments_of, files_of, load, place, told
from ..pipeline.interrupts import check
from ..pipeline.recipes import NOISES, WORLDS, Recipe, read_noise, recipe
from ..pipeline.targets import check_target, naming
from ..policy import SHOWN
from ..simulate import Options, Run, simulate
from . import SEVERAL
from .contenders import Contender, bounded, check_settings, contenders, read_settings, unknown

TO_EACH_SIDE = 0.975  # of the 95 % intervals in the table


def add_run(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "policy",
        help=f"one of {', '.join(POLICIES)}, or path/to/file.py:ClassName for your own; "
        f"settings may follow: CRT:width_scale=0.003,eps=0.5",
    )
    add(
        "--beside",
        action="append",
        default=[],
        metavar="POLICY,POLICY,...",
        help="further policies, written in the same way, on the same seeds, contexts and noise",
    )
    add(
        "--world",
        default="section6",
        help=f"one of {', '.join(WORLDS)}, or path/to/file.py:ClassName for your own",
    )
    add(
        "--noise",
        help=f"{', '.join(SECTION6)}; a family with settings such as "
        "SymmetricPareto:shape=1.5,scale=0.3, or of another noise, such as "
        "'Units(noise=StudentT(df=2.5), factor=10)'; or path/to/file.py:ClassName for your own, "
        "with settings or without (default: student-t)",
    )
    add("--horizon", type=plays, default=10_000, help="plays (default 10000)")
    add("--seed", type=int, default=0, help="the first seed (default 0)")
    add("--seeds", type=int, default=1, help="how many seeds (default 1)")
    add(
        "--set",
        **SEVERAL,
        help="a setting of the first policy; v may be 'printed' or 'exact' (default: printed in "
        "Section 6's noises, else exact)",
    )
    add("--world-set", **SEVERAL, help="a parameter of the world, such as n_arms=4")
    add(
        "--counterfactual",
        choices=SHOWN,
        help="let copies of the policies play beside them that are shown payoffs of 0, or noise "
        "alone, and print in how many rounds both choose the same arm",
    )
    add("--plot", type=Path, metavar="FILE", help="draw the curves: .png, .svg, .pdf")
    add("--out", type=Path, metavar="FILE", help="save the curves: .csv, and beside it the table")


def plays(text: str) -> int:
    """A whole number of plays; 1e6 is one too."""
    with suppress(ValueError, OverflowError):
        if float(text).is_integer():
            return int(float(text))
    raise argparse.ArgumentTypeError(f"a whole number of plays is needed, got {text!r}")


def own_noise(path: str, name: str, params: dict[str, Any]) -> Any:
    """A noise of the reader's, which must pass its check: all policies meet the same draws."""
    build = load(path, name)
    check_settings(name, build, params)
    problems = check_noise(build, **params)
    if problems:
        raise ValueError(f"{path}:{name} is no noise yet: {'; '.join(problems)}")
    settings = ", ".join(f"{key}={value}" for key, value in params.items())
    law = as_noise(build(**params))
    called = f"{name}({settings})" if settings else ""
    return replace(law, called=called) if isinstance(law, OwnNoise) else law


def _noise(text: str | None) -> Any:
    if text is None:
        return "student-t"
    if not text.strip():  # perhaps of a variable of the shell that is not set
        raise ValueError("--noise is empty: name a noise, or leave it out for student-t")
    filed = FILE_AND_NAME.fullmatch(text)
    if filed:
        pairs = filed["rest"].split(",") if filed["rest"] is not None else []
        return own_noise(filed["file"], filed["name"], read_settings(pairs, "--noise"))
    if "(" in text:
        return read_noise(text)
    family, colon, rest = text.partition(":")
    if family not in (*SECTION6, *NOISES) or (colon and family not in NOISES):
        raise unknown("noise", family, (*SECTION6, *NOISES))
    if family in SECTION6:
        return family
    params = read_settings(rest.split(","), "--noise") if colon else {}
    check_settings(family, NOISES[family], params)
    return recipe(family, **params)


def _world(options: argparse.Namespace) -> Any:
    params = read_settings(options.world_set, "--world-set")
    filed = FILE_AND_NAME.fullmatch(options.world)
    if filed:
        return _own_world(filed, options, params)
    if options.world not in WORLDS:
        raise unknown("world", options.world, WORLDS)
    if options.world == "lower_bound":
        params = {"dim": 9, "n_arms": 4, "eps": 1.0, "horizon": options.horizon} | params
        if options.noise is not None:
            raise ValueError("--noise does not go with lower_bound, which has its own payoffs")
    else:
        params["noise"] = _noise(options.noise)
    check_settings(options.world, WORLDS[options.world], params, ("horizon",))
    return recipe(options.world, **params).build(WORLDS)


def _own_world(
    filed: re.Match[str], options: argparse.Namespace, params: dict[str, Any]
) -> OwnWorld:
    """A world of the reader's, which gets the noise and the horizon if it has such arguments."""
    build, called = load(filed["file"], filed["name"]), f"{filed['file']}:{filed['name']}"
    if filed["rest"] is not None:
        params = read_settings(filed["rest"].split(","), "--world") | params
    known = arguments_of(build)
    if "noise" in known:
        named = _noise(options.noise)
        named = named.build(NOISES) if isinstance(named, Recipe) else named
        params["noise"] = SECTION6[named] if isinstance(named, str) else named
    elif options.noise is not None:
        raise ValueError(f"--noise needs a world with an argument noise; {called} has none")
    if "horizon" in known:
        params.setdefault("horizon", options.horizon)
    check_settings(called, build, params, ("noise", "horizon"))
    # A log of contexts need not be longer than the run.
    problems = world_problems(build, params, min(1_000, max(1, options.horizon)))
    if problems:
        raise ValueError(f"{called} is no world yet: {'; '.join(problems)}")
    own = build(**params)
    return OwnWorld(own, as_noise(own.noise))


def do_run(options: argparse.Namespace) -> int:
    """Carry out the command; returns the exit code 0, or raises."""
    if options.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {options.seeds}")
    if options.plot:
        from ..replication import plotting

        plotting.check_figure_name(options.plot)  # before the work, not after it
    table = _table_file(options.out) if options.out else None
    named = contenders(options.policy, read_settings(options.set, "--set"), options.beside)
    world = _world(options)
    asked = options.counterfactual and check_shown(
        "--counterfactual", options.counterfactual, world
    )
    together = [bounded(one, world) for one in named]
    if "Uniform" not in [one.text for one in together]:  # the control of every table and figure
        together.append(Contender("Uniform", POLICIES["Uniform"], {}, "Uniform"))
    shape = {"horizon": options.horizon, "n_arms": world.n_arms, "dim": world.dim}
    runs: dict[str, list[Run]] = {one.label: [] for one in together}
    copies: dict[str, list[Counterfactual]] = {one.label: [] for one in together if asked}
    drawing = [type(getattr(one, "own", one)) for one in (world, world.noise)]
    files = set().union(*map(files_of, (*(one.build for one in together), *drawing)))
    for seed in range(options.seed, options.seed + options.seeds):
        policies = []
        for one in together:
            with _ToldApart(one, files):
                policies.append(one.built(shape, seed))
        for one in together if seed == options.seed else ():
            with _ToldApart(one, files):
                _check_repeatable(one, shape, world, seed)
        points: int | list[int] = 200
        for one, policy in zip(together, policies, strict=True):
            check()
            with _ToldApart(one, files):
                how: Options = {"checkpoints": points, "progress": sys.stderr.isatty()}
                if asked:
                    copies[one.label].append(counterfactual(policy, world, seed, asked, **how))
                    made = copies[one.label][-1].run
                else:
                    made = simulate(policy, world, seed, **how)
            runs[one.label].append(replace(made, policy=one.label))
            if not options.beside:
                points = [*map(int, made.plays)]  # so that the two columns can be compared
    results = list(runs.values())
    files_to_write: dict[str, Callable[[], None]] = {}  # what is said of each, and how it is made
    if options.plot:
        seeds = f", {options.seeds} seeds: median and range" if options.seeds > 1 else ""
        who = "regret" if options.beside else together[0].label
        title = f"{who} in {results[0][0].world}{seeds}"
        files_to_write[f"drawn in {options.plot}"] = lambda: plotting.save(
            plotting.regret_figure(results, title), options.plot
        )
    if table:
        said = f"curves in {options.out}, their ends in {table}"
        files_to_write[said] = lambda: _save(results, options.out, table, copies)
    # Files first: whoever reads what is printed may stop reading.
    failures = _written(files_to_write)
    try:
        if options.beside:
            _ends(results, together, copies)
        else:
            _table(runs[together[0].label], runs["Uniform"], copies.get(together[0].label, []))
        for said in files_to_write:
            print(said)
        sys.stdout.flush()  # what was found comes before what went wrong
    except BrokenPipeError:
        if not failures:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads it any more
    if failures:
        raise OSError("; ".join(failures))
    return 0


def _written(files: dict[str, Callable[[], None]]) -> list[str]:
    """Write files, and leave out those that fail; why they do. Results can be printed without."""
    failures = []
    for said, write in list(files.items()):
        try:
            write()
        except Exception as error:  # whatever it is: hours of work may be behind the results
            failures.append(str(error) or type(error).__name__)
            del files[said]
    return failures


def _check_repeatable(one: Contender, shape: dict[str, int], world: Any, seed: int) -> None:
    said = one.own and unrepeatable(lambda: one.built(shape, seed), world, 100, seed)
    if said:
        hint = ", which __init__ gets if it has an argument seed" * said.endswith("a seed")
        raise ValueError(f"{said}{hint}")


@dataclass
class _ToldApart:
    """A failure in code of the reader's, whatever it is, is told with its file and line."""

    one: Contender
    files: set[str]

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None or isinstance(error, KeyboardInterrupt):
            return
        if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
            error = error.__cause__  # Python makes the one of the other where a generator is left
        if self.one.own or place(error, self.files):
            raise ValueError(f"{self.one.text} failed: {told(error, self.files)}") from error


def _seeds(runs: list[Run]) -> str:
    return f"mean of {len(runs)} seeds" if len(runs) > 1 else f"seed {runs[0].seed}"


def _table(runs: list[Run], uniform: list[Run], copies: list[Counterfactual]) -> None:
    """Regret at ten checkpoints: the mean over seeds, its range, and uniform play's mean.

    With copies that were shown other payoffs, also the share of rounds with the same arm until
    then.
    """
    print(f"{runs[0].policy} in {runs[0].world}: regret, {_seeds(runs)}")
    spread = f" {'lowest':>14} {'highest':>14}" if len(runs) > 1 else ""
    alike = f" {'same arm':>9}" if copies else ""
    print(f"{'plays':>12} {'regret':>14} {'per play':>10}{spread} {'uniform':>14}{alike}")
    mine = np.array([run.curve for run in runs])
    control = np.mean([run.curve for run in uniform], axis=0)
    points = len(runs[0].plays)
    for i in sorted({round((k + 1) * points / 10) - 1 for k in range(10)} - {-1}):
        plays, mean = runs[0].plays[i], mine[:, i].mean()
        low, high = mine[:, i].min(), mine[:, i].max()
        spread = f" {low:>14.2f} {high:>14.2f}" if len(runs) > 1 else ""
        if copies:
            until = plays * copies[0].rounds // runs[0].plays[-1]
            alike = f" {_percent(np.mean([one.same[i] for one in copies]) / until):>9}"
        line = f"{plays:>12} {mean:>14.2f} {mean / plays:>10.4f}{spread} {control[i]:>14.2f}"
        print(f"{line}{alike}")
    if copies:
        print(_alike(copies))


def _percent(share: float) -> str:
    """Two decimals; 100 % only if nothing is missing."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.99):.2f} %"


def _share(copies: list[Counterfactual]) -> float:
    """The mean share of rounds in which a policy and its copy chose the same arm."""
    return float(np.mean([one.share for one in copies]))


SHOWN_IN_WORDS = {"zero": "payoffs of 0", "noise": "noise alone"}


def _alike(copies: list[Counterfactual]) -> str:
    """In how many rounds a policy and its copy chose the same arm, in a sentence, with stages."""
    rounds, same = sum(one.rounds for one in copies), sum(int(one.same[-1]) for one in copies)
    shown = SHOWN_IN_WORDS[copies[0].shown]
    said = f"shown {shown}, it chooses the same arm in {_percent(same / rounds)} of rounds"
    deepest = max(len(one.rounds_by_stage) for one in copies)
    if deepest == 1:
        return said
    by_stage = np.zeros((2, deepest), dtype=np.int64)
    for one in copies:
        n = len(one.rounds_by_stage)
        by_stage[:, :n] += one.rounds_by_stage, one.same_by_stage
    shares = [f"stage {s}: {_percent(k / n)}" for s, (n, k) in enumerate(by_stage.T, 1) if n]
    return f"{said} ({', '.join(shares)})"


def _table_file(out: Path) -> Path:
    """Where the table goes if the curves go into this file."""
    if out.suffix != ".csv":
        raise ValueError(f"--out must end in .csv, got {str(out)!r}")
    table = out.with_suffix(".table.csv")
    for file in (out, table):
        check_target("--out", file, replaced=True)
    if table.exists() and not out.exists():
        raise ValueError(
            f"--out {out} would also write {str(table)!r}, which is there already; "
            f"move that file, or name another --out"
        )
    return table


def _save(
    together: list[list[Run]], out: Path, table: Path, copies: dict[str, list[Counterfactual]]
) -> None:
    """The curves, one row per policy, seed and checkpoint, and the table of their ends."""
    from ..pipeline.tables import csv_text, write_if_new

    curves = [
        (run.policy, run.seed, plays, regret)
        for runs in together
        for run in runs
        for plays, regret in zip(run.plays, run.curve, strict=True)
    ]
    with naming(out):
        write_if_new(out, csv_text(("policy", "seed", "plays", "regret"), curves))
    columns = ["policy", "plays", "regret", "per_play", "more_per_play", "limit"]
    rows: list[tuple[Any, ...]] = list(_rows(together))
    if copies:
        columns.append("same_arm")
        rows = [(*row, _share(copies[row[0]])) for row in rows]
    with naming(table):
        write_if_new(table, csv_text(columns, rows))


def _rows(together: list[list[Run]]) -> Iterator[tuple[str, int, float, float, float, float]]:
    """Of each policy: plays, mean regret, that per play, how much more than the first, its limit.

    Differences are taken seed by seed and per play made, which for some policies are a few less
    than the horizon; their 95 % interval is Student's.
    """
    from ..replication.statistics import mean_limit

    base = np.array([run.regret / run.plays[-1] for run in together[0]])
    for runs in together:
        each = np.array([run.regret / run.plays[-1] for run in runs])
        gaps, made = each - base, int(runs[0].plays[-1])
        limit = mean_limit(gaps, TO_EACH_SIDE) if len(gaps) > 1 else float("nan")
        regret = float(np.mean([run.regret for run in runs]))
        yield runs[0].policy, made, regret, float(each.mean()), float(gaps.mean()), float(limit)


def _ends(
    together: list[list[Run]], told: list[Contender], copies: dict[str, list[Counterfactual]]
) -> None:
    """Regret at the end, a policy a line, and how much more a play costs than the first one's.

    With copies that were shown other payoffs, also the share of rounds with the same arm.
    """
    first = together[0]
    print(f"{len(together)} policies in {first[0].world}: regret, {_seeds(first)}")
    width = max(len(runs[0].policy) for runs in together)
    interval = ", 95 % interval" if len(first) > 1 else ""
    more = f"more per play than {first[0].policy}{interval}"
    alike = f" {'same arm':>9}" if copies else ""
    print(f"{'policy':<{width}} {'plays':>12} {'regret':>14} {'per play':>10}{alike}   {more}")
    for i, (name, made, regret, per_play, gap, limit) in enumerate(_rows(together)):
        line = f"{name:<{width}} {made:>12} {regret:>14.2f} {per_play:>10.4f}"
        if copies:
            line += f" {_percent(_share(copies[name])):>9}"
        if i:
            line += f"   {gap:>+10.4f}" + (f" ± {limit:.4f}" if len(first) > 1 else "")
        print(line)
    looked_up = [f"{c.label} {c.settings['v']:.4g} ({c.v})" for c in told if c.settings and c.v]
    if looked_up:
        print(f"v, the bound on the moment: {', '.join(looked_up)}")
    if copies:
        shown = SHOWN_IN_WORDS[copies[first[0].policy][0].shown]
        print(f"same arm: the share of rounds in which a copy that is shown {shown} chooses it too")
    if len(first) == 1:
        print("one seed says little: --seeds 10 gives means and an interval for each difference")
