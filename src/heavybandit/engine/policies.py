"""The compiled policies, with the names and arguments of their literal twins in `paper`."""

from __future__ import annotations

import math

import numpy as np

from .. import theory
from ..paper import CONSTANTS
from ..policy import EXPLORE_RULES, Floats, HeavyTailedPolicy, Policy, one_of, real, whole
from . import state as st
from ._cache import announce_compilation
from .decide import choose
from .drive import learn, play_block
from .state import AUDIT, FULL, Ints, State, new_state, with_room


class Compiled(Policy):
    """Drives a `State` through the kernels: a round at a time, or in blocks."""

    _state: State

    def _new_state(self, kind: int, **what: float | bool | tuple[float, ...]) -> State:
        announce_compilation(play_block)
        return new_state(
            kind=kind,
            n_arms=self.n_arms,
            dim=self.dim,
            plays=self.plays,
            **what,  # type: ignore[arg-type]
        )

    def _choose(self, X: Floats, luck: float) -> int:
        choose(self._state, X, luck, np.full(self.n_arms, np.nan))
        return int(self._state.clock[st.ARM])

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        learn(self._state, x, payoffs)
        self._make_room()

    def _make_room(self) -> None:
        if self._state.clock[FULL]:
            self._state = with_room(self._state)

    def play_block(
        self,
        X: Floats,
        means: Floats,
        best: Floats,
        draws: Floats,
        gamma: float,
        regret: float,
        curve: Floats,
        arms: Ints,
    ) -> None:
        """Play a block of rounds, as `select` and `update` would; fills `curve` and `arms`.

        X (n, K, d), means (n, K), best (n,), draws (n·plays,); see `drive.play_block`.
        """
        n = len(X)
        luck = self._rng.random(n) if self._luck is None else self._with_pending_luck(n)
        self._luck, self._offered, self._selected = None, None, -1
        done = 0
        while done < n:
            played = play_block(
                self._state,
                X[done:],
                means[done:],
                best[done:],
                draws[done * self.plays :],
                gamma,
                luck[done:],
                regret,
                curve[done:],
                arms[done:],
            )
            if played:
                regret = float(curve[done + played - 1])
                done += played
                self._played += played
            if done < n:
                if not self._state.clock[FULL]:
                    self._luck = float(luck[done])
                    raise ValueError(
                        f"payoffs must be finite; the noise gave one that is not in round "
                        f"{self.round}"
                    )
                self._make_room()
        self._make_room()

    def _with_pending_luck(self, n: int) -> Floats:
        return np.concatenate([[self._luck], self._rng.random(n - 1)])

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
                float(entered) / visits if visits else math.nan
                for entered, visits in zip(
                    stages[:, st.ENTERED].tolist(), stages[:, st.VISITS].tolist(), strict=True
                )
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
    """What the paper's policies have in common here."""

    @property
    def _growth(self) -> float:
        return (1 - self.eps) / (2 * (1 + self.eps))

    @property
    def _alpha_bmm(self) -> float:
        return float(theory.alpha_bmm(1.0, self.v, self.eps))

    @property
    def _alpha_btc(self) -> float:
        return float(theory.alpha_btc(1.0, self.horizon, self.n_arms, self.v, self.delta, self.eps))


class _Master(_HeavyTailed):
    """Algorithm 3 over one of the basic algorithms; "some arm" (step 11) is chosen by `explore`.

    "first", the lowest index; "random"; "widest"; or "optimistic", the largest upper bound, which
    looks at payoffs and so voids the independence that the paper's analysis needs.
    """

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
        explore: str = "first",
        seed: int = 0,
    ) -> None:
        super().__init__(
            horizon, n_arms, dim, eps=eps, v=v, delta=delta, width_scale=width_scale, seed=seed
        )
        self.explore = one_of("explore", explore, EXPLORE_RULES)
        self._prepare()

    def _prepare(self) -> None:
        raise NotImplementedError

    def _staged_state(self, kind: int, gain: float, **what: float | bool) -> State:
        self.n_stages = max(1, math.floor(math.log(self.rounds)))
        return self._new_state(
            kind,
            n_stages=self.n_stages,
            explore=EXPLORE_RULES.index(self.explore),
            eps=self.eps,
            gain=gain,
            offset=1.0,
            growth=self._growth,
            scale=self.width_scale,
            level=1 / math.sqrt(self.rounds),
            **what,
        )


