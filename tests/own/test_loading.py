"""Policies and noises of the reader's own, side by side with others on the same seeds."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from setuptools import find_packages

import heavybandit as hb
from heavybandit import cli
from heavybandit.cli import main
from heavybandit.cli.contenders import bounded, contender, contenders
from heavybandit.engine import POLICIES
from heavybandit.noise import OwnNoise, as_noise
from heavybandit.own import templates
from heavybandit.own.loading import files_of, place
from heavybandit.own.templates.noise import MyNoise
from heavybandit.own.templates.policy import MyPolicy
from heavybandit.own.templates.world import MyWorld

ROOT = Path(__file__).parents[2]
TEMPLATES = Path(str(templates.__file__)).parent
POLICY = (TEMPLATES / "policy.py").read_text(encoding="utf-8")
NOISE = (TEMPLATES / "noise.py").read_text(encoding="utf-8")
WORLD = (TEMPLATES / "world.py").read_text(encoding="utf-8")

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the templates in it, as mine.py, noisy.py and around.py."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine.py").write_text(POLICY)
    (tmp_path / "noisy.py").write_text(NOISE)
    (tmp_path / "around.py").write_text(WORLD)
    return tmp_path


def refusal(arguments: list[str], capsys: Capsys) -> str:
    """The one sentence with which a command is refused."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("heavybandit: ")
    assert err.count("\n") == 1
    return err


def rows(out: str) -> dict[str, list[str]]:
    """The lines of a table of ends, by policy."""
    lines = [line.split() for line in out.splitlines()]
    start = next(i for i, words in enumerate(lines) if words[0] == "policy") + 1
    return {words[0]: words[1:] for words in lines[start:] if words[1].isdigit()}


# Side by side.


@pytest.mark.usefixtures("folder")
def test_policies_beside_each_other_have_the_regrets_they_have_alone(capsys: Capsys) -> None:
    beside = "LinUCB,SupBMM:width_scale=0.1,v=3,mine.py:MyPolicy:clip=1"
    assert main(["run", "mine.py:MyPolicy", "--beside", beside, "--horizon", "900"]) == 0
    table = rows(capsys.readouterr().out)
    world = hb.section6()
    alone = {
        "MyPolicy": MyPolicy(900, 20, 10),
        "LinUCB": hb.LinUCB(900, 20, 10),
        "SupBMM:width_scale=0.1,v=3": hb.SupBMM(900, 20, 10, width_scale=0.1, v=3.0),
        "MyPolicy:clip=1": MyPolicy(900, 20, 10, clip=1),
        "Uniform": hb.Uniform(900, 20, 10),
    }
    runs = {name: hb.simulate(policy, world, seed=0) for name, policy in alone.items()}
    assert list(table) == list(runs)
    for name, run in runs.items():
        made = int(run.plays[-1])
        assert table[name][:3] == [str(made), f"{run.regret:.2f}", f"{run.regret / made:.4f}"]
    assert int(table["SupBMM:width_scale=0.1,v=3"][0]) < 900  # several plays a round
    gap = runs["LinUCB"].regret / 900 - runs["MyPolicy"].regret / 900
    assert table["LinUCB"][3:] == [f"{gap:+.4f}"]
    assert table["MyPolicy"][3:] == []


def test_a_class_called_like_one_of_ours_keeps_its_file_in_its_name(
    folder: Path, capsys: Capsys
) -> None:
    (folder / "mine.py").write_text(POLICY.replace("MyPolicy", "Uniform"))
    assert main(["run", "mine.py:Uniform", "--beside", "LinUCB", "--horizon", "300"]) == 0
    table = rows(capsys.readouterr().out)
    assert list(table) == ["mine.py:Uniform", "LinUCB", "Uniform"]
    assert table["mine.py:Uniform"][1] != table["Uniform"][1]


