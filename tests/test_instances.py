"""The worlds are what the paper says they are, and the controls what they claim to be."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import heavybandit as hb
from heavybandit.cli import main
from heavybandit.noise import Gaussian
from heavybandit.pipeline.recipes import WORLDS as RECIPES
from heavybandit.pipeline.recipes import make_world, recipe, spelled_out, with_bound
from heavybandit.policy import CONTEXT_STREAM, stream

WORLDS = {
    "section6": hb.section6("student-t"),
    "misaligned": hb.misaligned("pareto", n_arms=4, dim=7),
    "symmetric": hb.symmetric("student-t", n_arms=3, dim=5),
    "lower bound": hb.lower_bound(40, dim=9, n_arms=4, eps=0.5),
    "fixed arms": hb.fixed_arms([[1, 0], [0.6, 0.8], [0, 0]], [0.3, 0.4], "pareto"),
}


BAD_SIZES = (0, -1, 2.5, True)


def sample(world, n_rounds, seed=0, plays=1):
    """The contexts of the first rounds, as a simulation would see them."""
    return world.contexts(stream(seed, CONTEXT_STREAM), 0, n_rounds, plays)


def mean_and_error(world):
    """The mean of 60 000 contexts, and the largest standard error of its entries."""
    X = sample(world, 60_000 // world.n_arms).reshape(-1, world.dim)
    return X.mean(axis=0), float(X.std(axis=0).max() / math.sqrt(len(X)))


@pytest.mark.parametrize("make", [hb.section6, hb.misaligned, hb.symmetric])
def test_a_world_has_twenty_arms_in_ten_dimensions_and_a_unit_theta(make):
    world = make()
    assert (world.n_arms, world.dim) == (20, 10)
    assert sample(world, 7).shape == (7, 20, 10)
    assert np.linalg.norm(world.theta_star(0)) == pytest.approx(1, abs=1e-15)
    np.testing.assert_array_equal(world.theta_star(0), world.theta_star(1))


def test_a_context_of_section_6_is_a_point_of_the_cube_over_its_norm_and_theta_is_its_diagonal():
    np.testing.assert_allclose(hb.section6().theta_star(0), 1 / math.sqrt(10), rtol=1e-15)
    U = stream(3, CONTEXT_STREAM).random((4, 20, 10))
    for world in (hb.section6(), hb.misaligned()):
        X = sample(world, 4, seed=3)
        np.testing.assert_allclose(X, U / np.linalg.norm(U, axis=2, keepdims=True), rtol=1e-14)
    U = 2 * U - 1
    X = sample(hb.symmetric(), 4, seed=3)
    np.testing.assert_allclose(X, U / np.linalg.norm(U, axis=2, keepdims=True), rtol=1e-13)


def test_the_mean_context_of_section_6_lies_along_theta():
    """Entry by entry within 5 standard errors of its projection onto θ*."""
    world = hb.section6()
    mean, error = mean_and_error(world)
    theta = world.theta_star(0)
    assert np.abs(mean - (mean @ theta) * theta).max() < 5 * error
    assert mean @ theta > 0.8


@pytest.mark.parametrize("dim", [2, 3, 7, 10])
def test_the_misaligned_theta_is_at_a_right_angle_to_the_mean_context(dim):
    """Exactly so to the vector of ones, and within 5 standard errors to the mean of a sample."""
    world = hb.misaligned(dim=dim)
    theta = world.theta_star(0)
    assert theta.sum() == 0.0
    assert np.count_nonzero(theta) == dim - dim % 2
    assert len(set(np.abs(theta[theta != 0]))) == 1
    X = sample(world, 3000).reshape(-1, dim)
    means = X @ theta
    assert abs(means.mean()) < 5 * means.std() / math.sqrt(means.size)
    assert X.min() >= 0


def test_the_mean_context_of_the_symmetric_world_is_zero():
    """Each entry within 5 standard errors."""
    mean, error = mean_and_error(hb.symmetric())
    assert np.abs(mean).max() < 5 * error < 0.01


def test_section_6_prints_the_bounds_on_its_moments_and_they_hold():
    """Student's t with 3 degrees has variance 3, plus 1 for a mean of 1; both are attained.
    Pareto's printed 1 and 2 are far above 3·10⁻⁴/4 and 1.03."""
    student, pareto = hb.section6("student-t"), hb.section6("pareto")
    assert (student.v_central, student.v_raw) == (3.0, 4.0)
    assert (pareto.v_central, pareto.v_raw) == (1.0, 2.0)
    assert student.noise.central_moment(1.0) == pytest.approx(3.0, rel=1e-12)
    assert student.noise.raw_moment(1.0, 1.0) == pytest.approx(4.0, rel=1e-12)
    assert pareto.noise.central_moment(1.0) == pytest.approx(7.5e-5, rel=1e-9)
    assert pareto.noise.raw_moment(1.0, 1.0) < 2
    own = hb.section6(Gaussian(0.5))
    assert (own.v_central, own.v_raw) == (None, None)


