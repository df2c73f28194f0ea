"""`replay`: what a policy would have been paid, from the log of a randomised experiment.

In a log every round has contexts, the arm that was played and its payoff; what the other arms would
have paid is not known. A logged round counts when the policy chooses the arm that was logged: then,
and only then, it is shown the payoff. With w = 1/p, p the probability with which the logged arm had
been drawn, over the rounds that count,

    mean         Σ w·payoff / Σ w       biased by O(1/used); an offset of the payoffs just adds
    unbiased     Σ w·payoff / offered   (Horvitz and Thompson) more variable, moved by an offset

For a policy that does not learn both estimate what it is paid per round. One that learns is judged
as it was in each round, having learnt from the rounds that counted until then: with equal
probabilities these are distributed as in a real run of as many rounds; with unequal ones contexts
whose chosen arm was often logged come up more often than they would. `thin=True` undoes this at the
price of rounds: one that would count does so with probability (smallest p)/p, and has weight 1.

What cannot be repaired afterwards: an arm that could not have been drawn, probabilities that
depended on what the log does not say, a policy's influence on the contexts to come.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import ended, flag, unchangeable, unmasked, whole
from ..engine.state import Ints
from ..fresh import check_fresh, note_played
from ..policy import LARGEST, LONGEST, NOISE_STREAM, Floats, stream, told_norm
from ..simulate import Report, reporting

CONFIDENCE = 0.95  # of the interval, both sides together
OFF = 6.0  # standard errors at which logged arms contradict their probabilities


@dataclass(frozen=True)
class Replay:
    """What a policy was paid in the rounds of a log that count."""

    policy: str  # the policy's name
    mean: float  # the payoff per round: Σ w·payoff / Σ w
    low: float  # a 95 % interval for it, by Student's t with the sums of each group …
    high: float  # … too narrow where payoffs are so heavy-tailed that few of them decide
    unbiased: float  # Σ w·payoff / offered, which has no bias and a larger variance
    used: int  # rounds that counted …
    offered: int  # … of so many that the policy was asked about
    logged: int  # and so many in the log; fewer are offered if the policy's horizon was reached
    effective: float  # (Σ w)²/Σ w², how many rounds of equal weight tell as much
    rounds: Ints = field(repr=False)  # which rounds counted, from 0
    arms: Ints = field(repr=False)  # the arm played in each of them
    weights: Floats = field(repr=False)  # and its weight

    def __repr__(self) -> str:
        end = " until its horizon" if self.offered < self.logged else ""
        return (
            f"<{self.policy}: {self.mean:.4g} per round ({self.low:.4g} to {self.high:.4g}), "
            f"{self.used} of {self.offered} logged rounds used{end}>"
        )


def replay(
    policy: Any,
    contexts: Any,
    arms: Any,
    payoffs: Any,
    propensities: Any = None,
    *,
    groups: Any = None,
    thin: bool = False,
    seed: int = 0,
    progress: bool | Report = False,
) -> Replay:
    """Judge a fresh policy of one play per round on a log of n rounds; see above for what it says.

    contexts      (n, n_arms, dim), each of norm at most 1; or (n_arms, dim), the same in all rounds
    arms          (n,), the arm that was drawn in each round, from 0
    payoffs       (n,), what it paid
    propensities  (n,), with which probability it had been drawn; or (n, n_arms) or (n_arms,), those
                  of all arms. Not given: all arms alike
    groups        (n,), equal for rounds that belong together, such as those of one person, whose
                  payoffs the interval does not take for independent
    thin          count rounds at random instead of weighting them; `seed` is for this
    progress      True for a bar on stderr, or a function that is told how many rounds have passed

    A policy is asked for an arm in every logged round, and shown a payoff only where that was the
    arm logged; so it must bear being asked again, and draw anew if it is randomised (before that a
    method `decline`, if it has one, is called). The order of the log is kept.
    """
    log = _Log(contexts, arms, payoffs, propensities, groups)
    name = _check_policy(policy, log)
    u = stream(whole("seed", seed, 0), NOISE_STREAM).random(log.n)
    chance = log.p.min() / log.p if flag("thin", thin) else np.ones(log.n)
    used: list[int] = []
    offered = 0
    with reporting(progress, log.n) as report:
        for t in range(log.n):
            if len(used) == policy.rounds:
                break
            offered = t + 1
            note_played(policy, offered)
            report(1)
            if _answer(policy, name, log.X[t], t) == log.arms[t] and u[t] < chance[t]:
                try:
                    policy.update(log.payoffs[t : t + 1].copy())
                except StopIteration as error:
                    raise ended(f"update of {name}", error) from error
                used.append(t)
            elif hasattr(policy, "decline"):
                try:
                    policy.decline()
                except StopIteration as error:
                    raise ended(f"decline of {name}", error) from error
    if len(used) < 2:
        raise ValueError(
            f"payoffs of {len(used)} rounds say nothing: {name} chose the logged arm in no more of "
            f"the {offered} rounds that it was asked about"
        )
    rounds = np.array(used)
    weights = np.ones(len(used)) if thin else 1 / log.p[rounds]
    mean, off = _mean_and_limit(log.payoffs[rounds], weights, log.groups[rounds])
    whole_weight = offered * log.p.min() if thin else offered
    return Replay(
        policy=name,
        mean=mean,
        low=mean - off,
        high=mean + off,
        unbiased=math.fsum(weights * log.payoffs[rounds]) / whole_weight,
        used=len(used),
        offered=offered,
        logged=log.n,
        effective=float(weights.sum() ** 2 / (weights**2).sum()),
        rounds=rounds,
        arms=log.arms[rounds],
        weights=weights,
    )


def _mean_and_limit(payoffs: Floats, weights: Floats, groups: Ints) -> tuple[float, float]:
    """Σ w·y/Σ w and how far it may be off: Student's t, on the groups' sums of w·(y − mean)/Σ w."""
    from scipy.special import stdtrit  # slow to import

    total = math.fsum(weights)
    mean = math.fsum(weights * payoffs) / total
    _, member = np.unique(groups, return_inverse=True)
    sums = np.bincount(member, weights * (payoffs - mean) / total)
    m = len(sums)
    if m < 2:
        return mean, math.inf
    error = math.sqrt(m / (m - 1) * math.fsum(sums**2))
    return mean, float(stdtrit(m - 1, (1 + CONFIDENCE) / 2)) * error


def _answer(policy: Any, name: str, X: Floats, t: int) -> int:
    try:
        answer = policy.select(X)
    except StopIteration as error:
        raise ended(f"select of {name}", error) from error
    try:
        arm = operator.index(answer)
    except TypeError:
        arm = -1
    if not 0 <= arm < len(X):
        raise ValueError(
            f"select of {name} must return a whole number from 0 to {len(X) - 1}; "
            f"in logged round {t + 1} it returned {answer!r:.60}"
        )
    return arm


def _check_policy(policy: Any, log: _Log) -> str:
    """Refuse a policy that cannot be replayed on this log; its name."""
    name = check_fresh(policy, log.X.shape[1], log.X.shape[2], "the log")
    if policy.plays != 1:
        raise ValueError(
            f"policy must make one play per round, for a log has one payoff per round; {name} "
            f"makes {policy.plays}"
        )
    return name


class _Log:
    """A log whose parts fit together, or an error that says which does not."""

    def __init__(
        self, contexts: Any, arms: Any, payoffs: Any, propensities: Any, groups: Any
    ) -> None:
        self.payoffs = _numbers("payoffs", payoffs)
        self.n = n = len(self.payoffs) if self.payoffs.ndim == 1 else 0
        if n < 2:
            raise ValueError(
                f"payoffs must be a list of at least two numbers, got shape {self.payoffs.shape}"
            )
        if (largest := np.abs(self.payoffs).max()) > LARGEST:
            raise ValueError(
                f"payoffs must be at most {LARGEST:g} in absolute value, got one of {largest:g}"
            )
        X = unchangeable(_numbers("contexts", contexts))
        if X.ndim == 2:
            X = np.broadcast_to(X, (n, *X.shape))
        if X.ndim != 3 or len(X) != n or not X.size:
            raise ValueError(
                f"contexts must have the shape (rounds, n_arms, dim) with as many rounds as "
                f"payoffs, {n}, or (n_arms, dim); got {np.shape(contexts)}"
            )
        norms = np.sqrt((X * X).sum(axis=2))
        if norms.max() > LONGEST:
            t, a = np.unravel_index(int(np.argmax(norms)), norms.shape)
            raise ValueError(
                f"contexts must have norm at most 1; arm {a} has {told_norm(norms.max())} in round "
                f"{t + 1}, the longest: divide all contexts by that"
            )
        self.X, self.n_arms = X, X.shape[1]
        self.arms = self._arms(arms)
        self.p = self._propensities(propensities)
        self.groups = np.arange(n) if groups is None else np.asarray(groups)
        if self.groups.shape != (n,):
            raise ValueError(f"groups must be {n} labels, got shape {self.groups.shape}")

    def _arms(self, arms: Any) -> Ints:
        given = _numbers("arms", arms)
        if given.shape != (self.n,):
            raise ValueError(f"arms must be as many as payoffs, {self.n}; got shape {given.shape}")
        wrong = np.flatnonzero((given != np.floor(given)) | (given < 0) | (given >= self.n_arms))
        if wrong.size:
            raise ValueError(
                f"arms must be whole numbers from 0 to {self.n_arms - 1}, as contexts has "
                f"{self.n_arms} arms; that of round {wrong[0] + 1} is {given[wrong[0]]:g}"
            )
        return given.astype(np.int64)

    def _propensities(self, propensities: Any) -> Floats:
        """The probability of each logged arm, if the arms logged do not contradict it."""
        n, K = self.n, self.n_arms
        p = np.full(n, 1 / K) if propensities is None else _numbers("propensities", propensities)
        if p.shape not in ((n,), (n, K), (K,)):
            raise ValueError(
                f"propensities must be those of the logged arms, {n}, or of all arms, "
                f"({n}, {K}) or ({K},); got shape {p.shape}"
            )
        every = None if p.shape == (n,) else np.broadcast_to(p, (n, K))
        if every is not None:
            off = np.flatnonzero(np.abs(every.sum(axis=1) - 1) > 1e-6)
            if off.size:
                raise ValueError(
                    f"propensities of all arms must have sum 1; those of round {off[0] + 1} have "
                    f"{every[off[0]].sum():.6g}"
                )
            if every.min() <= 0:
                t, a = np.argwhere(every <= 0)[0]
                raise ValueError(
                    f"propensities must be positive; arm {a} could not have been drawn in round "
                    f"{t + 1}, so that nothing is known of a policy that may choose it there: "
                    f"leave out such rounds, or such arms"
                )
            p = every[np.arange(n), self.arms]
        wrong = np.flatnonzero(~((p > 0) & (p <= 1)))
        if wrong.size:
            raise ValueError(
                f"propensities must be above 0 and at most 1; that of round {wrong[0] + 1} is "
                f"{p[wrong[0]]:g}"
            )
        for arm in range(K):
            # If p is right, Σ 1/p over the rounds with this arm is n on average, with the variance
            # Σ (1/p − 1) over all rounds; where its p is not known there, the smallest p bounds it.
            mine = self.arms == arm
            found, each = float((1 / p[mine]).sum()), p.min() if every is None else every[:, arm]
            if abs(found - n) > OFF * math.sqrt(np.broadcast_to(1 / each - 1, n).sum()) + 1e-9 * n:
                seen = f"arm {arm} was logged in {mine.sum()} of {n} rounds"
                raise ValueError(
                    f"arms must be equally frequent if propensities are not given, and {seen}: "
                    f"give the probability with which each round's arm had been drawn"
                    if propensities is None
                    else f"propensities do not fit the log: {seen}, and over these 1/p has the sum "
                    f"{found:.6g}, which should be about {n}"
                )
        return p


def _numbers(name: str, given: Any) -> Floats:
    """An array of finite numbers, with nothing masked."""
    given = unmasked(name, given)
    try:
        array = np.array(given)
        if array.dtype.kind != "c":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, got {given!r:.60}") from None
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real numbers, got complex ones")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0]
        at = f" of round {where[0] + 1}" if len(where) else ""
        raise ValueError(f"{name} must be finite; that{at} is {array[tuple(where)]}")
    return array
