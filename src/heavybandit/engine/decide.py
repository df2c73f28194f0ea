"""How a compiled policy chooses an arm: by stages (Algorithm 3), or by the largest upper bound."""

from __future__ import annotations

import math

from ..policy import EXPLORE_RULES, TIE
from . import state as st
from ._compile import apart, compiled, inlined
from .lanes import LANES
from .linear import combine, half_forms, largest, lowest_near_best, transpose
from .medians import bmm_estimates, menu_estimate
from .tofu import settled, tofu_suspects
from .truncation import btc_estimates

FIRST, RANDOM, WIDEST, OPTIMISTIC = map(
    EXPLORE_RULES.index, ("first", "random", "widest", "optimistic")
)
GLANCE = LANES  # arms whose widths are formed first, if one wide arm would do


@inlined
def begin(state, n_arms):
    """Open a round: nothing is counted yet, and every arm is alive."""
    for i in range(state.counts.shape[1]):
        state.counts[st.FRESH, i] = 0
    state.clock[st.DEPTH] = 0
    for a in range(n_arms):
        state.alive[a] = a


@compiled
def width_factor(num, kind, t):
    """What multiplies √(xᵀA⁻¹x): (α_t + 1) or β_t, times the width scale."""
    if kind == st.MOM:
        bracket = math.sqrt(2.0 * (num[st.MOM_LOG_ROUNDS] + 0.5 * num[st.LOG_DET])) + math.sqrt(t)
        factor = num[st.MOM_DEVIATION] * bracket + 1.0
    elif kind == st.CRT:
        log_ratio = 0.5 * num[st.LOG_DET] - num[st.CRT_LOG_DELTA]
        deviation = 2.0 * math.sqrt(2.0 * math.pow(t, num[st.CRT_POWER]) * log_ratio)
        v = num[st.CRT_V]
        factor = deviation + math.sqrt(2.0 * v * v * math.log(t)) + 1.0
    elif kind == st.CLIPPED_UCB:
        factor = num[st.CLIPPED_SCALE] * num[st.CLIPPED_WIDTH]
    elif kind in st.HUBER:  # β_{t−1}, and β_0 apart
        grown = num[st.GAIN] * math.pow(t - 1.0, num[st.GROWTH]) + num[st.OFFSET]
        factor = grown if t > 1.0 else num[st.HUBER_BETA_0]
    elif num[st.GROWTH] == 0.0:
        factor = num[st.GAIN] + num[st.OFFSET]
    else:
        factor = num[st.GAIN] * math.pow(t, num[st.GROWTH]) + num[st.OFFSET]
    return factor * num[st.SCALE]


@compiled
def set_widths(A_inv, X_T, start, stop, line, factor):
    """width ← factor·√(xᵀA⁻¹x), for the arms in X_T from start up to stop."""
    width = line[st.WIDTH]
    half_forms(A_inv, X_T, start, stop, width)
    for i in range(start, stop):
        width[i] = factor * math.sqrt(max(2.0 * width[i], 0.0))  # as in `quadratic_forms`


@inlined
def set_bounds(state, s, n, truth):
    """r̂ and the upper bounds r̂ + w at stage s, for the n arms whose widths are there."""
    state.counts[st.FRESH, st.ESTIMATES] += n
    if state.clock[st.KIND] in st.BMM:
        bmm_estimates(state, s, n)
    else:
        btc_estimates(state, s, n)
    add_widths(state.line, state.alive, n, truth, state.counts)


@compiled
def add_widths(line, alive, n, truth, counts):
    """upper ← r̂ + w; counts the intervals, and those that miss a mean that is known."""
    r_hat, width, upper = line[st.R_HAT], line[st.WIDTH], line[st.UPPER]
    for i in range(n):
        upper[i] = r_hat[i] + width[i]
    if truth[0] != truth[0]:  # NaN
        return
    missed = 0
    for i in range(n):
        missed += 1 if abs(r_hat[i] - truth[alive[i]]) > width[i] else 0
    counts[st.FRESH, st.INTERVALS] += n
    counts[st.FRESH, st.MISSED] += missed


