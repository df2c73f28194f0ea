"""Every closed form of the paper: widths, plays, the bounds of its statements, the baselines.

Formulas are as printed, constants included; a function stands for a right-hand side and does not
ask whether the statement holds. Statements are numbered as the compiled paper numbers them: Lemma
1 is the tail bound and Lemma 8 the change of measure of the lower bound. Arguments are in words
and formulas in the paper's symbols:

    horizon T    n_arms K    dim d    v, delta δ, eps ε    t the 1-based round    L = ln(2KT ln T/δ)

`t` and `horizon` may be NumPy arrays where their type says Number.

Provenance of the baselines. MENU's and TOFU's constants are those of Shao et al. 2018 (NeurIPS).
MoM's and CRT's were taken from a public implementation descended from the authors' own (the code
of arXiv 2110.13876, whose algorithm files say that they come from arXiv 2004.13465 with permission
and were modified); the text of Medina & Yang 2016 was not at hand, and CRT's √(2v² ln t)
term could not be confirmed. LinUCB's α is from memory of Chu et al. 2011; the present paper only
states its order, O(√ln(TK)).
"""

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

Number = TypeVar("Number", float, NDArray[np.float64])

LEMMA2 = 0.25  # the probability on the right of Lemma 2
TRIVIAL = 2.0  # the most one play can cost: two means, each in [−1, 1]


# What is allowed at the door


def require_eps(eps: float) -> None:
    """Refuse an ε outside (0, 1], the range of the paper's moment conditions."""
    if not 0 < eps <= 1:
        raise ValueError(f"eps is {eps}, but must be in (0, 1]")


def require_delta(delta: float) -> None:
    """Refuse a δ that is not a probability strictly between 0 and 1."""
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}, but must be in (0, 1)")


def require_positive(name: str, value: Number) -> None:
    """Refuse a number, or an array with a number, that is not positive and finite."""
    if not np.all((value > 0) & (value < math.inf)):
        raise ValueError(f"{name} is {value}, but must be positive and finite")


def require_at_least(name: str, value: Number, least: float) -> None:
    """Refuse a number, or an array with a number, that is below `least` or not finite."""
    if not np.all((value >= least) & (value < math.inf)):
        raise ValueError(f"{name} is {value}, but must be at least {least} and finite")


def require_horizon(horizon: Number) -> None:
    """Refuse a horizon under 3, where ln T < 1 and the paper's logarithms lose their sense."""
    require_at_least("horizon", horizon, 3)


# Propositions 1 and 2: how often to play, how wide to be


def growth(t: Number, eps: float) -> Number:
    """How widths grow with the round when the variance is infinite (Propositions 1 and 2).

    t^{(1−ε)/(2(1+ε))}
    """
    require_at_least("t", t, 1)
    require_eps(eps)
    factor: Number = t ** ((1 - eps) / (2 * (1 + eps)))
    return factor


def log_term(horizon: Number, n_arms: int, delta: float) -> Number:
    """The logarithm L of Propositions 1 and 2 and of Theorems 1 and 2.

    L = ln(2KT ln T / δ)
    """
    require_horizon(horizon)
    require_at_least("n_arms", n_arms, 1)
    require_delta(delta)
    L: Number = np.log(2 * n_arms * horizon * np.log(horizon) / delta)
    return L


def plays_per_round(horizon: float, n_arms: int, delta: float) -> int:
    """How often SupBMM plays the arm it chose (Proposition 1).

    r = ⌈8 L⌉
    """
    return math.ceil(8 * log_term(horizon, n_arms, delta))


def alpha_bmm(t: Number, v: float, eps: float) -> Number:
    """BMM's confidence factor at round t (Proposition 1); v bounds the central moment.

    α_t = (12v)^{1/(1+ε)} t^{(1−ε)/(2(1+ε))}
    """
    require_positive("v", v)
    g = growth(t, eps)  # first, because it also checks eps
    alpha: Number = (12 * v) ** (1 / (1 + eps)) * g
    return alpha


