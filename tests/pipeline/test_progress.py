"""Progress of a sweep, in lines of a log or in a bar on a terminal."""

import errno
import io
import os
import re
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandit.pipeline import progress
from heavybandit.pipeline.progress import Progress, say
from heavybandit.pipeline.spec import plays_of, work_of
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.sweep import sweep
from tiny import LARGER


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes when it is told to."""
    made = SimpleNamespace(now=1000.0, monotonic=lambda: made.now)
    monkeypatch.setattr(progress, "time", made)
    return made


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_in_a_log_have_percent_and_time_left(clock):
    log = io.StringIO()
    with Progress("tiny", 1000, stream=log) as bar:
        bar.under_way(50)
        clock.now += 20
        bar.under_way(250)
        clock.now += 5
        bar.under_way(300)  # too soon for another line
        clock.now += 15
        bar.advance(500)
        bar.under_way(0)
        clock.now += 10
        bar.advance(500)
    # A fifth in 20 s, so three quarters take 75 s.
    lines = log.getvalue().splitlines()
    assert lines[0] == "tiny: 25% done, 20 s so far, about 75 s left"
    assert lines[-1] == "tiny: 100% done, 50 s so far, about 0 s left"
    assert 3 <= len(lines) <= 4
    assert "\r" not in log.getvalue()


def test_nothing_made_yet_has_no_time_left_and_no_error(clock):
    log = io.StringIO()
    with Progress("tiny", 1000, stream=log) as bar:
        clock.now += 20
        bar.under_way(0)
        assert "0% done" in log.getvalue()
        assert "time left unknown" in log.getvalue()


def test_the_time_that_compiling_takes_is_not_taken_for_that_of_the_work(clock):
    """It is over when the first work is done, after 20 s; then a fifth takes 20 s."""
    log = io.StringIO()
    with Progress("tiny", 1000, stream=log) as bar:
        clock.now += 20
        bar.under_way(1)
        clock.now += 10
        bar.under_way(30)
        clock.now += 10
        bar.under_way(201)
    lines = log.getvalue().splitlines()
    assert lines[0] == "tiny: 0% done, 20 s so far, time left unknown"
    assert lines[1] == "tiny: 3% done, 30 s so far, time left unknown"
    assert lines[2] == "tiny: 20% done, 40 s so far, about 80 s left"


class Full(io.StringIO):
    """What is on a full disk."""

    def write(self, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullTerminal(Full, Terminal):
    """A terminal that is gone refuses in the same way."""


@pytest.mark.parametrize("stream", [Full, FullTerminal])
def test_progress_that_cannot_be_shown_stops_nothing(clock, stream):
    with Progress("tiny", 1000, stream=stream()) as bar:
        clock.now += 20
        bar.under_way(250)
        bar.note("a sentence")
        bar.advance(1000)
    assert bar.made == 1000


def test_where_there_is_no_place_for_errors_nothing_is_said(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", None)  # as in a program without a console
    say("a sentence")
    assert capsys.readouterr().out == ""


def test_a_terminal_gets_a_bar_with_the_time_left():
    terminal = Terminal()
    with Progress("tiny", 2000, stream=terminal) as bar:
        bar.under_way(500)
        bar.advance(2000)
    shown = terminal.getvalue()
    assert "\r" in shown
    assert "tiny: 100%" in shown
    assert "00:00 so far, about 0 s left" in shown


@pytest.mark.parametrize(("total", "show"), [(0, True), (1000, False)])
def test_nothing_is_shown_when_there_is_nothing_to_do_or_quiet_is_asked_for(total, show):
    for stream in (io.StringIO(), Terminal()):
        with Progress("tiny", total, show=show, stream=stream) as bar:
            bar.advance(total)
        assert stream.getvalue() == ""


# A group of 100 units is reported bit by bit, then counted as finished; workers overlap, and one
# that died starts its group again.
steps = st.lists(
    st.tuples(st.just("under_way"), st.integers(0, 300)) | st.just(("advance", 100)), max_size=15
)


@given(steps)
def test_progress_never_exceeds_the_total_and_never_visibly_goes_back(steps):
    log, terminal = io.StringIO(), Terminal()
    shown = [0]
    with (
        patch.object(progress, "SECONDS_BETWEEN_LINES", 0.0),  # every step is worth a line
        Progress("log", 500, stream=log) as lines,
        Progress("terminal", 500, stream=terminal) as bar,
    ):
        for step, work in steps:
            for each in (lines, bar):
                getattr(each, step)(work)
                assert each.made <= 500
            shown.append(bar.bar.n)
    assert shown == sorted(shown)
    assert shown[-1] <= 500
    percents = [int(p) for p in re.findall(r"(\d+)%", log.getvalue())]
    assert percents == sorted(percents)
    assert max(percents) <= 100


def test_a_sweep_counts_work_while_groups_are_under_way(tmp_path, monkeypatch):
    """The bar ends at all of the work, and half of a group's plays are half of its work."""
    seen = []
    monkeypatch.setattr(Progress, "under_way", lambda _, work: seen.append(work))
    monkeypatch.setattr(Progress, "advance", lambda _, work: seen.append(-work))
    assert sweep(LARGER, Store(tmp_path)).done == 64
    groups = list(LARGER.groups())
    assert -sum(w for w in seen if w < 0) == pytest.approx(sum(map(work_of, groups)))
    most = max(map(work_of, groups))
    assert 0.9 * most < max(seen) <= most
    assert most < 0.8 * max(map(plays_of, groups))  # SupBMM has many plays per round
