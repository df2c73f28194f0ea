"""`heavybandit run`: the numbers it prints, the figure it draws, and what it refuses."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy.stats import t as student

import heavybandit as hb
from heavybandit.cli import main
from heavybandit.own.templates.noise import MyNoise
from heavybandit.own.templates.policy import MyPolicy
from heavybandit.own.templates.world import MyWorld

WORLD = hb.section6()


def regrets(policy, seeds, horizon=300, **settings):
    """What a policy's runs on Section 6 come to, made by hand."""
    shape = {"horizon": horizon, "n_arms": 20, "dim": 10}
    return np.array(
        [hb.simulate(policy(**shape, **settings, seed=s), WORLD, s).regret for s in seeds]
    )


def test_the_last_row_of_a_run_is_its_regret_and_uniform_plays(typed):
    out = typed("run SupBTC --horizon 300 --seed 3 --set width_scale=0.05 --set v=2").splitlines()
    assert "SupBTC" in out[0]
    assert "section6/student-t" in out[0]
    (mine,), (control,) = (
        regrets(hb.SupBTC, (3,), v=2.0, width_scale=0.05),
        regrets(hb.Uniform, (3,)),
    )
    assert out[-1].split() == ["300", f"{mine:.2f}", f"{mine / 300:.4f}", f"{control:.2f}"]


def test_a_run_over_several_seeds_shows_their_mean_and_range(typed):
    out = typed("run Uniform --horizon 3e2 --seed 4 --seeds 3").splitlines()
    each = regrets(hb.Uniform, (4, 5, 6))
    assert "3 seeds" in out[0]
    plays, mean, _, low, high, _ = out[-1].split()
    assert plays == "300"  # a horizon may be written as a power of ten
    assert [mean, low, high] == [f"{x:.2f}" for x in (each.mean(), each.min(), each.max())]


@pytest.mark.parametrize(
    ("arguments", "world", "v"),
    [
        ("--noise pareto", hb.section6("pareto"), 2.0),
        ("--noise Gaussian:scale=2", hb.section6(hb.noise.Gaussian(2.0)), 5.0),
        ("--noise Gaussian", hb.section6(hb.noise.Gaussian()), 2.0),
        (
            "--noise Units(noise=Gaussian(scale=2),factor=3) --world-set theta_norm=0.5",
            hb.section6(hb.noise.Units(hb.noise.Gaussian(2.0), 3.0), theta_norm=0.5),
            38.25,  # 9·(4 + ¼)
        ),
        (
            "--world symmetric --world-set n_arms=4 --world-set dim=3",
            hb.symmetric(n_arms=4, dim=3),
            4.0,
        ),
        ("--world lower_bound", hb.lower_bound(300, 9, 4, 1.0), 2.0),
    ],
)
def test_a_run_takes_place_in_the_world_asked_for_with_a_bound_that_fits_it(
    arguments, world, v, typed
):
    out = typed(f"run SupBTC --horizon 300 --set width_scale=0.02 {arguments}")
    policy = hb.SupBTC(300, world.n_arms, world.dim, v=v, width_scale=0.02)
    assert out.splitlines()[-1].split()[1] == f"{hb.simulate(policy, world).regret:.2f}"


# Side by side.


@pytest.mark.usefixtures("folder")
def test_policies_beside_each_other_have_the_regrets_they_have_alone(typed, rows):
    beside = "LinUCB,SupBMM:width_scale=0.1,v=3,mine.py:MyPolicy:clip=1"
    table = rows(typed(f"run mine.py:MyPolicy --beside {beside} --horizon 900"))
    alone = {
        "MyPolicy": MyPolicy(900, 20, 10),
        "LinUCB": hb.LinUCB(900, 20, 10),
        "SupBMM:width_scale=0.1,v=3": hb.SupBMM(900, 20, 10, width_scale=0.1, v=3.0),
        "MyPolicy:clip=1": MyPolicy(900, 20, 10, clip=1),
        "Uniform": hb.Uniform(900, 20, 10),
    }
    runs = {name: hb.simulate(policy, WORLD, seed=0) for name, policy in alone.items()}
    assert list(table) == list(runs)
    for name, run in runs.items():
        made = int(run.plays[-1])
        assert table[name][:3] == [str(made), f"{run.regret:.2f}", f"{run.regret / made:.4f}"]
    assert int(table["SupBMM:width_scale=0.1,v=3"][0]) < 900  # several plays per round
    gap = runs["LinUCB"].regret / 900 - runs["MyPolicy"].regret / 900
    assert table["LinUCB"][3:] == [f"{gap:+.4f}"]
    assert table["MyPolicy"][3:] == []


