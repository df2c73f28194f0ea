"""The door: bad input is refused by name, in every policy and its twin, and changes nothing."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import heavybandit as hb
from heavybandit import checks, engine
from heavybandit.engine import Compiled
from heavybandit.policy import LARGEST, setting

PAPER = ("SupBMM", "SupBTC", "FlatBMM", "FlatBTC", "MoM", "CRT", "MENU", "TOFU")
CONTROLS = ("Uniform", "GreedyRidge", "LinUCB", "Blind")
LATER = ("HeavyOFUL", "HvtUCB", "ClippedUCB", "Thompson", "SafeRidge")
TWINS = dict.fromkeys(PAPER, "paper") | dict.fromkeys(LATER, "later")
CLASSES = {f"hb.{name}": getattr(hb, name) for name in PAPER + CONTROLS + LATER}
CLASSES |= {f"{place}.{name}": getattr(getattr(hb, place), name) for name, place in TWINS.items()}
KNOW_NO_MOMENT = (*CONTROLS, "ClippedUCB", "Thompson", "SafeRidge")
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


@contextlib.contextmanager
def refused(policy: Any, said: str, error: Any = REFUSED) -> Iterator[None]:
    """What is done here is refused with these words, and the policy stays as it was."""
    before = pickle.dumps(policy)
    with pytest.raises(error, match=said):
        yield
    assert pickle.dumps(policy) == before


# Building a policy.

BAD_ARGUMENTS: dict[str, list[Any]] = {
    "eps": [0, -1, 1.5, math.nan, math.inf, None, "much", "0.5", 1j, [0.5, 0.5], np.ones(2) / 2],
    "v": [0, -1, math.inf, math.nan, None, "much", "0.5", 1e101, 10**400, 10**5000, 1e-101],
    "delta": [0, 1, -0.5, 2, math.nan, None, "0.5", 5e-324, 1e-201],
    "width_scale": [0, -1, math.inf, math.nan, None, "0.5", 1.7e308],
    "horizon": [0, -5, 2.5, 60.0, True, None, "60", math.nan, 10**5000],
    "n_arms": [0, -1, 2.5, True, None, 2**64, 10**400, 10**5000, -(10**5000)],
    "dim": [0, -1, 2.5, True, None, 2**64],
    "seed": [-1, 0.5, True, None],
    "explore": ["boldly", "", None, 1, ["first"]],
    "constants": ["magic", "", None, 1],
    "alpha": [-1, -2, math.inf, math.nan, "wide"],
    "clips": [1, 0, None, "yes"],
    "growth": [-0.1, 1.1, math.inf, math.nan, "1", None],
    "ridge": [0, -1, math.inf, math.nan, "1", True, 1e-10],
    "level_scale": [0, -1, math.inf, math.nan, "1", None],
    "threshold_scale": [0, -1, math.inf, math.nan, "1", None],
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


SCALED = ("width", "clip", "level", "threshold")
SCALES = ("v", "clip", "width", "alpha", *(f"{what}_scale" for what in SCALED))
LIMITS = {
    **dict.fromkeys(SCALES, (LARGEST, 1 / LARGEST)),
    "delta": (checks.LEAST_DELTA, 1 - 1e-16),
    "eps": (0.01, 1.0),
    "ridge": (checks.LEAST_RIDGE, checks.LARGEST_RIDGE),
}


@every_class
def test_everything_that_is_allowed_can_be_computed(name: str) -> None:
    """Settings at the ends of their ranges, payoffs as large as they may be: no NaN, no overflow.

    NumPy's warnings are errors here, and compiled code is asked what it holds.
    """
    knobs = [knob for knob in LIMITS if knob in inspect.signature(CLASSES[name]).parameters]
    limits = LIMITS | ({"threshold_scale": (1e4, 1e-4)} if "Safe" in name else {})
    corners = [{knob: limits[knob][end] for knob in knobs} for end in (0, 1)]
    corners += [{knob: end} for knob in knobs for end in limits[knob]]
    for corner in corners:
        policy = build(name, **{"horizon": 60_000} | corner)
        for payoff in (LARGEST, -LARGEST)[: policy.rounds]:
            policy.select(contexts(np.random.default_rng(0)))
            policy.update(np.full(policy.plays, payoff))
        held = policy._state if isinstance(policy, Compiled) else vars(policy).values()
        for part in held:
            if isinstance(part, np.ndarray) and part.dtype.kind == "f":
                assert not np.isnan(part).any(), corner


def test_what_fits_no_memory_is_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="must leave room in memory, got 1000000000000000, 4 and"):
        hb.MoM(10**15, K, D, eps=0.1, v=1.0)


@every_class
def test_a_masked_entry_is_refused_and_not_read_behind_its_mask(name: str) -> None:
    policy = build(name)
    good = contexts(np.random.default_rng(0))
    hidden = np.ma.masked_array(good, mask=good == good[1, 1])
    with refused(policy, "contexts must not be masked, and 1 of 12 entries are"):
        policy.select(hidden)
    policy.select(np.ma.masked_array(good))  # nothing is masked
    with refused(policy, "payoffs must not be masked"):
        policy.update(np.ma.masked_array(np.full(policy.plays, -999.0), mask=True))


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


MOMENTS = dict.fromkeys(("SupBMM", "FlatBMM", "MoM", "MENU", "HeavyOFUL", "HvtUCB"), "central")
MOMENTS |= dict.fromkeys(("SupBTC", "FlatBTC", "CRT", "TOFU"), "raw")


@pytest.mark.parametrize("name", PAPER + LATER)
def test_twins_take_the_same_arguments_bound_the_same_moment_and_say_the_same(name: str) -> None:
    compiled, literal = (CLASSES[f"{place}.{name}"] for place in ("hb", TWINS[name]))
    assert str(inspect.signature(compiled)) == str(inspect.signature(literal))
    assert compiled.__doc__ == literal.__doc__
    assert compiled.__doc__
    for kind in (compiled, literal):  # R7
        assert getattr(kind, "moment", None) == MOMENTS.get(name)
        assert ("v" in inspect.signature(kind).parameters) == (name in MOMENTS)


def test_the_engine_lists_every_compiled_policy_by_its_name() -> None:
    def below(kind: type) -> set[type]:
        return {kind}.union(*(below(one) for one in kind.__subclasses__()))

    defined = {one for one in below(Compiled) - {Compiled} if one.__module__.startswith("heavy")}
    public = {one.__name__: one for one in defined if not one.__name__.startswith("_")}
    assert (
        engine.POLICIES == public == {name: getattr(hb, name) for name in PAPER + CONTROLS + LATER}
    )
    assert engine.SupBMM is hb.SupBMM


@every_class
def test_a_copy_goes_on_as_the_original(name: str) -> None:
    policy = build(name, seed=7)
    play(policy, 5, np.random.default_rng(1))
    copies = copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))
    arms = [play(one, 10, np.random.default_rng(2)) for one in (policy, *copies)]
    assert arms[0] == arms[1] == arms[2]


def test_a_policy_of_ones_own_may_add_a_setting_or_have_a_constructor() -> None:
    class Louder(hb.SupBTC):
        volume: float = setting(checks.positive, default=2.0)

    class Short(hb.SupBTC):
        def __init__(self, horizon: int, bound: float) -> None:
            super().__init__(horizon, K, D, v=bound)

    assert list(inspect.signature(Louder).parameters)[-2:] == ["volume", "seed"]
    assert Louder(60, K, D, v=1.0).volume == 2.0
    with pytest.raises(ValueError, match=r"^volume must be positive"):
        Louder(60, K, D, v=1.0, volume=0)
    with pytest.raises(TypeError, match=r"^Louder: got an unexpected keyword argument 'foo'"):
        Louder(60, K, D, v=1.0, foo=1)
    assert list(inspect.signature(Short).parameters) == ["horizon", "bound"]
    assert Short(60, 3.0).v == 3.0
    with pytest.raises(ValueError, match=r"^v must be positive"):
        Short(60, -1)


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
        "growth": [0, 1, 0.5],
        "ridge": [1e-9, 1e9],
        "level_scale": [1e-9, 1e9],
        "threshold_scale": [1e-4, 1e4],
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
    moment = CLASSES[name].moment
    with pytest.raises(TypeError, match=rf"^v must be given: .* {moment} 1\+eps moment"):
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
    # so long that squares are infinite, which must be no warning either
    **{f"as long as {size}": with_entry(size) for size in (1e155, 1e200, 1e308)},
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
    "too large": lambda r: [*np.zeros(r - 1), -1.01e100],
    "minus inf": lambda r: [*np.zeros(r - 1), -math.inf],
}


@every_class
def test_bad_contexts_bad_payoffs_and_an_update_before_select_leave_no_trace(name: str) -> None:
    """They are refused by name, also while a choice is pending, which stays as it was."""
    policy = build(name)
    rng = np.random.default_rng(1)
    for earlier in (0, 3, 2):
        play(policy, earlier, rng)
        with refused(policy, "update was called before select", RuntimeError):
            policy.update(np.zeros(policy.plays))
        for pending in (False, True):
            if pending:
                policy.select(contexts(rng))
            for bad in BAD_CONTEXTS.values():
                with refused(policy, "contexts must"):
                    policy.select(bad)
        for pay in BAD_PAYOFFS.values():
            with refused(policy, "payoffs must"):
                policy.update(pay(policy.plays))
        policy.update(np.zeros(policy.plays))
    assert policy.round == 9


@every_class
def test_messages_say_what_was_wrong_and_where(name: str) -> None:
    policy = build(name)
    for what, said in {
        "transposed": r"shape \(4, 3\) = \(n_arms, dim\), got \(3, 4\)",
        "nan": "arm 2 is .*nan",
        "too long": r"norm at most 1.* arm 2 has norm 1.01",
        **{what: r"norm at most 1.* arm 2" for what in BAD_CONTEXTS if what.startswith("as long")},
    }.items():
        with pytest.raises(ValueError, match=said):
            policy.select(BAD_CONTEXTS[what])
    policy.select(np.zeros((K, D)))
    r = policy.plays
    with pytest.raises(ValueError, match=rf"shape \({r},\) = \(plays,\), got \({r + 1},\)"):
        policy.update(np.zeros(r + 1))
    with pytest.raises(ValueError, match=f"number {r - 1} is nan"):
        policy.update([*np.zeros(r - 1), math.nan])


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


@every_class
@pytest.mark.parametrize("norm", [1 + 1e-9, 1 + 1e-7, 1.0])
def test_a_norm_beyond_one_by_rounding_is_accepted(name: str, norm: float) -> None:
    X = np.zeros((K, D))
    X[:, 0] = norm
    assert 0 <= build(name).select(X) < K


def read_only(values: Any) -> np.ndarray:
    array = np.array(values)
    array.flags.writeable = False
    return array


@every_class
def test_contexts_and_payoffs_of_other_types_and_layouts_are_as_good(name: str) -> None:
    X = np.random.default_rng(4).integers(0, 2, size=(30, K, D)) / 4  # exact in every type
    ways = (
        np.asarray,
        np.float32,
        np.asfortranarray,
        np.ndarray.tolist,
        read_only,
        lambda values: np.repeat(values, 2, axis=-1)[..., ::2],
    )
    policies = [build(name) for _ in ways]
    payoffs = np.arange(policies[0].plays) % 3 - 0.75
    for t in range(min(30, policies[0].rounds)):
        arms = {policy.select(way(X[t])) for policy, way in zip(policies, ways, strict=True)}
        assert len(arms) == 1
        for policy, way in zip(policies, ways, strict=True):
            policy.update(way(payoffs))


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
def test_select_after_the_last_round_is_refused(name: str) -> None:
    policy = build(name)
    assert len(play(policy, policy.rounds, np.random.default_rng(7))) == policy.rounds
    with refused(policy, f"select was called after the last of {policy.rounds}", RuntimeError):
        policy.select(np.zeros((K, D)))
    with refused(policy, "update was called before select", RuntimeError):
        policy.update(np.zeros(policy.plays))
