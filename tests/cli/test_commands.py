"""The command line as a whole: its help, its exit codes, and how it behaves as a process."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import heavybandit as hb
from heavybandit import cli
from heavybandit.engine import POLICIES
from heavybandit.noise import SECTION6
from heavybandit.pipeline.recipes import NOISES, WORLDS
from heavybandit.replication.catalogue import EXPERIMENTS


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
        ("run LinUCB CRT", "no place for 'CRT'; further policies are named by --beside CRT"),
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


# What is refused: one sentence, exit code 2, and nothing written.

REFUSED = {
    "run Nobody": ["there is no policy 'Nobody'", "SupBTC"],
    "run Uniform --world mars": ["'mars'", "section6", "one of your own is named path/to/file.py"],
    "run Uniform --noise loud": ["'loud'", "student-t"],
    "run Uniform --noise Loud:a=1": ["'Loud'", "SymmetricPareto"],
    "run Uniform --noise Gaussian:size=1": ["'size'"],
    "run Uniform --noise Gaussian:scale": ["NAME=VALUE", "'scale'"],
    "run Uniform --noise Pareto:shape=0.5": ["shape", "0.5"],
    "run Uniform --world lower_bound --noise pareto": ["--noise", "lower_bound"],
    "run SupBTC --set v": ["--set", "NAME=VALUE", "'v'"],
    "run SupBTC --world-set =3": ["--world-set", "NAME=VALUE", "'=3'"],
    "run SupBTC --set vv=1": ["SupBTC", "'vv'", "width_scale"],
    "run Uniform --set v=1": ["Uniform", "'v'", "none"],
    "run Uniform --world-set arms=3": ["'arms'"],
    "run SupBTC --set eps=1.5": ["eps", "(0, 1]", "1.5"],
    "run SupBTC --set v=-1": ["v ", "-1"],
    "run SupBTC --set explore=best": ["explore", "'best'", "widest"],
    "run SupBTC --noise Gaussian --set v=printed": ["printed", "section6/gaussian"],
    "run SupBTC --horizon 1e30": ["horizon must be at most 2**53"],
    "run SupBMM --horizon 5": ["horizon", "5"],
    "run Uniform --seeds 0": ["--seeds", "0"],
    "run Uniform --seed -1": ["seed", "-1"],
    "run Uniform --plot regret.doc": ["regret.doc", ".png"],
    "run Uniform --horizon 300 --plot nowhere/regret.png": ["'nowhere'"],
    "run CRT,LinUCB": ["name one policy, and others by --beside: CRT --beside LinUCB"],
    "run CRT --set width_scale=abc": ["width_scale must be a number, as its default 1.0 in CRT"],
    "run mine.py:MyPolicy --set clip=abc": ["clip must be a number, as its default", "'abc'"],
    "run Uniform --out mine.txt": ["--out must end in .csv, got 'mine.txt'"],
    "run Uniform --out gone/mine.csv": ["'gone' does not"],
    "run LinUCB --beside CRT,LinUCB": ["LinUCB is given twice"],
    "run LinUCB --beside Nobody": ["there is no policy 'Nobody'"],
    "run LinUCB --beside CRT,,LinUCB": ["--beside must be POLICY,POLICY"],
    "run LinUCB --beside CRT:wide=3": ["CRT has no parameter 'wide'"],
    "run LinUCB --beside CRT:": ["--beside must be NAME=VALUE"],
    "run LinUCB --set horizon=5": ["horizon is the same for all policies"],
    "run nowhere.py:Mine": ["nowhere.py", "Mine"],
    "run mine.py:MyPolicy:clap=1": ["no parameter 'clap'; it has clip, ridge"],
    "run mine.py:np": ["mine.py has no class 'np'"],
    "run LinUCB --beside mine.py": ["name the class too: mine.py:ClassName"],
    "run LinUCB --noise noisy.py": ["name the class too"],
    "run LinUCB --world worldly.py": ["name the class too"],
    "run LinUCB --noise noisy.py:His": ["noisy.py has no class 'His'"],
    "run LinUCB --noise noisy.py:MyNoise:a=1": ["it has chance, size"],
    "run LinUCB --noise gone.py:MyNoise": ["there is no file 'gone.py'"],
    "run LinUCB --world around.py:MyWorld:arms=2": ["it has dim, n_arms"],
    "sweep": ["name an experiment", "tiny"],
    "sweep nothing": ["'nothing'", "tiny", "section6"],
    "sweep tiny --workers 0": ["--workers must be from 1 to", "got 0"],
    "sweep tiny --workers 100000": ["8 for each of", "got 100000"],
    "verify nothing": ["'nothing'", "tiny"],
    "compare here there": ["'here'"],
    "template policy new.txt": ["must end in .py"],
    "template policy gone/new.py": ["no folder 'gone'"],
}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("line", "words"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_in_one_sentence_and_nothing_is_made(
    folder, line, words, refused
):
    said = refused(line)
    assert [word for word in words if word not in said] == []
    made = {path.name for path in folder.iterdir()} - {"__pycache__"}
    assert made == {"mine.py", "noisy.py", "around.py"}


def test_a_template_that_does_not_fit_on_the_disk_leaves_nothing_in_the_way(tmp_path):
    """Not even an empty file: a template is not written over one that is there."""
    limited = "import resource as r, sys; r.setrlimit(r.RLIMIT_FSIZE, (100, 100)); "
    limited += "from heavybandit.cli import main; "
    command = [sys.executable, "-c", f"{limited}sys.exit(main(['template', 'noise', 'mine.py']))"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "heavybandit: mine.py cannot be written: File too large\n"
    assert not (tmp_path / "mine.py").exists()


def test_nor_does_one_whose_name_cannot_be_written_into_it(folder, refused):
    refused("template noise \udcff.py")  # not UTF-8
    assert not list(folder.glob("*ff.py")) + list(folder.glob("\udcff.py"))


def test_a_stopped_run_says_so(monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("heavybandit.cli.run.simulate", stopped)
    assert cli.main(["run", "Uniform", "--horizon", "300"]) == 130
    assert capsys.readouterr() == ("", "\nheavybandit: stopped.\n")


def test_ctrl_c_that_a_library_turns_into_another_error_is_still_ctrl_c(monkeypatch, capsys):
    """As when it comes while numba is half imported."""

    def half_imported(*_, **__):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        raise AttributeError("module 'coverage' has no attribute 'types'")

    monkeypatch.setattr("heavybandit.cli.run.simulate", half_imported)
    assert cli.main(["run", "Uniform", "--horizon", "300"]) == 130
    assert capsys.readouterr() == ("", "\nheavybandit: stopped.\n")


def test_an_error_that_nobody_foresaw_is_not_hidden(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("heavybandit.cli.run.simulate", broken)
    with pytest.raises(ZeroDivisionError, match="a defect"):
        cli.main(["run", "Uniform", "--horizon", "300"])


@pytest.mark.parametrize(
    ("why", "said"),
    [(("Unable to allocate 7 TiB",), "memory: Unable to allocate 7 TiB"), ((), "memory")],
)
def test_too_little_memory_is_told_and_is_no_difference(monkeypatch, refused, why, said):
    def too_large(*_, **__):
        raise MemoryError(*why)

    monkeypatch.setattr("heavybandit.cli.run.simulate", too_large)
    assert refused("run Uniform --horizon 300") == f"heavybandit: not enough {said}"


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


@pytest.mark.parametrize(("closed", "said"), [("2>&-", "drawn in u.png"), (">&- 2>&- <&-", "")])
def test_closed_streams_change_nothing_but_what_is_said(closed, said, tmp_path):
    """Nor does what is meant for a closed one go into a file that is opened later."""
    command = f"{sys.executable} -m heavybandit run Uniform --horizon 100 --plot u.png {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout
    assert (tmp_path / "u.png").read_bytes().startswith(b"\x89PNG")


def test_workers_go_on_where_the_place_for_errors_is_closed(tmp_path):
    """They inherit it from the process that starts them, and refuse to start without one."""
    command = f"{sys.executable} -m heavybandit sweep smoke --workers 2 --store s --data d 2>&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "36 done now" in done.stdout


def test_output_that_knows_few_letters_gets_all_of_it():
    few = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = in_a_shell("list", stdout=subprocess.PIPE, env=few)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2074" in done.stdout  # a superscript 4
    assert done.stdout.splitlines()[-2] == "noises"


def test_the_console_script_is_the_command_line(tmp_path):
    script = Path(sys.executable).parent / "heavybandit"
    assert script.exists(), "the package was installed before it had a command: make setup"
    done = subprocess.run(
        [script, "--version"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (0, f"heavybandit {hb.__version__}\n")


def test_what_is_wrong_has_its_exit_code_also_where_it_cannot_be_said(monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert cli.main(["run", "Nobody"]) == 2
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_sweep_whose_progress_cannot_be_written_ends_with_its_results(tmp_path):
    command = f"{sys.executable} -m heavybandit sweep smoke --workers 1 --store s --data d"
    command = f"{command} 2>/dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    assert "36 done now" in done.stdout
    assert (tmp_path / "d" / "smoke.runs.csv").exists()
