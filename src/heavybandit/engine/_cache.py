"""Keeps numba's on-disk cache honest.

numba renews a cached function when its own file changes, not when a function that it calls changes
in another file, so an edited kernel would go on running in its old form inside its callers. Here
the sources of all compiled code are hashed together, and the cached binaries of this package are
dropped when the hash is not the one they were made from.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def drop_stale_binaries(kernel: Any = None) -> None:
    """Remove this package's cached binaries if they were made from other sources.

    They are where numba keeps those of `kernel`: beside the sources, unless it was told otherwise.
    """
    stats = getattr(kernel, "stats", None)  # a plain function if numba is disabled
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


@functools.cache
def announce_compilation(kernel: Any) -> None:
    """Tell someone at a terminal why the first call takes so long; once, and only if it will."""
    stats = getattr(kernel, "stats", None)
    if stats is None or not sys.stderr.isatty():
        return
    if not list(Path(stats.cache_path).glob(f"*.{kernel.__name__}-*.nbi")):
        print(
            "heavybandit: compiling its kernels; this takes up to a minute, once",
            file=sys.stderr,
        )
