"""Notebook 07: what the paper leaves open, varied, and the map of who costs least where.

A *reading* says how wide the intervals are and which arm "some arm" is. The width is the printed
one times 1, 0.1 or 0.01; or times a factor of the policy's own, calibrated on seeds that serve
nothing else; or it is the circulated one, which a public implementation uses and which does without
stages. Each reading is tried on three instances, with three noises and two ways to bound a moment.

A *cell* of the map is an instance, a noise with a bound on its moment, a horizon, a width and a
reading of "some arm". In it the paper's two algorithms and the four baselines stand side by side,
all with widths of the same kind, and beside them the controls. Sentences are judged by paired
differences over seeds, each with its limit at `statistics.CONFIDENCE`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..pipeline.recipes import Recipe, recipe
from ..pipeline.spec import Experiment
from ..pipeline.tables import csv_text, write_if_new
from ..policy import EXPLORE_RULES
from . import regrets
from .counterfactuals import Beside, copies, percent
from .ingredients import totals
from .regrets import Runs, paired
from .showing import NOTHING, fixed
from .statistics import CONFIDENCE, NO, YES, all_below_0

SCALES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""What calibration multiplies widths with; the same for every policy."""

STAGED = tuple(
    recipe(name, explore=rule) for name in ("SupBMM", "SupBTC") for rule in EXPLORE_RULES
)
BASELINE_NAMES = ("MoM", "CRT", "MENU", "TOFU")
BASELINES = tuple(recipe(name) for name in BASELINE_NAMES)
FLAT = tuple(recipe(name) for name in ("FlatBMM", "FlatBTC"))
ADJUSTABLE = (*STAGED, *BASELINES, *FLAT, recipe("LinUCB"))

CALIBRATED = {
    **{f"SupBMM(explore={rule})": 0.03 for rule in EXPLORE_RULES},
    "SupBTC(explore=first)": 0.001,
    "SupBTC(explore=random)": 0.003,
    "SupBTC(explore=widest)": 0.001,
    "SupBTC(explore=optimistic)": 0.003,
    "MoM": 0.001,
    "CRT": 0.003,
    "MENU": 0.003,
    "TOFU": 0.01,
    "FlatBMM": 0.001,
    "FlatBTC": 0.01,
    "LinUCB": 0.1,
}
"""The scale that cost least in `calibration`; a test holds it to that table."""

UNBOUNDED = ("Uniform", "GreedyRidge", "LinUCB", "ClippedUCB")  # need no bound on a moment

INSTANCES = ("section6", "misaligned", "symmetric")
HALF = recipe("SymmetricPareto", shape=1.6, scale=0.3)
"""A noise without a variance; its moment of order 1.5 is about that of Student's t noise."""


def worlds(law: Recipe | str) -> tuple[Recipe, ...]:
    """The three instances with this noise."""
    return tuple(recipe(instance, noise=law) for instance in INSTANCES)


def informed(policy: Recipe, v: str, eps: float, **knobs: object) -> Recipe:
    """The policy with these knobs, and what it needs to be told; v is "printed" or "exact"."""
    told = {} if policy.name in UNBOUNDED else {"v": v, "eps": eps, "delta": 0.01}
    return recipe(policy.name, **dict(policy.params), **told, **knobs)


