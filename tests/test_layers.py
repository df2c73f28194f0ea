"""Imports point one way, and what needs no compiler imports none."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import heavybandit

PACKAGE = Path(heavybandit.__file__).parent
MAY_IMPORT = {  # room → the rooms that its modules may import; "" is the top level
    "": {""},
    "engine": {"", "engine"},
    "own": {"", "engine", "own"},
    "pipeline": {"", "engine", "pipeline"},
    "replication": {"", "engine", "own", "pipeline", "replication"},
    "cli": {"", "engine", "own", "pipeline", "replication", "cli"},
}


def imports(path, package):
    """(line, dotted name) of all that a module imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            home = (*above, *filter(None, [node.module]))
            yield from ((node.lineno, ".".join((*home, alias.name))) for alias in node.names)


def complaint(module, name):
    """What is wrong with a module's import of a dotted name, or None."""
    first, _, rest = name.partition(".")
    if first != "heavybandit":
        return "is not of the package" if first in ("tests", "notebooks", "book") else None
    room, home = (r if (r := x.partition(".")[0]) in MAY_IMPORT else "" for x in (module, rest))
    everywhere = module in ("__init__", "__main__")  # the front doors lead into all rooms
    if home not in MAY_IMPORT[room] and not everywhere and (module, home) != ("simulate", "engine"):
        return "points the wrong way"
    if f"{rest}.".startswith("own.loading.") and room not in ("own", "cli"):
        return "is the file loader"
    if module == "pipeline.tables" and f"{rest}.".startswith(("engine.", "pipeline.sweep.")):
        return "runs what tables should only read"
    return None


def violations(folder):
    """All imports that point the wrong way, with file and line."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        for line, name in imports(path, ("heavybandit", *parts[:-1])):
            said = complaint(".".join(parts).removesuffix(".__init__"), name)
            if said:
                yield f"{path.relative_to(folder)}, line {line}: {name} {said}"


def test_imports_point_one_way():
    found = list(violations(PACKAGE))
    assert not found, "\n".join(found)


PLANTED = {
    "noise/tails.py": "from ..engine.offers import draw",
    "theory.py": "import heavybandit.engine",
    "engine/state.py": "from ..pipeline import spec",
    "own/moments.py": "from .. import pipeline",
    "pipeline/store.py": "def late():\n    from ..own.checking import check_noise",
    "pipeline/spec.py": "from ..replication.catalogue import by_name",
    "pipeline/tables.py": "def late():\n    from .sweep import run_group",
    "replication/claims.py": "from ..own import loading",
    "replication/ledger.py": "import heavybandit.cli.run",
    "simulate.py": "from .own.loading import load",
    "cli/run.py": "import notebooks",
    "paper.py": "from tests import conftest",
}
ALLOWED = {
    "__init__.py": "from .engine import *\nfrom .own.checking import check_noise",
    "__main__.py": "from .cli import main",
    "simulate.py": "from .engine.offers import price\nfrom .noise import Noise",
    "engine/offers.py": "from ..noise import Noise\nfrom .linear import transpose\nimport numba",
    "own/checking.py": "from ..simulate import simulate\nfrom .loading import told",
    "pipeline/tables.py": "from .spec import Recipe\nfrom . import store",
    "replication/claims.py": "from ..pipeline.store import Store\nfrom .. import engine, own",
    "cli/__init__.py": "from .. import __version__\nfrom ..own.loading import load",
}


@pytest.mark.parametrize(("sources", "wrong"), [(PLANTED, set(PLANTED)), (ALLOWED, set())])
def test_each_import_that_points_the_wrong_way_is_found_with_its_file(tmp_path, sources, wrong):
    for file, source in sources.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(source)
    assert {said.partition(",")[0] for said in violations(tmp_path)} == wrong


# What is imported when: each in a process of its own.


def in_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


LOADED = "; import sys; print(*[m for m in {} if m in sys.modules])"


@pytest.mark.parametrize(
    ("code", "left_out"),
    [
        (
            "import heavybandit.noise, heavybandit.theory, heavybandit.paper, heavybandit.later, "
            "heavybandit.instances, heavybandit.policy; from heavybandit import section6, policy",
            ["numba", "heavybandit.engine"],
        ),
        (
            "from contextlib import suppress\nfrom heavybandit.cli import main\n"
            "with suppress(SystemExit): main(['--help'])\npass",
            ["numpy", "numba"],
        ),
        (
            "from heavybandit.cli import main; main(['list'])",
            ["scipy.stats", "matplotlib", "joblib", "dask", "nbformat", "pandas"],
        ),
        (
            "from heavybandit.replication import catalogue; "
            "from heavybandit.pipeline.tables import read; "
            f"assert len(read('smoke', {str(PACKAGE.parents[1] / 'data')!r})) == 36",
            ["heavybandit.engine", "numba"],
        ),
    ],
    ids=["formulas", "help", "list", "results"],
)
def test_what_a_reader_does_not_need_is_not_imported(code, left_out):
    assert in_python(code + LOADED.format(left_out))[-1] == ""


def test_simulate_is_the_function_in_whatever_order_things_are_imported():
    orders = (
        "import heavybandit.simulate",
        "from heavybandit.simulate import Run",
        "import heavybandit.own.checking",
        "import heavybandit; heavybandit.simulate; import heavybandit.simulate",
    )
    code = f"""
import sys
for order in {orders}:
    for name in [name for name in sys.modules if name.startswith("heavybandit")]:
        del sys.modules[name]
    exec(order)
    import heavybandit as hb
    assert hb.simulate is sys.modules["heavybandit.simulate"].simulate, order
    print(order)
"""
    assert in_python(code) == list(orders)


def test_no_python_file_is_longer_than_450_lines():
    """Nor a test, nor a script of the book."""
    root = PACKAGE.parents[1]
    files = [file for room in ("src", "tests", "book") for file in (root / room).rglob("*.py")]
    assert len(files) > 150
    lines = {str(file.relative_to(root)): file.read_bytes().count(b"\n") for file in files}
    assert {name: n for name, n in lines.items() if n > 450} == {}


def test_the_public_names_are_those_of_the_policies_and_a_few_more():
    assert {"SupBTC", "HvtUCB", "Run", "simulate", "section6", "paper"} <= set(heavybandit.__all__)
    assert set(heavybandit.__all__) <= set(dir(heavybandit))
    for name in heavybandit.__all__:
        assert getattr(heavybandit, name) is not None
    with pytest.raises(AttributeError, match="'heavybandit' has no attribute 'Compiled'"):
        heavybandit.Compiled  # noqa: B018
