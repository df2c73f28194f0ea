"""Regret results as they are read: seeds together, slopes, and the lemmas along trajectories."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas import DataFrame
from scipy.stats import t as student

import heavybandit as hb
from heavybandit import theory
from heavybandit.pipeline import tables
from heavybandit.pipeline.recipes import recipe
from heavybandit.pipeline.spec import Experiment
from heavybandit.replication import regrets
from heavybandit.replication.regrets import by_stages, runs, slope
from heavybandit.replication.statistics import mean_limit
from tiny import filled, published, some_runs

WORLD = recipe("symmetric", noise=recipe("StudentT", df=3.0, scale=0.1), n_arms=3, dim=2)
PLAIN = Experiment(
    name="plain",
    what="",
    worlds=(WORLD, recipe("section6", noise="student-t")),
    policies=(recipe("SupBTC", v=2.0, eps=0.5, width_scale=0.05), recipe("Uniform")),
    horizons=(200, 400),
    seeds=3,
    checkpoints=2,
)
AUDITED = replace(
    PLAIN, name="audited", worlds=(WORLD,), policies=PLAIN.policies[:1], audit=True, curve_seeds=3
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        yield published(patch, filled(folder / "store", PLAIN, AUDITED), folder, PLAIN, AUDITED)


def test_runs_that_differ_in_their_seed_only_are_together_and_in_order(data):
    found = runs("plain", data)
    assert [(o.world, o.policy, o.horizon) for o in found] == [
        (world, policy, horizon)
        for world in ("symmetric", "section6")
        for horizon in (200, 400)
        for policy in ("SupBTC", "Uniform")
    ]
    assert sorted(i for o in found for i in o.index) == list(range(24))
    assert {len(o.regrets) for o in found} == {3}


def test_a_group_holds_what_its_runs_gave(data):
    one = runs("plain", data, policy="SupBTC", world="symmetric", horizon=400)[0]
    world = WORLD.build({"symmetric": hb.symmetric})
    for seed in range(3):
        policy = hb.SupBTC(400, 3, 2, v=2.0, eps=0.5, width_scale=0.05, seed=seed)
        run = hb.simulate(policy, world, seed=seed)
        assert one.regrets[seed] == pytest.approx(run.regret, rel=1e-8)
        assert one.explored[seed].tolist() == run.diagnostics["explored"]
        assert one.missed[seed] == run.diagnostics["intervals_missed"]
        assert one.exploited[seed] == sum(run.diagnostics["exploited"])
        assert one.truncated[seed] == run.diagnostics["truncated"]
    assert one.per_play == pytest.approx(one.regrets.mean() / 400)


def test_settings_are_those_of_the_run(data):
    one = runs("plain", data)[0]
    assert one.where == dict(WORLD.params)
    assert (one.dim, one.n_arms, one.eps, one.v) == (2, 3, 0.5, 2.0)
    there = runs("plain", data, world="section6")[0]
    assert (there.dim, there.n_arms) == (10, 20)  # as printed, where nothing else is said
    assert runs("plain", data, policy="Uniform")[0].eps == 1.0


def test_only_what_is_wanted_is_given(data):
    assert {o.policy for o in runs("plain", data, policy="Uniform")} == {"Uniform"}
    assert runs("plain", data, policy="Uniform", eps=0.5) == []


def test_curves_are_those_of_the_runs_in_the_order_of_their_seeds(data):
    one = runs("plain", data, policy="Uniform", world="section6", horizon=400)[0]
    plays, table = regrets.curves(one, "plain", data)
    assert plays.tolist() == [200, 400]
    for seed in range(3):
        run = hb.simulate(hb.Uniform(400, 20, 10, seed=seed), hb.section6(), seed, checkpoints=2)
        np.testing.assert_allclose(table[seed], run.curve, rtol=1e-8)
    assert one.seeds == (0, 1, 2)


def test_paired_differences_are_per_play_made_and_seed_by_seed():
    """Gaps of 1, 2 and 3 hundredths: mean 2, standard deviation 1."""
    one, other = some_runs([11.0, 22.0, 33.0]), some_runs([5.0, 10.0, 15.0], horizon=50)
    mean, off = regrets.paired(one, other)
    assert mean == pytest.approx(0.02)
    assert off == pytest.approx(student.ppf(0.99, 2) * 0.01 / math.sqrt(3))
    with pytest.raises(ValueError, match="at least two"):
        mean_limit(np.array([1.0]))
    with pytest.raises(ValueError, match="seeds of P and P must be the same"):
        regrets.paired(one, replace(other, seeds=(1, 2, 3)))


def test_an_audit_is_the_largest_ratio_and_the_sum_of_what_stages_counted(data):
    lines = tables.read_curves("audited", data).to_dict("records")
    made = regrets.audit("audited", data, lambda one: one.horizon / 100)
    many = [line for line in lines if line["explored"] >= 2]
    horizons = {i: o.horizon for o in runs("audited", data) for i in o.index}
    assert made.runs == 6
    assert made.stages == len(many)
    assert made.lemma3 == max(x["sum_c"] / theory.lemma3(2, x["explored"]) for x in many)
    assert made.lemma6 == max(
        x["explored"]
        / theory.lemma6(int(x["stage"]), horizons[int(x["run"])] / 100, 2, x["explored"])
        for x in many
    )
    for s in range(len(made.visits)):
        here = [x for x in lines if x["stage"] == s + 1]
        for counted, name in (
            (made.visits, "visited"),
            (made.lost, "best_lost"),
            (made.far, "far_arms"),
        ):
            assert counted[s] == sum(x[name] for x in here)
    assert made.visits[-1] > 0
    assert made.missed == sum(int(o.missed.sum()) for o in runs("audited", data))
    wrong = {x["run"] for x in lines if x["best_lost"] or x["far_arms"]} | {
        i for o in runs("audited", data) for i, m in zip(o.index, o.missed, strict=True) if m
    }
    assert made.violated == len(wrong) > 0  # such narrow widths do go wrong


def test_what_lemma_5_allows_by_hand():
    """Stages 1 and 2 may cost 2 per play, stage 3 costs 1, stage 4 a half; 5 rounds exploited."""
    one = replace(some_runs([0.0]), explored=np.array([[3, 2, 4, 6]]))
    assert by_stages(one, 7, 20)[0] == pytest.approx(7 * (6 + 4 + 4 + 3 + 5 * 2 / math.sqrt(20)))


@given(power=st.floats(-2, 2), factor=st.floats(0.1, 10))
def test_a_power_has_its_slope_and_no_uncertainty(power, factor):
    points = [some_runs([factor * T**power] * 4, T) for T in (100, 1000, 10_000)]
    middle, low, high = slope(points)
    assert middle == pytest.approx(power, abs=1e-9)
    assert high - low == pytest.approx(0, abs=1e-9)
    assert slope(points, [1e4, 1e6, 1e8])[0] == pytest.approx(power / 2, abs=1e-9)  # against T²


def test_a_seed_without_regret_does_not_spoil_a_slope():
    points = [some_runs([0.0, 1.0, 2.0], 10), some_runs([0.0, 10.0, 20.0], 100)]
    assert slope(points)[0] == pytest.approx(1)


def test_the_limits_of_a_slope_cover_it_as_often_as_they_say():
    """98% of the time; 2,000 trials have a standard error of 0.3%, and the jackknife is no exact
    method, so between 96% and 99.5%."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(2_000):
        points = [some_runs((T * rng.uniform(0.5, 1.5, 8)).tolist(), T) for T in (10, 100, 1000)]
        _, low, high = slope(points)
        hits += low <= 1 <= high
    assert 0.96 < hits / 2_000 < 0.995


