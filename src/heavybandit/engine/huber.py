"""Huber regression without going through the history again, for the later algorithms.

**HEAVY-OFUL** minimises λ/2‖θ‖² + Σ huber_{τ_s}((r_s − x_sᵀθ)/σ_s) over the ball ‖θ‖ ≤ ρ, from the
whole history and after every round. σ_s and τ_s are fixed when round s is over, and in the ball
|r_s − x_sᵀθ| ≤ |r_s| + ρ‖x_s‖. So a round with (|r_s| + ρ‖x_s‖)/σ_s ≤ τ_s is never clipped, then or
later: its loss is ½z² throughout the ball, and a matrix and a vector hold all that it contributes.
Only the others, the *suspects*, are kept one by one. Where the loss outside the ball is another
does not matter, since the minimum is sought inside. Whatever the suspects do, a minimum of the
quadratic that agrees with the loss around it (which suspects are clipped, and to which side) and
whose own pattern is the same is the minimum sought: both are convex and have the same gradient.

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
    if w == 0.0:
        return math.inf
    return num[CONST + CLIP] * math.sqrt(1.0 + w * w) / w * math.pow(t, num[GROWTH])


@compiled
def norm(x):
    """‖x‖₂."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return math.sqrt(total)


@compiled
def heavy_oful_learn(state, x, payoff):
    """Weigh the round, put it into H and fit again."""
    num, scaled = state.num, state.vector[U]
    d = x.size
    n = math.sqrt(solve(state.A_inv[0], x, state.vector[SOLVED]))
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
    """θ̂ ← the minimum over the ball, starting from the last one."""
    theta, best, c = state.theta[0], state.vector[THETA_NOW], state.vector[Z_SUM]
    M, suspects, m = state.square[0], state.suspects[0], state.stage[0, N_SUSPECTS]
    d = theta.size
    if m == 0:
        solve(state.A_inv[0], state.total[0], theta)
        if norm(theta) > radius:
            minimum_in_ball(state.gram[0], state.total[0], radius, theta, state.square)
        return
    for _ in range(100):
        for i in range(d):
            c[i] = state.total[0, i]
            for j in range(d):
                M[i, j] = state.gram[0, i, j]
        for k in range(m):
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
        same = True
        for k in range(m):
            if clipped_side(suspects[k], theta) != clipped_side(suspects[k], best):
                same = False
        # A full step that overshoots is halved until the loss falls.
        share, before = 1.0, loss(state, theta)
        for i in range(d):
            c[i] = best[i]
        while not same and share > 1e-9 and loss(state, c) > before:
            share *= 0.5
            for i in range(d):
                c[i] = theta[i] + share * (best[i] - theta[i])
        for i in range(d):
            theta[i] = c[i]
        if same:
            return


@compiled
def loss(state, theta):
    """What is minimised, up to a constant."""
    gram, total, suspects = state.gram[0], state.total[0], state.suspects[0]
    d = theta.size
    value = 0.0
    for i in range(d):
        row = 0.0
        for j in range(d):
            row += gram[i, j] * theta[j]
        value += theta[i] * (0.5 * row - total[i])
    for k in range(state.stage[0, N_SUSPECTS]):
        z = suspects[k, d]
        for i in range(d):
            z -= suspects[k, i] * theta[i]
        tau = suspects[k, d + 1]
        value += 0.5 * z * z if abs(z) <= tau else tau * abs(z) - 0.5 * tau * tau
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
    halving it.
    """
    L, helper = square[1], square[2]
    d = theta.size
    low, high, mu = 0.0, math.inf, 0.0
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
            step = 0.5 * (low + high) if high < math.inf else 2.0 * low + 1.0
        if step == mu:
            return
        mu = step


@compiled
def hvt_ucb_learn(state, x, payoff, beta):
    """Weigh the round, put it into V and move θ̂ by one clipped step."""
    num, theta, scaled = state.num, state.theta[0], state.vector[U]
    d, t = x.size, float(state.clock[ROUND])
    n = math.sqrt(solve(state.A_inv[0], x, state.vector[SOLVED]))
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
