"""The experiments by leaps: their instances, what is measured along a run, and the worst gap."""

import json
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import heavybandit as hb
from heavybandit import theory
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.sweep import sweep
from heavybandit.pipeline.tables import consolidate
from heavybandit.replication import leap_figures, leaps
from heavybandit.replication.leaps import Cell

SHARES = {"two-point": 0.75, "idle": 0.75}  # of the gap, that uniform play loses


@pytest.mark.parametrize("instance", leaps.DIMS)
@pytest.mark.parametrize("policy", leaps.POLICIES)
def test_the_best_arm_is_last_and_uniform_play_costs_what_the_protocol_says(policy, instance):
    cell = Cell(policy, instance, leaps.DIMS[instance], 4, 10**4, 0.25)
    world = cell.world()
    assert (world.dim, world.n_arms) == (leaps.DIMS[instance], 4)
    gaps = world.means.max() - world.means
    assert gaps.argmin() == 3
    assert sorted(gaps)[1] == pytest.approx(0.25)
    lost = leaps.measure(cell, range(2))["uniform"]
    assert lost == pytest.approx(10**4 * 0.25 * SHARES.get(instance, 1))
    longest = max(np.linalg.norm(world.arms, axis=1))
    assert longest == pytest.approx(1)


def test_the_idle_arm_has_no_width_and_is_never_explored():
    cell = Cell("SupBTC", "idle", 3, 4, 10**9, 0.1)
    run = hb.leap(hb.SupBTC(10**9, 4, 3, v=1.01), cell.world())
    assert sum(run.diagnostics["explored"]) > 0
    assert {row[3] for row in run.diagnostics["explored_by_arm"]} == {0}


def test_the_moments_told_are_exact():
    def told(policy, instance, dim):
        cell = Cell(policy, instance, dim, 4, 10**4, 0.25)
        return cell.v(cell.world())

    assert told("SupBMM", "coin", 2) == pytest.approx(1)
    assert told("SupBMM", "pareto", 2) == pytest.approx(1)
    assert told("SupBTC", "coin", 2) == pytest.approx(1 + 0.25**2)
    assert told("SupBTC", "idle", 3) == pytest.approx(1 + 0.25**2)
    assert told("SupBTC", "two-point", 5) == pytest.approx(2)  # 2·gap with probability 2·gap²


def test_in_more_dimensions_arms_are_the_axes_and_their_opposites():
    assert Cell("SupBTC", "coin", 4, 8, 10**4, 0.5).world().means.tolist() == [0.0] * 3 + [
        -0.5,
        *[0.0] * 3,
        0.5,
    ]


@pytest.mark.parametrize(("instance", "level"), [("coin", 1.0), ("idle", 0.75)])
def test_gaps_reach_from_below_a_half_to_below_four_over_root_t(instance, level):
    """Each at nine tenths of a level: 2^{1−s}, and for "idle" 3·2^{−s}."""
    grid = leaps.gaps(instance, 10**4)
    np.testing.assert_allclose(np.array(grid) / level, 0.9 * 2.0 ** -np.arange(1, len(grid) + 1))
    assert grid[-1] <= 4 / 100 < grid[-2]
    fine = leaps.between(instance, 10**12)
    assert (fine[0], fine[-1]) == pytest.approx((64 / 10**6, 1024 / 10**6))


@pytest.mark.parametrize("policy", leaps.POLICIES)
def test_the_proofs_steps_follow_from_the_rounds_of_each_stage(policy):
    """By hand, from the counts of one run."""
    cell = Cell(policy, "coin", 2, 4, 10**6, 0.125)
    found = leaps.measure(cell, range(2))
    first, second = (
        hb.leap(getattr(hb, policy)(10**6, 4, 2, v=found["v"], delta=0.01, seed=s), cell.world(), s)
        for s in range(2)
    )
    assert found["mean"] == pytest.approx((first.regret + second.regret) / 2)
    assert found["largest"] == max(first.regret, second.regret)
    r = theory.plays_per_round(1e6, 4, 0.01) if policy == "SupBMM" else 1
    T0 = 10**6 // r
    allowed = [
        r * sum(min(2, 2.0 ** (3 - s)) * n for s, n in enumerate(run.diagnostics["explored"], 1))
        + r * 2 * sum(run.diagnostics["exploited"]) / T0**0.5
        for run in (first, second)
    ]
    assert found["lemma_5"] == pytest.approx(np.mean(allowed))
    assert found["mean"] <= found["lemma_5"] <= found["lemma_6"] <= found["bound"]
    assert 0 < found["most_6"] < 1
    assert 0 < found["most_3"] < 1


def test_the_worst_gap_is_that_of_the_largest_mean_and_the_ends_of_its_grid_are_told():
    common = {
        "policy": "SupBMM",
        "instance": "coin",
        "dim": 2,
        "n_arms": 4,
        "seeds": 4,
        "bound": 10.0,
    }
    table = pd.DataFrame(
        [
            {**common, "horizon": T, "gap": gap, "mean": mean, "sd": 1.0, "largest": mean + 1}
            for T, means in ((100, (1.0, 3.0, 2.0)), (400, (5.0, 3.0, 2.0)))
            for gap, mean in zip((0.5, 0.25, 0.125), means, strict=True)
        ]
    )
    rows = leaps.worst(table)
    assert rows["gap"].tolist() == [0.25, 0.5]
    assert rows[["least_gap", "most_gap"]].to_numpy().tolist() == [[0.125, 0.5]] * 2
    assert rows["over_root"].tolist() == [0.3, 0.25]
    assert rows["off"][0] == pytest.approx(4.5407 / 2 / 10, rel=1e-4)  # Student, 3 degrees, 99 %
    assert rows["ratio"].tolist() == [0.4, 0.6]


