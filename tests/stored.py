"""What is put into a store and into the ledger by their tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heavybandit.pipeline.recipes import recipe
from heavybandit.pipeline.spec import RunSpec
from heavybandit.pipeline.store import Store
from heavybandit.replication.claims import HOLDS, SEEN, Claim

RESULT: dict[str, Any] = {
    "regret": 31.808367909690617,
    "plays": [100, 200, 300],
    "curve": [1e-05, 2.5, 31.808367909690617],
    "diagnostics": {"arms_entering": [20.0, None], "truncated": 12},
}


def spec(seed: int = 0) -> RunSpec:
    return RunSpec(recipe("section6"), recipe("SupBTC", v=4.0), 300, seed, 3)


def claim(id: str = "prop-1", verdict: str = HOLDS, **evidence: Any) -> Claim:
    """An entry of the ledger, with a power and bars in its statement."""
    test = "tests/replication/test_ledger.py::test_a_b"
    statement = "x^{1/(1+ε)} of |y|"
    return Claim(id, "Section 3", statement, "01_x.ipynb", test, evidence, SEEN, verdict)


def aside(where: Store) -> list[Path]:
    return sorted((where.folder / "set-aside").iterdir())


def everything(folder: Path) -> dict[str, bytes | None]:
    """Everything under a folder: the bytes of files, None for folders."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in folder.rglob("*")
    }