def test_differences_are_paired_by_seed_with_students_interval(typed, rows):
    out = typed("run LinUCB --beside GreedyRidge --horizon 400 --seed 5 --seeds 3")
    seeds = (5, 6, 7)
    gaps = (regrets(hb.GreedyRidge, seeds, 400) - regrets(hb.LinUCB, seeds, 400)) / 400
    low, high = student.interval(0.95, 2, gaps.mean(), gaps.std(ddof=1) / np.sqrt(3))
    assert rows(out)["GreedyRidge"][3:] == [
        f"{gaps.mean():+.4f}",
        "±",
        f"{(high - low) / 2:.4f}",
    ]
    assert "mean of 3 seeds" in out
    assert "more per play than LinUCB, 95 % interval" in out
    assert "one seed says little" not in out


def test_one_seed_gives_no_interval_and_says_how_to_get_one(typed, rows):
    out = typed("run LinUCB --beside Uniform --horizon 200")
    assert "±" not in out
    assert "--seeds 10" in out
    assert list(rows(out)) == ["LinUCB", "Uniform"]  # and no second control


# Copies that are shown other payoffs.


def test_a_run_prints_how_often_a_copy_chooses_the_same_arm(typed):
    line = "run SupBTC --horizon 900 --set width_scale=0.05 --seeds 2 --counterfactual noise"
    out = typed(line).splitlines()
    shape = {"horizon": 900, "n_arms": 20, "dim": 10, "v": 4.0, "width_scale": 0.05}
    both = [
        hb.counterfactual(hb.SupBTC(**shape, seed=s), WORLD, s, "noise", checkpoints=10)
        for s in (0, 1)
    ]
    assert out[1].endswith("same arm")
    same = np.mean([one.same / one.run.plays for one in both], axis=0)
    assert [row.split()[-2] for row in out[2:-1]] == [f"{100 * x:.2f}" for x in same]
    second = sum(o.same_by_stage[1] for o in both) / sum(o.rounds_by_stage[1] for o in both)
    said = f"{100 * same[-1]:.2f} % of rounds (stage 1: 100 %, stage 2: {100 * second:.2f} %"
    assert f"shown noise alone, it chooses the same arm in {said}" in out[-1]
    regret = np.mean([one.run.regret for one in both])
    assert out[-2].split()[1] == f"{regret:.2f}"


def test_policies_beside_each_other_show_it_too(folder, typed, rows, refused):
    line = "run mine.py:MyPolicy --beside SupBTC --horizon 300 --counterfactual zero"
    out = typed(f"{line} --out {folder / 'all.csv'}")
    mine = hb.counterfactual(MyPolicy(300, 20, 10), WORLD).share
    table = rows(out)
    assert table["MyPolicy"][3:] == [f"{100 * mine:.2f}", "%"]
    assert table["SupBTC"][3:5] == table["Uniform"][3:5] == ["100", "%"]
    assert "a copy that is shown payoffs of 0 chooses it too" in out
    saved = (folder / "all.table.csv").read_text().splitlines()
    assert [saved[0].split(",")[-1], float(saved[1].split(",")[-1])] == ["same_arm", mine]
    said = refused("run LinUCB --world lower_bound --counterfactual noise")
    assert "--counterfactual must be 'zero' in lower-bound" in said


# Noises and worlds of one's own.


