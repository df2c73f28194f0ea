"""Leaps against the engine: play for play given the same payoffs, and in law."""

import math

import numpy as np
import pytest
from scipy import stats

import heavybandit as hb
from heavybandit.engine import leap as leaping
from heavybandit.noise import Extremal, Gaussian, Levels, Lottery, TwoPointPayoff
from heavybandit.policy import NOISE_STREAM, stream

SAME = ("explored", "exploited", "visited", "arms_entering", "estimates", "truncated")
SAME += ("intervals", "intervals_missed")


def seen_by_the_engine(world, policy, seed):
    """Counts of the values that `simulate` pays, asked for in the order in which they are paid."""
    means, noise, plays = world.means, world.noise, policy.plays
    draws = noise.draw(stream(seed, NOISE_STREAM), policy.rounds * plays).reshape(-1, plays)
    done = 0

    def counts(_, arm, rounds):
        nonlocal done
        paid = noise.payoffs(means[arm], draws[done : done + rounds])
        done += rounds
        return np.array([(paid == value).sum(axis=0) for value in noise.law(means[arm])[0]])

    return counts


def both(monkeypatch, make, world, seed):
    """The engine's run and the leap given its payoffs, with the steps that it took."""
    steps = []

    def walk(rules, counts, known, original=leaping.walk):
        stages, found = original(rules, counts, known)
        steps.extend(found)
        return stages, found

    policy = make()
    counts = seen_by_the_engine(world, policy, seed)
    with monkeypatch.context() as patch:
        patch.setattr(leaping, "Drawn", lambda *_: counts)
        patch.setattr(leaping, "walk", walk)
        leapt = hb.leap(policy, world, seed)
    assert policy.round == 1
    return hb.simulate(make(), world, seed, keep_arms=True), leapt, steps


