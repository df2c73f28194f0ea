"""Noises that derive from nothing, places in the reader's files, and the templates."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from setuptools import find_packages

import heavybandit as hb
from heavybandit.noise import OwnNoise, as_noise
from heavybandit.own.loading import files_of, load, place
from heavybandit.own.templates.noise import MyNoise
from heavybandit.own.templates.policy import MyPolicy
from heavybandit.own.templates.world import MyWorld


class Derived(hb.noise.Additive):
    """The template's noise, as the package's are."""

    def draw(self, rng, n):
        return np.asarray(MyNoise().draw(rng, n))

    def moment_about(self, q, a):
        return float(MyNoise().moment_about(q, a))


def test_a_noise_that_derives_from_nothing_is_as_good_as_one_that_does():
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
def test_what_is_no_noise_is_refused(noise, words):
    with pytest.raises(TypeError, match=words):
        hb.section6(noise)


def test_the_place_is_the_innermost_line_of_the_readers_files():
    class Mine:
        def outer(self):
            self.inner()

        def inner(self):
            np.linalg.inv(np.zeros((2, 2)))

    with pytest.raises(np.linalg.LinAlgError) as caught:
        Mine().outer()
    line = 1 + inspect.getsourcelines(Mine.inner)[1]
    assert files_of(Mine) == {__file__}
    assert place(caught.value, files_of(Mine)) == f"test_loading.py, line {line}, in inner"
    assert place(caught.value, {"elsewhere.py"}) == ""
    assert files_of(hb.SupBTC) == set()


def test_the_templates_are_about_twenty_lines_that_pass_their_checks():
    for one in (MyPolicy, MyNoise, MyWorld):
        source = Path(inspect.getfile(one)).read_text(encoding="utf-8")
        code = [x for x in source.splitlines() if x.strip() and not x.strip().startswith("#")]
        assert len(code) <= 20
    assert hb.check_policy(MyPolicy) == []
    assert hb.check_noise(MyNoise) == []
    assert hb.check_world(MyWorld) == []
    assert "heavybandit.own.templates" in find_packages(
        str(Path(hb.__file__).parents[1])
    )  # so they are installed


@pytest.mark.parametrize("noise", ["student-t", "pareto"])
def test_the_template_policy_is_better_than_uniform_play_on_section_6(noise):
    world = hb.section6(noise)
    for seed in range(4):
        field = [MyPolicy(5000, 20, 10), hb.Uniform(5000, 20, 10, seed=seed)]
        mine, uniform = hb.simulate_all(field, world, seed)
        assert mine.regret < 0.9 * uniform.regret
        assert (mine.policy, mine.diagnostics) == ("MyPolicy", {})


def test_a_file_is_loaded_as_it_is_now_and_no_bytecode_is_kept_of_it(tmp_path, monkeypatch):
    """Python takes bytecode for current after a change of the same length in the same second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "mine.py"
    for value in (1, 2):
        file.write_text(f"def answer():\n    return {value}\n")
        os.utime(file, (10**9, 10**9))
        assert load(str(file), "answer")() == value
    assert list(tmp_path.iterdir()) == [file]
