"""An experiment → all its runs, over processes or a cluster, into the store.

Runs that share a world, a horizon and a seed go together, so that contexts are drawn once. Each
run's bits depend on its description alone: not on the workers, their number, the order, or what
was resumed. Only this process writes; workers compute.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .interrupts import Interrupts, held_back
from .progress import Progress
from .scratch import scratch
from .spec import Plan, Report, Spec, Together, by_name, made_with, plays_of, work_of
from .store import Lock, Store, StoreError, default_store
from .tables import check_files, consolidate, file_names

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
POLL = 0.25  # seconds between two looks at the workers
PATIENCE = 10.0  # seconds in which a Dask scheduler must answer
TRIES = 3  # workers that may die with nothing finished in between
REPLACED = "A worker stopped while some jobs were given to the executor"
"""How loky's warning begins when it replaces a worker that grew by 300 MB since its first group.

It suspects a leak. Here it is what compiling leaves behind: a worker has 125 MB after a leap, which
needs no kernel, and 465 MB once all kernels are compiled; with kernels of an earlier sweep it stays
below 310 MB. The worker's results had been taken and the next group goes to the new one, so nothing
is to be done about it. A worker that died is another matter: `_replace_workers`.
"""

MANAGER = "ExecutorManagerThread"
"""Of loky's. When it has killed the workers it looks for work that was just sent, which it has also
dropped, and fails with a KeyError; all is done by then."""

Results = list[dict[str, Any]]
Versions = dict[str, Any]


class SweepError(Exception):
    """Something about the sweep that the user has to know; the message is the whole story."""


@dataclass(frozen=True)
class Summary:
    """What a sweep did."""

    runs: int  # runs of the experiment; one that several experiments share is one
    found: int  # already finished when it began
    done: int  # simulated now
    elsewhere: int  # finished meanwhile by another process


def _work(specs: list[Spec], board: str | None = None, slot: int = 0) -> tuple[Results, Versions]:
    """What a worker does; plays made go to a counter of the board, a file, if it can see that."""
    report: Report | None = None
    if board is not None:
        counter = np.memmap(board, dtype=np.int64, mode="r+")

        def report(n: int) -> None:
            counter[slot] += n

    return specs[0].run(specs, report), made_with()


def sweep(
    experiment: Plan | Together,
    store: Store,
    *,
    workers: int = 1,
    dask: str | None = None,
    progress: bool = True,
    shuffle: int | None = None,
) -> Summary:
    """Simulate every run of the experiment that the store does not have yet.

    workers   processes on this machine; 1 works in this one
    dask      the address of a Dask scheduler to send the groups to instead
    shuffle   a seed: take the groups in a random order (the results are the same)
    """
    groups: list[Sequence[Spec]] = list(experiment.groups())
    if shuffle is not None:
        order = np.random.default_rng(shuffle).permutation(len(groups))
        groups = [groups[i] for i in order]
    groups = list(_each_run_once(groups))
    missing = [[spec for spec in group if store.load(spec) is None] for group in groups]
    todo = deque(group for group in missing if group)
    total, left = (sum(len(group) for group in some) for some in (groups, todo))
    bar = Progress(experiment.name, math.fsum(map(work_of, todo)), show=progress)
    counts = {"done": 0, "elsewhere": 0}
    if todo:
        workers = min(workers, len(todo))
        with Interrupts() as interrupts, bar, _pool(workers, dask, bar, interrupts) as pool:
            _drive(todo, store, pool, bar, counts, interrupts)
    return Summary(total, total - left, **counts)


def _each_run_once(groups: Iterable[Sequence[Spec]]) -> Iterator[list[Spec]]:
    """The groups, each without the runs that are in an earlier one: experiments may share some."""
    seen: set[str] = set()
    for group in groups:
        by_key = {spec.key: spec for spec in group}
        yield [spec for key, spec in by_key.items() if key not in seen]
        seen |= by_key.keys()


def _drive(
    todo: deque[list[Spec]],
    store: Store,
    pool: Any,
    bar: Progress,
    counts: dict[str, int],
    interrupts: Interrupts,
) -> None:
    """Keep the pool busy, write what comes back, leave alone what another process is at."""
    busy: dict[Any, tuple[list[Spec], Lock]] = {}
    ours: set[Lock] = set()
    held_by_others = 0
    try:
        while todo or busy:
            while todo and len(busy) < pool.width and held_by_others < len(todo):
                group = todo.popleft()
                lock = store.lock(group[0].group)
                if not lock.held:
                    todo.append(group)
                    held_by_others += 1
                    continue
                ours.add(lock)
                # Another process may have finished it since we looked.
                left = [spec for spec in group if store.load(spec) is None]
                counts["elsewhere"] += len(group) - len(left)
                bar.advance(work_of(group) - work_of(left))
                if not left:
                    lock.release()
                    continue
                busy[pool.submit(left)] = (left, lock)
            if not busy and todo:
                bar.note("waiting for another process that is at the rest of these runs")
                time.sleep(POLL)
            for future, results in pool.finished() if busy else ():
                specs, lock = busy[future]
                for spec, result in zip(specs, results, strict=True):
                    with interrupts.later():  # else a temporary folder could stay behind
                        store.save(spec, result)
                del busy[future]
                lock.release()
                counts["done"] += len(specs)
                bar.advance(work_of(specs))
            held_by_others = 0
            interrupts.check()
    finally:
        for lock in ours:  # also of a group whose results could not be saved
            lock.release()


def _work_per_play(specs: list[Spec]) -> float:
    """Of runs that go together: workers count plays, and the bar counts work."""
    return work_of(specs) / plays_of(specs)


def _pool(workers: int, dask: str | None, bar: Progress, interrupts: Interrupts) -> Any:
    if dask is not None:
        return _Dask(dask)
    return _Here(bar, interrupts) if workers == 1 else _Loky(workers, bar)


class _Here:
    """This process: one group at a time."""

    width = 1

    def __init__(self, bar: Progress, interrupts: Interrupts) -> None:
        self.bar, self.interrupts = bar, interrupts

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, specs: list[Spec]) -> int:
        self.specs = specs
        self.weight = _work_per_play(specs)
        return 0  # the only ticket

    def finished(self) -> Iterator[tuple[int, Results]]:
        made = [0]

        def report(n: int) -> None:
            made[0] += n
            self.bar.under_way(self.weight * made[0])
            self.interrupts.check()

        results = self.specs[0].run(self.specs, report)
        self.bar.under_way(0)
        yield 0, results


def _prepare_worker(parent: int, board: str) -> None:
    """Leave Ctrl-C, which reaches every process of a terminal, to the parent; end when it says so.

    The last counter of the board is its word. A parent that was killed cannot say anything.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        counter = np.memmap(board, dtype=np.int64, mode="r")
    except FileNotFoundError:  # the parent was stopped, and took its board along
        os._exit(1)

    def watch() -> None:
        while os.getppid() == parent and counter[-1] == 0:
            time.sleep(0.25)
        os._exit(1)  # nobody is left to take a result

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _without_a_word_of(name: str) -> Iterator[None]:
    """Let threads of a name fail silently for a moment, and no others."""
    before = threading.excepthook

    def hook(failure: Any) -> None:
        if failure.thread is None or failure.thread.name != name:
            before(failure)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


