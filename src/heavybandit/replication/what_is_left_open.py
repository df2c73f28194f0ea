"""The map of notebook 07: for every reading of the paper, who costs least and what is true there.

A *cell* is an instance, a noise with a bound on its moment, a horizon, a width and a reading of
"some arm". In it the paper's two algorithms and the four baselines stand side by side, all with
widths of the same kind, and beside them the controls. Sentences are judged by paired differences
over seeds, each with its limit at `claims.CONFIDENCE`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..pipeline.store import write_whole
from ..policy import EXPLORE_RULES
from . import readings, regrets
from .claims import CONFIDENCE, NO, YES, surely
from .regrets import Runs, paired

WIDTHS = ("1", "0.1", "0.01", "calibrated", "circulated")
BASELINES = ("MoM", "CRT", "MENU", "TOFU")
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB", "Blind", "GreedyRidge(plays=100)")
LAWS = {
    "map_t": "Student's t",
    "map_pareto": "Pareto",
    "map_pareto_exact": "Pareto, exact v",
    "map_half": "no variance, ε = ½",
    "map_t_long": "Student's t",
    "map_pareto_long": "Pareto",
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
        """Whether each of ours surely costs less than each of the others."""
        everyone = self.six | self.controls
        return surely([paired(everyone[a], everyone[b], confidence) for a in ours for b in others])

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
        everyone = self.six | self.controls
        return min(everyone, key=lambda name: everyone[name].per_play)

    @property
    def outperform(self) -> str:
        """Both of the paper's algorithms cost less than each of the four baselines."""
        return self.below(("SupBMM", "SupBTC"), BASELINES)

    @property
    def outperform_strictly(self) -> str:
        """The same with limits that allow for its being eight comparisons (Bonferroni)."""
        return self.below(("SupBMM", "SupBTC"), BASELINES, 1 - (1 - CONFIDENCE) / 8)

    @property
    def smallest(self) -> str:
        """SupBMM costs less than each of the other five."""
        return self.below(("SupBMM",), ("SupBTC", *BASELINES))

    @property
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
    return {
        name: min(by_scale, key=lambda s: (by_scale[s], -s)) for name, by_scale in costs.items()
    }


def cells(folder: str | Path) -> list[Cell]:
    """All cells, in order."""
    return [cell for one in readings.MAPS for cell in _cells(one.name, folder)]


def _cells(name: str, folder: str | Path) -> Iterator[Cell]:
    by_instance: dict[str, list[Runs]] = {}
    for one in regrets.runs(name, folder):
        by_instance.setdefault(one.world, []).append(one)
    for instance, found in by_instance.items():
        here = {_label(one): one for one in found}
        controls = {control: here[control] for control in CONTROLS}
        for width in WIDTHS:
            for rule in ("–",) if width == "circulated" else EXPLORE_RULES:
                names = _names(width, rule)
                if all(label in here for label in names.values()):
                    six = {who: here[label] for who, label in names.items()}
                    horizon = found[0].horizon
                    yield Cell(instance, LAWS[name], horizon, width, rule, six, controls)


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
    found = []
    for one in readings.MAPS:
        for instance in readings.INSTANCES:
            runs = regrets.runs(one.name, folder, world=instance)
            here = {_label(same): same for same in runs}
            names = _names("calibrated", "first")
            for name in ("FlatBMM", "FlatBTC", "LinUCB"):
                names[name] = f"{name}(scale={readings.CALIBRATED[name]:g})"
            everyone = {name: here[label] for name, label in names.items()}
            everyone |= {name: here[name] for name in CONTROLS if name != "LinUCB"}
            found.append(Place(instance, LAWS[one.name], runs[0].horizon, everyone))
    return found


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
        return flat | {name: f"{name}(circulated)" for name in BASELINES}
    names = {}
    for name in ("SupBMM", "SupBTC", *BASELINES):
        staged = name.startswith("Sup")
        key = f"{name}(explore={rule})" if staged else name
        scale = readings.CALIBRATED[key] if width == "calibrated" else float(width)
        names[name] = f"{name}({f'explore={rule} ' if staged else ''}scale={scale:g})"
    return names


COLUMNS = (
    *("instance", "noise", "horizon", "width", "explore", "seeds"),
    *("SupBMM", "SupBTC", *BASELINES, *CONTROLS),
    *("winner", "best", "outperform", "smallest", "learns"),
)


def write_table(found: list[Cell], folder: str | Path) -> Path:
    """The map as a table, a line a cell: costs a play, and what is true there."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for cell in found:
        everyone = cell.six | cell.controls
        seeds = len(cell.six["SupBMM"].seeds)
        table.writerow(
            [cell.instance, cell.law, cell.horizon, cell.width, cell.explore, seeds]
            + [f"{one.per_play:.5f}" for one in everyone.values()]
            + [cell.winner, cell.best, cell.outperform, cell.smallest, cell.learns]
        )
    path = Path(folder) / "map.csv"
    if not path.exists() or path.read_text(encoding="utf-8") != out.getvalue():
        write_whole(path, out.getvalue(), path.parent)
    return path
