"""Experiments as data: what names a run, what does not, and the numbers that runs come out with."""

import dataclasses
import hashlib
import json
import string
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandit.engine import POLICIES
from heavybandit.noise import Pareto
from heavybandit.pipeline.recipes import (
    NOISES,
    WORLDS,
    Recipe,
    make_world,
    read_noise,
    recipe,
    with_bound,
)
from heavybandit.pipeline.spec import ENGINE_VERSION, Experiment, RunSpec, Together, work_of
from heavybandit.replication.catalogue import EXPERIMENTS, by_name

SMALL = Experiment(
    name="small",
    what="for tests",
    worlds=(
        recipe("section6", noise="student-t", n_arms=3, dim=2),
        recipe("section6", noise="pareto", n_arms=3, dim=2),
        recipe("lower_bound", dim=5, n_arms=2, eps=1.0),
    ),
    policies=(
        recipe("SupBTC", v="printed"),
        recipe("MoM", v="printed"),
        recipe("TOFU", v=4.0, eps=0.5),
        recipe("Uniform"),
    ),
    horizons=(300, 500),
    seeds=3,
    first_seed=7,
    checkpoints=5,
)

words = st.text(string.ascii_letters, min_size=1, max_size=6).filter(lambda w: w != "name")
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)
flat_recipes = st.builds(
    lambda name, params: recipe(name, **params), words, st.dictionaries(words, plain, max_size=3)
)
values = plain | flat_recipes
settings_of = st.dictionaries(words, values, max_size=4)
recipes = st.builds(lambda name, params: recipe(name, **params), words, settings_of)
counts = st.integers(0, 10**6)
specs = st.builds(RunSpec, recipes, recipes, counts, counts, counts, st.booleans())


@given(words, settings_of, st.randoms(use_true_random=False))
def test_the_order_of_a_recipes_parameters_does_not_matter(name, params, rng):
    shuffled = list(params.items())
    rng.shuffle(shuffled)
    one, other = recipe(name, **params), recipe(name, **dict(shuffled))
    assert one == other
    assert len({one, other}) == 1
    assert json.dumps(one.as_json()) == json.dumps(other.as_json())


@pytest.mark.parametrize(("audit", "said"), [(False, ""), (True, '"audit":true,')])
def test_a_runs_key_is_the_checksum_of_its_description(audit, said):
    noise = recipe("Gaussian", scale=0.5)
    spec = RunSpec(recipe("symmetric", noise=noise), recipe("Uniform"), 300, 7, 5, audit)
    written_out = (
        f'{{{said}"checkpoints":5,"engine":{ENGINE_VERSION},"horizon":300,'
        '"policy":{"name":"Uniform","params":{}},"seed":7,"world":{"name":"symmetric",'
        '"params":{"dim":10.0,"n_arms":20.0,'
        '"noise":{"name":"Gaussian","params":{"scale":0.5}},"theta_norm":1.0}}}'
    )
    assert spec.key == hashlib.sha256(written_out.encode()).hexdigest()
    assert ("audit" in spec.as_json()) == audit
    assert spec.group != replace(spec, audit=not audit).group


def test_an_audit_of_an_experiment_is_an_audit_of_all_its_runs():
    plain = replace(SMALL, policies=(recipe("SupBTC", v=2.0), recipe("SupBMM", v=1.0)))
    audited = replace(plain, audit=True)
    assert {run.audit for run in audited.runs()} == {True}
    assert {run.audit for run in plain.runs()} == {False}
    assert [replace(run, audit=False) for run in audited.runs()] == plain.runs()
    assert not {run.key for run in audited.runs()} & {run.key for run in plain.runs()}
    assert "audit" not in plain.as_json()
    assert audited.as_json() == {**plain.as_json(), "audit": True}


def test_defaults_and_named_noises_are_part_of_the_key():
    """What is left to a default, and what a noise's name stands for, is spelled out."""
    plain = RunSpec(recipe("section6", noise="pareto"), recipe("SupBTC", v=4), 300, 7, 5)
    spelled = plain.as_json()
    assert spelled["policy"]["params"]["width_scale"] == 1.0
    assert spelled["policy"]["params"]["explore"] == "first"
    assert spelled["world"]["params"]["noise"] == repr(Pareto(3.0, 0.01))
    explicit = recipe("SupBTC", v=4.0, eps=1.0, delta=0.01, width_scale=1, explore="first")
    assert replace(plain, policy=explicit).key == plain.key


