"""What is missing is simulated; what is not whole is an error and is left as it is."""

import dataclasses

import pytest

from forging import change_a_digit, contents
from heavybandit.pipeline import sweep as sweeping
from heavybandit.pipeline.spec import EXPERIMENTS
from heavybandit.pipeline.store import Store, StoreError, default_store
from heavybandit.pipeline.sweep import ensure, sweep
from tiny import TINY

# What is missing is made.


@pytest.fixture
def swept(monkeypatch):
    """What every sweep that `ensure` asks for has done; in this process, whatever the machine."""
    done = []

    def here(experiment, store, *, workers):
        assert workers >= 1
        done.append(sweep(experiment, store, workers=1, progress=False))

    monkeypatch.setattr(sweeping, "sweep", here)
    return done


def test_results_that_are_whole_are_left_alone(data, tmp_path, swept):
    before = {path: path.stat().st_mtime_ns for path in data.iterdir()}
    ensure("tiny", data, tmp_path / "store")
    assert swept == []
    assert not (tmp_path / "store").exists()
    assert {path: path.stat().st_mtime_ns for path in data.iterdir()} == before


def test_results_that_are_not_there_are_made(data, tmp_path, swept):
    ensure("tiny", tmp_path / "new", tmp_path / "store")
    assert [(summary.found, summary.done) for summary in swept] == [(0, 12)]
    assert contents(tmp_path / "new") == contents(data)
    ensure("tiny", str(tmp_path / "new"), str(tmp_path / "store"))
    assert len(swept) == 1


def test_runs_that_are_stored_are_not_done_again(data, tiny_store, tmp_path, swept):
    store = Store(tmp_path / "store")
    for spec in TINY.runs()[:7]:
        store.save(spec, tiny_store.load(spec))
    ensure("tiny", tmp_path / "new", tmp_path / "store")
    assert [(summary.found, summary.done) for summary in swept] == [(7, 5)]
    assert contents(tmp_path / "new") == contents(data)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: (data / "tiny.runs.csv").unlink(),
        lambda data: (data / "tiny.curves.csv").unlink(),
        lambda data: (data / "tiny.json").unlink(),
        lambda data: (data / "tiny.json").write_text("{"),
        lambda data: change_a_digit(data, "tiny.runs.csv", 3, "regret"),
        lambda data: change_a_digit(data, "tiny.curves.csv", 2, "regret"),
    ],
    ids=["no runs", "no curves", "no sidecar", "bad sidecar", "changed run", "changed curve"],
)
def test_results_that_do_not_check_are_an_error_and_are_left_as_they_are(
    data, tiny_store, swept, spoil
):
    """Repairing them would hide that something had changed."""
    spoil(data)
    before = contents(data)
    with pytest.raises(
        StoreError, match=r"tiny\.(runs\.csv|curves\.csv|json) (is missing|was changed)"
    ):
        ensure("tiny", data, tiny_store.folder)
    assert swept == []
    assert contents(data) == before


def test_results_of_another_description_are_an_error(data, tmp_path, swept, monkeypatch):
    fewer = dataclasses.replace(TINY, worlds=TINY.worlds[:1], seeds=1)
    monkeypatch.setitem(EXPERIMENTS, "tiny", fewer)
    with pytest.raises(StoreError, match=r"another description of tiny.*heavybandit sweep tiny"):
        ensure("tiny", data, tmp_path / "store")
    assert swept == []


@pytest.mark.parametrize("start", ["", "notebooks", "src/heavybandit", "outside"])
def test_the_store_is_the_repositorys_wherever_one_starts_in_it(tmp_path, monkeypatch, start):
    """And outside a repository it is in the working folder."""
    for folder in ("repository/notebooks", "repository/src/heavybandit", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    home = tmp_path / ("outside" if start == "outside" else "repository")
    monkeypatch.chdir(home if start == "outside" else home / start)
    assert default_store() == home / "build" / "store"


def test_an_experiment_that_does_not_exist_cannot_be_made(tmp_path, swept):
    with pytest.raises(ValueError, match="there is no experiment 'sectoin6'"):
        ensure("sectoin6", tmp_path / "data", tmp_path / "store")
    assert swept == []
    assert not list(tmp_path.iterdir())
