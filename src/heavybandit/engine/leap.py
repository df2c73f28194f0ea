"""SupBMM and SupBTC where the arms stay the same: many rounds in one step, to 10¹⁵ plays.

With ε = 1, `explore="first"`, contexts x_1, …, x_K that never change and payoffs of finitely many
values, a run has the same law as one of `simulate`, and takes at most K steps per stage whatever
the horizon. In real arithmetic this is exact:

*Stages are passed one after the other.* For ε = 1 the width factor f = (α + 1)·width_scale is the
same in every round. The widths f·√q, q = xᵀA⁻¹x, of stage s therefore change only when stage s
takes a round, and so do its estimates. By induction on s: once stages 1, …, s − 1 have been passed
they take no more rounds, and the same arms enter stage s for ever. Stage s then takes every round
until it is passed too, or until its widths are all at most the level 1/√T₀, or the plays are over.

*A stage is at most K leaps.* It plays its first arm with a width above 2^{−s}. Playing an arm makes
no width larger, so an arm that was narrow stays so, and the first wide arm is played again and
again until it is narrow. By Sherman–Morrison m rounds take its q to q/(1 + mq), so that
m = ⌈(f·2^s)² − 1/q⌉; the others' q_b = xᵦᵀA⁻¹xᵦ become p + (q_b − p)/(1 + mq), where p is what is
left of q_b across the direction played. Where the level exceeds 2^{−s}, the stage may end before:
as soon as all of these are at most (level/f)², which is the m of the last arm to get there.

*Payoffs matter only when the stage is left*, by how often each value came for each arm: those are
multinomial counts, independent between arms, stages and, for BMM, the r columns of plays. BTC's
weight β = xᵀA⁻¹x_a is the same for all plays of arm a, so that a value is truncated for all of them
or for none, and h² = Σ_a m_a β_a². Elimination only takes arms away: what was narrow stays so.

*Exploiting changes nothing*, so that the rest of the horizon is one more step.

Comparisons are those of the engine, readings R4 and R15 included. In floating point m is right
unless (f·2^s)² − 1/q is within rounding of a whole number; given the payoffs that the engine saw,
the tests find the same arm in every round. Counts come from NumPy's binomial generator.

For ε < 1 none of this helps: the widths of all stages grow with t, and the arm that has just become
narrow is wide again a few rounds later. The number of steps is then proportional to the horizon
(for ε = 0.5 a step would be four or five rounds), so that `leap` refuses and `simulate` is as good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..checks import whole
from ..instances import FixedArms
from ..noise import Finite
from ..policy import NOISE_STREAM, TIE, Floats, stream
from ..simulate import Run, _Player
from .policies import SupBMM, SupBTC
from .state import GAIN, LEVEL, OFFSET, SCALE, Ints

Counts = Callable[[int, int, int], Ints]
"""(stage, arm, rounds) → how often each value was paid, (values, plays per round)."""

THIN = 2.0**-12  # where p is smaller and n huge, NumPy's binomial generator loses digits
FEW = 32  # payoffs per column that are drawn one by one


class Rules(NamedTuple):
    """What decides about arms, with K arms in d dimensions."""

    Z: Floats  # (d, K): A^{−1/2}x of each arm before anything is played
    means: Floats  # (K,)
    values: list[Floats]  # by arm, what a payoff can be
    truncates: bool  # BTC, or else BMM
    rounds: int
    n_stages: int
    factor: float  # what multiplies √(xᵀA⁻¹x)
    level: float  # the width at which the master exploits


@dataclass
class Stage:
    """A stage on the way through a run."""

    alive: Ints  # the arms that entered it
    rounds: Ints  # (K,): how many it gave to each arm
    sum_c: float = 0.0  # Σ √(xᵀA⁻¹x) over those rounds
    exploited: int = 0  # rounds in which it exploited
    truncated: int = 0  # terms that its estimates leave out
    missed: int = 0  # arms whose mean is not in their interval


def walk(rules: Rules, counts: Counts) -> tuple[list[Stage], list[tuple[int, int]]]:
    """The stages visited, and which arm was played for how many rounds, in order."""
    stages: list[Stage] = []
    steps: list[tuple[int, int]] = []
    left, alive = rules.rounds, np.arange(len(rules.means))
    level = rules.level * (1 + TIE)
    for s in range(rules.n_stages):
        stage = Stage(alive, np.zeros(len(rules.means), dtype=np.int64))
        stages.append(stage)
        limit = 0.5 ** (s + 1) * (1 + TIE)
        Z = np.ascontiguousarray(rules.Z[:, alive])
        q = (Z * Z).sum(axis=0)
        precise = bool(np.all(rules.factor * np.sqrt(q) <= level))
        for i, arm in enumerate(alive.tolist()):
            if precise or left == 0 or rules.factor * math.sqrt(q[i]) <= limit:
                continue
            played = float(q[i])
            u = Z[:, i] / math.sqrt(played)
            along, across = _split(Z, u)
            across[:, i] = 0.0
            m = max(1, math.ceil((rules.factor / limit) ** 2 - 1 / played))
            if level > limit:
                enough = _rounds_to_level(q, across, played, (level / rules.factor) ** 2)
                precise, m = enough <= m, int(min(enough, m))
            m = min(m, left)
            left -= m
            stage.rounds[arm] = m
            stage.sum_c += _sum_of_roots(1 / played, m)
            steps.append((arm, m))
            Z = across + u[:, None] * (along / math.sqrt(1 + m * played))
            q = (Z * Z).sum(axis=0)
            precise = precise or bool(np.all(rules.factor * np.sqrt(q) <= level))
        if left == 0:
            break
        r_hat = _estimates(rules, s, stage, Z, counts)
        width = rules.factor * np.sqrt(q)
        upper = r_hat + width
        stage.missed = int(np.sum(np.abs(r_hat - rules.means[alive]) > width))
        if precise or s == rules.n_stages - 1:
            steps.append((int(alive[np.flatnonzero(upper >= upper.max() - TIE)[0]]), left))
            stage.exploited = left
            break
        alive = alive[upper >= upper.max() - (0.5**s + TIE)]
    return stages, steps


def _split(Z: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Columns as along·u + across, projected twice: once leaves some of u in what is across.

    Sums are taken along the first axis, number by number, so that bits do not depend on the CPU.
    """
    along = (u[:, None] * Z).sum(axis=0)
    across = Z - u[:, None] * along
    return along, across - u[:, None] * (u[:, None] * across).sum(axis=0)


