"""An iterator that runs out in the reader's code is told, and ends no loop around a simulation."""

import numpy as np
import pytest

import heavybandit as hb
from small_worlds import Scripted, Silence, TwoArms


def lasting(n):
    """A log of contexts that is read round by round, and ends after n."""

    def contexts(self, _, first, count, __):
        if first == 0:
            self.rows = iter(np.full((n, 2, 1), 0.5))
        return np.array([next(self.rows) for _ in range(count)])

    return type("Log", (TwoArms,), {"name": "log", "contexts": contexts})()


def test_a_log_that_ends_does_not_end_a_callers_loop_without_a_word():
    def regret(n):
        return hb.simulate(Scripted([0] * 40), lasting(n)).regret

    assert list(map(regret, [40, 50])) == [0, 0]
    for rounds in (10, 30):  # within the contexts that are compared before the run, and beyond
        said = r"^contexts of world log have run out in rounds 1 to 40, and 40 are to be played"
        with pytest.raises(ValueError, match=said):
            list(map(regret, [40, rounds, 40]))


def ends(*_):
    return next(iter(()))


class Ends(Scripted):
    select = ends


class EndsLearning(Scripted):
    update = ends


class EndsAtOnce(TwoArms):
    theta_star = ends


class EndsDrawing(Silence):
    draw = ends


class EndsPaying(Silence):
    payoffs = ends


@pytest.mark.parametrize(
    ("method", "play"),
    [
        ("theta_star of world two-arms", lambda: (hb.Uniform(9, 2, 1), EndsAtOnce())),
        ("draw of the noise silence", lambda: (hb.Uniform(9, 2, 1), TwoArms(EndsDrawing()))),
        ("payoffs of the noise silence", lambda: (Scripted([0] * 9), TwoArms(EndsPaying()))),
        ("select of Ends", lambda: (Ends([0] * 9), TwoArms())),
        ("update of EndsLearning", lambda: (EndsLearning([0] * 9), TwoArms())),
    ],
)
def test_nothing_of_the_readers_ends_a_loop_without_a_word(method, play):
    with pytest.raises(RuntimeError, match=f"^{method}.* raised StopIteration: it asked") as caught:
        hb.simulate(*play())
    assert isinstance(caught.value.__cause__, StopIteration)
    assert caught.traceback[-1].name == "ends"  # so that checks can quote the reader's line


class EndsDeclining(Scripted):
    decline = ends


@pytest.mark.parametrize(
    ("kind", "method", "logged"),
    [(Ends, "select", 0), (EndsLearning, "update", 0), (EndsDeclining, "decline", 1)],
)
def test_nor_does_a_policy_on_a_log(kind, method, logged):
    with pytest.raises(RuntimeError, match=f"^{method} of {kind.__name__} raised StopIteration"):
        hb.replay(kind([0] * 9), np.full((6, 2, 1), 0.5), [logged] * 6, [1.0] * 6)
