"""What is committed in data/ is whole, and there is some for every experiment."""

import json
import re
from pathlib import Path

import pytest

from heavybandit import __version__
from heavybandit.pipeline.spec import ENGINE_VERSION
from heavybandit.pipeline.tables import check_files, consolidated, file_names
from heavybandit.replication.catalogue import EXPERIMENTS

DATA = Path(__file__).parents[2] / "data"


def test_every_experiment_has_results_and_no_other():
    assert consolidated(DATA) == sorted(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_results_are_those_that_their_sidecar_vouches_for(name):
    assert check_files(name, DATA) == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_results_were_made_with_the_locked_versions(name):
    lock = (DATA.parent / "requirements" / "test.lock").read_text()
    versions = json.loads((DATA / f"{name}.json").read_text())["made_with"]
    locked = {x: re.search(rf"(?m)^{x}==(\S+)", lock)[1] for x in ("numba", "numpy")}
    known = {"engine": ENGINE_VERSION, "heavybandit": __version__, "python": "3.11"}
    assert versions == known | locked


def test_the_results_stay_small():
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 10_000_000


def test_make_reproduce_takes_along_what_no_experiment_and_no_notebook_makes():
    made = {file for name in EXPERIMENTS for file in (*file_names(name), f"{name}.json")}
    written = {"claims.json", "map.csv", "leaderboard.csv"}
    recorded = {path.name for path in DATA.iterdir()} - made - written
    recipes = (DATA.parent / "Makefile").read_text()
    copied = re.search(r"cp (data/.*) build/reproduce/data/", recipes)
    assert copied
    assert {Path(file).name for file in copied[1].split()} == recorded
