"""The compiled policies, with the names and arguments of their literal twins in `paper`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import checks, paper, theory
from ..noise import Form
from ..policy import (
    EXPLORE_RULES,
    LARGEST,
    Floats,
    HeavyTailedPolicy,
    Look,
    PlainSettings,
    Policy,
    StagedSettings,
    TruncatingSettings,
    setting,
)
from . import state as st
from ._cache import announce_compilation
from .drive import FAMILIES
from .state import AUDIT, FULL, Ints, new_state, with_room

__all__ = ["CRT", "MENU", "TOFU", "Compiled", "FlatBMM", "FlatBTC", "MoM", "SupBMM", "SupBTC"]
__all__ += ["Blind", "GreedyRidge", "LinUCB", "Uniform"]


NONE: Floats = np.empty(0)
NO_RECORD = NONE, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
AS_DRAWN = Form()


class Compiled(Policy):
    """Drives a `State` through the kernels: a round at a time, or in blocks.

    A class made with `twin=` has the docstring of that literal twin, its `look` and its `moment`.
    """

    def __init_subclass__(cls, twin: type[Policy] | None = None) -> None:
        super().__init_subclass__()
        if twin is not None:
            cls.__doc__, cls.look = twin.__doc__, twin.look
            if issubclass(twin, HeavyTailedPolicy):
                cls.moment = twin.moment  # type: ignore[attr-defined]

    def _start(self, kind: int, **what: float | bool | tuple[float, ...]) -> None:
        announce_compilation(FAMILIES[kind], type(self).__name__)
        self._state = new_state(
            kind=kind,
            n_arms=self.n_arms,
            plays=self.plays,
            **{"dim": self.dim, **what},  # type: ignore[arg-type]
        )

    @property
    def _loop(self) -> Any:
        return FAMILIES[int(self._state.clock[st.KIND])]

    def _choose(self, X: Floats, u: Any) -> int:
        self._part(st.CHOOSE, X, u)
        return int(self._state.clock[st.ARM])

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        assert self._offered is not None
        self._state.payoffs[:] = payoffs
        self._part(st.LEARN, self._offered, self._drawn)
        self._make_room()

    def _part(self, part: int, X: Floats, u: Any) -> None:
        """Enter the loop for a part of one round; what only whole rounds need has no entries."""
        self._state.clock[st.PART] = part
        unknown = np.full((1, self.n_arms), np.nan)
        offer = X[None], unknown, unknown, NONE, NONE
        self._loop(self._state, *offer, AS_DRAWN, np.array([u]), 0.0, *NO_RECORD)

    def _make_room(self) -> None:
        if self._state.clock[FULL]:
            self._state = with_room(self._state)

    def play_block(
        self,
        X: Floats,
        means: Floats,
        best: Floats,
        draws: Floats,
        form: Form,
        regret: float,
        curve: Floats,
        arms: Ints,
        stages: Ints | None = None,
    ) -> None:
        """Play a block of rounds, as `select` and `update` would; fills the last arguments.

        X (n, K, d), means (n, K), best (n,), draws (n·plays,); see `engine.drive`.
        """
        n = len(X)
        # Whole numbers in it, or contexts that may not be written, would have it all compiled anew;
        # lanes take nothing but doubles in C order.
        form, X = Form(*map(float, form)), np.require(X, np.float64, ["C", "A", "W"])
        truth = means if form.expected(1.0) == 1.0 else np.asarray(form.expected(means))
        stages = np.empty_like(arms) if stages is None else stages
        pending = [] if self._drawn is None else [self._drawn]
        drawn = self._draw_numbers(n - len(pending))
        u = np.concatenate([pending, drawn]) if pending else drawn
        self._drawn, self._offered, self._selected = None, None, -1
        self._state.clock[st.PART] = st.PLAY
        done = 0
        while done < n:
            offers = X[done:], means[done:], truth[done:], best[done:], draws[done * self.plays :]
            record = curve[done:], arms[done:], stages[done:]
            played = self._loop(self._state, *offers, form, u[done:], regret, *record)
            if played:
                regret = float(curve[done + played - 1])
                done += played
                self._played += played
            if done < n:
                if not self._state.clock[FULL]:
                    self._drawn = u[done].copy()
                    raise ValueError(
                        f"payoffs must be finite and at most {LARGEST:g} in absolute value; "
                        f"the noise gave one that is not in round "
                        f"{self.round}"
                    )
                self._make_room()
        self._make_room()

    def audit(self) -> None:
        """From now on form every interval of every stage visited, so that all are counted."""
        self._state.clock[AUDIT] = 1

    @property
    def diagnostics(self) -> dict[str, object]:
        """What the policy has counted so far; see `simulate.Run`."""
        counts, stages = self._state.counts[st.TOTAL], self._state.stage
        audited = {
            "sum_c": self._state.sum_c.tolist(),
            "best_lost": stages[:, st.LOST].tolist(),
            "far_arms": stages[:, st.FAR].tolist(),
        }
        return {
            "explored": stages[:, st.EXPLORED].tolist(),
            "exploited": stages[:, st.EXPLOITED].tolist(),
            "visited": stages[:, st.VISITS].tolist(),
            "arms_entering": [
                entered / visits if visits else math.nan
                for entered, visits in stages[:, [st.ENTERED, st.VISITS]].tolist()
            ],
            "estimates": int(counts[st.ESTIMATES]),
            "truncated": int(counts[st.TRUNCATED]),
            "suspects": int(counts[st.SUSPECTS]),
            "most_suspects": int(counts[st.MOST_SUSPECTS]),
            "history_scans": int(counts[st.SCANS]),
            "matrix_roots": int(counts[st.ROOTS]),
            "intervals": int(counts[st.INTERVALS]),
            "intervals_missed": int(counts[st.MISSED]),
            **(audited if self._state.clock[AUDIT] else {}),
        }


class _HeavyTailed(Compiled, HeavyTailedPolicy):
    """What the policies with a moment bound have in common here."""

    def _start(self, kind: int, **what: float | bool | tuple[float, ...]) -> None:
        shared = {"eps": self.eps, "growth": theory.growth_exponent(self.eps)}
        super()._start(kind, **{**shared, "scale": self.width_scale, "ridge": self.ridge} | what)

    @property
    def _alpha_bmm(self) -> float:
        return float(theory.alpha_bmm(1.0, self.v, self.eps))

    @property
    def _alpha_btc(self) -> float:
        return float(theory.alpha_btc(1.0, self.horizon, self.n_arms, self.v, self.delta, self.eps))


class _Master(_HeavyTailed, StagedSettings):
    """Algorithm 3 over one of the basic algorithms."""

    def _start_stages(self, kind: int, gain: float, **what: float | bool) -> None:
        self.n_stages = max(1, math.floor(math.log(self.rounds)))
        self._start(
            kind,
            n_stages=self.n_stages,
            explore=EXPLORE_RULES.index(self.explore),
            gain=gain,
            offset=1.0,
            level=self.level_scale / math.sqrt(self.rounds),
            **what,
        )


class SupBMM(_Master, twin=paper.SupBMM):
    def _plays_and_rounds(self) -> tuple[int, int]:
        r = theory.plays_per_round(self.horizon, self.n_arms, self.delta)
        return r, self.horizon // r

    def _prepare(self) -> None:
        self._start_stages(st.SUP_BMM, self._alpha_bmm, columns=self.plays)


class SupBTC(_Master, TruncatingSettings, twin=paper.SupBTC):
    def _prepare(self) -> None:
        truncation = {"keeps_history": self.eps < 1, "threshold": self.threshold_scale}
        self._start_stages(st.SUP_BTC, self._alpha_btc, truncates=True, **truncation)


class _Plain(_HeavyTailed, PlainSettings):
    """What the policies without stages have in common here."""

    def _scale(self, divisor: float) -> float:
        """What multiplies the half-widths, which the circulated code divides by `divisor`."""
        return self.width_scale / (divisor if self._circulated else 1.0)


class FlatBMM(_Plain, twin=paper.FlatBMM):
    def _plays_and_rounds(self) -> tuple[int, int]:
        by_theory = theory.plays_per_round(self.horizon, self.n_arms, self.delta)
        r = 31 if self._circulated else by_theory
        return r, self.horizon // r

    def _prepare(self) -> None:
        alpha = self._alpha_bmm
        gain, offset = (0.01 / 6 * alpha, 0.0) if self._circulated else (alpha, 1.0)
        self._start(st.FLAT_BMM, gain=gain, offset=offset, columns=self.plays)


class FlatBTC(_Plain, TruncatingSettings, twin=paper.FlatBTC):
    def _prepare(self) -> None:
        gain, offset, eps = self._alpha_btc, 1.0, self.eps
        if self._circulated:
            gain, offset, eps = 0.01 / 3 * self.v, 0.0, 1.0  # ε of the norm that truncates
        truncation = {"eps": eps, "keeps_history": eps < 1, "threshold": self.threshold_scale}
        self._start(st.FLAT_BTC, gain=gain, offset=offset, truncates=True, **truncation)


class MoM(_Plain, twin=paper.MoM):
    def _plays_and_rounds(self) -> tuple[int, int]:
        rounds, plays = theory.mom_schedule(self.horizon, self.eps)
        return plays, rounds

    def _prepare(self) -> None:
        groups, size = theory.mom_groups(self.plays, self.delta)
        deviation = theory.mom_deviation(self.rounds, self.plays, self.v, self.delta, self.eps)
        constants = (deviation, math.log(self.rounds), groups, size)
        self._start(st.MOM, scale=self._scale(40.0), n_medians=groups, constants=constants)


class CRT(_Plain, TruncatingSettings, twin=paper.CRT):
    def _prepare(self) -> None:
        constants = (1 / (1 + self.eps), math.log(self.delta), self.v)
        scales = {"scale": self._scale(10.0), "threshold": self.threshold_scale}
        self._start(st.CRT, constants=constants, **scales)


class MENU(_Plain, twin=paper.MENU):
    def _plays_and_rounds(self) -> tuple[int, int]:
        k = 51 if self._circulated else theory.menu_plays(self.horizon, self.delta)
        return k, self.horizon // k

    def _prepare(self) -> None:
        gain = float(theory.menu_beta(1.0, self.dim, self.v, self.eps)) - 3
        self._start(st.MENU, scale=self._scale(50.0), gain=gain, offset=3.0, columns=self.plays)


class TOFU(_Plain, TruncatingSettings, twin=paper.TOFU):
    def _prepare(self) -> None:
        T, v, delta, eps = self.horizon, self.v, self.delta, self.eps
        gain = float(theory.tofu_beta(1.0, T, self.dim, v, delta, eps)) - 1
        power_of, lag = (1.0, 2.0) if self._circulated else (eps, 0.0)
        b = self.threshold_scale * float(theory.tofu_threshold(1.0, T, v, delta, power_of))
        scale, own = self._scale(5.0), (b, lag)
        kept = {"truncates": True, "suspect_numbers": 2}
        self._start(st.TOFU, scale=scale, gain=gain, offset=1.0, constants=own, **kept)


class Uniform(Compiled):
    """Plays every arm with the same probability, whatever it has seen."""

    look = Look("#000000", "", "-")

    def _prepare(self) -> None:
        self._start(st.UNIFORM)


class GreedyRidge(Compiled):
    """Plays the arm with the largest ridge estimate xᵀθ̂, θ̂ = (λI + VᵀV)⁻¹Vᵀy.

    With several `plays` per round, y is their plain mean: what medians of as many are to be
    compared with. `ridge` is λ; the mean of p plays with λ = 1 weighs like single plays with λ = p.
    """

    look = Look("#666666", "X", "-.")

    plays: int = setting(checks.whole, 1, default=1)
    ridge: float = setting(checks.ridge, default=1.0)

    def _plays_and_rounds(self) -> tuple[int, int]:
        if self.plays > self.horizon:
            raise ValueError(f"plays must be at most the horizon, {self.horizon}; got {self.plays}")
        return self.plays, self.horizon // self.plays

    def _prepare(self) -> None:
        self._start(st.GREEDY, ridge=self.ridge)


class Blind(Compiled):
    """Never looks at a payoff: plays the arm with the smallest √(xᵀA⁻¹x), or with the largest.

    With `prefer="narrowest"` it plays what is most like the contexts that it has played before;
    with "widest" what is least like them. What it costs says how much of a regret is the
    instance's doing.
    """

    look = Look("#882255", "d", ":")

    prefer: str = setting(checks.one_of, ("narrowest", "widest"), default="narrowest")

    def _prepare(self) -> None:
        self._start(st.BLIND, gain=1.0 if self.prefer == "widest" else -1.0)


class LinUCB(Compiled):
    """Ridge with the width (α+1)√(xᵀA⁻¹x) of Chu et al. 2011, made for payoffs in [0, 1].

    `alpha` replaces their α = √(½ ln(2TK/δ)); A starts from `ridge` times I.
    """

    look = Look("#999999", "*", "-.")

    delta: float = setting(checks.delta, default=0.01)
    alpha: float = setting(checks.real, -1, LARGEST, "(]", "above -1, at most 1e100", default=None)
    width_scale: float = setting(checks.positive, LARGEST, default=1.0)
    ridge: float = setting(checks.ridge, default=1.0)

    def _prepare(self) -> None:
        if self.alpha is None:
            self.alpha = float(theory.linucb_alpha(self.horizon, self.n_arms, self.delta))
        scales = {"scale": self.width_scale, "ridge": self.ridge}
        self._start(st.LINUCB, gain=self.alpha, offset=1.0, **scales)