def test_the_limits_of_a_slope_are_the_jackknifes_written_out():
    points = [some_runs([1.0, 2.0, 4.0], 10), some_runs([3.0, 30.0, 9.0], 100)]
    low_mean, high_mean = np.array([1.0, 2.0, 4.0]), np.array([3.0, 30.0, 9.0])
    whole = math.log10(high_mean.mean() / low_mean.mean())
    pseudo = []
    for i in range(3):
        left = math.log10(np.delete(high_mean, i).mean() / np.delete(low_mean, i).mean())
        pseudo.append(3 * whole - 2 * left)
    half = mean_limit(np.array(pseudo))
    assert slope(points) == pytest.approx((whole, whole - half, whole + half))


@pytest.mark.parametrize("wrong", ["best_lost", "far_arms"])
def test_a_run_is_violated_by_a_lost_or_a_far_arm_alone(wrong, monkeypatch):
    line = {"run": 1, "stage": 1, "visited": 9, "explored": 9, "sum_c": 1}
    good = {**line, "best_lost": 0, "far_arms": 0}
    two = replace(some_runs([1.0, 1.0]), index=(0, 1))
    monkeypatch.setattr(regrets, "runs", lambda *_: [two])
    for lines, violated in (([good], 0), ([good, {**good, wrong: 1}], 1)):
        table = DataFrame(lines)
        monkeypatch.setattr(tables, "read_curves", lambda *_, table=table: table)
        assert regrets.audit("x", "y", lambda _: 1.0).violated == violated


