"""TOFU's truncation without the history, and almost without matrix roots.

TOFU drops u^i_τ r_τ where it exceeds b_t, u_τ = A^{-1/2}x_τ. As |u^i_τ| ≤ ‖u_τ‖ = ‖x_τ‖_{A⁻¹}, a
payoff with |r_τ|·‖x_τ‖_{A⁻¹} ≤ b_t is kept in all d coordinates; A grows, so ‖x_τ‖_{A⁻¹} falls, and
b_t does not: it is kept for good. The others are the suspects, and ‖x_τ‖_{A⁻¹} of each is brought
up to date by Sherman–Morrison, or computed anew where rounding could decide. With no suspects
θ̂ = A⁻¹b, and no matrix root is needed. With some, θ̂ = A⁻¹b + A^{-1/2}z, where z has the kept
coordinates of Σ u_τ r_τ over the suspects, so that ‖z‖ ≤ Z = Σ min(‖x_τ‖_{A⁻¹}|r_τ|, √d b_t), the
second since no coordinate that is kept exceeds b_t, and xᵀθ̂ is within ‖x‖_{A⁻¹}Z of xᵀA⁻¹b. Where
the largest upper bound leads by more than such shifts can take away, the suspects do not matter.
The other rounds are those counted as `matrix_roots`. They are settled in the first of three ways
that is sure to choose the arm, and to drop the coordinates, that the exact root would.

**Whole suspects.** If no coordinate of a suspect is dropped, its part is A^{-1/2}u_τr_τ, which is
A⁻¹x_τr_τ, without a root. That no coordinate can be dropped is known for some time after a root.

*Claim.* Let A' = A + Σ xxᵀ, X = A^{-1/2} and L = ln det A' − ln det A. Then no coordinate of
A'^{-1/2}x differs from the same of Xx by more than (L/2)√(X_ii·xᵀXx).

*Proof.* The eigenvalues of A^{-1/2}A'A^{-1/2} are at least 1 and their product is e^L, so none is
above e^L: A ≤ A' ≤ e^L A. Inverses reverse this order and square roots keep it, so that
D = X − A'^{-1/2} has 0 ≤ D ≤ (1 − e^{-L/2})X ≤ (L/2)X, and by Cauchy–Schwarz in the inner product
of D |e_iᵀDx| ≤ √(D_ii)·√(xᵀDx) ≤ (L/2)√(X_ii·xᵀXx). ∎

So a suspect whose coordinates were below b_t then stays whole until L has grown to twice the least
of (b_t − |u^i_τ r_τ|)/(|r_τ|√(X_ii·x_τᵀXx_τ)); b_t does not fall. A new suspect ends it.

**The rational root** of `roots`, X̃ = A^{-1/2}(I + E) with ‖E‖ ≤ NEAR: ũ_τ = X̃x_τ is within
NEAR·‖u_τ‖ of u_τ. Unless some |ũ^i_τ r_τ| is as near to b_t as that, the same coordinates are kept,
and z̃, their sum, is within NEAR·Σ‖u_τ‖|r_τ| of z, summed over suspects with a coordinate that is
kept. Then |xᵀX̃z̃ − xᵀA^{-1/2}z| ≤ |xᵀA^{-1/2}Ez̃| + |xᵀA^{-1/2}(z̃ − z)|, which is at most
‖x‖_{A⁻¹}·NEAR·(‖z̃‖ + Σ‖u_τ‖|r_τ|). If the largest upper bound leads by more than that can take
away, the arm is the one that the exact root would choose.

**The exact root**, from the eigenvectors of A⁻¹, where neither is sure.
"""

from __future__ import annotations

import math

from ..policy import TIE
from . import state as st
from ._compile import apart, compiled, inlined
from .linear import add_context, combine, copy, eigen, eigen_again, solve
from .roots import DECOMPOSED, N_POLES, NEAR, WHOLE, catch_up, make_anew, wait
from .truncation import SPARE, add_payoff, count_suspects, mark_room, suspect

ROTATIONS = 64  # decompositions from one that starts from scratch to the next
AFRESH = 64  # rounds after which the suspects' lengths are computed anew


@compiled
def tofu_threshold(num, t):
    """b_t = (v/ln(2T/δ))^{1/(1+ε)} t^{(1−ε)/(2(1+ε))}; its first factor is a constant."""
    return num[st.TOFU_THRESHOLD] * math.pow(max(t - num[st.TOFU_LAG], 0.0), num[st.GROWTH])


