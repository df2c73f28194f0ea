"""Experiments with copies: what is recorded of a run, and of how often its copies did the same."""

from dataclasses import replace

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.pipeline.recipes import make_world, recipe
from heavybandit.pipeline.tables import file_names, read_csv
from heavybandit.pipeline.verify import verify
from heavybandit.replication.counterfactuals import Beside, copies, over_time, percent
from tiny import TINY, filled, published

SETTINGS = {name: getattr(TINY, name) for name in ("what", "worlds", "horizons", "seeds")}
POLICIES = (*TINY.policies, recipe("SupBMM", v=3.0, explore="optimistic"))
BESIDE = Beside("tiny", policies=POLICIES, first_seed=5, checkpoints=4, curve_seeds=1, **SETTINGS)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beside")
    store = filled(folder / "store", BESIDE)
    with pytest.MonkeyPatch.context() as patch:
        yield published(patch, store, folder, BESIDE)


def test_a_run_is_recorded_as_ever_and_its_copies_after_it(results, tmp_path, monkeypatch):
    plain = published(monkeypatch, filled(tmp_path / "store", TINY), tmp_path, TINY)
    for file in file_names("tiny"):
        ours, theirs = read_csv(results / file), read_csv(plain / file)
        kept = ours["run"].astype(int) % len(POLICIES) < len(TINY.policies)
        same = ours[kept][theirs.columns[1:]].reset_index(drop=True)
        assert same.equals(theirs[theirs.columns[1:]])
    assert BESIDE.size() == (16, 3 * 16 * 300)
    assert {spec.key for spec in BESIDE.runs()}.isdisjoint(spec.key for spec in TINY.runs())


def test_what_is_recorded_of_a_copy_is_what_a_counterfactual_finds(results):
    found = {(o.world, o.horizon, o.policy, o.shown): o for o in copies("tiny", results)}
    for shown in ("zero", "noise"):
        for spec in BESIDE.runs():
            one = found[spec.world, spec.horizon, spec.policy, shown]
            world = make_world(spec.world, spec.horizon)
            alone = hb.counterfactual(
                spec.make_policy(world), world, spec.seed, shown, checkpoints=4
            )
            i = one.seeds.index(spec.seed)
            assert one.shares[i] == alone.share
            assert one.regrets[i] == pytest.approx(alone.other.regret, rel=1e-8)
            assert one.first[i] == alone.first
            for rounds, same, of_rounds, of_same in zip(
                one.rounds_by_stage[i],
                one.same_by_stage[i],
                alone.rounds_by_stage,
                alone.same_by_stage,
                strict=False,
            ):
                assert (rounds, same) == (of_rounds, of_same)


def test_shares_over_time_are_those_between_two_checkpoints(results):
    spec = BESIDE.runs()[1]
    one = next(o for o in copies("tiny", results) if (o.policy, o.shown) == (spec.policy, "zero"))
    plays, shares = over_time(one, "tiny", results)
    world = make_world(spec.world, 300)
    alone = hb.counterfactual(spec.make_policy(world), world, 5, checkpoints=4)
    assert plays.tolist() == [75, 150, 225, 300]
    np.testing.assert_allclose(shares, [np.diff(alone.same, prepend=0) / 75])


def test_only_a_share_without_exception_is_shown_as_all(results):
    one = copies("tiny", results)[0]
    assert percent(replace(one, shares=np.array([1.0, 1.0]))) == "100 %"
    assert percent(replace(one, shares=np.array([1.0, 0.99999]))) == "99.9 %"
    assert percent(replace(one, shares=np.array([0.5, 0.25]))) == "37.5 %"


def test_a_share_that_was_changed_by_hand_is_found(results, monkeypatch):
    assert verify(results, seed=1, plays=1e6, names=["tiny"]).differences == []
    path = results / "tiny.runs.csv"
    text, as_it_was = path.read_text(), path.read_text()
    path.write_text(text.replace(",300\n", ",299\n", 1))
    monkeypatch.setattr("heavybandit.pipeline.verify.check_files", lambda *_: [])
    try:
        found = verify(results, seed=1, plays=1e6, names=["tiny"]).differences
    finally:
        path.write_text(as_it_was)
    assert path.read_text() != text.replace(",300\n", ",299\n", 1)
    assert len(found) == 1
    assert "its row comes out differently" in found[0]