class SupBMM(_Master):
    """Algorithm 3 over Algorithm 1 (BMM): r plays a round, medians of r estimates."""

    def _prepare(self) -> None:
        r = theory.plays_per_round(self.horizon, self.n_arms, self.delta)
        self._schedule(r, self.horizon // r)
        self._state = self._staged_state(st.SUP_BMM, self._alpha_bmm, columns=r)


class SupBTC(_Master):
    """Algorithm 3 over Algorithm 2 (BTC): one play a round, truncated terms."""

    def _prepare(self) -> None:
        self._schedule(1, self.horizon)
        self._state = self._staged_state(
            st.SUP_BTC, self._alpha_btc, truncates=True, keeps_history=self.eps < 1
        )


class _Plain(_HeavyTailed):
    """No stages: the largest upper bound over the whole history."""

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
        constants: str = "theory",
        seed: int = 0,
    ) -> None:
        super().__init__(
            horizon, n_arms, dim, eps=eps, v=v, delta=delta, width_scale=width_scale, seed=seed
        )
        self.constants = one_of("constants", constants, CONSTANTS)
        self._prepare(circulated=self.constants == "circulated")

    def _prepare(self, circulated: bool) -> None:
        raise NotImplementedError

    def _plain_state(
        self,
        kind: int,
        shrink: float,
        *,
        gain: float = 0.0,
        offset: float = 0.0,
        columns: int = 0,
        n_medians: int = 0,
        truncates: bool = False,
        constants: tuple[float, ...] = (),
    ) -> State:
        return self._new_state(
            kind,
            eps=self.eps,
            gain=gain,
            offset=offset,
            growth=self._growth,
            scale=self.width_scale / shrink,
            columns=columns,
            n_medians=n_medians,
            truncates=truncates,
            keeps_history=truncates and kind == st.FLAT_BTC and self.eps < 1,
            constants=constants,
        )


