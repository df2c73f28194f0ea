"""What is committed in data/ is whole, and there is some for every experiment."""

from pathlib import Path

import pytest

from heavybandit.pipeline.tables import check_files, consolidated
from heavybandit.replication.catalogue import EXPERIMENTS

DATA = Path(__file__).parents[2] / "data"


def test_every_experiment_has_results_and_no_other():
    assert consolidated(DATA) == sorted(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_results_are_those_that_their_sidecar_vouches_for(name):
    assert check_files(name, DATA) == []


def test_the_results_stay_small():
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 10_000_000
