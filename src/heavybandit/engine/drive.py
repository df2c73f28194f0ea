"""The loop: choose, pay, learn. One round at a time, or a whole block of rounds in one call."""

from __future__ import annotations

import math

from ..policy import TIE
from ._compile import compiled, inlined
from .decide import choose, width_factor
from .huber import later_learn
from .linear import add_context, solve
from .medians import columns_learn, mom_payoff
from .state import (
    ARM,
    BMM,
    BTC,
    CRT,
    CRT_POWER,
    DEPTH,
    ENTERED,
    ENTERING,
    EXPLOITED,
    EXPLORED,
    FAR,
    FAR_NOW,
    FRESH,
    FULL,
    GREEDY,
    GROWS,
    KIND,
    LATER,
    LOG_DET,
    LOST,
    LOST_NOW,
    MENU,
    MOM,
    ROUND,
    SIZE,
    SOLVED,
    TOFU,
    TOTAL,
    TRUNCATED,
    UNIFORM,
    VISITS,
)
from .truncation import add_payoff, btc_learn, tofu_learn


@inlined
def learn(state, x, payoffs):
    """Close the round: book it, put it into what the policy keeps, and go on to the next."""
    book(state.counts, state.stage, state.clock)
    kind, grows = state.clock[KIND], state.clock[GROWS]
    if grows < 0 or kind == UNIFORM:
        pass
    elif kind in BMM or kind == MENU:
        columns_learn(state, grows, x, payoffs)
    elif kind in BTC:
        btc_learn(state, grows, x, payoffs[0])
    elif kind == TOFU:
        tofu_learn(state, grows, x, payoffs[0])
    elif kind in LATER:
        beta = width_factor(state.num, kind, float(state.clock[ROUND]))
        later_learn(state, x, payoffs[0], beta)
    else:
        ridge_learn(state, x, payoffs)
    state.clock[ROUND] += 1
    state.clock[ARM] = -1


@inlined
def ridge_learn(state, x, payoffs):
    """Put the round into A, b and θ̂ = A⁻¹b, for the policies that keep one payoff a round."""
    kind = state.clock[KIND]
    payoff = payoffs[0]
    if kind == GREEDY:
        for j in range(1, payoffs.size):
            payoff += payoffs[j]
        payoff /= payoffs.size
    elif kind == MOM:
        payoff = mom_payoff(state, payoffs)
    elif kind == CRT:
        eta = math.pow(float(state.clock[ROUND]), 0.5 * state.num[CRT_POWER])  # t^{1/(2(1+ε))}
        if abs(payoff) > eta * (1.0 + TIE):
            payoff = 0.0
            state.counts[TOTAL, TRUNCATED] += 1
    state.num[LOG_DET] += add_context(state.A_inv[0], x, state.vector[SOLVED])
    state.stage[0, SIZE] += 1
    add_payoff(state.total[0], x, payoff)
    solve(state.A_inv[0], state.total[0], state.theta[0])


@compiled
def book(counts, stage, clock):
    """Add the round's diagnostics to the totals."""
    for i in range(counts.shape[1]):
        counts[TOTAL, i] += counts[FRESH, i]
        counts[FRESH, i] = 0
    depth = clock[DEPTH]
    for s in range(depth):
        stage[s, VISITS] += 1
        stage[s, ENTERED] += stage[s, ENTERING]
        stage[s, LOST] += stage[s, LOST_NOW]
        stage[s, FAR] += stage[s, FAR_NOW]
    if depth > 0:
        stage[depth - 1, EXPLOITED if clock[GROWS] < 0 else EXPLORED] += 1


@compiled
def play_block(state, X, means, best, draws, gamma, luck, regret, curve, arms):
    """Play the rounds of a block; returns how many were played.

    Fewer than all means that the state is full (clock[FULL] is 1) or that the next payoff is not
    finite (it is 0). The payoff of a play is mean + draw, or, with γ > 0, 1/γ if draw < γ·mean.
    """
    payoffs, clock = state.payoffs, state.clock
    plays = payoffs.size
    for t in range(X.shape[0]):
        if clock[FULL] == 1:
            return t
        choose(state, X[t], luck[t], means[t])
        arm = clock[ARM]
        mean = means[t, arm]
        for j in range(plays):
            draw = draws[t * plays + j]
            if gamma > 0.0:
                payoffs[j] = 1.0 / gamma if draw < gamma * mean else 0.0
            else:
                payoffs[j] = mean + draw
            if not math.isfinite(payoffs[j]):
                return t
        learn(state, X[t, arm], payoffs)
        regret += plays * (best[t] - mean)
        curve[t] = regret
        arms[t] = arm
    return X.shape[0]