def _map(
    name: str, what: str, law: Recipe | str, v: str, *, eps: float = 1.0, long: bool = False
) -> Experiment:
    """All readings with one noise on the three instances; a part of them at ten times the plays.

    The circulated constants give TOFU the central moment as a bound on the raw one. With the
    printed 1 that passes; with Pareto noise's exact 7.5·10⁻⁵ it would truncate every payoff.
    """
    published = (*FLAT, *BASELINES) if (v, eps) != ("exact", 1.0) else ()
    scales = (1.0,) if long else (1.0, 0.1, 0.01)
    return totals(
        name=name,
        what=f"the map of readings: {what}",
        worlds=worlds(law),
        policies=(
            *(
                informed(policy, v, eps, width_scale=scale)
                for policy in ADJUSTABLE
                for scale in dict.fromkeys((CALIBRATED[policy.text()], *scales))
            ),
            *(informed(policy, v, eps, constants="circulated") for policy in published),
            *(recipe(control) for control in ("Uniform", "GreedyRidge", "Blind")),
            recipe("GreedyRidge", plays=100),
        ),
        horizons=(10**5 if long else 10**4,),
        seeds=4 if long or eps < 1 else 8,  # the slow ones: for ε < 1 BTC scans its history
        first_seed=200,
    )


CALIBRATION = totals(
    name="calibration",
    what="every policy on Section 6 with seven width scales, on seeds that serve nothing else",
    worlds=tuple(recipe("section6", noise=law) for law in ("student-t", "pareto")),
    policies=tuple(
        informed(policy, "printed", 1.0, width_scale=s) for policy in ADJUSTABLE for s in SCALES
    ),
    horizons=(10**4,),
    seeds=5,
    first_seed=800,
)

MAPS = (
    _map("map_t", "Student's t noise, 10⁴ plays", "student-t", "printed"),
    _map("map_pareto", "Pareto noise, 10⁴ plays", "pareto", "printed"),
    _map("map_pareto_exact", "Pareto noise with its exact moment, 10⁴ plays", "pareto", "exact"),
    _map("map_half", "a noise without a variance, ε = ½, 10⁴ plays", HALF, "exact", eps=0.5),
    _map("map_t_long", "Student's t noise, 10⁵ plays", "student-t", "printed", long=True),
    _map("map_pareto_long", "Pareto noise, 10⁵ plays", "pareto", "printed", long=True),
)


SKEWED = recipe("Pareto", shape=2.2, scale=1.0, centred=True)
"""A noise with a variance, 7.6, that is large and far from symmetric."""


def _practice(name: str, law: Recipe | str, v: str, eps: float) -> Experiment:
    """Calibrated policies beside some that know nothing of heavy tails: many seeds."""
    tuned = ("CRT", "FlatBTC", "MoM", "FlatBMM", "LinUCB")
    return totals(
        name=name,
        what=f"what is gained over greedy ridge regression, {v} v, ε = {eps:g}: 40 seeds",
        worlds=worlds(law),
        policies=(
            *(informed(recipe(p), v, eps, width_scale=CALIBRATED[p]) for p in tuned),
            recipe("GreedyRidge"),
            recipe("GreedyRidge", ridge=100.0),
            recipe("GreedyRidge", plays=100),
            recipe("GreedyRidge", plays=100, ridge=0.01),
            recipe("Uniform"),
        ),
        horizons=(10**4,),
        seeds=40,
        first_seed=400,
    )


PRACTICE = (
    _practice("practice_t", "student-t", "printed", 1.0),
    _practice("practice_skewed", SKEWED, "exact", 1.0),
    _practice("practice_half", HALF, "exact", 0.5),
)

CIRCULATED = Beside(
    name="circulated",
    what="Section 6 with the circulated constants at 10⁴ plays, beside greedy ridge regression "
    "with as many plays per round",
    worlds=tuple(recipe("section6", noise=law) for law in ("student-t", "pareto")),
    policies=(
        *(informed(p, "printed", 1.0, constants="circulated") for p in (*FLAT, *BASELINES)),
        *(recipe("GreedyRidge", plays=plays) for plays in (1, 31)),
        recipe("Uniform"),
        recipe("Blind"),
    ),
    horizons=(10**4,),
    seeds=20,
    first_seed=600,
    checkpoints=1,
    curve_seeds=0,
)

