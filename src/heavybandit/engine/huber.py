"""Huber regression without going through the history again, for the later algorithms.

**HEAVY-OFUL** minimises λ/2‖θ‖² + Σ huber_{τ_s}((r_s − x_sᵀθ)/σ_s) over the ball ‖θ‖ ≤ ρ, from the
whole history and after every round. σ_s and τ_s are fixed when round s is over, and in the ball
|r_s − x_sᵀθ| ≤ |r_s| + ρ‖x_s‖. So a round with (|r_s| + ρ‖x_s‖)/σ_s ≤ τ_s is never clipped, then or
later: its loss is ½z² throughout the ball, and a matrix and a vector hold all that it contributes.
Only the others, the *suspects*, are kept one by one. What the loss is outside the ball does not
matter, since the minimum is sought inside. Which suspects are clipped, and to which side, is their
pattern. Around a θ the loss is a quadratic that depends on the pattern there. If the minimum of
that quadratic over the ball has the same pattern, it is the minimum sought: loss and quadratic have
the same gradient there, and both are convex.

**Hvt-UCB** and ClippedUCB take one clipped step a round and keep nothing.
"""

from __future__ import annotations

import math

from ._compile import compiled
from .linear import add_context, add_outer, cholesky, solve
from .state import (
    CLIPPED_UCB,
    CONST,
    FULL,
    GROWTH,
    HEAVY_OFUL,
    KIND,
    MOST_SUSPECTS,
    N_SUSPECTS,
    ROUND,
    SIZE,
    SOLVED,
    SUSPECTS,
    THETA_NOW,
    TOTAL,
    TRUNCATED,
    Z_SUM,
    U,
)
from .truncation import add_payoff

# Constants of HEAVY-OFUL and Hvt-UCB in `num`, counted from CONST: β_0; the least σ; τ₀ as it is,
# and times the clip scale (infinite if nothing is clipped); then each its own.
BETA_0, LEAST, TAU_0, CLIP = range(4)
INV_C_0, FOURTH, RADIUS = range(4, 7)  # HEAVY-OFUL: 1/c₀, (2c₁κ)^{−1/4}, ρ
ROOT_ALPHA = 4  # Hvt-UCB: √α
# ClippedUCB's: the scale s, and what multiplies it for widths and for clipping; the growth of the
# latter.
SCALE_NOW, WIDTH_UNITS, CLIP_UNITS, CLIP_GROWTH = range(4)

SPARE = 1.0 - 1e-9  # a round is cleared with this much to spare
MOST_PASSES = 100  # through the suspects in a fit


@compiled
def later_learn(state, x, payoff, beta):
    """Close a round of one of the later policies; beta is what multiplied ‖x‖ in it."""
    kind = state.clock[KIND]
    state.stage[0, SIZE] += 1
    if kind == HEAVY_OFUL:
        heavy_oful_learn(state, x, payoff)
    elif kind == CLIPPED_UCB:
        clipped_ucb_learn(state, x, payoff)
    else:
        hvt_ucb_learn(state, x, payoff, beta)


@compiled
def threshold(num, w, t):
    """τ_t = τ₀ (√(1+w²)/w) t^e, times the clip scale."""
    return num[CONST + CLIP] * math.sqrt(1.0 + w * w) / w * math.pow(t, num[GROWTH])


@compiled
def norm(x):
    """‖x‖₂, even where its square would overflow."""
    most, total = 0.0, 0.0
    for i in range(x.size):
        most = max(most, abs(x[i]))
    if most == 0.0:
        return 0.0
    for i in range(x.size):
        total += (x[i] / most) * (x[i] / most)
    return most * math.sqrt(total)


@compiled
def heavy_oful_learn(state, x, payoff):
    """Weigh the round, put it into H and fit again."""
    num, scaled = state.num, state.vector[U]
    d = x.size
    n = math.sqrt(solve(state.A_inv[0], x, state.vector[SOLVED]))
    if n == 0.0:  # it teaches nothing, and 0 times a payoff that overflows would be no number
        return
    sigma = max(num[CONST + LEAST], n * num[CONST + INV_C_0], math.sqrt(n) * num[CONST + FOURTH])
    tau = threshold(num, n / sigma, float(state.clock[ROUND]))
    for i in range(d):
        scaled[i] = x[i] / sigma
    add_context(state.A_inv[0], scaled, state.vector[SOLVED])
    newcomer = (abs(payoff) + num[CONST + RADIUS] * norm(x)) / sigma > tau * SPARE
    if newcomer:
        k = state.stage[0, N_SUSPECTS]
        for i in range(d):
            state.suspects[0, k, i] = scaled[i]
        state.suspects[0, k, d] = payoff / sigma
        state.suspects[0, k, d + 1] = tau
        k += 1
        state.stage[0, N_SUSPECTS] = k
        state.counts[TOTAL, SUSPECTS] = k
        state.counts[TOTAL, MOST_SUSPECTS] = k
        state.clock[FULL] = 1 if k >= state.suspects.shape[1] else 0
    else:
        add_outer(state.gram[0], state.gram_lost[0], scaled)
        add_payoff(state.total[0], scaled, payoff / sigma)
    fit(state, num[CONST + RADIUS])
    if newcomer:
        k = state.stage[0, N_SUSPECTS] - 1
        if clipped_side(state.suspects[0, k], state.theta[0]) != 0.0:
            state.counts[TOTAL, TRUNCATED] += 1


