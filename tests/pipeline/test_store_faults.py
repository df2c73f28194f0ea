"""The store on a full disk, in folders that may not be written, and among other processes."""

import contextlib
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from heavybandit.pipeline.store import Lock, Store, StoreError
from stored import RESULT, everything, spec

# A full disk, and folders that may not be written.


@contextlib.contextmanager
def files_no_larger_than(size):
    """The system refuses to write more than so many bytes into one file (EFBIG)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_run_that_finds_no_room_is_an_error_and_leaves_no_part_of_it(kept):
    before = everything(kept.folder)
    large = {"curve": [1 / 3] * 10_000}
    path = kept.path(spec(1))
    with files_no_larger_than(8192), pytest.raises(StoreError, match="no room left") as caught:
        kept.save(spec(1), large)
    assert str(path) in str(caught.value)
    assert "free some space and run the same again" in str(caught.value)
    path.parent.rmdir()  # nothing is in it
    with files_no_larger_than(8192), pytest.raises(StoreError, match="no room left"):
        kept.save(spec(), large)  # which would replace the run that is there
    assert everything(kept.folder) == before
    assert kept.load(spec()) == RESULT
    kept.save(spec(1), large)
    assert kept.load(spec(1)) == large


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_device_is_an_error_that_says_so(kept, monkeypatch):
    really = os.open

    def full(path, flags, *mode):
        return really("/dev/full" if Path(path).name == "file" else path, flags & ~os.O_EXCL, *mode)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(StoreError, match="no room left") as caught:
        kept.save(spec(1), RESULT)
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert list((kept.folder / "tmp").iterdir()) == []
    assert kept.load(spec(1)) is None
    assert kept.load(spec()) == RESULT


def test_a_new_store_that_finds_no_room_is_an_error_and_has_no_format_yet(tmp_path):
    with files_no_larger_than(0), pytest.raises(StoreError, match="no room left"):
        Store(tmp_path / "store")
    assert not (tmp_path / "store" / "format.json").exists()
    Store(tmp_path / "store").save(spec(), RESULT)


@pytest.fixture
def guarded():
    """A store with a finished run, in a folder that anyone can reach."""
    place = Path(tempfile.mkdtemp(prefix="heavybandit-test-"))
    place.chmod(0o755)
    made = Store(place / "store")
    made.save(spec(), RESULT)
    yield made
    shutil.rmtree(place)


@contextlib.contextmanager
def as_nobody():
    """Without root's rights, if we have them."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextlib.contextmanager
def may_only_read(folder):
    """Nothing under the folder can be written; root, who always can, becomes nobody meanwhile."""
    modes = {p: p.stat().st_mode for p in (folder, *folder.rglob("*"))}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with as_nobody():
            yield
    finally:
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)


@pytest.mark.parametrize(
    "act",
    [
        lambda store: Store(store.folder),
        lambda store: store.save(spec(1), RESULT),
        lambda store: store.lock("group").__enter__(),
    ],
    ids=["open", "save", "lock"],
)
def test_a_read_only_store_refuses_to_be_written_with_the_reason_and_still_gives_its_runs(
    guarded, act
):
    before = everything(guarded.folder)
    with may_only_read(guarded.folder):
        with pytest.raises(StoreError, match=r"no permission.*--store") as caught:
            act(guarded)
        assert guarded.load(spec()) == RESULT
    assert str(guarded.folder) in str(caught.value)
    assert everything(guarded.folder) == before


def test_a_damaged_file_that_cannot_be_set_aside_is_an_error_and_left_as_it_is(guarded):
    guarded.path(spec()).write_bytes(b"{")
    with may_only_read(guarded.folder), pytest.raises(StoreError, match="no permission"):
        guarded.load(spec())
    assert guarded.path(spec()).read_bytes() == b"{"


def test_a_format_file_that_may_not_be_read_is_an_error_that_names_it(guarded):
    marker = guarded.folder / "format.json"
    for path in (guarded.folder, *guarded.folder.iterdir()):
        path.chmod(0o777)
    marker.chmod(0o000)
    with as_nobody(), pytest.raises(StoreError, match=r"format\.json"):
        Store(guarded.folder)


# Locks.

HOLDER = """
import sys
from pathlib import Path
from heavybandit.pipeline.store import Lock

for line in sys.stdin:
    if line == "claim\\n":
        lock = Lock(Path(sys.argv[1]))
        print(lock.held, flush=True)
    else:
        lock.release()
        print("released", flush=True)
"""


class Other:
    """Another process that claims and releases when told to."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def told_to(self, order):
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def other(kept):
    made = Other(kept.folder / "locks" / "group")
    yield made
    made.kill()


def test_a_group_has_one_holder_until_it_is_released(kept, other):
    assert other.told_to("claim") == "True"
    assert not kept.lock("group").held
    assert kept.lock("another").held
    assert other.told_to("release") == "released"
    lock = kept.lock("group")
    assert lock.held
    assert other.told_to("claim") == "False"
    lock.release()
    assert other.told_to("claim") == "True"


def test_a_group_whose_holder_was_killed_can_be_claimed(kept, other):
    assert other.told_to("claim") == "True"
    assert not Lock(kept.folder / "locks" / "group").held
    other.kill()
    assert kept.lock("group").held


def test_a_file_system_without_locks_is_not_taken_for_another_holder(kept, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    # A sweep waits for whoever holds a group; nobody does, so it would wait for ever.
    try:
        held = Lock(kept.folder / "locks" / "group").held
    except StoreError:
        held = True
    assert held
