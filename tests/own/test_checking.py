"""What the three checks say of what is right, and of each way to be wrong."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import re
from typing import Any

import numpy as np
import pytest

import heavybandit as hb
from heavybandit.own.moments import contradiction
from heavybandit.own.templates.noise import MyNoise
from heavybandit.own.templates.world import MyWorld


class Mine:
    """Plays the arm that paid most on average so far."""

    plays = 1

    def __init__(self, horizon, n_arms, dim):
        self.rounds = horizon
        self.paid, self.times = np.zeros(n_arms), np.zeros(n_arms)

    def select(self, contexts):
        self.arm = int(np.argmax(self.paid / np.maximum(self.times, 1)))
        return self.arm

    def update(self, payoffs):
        self.paid[self.arm] += payoffs[0]
        self.times[self.arm] += 1


class Unseeded(Mine):
    def select(self, contexts):
        self.arm = int(np.random.default_rng().integers(4))
        return self.arm


class WrongArm(Mine):
    def select(self, contexts):
        super().select(contexts)
        return 4


class WritesContexts(Mine):
    def select(self, contexts):
        contexts[0] = 0.0
        return super().select(contexts)


class TooLong(Mine):
    def __init__(self, horizon, n_arms, dim):
        super().__init__(horizon, n_arms, dim)
        self.rounds = horizon + 1


class NoUpdate:
    plays = 1
    rounds = 10

    def __init__(self, **_: Any) -> None: ...

    def select(self, contexts):
        return 0


class HalfPlays(Mine):
    plays = 0.5  # type: ignore[assignment]


@pytest.mark.parametrize("cls", [Mine, hb.Uniform, hb.LinUCB, hb.GreedyRidge])
def test_nothing_is_wrong_with_a_policy_that_can_be_simulated(cls):
    assert hb.check_policy(cls) == []


@pytest.mark.parametrize("name", ["SupBTC", "TOFU", "CRT", "MoM", "SupBMM", "MENU"])
def test_nothing_is_wrong_with_the_papers_policies_in_either_form(name):
    assert hb.check_policy(getattr(hb, name), v=4.0, rounds=20) == []
    assert hb.check_policy(getattr(hb.paper, name), v=4.0, rounds=20) == []


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Unseeded, "same arms"),
        (WrongArm, "from 0 to 3; in round 1 it returned 4"),
        (WritesContexts, "read-only"),
        (TooLong, "2001"),
        (NoUpdate, "update must be a method"),
        (HalfPlays, "plays must be a whole number"),
        (hb.SupBTC, "could not be built"),
    ],
)
def test_what_is_wrong_is_said(cls, words):
    problems = hb.check_policy(cls)
    assert len(problems) == 1
    assert words in problems[0]


class Fails(Mine):
    def update(self, payoffs):
        np.linalg.inv(np.zeros((2, 2)))


def test_a_failure_is_told_with_the_line_of_the_readers_file():
    (said,) = hb.check_policy(Fails)
    line = 1 + inspect.getsourcelines(Fails.update)[1]
    assert said.endswith(f"LinAlgError: Singular matrix (test_checking.py, line {line}, in update)")
    (said,) = hb.check_policy(functools.partial(Fails))  # which stands in no file
    assert said.endswith(f"line {line}, in update)")


# Noises.


class Hiss(MyNoise):
    """The template's noise, to be spoilt in one way or another."""


class NotCentred(Hiss):
    def draw(self, rng, n):
        return np.asarray(super().draw(rng, n) + 0.2)

    def moment_about(self, q, a):
        return float(super().moment_about(q, a - 0.2))


class SaysItsMean(NotCentred):
    mean = 0.2


class SaysItsMeanWhenAsked(NotCentred):
    def mean(self):
        return 0.2


class DrawsOnly:
    def draw(self, rng, n):
        return [float(rng.standard_cauchy()) for _ in range(n)]


class NothingAtAll:
    def draw(self, rng, n):
        return np.zeros(n)

    def moment_about(self, q, a):
        return float(abs(a) ** q)