@pytest.mark.usefixtures("folder")
def test_differences_are_paired_by_seed_with_students_interval(capsys: Capsys) -> None:
    arguments = ["--beside", "GreedyRidge", "--horizon", "400", "--seed", "5", "--seeds", "3"]
    assert main(["run", "LinUCB", *arguments]) == 0
    out = capsys.readouterr().out
    world = hb.section6()
    gaps = np.array(
        [
            (
                hb.simulate(hb.GreedyRidge(400, 20, 10, seed=seed), world, seed).regret
                - hb.simulate(hb.LinUCB(400, 20, 10, seed=seed), world, seed).regret
            )
            / 400
            for seed in (5, 6, 7)
        ]
    )
    low, high = student.interval(0.95, 2, gaps.mean(), gaps.std(ddof=1) / np.sqrt(3))
    assert rows(out)["GreedyRidge"][3:] == [
        f"{gaps.mean():+.4f}",
        "±",
        f"{(high - low) / 2:.4f}",
    ]
    assert "mean of 3 seeds" in out
    assert "more per play than LinUCB, 95 % interval" in out
    assert "one seed says little" not in out


def test_one_seed_gives_no_interval_and_says_how_to_get_one(capsys: Capsys) -> None:
    assert main(["run", "LinUCB", "--beside", "Uniform", "--horizon", "200"]) == 0
    out = capsys.readouterr().out
    assert "±" not in out
    assert "--seeds 10" in out
    assert list(rows(out)) == ["LinUCB", "Uniform"]  # and no second control


def test_a_comma_ends_a_policy_or_a_setting_by_what_follows_it(folder: Path) -> None:
    beside = ["CRT:width_scale=0.003,v=4,mine.py:MyPolicy:clip=2,SupBTC", "LinUCB"]
    found = contenders("CRT", {"v": 1.0}, beside)
    assert [(one.label, one.given) for one in found] == [
        ("CRT:v=1.0", {"v": 1.0}),
        ("CRT:width_scale=0.003,v=4", {"width_scale": 0.003, "v": 4}),
        ("MyPolicy:clip=2", {"clip": 2}),
        ("SupBTC", {}),
        ("LinUCB", {}),
    ]
    (folder / "more").mkdir()
    shutil.copy("mine.py", "more/mine.py")
    same = contenders("mine.py:MyPolicy", {}, ["more/mine.py:MyPolicy:clip=2"])
    assert [one.label for one in same] == ["mine.py:MyPolicy", "more/mine.py:MyPolicy:clip=2"]


def test_one_figure_has_all_of_them_against_plays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    from heavybandit.cli import run as running

    def keep(figure: Any, _: Any) -> None:
        drawn.append(figure)

    monkeypatch.setattr(running, "save", keep)
    beside = ["--beside", "SupBMM:width_scale=0.1,mine.py:MyPolicy", "--plot", "all.png"]
    assert main(["run", "SupBMM", *beside, "--horizon", "700", "--seeds", "2"]) == 0
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
    assert list(folder.glob("*.png")) == []


# Bounds and seeds.


def test_v_is_looked_up_for_policies_that_need_one_and_no_others() -> None:
    for name in POLICIES:
        one = bounded(contender(name, "--beside"), hb.section6("pareto"))
        needs = "v" in inspect.signature(POLICIES[name]).parameters
        assert (one.v, "v" in (one.settings or {})) == (("printed", True) if needs else ("", False))
    central = bounded(contender("SupBMM", ""), hb.section6(hb.noise.Gaussian(2.0)))
    raw = bounded(contender("SupBTC", ""), hb.section6(hb.noise.Gaussian(2.0)))
    assert (central.v, central.settings) == ("exact", {"v": pytest.approx(4.0)})
    assert (raw.v, raw.settings) == ("exact", {"v": pytest.approx(5.0)})
    given = bounded(contender("SupBTC:v=7", ""), hb.section6())
    assert (given.v, given.settings) == ("", {"v": 7})


@pytest.mark.parametrize(
    ("argument", "settings"), [("v", {"v": 4.0}), ("v=None", {"v": 4.0}), ("v=9.0", {})]
)
def test_a_policy_of_ones_own_gets_v_unless_it_has_a_default(
    folder: Path, argument: str, settings: dict[str, float]
) -> None:
    (folder / "mine.py").write_text(POLICY.replace("clip=3.0", argument))
    assert bounded(contender("mine.py:MyPolicy", ""), hb.section6()).settings == settings


