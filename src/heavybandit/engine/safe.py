"""SafeRidge: six ridge regressions side by side, and how well each has forecast what came.

A regression's forecast needs A⁻¹x alone, which the update of A⁻¹ forms anyway; so a round takes
O(d²) operations for each of them, whatever has been played. `practice` has the formulas.
"""

from __future__ import annotations

import math

from ..practice import DOUBT
from . import state as st
from ._compile import compiled
from .huber import LEAST_SCALE
from .linear import add_context, copy, solve


@compiled
def safe_ridge_learn(state, x, payoff):
    """Forecast, clip, learn, judge the forecasts, and mix the estimates anew."""
    num, seen = state.num, state.forecasts
    t, n_ridges = float(state.clock[st.ROUND]), seen.made.shape[1]
    extended, y = state.vector[st.U], state.vector[st.SOLVED]
    copy(x, extended)
    mean = seen.came[0, 0]
    for j in range(n_ridges):
        extended[x.size] = seen.one[j]
        add_context(state.A_inv[j], extended, y)  # y is A⁻¹x as it was before
        for i in range(3):
            total = 0.0
            for k in range(y.size):
                total += y[k] * state.b[j, k, i]
            seen.made[i, j] = total
        mean += seen.share[0, j] * (seen.made[0, j] - seen.told[0, j])
    residual = payoff - mean
    scale = num[st.SAFE_SCALE]
    limit = num[st.SAFE_CLIP] * scale
    kept, sign = payoff, 0.0
    if scale > 0.0 and abs(residual) > limit:
        kept, sign = mean + math.copysign(limit, residual), math.copysign(1.0, residual)
        state.counts[st.TOTAL, st.TRUNCATED] += 1
    step = math.exp(0.5 / math.sqrt(t))
    moved = scale * step if abs(residual) > scale else scale / step
    num[st.SAFE_SCALE] = max(moved, LEAST_SCALE) if scale > 0.0 else abs(residual)
    follow(seen, 0, kept, t)
    follow(seen, 1, payoff, t)
    follow(seen, 2, sign, t)
    for j in range(n_ridges):
        extended[x.size] = seen.one[j]
        for k in range(y.size):
            state.b[j, k, 0] += kept * extended[k]
            state.b[j, k, 1] += payoff * extended[k]
            state.b[j, k, 2] += sign * extended[k]
    weigh(seen, 0, t)
    weigh(seen, 1, t)
    log_most = 0.0
    for j in range(n_ridges):
        log_most = max(log_most, log_likelihood(seen, 2, j, t))
    raw = -math.expm1(-log_most) / (1.0 + (DOUBT - 1.0) * math.exp(-log_most))
    mix(state, raw)


@compiled
def follow(seen, i, came, n):
    """One more round in the means and sums of squares, by Welford's recursion."""
    off = came - seen.came[0, i]
    seen.came[0, i] += off / n
    off_now = came - seen.came[0, i]
    seen.came[1, i] += off * off_now
    for j in range(seen.made.shape[1]):
        off_told = seen.made[i, j] - seen.told[i, j]
        seen.told[i, j] += off_told / n
        seen.told_spread[i, j] += off_told * (seen.made[i, j] - seen.told[i, j])
        seen.both[i, j] += off_told * off_now


@compiled
def log_likelihood(seen, i, j, n):
    """−n/2·ln(1 − ρ²), with ρ² shrunk; ρ is divided in two steps, so that no square overflows."""
    if not (seen.both[i, j] > 0.0 and seen.told_spread[i, j] > 0.0 and seen.came[1, i] > 0.0):
        return 0.0
    rho = seen.both[i, j] / math.sqrt(seen.told_spread[i, j]) / math.sqrt(seen.came[1, i])
    return -n / 2.0 * math.log1p(-min(rho * rho, 1.0) * n / (n + DOUBT))


@compiled
def weigh(seen, i, n):
    """share ← weight times slope, for what is forecast as the i-th."""
    n_ridges, most, total = seen.made.shape[1], 0.0, 0.0
    for j in range(n_ridges):
        seen.share[i, j] = log_likelihood(seen, i, j, n)
        most = max(most, seen.share[i, j])
    for j in range(n_ridges):
        seen.share[i, j] = seen.prior[j] * math.exp(seen.share[i, j] - most)
        total += seen.share[i, j]
    for j in range(n_ridges):
        slope = 0.0
        if seen.both[i, j] > 0.0 and seen.told_spread[i, j] > 0.0:
            slope = seen.both[i, j] / seen.told_spread[i, j]
        seen.share[i, j] *= (n * slope + DOUBT) / (n + DOUBT) / total


@compiled
def mix(state, raw):
    """θ ← the mixture of all estimates, in units of the scale; its intercept decides nothing."""
    seen, theta, scale = state.forecasts, state.theta[0], state.num[st.SAFE_SCALE]
    mixed, y = state.vector[st.Z_SUM], state.vector[st.SOLVED]
    units = 1.0 / scale if scale > 0.0 else 1.0
    for k in range(theta.size):
        theta[k] = 0.0
    for j in range(seen.made.shape[1]):
        clipped_share, raw_share = (1.0 - raw) * seen.share[0, j], raw * seen.share[1, j]
        for k in range(theta.size):
            mixed[k] = clipped_share * state.b[j, k, 0] + raw_share * state.b[j, k, 1]
        solve(state.A_inv[j], mixed, y)
        for k in range(theta.size):
            theta[k] += y[k] * units
    theta[theta.size - 1] = 0.0
