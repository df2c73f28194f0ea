"""`check_policy`, `check_noise`, `check_world`: what those of one's own still lack."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..checks import real_numbers, unmasked, whole
from ..instances import contexts_in_parts, section6
from ..noise import Additive, FloatArray, Noise, OwnNoise, StudentT, as_noise
from ..noise.own import PARTS, in_order, parts_of, remedy
from ..policy import LONGEST, told_norm
from ..simulate import World, simulate
from .loading import arguments_of, files_of, told
from .moments import contradiction

N_ARMS, DIM = 4, 3
DRAWS = 100_000
FEW_DRAWS = 5_000  # of a noise that is drawn one by one
NUMBERS = 2_000_000  # in the contexts that a check asks for at once, but for those of 20 rounds
OFF = 6.0  # standard errors from 0 at which an average is called off


def check_policy(
    build: Callable[..., Any], *, horizon: int = 2000, rounds: int = 100, **parameters: Any
) -> list[str]:
    """Say what is wrong with a policy; an empty list means that it can be simulated.

    `build` is a class, or any function, that is called as
    build(horizon=…, n_arms=4, dim=3, **parameters) and gives a policy. At most `rounds` of its
    rounds are played, twice: the same policy must choose the same arms.
    """
    given = {"horizon": horizon, "n_arms": N_ARMS, "dim": DIM, **parameters}
    policy, files, problems = _built(build, given)
    if problems:
        return problems
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
        said = unrepeatable(lambda: build(**given), section6(n_arms=N_ARMS, dim=DIM), rounds)
    except (Exception, SystemExit) as error:
        return [*problems, f"it could not be played: {told(error, files)}"]
    return [*problems, said] if said else problems


def _built(build: Callable[..., Any], given: dict[str, Any]) -> tuple[Any, set[str], list[str]]:
    """What `build` makes of these arguments, the files of its code, and why it cannot be made."""
    if not callable(build):
        said = f"give the class (or a function that builds it), not an object: {build!r}"
        return None, set(), [said]
    files = files_of(build)
    try:
        made = build(**given)
    except (Exception, SystemExit) as error:
        call = ", ".join(f"{name}={value!r}" for name, value in given.items())
        how = f" with {call}" if call else ""
        return None, files, [f"it could not be built{how}: {told(error, files)}"]
    return made, files | files_of(type(getattr(made, "own", made))), []


def unrepeatable(fresh: Callable[[], Any], world: World, rounds: int, seed: int = 0) -> str | None:
    """What is to be said if two fresh policies part ways in their first rounds; else None."""
    policy = fresh()
    rounds = min(rounds, policy.rounds)
    before = _shared(policy)
    # What two of them share and count by must not have come round again when the second starts.
    first = _arms(policy, world, _prime(rounds), seed)
    second = _arms(fresh(), world, rounds, seed)[: len(first)]
    if first == second:
        return None
    t = next(t for t in range(len(first)) if first[t] != second[t])
    changed = [name for name, value in _shared(policy).items() if before.get(name) != value]
    cure = (
        "nothing may be shared between two policies (a module's variable, a default argument, a "
        "class attribute), and they must draw from a generator made from a seed"
    )
    if changed:
        cure = f"all of them share {', '.join(changed)} of the class: set it in __init__, on self"
    return (
        f"two fresh policies must choose the same arms in the same world, "
        f"they chose {first[t]} and {second[t]} in round {t + 1}; {cure}"
    )


def _prime(most: int) -> int:
    """The largest prime number up to `most`, or that number if there is none."""
    primes = (n for n in range(most, 1, -1) if all(n % k for k in range(2, math.isqrt(n) + 1)))
    return next(primes, most)


def _shared(policy: Any) -> dict[str, bytes]:
    """What the class and its bases hold for all objects, methods aside."""
    found = {}
    for base in reversed(type(policy).__mro__[:-1]):
        for name, value in vars(base).items():
            if not name.startswith("__") and not callable(value):
                with suppress(Exception):  # what cannot be pickled cannot be compared either
                    found[name] = pickle.dumps(value)
    return found


class _Shortened:
    """The same policy, asked for its first rounds only, by select and update as anyone would."""

    def __init__(self, policy: Any, rounds: int) -> None:
        self.plays, self.rounds = policy.plays, min(rounds, policy.rounds)
        self.select, self.update = policy.select, policy.update


def _arms(policy: Any, world: World, rounds: int, seed: int) -> list[int]:
    kind = type(type(policy).__name__, (_Shortened,), {})  # messages name the policy, not us
    run = simulate(kind(policy, rounds), world, seed, keep_arms=True)
    return [] if run.arms is None else run.arms.tolist()


def check_noise(build: Callable[..., Any], **parameters: Any) -> list[str]:
    """Say what is wrong with a noise; an empty list means that policies can be simulated with it.

    `build` is a class, or any function, that is called as build(**parameters) and gives an object
    with `draw(rng, n)`. If it has `moment_about(q, a)` too, which policies that need a bound v ask
    for, the moments are held against each other and against 100,000 draws; they are called wrong
    only where they cannot be right, however heavy the tail. As many draws are asked for at once and
    in parts, and must be the same; a dependence on the block that shows more rarely is not found.
    """
    made, files, problems = _built(build, parameters)
    if problems:
        return problems
    try:
        law, twin = as_noise(made), as_noise(build(**parameters))
    except (Exception, SystemExit) as error:
        return [f"it could not be built: {told(error, files)}"]
    try:
        said = _unlike_a_stream(law, twin)
    except (Exception, SystemExit) as error:
        return [f"draw failed: {told(error, files)}"]
    if said or (isinstance(law, OwnNoise) and not hasattr(law.own, "moment_about")):
        return said or _off_centre(law)
    if not isinstance(law, Additive):  # its moments depend on the mean
        return said

    def moment(q: float, a: float) -> float:
        value = law.moment_about(q, a)
        if np.ndim(value) or not isinstance(value, int | float | np.number):
            raise TypeError(f"moment_about({q:g}, {a:g}) must return a number, got {value!r:.60}")
        return float(value)

    try:
        found = contradiction(moment, law.mean, _drawn(law, _enough(law)))
    except (Exception, SystemExit) as error:
        return [f"moment_about failed: {told(error, files)}"]
    return [found] if found else []


def _unlike_a_stream(noise: Noise, twin: Noise) -> list[str]:
    """What is wrong with the draws: their form, or what they depend on besides the generator."""
    for n in (20, 1, _enough(noise)):
        raw = unmasked("draws", noise.draw(np.random.default_rng(1), n))
        got = np.asarray(raw)
        if got.dtype.kind not in "biuf" or got.shape != (n,):
            what = f"an array of shape {got.shape}" if got.ndim else f"{raw!r:.60}"
            if got.dtype.kind not in "biuf" and got.ndim:
                what += f" that holds {got.dtype}, not numbers"
            return [f"draw(rng, {n}) must return an array of {n} numbers, it returned {what}"]
        if not np.isfinite(got).all():
            which = int(np.flatnonzero(~np.isfinite(got))[0])
            return [f"draws must be finite; number {which + 1} of {n:,} is {got[which]}"]
    many = _enough(noise)  # a few draws may be alike by chance, as where most of them are 0
    once = _drawn(noise, many)
    if not np.array_equal(once, _drawn(noise, many)):
        return [
            "the same generator must give the same draws, whatever was drawn before; "
            "draw from rng alone, and keep nothing from one call to the next"
        ]
    if not np.array_equal(once, _drawn(twin, many)):
        return ["two noises that are built alike must give the same draws from the same generator"]
    for parts in (PARTS, parts_of(many)):
        if not in_order(noise, parts):
            return [
                f"{', '.join(f'{n:,}' for n in parts)} draws one after the other must be the same "
                f"as {sum(parts):,} at once; {remedy(noise)}"
            ]
    return []


def _off_centre(law: Any) -> list[str]:
    """What is to be said of draws whose average is off, if nothing is stated of their mean.

    Without moments no rule is certain: rare large draws may make up for it. So a noise that states
    its mean is believed.
    """
    if hasattr(law.own, "mean"):
        return []
    draws = _drawn(law, _enough(law))
    average, error = float(draws.mean()), float(draws.std()) / len(draws) ** 0.5
    if abs(average) <= OFF * error:
        return []
    return [
        f"{len(draws):,} draws are {average:.4g} on average, and noise should be 0: subtract its "
        f"mean in draw; or state it as the noise's member mean, as 0 if larger draws, too rare to "
        f"be seen here, make up for it"
    ]


def _enough(noise: Noise) -> int:
    """How many draws a check takes."""
    return FEW_DRAWS if getattr(getattr(noise, "own", None), "one_by_one", False) else DRAWS


def _drawn(noise: Noise, n: int) -> FloatArray:
    return np.array(noise.draw(np.random.default_rng(1), n), dtype=np.float64)


def check_world(build: Callable[..., Any], *, rounds: int = 1_000, **parameters: Any) -> list[str]:
    """Say what is wrong with a world; an empty list means that policies can be simulated in it.

    `build` is a class, or any function, that is called as build(**parameters) and gives an object
    with the five members that `instances` lists. An argument noise that must be given is Student's
    t noise here, unless `parameters` has another.

    The contexts of `rounds` rounds, fewer where they would be millions of numbers, are asked for at
    once and in parts, for seeds 0 to 4 and for 1 and 7 plays per round; what goes wrong later, or
    more rarely, is not found. For a log of contexts, give as many rounds as it has or as are to be
    played. If the world itself has an argument rounds, let `build` be a function that gives it.
    """
    return world_problems(build, parameters, whole("rounds", rounds, 1))


def world_problems(
    build: Callable[..., Any], parameters: dict[str, Any], rounds: int = 1_000
) -> list[str]:
    """The same, whatever the world's own arguments are called."""
    known, usual = arguments_of(build), {"noise": StudentT(), "horizon": 10_000}
    needed = {n: usual[n] for n in usual if n in known and known[n].default is known[n].empty}
    world, files, problems = _built(build, needed | parameters)
    if problems:
        return problems
    members = ("n_arms", "dim", "noise", "theta_star", "contexts")
    problems = [f"it must have {name}" for name in members if not hasattr(world, name)]
    if problems:
        return problems
    try:
        for name in ("n_arms", "dim"):
            whole(name, getattr(world, name), 1)
        law = as_noise(world.noise)
        problems = [f"its noise: {said}" for said in check_noise(lambda: law)]
        problems += _unlike_a_world(world, law, rounds)
    except (Exception, SystemExit) as error:
        return [*problems, f"it failed: {told(error, files)}"]
    return problems


