"""The command line as a whole: its help, its exit codes, and how it behaves as a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import heavybandit as hb
from heavybandit import cli
from heavybandit.engine import POLICIES
from heavybandit.noise import SECTION6
from heavybandit.pipeline.recipes import NOISES, WORLDS
from heavybandit.replication.catalogue import EXPERIMENTS

Capsys = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("tiny")
def test_list_names_every_experiment_policy_world_and_noise(typed):
    out = typed("list")
    for name in (*EXPERIMENTS, *POLICIES, *WORLDS, *NOISES, *SECTION6):
        assert re.search(rf"\b{name}\b", out), name
    assert "a sentence about tiny (4 runs, 1.2e+03 plays)" in out


def test_the_help_names_all_commands_and_what_exit_codes_mean(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--help"])
    assert caught.value.code == 0
    out = " ".join(capsys.readouterr().out.split())
    for command in ("run", "template", "sweep", "verify", "compare", "notebooks", "claims", "list"):
        assert f" {command} " in out
    for code in ("0 well", "1 something differs", "2 cannot", "3 store", "130 stopped"):
        assert code in out


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_the_help_of_a_command_shows_an_example_that_is_accepted(command, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main([command, "--help"])
    assert caught.value.code == 0
    line = capsys.readouterr().out.rpartition("example:\n")[2]
    program, *arguments = line.split()
    assert (program, arguments[0]) == ("heavybandit", command)
    assert callable(cli._parser().parse_args(arguments).do)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run LinUCB --horzon 5", "no option '--horzon'; did you mean --horizon?"),
        ("run LinUCB --plott=5", "no option '--plott'; did you mean --plot?"),
        ("sweep smoke --wurkers 2", "did you mean --workers?"),
        ("list --zzz", "no option '--zzz'; there are -h, --help"),
        ("run LinUCB CRT", "no place for 'CRT'"),
        *(
            (f"run Uniform --horizon {horizon}", f"--horizon: a whole number of plays is needed, "
             f"got '{horizon}'")
            for horizon in ("x", "2.5", "inf", "nan", "1e400")
        ),
    ],
)  # fmt: skip
def test_a_word_that_cannot_be_read_is_named_after_the_usage_of_its_command(line, words, capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(line.split())
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"usage: heavybandit {line.split()[0]} ")
    assert words in err.splitlines()[-1]


def test_a_stopped_run_says_so(monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("heavybandit.cli.run.simulate", stopped)
    assert cli.main(["run", "Uniform", "--horizon", "300"]) == 130
    assert capsys.readouterr() == ("", "\nheavybandit: stopped.\n")


def test_an_error_that_nobody_foresaw_is_not_hidden(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("heavybandit.cli.run.simulate", broken)
    with pytest.raises(ZeroDivisionError, match="a defect"):
        cli.main(["run", "Uniform", "--horizon", "300"])


# As a process of its own.


def in_a_shell(line, **more):
    command = [sys.executable, "-m", "heavybandit", *line.split()]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **more)


def test_the_module_can_be_run_and_passes_its_exit_code_on(tmp_path):
    bad = in_a_shell("run Nobody", stdout=subprocess.PIPE, cwd=tmp_path)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert re.fullmatch(r"heavybandit: there is no policy 'Nobody'.*\n", bad.stderr)


def test_a_reader_who_leaves_early_gets_no_traceback():
    read, write = os.pipe()
    os.close(read)  # as `heavybandit list | head -1` does, only sooner
    try:
        done = in_a_shell("list", stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_console_script_is_the_command_line(tmp_path):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"heavybandit": "heavybandit.cli:main"}
    script = Path(sys.executable).parent / "heavybandit"
    assert script.exists(), "the package was installed before it had a command: make setup"
    done = subprocess.run(
        [script, "--version"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, f"heavybandit {hb.__version__}\n")
