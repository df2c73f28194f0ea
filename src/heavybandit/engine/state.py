"""Everything a compiled policy remembers: one tuple of arrays, of one type for all policies.

One type means that each kernel is compiled once and cached once. Arrays that a policy has no use
for have no entries. Nothing else holds state, so a pickled policy resumes where it was.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..policy import Floats
from .lanes import LANES

Ints = np.ndarray[Any, np.dtype[np.int64]]

# Which policy a state belongs to. Stages come first, then those that estimate arm by arm.
SUP_BMM, SUP_BTC, FLAT_BMM, FLAT_BTC, MOM, CRT, MENU, TOFU = range(8)
LINUCB, GREEDY, UNIFORM, BLIND = range(8, 12)
HEAVY_OFUL, HVT_UCB, CLIPPED_UCB = range(12, 15)  # the later ones come last

# Entries of `num`: the width factor is (GAIN·t^GROWTH + OFFSET)·SCALE, with
# GROWTH = (1−ε)/(2(1+ε)); at the width LEVEL = 1/√T₀ the master exploits. From CONST on: what else
# a policy's formulas need; each kernel names its own.
EPS, GAIN, OFFSET, GROWTH, SCALE, LEVEL, LOG_DET, CONST = range(8)
# Entries of `clock`: what the policy is, where it is, what is pending.
KIND, EXPLORE, ROUND, ARM, GROWS, DEPTH, FULL, AUDIT, N_CHUNKS, N_CLOCK = range(10)
# Columns of `counts`; row TOTAL is booked, row FRESH belongs to the round under way.
ESTIMATES, TRUNCATED, SCANS, ROOTS, INTERVALS, MISSED, SUSPECTS, MOST_SUSPECTS, N_COUNTS = range(9)
TOTAL, FRESH = range(2)
# Columns of `stage`: |Ψ^s|; suspects, and at how many of them or at which size to look again; the
# chunks of kept contexts; diagnostics.
SIZE, N_SUSPECTS, LOOK_AT, LOOK_AT_SIZE, CHUNK_FIRST, CHUNK_LAST = range(6)
EXPLORED, EXPLOITED, VISITS, ENTERED, ENTERING = range(6, 11)
# What an audit counts: visits that the best arm did not enter, arms that entered though they are
# worse than it by more than 2^{3−s}; and the same for the round under way.
LOST, FAR, LOST_NOW, FAR_NOW = range(11, 15)
# Whether θ̂ lags behind what the stage has learnt.
STALE, N_STAGE = range(15, 17)
# Rows of `line`, an entry an arm.
WIDTH, UPPER, R_HAT, H, BETA, N_LINE = range(6)
# Rows of `vector`.
SOLVED, U, Z_SUM, THETA_NOW, PULL, N_VECTOR = range(6)  # all but PULL are scratch

CHUNK = 256  # contexts a chunk of kept history
FIRST_SUSPECTS = 16  # suspects a stage holds before it looks which can be cleared


class State(NamedTuple):
    """What a policy is and what it knows; d = dim, K arms, S stages, r columns of payoffs."""

    num: Floats  # see the names above
    clock: Ints
    counts: Ints  # (2, N_COUNTS)
    stage: Ints  # (S, N_STAGE)
    A_inv: Floats  # (S, d, d)
    # (S, d, d): VᵀV; of the later ones λI + Σ xxᵀ/σ², of HEAVY-OFUL over rounds never clipped
    gram: Floats
    gram_lost: Floats  # (S, d, d): what rounding has dropped from it
    # (S, d, d): W with WᵀW ≥ (VᵀV)⁺, as of the last look at the suspects; TOFU keeps the
    # eigenvectors of A⁻¹ here, as of its last root, and HEAVY-OFUL `gram` with the suspects that
    # are not clipped now
    whiten: Floats
    theta: Floats  # (S, d): A⁻¹·total
    total: Floats  # (S, d): Σ payoff · context; suspects left out
    sum_c: Floats  # (S,): Σ √(xᵀA⁻¹x) over the stage's rounds, if it is audited
    # (S,): no context has xᵀ(VᵀV)⁺x above this: for ε < 1 none of the stage, for ε = 1 none that
    # may come either; TOFU keeps here what bounds the suspects' part in its estimates
    leverage: Floats
    b: Floats  # (S, d, r): the same for each of r plays a round; r = 0 where `total` does
    # (S, capacity, d+1): contexts and payoffs that may yet be truncated; HEAVY-OFUL keeps them
    # divided by σ, with their thresholds and sides
    suspects: Floats
    chunks: Floats  # (pool, CHUNK, d): contexts in order, for ε < 1
    chunk_next: Ints  # (pool,): the chunk that continues this one, or −1
    vector: Floats  # (N_VECTOR, d): scratch but for HEAVY-OFUL's PULL, and so is all below
    square: Floats  # (3, d, d)
    # As many columns as arms, filled up to a multiple of LANES; what stands there does not matter.
    X_T: Floats  # (d, K…): the contexts of the surviving arms, a column an arm
    Y: Floats  # (d, K…): A⁻¹x of each
    line: Floats  # (N_LINE, K…)
    alive: Ints  # (K,): which arm a column is
    sheet: Floats  # (d+2, r), or as wide as the medians taken need
    payoffs: Floats  # (plays,)


def columns_for(n_arms: int) -> int:
    """The arms, filled up to a multiple of LANES."""
    return LANES * math.ceil(n_arms / LANES)


def new_state(
    *,
    kind: int,
    n_arms: int,
    dim: int,
    plays: int,
    n_stages: int = 1,
    columns: int = 0,
    n_medians: int = 0,
    truncates: bool = False,
    suspect_numbers: int = 1,
    keeps_history: bool = False,
    explore: int = 0,
    eps: float = 1.0,
    gain: float = 0.0,
    offset: float = 0.0,
    growth: float = 0.0,
    scale: float = 1.0,
    level: float = 0.0,
    ridge: float = 1.0,
    constants: tuple[float, ...] = (),
) -> State:
    """A state that has seen nothing: A = ridge·I, empty index sets."""
    S, d, K = n_stages, dim, n_arms
    capacity = 2 * FIRST_SUSPECTS if truncates else 0
    pool = 2 if keeps_history else 0
    suspicious = S if truncates else 0
    clock = np.zeros(N_CLOCK, dtype=np.int64)
    clock[[KIND, EXPLORE, ROUND, ARM]] = kind, explore, 1, -1
    clock[GROWS] = 0  # without stages there is one index set, and it always grows
    stage = np.zeros((S, N_STAGE), dtype=np.int64)
    stage[:, LOOK_AT] = stage[:, LOOK_AT_SIZE] = FIRST_SUSPECTS
    return State(
        num=np.array([eps, gain, offset, growth, scale, level, 0.0, *constants], dtype=np.float64),
        clock=clock,
        counts=np.zeros((2, N_COUNTS), dtype=np.int64),
        stage=stage,
        A_inv=np.repeat(np.eye(d)[None] / ridge, S, axis=0),
        gram=np.zeros((suspicious, d, d)),
        gram_lost=np.zeros((suspicious, d, d)),
        # Nothing is known yet: no payoff but 0 could be cleared.
        whiten=np.repeat(1e150 * np.eye(d)[None], suspicious, axis=0),
        theta=np.zeros((S, d)),
        total=np.zeros((S, d)),
        sum_c=np.zeros(S),
        leverage=np.full(S, np.inf if truncates and eps == 1 else 0.0),
        b=np.zeros((S, d, columns)),
        suspects=np.zeros((suspicious, capacity, d + suspect_numbers)),
        chunks=np.zeros((pool, CHUNK, d)),
        chunk_next=np.full(pool, -1, dtype=np.int64),
        vector=np.zeros((N_VECTOR, d)),
        square=np.zeros((3, d, d)),
        X_T=np.zeros((d, columns_for(K))),
        Y=np.zeros((d, columns_for(K))),
        line=np.zeros((N_LINE, columns_for(K))),
        alive=np.zeros(K, dtype=np.int64),
        sheet=np.zeros((d + 2, max(columns, n_medians))),
        payoffs=np.zeros(plays),
    )


def with_room(state: State) -> State:
    """The same state with room for as much again, after a kernel has said that it is full."""
    larger = {}
    if state.stage[:, N_SUSPECTS].max() >= state.suspects.shape[1] > 0:
        larger["suspects"] = np.concatenate([state.suspects, 0 * state.suspects], axis=1)
    if state.clock[N_CHUNKS] >= state.chunks.shape[0] > 0:
        larger["chunks"] = np.concatenate([state.chunks, np.zeros_like(state.chunks)])
        larger["chunk_next"] = np.concatenate(
            [state.chunk_next, np.full_like(state.chunk_next, -1)]
        )
    state.clock[FULL] = 0
    return state._replace(**larger)