@pytest.mark.usefixtures("folder")
def test_a_noise_of_ones_own_is_that_of_every_policy(typed, rows):
    noise, scale = "noisy.py:MyNoise:size=9,chance=0.01", "SupBTC:width_scale=0.01"
    out = typed(f"run LinUCB --beside {scale} --noise {noise} --horizon 300")
    world = hb.section6(MyNoise(size=9, chance=0.01))  # type: ignore[arg-type]
    linucb = hb.simulate(hb.LinUCB(300, 20, 10), world).regret
    raw = max(MyNoise(9, 0.01).moment_about(2, a) for a in (-1, 1))
    supbtc = hb.simulate(hb.SupBTC(300, 20, 10, v=raw, width_scale=0.01), world).regret
    assert rows(out)["LinUCB"][1] == f"{linucb:.2f}"
    assert rows(out)[scale][1] == f"{supbtc:.2f}"
    assert "section6/MyNoise(size=9, chance=0.01)" in out
    assert f"{scale} {raw:.4g} (exact)" in out


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("noise", "law"),
    [
        ("", hb.noise.StudentT(3.0)),
        ("--noise Gaussian:scale=2", hb.noise.Gaussian(2.0)),
        ("--noise noisy.py:MyNoise", MyNoise()),
    ],
)
def test_a_world_of_ones_own_gets_the_noise_that_is_named(noise, law, typed, rows):
    scaled, world = "SupBTC:width_scale=0.01", "around.py:MyWorld:n_arms=7 --world-set dim=3"
    out = typed(f"run LinUCB --beside {scaled} --world {world} --horizon 300 {noise}")
    here = MyWorld(law, n_arms=7, dim=3)  # whose noise may be one that only draws
    assert rows(out)["LinUCB"][1] == f"{hb.simulate(hb.LinUCB(300, 7, 3), here).regret:.2f}"
    raw = max(law.moment_about(2.0, a) for a in (-1.0, 1.0))
    supbtc = hb.SupBTC(300, 7, 3, v=raw, width_scale=0.01)
    assert rows(out)[scaled][1] == f"{hb.simulate(supbtc, here).regret:.2f}"
    assert f"MyWorld/{hb.noise.as_noise(law).name}: " in out


def test_a_world_with_a_noise_and_a_horizon_of_its_own(folder, sources, typed, refused):
    source = sources["world"].replace("self, noise,", "self, horizon,")
    source = source.replace("= noise, n", "= Hiss(), n") + (
        "\n\nclass Hiss:\n    def draw(self, rng, n):\n        return rng.standard_normal(n)\n"
    )
    (folder / "around.py").write_text(source)
    run = "run LinUCB --world around.py:MyWorld"
    assert "LinUCB in MyWorld/Hiss" in typed(f"{run} --horizon 50")
    said = refused(f"{run} --noise pareto")
    assert "--noise needs a world with an argument noise; around.py:MyWorld has none" in said


def test_a_log_of_contexts_need_not_be_longer_than_the_run(folder, sources, typed, refused):
    source = sources["world"].replace("dim=4):", "dim=4, rounds=60):")
    source = source.replace("self.noise, ", "self.rounds = rounds\n        self.noise, ")
    source = source.replace("return X", "X = X[: self.rounds - first_round]\n        return X")
    (folder / "around.py").write_text(source)
    run = "run LinUCB --world around.py:MyWorld"
    typed(f"{run} --horizon 60")
    typed(f"{run}:rounds=80 --horizon 80")  # an argument of the world's, not of the check
    said = refused(f"{run} --horizon 61")
    assert "the contexts have run out" in said
    assert "for 61 rounds and gave 60" in said


def test_a_noise_without_moments_does_for_policies_that_need_no_bound(
    folder, sources, typed, refused
):
    (folder / "noisy.py").write_text(sources["noise"].replace("def moment_about", "def unused"))
    rest = "--noise noisy.py:MyNoise --horizon 200"
    typed(f"run LinUCB --beside SupBTC:v=4 {rest}")
    said = refused(f"run LinUCB --beside SupBTC {rest}")
    assert "SupBTC needs v" in said
    assert "MyNoise has no moment_about" in said


