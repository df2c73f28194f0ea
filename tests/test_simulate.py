"""Simulation: regret by hand, the order of things, and what is told besides the regret."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit.noise import StudentT
from small_worlds import SameArms, Scripted, Silence, TwoArms, simple
from streams import assert_same_run

# Regret, checkpoints.


@pytest.mark.parametrize("plays", [1, 3])
@pytest.mark.parametrize("block", [None, 1, 2])
def test_regret_of_a_script_by_hand(plays, block):
    """Arms 0, 1, 1, 0, 1 cost 0, 0.6, 0.4, 0, 0.4 per play."""
    run = hb.simulate(Scripted([0, 1, 1, 0, 1], plays), TwoArms(), keep_arms=True, block=block)
    np.testing.assert_array_equal(run.plays, plays * np.arange(1, 6))
    np.testing.assert_allclose(run.curve, plays * np.array([0, 0.6, 1.0, 1.0, 1.4]), atol=1e-15)
    assert run.regret == run.curve[-1]
    assert run.arms.tolist() == [0, 1, 1, 0, 1]
    assert (run.policy, run.world, run.seed) == ("Scripted", "two-arms", 0)


def test_a_compiled_policy_has_the_regret_of_the_arms_it_played():
    run = hb.simulate(hb.Uniform(40, 2, 1, seed=1), TwoArms(), keep_arms=True, checkpoints=40)
    cost = np.where(np.arange(40) % 2, 0.6, 0.4) * run.arms
    np.testing.assert_allclose(run.curve, np.cumsum(cost), rtol=1e-13)
    assert 5 < run.arms.sum() < 35


def test_payoffs_are_the_mean_plus_the_noise_of_each_play():
    policy = Scripted([0, 1, 1, 0], plays=2)
    run = hb.simulate(policy, TwoArms(Silence(size=0.25)))
    wanted = [[1.05] * 2, [0.45] * 2, [0.65] * 2, [1.05] * 2]
    np.testing.assert_allclose(policy.payoffs, wanted, rtol=1e-15)
    assert run.arms is None  # unless they are asked for


def test_regret_counts_means_and_never_noisy_payoffs():
    quiet = hb.simulate(Scripted([0, 1, 1, 0, 1]), TwoArms())
    loud = hb.simulate(Scripted([0, 1, 1, 0, 1]), TwoArms(StudentT(1.5, scale=100.0)))
    np.testing.assert_array_equal(quiet.curve, loud.curve)


def test_uniform_play_has_the_regret_of_the_average_arm():
    """20 000 rounds, against E[max_a xᵀθ* − mean_a xᵀθ*] from 50 000 rounds of NumPy's own; the
    two agree within 4 standard errors of their difference."""
    rounds, rng = 20_000, np.random.default_rng(77)
    X = rng.random((50_000, 20, 10))
    means = (X / np.linalg.norm(X, axis=2, keepdims=True)).sum(axis=2) / math.sqrt(10)
    lost = means.max(axis=1) - means.mean(axis=1)
    # A round's regret varies with the contexts and with the arm that is drawn.
    spread = math.sqrt(lost.var() + means.var(axis=1).mean())
    error = math.sqrt(spread**2 * rounds + rounds**2 * lost.var() / len(lost))
    run = hb.simulate(hb.Uniform(rounds, 20, 10), hb.section6(), seed=5)
    assert abs(run.regret - rounds * lost.mean()) < 4 * error
    assert error < 0.02 * run.regret


@pytest.mark.parametrize(
    ("checkpoints", "plays", "rounds", "wanted"),
    [
        (1, 1, 10, [10]),
        (2, 1, 10, [5, 10]),
        (4, 1, 10, [3, 5, 8, 10]),  # 2.5 and 7.5 are rounded up
        (200, 1, 10, list(range(1, 11))),
        (2, 3, 10, [15, 30]),
        ([1, 4, 7], 1, 10, [1, 4, 7, 10]),
        ([7, 1, 7], 1, 10, [1, 7, 10]),
        ([10], 1, 10, [10]),
        ([10, 11, 999], 1, 10, [10]),
        ([1, 2, 3, 5, 6, 29], 3, 10, [3, 6, 27, 30]),  # the last full round until then
        ([2], 3, 10, [30]),
        (np.array([2, 4]), 1, 5, [2, 4, 5]),
        (np.uint64([2, 4]), 1, 5, [2, 4, 5]),
        (np.int8([2, 100]), 129, 9, [1161]),
        (range(2, 6, 2), 1, 5, [2, 4, 5]),
        (np.int64(2), 1, 10, [5, 10]),
    ],
)
def test_checkpoints_fall_on_whole_rounds_and_the_last_is_there(checkpoints, plays, rounds, wanted):
    arms = [1] * rounds
    full = hb.simulate(Scripted(arms, plays), TwoArms(), checkpoints=rounds)
    run = hb.simulate(Scripted(arms, plays), TwoArms(), checkpoints=checkpoints, block=3)
    assert run.plays.tolist() == wanted
    np.testing.assert_array_equal(run.curve, full.curve[np.array(wanted) // plays - 1])


@given(count=st.integers(1, 300), rounds=st.integers(1, 300))
def test_so_many_checkpoints_as_asked_for_are_evenly_spread(count, rounds):
    run = hb.simulate(Scripted([0] * rounds), TwoArms(), checkpoints=count)
    assert len(run.plays) == len(run.curve) == min(count, rounds)
    assert run.plays[-1] == rounds
    steps = np.diff(run.plays, prepend=0)
    assert steps.min() >= 1
    assert steps.max() - steps.min() <= 1


def test_plays_that_make_no_round_are_not_made():
    """T = 40 000, K = 6: r = ⌈8 ln(2·6·40 000·10.6/0.01)⌉ = ⌈160.4⌉ = 161, and 161·248 = 39 928."""
    policy = hb.SupBMM(40_000, 6, 4, v=3.0)
    assert (policy.plays, policy.rounds) == (161, 248)
    told = []
    run = hb.simulate(policy, simple(), progress=told.append)
    assert run.plays[-1] == sum(told) == 39_928
    assert policy.round == 249
    with pytest.raises(RuntimeError, match="select"):
        policy.select(np.zeros((6, 4)))


def test_progress_is_told_of_all_plays():
    policies = [hb.SupBMM(20_000, 6, 4, v=3.0), hb.TOFU(500, 6, 4, v=4.0), hb.Uniform(300, 6, 4)]
    told = []
    hb.simulate_all(policies, simple(), progress=told.append, block=100)
    assert sum(told) == sum(policy.plays * policy.rounds for policy in policies)
    assert len(told) > 8
    assert min(told) > 0


def test_a_progress_bar_counts_plays_on_stderr(capsys):
    hb.simulate(hb.Uniform(300, 6, 4), simple(), progress=True)
    out, err = capsys.readouterr()
    assert "300/300" in err
    assert "play" in err
    assert out == ""


# Together or alone.


@pytest.mark.parametrize("world", [simple(), hb.lower_bound(30_000, 9, 4, 1.0)], ids=str)
def test_together_is_the_same_as_one_by_one(world):
    """Policies with different plays, with different horizons, compiled, literal and plain."""
    K, d = world.n_arms, world.dim

    def company():
        return [
            hb.SupBTC(900, K, d, v=4.0, width_scale=0.01),
            hb.SupBMM(30_000, K, d, v=3.0, width_scale=0.1),
            hb.TOFU(300, K, d, v=4.0, width_scale=0.1),
            hb.MENU(20_000, K, d, v=3.0, width_scale=0.1),
            hb.paper.CRT(200, K, d, v=4.0),
            Scripted([0, 1, 2] * 20, plays=7),
            hb.Uniform(900, K, d),
            hb.SupBTC(500, K, d, v=4.0, width_scale=0.01, explore="random", seed=3),
        ]

    together = hb.simulate_all(company(), world, seed=4, keep_arms=True, checkpoints=17)
    alone = [hb.simulate(p, world, seed=4, keep_arms=True, checkpoints=17) for p in company()]
    assert [run.policy for run in together] == [type(p).__name__ for p in company()]
    for a, b in zip(together, alone, strict=True):
        assert_same_run(a, b)


def test_an_iterator_of_policies_will_do_and_so_will_none():
    runs = hb.simulate_all((Scripted([arm] * 3) for arm in (0, 1)), TwoArms())
    assert [run.regret for run in runs] == pytest.approx([0.0, 0.4 + 0.6 + 0.4])
    assert hb.simulate_all([], TwoArms()) == []


def test_policies_with_the_same_plays_share_contexts_and_others_do_not():
    world = TwoArms()
    hb.simulate_all([Scripted([0] * 4), Scripted([1] * 6), Scripted([0] * 5, 2)], world, block=4)
    asked = [(0, 4, 1), (4, 2, 1), (0, 4, 2), (4, 1, 2)]
    assert world.asked[-4:] == asked  # the first calls compare parts with the whole


def test_policies_with_the_same_seed_meet_the_same_contexts_and_the_same_noise():
    first, second = Scripted([0] * 50), Scripted([0, 1] * 25)
    hb.simulate(first, simple(), seed=3)
    hb.simulate(second, simple(), seed=3, block=7)
    np.testing.assert_array_equal(first.contexts, second.contexts)
    np.testing.assert_array_equal(first.payoffs[::2], second.payoffs[::2])
    hb.simulate(third := Scripted([0] * 50), simple(), seed=4)
    assert (np.array(first.contexts) != third.contexts).all()
    assert (np.array(first.payoffs) != third.payoffs).all()


def test_a_policy_that_was_asked_but_not_told_is_still_fresh():
    world, asked = simple(), hb.Uniform(100, 6, 4, seed=2)
    asked.select(np.zeros((6, 4)))
    fresh = hb.simulate(hb.Uniform(100, 6, 4, seed=2), world, keep_arms=True)
    assert_same_run(hb.simulate(asked, world, keep_arms=True), fresh)


# Audits.


def test_an_audit_counts_every_interval_of_every_stage_visited():
    """Σ over stages of the arms that entered it in each visit; without an audit it is fewer."""
    counted = []
    for audit in (True, False):
        policy = hb.SupBTC(3000, 6, 4, v=4.0, width_scale=0.02)
        seen = hb.simulate(policy, simple(), audit=audit).diagnostics
        entered = [
            round(visits * arms)
            for visits, arms in zip(seen["visited"], seen["arms_entering"], strict=True)
            if visits
        ]
        counted.append((seen["intervals"], sum(entered)))
        assert seen["estimates"] == seen["intervals"]
        assert len(entered) >= 4
    assert counted[0][0] == counted[0][1] == counted[1][1]
    assert 0 < counted[1][0] < counted[0][0]


# What an audit counts by stage, against the literal twins.


class Watched:
    """Mixed into a literal master: counts what an audit does, from what Algorithm 3 holds."""

    def watch(self, theta):
        self.theta = theta
        self.sum_c = [0.0] * self.n_stages
        self.best_lost, self.far_arms = [0] * self.n_stages, [0] * self.n_stages

    def _choose(self, X, u):
        self.offered, self.stage = X, 0
        return super()._choose(X, u)

    def _basic(self, V, Y, X):
        """Asked in each stage that is visited, for the arms that entered it."""
        self.stage += 1
        best = max(float(x @ self.theta) for x in self.offered)
        gaps = [best - float(x @ self.theta) for x in X]
        self.best_lost[self.stage - 1] += min(gaps) > 1e-12
        self.far_arms[self.stage - 1] += sum(gap > 2.0 ** (3 - self.stage) + 1e-9 for gap in gaps)
        return super()._basic(V, Y, X)

    def _learn(self, x, payoffs):
        if self._grows is not None:
            V = np.array([self._x[i] for i in self._Psi[self._grows]]).reshape(-1, self.dim)
            A = np.eye(self.dim) + V.T @ V
            self.sum_c[self._grows - 1] += math.sqrt(x @ np.linalg.solve(A, x))
        super()._learn(x, payoffs)


LITTLE, MUCH = StudentT(3.0, scale=0.05), StudentT(2.5, scale=3.0)
HUGE = StudentT(2.5, scale=30.0)  # SupBMM's medians of a hundred bear much


def around(noise, n_arms=4, dim=2):
    return hb.symmetric(noise, n_arms=n_arms, dim=dim)


def tied(noise):
    """Two directions that are equally good, two that are not; θ* is the first axis."""
    return SameArms([[0.6, 0.8], [0.6, -0.8], [-0.5, 0.5], [-0.6, -0.8]], [1.0, 0.0], noise)


AUDITS = [  # policy, world, settings, and what must have happened
    ("SupBTC", simple(), {"width_scale": 0.05}, ""),
    ("SupBTC", around(LITTLE), {}, "nothing"),
    ("SupBTC", around(MUCH), {}, "lost far"),
    ("SupBTC", around(MUCH, 5, 3), {"width_scale": 0.01, "eps": 0.5}, "lost far"),
    ("SupBTC", around(MUCH, 3, 2), {"explore": "random"}, "lost far"),
    ("SupBTC", tied(MUCH), {}, "far"),
    ("SupBMM", simple(), {"width_scale": 0.05}, ""),
    ("SupBMM", around(LITTLE), {"width_scale": 0.15}, "nothing"),
    ("SupBMM", around(HUGE), {"width_scale": 0.05}, "lost far"),
    ("SupBMM", around(HUGE), {"explore": "widest", "width_scale": 0.15}, "lost far"),
    ("SupBMM", tied(HUGE), {"width_scale": 0.08}, "lost far"),
]


@pytest.mark.parametrize(("name", "world", "settings", "happened"), AUDITS)
def test_an_audit_counts_by_stage_what_the_paper_holds(name, world, settings, happened):
    horizon = 40_000 if name == "SupBMM" else 700
    settings = {"v": 1.0, "width_scale": 0.02, "seed": 4, **settings}
    policy = getattr(hb, name)(horizon, world.n_arms, world.dim, **settings)
    run = hb.simulate(policy, world, seed=4, audit=True, keep_arms=True)
    watched = type(name, (Watched, getattr(hb.paper, name)), {})
    literal = watched(horizon, world.n_arms, world.dim, **settings)
    literal.watch(world.theta_star(4))
    same = hb.simulate(literal, world, seed=4, keep_arms=True)
    np.testing.assert_array_equal(run.arms, same.arms)
    seen = run.diagnostics
    np.testing.assert_allclose(seen["sum_c"], literal.sum_c, rtol=1e-9, atol=1e-12)
    assert seen["best_lost"] == literal.best_lost
    assert seen["far_arms"] == literal.far_arms
    # and the run was worth it
    assert sum(visits > 0 for visits in seen["visited"]) > 2
    assert sum(explored > 1 for explored in seen["explored"]) > 1
    assert [c > 0 for c in seen["sum_c"]] == [explored > 0 for explored in seen["explored"]]
    if happened:
        assert (sum(seen["best_lost"]) > 0) == ("lost" in happened)
        assert (sum(seen["far_arms"]) > 0) == ("far" in happened)
    assert seen["best_lost"][0] == 0  # all arms enter the first stage


def test_one_of_two_best_arms_may_go_and_the_best_is_not_lost():
    """The last stage is entered by one arm alone, always, and it is one of the two."""
    policy = hb.SupBTC(700, 4, 2, v=1.0, width_scale=0.02, seed=4)
    seen = hb.simulate(policy, tied(MUCH), seed=4, audit=True).diagnostics
    last = max(s for s, visits in enumerate(seen["visited"]) if visits)
    assert seen["arms_entering"][last] == 1
    assert sum(seen["best_lost"]) == 0


@pytest.mark.parametrize(
    ("policy", "explored"),
    [
        (lambda: hb.SupBMM(15_400, 1, 1, v=3.0, width_scale=1 / 7), [3, 15, 63, 30]),
        (lambda: hb.SupBTC(100, 1, 1, v=4.0), [100, 0, 0, 0]),
    ],
)
def test_the_sum_of_c_of_one_context_by_hand(policy, explored):
    """After n rounds c = 1/√(1+n), in each stage from its own beginning."""
    seen = hb.simulate(policy(), SameArms([[1.0]], [0.5]), audit=True).diagnostics
    assert seen["explored"] == explored
    wanted = [sum(1 / math.sqrt(1 + n) for n in range(rounds)) for rounds in explored]
    assert seen["sum_c"] == pytest.approx(wanted)
    assert seen["best_lost"] == seen["far_arms"] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("name", "explore"),
    [("SupBMM", "random"), *(("SupBTC", e) for e in ("first", "random", "widest", "optimistic"))],
)
def test_an_audit_changes_neither_arms_nor_regret_and_only_an_audit_counts_by_stage(name, explore):
    world, horizon = (around(HUGE), 40_000) if name == "SupBMM" else (around(MUCH), 1500)
    settings = {"v": 1.0, "width_scale": 0.03, "explore": explore, "seed": 2}
    plain, audited = (
        hb.simulate(
            getattr(hb, name)(horizon, 4, 2, **settings), world, 2, audit=audit, keep_arms=True
        )
        for audit in (False, True)
    )
    np.testing.assert_array_equal(plain.arms, audited.arms)
    assert plain.curve.tobytes() == audited.curve.tobytes()
    assert plain.regret == audited.regret
    assert set(plain.diagnostics) < set(audited.diagnostics)
    only = set(audited.diagnostics) - set(plain.diagnostics)
    assert only == {"sum_c", "best_lost", "far_arms"}
    for by_stage in ("explored", "exploited", "visited", "arms_entering"):
        np.testing.assert_equal(plain.diagnostics[by_stage], audited.diagnostics[by_stage])


def test_an_audit_counts_nothing_by_stage_where_nobody_knows_the_truth():
    policy = hb.SupBTC(300, 3, 2, v=1.0, width_scale=0.02)
    policy.audit()
    rng = np.random.default_rng(0)
    for _ in range(300):
        policy.select(rng.random((3, 2)) / 2)
        policy.update(rng.random(1))
    assert sum(policy.diagnostics["visited"]) > 300
    assert sum(policy.diagnostics["best_lost"]) == sum(policy.diagnostics["far_arms"]) == 0


def test_an_audit_needs_a_compiled_policy():
    with pytest.raises(TypeError, match="audit needs a compiled policy, got Scripted"):
        hb.simulate(Scripted([0] * 3), TwoArms(), audit=True)


# Intervals and rounds.


@pytest.mark.parametrize("name", ["SupBTC", "SupBMM", "FlatBTC", "FlatBMM"])
@pytest.mark.parametrize("noise", ["student-t", "pareto-centred"])
def test_intervals_of_theory_width_with_the_exact_v_never_miss(name, noise):
    """Propositions 1 and 2 allow δ = 0.01 for a miss anywhere; they hold with room to spare."""
    world = hb.section6(noise, n_arms=6, dim=4)
    central = name.endswith("BMM")
    v = world.noise.central_moment(1.0) if central else world.noise.raw_moment(1.0, 1.0)
    policy = getattr(hb, name)(40_000 if central else 3000, 6, 4, v=v)
    seen = hb.simulate(policy, world, audit=True).diagnostics
    assert seen["intervals"] >= policy.rounds * 6
    assert seen["intervals_missed"] == 0


def test_intervals_that_are_too_narrow_do_miss():
    policy = hb.FlatBTC(3000, 6, 4, v=4.0, width_scale=1e-4)
    seen = hb.simulate(policy, simple()).diagnostics
    assert seen["intervals"] == 18_000
    assert seen["intervals_missed"] > 9000


@pytest.mark.parametrize("name", ["SupBMM", "SupBTC"])
@pytest.mark.parametrize("scale", [1.0, 0.1, 0.01])
def test_every_round_of_a_master_explores_or_exploits(name, scale):
    horizon = 40_000 if name == "SupBMM" else 2000
    policy = getattr(hb, name)(horizon, 6, 4, v=3.0, width_scale=scale)
    seen = hb.simulate(policy, simple()).diagnostics
    explored, exploited = np.array(seen["explored"]), np.array(seen["exploited"])
    assert explored.sum() + exploited.sum() == policy.rounds
    visited = np.array(seen["visited"])
    assert visited[0] == policy.rounds
    # whoever neither explored nor exploited in a stage went on to the next
    np.testing.assert_array_equal(visited[1:], (visited - explored - exploited)[:-1])


# What a policy may not do to others.


class Overwriter(Scripted):
    """Tries to change what is offered, and what stands behind it, in this round and in others."""

    def select(self, contexts):
        behind = contexts
        while isinstance(behind, np.ndarray):
            for unlock in (lambda x: x.setflags(write=True), lambda x: x.fill(0.0)):
                with pytest.raises(ValueError, match=r"WRITEABLE|read-only"):
                    unlock(behind)
            behind = behind.base
        assert memoryview(behind).readonly
        return super().select(contexts)


def test_no_policy_can_change_the_contexts_that_others_meet():
    world = simple()
    alone = hb.simulate(hb.GreedyRidge(30, 6, 4), world, keep_arms=True)
    both = [Overwriter([0] * 30), hb.GreedyRidge(30, 6, 4)]
    mine, beside = hb.simulate_all(both, world, keep_arms=True)
    assert_same_run(beside, alone)
    assert mine.regret == hb.simulate(Scripted([0] * 30), world).regret


def test_no_policy_can_change_the_log_that_a_world_or_a_replay_reads():
    log = np.random.default_rng(1).uniform(0, 0.5, (30, 2, 1))
    kept = log.copy()
    logged = type("Logged", (TwoArms,), {"contexts": lambda _, __, i, n, ___: log[i : i + n]})
    hb.simulate(Overwriter([0] * 30), logged())
    hb.replay(Overwriter([0] * 30), log, [0, 1] * 15, np.ones(30))
    hb.replay(Overwriter([0] * 30), log[0], [0, 1] * 15, np.ones(30))
    np.testing.assert_array_equal(log, kept)


def test_whoever_unlocks_contexts_is_told_to_copy_them():
    class Unlocks(Scripted):
        def select(self, contexts):
            contexts.flags.writeable = True
            return 0

    with pytest.raises(ValueError, match="WRITEABLE") as caught:
        hb.simulate(Unlocks([0]), TwoArms())
    assert caught.value.__notes__ == ["contexts are read-only, so copy them first: contexts.copy()"]
