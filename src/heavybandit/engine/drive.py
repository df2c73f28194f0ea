"""The loop: choose, pay, learn. One round at a time, or a whole block of rounds in one call.

There is a loop for each family of policies, so that a run compiles what it needs and no more: all
in one took a minute and a half, whichever policy was to play. Whoever plays round by round enters
the same loop for one part of a round (clock[PART]): kernels of their own for choosing and learning
would translate everything a second time.
"""

from __future__ import annotations

import math

from ..policy import LARGEST, TIE
from . import state as st
from ._compile import apart, compiled, inlined
from .decide import (
    begin,
    choose_by_bound,
    choose_by_dropping,
    choose_by_regression,
    choose_by_stages,
    width_factor,
)
from .huber import clipped_ucb_learn, heavy_oful_learn, hvt_ucb_learn
from .linear import add_context, combine, copy, lowest_near_best, solve, transpose
from .medians import columns_learn, mom_payoff
from .safe import safe_ridge_learn
from .thompson import draw_theta, rotate_in
from .tofu import tofu_learn
from .truncation import add_payoff, btc_learn

# Two parts of a round, as inlined functions. choose_…(state, X, u, truth) chooses an arm for the
# contexts X and leaves the choice pending; `u` is what the policy has drawn for the round, one
# number or, in Thompson sampling, d; `truth`, the true means, is only counted against the
# intervals; NaN where it is not known. learn_…(state, x, payoffs) puts the round into what the
# policy keeps, and goes on to the next.


@inlined
def choose_any(state, X, u, _truth):
    """Uniform play."""
    state.clock[st.ARM] = int(u * X.shape[0])


@inlined
def choose_stages(state, X, u, truth):
    """SupBMM and SupBTC: Algorithm 3."""
    begin(state, X.shape[0])
    state.clock[st.ARM] = choose_by_stages(state, X, u, truth)


@inlined
def choose_bound(state, X, _u, truth):
    """FlatBMM, FlatBTC and MENU."""
    begin(state, X.shape[0])
    state.clock[st.ARM] = choose_by_bound(state, X, truth)


@inlined
def choose_dropping(state, X, _u, truth):
    """TOFU."""
    begin(state, X.shape[0])
    state.clock[st.ARM] = choose_by_dropping(state, X, truth)


@inlined
def choose_ridge(state, X, _u, truth):
    """MoM, CRT, the controls and the later algorithms."""
    begin(state, X.shape[0])
    state.clock[st.ARM] = choose_by_regression(state, X, truth)


@inlined
def choose_drawn(state, X, u, _truth):
    """Thompson sampling: the largest xᵀθ̃."""
    n = X.shape[0]
    begin(state, n)
    theta = state.vector[st.THETA_NOW]
    draw_theta(state.posterior.factor, state.num[st.GAIN] * state.num[st.SCALE], u, theta)
    transpose(X, state.X_T, 0, n)
    combine(theta, state.X_T, n, state.line[st.R_HAT])
    state.clock[st.ARM] = lowest_near_best(state.line[st.R_HAT], n)


@inlined
def learn_nothing(state, _x, _payoffs):
    """Uniform play."""
    end(state.clock)


@compiled
def end(clock):
    """Close the round and go on to the next."""
    clock[st.ROUND] += 1
    clock[st.ARM] = -1


@inlined
def learn_stages(state, x, payoffs):
    """SupBMM and SupBTC; a round that was exploited teaches nothing."""
    book(state.counts, state.stage, state.clock)
    grows = state.clock[st.GROWS]
    if grows >= 0:
        if state.clock[st.KIND] in st.BMM:
            columns_learn(state, grows, x, payoffs)
        else:
            btc_learn(state, grows, x, payoffs[0])
    end(state.clock)


@inlined
def learn_bound(state, x, payoffs):
    """FlatBMM, FlatBTC and MENU."""
    book(state.counts, state.stage, state.clock)
    grows = state.clock[st.GROWS]
    if state.clock[st.KIND] in st.BTC:
        btc_learn(state, grows, x, payoffs[0])
    else:
        columns_learn(state, grows, x, payoffs)
    end(state.clock)


@inlined
def learn_dropping(state, x, payoffs):
    """TOFU."""
    book(state.counts, state.stage, state.clock)
    tofu_learn(state, x, payoffs[0])
    end(state.clock)


@inlined
def learn_ridge(state, x, payoffs):
    """MoM, CRT and the controls."""
    book(state.counts, state.stage, state.clock)
    ridge_learn(state, x, payoffs)
    end(state.clock)


