"""Experiments of a second or two, all called tiny, and their results in a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from heavybandit.pipeline.recipes import recipe
from heavybandit.pipeline.spec import EXPERIMENTS, Experiment, Plan
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.sweep import sweep
from heavybandit.pipeline.tables import consolidate
from heavybandit.replication.coverage import ESTIMATORS, Case, Coverage
from heavybandit.replication.regrets import Runs

TINY = Experiment(
    name="tiny",
    what="for tests",
    worlds=(
        recipe("section6", noise="student-t", n_arms=3, dim=2),
        recipe("symmetric", noise=recipe("Gaussian", scale=0.5), n_arms=3, dim=2),
    ),
    policies=(
        recipe("SupBTC", v=4.0, width_scale=0.02),
        recipe("TOFU", v=4.0, eps=0.5, width_scale=0.1),
        recipe("Uniform"),
    ),
    horizons=(300,),
    seeds=2,
    first_seed=5,
    checkpoints=4,
    curve_seeds=1,
)
AUDITED = Experiment(
    name="tiny",
    what="for tests",
    worlds=(
        recipe("symmetric", noise=recipe("StudentT", df=2.5, scale=3.0), n_arms=4, dim=2),
        recipe("section6", noise="student-t", n_arms=3, dim=2),
    ),
    policies=(recipe("SupBTC", v=1.0, width_scale=0.02), recipe("SupBTC", v=1.0, width_scale=0.1)),
    horizons=(300,),
    seeds=3,
    first_seed=5,
    checkpoints=4,
    curve_seeds=2,
    audit=True,
)
LARGER = Experiment(  # 64 runs, enough for workers to share and to be killed at
    name="tiny",
    what="for tests",
    worlds=(
        recipe("section6", noise="student-t"),
        recipe("symmetric", noise=recipe("SymmetricPareto", shape=1.6)),
    ),
    policies=(
        recipe("SupBTC", v=4.0, width_scale=0.05),
        recipe("SupBMM", v=3.0, explore="random"),
        recipe("TOFU", v="exact", eps=0.5),
        recipe("Uniform"),
    ),
    horizons=(600, 1500),
    seeds=4,
    checkpoints=10,
    curve_seeds=2,
)
CASES = (
    Case(recipe("section6", rounds=5), recipe("StudentT", df=3.0), 1.0, 6, 0.9),
    Case(recipe("same", rounds=50), recipe("SymmetricPareto", shape=1.6), 0.5, 51, 0.9, 3),
)
COVERED = {
    name: Coverage("tiny", "for tests", name, CASES, reps=8, seeds=2, first_seed=5)
    for name in ESTIMATORS
}


def filled(folder: Path, *experiments: Plan) -> Store:
    """A store with all runs of some experiments."""
    store = Store(folder)
    for experiment in experiments:
        sweep(experiment, store, progress=False)
    return store


def published(
    monkeypatch: pytest.MonkeyPatch, store: Store, folder: Path, *experiments: Plan
) -> Path:
    """The folder, with the results of some experiments, which are among the known ones now."""
    for experiment in experiments:
        monkeypatch.setitem(EXPERIMENTS, experiment.name, experiment)
        consolidate(experiment, store, folder)
    return folder


def some_runs(regrets: list[float], horizon: int = 100) -> Runs:
    """Runs of seeds 0, 1, … that ended with these regrets."""
    seeds, nothing = tuple(range(len(regrets))), np.zeros((len(regrets), 1), dtype=np.int64)
    none = nothing[:, 0]
    where = {"world": "w", "where": {}, "policy": "P", "settings": {}, "horizon": horizon}
    counts = {"explored": nothing, "exploited": none, "entering": nothing, "truncated": none}
    more = {"plays": horizon, "regrets": np.array(regrets), "index": seeds, "seeds": seeds}
    return Runs(**where, **counts, **more, missed=none)
