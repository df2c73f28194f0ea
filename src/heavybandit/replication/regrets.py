"""Regret results as a reader looks at them: runs that differ in their seed only, together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from .. import theory
from ..pipeline import tables
from ..pipeline.recipes import CONTROLS
from ..pipeline.spec import RunSpec, by_name
from ..policy import Floats
from . import plotting
from .showing import power
from .statistics import CONFIDENCE, limits, mean_limit

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Runs:
    """The runs of one policy in one world at one horizon, one per seed."""

    world: str
    where: dict[str, Any]  # the world's settings
    policy: str
    settings: dict[str, Any]  # the policy's
    horizon: int
    plays: int  # made; at most the horizon
    regrets: Floats  # (seeds,)
    explored: Ints  # (seeds, stages) rounds that each stage explored
    exploited: Ints  # (seeds,) rounds that explored no stage
    entering: Floats  # (seeds, stages) the mean number of arms that entered each stage
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
        """Mean regret per play."""
        return float(self.regrets.mean() / self.plays)


def runs(name: str, folder: str | Path, **wanted: object) -> list[Runs]:
    """An experiment's runs in `data/`, seeds together, in order.

    wanted   only those with these members: policy="SupBMM", eps=0.5
    """
    table = tables.read(name, folder)
    together: dict[tuple[object, ...], list[int]] = {}
    specs = cast(list[RunSpec], by_name(name).runs())
    for i, spec in enumerate(specs):
        together.setdefault((spec.world, spec.policy, spec.horizon), []).append(i)
    found = [_runs(specs[same[0]], same, table.iloc[same]) for same in together.values()]
    return [one for one in found if all(getattr(one, k) == v for k, v in wanted.items())]


def by_world(found: Iterable[Runs]) -> dict[str, list[Runs]]:
    """The runs of each world, in the order of the experiment's policies."""
    worlds: dict[str, list[Runs]] = {}
    for one in found:
        worlds.setdefault(one.world, []).append(one)
    return worlds


def _runs(first: RunSpec, index: list[int], rows: DataFrame) -> Runs:
    """Row i of the table belongs to run i: the settings are the run's, the counts the row's."""
    return Runs(
        world=first.world.name,
        where=dict(first.world.params),
        policy=first.policy.name,
        settings=dict(first.policy.params),
        horizon=first.horizon,
        plays=int(rows["plays"].iloc[0]),
        regrets=rows["regret"].to_numpy(np.float64),
        explored=_matrix(rows["explored"]),
        exploited=_matrix(rows["exploited"]).sum(axis=1),
        entering=_matrix(rows["arms_entering"]),
        truncated=rows["truncated"].to_numpy(np.int64),
        missed=rows["intervals_missed"].to_numpy(np.int64),
        index=tuple(index),
        seeds=tuple(rows["seed"].tolist()),
    )


def _matrix(cells: Iterable[Any]) -> Any:
    """What each run has by stage, one row per run; a single stage is a number in the table."""
    return np.array([cell if isinstance(cell, tuple) else (cell,) for cell in cells])


def curves(one: Runs, name: str, folder: str | Path) -> tuple[Ints, Floats]:
    """The checkpoints of an experiment's runs, and the regret until each: (seeds, checkpoints)."""
    table = tables.read_curves(name, folder)
    mine = table[table["run"].isin(one.index)]
    regret = mine.pivot(index="run", columns="plays", values="regret")
    return regret.columns.to_numpy(dtype=np.int64), regret.to_numpy(dtype=np.float64)