def _rounds_to_level(q: Floats, across: Floats, played: float, most: float) -> float:
    """The least m with p + (q_b − p)/(1 + mq) ≤ `most` for every arm b, or infinity."""
    p = (across * across).sum(axis=0)
    wide = q > most
    if np.any(p[wide] >= most):
        return math.inf
    return float(np.ceil((q[wide] - most) / ((most - p[wide]) * played)).max(initial=1.0))


def _sum_of_roots(start: float, m: int) -> float:
    """Σ_{j<m} (start + j)^{−1/2}: √q over m rounds with one arm, whose 1/q grows by 1 per round.

    Term by term, and from the 64th on by Euler and Maclaurin's formula.
    """
    few = min(m, 64)
    a, b = start + few, start + m
    rest = 2 * (b - a) / (math.sqrt(a) + math.sqrt(b)) + (a**-0.5 - b**-0.5) / 2
    rest += (a**-1.5 - b**-1.5) / 24
    return math.fsum(1 / math.sqrt(start + j) for j in range(few)) + rest


def _estimates(rules: Rules, s: int, stage: Stage, Z: Floats, counts: Counts) -> Floats:
    """r̂ of the arms that entered the stage, by Algorithm 1 or 2."""
    played = [i for i, arm in enumerate(stage.alive.tolist()) if stage.rounds[arm]]
    beta = {i: (Z[:, [i]] * Z).sum(axis=0) for i in played}  # xᵀA⁻¹x_a of every arm x
    h = np.zeros(Z.shape[1])
    for i in played:
        h += float(stage.rounds[stage.alive[i]]) * beta[i] ** 2
    h = np.sqrt(h) * (1 + TIE)
    r_hat: Any = np.zeros(Z.shape[1])
    for i in played:
        arm = int(stage.alive[i])
        values = rules.values[arm][:, None]
        seen = counts(s, arm, int(stage.rounds[arm]))
        if rules.truncates:
            kept = np.abs(values * beta[i]) <= h
            r_hat = r_hat + beta[i] * np.where(kept, seen * values, 0.0).sum(axis=0)
            stage.truncated += int(np.where(kept, 0, seen).sum())
        else:  # one row per arm, one column per play
            r_hat = r_hat.reshape(len(h), -1) + beta[i][:, None] * (seen * values).sum(axis=0)
    if r_hat.ndim == 2:
        r_hat = np.sort(r_hat, axis=1)[:, (r_hat.shape[1] - 1) // 2]
    return np.asarray(r_hat)


class Drawn:
    """Multinomial counts: how many payoffs are rarer than the commonest value, than the next, …

    That share of the payoffs left is a ratio of sums of small probabilities, which is accurate
    where 1 − p is not. The last few payoffs are drawn one by one.
    """

    def __init__(self, rng: np.random.Generator, chances: Sequence[Floats], plays: int) -> None:
        self.rng, self.plays, self.sizes = rng, plays, [len(p) for p in chances]
        self.order = [np.argsort(-p, kind="stable")[: np.count_nonzero(p)] for p in chances]
        self.tails = [  # by arm, the probability of each value and all rarer ones
            np.append(np.cumsum(p[order[::-1]])[::-1], 0.0)
            for p, order in zip(chances, self.order, strict=True)
        ]

    def __call__(self, stage: int, arm: int, rounds: int) -> Ints:
        order, tails = self.order[arm], self.tails[arm]
        left = np.full(self.plays, rounds, dtype=np.int64)
        counts = np.zeros((self.sizes[arm], self.plays), dtype=np.int64)
        i = 0
        while left.max() > FEW:
            rarer = self._binomial(left, float(tails[i + 1] / tails[i]))
            counts[order[i]] = left - rarer
            left, i = rarer, i + 1
        columns = np.repeat(np.arange(self.plays), left)
        at_most = np.searchsorted(tails[:i:-1], tails[i] * self.rng.random(columns.size), "right")
        np.add.at(counts, (order[len(order) - at_most], columns), 1)
        return counts

    def _binomial(self, n: Ints, p: float) -> Ints:
        while 0 < p < THIN:  # Binomial(n, p) is Binomial(Binomial(n, THIN), p/THIN)
            n, p = self.rng.binomial(n, THIN), p / THIN
        return np.asarray(self.rng.binomial(n, p))


def rules_of(policy: Any, world: Any) -> Rules:
    """What a policy does in a world, or a sentence that says why it cannot be leapt."""
    name = type(policy).__name__
    instead = "use hb.simulate, which plays round by round"
    if not isinstance(policy, SupBMM | SupBTC):
        raise TypeError(f"policy must be hb.SupBMM or hb.SupBTC, got {name}; {instead}")
    if policy.explore != "first":
        raise ValueError(f"explore must be 'first', got {policy.explore!r}; {instead}")
    if policy.eps != 1:
        raise ValueError(
            f"eps must be 1, got {policy.eps}: below 1, widths grow with t and arms are taken up "
            f"again every few rounds; {instead}"
        )
    if not isinstance(world, FixedArms):
        raise TypeError(
            f"world must be one of hb.fixed_arms, whose contexts do not change, got "
            f"{getattr(world, 'name', world)!s:.60}; {instead}"
        )
    if not isinstance(world.noise, Finite):
        raise TypeError(
            f"noise must have finitely many values, got {world.noise.name}; take hb.noise.Levels, "
            f"or {instead}"
        )
    state, means = policy._state, world.means
    return Rules(
        Z=math.sqrt(state.A_inv[0, 0, 0]) * np.array(world.arms).T,
        means=means,
        values=[world.noise.law(mean)[0] for mean in means.tolist()],
        truncates=isinstance(policy, SupBTC),
        rounds=policy.rounds,
        n_stages=policy.n_stages,
        factor=float((state.num[GAIN] + state.num[OFFSET]) * state.num[SCALE]),
        level=float(state.num[LEVEL]),
    )


def leap(policy: Any, world: Any, seed: int = 0, *, checkpoints: int | Sequence[int] = 200) -> Run:
    """Let a fresh SupBMM or SupBTC play all its rounds among fixed arms, many rounds in one step.

    As `simulate` in law, not in its numbers: with the same seed other payoffs are drawn. The policy
    itself is left as it is. `checkpoints` as in `simulate`.

    `diagnostics` have those of `simulate` that make sense here, `sum_c`, `best_lost` and `far_arms`
    included; and by stage `explored_by_arm`, the rounds given to each arm; `arms`, those that
    entered; and `arms_missed`, how many of them had their mean outside their interval when the
    stage was left.
    """
    rules = rules_of(policy, world)
    seed = whole("seed", seed, 0)
    player = _Player(policy, world, seed, checkpoints, keep_arms=False)
    chances = [world.noise.law(mean)[1] for mean in rules.means.tolist()]
    drawn = Drawn(stream(seed, NOISE_STREAM), chances, policy.plays)
    stages, steps = walk(rules, drawn)
    gaps = policy.plays * (rules.means.max() - rules.means)
    ends = np.cumsum([0, *(m for _, m in steps)])
    costs = np.cumsum([0.0, *(m * gaps[arm] for arm, m in steps)])
    step = np.searchsorted(ends, player.marks) - 1
    slopes = gaps[[arm for arm, _ in steps]]
    player.values = costs[step] + (player.marks - ends[step]) * slopes[step]
    player.regret = float(player.values[-1])
    return replace(player.result(), diagnostics=_diagnostics(rules, stages))


def _diagnostics(rules: Rules, stages: list[Stage]) -> dict[str, Any]:
    """What `simulate` counts, and what happened to each arm in each stage."""
    gaps = rules.means.max() - rules.means
    found: dict[str, list[Any]] = {
        name: []
        for name in (
            *("explored", "exploited", "visited", "arms_entering", "sum_c", "best_lost"),
            *("far_arms", "explored_by_arm", "arms", "arms_missed"),
        )
    }
    totals = dict.fromkeys(("estimates", "truncated", "intervals", "intervals_missed"), 0)
    visits = rules.rounds
    for s in range(rules.n_stages):
        here = stages[s] if s < len(stages) else Stage(np.arange(0), 0 * stages[0].rounds)
        visits = visits if s < len(stages) else 0
        explored = int(here.rounds.sum())
        near = gaps[here.alive]
        row = (
            *(explored, here.exploited, visits, float(len(near)) if visits else math.nan),
            *(here.sum_c, visits * int(visits > 0 and near.min() > 0)),
            visits * int(np.sum(near > 8 * 0.5 ** (s + 1) * (1 + TIE))),
            *(here.rounds.tolist(), here.alive.tolist(), here.missed),
        )
        for column, entry in zip(found.values(), row, strict=True):
            column.append(entry)
        visits -= explored  # what is left passes through this stage, and asks for its estimates
        totals["estimates"] += visits * len(near)
        totals["intervals"] += visits * len(near)
        totals["truncated"] += visits * here.truncated
        totals["intervals_missed"] += visits * here.missed
    return {**found, **totals}
