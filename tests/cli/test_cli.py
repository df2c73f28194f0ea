"""The command line: what it prints, what its exit codes mean, and errors in one sentence."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit import cli
from heavybandit.cli import main
from heavybandit.cli import run as running
from heavybandit.engine import POLICIES
from heavybandit.pipeline import progress, store
from heavybandit.pipeline.progress import Progress
from heavybandit.pipeline.recipes import NOISES, WORLDS, recipe
from heavybandit.pipeline.spec import Experiment
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.sweep import run_group
from heavybandit.replication.catalogue import EXPERIMENTS
from heavybandit.replication.claims import HOLDS, NOT_REPRODUCED, settle

TINY = Experiment(
    name="tiny",
    what="a sentence about tiny",
    worlds=(recipe("section6", noise="student-t", n_arms=3, dim=2),),
    policies=(recipe("SupBTC", v=4.0, width_scale=0.02), recipe("Uniform")),
    horizons=(300,),
    seeds=2,
    checkpoints=4,
)
COMMANDS = ("run", "template", "sweep", "verify", "compare", "notebooks", "claims", "list")

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and TINY among the experiments."""
    monkeypatch.setitem(EXPERIMENTS, "tiny", TINY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def swept(tiny: Path, capsys: Capsys) -> Path:
    """The working folder after a sweep of TINY."""
    assert main(["sweep", "tiny", "--workers", "1", "--quiet"]) == 0
    capsys.readouterr()
    return tiny


def one_sentence(text: str) -> str:
    """A message of one line, as errors are given."""
    assert text.startswith("heavybandit: "), text
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text


def in_a_shell(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "heavybandit", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        **more,
    )


# list, help, version.


@pytest.mark.usefixtures("tiny")
def test_list_names_every_experiment_policy_world_and_noise(capsys: Capsys) -> None:
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    for name in (*EXPERIMENTS, *POLICIES, *WORLDS, *NOISES, "pareto-centred"):
        assert re.search(rf"\b{name}\b", out), name
    assert "a sentence about tiny (4 runs, 1.2e+03 plays)" in out
    assert err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_shows_an_example_of_it(command: str, capsys: Capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"example:\n  heavybandit {command}" in capsys.readouterr().out


def test_the_help_names_all_commands_and_what_exit_codes_mean(capsys: Capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    out = " ".join(capsys.readouterr().out.split())
    assert all(f" {command} " in out for command in COMMANDS)
    for code in ("0 well", "1 something differs", "2 cannot", "3 store", "130 stopped"):
        assert code in out


def test_the_examples_in_the_help_are_accepted_as_they_stand(capsys: Capsys) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        line = capsys.readouterr().out.rpartition("example:\n")[2].strip()
        program, *arguments = line.split()
        assert program == "heavybandit"
        assert callable(cli._parser().parse_args(arguments).do)


# run.


def test_the_last_row_of_a_run_is_its_regret_and_uniform_plays(capsys: Capsys) -> None:
    arguments = ["--horizon", "300", "--seed", "3", "--set", "width_scale=0.05", "--set", "v=2"]
    assert main(["run", "SupBTC", *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    shape = {"horizon": 300, "n_arms": 20, "dim": 10, "seed": 3}
    mine = hb.simulate(hb.SupBTC(**shape, v=2.0, width_scale=0.05), hb.section6(), seed=3)
    control = hb.simulate(hb.Uniform(**shape), hb.section6(), seed=3)
    assert "SupBTC" in out[0]
    assert "section6/student-t" in out[0]
    plays, regret, a_play, uniform = out[-1].split()
    assert int(plays) == 300
    assert regret == f"{mine.regret:.2f}"
    assert a_play == f"{mine.regret / 300:.4f}"
    assert uniform == f"{control.regret:.2f}"


def test_a_run_over_several_seeds_shows_their_mean(capsys: Capsys) -> None:
    assert main(["run", "Uniform", "--horizon", "300", "--seed", "4", "--seeds", "3"]) == 0
    out = capsys.readouterr().out.splitlines()
    regrets = [
        hb.simulate(hb.Uniform(300, 20, 10, seed=seed), hb.section6(), seed=seed).regret
        for seed in (4, 5, 6)
    ]
    assert "3 seeds" in out[0]
    assert out[-1].split()[1] == f"{np.mean(regrets):.2f}"


@pytest.mark.parametrize(
    ("arguments", "world", "v"),
    [
        (["--noise", "pareto"], hb.section6("pareto"), 2.0),
        (["--noise", "Gaussian:scale=2"], hb.section6(hb.noise.Gaussian(2.0)), 5.0),
        (["--noise", "Gaussian"], hb.section6(hb.noise.Gaussian()), 2.0),
        (
            ["--world", "symmetric", "--world-set", "n_arms=4", "--world-set", "dim=3"],
            hb.symmetric(n_arms=4, dim=3),
            4.0,
        ),
        (["--world", "lower_bound"], hb.lower_bound(300, 9, 4, 1.0), 2.0),
    ],
)
def test_a_run_takes_place_in_the_world_asked_for_with_a_bound_that_fits_it(
    arguments: list[str], world: Any, v: float, capsys: Capsys
) -> None:
    scale = ["--set", "width_scale=0.02"]
    assert main(["run", "SupBTC", "--horizon", "300", *scale, *arguments]) == 0
    policy = hb.SupBTC(300, world.n_arms, world.dim, v=v, width_scale=0.02)
    regret = hb.simulate(policy, world).regret
    assert capsys.readouterr().out.splitlines()[-1].split()[1] == f"{regret:.2f}"


def test_a_horizon_may_be_written_as_a_power_of_ten(capsys: Capsys) -> None:
    assert main(["run", "Uniform", "--horizon", "1e3"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[0] == "1000"


MINE = """
import numpy as np

class Mine:
    plays = 1

    def __init__(self, horizon, n_arms, dim, start=0):
        self.rounds, self.paid = horizon, np.zeros(n_arms)
        self.paid[start] = 9.0

    def select(self, contexts):
        self.arm = int(np.argmax(self.paid + contexts.sum(axis=1)))
        return self.arm

    def update(self, payoffs):
        self.paid[self.arm] += payoffs[0]
"""


def test_a_policy_of_ones_own_is_taken_from_its_file(tiny: Path, capsys: Capsys) -> None:
    (tiny / "mine.py").write_text(MINE)
    arguments = ["--horizon", "300", "--seed", "1", "--set", "start=2"]
    assert main(["run", f"{tiny}/mine.py:Mine", *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    space: dict[str, Any] = {}
    exec(MINE, space)
    run = hb.simulate(space["Mine"](300, 20, 10, start=2), hb.section6(), seed=1)
    assert out[0].startswith("Mine:start=2 in section6")
    assert out[-1].split()[1] == f"{run.regret:.2f}"


def test_a_policy_file_may_be_called_like_a_module_that_is_in_use(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "json", json)  # put back afterwards, whatever happens
    (tiny / "json.py").write_text(MINE)
    assert main(["run", "json.py:Mine", "--horizon", "300"]) == 0
    assert sys.modules["json"] is json


def test_a_plot_is_written_with_the_same_bytes_twice(tiny: Path, capsys: Capsys) -> None:
    for suffix, begins in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        raw = []
        for name in ("first", "second"):
            path = tiny / f"{name}{suffix}"
            arguments = ["--horizon", "300", "--seeds", "2", "--plot", str(path)]
            assert main(["run", "Uniform", *arguments]) == 0
            assert f"drawn in {path}" in capsys.readouterr().out
            raw.append(path.read_bytes())
        assert raw[0].startswith(begins)
        assert raw[0] == raw[1]


# Errors: one sentence, no traceback, and an exit code that means something.

BAD_RUNS = {
    "unknown policy": (["Nobody"], ["'Nobody'", "SupBTC"]),
    "unknown world": (["Uniform", "--world", "mars"], ["'mars'", "section6"]),
    "unknown noise": (["Uniform", "--noise", "loud"], ["'loud'", "student-t"]),
    "unknown noise family": (["Uniform", "--noise", "Loud:a=1"], ["'Loud'", "SymmetricPareto"]),
    "unknown noise parameter": (["Uniform", "--noise", "Gaussian:size=1"], ["'size'"]),
    "noise without a value": (["Uniform", "--noise", "Gaussian:scale"], ["NAME=VALUE", "'scale'"]),
    "noise out of range": (["Uniform", "--noise", "Pareto:shape=0.5"], ["shape", "0.5"]),
    "noise in the lower bound": (
        ["Uniform", "--world", "lower_bound", "--noise", "pareto"],
        ["--noise", "lower_bound"],
    ),
    "bad --set": (["SupBTC", "--set", "v"], ["--set", "NAME=VALUE", "'v'"]),
    "bad --world-set": (["SupBTC", "--world-set", "=3"], ["--world-set", "NAME=VALUE", "'=3'"]),
    "unknown parameter": (["SupBTC", "--set", "vv=1"], ["SupBTC", "'vv'", "width_scale"]),
    "parameter of a control": (["Uniform", "--set", "v=1"], ["Uniform", "'v'", "none"]),
    "unknown world parameter": (["Uniform", "--world-set", "arms=3"], ["'arms'"]),
    "bad eps": (["SupBTC", "--set", "eps=1.5"], ["eps", "(0, 1]", "1.5"]),
    "bad v": (["SupBTC", "--set", "v=-1"], ["v ", "-1"]),
    "bad explore": (["SupBTC", "--set", "explore=best"], ["explore", "'best'", "widest"]),
    "no printed bound": (
        ["SupBTC", "--noise", "Gaussian", "--set", "v=printed"],
        ["printed", "section6/gaussian"],
    ),
    "horizon too short": (["SupBMM", "--horizon", "5"], ["horizon", "5"]),
    "no seeds": (["Uniform", "--seeds", "0"], ["--seeds", "0"]),
    "negative seed": (["Uniform", "--seed", "-1"], ["seed", "-1"]),
    "unknown kind of figure": (["Uniform", "--plot", "regret.doc"], ["regret.doc", ".png"]),
    "no folder for the figure": (
        ["Uniform", "--horizon", "300", "--plot", "nowhere/regret.png"],
        ["'nowhere'"],
    ),
    "no such policy file": (["nowhere.py:Mine"], ["nowhere.py", "Mine"]),
}


@pytest.mark.parametrize(("arguments", "words"), BAD_RUNS.values(), ids=BAD_RUNS)
def test_a_run_that_cannot_be_done_is_refused_in_one_sentence(
    tiny: Path, arguments: list[str], words: list[str], capsys: Capsys
) -> None:
    assert main(["run", *arguments]) == 2
    out, err = capsys.readouterr()
    for word in words:
        assert word in one_sentence(err)
    assert out == ""
    assert list(tiny.iterdir()) == []


@pytest.mark.parametrize("horizon", ["x", "2.5", "inf", "nan", "1e400"])
def test_a_horizon_that_is_no_whole_number_is_refused_with_what_is_wanted(
    horizon: str, capsys: Capsys
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", "Uniform", "--horizon", horizon])
    assert caught.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    for word in ("--horizon", "whole number", f"'{horizon}'"):
        assert word in last


BAD_FILES = {
    "raises at import": ("1 / 0", ["division by zero"]),
    "is no Python": ("class Mine(:", ["mine.py"]),
    "imports what is not there": ("import nowhere_to_be_found", ["nowhere_to_be_found"]),
    "has no such class": ("class Yours: ...", ["mine.py", "'Mine'", "it has Yours"]),
    "has no class": ("import math", ["'Mine'", "it defines no class"]),
    "sets no rounds": (
        "class Mine:\n    plays = 1\n    def __init__(self, horizon, n_arms, dim): ...",
        ["it must set rounds, a whole number"],
    ),
    "cannot be built": ("class Mine: ...", ["Mine"]),
    "lacks a method": (MINE.replace("update", "learn"), ["Mine", "update"]),
    "selects text": (MINE.replace("return self.arm", "return 'left'"), ["select", "'left'"]),
    "selects nothing": (MINE.replace("return self.arm", "pass"), ["select", "None"]),
    "selects an arm too far": (MINE.replace("return self.arm", "return 20"), ["select", "20"]),
    "fails in select": (MINE.replace("return self.arm", "return {}[7]"), ["7"]),
    "fails in update": (MINE.replace("payoffs[0]", "payoffs.mad"), ["mad"]),
    "says it in two lines": ("raise ValueError('first\\nsecond')", ["first", "second"]),
}


@pytest.mark.parametrize(("source", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_policy_file_with_a_mistake_is_refused_in_one_sentence(
    tiny: Path, source: str, words: list[str], capsys: Capsys
) -> None:
    (tiny / "mine.py").write_text(source)
    assert main(["run", "mine.py:Mine", "--horizon", "300"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for word in words:
        assert word in one_sentence(err)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sweep"], ["name an experiment", "tiny"]),
        (["sweep", "nothing"], ["'nothing'", "tiny", "section6"]),
        (["sweep", "tiny", "--workers", "0"], ["--workers", "0"]),
        (["verify", "nothing"], ["'nothing'", "tiny"]),
        (["compare", "here", "there"], ["'here'"]),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence_and_nothing_is_made(
    tiny: Path, arguments: list[str], words: list[str], capsys: Capsys
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    for word in words:
        assert word in one_sentence(err)
    assert out == ""
    assert list(tiny.iterdir()) == []


@pytest.mark.usefixtures("tiny")
def test_a_store_that_may_not_be_written_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    def refuse(path: Path, *_: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(store, "write_whole", refuse)
    assert main(["sweep", "tiny", "--workers", "1", "--store", "mine"]) == 3
    err = one_sentence(capsys.readouterr().err)
    assert "no permission to write mine" in err
    assert "--store" in err


@pytest.mark.usefixtures("tiny")
def test_a_full_disk_is_told_in_one_sentence_and_the_same_command_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    write, written = store.write_whole, []

    def fill_up(path: Path, *rest: Any) -> None:
        if path.parent.parent.name == "runs":
            written.append(path)
            if len(written) == 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, *rest)

    sweep_tiny = ["sweep", "tiny", "--workers", "1", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(store, "write_whole", fill_up)
        assert main(sweep_tiny) == 3
    err = one_sentence(capsys.readouterr().err)
    assert "no room left" in err
    assert written[1].name in err
    assert main(sweep_tiny) == 0
    assert "4 runs, 1 were there, 3 done now" in capsys.readouterr().out


def test_a_store_of_a_newer_version_is_told_in_one_sentence(swept: Path, capsys: Capsys) -> None:
    (swept / "build/store/format.json").write_text('{"format": 2}')
    assert main(["sweep", "tiny", "--workers", "1"]) == 3
    assert "format 2" in one_sentence(capsys.readouterr().err)


def test_a_data_folder_that_cannot_be_used_is_told_in_one_sentence(
    tiny: Path, capsys: Capsys
) -> None:
    (tiny / "data").write_text("a file in its place")
    assert main(["sweep", "tiny", "--workers", "1", "--quiet"]) == 3
    assert "data" in one_sentence(capsys.readouterr().err)


@pytest.mark.parametrize(
    "claims",
    [
        "",
        "{",
        "{}x",
        '{"id": "T1"}',
        '["T1"]',
        "[null]",
        '[{"id": "T1"}]',
        '[{"id": 1, "verdict": "holds", "where": "Theorem 1"}]',
        '[{"id": "T1", "verdict": null, "where": "Theorem 1"}]',
    ],
)
def test_claims_that_cannot_be_read_are_told_in_one_sentence(
    tiny: Path, claims: str, capsys: Capsys
) -> None:
    (tiny / "claims.json").write_text(claims)
    assert main(["claims", "--data", "."]) == 3
    out, err = capsys.readouterr()
    assert "claims.json" in one_sentence(err)
    assert out == ""


def test_claims_are_shown_with_verdict_and_place(tiny: Path, capsys: Capsys) -> None:
    (tiny / "data").mkdir()
    settle("prop-1", "a", "b", {}, HOLDS, "data")
    settle("thm-2", "a", "b", {}, NOT_REPRODUCED, "data")
    assert main(["claims"]) == 0
    rows = [re.split(r" {2,}", row) for row in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["prop-1", "holds", "Section 3.1, Proposition 1"],
        ["thm-2", "not reproduced", "Section 3.2, Theorem 2"],
    ]


@pytest.mark.usefixtures("tiny")
def test_where_there_is_no_ledger_that_is_said_and_where_to_look(capsys: Capsys) -> None:
    assert main(["claims"]) == 3
    said = capsys.readouterr().err
    assert "there is no data/claims.json; run this in the repository" in said
    assert "--data" in said


# sweep, verify, compare.


def test_a_sweep_fills_store_and_data_and_a_second_one_finds_all_there(
    tiny: Path, capsys: Capsys
) -> None:
    sweep_tiny = ["sweep", "tiny", "--workers", "1", "--store", "s", "--data", "d"]
    assert main(sweep_tiny) == 0
    out, err = capsys.readouterr()
    assert "tiny: 4 runs, 0 were there, 4 done now" in out
    assert "tiny.runs.csv" in out
    assert "100%" in err
    assert sorted(p.name for p in (tiny / "d").iterdir()) == [
        "tiny.curves.csv",
        "tiny.json",
        "tiny.runs.csv",
    ]
    assert main([*sweep_tiny, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "tiny: 4 runs, 4 were there, 0 done now" in out
    assert err == ""


@pytest.mark.usefixtures("swept")
def test_a_sample_is_verified_and_its_seed_printed(capsys: Capsys) -> None:
    assert main(["verify", "tiny", "--plays", "300"]) == 0
    out = capsys.readouterr().out
    seed = re.search(r"--seed (\d+)", out)
    assert seed is not None
    assert "2 runs (600 plays) of tiny simulated again" in out
    assert "no differences" in out
    assert main(["verify", "tiny", "--plays", "300", "--seed", seed[1]]) == 0
    assert capsys.readouterr().out == out


@pytest.mark.usefixtures("swept")
def test_all_runs_are_verified_when_asked_for(capsys: Capsys) -> None:
    assert main(["verify", "--all"]) == 0
    assert "4 runs (1.2e+03 plays) of tiny" in capsys.readouterr().out


def test_a_changed_result_is_a_difference_and_exit_code_1(swept: Path, capsys: Capsys) -> None:
    path = swept / "data" / "tiny.runs.csv"
    path.write_text(path.read_text().replace(",300,", ",301,"))
    assert main(["verify"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^differs: .*tiny\.runs\.csv", out)
    assert "1 difference\n" in out


@pytest.mark.usefixtures("tiny")
def test_missing_results_are_a_difference_that_names_them(capsys: Capsys) -> None:
    assert main(["verify", "tiny"]) == 1
    assert re.search(r"^differs: .*tiny\.json is missing", capsys.readouterr().out)


def test_compare_says_which_files_differ(swept: Path, capsys: Capsys) -> None:
    (swept / "other").mkdir()
    for path in (swept / "data").iterdir():
        (swept / "other" / path.name).write_bytes(path.read_bytes())
    assert main(["compare", "data", "other"]) == 0
    assert "nothing differs" in capsys.readouterr().out
    (swept / "other" / "tiny.curves.csv").write_text("run,plays,regret\n")
    assert main(["compare", "data", "other"]) == 1
    assert capsys.readouterr().out == "tiny.curves.csv differs\n"


# Stopping.


def test_a_stopped_sweep_tells_how_many_runs_are_kept_and_how_to_go_on(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    def stopped(experiment: Experiment, kept: Store, **_: Any) -> None:
        for spec in experiment.runs()[:3]:
            kept.save(spec, run_group([spec])[0])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cli, "sweep", stopped)
        assert main(["sweep", "tiny", "--store", "mine", "--workers", "1"]) == 130
    err = capsys.readouterr().err
    assert "3 of 4 runs of tiny are finished and kept in mine" in err
    assert "the same command goes on" in err
    assert "Traceback" not in err
    assert not (tiny / "data").exists()
    assert main(["sweep", "tiny", "--store", "mine", "--workers", "1", "--quiet"]) == 0
    assert "3 were there, 1 done now" in capsys.readouterr().out


def test_a_stopped_run_says_so(monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "simulate", stopped)
    assert main(["run", "Uniform", "--horizon", "300"]) == 130
    assert one_sentence(capsys.readouterr().err.lstrip()) == "heavybandit: stopped.\n"


# As a process of its own.


def test_the_module_can_be_run_and_passes_its_exit_code_on(tmp_path: Path) -> None:
    bad = in_a_shell("run", "Nobody", stdout=subprocess.PIPE, cwd=tmp_path)
    assert bad.returncode == 2
    assert "'Nobody'" in one_sentence(bad.stderr)
    assert bad.stdout == ""


def test_a_reader_who_leaves_early_gets_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)  # as `heavybandit list | head -1` does, only sooner
    try:
        done = in_a_shell("list", stdout=write)
    finally:
        os.close(write)
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_console_script_is_the_command_line(tmp_path: Path) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"heavybandit": "heavybandit.cli:main"}
    script = Path(sys.executable).parent / "heavybandit"
    assert script.exists(), "the package was installed before it had a command: make setup"
    done = subprocess.run(
        [script, "--version"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, f"heavybandit {hb.__version__}\n")


# Progress.


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=made.monotonic))
    return made


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_in_a_log_have_percent_rate_and_time_left(clock: Clock) -> None:
    log = io.StringIO()
    with Progress("tiny", 1000, stream=log) as bar:
        clock.now += 20
        bar.under_way(250)
        clock.now += 5
        bar.under_way(300)  # too soon for another line
        clock.now += 15
        bar.advance(500)
        bar.under_way(0)
        clock.now += 10
        bar.advance(500)
    # 250 plays in 20 s are 12.5 a second, so 750 take 60 s.
    lines = log.getvalue().splitlines()
    assert lines[0] == "tiny: 25% of 1e+03 plays, 12.5 plays/s, 20 s so far, 60 s left"
    assert lines[-1] == "tiny: 100% of 1e+03 plays, 20 plays/s, 50 s so far, 0 s left"
    assert 3 <= len(lines) <= 4
    assert "\r" not in log.getvalue()


def test_nothing_made_yet_has_no_time_left_and_no_error(clock: Clock) -> None:
    log = io.StringIO()
    with Progress("tiny", 1000, stream=log) as bar:
        clock.now += 20
        bar.under_way(0)
        assert "0% of" in log.getvalue()
        assert "time left unknown" in log.getvalue()


def test_a_terminal_gets_a_bar_that_counts_plays() -> None:
    terminal = Terminal()
    with Progress("tiny", 2000, stream=terminal) as bar:
        bar.under_way(500)
        bar.advance(2000)
    shown = terminal.getvalue()
    assert "\r" in shown
    assert "tiny: 100%" in shown
    assert "play/s" in shown
    assert "2.00k/2.00k" in shown


@pytest.mark.parametrize(("total", "show"), [(0, True), (1000, False)])
def test_nothing_is_shown_when_there_is_nothing_to_do_or_quiet_is_asked_for(
    total: int, show: bool
) -> None:
    for stream in (io.StringIO(), Terminal()):
        with Progress("tiny", total, show=show, stream=stream) as bar:
            bar.advance(total)
        assert stream.getvalue() == ""


@contextlib.contextmanager
def line_after_line() -> Iterator[None]:
    """Every step is worth a line."""
    usual = progress.SECONDS_BETWEEN_LINES
    progress.SECONDS_BETWEEN_LINES = 0.0
    try:
        yield
    finally:
        progress.SECONDS_BETWEEN_LINES = usual


# A group of 100 plays is reported bit by bit, then counted as finished; workers overlap, and one
# that died starts its group again.
steps = st.lists(
    st.tuples(st.just("under_way"), st.integers(0, 300)) | st.just(("advance", 100)), max_size=15
)


@given(steps)
def test_progress_never_exceeds_the_total_and_never_visibly_goes_back(
    steps: list[tuple[str, int]],
) -> None:
    log, terminal = io.StringIO(), Terminal()
    shown = [0]
    with (
        line_after_line(),
        Progress("log", 500, stream=log) as lines,
        Progress("terminal", 500, stream=terminal) as bar,
    ):
        for step, plays in steps:
            for each in (lines, bar):
                getattr(each, step)(plays)
                assert each.made <= 500
            shown.append(bar.bar.n)
    assert shown == sorted(shown)
    assert shown[-1] <= 500
    percents = [int(p) for p in re.findall(r"(\d+)%", log.getvalue())]
    assert percents == sorted(percents)
    assert max(percents) <= 100


@pytest.mark.usefixtures("tiny")
def test_a_folder_that_is_not_there_is_not_taken_for_verified(capsys: Capsys) -> None:
    assert main(["verify", "--data", "dat"]) == 3
    assert "'dat'" in one_sentence(capsys.readouterr().err)


@pytest.mark.usefixtures("swept")
def test_results_of_an_experiment_that_is_gone_are_named(capsys: Capsys) -> None:
    del EXPERIMENTS["tiny"]
    try:
        assert main(["verify"]) == 1
    finally:
        EXPERIMENTS["tiny"] = TINY
    assert "belongs to an experiment that no longer exists" in capsys.readouterr().out


@pytest.mark.usefixtures("tiny")
def test_a_horizon_beyond_counting_is_refused(capsys: Capsys) -> None:
    assert main(["run", "SupBTC", "--horizon", "1e30"]) == 2
    assert "horizon must be at most 2**53" in one_sentence(capsys.readouterr().err)


def test_a_policy_file_may_import_its_neighbours_but_they_replace_no_library(
    tiny: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tiny / "json.py").write_text("raise RuntimeError('this is not the library')")
    (tiny / "arms.py").write_text("FAVOURITE = 3")
    (tiny / "mine.py").write_text(
        "import json\nfrom arms import FAVOURITE\n"
        "class Mine:\n"
        "    plays = 1\n"
        "    def __init__(self, horizon, n_arms, dim): self.rounds = horizon\n"
        "    def select(self, contexts): return FAVOURITE\n"
        "    def update(self, payoffs): json.dumps(1)\n"
    )
    assert main(["run", "mine.py:Mine", "--horizon", "50"]) == 0
    assert "Mine in section6" in capsys.readouterr().out
    assert sys.path[-1] == str(tiny)