@inlined
def learn_huber(state, x, payoffs):
    """The later algorithms."""
    book(state.counts, state.stage, state.clock)
    kind = state.clock[st.KIND]
    if kind == st.HEAVY_OFUL:
        heavy_oful_learn(state, x, payoffs[0])
    elif kind == st.HVT_UCB:
        beta = width_factor(state.num, kind, float(state.clock[st.ROUND]))
        hvt_ucb_learn(state, x, payoffs[0], beta)
    else:
        clipped_ucb_learn(state, x, payoffs[0])
    end(state.clock)


@inlined
def learn_drawn(state, x, payoffs):
    """Thompson sampling."""
    book(state.counts, state.stage, state.clock)
    row = state.posterior.row
    copy(x, row)
    row[x.size] = payoffs[0]
    rotate_in(state.posterior.factor, row)
    end(state.clock)


@inlined
def learn_safe(state, x, payoffs):
    """SafeRidge."""
    book(state.counts, state.stage, state.clock)
    safe_ridge_learn(state, x, payoffs[0])
    end(state.clock)


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
        if abs(payoff) > eta * state.num[st.THRESHOLD] * (1.0 + TIE):
            payoff = 0.0
            state.counts[st.TOTAL, st.TRUNCATED] += 1
    grown = add_context(state.A_inv[0], x, state.vector[st.SOLVED])
    if kind == st.MOM or kind == st.CRT:  # only their widths need it
        state.num[st.LOG_DET] += math.log1p(grown)
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
def pay(payoffs, mean, draws, first, form):
    """Payoffs from a mean and the draws from the `first` on, as `noise.Form` says.

    Whether all are finite and not too large.
    """
    spread = form.base + form.growth * abs(mean) + form.tilt * mean
    for j in range(payoffs.size):
        draw = draws[first + j]
        if form.gamma > 0.0:
            won = draw < form.gamma * (mean + form.lift)
            paid = (1.0 / form.gamma if won else 0.0) - form.lift
        else:
            paid = mean + spread * draw
        payoffs[j] = form.factor * paid + form.offset
        if not abs(payoffs[j]) <= LARGEST:
            return False
    return True


# Each of these plays the rounds of a block and returns how many were played. Fewer than all means
# that the state is full (clock[FULL] is 1) or that the next payoff is not finite or too large (it
# is 0). `truth` is what payoffs are on average, against which intervals are held; `stages` is
# filled with the stage in which each round chose its arm, 0 for policies without. If clock[PART] is
# CHOOSE, they stop once the first round's arm is chosen; if it is LEARN, an arm has been chosen and
# state.payoffs are there: nothing is drawn, paid or recorded. They are the same but for what they
# call: a kernel that is handed another one is compiled in every process anew.


@apart
def play_any(state, X, means, truth, best, draws, form, u, regret, curve, arms, stages):
    payoffs, clock = state.payoffs, state.clock
    plays, part = payoffs.size, clock[st.PART]
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        if part != st.LEARN:
            choose_any(state, X[t], u[t], truth[t])
        arm = clock[st.ARM]
        if part == st.CHOOSE:
            return t
        if part == st.PLAY and not pay(payoffs, means[t, arm], draws, t * plays, form):
            return t
        learn_nothing(state, X[t, arm], payoffs)
        if part == st.PLAY:
            regret += plays * (best[t] - means[t, arm])
            curve[t] = regret
            arms[t] = arm
            stages[t] = clock[st.DEPTH]
    return X.shape[0]


@apart
def play_stages(state, X, means, truth, best, draws, form, u, regret, curve, arms, stages):
    payoffs, clock = state.payoffs, state.clock
    plays, part = payoffs.size, clock[st.PART]
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        if part != st.LEARN:
            choose_stages(state, X[t], u[t], truth[t])
        arm = clock[st.ARM]
        if part == st.CHOOSE:
            return t
        if part == st.PLAY and not pay(payoffs, means[t, arm], draws, t * plays, form):
            return t
        learn_stages(state, X[t, arm], payoffs)
        if part == st.PLAY:
            regret += plays * (best[t] - means[t, arm])
            curve[t] = regret
            arms[t] = arm
            stages[t] = clock[st.DEPTH]
    return X.shape[0]


@apart
def play_bound(state, X, means, truth, best, draws, form, u, regret, curve, arms, stages):
    payoffs, clock = state.payoffs, state.clock
    plays, part = payoffs.size, clock[st.PART]
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        if part != st.LEARN:
            choose_bound(state, X[t], u[t], truth[t])
        arm = clock[st.ARM]
        if part == st.CHOOSE:
            return t
        if part == st.PLAY and not pay(payoffs, means[t, arm], draws, t * plays, form):
            return t
        learn_bound(state, X[t, arm], payoffs)
        if part == st.PLAY:
            regret += plays * (best[t] - means[t, arm])
            curve[t] = regret
            arms[t] = arm
            stages[t] = clock[st.DEPTH]
    return X.shape[0]