@inlined
def keep_arm(line, alive, X_T, i, place):
    """Move the arm at position i to an earlier place among the survivors."""
    if i == place:
        return
    alive[place] = alive[i]
    line[st.WIDTH, place] = line[st.WIDTH, i]
    line[st.UPPER, place] = line[st.UPPER, i]
    for j in range(X_T.shape[0]):
        X_T[j, place] = X_T[j, i]


@inlined
def choose_by_stages(state, X, u, truth):
    """Algorithm 3, steps 4–16. Widths and estimates are made only where a decision needs them.

    Where the first wide arm is to be explored, no width behind it matters.
    """
    clock, line, alive = state.clock, state.line, state.alive
    factor = width_factor(state.num, clock[st.KIND], float(clock[st.ROUND]))
    level = state.num[st.LEVEL] * (1.0 + TIE)
    audit = clock[st.AUDIT] == 1
    explore = clock[st.EXPLORE]
    n = alive.size
    at_first = GLANCE if explore == FIRST and not audit else n
    seen = 0  # arms of this round that are in X_T
    power = 1.0
    for s in range(state.stage.shape[0]):
        state.stage[s, st.ENTERING] = n
        clock[st.DEPTH] = s + 1
        power *= 0.5  # 2^{-s}, with s counted from 1
        if audit:
            audit_survivors(state, s, n, truth, 8.0 * power)
        limit = power * (1.0 + TIE)
        # A stage that was passed the last time is likely to be passed again.
        glance = n if state.stage[s, st.PASSED] == 1 else min(at_first, n)
        if seen < glance:
            transpose(X, state.X_T, seen, glance)
            seen = glance
        set_widths(state.A_inv[s], state.X_T, 0, glance, line, factor)
        widest = largest(line[st.WIDTH], glance)
        if glance < n and widest <= max(limit, level):
            if seen < n:
                transpose(X, state.X_T, seen, n)
                seen = n
            set_widths(state.A_inv[s], state.X_T, glance, n, line, factor)
            widest = largest(line[st.WIDTH], n)
        precise = widest <= level
        explores = widest > limit and not precise
        if explores and explore != FIRST and not audit:
            n = keep_wide_arms(line, alive, state.X_T, n, limit)
        if audit or not explores or explore == OPTIMISTIC:
            set_bounds(state, s, n, truth)
        if precise:  # steps 8–10
            clock[st.GROWS] = -1
            return alive[lowest_near_best(line[st.UPPER], n)]
        state.stage[s, st.PASSED] = 0 if explores else 1
        if explores:  # steps 11–12
            clock[st.GROWS] = s
            if explore != FIRST:
                n = keep_wide_arms(line, alive, state.X_T, n, limit)
                return alive[one_of_the_wide(line, n, explore, u)]
            first = 0
            while line[st.WIDTH, first] <= limit:
                first += 1
            return alive[first]
        n = keep_arms_near_the_best(line, alive, state.X_T, n, 2.0 * power + TIE)
    clock[st.GROWS] = -1  # no stage is left: exploit (reading R12)
    return alive[lowest_near_best(line[st.UPPER], n)]


@inlined
def audit_survivors(state, s, n, truth, reach):
    """Lemma 5: is the best arm among those that enter stage s, and are all within 2^{3−s} of it?"""
    if truth[0] != truth[0]:  # NaN: the true means are not known
        return
    best = largest(truth, truth.size)
    lost, far = 1, 0
    for i in range(n):
        gap = best - truth[state.alive[i]]
        if gap <= 0.0:
            lost = 0
        if gap > reach * (1.0 + TIE):
            far += 1
    state.stage[s, st.LOST_NOW] = lost
    state.stage[s, st.FAR_NOW] = far