def alpha_btc(t: Number, horizon: float, n_arms: int, v: float, delta: float, eps: float) -> Number:
    """BTC's confidence factor at round t (Proposition 2); v bounds the raw moment.

    α_t = (⅔L + √(2Lv) + v) t^{(1−ε)/(2(1+ε))}
    """
    require_positive("v", v)
    L = log_term(horizon, n_arms, delta)
    return (2 / 3 * L + math.sqrt(2 * L * v) + v) * growth(t, eps)


# Theorems 1 to 3


def theorem1(horizon: Number, dim: int, n_arms: int, v: float, delta: float, eps: float) -> Number:
    """SupBMM's regret over T plays, with probability 1 − δ at most this (Theorem 1).

    120 (1 + (12v)^{1/(1+ε)}) ln T √(2dL) T^{1/(1+ε)} + 5 √(2TL)
    """
    require_at_least("dim", dim, 1)
    require_positive("v", v)
    require_eps(eps)
    L = log_term(horizon, n_arms, delta)
    T = horizon
    bound: Number = 120 * (1 + (12 * v) ** (1 / (1 + eps))) * np.log(T) * np.sqrt(
        2 * dim * L
    ) * T ** (1 / (1 + eps)) + 5 * np.sqrt(2 * T * L)
    return bound


def theorem2(horizon: Number, dim: int, n_arms: int, v: float, delta: float, eps: float) -> Number:
    """SupBTC's regret over T plays, with probability 1 − δ at most this (Theorem 2).

    2√T + 40 ln T √(dT) + 40 (⅔L + √(2Lv) + v) ln T √d T^{1/(1+ε)}
    """
    require_at_least("dim", dim, 1)
    require_positive("v", v)
    require_eps(eps)
    L = log_term(horizon, n_arms, delta)
    T, d = horizon, dim
    bound: Number = (
        2 * np.sqrt(T)
        + 40 * np.log(T) * np.sqrt(d * T)
        + 40 * (2 / 3 * L + np.sqrt(2 * L * v) + v) * np.log(T) * np.sqrt(d) * T ** (1 / (1 + eps))
    )
    return bound


def theorem3(horizon: Number, dim: int, eps: float) -> Number:
    """For any algorithm there is an instance that costs it this in expectation (Theorem 3).

    (1/32) (d−1)^{ε/(1+ε)} T^{1/(1+ε)}
    """
    require_horizon(horizon)
    require_at_least("dim", dim, 1)
    require_eps(eps)
    bound: Number = 1 / 32 * (dim - 1) ** (eps / (1 + eps)) * horizon ** (1 / (1 + eps))
    return bound


def theorem3_gamma(horizon: Number, n_arms: int, eps: float) -> Number:
    """The γ of the payoffs {0, 1/γ} that make the instance hard (Theorem 3, Lemma 7).

    γ = (K/(T+2K))^{1/(1+ε)}
    """
    require_horizon(horizon)
    require_at_least("n_arms", n_arms, 1)
    require_eps(eps)
    gamma: Number = (n_arms / (horizon + 2 * n_arms)) ** (1 / (1 + eps))
    return gamma


def theorem3_applies(horizon: float, dim: int, n_arms: int, eps: float) -> bool:
    """Whether the conditions printed in the lower bound are met (Theorem 3).

    T ≥ K ≥ 4,  T ≥ (2d)^{(1+ε)/(2ε)},  d ≥ K

    T ≥ K says nothing beside the others: (2d)^{(1+ε)/(2ε)} ≥ 2d ≥ 2K.
    """
    require_horizon(horizon)
    require_at_least("dim", dim, 1)
    require_at_least("n_arms", n_arms, 1)
    require_eps(eps)
    # In logarithms, because the power overflows as ε falls to 0.
    long_enough = math.log(horizon) >= (1 + eps) / (2 * eps) * math.log(2 * dim)
    return bool(horizon >= n_arms >= 4 and long_enough and dim >= n_arms)


