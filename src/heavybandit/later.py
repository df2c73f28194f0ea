"""Beyond the paper: other algorithms, most of them later, in plain NumPy like `paper`.

    HeavyOFUL   HEAVY-OFUL, Huang, Zhong, Wang, Yang 2023 (NeurIPS, arXiv 2306.06836): adaptive
                Huber regression over the whole history
    HvtUCB      Hvt-UCB, Wang, Zhang, Zhao, Zhou 2025 (ICML, arXiv 2503.00419): one step of mirror
                descent on a Huber loss per round, nothing kept
    ClippedUCB  ours, made for practice: ridge regression on residuals clipped at a multiple of
                their own median, so that neither ε nor a moment has to be known
    SafeRidge   ours, made for practice: ridge regression that chooses its ridge and an intercept by
                its own forecasts, and clips only while that does no harm that it can see; its
                text stands in `practice`
    Thompson    Thompson sampling on ridge regression, Agrawal, Goyal 2013 (ICML, arXiv 1209.3352):
                older than the paper, not made for heavy tails, and randomised

`heavybandit.engine` has their compiled twins; the tests hold them equal, arm by arm,
for values of the size that reading R4 in `paper` names.

Where the formulas come from, and what could not be confirmed: we had no access to the texts.
HEAVY-OFUL's follow public code that is apparently its authors' (jyhuang78/Heavy-LSVI-UCB,
`heavy_play_many_paths.py`): σ_t, c₀, c₁, τ_t, κ, β_t, β_0 = √λ and the loss stand there. From
memory only: λ = d, and that the minimum is over ‖θ‖ ≤ 1 (the code has λ = d/100 and θᵀθ ≤ 1.1).
Hvt-UCB's σ_t, V_t, w_t, τ_t and its update were found in a third-party note; the forms of τ₀ and
β_t, and λ = d, in an account of a descendant of it with other constants (409 for 107, α = 8 for 4).
α = 4 and the 107 are from memory, and θ̂_1 = 0 and β_0 = √(6λ) are chosen. Its κ is here
d ln(1 + T/(ασ_min²λd)), what the determinant of V_T gives; from memory there is a further 4 in the
denominator, which would make β 6.5 % smaller at T = 5,000, d = 10. Both leave τ_t undefined for a
context of 0: here such a round is not learnt from.

`constants="circulated"` runs HEAVY-OFUL with the constants of that code: λ = d/100, β/10,000 (but
β_0 = √λ, as there) and the larger ball, but not started at θ*, as it is there. No public code of
Hvt-UCB was found, so it has no such reading. Two more knobs are ours: `clips=False` never clips,
which leaves HEAVY-OFUL a ridge regression in the ball with the same weights, regularisation and
width, and Hvt-UCB the same step without the clip (no ridge regression: its step is α times as long
as that); `threshold_scale` multiplies the threshold τ_t. `width_scale` multiplies β wherever it
stands, in Hvt-UCB's σ_t too, and `ridge` is λ wherever it stands.

Thompson sampling's v = R√(9d ln(T/δ)) stands in a reader's notes on the arXiv text
(park-jihoo/park-jihoo.github.io) and in public code. Other public code, for example
Nicolaus93/contextual_bandit, has v = R√((24/ε) d ln(1/δ)) with an ε in (0, 1) of its own; from
memory that is the one printed at ICML. R is 1 here. Their matrix B(t) starts from I; it is A here,
and starts from `ridge` times I.

What is not here: CRTM and CRMM (Xue, Wang, Wan, Yi, Zhang 2023, NeurIPS, arXiv 2310.18701) and
MED-PE (Tajdini, Scarlett, Jamieson 2025, NeurIPS, arXiv 2506.04775) would belong here. Neither text
was accessible beyond its abstract, and no code was found.

    CRTM    There is an account of it for the identity link and ε = 1 (Cheng, Zhao, Xu: Learning
            Personalized Ad Impact via Contextual Reinforcement Learning under Delayed Rewards,
            appendix B). It says: V_0 = I and V_t = V_{t−1} + ½xxᵀ; a payoff with ‖x‖_{V⁻¹}|r| > Γ
            counts as 0; with ‖x‖, ‖θ*‖ ≤ 1 and a raw moment u, ‖θ* − θ̂‖²_V is at most
            896 d u ln(4T/δ) ln(1 + T/(2d)) + 2 + 48 d ln(1 + T/(2d)). The copy that we found lacks
            the displayed formulas, and with them Γ and the online Newton step; nor does it say how
            any of this depends on ε.
    CRMM    The abstract says that an epoch has O(ln T) plays and one estimator. Not found: how many
            plays, and what is done with their medians.
    MED-PE  The abstract names a design and an elimination by phases. Not found: the problem that
            the design solves, the estimator, and the lengths of the phases.

A threshold, a step or a schedule of our own under these names would not be theirs, so they are left
out.

ν is v^{1/(1+ε)}, with v a bound on the central 1+ε moment. ‖x‖ and ‖θ*‖ are at most 1.
"""

