"""Temporary files: gone after use, swept up after a kill, and nobody else's is ever touched."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from heavybandit.pipeline import scratch
from heavybandit.pipeline.scratch import MARK, sweep_up, write_whole
from stored import everything

WRITER = """
import os, signal, sys
from pathlib import Path
from heavybandit.pipeline.scratch import scratch

with scratch(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print(temporary, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Another process, writing in the folder."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        process.temporary = Path(process.stdout.readline().strip())
        yield process
        process.kill()


def test_what_a_process_is_writing_stays_while_it_lives_and_goes_when_it_was_killed(
    tmp_path, other
):
    """Whatever its number and its host are called: two containers may agree on both."""
    sweep_up(tmp_path)
    assert other.temporary.read_text() == "half"
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert other.temporary.exists()
    write_whole(tmp_path / "mine", "text", tmp_path)
    assert everything(tmp_path) == {"mine": b"text"}


def test_nothing_but_a_marked_folder_of_ours_is_ever_removed(tmp_path):
    host, name = socket.gethostname(), ".heavybandit-0123456789abcdef"
    (tmp_path / f"thesis-{host}-2024").write_text("years of work")
    (tmp_path / f"backup-{host}-20240101120000").write_text("more")
    (tmp_path / ".heavybandit-notes").mkdir()
    (tmp_path / ".heavybandit-notes" / "mark").write_bytes(MARK)
    for marks, folder in enumerate((name, f"{name[:-1]}0", f"{name[:-1]}1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text("whose?")
        (tmp_path / folder / "mark").write_bytes((b"", b"mine\n", MARK + b"and mine\n")[marks])
    os.mkfifo(tmp_path / f"{name[:-1]}0" / "fifo")
    (tmp_path / f"{name[:-1]}2").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    for file in ("mark", "file"):
        (tmp_path / "elsewhere" / file).write_bytes(MARK)
    (tmp_path / f"{name[:-1]}3").mkdir()
    os.mkfifo(tmp_path / f"{name[:-1]}3" / "mark")
    (tmp_path / f"{name[:-1]}4").mkdir()
    (tmp_path / f"{name[:-1]}4" / "mark").symlink_to(tmp_path / "elsewhere" / "mark")
    before = everything(tmp_path)
    write_whole(tmp_path / "new", "text", tmp_path)
    assert everything(tmp_path) == before | {"new": b"text"}


def test_a_file_that_someone_puts_into_such_a_folder_stays_in_it(tmp_path):
    folder = tmp_path / ".heavybandit-0123456789abcdef"
    folder.mkdir()
    for file in ("mark", "file", "thesis"):
        (folder / file).write_bytes(MARK)
    sweep_up(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["thesis"]


@pytest.mark.parametrize("planted", [".heavybandit-00ff00ff00ff00ff", "file"])
def test_no_link_that_someone_has_put_there_is_followed(tmp_path, monkeypatch, planted):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("precious")
    monkeypatch.setattr(scratch.secrets, "token_hex", lambda _: "00ff00ff00ff00ff")
    if planted == "file":
        mkdir = Path.mkdir

        def and_a_link(folder, **mode):
            mkdir(folder, **mode)
            (folder / "file").symlink_to(victim / "file")

        monkeypatch.setattr(Path, "mkdir", and_a_link)
    else:
        (tmp_path / planted).symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "mine", "text", tmp_path)
    assert everything(victim) == {"file": b"precious"}
    assert not (tmp_path / "mine").exists()


def test_a_file_is_readable_by_whom_the_user_lets(tmp_path):
    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "mine", "text", tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o644


def test_a_temporary_folder_is_the_users_alone(tmp_path):
    before = os.umask(0)
    try:
        with scratch.scratch(tmp_path) as temporary:
            assert temporary.parent.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)