@inlined
def tofu_learn(state, x, payoff):
    """Put the round into A and b, and keep the payoffs that might be truncated in the next one."""
    suspects, scratch = state.suspects, state.vector[st.SOLVED]
    d = x.size
    log_growth = math.log1p(add_context(state.A_inv[0], x, scratch))
    wait(state.tofu, x)
    state.tofu.span[WHOLE] -= log_growth
    before = state.stage[0, st.N_SUSPECTS]
    b = tofu_threshold(state.num, state.clock[st.ROUND] + 1)
    limit, most = b * SPARE, math.sqrt(float(d)) * b * (1.0 + 2.0 * TIE)
    shorten(suspects[0], before, scratch, math.exp(-log_growth))
    suspect(state.suspects, state.stage, 0, x, payoff)
    suspects[0, before, d + 1] = -1.0
    afresh = state.clock[st.ROUND] % AFRESH == 0
    kept = 0
    reach = 0.0
    for k in range(before + 1):
        x_k, payoff_k = suspects[0, k, :d], suspects[0, k, d]
        size = math.sqrt(max(suspects[0, k, d + 1], 0.0)) * abs(payoff_k)
        if afresh or k == before or abs(size - limit) <= TIE * limit:
            suspects[0, k, d + 1] = solve(state.A_inv[0], x_k, scratch)
            size = math.sqrt(suspects[0, k, d + 1]) * abs(payoff_k)
        if size <= limit:
            add_payoff(state.total[0], x_k, payoff_k)
        else:
            copy(suspects[0, k], suspects[0, kept])
            kept += 1
            reach += min(size, most)
            if k == before:
                state.tofu.span[WHOLE] = -1.0
    state.stage[0, st.N_SUSPECTS] = kept
    state.tofu.reach[0] = reach
    count_suspects(state.stage, state.counts)
    mark_room(state, 0)
    solve(state.A_inv[0], state.total[0], state.theta[0])


@compiled
def shorten(suspects, n, y, shrink):
    """x_τᵀA⁻¹x_τ of the n suspects after one more context x, by Sherman–Morrison, in O(d) for each.

    y and shrink are A⁻¹x and 1/(1 + xᵀA⁻¹x) as of before.
    """
    d = y.size
    for k in range(n):
        along = 0.0
        for i in range(d):
            along += suspects[k, i] * y[i]
        suspects[k, d + 1] -= along * along * shrink


@compiled
def settled(line, n, share, truth):
    """Whether the arm, and which intervals miss, are settled whatever the suspects add.

    They shift an estimate by no more than `share` of its width: Z over what multiplies ‖x‖_{A⁻¹}.
    """
    if share > 1e6:  # so large that a shift could be lost in rounding: look closely
        return False
    share = share * (1.0 + TIE)
    r_hat, width = line[st.R_HAT], line[st.WIDTH]
    best = 0
    for a in range(1, n):
        if r_hat[a] + width[a] > r_hat[best] + width[best]:
            best = a
    sure = r_hat[best] + width[best] * (1.0 - share) - 4.0 * TIE
    settled = True
    for a in range(n):
        shift = share * width[a] + TIE
        if a != best and r_hat[a] + width[a] + shift >= sure:
            settled = False
        error = abs(r_hat[a] - truth[a])
        if abs(error - width[a]) <= shift:  # false where the truth is not known, NaN
            settled = False
    return settled


@inlined
def tofu_suspects(state, n, factor, truth):
    """r̂ of the n arms with the suspects' part, by whichever way is sure to settle the round."""
    line = state.line
    state.counts[st.FRESH, st.ROOTS] += 1
    error, decomposed = -1.0, False
    suspects = state.suspects[0, : state.stage[0, st.N_SUSPECTS]]
    limit = tofu_threshold(state.num, state.clock[st.ROUND]) * (1.0 + TIE)
    if state.tofu.span[WHOLE] >= 0.0:
        error = whole_suspects(suspects, state.A_inv[0], state.vector)
    else:
        ready = catch_up(state.tofu, state.A_inv[0], state.square[1])
        if not ready:
            decompose(state.A_inv[0], state.tofu, state.square)
            decomposed = True
            make_anew(state.tofu, state.square[0], state.vector[st.U])
            ready = state.tofu.use[N_POLES] > 0
        if ready:
            error = near_suspects(suspects, limit, state.tofu, state.vector, state.counts)
    done = False
    if error >= 0.0 and factor > 0.0:
        estimate(state, n)
        done = settled(line, n, error / factor, truth)
    if not done:
        if not decomposed:
            decompose(state.A_inv[0], state.tofu, state.square)
        exact_suspects(suspects, limit, state.tofu, state.square, state.vector, state.counts)
        estimate(state, n)


@inlined
def estimate(state, n):
    """r̂ of the n arms from θ̂ = A⁻¹b + the suspects' part."""
    theta = state.vector[st.THETA_NOW]
    for i in range(theta.size):
        theta[i] = state.theta[0, i] + state.vector[st.U, i]
    combine(theta, state.X_T, n, state.line[st.R_HAT])


