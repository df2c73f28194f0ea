"""Closed forms of the later algorithms: HEAVY-OFUL's and Hvt-UCB's constants.

Where each comes from, and what could not be confirmed, stands at the head of `later`. Notation as
in `theory`, and e = (1−ε)/(2(1+ε)), Λ = ln(2T²/δ), σ_min = 1/√T, ‖x‖, ‖θ*‖ ≤ 1.
"""

from __future__ import annotations

import math

ALPHA = 4.0
"""Hvt-UCB's α."""


def log_term(horizon: int, delta: float) -> float:
    """Λ = ln(2T²/δ)."""
    return math.log(2 * horizon**2 / delta)


def exponent(eps: float) -> float:
    """e = (1−ε)/(2(1+ε))."""
    return (1 - eps) / (2 * (1 + eps))


def kappa(horizon: int, dim: int, ridge: float, alpha: float = 1.0) -> float:
    """κ = d ln(1 + T/(αdλσ_min²)): what ln det can grow to. α is 1 for HEAVY-OFUL."""
    return dim * math.log(1 + horizon * horizon / (alpha * dim * ridge))


def tau_0(horizon: int, kappa: float, delta: float, eps: float) -> float:
    """τ₀ = √(2κ)(ln 3T)^e/Λ^{1/(1+ε)}."""
    log_part = math.log(3 * horizon) ** exponent(eps)
    return math.sqrt(2 * kappa) * log_part / log_term(horizon, delta) ** (1 / (1 + eps))


def heavy_oful_floor(horizon: int, kappa: float, delta: float, eps: float) -> tuple[float, float]:
    """1/c₀ and (2c₁κ)^{−1/4}, which multiply n and √n in HEAVY-OFUL's σ_t, n = ‖x_t‖_{H⁻¹}."""
    Lambda = log_term(horizon, delta)
    c_1 = math.log(3 * horizon) ** (2 * exponent(eps)) / (48 * Lambda ** (2 / (1 + eps)))
    return math.sqrt(23 * Lambda), (2 * c_1 * kappa) ** -0.25


def heavy_oful_beta(
    t: float, horizon: int, kappa: float, ridge: float, delta: float, eps: float
) -> float:
    """β_t = 3√λ + 24Λτ₀t^e for t ≥ 1; β_0 = √λ."""
    if t == 0:
        return math.sqrt(ridge)
    grows = 24 * log_term(horizon, delta) * tau_0(horizon, kappa, delta, eps)
    return float(3 * math.sqrt(ridge) + grows * t ** exponent(eps))


def hvt_ucb_beta(
    t: float, horizon: int, kappa: float, ridge: float, delta: float, eps: float
) -> float:
    """β_t = 107Λτ₀t^e + √(6λ) for t ≥ 1; β_0 = √(6λ)."""
    if t == 0:
        return math.sqrt(6 * ridge)
    grows = 107 * log_term(horizon, delta) * tau_0(horizon, kappa, delta, eps)
    return float(grows * t ** exponent(eps) + math.sqrt(6 * ridge))
