"""What a policy would have done if its payoffs had told it nothing.

A run stands beside that of a copy which meets the same contexts and draws the same random numbers,
but is shown payoffs of 0, or noise alone. A policy whose choices do not depend on payoffs chooses
the same arm in every round, whatever its regret is.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks import one_of
from .noise import Form, payoff_form
from .policy import SHOWN, Floats
from .simulate import (
    Report,
    Run,
    World,
    _Player,
    check_order,
    checked_world,
    play_all,
    world_name,
)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Counterfactual:
    """A run, and that of a copy which was shown other payoffs."""

    run: Run  # with the payoffs of the world
    other: Run  # the copy's; its regret counts the true means too
    shown: str  # one of SHOWN
    same: Ints  # rounds in which both chose the same arm, until each checkpoint of `run.plays`
    first: int | None  # the first round, from 1 on, in which they did not
    rounds_by_stage: Ints  # (S,) rounds in which the run chose its arm in stage 1, 2, …
    same_by_stage: Ints  # (S,) … and of these, those in which the copy chose the same arm

    @property
    def rounds(self) -> int:
        """How many rounds each of the two made."""
        return int(self.rounds_by_stage.sum())

    @property
    def share(self) -> float:
        """The share of rounds in which both chose the same arm."""
        return float(self.same[-1] / self.rounds)

    def __repr__(self) -> str:
        return (
            f"<{self.run.policy} in {self.run.world}, seed {self.run.seed}: the same arm in "
            f"{self.same[-1]} of {self.rounds} rounds if shown {self.shown}>"
        )


def counterfactual(
    policy: Any, world: World, seed: int = 0, shown: str = "zero", **options: Any
) -> Counterfactual:
    """Let a fresh policy play all its rounds, and beside it a copy that is shown other payoffs.

    shown     "zero": every payoff is 0; "noise": every payoff is the noise of that play, without
              the mean of the arm (and without the mean that the noise itself may have)
    options   checkpoints, keep_arms, block and progress, as in `simulate`

    A policy of one's own must be one that `copy.deepcopy` can copy, and must draw its
    random numbers, if it needs any, from a generator that it holds.
    """
    return counterfactuals([policy], world, seed, shown=(shown,), **options)[0][0]


def counterfactuals(
    policies: Iterable[Any],
    world: World,
    seed: int = 0,
    *,
    shown: Sequence[str] = SHOWN,
    checkpoints: int | Sequence[int] = 200,
    keep_arms: bool = False,
    block: int | None = None,
    progress: bool | Report = False,
) -> list[list[Counterfactual]]:
    """The same for several policies on the same contexts; for each, one for each thing shown."""
    world, seed = checked_world(world, seed)
    for one in shown:
        check_shown("shown", one, world)
    runs = [_Player(policy, world, seed, checkpoints, keep_arms) for policy in policies]
    check_order(runs, world)
    copies = [[_Copy(run, one) for one in shown] for run in runs]
    players = [p for run, beside in zip(runs, copies, strict=True) for p in (run, *beside)]
    play_all(players, world, seed, block, progress)
    return [[one.beside_original() for one in beside] for beside in copies]


def check_shown(name: str, shown: str, world: World) -> str:
    """One of SHOWN that can be shown in this world."""
    one_of(name, shown, SHOWN)
    if shown == "noise" and payoff_form(world.noise) != Form():
        raise ValueError(
            f"{name} must be 'zero' in {world_name(world)}, got 'noise': its payoffs are not the "
            f"mean plus noise, so there is no noise without the mean"
        )
    return shown


class _Copy(_Player):
    """A copy of a fresh policy, in the same world with means of 0; the original plays first."""

    def __init__(self, original: _Player, shown: str) -> None:
        try:
            policy = copy.deepcopy(original.policy)
        except Exception as error:
            raise TypeError(
                f"policy must be one that copy.deepcopy can copy; {original.name} is not: {error}"
            ) from error
        marks = (original.marks * original.policy.plays).tolist()
        super().__init__(policy, original.world, original.seed, marks, original.arms.size > 0)
        self.original, self.shown, self.form = original, shown, Form()
        self.same = np.zeros(len(self.marks), dtype=np.int64)
        self.agreed = 0
        self.first: int | None = None
        self.by_stage = np.zeros((2, 1), dtype=np.int64)  # rounds; rounds with the same arm
        self.means_shown = np.empty((0, 0))

    def _draws(self, n: int) -> Floats:
        if self.shown == "zero":
            return np.zeros(n)
        return self.original.block_draws - self.world.noise.mean  # drawn once for both

    def _payoffs(self, mean: float, draws: Floats) -> Floats:
        return draws

    def _play_block(
        self, X: Floats, means: Floats, best: Floats, draws: Floats, curve: Floats
    ) -> None:
        nothing = self._nothing(*means.shape)
        # A column of `nothing` would do too, but kernels would be compiled again for its layout.
        super()._play_block(X, nothing, nothing.ravel()[: len(X)], draws, curve)
        chosen = means.ravel().take(self.row_starts[: len(X)] + self.block_arms)
        np.cumsum(np.append(self.regret, self.policy.plays * (best - chosen)), out=self.sums)
        curve[:] = self.sums[1:]

    def _nothing(self, n: int, n_arms: int) -> Floats:
        """Means of 0 for a block of n rounds; blocks are of one size but for the last."""
        if len(self.means_shown) != n:
            self.means_shown, self.sums = np.zeros((n, n_arms)), np.empty(n + 1)
            self.row_starts = np.arange(0, n * n_arms, n_arms)
        return self.means_shown

    def _compare(self, marks: slice, due: Ints) -> None:
        same = self.block_arms == self.original.block_arms
        if len(due):
            self.same[marks] = self.agreed + np.cumsum(same)[due]
        agreed = int(np.count_nonzero(same))
        self.agreed += agreed
        if self.first is None and agreed < len(same):
            self.first = self.played + int(np.argmin(same)) + 1
        stages = self.original.block_stages
        deepest = max(int(stages.max()), 1)  # without stages all is in the first
        if deepest > self.by_stage.shape[1]:
            deeper = deepest - self.by_stage.shape[1]
            self.by_stage = np.pad(self.by_stage, ((0, 0), (0, deeper)))
        if deepest == 1:
            self.by_stage[:, 0] += len(same), agreed
        else:
            for row, chose in zip(self.by_stage, (stages, stages[same]), strict=True):
                row[:deepest] += np.bincount(np.maximum(chose, 1) - 1, minlength=deepest)

    def beside_original(self) -> Counterfactual:
        """Both runs, and how often they chose the same arm."""
        runs = self.original.result(), self.result()
        return Counterfactual(*runs, self.shown, self.same, self.first, *self.by_stage)
