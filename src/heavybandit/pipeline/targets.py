"""Files that a command is asked to write: refused before the work, and named if writing fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_target(name: str, path: Path, *, replaced: bool = False) -> None:
    """Refuse a file that could not be written, before the work whose result it is to hold.

    A file that is `replaced` needs a folder that can be written. Others are written in place, and
    where a link leads. A pipe or a device would wait for its reader, or lose what it is given.
    """
    file = path if replaced else Path(os.path.realpath(path))
    folder = file.absolute().parent
    shown = path.parent if folder == path.absolute().parent else folder
    if not folder.is_dir():
        raise ValueError(f"{name} must be in a folder that exists, and {str(shown)!r} does not")
    if file.is_dir():
        raise ValueError(f"{name} must be a file, and {str(path)!r} is a folder")
    round_in_circles = not replaced and file.is_symlink()  # no other link is left in a real path
    if round_in_circles or (file.exists() and not file.is_file()):
        raise ValueError(f"{name} must be a regular file, and {str(path)!r} is none")
    if not replaced and file.exists():
        if not os.access(file, os.W_OK):
            raise ValueError(f"{name} must be a file that can be written; {str(path)!r} is not")
    elif not os.access(folder, os.W_OK):
        raise ValueError(f"{name} must be in a folder that can be written; {str(shown)!r} is not")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error of the system say which file could not be written: not all of them do."""
    try:
        yield
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror or error}") from error