def paired(one: Runs, other: Runs, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """How much more one costs per play than the other on the same seeds: the mean, and its limit.

    Plays made count, which for some policies are a few less than the horizon.
    """
    if one.seeds != other.seeds:
        raise ValueError(
            f"the seeds of {one.policy} and {other.policy} must be the same; "
            f"got {one.seeds[:3]}… and {other.seeds[:3]}…"
        )
    gaps = one.regrets / one.plays - other.regrets / other.plays
    return float(gaps.mean()), mean_limit(gaps, confidence)


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
    groups = runs(name, folder)
    by_run = {i: one for one in groups for i in one.index}
    lines = tables.read_curves(name, folder)  # one per stage that a run visited
    bad = lines[(lines["best_lost"] > 0) | (lines["far_arms"] > 0)]
    missed = {i for one in groups for i, n in zip(one.index, one.missed, strict=True) if n}
    counted = lines.groupby("stage")[["visited", "best_lost", "far_arms"]].sum()
    ratios = []
    for line in lines[lines["explored"] >= 2].itertuples():
        one, n = by_run[line.run], float(line.explored)
        most = theory.lemma6(line.stage, alpha(one), one.dim, n)
        ratios.append((line.sum_c / theory.lemma3(one.dim, n), n / most))
    largest = np.max(ratios, axis=0)
    return Audit(
        runs=len(by_run),
        violated=len(missed | set(bad["run"])),
        missed=sum(int(one.missed.sum()) for one in groups),
        visits=counted["visited"].to_numpy(),
        lost=counted["best_lost"].to_numpy(),
        far=counted["far_arms"].to_numpy(),
        stages=len(ratios),
        lemma3=float(largest[0]),
        lemma6=float(largest[1]),
    )


def by_stages(one: Runs, plays: int, rounds: int) -> Floats:
    """What Lemma 5 allows each run's regret to be, given how its rounds fell to the stages."""
    return lemma_5_allows(one.explored, plays, rounds)


def lemma_5_allows(explored: Any, plays: int, rounds: int) -> Floats:
    """The regret that Lemma 5 allows when stage s has explored n_s rounds; the last axis is s.

    r (Σ_s min(2, 2^{3−s}) n_s + 2/√T₀ · rounds that exploited)
    """
    caps = np.minimum(2.0, 2.0 ** (2 - np.arange(explored.shape[-1])))
    exploited = rounds - explored.sum(axis=-1)
    return np.asarray(plays * (explored @ caps + 2 / math.sqrt(rounds) * exploited))


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


NAMES = {"Uniform": "uniform play", "GreedyRidge": "greedy ridge"}
"""Controls as a chapter calls them; other policies by their own name."""


def costs(found: list[Runs], policies: Iterable[str]) -> DataFrame:
    """Mean regret per play, one row per policy and one column per horizon."""
    from pandas import DataFrame

    return DataFrame(
        {
            NAMES.get(policy, policy): {
                f"T = {power(one.horizon)}": one.per_play for one in found if one.policy == policy
            }
            for policy in policies
        }
    ).T


def steps(points: list[Runs], x: list[float] | None = None) -> str:
    """The slope of ln mean regret from each horizon (or x) to the next, as a cell of a table."""
    at = np.log([one.horizon for one in points] if x is None else x)
    each = np.diff(np.log([one.regrets.mean() for one in points])) / np.diff(at)
    return ", ".join(f"{slope:.2f}" for slope in each)


def audit_table(audits: dict[str, Audit]) -> DataFrame:
    """What audits found, one column per audit; counts by stage are added up."""
    from pandas import DataFrame, Series

    columns = {}
    for name, made in audits.items():
        found = {
            "runs": made.runs,
            "stages of two rounds or more": made.stages,
            "Lemma 3: largest ratio": made.lemma3,
            "Lemma 6: largest ratio": made.lemma6,
            "visits to a stage": int(made.visits.sum()),
            "deepest stage visited": len(made.visits),
            "intervals that missed": made.missed,
            "visits without the best arm": int(made.lost.sum()),
            "arms too far from the best": int(made.far.sum()),
            "runs with a violation": made.violated,
            "… upper limit on their share": limits(made.violated, made.runs)[1],
        }
        columns[name] = Series(found, dtype=object)  # whole numbers stay whole
    return DataFrame(columns)


def stages_table(found: list[Runs], deepest: int) -> DataFrame:
    """Rounds that each stage explored in the first seed's run, one column per horizon."""
    from pandas import DataFrame, Series

    columns = {}
    for one in found:
        explored = one.explored[0].tolist() + [None] * deepest
        names = [f"stage {s}" for s in range(1, deepest + 1)]
        columns[f"T = {power(one.horizon)}"] = Series(explored[:deepest], names, dtype=object)
    return DataFrame(columns)


def bound_figure(
    found: list[Runs], policy: str, bound: Callable[[float], float], named: str, title: str
) -> Figure:
    """Regret against plays on one instance, beside a theorem's bound, 2 per play and the controls.

    found   runs of the policy, of uniform play, greedy ridge and LinUCB at several horizons
    """
    T, colour = np.geomspace(1e4, 1e16, 200), plotting.look(policy).colour
    of = {p: [one for one in found if one.policy == p] for p in (policy, *CONTROLS)}
    limit = np.array([bound(t) for t in T])
    figure, axes = plotting.panels(size=(8.0, 4.4))
    uniform = of["Uniform"][-1].per_play
    for values, line, ink, words in (
        (limit, "--", colour, named),
        (2 * T, ":", "#666666", "2 per play"),
        (uniform * T, "-", "#000000", "uniform play"),
    ):
        axes.loglog(T, values, line, color=ink)
        plotting.line_label(axes, T[-1], values[-1], words, ink)
    for name, words in ((policy, " "), ("LinUCB", " "), ("GreedyRidge", "greedy ridge, LinUCB")):
        regret = [one.regrets for one in of[name]]
        plotting.draw_horizons(axes, name, [o.horizon for o in of[name]], regret, words)
    end = of[policy][-1]  # its name below its end, clear of the line of uniform play
    plotting.line_label(axes, end.horizon, float(end.regrets.mean()) / 4, policy, colour)
    axes.set(xlabel="plays T", ylabel="regret", title=title)
    return figure


def learning_figure(
    left: list[list[Runs]], right: list[list[Runs]], controls: list[Runs], title: str
) -> Figure:
    """Regret against the horizon for ε = 1 and ½, with the controls of the same world and 2T.

    left, right   sets of runs of one policy; the first with the printed widths, a second with
                  the widths that its settings say
    """
    figure, axes = plotting.panels(2, size=(8.0, 4.2), sharey=True)
    last = max(one.horizon for one in left[0])
    for ax, sets, name in ((axes[0], left, "ε = 1"), (axes[1], right, "ε = ½")):
        ends = np.array([1e4, last])
        for policy in CONTROLS:
            same = [o for o in controls if o.policy == policy and o.where == sets[0][0].where]
            said = {"GreedyRidge": "greedy ridge, LinUCB"}
            at, regret = [o.horizon for o in same], [o.regrets for o in same]
            plotting.draw_horizons(ax, policy, at, regret, said.get(policy, " "))
            if policy == "Uniform":  # its cost is constant, so its line may go on
                line = same[-1].per_play * ends
                ax.plot(ends, line, color=plotting.look(policy).colour)
                plotting.line_label(ax, last, float(line[-1]), "uniform play")
        for i, mine in enumerate(sets):
            words = f"widths × {mine[0].settings['width_scale']:g}" if i else ""
            drawn = mine[0].policy.replace("Sup", "Flat") if i else mine[0].policy  # dotted
            at, regret = [o.horizon for o in mine], [o.regrets for o in mine]
            plotting.draw_horizons(ax, drawn, at, regret, words)
        ax.plot(ends, 2 * ends, "--", color="#666666")
        plotting.line_label(ax, last, 2.0 * last, "2T", "#666666")
        ax.set(xscale="log", yscale="log", xlabel="plays T", xlim=(7e3, 40 * last))
        ax.set_title(name, fontsize=10)
    axes[0].set_ylabel("regret")
    figure.suptitle(title)
    return figure


def stages_figure(sets: dict[str, list[Runs]], deepest: int, title: str) -> Figure:
    """The share of its rounds that each stage explored, one bar per horizon, one panel per set."""
    figure, axes = plotting.panels(len(sets), size=(8.0, 3.8), sharey=True)
    for ax, (name, mine) in zip(axes, sets.items(), strict=True):
        shares = np.zeros((len(mine), max(one.explored.shape[1] for one in mine)))
        for i, one in enumerate(mine):
            shares[i, : one.explored.shape[1]] = one.explored.sum(axis=0) / one.explored.sum()
        tens = [f"$10^{{{round(math.log10(one.horizon))}}}$" for one in mine]
        plotting.stage_bars(ax, shares[:, :deepest], tens)
        ax.set_xlabel("plays T")
        ax.set_title(name, fontsize=10)
    axes[0].set_ylabel("share of the rounds explored in stage …")
    figure.suptitle(title)
    return figure
