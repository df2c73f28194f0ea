"""Shared by the tests of the pipeline: a store with all runs of TINY, and its results."""

import pytest

from heavybandit.pipeline.store import Store
from stored import RESULT, spec
from tiny import TINY, filled, published


@pytest.fixture(scope="session")
def tiny_store(tmp_path_factory):
    """A store with all runs of TINY."""
    return filled(tmp_path_factory.mktemp("store"), TINY)


@pytest.fixture
def data(tiny_store, tmp_path, monkeypatch):
    """A folder with TINY's results, and TINY among the experiments."""
    return published(monkeypatch, tiny_store, tmp_path / "data", TINY)


@pytest.fixture
def kept(tmp_path):
    """A store with one finished run, of seed 0."""
    made = Store(tmp_path / "store")
    made.save(spec(), RESULT)
    return made
