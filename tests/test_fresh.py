"""A policy plays once: one that has learnt is refused, wherever its rounds are kept."""

import copy
import gc
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import heavybandit as hb
from small_worlds import Scripted, TwoArms, simple


def test_a_policy_that_has_played_is_refused():
    policy = hb.Uniform(50, 6, 4)
    hb.simulate(policy, simple())
    with pytest.raises(ValueError, match="policy must be fresh: this Uniform has played 50 rounds"):
        hb.simulate(policy, simple())
    literal = hb.paper.CRT(50, 6, 4, v=1.0)
    literal.select(np.zeros((6, 4)))
    literal.update(0.0)
    with pytest.raises(ValueError, match="policy must be fresh: this CRT has played 1 rounds"):
        hb.simulate(literal, simple())
    own = Scripted([0] * 9)
    hb.simulate(own, TwoArms())
    for reused in (own, copy.deepcopy(own)):
        with pytest.raises(ValueError, match="this Scripted has played 9 rounds; build a new"):
            hb.simulate(reused, TwoArms())
    own = Scripted([0] * 9)
    own.round = 0  # its own affair
    hb.simulate(own, TwoArms())
    with pytest.raises(ValueError, match="the same policy is given twice"):
        hb.simulate_all([twice := hb.Uniform(50, 6, 4), twice], simple())


class Slotted:
    """A policy that nothing can be written on."""

    __slots__ = ("payoffs",)
    plays, rounds = 1, 4

    def select(self, contexts):
        return 0

    def update(self, payoffs):
        self.payoffs = payoffs


@dataclass(frozen=True)
class Frozen:
    """A policy that forbids to be written on, as does the next in another way."""

    plays: int = 1
    rounds: int = 4

    def select(self, contexts):
        return 0

    def update(self, payoffs):
        pass


class Closed(Frozen):
    def __setattr__(self, name, value):
        raise ValueError(f"no member {name} = {value}")


class Deaf(Slotted):
    """Drops what is written on it without an error, as does the next that has a __dict__."""

    __slots__ = ()

    def __setattr__(self, name, value):
        if name == "payoffs":
            super().__setattr__(name, value)


class DeafWithRoom(Deaf):
    pass


def replayed(policy):
    return hb.replay(policy, np.full((6, 2, 1), 0.5), [0] * 6, [1.0] * 6)


@pytest.mark.parametrize("kind", [Slotted, Frozen, Closed, Deaf, DeafWithRoom])
@pytest.mark.parametrize("play", [lambda p: hb.simulate(p, TwoArms()), replayed])
def test_a_policy_that_cannot_be_written_on_is_refused_too_when_it_has_played(kind, play):
    policy, other = kind(), kind()
    play(policy)
    play(other)
    for again in (lambda p: hb.simulate(p, TwoArms()), replayed):
        with pytest.raises(ValueError, match=f"this {kind.__name__} has played 4 rounds"):
            again(policy)


def test_few_policies_that_cannot_be_written_on_are_kept_alive():
    class Watched(Slotted):
        __slots__ = ("__weakref__",)

    watched = []
    for _ in range(40):
        policy = Watched()
        watched.append(weakref.ref(policy))
        hb.simulate(policy, TwoArms())
    del policy
    gc.collect()
    assert sum(one() is not None for one in watched) <= 20