class _Loky:
    """Processes of this machine, through joblib's loky; one thread each."""

    def __init__(self, workers: int, bar: Progress) -> None:
        self.workers, self.bar = workers, bar
        self.width = workers + 1  # one group waits, so that no worker does
        self.tasks: dict[Any, tuple[list[Spec], int]] = {}  # the runs, and the slot of the board
        self.weights: dict[int, float] = {}  # of what is in a slot, per play
        self.futures: dict[Any, Any] = {}
        self.deaths = 0  # of workers, since a group was last finished

    def __enter__(self) -> _Loky:
        self.place = scratch(Path(tempfile.gettempdir()))
        self.board = str(self.place.__enter__())
        self.counter = np.memmap(self.board, dtype=np.int64, mode="w+", shape=(self.width + 1,))
        self.quiet = warnings.catch_warnings()
        self.quiet.__enter__()
        warnings.filterwarnings("ignore", REPLACED, UserWarning)
        self._start()
        return self

    def _start(self) -> None:
        from multiprocessing import resource_tracker

        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.backend import resource_tracker as theirs

        for tracker in (resource_tracker, theirs):
            tracker.ensure_running()  # starting them lets Ctrl-C in again
        with held_back():
            self.executor = ProcessPoolExecutor(
                self.workers,
                env=ONE_THREAD,
                initializer=_prepare_worker,
                initargs=(os.getpid(), self.board),
            )

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self._shut_down(kill=kind is not None)
        finally:  # also if Ctrl-C comes a second time
            # Not before: a worker that ends while it sends a result leaves loky waiting for it.
            self.counter[-1] = kind is not None
            self.quiet.__exit__(None, None, None)
            del self.counter
            self.place.__exit__(None, None, None)

    def _shut_down(self, *, kill: bool) -> None:
        with _without_a_word_of(MANAGER) if kill else contextlib.nullcontext():
            self.executor.shutdown(wait=True, kill_workers=kill)

    def submit(self, specs: list[Spec]) -> object:
        taken = {slot for _, slot in self.tasks.values()}
        ticket = object()
        slot = min(set(range(self.width)) - taken)
        self.tasks[ticket] = specs, slot
        self.weights[slot] = _work_per_play(specs)
        self._send(ticket)
        return ticket

    def _send(self, ticket: object) -> None:
        from concurrent.futures import Future
        from concurrent.futures.process import BrokenProcessPool

        specs, slot = self.tasks[ticket]
        self.counter[slot] = 0
        try:
            with held_back():  # the first starts the workers
                self.futures[ticket] = self.executor.submit(_work, specs, self.board, slot)
        except BrokenProcessPool as error:  # a worker has just died: `finished` will see it
            self.futures[ticket] = Future()
            self.futures[ticket].set_exception(error)

    def finished(self) -> Iterator[tuple[Any, Results]]:
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        wait(self.futures.values(), timeout=POLL, return_when=FIRST_COMPLETED)
        self.bar.under_way(
            math.fsum(self.weights[slot] * self.counter[slot] for _, slot in self.tasks.values())
        )
        broken = False
        for ticket in [t for t, future in self.futures.items() if future.done()]:
            if isinstance(self.futures[ticket].exception(), BrokenProcessPool):
                broken = True
                continue
            results, _ = self.futures.pop(ticket).result()
            self.counter[self.tasks.pop(ticket)[1]] = 0
            self.deaths = 0
            yield ticket, results
        if broken:
            self._replace_workers()

    def _replace_workers(self) -> None:
        """A worker died (out of memory, or killed): start anew with what was under way."""
        self.deaths += 1
        if self.deaths == TRIES:
            raise SweepError(
                f"worker processes died {TRIES} times and nothing was finished in between, perhaps "
                f"for lack of memory; finished runs are kept: try with fewer workers"
            )
        self._shut_down(kill=True)
        self._start()
        for ticket in self.tasks:
            self._send(ticket)


