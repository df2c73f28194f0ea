"""The door: bad input is refused by name, in every policy and its twin, and changes nothing."""

from __future__ import annotations

import inspect
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandit as hb

PAPER = ("SupBMM", "SupBTC", "FlatBMM", "FlatBTC", "MoM", "CRT", "MENU", "TOFU")
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB", "Blind")
LATER = ("HeavyOFUL", "HvtUCB", "ClippedUCB")
CLASSES = (
    {f"hb.{name}": getattr(hb, name) for name in PAPER + CONTROLS + LATER}
    | {f"paper.{name}": getattr(hb.paper, name) for name in PAPER}
    | {f"later.{name}": getattr(hb.later, name) for name in LATER}
)
KNOW_NO_MOMENT = (*CONTROLS, "ClippedUCB")
every_class = pytest.mark.parametrize("name", CLASSES)
K, D = 4, 3
REFUSED = (ValueError, TypeError, RuntimeError)


def build(name: str, **more: Any) -> Any:
    several = name.split(".")[1] in ("SupBMM", "FlatBMM", "MoM", "MENU")
    good = {"horizon": 5000 if several else 60, "n_arms": K, "dim": D, "v": 1.0, "width_scale": 0.1}
    kind = CLASSES[name]
    accepted = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in good.items() if key in accepted} | more)


def contexts(rng: np.random.Generator) -> np.ndarray:
    X = rng.random((K, D))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def play(policy: Any, rounds: int, rng: np.random.Generator) -> list[int]:
    """The arms of some rounds."""
    arms = []
    for _ in range(min(rounds, policy.rounds - policy.round + 1)):
        arms.append(policy.select(contexts(rng)))
        policy.update(rng.standard_t(3, size=policy.plays))
    return arms


# Building a policy.

BAD_ARGUMENTS: dict[str, list[Any]] = {
    "eps": [0, -1, 1.5, math.nan, math.inf, None, "much", 1j, [0.5, 0.5]],
    "v": [0, -1, math.inf, math.nan, None, "much"],
    "delta": [0, 1, -0.5, 2, math.nan, None],
    "width_scale": [0, -1, math.inf, math.nan, None],
    "horizon": [0, -5, 2.5, 60.0, True, None, "60", math.nan],
    "n_arms": [0, -1, 2.5, True, None],
    "dim": [0, -1, 2.5, True, None],
    "seed": [-1, 0.5, True, None],
    "explore": ["boldly", "", None, 1, ["first"]],
    "constants": ["magic", "", None, 1],
    "alpha": [-1, -2, math.inf, math.nan, "wide"],
    "clips": [1, 0, None, "yes"],
    "clip_scale": [0, -1, math.inf, math.nan, "1", None, True],
    "clip": [0, -1, math.inf, math.nan, "2", None],
    "width": [0, -1, math.inf, math.nan, None],
    "growth": [-0.1, 1.1, math.inf, math.nan, "1", None],
    "ridge": [0, -1, math.inf, math.nan, None],
}


@every_class
@pytest.mark.parametrize("argument", BAD_ARGUMENTS)
def test_a_bad_argument_is_refused_by_name(name: str, argument: str) -> None:
    accepted = inspect.signature(CLASSES[name]).parameters
    if argument not in accepted:
        with pytest.raises(TypeError, match=argument):
            build(name, **{argument: 1})
        return
    for value in BAD_ARGUMENTS[argument]:
        with pytest.raises((ValueError, TypeError), match=f"^{argument} must be"):
            build(name, **{argument: value})


@every_class
def test_wrong_arguments_are_refused_in_the_name_of_the_class_with_the_right_ones(
    name: str,
) -> None:
    kind = CLASSES[name]
    right = ", ".join(inspect.signature(kind).parameters)
    for wrong, words in (
        ({"foo": 1}, "got an unexpected keyword argument 'foo'"),
        ({"horizon": 5000, "dim": D}, "missing a required argument: 'n_arms'"),
    ):
        with pytest.raises(TypeError) as caught:
            kind(**wrong)
        assert str(caught.value) == f"{kind.__name__}: {words}; its arguments are {right}"
    assert right.startswith("horizon, n_arms, dim, ")
    assert right.endswith("seed")