@compiled
def clipped_side(suspect, theta):
    """1 or −1 if a suspect (x/σ, r/σ, τ) is clipped at θ from above or below, else 0."""
    d = theta.size
    z = suspect[d]
    for i in range(d):
        z -= suspect[i] * theta[i]
    if z > suspect[d + 1]:
        return 1.0
    return -1.0 if z < -suspect[d + 1] else 0.0


@compiled
def fit(state, radius):
    """θ̂ ← the minimum over the ball, starting from the last one; returns how many passes it took.

    A pass minimises the quadratic that agrees with the loss around θ̂ and goes there, or only part
    of the way if the loss, which is convex, rises again before: then a half, a quarter, and so on,
    up to where it still falls. That is at least half of what the way could bring, so θ̂ converges
    from anywhere; once the pattern is right, the next pass is exact. One to three passes are the
    rule, and 29 the most in 4,000 trials with wild data, so MOST_PASSES is never reached. If a
    residual stands at its threshold in the minimum itself, rounding may leave the pattern
    undecided: then θ̂ has arrived, and the passes end because it no longer moves.
    """
    theta, best = state.theta[0], state.vector[THETA_NOW]
    m, d = state.stage[0, N_SUSPECTS], theta.size
    if m == 0:
        solve(state.A_inv[0], state.total[0], theta)
        if norm(theta) > radius:
            minimum_in_ball(state.gram[0], state.total[0], radius, theta, state.square)
        return 0
    for passes in range(MOST_PASSES):
        minimum_as_if_quadratic(state, radius, best)
        suspects = state.suspects[0]
        same, way = True, 0.0
        for k in range(m):
            if clipped_side(suspects[k], theta) != clipped_side(suspects[k], best):
                same = False
        for i in range(d):
            way = max(way, abs(best[i] - theta[i]))
        share = 1.0
        if not same and way > 1e-14 * radius:
            limit = -1e-6 * slope(state, theta, best, 0.0)
            while share > 1e-9 and slope(state, theta, best, share) > limit:
                share *= 0.5
        else:
            same = True
        for i in range(d):
            theta[i] = best[i] if share == 1.0 else theta[i] + share * (best[i] - theta[i])
        if same:
            return passes + 1
    return MOST_PASSES


@compiled
def minimum_as_if_quadratic(state, radius, best):
    """best ← the minimum over the ball if each suspect stayed clipped, or not, as it is at θ̂."""
    theta, c, M = state.theta[0], state.vector[Z_SUM], state.square[0]
    suspects, d = state.suspects[0], state.theta.shape[1]
    for i in range(d):
        c[i] = state.total[0, i]
        for j in range(d):
            M[i, j] = state.gram[0, i, j]
    for k in range(state.stage[0, N_SUSPECTS]):
        side = clipped_side(suspects[k], theta)
        pull = suspects[k, d] if side == 0.0 else side * suspects[k, d + 1]
        for i in range(d):
            c[i] += pull * suspects[k, i]
            if side == 0.0:
                for j in range(d):
                    M[i, j] += suspects[k, i] * suspects[k, j]
    free_minimum(M, c, 0.0, best, state.square[1])
    if norm(best) > radius:
        minimum_in_ball(M, c, radius, best, state.square)


@compiled
def slope(state, theta, best, share):
    """The derivative of the loss along best − θ, at this share of the way.

    The loss itself would be known less well: large payoffs leave few digits for what changes.
    """
    gram, total, suspects = state.gram[0], state.total[0], state.suspects[0]
    d = theta.size
    value = 0.0
    for i in range(d):
        row = -total[i]
        for j in range(d):
            row += gram[i, j] * (theta[j] + share * (best[j] - theta[j]))
        value += row * (best[i] - theta[i])
    for k in range(state.stage[0, N_SUSPECTS]):
        z, along, tau = suspects[k, d], 0.0, suspects[k, d + 1]
        for i in range(d):
            along += suspects[k, i] * (best[i] - theta[i])
            z -= suspects[k, i] * (theta[i] + share * (best[i] - theta[i]))
        value -= min(max(z, -tau), tau) * along
    return value