laws = hb.noise
GOOD_NOISES: dict[str, Any] = {
    "the template": MyNoise,
    "a rare gain": lambda: MyNoise(size=1e5, chance=1e-6),
    "a mean": SaysItsMean,
    "a mean as a method": SaysItsMeanWhenAsked,
    "draws only": DrawsOnly,
    "nothing": NothingAtAll,
    "gaussian": laws.Gaussian,
    "small": lambda: laws.Gaussian(1e-6),
    "large": lambda: laws.Gaussian(1e6),
    "student": laws.StudentT,
    "student, almost without a mean": lambda: laws.StudentT(1.05),
    "pareto": laws.Pareto,
    "pareto, centred": lambda: laws.Pareto(1.2, centred=True),
    "pareto, almost without a variance": lambda: laws.SymmetricPareto(2.01),
    "pareto, without one": lambda: laws.SymmetricPareto(1.5, 0.3),
    "pareto, almost without a mean": lambda: laws.SymmetricPareto(1.11),
    "seldom seen": lambda: laws.Extremal(1e4, 1e-7),
    "signs": lambda: laws.Extremal(1.0),
    "lottery": lambda: laws.Lottery(1e5, 1e-6),
    "not additive": lambda: laws.TwoPointPayoff(0.5),
}


@pytest.mark.parametrize("build", GOOD_NOISES.values(), ids=GOOD_NOISES)
def test_nothing_is_wrong_with_a_noise_however_heavy_its_tail(build):
    assert hb.check_noise(build) == []


@pytest.mark.parametrize("shape", [1.02, 1.1, 1.3, 1.7, 2.2, 3.0, 8.0])
def test_moments_that_are_right_are_not_called_wrong_by_any_sample(shape):
    for law in (laws.SymmetricPareto(shape), laws.Pareto(shape), laws.StudentT(shape)):
        for seed in range(20):
            draws = law.draw(np.random.default_rng(seed), 3000)
            assert contradiction(law.moment_about, law.mean, draws) is None


def spoilt(**members):
    return type("Spoilt", (Hiss,), members)


COUNTER = itertools.count()


def _counted(noise):
    noise.drawn = getattr(noise, "drawn", 0) + 1
    return int(noise.drawn)


BAD_NOISES: dict[str, tuple[Any, str]] = {
    "an object": (MyNoise(), "give the class"),
    "nothing to draw with": (Mine, "could not be built"),
    "no draw": (lambda: object(), "a method draw"),
    "draw without a generator": (
        spoilt(draw=lambda _, n: np.zeros(n)),
        "draw failed: TypeError",
    ),
    "a column": (
        spoilt(draw=lambda _, rng, n: rng.random((n, 1))),
        r"must return an array of 20 numbers, it returned an array of shape \(20, 1\)",
    ),
    "one number": (spoilt(draw=lambda _, rng, __: rng.random()), "it returned 0.5"),
    "nothing": (spoilt(draw=lambda *_: None), "it returned None"),
    "words": (spoilt(draw=lambda _, __, n: ["a"] * n), "that holds <U1, not numbers"),
    "infinite at last": (
        spoilt(draw=lambda _, rng, n: np.where((u := rng.random(n)) > 0.9999, np.inf, u)),
        "draws must be finite; number .* of 100,000 is inf",
    ),
    "luck of its own": (
        spoilt(draw=lambda _, __, n: np.random.default_rng().random(n)),
        "draw from rng alone",
    ),
    "a memory": (
        spoilt(draw=lambda self, rng, n: rng.random(n) + _counted(self)),
        "keep nothing from one call to the next",
    ),
    "one after another": (
        lambda: MyNoise(size=1.0 + next(COUNTER)),
        "two noises that are built alike",
    ),
    "signs after sizes": (
        spoilt(draw=lambda _, rng, n: rng.pareto(3, n) * rng.choice([-1, 1], n)),
        "1, 6, 13 draws one after the other must be the same as 20 at once",
    ),
    "a moment of None": (spoilt(moment_about=lambda *_: None), "must return a number, got None"),
    "a moment not a number": (spoilt(moment_about=lambda *_: math.nan), "cannot be nan"),
    "a negative moment": (spoilt(moment_about=lambda *_: -1.0), "cannot be -1"),
    "infinite moments": (spoilt(moment_about=lambda *_: math.inf), "is infinite, and so are all"),
    "a moment of one argument": (
        spoilt(moment_about=lambda _, q: q),
        "moment_about failed: TypeError",
    ),
    "moments that do not care where": (
        spoilt(moment_about=lambda self, q, _: Hiss.moment_about(self, q, 0.0)),
        r"must lie between .* since moment_about\(1.01, 0\)",
    ),
    "the second moment always": (
        spoilt(moment_about=lambda self, _, a: Hiss.moment_about(self, 2.0, a)),
        "must rise with q",
    ),
    "a wrong second moment": (
        spoilt(moment_about=lambda self, q, a: Hiss.moment_about(self, q, 0.99 * a)),
        r"must be 2 moment_about\(2, 0\) \+ 2a²",
    ),
    "wider than it says": (
        spoilt(draw=lambda self, rng, n: 1.2 * Hiss.draw(self, rng, n)),
        "it is too small, or the draws are too wide",
    ),
    "narrower than it says": (
        spoilt(draw=lambda self, rng, n: 0.5 * Hiss.draw(self, rng, n)),
        "it must be at least",
    ),
    "the other way round": (
        spoilt(draw=lambda self, rng, n: -Hiss.draw(self, rng, n)),
        r"moment_about\(1.01, -1\) is",
    ),
    "not centred": (NotCentred, "draws are 0.199. on average and not 0: subtract it"),
}


