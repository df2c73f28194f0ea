"""The later algorithms, compiled, with the names and arguments of their twins in `later`."""

from __future__ import annotations

import math

import numpy as np

from .. import later, theory
from ..later import ClippedSettings, HeavyOFULSettings, HuberSettings, ThompsonSettings
from ..practice import DOUBT, INTERCEPT_PRECISION, RIDGES, Y_SCALE, SafeSettings
from . import state as st
from .policies import Compiled, _HeavyTailed

__all__ = ["ClippedUCB", "HeavyOFUL", "HvtUCB", "SafeRidge", "Thompson"]


class _Huber(_HeavyTailed, HuberSettings):
    """What HEAVY-OFUL and Hvt-UCB have in common; settings as in `later`."""

    def _start_regression(
        self, kind: int, kappa: float, beta_0: float, own: tuple[float, ...], **what: float
    ) -> None:
        """`own` are the constants that only this policy has; `what` is as in `_start`."""
        tau_0 = theory.huber_tau_0(self.horizon, kappa, self.delta, self.eps)
        least = max(self.v ** (1 / (1 + self.eps)), 1 / math.sqrt(self.horizon))
        clip = self.threshold_scale * tau_0 if self.clips else math.inf
        constants = (beta_0, least, tau_0, clip, *own)
        self._start(kind, truncates=True, suspect_numbers=3, constants=constants, **what)


class HeavyOFUL(_Huber, HeavyOFULSettings, twin=later.HeavyOFUL):
    def _prepare(self) -> None:
        radius = math.sqrt(1.1) if self._circulated else 1.0
        T, delta, eps, ridge = self.horizon, self.delta, self.eps, self.ridge
        kappa = theory.huber_kappa(T, self.dim, ridge)
        beta_0, beta_1 = (theory.heavy_oful_beta(t, T, kappa, ridge, delta, eps) for t in (0, 1))
        constant, divisor = 3 * math.sqrt(ridge), 10_000.0 if self._circulated else 1.0
        gain, offset = (beta_1 - constant) / divisor, constant / divisor
        own = (*theory.heavy_oful_floor(T, kappa, delta, eps), radius)
        self._start_regression(st.HEAVY_OFUL, kappa, beta_0, own, gain=gain, offset=offset)


class HvtUCB(_Huber, twin=later.HvtUCB):
    def _prepare(self) -> None:
        T, delta, eps, ridge = self.horizon, self.delta, self.eps, self.ridge
        kappa = theory.huber_kappa(T, self.dim, ridge, theory.HVT_ALPHA)
        beta_0, beta_1 = (theory.hvt_ucb_beta(t, T, kappa, ridge, delta, eps) for t in (0, 1))
        own = (math.sqrt(theory.HVT_ALPHA),)
        self._start_regression(st.HVT_UCB, kappa, beta_0, own, gain=beta_1 - beta_0, offset=beta_0)


class ClippedUCB(Compiled, ClippedSettings, twin=later.ClippedUCB):
    def _prepare(self) -> None:
        units = Y_SCALE * self.threshold_scale if self.clips else math.inf
        constants = (1.0, Y_SCALE * self.width_scale, units, self.growth)
        self._start(st.CLIPPED_UCB, ridge=self.ridge, constants=constants)


class Thompson(Compiled, ThompsonSettings, twin=later.Thompson):
    def _prepare(self) -> None:
        v = theory.thompson_v(self.horizon, self.dim, self.delta)
        self._start(st.THOMPSON, gain=v, scale=self.width_scale, ridge=self.ridge)


class SafeRidge(Compiled, SafeSettings, twin=later.SafeRidge):
    def _prepare(self) -> None:
        clip = Y_SCALE * self.threshold_scale if self.clips else math.inf
        J, d = 2 * len(RIDGES), self.dim
        self._start(st.SAFE_RIDGE, dim=d + 1, n_stages=J, columns=3, constants=(0.0, clip))
        ridges, state = self.ridge * np.array(RIDGES * 2), self._state
        state.forecasts.one[len(RIDGES) :] = 1.0
        state.forecasts.prior[:] = ridges / ridges.max()
        state.forecasts.prior[len(RIDGES) :] /= DOUBT
        for j, ridge in enumerate(ridges):
            state.A_inv[j] = np.diag([*[1 / ridge] * d, 1 / INTERCEPT_PRECISION])