@every_class
def test_the_extremes_of_what_is_allowed_are_allowed(name: str) -> None:
    accepted = inspect.signature(CLASSES[name]).parameters
    extremes: dict[str, list[Any]] = {
        "eps": [1, 1.0, 1e-3, np.float32(0.5)],
        "v": [1e-9, 1e9, 1],
        "delta": [1e-12, 0.999],
        "width_scale": [1e-9, 1e9],
        "n_arms": [1, np.int64(2)],
        "dim": [1, np.uint8(2)],
        "seed": [0, 2**200, np.int64(3)],
        "alpha": [-0.999, 0, None],
        "clips": [True, np.False_],
        "clip_scale": [1e-9, 1e9, 1],
        "clip": [1e-9, 1e9],
        "width": [1e-9, 1e9],
        "growth": [0, 1, 0.5],
        "ridge": [1e-9, 1e9],
    }
    for argument in extremes.keys() & accepted.keys():
        for value in extremes[argument]:
            policy = build(name, **{argument: value})
            assert getattr(policy, argument) == value or value is None
            arm = policy.select(np.zeros((policy.n_arms, policy.dim)))
            assert 0 <= arm < policy.n_arms


@every_class
def test_the_moment_bound_of_a_policy_of_the_paper_must_be_given(name: str) -> None:
    if "v" not in inspect.signature(CLASSES[name]).parameters:
        assert name.split(".")[1] in KNOW_NO_MOMENT
        return
    with pytest.raises(TypeError, match=r"^v must be given"):
        CLASSES[name](5000, K, D)


@every_class
def test_a_horizon_too_short_for_one_round_is_refused(name: str) -> None:
    """And one play more is enough. Below 3 the logarithms of the paper lose their sense."""
    shortest = 1
    if name.split(".")[1] not in KNOW_NO_MOMENT:
        shortest = next(T for T in range(3, 6000) if fits(name, T))
    with pytest.raises(ValueError, match=rf"^horizon must .*got {shortest - 1}\b"):
        build(name, horizon=shortest - 1)
    policy = build(name, horizon=shortest)
    assert policy.rounds >= 1
    assert policy.plays * policy.rounds <= shortest
    if name.split(".")[1] in ("SupBMM", "FlatBMM", "MENU"):
        assert shortest == policy.plays > 100


def fits(name: str, horizon: int) -> bool:
    try:
        build(name, horizon=horizon)
    except ValueError:
        return False
    return True


# Contexts and payoffs.


def with_entry(value: float) -> np.ndarray:
    X = np.full((K, D), 0.1)
    X[2, 1] = value
    return X


BAD_CONTEXTS: dict[str, Any] = {
    "one arm too few": np.zeros((K - 1, D)),
    "one arm too many": np.zeros((K + 1, D)),
    "one feature too many": np.zeros((K, D + 1)),
    "transposed": np.zeros((D, K)),
    "flat": np.zeros(K * D),
    "in a batch": np.zeros((1, K, D)),
    "empty": [],
    "a number": 0.5,
    "none": None,
    "ragged": [[0.1, 0.1, 0.1]] * (K - 1) + [[0.1]],
    "words": [["a", "b", "c"]] * K,
    "complex": np.zeros((K, D), dtype=complex),
    "a dictionary": {"x": 1},
    "nan": with_entry(math.nan),
    "inf": with_entry(math.inf),
    "minus inf": with_entry(-math.inf),
    "too long": with_entry(1.001),
}
BAD_PAYOFFS: dict[str, Any] = {
    "one too many": lambda r: np.zeros(r + 1),
    "one too few": lambda r: np.zeros(r - 1),
    "a column": lambda r: np.zeros((r, 1)),
    "none": lambda _: None,
    "words": lambda r: ["a"] * r,
    "complex": lambda r: np.zeros(r, dtype=complex),
    "ragged": lambda r: [[0.0]] * r + [[0.0, 1.0]],
    "nan": lambda r: [*np.zeros(r - 1), math.nan],
    "inf": lambda r: [math.inf, *np.zeros(r - 1)],
    "minus inf": lambda r: [*np.zeros(r - 1), -math.inf],
}


@every_class
def test_bad_contexts_are_refused_by_name_and_leave_no_trace(name: str) -> None:
    policy = build(name)
    play(policy, 3, np.random.default_rng(1))
    before = pickle.dumps(policy)
    for what, bad in BAD_CONTEXTS.items():
        with pytest.raises(REFUSED, match="contexts must"):
            policy.select(bad)
        assert pickle.dumps(policy) == before, what


