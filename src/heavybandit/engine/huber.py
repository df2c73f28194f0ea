"""Huber regression without going through the history again, for the later algorithms.

**HEAVY-OFUL** minimises λ/2‖θ‖² + Σ huber_{τ_s}((r_s − x_sᵀθ)/σ_s) over the ball ‖θ‖ ≤ ρ, from the
whole history and after every round. σ_s and τ_s are fixed when round s is over, and in the ball
|x_sᵀθ| ≤ ρ‖x_s‖. So a round with (|r_s| + ρ‖x_s‖)/σ_s ≤ τ_s is never clipped, then or later: its
loss is ½z² throughout the ball. And one with (|r_s| − ρ‖x_s‖)/σ_s > τ_s is always clipped: its loss
is linear there, with the slope ±τ_s x_s/σ_s. A matrix and a vector hold all that these contribute;
only the others, the *suspects*, in a band of width 2ρ‖x_s‖ about ±τ_sσ_s, are kept one by one. That
the loss outside the ball is another does not matter, since the minimum is sought inside.

Say for each suspect whether it is clipped, and to which side: around every θ the loss is the
quadratic that belongs to its pattern. A minimum of such a quadratic over the ball that has the same
pattern is the minimum sought, since there both have the same gradient and both are convex. If it
has another, it still shows where the loss falls: Newton's method, halving its step until it does.

There may be thousands of suspects, and hardly any changes sides in a round. A suspect's residual
(r − xᵀθ)/σ moves by at most ‖x‖/σ times the way that θ goes, so one that was at a distance g from
its nearer threshold keeps its side until θ̂ has gone a way of gσ/‖x‖. When a suspect is looked at,
this is noted as the way at which to look again (`due`); until then it is passed over, with the same
result as if it had been looked at. So is a whole bundle of suspects of which none is due yet
(`soonest`): to ask thousands one by one took half of the time. Who changes sides is taken out of
the quadratic and put in anew, in sums of twice the usual precision: otherwise a term taken out
would leave its rounding behind.

**Hvt-UCB** and ClippedUCB take one clipped step per round and keep nothing.
"""

from __future__ import annotations

import math

from . import state as st
from ._compile import apart, compiled, inlined
from .linear import add_context, add_outer, cholesky, copy, solve
from .truncation import add_payoff

LEAST_SCALE = 1e-300  # from 0 it could never rise again

SPARE = 1e-9  # which side of a threshold a round is on is settled with this much to spare
MOST_PASSES = 100  # through the suspects in a fit
SIDE = 2  # where a suspect keeps its side, counted from d; before it, r/σ and τ
DOUBT = 1e-10  # of a residual, in units of what it is the difference of: more than rounding adds


@compiled
def threshold(num, w, t):
    """τ_t = τ₀ (√(1+w²)/w) t^e, times the threshold scale."""
    return num[st.HUBER_CLIP] * math.sqrt(1.0 + w * w) / w * math.pow(t, num[st.GROWTH])


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


@inlined
def heavy_oful_learn(state, x, payoff):
    """Weigh the round, put it into H and fit again."""
    num, scaled = state.num, state.vector[st.U]
    d = x.size
    n = math.sqrt(solve(state.A_inv[0], x, state.vector[st.SOLVED]))
    if n == 0.0:  # it teaches nothing, and 0 times a payoff that overflows would be no number
        return
    sigma = max(
        num[st.HUBER_LEAST_SIGMA], n * num[st.OFUL_INV_C_0], math.sqrt(n) * num[st.OFUL_FOURTH]
    )
    tau = threshold(num, n / sigma, float(state.clock[st.ROUND]))
    for i in range(d):
        scaled[i] = x[i] / sigma
    add_context(state.A_inv[0], scaled, state.vector[st.SOLVED])
    reach = num[st.OFUL_RADIUS] * norm(x)
    most, least = (abs(payoff) + reach) / sigma, (abs(payoff) - reach) / sigma
    if most <= tau * (1.0 - SPARE):
        count(state.huber, scaled, payoff / sigma, 0.0, 1.0)
    elif least > tau * (1.0 + SPARE):
        count(state.huber, scaled, math.copysign(tau, payoff), 1.0, 1.0)
        state.counts[st.TOTAL, st.TRUNCATED] += 1
    else:
        new_suspect(state, scaled, payoff / sigma, tau)
    fit(state, num[st.OFUL_RADIUS])
    if most > tau * (1.0 - SPARE) and least <= tau * (1.0 + SPARE):
        newcomer = state.suspects[0, state.stage[0, st.N_SUSPECTS] - 1]
        if newcomer[d + SIDE] != 0.0:
            state.counts[st.TOTAL, st.TRUNCATED] += 1


