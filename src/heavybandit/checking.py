"""`check_policy`: what a policy of one's own still lacks to be simulated beside the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .instances import section6
from .simulate import simulate

N_ARMS, DIM = 4, 3


def check_policy(
    build: Callable[..., Any], *, horizon: int = 2000, rounds: int = 100, **parameters: Any
) -> list[str]:
    """Say what is wrong with a policy; an empty list means that it can be simulated.

    `build` is a class, or any function, that is called as
    build(horizon=…, n_arms=4, dim=3, **parameters) and gives a policy. At most `rounds` of its
    rounds are played, twice: the same policy must choose the same arms.
    """
    problems: list[str] = []
    if not callable(build):
        return [f"give the class (or a function that builds it), not an object: {build!r}"]

    def fresh() -> Any:
        return build(horizon=horizon, n_arms=N_ARMS, dim=DIM, **parameters)

    try:
        policy = fresh()
    except Exception as error:
        call = f"horizon={horizon}, n_arms={N_ARMS}, dim={DIM}"
        return [f"it could not be built with {call}: {type(error).__name__}: {error}"]
    for member in ("plays", "rounds"):
        value = getattr(policy, member, None)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            problems.append(f"{member} must be a whole number of at least 1, it is {value!r}")
    for member in ("select", "update"):
        if not callable(getattr(policy, member, None)):
            problems.append(f"{member} must be a method, it is missing or none")
    if problems:
        return problems
    if policy.plays * policy.rounds > horizon:
        problems.append(
            f"plays * rounds must be at most horizon={horizon}, "
            f"it is {policy.plays} * {policy.rounds} = {policy.plays * policy.rounds}"
        )
    try:
        first, second = (_arms(fresh(), rounds) for _ in range(2))
    except Exception as error:
        return [*problems, f"it could not be played: {type(error).__name__}: {error}"]
    if first != second:
        t = next(t for t in range(len(first)) if first[t] != second[t])
        problems.append(
            f"two fresh policies must choose the same arms in the same world, "
            f"they chose {first[t]} and {second[t]} in round {t + 1}; "
            f"draw from a generator made from a seed"
        )
    return problems


class _Shortened:
    """The same policy, asked for its first rounds only, by select and update as anyone would."""

    def __init__(self, policy: Any, rounds: int) -> None:
        self.plays, self.rounds = policy.plays, min(rounds, policy.rounds)
        self.select, self.update = policy.select, policy.update


def _arms(policy: Any, rounds: int) -> list[int]:
    world = section6(n_arms=N_ARMS, dim=DIM)
    kind = type(type(policy).__name__, (_Shortened,), {})  # messages name the policy, not us
    run = simulate(kind(policy, rounds), world, keep_arms=True)
    return [] if run.arms is None else run.arms.tolist()