def theorem3_repaired(dim: int, n_arms: int, eps: float) -> float:
    """From this T on Theorem 3's bound is proved, if γ is chosen anew (no statement of the paper).

    max(2d, (d−1)((d−1)/K)^{(1+ε)/(2ε)}), for d ≥ K+1 and K ≥ 4; notebook 05 has the proof.
    """
    require_eps(eps)
    require_at_least("n_arms", n_arms, 4)
    require_at_least("dim", dim, n_arms + 1)
    # In logarithms, because the power overflows as ε falls to 0.
    log_needed = math.log(dim - 1) + (1 + eps) / (2 * eps) * math.log((dim - 1) / n_arms)
    return max(2.0 * dim, math.exp(log_needed) if log_needed < 700 else math.inf)


# The lemmas


def lemma1(beta: ArrayLike, v: float, eps: float, chi: float) -> float:
    """The probability that |Σ β_i X_i| exceeds χ is at most this (Lemma 1).

    2 Σ|β_i|^{1+ε} v/χ^{1+ε} + (Σ|β_i|^{1+ε} v/χ^{1+ε})²
    """
    require_positive("v", v)
    require_positive("chi", chi)
    require_eps(eps)
    ratio = float(np.sum(np.abs(beta) ** (1 + eps)) * v / chi ** (1 + eps))
    return 2 * ratio + ratio**2


def lemma2_threshold(t: Number, v: float, eps: float, c: float) -> Number:
    """The noise moves one of BMM's estimates by more with probability LEMMA2 at most (Lemma 2).

    (12v)^{1/(1+ε)} t^{(1−ε)/(2(1+ε))} c
    """
    require_positive("c", c)
    return alpha_bmm(t, v, eps) * c


def lemma3(dim: int, n: Number) -> Number:
    """The sum of c over the n rounds of a stage is at most this, for n ≥ 2 (Lemma 3).

    5 √(d n ln n)
    """
    require_at_least("dim", dim, 1)
    require_at_least("n", n, 0)
    bound: Number = 5 * np.sqrt(dim * xlogy(n, n))  # n ln n is 0 at n = 0
    return bound


def lemma6(stage: int, alpha: float, dim: int, n: Number) -> Number:
    """A stage s that holds n rounds satisfies n ≤ this (Lemma 6).

    5·2^s (1+α) √(d n ln n)

    As printed it has no condition on n, and at n = 1 it reads 1 ≤ 0.
    """
    require_at_least("stage", stage, 1)
    require_at_least("alpha", alpha, 0)
    bound: Number = 2.0**stage * (1 + alpha) * lemma3(dim, n)
    return bound


def lemma7(horizon: Number, n_arms: int, eps: float) -> Number:
    """A K-armed bandit without contexts costs at least this in expectation (Lemma 7).

    (1/8) T^{1/(1+ε)} K^{ε/(1+ε)}
    """
    require_horizon(horizon)
    require_at_least("n_arms", n_arms, 1)
    require_eps(eps)
    bound: Number = 1 / 8 * horizon ** (1 / (1 + eps)) * n_arms ** (eps / (1 + eps))
    return bound


def lemma7_with_gamma(horizon: Number, n_arms: int, eps: float, gamma: float) -> Number:
    """What Lemma 7's proof shows for any γ, before it chooses one (Lemma 7).

    Tγ^ε (1 − 1/K − (√ln 2/2) √((T/K) γ^{1+ε}/(1−2γ^{1+ε})))
    """
    require_at_least("horizon", horizon, 1)
    require_at_least("n_arms", n_arms, 1)
    require_eps(eps)
    p = _two_point(gamma, eps)
    learnt = math.sqrt(math.log(2)) / 2 * np.sqrt(horizon / n_arms * p / (1 - 2 * p))
    bound: Number = horizon * gamma**eps * (1 - 1 / n_arms - learnt)
    return bound


