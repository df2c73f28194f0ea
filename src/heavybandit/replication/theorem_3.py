"""Notebook 05, Theorem 3: policies on its construction, and Lemma 8 exactly.

Lemma 8 bounds how much making one arm the good one changes what an algorithm sees. A deterministic
algorithm is a binary tree: after each sequence of payoffs, paid or not,
it names the next arm. With few plays all sequences can be gone through.
"""

from __future__ import annotations

import numpy as np
import scipy

from ..pipeline.recipes import recipe
from ..pipeline.spec import Experiment
from ..policy import Floats
from .ingredients import CONTROL_POLICIES, PAPER_POLICIES
from .regrets import Ints


def _lower(name: str, eps: float, longest: int, only: str | None = None) -> Experiment:
    """All policies with exact v, but for TOFU, or one of them. The good arms differ by seed."""
    six = (recipe(p.name, v="exact", eps=eps, delta=0.01) for p in PAPER_POLICIES)
    everyone = (*six, *CONTROL_POLICIES)
    return Experiment(
        name=name,
        what=f"Theorem 3's construction, repaired, ε = {eps:g}: {only or 'all policies but TOFU'}",
        worlds=tuple(
            recipe("lower_bound", dim=dim, n_arms=n_arms, eps=eps, gamma_from="stage")
            for dim, n_arms in ((5, 4), (17, 16), (9, 4), (17, 4))  # one stage, and several
        ),
        policies=tuple(p for p in everyone if (p.name == only if only else p.name != "TOFU")),
        horizons=tuple(T for T in (1_000, 4_000, 16_000) if longest >= T),
        seeds=20,
        checkpoints=1,
        curve_seeds=1,
    )


EXPERIMENTS = (
    _lower("lower", 1.0, 16_000),
    _lower("lower_half", 0.5, 16_000),
    _lower("lower_tofu", 1.0, 4_000, only="TOFU"),  # whose matrix roots take a hundred times longer
    _lower("lower_tofu_half", 0.5, 4_000, only="TOFU"),
)


def kl_bits(p: Floats | float, q: Floats | float) -> Floats:
    """KL(p‖q) of two Bernoulli variables, with logarithms to base 2 as in the proof of Lemma 8."""
    p, q, rel_entr = np.asarray(p), np.asarray(q), scipy.special.rel_entr
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
