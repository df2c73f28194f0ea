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

What a stage does until it is left depends on payoffs only through the arms that enter it. Runs of
several seeds share it (`Passage`), and each draws its own counts. Runs in several worlds share it
too if arms and widths are the same (`leap_together`). Those with the same seed then ask for the
same counts of values equally probable until they drop different arms, and these are drawn once.

Comparisons are those of the engine, readings R4 and R15 included. In floating point m is right
unless (f·2^s)² − 1/q is within rounding of a whole number; given the payoffs that the engine saw,
the tests find the same arm in every round. Counts come from NumPy's binomial generator.

For ε < 1 the widths of all stages grow with t, so that an arm that has become narrow is wide again
a few rounds later, in its own stage or in an earlier one. The rounds in which one arm is played
without interruption would make a step. While several arms survive, the length of a step does not
grow with the horizon: once n rounds have been explored, keeping them narrow until t takes
n·(1 − ε)/(1 + ε)/t more of them per round, a constant share as long as n grows like t (notebook 03
measures 4 rounds per step for ε = 0.5 and some 25 for ε = 0.9, from 10⁴ to 10⁶ plays). As a step
costs as much as a hundred compiled rounds, `leap` would be no faster than `simulate` at the gaps
that matter for a worst-case bound, and refuses. Steps do become longer once a single arm is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..checks import whole
from ..instances import FixedArms
from ..noise import Finite
from ..policy import NOISE_STREAM, TIE, Floats, stream
from ..simulate import Run, _Player, mention_length, world_name
from .counts import Draw, Drawn, Law
from .policies import SupBMM, SupBTC
from .state import GAIN, LEVEL, OFFSET, SCALE, THRESHOLD, Ints

Counts = Callable[[int, int, int], Ints]
"""(stage, arm, rounds) → how often each value was paid, (values, plays per round)."""


class Rules(NamedTuple):
    """What decides about arms, with K arms in d dimensions."""

    Z: Floats  # (d, K): A^{−1/2}x of each arm before anything is played
    means: Floats  # (K,)
    laws: list[Law]  # by arm
    truncates: bool  # BTC, or else BMM
    rounds: int
    n_stages: int
    factor: float  # what multiplies √(xᵀA⁻¹x)
    level: float  # the width at which the master exploits
    threshold: float  # what multiplies h of BTC


@dataclass
class Passage:
    """What a stage does whatever its payoffs are, given the arms that enter and the rounds left."""

    alive: Ints  # the arms that enter
    left: int  # rounds left when it is over
    precise: bool  # whether its widths are all at most the level
    steps: list[tuple[int, int]]  # which arm it explores for how many rounds, in order
    sum_c: float  # Σ √(xᵀA⁻¹x) over those rounds
    width: Floats  # of the arms that entered, when it is over
    terms: list[tuple[int, int, Floats, Floats]]  # see `_terms`


Passages = dict[tuple[int, int, bytes], Passage]


@dataclass
class Stage:
    """A stage on the way through a run."""

    passage: Passage
    exploited: int = 0  # rounds in which it exploited
    truncated: int = 0  # terms that its estimates leave out
    missed: int = 0  # arms whose mean is not in their interval


def walk(
    rules: Rules, counts: Counts, known: Passages
) -> tuple[list[Stage], list[tuple[int, int]]]:
    """The stages visited, and which arm was played for how many rounds, in order.

    known   passages computed before, and now those of this run too
    """
    stages: list[Stage] = []
    steps: list[tuple[int, int]] = []
    left, alive = rules.rounds, np.arange(len(rules.means))
    for s in range(rules.n_stages):
        key = (s, left, alive.tobytes())
        if key not in known:
            known[key] = _passage(rules, s, alive, left)
        passage = known[key]
        stage = Stage(passage)
        stages.append(stage)
        steps += passage.steps
        left = passage.left
        if left == 0:
            break
        r_hat, stage.truncated = _estimates(rules, s, passage, counts)
        upper = r_hat + passage.width
        wrong = np.abs(r_hat - rules.means[alive]) > passage.width
        stage.missed = int(np.count_nonzero(wrong))
        if passage.precise or s == rules.n_stages - 1:
            steps.append((int(alive[np.flatnonzero(upper >= upper.max() - TIE)[0]]), left))
            stage.exploited = left
            break
        alive = alive[upper >= upper.max() - (0.5**s + TIE)]
    return stages, steps