@apart
def play_dropping(state, X, means, truth, best, draws, form, u, regret, curve, arms, stages):
    payoffs, clock = state.payoffs, state.clock
    plays, part = payoffs.size, clock[st.PART]
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        if part != st.LEARN:
            choose_dropping(state, X[t], u[t], truth[t])
        arm = clock[st.ARM]
        if part == st.CHOOSE:
            return t
        if part == st.PLAY and not pay(payoffs, means[t, arm], draws, t * plays, form):
            return t
        learn_dropping(state, X[t, arm], payoffs)
        if part == st.PLAY:
            regret += plays * (best[t] - means[t, arm])
            curve[t] = regret
            arms[t] = arm
            stages[t] = clock[st.DEPTH]
    return X.shape[0]


@apart
def play_ridge(state, X, means, truth, best, draws, form, u, regret, curve, arms, stages):
    payoffs, clock = state.payoffs, state.clock
    plays, part = payoffs.size, clock[st.PART]
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        if part != st.LEARN:
            choose_ridge(state, X[t], u[t], truth[t])
        arm = clock[st.ARM]
        if part == st.CHOOSE:
            return t
        if part == st.PLAY and not pay(payoffs, means[t, arm], draws, t * plays, form):
            return t
        learn_ridge(state, X[t, arm], payoffs)
        if part == st.PLAY:
            regret += plays * (best[t] - means[t, arm])
            curve[t] = regret
            arms[t] = arm
            stages[t] = clock[st.DEPTH]
    return X.shape[0]


@apart
def play_huber(state, X, means, truth, best, draws, form, u, regret, curve, arms, stages):
    payoffs, clock = state.payoffs, state.clock
    plays, part = payoffs.size, clock[st.PART]
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        if part != st.LEARN:
            choose_ridge(state, X[t], u[t], truth[t])
        arm = clock[st.ARM]
        if part == st.CHOOSE:
            return t
        if part == st.PLAY and not pay(payoffs, means[t, arm], draws, t * plays, form):
            return t
        learn_huber(state, X[t, arm], payoffs)
        if part == st.PLAY:
            regret += plays * (best[t] - means[t, arm])
            curve[t] = regret
            arms[t] = arm
            stages[t] = clock[st.DEPTH]
    return X.shape[0]


@apart
def play_drawn(state, X, means, truth, best, draws, form, u, regret, curve, arms, stages):
    payoffs, clock = state.payoffs, state.clock
    plays, part = payoffs.size, clock[st.PART]
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        if part != st.LEARN:
            choose_drawn(state, X[t], u[t], truth[t])
        arm = clock[st.ARM]
        if part == st.CHOOSE:
            return t
        if part == st.PLAY and not pay(payoffs, means[t, arm], draws, t * plays, form):
            return t
        learn_drawn(state, X[t, arm], payoffs)
        if part == st.PLAY:
            regret += plays * (best[t] - means[t, arm])
            curve[t] = regret
            arms[t] = arm
            stages[t] = clock[st.DEPTH]
    return X.shape[0]


@apart
def play_safe(state, X, means, truth, best, draws, form, u, regret, curve, arms, stages):
    payoffs, clock = state.payoffs, state.clock
    plays, part = payoffs.size, clock[st.PART]
    for t in range(X.shape[0]):
        if clock[st.FULL] == 1:
            return t
        if part != st.LEARN:
            choose_ridge(state, X[t], u[t], truth[t])
        arm = clock[st.ARM]
        if part == st.CHOOSE:
            return t
        if part == st.PLAY and not pay(payoffs, means[t, arm], draws, t * plays, form):
            return t
        learn_safe(state, X[t, arm], payoffs)
        if part == st.PLAY:
            regret += plays * (best[t] - means[t, arm])
            curve[t] = regret
            arms[t] = arm
            stages[t] = clock[st.DEPTH]
    return X.shape[0]


FAMILIES = {
    st.UNIFORM: play_any,
    **dict.fromkeys(st.MASTERS, play_stages),
    **dict.fromkeys((st.FLAT_BMM, st.FLAT_BTC, st.MENU), play_bound),
    st.TOFU: play_dropping,
    **dict.fromkeys((st.MOM, st.CRT, st.GREEDY, st.BLIND, st.LINUCB), play_ridge),
    **dict.fromkeys((*st.HUBER, st.CLIPPED_UCB), play_huber),
    st.THOMPSON: play_drawn,
    st.SAFE_RIDGE: play_safe,
}
"""The loop of each kind of policy."""
