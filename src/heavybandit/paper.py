"""The paper, transcribed: Algorithms 1–3 and the four baselines of Section 6, in plain NumPy.

Read this beside the PDF. Step numbers are the paper's, names are the paper's, the whole history is
kept and gone through again in every round, and nothing is clever. `heavybandit.engine` holds the
same policies compiled and streaming; the tests hold the two equal, arm by arm, for values of the
size that R4 names.

    V  (n, d)  contexts played so far (in this stage)     V_t
    Y  (n, r)  their payoffs, r plays per round           r^j_{τ,a_τ}
    X  (K, d)  contexts on offer now                      x_{t,a}

What the paper leaves open is read as follows:

    R1   T counts plays.
    R2   t counts rounds.
    R3   Regret is counted in means, never in noisy payoffs.
    R4   Among values within `TIE` of the best, the lowest index wins. `TIE` is absolute, for values
         of about 1, as the model's are. Rounding may exceed it where payoffs are 10⁴ and more and
         v, their square, is 10⁸; then a policy and its twin may choose different arms in a tie.
    R5   The median of an even count is the lower of the middle two: the paper's estimator is one of
         the r estimators, so it must be one of the middle two.
    R6   A₁ = I.
    R7   v bounds the central moment for SupBMM, MoM and MENU, the raw one for SupBTC, CRT and TOFU.
    R8   `width_scale` multiplies the whole half-width.
    R9   SupBMM's master runs on T₀ = ⌊T/r⌋ rounds, r = ⌈8 ln(2KT ln T/δ)⌉ with T in plays. It has
         max(1, ⌊ln T₀⌋) stages, so at least one, and the level 1/√T₀.
    R10  SupBTC's master runs on T₀ = T rounds; stages and level as in R9.
    R11  "Some arm" is chosen by `explore`. "optimistic" looks at payoffs and so voids the
         independence that Propositions 1 and 2 need. FlatBMM and FlatBTC, which have no stages,
         void it too.
    R12  Past the last stage the master exploits, by the upper bounds of the last stage.
    R13  Widths use A⁻¹, as Algorithms 1 and 2 print.
    R14  Only surviving arms are looked at.
    R15  Where the paper compares with ≤ or ≥, values that are equal in exact arithmetic must pass
         whatever their last bit says. A bound on a size (steps 7, 8 and 11, η_t, b_t) is therefore
         taken 1 + `TIE` times as large, and the difference of step 14 larger by `TIE`. Equality is
         not rare: with v = 3, SupBMM's α + 1 is 7, and after 195 rounds with one unit vector
         7/√196 is 2^{-1}.
    R16  Three more knobs are ours, each 1 in the paper. `ridge` is λ of A₁ = λI and enters nowhere
         else: MoM and CRT take det A/det A₁ for their det A, and no "+1" becomes √λ. `level_scale`
         multiplies the level 1/√T₀ of step 8. `threshold_scale` multiplies h (step 6), η_t and b_t.

The constants of MENU and TOFU are those of Shao et al. 2018 (NeurIPS). Those of MoM and CRT were
taken from a public implementation that, by its own account, descends from the authors' own (the
code of arXiv 2110.13876, whose algorithm files say that they come from arXiv 2004.13465 with
permission and were modified); we had no access to the text of Medina & Yang 2016, and CRT's
√(2v² ln t) could not be confirmed.
`constants="circulated"` takes its plays per round, its shrunken widths and its thresholds (BTC's h
is the 2-norm for every ε; TOFU's b_t has v/ln(2T/δ) to the power ½ and lags two rounds), with v the
central moment throughout; it is a reading of its own, never "the paper's". Driven beside that code
on the same contexts and payoffs it chooses the same arms but for these differences, which remain:

    ties     R4; there, whichever value has the largest last bit
    median   R5; there, MoM's median of an even count is the mean of the middle two
    rounds   MoM's m is rounded down; there, its β has m as it is and it makes ⌈m⌉ rounds. The flat
             BMM and MENU make ⌊T/plays⌋ rounds; there, one more
    t        the widths of round t have t; there, all but MoM's have t − 1 (and no growth in round
             1), which for ε = 1 matters to CRT alone
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from .policy import (
    TIE,
    Floats,
    HeavyTailedPolicy,
    Look,
    PlainSettings,
    StagedSettings,
    TruncatingSettings,
)


def argmax(values: Floats) -> int:
    """The lowest index among the values within TIE of the largest (R4)."""
    return int(np.flatnonzero(values >= values.max() - TIE)[0])


def argmin(values: Floats) -> int:
    """The lowest index among the values within TIE of the smallest (R4)."""
    return int(np.flatnonzero(values <= values.min() + TIE)[0])


def lower_median(values: Floats) -> Floats:
    """The median along the last axis; of an even count, the lower of the middle two (R5)."""
    middle = (values.shape[-1] - 1) // 2
    return np.asarray(np.sort(values, axis=-1)[..., middle])


def bmm(
    V: Floats,  # (n, d)
    Y: Floats,  # (n, r)
    X: Floats,  # step 4, (K, d)
    alpha: float,
) -> tuple[Floats, Floats]:
    """Algorithm 1 (BMM): medians of r least-squares estimates, and their half-widths."""
    A_inv = np.linalg.inv(np.eye(V.shape[1]) + V.T @ V)  # step 1
    b = V.T @ Y  # step 2, one column per play
    theta = A_inv @ b  # step 3
    r_hat = lower_median(X @ theta)  # steps 5–6, one row per arm
    w = (alpha + 1) * np.sqrt(np.einsum("ad,de,ae->a", X, A_inv, X))  # step 7
    return r_hat, w


def btc(
    V: Floats,  # step 2, (n, d)
    y: Floats,  # (n,)
    X: Floats,  # step 3, (K, d)
    alpha: float,
    eps: float,
) -> tuple[Floats, Floats]:
    """Algorithm 2 (BTC): truncated least-squares estimates, and their half-widths."""
    A_inv = np.linalg.inv(np.eye(V.shape[1]) + V.T @ V)  # step 1
    beta = X @ A_inv @ V.T  # steps 4–5, one row per arm
    h = np.linalg.norm(beta, ord=1 + eps, axis=1, keepdims=True)  # step 6
    kept = np.where(np.abs(beta * y) <= h * (1 + TIE), beta * y, 0.0)  # step 7
    r_hat = kept.sum(axis=1)  # steps 8–9
    w = (alpha + 1) * np.sqrt(np.einsum("ad,de,ae->a", X, A_inv, X))  # step 10
    return r_hat, w


class _Literal(HeavyTailedPolicy):
    """Keeps the whole history: which context was played in each round, and what it paid."""

    def _prepare(self) -> None:
        self._x: list[Floats] = []
        self._y: list[Floats] = []

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        self._x.append(x)
        self._y.append(payoffs)

    def _history(self) -> tuple[Floats, Floats]:
        """V (n, d) and Y (n, plays) of all rounds so far."""
        V = np.array(self._x).reshape(-1, self.dim)
        Y = np.array(self._y).reshape(-1, self.plays)
        return V, Y

    def _growth(self) -> float:
        """t^{(1−ε)/(2(1+ε))}, by which widths grow (all but MoM's and CRT's)."""
        return float(self.round ** ((1 - self.eps) / (2 * (1 + self.eps))))

    def _log_term(self) -> float:
        """ln(2KT ln T / δ)."""
        T, K = self.horizon, self.n_arms
        return math.log(2 * K * T * math.log(T) / self.delta)

    def _alpha_bmm(self) -> float:
        """α_t of Proposition 1: (12v)^{1/(1+ε)} t^{(1−ε)/(2(1+ε))}."""
        return float((12 * self.v) ** (1 / (1 + self.eps)) * self._growth())

    def _alpha_btc(self) -> float:
        """α_t of Proposition 2: (⅔L + √(2Lv) + v) t^{(1−ε)/(2(1+ε))}, L = ln(2TK ln T / δ)."""
        L = self._log_term()
        return (2 / 3 * L + math.sqrt(2 * L * self.v) + self.v) * self._growth()

    def _bmm(self, V: Floats, Y: Floats, X: Floats, alpha: float) -> tuple[Floats, Floats]:
        """Algorithm 1 from A₁ = λI, which is that from I for contexts divided by √λ (R16)."""
        root = math.sqrt(self.ridge)
        return bmm(V / root, Y, X / root, alpha)


class _Truncating(_Literal, TruncatingSettings):
    """Estimates by Algorithm 2."""

    def _btc(
        self, V: Floats, y: Floats, X: Floats, alpha: float, eps: float
    ) -> tuple[Floats, Floats]:
        """Algorithm 2 from A₁ = λI, and with c·h for h: |βr| ≤ ch where |β(r/c)| ≤ h (R16)."""
        root, c = math.sqrt(self.ridge), self.threshold_scale
        r_hat, w = btc(V / root, y / c, X / root, alpha, eps)
        return c * r_hat, w


class _Master(_Literal, StagedSettings):
    """Algorithm 3: screens the arms through S stages, each with an index set of its own.

    With `level_scale` 1 the stages can run out (R12) only for 5, 6, 7 and 17 to 20 rounds: for any
    other number T₀ of rounds 2^{-S} ≤ 1/√T₀, so that in stage S either step 8 or step 11 applies.
    """

    def _prepare(self) -> None:
        super()._prepare()
        self.n_stages = max(1, math.floor(math.log(self.rounds)))  # step 1
        self._Psi: list[list[int]] = [[] for _ in range(self.n_stages + 1)]  # step 2; Ψ^s, s ≥ 1
        self._grows: int | None = None

    def _basic(self, V: Floats, Y: Floats, X: Floats) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def _choose(self, X: Floats, u: float) -> int:  # step 3: called once per round
        V, Y = self._history()
        s, A_hat = 1, np.arange(self.n_arms)  # step 4
        while True:  # step 5
            Psi = self._Psi[s]
            r_hat, w = self._basic(V[Psi], Y[Psi], X[A_hat])  # steps 6–7
            w = self.width_scale * w  # steps 6–7; 1 is the paper's (R8)
            upper = r_hat + w  # steps 6–7
            if np.all(w <= (1 + TIE) * self.level_scale / math.sqrt(self.rounds)):  # step 8
                self._grows = None  # step 10
                return int(A_hat[argmax(upper)])  # steps 9, 17
            wide = np.flatnonzero(w > (1 + TIE) * 2.0**-s)  # step 11
            if wide.size:  # step 11
                self._grows = s  # step 12: Ψ^s takes this round in `_learn`
                return int(A_hat[wide[self._some(w[wide], upper[wide], u)]])  # steps 12, 17
            stays = upper >= upper.max() - 2.0 ** (1 - s) - TIE  # steps 13–14
            if s == self.n_stages:  # step 15: no stage is left, so exploit (R12)
                self._grows = None  # step 15
                return int(A_hat[stays][argmax(upper[stays])])  # steps 15, 17
            A_hat = A_hat[stays]  # step 14
            s = s + 1  # step 15

    def _some(self, w: Floats, upper: Floats, u: float) -> int:
        """Which of the arms with w > 2^{-s}: the paper says "some" (R11)."""
        if self.explore == "first":
            return 0
        if self.explore == "random":
            return int(u * len(w))
        return argmax(w if self.explore == "widest" else upper)

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        super()._learn(x, payoffs)  # steps 18–19
        if self._grows is not None:  # step 12
            self._Psi[self._grows].append(len(self._x) - 1)  # step 12


class SupBMM(_Master):
    """Algorithm 3 over Algorithm 1 (BMM): r plays per round, medians of r estimates."""

    moment = "central"
    look = Look("#D55E00", "o", "-")

    def _plays_and_rounds(self) -> tuple[int, int]:
        r = math.ceil(8 * self._log_term())  # step 18; r of Theorem 1
        return r, self.horizon // r

    def _basic(self, V: Floats, Y: Floats, X: Floats) -> tuple[Floats, Floats]:
        return self._bmm(V, Y, X, self._alpha_bmm())  # step 6


class SupBTC(_Master, _Truncating):
    """Algorithm 3 over Algorithm 2 (BTC): one play per round, truncated terms."""

    moment = "raw"
    look = Look("#0072B2", "s", "-")

    def _plays_and_rounds(self) -> tuple[int, int]:
        return 1, self.horizon  # step 19

    def _basic(self, V: Floats, Y: Floats, X: Floats) -> tuple[Floats, Floats]:
        return self._btc(V, Y[:, 0], X, self._alpha_btc(), self.eps)  # step 7


class FlatBMM(_Literal, PlainSettings):
    """UCB straight on Algorithm 1, over the whole history: its payoffs are not independent."""

    moment = "central"
    look = Look("#D55E00", "o", ":")

    def _plays_and_rounds(self) -> tuple[int, int]:
        r = 31 if self._circulated else math.ceil(8 * self._log_term())
        return r, self.horizon // r

    def _choose(self, X: Floats, u: float) -> int:
        alpha = self._alpha_bmm()
        if self._circulated:
            alpha = 0.01 / 6 * alpha - 1  # Algorithm 1 adds the 1 again
        r_hat, w = self._bmm(*self._history(), X, alpha)
        return argmax(r_hat + self.width_scale * w)


class FlatBTC(PlainSettings, _Truncating):
    """UCB straight on Algorithm 2, over the whole history: its payoffs are not independent."""

    moment = "raw"
    look = Look("#0072B2", "s", ":")

    def _choose(self, X: Floats, u: float) -> int:
        alpha, eps = self._alpha_btc(), self.eps
        if self._circulated:
            alpha = 0.01 / 3 * self.v * self._growth() - 1  # Algorithm 2 adds the 1 again
            eps = 1.0  # h = ‖β‖₂
        V, Y = self._history()
        r_hat, w = self._btc(V, Y[:, 0], X, alpha, eps)
        return argmax(r_hat + self.width_scale * w)


class _Baseline(_Literal, PlainSettings):
    """Plays argmax xᵀθ̂ + β‖x‖_{A⁻¹} with A = λI + Σ xxᵀ over all past rounds."""

    _circulated_divisor: ClassVar[float]

    def _choose(self, X: Floats, u: float) -> int:
        V, Y = self._history()
        A = self.ridge * np.eye(self.dim) + V.T @ V
        theta = self._estimate(A, V, Y)
        beta = self._beta(A) / (self._circulated_divisor if self._circulated else 1.0)
        norms = np.sqrt(np.einsum("ad,de,ae->a", X, np.linalg.inv(A), X))
        return argmax(X @ theta + self.width_scale * beta * norms)

    def _estimate(self, A: Floats, V: Floats, Y: Floats) -> Floats:
        raise NotImplementedError

    def _beta(self, A: Floats) -> float:
        raise NotImplementedError

    def _log_root_det(self, A: Floats) -> float:
        """ln √det A, relative to det A₁ (R16)."""
        return float(np.linalg.slogdet(A)[1] - self.dim * math.log(self.ridge)) / 2


class MoM(_Baseline):
    """MoM (Medina & Yang 2016): least squares on the median of means of each round's payoffs."""

    moment = "central"
    look = Look("#009E73", "^", "--")
    _circulated_divisor = 40.0

    def _plays_and_rounds(self) -> tuple[int, int]:
        power = self.horizon ** (2 * self.eps / (1 + 3 * self.eps))
        m = math.floor(power * (1 + 1e-12))  # 1000^{1/3} is 10, not 9.999…
        return self.horizon // m, m

    def _estimate(self, A: Floats, V: Floats, Y: Floats) -> Floats:
        k = min(math.floor(8 * math.log(2 / self.delta)), self.plays)
        n = self.plays // k
        means = Y[:, : k * n].reshape(-1, k, n).mean(axis=2)
        return np.linalg.inv(A) @ (V.T @ lower_median(means))

    def _beta(self, A: Floats) -> float:
        """β = (12v)^{1/(1+ε)} (8 ln(2m/δ)/r)^{ε/(1+ε)} [√(2 ln(m√det A)) + √t] + 1."""
        m, r, eps, t = self.rounds, self.plays, self.eps, self.round
        log_part = (8 * math.log(2 * m / self.delta) / r) ** (eps / (1 + eps))
        deviation = (12 * self.v) ** (1 / (1 + eps)) * log_part
        root = math.sqrt(2 * (math.log(m) + self._log_root_det(A)))
        return deviation * (root + math.sqrt(t)) + 1


