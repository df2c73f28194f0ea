"""The later algorithms, compiled, with the names and arguments of their twins in `later`."""

from __future__ import annotations

import math

import numpy as np

from .. import later_theory as theory
from ..later import Y_SCALE
from ..paper import CONSTANTS
from ..policy import flag, one_of, real
from . import state as st
from .huber import OUTSIDE, SURELY_OUTSIDE
from .policies import Compiled, _HeavyTailed


class _Huber(_HeavyTailed):
    """What HEAVY-OFUL and Hvt-UCB have in common; `clips` and `clip_scale` as in `later`."""

    _readings: tuple[str, ...] = ("theory",)

    def __init__(
        self,
        horizon: int,
        n_arms: int,
        dim: int,
        *,
        eps: float = 1.0,
        v: float | None = None,
        delta: float = 0.01,
        width_scale: float = 1.0,
        clips: bool = True,
        clip_scale: float = 1.0,
        constants: str = "theory",
        seed: int = 0,
    ) -> None:
        super().__init__(
            horizon, n_arms, dim, eps=eps, v=v, delta=delta, width_scale=width_scale, seed=seed
        )
        self.clips = flag("clips", clips)
        self.clip_scale = real(
            "clip_scale", clip_scale, "positive and finite", 0.0, math.inf, top=False
        )
        self.constants = one_of("constants", constants, self._readings)
        self._schedule(1, self.horizon)
        self._prepare(circulated=self.constants == "circulated")

    def _prepare(self, circulated: bool) -> None:
        raise NotImplementedError

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
        state = self._new_state(
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
        state.gram[0] = ridge * np.eye(self.dim)
        state.whiten[0] = state.gram[0]
        state.stage[0, [OUTSIDE, SURELY_OUTSIDE]] = 0
        return state


class HeavyOFUL(_Huber):
    """HEAVY-OFUL: argmax xᵀθ̂_{t−1} + β_{t−1}‖x‖_{H⁻¹}, θ̂ by adaptive Huber regression."""

    _readings = CONSTANTS

    def _prepare(self, circulated: bool) -> None:
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


class HvtUCB(_Huber):
    """Hvt-UCB: argmax xᵀθ̂_t + β_{t−1}‖x‖_{V⁻¹_{t−1}}, θ̂ moved by one clipped step a round."""

    def __init__(
        self,
        horizon: int,
        n_arms: int,
        dim: int,
        *,
        eps: float = 1.0,
        v: float | None = None,
        delta: float = 0.01,
        width_scale: float = 1.0,
        clips: bool = True,
        clip_scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(
            horizon,
            n_arms,
            dim,
            eps=eps,
            v=v,
            delta=delta,
            width_scale=width_scale,
            clips=clips,
            clip_scale=clip_scale,
            seed=seed,
        )

    def _prepare(self, circulated: bool) -> None:
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


class ClippedUCB(Compiled):
    """Ridge regression on clipped residuals, in units of the noise that it measures.

    See `later.ClippedUCB`, which says what `width`, `clip` and `growth` do.
    """

    def __init__(
        self,
        horizon: int,
        n_arms: int,
        dim: int,
        *,
        width: float = 0.1,
        clip: float = 1.0,
        growth: float = 0.0,
        ridge: float = 10.0,
        clips: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__(horizon, n_arms, dim, seed=seed)
        positive = ("positive and finite", 0.0, math.inf)
        self.width = real("width", width, *positive, top=False)
        self.clip = real("clip", clip, *positive, top=False)
        self.growth = real("growth", growth, "from 0 up to 1", -1e-300, 1.0, top=True)
        self.ridge = real("ridge", ridge, *positive, top=False)
        self.clips = flag("clips", clips)
        self._schedule(1, self.horizon)
        units = Y_SCALE * self.clip if self.clips else math.inf
        self._state = self._new_state(
            st.CLIPPED_UCB,
            ridge=self.ridge,
            constants=(1.0, Y_SCALE * self.width, units, self.growth),
        )