def test_the_printed_pareto_noise_is_not_centred_and_the_other_is():
    """s·x_m/(s−1) = 3 · 0.01/2 = 0.015."""
    printed, centred = hb.section6("pareto").noise, hb.section6("pareto-centred").noise
    assert (printed.mean, centred.mean) == (0.015, 0.0)
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    difference = printed.draw(rng, 100) - centred.draw(same, 100)
    np.testing.assert_allclose(difference, 0.015, rtol=1e-12)


def test_worlds_are_told_apart_by_name():
    noises = ("student-t", "pareto", "pareto-centred")
    made = [make(n) for make in (hb.section6, hb.misaligned, hb.symmetric) for n in noises]
    made += [hb.lower_bound(40, 9, 4, 1.0, gamma_from=g) for g in ("horizon", "stage", "capped")]
    made += [hb.section6(theta_norm=norm) for norm in (0.3, 0.7)]
    assert len({world.name for world in made}) == len(made)


@pytest.mark.parametrize("make", [hb.section6, hb.misaligned, hb.symmetric, hb.sphere_arms])
def test_the_length_of_theta_changes_nothing_else(make):
    long, short = make(n_arms=6, dim=5), make(n_arms=6, dim=5, theta_norm=0.3)
    np.testing.assert_allclose(short.theta_star(0), 0.3 * long.theta_star(0), rtol=1e-15)
    assert np.linalg.norm(short.theta_star(0)) == pytest.approx(0.3)
    np.testing.assert_array_equal(sample(short, 4), sample(long, 4))
    for wrong in (0, 1.1, -0.5, math.nan, "a"):
        with pytest.raises((ValueError, TypeError), match=r"theta_norm must be .*\(0, 1\], got"):
            make(theta_norm=wrong)


def test_arms_on_the_sphere_are_drawn_once_and_for_all():
    worlds = [hb.sphere_arms(n_arms=40, dim=3, draw=draw) for draw in range(30)]
    arms = np.array([world.arms for world in worlds])
    thetas = np.array([world.theta_star(seed) for seed, world in enumerate(worlds)])
    np.testing.assert_allclose(np.linalg.norm(arms, axis=2), 1, rtol=1e-15)
    assert len(np.unique(arms[:, 0, 0])) == len(np.unique(thetas[:, 0])) == 30
    assert hb.sphere_arms(n_arms=40, dim=3, draw=7) == worlds[7]
    # uniform directions: a coordinate has mean 0 and variance 1/3; within 4 standard errors
    assert np.abs(arms.mean(axis=(0, 1))).max() < 4 / math.sqrt(3 * 1200)
    assert np.abs((arms**2).mean(axis=(0, 1)) - 1 / 3).max() < 4 * math.sqrt(4 / 45 / 1200)


@pytest.mark.parametrize("name", WORLDS)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6), plays=st.integers(1, 3))
def test_the_stream_of_contexts_does_not_depend_on_the_blocks(name, sizes, plays):
    world, rng, first, pieces = WORLDS[name], stream(5, CONTEXT_STREAM), 0, []
    for size in sizes:
        pieces.append(world.contexts(rng, first, size, plays))
        first += size
    whole = sample(world, first, seed=5, plays=plays)
    assert np.concatenate(pieces).tobytes() == whole.tobytes()


# The construction of Theorem 3.

GRID = [(9, 4, 1.0), (13, 4, 0.5), (31, 5, 0.25), (12, 4, 1.0), (9, 8, 0.7)]
by_size = pytest.mark.parametrize(("dim", "n_arms", "eps"), GRID)
by_gamma = pytest.mark.parametrize("gamma_from", ["horizon", "stage", "capped"])


