"""Files of the reader's own: what may be in them, and how a mistake in one is told."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import heavybandit as hb
from heavybandit.cli.templates import TEMPLATES

ROOT = Path(__file__).parents[2]


def test_a_file_may_be_called_like_a_module_that_is_in_use(folder, sources, monkeypatch, typed):
    monkeypatch.setitem(sys.modules, "json", json)  # put back afterwards, whatever happens
    (folder / "json.py").write_text(sources["policy"])
    typed("run json.py:MyPolicy --horizon 300")
    assert sys.modules["json"] is json


def test_a_file_may_import_its_neighbours_but_they_replace_no_library(folder, sources, typed):
    (folder / "json.py").write_text("raise RuntimeError('this is not the library')")
    (folder / "arms.py").write_text("FAVOURITE = 3")
    source = sources["policy"].replace("import numpy", "import json\nimport arms\nimport numpy")
    (folder / "mine.py").write_text(source.replace("return arm", "return arms.FAVOURITE"))
    assert "MyPolicy in section6" in typed("run mine.py:MyPolicy --horizon 50")
    assert sys.path[-1] == str(folder)


# Mistakes, as the person who makes them reads of them. In each the template has `old` replaced by
# `new`, and LINE stands for the line where `new` begins. The template is the first that has `old`;
# without `old` it is the policy's, and all of it is replaced.

MISTAKES = {
    "raises": ("", "1 / 0", r"cannot be loaded: ZeroDivisionError.* \(mine.py, line 1\)$"),
    "a division at the top": ("import numpy", "1 / 0\nimport numpy", r"\(mine.py, line LINE\)$"),
    "no Python": ("", "class MyPolicy(:", "mine.py"),
    "two lines": ("", "raise ValueError('first\\nsecond')", "first second"),
    "imports what is not there": ("", "import nowhere_to_be_found", "nowhere_to_be_found"),
    "no such class": ("", "class Yours: ...", "mine.py has no class 'MyPolicy'; it has Yours"),
    "no class": ("", "import math", "no class 'MyPolicy'; it defines no class"),
    "not built": ("", "class MyPolicy: ...", "MyPolicy"),
    "no rounds": ("self.rounds = ", "self.turns = ", "it must set rounds, a whole number"),
    "too many rounds": ("horizon // self.plays", "horizon + 7", r"1 \* 307"),
    "other arguments": ("n_arms, dim,", "K, d,", "a policy gets horizon, n_arms and dim by name"),
    "no update": ("def update", "def learn", "MyPolicy.*update"),
    "forgotten self": ("select(self, contexts)", "select(contexts)", r"def select\(self, contexts"),
    "text for an arm": ("return arm", "return 'left'", "select.*'left'"),
    "nothing for an arm": ("return arm", "pass", "select.*None"),
    "an arm too far": ("return arm", "return 20", "select.*20"),
    "an array for an arm": ("return arm", "return self.x", r"it returned array\(.{0,60}$"),
    "written contexts": (
        "estimates = ",
        "contexts *= 2; estimates = ",
        r"copy them.* \(mine.py, li",
    ),
    "in NumPy": ("contexts @ np", "contexts.T @ np", r"\(mine.py, line LINE, in select\)$"),
    "in select": ("return arm", "return {}[7]", r"KeyError: 7 \(mine.py, line LINE, in select\)$"),
    "in update": ("payoffs, -self", "payoffs.mad, -self", r"mad.*line LINE, in update\)$"),
    "leaving early": ("clipped = ", "raise SystemExit(3); clipped = ", r"SystemExit: 3 \(mine.py"),
    "random numbers without a seed": (
        "int(np.argmax(estimates))",
        "int(np.random.default_rng().integers(20))",
        "same arms in the same world.* gets if it has an argument seed",
    ),
    "state of the class": (
        "return arm",
        "type(self).arm = (getattr(self, 'arm', 0) + 1) % 7; return self.arm",
        r"in round 1; all of them share arm of the class: set it in __init__, on self$",
    ),
    "noise without a seed": (
        "rng.random(n)",
        "np.random.default_rng().random(n)",
        "noisy.py:MyNoise is no noise yet: the same generator must give the same draws",
    ),
    "long contexts": (
        "X / np",
        "2 * X / np",
        "around.py:MyWorld is no world yet: contexts must be finite and of norm at most",
    ),
    "a noise that fails late": (
        "return np.where",
        "assert n != 300, 'not today'; return np.where",
        r"AssertionError: not today \(noisy.py, line LINE, in draw\)",
    ),
}
COMMANDS = {
    "policy": ("mine.py", "run mine.py:MyPolicy"),
    "noise": ("noisy.py", "run LinUCB --noise noisy.py:MyNoise"),
    "world": ("around.py", "run LinUCB --world around.py:MyWorld"),
}


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_place_in_the_readers_file(
    folder, sources, old, new, words, refused
):
    kind = next(kind for kind in COMMANDS if old in sources[kind])
    file, command = COMMANDS[kind]
    source = sources[kind].replace(old, new) if old else new
    (folder / file).write_text(source)
    line = 1 + source[: source.index(new)].count("\n")
    said = refused(f"{command} --horizon 300")
    assert re.search(words.replace("LINE", str(line)), said), said
    assert "simulate.py" not in said


# Templates and the README.


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_is_written_once_and_the_command_it_names_runs(
    kind, folder, sources, typed, refused
):
    new = folder / "new.py"
    command = typed(f"template {kind} new.py").splitlines()[-1].split()
    assert new.read_text() == sources[kind].replace("my_noise.py", "new.py")
    assert command[0] == "heavybandit"
    typed(f"{' '.join(command[1:])} --horizon 100")
    assert (folder / "regret.png").stat().st_size > 10_000
    new.write_text("mine now")
    assert "new.py is there already" in refused(f"template {kind} new.py")
    assert new.read_text() == "mine now"
    typed(f"template {kind}")
    assert (folder / f"my_{kind}.py").exists()


def test_the_examples_of_the_readme_run_as_printed(folder, capsys, typed):
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
    assert "<GreedyRidge in section6/student-t(df=3), seed 0: regret" in capsys.readouterr().out
    assert (folder / "mine.png").read_bytes().startswith(b"\x89PNG")
    assert len(blocks[1].splitlines()) <= 20
    assert hb.check_policy(space["Mine"]) == []
    (command,) = re.findall(r"`heavybandit (run mine[^`]*)`", section)
    typed(f"{command} --horizon 200")