def _passage(rules: Rules, s: int, alive: Ints, left: int) -> Passage:
    """Explore one arm after the other, as long as one is wide and the level is not reached."""
    steps: list[tuple[int, int]] = []
    played = []
    sum_c = 0.0
    limit, level = 0.5 ** (s + 1) * (1 + TIE), rules.level * (1 + TIE)
    Z = np.ascontiguousarray(rules.Z[:, alive])
    q = (Z * Z).sum(axis=0)
    precise = bool(np.all(rules.factor * np.sqrt(q) <= level))
    for i, arm in enumerate(alive.tolist()):
        if precise or left == 0 or rules.factor * math.sqrt(q[i]) <= limit:
            continue
        before = float(q[i])
        u = Z[:, i] / math.sqrt(before)
        along, across = _split(Z, u)
        across[:, i] = 0.0
        m = max(1, math.ceil((rules.factor / limit) ** 2 - 1 / before))
        if level > limit:
            enough = _rounds_to_level(q, across, before, (level / rules.factor) ** 2)
            precise, m = enough <= m, int(min(enough, m))
        m = min(m, left)
        left -= m
        sum_c += _sum_of_roots(1 / before, m)
        steps.append((arm, m))
        played.append(i)
        Z = across + u[:, None] * (along / math.sqrt(1 + m * before))
        q = (Z * Z).sum(axis=0)
        precise = precise or bool(np.all(rules.factor * np.sqrt(q) <= level))
    width = rules.factor * np.sqrt(q)
    terms = _terms(rules, Z, played, steps) if left else []
    return Passage(alive, left, precise, steps, sum_c, width, terms)


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


def _terms(
    rules: Rules, Z: Floats, played: list[int], steps: list[tuple[int, int]]
) -> list[tuple[int, int, Floats, Floats]]:
    """What the estimates need of each arm played: arm, rounds, weights β and what to keep.

    β = xᵀA⁻¹x_a, one for every arm x that entered. BTC keeps values of at most h/|β|, BMM all.
    """
    betas = [(Z[:, [i]] * Z).sum(axis=0) for i in played]
    h = np.zeros(Z.shape[1])
    for (_, rounds), beta in zip(steps, betas, strict=True):
        h += float(rounds) * beta**2
    h = np.sqrt(h) * rules.threshold * (1 + TIE)
    terms = []
    for (arm, rounds), beta in zip(steps, betas, strict=True):
        weight = np.abs(beta)
        most = np.divide(h, weight, out=np.full_like(h, np.inf), where=weight > 0)
        terms.append((arm, rounds, beta, most))
    return terms


def _estimates(rules: Rules, s: int, passage: Passage, counts: Counts) -> tuple[Floats, int]:
    """r̂ of the arms that entered the stage, by Algorithm 1 or 2, and how many terms it left out."""
    truncated, r_hat = 0, np.zeros(len(passage.alive))
    columns: list[Floats] = []  # for BMM: Σβ·payoff by arm and play
    for arm, rounds, beta, most in passage.terms:
        law, seen = rules.laws[arm], counts(s, arm, rounds)
        if rules.truncates:
            kept = law.sizes.searchsorted(most, side="right")
            sums = np.zeros((2, 1 + len(seen)))  # of the first so many values, and their payoffs
            times = seen[law.by_size, 0]
            times.cumsum(out=sums[0, 1:])
            (times * law.ordered).cumsum(out=sums[1, 1:])
            r_hat += beta * sums[1, kept]
            truncated += int((rounds - sums[0, kept]).sum())
        else:
            columns.append(beta[:, None] * (seen * law.values[:, None]).sum(axis=0))
    if columns:
        total = sum(columns[1:], start=columns[0])
        middle = (total.shape[1] - 1) // 2
        total.partition(middle, axis=1)
        r_hat = total[:, middle]
    return r_hat, truncated


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
        laws=[Law(*world.noise.law(mean)) for mean in means.tolist()],
        truncates=isinstance(policy, SupBTC),
        rounds=policy.rounds,
        n_stages=policy.n_stages,
        factor=float((state.num[GAIN] + state.num[OFFSET]) * state.num[SCALE]),
        level=float(state.num[LEVEL]),
        threshold=float(state.num[THRESHOLD]),
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
    return leap_all(policy, world, [seed], checkpoints=checkpoints)[0]