@compiled
def keep_arms_near_the_best(line, alive, X_T, n, gap):
    """Step 14: keep the arms whose upper bound is within gap of the largest; returns how many."""
    upper = line[st.UPPER]
    cut = largest(upper, n) - gap
    near = 0
    for i in range(n):
        near += 1 if upper[i] >= cut else 0
    if near == n:  # as a rule, and quickly seen
        return n
    stay = 0
    for i in range(n):
        if upper[i] >= cut:
            keep_arm(line, alive, X_T, i, stay)
            stay += 1
    return stay


@apart
def keep_wide_arms(line, alive, X_T, n, limit):
    """Keep the arms with w > 2^{-s}; returns how many."""
    wide = 0
    for i in range(n):
        if line[st.WIDTH, i] > limit:
            keep_arm(line, alive, X_T, i, wide)
            wide += 1
    return wide


@apart
def one_of_the_wide(line, n, explore, u):
    """One of n wide arms, by the rule of reading R11 if it is not the first."""
    if explore == RANDOM:
        return int(u * n)
    return lowest_near_best(line[st.WIDTH if explore == WIDEST else st.UPPER], n)


@inlined
def choose_by_bound(state, X, truth):
    """The largest upper bound over all arms, from the whole history, by an estimate of each arm."""
    clock, line = state.clock, state.line
    kind, s = clock[st.KIND], clock[st.GROWS]
    n = state.alive.size
    transpose(X, state.X_T, 0, n)
    factor = width_factor(state.num, kind, float(clock[st.ROUND]))
    if factor != 0.0:
        set_widths(state.A_inv[s], state.X_T, 0, n, line, factor)
    if kind != st.MENU:
        set_bounds(state, s, n, truth)
        return lowest_near_best(line[st.UPPER], n)
    menu_estimate(state)
    combine(state.vector[st.THETA_NOW], state.X_T, n, line[st.R_HAT])
    return best_of_regression(state, n, factor, truth)


@inlined
def choose_by_dropping(state, X, truth):
    """TOFU's largest upper bound: θ̂ without the suspects, and with them where they may matter."""
    line = state.line
    n = state.alive.size
    transpose(X, state.X_T, 0, n)
    factor = width_factor(state.num, st.TOFU, float(state.clock[st.ROUND]))
    if factor != 0.0:
        set_widths(state.A_inv[0], state.X_T, 0, n, line, factor)
    combine(state.theta[0], state.X_T, n, line[st.R_HAT])
    if state.stage[0, st.N_SUSPECTS] > 0:
        share = state.tofu.reach[0] / factor if factor > 0.0 else math.inf
        if state.clock[st.AUDIT] == 1 or not settled(line, n, share, truth):
            tofu_suspects(state, n, factor, truth)
    return best_of_regression(state, n, factor, truth)


@inlined
def choose_by_regression(state, X, truth):
    """The largest upper bound over all arms by one estimate θ̂ for all of them."""
    clock, line = state.clock, state.line
    kind = clock[st.KIND]
    n = state.alive.size
    transpose(X, state.X_T, 0, n)
    factor = width_factor(state.num, kind, float(clock[st.ROUND]))
    if factor != 0.0:
        set_widths(state.A_inv[0], state.X_T, 0, n, line, factor)
    if kind == st.BLIND:  # the narrowest arm has the largest −√(xᵀA⁻¹x)
        return lowest_near_best(line[st.WIDTH], n)
    combine(state.theta[0], state.X_T, n, line[st.R_HAT])
    return best_of_regression(state, n, factor, truth)


@inlined
def best_of_regression(state, n, factor, truth):
    """The arm with the largest r̂ + w, or r̂ if there are no widths."""
    line = state.line
    if factor <= 0.0:
        return lowest_near_best(line[st.R_HAT], n)
    add_widths(line, state.alive, n, truth, state.counts)
    return lowest_near_best(line[st.UPPER], n)
