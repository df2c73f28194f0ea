"""Truncation as the paper prints it, without going through the history again.

**BTC** (Algorithm 2) sums β_τ r_τ over the stage's history, β_τ = yᵀx_τ with y = A⁻¹x, and drops
the terms with |β_τ r_τ| > h = ‖β‖_{1+ε}. Read literally that is O(n·d) per arm and round. Only a
few payoffs can ever be dropped, and only those are kept one by one (the *suspects*); the others are
summed in b = Σ r_τ x_τ, whose part of the estimate is yᵀb whatever the arm.

*Claim.* Let G = VᵀV be the Gram matrix of a stage at some time, x_τ one of its contexts. If
r_τ² · x_τᵀG⁺x_τ ≤ 1, then |β_τ r_τ| ≤ h for every arm, then and ever after. With c·h for h
(`threshold_scale`) it is so if r_τ² · x_τᵀG⁺x_τ ≤ c²: β and h do not depend on payoffs, and r_τ/c
takes the place of r_τ.

*Proof.* (i) x_τ lies in the range of G, so by Cauchy–Schwarz in the inner product of G
|yᵀx_τ|² ≤ (yᵀGy)(x_τᵀG⁺x_τ) for every y. Now yᵀGy = ‖Vy‖² = ‖β‖₂², so
|β_τ r_τ|² ≤ ‖β‖₂² · r_τ² x_τᵀG⁺x_τ ≤ ‖β‖₂² ≤ h², since 1+ε ≤ 2 makes ‖β‖_{1+ε} ≥ ‖β‖₂.
(ii) For x in the range of G, xᵀG⁺x = max_y (2yᵀx − yᵀGy). The stage only grows, G ≤ G', the
right-hand side can only fall, and the argument of (i) holds again. Nowhere does it matter which A
made y: the claim holds from any A₁ = λI. ∎

The bound is the best possible over all y, and it needs no full rank: where contexts are collinear
it works inside their span. (The coarser λ_min(G) ≥ r_τ²‖x_τ‖² implies it.) G⁺ is not kept up to
date: W with WᵀW ≥ G⁺ is made anew when the suspects have doubled or the stage has grown by a
quarter, and by (ii) an old W errs on the side of suspicion. Directions in which G is no larger than
rounding are given the weight 10²⁰: a context that truly has a part there stays a suspect.

*The threshold.* For ε = 1, h² = ‖β‖₂² = yᵀGy exactly. (On paper this is c² − ‖y‖², which cancels
badly while little is known.) For ε < 1, with q = 1+ε and e = (1−ε)/(2(1+ε)) = 1/q − 1/2, Hölder
gives h ≤ n^e ‖β‖₂. From below, let ρ bound the leverage x_τᵀG⁺x_τ of every context: by (i)
|β_τ| ≤ √ρ ‖β‖₂, so h^q = Σ|β_τ|^q ≥ Σβ_τ² / (√ρ ‖β‖₂)^{2−q}, that is h ≥ ρ^{-e} ‖β‖₂. Leverages
add up to the rank, so ρ is some multiple of d/n and the two bounds stay within (nρ)^e of each
other. Only a suspect that falls between them needs h itself, from the contexts kept in chunks;
that is O(n·d), and it does happen: heavy tails put some payoff there again and again.
"""

from __future__ import annotations

import math

from ..policy import LONGEST, TIE
from . import state as st
from ._compile import compiled, inlined
from .linear import (
    add_context,
    add_outer,
    combine,
    copy,
    eigen,
    multiply,
    quadratic_forms,
    solve,
)

# A payoff is cleared with this much to spare, far more than W's rounding.
SPARE = 1.0 - 1e-6


@inlined
def btc_estimates(state, s, n):
    """Steps 5–9 of Algorithm 2 from stage s, for the n arms in X_T."""
    if state.stage[s, st.STALE] == 1:  # θ̂ is not brought up to date while a stage only explores
        solve(state.A_inv[s], state.total[s], state.theta[s])
        state.stage[s, st.STALE] = 0
    combine(state.theta[s], state.X_T, n, state.line[st.R_HAT])
    if state.stage[s, st.N_SUSPECTS] > 0:
        add_suspects(state, s, n)