def altered(draw, what):
    """The recipe with one thing changed: its name, or one parameter's name, value or presence."""
    params = dict(what.params)
    how = draw(st.sampled_from(["name", "more", *(["less", "value", "rename"] if params else [])]))
    new_word = words.filter(lambda w: w not in params and w != what.name)
    if how == "name":
        return Recipe(draw(new_word), what.params)
    if how == "more":
        return recipe(what.name, **params, **{draw(new_word): draw(values)})
    chosen = draw(st.sampled_from(sorted(params)))
    old = params.pop(chosen)
    if how == "value":
        # By repr, since 1, 1.0 and True are equal but not the same setting.
        params[chosen] = draw(values.filter(lambda v: repr(v) != repr(old)))
    elif how == "rename":
        params[draw(new_word)] = old
    return recipe(what.name, **params)


@given(specs, st.data())
def test_a_change_of_any_single_field_or_parameter_changes_the_key(spec, data):
    field = data.draw(st.sampled_from([f.name for f in dataclasses.fields(RunSpec)]))
    old = getattr(spec, field)
    if isinstance(old, Recipe):
        new = altered(data.draw, old)
    elif isinstance(old, bool):
        new = not old
    else:
        new = data.draw(counts.filter(lambda n: n != old))
    assert dataclasses.replace(spec, **{field: new}).key != spec.key


# v by name. Section 6 prints E|X|² ≤ 3 and E|r|² ≤ 4 for Student's t, 1 and 2 for Pareto.

CENTRAL = ("SupBMM", "FlatBMM", "MoM", "MENU")
RAW = ("SupBTC", "FlatBTC", "CRT", "TOFU")
STRIKES = recipe("Extremal", size=2.0, probability=0.5)


GROWING = recipe("Varying", base=0, growth=2, noise=recipe("Gaussian"))


def v_of(policy, world):
    return dict(with_bound(policy, world.build(WORLDS)).params)["v"]


BOUNDS = [
    (recipe("section6", noise="student-t"), "printed", {}, 3.0, 4.0),
    (recipe("section6", noise="pareto"), "printed", {}, 1.0, 2.0),
    # σ = 2: E|X|² = 4 and E|1 + X|² = 5.
    (recipe("symmetric", noise=recipe("Gaussian", scale=2.0)), "exact", {}, 4.0, 5.0),
    # ±2 half of the time, order 1.5: E|X|^1.5 = 2^1.5/2, E|1 + X|^1.5 = (3^1.5 + 1)/4 + 1/2.
    (recipe("section6", noise=STRIKES), "exact", {"eps": 0.5}, 2**1.5 / 2, (3**1.5 + 1) / 4 + 0.5),
    # E[X] = 0.45, E[X²] = 0.27: Var X = 0.27 − 0.45², E|1 + X|² = 1 + 0.9 + 0.27 > E|−1 + X|².
    (recipe("section6", noise=recipe("Pareto", shape=3.0, scale=0.3)), "exact", {}, 0.0675, 2.17),
    # ‖θ*‖ = ½: means up to ½ only
    (
        recipe("symmetric", noise=recipe("Gaussian", scale=2.0), theta_norm=0.5),
        *("exact", {}, 4.0, 4.25),
    ),
    # σ = 2·|m| for means up to ½, in units of 3 and counted from 1: 9·1, and 9·1 + (1.5 + 1)²
    (
        recipe(
            "misaligned", theta_norm=0.5, noise=recipe("Units", factor=3, offset=1, noise=GROWING)
        ),
        *("exact", {}, 9.0, 15.25),
    ),
    # payoffs 9 or −1, 9 with probability (m + 1)/10: m = 1 has mean 1 and variance ⅕·64 + ⅘·4 = 16
    (
        recipe("symmetric", noise=recipe("TwoPointPayoff", gamma=0.1, lift=1.0)),
        *("exact", {}, 16.0, 17.0),
    ),
]