def _two_point(gamma: float, eps: float) -> float:
    """γ^{1+ε}, the probability with which an arm that is not the good one pays."""
    require_positive("gamma", gamma)
    p: float = gamma ** (1 + eps)
    if not 2 * p < 1:
        raise ValueError(f"gamma is {gamma}, but must satisfy 2 gamma^(1+eps) < 1")
    return p


def lemma8(unif_mean: float, bound: float, unif_count: float, gamma: float, eps: float) -> float:
    """E_a f, for 0 ≤ f ≤ M, is at most this once arm a is made the good one (Lemma 8).

    E_unif f + (M/2) √(ln 2 · E_unif[N_a] γ^{1+ε}/(1−2γ^{1+ε})),  M = bound
    """
    require_positive("bound", bound)
    require_at_least("unif_count", unif_count, 0)
    require_eps(eps)
    p = _two_point(gamma, eps)
    return unif_mean + bound / 2 * math.sqrt(math.log(2) * unif_count * p / (1 - 2 * p))


# The baselines of Section 6 (provenance: the module's docstring); log_det is ln det A


def mom_schedule(horizon: float, eps: float) -> tuple[int, int]:
    """MoM's rounds and plays a round (Section 6's baseline).

    m = ⌊T^{2ε/(1+3ε)}⌋,  r = ⌊T/m⌋
    """
    require_horizon(horizon)
    require_eps(eps)
    rounds = math.floor(horizon ** (2 * eps / (1 + 3 * eps)) * (1 + 1e-12))  # 1000^{1/3} is 10
    return rounds, math.floor(horizon / rounds)


def mom_groups(plays: int, delta: float) -> tuple[int, int]:
    """How many groups MoM cuts its r payoffs into, and their size (Section 6's baseline).

    k = min(⌊8 ln(2/δ)⌋, r),  n = ⌊r/k⌋
    """
    require_at_least("plays", plays, 1)
    require_delta(delta)
    k = min(math.floor(8 * math.log(2 / delta)), plays)
    return k, plays // k


def mom_beta(
    t: float, rounds: int, plays: int, log_det: float, v: float, delta: float, eps: float
) -> float:
    """MoM's confidence factor at round t (Section 6's baseline); v bounds the central moment.

    β = (12v)^{1/(1+ε)} (8 ln(2m/δ)/r)^{ε/(1+ε)} [√(2 ln(m√det A)) + √t] + 1
    """
    require_at_least("t", t, 1)
    require_at_least("rounds", rounds, 1)
    require_at_least("plays", plays, 1)
    require_at_least("log_det", log_det, 0)
    require_positive("v", v)
    require_delta(delta)
    require_eps(eps)
    m, r = rounds, plays
    miss: float = (12 * v) ** (1 / (1 + eps)) * (8 * math.log(2 * m / delta) / r) ** (
        eps / (1 + eps)
    )
    return miss * (math.sqrt(2 * (math.log(m) + log_det / 2)) + math.sqrt(t)) + 1


def crt_threshold(t: Number, eps: float) -> Number:
    """CRT sets a payoff whose size is above this to 0 (Section 6's baseline; η_t of Section 2).

    η_t = t^{1/(2(1+ε))}
    """
    require_at_least("t", t, 1)
    require_eps(eps)
    eta: Number = t ** (1 / (2 * (1 + eps)))
    return eta


def crt_beta(t: float, log_det: float, v: float, delta: float, eps: float) -> float:
    """CRT's confidence factor at round t (Section 6's baseline); v bounds the raw moment.

    β = 2√(2 t^{1/(1+ε)} ln(√det A/δ)) + √(2v² ln t) + 1
    """
    require_at_least("t", t, 1)
    require_at_least("log_det", log_det, 0)
    require_positive("v", v)
    require_delta(delta)
    require_eps(eps)
    spread = 2 * math.sqrt(2 * t ** (1 / (1 + eps)) * (log_det / 2 - math.log(delta)))
    return spread + math.sqrt(2 * v**2 * math.log(t)) + 1


