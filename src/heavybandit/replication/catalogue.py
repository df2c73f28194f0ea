"""Every experiment by name; the module of a notebook has its settings."""

from __future__ import annotations

from ..pipeline.recipes import recipe
from ..pipeline.spec import EXPERIMENTS, Experiment, by_name
from ..pipeline.sweep import ensure
from . import (
    leaderboard,
    leaps,
    proposition_1,
    proposition_2,
    section_6,
    theorem_1,
    theorem_2,
    theorem_3,
    what_is_left_open,
)

__all__ = ["EXPERIMENTS", "by_name", "ensure"]

SMOKE = Experiment(
    name="smoke",
    what="a few seconds of everything, to see that an installation works",
    worlds=(
        recipe("section6", noise="student-t"),
        recipe("symmetric", noise=recipe("SymmetricPareto", shape=1.8, scale=0.1)),
        recipe("lower_bound", dim=9, n_arms=4, eps=1.0, gamma_from="stage"),
    ),
    policies=(
        recipe("SupBTC", v=4.0, width_scale=0.02),
        recipe("SupBMM", v=3.0, width_scale=0.1, explore="random"),
        recipe("TOFU", v=4.0, eps=0.5, width_scale=0.1),
        recipe("Uniform"),
    ),
    horizons=(2_000,),
    seeds=3,
    checkpoints=20,
)
CHAPTERS = (
    *(section_6, what_is_left_open, leaderboard, proposition_1, proposition_2),
    *(theorem_1, theorem_2, theorem_3, leaps),
)
for one in (SMOKE, *(experiment for chapter in CHAPTERS for experiment in chapter.EXPERIMENTS)):
    EXPERIMENTS[one.name] = one