@compiled
def free_minimum(M, c, mu, theta, L):
    """θ ← (M + μI)⁻¹c; L becomes a Cholesky factor of M + μI."""
    cholesky(M, mu, L)
    for i in range(theta.size):
        theta[i] = c[i]
    substitute(L, theta)


@compiled
def substitute(L, y):
    """y ← (LLᵀ)⁻¹y."""
    d = y.size
    for i in range(d):
        for j in range(i):
            y[i] -= L[i, j] * y[j]
        y[i] /= L[i, i]
    for i in range(d - 1, -1, -1):
        for j in range(i + 1, d):
            y[i] -= L[j, i] * y[j]
        y[i] /= L[i, i]


@compiled
def minimum_in_ball(M, c, radius, theta, square):
    """θ ← argmin over ‖θ‖ ≤ radius of ½θᵀMθ − cᵀθ, whose free minimum lies outside.

    It is (M + μI)⁻¹c with the μ > 0 that gives it the length radius. 1/‖θ(μ)‖ is nearly linear in
    μ, so Newton's method on it takes few steps; a step that leaves the bracket is replaced by
    halving it. ‖c‖/(μ + tr M) ≤ ‖θ(μ)‖ ≤ ‖c‖/μ is the bracket, which payoffs of any size need.
    """
    L, helper = square[1], square[2]
    d = theta.size
    high, trace = norm(c) / radius, 0.0
    for i in range(d):
        trace += M[i, i]
    low = max(0.0, high - trace)
    mu = low
    for _ in range(200):
        free_minimum(M, c, mu, theta, L)
        length = norm(theta)
        if abs(length - radius) <= 1e-14 * radius:
            return
        if length > radius:
            low = mu
        else:
            high = mu
        for i in range(d):
            helper[0, i] = theta[i]
        substitute(L, helper[0])
        falls = 0.0  # θᵀ(M + μI)⁻¹θ
        for i in range(d):
            falls += theta[i] * helper[0, i]
        step = mu + (length / radius - 1.0) * (length * length) / falls
        if not low < step < high:
            step = 0.5 * (low + high)
        if step == mu:
            return
        mu = step


@compiled
def hvt_ucb_learn(state, x, payoff, beta):
    """Weigh the round, put it into V and move θ̂ by one clipped step."""
    num, theta, scaled = state.num, state.theta[0], state.vector[U]
    d, t = x.size, float(state.clock[ROUND])
    n = math.sqrt(solve(state.A_inv[0], x, state.vector[SOLVED]))
    if n == 0.0:  # as in HEAVY-OFUL
        return
    root_alpha = num[CONST + ROOT_ALPHA]
    reach = math.sqrt(2.0 * beta / (num[CONST + TAU_0] * root_alpha * math.pow(t, num[GROWTH])))
    sigma = max(num[CONST + LEAST], reach * n)
    tau = threshold(num, n / (sigma * root_alpha), t)
    for i in range(d):
        scaled[i] = x[i] / (sigma * root_alpha)
    add_context(state.A_inv[0], scaled, state.vector[SOLVED])
    add_outer(state.gram[0], state.gram_lost[0], scaled)
    z = payoff
    for i in range(d):
        z -= x[i] * theta[i]
    z /= sigma
    if abs(z) > tau:
        z = math.copysign(tau, z)
        state.counts[TOTAL, TRUNCATED] += 1
    solve(state.A_inv[0], x, state.vector[SOLVED])
    for i in range(d):
        theta[i] += state.vector[SOLVED, i] * z / sigma
    if norm(theta) > 1.0:
        solve(state.gram[0], theta, state.vector[Z_SUM])
        minimum_in_ball(state.gram[0], state.vector[Z_SUM], 1.0, theta, state.square)


@compiled
def clipped_ucb_learn(state, x, payoff):
    """Clip the residual, put the payoff that is left into A and b, and follow the scale."""
    num, theta = state.num, state.theta[0]
    t = float(state.clock[ROUND])
    mean = 0.0
    for i in range(x.size):
        mean += x[i] * theta[i]
    residual = payoff - mean
    scale = num[CONST + SCALE_NOW]
    tau = num[CONST + CLIP_UNITS] * scale * math.pow(t, num[CONST + CLIP_GROWTH])
    kept = residual
    if abs(residual) > tau:
        kept = math.copysign(tau, residual)
        state.counts[TOTAL, TRUNCATED] += 1
    add_context(state.A_inv[0], x, state.vector[SOLVED])
    add_payoff(state.total[0], x, mean + kept)
    solve(state.A_inv[0], state.total[0], theta)
    step = math.exp(0.5 / math.sqrt(t))
    num[CONST + SCALE_NOW] = scale * step if abs(residual) > scale else scale / step
