"""`heavybandit template`: a file to start a policy, a noise or a world of one's own from."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import OK

TEMPLATES = {
    "policy": "{}:MyPolicy --beside LinUCB,GreedyRidge --seeds 5 --plot regret.png",
    "noise": "GreedyRidge --noise {}:MyNoise --beside LinUCB,CRT --seeds 5 --plot regret.png",
    "world": "GreedyRidge --world {}:MyWorld --beside LinUCB,CRT --seeds 5 --plot regret.png",
}
"""What there are starting files for, and how to run what they hold."""


def add_template(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", choices=TEMPLATES, metavar="KIND", help=", ".join(TEMPLATES))
    command.add_argument("file", nargs="?", type=Path, metavar="FILE", help="(default my_KIND.py)")


def do_template(options: argparse.Namespace) -> int:
    """Write the file and say how to run what it holds."""
    file = options.file or Path(f"my_{options.kind}.py")
    if file.suffix != ".py":
        raise ValueError(f"a template's file must end in .py; got {str(file)!r}")
    source = Path(__file__).parents[1] / "own" / "templates" / f"{options.kind}.py"
    try:
        _write(file, source.read_text(encoding="utf-8").replace("my_noise.py", file.name))
    except FileExistsError:
        raise ValueError(f"{file} is there already, and is left as it is") from None
    except FileNotFoundError:
        raise ValueError(f"there is no folder {str(file.parent)!r} to write {file} in") from None
    except OSError as error:
        raise OSError(f"{file} cannot be written: {error.strerror}") from None
    print(f"written: {file}. Edit it, then try it beside others:")
    print(f"  heavybandit run {TEMPLATES[options.kind].format(file)}")
    return OK


def _write(file: Path, text: str) -> None:
    """Write a file that is not there yet; what fails leaves none, which would be in the way."""
    with file.open("x", encoding="utf-8") as new:  # refuses to overwrite
        try:
            new.write(text)
            new.flush()
        except BaseException:  # Ctrl-C too
            file.unlink()
            raise
