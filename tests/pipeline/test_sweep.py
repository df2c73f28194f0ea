"""A sweep gives the same bytes whoever does it, in any order, however often it is killed."""

import gc
import inspect
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from forging import contents
from heavybandit.pipeline import sweep as sweeping
from heavybandit.pipeline.progress import Progress
from heavybandit.pipeline.recipes import recipe
from heavybandit.pipeline.spec import Together, made_with
from heavybandit.pipeline.store import Store
from heavybandit.pipeline.sweep import Summary, SweepError, _Loky, sweep
from heavybandit.pipeline.tables import consolidate
from tiny import LARGER


def bytes_of(store, folder):
    """The consolidated files of a finished store."""
    consolidate(LARGER, store, folder)
    return contents(folder)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """What one uninterrupted worker makes of LARGER."""
    folder = tmp_path_factory.mktemp("reference")
    store = Store(folder / "store")
    summary = sweep(LARGER, store, progress=False)
    assert summary.done == summary.runs == 2 * 2 * 4 * 4
    return bytes_of(store, folder / "data")


@pytest.mark.parametrize("how", [{"workers": 2}, {"shuffle": 7}])
def test_two_workers_and_any_order_make_the_same_bytes(tmp_path, reference, how):
    store = Store(tmp_path / "store")
    assert sweep(LARGER, store, progress=False, **how).done == 64
    assert bytes_of(store, tmp_path / "data") == reference


@pytest.mark.parametrize("address", ["nonsense", "", "tls://127.0.0.1:1", "tcp://host"])
def test_a_dask_address_that_is_none_is_refused_in_a_sentence(tmp_path, address, capfd):
    with pytest.raises(SweepError, match=r"--dask must be an address|no Dask scheduler answers"):
        sweep(LARGER, Store(tmp_path), dask=address, progress=False)
    gc.collect()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("delay", [0.05, 0.2, 0.4])
def test_ctrl_c_while_workers_start_is_the_parents_alone(tmp_path, delay):
    """A worker that gets it while it imports would say so with a traceback."""
    ready, done = os.pipe()
    line = f"sweep smoke --workers 2 --store {tmp_path}/s --data {tmp_path}/d"
    source = (
        "import os, sys, heavybandit.pipeline.sweep as s\n"
        "start = s._Loky.submit\n"
        f"def submit(self, specs):\n    os.write({done}, b'x')\n    return start(self, specs)\n"
        "s._Loky.submit = submit\n"
        "from heavybandit.cli import main\n"
        f"sys.exit(main({line!r}.split()))"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", source],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=[done],
        text=True,
    )
    os.read(ready, 1)
    time.sleep(delay)
    os.killpg(program.pid, signal.SIGINT)
    said = program.communicate(timeout=60)[1]
    assert program.returncode in (0, 130)
    assert "Traceback" not in said
    assert "Fatal" not in said


def test_a_worker_whose_parent_has_already_stopped_ends_without_a_word(tmp_path):
    """A slow machine starts it after Ctrl-C has been obeyed, and the board is gone."""
    source = f"from heavybandit.pipeline.sweep import _prepare_worker as p; p(1, '{tmp_path}/gone')"
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (1, b"")


def at_the_first_save(store, act):
    """Do something once a first run is saved; the list of all that are."""
    original, saved = store.save, []

    def save(spec, result):
        original(spec, result)
        saved.append(spec)
        if len(saved) == 1:
            act()

    store.save = save
    return saved


def wait_for_a_run(store, program, seconds):
    """Until a program that sweeps has finished its first run."""
    deadline = time.monotonic() + seconds
    while not list(store.glob("runs/*/*.json")):
        assert time.monotonic() < deadline
        assert program.poll() is None
        time.sleep(0.01)


KILLS = 15


def _sweep_in_child(folder):
    sweep(LARGER, Store(folder), progress=False)


def test_fifteen_kills_lose_and_repeat_nothing(tmp_path, reference):
    """kill -9 at random moments; a child is a fork, so that it is at work from its first moment."""
    fork = multiprocessing.get_context("fork")
    rng = np.random.default_rng(15)
    kills = rounds = 0
    seen_partial = 0
    while kills < KILLS:
        folder = tmp_path / f"store{rounds}"
        rounds += 1
        finished = {}
        while True:
            child = fork.Process(target=_sweep_in_child, args=(folder,))
            child.start()
            time.sleep(rng.uniform(0.0, 0.25))
            killed = child.is_alive() and kills < KILLS
            if killed:
                os.kill(child.pid or 0, signal.SIGKILL)
                kills += 1
            child.join()
            now = {p: p.stat().st_mtime_ns for p in folder.glob("runs/*/*.json")}
            assert finished.items() <= now.items(), "a finished run was lost or written again"
            seen_partial += 0 < len(now) < 64
            finished = now
            if not killed:
                assert child.exitcode == 0
                break
        store = Store(folder)
        assert sweep(LARGER, store, progress=False).found == 64
        assert not store.set_aside
        assert bytes_of(store, tmp_path / f"data{rounds}") == reference
    assert seen_partial >= KILLS // 3, "the kills did not hit sweeps under way"


