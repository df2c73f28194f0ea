"""Shared by all tests: settings of properties, and the results of experiments called tiny."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tiny import AUDITED, COVERED, TINY, filled, published

# What a shell starts in the background ignores Ctrl-C, and its children do; tests of it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["HEAVYBANDIT_QUIET"] = "1"  # tests compare what is said on stderr
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Tests in a browser need the built book and its lock: they run only when asked for."""
    browser = Path(__file__).parent / "browser"
    asked = any(
        browser in (path := Path(a.split("::")[0]).resolve(), *path.parents) for a in config.args
    )
    return True if collection_path == browser and not asked else None


@pytest.fixture(scope="session")
def tiny_store(tmp_path_factory):
    """A store with all runs of all experiments that are called tiny."""
    return filled(tmp_path_factory.mktemp("store"), TINY, AUDITED, *COVERED.values())


@pytest.fixture
def data(tiny_store, tmp_path, monkeypatch, request):
    """A folder with the results of TINY, or of the one that is asked for, now among EXPERIMENTS."""
    return published(monkeypatch, tiny_store, tmp_path / "data", getattr(request, "param", TINY))
