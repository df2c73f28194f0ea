"""What `check_policy` says of policies that are right, and of each way to be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import heavybandit as hb


class Mine:
    """Plays the arm that paid most on average so far."""

    plays = 1

    def __init__(self, horizon: int, n_arms: int, dim: int) -> None:
        self.rounds = horizon
        self.paid, self.times = np.zeros(n_arms), np.zeros(n_arms)

    def select(self, contexts: np.ndarray) -> int:
        self.arm = int(np.argmax(self.paid / np.maximum(self.times, 1)))
        return self.arm

    def update(self, payoffs: np.ndarray) -> None:
        self.paid[self.arm] += payoffs[0]
        self.times[self.arm] += 1


class Unseeded(Mine):
    def select(self, contexts: np.ndarray) -> int:
        self.arm = int(np.random.default_rng().integers(4))
        return self.arm


class WrongArm(Mine):
    def select(self, contexts: np.ndarray) -> int:
        super().select(contexts)
        return 4


class WritesContexts(Mine):
    def select(self, contexts: np.ndarray) -> int:
        contexts[0] = 0.0
        return super().select(contexts)


class TooLong(Mine):
    def __init__(self, horizon: int, n_arms: int, dim: int) -> None:
        super().__init__(horizon, n_arms, dim)
        self.rounds = horizon + 1


class NoUpdate:
    plays = 1
    rounds = 10

    def __init__(self, **_: Any) -> None: ...

    def select(self, contexts: np.ndarray) -> int:
        return 0


class HalfPlays(Mine):
    plays = 0.5  # type: ignore[assignment]


@pytest.mark.parametrize("cls", [Mine, hb.Uniform, hb.LinUCB, hb.GreedyRidge])
def test_nothing_is_wrong_with_a_policy_that_can_be_simulated(cls: Any) -> None:
    assert hb.check_policy(cls) == []


@pytest.mark.parametrize("name", ["SupBTC", "TOFU", "CRT", "MoM", "SupBMM", "MENU"])
def test_nothing_is_wrong_with_the_papers_policies_in_either_form(name: str) -> None:
    assert hb.check_policy(getattr(hb, name), v=4.0, rounds=20) == []
    assert hb.check_policy(getattr(hb.paper, name), v=4.0, rounds=20) == []


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Unseeded, "same arms"),
        (WrongArm, "from 0 to 3; in round 1 it returned 4"),
        (WritesContexts, "read-only"),
        (TooLong, "2001"),
        (NoUpdate, "update must be a method"),
        (HalfPlays, "plays must be a whole number"),
        (hb.SupBTC, "could not be built"),
    ],
)
def test_what_is_wrong_is_said(cls: Any, words: str) -> None:
    problems = hb.check_policy(cls)
    assert len(problems) == 1
    assert words in problems[0]
