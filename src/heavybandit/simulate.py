"""One policy in one world: a regret curve and what happened along the way.

Any object with `plays`, `rounds`, `select` and `update` can be simulated. The compiled policies are
handed whole blocks of rounds; others are driven round by round. Contexts depend on the seed and the
round alone, noise on the seed and the play alone, so that policies simulated with the same seed
meet the same world, and neither the size of the blocks nor the company changes a bit.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict, Unpack

import numpy as np

from .checks import ended, real_numbers, unchangeable, whole
from .engine import Compiled
from .engine.offers import contexts, draw, price
from .engine.state import DEPTH, Ints
from .fresh import check_fresh, note_played
from .instances import OwnWorld, contexts_out_of_order
from .noise import Noise, as_noise, payoff_form
from .noise.own import out_of_order, remedy
from .policy import CONTEXT_STREAM, LARGEST, LONGEST, NOISE_STREAM, Floats, stream, told_norm

Report = Callable[[int], object]  # is told how many plays were just made

BLOCK_DOUBLES = 1 << 17  # contexts and draws of a block: small enough to stay in the cache


class World(Protocol):
    """What a simulation asks of a world; see `instances`."""

    @property
    def n_arms(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def noise(self) -> Noise: ...
    def theta_star(self, seed: int) -> Floats: ...
    def contexts(
        self, rng: np.random.Generator, first_round: int, n_rounds: int, plays: int
    ) -> Floats: ...


@dataclass(frozen=True)
class Run:
    """What came out of one policy in one world.

    `diagnostics` of a compiled policy: rounds `explored` and `exploited` and times `visited`, by
    stage; `arms_entering`, the mean number of arms that entered each stage; how many `estimates`
    decisions needed; `truncated` terms in them (of an arm in BTC; of a coordinate in TOFU, where
    suspects could matter; payoffs in CRT; clipped rounds in the later ones); `suspects` kept at the
    end and `most_suspects` at any time; `history_scans` (for ε < 1); `matrix_roots`, the rounds of
    TOFU in which suspects could matter, few of which need a root (`engine.tofu`);
    `intervals` that decisions were based on and how many of them missed the true mean. With
    `audit=True` the intervals are those of all surviving arms in every stage visited, whether a
    decision needed them or not, and a policy with stages also counts, by stage,
    `sum_c`, the sum of √(xᵀA⁻¹x) over the rounds that it explored (Lemma 3); `best_lost`, visits
    that the best arm did not enter; and `far_arms`, arms that entered though they are worse than
    the best by more than 2^{3−s} (Lemma 5).
    """

    policy: str  # the policy's name
    world: str  # the world's name
    seed: int  # the seed of contexts and noise
    regret: float  # of all plays: the sum of gaps between true means (reading R3)
    plays: Ints  # checkpoints: plays made …
    curve: Floats  # … and the regret until then
    diagnostics: dict[str, Any] = field(default_factory=dict)
    arms: Ints | None = None  # the arm of each round, if asked for

    def __repr__(self) -> str:
        return (
            f"<{self.policy} in {self.world}, seed {self.seed}: "
            f"regret {self.regret:.6g} after {self.plays[-1]} plays>"
        )


class Options(TypedDict, total=False):
    """What may be said to `simulate` and to `simulate_all`, whose defaults hold for both."""

    checkpoints: int | Sequence[int]
    audit: bool
    keep_arms: bool
    block: int | None
    progress: bool | Report


def simulate(policy: Any, world: World, seed: int = 0, **options: Unpack[Options]) -> Run:
    """Let a fresh policy play all its rounds in a world.

    checkpoints  how many points the curve has, evenly spread, or the plays at which it is wanted
    audit        form every interval of every stage visited and count those that miss (slower)
    keep_arms    record the arm of each round
    block        rounds per block; by default as many as fit the cache
    progress     True for a bar on stderr, or a function that is told how many plays were just made

    A policy of one's own that has played is refused. What cannot be noticed: that another wrapper
    shares its learner, or that it is a shallow copy; and of those on which nothing can be written,
    as with `__slots__` and no `__dict__`, only the last few are remembered, and no copies.

    A noise of one's own is refused if some of its draws, at most 4,000, come out otherwise in parts
    than at once. `check_noise` compares 100,000; neither finds what shows more rarely. A world of
    one's own is refused by the contexts of its first 20 rounds; `check_world` compares more.
    """
    return simulate_all([policy], world, seed, **options)[0]


def simulate_all(
    policies: Iterable[Any],
    world: World,
    seed: int = 0,
    *,
    checkpoints: int | Sequence[int] = 200,
    audit: bool = False,
    keep_arms: bool = False,
    block: int | None = None,
    progress: bool | Report = False,
) -> list[Run]:
    """Let several fresh policies play in the same world; contexts are drawn once for all.

    The same runs as one by one. Arguments as in `simulate`.
    """
    world, seed = checked_world(world, seed)
    players = [_Player(p, world, seed, checkpoints, keep_arms) for p in policies]
    if len({id(player.policy) for player in players}) < len(players):
        raise ValueError("policies must be different objects; the same policy is given twice")
    check_order(players, world)
    if audit:
        for player in players:
            if not isinstance(player.policy, Compiled):
                raise TypeError(f"audit needs a compiled policy, got {player.name}")
            player.policy.audit()
    play_all(players, world, seed, block, progress)
    return [player.result() for player in players]


def checked_world(world: World, seed: int) -> tuple[World, int]:
    """World and seed if they are such; a noise that only draws becomes a noise."""
    seed = whole("seed", seed, 0)
    for member in ("n_arms", "dim", "noise", "theta_star", "contexts"):
        if not hasattr(world, member):
            raise TypeError(f"world must have {member}, as hb.section6() has; got {world!r:.60}")
    if isinstance(world.noise, type) or not hasattr(world.noise, "payoffs"):
        world = OwnWorld(world, as_noise(world.noise))
    return world, seed


def check_order(players: list[_Player], world: World) -> None:
    """Refuse a noise or contexts of the reader's that depend on the size of the blocks.

    A dependence that shows more rarely than in the few draws compared is not found.
    """
    for plays in dict.fromkeys(p.policy.plays for p in players):
        rounds = max(p.policy.rounds for p in players if p.policy.plays == plays)
        if contexts_out_of_order(world, rounds, plays):
            raise ValueError(
                f"contexts of world {world_name(world)} depend on how many rounds are asked for at "
                f"once, or on earlier calls, so that policies would not meet the same contexts; "
                f"draw from rng alone, and those of a round before those of the next"
            )
    if out_of_order(world.noise, sum(p.policy.plays * p.policy.rounds for p in players)):
        raise ValueError(
            f"draws of the noise {world.noise.name} depend on how many are asked for at once, so "
            f"that policies would not meet the same noise; {remedy(world.noise)}"
        )


def play_all(
    players: list[_Player], world: World, seed: int, block: int | None, progress: bool | Report
) -> None:
    """Let all play all their rounds; those that can share contexts do."""
    if block is None:
        most = max([world.n_arms * world.dim, *(p.policy.plays for p in players)])
        block = max(1, BLOCK_DOUBLES // most)
    block = whole("block", block, 1)
    # Worlds may look at the plays per round (Theorem 3's stages are counted in plays), so only
    # policies that agree on them can share contexts.
    with reporting(progress, sum(p.policy.plays * p.policy.rounds for p in players)) as report:
        for plays in dict.fromkeys(p.policy.plays for p in players):
            _play_together(
                [p for p in players if p.policy.plays == plays], world, seed, block, report
            )


def _play_together(
    players: list[_Player], world: World, seed: int, block: int, report: Report
) -> None:
    """Let policies with the same plays per round go through the same contexts, block by block."""
    plays = players[0].policy.plays
    rounds = max(p.policy.rounds for p in players)
    name = world_name(world)
    try:
        theta_star = world.theta_star(seed)
    except StopIteration as error:
        raise ended(f"theta_star of world {name}", error) from error
    given = real_numbers(f"theta_star of world {name}", theta_star)
    theta = np.array(given, dtype=np.float64)
    if theta.shape != (world.dim,) or not np.isfinite(theta).all():
        raise ValueError(
            f"theta_star of world {world_name(world)} must be {world.dim} finite numbers, "
            f"got {theta}"
        )
    mention_length(world, theta, 6)  # after simulate, simulate_all and play_all: the caller's line
    block = min(block, rounds)
    rng = stream(seed, CONTEXT_STREAM)
    means = np.empty((block, world.n_arms))
    best = np.empty(block)
    for first in range(0, rounds, block):
        n = min(block, rounds - first)
        try:
            drawn = contexts(world, rng, first, n, plays)
        except StopIteration as error:  # of a log that is read by next()
            raise ValueError(
                f"contexts of world {name} have run out in rounds {first + 1} to {first + n}, and "
                f"{rounds} are to be played; give the policy a shorter horizon"
            ) from error
        offered = real_numbers(f"contexts of world {name}", drawn)
        X = np.require(offered, np.float64, ["C", "W"])  # kernels are compiled for such alone
        if X.shape[1:] == (world.n_arms, world.dim) and len(X) < n:
            raise ValueError(
                f"contexts of world {world_name(world)} have run out: there are {first + len(X)} "
                f"rounds of them, and {rounds} are to be played; give the policy a shorter horizon"
            )
        if X.shape != (n, world.n_arms, world.dim):
            raise ValueError(
                f"contexts of world {world_name(world)} must have the shape "
                f"{(n, world.n_arms, world.dim)}, got {X.shape}"
            )
        bad = price(X, theta, means, best)
        if bad >= 0:
            raise ValueError(
                f"contexts of world {world_name(world)} must be finite and no longer than 1; "
                f"those of round {first + bad + 1} are not"
            )
        if isinstance(world.noise, Noise):
            world.noise.check_means(means[:n])
        for player in players:
            left = min(n, player.policy.rounds - first)
            if left > 0:
                player.play(X[:left], means[:left], best[:left])
                report(left * plays)


class _Player:
    """A policy on its way through a world, with its own copy of the noise stream."""

    def __init__(
        self,
        policy: Any,
        world: World,
        seed: int,
        checkpoints: int | Sequence[int],
        keep_arms: bool,
    ) -> None:
        self.name = check_fresh(policy, world.n_arms, world.dim, world_name(world))
        self.policy, self.world, self.seed = policy, world, seed
        self.rng, self.form = stream(seed, NOISE_STREAM), payoff_form(world.noise)
        self.marks = _checkpoint_rounds(checkpoints, policy.plays, policy.rounds)
        self.values = np.empty(len(self.marks))
        self.marked = 0
        self.played = 0
        self.regret = 0.0
        self.arms = np.empty(policy.rounds if keep_arms else 0, dtype=np.int64)

    def play(self, X: Floats, means: Floats, best: Floats) -> None:
        """Play a block of rounds and keep what is wanted of it."""
        n = len(X)
        curve, self.block_arms = np.empty(n), np.empty(n, dtype=np.int64)
        self.block_stages = np.zeros(n, dtype=np.int64)
        self.block_draws = self._draws(n * self.policy.plays)
        self._play_block(X, means, best, self.block_draws, curve)
        self.regret = float(curve[-1])
        until = int(np.searchsorted(self.marks, self.played + n, side="right"))
        due = self.marks[self.marked : until] - self.played - 1
        self.values[self.marked : until] = curve[due]
        if self.arms.size:
            self.arms[self.played : self.played + n] = self.block_arms
        self._compare(slice(self.marked, until), due)
        self.marked, self.played = until, self.played + n

    def _compare(self, marks: slice, due: Ints) -> None:
        """What a copy does before the block is forgotten."""

    def _draws(self, n: int) -> Floats:
        """The noise of the next n plays."""
        try:
            drawn = draw(self.world.noise, self.rng, n)
        except StopIteration as error:
            raise ended(f"draw of the noise {world_name(self.world.noise)}", error) from error
        drawn = real_numbers("draws of the noise", drawn)
        draws = np.ascontiguousarray(drawn, dtype=np.float64)
        if draws.shape != (n,):
            raise ValueError(
                f"draw of the noise must give {n} numbers, it gave an array of shape {draws.shape}"
            )
        return draws

    def _play_block(
        self, X: Floats, means: Floats, best: Floats, draws: Floats, curve: Floats
    ) -> None:
        record = curve, self.block_arms, self.block_stages
        if isinstance(self.policy, Compiled) and self.form is not None:
            self.policy.play_block(X, means, best, draws, self.form, self.regret, *record)
        else:
            self._play_rounds(X, means, best, draws, *record)

    def _payoffs(self, mean: float, draws: Floats) -> Floats:
        """What the plays of a round are said to have paid."""
        try:
            return self.world.noise.payoffs(mean, draws)
        except StopIteration as error:
            raise ended(f"payoffs of the noise {world_name(self.world.noise)}", error) from error

    def _play_rounds(
        self,
        X: Floats,
        means: Floats,
        best: Floats,
        draws: Floats,
        curve: Floats,
        arms: Ints,
        stages: Ints,
    ) -> None:
        policy, plays, regret = self.policy, self.policy.plays, self.regret
        note_played(policy, self.played + len(X))
        X = unchangeable(X)
        for t in range(len(X)):
            try:
                answer = policy.select(X[t])
            except ValueError as error:
                if "read-only" in str(error) or "WRITEABLE" in str(error):
                    error.add_note("contexts are read-only, so copy them first: contexts.copy()")
                raise
            except StopIteration as error:
                raise ended(f"select of {self.name}", error) from error
            try:
                arm = operator.index(answer)
            except TypeError:
                arm = -1
            if not 0 <= arm < self.world.n_arms:
                raise ValueError(
                    f"select of {self.name} must return a whole number from 0 to "
                    f"{self.world.n_arms - 1}; "
                    f"in round {self.played + t + 1} it returned {answer!r:.60}"
                )
            mean = means[t, arm]
            payoffs = self._payoffs(mean, draws[t * plays : (t + 1) * plays])
            if not (np.abs(payoffs) <= LARGEST).all():
                raise ValueError(
                    f"payoffs must be finite and at most {LARGEST:g} in absolute value; "
                    f"the noise gave one that is not in round "
                    f"{self.played + t + 1}"
                )
            try:
                policy.update(payoffs)
            except StopIteration as error:
                raise ended(f"update of {self.name}", error) from error
            regret += plays * (best[t] - mean)
            curve[t] = regret
            arms[t] = arm
            if isinstance(policy, Compiled):
                stages[t] = policy._state.clock[DEPTH]

    def result(self) -> Run:
        return Run(
            policy=self.name,
            world=world_name(self.world),
            seed=self.seed,
            regret=self.regret,
            plays=self.policy.plays * self.marks,
            curve=self.values,
            diagnostics=dict(getattr(self.policy, "diagnostics", {})),
            arms=self.arms if self.arms.size else None,
        )


def mention_length(world: Any, theta: Floats, stacklevel: int) -> None:
    """Warn of a θ* that is longer than policies assume."""
    norm = math.sqrt(math.fsum(x * x for x in theta.tolist()))
    if norm > LONGEST:
        warnings.warn(
            f"theta_star of world {world_name(world)} has norm {told_norm(norm)}, and policies "
            f"assume at most 1; for payoffs in other units divide it by that, and let the noise be "
            f"hb.noise.Units(noise, factor={told_norm(norm)})",
            stacklevel=stacklevel,
        )


def world_name(world: Any) -> str:
    """The name of a world, or a noise, as it stands in tables and messages."""
    return str(getattr(world, "name", type(world).__name__))


def _checkpoint_rounds(checkpoints: int | Sequence[int], plays: int, rounds: int) -> Ints:
    """The rounds after which the curve is recorded; the last is always among them."""
    if isinstance(checkpoints, int | np.integer):
        count = min(whole("checkpoints", checkpoints, 1), rounds)
        marks = np.ceil(np.linspace(0, rounds, count + 1)[1:] - 1e-9).astype(np.int64)
    else:
        wanted = np.asarray(checkpoints)
        if (
            wanted.ndim != 1
            or wanted.dtype.kind not in "iu"
            or wanted.size == 0
            or wanted.min() < 1
        ):
            raise ValueError(
                f"checkpoints must be a whole number of points, or the plays at which they are "
                f"wanted, from 1 on; got {checkpoints!r:.60}"
            )
        wanted = wanted.astype(np.int64)
        marks = np.append(wanted[wanted < plays * rounds] // plays, rounds)
        marks = marks[marks > 0]
    return np.unique(marks)


@contextmanager
def reporting(progress: bool | Report, total: int) -> Iterator[Report]:
    """What to tell how many plays were made: nobody, the caller's function, or a bar."""
    if callable(progress):
        yield progress
    elif progress:
        from tqdm import tqdm

        with tqdm(total=total, unit="play", unit_scale=True) as bar:
            yield bar.update
    else:
        yield lambda _: None
