"""Every closed form of the paper and of later algorithms: widths, plays, bounds, baselines.

Formulas are as printed, constants included; a function stands for a right-hand side and does not
ask whether the statement holds. Statements are numbered as the compiled paper numbers them: Lemma
1 is the tail bound and Lemma 8 the change of measure of the lower bound. Arguments are in words
and formulas in the paper's symbols:

    horizon T    n_arms K    dim d    v, delta δ, eps ε    t the 1-based round    L = ln(2KT ln T/δ)

`t` and `horizon` may be NumPy arrays where their type says Number. `checked` refuses arguments that
are not what their names ask for.

Where the baselines' constants come from, and what could not be confirmed, stands at the head of
`paper`. LinUCB's α is from memory of Chu et al. 2011; the present paper only states its order,
O(√ln(TK)).
"""

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from . import checks
from .checks import checked

Number = TypeVar("Number", float, NDArray[np.float64])

LEMMA2 = 0.25  # the probability on the right of Lemma 2
TRIVIAL = 2.0  # the most one play can cost: two means, each in [−1, 1]


# Propositions 1 and 2: how often to play, how wide to be


@checked()
def growth_exponent(eps: float) -> float:
    """e = (1−ε)/(2(1+ε)), the power of t with which widths grow; 0 when the variance is finite."""
    return (1 - eps) / (2 * (1 + eps))


@checked()
def growth(t: Number, eps: float) -> Number:
    """How widths grow if the variance is infinite (Propositions 1 and 2): t^{(1−ε)/(2(1+ε))}."""
    return t ** growth_exponent(eps)


@checked()
def log_term(horizon: Number, n_arms: int, delta: float) -> Number:
    """The logarithm L of Propositions 1 and 2 and of Theorems 1 and 2: L = ln(2KT ln T / δ)."""
    T = 1.0 * horizon  # 2KT of whole numbers may exceed 64 bits
    return np.log(2 * n_arms * T * np.log(T) / delta)


@checked()
def plays_per_round(horizon: float, n_arms: int, delta: float) -> int:
    """How often SupBMM plays the arm it chose (Proposition 1): r = ⌈8 L⌉."""
    return math.ceil(8 * log_term(horizon, n_arms, delta))


@checked()
def alpha_bmm(t: Number, v: float, eps: float) -> Number:
    """BMM's confidence factor at round t (Proposition 1); v bounds the central moment.

    α_t = (12v)^{1/(1+ε)} t^{(1−ε)/(2(1+ε))}
    """
    return (12 * v) ** (1 / (1 + eps)) * growth(t, eps)


@checked()
def alpha_btc(t: Number, horizon: float, n_arms: int, v: float, delta: float, eps: float) -> Number:
    """BTC's confidence factor at round t (Proposition 2); v bounds the raw moment.

    α_t = (⅔L + √(2Lv) + v) t^{(1−ε)/(2(1+ε))}
    """
    L = log_term(horizon, n_arms, delta)
    return (2 / 3 * L + math.sqrt(2 * L * v) + v) * growth(t, eps)


# Theorems 1 to 3


@checked()
def theorem1(horizon: Number, dim: int, n_arms: int, v: float, delta: float, eps: float) -> Number:
    """SupBMM's regret over T plays, with probability 1 − δ at most this (Theorem 1).

    120 (1 + (12v)^{1/(1+ε)}) ln T √(2dL) T^{1/(1+ε)} + 5 √(2TL)
    """
    T, L = 1.0 * horizon, log_term(horizon, n_arms, delta)
    factor = 120 * (1 + (12 * v) ** (1 / (1 + eps)))
    return factor * np.log(T) * np.sqrt(2 * dim * L) * T ** (1 / (1 + eps)) + 5 * np.sqrt(2 * T * L)


@checked()
def theorem2(horizon: Number, dim: int, n_arms: int, v: float, delta: float, eps: float) -> Number:
    """SupBTC's regret over T plays, with probability 1 − δ at most this (Theorem 2).

    2√T + 40 ln T √(dT) + 40 (⅔L + √(2Lv) + v) ln T √d T^{1/(1+ε)}
    """
    T, d, L = 1.0 * horizon, dim, log_term(horizon, n_arms, delta)
    return (
        2 * np.sqrt(T)
        + 40 * np.log(T) * np.sqrt(d * T)
        + 40 * (2 / 3 * L + np.sqrt(2 * L * v) + v) * np.log(T) * np.sqrt(d) * T ** (1 / (1 + eps))
    )


