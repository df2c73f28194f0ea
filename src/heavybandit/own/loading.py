"""Classes in files of the reader's: loaded, and quoted with file and line where they fail."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

FILE_AND_NAME = re.compile(r"(?P<file>.+\.py):(?P<name>\w+)(?::(?P<rest>.*))?", re.S)
"""path/to/file.py:NAME, and after another colon the settings."""


class _AsItIsNow(SourceFileLoader):
    """Reads the source and never kept bytecode, which outlives a change.

    Python takes it for current if the file's length and the second of its last change are the same.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def load(path: str, name: str) -> Callable[..., Any]:
    """The class or function called `name` in a Python file."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"there is no file {path!r} to take {name!r} from")
    label = f"heavybandit_own_{file.stem}"  # may be called like a module that is in use
    loader = _AsItIsNow(label, str(file)) if file.suffix == ".py" else None
    spec = importlib.util.spec_from_file_location(label, file, loader=loader)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[label] = module
    # Its neighbours can be imported, but last: a json.py among them must not replace the library.
    sys.path.append(str(file.absolute().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} cannot be loaded: {told(error, {str(file)})}") from error
    build: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(build):
        own = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == label]
        has = f"it has {', '.join(own)}" if own else "it defines no class"
        raise ValueError(f"{path} has no class {name!r}; {has}")
    return build


def files_of(build: Any) -> set[str]:
    """The files that a class, with its bases, or a function is written in; not those of ours."""
    found = set()
    for one in getattr(build, "__mro__", (build,)):
        if str(getattr(one, "__module__", "")).partition(".")[0] == __package__.partition(".")[0]:
            continue
        for member in (one, *vars(one).values()) if inspect.isclass(one) else (one,):
            inner = member.fget if isinstance(member, property) else member
            code = getattr(inspect.unwrap(inner) if callable(inner) else inner, "__code__", None)
            if isinstance(code, CodeType):  # the class of functions has a descriptor by that name
                found.add(code.co_filename)
    return found


def place(error: BaseException, files: set[str]) -> str:
    """The innermost line of these files on the way to an error: "mine.py, line 9, in select"."""
    absolute = {str(Path(file).absolute()) for file in files} | files
    inside = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in absolute]
    if not inside:
        return ""
    method = "" if inside[-1].name.startswith("<") else f", in {inside[-1].name}"
    return f"{Path(inside[-1].filename).name}, line {inside[-1].lineno}{method}"


CALLS = {
    "__init__": "a policy gets horizon, n_arms and dim by name, and like a noise or a world the "
    "settings that it is given",
    "select": "it begins def select(self, contexts)",
    "update": "it begins def update(self, payoffs)",
    "draw": "it begins def draw(self, rng, n)",
    "moment_about": "it begins def moment_about(self, q, a)",
    "theta_star": "it begins def theta_star(self, seed)",
    "contexts": "it begins def contexts(self, rng, first_round, n_rounds, plays)",
}
WRONG_CALL = re.compile(r"(\w+)\(\) (?:takes|missing|got) ")


def told(error: BaseException, files: set[str]) -> str:
    """An error in words, with its place in these files if it has one.

    A method that does not take what it is given fails before it begins, in no line of its own; then
    it is said how it has to begin.
    """
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    said = "; ".join([said, *getattr(error, "__notes__", ())])
    where = place(error, files)
    if where:
        return f"{said} ({where})"
    call = WRONG_CALL.search(said) if isinstance(error, TypeError) else None
    return f"{said}; {CALLS[call[1]]}" if call and call[1] in CALLS else said


def arguments_of(build: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """A callable's parameters by name; none are known of one that hides them."""
    try:
        return inspect.signature(build).parameters
    except (TypeError, ValueError):
        return {}
