"""The same bits again: in another process, from the same seed, in other blocks, after a pickle."""

import itertools
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import heavybandit as hb
import streams
from heavybandit.noise import StudentT, SymmetricPareto
from streams import (
    KNOW_A_MOMENT,
    MASTERS,
    POLICIES,
    assert_same_run,
    build,
    fingerprints,
    rounds_of,
)

WORLD = hb.section6("student-t", n_arms=6, dim=4)


@pytest.mark.parametrize("switch", ["0", "1"], ids=["compiled", "interpreted"])
def test_another_process_comes_to_the_same_bytes(switch):
    """Compiled or interpreted: a compiled kernel does just what its Python source says."""
    command = "import json, streams; print(json.dumps(streams.fingerprints()))"
    paths = [str(Path(module.__file__).parents[n]) for module, n in ((streams, 0), (hb, 1))]
    environment = os.environ | {
        "NUMBA_DISABLE_JIT": switch,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": "12345",
    }
    done = subprocess.run(
        [sys.executable, "-c", command], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    ours = fingerprints()
    assert json.loads(done.stdout) == ours
    # They tell runs apart, but for policies that choose alike for so short a time.
    assert len(ours) == 68
    assert len(set(ours.values())) > 41


@pytest.mark.parametrize("name", POLICIES)
def test_the_same_seed_is_the_same_run_and_another_seed_another(name):
    first, again, other = (
        hb.simulate(build(name, 6, 4), WORLD, seed=seed, keep_arms=True) for seed in (3, 3, 4)
    )
    assert_same_run(first, again)
    assert first.curve.tobytes() != other.curve.tobytes()


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("SupBMM", {}),
        ("SupBTC", {"width_scale": 0.01}),
        ("SupBTC", {"explore": "random", "width_scale": 0.01}),
        ("SupBTC", {"eps": 0.5, "width_scale": 0.01}),  # keeps its history
        ("TOFU", {}),
        ("MENU", {}),
        ("Uniform", {}),
        ("HeavyOFUL", {"threshold_scale": 0.003}),
        ("HvtUCB", {"threshold_scale": 0.003}),
        ("ClippedUCB", {}),
        ("SafeRidge", {}),
        ("Thompson", {"width_scale": 0.1}),
    ],
)
def test_the_size_of_the_blocks_does_not_show(name, more):
    asked = {"keep_arms": True, "audit": name in MASTERS}
    whole, *parts = (
        hb.simulate(build(name, 6, 4, seed=5, **more), WORLD, 6, block=block, **asked)
        for block in (None, 1, 7, 64)
    )
    for run in parts:
        assert_same_run(run, whole)
    assert len(set(whole.arms.tolist())) > 1
    assert name != "SupBTC" or sum(whole.diagnostics["best_lost"]) > 0  # the audit saw something


@pytest.mark.parametrize("name", POLICIES)
def test_round_by_round_is_the_same_as_in_blocks(name):
    run = hb.simulate(build(name, 6, 4, seed=1), WORLD, seed=7, keep_arms=True)
    policy = build(name, 6, 4, seed=1)
    for arm, (X, payoffs) in zip(run.arms, rounds_of(WORLD, 7, policy.plays), strict=False):
        assert policy.select(X) == arm
        policy.update(payoffs[arm])
    by_hand = policy.diagnostics
    for counted in ("intervals", "intervals_missed"):  # without the truth there is no telling
        assert by_hand.pop(counted) == 0
        run.diagnostics.pop(counted)
    np.testing.assert_equal(by_hand, run.diagnostics)