@inlined
def add_suspects(state, s, n):
    """r̂ of the n arms ← r̂ + the suspects' terms, as far as they are not truncated."""
    Y, line, suspects = state.Y, state.line, state.suspects
    d, scale = Y.shape[0], state.num[st.THRESHOLD]
    multiply(state.A_inv[s], state.X_T, n, Y)  # y = A⁻¹x of each arm
    quadratic_forms(state.btc.gram[s], Y, 0, n, line[st.H])
    for a in range(n):
        line[st.H, a] = math.sqrt(line[st.H, a])  # ‖β‖₂
    if state.num[st.EPS] < 1.0:
        raise_thresholds(state, s, n)
    for k in range(state.stage[s, st.N_SUSPECTS]):
        combine(suspects[s, k, :d], Y, n, line[st.BETA])
        payoff = suspects[s, k, d]
        for a in range(n):
            term = line[st.BETA, a] * payoff
            if abs(term) <= line[st.H, a] * scale * (1.0 + TIE):
                line[st.R_HAT, a] += term
            else:
                state.counts[st.FRESH, st.TRUNCATED] += 1


@inlined
def raise_thresholds(state, s, n):
    """h of each arm from ‖β‖₂ to ‖β‖_{1+ε}, where that decides about a suspect.

    It does where |β_τ r_τ| lies between the bounds on the second; elsewhere the lower one will do.
    Of the second itself so much will do as exceeds the largest such term.
    """
    Y, line, suspects = state.Y, state.line, state.suspects
    d = Y.shape[0]
    least = math.pow(state.btc.leverage[s], -state.num[st.GROWTH]) * (1.0 - TIE)
    most = math.pow(float(state.stage[s, st.SIZE]), state.num[st.GROWTH]) * (1.0 + TIE)
    for a in range(n):
        norm = line[st.H, a]
        line[st.H, a] = norm * least
        largest = 0.0
        for k in range(state.stage[s, st.N_SUSPECTS]):
            beta = 0.0
            for i in range(d):
                beta += Y[i, a] * suspects[s, k, i]
            size = abs(beta * suspects[s, k, d]) / state.num[st.THRESHOLD]
            if norm * least < size <= norm * most:
                largest = max(largest, size)
        if largest > 0.0:
            line[st.H, a] = weighted_norm(state, s, a, largest * (1.0 + TIE))
            state.counts[st.FRESH, st.SCANS] += 1


@inlined
def weighted_norm(state, s, a, enough):
    """h = ‖β‖_{1+ε} of step 6 for arm a, from every context of stage s.

    Or what the first contexts have of it, once that exceeds `enough`: the rest can only add to it.
    """
    y, chunks = state.vector[st.U], state.btc.chunks
    copy(state.Y[:, a], y)
    power = 1.0 + state.num[st.EPS]
    left = state.stage[s, st.SIZE]
    chunk = state.stage[s, st.CHUNK_FIRST]
    total, sum_enough = 0.0, math.pow(enough, power) * (1.0 + TIE)
    while left > 0 and total <= sum_enough:
        rows = min(left, st.CHUNK)
        for row in range(rows):
            beta = 0.0
            for i in range(y.size):
                beta += y[i] * chunks[chunk, row, i]
            size = abs(beta)  # a general power takes several times as long as a root
            total += size * math.sqrt(size) if power == 1.5 else math.pow(size, power)
        left -= rows
        chunk = state.btc.chunk_next[chunk]
    return math.pow(total, 1.0 / power)


@inlined
def btc_learn(state, s, x, payoff):
    """Put the context and its payoff into stage s."""
    scale = state.num[st.THRESHOLD]
    grown = add_context(state.A_inv[s], x, state.vector[st.SOLVED])
    if state.clock[st.AUDIT] == 1:
        state.sum_c[s] += math.sqrt(math.expm1(math.log1p(grown)))
    add_outer(state.btc.gram[s], state.btc.gram_lost[s], x)
    if state.num[st.EPS] < 1.0:
        keep_context(state, s, x)
    state.stage[s, st.SIZE] += 1
    reach = state.btc.leverage[s]  # for ε = 1 of any context: most payoffs are cleared by that
    if state.num[st.EPS] < 1.0 or not cleared(reach, payoff, scale):
        reach = leverage_bound(state.btc.whiten[s], x)
    if state.num[st.EPS] < 1.0:
        state.btc.leverage[s] = max(state.btc.leverage[s], min(reach, 1.0))
    if cleared(reach, payoff, scale):
        add_payoff(state.total[s], x, payoff)
    else:
        suspect(state.suspects, state.stage, s, x, payoff)
        count_suspects(state.stage, state.counts)
    if state.stage[s, st.N_SUSPECTS] > 0 and (
        state.stage[s, st.N_SUSPECTS] >= state.stage[s, st.LOOK_AT]
        or state.stage[s, st.SIZE] >= state.stage[s, st.LOOK_AT_SIZE]
    ):
        look_again(state, s)
        count_suspects(state.stage, state.counts)
    state.stage[s, st.STALE] = 1
    mark_room(state, s)