# Each of these leaves the suspects' part of θ̂ in vector[U]; the first two return its error, or −1
# where it is too rough.


@apart
def whole_suspects(suspects, A_inv, vector):
    """A⁻¹Σ r_τ x_τ, where no coordinate is dropped."""
    d, sizes, z = A_inv.shape[0], 0.0, vector[st.Z_SUM]
    z[:] = 0.0
    for k in range(suspects.shape[0]):
        add_payoff(z, suspects[k, :d], suspects[k, d])
        sizes += math.sqrt(suspects[k, d + 1]) * abs(suspects[k, d])
    solve(A_inv, z, vector[st.U])
    return NEAR * sizes


@apart
def near_suspects(suspects, limit, tofu, vector, counts):
    """X̃z̃, z̃ the sum of what X̃ lets of u_τ r_τ below the limit."""
    root, u, z = tofu.root, tofu.solved[0], vector[st.Z_SUM]
    d = z.size
    z[:] = 0.0
    error, whole, dropped = 0.0, math.inf, 0
    for k in range(suspects.shape[0]):
        row = suspects[k]
        combine(row[:d], root, d, u)
        length = math.sqrt(row[d + 1]) * abs(row[d])
        missing = add_kept(u, row[d], limit, NEAR * length, z)
        if missing < 0:
            return -1.0
        dropped += missing
        if missing < d:
            error += length
        if dropped == 0:
            whole = min(whole, room_for_growth(root, row, u, limit))
    counts[st.FRESH, st.TRUNCATED] = dropped
    tofu.span[WHOLE] = whole if dropped == 0 else -1.0
    combine(z, root, d, u)
    norm = 0.0
    for i in range(d):
        norm += z[i] * z[i]
    copy(u[:d], vector[st.U])
    return NEAR * (error + math.sqrt(norm))


@compiled
def add_kept(u, payoff, limit, error, z):
    """z ← z + the coordinates of u·r that are no larger than the limit; returns how many are not.

    Or −1, if one is so near the limit that the error could decide.
    """
    dropped, unsure = 0, 0
    for i in range(z.size):
        term = u[i] * payoff
        size = abs(term)
        kept = size <= limit
        z[i] += term if kept else 0.0
        dropped += 0 if kept else 1
        unsure += 1 if abs(size - limit) <= error else 0
    return -1 if unsure > 0 else dropped


@compiled
def room_for_growth(root, row, u, limit):
    """By how much ln det A may grow before a coordinate of this suspect can exceed the limit."""
    d = root.shape[0]
    payoff, along = abs(row[d]), 0.0
    for i in range(d):
        along += row[i] * u[i]
    room = math.inf
    for i in range(d):
        reach = math.sqrt(max(root[i, i] * along, 0.0)) * payoff * (1.0 + 1e-6)
        left = limit * (1.0 - 1e-6) - abs(u[i]) * payoff
        if left < room * reach:
            room = left / reach
    return 2.0 * room


@apart
def decompose(A_inv, tofu, square):
    """square[0] ← the eigenvalues of A⁻¹, on the diagonal; its eigenvectors are kept in `tofu`.

    Those of the last time may be near them, and rotating on from there takes a third of the time;
    once in ROTATIONS it starts from scratch, so that rounding does not add up.
    """
    if tofu.use[DECOMPOSED] % ROTATIONS == 0:
        for i in range(A_inv.shape[0]):
            copy(A_inv[i], square[0, i])
        eigen(square[0], tofu.eigenvectors)
    else:
        eigen_again(A_inv, tofu.eigenvectors, square[0], square[1], square[2])
    tofu.use[DECOMPOSED] += 1


@apart
def exact_suspects(suspects, limit, tofu, square, vector, counts):
    """A^{-1/2}z, z_i the sum of the suspects' u^i_τ r_τ that are no larger than the limit.

    A^{-1/2} is the symmetric root, from the eigenvectors of A⁻¹.
    """
    M, root, rows = square[0], square[2], tofu.eigenvectors
    u, z = vector[st.U], vector[st.Z_SUM]
    d = z.size
    root[:] = 0.0
    for k in range(d):
        weight = math.sqrt(max(M[k, k], 0.0))
        for i in range(d):
            for j in range(d):
                root[i, j] += (rows[k, i] * rows[k, j]) * weight
    z[:] = 0.0
    dropped = 0
    for k in range(suspects.shape[0]):
        solve(root, suspects[k, :d], u)
        for i in range(d):
            term = u[i] * suspects[k, d]
            if abs(term) <= limit:
                z[i] += term
            else:
                dropped += 1
    counts[st.FRESH, st.TRUNCATED] = dropped
    solve(root, z, u)
