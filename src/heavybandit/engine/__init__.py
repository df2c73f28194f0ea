"""The paper's policies, compiled and streaming: the same arms as `heavybandit.paper`."""

from . import later, policies
from ._cache import drop_stale_binaries
from .drive import play_any
from .later import *  # noqa: F403
from .policies import *  # noqa: F403

drop_stale_binaries(play_any)  # numba loads a binary at a kernel's first call, not before

POLICIES: dict[str, type[policies.Compiled]] = {
    name: kind
    for module in (policies, later)
    for name, kind in vars(module).items()
    if name in module.__all__ and kind is not policies.Compiled
}
"""Every policy by its name, in the order in which they are defined."""