@by_size
@by_gamma
def test_in_each_stage_one_arm_pays_twice_what_the_others_pay(dim, n_arms, eps, gamma_from):
    """γ^ε and 2γ^ε, with γ = (K/(T+2K))^{1/(1+ε)} and T = 100 or the ⌊100/S⌋ plays of a stage.

    Capped, γ is no larger than what makes 2(S+1)γ^{2ε}, the square of ‖θ*‖, equal to 1. Raw moments
    are E|r|^{1+ε} = γ·mean·γ^{-(1+ε)} = mean/γ^ε, so 1 and 2.
    """
    world = hb.lower_bound(100, dim, n_arms, eps, gamma_from=gamma_from)
    S = (dim - 1) // n_arms
    length = 100 if gamma_from == "horizon" else 100 // S
    gamma = (n_arms / (length + 2 * n_arms)) ** (1 / (1 + eps))
    if gamma_from == "capped":
        gamma = min(gamma, (1 / (2 * (S + 1))) ** (1 / (2 * eps)))
    assert world.n_stages == S
    assert world.gamma == pytest.approx(gamma, rel=1e-14)
    for seed in range(5):
        means = sample(world, 100, seed) @ world.theta_star(seed)
        stage = np.minimum(np.arange(100) // (100 // S), S - 1)
        good = np.arange(n_arms) == world.good_arms(seed)[stage][:, None]
        np.testing.assert_allclose(means, np.where(good, 2, 1) * gamma**eps, rtol=1e-12)
        norm = np.linalg.norm(world.theta_star(seed))
        assert world.theta_norm == pytest.approx(norm, rel=1e-14)
    for times in (1, 2):
        moment = world.noise.raw_moment(eps, times * world.gamma**eps)
        assert moment == pytest.approx(times, rel=1e-12)


@by_size
@by_gamma
def test_contexts_of_the_construction_have_two_features_and_norm_one(dim, n_arms, eps, gamma_from):
    world = hb.lower_bound(100, dim, n_arms, eps, gamma_from=gamma_from)
    X = sample(world, 100)
    np.testing.assert_allclose(np.linalg.norm(X, axis=2), 1, atol=1e-15)
    assert (np.count_nonzero(X, axis=2) == 2).all()
    assert (X[:, :, 0] == math.sqrt(0.5)).all()
    used = np.flatnonzero(X.any(axis=(0, 1)))
    np.testing.assert_array_equal(used, np.arange(1 + n_arms * world.n_stages))


def test_stages_are_counted_in_plays_and_the_last_takes_what_is_left():
    """T = 23, d = 9, K = 4: two stages of 11. One play a round: rounds 0–10, then 11–22. Three:
    rounds 0–3 start at plays 0, 3, 6, 9, and round 4 at play 12."""
    world = hb.lower_bound(23, 9, 4, 1.0)
    for plays, rounds, first_of_second in ((1, 23, 11), (3, 7, 4), (11, 2, 1), (12, 1, 1)):
        X = sample(world, rounds, plays=plays)
        in_second = X[:, :, 5:].any(axis=(1, 2))
        np.testing.assert_array_equal(in_second, np.arange(rounds) >= first_of_second)
        assert (X[:, :, 1:5].any(axis=(1, 2)) == ~in_second).all()


def test_the_good_arms_are_uniform_and_independent_between_stages():
    """χ² over 3000 seeds, of each stage's arm and of the pair of two stages: p-values above 0.001;
    the seeds are fixed, so that this is settled once."""
    world = hb.lower_bound(40, 9, 4, 1.0)
    drawn = np.array([world.good_arms(seed) for seed in range(3000)])
    for column in drawn.T:
        assert stats.chisquare(np.bincount(column, minlength=4)).pvalue > 1e-3
    pairs = np.bincount(4 * drawn[:, 0] + drawn[:, 1], minlength=16)
    assert stats.chisquare(pairs).pvalue > 1e-3


@pytest.mark.parametrize("eps", [1.0, 0.8, 0.5, 0.3, 0.1])
def test_theta_is_no_longer_than_one_from_this_horizon_on(eps):
    """2(S+1)γ^{2ε} ≤ 1 says T ≥ K((2(S+1))^{(1+ε)/(2ε)} − 2), or as much for a stage of ⌊T/S⌋."""
    for n_arms in (1, 4, 7, 20):
        for dim in range(n_arms + 1, 6 * n_arms + 2, max(1, n_arms // 3)):
            S = (dim - 1) // n_arms
            length = n_arms * ((2 * (S + 1)) ** ((1 + eps) / (2 * eps)) - 2)
            for gamma_from, least in (("horizon", length), ("stage", S * math.ceil(length))):
                for T in (math.ceil(least * 1.001) + S, math.floor(least * 0.999) - S):
                    if T < S:
                        continue
                    world = hb.lower_bound(T, dim, n_arms, eps, gamma_from=gamma_from)
                    assert (world.theta_norm <= 1) == (least < T), (n_arms, dim, gamma_from, T)


def shortest_printed(dim, eps):
    """The smallest whole T with T ≥ (2d)^{(1+ε)/(2ε)}."""
    return math.ceil((2 * dim) ** ((1 + eps) / (2 * eps)) * (1 + 1e-12))


@pytest.mark.parametrize("eps", [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05])
def test_the_printed_condition_keeps_theta_short_with_gamma_from_the_horizon(eps):
    """T ≥ (2d)^{(1+ε)/(2ε)}, T ≥ K ≥ 4, and d > K, which makes S ≥ 1: on a grid of shortest T."""
    for n_arms in range(4, 41, 3):
        for dim in range(n_arms + 1, 5 * n_arms + 3):
            T = shortest_printed(dim, eps)
            assert hb.theory.theorem3_applies(T, dim, n_arms, eps)
            assert hb.lower_bound(T, dim, n_arms, eps).theta_norm <= 1


def test_the_printed_condition_does_not_keep_theta_short_with_gamma_from_the_stage():
    """d = 9, K = 4, ε = 1, T = 2d = 18: S = 2, stages of 9, γ² = 4/17 and ‖θ*‖² = 6 · 4/17 = 24/17.
    With γ from the horizon it is 6 · 4/26 = 24/26."""
    assert hb.theory.theorem3_applies(18, 9, 4, 1.0)
    assert hb.lower_bound(18, 9, 4, 1.0).theta_norm ** 2 == pytest.approx(24 / 26)
    assert hb.lower_bound(18, 9, 4, 1.0, gamma_from="stage").theta_norm ** 2 == pytest.approx(
        24 / 17
    )


def test_a_capped_gamma_by_hand():
    """d = 9, K = 4, ε = 1: S = 2 and the cap is 1/√6. T = 18: γ² = 4/17 is above 1/6. T = 32:
    stages of 16, γ² = 4/24 is the cap itself. T = 64: γ² = 4/40 is below it."""
    for T, squared in ((18, 1 / 6), (32, 1 / 6), (64, 1 / 10)):
        world = hb.lower_bound(T, 9, 4, 1.0, gamma_from="capped")
        assert world.gamma**2 == pytest.approx(squared)
        assert world.theta_norm**2 == pytest.approx(6 * squared)


def test_the_printed_condition_allows_as_many_dimensions_as_arms_but_there_is_no_stage():
    assert hb.theory.theorem3_applies(8, 4, 4, 1.0)
    with pytest.raises(ValueError, match=r"dim must be at least n_arms \+ 1 = 5"):
        hb.lower_bound(8, 4, 4, 1.0)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("horizon", 0), ("horizon", 1), ("horizon", 2.5)),  # two stages need two plays
        *(("dim", 4), ("dim", 0), ("n_arms", 0), ("n_arms", 9)),
        *(("eps", 0.0), ("eps", 1.5), ("eps", math.nan), ("gamma_from", "sky")),
    ],
)
def test_a_construction_that_cannot_be_is_refused_by_name(argument, value):
    good = {"horizon": 100, "dim": 9, "n_arms": 4, "eps": 1.0}
    hb.lower_bound(**good)
    with pytest.raises((ValueError, TypeError), match=argument):
        hb.lower_bound(**{**good, argument: value})