@every_class
def test_bad_payoffs_are_refused_by_name_and_leave_no_trace(name: str) -> None:
    policy = build(name)
    rng = np.random.default_rng(2)
    play(policy, 3, rng)
    policy.select(contexts(rng))
    before = pickle.dumps(policy)
    for what, bad in BAD_PAYOFFS.items():
        with pytest.raises(REFUSED, match="payoffs must"):
            policy.update(bad(policy.plays))
        assert pickle.dumps(policy) == before, what
    policy.update(np.zeros(policy.plays))
    assert policy.round == 5


@every_class
def test_bad_contexts_leave_a_choice_pending_as_it_was(name: str) -> None:
    disturbed, undisturbed = build(name), build(name)
    arms = []
    for policy in (disturbed, undisturbed):
        rng = np.random.default_rng(3)
        play(policy, 2, rng)
        policy.select(contexts(rng))
        if policy is disturbed:
            for bad in BAD_CONTEXTS.values():
                with pytest.raises(REFUSED):
                    policy.select(bad)
        policy.update(np.ones(policy.plays))
        arms.append(play(policy, 20, rng))
    assert arms[0] == arms[1]
    assert pickle.dumps(disturbed) == pickle.dumps(undisturbed)


@every_class
def test_messages_say_what_was_wrong_and_where(name: str) -> None:
    policy = build(name)
    for what, said in {
        "transposed": r"shape \(4, 3\) = \(n_arms, dim\), got \(3, 4\)",
        "nan": "arm 2 is .*nan",
        "too long": r"norm at most 1.* arm 2 has norm 1.01",
    }.items():
        with pytest.raises(ValueError, match=said):
            policy.select(BAD_CONTEXTS[what])
    policy.select(np.zeros((K, D)))
    r = policy.plays
    with pytest.raises(ValueError, match=rf"shape \({r},\) = \(plays,\), got \({r + 1},\)"):
        policy.update(np.zeros(r + 1))
    with pytest.raises(ValueError, match=f"number {r - 1} is nan"):
        policy.update([*np.zeros(r - 1), math.nan])


@pytest.mark.parametrize("size", [1e155, 1e200, 1e308])
def test_contexts_too_long_for_their_squares_are_refused_without_a_warning(size: float) -> None:
    with pytest.raises(ValueError, match=r"contexts must have Euclidean norm at most 1.* arm 2"):
        build("hb.SupBTC").select(with_entry(size))


@pytest.mark.parametrize("kind", ["U4", "S4", "M8[s]", "m8[s]"])
def test_numerals_and_dates_are_no_numbers(kind: str) -> None:
    """ "0.1" as text or bytes, or a time: for a policy of one play and one of many."""
    for name in ("hb.SupBTC", "paper.MENU"):
        policy = build(name)
        entry = "0.1" if kind[0] in "US" else 0
        with pytest.raises(TypeError, match="contexts must"):
            policy.select(np.full((K, D), entry, dtype=kind))
        policy.select(np.zeros((K, D)))
        with pytest.raises(TypeError, match="payoffs must"):
            policy.update(np.full(policy.plays, entry, dtype=kind))


@pytest.mark.parametrize("argument", ["eps", "v", "delta", "width_scale"])
def test_a_parameter_given_as_a_numeral_is_refused(argument: str) -> None:
    with pytest.raises(TypeError, match=argument):
        build("hb.SupBTC", **{argument: "0.5"})


@every_class
@pytest.mark.parametrize("norm", [1 + 1e-9, 1 + 1e-7, 1.0])
def test_a_norm_beyond_one_by_rounding_is_accepted(name: str, norm: float) -> None:
    X = np.zeros((K, D))
    X[:, 0] = norm
    assert 0 <= build(name).select(X) < K


@every_class
def test_contexts_of_other_types_and_layouts_are_as_good(name: str) -> None:
    X = np.random.default_rng(4).integers(0, 2, size=(30, K, D)) / 4  # exact in every type
    policies = [build(name) for _ in range(5)]
    for t in range(min(30, policies[0].rounds)):
        wide = np.zeros((K, 2 * D))
        wide[:, ::2] = X[t]
        kinds = (
            X[t],
            X[t].astype(np.float32),
            np.asfortranarray(X[t]),
            X[t].tolist(),
            wide[:, ::2],
        )
        arms = {policy.select(kind) for policy, kind in zip(policies, kinds, strict=True)}
        assert len(arms) == 1
        payoffs = np.arange(policies[0].plays) % 3 - 0.75
        for policy, kind in zip(
            policies, (list, tuple, np.float32, np.asarray, np.copy), strict=True
        ):
            policy.update(kind(payoffs))