LEVELS = totals(
    name="levels",
    what="Section 6 with the staged algorithms' level scaled together with their widths, 10⁴ plays",
    worlds=tuple(recipe("section6", noise=law) for law in ("student-t", "pareto")),
    policies=tuple(
        informed(policy, "printed", 1.0, width_scale=s, level_scale=s)
        for policy in STAGED
        for s in SCALES[1:]
    ),
    horizons=(10**4,),
    seeds=8,
    first_seed=200,  # those of the map
)

EXPERIMENTS = (CALIBRATION, *MAPS, *PRACTICE, CIRCULATED, LEVELS)

WIDTHS = ("1", "0.1", "0.01", "calibrated", "circulated")
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB", "Blind", "GreedyRidge(plays=100)")
LAWS = {
    **dict.fromkeys(("map_t", "map_t_long"), "Student's t"),
    **dict.fromkeys(("map_pareto", "map_pareto_long"), "Pareto"),
    "map_pareto_exact": "Pareto, exact v",
    "map_half": "no variance, ε = ½",
}


@dataclass(frozen=True)
class Cell:
    """One reading in one place; `six` and `controls` are costs on the same seeds."""

    instance: str
    law: str  # the noise and, where it matters, which bound on its moment
    horizon: int
    width: str  # one of WIDTHS
    explore: str  # which arm "some arm" is; "–" where there are no stages
    six: dict[str, Runs]  # SupBMM, SupBTC (or their flat forms, by the same names) and baselines
    controls: dict[str, Runs]

    def below(
        self, ours: Sequence[str], others: Sequence[str], confidence: float = CONFIDENCE
    ) -> str:
        """Whether each of ours costs significantly less than each of the others."""
        runs = self.six | self.controls
        return all_below_0([paired(runs[a], runs[b], confidence) for a in ours for b in others])

    @property
    def frozen(self) -> bool:
        """Whether SupBMM never explores: it exploits from the start, with no data, and stays so."""
        return self.explore in EXPLORE_RULES and not self.six["SupBMM"].explored.any()

    @property
    def winner(self) -> str:
        """Who of the six costs least in the mean."""
        return min(self.six, key=lambda name: self.six[name].per_play)

    @property
    def best(self) -> str:
        """Who costs least of all, controls included."""
        runs = self.six | self.controls
        return min(runs, key=lambda name: runs[name].per_play)

    @cached_property
    def outperform(self) -> str:
        """Both of the paper's algorithms cost less than each of the four baselines."""
        return self.below(("SupBMM", "SupBTC"), BASELINE_NAMES)

    @property
    def outperform_strictly(self) -> str:
        """The same with limits that allow for its being eight comparisons (Bonferroni)."""
        return self.below(("SupBMM", "SupBTC"), BASELINE_NAMES, 1 - (1 - CONFIDENCE) / 8)

    @property
    def smallest(self) -> str:
        """SupBMM costs less than each of the other five."""
        return self.below(("SupBMM",), ("SupBTC", *BASELINE_NAMES))

    @cached_property
    def learns(self) -> str:
        """Both of the paper's algorithms cost less than uniform play."""
        return self.below(("SupBMM", "SupBTC"), ("Uniform",))

    @property
    def verdict(self) -> str:
        """What is true here of "our algorithms outperform the rest"; one of VERDICTS."""
        if self.outperform == YES:
            return TRUE_AND_LEARNING if self.learns == YES else TRUE_WITHOUT_LEARNING
        return FALSE if self.outperform == NO else NOT_SETTLED


TRUE_AND_LEARNING = "true, and both beat uniform play"
TRUE_WITHOUT_LEARNING = "true, but not both beat uniform play"
NOT_SETTLED = "not settled by these seeds"
FALSE = "false"
VERDICTS = (TRUE_AND_LEARNING, TRUE_WITHOUT_LEARNING, NOT_SETTLED, FALSE)


