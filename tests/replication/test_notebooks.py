"""Notebooks run headlessly, in order, cleanly, and say where they fail."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from forging import contents, seal_again
from heavybandit.cli import main
from heavybandit.replication import claims, notebooks
from heavybandit.replication.notebooks import (
    NotebookError,
    clean,
    differing_figures,
    execute,
    execute_all,
    numbered,
)


def notebook(path, *cells):
    """A notebook with a tagged parameter cell and the given code cells."""
    made = [new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(("n = 2", *cells))]
    made[0].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(new_notebook(cells=made, metadata=kernel), path)
    return path


def test_only_numbered_notebooks_run_and_in_order(tmp_path):
    for name in ("02_b.ipynb", "01_a.ipynb", "scratch.ipynb", "1_c.ipynb"):
        notebook(tmp_path / name)
    assert [p.name for p in numbered(tmp_path)] == ["01_a.ipynb", "02_b.ipynb"]


def test_running_twice_changes_no_byte_and_outputs_and_counts_are_kept(tmp_path):
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


def test_ctrl_c_ends_a_kernel_at_once_and_without_a_traceback(tmp_path):
    """One that is asked to end would go on with its cell, and then miss who reads its reply."""
    busy = (
        "import time\n"
        "open('started', 'w').close()\n"
        "try:\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    time.sleep(2)"
    )
    notebook(tmp_path / "01_a.ipynb", busy)
    line = f"-m heavybandit notebooks --folder {tmp_path} --out {tmp_path / 'out'}"
    program = subprocess.Popen(
        [sys.executable, *line.split()], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists():
        assert time.monotonic() < deadline
        assert program.poll() is None
        time.sleep(0.01)
    kernels = psutil.Process(program.pid).children(recursive=True)
    os.killpg(program.pid, signal.SIGINT)
    said = program.communicate(timeout=60)[1]
    assert program.returncode == 130
    assert said == "[1/1] 01_a.ipynb …\n\nheavybandit: stopped.\n"
    assert kernels
    assert not psutil.wait_procs(kernels, timeout=10)[1]


def test_the_first_failure_ends_it_and_is_named(tmp_path, capsys):
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


def test_a_cell_that_hangs_is_stopped(tmp_path):
    source = notebook(tmp_path / "01_a.ipynb", "import time; time.sleep(60)")
    with pytest.raises(NotebookError, match="longer than 2 s"):
        execute(source, tmp_path / "out.ipynb", {}, seconds=2)


def test_a_notebook_is_never_executed_onto_itself(tmp_path):
    source = notebook(tmp_path / "01_a.ipynb", "print(1)")
    before = source.read_bytes()
    with pytest.raises(NotebookError, match="onto itself"):
        execute_all(tmp_path, tmp_path, {})
    assert source.read_bytes() == before


def test_where_there_are_no_notebooks_that_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["notebooks"]) == 3
    assert "there are no notebooks 00_….ipynb in 'notebooks'; run" in capsys.readouterr().err


def test_without_what_executes_notebooks_the_extra_is_named(tmp_path, capsys, monkeypatch):
    notebook(tmp_path / "01_a.ipynb")
    monkeypatch.setattr(notebooks, "find_spec", lambda name: None if name == "nbclient" else name)
    assert main(["notebooks", "--folder", str(tmp_path), "--out", str(tmp_path / "out")]) == 3
    said = capsys.readouterr().err
    assert "nbclient, which is not installed" in said
    assert "pip install 'heavybandit[test]'" in said


# The notebooks that are committed.

ROOT = Path(__file__).parents[2]
COMMITTED = numbered(ROOT / "notebooks")
LONGEST_CELL = 15  # lines, imports aside


def cells(path, kind):
    return [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == kind]


def source(cell):
    return "".join(cell["source"])


def test_there_are_notebooks_and_their_numbers_follow_one_another():
    assert COMMITTED
    assert [int(p.name[:2]) for p in COMMITTED] == list(range(len(COMMITTED)))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: p.name)
def test_a_committed_notebook_was_executed_once_from_top_to_bottom_and_is_clean(path):
    counts = [cell["execution_count"] for cell in cells(path, "code")]
    assert counts == list(range(1, len(counts) + 1))  # without them nbval compares nothing
    once = path.read_bytes()
    assert b"papermill" not in once
    for output in (o for cell in cells(path, "code") for o in cell["outputs"]):
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"
    assert str(ROOT).encode() not in once


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: p.name)
def test_a_notebook_reads_as_a_text_with_small_cells_and_defines_nothing(path):
    first = json.loads(path.read_text())["cells"][0]
    assert first["cell_type"] == "markdown"
    assert source(first).startswith(f"# {path.name[:2]} · ")
    code = cells(path, "code")
    assert [c for c in code if "parameters" in c["metadata"].get("tags", [])] == [code[0]]
    for cell in code:
        said = [x for x in source(cell).splitlines() if not re.match(r"(import|from) |$", x)]
        assert len(said) <= LONGEST_CELL, source(cell)
        assert not re.search(r"^\s*(def|class|async) ", source(cell), re.M), source(cell)
    prose = sum(len(source(c)) for c in cells(path, "markdown"))
    assert prose > sum(len(source(c)) for c in code) / 2


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: p.name)
def test_every_figure_has_words_a_file_and_a_how_to_read_it(path):
    everything = json.loads(path.read_text())["cells"]
    drawn = 0
    for i, cell in enumerate(everything):
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                drawn += 1
                assert len(output["metadata"]["image/png"]["alt"]) > 40
                following = "".join(source(c) for c in everything[i + 1 : i + 4])
                assert "**How to read it.**" in following
    names = re.findall(r'plotting\.show\(\s*figure, "(\w+)"', path.read_text().replace('\\"', '"'))
    assert len(names) == drawn > 0
    for name in names:
        assert name.startswith(path.name[:2])
        for suffix in (".png", ".svg"):
            assert (ROOT / "figures" / f"{name}{suffix}").is_file()


def test_no_figure_is_left_over():
    text = "".join(path.read_text() for path in COMMITTED)
    for path in (ROOT / "figures").iterdir():
        assert f'\\"{path.stem}\\"' in text, path


def test_printing_in_pieces_is_put_together(tmp_path):
    """Where a stream is cut depends on the moment, and would change bytes."""
    path = notebook(tmp_path / "01_a.ipynb", "print(1)")
    content = json.loads(path.read_text())
    piece = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
    other = {"output_type": "stream", "name": "stderr", "text": ["x\n"]}
    content["cells"][1]["outputs"] = [piece, {**piece, "text": "2\n3\n"}, other, piece]
    path.write_text(json.dumps(content))
    clean(path)
    found = json.loads(path.read_text())["cells"][1]["outputs"]
    assert [o["text"] for o in found] == [["1\n", "2\n", "3\n"], ["x\n"], ["1\n"]]


def test_a_verdict_follows_the_results_and_not_the_text(tmp_path):
    """With 900 misses written into Proposition 1's table it is no longer reproduced."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    table = tmp_path / "data" / "prop1.runs.csv"
    lines = table.read_text().splitlines()
    header, row = lines[0].split(","), lines[1].split(",")
    row[header.index("misses")] = "900"
    table.write_text("\n".join([lines[0], ",".join(row), *lines[2:]]) + "\n")
    seal_again(tmp_path / "data", "prop1")
    (tmp_path / "notebooks").mkdir()
    copy = tmp_path / "notebooks" / "01_proposition_1.ipynb"
    shutil.copyfile(ROOT / "notebooks" / copy.name, copy)
    before = contents(tmp_path / "data")
    assert verdicts(tmp_path / "data")["prop-1"] == claims.HOLDS
    execute(copy, tmp_path / "out.ipynb", {"out": "../made"})
    assert verdicts(tmp_path / "made" / "data")["prop-1"] == claims.NOT_REPRODUCED
    assert verdicts(tmp_path / "made" / "data")["lemma-2"] == claims.HOLDS
    assert contents(tmp_path / "data") == before  # what is committed is only read