class CRT(_Baseline, TruncatingSettings):
    """CRT (Medina & Yang 2016): least squares on payoffs truncated at η_t as they arrive."""

    moment = "raw"
    look = Look("#CC79A7", "v", "--")
    _circulated_divisor = 10.0

    def _learn(self, x: Floats, payoffs: Floats) -> None:
        eta = self.threshold_scale * self.round ** (1 / (2 * (1 + self.eps)))
        super()._learn(x, np.where(np.abs(payoffs) <= eta * (1 + TIE), payoffs, 0.0))

    def _estimate(self, A: Floats, V: Floats, Y: Floats) -> Floats:
        return np.linalg.inv(A) @ (V.T @ Y[:, 0])

    def _beta(self, A: Floats) -> float:
        """β = 2√(2 t^{1/(1+ε)} ln(√det A/δ)) + √(2v² ln t) + 1."""
        t, log_ratio = self.round, self._log_root_det(A) - math.log(self.delta)
        deviation = 2 * math.sqrt(2 * t ** (1 / (1 + self.eps)) * log_ratio)
        return deviation + math.sqrt(2 * self.v**2 * math.log(t)) + 1


class MENU(_Baseline):
    """MENU (Shao et al. 2018): of k least-squares estimates, the one nearest to most others."""

    moment = "central"
    look = Look("#E69F00", "D", "--")
    _circulated_divisor = 50.0

    def _plays_and_rounds(self) -> tuple[int, int]:
        k = 51 if self._circulated else math.ceil(24 * math.log(math.e * self.horizon / self.delta))
        return k, self.horizon // k

    def _estimate(self, A: Floats, V: Floats, Y: Floats) -> Floats:
        theta = (np.linalg.inv(A) @ (V.T @ Y)).T  # (k, d): θ̃^j, one row per play
        m = np.empty(self.plays)
        for j in range(self.plays):
            apart = theta[j] - theta
            m[j] = lower_median(np.sqrt(np.einsum("sd,de,se->s", apart, A, apart)))
        return theta[argmin(m)]  # k_*

    def _beta(self, A: Floats) -> float:
        """β = 3[(9dv)^{1/(1+ε)} t^{(1−ε)/(2(1+ε))} + 1]."""
        return 3 * ((9 * self.dim * self.v) ** (1 / (1 + self.eps)) * self._growth() + 1)


