"""numba's cache on disk: binaries stay while the sources do, and go when one changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from heavybandit.engine import _cache
from stored import everything


@pytest.fixture
def engine_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the engine's sources with binaries that were made from them."""
    source = Path(_cache.__file__).parent
    engine = tmp_path / "heavybandit" / "engine"
    shutil.copytree(source, engine, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(source.parent / "policy.py", engine.parent)
    monkeypatch.setattr(_cache, "HERE", engine)
    _cache.drop_stale_binaries()
    for name in ("linear.solve.nbi", "linear.solve.1.nbc", "linear.cpython-311.pyc", "notes.txt"):
        (engine / "__pycache__" / name).write_text("kept?")
    return engine


def test_binaries_stay_while_the_sources_do(engine_copy: Path) -> None:
    before = everything(engine_copy.parent)
    _cache.drop_stale_binaries()
    assert everything(engine_copy.parent) == before


@pytest.mark.parametrize("edited", ["linear.py", "_compile.py", "../policy.py", "new.py"])
def test_binaries_and_nothing_else_go_when_a_source_changes(edited: str, engine_copy: Path) -> None:
    with (engine_copy / edited).open("a") as file:
        file.write("\n# edited\n")
    before = everything(engine_copy.parent)
    _cache.drop_stale_binaries()
    after = everything(engine_copy.parent)
    gone = {"engine/__pycache__/linear.solve.nbi", "engine/__pycache__/linear.solve.1.nbc"}
    stamp = "engine/__pycache__/sources.sha256"
    assert before.keys() - after.keys() == gone
    assert after.keys() <= before.keys()
    assert {name for name in after if after[name] != before[name]} == {stamp}
    _cache.drop_stale_binaries()
    assert everything(engine_copy.parent) == after


def test_binaries_of_unknown_origin_go(engine_copy: Path) -> None:
    (engine_copy / "__pycache__" / "sources.sha256").unlink()
    _cache.drop_stale_binaries()
    assert not list((engine_copy / "__pycache__").glob("*.nb?"))