def test_the_factors_of_the_proofs_steps_multiply_to_bound_over_regret():
    cell = Cell("SupBMM", "coin", 2, 4, 10**12, 0.01)
    row = {**asdict(cell), **leaps.measure(cell, range(2))}
    found = leaps.slack(pd.DataFrame([row])).iloc[0]
    assert found.step_5 * found.step_6 * found.step_end == pytest.approx(row["bound"] / row["mean"])
    without = theory.theorem1(1e12, 2, 4, 1.0, 0.01 * np.log(1e12), 1.0)
    assert found.union == pytest.approx(row["bound"] / without)


def test_cells_with_intervals_too_narrow_fail_and_are_counted():
    """The control of the protocol: the best arm is lost, and then the regret exceeds the bound."""
    for policy in leaps.POLICIES:
        cell = replace(leaps.FAILING, policy=policy)
        sound = leaps.measure(cell, range(20))
        narrow = leaps.measure(replace(cell, width_scale=leaps.SCALES[-1]), range(20))
        assert (sound["missed"], sound["lost"], sound["above"]) == (0, 0, 0)
        assert narrow["missed"] == 20
        assert narrow["above"] == narrow["lost"] > 0


def test_a_row_is_a_test_of_the_bound_where_uniform_play_would_violate_it():
    table = pd.DataFrame({"bound": [1.0, 2.0, 3.0], "uniform": [2.0, 2.0, 1.0]})
    assert leaps.informative(table).index.tolist() == [0]


def test_leaps_have_no_curves(tmp_path):
    one = leaps.Leaps("few", "", (Cell("SupBTC", "coin", 2, 4, 10**4, 0.25),), 2, seeds=4)
    store = Store(tmp_path / "store")
    sweep(one, store, progress=False)
    consolidate(one, store, tmp_path)
    assert (tmp_path / "few.curves.csv").read_text() == "run\n"
    assert [one.has_curve(spec) for spec in one.runs()] == [False, False]


@pytest.mark.parametrize("plan", leaps.EXPERIMENTS, ids=lambda plan: plan.name)
def test_the_sidecar_of_leaps_names_every_cell_with_its_exact_gap(plan):
    """Though cells that differ in horizon and gap share an entry."""
    said = [
        Cell(horizon=int(horizon), gap=float(gap), **alike)
        for entry in json.loads(json.dumps(plan.as_json()))["cells"]
        for horizons in [entry.pop("gaps")]
        for alike in [entry]
        for horizon, gaps in horizons.items()
        for gap in gaps.split()
    ]
    assert said == list(plan.cells)


def test_cells_that_differ_in_their_gap_only_run_together_and_come_out_as_alone():
    wide, narrow = (Cell("SupBMM", "pareto", 2, 4, 10**9, gap) for gap in (0.1125, 0.05625))
    longer = replace(narrow, horizon=10**10)
    plan = leaps.Leaps("few", "", (wide, narrow, longer), 2, seeds=4)
    groups = list(plan.groups())
    assert [[(one.cell, one.seed) for one in group] for group in groups] == [
        [(wide, 0), (narrow, 0)],
        [(wide, 2), (narrow, 2)],
        [(longer, 0)],
        [(longer, 2)],
    ]
    assert [len({one.group for one in group}) for group in groups] == [1, 1, 1, 1]
    assert len({group[0].group for group in groups}) == 4
    told = []
    together = leaps.LeapSpec.run(groups[1], told.append)
    assert together == [leaps.LeapSpec.run([one])[0] for one in groups[1]]
    assert sum(told) == sum(one.plays for one in groups[1])


def test_what_a_run_costs_is_told_beside_what_it_does():
    """SupBMM at 10⁴ plays has ⌊10⁴/145⌋ rounds, all in stage 1. Of ±e_1, ±e_2 a stage explores two;
    with two values each needs one binomial, for SupBMM in each of its r columns."""
    assert leap_figures.work(Cell("SupBMM", "coin", 2, 4, 10**4, 0.01)) == (68, 1, 0)
    _, entered, numbers = leap_figures.work(Cell("SupBTC", "coin", 2, 4, 10**15, 10**-7.5))
    assert numbers == 2 * (entered - 1) > 30
    _, entered, numbers = leap_figures.work(Cell("SupBMM", "coin", 2, 4, 10**15, 10**-7.5))
    r = theory.plays_per_round(1e15, 4, 0.01)
    assert 2 * (entered - 3) * r < numbers <= 2 * (entered - 1) * r
    common = {"section": "leaps", "policy": "SupBTC", "T": 10**4, "one_median": 3.0}
    found = [SimpleNamespace(what="SupBTC, ±1, T = 10,000", **common)]
    found += [SimpleNamespace(section="uniform", what="", T=10**4)]
    (row,) = leap_figures.costs_table(found, [10**4])
    assert row["policy, noise"] == "SupBTC, ±1"
    assert row["ms per stage"] == 3.0 / row["stages entered"] == 1.5
