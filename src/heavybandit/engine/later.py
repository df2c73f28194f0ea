"""The later algorithms, compiled, with the names and arguments of their twins in `later`."""

from __future__ import annotations

import math

from .. import later_theory as theory
from ..later import Y_SCALE, ClippedSettings, HuberSettings, HvtSettings
from ..paper import CONSTANTS
from . import state as st
from .policies import Compiled, _HeavyTailed


class _Huber(_HeavyTailed, HuberSettings):
    """What HEAVY-OFUL and Hvt-UCB have in common; `clips` and `clip_scale` as in `later`."""

    def _regression_state(
        self,
        kind: int,
        ridge: float,
        kappa: float,
        betas: tuple[float, float],
        offset: float,
        divisor: float,
        constants: tuple[float, ...],
    ) -> st.State:
        """betas: β_0 and β_1, of which `offset` does not grow; divisor: of all but β_0."""
        tau_0 = theory.tau_0(self.horizon, kappa, self.delta, self.eps)
        least = max(self.v ** (1 / (1 + self.eps)), 1 / math.sqrt(self.horizon))
        clip = self.clip_scale * tau_0 if self.clips else math.inf
        return self._new_state(
            kind,
            eps=self.eps,
            gain=(betas[1] - offset) / divisor,
            offset=offset / divisor,
            growth=self._growth,
            scale=self.width_scale,
            ridge=ridge,
            truncates=True,
            suspect_numbers=3,
            constants=(betas[0], least, tau_0, clip, *constants),
        )


class HeavyOFUL(_Huber):
    """HEAVY-OFUL: argmax xᵀθ̂_{t−1} + β_{t−1}‖x‖_{H⁻¹}, θ̂ by adaptive Huber regression."""

    _readings = CONSTANTS

    def _prepare(self) -> None:
        circulated = self.constants == "circulated"
        ridge = self.dim / 100 if circulated else float(self.dim)
        radius = math.sqrt(1.1) if circulated else 1.0
        T, delta, eps = self.horizon, self.delta, self.eps
        kappa = theory.kappa(T, self.dim, ridge)
        beta_0, beta_1 = (theory.heavy_oful_beta(t, T, kappa, ridge, delta, eps) for t in (0, 1))
        self._state = self._regression_state(
            st.HEAVY_OFUL,
            ridge,
            kappa,
            (beta_0, beta_1),
            3 * math.sqrt(ridge),
            10_000.0 if circulated else 1.0,
            (*theory.heavy_oful_floor(T, kappa, delta, eps), radius),
        )


class HvtUCB(_Huber, HvtSettings):
    """Hvt-UCB: argmax xᵀθ̂_t + β_{t−1}‖x‖_{V⁻¹_{t−1}}, θ̂ moved by one clipped step a round."""

    def _prepare(self) -> None:
        ridge = float(self.dim)
        T, delta, eps = self.horizon, self.delta, self.eps
        kappa = theory.kappa(T, self.dim, ridge, theory.ALPHA)
        beta_0, beta_1 = (theory.hvt_ucb_beta(t, T, kappa, ridge, delta, eps) for t in (0, 1))
        self._state = self._regression_state(
            st.HVT_UCB,
            ridge,
            kappa,
            (beta_0, beta_1),
            beta_0,
            1.0,
            (math.sqrt(theory.ALPHA),),
        )


class ClippedUCB(Compiled, ClippedSettings):
    """Ridge regression on clipped residuals, in units of the noise that it measures.

    See `later.ClippedUCB`, which says what `width`, `clip` and `growth` do.
    """

    def _prepare(self) -> None:
        units = Y_SCALE * self.clip if self.clips else math.inf
        self._state = self._new_state(
            st.CLIPPED_UCB,
            ridge=self.ridge,
            constants=(1.0, Y_SCALE * self.width, units, self.growth),
        )