def test_a_moment_that_is_infinite_is_said_to_be_with_the_way_out(typed, refused):
    line = "run LinUCB --horizon 200 --noise SymmetricPareto:shape=1.5 --beside SupBTC"
    said = refused(line)
    assert "SupBTC needs a bound on the moment of order 1+eps = 2, which is infinite" in said
    assert "smaller eps" in said
    typed(f"{line}:eps=0.4")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("world", ["section6", "lower_bound", "around.py:MyWorld"])
@pytest.mark.parametrize("noise", ["", " "])
def test_an_empty_noise_is_not_taken_for_none(capsys, world, noise):
    """As of a variable of the shell that is not set."""
    assert main(["run", "LinUCB", "--world", world, "--noise", noise, "--horizon", "50"]) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("heavybandit: --noise ")
    assert ("--noise is empty" in said) == (world != "lower_bound")


# Figures.


@pytest.mark.parametrize(("suffix", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_plot_is_written_with_the_same_bytes_twice(folder, suffix, begins, typed):
    files = [folder / f"{name}.{suffix}" for name in ("first", "second")]
    for file in files:
        out = typed(f"run Uniform --horizon 300 --seeds 2 --plot {file}")
        assert f"drawn in {file}" in out
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(begins)
    assert first == second


def test_the_curves_and_their_ends_are_saved_as_tables(folder, typed, rows):
    out = typed("run LinUCB --horizon 300 --seeds 2 --beside CRT:width_scale=0.1 --out mine.csv")
    assert out.endswith("curves in mine.csv, their ends in mine.table.csv\n")
    curves = pandas.read_csv(folder / "mine.csv")
    assert list(curves) == ["policy", "seed", "plays", "regret"]
    ends = curves[curves.plays == 300].groupby("policy", sort=False).regret
    assert list(ends.get_group("LinUCB")) == list(regrets(hb.LinUCB, (0, 1)))
    table = pandas.read_csv(folder / "mine.table.csv").set_index("policy")
    for name, words in rows(out).items():
        plays, regret, per_play, *rest = words
        row = table.loc[name]
        shown = f"{row.plays:.0f}", f"{row.regret:.2f}", f"{row.per_play:.4f}"
        assert shown == (plays, regret, per_play)
        if rest:
            assert rest == [f"{row.more_per_play:+.4f}", "±", f"{row.limit:.4f}"]
    assert table.regret.to_dict() == pytest.approx(ends.mean().to_dict())


@pytest.mark.usefixtures("folder")
def test_one_figure_has_all_policies_against_plays(monkeypatch, typed):
    drawn: list[Any] = []
    monkeypatch.setattr(
        "heavybandit.replication.plotting.save", lambda figure, _: drawn.append(figure)
    )
    beside = "--beside SupBMM:width_scale=0.1,mine.py:MyPolicy --plot all.png"
    typed(f"run SupBMM {beside} --horizon 700 --seeds 2")
    (axes,) = drawn[0].axes
    assert {text.get_text() for text in axes.texts} == {
        "SupBMM",
        "SupBMM:width_scale=0.1",
        "MyPolicy",
        "Uniform",
    }
    styles = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes.lines}
    assert len(styles) == 4
    ends = [line.get_xdata()[-1] for line in axes.lines]
    assert ends[0] == ends[1] < 700 == ends[2] == ends[3]


def test_a_table_that_is_there_without_its_curves_is_not_overwritten(refused, typed, tmp_path):
    (tmp_path / "mine.table.csv").write_text("a reader's own")
    said = refused(f"run LinUCB --horizon 300 --out {tmp_path / 'mine.csv'}")
    assert "would also write" in said
    assert (tmp_path / "mine.table.csv").read_text() == "a reader's own"
    for _ in range(2):  # its own it renews
        typed(f"run LinUCB --horizon 300 --out {tmp_path / 'other.csv'}")


def test_a_folder_that_cannot_be_written_is_noticed_before_the_work(refused, monkeypatch, tmp_path):
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)  # root may write all
    assert "folder that can be written" in refused(f"run LinUCB --out {tmp_path / 'mine.csv'}")