def test_a_policy_of_ones_own_gets_the_seed_if_it_asks_for_it(folder: Path, capsys: Capsys) -> None:
    lucky = POLICY.replace("clip=3.0", "seed").replace("self.clip = clip", "self.clip = 1 + seed")
    (folder / "mine.py").write_text(lucky)
    assert main(["run", "mine.py:MyPolicy", "--horizon", "200", "--seed", "3"]) == 0
    regret = hb.simulate(MyPolicy(200, 20, 10, clip=4.0), hb.section6(), seed=3).regret
    assert capsys.readouterr().out.splitlines()[-1].split()[1] == f"{regret:.2f}"


def test_a_moment_that_is_infinite_is_said_to_be_with_the_way_out(capsys: Capsys) -> None:
    arguments = ["LinUCB", "--beside", "SupBTC", "--noise", "SymmetricPareto:shape=1.5"]
    said = refusal(["run", *arguments], capsys)
    assert "SupBTC needs a bound on the moment of order 1+eps = 2, which is infinite" in said
    assert "smaller eps" in said
    arguments[2] = "SupBTC:eps=0.4"
    assert main(["run", *arguments, "--horizon", "200"]) == 0


# Noises.


@pytest.mark.usefixtures("folder")
def test_a_noise_of_ones_own_is_that_of_every_policy(capsys: Capsys) -> None:
    noise = ["--noise", "noisy.py:MyNoise:size=9,chance=0.01"]
    scale = "SupBTC:width_scale=0.01"
    assert main(["run", "LinUCB", "--beside", scale, *noise, "--horizon", "300"]) == 0
    out = capsys.readouterr().out
    world = hb.section6(MyNoise(size=9, chance=0.01))  # type: ignore[arg-type]
    linucb = hb.simulate(hb.LinUCB(300, 20, 10), world).regret
    raw = max(MyNoise(9, 0.01).moment_about(2, a) for a in (-1, 1))
    supbtc = hb.simulate(hb.SupBTC(300, 20, 10, v=raw, width_scale=0.01), world).regret
    assert rows(out)["LinUCB"][1] == f"{linucb:.2f}"
    assert rows(out)[scale][1] == f"{supbtc:.2f}"
    assert "section6/MyNoise(size=9, chance=0.01)" in out
    assert f"{scale} {raw:.4g} (exact)" in out


class Derived(hb.noise.Additive):
    """The template's noise, as the package's are."""

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.asarray(MyNoise().draw(rng, n))

    def moment_about(self, q: float, a: float) -> float:
        return float(MyNoise().moment_about(q, a))


