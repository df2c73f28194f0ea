"""Everything a compiled policy remembers: one tuple of arrays, of one type for all policies.

One type means that each kernel is compiled once and cached once. What only one family of policies
needs is a tuple of its own within it (`Truncation`, `Roots`, `Regression`, `Posterior`,
`Forecasts`); arrays that a policy has no use for have no entries. Nothing else holds state, so a
pickled policy resumes where it was.
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import numpy as np

from ..policy import Floats
from .lanes import LANES
from .roots import N_SPAN, N_USE, room_for

Ints = np.ndarray[Any, np.dtype[np.int64]]

# Which policy a state belongs to; the numbers say nothing else.
SUP_BMM, SUP_BTC, FLAT_BMM, FLAT_BTC, MOM, CRT, MENU, TOFU = range(8)
LINUCB, GREEDY, UNIFORM, BLIND = range(8, 12)
HEAVY_OFUL, HVT_UCB, CLIPPED_UCB, THOMPSON, SAFE_RIDGE = range(12, 17)
# The families that share kernels.
MASTERS = (SUP_BMM, SUP_BTC)
BMM = (SUP_BMM, FLAT_BMM)
BTC = (SUP_BTC, FLAT_BTC)
HUBER = (HEAVY_OFUL, HVT_UCB)

# Entries of `num`: the width factor is (GAIN·t^GROWTH + OFFSET)·SCALE, with
# GROWTH = (1−ε)/(2(1+ε)); at the width LEVEL the master exploits; LOG_DET is ln(det A/det A₁);
# THRESHOLD multiplies the size at which BTC and CRT truncate. From CONST on: what else a policy's
# formulas need, in the order in which its class lists them as `constants`.
EPS, GAIN, OFFSET, GROWTH, SCALE, LEVEL, LOG_DET, THRESHOLD, CONST = range(9)
MOM_DEVIATION, MOM_LOG_ROUNDS, MOM_GROUPS, MOM_GROUP_SIZE = range(CONST, CONST + 4)
CRT_POWER, CRT_LOG_DELTA, CRT_V = range(CONST, CONST + 3)  # the first: 1/(1+ε)
TOFU_THRESHOLD, TOFU_LAG = range(CONST, CONST + 2)  # b_t is b_1 (t − lag)^GROWTH
# Of Huber regression: β_0; the least σ; τ₀ as it is, and scaled (infinite if nothing is
# clipped). Then HEAVY-OFUL's 1/c₀, (2c₁κ)^{−1/4} and ρ, or Hvt-UCB's √α.
HUBER_BETA_0, HUBER_LEAST_SIGMA, HUBER_TAU_0, HUBER_CLIP, HUBER_OWN = range(CONST, CONST + 5)
OFUL_INV_C_0, OFUL_FOURTH, OFUL_RADIUS = range(HUBER_OWN, HUBER_OWN + 3)
HVT_ROOT_ALPHA = HUBER_OWN
# Of ClippedUCB: the scale, which moves, and what multiplies it for widths and for clipping; the
# growth of the latter.
CLIPPED_SCALE, CLIPPED_WIDTH, CLIPPED_CLIP, CLIPPED_GROWTH = range(CONST, CONST + 4)
SAFE_SCALE, SAFE_CLIP = range(CONST, CONST + 2)  # of SafeRidge: the scale, which moves; units of it
# Entries of `clock`: what the policy is, where it is, what is pending, which part of a round is
# asked for.
KIND, EXPLORE, ROUND, ARM, GROWS, DEPTH, FULL, AUDIT, N_CHUNKS, PART, N_CLOCK = range(11)
PLAY, CHOOSE, LEARN = range(3)
# Columns of `counts`; row TOTAL is booked, row FRESH belongs to the round under way.
ESTIMATES, TRUNCATED, SCANS, ROOTS, INTERVALS, MISSED, SUSPECTS, MOST_SUSPECTS, N_COUNTS = range(9)
TOTAL, FRESH = range(2)
# Columns of `stage`: |Ψ^s|, of BTC only; suspects, and at how many of them or at which size to look
# again; the chunks of kept contexts; diagnostics.
SIZE, N_SUSPECTS, LOOK_AT, LOOK_AT_SIZE, CHUNK_FIRST, CHUNK_LAST = range(6)
EXPLORED, EXPLOITED, VISITS, ENTERED, ENTERING = range(6, 11)
# What an audit counts: visits that the best arm did not enter, arms that entered though they are
# worse than it by more than 2^{3−s}; and the same for the round under way.
LOST, FAR, LOST_NOW, FAR_NOW = range(11, 15)
# Whether θ̂ lags behind what the stage has learnt; whether it was passed the last time.
STALE, PASSED, N_STAGE = range(15, 18)
# Rows of `line`, one entry per arm.
WIDTH, UPPER, R_HAT, H, BETA, N_LINE = range(6)
# Rows of `vector`.
SOLVED, U, Z_SUM, THETA_NOW, N_VECTOR = range(5)

CHUNK = 256  # contexts per chunk of kept history
FIRST_SUSPECTS = 16  # suspects a stage holds before it looks which can be cleared
BUNDLE = 2 * FIRST_SUSPECTS  # suspects of HEAVY-OFUL of which only the soonest is asked for


class Truncation(NamedTuple):
    """What BTC knows of the contexts of each stage, to tell which payoffs may yet be truncated."""

    gram: Floats  # (S, d, d): VᵀV
    gram_lost: Floats  # (S, d, d): what rounding has dropped from it
    whiten: Floats  # (S, d, d): W with WᵀW ≥ (VᵀV)⁺, as of the last look at the suspects
    # (S,): no context has xᵀ(VᵀV)⁺x above this: for ε < 1 none of the stage, for ε = 1 none that
    # may come either
    leverage: Floats
    chunks: Floats  # (pool, CHUNK, d): contexts in order, for ε < 1
    chunk_next: Ints  # (pool,): the chunk that continues this one, or −1


class Roots(NamedTuple):
    """What TOFU keeps so that it needs few matrix roots, and finds those quickly."""

    eigenvectors: Floats  # (d, d): of A⁻¹, one in each row, as of the last exact root
    reach: Floats  # (1,): Z, which bounds the suspects' part in the estimates
    # See `roots`, also for what `use` and `span` hold; d… is d filled up to a multiple of LANES.
    use: Ints  # (N_USE,)
    span: Floats  # (N_SPAN,)
    resolvents: Floats  # (N, d, d…): (A + σI)⁻¹ for each of at most N poles
    root: Floats  # (d, d…): their weighted sum, A^{-1/2}
    waiting: Floats  # (2d, d): contexts that they have yet to take up
    per_pole: Floats  # (3, N): weights c, and scratch
    solved: Floats  # (N + 1, d…): scratch


class Regression(NamedTuple):
    """What HEAVY-OFUL and Hvt-UCB know of their loss."""

    gram: Floats  # (d, d): λI + Σ xxᵀ/σ²; of HEAVY-OFUL over the rounds that are not clipped at θ̂
    gram_lost: Floats  # (d, d): what rounding has dropped from it
    # HEAVY-OFUL's loss around θ̂ is ½θᵀGθ − pᵀθ, but for a constant, with `gram` and `pull`.
    pull: Floats  # (d,)
    pull_lost: Floats  # (d,)
    clipped: Ints  # (1,): how many rounds are clipped at θ̂
    gone: Floats  # (1,): the way that θ̂ has gone
    due: Floats  # (capacity,): how far it may have gone before a suspect must be looked at again
    soonest: Floats  # (capacity / BUNDLE,): the least of those of each bundle


class Posterior(NamedTuple):
    """What Thompson sampling knows; `thompson` says why it is enough."""

    factor: Floats  # (d, d+1): R, upper triangular with RᵀR = A, and beside it q with Rᵀq = b
    row: Floats  # (d+1,): scratch


class Forecasts(NamedTuple):
    """What SafeRidge knows of its J regressions, for each of the three things that they forecast.

    In the order clipped payoffs, payoffs, signs. Sums of squares and products are about the means.
    """

    one: Floats  # (J,): the feature of the intercept, 0 or 1
    prior: Floats  # (J,): weights before anything has come
    made: Floats  # (3, J): the forecasts of the round under way
    told: Floats  # (3, J): the mean of all forecasts
    told_spread: Floats  # (3, J): their sum of squares
    both: Floats  # (3, J): the sum of products with what came
    came: Floats  # (2, 3): the mean of what came, and its sum of squares
    share: Floats  # (2, J): weight times slope


class State(NamedTuple):
    """What a policy is and what it knows; d = dim, K arms, S stages, r columns of payoffs."""

    num: Floats  # see the names above
    clock: Ints
    counts: Ints  # (2, N_COUNTS)
    stage: Ints  # (S, N_STAGE)
    A_inv: Floats  # (S, d, d)
    theta: Floats  # (S, d): A⁻¹·total
    total: Floats  # (S, d): Σ payoff · context; suspects left out
    b: Floats  # (S, d, r): the same for each of r plays per round; r = 0 where `total` does
    sum_c: Floats  # (S,): Σ √(xᵀA⁻¹x) over the stage's rounds, if it is audited
    # (S, capacity, d+1): contexts and payoffs that may yet be truncated; HEAVY-OFUL keeps them
    # divided by σ, with their thresholds and sides
    suspects: Floats
    btc: Truncation
    tofu: Roots
    huber: Regression
    posterior: Posterior
    forecasts: Forecasts
    vector: Floats  # (N_VECTOR, d): scratch, as is all below
    square: Floats  # (3, d, d)
    # As many columns as arms, filled up to a multiple of LANES; what stands there does not matter.
    X_T: Floats  # (d, K…): the contexts of the surviving arms, one column per arm
    Y: Floats  # (d, K…): A⁻¹x of each
    line: Floats  # (N_LINE, K…)
    alive: Ints  # (K,): which arm a column is
    sheet: Floats  # (d+2, r), or as wide as the medians taken need
    payoffs: Floats  # (plays,)


def new_state(
    *,
    kind: int,
    n_arms: int,
    dim: int,
    plays: int,
    n_stages: int = 1,
    explore: int = 0,
    truncates: bool = False,
    suspect_numbers: int = 1,
    keeps_history: bool = False,
    columns: int = 0,
    n_medians: int = 0,
    eps: float = 1.0,
    gain: float = 0.0,
    offset: float = 0.0,
    growth: float = 0.0,
    scale: float = 1.0,
    level: float = 0.0,
    threshold: float = 1.0,
    ridge: float = 1.0,
    constants: tuple[float, ...] = (),
) -> State:
    """A state that has seen nothing: A = ridge·I, empty index sets."""
    S, d, K = n_stages, dim, n_arms
    filled_up = LANES * math.ceil(K / LANES)
    capacity = 2 * FIRST_SUSPECTS if truncates else 0
    pool = 2 if keeps_history else 0
    # A family's arrays have entries for its own policies only; uniform play learns nothing, and at
    # d = 10,000 each matrix would take 800 MB.
    L = 0 if kind == UNIFORM else d
    B = S if kind in BTC else 0
    D, one = (d, 1) if kind == TOFU else (0, 0)
    N, filled_D, waiting = room_for(D)
    R = d if kind in HUBER else 0
    F, single, held = (d, 1, capacity) if kind == HEAVY_OFUL else (0, 0, 0)
    P, wide = (d, d + 1) if kind == THOMPSON else (0, 0)
    J = S if kind == SAFE_RIDGE else 0
    clock = np.zeros(N_CLOCK, dtype=np.int64)
    clock[[KIND, EXPLORE, ROUND, ARM]] = kind, explore, 1, -1
    clock[GROWS] = 0  # without stages there is one index set, and it always grows
    stage = np.zeros((S, N_STAGE), dtype=np.int64)
    stage[:, LOOK_AT] = stage[:, LOOK_AT_SIZE] = FIRST_SUSPECTS
    state = State(
        num=np.array([eps, gain, offset, growth, scale, level, 0.0, threshold, *constants]),
        clock=clock,
        counts=np.zeros((2, N_COUNTS), dtype=np.int64),
        stage=stage,
        A_inv=np.zeros((S, L, L)),
        theta=np.zeros((S, d)),
        total=np.zeros((S, d)),
        b=np.zeros((S, d, columns)),
        sum_c=np.zeros(S),
        suspects=np.zeros((S if truncates else 0, capacity, d + suspect_numbers)),
        btc=Truncation(
            gram=np.zeros((B, d, d)),
            gram_lost=np.zeros((B, d, d)),
            whiten=np.zeros((B, d, d)),
            leverage=np.full(B, np.inf if eps == 1 else 0.0),
            chunks=np.zeros((pool, CHUNK, d)),
            chunk_next=np.full(pool, -1, dtype=np.int64),
        ),
        tofu=Roots(
            eigenvectors=np.zeros((D, D)),
            reach=np.zeros(one),
            use=np.zeros(N_USE, dtype=np.int64),
            span=np.zeros(N_SPAN),
            resolvents=np.zeros((N, D, filled_D)),
            root=np.zeros((D, filled_D)),
            waiting=np.zeros((waiting, D)),
            per_pole=np.zeros((3, N)),
            solved=np.zeros((N + 1, filled_D)),
        ),
        huber=Regression(
            gram=np.zeros((R, R)),
            gram_lost=np.zeros((R, R)),
            pull=np.zeros(F),
            pull_lost=np.zeros(F),
            clipped=np.zeros(single, dtype=np.int64),
            gone=np.zeros(single),
            due=np.zeros(held),
            soonest=np.zeros(held // BUNDLE),
        ),
        posterior=Posterior(factor=np.zeros((P, wide)), row=np.zeros(wide)),
        forecasts=Forecasts(
            *(np.zeros(J), np.zeros(J)),
            *(np.zeros((3, J)), np.zeros((3, J)), np.zeros((3, J)), np.zeros((3, J))),
            *(np.zeros((2, 3)), np.zeros((2, J))),
        ),
        vector=np.zeros((N_VECTOR, d)),
        square=np.zeros((3, L, L)),
        X_T=_aligned(L, filled_up),
        Y=_aligned(L, filled_up),
        line=_aligned(N_LINE, filled_up),
        alive=np.zeros(K, dtype=np.int64),
        sheet=np.zeros((d + 2, max(columns, n_medians))),
        payoffs=np.zeros(plays),
    )
    # So far the system has only promised memory, and it may promise more than there is.
    if _size(state) > _memory():
        raise MemoryError
    for matrices, entry in (
        (state.A_inv, 1 / ridge),
        (state.btc.whiten, 1e150),  # nothing is known yet: no payoff but 0 could be cleared
        (state.huber.gram, ridge),
        (state.posterior.factor, math.sqrt(ridge)),
    ):
        diagonal = range(matrices.shape[-2])
        matrices[..., diagonal, diagonal] = entry
    return state


def _aligned(rows: int, columns: int) -> Floats:
    """Zeros that start where a line of the processor's cache does.

    With a multiple of LANES columns, LANES numbers are one line then; across two of them, quadratic
    forms take half as long again. The arrays of a policy that was copied or unpickled may do so.
    """
    line = 8 * LANES  # bytes
    room = np.zeros(rows * columns + LANES)
    first = -room.ctypes.data % line // 8
    return room[first : first + rows * columns].reshape(rows, columns)


def _size(state: tuple[Any, ...]) -> int:
    """How many bytes all arrays take together."""
    return sum(x.nbytes if isinstance(x, np.ndarray) else _size(x) for x in state)


def _memory() -> float:
    """How many bytes of memory the machine has; infinite where it does not say."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf
    return found if found > 0 else math.inf


def with_room(state: State) -> State:
    """The same state with room for as much again, after a kernel has said that it is full."""
    if state.stage[:, N_SUSPECTS].max() >= state.suspects.shape[1] > 0:
        suspects = np.concatenate([state.suspects, 0 * state.suspects], axis=1)
        due, soonest = state.huber.due, state.huber.soonest
        huber = state.huber._replace(
            due=np.concatenate([due, 0 * due]), soonest=np.concatenate([soonest, 0 * soonest])
        )
        state = state._replace(suspects=suspects, huber=huber)
    btc = state.btc
    if state.clock[N_CHUNKS] >= btc.chunks.shape[0] > 0:
        larger = btc._replace(
            chunks=np.concatenate([btc.chunks, np.zeros_like(btc.chunks)]),
            chunk_next=np.concatenate([btc.chunk_next, np.full_like(btc.chunk_next, -1)]),
        )
        state = state._replace(btc=larger)
    state.clock[FULL] = 0
    return state
