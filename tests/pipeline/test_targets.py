"""Files to be written: what is refused before the work, and how a failure is told."""

import errno
import os
from pathlib import Path

import pytest

from heavybandit.pipeline.targets import check_target, naming


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with one of everything."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("kept").write_text("kept")
    os.mkfifo("pipe")
    for link, target in {
        "to_pipe": "pipe",
        "to_folder": "folder",
        "to_device": os.devnull,
        "to_kept": "kept",
        "to_new": "folder/new",
        "to_nowhere": "gone/new",
        "in_circles": "in_circles",
    }.items():
        Path(link).symlink_to(target)


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("gone/new", "a folder that exists, and 'gone' does not"),
        ("kept/new", "a folder that exists, and 'kept' does not"),
        ("folder", "'folder' is a folder"),
        ("to_folder", "'to_folder' is a folder"),
        ("pipe", "a regular file, and 'pipe' is none"),
        ("to_pipe", "a regular file, and 'to_pipe' is none"),
        ("to_device", "a regular file, and 'to_device' is none"),
    ],
)
def test_what_is_no_place_for_a_file_is_refused(path, words, replaced):
    with pytest.raises(ValueError, match=f"--out must be .*{words}$"):
        check_target("--out", Path(path), replaced=replaced)


@pytest.mark.parametrize("path", ["new", "kept", "folder/new", "to_kept", "to_new"])
def test_what_can_be_written_is_not(path):
    for replaced in (True, False):
        check_target("--out", Path(path), replaced=replaced)


def test_a_link_that_leads_nowhere_is_refused_where_it_is_followed():
    for path, words in {"to_nowhere": "/gone' does not", "in_circles": "is none"}.items():
        check_target("--out", Path(path), replaced=True)
        with pytest.raises(ValueError, match=words):
            check_target("--out", Path(path))


def test_what_may_not_be_written_is_refused(monkeypatch, tmp_path):
    def forbid(*names):
        paths = [tmp_path / name for name in names]  # root may write all
        monkeypatch.setattr("os.access", lambda path, _: Path(path).absolute() not in paths)

    forbid("folder")
    for path in ("folder/new", "to_new"):
        with pytest.raises(ValueError, match=r"in a folder that can be written; '.*folder' is not"):
            check_target("--plot", Path(path))
    check_target("--plot", Path("to_new"), replaced=True)
    forbid("", "kept")
    check_target("--plot", Path("to_new"))  # its folder is another
    for path in ("kept", "to_kept"):
        with pytest.raises(ValueError, match=f"a file that can be written; '{path}' is not"):
            check_target("--plot", Path(path))
    forbid("kept")
    check_target("--plot", Path("kept"), replaced=True)
    forbid("")
    check_target("--plot", Path("kept"))
    with pytest.raises(ValueError, match=r"in a folder that can be written; '\.' is not"):
        check_target("--plot", Path("kept"), replaced=True)


def test_a_failure_names_its_file_whatever_the_system_says():
    for error in (OSError(errno.ENOSPC, "No space left"), OSError("No space left")):
        told = pytest.raises(OSError, match=r"^new\.csv cannot be written: No space left$")
        with told, naming(Path("new.csv")):
            raise error
