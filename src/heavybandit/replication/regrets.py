"""Regret results as a reader looks at them: runs that differ in their seed only, together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from .. import theory
from ..engine.state import Ints
from ..pipeline import tables as results
from ..policy import Floats
from .claims import CONFIDENCE


@dataclass(frozen=True)
class Runs:
    """The runs of one policy in one world at one horizon, a seed each."""

    world: str
    where: dict[str, str]  # the world's settings
    policy: str
    settings: dict[str, str]  # the policy's
    horizon: int
    plays: int  # made; at most the horizon
    regrets: Floats  # (seeds,)
    explored: Ints  # (seeds, stages) rounds that each stage explored
    exploited: Ints  # (seeds,) rounds that explored no stage
    truncated: Ints  # (seeds,) terms of estimates (CRT: payoffs) that were dropped
    missed: Ints  # (seeds,) intervals that missed the mean, of those that were formed
    index: tuple[int, ...]  # which runs of the experiment they are
    seeds: tuple[int, ...]

    @property
    def dim(self) -> int:
        """d, that of Section 6 unless the world's settings say otherwise."""
        return int(self.where.get("dim", 10))

    @property
    def n_arms(self) -> int:
        """K, likewise."""
        return int(self.where.get("n_arms", 20))

    @property
    def eps(self) -> float:
        """ε, 1 unless the policy's settings say otherwise."""
        return float(self.settings.get("eps", 1.0))

    @property
    def v(self) -> float:
        """The bound on the moment that the policy was given."""
        return float(self.settings["v"])

    @property
    def per_play(self) -> float:
        """Mean regret a play."""
        return float(self.regrets.mean() / self.plays)


def runs(name: str, folder: str | Path, **wanted: object) -> list[Runs]:
    """An experiment's runs in `data/`, seeds together, in order.

    wanted   only those with these members: policy="SupBMM", eps=0.5
    """
    together: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in results.load(name, folder)[0]:
        key = tuple(row[k] for k in ("world", "world_settings", "policy", "settings", "horizon"))
        together.setdefault(key, []).append(row)
    found = [_runs(same) for same in together.values()]
    return [one for one in found if all(getattr(one, k) == v for k, v in wanted.items())]


def _runs(rows: list[dict[str, str]]) -> Runs:
    first = rows[0]
    return Runs(
        world=first["world"],
        where=_settings(first["world_settings"]),
        policy=first["policy"],
        settings=_settings(first["settings"]),
        horizon=int(first["horizon"]),
        plays=int(first["plays"]),
        regrets=np.array([float(row["regret"]) for row in rows]),
        explored=np.array([[int(x) for x in row["explored"].split()] for row in rows]),
        exploited=np.array([sum(map(int, row["exploited"].split())) for row in rows]),
        truncated=np.array([int(row["truncated"]) for row in rows]),
        missed=np.array([int(row["intervals_missed"]) for row in rows]),
        index=tuple(int(row["run"]) for row in rows),
        seeds=tuple(int(row["seed"]) for row in rows),
    )


def _settings(text: str) -> dict[str, str]:
    """Settings as they stand in tables; those of a noise within a world stay one text."""
    found: dict[str, str] = {}
    depth, start = 0, 0
    for i, letter in enumerate(text + " "):
        depth += (letter == "(") - (letter == ")")
        if letter == " " and depth == 0:
            name, _, value = text[start:i].partition("=")
            if name:
                found[name] = value
            start = i + 1
    return found


def curves(one: Runs, name: str, folder: str | Path) -> tuple[Ints, Floats]:
    """The checkpoints of an experiment's runs, and the regret until each: (seeds, checkpoints)."""
    points: dict[str, list[tuple[int, float]]] = {str(i): [] for i in one.index}
    for row in results.load(name, folder)[1]:
        if row["run"] in points:
            points[row["run"]].append((int(row["plays"]), float(row["regret"])))
    table = np.array([line for line in points.values() if line])
    return table[0, :, 0].astype(np.int64), table[:, :, 1]