def test_a_killed_parent_leaves_no_workers_and_the_sweep_goes_on(tmp_path, reference):
    """The whole program with two worker processes, killed while they work."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); from tiny import LARGER\n"
        "from heavybandit.pipeline.store import Store\n"
        "from heavybandit.pipeline.sweep import sweep\n"
        "if __name__ == '__main__':\n"
        "    sweep(LARGER, Store(sys.argv[1]), workers=2, progress=False)\n"
    )
    file = tmp_path / "go.py"
    file.write_text(script)
    here = str(Path(__file__).parents[1])
    program = subprocess.Popen([sys.executable, str(file), str(tmp_path / "store"), here])
    wait_for_a_run(tmp_path / "store", program, 60)
    workers = psutil.Process(program.pid).children(recursive=True)
    program.kill()
    program.wait()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive
    store = Store(tmp_path / "store")
    sweep(LARGER, store, progress=False)
    assert bytes_of(store, tmp_path / "data") == reference


def test_a_killed_worker_is_replaced(tmp_path, reference):
    store, killed = Store(tmp_path / "store"), []

    def kill():
        for child in psutil.Process().children(recursive=True):
            said = " ".join(child.cmdline())
            if "loky" in said and "tracker" not in said:
                killed.append(child.pid)
                child.kill()
                break

    at_the_first_save(store, kill)
    sweep(LARGER, store, workers=2, progress=False)
    assert killed
    assert bytes_of(store, tmp_path / "data") == reference


def test_a_worker_that_loky_replaces_for_its_size_is_no_news():
    """Compiling makes it large; loky's words are looked up, and other warnings are left alone."""
    from joblib.externals.loky import process_executor

    inside = inspect.getsource(process_executor).partition("warnings.warn(")[2]
    words = "".join(re.findall('"([^"]*)"', inside.partition("UserWarning")[0]))
    assert "memory leak" in words
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with _Loky(2, Progress("tiny", 1)):
            warnings.warn(words, UserWarning, stacklevel=1)
            warnings.warn("something else", UserWarning, stacklevel=1)
    assert [str(one.message) for one in seen] == ["something else"]


def test_a_thread_that_fails_when_workers_are_killed_is_no_news(monkeypatch):
    """Loky's does, if work that was sent has not reached the queue of the workers yet."""
    failed = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: failed.append(failure.thread.name))
    hook = threading.excepthook

    def stopped():
        with _Loky(2, Progress("tiny", 1)) as pool:
            running = pool.executor.submit(time.sleep, 60)
            while not running.running():
                time.sleep(0.01)
            time.sleep(0.1)  # it waits for news again
            pool.executor._work_ids.put(99)  # as `submit` does before it tells it so
            managers.append(pool.executor._executor_manager_thread)
            raise KeyboardInterrupt

    managers: list[threading.Thread] = []
    asked = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        stopped()
    (manager,) = managers
    manager.join(timeout=20)
    assert not manager.is_alive()
    assert time.monotonic() - asked < 20
    assert failed == []
    assert threading.excepthook is hook


def test_a_thread_is_silenced_by_its_name_and_no_other(monkeypatch):
    failed = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: failed.append(failure.thread.name))
    with sweeping._without_a_word_of("one"):
        for name in ("one", "other"):
            thread = threading.Thread(target=[].pop, name=name)
            thread.start()
            thread.join()
    assert failed == ["other"]