def leap_all(
    policy: Any, world: Any, seeds: Sequence[int], *, checkpoints: int | Sequence[int] = 200
) -> list[Run]:
    """The runs of `leap` with each seed; what does not depend on payoffs is computed once."""
    return leap_together([(policy, world)], seeds, checkpoints=checkpoints)[0]


def leap_together(
    pairs: Sequence[tuple[Any, Any]],
    seeds: Sequence[int],
    *,
    checkpoints: int | Sequence[int] = 200,
) -> list[list[Run]]:
    """The runs of `leap_all` of each policy in its world; what agrees is computed and drawn once.

    A run shares draws with the one before it, so that pairs should come in an order in which arms
    are dropped later and later: from the largest gap on.
    """
    every = [rules_of(policy, world) for policy, world in pairs]
    for _, world in pairs:
        mention_length(world, world.theta_star(0), 5)  # after leap and leap_all
    alike: dict[tuple[object, ...], Passages] = {}
    known = [alike.setdefault((r.Z.tobytes(), r.Z.shape, *r[3:]), {}) for r in every]
    players = [_Player(*pair, 0, checkpoints, keep_arms=False) for pair in pairs]
    runs: list[list[Run]] = [[] for _ in pairs]
    for seed in [whole("seed", one, 0) for one in seeds]:
        before: list[Draw] | None = [] if len(pairs) > 1 else None
        for player, rules, passages, mine in zip(players, every, known, runs, strict=True):
            rng = stream(seed, NOISE_STREAM)
            drawn = Drawn(rng, rules.laws, player.policy.plays, before)
            stages, steps = walk(rules, drawn, passages)
            mine.append(_run(player, seed, rules, stages, steps))
    return runs


def _run(
    player: _Player, seed: int, rules: Rules, stages: list[Stage], steps: list[tuple[int, int]]
) -> Run:
    """What `simulate` says of a run, from its steps."""
    policy, marks = player.policy, player.marks
    gaps = policy.plays * (rules.means.max() - rules.means)
    ends = np.cumsum([0, *(m for _, m in steps)])
    costs = np.cumsum([0.0, *(m * gaps[arm] for arm, m in steps)])
    step = np.searchsorted(ends, marks) - 1
    slopes = gaps[[arm for arm, _ in steps]]
    curve = costs[step] + (marks - ends[step]) * slopes[step]
    return Run(
        policy=player.name,
        world=world_name(player.world),
        seed=seed,
        regret=float(curve[-1]),
        plays=policy.plays * marks,
        curve=curve,
        diagnostics=_diagnostics(rules, stages),
    )


def _diagnostics(rules: Rules, stages: list[Stage]) -> dict[str, Any]:
    """What `simulate` counts, and what happened to each arm in each stage."""
    gaps = rules.means.max() - rules.means
    zeros = ("explored", "exploited", "visited", "best_lost", "far_arms", "arms_missed")
    unseen: dict[str, Any] = dict.fromkeys(zeros, 0)
    unseen |= {"sum_c": 0.0, "arms_entering": math.nan, "arms": []}
    rows: list[dict[str, Any]] = []
    totals = dict.fromkeys(("estimates", "truncated", "intervals", "intervals_missed"), 0)
    visits = rules.rounds
    for s, here in enumerate(stages):
        passage, by_arm = here.passage, [0] * len(gaps)
        for arm, m in passage.steps:
            by_arm[arm] = m
        near, explored = gaps[passage.alive], sum(by_arm)
        rows.append(
            {
                "explored": explored,
                "exploited": here.exploited,
                "visited": visits,
                "arms_entering": float(len(near)),
                "sum_c": passage.sum_c,
                "best_lost": visits * int(near.min() > 0),
                "far_arms": visits * int(np.count_nonzero(near > 8 * 0.5 ** (s + 1) * (1 + TIE))),
                "explored_by_arm": by_arm,
                "arms": passage.alive.tolist(),
                "arms_missed": here.missed,
            }
        )
        visits -= explored  # what is left passes through this stage, and asks for its estimates
        totals["estimates"] += visits * len(near)
        totals["intervals"] += visits * len(near)
        totals["truncated"] += visits * here.truncated
        totals["intervals_missed"] += visits * here.missed
    for _ in range(len(stages), rules.n_stages):
        rows.append({**unseen, "explored_by_arm": [0] * len(gaps)})
    return {**{name: [row[name] for row in rows] for name in rows[0]}, **totals}