def verdicts(folder):
    return {claim.id: claim.verdict for claim in claims.read(folder)}


def words_of(path):
    return "\n".join(source(cell) for cell in cells(path, "markdown"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: p.name)
def test_a_chapter_prints_no_table(path):
    """Tables are rendered: what is printed is at most two lines, without padding."""
    for cell in cells(path, "code"):
        for output in cell["outputs"]:
            printed = "".join(output.get("text", "")).rstrip()
            assert printed.count("\n") < 2
            assert not re.search(r"\S {2,}\S", printed)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: p.name)
def test_numbers_are_shown_as_one_reads_them(path):
    for text in (
        words_of(path),
        *(
            "".join(output["data"].get(kind, ""))
            for cell in cells(path, "code")
            for output in cell["outputs"]
            if "data" in output
            for kind in ("text/html", "text/markdown")
            if not "".join(output["data"].get(kind, "")).startswith("```")
        ),
    ):
        assert not re.search(r"\d[eE][+-]\d|[-−]0\.0+(?!\d)", text)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda p: p.name)
def test_another_chapter_is_always_a_link(path):
    text = re.sub(r"\[[^]]*\]\([^)]*\)", "", words_of(path))  # what is left are no links
    assert re.findall(r"[Nn]otebooks? 0\d|[Cc]hapters? 0\d", text) == []


@pytest.fixture
def drawn(tmp_path):
    """Two folders with the same figure, as a drawing in lines and as a picture."""
    from matplotlib.image import imsave

    picture = np.full((4, 5, 3), 0.5)
    for name in ("made", "committed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.svg").write_text("<svg/>")
        imsave(tmp_path / name / "a.png", picture)
    return tmp_path / "made", tmp_path / "committed"


@pytest.mark.parametrize(("shades", "found"), [(2, []), (3, ["a.png differs"])])
def test_a_pixel_may_be_off_by_two_shades_and_not_by_three(drawn, shades, found):
    from matplotlib.image import imread, imsave

    picture = (255 * imread(drawn[1] / "a.png")).round().astype(np.uint8)
    picture[2, 3, 0] += shades
    imsave(drawn[0] / "a.png", picture)
    assert differing_figures(*drawn) == found


def test_figures_that_are_changed_missing_new_or_none_are_named(drawn):
    made, committed = drawn
    assert differing_figures(*drawn) == []
    (made / "a.svg").write_text("<svg />")
    (made / "a.png").write_bytes(b"no picture")
    (made / "b.svg").touch()
    (committed / "c.png").touch()
    assert differing_figures(*drawn) == [
        *("a.png differs", "a.svg differs", "b.svg is new", "c.png was not made again")
    ]
