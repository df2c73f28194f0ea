"""The project's frame: locks, environment, citation, versions and browsers."""

import os
import re
import subprocess
import tomllib
from importlib.metadata import version
from itertools import product
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


PROJECT = tomllib.loads(read("pyproject.toml"))["project"]
CITATION = yaml.safe_load(read("CITATION.cff"))
LOCKS = ("bootstrap", "test", "lab", "book", "bench", "logs")
EXTRAS_OF_LOCK = {lock: (lock,) for lock in LOCKS[1:]} | {"test": ("test", "cluster")}
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
MACHINES = [
    {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": system,
        "platform_system": {"linux": "Linux", "darwin": "Darwin"}[system],
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for python, system in product(("3.11", "3.12", "3.13", "3.14"), ("linux", "darwin"))
]


def entries(lock):
    """The lock's logical lines, one per requirement, with its hashes."""
    lines = read(f"requirements/{lock}.lock").replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.strip().startswith("#")]


def requirements(lock):
    return [Requirement(entry.split("--hash", 1)[0].strip()) for entry in entries(lock)]


def pin(requirement):
    """The version a requirement is pinned to, or None if it is not pinned to exactly one."""
    specifiers = list(requirement.specifier)
    if len(specifiers) != 1 or specifiers[0].operator != "==" or "*" in specifiers[0].version:
        return None
    return specifiers[0].version


def pins(lock, machine):
    """Package → version for what the lock installs on one machine; no package comes twice."""
    applicable = [r for r in requirements(lock) if r.marker is None or r.marker.evaluate(machine)]
    names = [canonicalize_name(r.name) for r in applicable]
    assert len(names) == len(set(names)), f"{lock}.lock installs a package twice on {machine}"
    return dict(zip(names, map(pin, applicable), strict=True))


def declared(*extras):
    """The direct dependencies in pyproject.toml: the core's and those of the extras named."""
    lines = PROJECT["dependencies"] + [
        line for extra in extras for line in PROJECT["optional-dependencies"][extra]
    ]
    return [Requirement(line) for line in lines]


def test_every_lock_in_the_folder_is_checked_here():
    assert {path.stem for path in (ROOT / "requirements").glob("*.lock")} == set(LOCKS)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_one_exact_version_and_a_hash(lock):
    assert entries(lock)
    assert [e for e in entries(lock) if not HASH.search(e)] == []
    assert [str(r) for r in requirements(lock) if pin(r) is None] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_names_a_package_host_or_an_index_option(lock):
    text = read(f"requirements/{lock}.lock")
    assert "://" not in text
    assert " @ " not in text
    options = {option for line in entries(lock) for option in re.findall(r"(?<!\S)-[a-z-]+", line)}
    assert options == {"--hash"}


@pytest.mark.parametrize(
    "machine", MACHINES, ids=lambda m: f"{m['sys_platform']}-{m['python_version']}"
)
def test_the_locks_agree_on_every_package_they_share(machine):
    chosen = {}
    for lock in LOCKS:
        for name, locked in pins(lock, machine).items():
            chosen.setdefault(name, {})[lock] = locked
    assert {name: by for name, by in chosen.items() if len(set(by.values())) > 1} == {}


@pytest.mark.parametrize("lock", EXTRAS_OF_LOCK)
def test_each_lock_satisfies_the_lower_bounds_in_pyproject(lock):
    for machine in MACHINES:
        locked = pins(lock, machine)
        for requirement in declared(*EXTRAS_OF_LOCK[lock]):
            name = canonicalize_name(requirement.name)
            assert name in locked, f"{name} is not in {lock}.lock"
            assert locked[name] in requirement.specifier, f"{lock}.lock breaks {requirement}"


def test_every_dependency_in_pyproject_has_a_lower_bound_and_no_pin():
    for requirement in declared(*PROJECT["optional-dependencies"]):
        assert [s.operator for s in requirement.specifier] == [">="], str(requirement)


def test_environment_yml_pins_every_direct_dependency_as_the_locks_do():
    environment = yaml.safe_load(read("environment.yml"))
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (through_pip,) = [e["pip"] for e in environment["dependencies"] if isinstance(e, dict)]
    linux = next(m for m in MACHINES if m["python_version"] == "3.11")
    locked = pins("test", linux) | pins("lab", linux)
    direct = {canonicalize_name(r.name) for r in declared("test", "cluster", "lab")}

    assert environment["name"] == PROJECT["name"]
    assert environment["channels"] == ["conda-forge"]
    assert conda == ["python=3.11", "pip"]
    assert through_pip[-1] == "-e ."
    given = [Requirement(line) for line in through_pip[:-1]]
    assert {canonicalize_name(r.name): pin(r) for r in given} == {n: locked[n] for n in direct}
    assert len(given) == len(direct)


def test_the_citation_names_this_software_and_the_paper():
    assert CITATION["cff-version"] == "1.2.0"
    assert "heavybandit" in CITATION["title"]
    assert CITATION["message"]
    (paper,) = CITATION["references"]
    assert (paper["type"], paper["year"]) == ("conference-paper", 2020)
    title = "Nearly Optimal Regret for Stochastic Linear Bandits with Heavy-Tailed Payoffs"
    assert paper["title"] == title
    authors = [f"{a['given-names']} {a['family-names']}" for a in paper["authors"]]
    assert authors == ["Bo Xue", "Guanghui Wang", "Yimu Wang", "Lijun Zhang"]


def test_the_installed_version_is_the_one_in_pyproject_and_in_the_citation():
    assert version("heavybandit") == PROJECT["version"] == CITATION["version"]


def test_the_ci_script_looks_for_the_browsers_that_the_tests_look_for():
    (named,) = re.findall(r"for name in ([^;]+);", read(".ci/run"))
    (looked_for,) = re.findall(r"^NAMES = \((.*)\)$", read("tests/browser/chromium.py"), re.M)
    assert named.split() == re.findall(r'"([^"]+)"', looked_for)


def test_make_lets_python_keep_its_bytecode_whatever_the_surroundings_say(tmp_path):
    """Without it each of hundreds of processes compiles all libraries again."""
    more = tmp_path / "more.mk"
    more.write_text('said:\n\t@echo "$${PYTHONDONTWRITEBYTECODE-kept}"\n')
    make = ["make", "--no-print-directory", "-f", ROOT / "Makefile", "-f", more, "said"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    assert subprocess.check_output(make, cwd=tmp_path, env=env, text=True) == "kept\n"
