"""LinUCB by others: the same algorithm on the same contexts and payoffs, choosing the same arms.

All of them keep A = I + Σxxᵀ and b = Σrx over the contexts played, one model for all arms, and play
the arm with the largest xᵀA⁻¹b + c√(xᵀA⁻¹x), c the factor of ours. That each chooses the arms that
the engine chooses, in every round, is checked in every turn. Each is driven as its documentation
has it for a decision a round: predict, pay, learn. Whatever form it likes its input in is made
before the clock starts. In round 1 nothing is known and all unit contexts tie but for rounding, so
everyone is given the engine's first arm.

*NumPy*: a loop of our own, written for speed: all arms at once, A⁻¹ by Sherman–Morrison.

*MABWiser* (`LearningPolicy.LinUCB`) has a model for each arm, and one context for all of them. With
a single arm it is one model, and the K contexts of a round are K contexts to predict for:
`predict_expectations` gives the upper bound of each, and the largest is ours to take. Used in the
usual way, K arms and the contexts of a round strung together, it would learn K models of K·d
features each: another algorithm, and far slower. It inverts A anew in every `partial_fit`. Arrays
are what it takes fastest: lists it copies, and checks one by one.

*coba* (`LinUCBLearner`) crosses features of context and action as told: `features=["a"]` with no
context is x itself, without the constant and the products of its default. It updates by
Sherman–Morrison, and draws its arm from probabilities that are 1 for the largest bound. Actions are
lists of numbers, as its encoder wants them. Its own experiment runner is left out: it adds time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import heavybandit as hb
from heavybandit.engine.offers import price
from heavybandit.engine.state import Ints
from heavybandit.noise import Form
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, Floats, stream

from .measuring import Side, timed
from .sides import SEED, Case

MODULES = {"MABWiser": "mabwiser", "coba": "coba"}
HOW_TO_GET_THEM = "make bench installs them, and so does: pip install -e '.[bench]'"

Loop = Callable[[], list[int]]  # plays all rounds and returns the arms


@dataclass(frozen=True)
class Task:
    """Rounds of LinUCB over contexts and noise drawn beforehand."""

    X: Floats  # (n, K, d)
    means: Floats  # (n, K)
    best: Floats  # (n,)
    draws: Floats  # (n,)
    payoffs: Floats  # (n, K): what each arm would pay
    factor: float  # c
    arms: Ints  # what the engine chooses

    def play(self) -> None:
        """The engine's part; fills `arms`."""
        n = len(self.X)
        policy = hb.LinUCB(n, *self.X.shape[1:])
        curve = np.empty(n)
        policy.play_block(self.X, self.means, self.best, self.draws, Form(), 0.0, curve, self.arms)

    def engine(self) -> Side:
        """The engine, timed."""
        return partial(timed, len(self.X), self.play)

    def other(self, name: str) -> Side:
        """Another's LinUCB, timed, and checked for its arms."""
        prepare = LOOPS[name]

        def run() -> float:
            loop, chosen = prepare(self), []
            took = timed(len(self.X), lambda: chosen.extend(loop()))
            if chosen != self.arms.tolist():
                first = next(t for t, arm in enumerate(chosen) if arm != self.arms[t])
                raise AssertionError(
                    f"{name} chose arm {chosen[first]} in round {first + 1} where the engine "
                    f"chose {self.arms[first]}, so the two do not compute the same"
                )
            return took

        return run


def task(rounds: int) -> Task:
    """Section 6 with Student's t noise."""
    case = Case("LinUCB", rounds)
    world = case.world
    X = world.contexts(stream(SEED, CONTEXT_STREAM), 0, rounds, 1)
    draws = world.noise.draw(stream(SEED, NOISE_STREAM), rounds)
    means, best = np.empty((rounds, case.K)), np.empty(rounds)
    price(X, world.theta_star(SEED), means, best)
    arms = np.empty(rounds, dtype=np.int64)
    payoffs = world.noise.payoffs(means, draws[:, None])
    drawn = Task(X, means, best, draws, payoffs, case.build().alpha + 1, arms)
    drawn.play()
    return drawn


def installed() -> list[str]:
    """The peers that are there."""
    return [name for name, module in MODULES.items() if find_spec(module)]


def numpy_loop(given: Task) -> Loop:
    """LinUCB in NumPy."""
    X, payoffs, factor, first = given.X, given.payoffs, given.factor, int(given.arms[0])

    def run() -> list[int]:
        A_inv, b, theta = np.eye(X.shape[2]), np.zeros(X.shape[2]), np.zeros(X.shape[2])
        arms: list[int] = []
        for offered, pays in zip(X, payoffs, strict=True):
            solved = offered.dot(A_inv)  # A⁻¹x, one row per arm
            squares = np.vecdot(solved, offered)  # xᵀA⁻¹x
            arm = int((offered.dot(theta) + factor * np.sqrt(squares)).argmax()) if arms else first
            u = solved[arm]
            A_inv -= u[:, None] * (u / (1.0 + squares[arm]))
            b += pays[arm] * offered[arm]
            theta = A_inv.dot(b)
            arms.append(arm)
        return arms

    return run


def mabwiser_loop(given: Task) -> Loop:
    """LinUCB in MABWiser."""
    from mabwiser.mab import MAB, LearningPolicy

    X, payoffs, first = given.X, given.payoffs, int(given.arms[0])
    model: Any = MAB([0], LearningPolicy.LinUCB(alpha=given.factor, l2_lambda=1.0))
    only = np.zeros(1, dtype=np.int64)  # the one arm, as a decision

    def run() -> list[int]:
        model.fit(only, payoffs[0, first : first + 1], X[0, first : first + 1])
        arms = [first]
        for offered, pays in zip(X[1:], payoffs[1:], strict=True):
            upper = [bound[0] for bound in model.predict_expectations(offered)]
            arm = upper.index(max(upper))
            model.partial_fit(only, pays[arm : arm + 1], offered[arm : arm + 1])
            arms.append(arm)
        return arms

    return run


def coba_loop(given: Task) -> Loop:
    """LinUCB in coba."""
    from coba.learners import LinUCBLearner

    rounds = list(zip(given.X.tolist(), given.payoffs.tolist(), strict=True))
    first = int(given.arms[0])
    learner: Any = LinUCBLearner(alpha=given.factor, features=["a"])

    def run() -> list[int]:
        learner.learn(None, rounds[0][0][first], rounds[0][1][first], 1.0)
        arms = [first]
        for offered, pays in rounds[1:]:
            action, probability = learner.predict(None, offered)
            arm = offered.index(action)
            learner.learn(None, action, pays[arm], probability)
            arms.append(arm)
        return arms

    return run


LOOPS = {"NumPy": numpy_loop, "MABWiser": mabwiser_loop, "coba": coba_loop}