@pytest.mark.parametrize(("world", "v", "more", "central", "raw"), BOUNDS)
def test_a_bound_is_the_central_or_the_raw_one_as_the_policy_needs_it(world, v, more, central, raw):
    found = {name: v_of(recipe(name, v=v, **more), world) for name in (*CENTRAL, *RAW)}
    wanted = dict.fromkeys(CENTRAL, central) | dict.fromkeys(RAW, raw)
    assert found == pytest.approx(wanted, rel=1e-14)


def test_a_noise_of_a_noise_can_be_typed():
    typed = read_noise(
        "Units(noise=Varying(noise=Gaussian, base=0, growth=2), factor=3, offset=-1)"
    )
    assert typed == recipe("Units", noise=GROWING, factor=3, offset=-1)
    assert typed.build(NOISES).payoffs(0.5, np.ones(1)).tolist() == [3.5]
    levels = read_noise("Levels(values=[-1, 1.5], probabilities=[0.6, 0.4])")
    assert levels.build(NOISES).mean == pytest.approx(0)
    assert read_noise("Levels.pareto(exponent=2.2)").name == "Levels.pareto"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Gaussain(scale=1)", "there is no noise 'Gaussain'; there are Gaussian, StudentT"),
        ("Units(noise=Gaussain())", "there is no noise 'Gaussain'"),
        ("Gaussian(scael=1)", "Gaussian has no parameter 'scael'; it has scale"),
        ("Gaussian(2)", "settings of Gaussian must have names, got '2'"),
        ("Gaussian(scale=1", r"noise must be NAME\(setting=value, …\), got 'Gaussian\(scale=1'"),
        ("Gaussian(scale=1 + x)", r"scale of Gaussian must be a number, got '1 \+ x'"),
        ("Gaussian(**{'scale': 1})", "Gaussian has no parameter None"),
    ],
)
def test_a_noise_that_is_mistyped_is_refused_and_nothing_is_executed(text, says):
    with pytest.raises(ValueError, match=says):
        read_noise(text)


@pytest.mark.parametrize("name", ["FlatBTC", "CRT", "TOFU", "FlatBMM", "MoM", "MENU"])
def test_the_circulated_constants_always_take_the_central_bound(name):
    policy = recipe(name, v="printed", constants="circulated")
    assert v_of(policy, recipe("section6", noise="student-t")) == 3.0
    gaussian = recipe("section6", noise=recipe("Gaussian", scale=2.0))
    exact = recipe(name, v="exact", constants="circulated")
    assert v_of(exact, gaussian) == pytest.approx(4.0)


def test_an_exact_bound_in_the_lower_bounds_world_holds_for_all_of_its_arms():
    world = recipe("lower_bound", dim=5, n_arms=2, eps=1.0, horizon=300).build(WORLDS)
    means = [world.gamma, 2 * world.gamma]  # γ^ε and 2γ^ε for ε = 1
    for name, moment in (
        ("SupBMM", world.noise.central_moment),
        ("SupBTC", world.noise.raw_moment),
    ):
        v = dict(with_bound(recipe(name, v="exact"), world).params)["v"]
        assert v >= max(moment(1.0, mean) for mean in means) * (1 - 1e-12)


def test_a_bound_given_as_a_number_and_a_policy_without_one_are_left_alone():
    world = recipe("section6").build(WORLDS)
    for policy in (recipe("SupBTC", v=0.5, delta=0.1), recipe("Uniform")):
        assert with_bound(policy, world) == policy


# Experiments.


def test_an_experiment_has_each_combination_exactly_once():
    wanted = Counter(
        (world, horizon, seed, policy.name)
        for world, horizon, seed, policy in product(
            SMALL.worlds, SMALL.horizons, (7, 8, 9), SMALL.policies
        )
    )
    runs = SMALL.runs()
    assert Counter((r.world, r.horizon, r.seed, r.policy.name) for r in runs) == wanted
    assert set(wanted.values()) == {1}
    assert len({r.key for r in runs}) == len(runs)
    assert {r.checkpoints for r in runs} == {5}


def test_a_group_shares_world_horizon_and_seed_and_has_every_policy():
    groups = list(SMALL.groups())
    assert len(groups) == 3 * 2 * 3
    for group in groups:
        assert len({(r.world, r.horizon, r.seed) for r in group}) == 1
        assert len({r.group for r in group}) == 1
        assert [r.policy.name for r in group] == [p.name for p in SMALL.policies]
    assert len({group[0].group for group in groups}) == len(groups)


