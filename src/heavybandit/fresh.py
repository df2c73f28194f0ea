"""Whether a policy is fresh: one that has learnt in another run must not play in the next."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .checks import whole
from .policy import Policy

PLAYED = "_rounds_simulated"  # what is written on a policy that has played

MOST_UNWRITABLE = 16

_unwritable: dict[int, tuple[Any, int]] = {}
"""The last policies that nothing can be written on, and their rounds, by identity; no other object
can have the same one while these are held."""


def check_fresh(policy: Any, n_arms: int, dim: int, where: str) -> str:
    """Refuse what is no policy, has played, or was built for other contexts; its name."""
    if isinstance(policy, type):
        raise TypeError(f"policy must be an object, got the class {policy.__name__}")
    name = type(policy).__name__
    for member in ("plays", "rounds", "select", "update"):
        if not hasattr(policy, member):
            raise TypeError(f"policy must have {member}; {name} has not")
    whole(f"plays of {name}", policy.plays, 1)
    whole(f"rounds of {name}", policy.rounds, 1)
    # One of the reader's counts no rounds, so they have been written on it.
    ours = isinstance(policy, Policy)
    written = getattr(policy, PLAYED, 0) or _unwritable.get(id(policy), (policy, 0))[1]
    played = policy.round - 1 if ours else written
    if played:
        raise ValueError(
            f"policy must be fresh: this {name} has played {played} rounds; build a new one"
        )
    for member, offered in (("n_arms", n_arms), ("dim", dim)):
        have = getattr(policy, member, None)
        if have is not None and have != offered:
            raise ValueError(
                f"policy was built with {member}={have}, but {where} has {member}={offered}"
            )
    return name


def note_played(policy: Any, rounds: int) -> None:
    """Write on a policy of the reader's how many rounds it has played; others count themselves."""
    if isinstance(policy, Policy):
        return
    for write in (setattr, object.__setattr__):  # the second also on a frozen dataclass
        with suppress(Exception):  # a policy's own __setattr__ may raise anything
            write(policy, PLAYED, rounds)
            if getattr(policy, PLAYED) == rounds:  # it may have been dropped without an error
                return
    _unwritable[id(policy)] = policy, rounds
    if len(_unwritable) > MOST_UNWRITABLE:
        del _unwritable[next(iter(_unwritable))]