def menu_plays(horizon: float, delta: float) -> int:
    """How often MENU plays the arm it chose (Section 6's baseline).

    k = ⌈24 ln(eT/δ)⌉
    """
    require_horizon(horizon)
    require_delta(delta)
    return math.ceil(24 * math.log(math.e * horizon / delta))


def menu_beta(t: Number, dim: int, v: float, eps: float) -> Number:
    """MENU's confidence factor at round t (Section 6's baseline); v bounds the central moment.

    β = 3[(9dv)^{1/(1+ε)} t^{(1−ε)/(2(1+ε))} + 1]
    """
    require_at_least("dim", dim, 1)
    require_positive("v", v)
    g = growth(t, eps)
    beta: Number = 3 * ((9 * dim * v) ** (1 / (1 + eps)) * g + 1)
    return beta


def tofu_threshold(t: Number, horizon: float, v: float, delta: float, eps: float) -> Number:
    """TOFU drops a term whose size is above this (Section 6's baseline; b_t of Section 2).

    b_t = (v/ln(2T/δ))^{1/(1+ε)} t^{(1−ε)/(2(1+ε))}
    """
    require_horizon(horizon)
    require_positive("v", v)
    require_delta(delta)
    g = growth(t, eps)
    b: Number = (v / math.log(2 * horizon / delta)) ** (1 / (1 + eps)) * g
    return b


def tofu_beta(t: Number, horizon: float, dim: int, v: float, delta: float, eps: float) -> Number:
    """TOFU's confidence factor at round t (Section 6's baseline); v bounds the raw moment.

    β = 4√d v^{1/(1+ε)} (ln(2dT/δ))^{ε/(1+ε)} t^{(1−ε)/(2(1+ε))} + 1
    """
    require_horizon(horizon)
    require_at_least("dim", dim, 1)
    require_positive("v", v)
    require_delta(delta)
    g = growth(t, eps)
    L = math.log(2 * dim * horizon / delta)
    beta: Number = 4 * math.sqrt(dim) * v ** (1 / (1 + eps)) * L ** (eps / (1 + eps)) * g + 1
    return beta


def linucb_alpha(horizon: Number, n_arms: int, delta: float) -> Number:
    """The confidence factor of LinUCB for payoffs in [0, 1] (a control; Section 2's O(√ln(TK))).

    α = √(½ ln(2TK/δ))
    """
    require_at_least("horizon", horizon, 1)
    require_at_least("n_arms", n_arms, 1)
    require_delta(delta)
    alpha: Number = np.sqrt(0.5 * np.log(2 * horizon * n_arms / delta))
    return alpha


# When a bound begins to say something


def horizon_of_use(
    bound: Callable[[float], float],
    regret_per_play: float,
    start: float = 3.0,
    stop: float = 1e300,
) -> float:
    """The horizon T* from which on bound(T) < ρT, where ρ is the regret a play (no statement).

    `start` if the bound is below ρT throughout, infinity if it is not below at the largest T
    looked at. With ρ = TRIVIAL this is the horizon from which a bound beats knowing nothing.
    """
    require_positive("regret_per_play", regret_per_play)
    require_positive("start", start)
    require_at_least("stop", stop, start)

    def useless(T: float) -> bool:
        return not bound(T) < regret_per_play * T

    # bound(T)/T can rise before it falls, so the last crossing is looked for from above. Steps of
    # a tenth in ln T miss no hump of a power times logarithms, whose width is 1 or more.
    steps = 2 + math.ceil(10 * math.log(stop / start))
    grid: list[float] = np.geomspace(start, stop, steps).tolist()
    with np.errstate(over="ignore"):
        while len(grid) > 1 and not math.isfinite(bound(grid[-1])):
            grid.pop()  # overflow near the largest float says nothing about the bound
        high = grid.pop()
        if useless(high):
            return math.inf
        while grid and not useless(grid[-1]):
            high = grid.pop()
        if not grid:
            return start
        low = grid[-1]
        while low < (middle := low * math.sqrt(high / low)) < high:
            low, high = (middle, high) if useless(middle) else (low, middle)
    return high
