"""Files read and written whole, by way of temporary ones in marked folders of their own.

Nothing else is ever removed.

    beside/.heavybandit-0123456789abcdef/mark   says whose it is; locked while it is in use
    beside/.heavybandit-0123456789abcdef/file   the temporary file

The name is random, so that neither two containers with one host name nor two processes with one
number meet. What a killed process leaves behind is known by its mark, and the process is known to
be gone if the mark is no longer locked: the next one that writes there removes it. Where a file
system has no locks, it stays where it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

MARK = b"heavybandit writes here, and removes this folder when it is done.\n"
NAME = re.compile(r"\.heavybandit-[0-9a-f]{16}")
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
OLD = os.O_RDWR | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextlib.contextmanager
def scratch(beside: Path) -> Iterator[Path]:
    """The place of a temporary file, on the file system of a folder; removed afterwards.

    Neither the folder nor, if it is opened as `NEW`, the file can be a link that someone has put
    there.
    """
    sweep_up(beside)
    folder = beside / f".heavybandit-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    mark = None
    try:
        mark = os.open(folder / "mark", NEW, 0o600)
        _lock(mark, wait=True)  # before it says whose it is: nobody takes it for abandoned
        os.write(mark, MARK)
        yield folder / "file"
    finally:
        _remove(folder)
        if mark is not None:
            os.close(mark)


def write_whole(path: Path, text: str, beside: Path) -> None:
    """Write a file so that it is there whole or not at all; `beside` is on its file system."""
    with scratch(beside) as temporary:
        with open(os.open(temporary, NEW, 0o666), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)


def bytes_of(path: Path) -> bytes:
    """What a file holds; what is no file is an error, and is not waited for as a pipe would be."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        with open(file, "rb", closefd=False) as content:
            return content.read()
    finally:
        os.close(file)


def text_of(path: Path) -> str:
    """The same as text."""
    return bytes_of(path).decode("utf-8")


def sweep_up(beside: Path) -> None:
    """Remove what processes that are gone have left in a folder, and nothing else."""
    for folder in beside.glob(".heavybandit-*"):
        if not NAME.fullmatch(folder.name) or folder.is_symlink():
            continue
        with contextlib.suppress(OSError):  # not ours, or just removed by another
            mark = os.open(folder / "mark", OLD)
            try:
                if _lock(mark, wait=False) and os.read(mark, len(MARK) + 1) == MARK:
                    _remove(folder)
            finally:
                os.close(mark)


def _remove(folder: Path) -> None:
    """Remove the two files that we make in such a folder, then the folder if it is empty."""
    with contextlib.suppress(OSError):  # what is left harms nobody
        (folder / "file").unlink(missing_ok=True)
        (folder / "mark").unlink(missing_ok=True)
        folder.rmdir()


def _lock(file: int, *, wait: bool) -> bool:
    """Whether the file is locked now; its lock ends when it is closed, or with the process."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):  # no such locks here, or another holds it
        return False
    return True