from __future__ import annotations

import math

import numpy as np

from . import checks
from .paper import argmax
from .policy import LARGEST, Floats, Look, PlainSettings, Policy, TruncatingSettings, setting
from .practice import Y_SCALE
from .practice import SafeRidge as SafeRidge


def clip(z: Floats | float, tau: Floats | float) -> Floats:
    """ψ_τ(z), the derivative of the Huber loss: z cut off at ±τ."""
    return np.clip(z, -np.asarray(tau), tau)


def huber_regression(
    V: Floats,  # (n, d)
    y: Floats,  # (n,)
    sigma: Floats,  # (n,)
    tau: Floats,  # (n,), entries may be infinite
    ridge: float,
    radius: float,
) -> Floats:
    """argmin over ‖θ‖ ≤ radius of ½ridge‖θ‖² + Σ huber_{τ_s}((y_s − x_sᵀθ)/σ_s).

    Newton's method from θ = 0 for the free minimum, each step halved while it overshoots; if that
    minimum lies outside, the multiplier μ of the constraint adds to the ridge, and is found by
    bisection.
    """

    def gradient(theta: Floats, lam: float) -> Floats:
        z = (y - V @ theta) / sigma
        return np.asarray(lam * theta - V.T @ (clip(z, tau) / sigma))

    def free_minimum(lam: float) -> Floats:
        theta = np.zeros(V.shape[1])
        for _ in range(200):
            unclipped = (np.abs(y - V @ theta) / sigma <= tau) / sigma**2
            hessian = lam * np.eye(V.shape[1]) + (V.T * unclipped) @ V
            step = np.linalg.solve(hessian, gradient(theta, lam))
            falls = step @ gradient(theta, lam)
            size = 1.0
            while size > 1e-12 and step @ gradient(theta - size * step, lam) < -1e-6 * falls:
                size /= 2  # the loss, which is convex, rises again before the end of the step
            theta = theta - size * step
            if np.linalg.norm(step) <= 1e-13 * (1 + np.linalg.norm(theta)):
                break
        return theta

    theta = free_minimum(ridge)
    if np.linalg.norm(theta) <= radius:
        return theta
    low, high = 0.0, 1.0
    while np.linalg.norm(free_minimum(ridge + high)) > radius:
        low, high = high, 2 * high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if np.linalg.norm(free_minimum(ridge + middle)) > radius:
            low = middle
        else:
            high = middle
    return free_minimum(ridge + high)