class TOFU(_Baseline, TruncatingSettings):
    """TOFU (Shao et al. 2018): least squares in whitened coordinates, each truncated at b_t."""

    moment = "raw"
    look = Look("#56B4E9", "P", "--")
    _circulated_divisor = 5.0

    def _estimate(self, A: Floats, V: Floats, Y: Floats) -> Floats:
        T, eps, t = self.horizon, self.eps, self.round
        power, growth = 1 / (1 + eps), (1 - eps) / (2 * (1 + eps))
        if self._circulated:
            power, t = 0.5, max(t - 2, 0)
        b_t = self.threshold_scale * (self.v / math.log(2 * T / self.delta)) ** power * t**growth
        eigenvalues, Q = np.linalg.eigh(A)
        A_root_inv = Q @ np.diag(eigenvalues**-0.5) @ Q.T  # the symmetric root
        terms = (A_root_inv @ V.T) * Y[:, 0]  # row i: u^i_τ r_τ
        kept = np.where(np.abs(terms) <= b_t * (1 + TIE), terms, 0.0)
        return np.asarray(A_root_inv @ kept.sum(axis=1))

    def _beta(self, A: Floats) -> float:
        """β = 4√d v^{1/(1+ε)} (ln(2dT/δ))^{ε/(1+ε)} t^{(1−ε)/(2(1+ε))} + 1."""
        T, d, eps = self.horizon, self.dim, self.eps
        log_part = math.log(2 * d * T / self.delta) ** (eps / (1 + eps))
        return 4 * math.sqrt(d) * self.v ** (1 / (1 + eps)) * log_part * self._growth() + 1