@compiled
def leverage_bound(W, x):
    """‖Wx‖², which is no less than xᵀG⁺x, then and ever after."""
    total = 0.0
    for i in range(x.size):
        part = 0.0
        for j in range(x.size):
            part += W[i, j] * x[j]
        total += part * part
    return total


@compiled
def cleared(reach, payoff, scale):
    """Whether r²·‖Wx‖² ≤ c², with some to spare; nothing paid, or no context: no term."""
    return payoff == 0.0 or reach == 0.0 or reach * (payoff * payoff) <= SPARE * (scale * scale)


@compiled
def add_payoff(total, x, payoff):
    """total ← total + r·x."""
    for i in range(x.size):
        total[i] += payoff * x[i]


@compiled
def suspect(suspects, stage, s, x, payoff):
    """Keep the payoff by itself."""
    m = stage[s, st.N_SUSPECTS]
    copy(x, suspects[s, m])
    suspects[s, m, x.size] = payoff
    stage[s, st.N_SUSPECTS] = m + 1


@inlined
def look_again(state, s):
    """Make W anew and clear whom it clears."""
    M, W, suspects = state.square[0], state.btc.whiten[s], state.suspects
    d = M.shape[0]
    trace = 0.0
    for i in range(d):
        trace += state.btc.gram[s, i, i]
        copy(state.btc.gram[s, i], M[i])
    eigen(M, W)
    rounding = 4e-16 * d * trace
    heaviest = 0.0
    for i in range(d):
        weight = 1e10
        if M[i, i] > 2.0 * rounding:
            weight = 1.0 / math.sqrt(M[i, i] - rounding)
        heaviest = max(heaviest, weight)
        for j in range(d):
            W[i, j] = weight * W[i, j]
    kept = 0
    for k in range(state.stage[s, st.N_SUSPECTS]):
        x, payoff = suspects[s, k, :d], suspects[s, k, d]
        if cleared(leverage_bound(W, x), payoff, state.num[st.THRESHOLD]):
            add_payoff(state.total[s], x, payoff)
        else:
            copy(suspects[s, k], suspects[s, kept])
            kept += 1
    state.stage[s, st.N_SUSPECTS] = kept
    if state.num[st.EPS] < 1.0:
        state.btc.leverage[s] = largest_leverage(state, s)
    else:
        state.btc.leverage[s] = heaviest * heaviest * (LONGEST * LONGEST)
    state.stage[s, st.LOOK_AT] = max(st.FIRST_SUSPECTS, 2 * kept)
    state.stage[s, st.LOOK_AT_SIZE] = state.stage[s, st.SIZE] + state.stage[s, st.SIZE] // 4 + 1


@inlined
def largest_leverage(state, s):
    """The largest ‖Wx‖² of the stage's contexts, never above 1: a context is part of its G."""
    btc, left, chunk = state.btc, state.stage[s, st.SIZE], state.stage[s, st.CHUNK_FIRST]
    largest = 0.0
    while left > 0:
        rows = min(left, st.CHUNK)
        for row in range(rows):
            largest = max(largest, leverage_bound(btc.whiten[s], btc.chunks[chunk, row]))
        left -= rows
        chunk = btc.chunk_next[chunk]
    return min(largest * (1.0 + TIE), 1.0)


@compiled
def count_suspects(stage, counts):
    """How many suspects are kept in all stages together, and the most that ever were."""
    total = 0
    for s in range(stage.shape[0]):
        total += stage[s, st.N_SUSPECTS]
    counts[st.TOTAL, st.SUSPECTS] = total
    counts[st.TOTAL, st.MOST_SUSPECTS] = max(counts[st.TOTAL, st.MOST_SUSPECTS], total)


@inlined
def mark_room(state, s):
    """Say whether the stage has no room for a suspect, or the pool no chunk to spare."""
    no_chunk = 0 < state.btc.chunks.shape[0] <= state.clock[st.N_CHUNKS]
    full = no_chunk or state.stage[s, st.N_SUSPECTS] >= state.suspects.shape[1]
    state.clock[st.FULL] = 1 if full else 0


@inlined
def keep_context(state, s, x):
    """Append the context to the stage's chunks."""
    stage = state.stage
    row = stage[s, st.SIZE] % st.CHUNK
    if row == 0:
        chunk = state.clock[st.N_CHUNKS]
        state.clock[st.N_CHUNKS] = chunk + 1
        if stage[s, st.SIZE] == 0:
            stage[s, st.CHUNK_FIRST] = chunk
        else:
            state.btc.chunk_next[stage[s, st.CHUNK_LAST]] = chunk
        stage[s, st.CHUNK_LAST] = chunk
    copy(x, state.btc.chunks[stage[s, st.CHUNK_LAST], row])
