"""sweep, verify, compare and claims: what they make and say, also where something fails."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
from pathlib import Path

import pytest

from heavybandit.cli import main
from heavybandit.pipeline import store
from heavybandit.pipeline import sweep as sweeping
from heavybandit.replication.claims import HOLDS, NOT_REPRODUCED, SEEN, settle

SWEEP = "sweep tiny --workers 1 --quiet"


# sweep.


def test_a_sweep_fills_store_and_data_and_a_second_one_finds_all_there(tiny, capsys, typed):
    assert main(["sweep", "tiny", "--workers", "1", "--store", "s", "--data", "d"]) == 0
    out, err = capsys.readouterr()
    assert "tiny: 4 runs, 0 were there, 4 done now" in out
    assert out.endswith(f"results in {Path('d/tiny.runs.csv')}, runs in s\n")
    assert err.startswith(f"tiny: runs are kept in {tiny / 's'}, results go into {tiny / 'd'}\n")
    assert "100%" in err
    assert {p.name for p in (tiny / "d").iterdir()} == {
        "tiny.curves.csv",
        "tiny.json",
        "tiny.runs.csv",
    }
    out = typed(f"{SWEEP} --store s --data d")
    assert "tiny: 4 runs, 4 were there, 0 done now" in out


def test_a_sweep_does_not_start_where_its_results_would_replace_a_file_of_the_readers(
    tiny, refused
):
    notes = tiny / "data" / "tiny.json"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text("my own notes\n")
    assert "tiny.json was not written by a sweep" in refused(f"{SWEEP} --store s", code=3)
    assert notes.read_text() == "my own notes\n"
    assert {path.name for path in tiny.rglob("*") if path.is_file()} == {"tiny.json", "format.json"}


def test_a_stopped_sweep_tells_how_many_runs_are_kept_and_how_to_go_on(
    tiny, monkeypatch, capsys, typed
):
    def stopped(experiment, kept, **_):
        for spec in experiment.runs()[:3]:
            kept.save(spec, spec.run([spec])[0])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sweeping, "sweep", stopped)
        assert main(f"{SWEEP} --store mine".split()) == 130
    err = capsys.readouterr().err
    assert "3 of 4 runs of tiny are finished and kept in mine" in err
    assert "the same command goes on" in err
    assert "Traceback" not in err
    assert not (tiny / "data").exists()
    assert "3 were there, 1 done now" in typed(f"{SWEEP} --store mine")


@pytest.mark.usefixtures("tiny")
def test_a_store_that_may_not_be_written_is_told_in_one_sentence(monkeypatch, refused):
    def refuse(path, *_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(store, "write_whole", refuse)
    said = refused("sweep tiny --workers 1 --store mine", code=3)
    assert "no permission to write mine" in said
    assert "--store" in said


@pytest.mark.usefixtures("tiny")
def test_a_full_disk_is_told_in_one_sentence_and_the_same_command_goes_on(
    monkeypatch, refused, typed
):
    write, written = store.write_whole, []

    def fill_up(path, *rest):
        if path.parent.parent.name == "runs":
            written.append(path)
            if len(written) == 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_whole", fill_up)
        said = refused(SWEEP, code=3)
    assert "no room left" in said
    assert written[1].name in said
    assert "4 runs, 1 were there, 3 done now" in typed(SWEEP)


def test_a_data_folder_that_cannot_be_used_is_told_in_one_sentence(tiny, refused):
    (tiny / "data").write_text("a file in its place")
    assert "data" in refused(SWEEP, code=3)


# verify and compare.


@pytest.mark.usefixtures("swept")
def test_a_sample_or_all_runs_are_verified_and_the_samples_seed_is_printed(typed):
    out = typed("verify tiny --plays 300")
    seed = re.search(r"--seed (\d+)", out)
    assert seed is not None
    assert "2 runs (600 plays) of tiny simulated again" in out
    assert "no differences" in out
    assert typed(f"verify tiny --plays 300 --seed {seed[1]}") == out
    assert "4 runs (1.2e+03 plays) of tiny" in typed("verify --all")


def test_a_changed_result_is_a_difference_and_exit_code_1(swept, typed):
    path = swept / "data" / "tiny.runs.csv"
    path.write_text(path.read_text().replace(",300,", ",301,"))
    out = typed("verify", code=1)
    assert re.search(r"^differs: .*tiny\.runs\.csv", out)
    assert "1 difference\n" in out


@pytest.mark.usefixtures("tiny")
def test_where_there_are_no_results_that_is_said_and_what_to_do(tiny, refused):
    for line in ("verify tiny", "verify", "verify --data dat"):
        assert "there are no results" in (said := refused(line, code=3))
        assert "run this in the repository" in said
    (tiny / "data").mkdir()
    assert "no results of tiny in the folder 'data'" in refused("verify tiny", code=3)
    assert "no results in the folder 'data'" in refused("verify", code=3)


def test_a_sidecar_without_its_tables_is_something_to_verify(tiny, typed):
    (tiny / "data").mkdir()
    (tiny / "data" / "tiny.json").write_text("{")
    (tiny / "data" / "claims.json").write_text("[]")  # no experiment's
    out = typed("verify", code=1)
    assert re.search(r"^differs: .*tiny\.json is missing or cannot be read", out)
    assert "0 runs (0 plays) of tiny simulated again" in out


def test_missing_results_are_a_difference(swept, typed):
    (swept / "data" / "tiny.json").unlink()
    assert re.search(r"^differs: .*tiny\.json is missing", typed("verify tiny", code=1))


def test_compare_says_which_files_differ(swept, typed):
    (swept / "other").mkdir()
    for path in (swept / "data").iterdir():
        (swept / "other" / path.name).write_bytes(path.read_bytes())
    assert "nothing differs" in typed("compare data other")
    (swept / "other" / "tiny.curves.csv").write_text("run,plays,regret\n")
    assert typed("compare data other", code=1) == "tiny.curves.csv differs\n"


def test_two_folders_with_nothing_to_compare_are_not_called_alike(tiny, refused):
    for name in ("one", "other"):
        (tiny / name).mkdir()
    (tiny / "one" / "notes.txt").write_text("no result")
    assert "neither 'one' nor 'other' has results" in refused("compare one other", code=3)


def test_results_that_name_other_versions_are_verified_and_that_is_said(swept, typed):
    path = swept / "data" / "tiny.json"
    assert "versions" not in typed("verify")
    record = json.loads(path.read_text())
    record["made_with"]["numpy"] = "9.9"
    path.write_text(json.dumps(record))
    assert "made with other versions: numpy 9.9, here " in (said := typed("verify"))
    assert "(1 experiments)" in said


# A pipe in the place of a file: who opens it waits for a writer, and none will come.


@pytest.fixture
def in_time():
    """Ends a test that waits for ever."""

    def end(*_):
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def piped(path):
    """Puts a pipe into the place of a file."""
    Path(path).unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.usefixtures("swept", "in_time")
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("data/tiny.json", SWEEP),
        ("data/tiny.runs.csv", SWEEP),
        ("build/store/format.json", SWEEP),
        ("data/claims.json", "claims"),
        ("data/tiny.runs.csv", "compare data data"),
        ("data/claims.json", "compare data data"),
        ("data/one.png", "compare data data"),
    ],
)
def test_a_pipe_in_the_place_of_a_file_is_told_and_not_waited_for(refused, file, line):
    piped(file)
    said = refused(line, code=3)
    assert file in said
    assert "no regular file" in said


@pytest.mark.usefixtures("in_time")
@pytest.mark.parametrize("file", ["tiny.json", "tiny.runs.csv", "tiny.curves.csv"])
def test_a_pipe_in_the_place_of_a_result_is_a_difference(swept, typed, file):
    piped(swept / "data" / file)
    assert re.search(rf"^differs: data/{file} .*cannot be read", typed("verify tiny", code=1))


# claims.


@pytest.mark.parametrize(
    "claims",
    [
        *("", "{", "{}x", '{"id": "T1"}', '["T1"]', "[null]", '[{"id": "T1"}]'),
        '[{"id": 1, "verdict": "holds", "where": "Theorem 1"}]',
        '[{"id": "T1", "verdict": null, "where": "Theorem 1"}]',
    ],
)
def test_claims_that_cannot_be_read_are_told_in_one_sentence(tiny, claims, refused):
    (tiny / "claims.json").write_text(claims)
    assert "claims.json" in refused("claims --data .", code=3)


def test_claims_are_shown_with_verdict_and_place(tiny, typed):
    (tiny / "data").mkdir()
    settle("prop-1", "a", {}, HOLDS, SEEN, ".")
    settle("thm-2", "a", {}, NOT_REPRODUCED, SEEN, ".")
    assert [re.split(r" {2,}", row) for row in typed("claims").splitlines()] == [
        ["prop-1", "holds", SEEN, "Section 3.1, Proposition 1"],
        ["thm-2", "not reproduced", SEEN, "Section 3.2, Theorem 2"],
    ]


@pytest.mark.usefixtures("tiny")
def test_where_there_is_no_ledger_that_is_said_and_where_to_look(refused):
    said = refused("claims", code=3)
    assert "there is no data/claims.json; run this in the repository" in said
    assert "--data" in said


@pytest.mark.parametrize("plays", ["nan", "-1", "-inf"])
@pytest.mark.usefixtures("swept")
def test_a_number_of_plays_that_is_negative_or_none_is_refused(refused, plays):
    for line in ("verify tiny", "board --check entry.json"):
        said = refused(f"{line} --plays={plays}")
        assert said == f"heavybandit: --plays must be at least 0, got {plays}"


@pytest.mark.parametrize("line", ["verify tiny --seed -1", "sweep tiny --shuffle -1"])
@pytest.mark.usefixtures("swept")
def test_a_negative_seed_is_refused_by_its_name(refused, line):
    option = line.split()[-2]
    assert refused(line) == f"heavybandit: {option} must be at least 0, got -1"