def test_two_sweeps_at_once_share_the_work(tmp_path, reference):
    fork = multiprocessing.get_context("fork")
    folder = tmp_path / "store"
    Store(folder)
    queue = fork.SimpleQueue()

    def work():
        queue.put(sweep(LARGER, Store(folder), progress=False))

    children = [fork.Process(target=work) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    a, b = queue.get(), queue.get()
    assert a.done + b.done == 64, "a run was done twice, or not at all"
    assert a.found + a.done + a.elsewhere == b.found + b.done + b.elsewhere == 64
    assert bytes_of(Store(folder), tmp_path / "data") == reference


def test_a_run_that_two_experiments_share_is_one_run_and_nobody_elses(tmp_path):
    mine = replace(LARGER, horizons=(600,), seeds=2)
    more = replace(mine, policies=LARGER.policies[1:], seeds=3)
    summary = sweep(Together((mine, more)), Store(tmp_path), progress=False)
    assert len(mine.runs()) + len(more.runs()) == 16 + 18
    assert summary == Summary(runs=16 + 6, found=0, done=16 + 6, elsewhere=0)


def test_ctrl_c_stops_promptly_and_keeps_what_is_finished(tmp_path):
    """A long sweep from the command line with two workers, interrupted as a terminal would."""
    command = [sys.executable, "-m", "heavybandit", "sweep", "map_t", "--workers", "2"]
    store = tmp_path / "store"
    program = subprocess.Popen(
        [*command, "--store", str(store), "--data", str(tmp_path / "data")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for_a_run(store, program, 90)
    os.killpg(program.pid, signal.SIGINT)
    asked = time.monotonic()
    _, said = program.communicate(timeout=60)
    assert time.monotonic() - asked < 10  # it takes half a second if the machine is not busy
    assert program.returncode == 130
    assert "Traceback" not in said
    kept = len(list(store.glob("runs/*/*.json")))
    assert f"stopped. {kept} of 1608 runs of map_t are finished and kept" in said
    assert not list((tmp_path / "store" / "tmp").iterdir())


def test_ctrl_c_while_a_temporary_folder_is_removed_leaves_none_behind(tmp_path, monkeypatch):
    store, remove = Store(tmp_path), Path.rmdir

    def interrupted(folder):
        signal.raise_signal(signal.SIGINT)
        remove(folder)

    monkeypatch.setattr(Path, "rmdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(LARGER, store, progress=False)
    assert len(list(tmp_path.glob("runs/*/*.json"))) == 1
    assert not list(store.tmp.iterdir())


def test_ctrl_c_that_was_switched_off_stays_so(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        store = Store(tmp_path)
        at_the_first_save(store, lambda: signal.raise_signal(signal.SIGINT))
        assert sweep(LARGER, store, progress=False).done == 64
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster


def test_a_dask_cluster_makes_the_same_bytes_even_if_a_worker_is_killed(
    tmp_path, reference, cluster
):
    from distributed import Client

    address = cluster.scheduler_address
    store = Store(tmp_path / "store")
    with Client(address, set_as_default=False) as client:
        pids = list(client.run(os.getpid).values())
    assert len(set(pids)) == 2
    assert os.getpid() not in pids
    saved = at_the_first_save(store, lambda: os.kill(pids[0], signal.SIGKILL))
    summary = sweep(LARGER, store, dask=address, progress=False)
    assert saved
    assert summary.done == 64
    assert bytes_of(store, tmp_path / "data") == reference


def test_no_scheduler_at_the_address_is_said_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("heavybandit.pipeline.sweep.PATIENCE", 1.0)
    with pytest.raises(SweepError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        sweep(LARGER, Store(tmp_path), dask="tcp://127.0.0.1:1", progress=False)


def test_workers_with_other_versions_are_refused(tmp_path, monkeypatch, cluster):
    ours = {**made_with(), "numpy": "0.0"}
    monkeypatch.setattr("heavybandit.pipeline.sweep.made_with", lambda: ours)
    with pytest.raises(SweepError, match="install the same versions"):
        sweep(LARGER, Store(tmp_path), dask=cluster.scheduler_address, progress=False)
    assert not list(tmp_path.glob("runs/*/*.json"))


def test_a_run_that_fails_ends_the_sweep_with_its_error_and_keeps_the_rest(tmp_path):
    bad = replace(LARGER, policies=(*LARGER.policies, recipe("SupBMM", v=3.0, delta=1e-30)))
    bad = replace(bad, horizons=(600,), worlds=LARGER.worlds[:1])
    good = replace(LARGER, horizons=(600,), worlds=LARGER.worlds[:1])
    store = Store(tmp_path)
    sweep(good, store, progress=False)
    with pytest.raises(ValueError, match="horizon must hold at least one round"):
        sweep(bad, store, workers=2, progress=False)
    assert sweep(good, store, progress=False).found == 16


def test_a_ctrl_c_that_python_drops_stops_the_sweep_all_the_same(tmp_path, monkeypatch):
    """Python ignores what is raised in __del__; the second lock here interrupts from there."""

    class Dropped:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)  # the handler runs in here

    store, locked = Store(tmp_path), []
    original = store.lock

    def lock(name):
        locked.append(name)
        if len(locked) == 2:
            Dropped()
        return original(name)

    store.lock = lock
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: dropped.append(what.exc_type))
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        sweep(LARGER, store, progress=False)
    assert dropped == [KeyboardInterrupt]
    assert 0 < len(list(tmp_path.glob("runs/*/*.json"))) < 64
    assert signal.getsignal(signal.SIGINT) is before