def some_arms(rng):
    """Contexts with arms of norm 0, repeated, collinear and nearly parallel ones among them."""
    n_arms, dim = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    X = rng.standard_normal((n_arms, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * rng.choice([1.0, 1.3, 4.0], (n_arms, 1))
    for arm in range(1, n_arms):
        kind = rng.integers(8)
        if kind < 4:
            X[arm] = (0 * X[0], X[0], -0.5 * X[arm - 1], X[arm - 1] * (1 - 1e-3))[kind]
    theta = rng.uniform(-1, 1) * rng.standard_normal(dim) / math.sqrt(dim)
    return X, theta / max(1, np.linalg.norm(theta))


def some_case(seed):
    """A world and a policy of all sizes; half of them run at widths that let stages be passed."""
    rng = np.random.default_rng([17, seed])
    X, theta = some_arms(rng)
    laws = [Extremal(2.0, 0.3), Lottery(30.0, 0.01), Levels.pareto(2.2, 0.3), Levels([0.0], [1])]
    laws += [Levels.pareto(1.5, 0.1, one_sided=True), Levels([-1, 0.5, 4], [0.3, 0.5, 0.2])]
    law = laws[rng.integers(len(laws))]
    if rng.integers(5) == 0:
        theta = np.abs(theta) / max(1, np.linalg.norm(theta))
        X, law = np.abs(X), TwoPointPayoff(float(rng.uniform(0.05, 1)))
    policy = (hb.SupBTC, hb.SupBMM)[rng.integers(2)]
    settings = {
        "horizon": int(10 ** rng.uniform(0.7 if policy is hb.SupBTC else 3, 5)),
        "v": float(10 ** rng.uniform(-2, 1)),
        "delta": float(10 ** rng.uniform(-3, -0.1)),
        "width_scale": float(10 ** rng.uniform(-3, 0)) if rng.integers(4) else 1.0,
    }
    if seed % 3 == 0:  # the knobs of reading R16
        settings |= {name: float(10 ** rng.uniform(-1, 1)) for name in ("ridge", "level_scale")}
        settings |= (
            {"threshold_scale": float(10 ** rng.uniform(-1, 1))} if policy is hb.SupBTC else {}
        )
    world = hb.fixed_arms(X, theta, law)
    return world, lambda: policy(n_arms=world.n_arms, dim=world.dim, **settings)


def the_same(engine, leapt, steps, case):
    """Whether two runs agree in every round and in all that both count."""
    np.testing.assert_array_equal(np.repeat(*np.transpose(steps)), engine.arms, case)
    for name in SAME:
        np.testing.assert_equal(leapt.diagnostics[name], engine.diagnostics[name], case)
    np.testing.assert_array_equal(leapt.plays, engine.plays)
    np.testing.assert_allclose(leapt.curve, engine.curve, rtol=1e-9, atol=1e-9)
    assert leapt.regret == leapt.curve[-1]


def test_given_the_engines_payoffs_a_leap_plays_the_same_arms_in_every_round(monkeypatch):
    found = dict.fromkeys(("exploits", "ends inside a leap", "loses arms", "truncates"), 0)
    for seed in range(150):
        world, make = some_case(seed)
        engine, leapt, steps = both(monkeypatch, make, world, seed)
        the_same(engine, leapt, steps, str(seed))
        diagnostics = leapt.diagnostics
        found["exploits"] += sum(diagnostics["exploited"]) > 0
        found["ends inside a leap"] += sum(diagnostics["exploited"]) == 0
        found["loses arms"] += np.nanmin(diagnostics["arms_entering"]) < world.n_arms
        found["truncates"] += diagnostics["truncated"] > 0
    assert min(found.values()) >= 10, found


@pytest.mark.parametrize("horizon", [5, 6, 7, 17, 18, 19, 20])
def test_a_leap_exploits_where_the_stages_run_out(monkeypatch, horizon):
    """Reading R12: widths just below 2^{-S}, which at these horizons is above 1/√T."""
    world = hb.fixed_arms([[1, 0], [0, 0.7], [0.6, 0.8]], [0.2, 0.9], Extremal(0.5))
    factor = leaping.rules_of(hb.SupBTC(horizon, 3, 2, v=1.0), world).factor
    scale = 2.0 ** -math.floor(math.log(horizon)) / factor * (1 - 1e-6)
    run = both(monkeypatch, lambda: hb.SupBTC(horizon, 3, 2, v=1.0, width_scale=scale), world, 1)
    the_same(*run, "")
    assert run[1].diagnostics["exploited"][-1] == horizon


def test_a_leap_audits_its_stages_as_the_engine_does(monkeypatch):
    lost = 0
    for seed in range(110, 150):
        world, make = some_case(seed)
        _, leapt, _ = both(monkeypatch, make, world, seed)
        audited = hb.simulate(make(), world, seed, audit=True).diagnostics
        for name in ("best_lost", "far_arms"):
            assert leapt.diagnostics[name] == audited[name], (seed, name)
        np.testing.assert_allclose(leapt.diagnostics["sum_c"], audited["sum_c"], rtol=1e-9)
        lost += sum(audited["best_lost"]) > 0
    assert lost > 0


@pytest.mark.parametrize(
    ("kind", "horizon", "scale", "size", "seeds"),
    [(hb.SupBTC, 1_000, 0.02, 0.5, 500), (hb.SupBMM, 100_000, 0.05, 3.0, 200)],
)
def test_leaps_and_simulations_have_the_same_law(kind, horizon, scale, size, seeds):
    """χ² over the regrets that occur, the rarest in one class: p-value above 0.001, with committed
    seeds. A right leap would fail this once in 1,000 choices of seeds."""
    world = hb.fixed_arms([[1, 0], [0.8, 0.6], [0, 1]], [0.5, 0.45], Levels.pareto(2.2, size))
    found = [
        [
            round(run(kind(horizon, 3, 2, v=1.0, width_scale=scale), world, seed).regret, 6)
            for seed in range(seeds)
        ]
        for run in (hb.leap, hb.simulate)
    ]
    regrets, which = np.unique(found, return_inverse=True)
    table = np.array([np.bincount(row, minlength=len(regrets)) for row in which.reshape(2, -1)])
    common = table.sum(axis=0) >= 10
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    assert table.shape[1] >= 6
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > 1e-3


@pytest.mark.parametrize("kind", ["bmm", "btc"])
def test_estimates_from_counts_are_those_of_algorithms_1_and_2(kind):
    """Of a history in which each arm's values come in any order; six plays have two medians.
    With A⁻¹ = LLᵀ, any Z = LᵀX will do."""
    rng, plays = np.random.default_rng(2), 6 if kind == "bmm" else 1
    X, values = rng.uniform(-0.5, 0.5, (5, 3)), np.array([-2.0, 0.1, 1.0, 9.0])
    rounds = np.array([4, 0, 7, 1, 5])
    V, Y = np.repeat(X, rounds, axis=0), values[rng.integers(4, size=(rounds.sum(), plays))]
    A_inv = np.linalg.inv(np.eye(3) + V.T @ V)
    arm_of = np.repeat(np.arange(5), rounds)
    laws = [leaping.Law(values, np.full(4, 0.25))] * 5
    rules = leaping.Rules(X.T, np.zeros(5), laws, kind == "btc", 0, 1, 1.0, 0.0, 1.0)
    played = np.flatnonzero(rounds).tolist()
    steps = [(arm, int(rounds[arm])) for arm in played]
    terms = leaping._terms(rules, np.linalg.cholesky(A_inv).T @ X.T, played, steps)
    passage = leaping.Passage(np.arange(5), 1, False, steps, 0.0, np.zeros(5), terms)
    found, truncated = leaping._estimates(
        rules,
        0,
        passage,
        lambda _, arm, __: np.array([(Y[arm_of == arm] == value).sum(axis=0) for value in values]),
    )
    if kind == "bmm":
        expected, _ = hb.paper.bmm(V, Y, X, 1.0)
    else:
        expected, _ = hb.paper.btc(V, Y[:, 0], X, 1.0, 1.0)
        assert truncated > 0
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("p", [0.3, 1e-3, 200 / 2**53, 4e-15])
def test_counts_of_many_plays_have_the_moments_of_binomials(p):
    """Mean and variance of 10⁵ counts with n = 2⁵³, each within 5 standard errors."""
    n, size = 2**53, 100_000
    drawn = leaping.Drawn(
        np.random.default_rng(3), [leaping.Law(np.arange(2.0), np.array([p, 1 - p]))], size
    )(0, 0, n)
    assert (drawn.sum(axis=0) == n).all()
    centred = drawn[0] - n * p
    variance = n * p * (1 - p)
    assert abs(centred.mean()) <= 5 * math.sqrt(variance / size)
    fourth = 3 * variance**2 + variance  # the fourth central moment, but for smaller terms
    assert abs((centred**2).mean() - variance) <= 5 * math.sqrt((fourth - variance**2) / size)


@pytest.mark.parametrize("rounds", [20, 3_000])
def test_counts_have_the_probabilities_of_the_values(rounds):
    """χ² over 2,000 columns, whether the last values are drawn one by one or all of them: p-value
    above 0.001, with a committed seed."""
    chances = np.array([0.02, 0.0, 0.5, 0.08, 0.3, 0.1])
    law = leaping.Law(np.arange(6.0), chances)
    counts = leaping.Drawn(np.random.default_rng(1), [law], 2_000)(0, 0, rounds)
    assert (counts.sum(axis=0) == rounds).all()
    assert (counts[1] == 0).all()
    total, expected = counts.sum(axis=1), 2_000 * rounds * chances
    assert stats.chisquare(np.delete(total, 1), np.delete(expected, 1)).pvalue > 1e-3


@pytest.mark.parametrize("kind", [hb.SupBTC, hb.SupBMM])
def test_one_arm_explores_to_each_width_by_hand_and_then_exploits(kind):
    """q = 1/(1 + m): stage s takes ⌈(f·2^s)² − 1⌉ rounds, until 2^{−s} ≤ 1/√T₀, where m only
    has to bring f/√(1 + m) to 1/√T₀; R15 makes each bound larger by 10⁻⁹."""
    policy = kind(10**15, 1, 1, v=0.01, width_scale=0.01)
    diagnostics = hb.leap(policy, hb.fixed_arms([[1]], [0.5], Extremal(0.1))).diagnostics
    f, T = leaping.rules_of(policy, hb.fixed_arms([[1]], [0.5], Extremal(1))).factor, policy.rounds
    last = math.ceil(math.log2(T) / 2)
    grown = (1 + 1e-9) ** 2
    expected = [math.ceil((f * 2**s) ** 2 / grown - 1) for s in range(1, last)]
    expected.append(math.ceil(f**2 * T / grown - 1))
    assert diagnostics["explored"][:last] == pytest.approx(expected, rel=1e-14)
    assert diagnostics["exploited"][last - 1] == T - sum(diagnostics["explored"]) > 0


@pytest.mark.parametrize("kind", [hb.SupBTC, hb.SupBMM])
@pytest.mark.parametrize(("n_arms", "dim"), [(4, 2), (64, 64)])
def test_the_longest_horizon_takes_no_more_steps_than_arms_times_stages(kind, n_arms, dim):
    X = np.random.default_rng(8).standard_normal((n_arms, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    world = hb.fixed_arms(X, X[-1] / 2, Levels.pareto(2.2))
    policy = kind(2**53, n_arms, dim, v=7.0)
    run = hb.leap(policy, world, seed=4, checkpoints=[10**6, 10**12])
    d = run.diagnostics
    assert sum(d["explored"]) + sum(d["exploited"]) == policy.rounds
    assert [sum(row) for row in d["explored_by_arm"]] == d["explored"]
    assert run.plays.tolist() == [
        *(policy.plays * (at // policy.plays) for at in (10**6, 10**12)),
        policy.plays * policy.rounds,
    ]
    assert 0 < run.curve[0] <= run.curve[1] <= run.curve[2] == run.regret
    assert d["intervals_missed"] == 0
    assert hb.leap(policy, world, seed=4).regret == run.regret


@pytest.mark.parametrize("kind", [hb.SupBTC, hb.SupBMM])
def test_several_seeds_at_once_are_the_same_runs_as_one_by_one(kind):
    """Some share stages and some do not: noise decides which arms are dropped."""
    world = hb.fixed_arms([[1, 0], [0.8, 0.6], [0, 1]], [0.5, 0.45], Levels.pareto(2.2))
    policy = kind(10**9, 3, 2, v=1.0, width_scale=0.03)
    together = leaping.leap_all(policy, world, range(8), checkpoints=3)
    for seed, run in enumerate(together):
        alone = hb.leap(policy, world, seed, checkpoints=3)
        np.testing.assert_equal(run.diagnostics, alone.diagnostics)
        assert (run.seed, run.curve.tolist()) == (seed, alone.curve.tolist())
    assert 1 < len({str(run.diagnostics["arms"]) for run in together}) < 8


@pytest.mark.parametrize("kind", [hb.SupBTC, hb.SupBMM])
@pytest.mark.parametrize("law", [Levels.pareto(2.2), None])
def test_runs_in_several_worlds_at_once_are_the_same_as_one_by_one(monkeypatch, kind, law):
    """Gaps from the largest on and back again, so that runs leave each other's draws at any stage;
    two-point payoffs have other probabilities in each world. The last pair has other widths."""
    asked = []

    def draw(self, law, rounds, original=leaping.Drawn._draw):
        asked.append(rounds)
        return original(self, law, rounds)

    X = [[1, 0], [0.8, 0.6], [0, 1]]
    gaps = [0.3, 0.1, 0.03, 0.01, 0.1, 0.3]
    worlds = [hb.fixed_arms(X, [2 * gap, gap], law or TwoPointPayoff(gap)) for gap in gaps]
    pairs = [(kind(10**9, 3, 2, v=1.0, width_scale=0.03), world) for world in worlds]
    pairs.append((kind(10**9, 3, 2, v=1.0, width_scale=0.05), worlds[-1]))
    monkeypatch.setattr(leaping.Drawn, "_draw", draw)
    together = leaping.leap_together(pairs, range(4), checkpoints=3)
    drawn = len(asked)
    for pair, runs in zip(pairs, together, strict=True):
        for seed, run in enumerate(runs):
            alone = hb.leap(*pair, seed, checkpoints=3)
            np.testing.assert_equal(run.diagnostics, alone.diagnostics)
            assert (run.seed, run.curve.tolist()) == (seed, alone.curve.tolist())
            np.testing.assert_array_equal(run.plays, alone.plays)
    alone = len(asked) - drawn
    assert drawn < 0.8 * alone if law else drawn == alone


FIXED = hb.fixed_arms([[1, 0], [0, 1]], [0.5, 0.4], Extremal(1.0))
MADE = {"horizon": 1000, "n_arms": 2, "dim": 2, "v": 1.0}


@pytest.mark.parametrize(
    ("policy", "world", "words"),
    [
        (lambda: hb.LinUCB(1000, 2, 2), FIXED, r"policy must be .*got LinUCB; use hb\.simulate"),
        (lambda: hb.paper.SupBTC(**MADE), FIXED, "policy must be hb.SupBMM or hb.SupBTC"),
        (lambda: hb.SupBTC(**MADE, explore="widest"), FIXED, "explore must be .*'widest'; use"),
        (lambda: hb.SupBTC(**MADE, eps=0.5), FIXED, r"eps must be 1, got 0\.5.*use hb\.simulate"),
        (lambda: hb.SupBTC(**MADE), hb.section6(n_arms=2, dim=2), "world must be .*got section6"),
        (
            lambda: hb.SupBTC(**MADE),
            hb.fixed_arms([[1, 0], [0, 1]], [0.5, 0.4], Gaussian()),
            r"noise must have finitely many values, got gaussian.*hb\.noise\.Levels",
        ),
        (lambda: hb.SupBTC(**{**MADE, "dim": 3}), FIXED, "policy was built with dim=3"),
    ],
)
def test_what_cannot_be_leapt_is_refused_with_what_to_use_instead(policy, world, words):
    with pytest.raises((TypeError, ValueError), match=words):
        hb.leap(policy(), world)


def test_a_theta_longer_than_1_is_mentioned():
    world = hb.fixed_arms([[1, 0], [0, 1]], [3.0, 0.0], hb.noise.Levels([1, -1], [0.5, 0.5]))
    with pytest.warns(UserWarning, match=r"has norm 3, and .*Units\(noise, factor=3\)") as seen:
        hb.leap(hb.SupBTC(10**6, 2, 2, v=4.0), world)
    assert seen[0].filename == __file__  # it points at the caller's line