@pytest.mark.parametrize("make", [hb.section6, hb.misaligned, hb.symmetric])
@pytest.mark.parametrize(
    ("argument", "value", "words"),
    [
        *((size, value, f"{size} must be") for size in ("n_arms", "dim") for value in BAD_SIZES),
        *(("noise", value, r"noise|name is") for value in ("cauchy", None, 3.0)),
    ],
)
def test_a_world_that_cannot_be_is_refused_by_name(make, argument, value, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make(**{argument: value})


# Arms that stay.


def test_fixed_arms_offer_the_same_contexts_for_ever_with_means_by_hand():
    """x_aᵀθ: 0.3; 0.6·0.3 + 0.8·0.4 = 0.5; 0."""
    world = WORLDS["fixed arms"]
    assert (world.n_arms, world.dim, world.noise) == (3, 2, hb.noise.Pareto())
    np.testing.assert_array_equal(sample(world, 3), [[[1, 0], [0.6, 0.8], [0, 0]]] * 3)
    np.testing.assert_allclose(world.means, [0.3, 0.5, 0.0], rtol=1e-15)
    assert hb.check_world(lambda: world) == []


def test_fixed_arms_can_be_simulated_and_uniform_play_costs_what_it_should():
    """Gaps 0.2, 0 and 0.5: 7/30 per play, within 5 standard errors of √(0.29/3 − (7/30)²)/√n."""
    n = 20_000
    regret = hb.simulate(hb.Uniform(n, 3, 2), WORLDS["fixed arms"]).regret
    assert regret / n == pytest.approx(7 / 30, abs=5 * math.sqrt((0.29 / 3 - 49 / 900) / n))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("contexts", X) for X in ([[1, 0], [0.6]], [1, 0], [[1, math.nan]], [], [[1, 1]], "ab")),
        *(("theta", theta) for theta in ([1.0], [[0.1, 0.1]], [math.inf, 0], None, "a")),
        *(("noise", noise) for noise in ("cauchy", None)),
        *(("contexts", X) for X in ([["1", "0"], ["0", "1"]], [[1e200, 0.0], [0.0, 0.0]])),
        ("mean", hb.noise.TwoPointPayoff(3.0)),
    ],
)
def test_fixed_arms_that_cannot_be_are_refused_by_name(argument, value):
    good = {"contexts": [[1, 0], [0, 1]], "theta": [0.5, 0.1], "noise": hb.noise.TwoPointPayoff(2)}
    hb.fixed_arms(**good)
    with pytest.raises((ValueError, TypeError), match=rf"^{argument} must .*got "):
        hb.fixed_arms(**{**good, "noise" if argument == "mean" else argument: value})