def counts(found: Sequence[Cell]) -> dict[str, int | str]:
    """How many cells there are, and in how many of them what is true."""
    smallest = sum(cell.smallest == YES for cell in found)
    return {
        "cells": len(found),
        **{verdict: sum(cell.verdict == verdict for cell in found) for verdict in VERDICTS},
        "SupBMM smallest": f"{smallest} of {len(found)}",
        "SupBMM frozen": sum(cell.frozen for cell in found),
    }


def chosen_scales(folder: str | Path) -> dict[str, float]:
    """Of the scales tried in `calibration` the one that costs least, by policy.

    By the mean over both noises; of equal ones the larger.
    """
    costs: dict[str, dict[float, float]] = {}
    for one in regrets.runs("calibration", folder):
        rule = one.settings.get("explore")
        name = f"{one.policy}(explore={rule})" if rule else one.policy
        by_scale = costs.setdefault(name, {})
        scale = float(one.settings["width_scale"])
        by_scale[scale] = by_scale.get(scale, 0.0) + one.per_play
    return {name: min(by, key=lambda s: (by[s], -s)) for name, by in costs.items()}


def _found(folder: str | Path) -> Iterator[tuple[str, str, int, dict[str, Runs]]]:
    """Instance, noise and horizon of each place of the map, and its runs by label."""
    for one in MAPS:
        for instance, found in regrets.by_world(regrets.runs(one.name, folder)).items():
            yield instance, LAWS[one.name], found[0].horizon, {_label(same): same for same in found}


def cells(folder: str | Path) -> list[Cell]:
    """All cells, in order."""
    cells = []
    for instance, law, horizon, here in _found(folder):
        controls = {control: here[control] for control in CONTROLS}
        for width in WIDTHS:
            for rule in ("–",) if width == "circulated" else EXPLORE_RULES:
                names = _names(width, rule)
                if all(label in here for label in names.values()):
                    six = {who: here[label] for who, label in names.items()}
                    cells.append(Cell(instance, law, horizon, width, rule, six, controls))
    return cells


@dataclass(frozen=True)
class Place:
    """An instance, a noise and a horizon, with everyone calibrated and the controls."""

    instance: str
    law: str
    horizon: int
    everyone: dict[str, Runs]

    def shares(self) -> dict[str, float]:
        """What each costs, as a share of uniform play's cost."""
        uniform = self.everyone["Uniform"].per_play
        return {name: one.per_play / uniform for name, one in self.everyone.items()}


def places(folder: str | Path) -> list[Place]:
    """All places of the map. Staged algorithms are there with the first wide arm only."""
    tuned = {n: f"{n}(scale={CALIBRATED[n]:g})" for n in ("FlatBMM", "FlatBTC", "LinUCB")}
    plain = {name: name for name in CONTROLS if name != "LinUCB"}
    names = _names("calibrated", "first") | tuned | plain
    return [
        Place(instance, law, horizon, {name: here[label] for name, label in names.items()})
        for instance, law, horizon, here in _found(folder)
    ]


def _label(one: Runs) -> str:
    """What tells a policy's settings apart within a map: its width and its reading."""
    if one.settings.get("constants") == "circulated":
        return f"{one.policy}(circulated)"
    shown = [f"{key}={one.settings[key]}" for key in ("explore", "plays") if key in one.settings]
    scale = one.settings.get("width_scale")
    if scale is not None and not (one.policy == "LinUCB" and float(scale) == 1):
        shown.append(f"scale={float(scale):g}")
    return f"{one.policy}({' '.join(shown)})" if shown else one.policy


def _names(width: str, rule: str) -> dict[str, str]:
    """Which run stands for whom in a cell."""
    if width == "circulated":
        flat = {"SupBMM": "FlatBMM(circulated)", "SupBTC": "FlatBTC(circulated)"}
        return flat | {name: f"{name}(circulated)" for name in BASELINE_NAMES}
    names = {}
    for name in ("SupBMM", "SupBTC", *BASELINE_NAMES):
        staged = name.startswith("Sup")
        key = f"{name}(explore={rule})" if staged else name
        scale = CALIBRATED[key] if width == "calibrated" else float(width)
        names[name] = f"{name}({f'explore={rule} ' if staged else ''}scale={scale:g})"
    return names


