"""Results on disk: one checked text file per run, written whole or not at all.

A file is named by its run's key and holds the run's description, its result and a checksum over
both. It is written beside its place and then moved there, so that a kill at any moment leaves
either nothing or a whole file. (After a power failure the file system may still hand back a torn
one; the checksum finds it.) What does not check is set aside, named, and counts as not there; it is
never deleted, and nothing is ever unpickled.

    store/format.json          which format this is
    store/runs/ab/ab12….json   finished runs
    store/set-aside/           files that did not check
    store/locks/               locks of groups under way; the system drops them with their process
    store/tmp/                 files being written
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from .progress import say
from .recipes import canonical, digest
from .scratch import bytes_of, scratch, text_of, write_whole
from .spec import Spec, made_with

FORMAT = 1


def default_store() -> Path:
    """build/store of the repository that this is started in, from whichever of its folders.

    So a notebook and the command line go on where the other stopped. Outside a repository it is
    build/store of the working folder.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "notebooks").is_dir() and (folder / "src" / "heavybandit").is_dir():
            return folder / "build" / "store"
    return here / "build" / "store"


class StoreError(Exception):
    """Something about the store that the user has to know; the message is the whole story."""


class Store:
    """Finished runs in a folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder, self.tmp = Path(folder), Path(folder) / "tmp"
        self.set_aside: list[str] = []  # messages about files that did not check
        marker = self.folder / "format.json"
        try:
            if marker.exists():  # before anything is made in a folder that may not be ours
                self._check_format(marker)
            for part in ("runs", "set-aside", "locks", "tmp"):
                (self.folder / part).mkdir(parents=True, exist_ok=True)
            if not marker.exists():
                write_whole(marker, canonical({"format": FORMAT}) + "\n", self.tmp)
            with scratch(self.tmp):  # can be written, and has room
                pass
        except OSError as error:
            raise StoreError(_trouble(error, self.folder)) from error

    def _check_format(self, marker: Path) -> None:
        try:
            found = json.loads(text_of(marker))["format"]
        except OSError as error:
            raise StoreError(_trouble(error, marker)) from error
        except (ValueError, KeyError, TypeError, RecursionError):
            raise StoreError(
                f"{marker} cannot be read, so this folder may not be a store of runs; "
                f"name another folder, or remove that file if you know that it is"
            ) from None
        if found != FORMAT:
            raise StoreError(
                f"the store {self.folder} has format {found}, this version of heavybandit knows "
                f"format {FORMAT}; use the version that wrote it, or name another folder"
            )

    def path(self, spec: Spec) -> Path:
        """Where a run is, or will be."""
        key = spec.key
        return self.folder / "runs" / key[:2] / f"{key}.json"

    def load(self, spec: Spec) -> dict[str, Any] | None:
        """A finished run's result, or None if it is not there or does not check."""
        record = self.record(spec)
        return None if record is None else record["result"]

    def record(self, spec: Spec) -> dict[str, Any] | None:
        """The same with the versions behind it (made_with)."""
        path = self.path(spec)
        try:
            raw = bytes_of(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(_trouble(error, path)) from error
        wrong = _what_is_wrong(raw, spec)
        if wrong is None:
            return json.loads(raw)
        self._put_aside(path, wrong)
        return None

    def _put_aside(self, path: Path, wrong: str) -> None:
        number = 0
        while (place := self.folder / "set-aside" / f"{path.stem}.{number}.json").exists():
            number += 1
        try:
            os.replace(path, place)
        except FileNotFoundError:  # another process has just done the same
            return
        except OSError as error:
            raise StoreError(f"{path.name} {wrong}; {_trouble(error, place)}") from error
        message = f"{path.name} {wrong}; it was moved to {place} and the run will be done again"
        self.set_aside.append(message)
        say(f"heavybandit: {message}")

    def save(self, spec: Spec, result: dict[str, Any]) -> None:
        """Write a finished run, whole or not at all."""
        record = {
            "format": FORMAT,
            "key": spec.key,
            "spec": spec.as_json(),
            "made_with": made_with(),
            "result": result,
        }
        text = canonical({**record, "sha256": digest(record)}) + "\n"
        path = self.path(spec)
        try:
            path.parent.mkdir(exist_ok=True)
            write_whole(path, text, self.tmp)
        except OSError as error:
            raise StoreError(_trouble(error, path)) from error

    def lock(self, name: str) -> Lock:
        """Hold a group of runs, unless another process does."""
        return Lock(self.folder / "locks" / name)


class Lock:
    """An advisory lock on a file; it ends when released, or with the process, however that ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: int | None = None
        try:
            import fcntl
        except ImportError:  # no such locks here: two sweeps at once may do a group twice
            self.held = True
            return
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(_trouble(error, path)) from error
        self.file, self.held = file, True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
        except OSError:  # a file system without locks: as above
            pass

    def release(self) -> None:
        """Let others have it."""
        if self.file is not None:
            os.close(self.file)
            self.file = None
        self.held = False


def _what_is_wrong(raw: bytes, spec: Spec) -> str | None:
    """Why a file is not this run's, or None if it is."""
    try:
        record = json.loads(raw)
        checksum = record.pop("sha256")
        found = record["format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "is cut short or is no result"
    try:
        good = digest(record) == checksum
    except (ValueError, RecursionError):  # NaN, infinity and such depths are never written
        good = False
    if not good:
        return "was changed after it was written (its checksum does not match)"
    if found != FORMAT:
        raise StoreError(
            f"the result {spec.key}.json is in format {found}, as a newer version of heavybandit "
            f"may write it; this one knows format {FORMAT}, and left it as it is"
        )
    if record.get("key") != spec.key or record.get("spec") != spec.as_json():
        return "belongs to other parameters"
    if not all(isinstance(record.get(part), dict) for part in ("result", "made_with")):
        return "has no result, or does not say what made it"
    return None


def _trouble(error: OSError, path: Path) -> str:
    """What a failed file operation means for the one who has to mend it."""
    kept = "finished runs are kept"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"no room left to write {path}; {kept}: free some space and run the same again"
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return f"no permission to write {path}; {kept}: make it writable, or name another --store"
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return f"{path} must be a folder, and a file is in its place; name another --store"
    return f"cannot use {path}: {error.strerror or error}; {kept}"