@pytest.mark.parametrize("eps", [1.0, 0.5])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        *((name, {}) for name in POLICIES),
        ("HeavyOFUL", {"v": 0.01, "threshold_scale": 0.003, "width_scale": 1e-3}),  # makes room
    ],
)
def test_a_policy_pickled_in_the_middle_of_a_round_goes_on_as_before(name, more, eps):
    noise = StudentT(3.0) if eps == 1 else SymmetricPareto(1.6, 0.3)
    makes_room = "threshold_scale" in more
    if name in KNOW_A_MOMENT:
        more = {"eps": eps, **more}
    if name in MASTERS:
        more = {"explore": "random", **more}
    policy = build(name, 6, 4, seed=2, **more)
    stream = rounds_of(hb.section6(noise, n_arms=6, dim=4), 8, policy.plays)
    half = policy.rounds // 2
    pickled = min(half, 300)
    arms = []
    for t, (X, payoffs) in enumerate(itertools.islice(stream, min(2 * half, 400))):
        arm = policy.select(X)
        if t == pickled:
            resumed = pickle.loads(pickle.dumps(policy))
        policy.update(payoffs[arm])
        if t >= pickled:
            assert t == pickled or resumed.select(X) == arm
            resumed.update(payoffs[arm])
            arms.append(arm)
    np.testing.assert_equal(resumed.diagnostics, policy.diagnostics)
    assert resumed.round == policy.round
    assert len(arms) > 20
    assert len(set(arms)) > 1
    assert not makes_room or policy.diagnostics["suspects"] > 100


@pytest.mark.parametrize("name", POLICIES)
def test_asking_again_changes_nothing(name):
    more = {"explore": "random"} if name in MASTERS else {}
    asked_once, asked_often = (build(name, 6, 4, seed=3, **more) for _ in range(2))
    stream = rounds_of(WORLD, 9, asked_once.plays)
    for X, payoffs in itertools.islice(stream, min(asked_once.rounds, 150)):
        arm = asked_once.select(X)
        asked_often.select(np.roll(X, 1, axis=0))
        assert asked_often.select(X) == arm
        assert asked_often.select(X) == arm
        for policy in (asked_once, asked_often):
            policy.update(payoffs[arm])
        np.testing.assert_equal(asked_often.diagnostics, asked_once.diagnostics)


def test_one_random_number_is_drawn_per_round_by_any_rule_of_exploring():
    """`random` picks ⌊u·K⌋ of K wide arms: in the first round, with A = I, all are wide."""
    X = np.eye(5)
    arms = [hb.SupBTC(100, 5, 5, v=4.0, explore="random", seed=s).select(X) for s in range(300)]
    drawn = [np.random.default_rng(np.random.SeedSequence(s, spawn_key=(2,))) for s in range(300)]
    assert arms == [int(rng.random() * 5) for rng in drawn]
    assert [hb.Uniform(100, 5, 5, seed=s).select(X) for s in range(300)] == arms


@pytest.mark.parametrize("name", ["Uniform", "LinUCB", "Thompson"])
def test_a_block_after_single_rounds_goes_on_as_they_would(name: str) -> None:
    """Also after a round that was only offered: the loop was last entered for a part of a round."""
    n, (rng, form) = 20, (np.random.default_rng(3), hb.noise.Form())
    X, draws = WORLD.contexts(rng, 0, n, 1), rng.standard_t(3, size=n)
    means = np.ascontiguousarray(X @ WORLD.theta_star(0))
    mixed, single = (getattr(hb, name)(n, 6, 4, seed=5) for _ in range(2))
    arms = []
    for t in range(n):
        arms.append(single.select(X[t]))
        single.update(form.payoffs(means[t, arms[t]], draws[t : t + 1]))
    for t in range(4):
        mixed.update(form.payoffs(means[t, mixed.select(X[t])], draws[t : t + 1]))
    mixed.select(X[4])
    X = np.asfortranarray(X)  # nobody has to know in which order the engine wants them
    curve, played = np.empty(n - 4), np.empty(n - 4, dtype=np.int64)
    mixed.play_block(X[4:], means[4:], means[4:].max(axis=1), draws[4:], form, 0.0, curve, played)
    assert played.tolist() == arms[4:]
