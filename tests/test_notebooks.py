"""Notebooks run headlessly, in order, cleanly, and say where they fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heavybandit.cli import main
from heavybandit.notebooks import NotebookError, execute, execute_all, numbered


def notebook(path: Path, *cells: str, parameters: str = "n = 2") -> Path:
    """A notebook with a tagged parameter cell and the given code cells."""

    def code(number: int, source: str, tags: list[str]) -> dict[str, object]:
        return {
            "cell_type": "code",
            "id": f"cell-{number}",
            "execution_count": None,
            "metadata": {"tags": tags},
            "outputs": [],
            "source": source,
        }

    content = {
        "cells": [
            code(0, parameters, ["parameters"]),
            *(code(i, cell, []) for i, cell in enumerate(cells, 1)),
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(content))
    return path


def test_only_numbered_notebooks_run_and_in_order(tmp_path: Path) -> None:
    for name in ("02_b.ipynb", "01_a.ipynb", "scratch.ipynb", "1_c.ipynb"):
        notebook(tmp_path / name)
    assert [p.name for p in numbered(tmp_path)] == ["01_a.ipynb", "02_b.ipynb"]


def test_running_twice_changes_no_byte_and_outputs_and_counts_are_kept(tmp_path: Path) -> None:
    source = notebook(tmp_path / "01_a.ipynb", "print(n * 21)")
    execute(source, tmp_path / "out" / "once.ipynb", {})
    execute(source, tmp_path / "out" / "twice.ipynb", {})
    once = (tmp_path / "out" / "once.ipynb").read_bytes()
    assert once == (tmp_path / "out" / "twice.ipynb").read_bytes()
    cells = json.loads(once)["cells"]
    assert cells[-1]["outputs"][0]["text"] == ["42\n"]
    assert all(cell["execution_count"] for cell in cells)
    assert str(tmp_path) not in once.decode()
    assert "papermill" not in once.decode()


def test_a_parameter_reaches_the_notebook(tmp_path: Path) -> None:
    source = notebook(tmp_path / "01_a.ipynb", "print(n * 21)")
    execute(source, tmp_path / "out.ipynb", {"n": 3})
    assert "63" in (tmp_path / "out.ipynb").read_text()


def test_the_first_failure_ends_it_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook(tmp_path / "01_a.ipynb", "print('fine')")
    notebook(tmp_path / "02_b.ipynb", "1 / 0")
    notebook(tmp_path / "03_c.ipynb", "print('never')")
    out = tmp_path / "out"
    assert main(["notebooks", "--folder", str(tmp_path), "--out", str(out)]) == 3
    said = capsys.readouterr().err
    assert "02_b.ipynb failed in cell 2: ZeroDivisionError: division by zero" in said
    assert "Traceback" not in said
    assert "[1/3] 01_a.ipynb" in said
    assert not (out / "03_c.ipynb").exists()


def test_a_cell_that_hangs_is_stopped(tmp_path: Path) -> None:
    source = notebook(tmp_path / "01_a.ipynb", "import time; time.sleep(60)")
    with pytest.raises(NotebookError, match="longer than 2 s"):
        execute(source, tmp_path / "out.ipynb", {}, seconds=2)


def test_a_notebook_is_never_executed_onto_itself(tmp_path: Path) -> None:
    source = notebook(tmp_path / "01_a.ipynb", "print(1)")
    before = source.read_bytes()
    with pytest.raises(NotebookError, match="onto itself"):
        execute_all(tmp_path, tmp_path, {})
    assert source.read_bytes() == before


def test_no_notebooks_is_said(tmp_path: Path) -> None:
    assert execute_all(tmp_path, tmp_path / "out", {}) == 0