@checked()
def theorem3(horizon: Number, dim: int, eps: float) -> Number:
    """For any algorithm there is an instance that costs it this in expectation (Theorem 3).

    (1/32) (d−1)^{ε/(1+ε)} T^{1/(1+ε)}
    """
    return 1 / 32 * (dim - 1) ** (eps / (1 + eps)) * horizon ** (1 / (1 + eps))


@checked()
def theorem3_gamma(horizon: Number, n_arms: int, eps: float) -> Number:
    """The γ of the payoffs {0, 1/γ} that make the instance hard (Theorem 3, Lemma 7).

    γ = (K/(T+2K))^{1/(1+ε)}
    """
    return (n_arms / (horizon + 2 * n_arms)) ** (1 / (1 + eps))


@checked()
def theorem3_applies(horizon: float, dim: int, n_arms: int, eps: float) -> bool:
    """Whether the conditions printed in the lower bound are met (Theorem 3).

    T ≥ K ≥ 4,  T ≥ (2d)^{(1+ε)/(2ε)},  d ≥ K

    T ≥ K says nothing beside the others: (2d)^{(1+ε)/(2ε)} ≥ 2d ≥ 2K.
    """
    # In logarithms, because the power overflows as ε falls to 0.
    long_enough = math.log(horizon) >= (1 + eps) / (2 * eps) * math.log(2 * dim)
    return bool(horizon >= n_arms >= 4 and long_enough and dim >= n_arms)


@checked(n_arms=4)
def theorem3_repaired(dim: int, n_arms: int, eps: float) -> float:
    """From this T on Theorem 3's bound is proved, if γ is chosen anew (no statement of the paper).

    max(2d, 0.38^{(1+ε)/ε} (d−1)((d−1)/K)^{(1+ε)/(2ε)}), for d ≥ K+1 and K ≥ 4; notebook 05 has the
    proof, as Theorem 3′.
    """
    checks.at_least("dim", dim, n_arms + 1)
    # In logarithms, because the power overflows as ε falls to 0.
    root = math.log(0.38) + math.log((dim - 1) / n_arms) / 2
    log_needed = math.log(dim - 1) + (1 + eps) / eps * root
    return max(2.0 * dim, math.exp(log_needed) if log_needed < 700 else math.inf)


# The lemmas


@checked()
def lemma1(beta: ArrayLike, v: float, eps: float, chi: float) -> float:
    """The probability that |Σ β_i X_i| exceeds χ is at most this (Lemma 1).

    2 Σ|β_i|^{1+ε} v/χ^{1+ε} + (Σ|β_i|^{1+ε} v/χ^{1+ε})²
    """
    ratio = float(np.sum(np.abs(beta) ** (1 + eps)) * v / chi ** (1 + eps))
    return 2 * ratio + ratio**2


@checked()
def lemma2_threshold(t: Number, v: float, eps: float, c: float) -> Number:
    """The noise moves one of BMM's estimates by more with probability LEMMA2 at most (Lemma 2).

    (12v)^{1/(1+ε)} t^{(1−ε)/(2(1+ε))} c
    """
    return alpha_bmm(t, v, eps) * c


@checked()
def lemma3(dim: int, n: Number) -> Number:
    """The sum of c over the n ≥ 2 rounds of a stage is at most 5 √(d n ln n) (Lemma 3)."""
    return 5 * np.sqrt(dim * scipy.special.xlogy(n, n))  # n ln n is 0 at n = 0


@checked()
def lemma6(stage: int, alpha: float, dim: int, n: Number) -> Number:
    """A stage s that holds n rounds satisfies n ≤ this (Lemma 6).

    5·2^s (1+α) √(d n ln n)

    As printed it has no condition on n, and at n = 1 it reads 1 ≤ 0.
    """
    return 2.0**stage * (1 + alpha) * lemma3(dim, n)


@checked()
def lemma7(horizon: Number, n_arms: int, eps: float) -> Number:
    """K arms without contexts cost at least ⅛ T^{1/(1+ε)} K^{ε/(1+ε)} in expectation (Lemma 7)."""
    return 1 / 8 * horizon ** (1 / (1 + eps)) * n_arms ** (eps / (1 + eps))


@checked(horizon=1)
def lemma7_with_gamma(horizon: Number, n_arms: int, eps: float, gamma: float) -> Number:
    """What Lemma 7's proof shows for any γ, before it chooses one (Lemma 7).

    Tγ^ε (1 − 1/K − (√ln 2/2) √((T/K) γ^{1+ε}/(1−2γ^{1+ε})))
    """
    p = _two_point(gamma, eps)
    learnt = math.sqrt(math.log(2)) / 2 * np.sqrt(horizon / n_arms * p / (1 - 2 * p))
    return horizon * gamma**eps * (1 - 1 / n_arms - learnt)


