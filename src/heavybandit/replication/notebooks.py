"""Run the numbered notebooks headlessly, in order, and keep them clean.

Each is executed by papermill into another folder, never onto its source. What is kept has outputs
and execution counts (nbval compares nothing without them) but no times, paths or durations, so that
running twice changes no byte.
"""

from __future__ import annotations

import json
import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..pipeline.interrupts import Interrupts
from ..pipeline.progress import say
from ..pipeline.tables import same_bytes

CELL_SECONDS = 900  # a cell that takes longer is taken to hang
VOLATILE = ("papermill", "execution")
SHADES = 2  # of 255, by which a pixel may differ


class NotebookError(Exception):
    """A notebook that failed; the message says which, where and why."""


def numbered(folder: str | Path) -> list[Path]:
    """The notebooks 00_…, 01_…, in order."""
    return sorted(Path(folder).glob("[0-9][0-9]_*.ipynb"))


def execute(
    source: Path, target: Path, parameters: dict[str, Any], seconds: int = CELL_SECONDS
) -> None:
    """Execute one notebook into another file, and clean that."""
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill import PapermillExecutionError, execute_notebook

    if target.resolve() == source.resolve():
        raise NotebookError(f"{source} would be executed onto itself; name another folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with Interrupts() as interrupts:
            interrupts.check()  # Ctrl-C may have been dropped between two notebooks
            execute_notebook(
                str(source),
                str(target),
                parameters=parameters,
                cwd=str(source.parent),
                kernel_name="python3",
                language="python",
                progress_bar=False,
                execution_timeout=seconds,
                extra_arguments=["--IPKernelApp.log_level=ERROR"],  # not its words on encryption
                kernel_manager_class=_kernels(interrupts),
            )
            interrupts.check()
    except PapermillExecutionError as error:
        raise NotebookError(
            f"{source.name} failed in cell {error.exec_count}: {error.ename}: {error.evalue}"
        ) from None
    except CellTimeoutError:
        raise NotebookError(f"{source.name}: a cell took longer than {seconds} s") from None
    except DeadKernelError:
        raise NotebookError(f"{source.name}: its kernel died") from None
    clean(target)


def _kernels(interrupts: Interrupts) -> type:
    """Kernels that are killed after Ctrl-C.

    One that is asked to shut down goes on with its cell, and when that ends it says with a
    traceback that there is nobody left to send the result to. What waits here for the cell is
    stopped before, else it would report that the kernel has died.
    """
    import asyncio

    from jupyter_client.manager import AsyncKernelManager

    class Kernels(AsyncKernelManager):
        async def shutdown_kernel(  # type: ignore[override]  # as in the class above it
            self, now: bool = False, restart: bool = False
        ) -> None:
            if interrupts.asked:
                waiting = asyncio.all_tasks() - {asyncio.current_task()}
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
            await super().shutdown_kernel(now or interrupts.asked, restart)

    return Kernels


def clean(path: Path) -> None:
    """Remove what changes from run to run."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for holder in (notebook, *notebook["cells"]):
        for key in VOLATILE:
            holder["metadata"].pop(key, None)
    notebook["metadata"].get("language_info", {}).pop("version", None)
    for cell in notebook["cells"]:
        if "outputs" in cell:
            cell["outputs"] = _joined(cell["outputs"])
    path.write_text(
        json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pieces of one stream put together: where printing was cut depends on the moment."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        before = joined[-1] if joined else {}
        if output["output_type"] == "stream" and before.get("name") == output["name"]:
            text = "".join(before["text"]) + "".join(output["text"])
            before["text"] = text.splitlines(keepends=True)
        else:
            joined.append(output)
    return joined


def execute_all(
    folder: str | Path, out: str | Path, parameters: dict[str, Any], seconds: int = CELL_SECONDS
) -> int:
    """Execute every numbered notebook in order; stops at the first that fails. Returns how many."""
    os.environ["HEAVYBANDIT_QUIET"] = "1"  # what is said about compiling is no output of a notebook
    sources = numbered(folder)
    if not sources:
        raise NotebookError(
            f"there are no notebooks 00_….ipynb in {str(folder)!r}; "
            f"run this in the repository, or name their folder with --folder"
        )
    for package in ("papermill", "nbclient", "ipykernel"):
        if find_spec(package) is None:
            raise NotebookError(
                f"notebooks are executed with {package}, which is not installed; "
                f"it comes with the extra 'test': pip install 'heavybandit[test]'"
            )
    for i, source in enumerate(sources, 1):
        say(f"[{i}/{len(sources)}] {source.name} …")
        started = time.monotonic()
        execute(source, Path(out) / source.name, parameters, seconds)
        say(f"    {time.monotonic() - started:.0f} s")
    return len(sources)


def differing_figures(made: str | Path, committed: str | Path) -> list[str]:
    """Which figures of two folders differ.

    A drawing in lines must be the same to the byte. In a picture of the same drawing a pixel may be
    SHADES off: the last bit of a logarithm depends on the processor, and so does the edge of a line
    that ends there.
    """
    folders = [Path(made), Path(committed)]
    found = []
    for name in sorted({p.name for one in folders for p in one.glob("*.*g")}):
        ours, theirs = (one / name for one in folders)
        if not theirs.exists():
            found.append(f"{name} is new")
        elif not ours.exists():
            found.append(f"{name} was not made again")
        elif not same_bytes(ours, theirs) and not _look_alike(ours, theirs):
            found.append(f"{name} differs")
    return found


def _look_alike(one: Path, other: Path) -> bool:
    """Whether two files are pictures that nobody could tell apart."""
    if one.suffix != ".png":
        return False
    import numpy as np
    from matplotlib.image import imread

    try:
        first, second = imread(one), imread(other)
    except (OSError, SyntaxError, ValueError):  # no picture
        return False
    same_size = first.shape == second.shape
    return same_size and float(np.abs(first - second).max()) <= (SHADES + 0.5) / 255