@pytest.mark.parametrize("argument", ["contexts", "theta"])
def test_a_masked_entry_of_fixed_arms_is_refused_and_not_read_behind_its_mask(argument):
    good = {"contexts": [[1.0, 0.0], [0.0, 1.0]], "theta": [0.5, 0.1]}
    hb.fixed_arms(**{**good, argument: np.ma.masked_array(good[argument])})  # nothing is masked
    hidden = np.ma.masked_array(good[argument], mask=True)
    with pytest.raises(ValueError, match=f"^{argument} must not be masked"):
        hb.fixed_arms(**{**good, argument: hidden})


@pytest.mark.parametrize("make", [hb.section6, hb.misaligned, hb.symmetric, hb.sphere_arms])
@pytest.mark.parametrize("argument", ["n_arms", "dim"])
def test_a_world_that_fits_no_memory_is_refused_by_name(make, argument):
    with pytest.raises(ValueError, match=f"^{argument} must be at most "):
        make(**{argument: 2**40})


def test_fixed_arms_are_known_to_sweeps_and_to_the_command_line(capsys):
    """The bound on the raw second moment is that of the world's own means: 1/γ·max(mean) = 0.25."""
    law = recipe("TwoPointPayoff", gamma=2.0)
    world = recipe("fixed_arms", contexts=[[1, 0], [0, 1]], theta=[0.5, 0.1], noise=law)
    assert json.loads(json.dumps(world.as_json()))["params"]["theta"] == [0.5, 0.1]
    assert len({world, recipe(world.name, **dict(world.params))}) == 1
    as_floats = recipe("fixed_arms", contexts=[[1.0, 0.0], [0.0, 1.0]], theta=[0.5, 0.1], noise=law)
    assert spelled_out(world, RECIPES) == spelled_out(as_floats, RECIPES)
    built = make_world(world, 1000)
    assert built == hb.fixed_arms([[1, 0], [0, 1]], [0.5, 0.1], hb.noise.TwoPointPayoff(2.0))
    assert dict(with_bound(recipe("SupBTC", v="exact"), built).params)["v"] == 0.25
    settings = ("contexts=[[1,0],[0,1]]", "theta=[0.5,0.1]")
    said = ["run", "SupBTC", "--world", "fixed_arms", "--noise", "Levels.pareto:exponent=2.2"]
    assert main([*said, *(f"--world-set={one}" for one in settings), "--horizon", "500"]) == 0
    assert "SupBTC in fixed-arms/levels(76 from" in capsys.readouterr().out
