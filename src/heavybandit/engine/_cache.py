"""Keeps numba's on-disk cache honest, gives it a place, and says when kernels are compiled.

numba renews a cached function when its own file changes, not when a function that it calls changes
in another file, so an edited kernel would go on running in its old form inside its callers. Here
the sources of all compiled code are hashed together, and the cached binaries of this package are
dropped when the hash is not the one they were made from.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
QUIET = "HEAVYBANDIT_QUIET"
"""If this is in the environment nothing is said about compiling: in tests, and in notebooks whose
output is compared."""


def say(sentence: str) -> None:
    """Tell whoever reads this process's errors: a terminal, a log or a notebook."""
    if sys.stderr is not None and not os.environ.get(QUIET):
        with suppress(OSError, ValueError):  # what cannot be said, on a full disk, stops nothing
            print(f"heavybandit: {sentence}", file=sys.stderr, flush=True)


def find_a_place() -> bool:
    """Whether binaries can be kept; if numba finds no place for them, it gets a temporary one.

    numba looks beside the sources and in HOME. In a container with neither it would refuse to
    compile at all. The temporary folder is the user's alone: nobody else can put a binary there.
    """
    from numba import config, njit

    def probe() -> None: ...

    # Who has no home has no cache there: numba would make a folder called ~ in the working folder.
    homeless = os.path.expanduser("~") == "~" and not os.environ.get("NUMBA_CACHE_DIR")
    if os.access(HERE, os.W_OK) or not homeless:
        with suppress(RuntimeError):
            njit(cache=True)(probe)  # looks for a place, and compiles nothing yet
            return True
    try:
        place = _private_folder()
    except OSError:
        say("no folder can be written, so its kernels are compiled again in every process")
        return False
    os.environ["NUMBA_CACHE_DIR"] = str(place)  # for workers too
    config.CACHE_DIR = str(place)  # type: ignore[attr-defined]
    say(f"neither its own folder nor HOME can be written; compiled kernels are kept in {place}")
    return True


def _private_folder() -> Path:
    """One that is found again; the first name that somebody else has not taken."""
    name = f"heavybandit-kernels-{os.getuid()}"
    for further in ("", "-2", "-3", "-4"):
        place = Path(tempfile.gettempdir()) / f"{name}{further}"
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
        found = place.lstat()
        mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if mine and not found.st_mode & 0o077:
            return place
    return Path(tempfile.mkdtemp(prefix=f"{name}-"))


def drop_stale_binaries(kernel: Any = None) -> None:
    """Remove this package's cached binaries if they were made from other sources.

    They are where numba keeps those of `kernel`: beside the sources, unless it was told otherwise.
    """
    stats = getattr(kernel, "stats", None)  # a plain function if numba is disabled
    if stats and not stats.cache_path:  # nothing is kept
        return
    cache = Path(stats.cache_path) if stats else HERE / "__pycache__"
    digest = hashlib.sha256()
    for source in (*sorted(HERE.glob("*.py")), HERE.parent / "policy.py"):
        digest.update(source.read_bytes())
    stamp = cache / "sources.sha256"
    with suppress(OSError):  # a read-only installation is never edited in place
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        cache.mkdir(parents=True, exist_ok=True)
        for pattern in ("*.nbi", "*.nbc"):
            for binary in cache.glob(pattern):
                binary.unlink(missing_ok=True)
        stamp.write_text(digest.hexdigest())


_announced = set[Any]()


def announce_compilation(kernel: Any, policy: str) -> None:
    """Say why this policy's first call takes so long; once for each kernel, and only if it will."""
    stats = getattr(kernel, "stats", None)
    if stats is None or not stats.cache_path or kernel in _announced:
        return
    _announced.add(kernel)
    if not _compiled_for_here(kernel):
        say(f"compiling {policy} and what shares its kernels; this takes up to half a minute, once")


def _compiled_for_here(kernel: Any) -> bool:
    """Whether numba will find this kernel compiled for this Python and for this processor.

    Other Pythons have indices of their own in the same folder; machines that share a home share an
    index too, with entries for each kind of processor. No public part of numba says what is in it,
    so whatever is not as expected counts as not compiled: better said once too often.
    """
    with suppress(Exception):
        target = kernel.targetctx.codegen().magic_tuple()
        index = kernel._cache._cache_file._load_index()
        folder = Path(kernel.stats.cache_path)
        return any(key[1] == target and (folder / file).exists() for key, file in index.items())
    return False