def _two_point(gamma: float, eps: float) -> float:
    """γ^{1+ε}, the probability with which an arm that is not the good one pays."""
    p: float = gamma ** (1 + eps)
    if not 2 * p < 1:
        raise ValueError(f"gamma must be such that 2 gamma^(1+eps) < 1, got {gamma}")
    return p


@checked()
def lemma8(unif_mean: float, bound: float, unif_count: float, gamma: float, eps: float) -> float:
    """E_a f, for 0 ≤ f ≤ M, is at most this once arm a is made the good one (Lemma 8).

    E_unif f + (M/2) √(ln 2 · E_unif[N_a] γ^{1+ε}/(1−2γ^{1+ε})),  M = bound
    """
    checks.positive("bound", bound)
    p = _two_point(gamma, eps)
    return unif_mean + bound / 2 * math.sqrt(math.log(2) * unif_count * p / (1 - 2 * p))


# The baselines of Section 6; log_det is ln det A


@checked()
def mom_schedule(horizon: float, eps: float) -> tuple[int, int]:
    """MoM's rounds and plays per round (Section 6's baseline): m = ⌊T^{2ε/(1+3ε)}⌋,  r = ⌊T/m⌋."""
    rounds = math.floor(horizon ** (2 * eps / (1 + 3 * eps)) * (1 + 1e-12))  # 1000^{1/3} is 10
    return rounds, math.floor(horizon / rounds)


@checked()
def mom_groups(plays: int, delta: float) -> tuple[int, int]:
    """How many groups MoM cuts its r payoffs into, and their size (Section 6's baseline).

    k = min(⌊8 ln(2/δ)⌋, r),  n = ⌊r/k⌋
    """
    k = min(math.floor(8 * math.log(2 / delta)), plays)
    return k, plays // k


@checked()
def mom_deviation(rounds: int, plays: int, v: float, delta: float, eps: float) -> float:
    """How far MoM's median of means is off (Section 6's baseline); v bounds the central moment.

    (12v)^{1/(1+ε)} (8 ln(2m/δ)/r)^{ε/(1+ε)}
    """
    log_part = (8 * math.log(2 * rounds / delta) / plays) ** (eps / (1 + eps))
    return float((12 * v) ** (1 / (1 + eps)) * log_part)


@checked()
def mom_beta(
    t: float, rounds: int, plays: int, log_det: float, v: float, delta: float, eps: float
) -> float:
    """MoM's confidence factor at round t (Section 6's baseline); v bounds the central moment.

    β = (12v)^{1/(1+ε)} (8 ln(2m/δ)/r)^{ε/(1+ε)} [√(2 ln(m√det A)) + √t] + 1
    """
    deviation = mom_deviation(rounds, plays, v, delta, eps)
    return deviation * (math.sqrt(2 * (math.log(rounds) + log_det / 2)) + math.sqrt(t)) + 1


@checked()
def crt_threshold(t: Number, eps: float) -> Number:
    """CRT drops payoffs above this in size (Section 6's baseline): η_t = t^{1/(2(1+ε))}."""
    return t ** (1 / (2 * (1 + eps)))


@checked()
def crt_beta(t: float, log_det: float, v: float, delta: float, eps: float) -> float:
    """CRT's confidence factor at round t (Section 6's baseline); v bounds the raw moment.

    β = 2√(2 t^{1/(1+ε)} ln(√det A/δ)) + √(2v² ln t) + 1
    """
    spread = 2 * math.sqrt(2 * t ** (1 / (1 + eps)) * (log_det / 2 - math.log(delta)))
    return spread + math.sqrt(2 * v**2 * math.log(t)) + 1


@checked()
def menu_plays(horizon: float, delta: float) -> int:
    """How often MENU plays the arm it chose (Section 6's baseline): k = ⌈24 ln(eT/δ)⌉."""
    return math.ceil(24 * math.log(math.e * horizon / delta))


@checked()
def menu_beta(t: Number, dim: int, v: float, eps: float) -> Number:
    """MENU's confidence factor at round t (Section 6's baseline); v bounds the central moment.

    β = 3[(9dv)^{1/(1+ε)} t^{(1−ε)/(2(1+ε))} + 1]
    """
    return 3 * ((9 * dim * v) ** (1 / (1 + eps)) * growth(t, eps) + 1)


@checked()
def tofu_threshold(t: Number, horizon: float, v: float, delta: float, eps: float) -> Number:
    """TOFU drops a term whose size is above this (Section 6's baseline; b_t of Section 2).

    b_t = (v/ln(2T/δ))^{1/(1+ε)} t^{(1−ε)/(2(1+ε))}
    """
    return (v / math.log(2 * horizon / delta)) ** (1 / (1 + eps)) * growth(t, eps)