class FlatBMM(_Plain):
    """UCB straight on Algorithm 1, over the whole history: its payoffs are not independent."""

    def _prepare(self, circulated: bool) -> None:
        r = 31 if circulated else theory.plays_per_round(self.horizon, self.n_arms, self.delta)
        self._schedule(r, self.horizon // r)
        gain, offset = (0.01 / 6 * self._alpha_bmm, 0.0) if circulated else (self._alpha_bmm, 1.0)
        self._state = self._plain_state(st.FLAT_BMM, 1.0, gain=gain, offset=offset, columns=r)


class FlatBTC(_Plain):
    """UCB straight on Algorithm 2, over the whole history: its payoffs are not independent."""

    def _prepare(self, circulated: bool) -> None:
        self._schedule(1, self.horizon)
        gain, offset = (0.01 / 3 * self.v, 0.0) if circulated else (self._alpha_btc, 1.0)
        self._state = self._plain_state(st.FLAT_BTC, 1.0, gain=gain, offset=offset, truncates=True)


class MoM(_Plain):
    """MoM (Medina & Yang 2016): least squares on the median of means of each round's payoffs."""

    def _prepare(self, circulated: bool) -> None:
        rounds, plays = theory.mom_schedule(self.horizon, self.eps)
        self._schedule(plays, rounds)
        groups, size = theory.mom_groups(plays, self.delta)
        eps = self.eps
        deviation = (12 * self.v) ** (1 / (1 + eps)) * (
            8 * math.log(2 * rounds / self.delta) / plays
        ) ** (eps / (1 + eps))
        self._state = self._plain_state(
            st.MOM,
            40.0 if circulated else 1.0,
            n_medians=groups,
            constants=(deviation, math.log(rounds), groups, size),
        )


class CRT(_Plain):
    """CRT (Medina & Yang 2016): least squares on payoffs truncated at η_t as they arrive."""

    def _prepare(self, circulated: bool) -> None:
        self._schedule(1, self.horizon)
        self._state = self._plain_state(
            st.CRT,
            10.0 if circulated else 1.0,
            constants=(1 / (1 + self.eps), math.log(self.delta), self.v),
        )


class MENU(_Plain):
    """MENU (Shao et al. 2018): of k least-squares estimates, the one nearest to most others."""

    def _prepare(self, circulated: bool) -> None:
        k = 51 if circulated else theory.menu_plays(self.horizon, self.delta)
        self._schedule(k, self.horizon // k)
        at_one = float(theory.menu_beta(1.0, self.dim, self.v, self.eps))
        self._state = self._plain_state(
            st.MENU, 50.0 if circulated else 1.0, gain=at_one - 3, offset=3.0, columns=k
        )


class TOFU(_Plain):
    """TOFU (Shao et al. 2018): least squares in whitened coordinates, each truncated at b_t."""

    def _prepare(self, circulated: bool) -> None:
        self._schedule(1, self.horizon)
        T, d, v, delta, eps = self.horizon, self.dim, self.v, self.delta, self.eps
        self._state = self._plain_state(
            st.TOFU,
            5.0 if circulated else 1.0,
            gain=float(theory.tofu_beta(1.0, T, d, v, delta, eps)) - 1,
            offset=1.0,
            truncates=True,
            constants=(float(theory.tofu_threshold(1.0, T, v, delta, eps)),),
        )


class Uniform(Compiled):
    """Plays every arm with the same probability, whatever it has seen."""

    def __init__(self, horizon: int, n_arms: int, dim: int, *, seed: int = 0) -> None:
        super().__init__(horizon, n_arms, dim, seed=seed)
        self._schedule(1, self.horizon)
        self._state = self._new_state(st.UNIFORM)


class GreedyRidge(Compiled):
    """Plays the arm with the largest ridge estimate xᵀθ̂, θ̂ = (λI + VᵀV)⁻¹Vᵀy.

    With several `plays` a round y is their plain mean: what medians of as many are to be compared
    with. `ridge` is λ; the mean of p plays with λ = 1 weighs like single plays with λ = p.
    """

    def __init__(
        self,
        horizon: int,
        n_arms: int,
        dim: int,
        *,
        plays: int = 1,
        ridge: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(horizon, n_arms, dim, seed=seed)
        plays = whole("plays", plays, 1)
        if plays > self.horizon:
            raise ValueError(f"plays must be at most the horizon, {self.horizon}; got {plays}")
        self._schedule(plays, self.horizon // plays)
        self.ridge = real("ridge", ridge, "positive and finite", 0.0, math.inf, top=False)
        self._state = self._new_state(st.GREEDY, ridge=self.ridge)


class Blind(Compiled):
    """Never looks at a payoff: plays the arm with the smallest √(xᵀA⁻¹x), or with the largest.

    With `prefer="narrowest"` it plays what is most like the contexts that it has played before;
    with "widest" what is least like them. What it costs says how much of a regret is the
    instance's doing.
    """

    def __init__(
        self, horizon: int, n_arms: int, dim: int, *, prefer: str = "narrowest", seed: int = 0
    ) -> None:
        super().__init__(horizon, n_arms, dim, seed=seed)
        self.prefer = one_of("prefer", prefer, ("narrowest", "widest"))
        self._schedule(1, self.horizon)
        self._state = self._new_state(st.BLIND, gain=1.0 if prefer == "widest" else -1.0)


class LinUCB(Compiled):
    """Ridge with the width (α+1)√(xᵀA⁻¹x) of Chu et al. 2011, made for payoffs in [0, 1].

    `alpha` replaces their α = √(½ ln(2TK/δ)).
    """

    def __init__(
        self,
        horizon: int,
        n_arms: int,
        dim: int,
        *,
        delta: float = 0.01,
        alpha: float | None = None,
        width_scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(horizon, n_arms, dim, seed=seed)
        self.delta = real("delta", delta, "in (0, 1)", 0.0, 1.0, top=False)
        self.width_scale = real(
            "width_scale", width_scale, "positive and finite", 0.0, math.inf, top=False
        )
        if alpha is None:
            self.alpha = float(theory.linucb_alpha(self.horizon, self.n_arms, self.delta))
        else:
            self.alpha = real("alpha", alpha, "above -1 and finite", -1.0, math.inf, top=False)
        self._schedule(1, self.horizon)
        self._state = self._new_state(
            st.LINUCB, gain=self.alpha, offset=1.0, scale=self.width_scale
        )
