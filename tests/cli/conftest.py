"""What tests of the command line share: commands as one types them, and folders to type them in."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from heavybandit.cli import main
from heavybandit.own import templates
from heavybandit.replication.catalogue import EXPERIMENTS
from tiny import TINY

TEMPLATES = Path(str(templates.__file__)).parent
ONE_WORLD = replace(  # 4 runs of 300 plays
    TINY, what="a sentence about tiny", worlds=TINY.worlds[:1], policies=TINY.policies[::2]
)


@pytest.fixture
def typed(capsys):
    """Carries out a command that must succeed; what it printed, and nothing on stderr."""

    def carry_out(line, *, code=0, silent=True):
        assert main(line.split()) == code
        out, err = capsys.readouterr()
        assert not (silent and err), err
        return out

    return carry_out


@pytest.fixture
def refused(capsys):
    """Types a command that must fail; the one sentence it says, with nothing else printed."""

    def carry_out(line, *, code=2):
        assert main(line.split()) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("heavybandit: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1, err
        assert "Traceback" not in err
        return err.rstrip()

    return carry_out


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """An empty working folder, and tiny among the experiments."""
    monkeypatch.setitem(EXPERIMENTS, "tiny", ONE_WORLD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def swept(tiny, typed):
    """The working folder after a sweep of tiny."""
    typed("sweep tiny --workers 1 --quiet")
    return tiny


@pytest.fixture(scope="session")
def sources():
    """The templates."""
    kinds = ("policy", "noise", "world")
    return {kind: (TEMPLATES / f"{kind}.py").read_text(encoding="utf-8") for kind in kinds}


@pytest.fixture
def folder(sources, tmp_path, monkeypatch):
    """A working folder with the templates in it, as mine.py, noisy.py and around.py."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for file, kind in (("mine.py", "policy"), ("noisy.py", "noise"), ("around.py", "world")):
        (tmp_path / file).write_text(sources[kind])
    return tmp_path


@pytest.fixture(scope="session")
def rows():
    """Reads a table of ends: its lines by policy."""

    def read(out):
        lines = [line.split() for line in out.splitlines()]
        start = next(i for i, words in enumerate(lines) if words[0] == "policy") + 1
        return {words[0]: words[1:] for words in lines[start:] if words[1].isdigit()}

    return read
