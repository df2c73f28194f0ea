"""Worlds, a noise and a policy so small that what comes out of them can be worked out by hand."""

from dataclasses import dataclass

import numpy as np

import heavybandit as hb
from heavybandit.noise import Additive


@dataclass(frozen=True)
class Silence(Additive):
    """No noise at all, but perhaps one draw of each block that spoils it."""

    size: float = 0.0
    spoiled_by: float = 0.0
    spoils: int = 1 << 60
    label = "silence"

    def draw(self, rng, n):
        draws = np.full(n, self.size)
        if self.spoils < n:
            draws[self.spoils] = self.spoiled_by
        return draws

    def moment_about(self, q, a):
        return abs(self.size - a) ** q


class TwoArms:
    """Arm 0 offers x = 1, arm 1 x = ½ in even rounds and ¼ in odd ones; θ* = 0.8.

    So arm 1 costs 0.8 − 0.4 = 0.4 per play in even rounds (from 0), 0.8 − 0.2 = 0.6 in odd ones.
    """

    n_arms, dim, name = 2, 1, "two-arms"

    def __init__(self, noise=None):
        self.noise = noise or Silence()
        self.asked = []

    def theta_star(self, seed):
        return np.array([0.8])

    def contexts(self, rng, first_round, n_rounds, plays):
        self.asked.append((first_round, n_rounds, plays))
        X = np.ones((n_rounds, 2, 1))
        X[:, 1, 0] = np.where(np.arange(first_round, first_round + n_rounds) % 2, 0.25, 0.5)
        return X


class SameArms:
    """The same contexts in every round."""

    def __init__(self, arms, theta, noise=None):
        self.arms, self.theta, self.noise = np.array(arms), np.array(theta), noise or Silence()
        self.n_arms, self.dim = self.arms.shape

    def theta_star(self, seed):
        return self.theta

    def contexts(self, rng, first_round, n_rounds, plays):
        return np.repeat(self.arms[None], n_rounds, axis=0)


class Scripted:
    """A plain Python policy that plays what it is told and remembers what it sees."""

    def __init__(self, arms, plays=1):
        self.plays, self.rounds, self.arms = plays, len(arms), arms
        self.contexts, self.payoffs = [], []

    def select(self, contexts):
        self.contexts.append(contexts)
        return self.arms[len(self.payoffs)]

    def update(self, payoffs):
        self.payoffs.append(payoffs)


def simple(**more):
    """Section 6, but smaller."""
    return hb.section6("student-t", n_arms=6, dim=4, **more)
