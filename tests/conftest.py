"""Test settings shared by all: properties are tried on the same examples in every run."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Tests in a browser need the built book and its lock: they run only when asked for."""
    browser = Path(__file__).parent / "browser"
    asked = any(
        browser in (path := Path(a.split("::")[0]).resolve(), *path.parents) for a in config.args
    )
    return True if collection_path == browser and not asked else None