@inlined
def new_suspect(state, scaled, payoff, tau):
    """Keep a round (x/σ, r/σ, τ) by itself, on the side where it is at the last θ̂."""
    d, k = scaled.size, state.stage[0, st.N_SUSPECTS]
    newcomer = state.suspects[0, k]
    copy(scaled, newcomer)
    newcomer[d], newcomer[d + 1] = payoff, tau
    newcomer[d + SIDE] = side_at(newcomer, state.theta[0])
    count_suspect(state.huber, newcomer, 1.0)
    state.huber.due[k] = 0.0
    state.huber.soonest[k // st.BUNDLE] = 0.0
    state.stage[0, st.N_SUSPECTS] = k + 1
    state.counts[st.TOTAL, st.SUSPECTS] = k + 1
    state.counts[st.TOTAL, st.MOST_SUSPECTS] = k + 1
    state.clock[st.FULL] = 1 if k + 1 >= state.suspects.shape[1] else 0


@compiled
def side_at(suspect, theta):
    """1 or −1 if a suspect's z = (r − xᵀθ)/σ is clipped from above or from below, else 0."""
    z, tau = suspect[theta.size], suspect[theta.size + 1]
    for i in range(theta.size):
        z -= suspect[i] * theta[i]
    if z > tau:
        return 1.0
    return -1.0 if z < -tau else 0.0


@compiled
def add_twice(sums, lost, i, term):
    """sums[i] ← sums[i] + term, where sums[i] + lost[i] has twice the usual precision."""
    before = sums[i]
    summed = before + term
    added = summed - before
    rest = (before - (summed - added)) + (term - added) + lost[i]
    sums[i] = summed + rest
    lost[i] = rest - (sums[i] - summed)


@compiled
def count(huber, scaled, pull, side, sign):
    """Add a round to the quadratic that agrees with the loss around θ̂, or with sign −1 take it out.

    The quadratic is ½θᵀGθ − pᵀθ with the Gram matrix G and the pull p; `side` is 0 if the round is
    not clipped there.
    """
    for i in range(scaled.size):
        add_twice(huber.pull, huber.pull_lost, i, sign * (pull * scaled[i]))
        if side == 0.0:
            for j in range(scaled.size):
                term = sign * (scaled[i] * scaled[j])
                add_twice(huber.gram[i], huber.gram_lost[i], j, term)
    if side != 0.0:
        huber.clipped[0] += int(sign)


@compiled
def count_suspect(huber, suspect, sign):
    """The same for a suspect, by its side."""
    d = huber.pull.size
    side = suspect[d + SIDE]
    pull = suspect[d] if side == 0.0 else side * suspect[d + 1]
    count(huber, suspect[:d], pull, side, sign)


@compiled
def due_after(suspect, theta, radius):
    """How far θ may go from here before this suspect can change sides."""
    d = theta.size
    z, tau, length = suspect[d], suspect[d + 1], norm(suspect[:d])
    for i in range(d):
        z -= suspect[i] * theta[i]
    gap = abs(abs(z) - tau) - DOUBT * (abs(suspect[d]) + tau + length * radius)
    return max(gap, 0.0) / length * (1.0 - DOUBT)


@inlined
def fit(state, radius):
    """θ̂ ← the minimum over the ball, starting from the last one; returns how many passes it took.

    A pass minimises the quadratic that agrees with the loss around θ̂ (`count` and `take_sides` keep
    it, by the suspects' sides) and goes there, or only part of the way if the loss, which is
    convex, rises again before: then a half, a quarter, and so on, up to where it still falls. That
    is at least half of what the way could bring, so θ̂ converges from anywhere; once the sides are
    right, the next pass is exact. One to three passes are the rule. If a residual stands at its
    threshold in the minimum itself, rounding may leave its side undecided: then θ̂ has arrived, and
    the passes end because it no longer moves.
    """
    theta, best, huber = state.theta[0], state.vector[st.THETA_NOW], state.huber
    suspects, m, d = state.suspects[0], state.stage[0, st.N_SUSPECTS], state.theta.shape[1]
    for passes in range(MOST_PASSES):
        if m == 0 and huber.clipped[0] == 0:  # the inverse of the Gram matrix is known
            solve(state.A_inv[0], huber.pull, best)
        else:
            free_minimum(huber.gram, huber.pull, 0.0, best, state.square[1])
        if norm(best) > radius:
            minimum_in_ball(huber.gram, huber.pull, radius, best, state.square)
        way, most = 0.0, 0.0
        for i in range(d):
            way += (best[i] - theta[i]) * (best[i] - theta[i])
            most = max(most, abs(best[i] - theta[i]))
        # Rounded up, so that the way gone is never less than the sum of its parts.
        until = (huber.gone[0] + math.sqrt(way) * (1.0 + DOUBT)) * (1.0 + 1e-15)
        same = True
        for first in range(0, m, st.BUNDLE):
            if huber.soonest[first // st.BUNDLE] > until:
                continue
            for k in range(first, min(first + st.BUNDLE, m)):
                if huber.due[k] <= until and side_at(suspects[k], best) != suspects[k, d + SIDE]:
                    same = False
        share = 1.0
        if not same and most > 1e-14 * radius:
            limit = -1e-6 * slope(huber, suspects, m, until, theta, best, 0.0)
            while share > 1e-9 and slope(huber, suspects, m, until, theta, best, share) > limit:
                share *= 0.5
        for i in range(d):
            theta[i] = best[i] if share == 1.0 else theta[i] + share * (best[i] - theta[i])
        take_sides(huber, suspects, m, until, theta, radius)
        if same or most <= 1e-14 * radius:
            return passes + 1
    return MOST_PASSES


@apart
def take_sides(huber, suspects, m, until, theta, radius):
    """Put every suspect that is due on the side where it is at θ̂; the way to there is `until`."""
    d = theta.size
    for first in range(0, m, st.BUNDLE):
        if huber.soonest[first // st.BUNDLE] > until:
            continue
        soonest = math.inf
        for k in range(first, min(first + st.BUNDLE, m)):
            if huber.due[k] <= until:
                side = side_at(suspects[k], theta)
                if side != suspects[k, d + SIDE]:
                    count_suspect(huber, suspects[k], -1.0)
                    suspects[k, d + SIDE] = side
                    count_suspect(huber, suspects[k], 1.0)
                huber.due[k] = until + due_after(suspects[k], theta, radius)
            soonest = min(soonest, huber.due[k])
        huber.soonest[first // st.BUNDLE] = soonest
    huber.gone[0] = until


@apart
def slope(huber, suspects, m, until, theta, best, share):
    """The derivative of the loss along best − θ, at this share of the way, with m suspects.

    That of the quadratic, and for who is on another side there what its own really is; only who is
    due can be. The loss itself would be known less well: large payoffs leave few digits for what
    changes.
    """
    d = theta.size
    value = 0.0
    for i in range(d):
        row = -huber.pull[i]
        for j in range(d):
            row += huber.gram[i, j] * (theta[j] + share * (best[j] - theta[j]))
        value += row * (best[i] - theta[i])
    for first in range(0, m, st.BUNDLE):
        if huber.soonest[first // st.BUNDLE] > until:
            continue
        for k in range(first, min(first + st.BUNDLE, m)):
            if huber.due[k] > until:
                continue
            z, along = suspects[k, d], 0.0
            tau, side = suspects[k, d + 1], suspects[k, d + SIDE]
            for i in range(d):
                along += suspects[k, i] * (best[i] - theta[i])
                z -= suspects[k, i] * (theta[i] + share * (best[i] - theta[i]))
            assumed = z if side == 0.0 else side * tau
            value -= (min(max(z, -tau), tau) - assumed) * along
    return value


@apart
def free_minimum(M, c, mu, theta, L):
    """θ ← (M + μI)⁻¹c; L becomes a Cholesky factor of M + μI."""
    cholesky(M, mu, L)
    copy(c, theta)
    substitute(L, theta)


@apart
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


@apart
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
        copy(theta, helper[0])
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


@inlined
def hvt_ucb_learn(state, x, payoff, beta):
    """Weigh the round, put it into V and move θ̂ by one clipped step; beta is β_{t−1}, scaled."""
    num, theta, scaled = state.num, state.theta[0], state.vector[st.U]
    d, t = x.size, float(state.clock[st.ROUND])
    n = math.sqrt(solve(state.A_inv[0], x, state.vector[st.SOLVED]))
    if n == 0.0:  # as in HEAVY-OFUL
        return
    root_alpha = num[st.HVT_ROOT_ALPHA]
    reach = math.sqrt(2.0 * beta / (num[st.HUBER_TAU_0] * root_alpha * math.pow(t, num[st.GROWTH])))
    sigma = max(num[st.HUBER_LEAST_SIGMA], reach * n)
    tau = threshold(num, n / (sigma * root_alpha), t)
    for i in range(d):
        scaled[i] = x[i] / (sigma * root_alpha)
    add_context(state.A_inv[0], scaled, state.vector[st.SOLVED])
    add_outer(state.huber.gram, state.huber.gram_lost, scaled)
    z = payoff
    for i in range(d):
        z -= x[i] * theta[i]
    z /= sigma
    if abs(z) > tau:
        z = math.copysign(tau, z)
        state.counts[st.TOTAL, st.TRUNCATED] += 1
    solve(state.A_inv[0], x, state.vector[st.SOLVED])
    for i in range(d):
        theta[i] += state.vector[st.SOLVED, i] * z / sigma
    if norm(theta) > 1.0:
        solve(state.huber.gram, theta, state.vector[st.Z_SUM])
        minimum_in_ball(state.huber.gram, state.vector[st.Z_SUM], 1.0, theta, state.square)


@inlined
def clipped_ucb_learn(state, x, payoff):
    """Clip the residual, put the payoff that is left into A and b, and follow the scale."""
    num, theta = state.num, state.theta[0]
    t = float(state.clock[st.ROUND])
    mean = 0.0
    for i in range(x.size):
        mean += x[i] * theta[i]
    residual = payoff - mean
    scale = num[st.CLIPPED_SCALE]
    tau = num[st.CLIPPED_CLIP] * scale * math.pow(t, num[st.CLIPPED_GROWTH])
    kept = residual
    if abs(residual) > tau:
        kept = math.copysign(tau, residual)
        state.counts[st.TOTAL, st.TRUNCATED] += 1
    add_context(state.A_inv[0], x, state.vector[st.SOLVED])
    add_payoff(state.total[0], x, mean + kept)
    solve(state.A_inv[0], state.total[0], theta)
    step = math.exp(0.5 / math.sqrt(t))
    moved = scale * step if abs(residual) > scale else scale / step
    num[st.CLIPPED_SCALE] = max(moved, LEAST_SCALE)