def test_a_noise_that_derives_from_nothing_is_as_good_as_one_that_does() -> None:
    plain, derived = hb.section6(MyNoise()), hb.section6(Derived())  # type: ignore[arg-type]
    assert isinstance(plain.noise, OwnNoise)
    assert as_noise(derived.noise) is derived.noise
    runs = [
        hb.simulate(policy, world, seed=2)
        for world in (plain, derived)
        for policy in (hb.CRT(500, 20, 10, v=2.0, width_scale=0.01), MyPolicy(500, 20, 10))
    ]
    assert [run.regret for run in runs[:2]] == [run.regret for run in runs[2:]]
    assert plain.noise.raw_moment(1.0, 0.5) == derived.noise.raw_moment(1.0, 0.5)
    assert plain.noise.central_moment(0.5) == derived.noise.central_moment(0.5)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (3, "draw.*got 3"),
        (MyNoise, "must be an object, got the class MyNoise"),
        (MyPolicy(9, 2, 2), "a MyPolicy without one"),
        (type("Other", (MyNoise,), {"payoffs": None})(), "Other has a method payoffs"),
    ],
)
def test_what_is_no_noise_is_refused(noise: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        hb.section6(noise)


def test_a_noise_without_moments_does_for_policies_that_need_no_bound(
    folder: Path, capsys: Capsys
) -> None:
    (folder / "noisy.py").write_text(NOISE.replace("def moment_about", "def unused"))
    noise = ["--noise", "noisy.py:MyNoise", "--horizon", "200"]
    assert main(["run", "LinUCB", "--beside", "SupBTC:v=4", *noise]) == 0
    capsys.readouterr()
    said = refusal(["run", "LinUCB", "--beside", "SupBTC", *noise], capsys)
    assert "SupBTC needs v" in said
    assert "MyNoise has no moment_about" in said


def test_a_noise_that_does_not_pass_its_check_is_not_run(folder: Path, capsys: Capsys) -> None:
    source = NOISE.replace("rng.random(n)", "np.random.default_rng().random(n)")
    (folder / "noisy.py").write_text(source)
    said = refusal(["run", "LinUCB", "--noise", "noisy.py:MyNoise"], capsys)
    assert "noisy.py:MyNoise is no noise yet: the same generator must give the same draws" in said


# Worlds.


@pytest.mark.usefixtures("folder")
def test_a_world_of_ones_own_gets_the_noise_that_is_named(capsys: Capsys) -> None:
    world = ["--world", "around.py:MyWorld:n_arms=7", "--world-set", "dim=3", "--horizon", "300"]
    for noise, law in (
        ([], hb.noise.StudentT(3.0)),
        (["--noise", "Gaussian:scale=2"], hb.noise.Gaussian(2.0)),
        (["--noise", "noisy.py:MyNoise"], MyNoise()),
    ):
        assert main(["run", "LinUCB", "--beside", "SupBTC:width_scale=0.01", *world, *noise]) == 0
        out = capsys.readouterr().out
        here = MyWorld(law, n_arms=7, dim=3)  # whose noise may be one that only draws
        assert rows(out)["LinUCB"][1] == f"{hb.simulate(hb.LinUCB(300, 7, 3), here).regret:.2f}"
        raw = max(law.moment_about(2.0, a) for a in (-1.0, 1.0))
        supbtc = hb.SupBTC(300, 7, 3, v=raw, width_scale=0.01)
        assert rows(out)["SupBTC:width_scale=0.01"][1] == f"{hb.simulate(supbtc, here).regret:.2f}"
        assert f"MyWorld/{as_noise(law).name}: " in out


def test_a_world_with_a_noise_and_a_horizon_of_its_own(folder: Path, capsys: Capsys) -> None:
    source = WORLD.replace("self, noise,", "self, horizon,").replace("= noise, n", "= Hiss(), n")
    source += (
        "\n\nclass Hiss:\n    def draw(self, rng, n):\n        return rng.standard_normal(n)\n"
    )
    (folder / "around.py").write_text(source)
    run = ["run", "LinUCB", "--world", "around.py:MyWorld"]
    assert main([*run, "--horizon", "50"]) == 0
    assert "LinUCB in MyWorld/Hiss" in capsys.readouterr().out
    said = refusal([*run, "--noise", "pareto"], capsys)
    assert "--noise needs a world with an argument noise; around.py:MyWorld has none" in said


def test_a_world_that_does_not_pass_its_check_is_not_run(folder: Path, capsys: Capsys) -> None:
    (folder / "around.py").write_text(WORLD.replace("X / np", "2 * X / np"))
    said = refusal(["run", "LinUCB", "--world", "around.py:MyWorld"], capsys)
    assert "around.py:MyWorld is no world yet: contexts must be finite and of norm at most" in said


# Mistakes, as the person who makes them reads of them.

MISTAKES = {
    "in NumPy": ("contexts @ np", "contexts.T @ np", r"\(mine.py, line LINE, in select\)$"),
    "written contexts": ("estimates = ", "contexts *= 2; estimates = ", r"read-only \(mine.py, li"),
    "forgotten self": ("select(self, contexts)", "select(contexts)", r"def select\(self, contexts"),
    "other arguments": ("n_arms, dim,", "K, d,", "a policy gets horizon, n_arms, dim"),
    "an array for an arm": ("return arm", "return self.x", r"it returned array\(.{0,60}$"),
    "leaving early": ("clipped = ", "raise SystemExit(3); clipped = ", r"SystemExit: 3 \(mine.py"),
    "too many rounds": ("horizon // self.plays", "horizon + 7", "1 * 307"),
    "luck without a seed": (
        "int(np.argmax(estimates))",
        "int(np.random.default_rng().integers(20))",
        "same arms in the same world.* gets if it has an argument seed",
    ),
    "a division at the top": ("import numpy", "1 / 0\nimport numpy", r"\(mine.py, line 3\)$"),
}


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_place_in_the_readers_file(
    folder: Path, old: str, new: str, words: str, capsys: Capsys
) -> None:
    assert old in POLICY
    source = POLICY.replace(old, new)
    (folder / "mine.py").write_text(source)
    line = 1 + source[: source.index(new)].count("\n")
    said = refusal(["run", "mine.py:MyPolicy", "--horizon", "300"], capsys).strip()
    assert re.search(words.replace("LINE", str(line)).replace(" * ", r" \* "), said), said
    assert "simulate.py" not in said


def test_a_noise_that_fails_late_is_told_with_its_place(folder: Path, capsys: Capsys) -> None:
    late = "        assert n != 250, 'not today'\n        return np.where"
    (folder / "noisy.py").write_text(NOISE.replace("        return np.where", late))
    line = 1 + NOISE[: NOISE.index("        return np.where")].count("\n")
    arguments = ["--noise", "noisy.py:MyNoise", "--horizon", "250"]
    said = refusal(["run", "LinUCB", *arguments], capsys)
    assert f"AssertionError: not today (noisy.py, line {line}, in draw)" in said


def test_the_place_is_the_innermost_line_of_the_readers_files() -> None:
    class Mine:
        def outer(self) -> None:
            self.inner()

        def inner(self) -> None:
            np.linalg.inv(np.zeros((2, 2)))

    with pytest.raises(np.linalg.LinAlgError) as caught:
        Mine().outer()
    line = 1 + inspect.getsourcelines(Mine.inner)[1]
    assert files_of(Mine) == {__file__}
    assert place(caught.value, files_of(Mine)) == f"test_loading.py, line {line}, in inner"
    assert place(caught.value, {"elsewhere.py"}) == ""
    assert files_of(hb.SupBTC) == set()


BAD_FIELDS = {
    "twice": (["LinUCB", "--beside", "CRT,LinUCB"], "LinUCB is given twice"),
    "nobody": (["LinUCB", "--beside", "Nobody"], "there is no policy 'Nobody'"),
    "empty": (["LinUCB", "--beside", "CRT,,LinUCB"], "--beside must be POLICY,POLICY"),
    "bad setting": (["LinUCB", "--beside", "CRT:wide=3"], "CRT has no parameter 'wide'"),
    "own bad setting": (["mine.py:MyPolicy:clap=1"], "no parameter 'clap'; it has clip, ridge"),
    "no setting": (["LinUCB", "--beside", "CRT:"], "--beside must be NAME=VALUE"),
    "shared": (["LinUCB", "--set", "horizon=5"], "horizon is the same for all policies"),
    "file only": (["LinUCB", "--beside", "mine.py"], "name the class too: mine.py:ClassName"),
    "noise file only": (["LinUCB", "--noise", "noisy.py"], "name the class too"),
    "noise not there": (["LinUCB", "--noise", "noisy.py:His"], "noisy.py has no class 'His'"),
    "noise setting": (["LinUCB", "--noise", "noisy.py:MyNoise:a=1"], "it has chance, size"),
    "no file": (["LinUCB", "--noise", "gone.py:MyNoise"], "there is no file 'gone.py'"),
    "world setting": (["LinUCB", "--world", "around.py:MyWorld:arms=2"], "it has dim, n_arms"),
    "no world": (["LinUCB", "--world", "mars"], "one of your own is named path/to/file.py"),
    "no class": (["mine.py:np"], "mine.py has no class 'np'"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "words"), BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_what_cannot_be_compared_is_refused_in_one_sentence(
    arguments: list[str], words: str, capsys: Capsys
) -> None:
    assert words in refusal(["run", *arguments], capsys)


# Templates.


@pytest.mark.parametrize("kind", cli.TEMPLATES)
def test_a_template_is_written_once_and_the_command_it_names_runs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["template", kind, "new.py"]) == 0
    written = (tmp_path / "new.py").read_text()
    assert written == (TEMPLATES / f"{kind}.py").read_text().replace("my_noise.py", "new.py")
    program, *arguments = capsys.readouterr().out.splitlines()[-1].split()
    assert program == "heavybandit"
    assert main([*arguments, "--horizon", "100"]) == 0
    assert (tmp_path / "regret.png").stat().st_size > 10_000
    capsys.readouterr()
    (tmp_path / "new.py").write_text("mine now")
    assert "new.py is there already" in refusal(["template", kind, "new.py"], capsys)
    assert (tmp_path / "new.py").read_text() == "mine now"
    assert main(["template", kind]) == 0
    assert (tmp_path / f"my_{kind}.py").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("file", "words"), [("new.txt", "must end in .py"), ("gone/new.py", "no folder 'gone'")]
)
def test_a_template_goes_into_a_python_file_in_a_folder_there_is(
    file: str, words: str, capsys: Capsys
) -> None:
    assert words in refusal(["template", "policy", file], capsys)


