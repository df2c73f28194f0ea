"""Lemma 8, exactly: how much can making one arm the good one change what an algorithm sees?

An algorithm without luck of its own is a binary tree: after each sequence of payoffs, paid or not,
it names the next arm. With few plays all sequences can be gone through.
"""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from ..engine.state import Ints
from ..policy import Floats


def kl_bits(p: Floats | float, q: Floats | float) -> Floats:
    """KL(p‖q) of two Bernoulli variables, with logarithms to base 2 as in the proof of Lemma 8."""
    p, q = np.asarray(p), np.asarray(q)
    return np.asarray((rel_entr(p, q) + rel_entr(1 - p, 1 - q)) / np.log(2))


def random_tree(rng: np.random.Generator, n_arms: int, plays: int) -> list[Ints]:
    """An algorithm at random: for each number of plays so far, the arm after each sequence."""
    return [rng.integers(n_arms, size=2**t) for t in range(plays)]


def stubborn_tree(arm: int, plays: int) -> list[Ints]:
    """The algorithm that always plays one arm: the most that a change of that arm can show."""
    return [np.full(2**t, arm) for t in range(plays)]


def greedy_tree(arm: int, n_arms: int, plays: int) -> list[Ints]:
    """Stays with an arm while it pays, and goes to the next when it does not."""
    levels = [np.array([arm])]
    for _ in range(1, plays):
        stay = levels[-1]
        levels.append(np.column_stack([(stay + 1) % n_arms, stay]).ravel())
    return levels


def change_of_measure(tree: list[Ints], good: int, p: float) -> tuple[float, float]:
    """Total variation between P_good and P_unif on the payoffs, and E_unif[N_good].

    All arms pay with probability p under P_unif; the good one with 2p under P_good. For 0 ≤ f ≤ M,
    the most that E_good f can exceed E_unif f is M times the total variation.
    """
    unif, changed, count = np.ones(1), np.ones(1), 0.0
    for arms in tree:
        count += float(unif[arms == good].sum())
        pays = np.where(arms == good, 2 * p, p)
        unif = np.column_stack([unif * (1 - p), unif * p]).ravel()
        changed = np.column_stack([changed * (1 - pays), changed * pays]).ravel()
    return float(np.abs(unif - changed).sum() / 2), count
