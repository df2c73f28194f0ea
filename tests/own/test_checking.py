"""What the three checks say of what is right, and of each way to be wrong."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import re

import numpy as np
import pytest
import scipy.stats

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


@pytest.mark.parametrize("cls", [Mine, hb.Uniform, hb.LinUCB, hb.GreedyRidge])
def test_nothing_is_wrong_with_a_policy_that_can_be_simulated(cls):
    assert hb.check_policy(cls) == []


@pytest.mark.parametrize("name", ["SupBTC", "TOFU", "CRT", "MoM", "SupBMM", "MENU"])
def test_nothing_is_wrong_with_the_papers_policies_in_either_form(name):
    for module in (hb, hb.paper):
        assert hb.check_policy(getattr(module, name), v=4.0, rounds=20) == []


def spoilt(base, **members):
    return type("Spoilt", (base,), members)


def unseeded(self, _):
    self.arm = int(np.random.default_rng().integers(4))
    return self.arm


def overwritten(self, contexts):
    contexts[0] = 0.0
    return Mine.select(self, contexts)


def remembered(self, _):
    self.seen.append(0)
    self.arm = len(self.seen) % 3
    return self.arm


BAD_POLICIES = {  # what is said → of what
    "all of them share seen of the class": spoilt(Mine, select=remembered, seen=[]),
    "give the class": Mine(9, 2, 2),
    "same arms": spoilt(Mine, select=unseeded),
    "from 0 to 3; in round 1 it returned 4": spoilt(Mine, select=lambda *_: 4),
    "read-only, so copy them first": spoilt(Mine, select=overwritten),
    "2001": lambda horizon, **rest: Mine(horizon + 1, **rest),
    "update must be a method": spoilt(Mine, update=None),
    "plays must be a whole number": spoilt(Mine, plays=0.5),
    "could not be built": hb.SupBTC,
}


@pytest.mark.parametrize(("words", "build"), BAD_POLICIES.items(), ids=BAD_POLICIES)
def test_what_is_wrong_with_a_policy_is_said(words, build):
    (said,) = hb.check_policy(build)
    assert words in said


class Fails(Mine):
    def update(self, payoffs):
        np.linalg.inv(np.zeros((2, 2)))


def test_a_failure_is_told_with_the_line_of_the_readers_file():
    (said,) = hb.check_policy(Fails)
    line = 1 + inspect.getsourcelines(Fails.update)[1]
    assert said.endswith(f"LinAlgError: Singular matrix (test_checking.py, line {line}, in update)")
    (said,) = hb.check_policy(functools.partial(Fails))  # which stands in no file
    assert said.endswith(f"line {line}, in update)")


@pytest.mark.parametrize("check", [hb.check_policy, hb.check_noise, hb.check_world])
def test_a_function_where_an_object_is_due_is_told_and_does_not_crash_the_check(check):
    (said, *_) = check(lambda **_: lambda: None)
    assert re.search("must (be|have)", said), said


SEEN: list[int] = []


def remembered_by_the_module(*_):
    SEEN.append(0)
    return len(SEEN) % 3


def remembered_by_a_default(_, __, seen=[]):  # noqa: B006
    seen.append(0)
    return len(seen) % 3


@pytest.mark.parametrize("select", [remembered_by_the_module, remembered_by_a_default])
def test_what_two_policies_share_outside_their_class_is_not_taken_for_random_numbers_alone(select):
    (said,) = hb.check_policy(spoilt(Mine, select=select, update=lambda *_: None))
    assert "nothing may be shared between two policies" in said
    for place in ("a module's variable", "a default argument", "a class attribute"):
        assert place in said


@pytest.mark.parametrize("horizon", [4, 6, 10, 100])
def test_a_policy_that_fails_in_its_last_round_is_found(horizon):
    def update(self, _):
        self.times[0] += 1
        if self.times[0] == self.rounds:
            raise IndexError("past the end")

    (said,) = hb.check_policy(spoilt(Mine, update=update), horizon=horizon)
    assert "IndexError" in said


@pytest.mark.parametrize("most", [1, 2, 4, 20, 100])
def test_what_all_policies_of_a_class_count_together_does_not_come_round_again(most):
    def select(self, _):
        return len(self.seen) % 4

    def update(self, _):
        self.seen.append(0)

    for given in ({"rounds": most}, {"horizon": most}):
        (said,) = hb.check_policy(spoilt(Mine, seen=[], select=select, update=update), **given)
        assert "all of them share seen of the class" in said


# Noises.


class NotCentred(MyNoise):
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


class OneSided:
    """Not centred, and nothing is stated of it."""

    def draw(self, rng, n):
        return 0.01 * (1 + rng.pareto(3, n))


class OneSidedAndSaysSo(OneSided):
    mean = 0.015


class NothingAtAll:
    def draw(self, rng, n):
        return np.zeros(n)

    def moment_about(self, q, a):
        return float(abs(a) ** q)


laws = hb.noise
GOOD_NOISES = {
    "the template": MyNoise,
    "a rare gain": lambda: MyNoise(size=1e5, chance=1e-6),
    "a mean": SaysItsMean,
    "a mean as a method": SaysItsMeanWhenAsked,
    "draws only": DrawsOnly,
    "draws only, and a mean": OneSidedAndSaysSo,
    "a frozen law": lambda: scipy.stats.t(2.5),
    "drawn one by one": lambda: laws.InOrder(lambda rng, n: rng.random(n) - rng.random(n)),
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


COUNTER = itertools.count()


def _counted(noise):
    noise.drawn = getattr(noise, "drawn", 0) + 1
    return int(noise.drawn)


def redrawn(_, rng, n):
    """Depends on how many are asked for at once about once in 800 draws."""
    x = rng.standard_t(3, size=n)
    far = np.abs(x) > 12
    x[far] = rng.normal(size=far.sum())
    return x


def noise(**members):
    return spoilt(MyNoise, **members)


drawn, moment = MyNoise.draw, MyNoise.moment_about
BAD_NOISES = {  # what is said → of what
    "give the class": MyNoise(),
    "could not be built": Mine,
    "a method draw": lambda: object(),
    "draw failed: TypeError": noise(draw=lambda _, n: np.zeros(n)),
    r"an array of 20 numbers, it returned an array of shape \(20, 1\)": noise(
        draw=lambda _, rng, n: rng.random((n, 1))
    ),
    "it returned 0.5": noise(draw=lambda _, rng, __: rng.random()),
    "it returned None": noise(draw=lambda *_: None),
    "that holds <U1, not numbers": noise(draw=lambda _, __, n: ["a"] * n),
    "draws must be finite; number .* of 100,000 is inf": noise(
        draw=lambda _, rng, n: np.where((u := rng.random(n)) > 0.9999, np.inf, u)
    ),
    "draw from rng alone": noise(draw=lambda _, __, n: np.random.default_rng().random(n)),
    "the same generator must give the same draws": noise(  # twenty of them are mostly all 0
        draw=lambda _, __, n: np.where(np.random.default_rng().random(n) > 0.999, 1.0, 0.0)
    ),
    "keep nothing from one call to the next": noise(
        draw=lambda self, rng, n: rng.random(n) + _counted(self)
    ),
    "two noises that are built alike": lambda: MyNoise(size=1.0 + next(COUNTER)),
    "1, 6, 13 draws one after the other must be the same as 20 at once": noise(
        draw=lambda _, rng, n: rng.pareto(3, n) * rng.choice([-1, 1], n)
    ),
    r"1, 6, 13, 99,973, 7 draws one after the other must be the same as 100,000 at once": noise(
        draw=redrawn
    ),
    "must return a number, got None": noise(moment_about=lambda *_: None),
    "cannot be nan": noise(moment_about=lambda *_: math.nan),
    "cannot be -1": noise(moment_about=lambda *_: -1.0),
    "is infinite, and so are all": noise(moment_about=lambda *_: math.inf),
    "moment_about failed: TypeError": noise(moment_about=lambda _, q: q),
    r"must lie between .* since moment_about\(1.01, 0\)": noise(
        moment_about=lambda self, q, _: moment(self, q, 0.0)
    ),
    "must rise with q": noise(moment_about=lambda self, _, a: moment(self, 2.0, a)),
    r"must be 2 moment_about\(2, 0\) \+ 2a²": noise(
        moment_about=lambda self, q, a: moment(self, q, 0.99 * a)
    ),
    "too small, or the draws are too wide": noise(draw=lambda *its: 1.2 * drawn(*its)),
    "it must be at least": noise(draw=lambda *its: 0.5 * drawn(*its)),
    r"moment_about\(1.01, -1\) is": noise(draw=lambda *its: -drawn(*its)),
    "draws are 0.199. on average and not 0: subtract it": NotCentred,
    "100,000 draws are 0.0149. on average, and noise should be 0: subtract": OneSided,
}


@pytest.mark.parametrize(("words", "build"), BAD_NOISES.items(), ids=BAD_NOISES)
def test_what_is_wrong_with_a_noise_is_said(words, build):
    (said,) = hb.check_noise(build)
    assert re.search(words, said), said


# Worlds.

GOOD_WORLDS = {
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


def signed_afterwards(self, rng, _, n, __):
    X = rng.random((n, self.n_arms, self.dim)) / self.dim
    return np.asarray(X * rng.choice([-1.0, 1.0], X.shape))


def ends_at_900(self, rng, first, n, plays):
    if first + n > 900:
        raise IndexError("no more rounds")
    return offered(self, rng, first, n, plays)


def hidden(values):
    return np.ma.masked_array(values, mask=True)


def world(**members):
    return spoilt(MyWorld, **members)


offered = MyWorld.contexts
BAD_WORLDS = {  # what is said → of what
    "give the class": hb.section6(),
    r"could not be built: ZeroDivisionError.*\(test_checking.py, l": lambda: 1 / 0,
    "it must have n_arms": lambda: Mine(9, 2, 2),
    "n_arms must be a whole number": lambda: MyWorld(DrawsOnly(), n_arms=2.5),
    "noise must be one of": lambda: MyWorld(None),
    "its noise: .* on average and not 0": lambda: MyWorld(NotCentred()),
    "must return dim=4 finite": world(theta_star=lambda *_: np.zeros(9)),
    "the same whenever it is asked": world(theta_star=lambda *_: np.random.default_rng().random(4)),
    r"\(1000, 5, 4\), got \(1000, 4, 5\)": world(contexts=lambda *its: np.zeros((its[3], 4, 5))),
    "norm at most 1; one has 2$": world(contexts=lambda *its: np.ones((its[3], 5, 4))),
    "norm at most 1; one has nan": world(contexts=lambda *its: np.nan * offered(*its)),
    "it failed: TypeError": world(contexts=lambda _, rng: rng),
    "same contexts; draw from rng alone": world(
        contexts=lambda self, _, *rest: offered(self, np.random.default_rng(), *rest)
    ),
    "the same generator must give the same contexts": world(  # those of twenty rounds mostly are
        contexts=lambda self, rng, first, n, plays: (
            offered(self, rng, first, n, plays)
            * np.where(np.random.default_rng().random(n) > 0.995, -1.0, 1.0)[:, None, None]
        )
    ),
    r"theta_star\(0\) has norm 2, and .*Units\(noise, factor=2\)": world(
        theta_star=lambda *_: np.ones(4)
    ),
    "the contexts have run out: .* for 1,000 rounds and gave 12; .* check it with rounds=12": world(
        contexts=lambda *its: offered(*its)[: max(0, 12 - its[2])]
    ),
    "1, 6, 13, 973, 7 rounds one after the other": world(contexts=signed_afterwards),
    "contexts .*must not be masked": world(contexts=lambda *its: hidden(offered(*its))),
    r"theta_star\(0\) must not be masked": world(theta_star=lambda *_: hidden(np.zeros(4))),
    r"theta_star\(3\) must return dim=4": world(theta_star=lambda _, seed: np.zeros(4 + seed // 3)),
    r"theta_star\(2\) has norm 2": world(theta_star=lambda _, seed: np.full(4, 0.5 * (seed or 1))),
    "norm at most 1; one has 1.[1-9]": world(
        contexts=lambda *its: offered(*its) * (1.2 if its[2] + its[3] > 900 else 1)
    ),
    r"= \(1000, 5, 4\), got \(1000, 3, 4\)": world(
        contexts=lambda *its: offered(*its)[:, :: 1 if its[4] == 1 else 2]
    ),
    "mean must be in": lambda: MyWorld(hb.noise.TwoPointPayoff(2.0)),
    r"it failed: IndexError: .*\(test_checking.py, line \d+, in ends_at_900\)": world(
        contexts=ends_at_900
    ),
}


@pytest.mark.parametrize(("words", "build"), BAD_WORLDS.items(), ids=BAD_WORLDS)
def test_what_is_wrong_with_a_world_is_said(words, build):
    said = hb.check_world(build)
    assert re.search(words, said[0]), said


def test_a_log_of_contexts_is_checked_for_as_many_rounds_as_it_is_said_to_have():
    log = MyWorld(None).contexts(np.random.default_rng(3), 0, 500, 1)
    logged = world(contexts=lambda _, __, first, n, ___: log[first : first + n])
    for rounds in (1, 15, 500):
        assert hb.check_world(logged, rounds=rounds) == []
    assert "for 501 rounds and gave 500" in hb.check_world(logged, rounds=501)[0]
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        hb.check_world(logged, rounds=0)
