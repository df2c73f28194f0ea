"""TOFU's truncation without the history, and with few matrix roots.

**TOFU** drops u^i_τ r_τ where it exceeds b_t, u_τ = A^{-1/2}x_τ. As |u^i_τ| ≤ ‖u_τ‖ = ‖x_τ‖_{A⁻¹},
a payoff with |r_τ|·‖x_τ‖_{A⁻¹} ≤ b_t is kept in all d coordinates; A grows, so ‖x_τ‖_{A⁻¹} falls,
and b_t does not: it is kept for good. With no suspects θ̂ = A⁻¹b, and no matrix root is needed.
With some, θ̂ = A⁻¹b + A^{-1/2}z, where z has the kept coordinates of Σ u_τ r_τ over the suspects, so
that ‖z‖ ≤ Z = Σ min(‖x_τ‖_{A⁻¹}|r_τ|, √d b_t), the second since no coordinate that is kept exceeds
b_t, and xᵀθ̂ is within ‖x‖_{A⁻¹}Z of xᵀA⁻¹b. Where the largest upper bound leads by more than such
shifts can take away, no root is needed either.
"""

from __future__ import annotations

import math

from ..policy import TIE
from . import state as st
from ._compile import compiled, inlined
from .linear import add_context, copy, eigen, eigen_again, solve
from .truncation import SPARE, add_payoff, count_suspects, mark_room, suspect

ROTATIONS = 64  # roots from one that starts from scratch to the next


@compiled
def tofu_threshold(num, t):
    """b_t = (v/ln(2T/δ))^{1/(1+ε)} t^{(1−ε)/(2(1+ε))}; its first factor is a constant."""
    return num[st.TOFU_THRESHOLD] * math.pow(max(t - num[st.TOFU_LAG], 0.0), num[st.GROWTH])


@inlined
def tofu_learn(state, s, x, payoff):
    """Put the round into A and b, and keep the payoffs that might be truncated in the next one."""
    suspects, scratch = state.suspects, state.vector[st.SOLVED]
    d = x.size
    add_context(state.A_inv[s], x, scratch)
    suspect(state.suspects, state.stage, s, x, payoff)
    b = tofu_threshold(state.num, state.clock[st.ROUND] + 1)
    limit, most = b * SPARE, math.sqrt(float(d)) * b * (1.0 + 2.0 * TIE)
    kept = 0
    reach = 0.0
    for k in range(state.stage[s, st.N_SUSPECTS]):
        x_k, payoff_k = suspects[s, k, :d], suspects[s, k, d]
        size = math.sqrt(solve(state.A_inv[s], x_k, scratch)) * abs(payoff_k)
        if size <= limit:
            add_payoff(state.total[s], x_k, payoff_k)
        else:
            copy(suspects[s, k], suspects[s, kept])
            kept += 1
            reach += min(size, most)
    state.stage[s, st.N_SUSPECTS] = kept
    state.tofu.reach[0] = reach
    count_suspects(state.stage, state.counts)
    mark_room(state, s)
    solve(state.A_inv[s], state.total[s], state.theta[s])


@compiled
def suspects_cannot_matter(line, n, share, truth):
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
        if abs(error - width[a]) <= shift:  # false where nobody knows the truth, NaN
            settled = False
    return settled


@inlined
def tofu_suspects(state):
    """θ̂ ← A⁻¹b + A^{-1/2}z, z_i the sum of the suspects' u^i_τ r_τ that are no larger than b_t.

    A^{-1/2} is the symmetric root, from the eigenvectors of A⁻¹. Those of the last root are near
    them, a rank-one update away or a few, and rotating on from there takes a third of the time;
    once in ROTATIONS roots it starts from scratch, so that rounding does not add up.
    """
    M, root, suspects = state.square[0], state.square[2], state.suspects
    rows = state.tofu.eigenvectors
    d = M.shape[0]
    if state.counts[st.TOTAL, st.ROOTS] % ROTATIONS == 0:
        for i in range(d):
            copy(state.A_inv[0, i], M[i])
        eigen(M, rows)
    else:
        eigen_again(state.A_inv[0], rows, M, state.square[1], root)
    root[:] = 0.0
    for k in range(d):
        weight = math.sqrt(max(M[k, k], 0.0))
        for i in range(d):
            for j in range(d):
                root[i, j] += (rows[k, i] * rows[k, j]) * weight
    limit = tofu_threshold(state.num, state.clock[st.ROUND]) * (1.0 + TIE)
    u, z = state.vector[st.U], state.vector[st.Z_SUM]
    z[:] = 0.0
    for k in range(state.stage[0, st.N_SUSPECTS]):
        solve(root, suspects[0, k, :d], u)
        for i in range(d):
            term = u[i] * suspects[0, k, d]
            if abs(term) <= limit:
                z[i] += term
            else:
                state.counts[st.FRESH, st.TRUNCATED] += 1
    solve(root, z, u)
    for i in range(d):
        state.vector[st.THETA_NOW, i] = state.theta[0, i] + u[i]
    state.counts[st.FRESH, st.ROOTS] += 1