def _unlike_a_world(world: Any, law: Noise, rounds: int) -> list[str]:
    few = max(sum(PARTS), NUMBERS // (world.n_arms * world.dim))
    for seed in range(5):
        said = _unlike_a_parameter(world, seed)
        for plays in (1, 7):
            said = said or _unlike_offers(world, law, min(rounds, few), seed, plays)
        if said:
            return [said]
    return []


def _theta(world: Any, seed: int) -> FloatArray:
    theta = real_numbers(f"theta_star({seed})", world.theta_star(seed))
    return np.array(theta, dtype=np.float64)


def _unlike_a_parameter(world: Any, seed: int) -> str | None:
    """What is wrong with θ* for this seed."""
    theta, call = _theta(world, seed), f"theta_star({seed})"
    if theta.shape != (world.dim,) or not np.isfinite(theta).all():
        return f"{call} must return dim={world.dim} finite numbers, got {theta!r:.60}"
    if not np.array_equal(theta, _theta(world, seed)):
        return "theta_star must be the same whenever it is asked for the same seed"
    norm = float(np.linalg.norm(theta))
    if norm > LONGEST:
        return (
            f"{call} has norm {told_norm(norm)}, and policies assume at most 1; for payoffs in "
            f"other units divide it by that, and let the noise be "
            f"heavybandit.noise.Units(noise, factor={told_norm(norm)})"
        )
    return None


def _unlike_offers(world: Any, law: Noise, rounds: int, seed: int, plays: int) -> str | None:
    """What is wrong with the contexts for so many plays per round."""

    def drawn(*parts: int) -> FloatArray:
        return contexts_in_parts(world, parts, plays, seed)

    X, call = drawn(rounds), "contexts(rng, first_round, n_rounds, plays)"
    if X.shape[1:] == (world.n_arms, world.dim) and len(X) < rounds:
        return (
            f"the contexts have run out: {call} was asked for {rounds:,} rounds and gave "
            f"{len(X):,}; if there are no more, check it with rounds={len(X)}"
        )
    if X.shape != (rounds, world.n_arms, world.dim):
        return (
            f"{call} must return an array of shape (n_rounds, n_arms, dim) = "
            f"{(rounds, world.n_arms, world.dim)}, got {X.shape}"
        )
    longest = float(np.linalg.norm(X, axis=2).max())
    if not longest <= LONGEST:
        return f"contexts must be finite and of norm at most 1; one has {told_norm(longest)}"
    law.check_means(X @ _theta(world, seed))
    parts = parts_of(rounds)
    if not np.array_equal(X, drawn(*parts)):
        if not np.array_equal(X, drawn(rounds)):
            return "the same generator must give the same contexts; draw from rng alone"
        return (
            f"the contexts of {', '.join(map(str, parts))} rounds one after the other must be the "
            f"same as of {rounds:,} at once; draw those of a round before those of the next"
        )
    return None
