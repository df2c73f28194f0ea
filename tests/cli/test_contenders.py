"""Policies as the command line names them: their labels, their settings, their bounds."""

from __future__ import annotations

import inspect
import shutil

import pytest

import heavybandit as hb
from heavybandit.cli.contenders import bounded, contender, contenders
from heavybandit.engine import POLICIES
from heavybandit.own.templates.policy import MyPolicy


def test_a_comma_ends_a_policy_or_a_setting_by_what_follows_it(folder):
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


def test_a_class_called_like_one_of_ours_keeps_its_file_in_its_name(folder, sources, typed, rows):
    (folder / "mine.py").write_text(sources["policy"].replace("MyPolicy", "Uniform"))
    table = rows(typed("run mine.py:Uniform --beside LinUCB --horizon 300"))
    assert list(table) == ["mine.py:Uniform", "LinUCB", "Uniform"]
    assert table["mine.py:Uniform"][1] != table["Uniform"][1]


def test_v_is_looked_up_for_policies_that_need_one_and_no_others():
    for name in POLICIES:
        one = bounded(contender(name, "--beside"), hb.section6("pareto"))
        needs = "v" in inspect.signature(POLICIES[name]).parameters
        assert (one.v, "v" in (one.settings or {})) == (("printed", True) if needs else ("", False))
    for name, v in (("SupBMM", 4.0), ("SupBTC", 5.0)):  # a central moment and a raw one
        one = bounded(contender(name, ""), hb.section6(hb.noise.Gaussian(2.0)))
        assert (one.v, one.settings) == ("exact", {"v": pytest.approx(v)})
    given = bounded(contender("SupBTC:v=7", ""), hb.section6())
    assert (given.v, given.settings) == ("", {"v": 7})


@pytest.mark.parametrize(
    ("argument", "settings"), [("v", {"v": 4.0}), ("v=None", {"v": 4.0}), ("v=9.0", {})]
)
def test_a_policy_of_ones_own_gets_v_unless_it_has_a_default(folder, sources, argument, settings):
    (folder / "mine.py").write_text(sources["policy"].replace("clip=3.0", argument))
    assert bounded(contender("mine.py:MyPolicy", ""), hb.section6()).settings == settings


def test_a_policy_of_ones_own_gets_its_settings_and_the_seed_if_it_asks_for_it(
    folder, sources, typed
):
    world = hb.section6()
    out = typed("run mine.py:MyPolicy --horizon 200 --seed 1 --set clip=2").splitlines()
    regret = hb.simulate(MyPolicy(200, 20, 10, clip=2), world, seed=1).regret
    assert out[0].startswith("MyPolicy:clip=2 in section6")
    assert out[-1].split()[1] == f"{regret:.2f}"
    lucky = sources["policy"].replace("clip=3.0", "seed")
    (folder / "mine.py").write_text(lucky.replace("self.clip = clip", "self.clip = 1 + seed"))
    out = typed("run mine.py:MyPolicy --horizon 200 --seed 3").splitlines()
    regret = hb.simulate(MyPolicy(200, 20, 10, clip=4.0), world, seed=3).regret
    assert out[-1].split()[1] == f"{regret:.2f}"
