"""The experiments by leaps: their instances, what is measured along a run, and the worst gap."""

import numpy as np
import pandas as pd
import pytest

import heavybandit as hb
from heavybandit import theory
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.sweep import sweep
from heavybandit.pipeline.tables import consolidate
from heavybandit.replication import leaps
from heavybandit.replication.leaps import Cell


@pytest.mark.parametrize("noise", leaps.NOISES)
@pytest.mark.parametrize("policy", leaps.POLICIES)
def test_the_best_arm_is_last_and_uniform_play_costs_what_the_protocol_says(policy, noise):
    d, K = (5, 4) if noise == "two-point" else (2, 4)
    world = Cell(policy, noise, d, K, 10**4, 0.25).world()
    assert (world.dim, world.n_arms) == (d, K)
    gaps = world.means.max() - world.means
    assert gaps.argmin() == K - 1
    assert gaps.mean() == pytest.approx(0.25 * (0.75 if noise == "two-point" else 1))
    assert max(np.linalg.norm(world.arms, axis=1)) == pytest.approx(1)


def test_the_moments_told_are_exact():
    def told(policy, noise, dim):
        cell = Cell(policy, noise, dim, 4, 10**4, 0.25)
        return cell.v(cell.world())

    assert told("SupBMM", "coin", 2) == pytest.approx(1)
    assert told("SupBMM", "pareto", 2) == pytest.approx(1)
    assert told("SupBTC", "coin", 2) == pytest.approx(1 + 0.25**2)
    assert told("SupBTC", "two-point", 5) == pytest.approx(2)  # 2·gap with probability 2·gap²


def test_in_more_dimensions_arms_are_the_axes_and_their_opposites():
    assert Cell("SupBTC", "coin", 4, 8, 10**4, 0.5).world().means.tolist() == [0.0] * 3 + [
        -0.5,
        *[0.0] * 3,
        0.5,
    ]


def test_gaps_reach_from_a_half_to_below_the_noise_of_all_plays():
    assert leaps.gaps(10**4)[0] == 0.5
    assert leaps.gaps(10**4)[-1] <= 1 / (2 * 100) < leaps.gaps(10**4)[-2]


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


def test_the_worst_gap_is_that_of_the_largest_mean_and_its_place_is_told():
    common = {"policy": "SupBMM", "noise": "coin", "dim": 2, "n_arms": 4, "seeds": 4, "bound": 10.0}
    table = pd.DataFrame(
        [
            {**common, "horizon": T, "gap": gap, "mean": mean, "sd": 1.0, "largest": mean + 1}
            for T, means in ((100, (1.0, 3.0, 2.0)), (400, (5.0, 3.0, 2.0)))
            for gap, mean in zip((0.5, 0.25, 0.125), means, strict=True)
        ]
    )
    rows = leaps.worst(table)
    assert rows["gap"].tolist() == [0.25, 0.5]
    assert rows["inside"].tolist() == [True, False]
    assert rows["over_root"].tolist() == [0.3, 0.25]
    assert rows["off"][0] == pytest.approx(4.5407 / 2 / 10, rel=1e-4)  # Student, 3 degrees, 99 %
    assert rows["ratio"].tolist() == [0.4, 0.6]


def test_leaps_have_no_curves(tmp_path):
    one = leaps.Leaps("few", "", (Cell("SupBTC", "coin", 2, 4, 10**4, 0.25),), 2, seeds=4)
    store = Store(tmp_path / "store")
    sweep(one, store, progress=False)
    consolidate(one, store, tmp_path)
    assert (tmp_path / "few.curves.csv").read_text() == "run\n"
    assert [one.has_curve(spec) for spec in one.runs()] == [False, False]