def with_limit(one: Runs, other: Runs, places: int, per: float = 1.0) -> str:
    """The paired difference of two costs over so many plays, and its limit; none from itself."""
    mean, off = paired(one, other)
    return NOTHING if one is other else f"{fixed(per * mean, places)} ± {fixed(per * off, places)}"


def levels_table(folder: str | Path) -> list[dict[str, object]]:
    """What the staged algorithms cost at their best, with widths scaled alone and with the level.

    On Section 6 at 10⁴ plays, beside the baseline that costs least with any widths; the best are
    chosen on the seeds that are shown.
    """
    rows: list[dict[str, object]] = []
    for place in ("map_t", "map_pareto"):
        on_map = regrets.runs(place, folder, world="section6")
        scaled = [o for o in regrets.runs("levels", folder) if o.where == on_map[0].where]
        rival = min((o for o in on_map if o.policy in BASELINE_NAMES), key=lambda o: o.per_play)
        (uniform,) = (o for o in on_map if o.policy == "Uniform")
        for name in ("SupBMM", "SupBTC"):
            alone, both = (
                min((o for o in found if o.policy == name), key=lambda o: o.per_play)
                for found in (on_map, scaled)
            )
            rows.append(
                {
                    "noise": LAWS[place],
                    "policy": name,
                    "widths scaled alone": alone.per_play,
                    "with the level": both.per_play,
                    "at": f"{both.settings['width_scale']:g}, {both.settings['explore']}",
                    "best baseline": f"{rival.policy}, {fixed(rival.per_play, 4)}",
                    "with the level − it": with_limit(both, rival, 4),
                    "uniform play": uniform.per_play,
                }
            )
    return rows


def circulated_table(noise: str, folder: str | Path) -> list[dict[str, object]]:
    """Regret with the circulated constants, beside greedy ridge and uniform play, by policy."""
    asked = {"world": "section6", "where": {"noise": noise}}
    found = regrets.runs("circulated", folder, **asked)
    same = [o for o in copies("circulated", folder) if dict(o.world.params) == asked["where"]]
    shares = {o.index: o for o in same if o.shown == "zero"}
    named = {_label(o): o for o in found}
    rows: list[dict[str, object]] = []
    for name, one in named.items():
        rows.append(
            {
                "policy": name.replace("(circulated)", ""),
                "regret": float(one.regrets.mean()),
                "− greedy ridge, 1 play": with_limit(one, named["GreedyRidge(plays=1)"], 1, 1e4),
                "− greedy ridge, 31 plays": with_limit(one, named["GreedyRidge(plays=31)"], 0, 1e4),
                "− uniform play": with_limit(one, named["Uniform"], 0, 1e4),
                "same arm if payoffs are 0": percent(shares[one.index]),
            }
        )
    return rows


COLUMNS = (
    *("instance", "noise", "horizon", "width", "explore", "seeds"),
    *("SupBMM", "SupBTC", *BASELINE_NAMES, *CONTROLS),
    *("winner", "best", "outperform", "smallest", "learns"),
)


def write_table(found: list[Cell], folder: str | Path) -> Path:
    """The map as a table, one line per cell: costs per play, and what is true there."""
    rows = [
        [cell.instance, cell.law, cell.horizon, cell.width, cell.explore]
        + [len(cell.six["SupBMM"].seeds)]
        + [f"{one.per_play:.5f}" for one in (cell.six | cell.controls).values()]
        + [cell.winner, cell.best, cell.outperform, cell.smallest, cell.learns]
        for cell in found
    ]
    return write_if_new(Path(folder) / "map.csv", csv_text(COLUMNS, rows))
