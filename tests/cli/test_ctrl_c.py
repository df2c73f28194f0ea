"""Ctrl-C that Python drops, because it comes while Python calls something of its own."""

from __future__ import annotations

import signal
import sys

import pytest

from heavybandit import cli
from heavybandit.cli import run
from heavybandit.pipeline.interrupts import Interrupts
from heavybandit.pipeline.spec import RunSpec
from heavybandit.replication import catalogue


class Dropped:
    """What is raised while an object is finalised is ignored; the locks of imports do the same."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.fixture
def dropped(monkeypatch):
    """The exceptions that Python has dropped."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: seen.append(what.exc_type))
    return seen


@pytest.mark.parametrize(
    "line", ["list", "run Uniform --horizon 300", "verify", "sweep tiny --workers 1 --quiet"]
)
@pytest.mark.usefixtures("swept")
def test_during_the_import_of_a_command_it_stops_the_command(line, dropped, monkeypatch, capsys):
    original = cli.import_module

    def import_module(*name):
        Dropped()
        return original(*name)

    monkeypatch.setattr(cli, "import_module", import_module)
    assert cli.main(line.split()) == 130
    assert dropped == [KeyboardInterrupt]
    assert capsys.readouterr() == ("", "\nheavybandit: stopped.\n")


def test_during_its_last_work_it_is_told_by_the_exit_code(dropped, monkeypatch, capsys):
    original = cli.import_module("heavybandit.cli.results").do_list

    def listed(options):
        Dropped()
        return original(options)

    monkeypatch.setattr("heavybandit.cli.results.do_list", listed)
    assert cli.main(["list"]) == 130
    assert dropped == [KeyboardInterrupt]
    assert capsys.readouterr().err == "\nheavybandit: stopped.\n"


@pytest.mark.parametrize(
    ("line", "owner", "name"),
    [
        ("run Uniform --horizon 300 --seeds 3", run, "simulate"),
        ("verify --all", RunSpec, "run"),
        ("sweep tiny --workers 1 --store new", catalogue, "by_name"),  # before its first run
    ],
)
def test_during_its_work_it_stops_the_command_at_the_next_run(
    swept, line, owner, name, dropped, monkeypatch, capsys
):
    original, calls = getattr(owner, name), []

    def called(*given, **named):
        calls.append(given)
        Dropped()
        return original(*given, **named)

    monkeypatch.setattr(owner, name, staticmethod(called) if owner is RunSpec else called)
    assert cli.main(line.split()) == 130
    assert len(calls) == len(dropped) == 1
    assert "stopped." in capsys.readouterr().err
    assert not list((swept / "new").glob("runs/*/*"))


def test_one_inside_another_knows_what_was_asked_of_the_other_and_tells_it(dropped):
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as outer:
        with Interrupts() as inner:
            Dropped()
            assert (inner.asked, outer.asked) == (True, False)
        assert outer.asked
        with Interrupts() as inner, pytest.raises(KeyboardInterrupt):
            inner.check()
    with Interrupts() as later:
        assert not later.asked
    assert Interrupts.innermost is None
    assert signal.getsignal(signal.SIGINT) is before
    assert dropped == [KeyboardInterrupt]
