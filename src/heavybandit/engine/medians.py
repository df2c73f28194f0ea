"""Medians of means: over estimated payoffs (BMM), over payoffs (MoM), over estimates (MENU)."""

from __future__ import annotations

import math

from ..policy import TIE
from . import state as st
from ._compile import inlined
from .linear import add_context, cholesky, combine, copy, multiply, order_statistic, solve


@inlined
def bmm_estimates(state, s, n):
    """Step 6 of Algorithm 1 from stage s, for the n arms in X_T.

    The lower median of xᵀθ̂^j = yᵀb^j over the r plays.
    """
    sheet, y = state.sheet, state.vector[st.U]
    multiply(state.A_inv[s], state.X_T, n, state.Y)  # y = A⁻¹x of each arm
    r = sheet.shape[1]
    b = state.b[s]
    for a in range(n):
        copy(state.Y[:, a], y)
        combine(y, b, r, sheet[0])
        state.line[st.R_HAT, a] = order_statistic(sheet[0], r, (r - 1) // 2)


@inlined
def columns_learn(state, s, x, payoffs):
    """Put a round into A and into every b^j, for BMM and MENU."""
    grown = add_context(state.A_inv[s], x, state.vector[st.SOLVED])
    if state.clock[st.AUDIT] == 1:
        state.sum_c[s] += math.sqrt(math.expm1(math.log1p(grown)))
    for i in range(x.size):
        x_i = x[i]
        for j in range(payoffs.size):
            state.b[s, i, j] += x_i * payoffs[j]


@inlined
def mom_payoff(state, payoffs):
    """The lower median of k means of n consecutive payoffs each; the rest is unused.

    Returns what the round counts for.
    """
    k, n = int(state.num[st.MOM_GROUPS]), int(state.num[st.MOM_GROUP_SIZE])
    for group in range(k):
        total = 0.0
        for i in range(group * n, (group + 1) * n):
            total += payoffs[i]
        state.sheet[0, group] = total / n
    return order_statistic(state.sheet[0], k, (k - 1) // 2)


@inlined
def menu_estimate(state):
    """θ̂ ← θ̃^{k_*}: of the k estimates the one with the smallest median distance to the others.

    With A⁻¹ = LLᵀ, ‖θ̃^j − θ̃^s‖_A = ‖Lᵀ(b^j − b^s)‖. A candidate whose median exceeds the smallest
    seen so far is recognised by counting alone; it can be no tie either, since the holder of that
    smallest median has a lower index.
    """
    b, sheet, L = state.b[0], state.sheet, state.square[0]
    d, k = b.shape
    apart, medians = d, d + 1  # rows of the sheet after Lᵀb: distances from one, their medians
    cholesky(state.A_inv[0], 0.0, L)
    for i in range(d):
        for j in range(k):
            sheet[i, j] = 0.0
        for m in range(i, d):
            for j in range(k):
                sheet[i, j] += L[m, i] * b[m, j]
    rank = (k - 1) // 2
    best = math.inf
    for j in range(k):
        for s in range(k):
            sheet[apart, s] = 0.0
        for i in range(d):
            here = sheet[i, j]
            for s in range(k):
                step = sheet[i, s] - here
                sheet[apart, s] += step * step
        within = 0
        for s in range(k):
            within += 1 if sheet[apart, s] <= best else 0
        sheet[medians, j] = math.inf
        if within > rank:
            median = order_statistic(sheet[apart], k, rank)
            sheet[medians, j] = math.sqrt(median)
            best = min(best, median)
    chosen = 0
    while sheet[medians, chosen] > math.sqrt(best) + TIE:
        chosen += 1
    solve(state.A_inv[0], b[:, chosen], state.vector[st.THETA_NOW])
