"""A policy made for practice: no ε, no moment, no units, and a second look at clipping.

Its choices do not depend on the horizon, which its constructor takes as the number of rounds.
`later` has it beside the others; `heavybandit.engine` has its compiled twin.
"""

from __future__ import annotations

import math

import numpy as np

from . import checks
from .paper import argmax
from .policy import Floats, Look, Policy, setting

Y_SCALE = 1.4826
"""The standard deviation of a normal law over its median absolute value."""

RIDGES = (1.0, 10.0, 100.0)  # times `ridge`: those among which SafeRidge chooses
INTERCEPT_PRECISION = 0.01  # the ridge on an intercept, where there is one
DOUBT = 10.0  # rounds without correlation, and with slope 1, that are added to those seen; and odds


MOST_CLIP = 1e4
"""The largest threshold_scale. Payoffs that are clipped so far from their forecast move the next
forecasts as far, and with 10⁸ and the largest payoffs, squares of them were seen to overflow."""


class SafeSettings(Policy):
    """What SafeRidge takes; its docstring says what each does."""

    threshold_scale: float = setting(checks.positive, MOST_CLIP, default=4.0)
    ridge: float = setting(checks.ridge, default=10.0)
    clips: bool = setting(checks.flag, default=True)


class SafeRidge(SafeSettings):
    """Greedy ridge regression that chooses its ridge and intercept, and clips while that is safe.

    Six ridge regressions (`ridge` × 1, 10, 100, each without and with an intercept) forecast three
    things: the payoff, the payoff clipped, and the sign of what was clipped away, 0 if nothing was.
    Clipped means: its residual cut off at ±threshold_scale·s, s as in ClippedUCB but started at the
    first payoff that is not 0 (while s is 0, nothing is clipped). ρ is the correlation of
    forecasts, each made before the payoff was seen, with what came, 0 if it is negative, and ρ² is
    shrunk by n/(n+10); n rounds have L = (1 − ρ²)^{−n/2}. A regression with ridge λ weighs λL, with
    an intercept a tenth of that, and its estimate is multiplied by the slope of what came on its
    forecasts: once scaled, only the order of arms is left to judge. θ̂ is the weighted mean, with
    payoffs as they are in the share (L−1)/(L+9) and clipped in the rest, L the largest for the
    signs: if contexts tell where large residuals are, clipping would distort the order of arms.
    Payoffs in other units change no arm; there is no width, so that it may settle on a wrong arm
    where contexts do not vary.
    """

    look = Look("#AA4499", "P", "-")

    def _prepare(self) -> None:
        lam = self.ridge * np.array(RIDGES * 2)
        self.clipped = 0
        self._scale = 0.0
        self._one = np.repeat([0.0, 1.0], len(RIDGES))  # what the intercept's feature is
        self._prior = lam / lam.max() * np.where(self._one, 1 / DOUBT, 1.0)
        self._A = np.array([np.diag([*[one] * self.dim, INTERCEPT_PRECISION]) for one in lam])
        self._b = np.zeros((3, lam.size, self.dim + 1))  # of clipped payoffs, payoffs, signs
        self._came, self._spread = np.zeros(3), np.zeros(3)  # means, sums of squares about them
        self._told, self._told_spread, self._both = np.zeros((3, 3, lam.size))  # of the forecasts
        self._share = np.zeros((2, lam.size))  # weight times slope
        self._theta = np.zeros(self.dim)

    def _choose(self, X: Floats, u: float) -> int:
        return argmax(X @ self._theta / (self._scale or 1.0))

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        t, r = self.round, float(payoffs[0])
        Z = np.column_stack([np.tile(x, (self._one.size, 1)), self._one])
        forecasts = np.einsum("jd,jde,ije->ij", Z, np.linalg.inv(self._A), self._b)
        mean = self._came[0] + self._share[0] @ (forecasts[0] - self._told[0])
        residual = r - mean
        limit = self.threshold_scale * Y_SCALE * self._scale
        clips = self.clips and self._scale > 0 and abs(residual) > limit
        self.clipped += bool(clips)
        kept = mean + math.copysign(limit, residual) if clips else r
        step = math.exp(0.5 / math.sqrt(t))
        moved = self._scale * step if abs(residual) > self._scale else self._scale / step
        self._scale = max(moved, 1e-300) if self._scale else abs(residual)
        came = np.array([kept, r, math.copysign(1.0, residual) if clips else 0.0])
        self._A = self._A + Z[:, :, None] * Z[:, None, :]
        self._b = self._b + came[:, None, None] * Z
        self._follow(forecasts, came, t)

        rho = np.maximum(self._both, 0) / np.sqrt(positive(self._told_spread))
        squared = np.minimum((rho / np.sqrt(positive(self._spread))[:, None]) ** 2, 1.0)
        log_L = -t / 2 * np.log1p(-squared * t / (t + DOUBT))
        slopes = np.maximum(self._both, 0) / positive(self._told_spread)
        weights = self._prior * np.exp(log_L - log_L.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        self._share = (weights * (t * slopes + DOUBT) / (t + DOUBT))[:2]
        log_most = log_L[2].max()  # (L−1)/(L+9) without overflow:
        raw = -math.expm1(-log_most) / (1 + (DOUBT - 1) * math.exp(-log_most))
        mixed = np.einsum("i,ij,ije->je", [1 - raw, raw], self._share, self._b[:2])
        theta = np.einsum("jde,je->d", np.linalg.inv(self._A), mixed)
        self._theta = theta[: self.dim]  # an intercept is the same for all arms

    def _follow(self, forecasts: Floats, came: Floats, n: int) -> None:
        """One more round in the means and sums of squares, by Welford's recursion."""
        off, off_told = came - self._came, forecasts - self._told
        self._came = self._came + off / n
        self._told = self._told + off_told / n
        self._spread = self._spread + off * (came - self._came)
        self._told_spread = self._told_spread + off_told * (forecasts - self._told)
        self._both = self._both + off_told * (came - self._came)[:, None]


def positive(values: Floats) -> Floats:
    """The same where they are above 0, and infinite elsewhere: what is divided by it is 0."""
    return np.where(values > 0, values, np.inf)