def test_the_templates_are_about_twenty_lines_that_pass_their_checks() -> None:
    for source in (POLICY, NOISE, WORLD):
        code = [x for x in source.splitlines() if x.strip() and not x.strip().startswith("#")]
        assert len(code) <= 20
    assert hb.check_policy(MyPolicy) == []
    assert hb.check_noise(MyNoise) == []
    assert hb.check_world(MyWorld) == []
    assert "heavybandit.own.templates" in find_packages(str(ROOT / "src"))  # so they are installed


@pytest.mark.parametrize("noise", ["student-t", "pareto"])
def test_the_template_policy_is_better_than_uniform_play_on_section_6(noise: str) -> None:
    world = hb.section6(noise)
    for seed in range(4):
        field = [MyPolicy(5000, 20, 10), hb.Uniform(5000, 20, 10, seed=seed)]
        mine, uniform = hb.simulate_all(field, world, seed)
        assert mine.regret < 0.9 * uniform.regret


# The command line as a whole, and the README.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "LinUCB", "--horzon", "5"], "no option '--horzon'; did you mean --horizon?"),
        (["run", "LinUCB", "--plott=5"], "no option '--plott'; did you mean --plot?"),
        (["sweep", "smoke", "--wurkers", "2"], "did you mean --workers?"),
        (["list", "--zzz"], "no option '--zzz'; there are -h, --help"),
        (["run", "LinUCB", "CRT"], "no place for 'CRT'"),
    ],
)
def test_an_unknown_option_shows_the_usage_of_its_command_and_the_nearest(
    arguments: list[str], words: str, capsys: Capsys
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"usage: heavybandit {arguments[0]} ")
    assert words in err.splitlines()[-1]


def test_the_examples_of_the_readme_run_as_printed(folder: Path, capsys: Capsys) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("## Plug in your own policy\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.S)
    assert len(blocks) == 4
    (folder / "mine.py").write_text(blocks[0])
    sys.path.insert(0, str(folder))
    space: dict[str, Any] = {}
    try:
        for block in blocks[1:]:
            exec(block, space)
    finally:
        sys.modules.pop("mine", None)
    assert "<CRT in section6/student-t(df=3), seed 0: regret" in capsys.readouterr().out
    assert (folder / "mine.png").read_bytes().startswith(b"\x89PNG")
    assert len(blocks[1].splitlines()) <= 20
    assert hb.check_policy(space["Mine"]) == []
    (command,) = re.findall(r"`heavybandit (run mine[^`]*)`", section)
    assert main([*command.split(), "--horizon", "200"]) == 0
