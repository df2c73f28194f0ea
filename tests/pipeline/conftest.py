"""Shared by the tests of the store: a store with one finished run."""

import pytest

from heavybandit.pipeline.store import Store
from stored import RESULT, spec


@pytest.fixture
def kept(tmp_path):
    """A store with one finished run, of seed 0."""
    made = Store(tmp_path / "store")
    made.save(spec(), RESULT)
    return made