@pytest.mark.parametrize("file", ["--out mine.csv", "--out other.csv", "--plot mine.png"])
def test_a_pipe_or_device_in_the_place_of_a_file_is_noticed_before_the_work(
    folder, refused, monkeypatch, file
):
    monkeypatch.setattr("heavybandit.cli.run.simulate", None)
    os.mkfifo(folder / "mine.csv")
    for link in ("other.table.csv", "mine.png"):
        (folder / link).symlink_to(os.devnull)
    assert "must be a regular file" in refused(f"run LinUCB --horizon 300 {file}")


@pytest.mark.parametrize("beside", ["", "--beside LinUCB"])
def test_a_result_is_printed_also_if_its_files_cannot_be_written(
    folder, typed, capsys, monkeypatch, beside
):
    """All files are tried; and what the system says of a full disk names none."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    line = f"run Uniform --horizon 300 {beside}"
    wanted = typed(line)
    line = f"{line} --plot mine.png --out mine.csv"
    monkeypatch.setattr("heavybandit.pipeline.tables.write_whole", full)
    assert main(line.split()) == 2
    out, said = capsys.readouterr()
    assert out == f"{wanted}drawn in mine.png\n"
    assert said == "heavybandit: mine.csv cannot be written: No space left on device\n"
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    assert main(line.split()) == 2
    out, said = capsys.readouterr()
    assert out == wanted
    assert [name in said for name in ("mine.csv", "mine.png")] == [True, True]
    assert said.count("\n") == 1
    assert not (folder / "mine.csv").exists()


def test_a_file_that_cannot_be_written_is_told_also_if_nobody_reads_the_table(tmp_path):
    source = """
import errno, os, sys
from heavybandit.cli import main
from heavybandit.pipeline import tables

def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

tables.write_whole = full
sys.exit(main("run Uniform --horizon 300 --out mine.csv".split()))
"""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", source],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    os.close(write)
    said = "heavybandit: mine.csv cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_folder_that_is_gone_after_the_work_costs_no_result(folder, capsys, monkeypatch):
    def late(*given, **named):
        if (folder / "new").exists():
            (folder / "new").rmdir()
        return hb.simulate(*given, **named)

    (folder / "new").mkdir()
    monkeypatch.setattr("heavybandit.cli.run.simulate", late)
    assert main(["run", "Uniform", "--horizon", "300", "--plot", "new/mine.png"]) == 2
    out, said = capsys.readouterr()
    assert out.startswith("Uniform in section6")
    assert "drawn" not in out
    assert "'new' does not" in said


def test_files_are_written_also_if_nobody_reads_what_is_printed(tmp_path):
    read, write = os.pipe()
    os.close(read)
    line = "-u -m heavybandit run Uniform --horizon 100 --plot u.png --out u.csv"
    try:
        command = [sys.executable, *line.split()]
        done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, cwd=tmp_path)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    assert {p.name for p in tmp_path.iterdir()} == {"u.png", "u.csv", "u.table.csv"}


@pytest.mark.parametrize("failure", ["StopIteration", "GeneratorExit", "BaseException"])
def test_whatever_a_policy_of_ones_own_raises_is_told_with_its_line(folder, refused, failure):
    source, update = (folder / "mine.py").read_text(), "def update(self, payoffs):"
    ends = source.replace(update, f"{update}\n        raise {failure}")
    (folder / "ends.py").write_text(ends)
    said = refused("run ends.py:MyPolicy --horizon 300")
    assert f"failed: {failure} (ends.py, line" in said


def test_a_folder_in_the_place_of_a_table_is_noticed_before_the_work(refused, tmp_path):
    for name in ("mine.csv", "other.table.csv"):
        (tmp_path / name).mkdir()
    for name in ("mine.csv", "other.csv"):
        said = refused(f"run LinUCB --horizon 300 --out {tmp_path / name}")
        assert "--out must be a file" in said