def small(policy, regrets, horizon, **more):
    """Runs of a policy that ended with these regrets."""
    return replace(some_runs(regrets, horizon), policy=policy, **more)


def test_costs_are_per_play_with_controls_by_their_names_in_words():
    found = [small("Uniform", [1.0, 3.0], T) for T in (100, 1000)] + [small("P", [5.0], 100)]
    table = regrets.costs(found, ("P", "Uniform"))
    assert table.index.tolist() == ["P", "uniform play"]
    assert table.columns.tolist() == ["T = 10²", "T = 10³"]
    assert table.loc["uniform play"].tolist() == pytest.approx([0.02, 0.002])
    assert table.loc["P", "T = 10²"] == pytest.approx(0.05)


def test_steps_are_slopes_from_each_point_to_the_next():
    points = [some_runs([1.0], 10), some_runs([100.0], 100), some_runs([1000.0], 10_000)]
    assert regrets.steps(points) == "2.00, 0.50"
    assert regrets.steps(points[:2], [1.0, 10_000.0]) == "0.50"


def test_an_audit_as_a_table_adds_up_its_stages_and_keeps_whole_numbers():
    by_stage = {"visits": np.array([5, 4]), "lost": np.array([0, 2]), "far": np.array([0, 3])}
    made = regrets.Audit(3, violated=1, missed=7, stages=9, lemma3=0.5, lemma6=0.25, **by_stage)
    column = regrets.audit_table({"here": made})["here"]
    assert column.tolist()[:-1] == [3, 9, 0.5, 0.25, 9, 2, 7, 2, 3, 1]
    p = column.iloc[-1]  # at most one of three with a chance of 1 %
    assert (1 - p) ** 3 + 3 * p * (1 - p) ** 2 == pytest.approx(0.01)
    assert isinstance(column["runs"], int)


def test_stages_that_do_not_exist_are_left_out_of_their_table():
    one = replace(some_runs([0.0], 10), explored=np.array([[3, 2]]))
    assert regrets.stages_table([one], 3)["T = 10¹"].tolist() == [3, 2, None]


def controls_at(*horizons):
    costs = {"Uniform": 0.5, "GreedyRidge": 0.001, "LinUCB": 0.002}
    return [small(name, [cost * T] * 2, T) for name, cost in costs.items() for T in horizons]


def labels(figure):
    return {text.get_text().strip() for ax in figure.axes for text in ax.texts} - {""}


def test_the_figure_of_a_bound_has_it_beside_two_per_play_and_all_controls():
    found = controls_at(10_000, 100_000) + [small("SupBTC", [9.0, 9.0], T) for T in (10_000, 10**5)]
    figure = regrets.bound_figure(found, "SupBTC", lambda T: 7 * T, "Theorem 9", "a finding")
    assert labels(figure) == {
        *("Theorem 9", "2 per play", "uniform play", "SupBTC", "greedy ridge, LinUCB")
    }
    slopes = [line.get_ydata()[-1] / line.get_xdata()[-1] for line in figure.axes[0].lines[:3]]
    assert slopes == pytest.approx([7, 2, 0.5])
    assert figure.axes[0].get_title() == "a finding"


def test_the_figure_of_learning_has_a_panel_for_each_moment_and_names_other_widths():
    mine = [small("SupBTC", [9.0, 9.0], T, settings={}) for T in (10_000, 10**5)]
    narrow = [replace(one, settings={"width_scale": 0.2}) for one in mine]
    figure = regrets.learning_figure([mine], [mine, narrow], controls_at(10_000), "learns")
    assert [ax.get_title() for ax in figure.axes] == ["ε = 1", "ε = ½"]
    assert labels(figure) == {
        *("2T", "uniform play", "SupBTC", "greedy ridge, LinUCB", "widths × 0.2")
    }
    longest = max(line.get_xdata()[-1] for line in figure.axes[0].lines)
    assert longest == 10**5  # that of uniform play goes on to the policy's last horizon


def test_the_figure_of_stages_has_shares_that_add_up_to_one():
    one = replace(some_runs([0.0], 10), explored=np.array([[3, 1]]))
    figure = regrets.stages_figure({"a": [one], "b": [one]}, 2, "stages")
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == pytest.approx([0.75, 0.25])
    assert [ax.get_title() for ax in figure.axes] == ["a", "b"]