def paired(one: Runs, other: Runs, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """How much more one costs a play than the other on the same seeds: the mean, and its limit.

    Plays made count, which for some policies are a few less than the horizon.
    """
    if one.seeds != other.seeds:
        raise ValueError(
            f"the seeds of {one.policy} and {other.policy} must be the same; "
            f"got {one.seeds[:3]}… and {other.seeds[:3]}…"
        )
    gaps = one.regrets / one.plays - other.regrets / other.plays
    return float(gaps.mean()), mean_limit(gaps, confidence)


def stages(name: str, folder: str | Path) -> list[dict[str, float]]:
    """The lines of an audited experiment: what each stage of each run counted."""
    return [{k: float(v) for k, v in row.items()} for row in results.load(name, folder)[1]]


@dataclass(frozen=True)
class Audit:
    """What came of Lemmas 3, 5 and 6 along the trajectories of an audited experiment."""

    runs: int
    violated: int  # runs in which an interval missed, the best arm was lost or a far arm survived
    missed: int  # intervals of surviving arms that missed
    visits: Ints  # (deepest stage,) visits to each stage …
    lost: Ints  # … that the best arm did not enter
    far: Ints  # … arms that entered though worse than the best by more than 2^{3−s}
    stages: int  # stages with two rounds or more
    lemma3: float  # the largest Σc over its bound, of these
    lemma6: float  # the largest n over its bound, of these


def audit(name: str, folder: str | Path, alpha: Callable[[Runs], float]) -> Audit:
    """Hold an audited experiment against the lemmas; `alpha` gives Lemma 6's α for some runs."""
    by_run = {i: one for one in runs(name, folder) for i in one.index}
    violated = {
        i
        for one in runs(name, folder)
        for i, missed in zip(one.index, one.missed, strict=True)
        if missed
    }
    ratios = []
    counts = np.zeros((3, 64), dtype=np.int64)
    for line in stages(name, folder):
        one, n = by_run[int(line["run"])], line["explored"]
        for i, what in enumerate(("visited", "best_lost", "far_arms")):
            counts[i, int(line["stage"]) - 1] += int(line[what])
        if line["best_lost"] or line["far_arms"]:
            violated.add(int(line["run"]))
        if n >= 2:
            d = one.dim
            most = theory.lemma6(int(line["stage"]), alpha(one), d, n)
            ratios.append((line["sum_c"] / theory.lemma3(d, n), n / most))
    largest = np.max(ratios, axis=0)
    visits, lost, far = counts[:, : int(np.flatnonzero(counts[0])[-1]) + 1]
    return Audit(
        runs=len(by_run),
        violated=len(violated),
        missed=sum(int(one.missed.sum()) for one in runs(name, folder)),
        visits=visits,
        lost=lost,
        far=far,
        stages=len(ratios),
        lemma3=float(largest[0]),
        lemma6=float(largest[1]),
    )


def by_stages(one: Runs, plays: int, rounds: int) -> Floats:
    """What Lemma 5 allows each run's regret to be, given how its rounds fell to the stages.

    r (Σ_s min(2, 2^{3−s}) n_s + 2/√T₀ · rounds that exploited)
    """
    caps = np.minimum(2.0, 2.0 ** (2 - np.arange(one.explored.shape[1])))
    exploited = rounds - one.explored.sum(axis=1)
    return np.asarray(plays * (one.explored @ caps + 2 / math.sqrt(rounds) * exploited))


def slope(points: list[Runs], x: list[float] | None = None) -> tuple[float, float, float]:
    """The slope of ln regret against ln x (or ln T), with its limits at CONFIDENCE to each side.

    A line is fitted to the means over seeds (a seed's regret may be 0); the limits are Student's,
    by the jackknife over seeds.
    """
    at = np.log([one.horizon for one in points] if x is None else x)
    regrets = np.array([one.regrets for one in points])  # (points, seeds)
    n = regrets.shape[1]
    middle = float(np.polyfit(at, np.log(regrets.mean(axis=1)), 1)[0])
    without = (regrets.sum(axis=1, keepdims=True) - regrets) / (n - 1)
    pseudo = n * middle - (n - 1) * np.polyfit(at, np.log(without), 1)[0]
    half = mean_limit(pseudo)
    return middle, middle - half, middle + half


def mean_limit(values: Floats, confidence: float = CONFIDENCE) -> float:
    """How far the mean of a sample may be off, at this confidence to each side, by Student's t."""
    n = len(values)
    if n < 2:
        raise ValueError(f"values must be at least two; there are {n}")
    return float(student.ppf(confidence, n - 1) * values.std(ddof=1) / math.sqrt(n))