def project(theta: Floats, M: Floats, radius: float) -> Floats:
    """argmin over ‖θ'‖ ≤ radius of ‖θ' − θ‖_M: (M + μI)⁻¹Mθ with the least μ ≥ 0 that fits."""
    if np.linalg.norm(theta) <= radius:
        return theta
    eigenvalues, Q = np.linalg.eigh(M)
    along = Q.T @ theta

    def shrunk(mu: float) -> Floats:
        return eigenvalues / (eigenvalues + mu) * along

    low, high = 0.0, float(eigenvalues[-1])
    while np.linalg.norm(shrunk(high)) > radius:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if np.linalg.norm(shrunk(middle)) > radius:
            low = middle
        else:
            high = middle
    return np.asarray(Q @ shrunk(high))


class HuberSettings(TruncatingSettings):
    """What HEAVY-OFUL and Hvt-UCB take: whether residuals are clipped, and λ, `ridge`.

    If no ridge is given it is the published one.
    """

    clips: bool = setting(checks.flag, default=True)
    ridge: float = setting(checks.ridge, default=None)

    def _begin(self) -> None:
        if self.ridge is None:
            self.ridge = self._published_ridge()
        super()._begin()

    def _published_ridge(self) -> float:
        return float(self.dim)


class HeavyOFULSettings(PlainSettings, HuberSettings):
    """HEAVY-OFUL's, whose circulated constants have another λ."""

    def _published_ridge(self) -> float:
        return self.dim / 100 if self._circulated else float(self.dim)


class _Huber(HuberSettings):
    """What the two algorithms have in common: ν, Λ, e and the threshold."""

    moment = "central"

    def _prepare(self) -> None:
        self.clipped = 0  # rounds whose residual was clipped in the estimate that they entered
        self._nu = self.v ** (1 / (1 + self.eps))
        self._sigma_min = 1 / math.sqrt(self.horizon)
        self._Lambda = math.log(2 * self.horizon**2 / self.delta)
        self._e = (1 - self.eps) / (2 * (1 + self.eps))

    def _tau_0(self, kappa: float) -> float:
        """τ₀ = √(2κ)(ln 3T)^e/Λ^{1/(1+ε)}."""
        log_part = math.log(3 * self.horizon) ** self._e
        return math.sqrt(2 * kappa) * log_part / self._Lambda ** (1 / (1 + self.eps))

    def _tau(self, tau_0: float, w: float) -> float:
        """τ_t = τ₀ (√(1+w²)/w) t^e, times `threshold_scale`; infinite where nothing is clipped."""
        if not self.clips:
            return math.inf
        return self.threshold_scale * tau_0 * math.sqrt(1 + w**2) / w * self.round**self._e


class HeavyOFUL(_Huber, HeavyOFULSettings):
    """HEAVY-OFUL: argmax xᵀθ̂_{t−1} + β_{t−1}‖x‖_{H⁻¹}, θ̂ by adaptive Huber regression."""

    look = Look("#44AA99", "H", "--")

    def _prepare(self) -> None:
        super()._prepare()
        self._radius = math.sqrt(1.1) if self._circulated else 1.0
        self._divisor = 10_000 if self._circulated else 1
        self._history: list[tuple[Floats, float, float, float]] = []  # x_s, r_s, σ_s, τ_s
        self._theta = np.zeros(self.dim)
        self._H = self.ridge * np.eye(self.dim)

    def _kappa(self) -> float:
        """κ = d ln(1 + T/(dλσ_min²))."""
        d, T = self.dim, self.horizon
        return d * math.log(1 + T / (d * self.ridge * self._sigma_min**2))

    def _beta(self, t: int) -> float:
        """β_t = 3√λ + 24 t^e √(2κ)(ln 3T)^e Λ^{ε/(1+ε)}, divided if circulated; β_0 = √λ."""
        if t == 0:
            return math.sqrt(self.ridge)
        log_part = math.log(3 * self.horizon) ** self._e
        Lambda_part = self._Lambda ** (self.eps / (1 + self.eps))
        spread = 24 * t**self._e * math.sqrt(2 * self._kappa()) * log_part * Lambda_part
        return (3 * math.sqrt(self.ridge) + spread) / self._divisor

    def _choose(self, X: Floats, u: float) -> int:
        norms = np.sqrt(np.einsum("ad,de,ae->a", X, np.linalg.inv(self._H), X))
        beta = self.width_scale * self._beta(self.round - 1)
        return argmax(X @ self._theta + beta * norms)

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        kappa, Lambda = self._kappa(), self._Lambda
        n = math.sqrt(x @ np.linalg.inv(self._H) @ x)
        if n == 0:
            return
        c_0 = 1 / math.sqrt(23 * Lambda)
        c_1 = math.log(3 * self.horizon) ** (2 * self._e) / (48 * Lambda ** (2 / (1 + self.eps)))
        sigma = max(self._nu, self._sigma_min, n / c_0, math.sqrt(n) / (2 * c_1 * kappa) ** 0.25)
        tau = self._tau(self._tau_0(kappa), n / sigma)
        self._history.append((x, float(payoffs[0]), sigma, tau))
        V, y, sigmas, taus = (np.array(column) for column in zip(*self._history, strict=True))
        self._H = self._H + np.outer(x, x) / sigma**2
        self._theta = huber_regression(V, y, sigmas, taus, self.ridge, self._radius)
        self.clipped += bool(abs(payoffs[0] - x @ self._theta) / sigma > tau)


