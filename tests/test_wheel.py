"""The wheel works outside the repository: installed elsewhere, called in an empty folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import heavybandit

ROOT = Path(__file__).parents[1]
SOURCE = Path(heavybandit.__file__).parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what the wheel installs, and nothing of the repository beside it."""
    place = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    shutil.copytree(SOURCE, place / "src" / "heavybandit", ignore=shutil.ignore_patterns("__p*"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index"]
    wheel = [*pip, "wheel", *offline, "--no-build-isolation", "-w", "dist", "."]
    subprocess.run(wheel, cwd=place, check=True)
    (made,) = (place / "dist").iterdir()
    subprocess.run([*pip, "install", *offline, "--target", "site", made], cwd=place, check=True)
    # Kernels that this environment has compiled from the same sources need no second compilation.
    there = place / "site" / "heavybandit"
    for file in there.rglob("*.py"):
        shutil.copystat(SOURCE / file.relative_to(there), file)
    for binary in (SOURCE / "engine" / "__pycache__").glob("*"):
        if binary.suffix in (".nbi", ".nbc", ".sha256"):
            (there / "engine" / "__pycache__").mkdir(exist_ok=True)
            shutil.copy2(binary, there / "engine" / "__pycache__")
    return place / "site"


def test_the_wheel_lists_runs_writes_a_template_and_sweeps_in_an_empty_folder(installed, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(installed)}

    def typed(line):
        command = [sys.executable, "-m", "heavybandit", *line.split()]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    found = [sys.executable, "-c", "import heavybandit; print(heavybandit.__file__)"]
    where = subprocess.run(found, env=env, cwd=tmp_path, capture_output=True, text=True).stdout
    assert Path(where.strip()).is_relative_to(installed)
    assert "ClippedUCB" in typed("list")
    assert "my_policy.py:MyPolicy" in typed("template policy")
    out = typed("run my_policy.py:MyPolicy --horizon 100 --beside Uniform --plot mine.png")
    assert "drawn in mine.png" in out
    assert "36 done now" in typed("sweep smoke --workers 1")
    assert {"data", "build", "mine.png", "my_policy.py"} <= {p.name for p in tmp_path.iterdir()}
