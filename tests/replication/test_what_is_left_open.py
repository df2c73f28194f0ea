"""The map: calibration is what its table says, and a cell judges by limits, not by means."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heavybandit.replication import (
    catalogue,  # noqa: F401  (it enters the experiments)
    regrets,
)
from heavybandit.replication import what_is_left_open as atlas
from heavybandit.replication.statistics import NO, UNCLEAR, YES, all_below_0
from heavybandit.replication.what_is_left_open import Cell
from tiny import some_runs

DATA = Path(__file__).parents[2] / "data"


def cost(*per_play):
    return some_runs([100 * x for x in per_play])


def cell(**costs):
    """Three seeds a policy, that differ by a thousandth; everyone costs 0.5 but who is named."""
    runs = {
        name: cost(
            *(costs.get(name.split("(")[0], 0.5) + x for x in (-0.001, 0, 0.001 * i % 0.002))
        )
        for i, name in enumerate(("SupBMM", "SupBTC", *atlas.BASELINE_NAMES, *atlas.CONTROLS))
    }
    six = {name: runs[name] for name in ("SupBMM", "SupBTC", *atlas.BASELINE_NAMES)}
    return Cell("i", "l", 100, "1", "first", six, {name: runs[name] for name in atlas.CONTROLS})


def test_the_calibrated_scales_are_those_that_cost_least_in_the_table():
    assert atlas.chosen_scales(DATA) == atlas.CALIBRATED
    assert list(atlas.CALIBRATED) == [policy.text() for policy in atlas.ADJUSTABLE]


def test_of_two_scales_that_cost_the_same_the_larger_is_taken(monkeypatch):
    tried = [
        replace(cost(x, x), policy="CRT", settings={"width_scale": scale})
        for scale, x in ((1.0, 0.3), (0.1, 0.2), (0.01, 0.2), (0.001, 0.4))
    ]
    for order in (tried, tried[::-1]):
        monkeypatch.setattr(regrets, "runs", lambda *_, order=order: order)
        assert atlas.chosen_scales("anywhere") == {"CRT": 0.1}


def test_the_seeds_of_calibration_serve_nothing_else():
    first = atlas.CALIBRATION.first_seed
    used = set(range(first, first + atlas.CALIBRATION.seeds))
    for one in atlas.MAPS:
        assert not used & set(range(one.first_seed, one.first_seed + one.seeds))


def test_all_below_0_is_yes_or_no_only_where_the_limits_say_so():
    assert all_below_0([(-0.3, 0.2), (-1.0, 0.9)]) == YES
    assert all_below_0([(-0.3, 0.2), (0.3, 0.2)]) == NO
    assert all_below_0([(-0.3, 0.2), (-0.1, 0.2)]) == UNCLEAR
    assert all_below_0([(-0.1, 0.2), (0.3, 0.2)]) == NO


def test_a_cell_says_what_is_true_in_it():
    ours = cell(SupBMM=0.1, SupBTC=0.2, Uniform=0.3)
    assert (ours.outperform, ours.smallest, ours.learns) == (YES, YES, YES)
    assert (ours.winner, ours.best, ours.verdict) == ("SupBMM", "SupBMM", atlas.TRUE_AND_LEARNING)
    assert cell(SupBMM=0.1, SupBTC=0.2, Uniform=0.15).verdict == atlas.TRUE_WITHOUT_LEARNING
    unsure = cell(SupBMM=0.1, SupBTC=0.2, Uniform=0.2005)
    assert (unsure.learns, unsure.verdict) == (UNCLEAR, atlas.TRUE_WITHOUT_LEARNING)
    theirs = cell(SupBMM=0.1, SupBTC=0.3, TOFU=0.2, Blind=0.05)
    assert (theirs.outperform, theirs.smallest) == (NO, YES)
    assert (theirs.winner, theirs.best, theirs.verdict) == ("SupBMM", "Blind", atlas.FALSE)
    close = cell(SupBMM=0.1, SupBTC=0.4995)
    assert (close.outperform, close.verdict) == (UNCLEAR, atlas.NOT_SETTLED)


def test_cells_are_counted_by_what_is_true_in_them():
    ours, theirs = cell(SupBMM=0.1, SupBTC=0.2, Uniform=0.3), cell(SupBMM=0.1, SupBTC=0.3, TOFU=0.2)
    found = atlas.counts([ours, theirs, theirs])
    assert found.pop("cells") == 3
    assert found.pop("SupBMM smallest") == "3 of 3"
    assert found.pop("SupBMM frozen") == 3
    assert found == {atlas.TRUE_AND_LEARNING: 1, atlas.FALSE: 2} | dict.fromkeys(
        (atlas.TRUE_WITHOUT_LEARNING, atlas.NOT_SETTLED), 0
    )


def test_limits_for_eight_comparisons_are_wider():
    """Gaps of −0.004 ± 0.001: 99 % limits clear 0 with three seeds, 99.875 % limits do not."""
    costs = {name: cost(0.5, 0.5, 0.5) for name in atlas.BASELINE_NAMES}
    ours = {name: cost(0.491, 0.492, 0.493) for name in ("SupBMM", "SupBTC")}
    controls = {name: cost(0.5, 0.5, 0.5) for name in atlas.CONTROLS}
    close = Cell("i", "l", 100, "1", "first", ours | costs, controls)
    assert (close.outperform, close.outperform_strictly) == (YES, UNCLEAR)


def test_a_cell_is_frozen_where_supbmm_explores_nothing():
    still = cell(SupBMM=0.1)
    assert still.frozen
    assert not replace(still, explore="–").frozen  # a flat form has no stages to explore
    moving = replace(still.six["SupBMM"], explored=np.array([[0], [0], [3]]))
    assert not replace(still, six={**still.six, "SupBMM": moving}).frozen


def test_the_map_has_every_reading_on_every_instance():
    found = atlas.cells(DATA)
    places = {(c.instance, c.law, c.horizon) for c in found}
    assert len(places) == 3 * len(atlas.MAPS)
    for instance, law, horizon in places:
        here = [c for c in found if (c.instance, c.law, c.horizon) == (instance, law, horizon)]
        widths = {"1", "calibrated"} if horizon > 10**4 else {"1", "0.1", "0.01", "calibrated"}
        assert {c.width for c in here} - {"circulated"} == widths
        assert ("circulated" in {c.width for c in here}) == (law != "Pareto, exact v")
        rules = {c.explore for c in here if c.width == "1"}
        assert rules == {"first", "random", "widest", "optimistic"}


def test_a_cell_holds_the_runs_that_its_reading_names():
    """One of them looked up by hand in the table."""
    found = next(
        c
        for c in atlas.cells(DATA)
        if (c.instance, c.law, c.horizon) == ("misaligned", "Pareto", 10**4)
        and (c.width, c.explore) == ("calibrated", "widest")
    )
    with (DATA / "map_pareto.runs.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["world"] == "misaligned"]
    for name, settings in (
        ("SupBMM", "delta=0.01 eps=1.0 explore=widest v=1.0 width_scale=0.03"),
        ("SupBTC", "delta=0.01 eps=1.0 explore=widest v=2.0 width_scale=0.001"),
        ("MENU", "delta=0.01 eps=1.0 v=1.0 width_scale=0.003"),
        ("Uniform", ""),
        ("LinUCB", "width_scale=1.0"),
    ):
        wanted = [r for r in rows if r["policy"] == name and r["settings"] == settings]
        mean = sum(float(r["regret"]) / float(r["plays"]) for r in wanted) / len(wanted)
        assert (found.six | found.controls)[name].per_play == pytest.approx(mean)


def test_the_table_in_data_is_that_of_the_map(tmp_path):
    for path in DATA.glob("map_*.csv"):
        shutil.copy(path, tmp_path)
    found = atlas.cells(tmp_path)
    path = atlas.write_table(found, tmp_path)
    assert path.read_bytes() == (DATA / "map.csv").read_bytes()
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found)
    assert rows[0]["SupBMM"] == f"{found[0].six['SupBMM'].per_play:.5f}"
    assert rows[-1]["best"] == found[-1].best


def test_the_defences_are_told_with_the_runs_they_name():
    """SupBMM with Student's t noise, looked up by hand in the tables of runs."""
    row = atlas.levels_table(DATA)[0]
    assert (row["noise"], row["policy"]) == ("Student's t", "SupBMM")
    costs = {}
    for name in ("levels", "map_t"):
        with (DATA / f"{name}.runs.csv").open(newline="") as file:
            for r in csv.DictReader(file):
                if (r["policy"], r["world_settings"]) == ("SupBMM", "noise=student-t"):
                    mine = costs.setdefault((name, r["world"], r["settings"]), [])
                    mine.append(float(r["regret"]) / float(r["plays"]))
    least = {
        name: min(np.mean(x) for (file, world, _), x in costs.items() if (file, world) == (name, w))
        for name, w in (("levels", "section6"), ("map_t", "section6"))
    }
    assert row["with the level"] == pytest.approx(least["levels"])
    assert row["widths scaled alone"] == pytest.approx(least["map_t"])
    table = {row["policy"]: row for row in atlas.circulated_table("pareto", DATA)}
    assert table["Blind"]["same arm if payoffs are 0"] == "100 %"
    assert table["Uniform"]["− uniform play"] == "–"
    assert table["FlatBTC"]["regret"] == pytest.approx(0.826, abs=1e-3)  # greedy ridge: 0.831


def test_costs_of_different_seeds_are_not_compared():
    good = cell(SupBMM=0.1)
    bad = replace(good.six["MoM"], seeds=(7, 8, 9))
    with pytest.raises(ValueError, match="seeds"):
        _ = replace(good, six={**good.six, "MoM": bad}).outperform
    assert regrets.paired(good.six["SupBMM"], good.six["MoM"])[0] < 0