@checked()
def tofu_beta(t: Number, horizon: float, dim: int, v: float, delta: float, eps: float) -> Number:
    """TOFU's confidence factor at round t (Section 6's baseline); v bounds the raw moment.

    β = 4√d v^{1/(1+ε)} (ln(2dT/δ))^{ε/(1+ε)} t^{(1−ε)/(2(1+ε))} + 1
    """
    L = math.log(2 * dim * horizon / delta)
    return 4 * math.sqrt(dim) * v ** (1 / (1 + eps)) * L ** (eps / (1 + eps)) * growth(t, eps) + 1


@checked(horizon=1)
def linucb_alpha(horizon: Number, n_arms: int, delta: float) -> Number:
    """LinUCB's confidence factor for payoffs in [0, 1] (a control): α = √(½ ln(2TK/δ))."""
    return np.sqrt(0.5 * np.log(2.0 * horizon * n_arms / delta))


@checked(horizon=1)
def thompson_v(horizon: int, dim: int, delta: float) -> float:
    """What multiplies A^{-1/2} in Thompson sampling, for noise with R = 1: v = √(9d ln(T/δ))."""
    return math.sqrt(9 * dim * math.log(horizon / delta))


# Later algorithms: HEAVY-OFUL's and Hvt-UCB's constants. Where each comes from, and what could not
# be confirmed, stands at the head of `later`; σ_min = 1/√T and e is `growth_exponent`.

HVT_ALPHA = 4.0  # Hvt-UCB's α


@checked()
def huber_log_term(horizon: int, delta: float) -> float:
    """Λ = ln(2T²/δ)."""
    return math.log(2 * horizon**2 / delta)


@checked()
def huber_kappa(horizon: int, dim: int, ridge: float, alpha: float = 1.0) -> float:
    """κ = d ln(1 + T/(αdλσ_min²)): what ln det can grow to. α is 1 for HEAVY-OFUL."""
    return dim * math.log(1 + horizon * horizon / (alpha * dim * ridge))


@checked()
def huber_tau_0(horizon: int, kappa: float, delta: float, eps: float) -> float:
    """τ₀ = √(2κ)(ln 3T)^e/Λ^{1/(1+ε)}."""
    log_part = math.log(3 * horizon) ** growth_exponent(eps)
    return math.sqrt(2 * kappa) * log_part / huber_log_term(horizon, delta) ** (1 / (1 + eps))


@checked()
def heavy_oful_floor(horizon: int, kappa: float, delta: float, eps: float) -> tuple[float, float]:
    """1/c₀ and (2c₁κ)^{−1/4}, which multiply n and √n in HEAVY-OFUL's σ_t, n = ‖x_t‖_{H⁻¹}."""
    Lambda = huber_log_term(horizon, delta)
    c_1 = math.log(3 * horizon) ** (2 * growth_exponent(eps)) / (48 * Lambda ** (2 / (1 + eps)))
    return math.sqrt(23 * Lambda), (2 * c_1 * kappa) ** -0.25


@checked(t=0)
def heavy_oful_beta(
    t: float, horizon: int, kappa: float, ridge: float, delta: float, eps: float
) -> float:
    """β_t = 3√λ + 24Λτ₀t^e for t ≥ 1; β_0 = √λ."""
    if t == 0:
        return math.sqrt(ridge)
    grows = 24 * huber_log_term(horizon, delta) * huber_tau_0(horizon, kappa, delta, eps)
    return 3 * math.sqrt(ridge) + grows * growth(t, eps)


@checked(t=0)
def hvt_ucb_beta(
    t: float, horizon: int, kappa: float, ridge: float, delta: float, eps: float
) -> float:
    """β_t = 107Λτ₀t^e + √(6λ) for t ≥ 1; β_0 = √(6λ)."""
    grows = 107 * huber_log_term(horizon, delta) * huber_tau_0(horizon, kappa, delta, eps)
    return (grows * growth(t, eps) if t else 0.0) + math.sqrt(6 * ridge)


# When a bound begins to say something


@checked()
def horizon_of_use(
    bound: Callable[[float], float], regret_per_play: float, start: float = 3.0, stop: float = 1e300
) -> float:
    """The horizon T* from which on bound(T) < ρT, where ρ is the regret per play (no statement).

    `start` if the bound is below ρT throughout, infinity if it is not below at the largest T
    looked at. With ρ = TRIVIAL this is the horizon from which a bound beats knowing nothing.
    """
    checks.at_least("stop", stop, start)

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