class HvtUCB(_Huber):
    """Hvt-UCB: argmax xᵀθ̂_t + β_{t−1}‖x‖_{V⁻¹_{t−1}}, θ̂ moved by one clipped step per round."""

    look = Look("#6666CC", "<", "--")

    _alpha = 4.0

    def _prepare(self) -> None:
        super()._prepare()
        self._theta = np.zeros(self.dim)
        self._V = self.ridge * np.eye(self.dim)

    def _kappa(self) -> float:
        """κ = d ln(1 + T/(ασ_min²λd))."""
        d, T = self.dim, self.horizon
        return d * math.log(1 + T / (self._alpha * self._sigma_min**2 * self.ridge * d))

    def _beta(self, t: int) -> float:
        """β_t = 107 Λ τ₀ t^e + √(6λ), and β_0 = √(6λ); all times `width_scale`."""
        grows = 107 * self._Lambda * self._tau_0(self._kappa()) * t**self._e if t else 0.0
        return self.width_scale * (grows + math.sqrt(6 * self.ridge))

    def _choose(self, X: Floats, u: float) -> int:
        norms = np.sqrt(np.einsum("ad,de,ae->a", X, np.linalg.inv(self._V), X))
        return argmax(X @ self._theta + self._beta(self.round - 1) * norms)

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        t, alpha, tau_0 = self.round, self._alpha, self._tau_0(self._kappa())
        n = math.sqrt(x @ np.linalg.inv(self._V) @ x)
        if n == 0:
            return
        reach = math.sqrt(2 * self._beta(t - 1) / (tau_0 * math.sqrt(alpha) * t**self._e))
        sigma = max(self._nu, self._sigma_min, reach * n)
        tau = self._tau(tau_0, n / (sigma * math.sqrt(alpha)))
        self._V = self._V + np.outer(x, x) / (alpha * sigma**2)
        z = (payoffs[0] - x @ self._theta) / sigma
        self.clipped += bool(abs(z) > tau)
        moved = self._theta + np.linalg.inv(self._V) @ x * clip(z, tau) / sigma
        self._theta = project(moved, self._V, 1.0)


class ClippedSettings(Policy):
    """What ClippedUCB takes; its docstring says what each does."""

    width_scale: float = setting(checks.positive, LARGEST, default=0.1)
    threshold_scale: float = setting(checks.positive, LARGEST, default=1.0)
    growth: float = setting(checks.real, 0, 1, "[]", default=0.0)
    ridge: float = setting(checks.ridge, default=10.0)
    clips: bool = setting(checks.flag, default=True)


