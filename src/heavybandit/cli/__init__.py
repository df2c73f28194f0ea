"""The command line: `heavybandit run | template | sweep | verify | compare | notebooks | …`.

A command NAME is two functions of its module, `add_NAME` for its arguments and `do_NAME`. Only the
module of the command that is called is imported, so that `heavybandit --help` answers at once.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from .. import __version__
from ..pipeline.interrupts import Interrupts
from ..pipeline.progress import say

OK, DIFFERS, CANNOT, UNUSABLE, INTERRUPTED = 0, 1, 2, 3, 130
SEVERAL: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
"""What argparse is told about an option that may be given several times."""

COMMANDS = {  # name → what it does, an example
    "run": (
        "Simulate policies in one world and print their regret beside uniform play's.",
        "run SupBTC --noise pareto --horizon 100000 --set width_scale=0.05 "
        "--beside LinUCB,GreedyRidge --seeds 5 --plot regret.png",
    ),
    "board": (
        "Take a policy of your own through the benchmark of notebook 09, or check an entry.",
        "board mine.py:Mine --workers 2 --plot mine.png",
    ),
    "template": (
        "Write a file to start from: a policy, a noise or a world of your own.",
        "template policy mine.py",
    ),
    "sweep": (
        "Simulate every run of an experiment that is not finished yet, and renew its results.",
        "sweep section6 --workers 2",
    ),
    "verify": (
        "Simulate stored results again, a random sample or all, and demand equality.",
        "verify section6 --plays 5000000",
    ),
    "compare": (
        "Say which result files of two folders differ.",
        "compare build/reproduce/data data",
    ),
    "notebooks": (
        "Execute the numbered notebooks in order, into a folder; stops at the first that fails.",
        "notebooks --out build/notebooks",
    ),
    "claims": ("Show what came of each statement of the paper.", "claims"),
    "list": ("List experiments, policies, worlds and noises.", "list"),
}
HOMES = {"run": "run", "board": "board", "template": "templates"}  # the others are in `results`


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; returns the exit code."""
    with Interrupts() as interrupts:
        try:
            _open_streams()
            options, unknown = _parser().parse_known_args(arguments)
            if unknown:
                _refuse(unknown[0], options.said_to)
            interrupts.check()  # Python drops Ctrl-C in what it calls itself, as during imports
            code: int = options.do(options)
            sys.stdout.flush()
            if code != INTERRUPTED:  # else the command has said so
                interrupts.check()
            return code
        except KeyboardInterrupt:
            pass
        except Exception as error:
            if not interrupts.asked:  # if a library is being imported, Ctrl-C can be any error
                return _failed(error)
    say("\nheavybandit: stopped.")
    return INTERRUPTED


def _failed(error: Exception) -> int:
    """Say what went wrong, if it is for the user to mend; returns the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    if isinstance(error, MemoryError):  # numpy says how much it wanted, Python says nothing
        _say(f"not enough memory: {error}".rstrip(": "))
        return CANNOT
    if isinstance(error, ValueError | TypeError | RuntimeError | OSError):
        _say(error)
        return CANNOT
    from ..pipeline.store import StoreError
    from ..pipeline.sweep import SweepError
    from ..replication.notebooks import NotebookError

    if not isinstance(error, StoreError | SweepError | NotebookError):
        raise error
    _say(error)
    return UNUSABLE


def _open_streams() -> None:
    """Go on where the output, or the place for errors, is closed or knows few letters.

    A closed one becomes /dev/null, so that no file that is opened later gets its number and what is
    meant for the terminal. What cannot be encoded is shown as Python writes it: \\u2074.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
            os.set_inheritable(null, True)  # as the three are: workers refuse to start without
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _refuse(word: str, command: argparse.ArgumentParser) -> NoReturn:
    """Say, with the usage of that command, that it does not know a word it was given."""
    if not word.startswith("-"):
        hint = f"; further policies are named by --beside {word}" * command.prog.endswith(" run")
        command.error(f"there is no place for {word!r}{hint}")
    option = word.partition("=")[0]
    options = [name for action in command._actions for name in action.option_strings]
    near = difflib.get_close_matches(option, options, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(options)}"
    command.error(f"there is no option {option!r}{hint}")


def _say(error: Exception | str) -> None:
    """An error in one line, whatever its message looks like."""
    say(f"heavybandit: {' '.join(str(error).split())}")


class _Command(argparse.ArgumentParser):
    """A command that gets its arguments, and what carries it out, when it is called."""

    empty = True

    def parse_known_args(self, *given: Any, **named: Any) -> Any:
        if self.empty:
            name, self.empty = self.prog.split()[-1], False
            module = import_module(f".{HOMES.get(name, 'results')}", __name__)
            getattr(module, f"add_{name}", lambda _: None)(self)
            self.set_defaults(do=getattr(module, f"do_{name}"), said_to=self)
        return super().parse_known_args(*given, **named)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heavybandit",
        description="Linear bandits with heavy-tailed payoffs: the algorithms of Xue et al. "
        "(IJCAI 2020) and their experiments.",
        epilog="exit codes: 0 well, 1 something differs, 2 cannot be done as given, "
        "3 store, data, cluster or notebook failed, 130 stopped",
    )
    parser.add_argument("--version", action="version", version=f"heavybandit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Command)
    for name, (what, example) in COMMANDS.items():
        commands.add_parser(
            name,
            help=what,
            description=what,
            epilog=f"example:\n  heavybandit {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    return parser
