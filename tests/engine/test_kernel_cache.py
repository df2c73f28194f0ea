"""numba's cache on disk: binaries stay while the sources do, and go when one changes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import heavybandit as hb
import warm
from heavybandit.engine import _cache, drive, offers
from small_worlds import SameArms
from stored import everything
from streams import build


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


WITHOUT_A_PLACE = """
import sys
from heavybandit.engine.offers import normalise
import numpy as np
normalise(np.ones((1, 1, 4)))
print(normalise.stats.cache_path)
"""


def without_a_place(folder: Path) -> subprocess.CompletedProcess[str]:
    """What a container with a read-only installation and no HOME finds: no place for binaries."""
    more = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator", "TMPDIR": str(folder)}
    env = {k: v for k, v in os.environ.items() if k not in (_cache.QUIET, "NUMBA_CACHE_DIR")}
    command = [sys.executable, "-c", WITHOUT_A_PLACE]
    return subprocess.run(command, env=env | more, capture_output=True, text=True, check=False)


def test_where_nothing_can_be_written_kernels_go_into_a_folder_of_the_users_alone(tmp_path: Path):
    done = without_a_place(tmp_path)
    place = tmp_path / f"heavybandit-kernels-{os.getuid()}"
    assert done.returncode == 0, done.stderr
    said = f"neither its own folder nor HOME can be written; compiled kernels are kept in {place}\n"
    assert done.stderr == f"heavybandit: {said}"
    assert Path(done.stdout.strip()).parent == place
    assert list(place.rglob("offers.normalise-*.nbi"))
    assert place.stat().st_mode & 0o777 == 0o700
    place.chmod(0o777)  # where others could put a binary: not used
    before = everything(place)
    done = without_a_place(tmp_path)
    assert done.returncode == 0
    assert Path(done.stdout.strip()).parent.parent == tmp_path
    assert everything(place) == before


def test_a_folder_that_others_can_write_is_left_alone_and_the_next_name_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    taken = tmp_path / f"heavybandit-kernels-{os.getuid()}"
    taken.mkdir()
    taken.chmod(0o777)
    first, again = _cache._private_folder(), _cache._private_folder()
    assert first == again == tmp_path / f"{taken.name}-2"
    assert not any(taken.iterdir())


def test_who_has_no_home_gets_no_folder_called_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """numba would take ~/.cache for a folder in the working folder."""
    tried: list[object] = []
    monkeypatch.setattr("numba.njit", lambda **_: tried.append)
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(_cache, "say", lambda _: None)
    assert _cache.find_a_place()
    assert tried == []
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / f"heavybandit-kernels-{os.getuid()}")


def test_without_any_place_kernels_are_compiled_for_the_moment(monkeypatch: pytest.MonkeyPatch):
    def nowhere() -> Path:
        raise FileNotFoundError

    def refused(**_: bool) -> Any:
        raise RuntimeError("cannot cache function: no locator available")

    said: list[str] = []
    monkeypatch.setattr("numba.njit", refused)
    monkeypatch.setattr(_cache, "_private_folder", nowhere)
    monkeypatch.setattr(_cache, "say", said.append)
    assert not _cache.find_a_place()
    assert said == ["no folder can be written, so its kernels are compiled again in every process"]


def kernel_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel whose binaries are kept in a folder, as a new process finds it."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(folder))

    def play(x: int) -> int:
        return x + 1

    return numba.njit(cache=True, _nrt=False)(play)


@pytest.fixture
def heard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is said about a kernel that TOFU is about to call."""
    monkeypatch.delenv(_cache.QUIET, raising=False)

    def ask(kernel: Any) -> str:
        _cache.announce_compilation(kernel, "TOFU")
        return capsys.readouterr().err

    return ask


def test_that_kernels_are_compiled_is_said_without_a_terminal_too_and_once(
    tmp_path: Path, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_in(tmp_path, monkeypatch)
    said = heard(kernel)
    assert said.count("\n") == 1
    assert re.search("compiling TOFU .* up to half a minute, once", said)
    assert heard(kernel) == ""
    kernel(1)
    assert heard(kernel_in(tmp_path, monkeypatch)) == ""
    monkeypatch.setenv(_cache.QUIET, "1")
    assert heard(kernel_in(tmp_path / "new", monkeypatch)) == ""


@pytest.mark.parametrize("theirs", ["python", "processor", "numba", "removed", "unreadable"])
def test_binaries_that_numba_will_not_use_here_do_not_keep_it_silent(
    theirs: str, tmp_path: Path, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_in(tmp_path, monkeypatch)(1)
    (index,), (binary,) = tmp_path.rglob("*.nbi"), tmp_path.rglob("*.nbc")
    if theirs == "python":
        tag = f".py{sys.version_info[0]}{sys.version_info[1]}"
        for path in (index, binary):
            path.rename(path.with_name(path.name.replace(tag, ".py399")))
    elif theirs == "processor":
        monkeypatch.setattr("numba.config.CPU_NAME", "generic")
    elif theirs == "numba":
        monkeypatch.setattr("numba.__version__", "0.0")
    elif theirs == "removed":
        binary.unlink()
    else:
        index.write_bytes(b"no index")
    assert "compiling TOFU" in heard(kernel_in(tmp_path, monkeypatch))


def test_a_numba_that_keeps_its_index_elsewhere_is_not_trusted_to_have_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_in(tmp_path, monkeypatch)
    kernel(1)
    assert _cache._compiled_for_here(kernel)
    other = SimpleNamespace(stats=kernel.stats, targetctx=kernel.targetctx)
    assert not _cache._compiled_for_here(other)


def test_of_kernels_that_are_there_nothing_is_said() -> None:
    """In a process of its own, as a reader's second run is."""
    script = (
        "import heavybandit as hb; hb.simulate(hb.Uniform(9, 5, 3), hb.section6(n_arms=5, dim=3))"
    )
    env = {k: v for k, v in os.environ.items() if k != _cache.QUIET}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        )
    assert done.stderr == ""


def test_every_family_of_kernels_is_compiled_before_the_tests() -> None:
    warmed = {build(name, 5, 3, long=False)._loop for name in warm.FAMILIES}
    assert warmed == set(drive.FAMILIES.values())


class ReadOnly(SameArms):
    """Contexts that may not be written."""

    def contexts(self, *asked: Any) -> np.ndarray:
        X = super().contexts(*asked)
        X.flags.writeable = False
        return X


def test_no_contexts_noise_or_copy_has_a_kernel_compiled_again() -> None:
    """Contexts that may not be written, whole numbers in a noise, a copy that is shown zeros."""
    whole = hb.noise.Varying(hb.noise.Gaussian(0.1), base=1, growth=2)
    kernels = drive.play_any, offers.price
    compiled = []
    for world in (SameArms(np.eye(2), [0.5, 0.1]), ReadOnly(np.eye(2), [0.5, 0.1], whole)):
        hb.simulate(hb.Uniform(10, 2, 2), world)
        compiled.append([len(kernel.signatures) for kernel in kernels])
        hb.counterfactual(hb.Uniform(10, 2, 2), world, shown="zero")
        compiled.append([len(kernel.signatures) for kernel in kernels])
    assert compiled == [compiled[0]] * 4


def test_what_cannot_be_said_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_cache.QUIET, raising=False)
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        _cache.say("compiling")
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