@pytest.mark.parametrize(("build", "words"), BAD_NOISES.values(), ids=BAD_NOISES)
def test_what_is_wrong_with_a_noise_is_said(build, words):
    (said,) = hb.check_noise(build)
    assert re.search(words, said), said


# Worlds.

GOOD_WORLDS: dict[str, Any] = {
    "the template": MyWorld,
    "section 6": hb.section6,
    "misaligned": hb.misaligned,
    "symmetric": hb.symmetric,
    "with a noise that only draws": lambda: MyWorld(DrawsOnly()),
    "theorem 3": lambda horizon: hb.lower_bound(horizon, 9, 4, 1.0),
}


@pytest.mark.parametrize("build", GOOD_WORLDS.values(), ids=GOOD_WORLDS)
def test_nothing_is_wrong_with_a_world_that_can_be_simulated(build):
    assert hb.check_world(build) == []


def amiss(**members):
    return type("Amiss", (MyWorld,), members)


def signed_afterwards(self, rng, _, n, __):
    X = rng.random((n, self.n_arms, self.dim)) / self.dim
    return np.asarray(X * rng.choice([-1.0, 1.0], X.shape))


BAD_WORLDS: dict[str, tuple[Any, str]] = {
    "an object": (hb.section6(), "give the class"),
    "not built": (lambda: 1 / 0, r"could not be built: ZeroDivisionError.*\(test_checking.py, l"),
    "members missing": (lambda: Mine(9, 2, 2), "it must have n_arms"),
    "half an arm": (lambda: MyWorld(DrawsOnly(), n_arms=2.5), "n_arms must be a whole number"),
    "no noise": (lambda: MyWorld(None), "noise must be one of"),
    "a bad noise": (lambda: MyWorld(NotCentred()), "its noise: .* on average and not 0"),
    "theta too long": (amiss(theta_star=lambda *_: np.zeros(9)), "must return dim=4 finite"),
    "theta at random": (
        amiss(theta_star=lambda *_: np.random.default_rng().random(4)),
        "the same whenever it is asked",
    ),
    "contexts of another shape": (
        amiss(contexts=lambda _, rng, __, n, ___: rng.random((n, 4, 5)) / 9),
        r"\(20, 5, 4\), got \(20, 4, 5\)",
    ),
    "contexts too long": (
        amiss(contexts=lambda _, __, ___, n, ____: np.ones((n, 5, 4))),
        "norm at most 1; one has 2$",
    ),
    "contexts not numbers": (
        amiss(contexts=lambda _, __, ___, n, ____: np.full((n, 5, 4), math.nan)),
        "norm at most 1; one has nan",
    ),
    "contexts of other arguments": (
        amiss(contexts=lambda _, rng: rng),
        "it failed: TypeError",
    ),
    "contexts at random": (
        amiss(contexts=lambda *a: MyWorld.contexts(a[0], np.random.default_rng(), *a[2:])),
        "same contexts; draw from rng alone",
    ),
    "contexts by block": (amiss(contexts=signed_afterwards), "1, 6, 13 rounds one after the other"),
}


@pytest.mark.parametrize(("build", "words"), BAD_WORLDS.values(), ids=BAD_WORLDS)
def test_what_is_wrong_with_a_world_is_said(build, words):
    said = hb.check_world(build)
    assert re.search(words, said[0]), said