def test_runs_carry_the_number_that_a_named_bound_stands_for():
    found = {(r.world.text(), r.policy.name): dict(r.policy.params).get("v") for r in SMALL.runs()}
    student = "section6(dim=2 n_arms=3 noise=student-t)"
    assert found[student, "SupBTC"] == 4.0
    assert found[student, "MoM"] == 3.0
    assert found["section6(dim=2 n_arms=3 noise=pareto)", "SupBTC"] == 2.0
    assert found[student, "Uniform"] is None


def test_every_named_experiment_can_be_built_and_repeats_no_run():
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        runs = experiment.runs()
        # Steps of the tuning may: around two centres of one knob some points meet when rounded.
        repeated = len(runs) - len({r.key for r in runs})
        assert repeated <= (len(runs) // 100 if name.startswith("tuning_") else 0), name
        if not isinstance(experiment, Experiment):  # of other kinds of runs
            continue
        for group in experiment.groups():
            if group[0].seed == experiment.first_seed:
                world = make_world(group[0].world, group[0].horizon)
                built = [type(spec.make_policy(world)).__name__ for spec in group]
                assert built == [policy.name for policy in experiment.policies]


def test_a_policy_is_built_for_its_runs_world_horizon_and_seed():
    spec = SMALL.runs()[-1]
    world = make_world(spec.world, spec.horizon)
    policy = spec.make_policy(world)
    assert (policy.horizon, policy.seed) == (500, 9)
    assert (policy.n_arms, policy.dim) == (world.n_arms, world.dim) == (2, 5)
    assert world.horizon == 500  # the lower bound's construction follows the horizon


def test_adding_a_policy_a_world_or_a_seed_leaves_the_other_keys_alone():
    before = {spec.key for spec in SMALL.runs()}
    for larger in (
        dataclasses.replace(SMALL, policies=(recipe("LinUCB"), *SMALL.policies)),
        dataclasses.replace(SMALL, worlds=(recipe("misaligned"), *SMALL.worlds)),
        dataclasses.replace(SMALL, seeds=4),
        dataclasses.replace(SMALL, horizons=(100, *SMALL.horizons)),
        dataclasses.replace(SMALL, name="other", what="renamed", curve_seeds=1),
    ):
        after = {spec.key for spec in larger.runs()}
        assert before <= after
        assert (before == after) == (larger.name == "other")


@pytest.mark.parametrize(
    ("ask", "there"),
    [
        (by_name, EXPERIMENTS),
        *((lambda name, all=all: recipe(name).build(all), all) for all in (POLICIES, WORLDS)),
    ],
    ids=["experiments", "policies", "worlds"],
)
def test_an_unknown_name_is_answered_with_those_there_are(ask, there):
    with pytest.raises(ValueError, match="'Nobody'") as caught:
        ask("Nobody")
    assert all(name in str(caught.value) for name in there)


# Known runs. Stored results name the engine's version, so numbers may only change together with it.

STUDENT = recipe("section6", noise="student-t")
SYMMETRIC = recipe("symmetric", noise=recipe("SymmetricPareto", shape=1.8, scale=0.1))
STAGES = recipe("lower_bound", dim=9, n_arms=4, eps=1.0, gamma_from="stage")
SUP_BTC = recipe("SupBTC", v=4.0, width_scale=0.02)
SUP_BMM = recipe("SupBMM", v=3.0, width_scale=0.1, explore="random")
TOFU = recipe("TOFU", v=4.0, eps=0.5, width_scale=0.1)
HEAVY_OFUL = recipe("HeavyOFUL", v=3.0, width_scale=1e-4, threshold_scale=0.01)
HVT_UCB = recipe("HvtUCB", v=3.0, width_scale=1e-6, threshold_scale=0.03)
RECORDED_FOR = 2
RECORDED = [
    (STUDENT, SUP_BTC, "200.790581", "ea3158ed7022100c"),
    (STUDENT, SUP_BMM, "175.043813", "34a2a10d524eed15"),
    (STUDENT, TOFU, "350.91335", "45ba0293737581e6"),
    (STUDENT, recipe("Uniform"), "160.589352", "88d6cdeb8f6711e2"),
    (SYMMETRIC, SUP_BTC, "255.646388", "35aa49d085973c48"),
    (SYMMETRIC, TOFU, "189.131905", "91db6fe42fab17ad"),
    (STAGES, SUP_BMM, "99.0266919", "721bde6c584f774c"),
    (STAGES, TOFU, "92.0973433", "ea799488f19740b8"),
    (STUDENT, HEAVY_OFUL, "18.137865", "c4df71a149753c15"),
    (SYMMETRIC, HVT_UCB, "37.88185", "6b193f890701e6dd"),
    (STUDENT, recipe("ClippedUCB", growth=0.25), "102.076826", "2fe7a5bc71aea699"),
    (STUDENT, recipe("SafeRidge"), "53.1679863", "5dad2f7ef0d5198a"),
    (STUDENT, recipe("Thompson", width_scale=0.1), "183.989621", "4390fe65680642a8"),
]


def nine_digits(value):
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [nine_digits(v) for v in value]
    if isinstance(value, dict):
        return {k: nine_digits(v) for k, v in value.items()}
    return value


@pytest.mark.parametrize(
    ("world", "policy", "regret", "checksum"),
    RECORDED,
    ids=[f"{policy.name}-{world.name}" for world, policy, *_ in RECORDED],
)
def test_known_runs_come_out_as_recorded_for_this_engine_version(world, policy, regret, checksum):
    result = RunSpec.run([RunSpec(world, policy, 2_000, 0, 20)])[0]
    text = json.dumps(nine_digits(result), sort_keys=True, separators=(",", ":"))
    found = f"{result['regret']:.9g}", hashlib.sha256(text.encode()).hexdigest()[:16]
    told = (
        f"{policy.text()} in {world.text()} gives {found}, recorded is {(regret, checksum)}. "
        "If this change of the numbers is meant, raise ENGINE_VERSION in "
        "src/heavybandit/pipeline/spec.py, so that no stored run of the old engine passes for one "
        "of the new, and record the new numbers here, with RECORDED_FOR."
    )
    assert found == (regret, checksum), told
    assert ENGINE_VERSION == RECORDED_FOR, (
        f"ENGINE_VERSION is {ENGINE_VERSION} and these numbers are those of {RECORDED_FOR}; "
        "they did not change, so either take it back or set RECORDED_FOR."
    )


def test_only_policies_with_stages_are_audited():
    worlds, policies = (recipe("section6"),), (recipe("SupBTC", v=4.0), recipe("Uniform"))
    with pytest.raises(ValueError, match="policies with stages"):
        Experiment("x", "", worlds, policies, (300,), seeds=1, audit=True)


def test_experiments_together_have_all_their_runs_the_longest_groups_first():
    two = tuple(EXPERIMENTS[name] for name in ("smoke", "section6_close"))
    together = Together(two)
    assert together.name == "2 experiments"
    assert Together(two[:1]).name == "smoke"
    keys = [spec.key for one in two for spec in one.runs()]
    assert [spec.key for spec in together.runs()] == keys
    groups = list(together.groups())
    assert sorted(spec.key for group in groups for spec in group) == sorted(keys)
    lengths = [work_of(group) for group in groups]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]


def test_runs_that_alone_changed_have_other_keys_and_all_others_the_same():
    """The circulated thresholds for ε < 1; what is stored of others stays valid."""
    world = recipe("section6", noise="student-t")
    changed = [recipe(n, v=1.0, eps=0.5, constants="circulated") for n in ("FlatBTC", "TOFU")]
    same = [
        recipe("TOFU", v=1.0, eps=0.5),
        recipe("TOFU", v=1.0, constants="circulated"),
        recipe("CRT", v=1.0, eps=0.5, constants="circulated"),
    ]
    engines = [
        RunSpec(world, policy, 100, 0, 1).as_json()["engine"] for policy in (*changed, *same)
    ]
    assert engines == [3, 3] + [ENGINE_VERSION] * 3
    one = Experiment("x", "", worlds=(world,), policies=(same[0],), horizons=(9,), seeds=1)
    assert one.as_json()["engine"] == ENGINE_VERSION
    assert replace(one, policies=(same[0], changed[0])).as_json()["engine"] == 3