def test_a_single_payoff_may_be_a_number_or_an_array_of_one() -> None:
    first, second = build("hb.SupBTC"), build("hb.SupBTC")
    for policy, payoff in ((first, 0.5), (second, np.array([0.5]))):
        policy.select(np.full((K, D), 0.1))
        policy.update(payoff)
    assert pickle.dumps(first) == pickle.dumps(second)
    several = build("hb.SupBMM")
    several.select(np.full((K, D), 0.1))
    with pytest.raises(ValueError, match="payoffs must"):
        several.update(0.5)


@every_class
def test_the_callers_arrays_are_neither_changed_nor_kept(name: str) -> None:
    """One policy is given arrays that are overwritten as soon as it has answered."""
    trusting, wary = build(name), build(name)
    rng = np.random.default_rng(5)
    for _ in range(min(30, wary.rounds)):
        X, payoffs = contexts(rng), rng.standard_t(3, size=wary.plays)
        lent_X, lent_payoffs = X.copy(), payoffs.copy()
        arm = wary.select(lent_X)
        np.testing.assert_array_equal(lent_X, X)
        lent_X[:] = math.nan
        assert trusting.select(X) == arm
        trusting.update(payoffs)
        wary.update(lent_payoffs)
        np.testing.assert_array_equal(lent_payoffs, payoffs)
        lent_payoffs[:] = math.nan
    assert pickle.dumps(trusting) == pickle.dumps(wary)


@every_class
def test_read_only_arrays_will_do(name: str) -> None:
    policy = build(name)
    X, payoffs = np.full((K, D), 0.1), np.zeros(policy.plays)
    X.flags.writeable = payoffs.flags.writeable = False
    assert policy.select(X) in range(K)
    policy.update(payoffs)
    assert policy.round == 2


# The order of calls.


@every_class
def test_update_before_select_is_refused_and_so_is_update_twice(name: str) -> None:
    policy = build(name)
    rng = np.random.default_rng(6)
    for rounds in (0, 1, 5):
        play(policy, rounds, rng)
        before = pickle.dumps(policy)
        with pytest.raises(RuntimeError, match="update was called before select"):
            policy.update(np.zeros(policy.plays))
        assert pickle.dumps(policy) == before


@every_class
def test_select_after_the_last_round_is_refused(name: str) -> None:
    policy = build(name)
    assert len(play(policy, policy.rounds, np.random.default_rng(7))) == policy.rounds
    before = pickle.dumps(policy)
    with pytest.raises(RuntimeError, match=f"select was called after the last of {policy.rounds}"):
        policy.select(np.zeros((K, D)))
    with pytest.raises(RuntimeError, match="update was called before select"):
        policy.update(np.zeros(policy.plays))
    assert pickle.dumps(policy) == before


ACTIONS = st.lists(
    st.sampled_from(["select", "update", *BAD_CONTEXTS, *(f"paid {x}" for x in BAD_PAYOFFS)]),
    min_size=5,
    max_size=60,
)


@settings(max_examples=150)
@given(name=st.sampled_from(list(CLASSES)), actions=ACTIONS, seed=st.integers(0, 99))
def test_whatever_is_refused_in_between_the_run_is_the_same(
    name: str, actions: list[str], seed: int
) -> None:
    """A twin that is spared every refused call chooses the same arms and ends in the same state."""
    policy, spared = build(name, seed=seed), build(name, seed=seed)
    rng = np.random.default_rng(seed)
    pending = False
    for action in actions:
        if action == "select" and policy.round <= policy.rounds:
            X = contexts(rng)
            assert policy.select(X) == spared.select(X)
            pending = True
        elif action == "update" and pending:
            payoffs = rng.standard_t(2, size=policy.plays)
            policy.update(payoffs)
            spared.update(payoffs)
            pending = False
        elif action in BAD_CONTEXTS or action == "select":
            with pytest.raises(REFUSED):
                policy.select(BAD_CONTEXTS.get(action, np.zeros((K, D))))
        else:
            with pytest.raises(REFUSED):
                policy.update(BAD_PAYOFFS.get(action.removeprefix("paid "), np.zeros)(policy.plays))
    assert pickle.dumps(policy) == pickle.dumps(spared)