class _Dask:
    """The workers of a Dask cluster; a lost worker's groups go to the others."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.futures: list[Any] = []

    def __enter__(self) -> _Dask:
        try:
            from distributed import Client
        except ImportError:
            raise SweepError(
                "a Dask cluster needs the packages of the extra 'cluster': "
                "pip install 'heavybandit[cluster]'"
            ) from None
        if not re.fullmatch(r"(\w+://)?[^\s/]+:\d+/?", self.address):  # else a client stays behind
            raise SweepError(
                f"--dask must be an address such as tcp://host:8786, got {self.address!r}"
            )
        try:
            self.client = Client(self.address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:  # TypeError where tls has no certificate
            raise SweepError(
                f"no Dask scheduler answers at {self.address}: {error or type(error).__name__}"
            ) from None
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        if not workers:
            self.client.close()
            raise SweepError(f"the Dask scheduler at {self.address} has no workers")
        self.width = 2 * sum(w["nthreads"] for w in workers.values())
        return self

    def __exit__(self, *_: object) -> None:
        self.client.cancel(self.futures)
        self.client.close()

    def submit(self, specs: list[Spec]) -> Any:
        future = self.client.submit(_work, specs, pure=False)
        self.futures.append(future)
        return future

    def finished(self) -> Iterator[tuple[Any, Results]]:
        from concurrent.futures import CancelledError

        from distributed.scheduler import KilledWorker

        deadline = time.monotonic() + POLL
        while time.monotonic() < deadline and not any(f.done() for f in self.futures):
            time.sleep(0.01)
        for future in [f for f in self.futures if f.done()]:
            try:
                results, theirs = future.result()
            except KilledWorker as error:
                raise SweepError(
                    f"too many workers of the cluster died on the same group: {error}"
                ) from None
            except (CancelledError, OSError) as error:
                raise SweepError(
                    f"the Dask scheduler at {self.address} was lost ({type(error).__name__}); "
                    f"finished runs are kept"
                ) from None
            ours = made_with()
            if theirs != ours:
                raise SweepError(
                    f"a worker computes with {theirs}, this process with {ours}; "
                    f"the bits could differ: install the same versions"
                )
            self.futures.remove(future)
            yield future, results


def ensure(name: str, folder: str | Path, store: str | Path | None = None) -> None:
    """Simulate an experiment if its results are not in a folder.

    What is there and not whole is an error, and is left as it is: repairing it here would hide that
    something had changed. Runs are kept in the store that the command line uses too.
    """
    if not any((Path(folder) / file).exists() for file in (*file_names(name), f"{name}.json")):
        experiment, kept = by_name(name), Store(store or default_store())
        sweep(experiment, kept, workers=os.cpu_count() or 1)
        consolidate(experiment, kept, folder)
    for problem in check_files(name, folder):
        raise StoreError(problem)
