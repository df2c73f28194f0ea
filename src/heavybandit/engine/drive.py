"""The loop: choose, pay, learn. One round at a time, or a whole block of rounds in one call."""

from __future__ import annotations

import math

from ..policy import TIE
from . import state as st
from ._compile import compiled, inlined
from .decide import choose, width_factor
from .huber import clipped_ucb_learn, heavy_oful_learn, hvt_ucb_learn
from .linear import add_context, solve
from .medians import columns_learn, mom_payoff
from .truncation import add_payoff, btc_learn, tofu_learn


@inlined
def learn(state, x, payoffs):
    """Close the round: book it, put it into what the policy keeps, and go on to the next."""
    book(state.counts, state.stage, state.clock)
    kind, grows = state.clock[st.KIND], state.clock[st.GROWS]
    if grows < 0 or kind == st.UNIFORM:
        pass
    elif kind in st.BMM or kind == st.MENU:
        columns_learn(state, grows, x, payoffs)
    elif kind in st.BTC:
        btc_learn(state, grows, x, payoffs[0])
    elif kind == st.TOFU:
        tofu_learn(state, grows, x, payoffs[0])
    elif kind == st.HEAVY_OFUL:
        heavy_oful_learn(state, x, payoffs[0])
    elif kind == st.HVT_UCB:
        beta = width_factor(state.num, kind, float(state.clock[st.ROUND]))
        hvt_ucb_learn(state, x, payoffs[0], beta)
    elif kind == st.CLIPPED_UCB:
        clipped_ucb_learn(state, x, payoffs[0])
    else:
        ridge_learn(state, x, payoffs)
    state.clock[st.ROUND] += 1
    state.clock[st.ARM] = -1


@inlined
def ridge_learn(state, x, payoffs):
    """Put the round into A, b and θ̂ = A⁻¹b, for the policies that keep one payoff per round."""
    kind = state.clock[st.KIND]
    payoff = payoffs[0]
    if kind == st.GREEDY:
        for j in range(1, payoffs.size):
            payoff += payoffs[j]
        payoff /= payoffs.size
    elif kind == st.MOM:
        payoff = mom_payoff(state, payoffs)
    elif kind == st.CRT:
        # η_t = t^{1/(2(1+ε))}
        eta = math.pow(float(state.clock[st.ROUND]), 0.5 * state.num[st.CRT_POWER])
        if abs(payoff) > eta * (1.0 + TIE):
            payoff = 0.0
            state.counts[st.TOTAL, st.TRUNCATED] += 1
    state.num[st.LOG_DET] += add_context(state.A_inv[0], x, state.vector[st.SOLVED])
    add_payoff(state.total[0], x, payoff)
    solve(state.A_inv[0], state.total[0], state.theta[0])


@compiled
def book(counts, stage, clock):
    """Add the round's diagnostics to the totals."""
    for i in range(counts.shape[1]):
        counts[st.TOTAL, i] += counts[st.FRESH, i]
        counts[st.FRESH, i] = 0
    depth = clock[st.DEPTH]
    for s in range(depth):
        stage[s, st.VISITS] += 1
        stage[s, st.ENTERED] += stage[s, st.ENTERING]
        stage[s, st.LOST] += stage[s, st.LOST_NOW]
        stage[s, st.FAR] += stage[s, st.FAR_NOW]
    if depth > 0:
        stage[depth - 1, st.EXPLOITED if clock[st.GROWS] < 0 else st.EXPLORED] += 1


@compiled
def play_block(state, X, means, best, draws, gamma, luck, regret, curve, arms):
    """Play the rounds of a block; returns how many were played.

    Fewer than all means that the state is full (clock[FULL] is 1) or that the next payoff is not
    finite (it is 0). The payoff of a play is mean + draw, or, with γ > 0, 1/γ if draw < γ·mean.
    """
    payoffs, clock = state.payoffs, state.clock
    plays = payoffs.size
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        choose(state, X[t], luck[t], means[t])
        arm = clock[st.ARM]
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