class ClippedUCB(ClippedSettings):
    """Ridge regression on clipped residuals, with widths in units of the noise that it measures.

    Plays argmax xᵀθ̂ + width_scale·s·√(xᵀA⁻¹x), A = ridge·I + Σxxᵀ. A payoff r enters as
    xᵀθ̂ + e, where e is the residual r − xᵀθ̂ clipped at ±threshold_scale·s·t^growth. s is 1.4826
    times an estimate of the median of |r − xᵀθ̂|, which starts at 1, is multiplied by exp(½/√t)
    after a larger residual and divided by it after a smaller one. With growth = 0 the estimate is
    off for ever if the noise is skewed; with growth > 0 that goes away, and so, in the end, does
    the clipping. Not for payoffs that are mostly one value and seldom another, like clicks, nor for
    noise that is skewed and larger where more is paid: what is clipped away is then the message.
    """

    look = Look("#CC3311", "p", "-")

    def _prepare(self) -> None:
        self.clipped = 0
        self._scale = 1.0
        self._A = self.ridge * np.eye(self.dim)
        self._b = np.zeros(self.dim)

    def _choose(self, X: Floats, u: float) -> int:
        A_inv = np.linalg.inv(self._A)
        norms = np.sqrt(np.einsum("ad,de,ae->a", X, A_inv, X))
        return argmax(X @ (A_inv @ self._b) + self.width_scale * Y_SCALE * self._scale * norms)

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        t = self.round
        mean = float(x @ np.linalg.inv(self._A) @ self._b)
        residual = payoffs[0] - mean
        units = Y_SCALE * self._scale * t**self.growth
        tau = self.threshold_scale * units if self.clips else math.inf
        self.clipped += bool(abs(residual) > tau)
        self._A = self._A + np.outer(x, x)
        self._b = self._b + (mean + clip(residual, tau)) * x
        step = math.exp(0.5 / math.sqrt(t))
        moved = self._scale * step if abs(residual) > self._scale else self._scale / step
        self._scale = max(moved, 1e-300)  # from 0 it could never rise again


class ThompsonSettings(Policy):
    """What Thompson takes, and what it draws: d standard normal numbers per round."""

    delta: float = setting(checks.delta, default=0.01)
    width_scale: float = setting(checks.positive, LARGEST, default=1.0)
    ridge: float = setting(checks.ridge, default=1.0)

    def _draw_numbers(self, rounds: int) -> Floats:
        return self._rng.standard_normal((rounds, self.dim))


class Thompson(ThompsonSettings):
    """Thompson sampling on ridge regression: argmax xᵀθ̃, with θ̃ ~ N(θ̂, v²A⁻¹) drawn each round.

    θ̂ = A⁻¹b, A = ridge·I + Σxxᵀ, b = Σr·x, v = width_scale·√(9d ln(T/δ)). It is made for noise that
    is sub-Gaussian with R = 1; for another R let `width_scale` be R. It clips nothing.
    """

    look = Look("#117733", ">", "-.")

    def _prepare(self) -> None:
        self._A = self.ridge * np.eye(self.dim)
        self._b = np.zeros(self.dim)

    def _v(self) -> float:
        """v = √(9d ln(T/δ)), times `width_scale`."""
        return self.width_scale * math.sqrt(9 * self.dim * math.log(self.horizon / self.delta))

    def _draw(self, z: Floats) -> Floats:
        """θ̃ = θ̂ + v·L⁻ᵀz with A = LLᵀ: L⁻ᵀz has the covariance L⁻ᵀL⁻¹ = A⁻¹."""
        theta_hat = np.linalg.solve(self._A, self._b)
        L = np.linalg.cholesky(self._A)
        return np.asarray(theta_hat + self._v() * np.linalg.solve(L.T, z))

    def _choose(self, X: Floats, z: Floats) -> int:
        return argmax(X @ self._draw(z))

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        self._A = self._A + np.outer(x, x)
        self._b = self._b + payoffs[0] * x
