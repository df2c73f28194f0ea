"""Verification finds what was changed, added, left out or renamed."""

import dataclasses
import json
import math

import pytest

from forging import change_a_digit, change_lines, seal_again
from heavybandit.pipeline.recipes import digest, recipe
from heavybandit.pipeline.spec import EXPERIMENTS, RunSpec
from heavybandit.pipeline.tables import check_files
from heavybandit.pipeline.verify import verify
from heavybandit.replication.coverage import COUNTED
from tiny import AUDITED, COVERED, TINY, filled, published

FILES = ("tiny.runs.csv", "tiny.curves.csv", "tiny.json")
KINDS = {"regret": TINY, "audited": AUDITED, **COVERED}


@pytest.mark.parametrize("data", KINDS.values(), ids=KINDS, indirect=True)
def test_fresh_results_have_no_differences(data):
    runs = EXPERIMENTS["tiny"].runs()
    check = verify(data, seed=0, plays=math.inf)
    plays = sum(run.plays for run in runs)
    assert (check.runs, check.plays, check.differences) == (len(runs), plays, [])


STAGES = AUDITED.runs()[0].curve_columns
FIRST_CASE = ("section6(rounds=5)", "StudentT(df=3.0)")
SECOND_CASE = ("same(rounds=50)", "SymmetricPareto")
CHANGED = [
    (TINY, "runs", 3, "regret", ["run 2", "Uniform", "seed 5"]),
    (TINY, "runs", 4, "intervals_missed", ["run 3", "SupBTC", "seed 6"]),
    (TINY, "runs", 1, "visited", ["run 0", "SupBTC", "seed 5"]),
    (TINY, "curves", 2, "regret", ["run 0", "SupBTC", "seed 5"]),
    *((AUDITED, "curves", 2, c, ["run 0", "SupBTC", "seed 5"]) for c in STAGES[1:]),
    *(
        (covered, kind, line, column, words)
        for covered in COVERED.values()
        for kind, line, column, words in (
            *(
                ("runs", 2, column, ["run 1", "seed 6", *FIRST_CASE])
                for column in ("v", "alpha", "reps", *COUNTED, "high", "low")
            ),
            ("runs", 4, "misses", ["run 3", "seed 6", *SECOND_CASE]),
            ("curves", 2, "counts", ["run 0", "seed 5", *FIRST_CASE]),
            ("curves", 2, "bin", ["run 0", "seed 5", *FIRST_CASE]),
            ("curves", -1, "counts", ["run 3", "seed 6", *SECOND_CASE]),
        )
    ),
]


@pytest.mark.parametrize(("data", "kind", "line", "column", "words"), CHANGED, indirect=["data"])
def test_a_changed_digit_is_found_by_checksum_and_by_simulating_again(
    data, kind, line, column, words
):
    """By checksum, and then nothing is run; or, where that agrees, by running all."""
    name, runs = f"tiny.{kind}.csv", len(EXPERIMENTS["tiny"].runs())
    change_a_digit(data, name, line, column)
    part = {"runs": "row", "curves": "curve"}[kind]
    for ran, said in ((0, [name, "checksum"]), (runs, [*words, part])):
        check = verify(data, seed=0, plays=math.inf)
        assert (check.runs, len(check.differences)) == (ran, 1), check
        assert [word for word in said if word not in check.differences[0]] == [], check
        seal_again(data)


def first_columns(line):
    return ",".join(line.split(",")[:3]) + "\n"


FORGED = {
    "a row too many": (TINY, "runs", lambda lines: [*lines, lines[-1].replace("11,", "99,", 1)]),
    "a row twice": (
        TINY,
        "runs",
        lambda lines: [lines[0], lines[1].replace("student-t", "pareto"), *lines[1:]],
    ),
    "a row missing": (TINY, "runs", lambda lines: lines[:-1]),
    "curves missing": (TINY, "curves", lambda lines: lines[:1]),
    "a curve too many": (TINY, "curves", lambda lines: [*lines, "11,300,1.5\n"]),
    "columns exchanged": (
        TINY,
        "runs",
        lambda lines: [lines[0].replace("estimates,truncated", "truncated,estimates"), *lines[1:]],
    ),
    "a column renamed": (TINY, "runs", lambda lines: [lines[0].replace("run", "ruin"), *lines[1:]]),
    "a stage missing": (AUDITED, "curves", lambda lines: lines[:-1]),
    "a stage twice": (AUDITED, "curves", lambda lines: [*lines, lines[-1]]),
    "curves for stages": (
        AUDITED,
        "curves",
        lambda lines: ["run,plays,regret\n", *map(first_columns, lines[1:])],
    ),
    "a histogram left out": (
        COVERED["BMM"],
        "curves",
        lambda lines: [x for x in lines if not x.startswith("3,single,")],
    ),
}


@pytest.mark.parametrize(("data", "kind", "change"), FORGED.values(), ids=FORGED, indirect=["data"])
def test_simulating_all_again_finds_what_was_added_left_out_or_renamed(data, kind, change):
    change_lines(data, kind, change)
    seal_again(data)
    assert verify(data, seed=0, plays=math.inf).differences != []


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(data, name):
    (data / name).unlink()
    found = check_files("tiny", data)
    assert len(found) == 1
    assert f"{data / name} is missing" in found[0]
    for names in (["tiny"], None):  # also if nobody names it
        assert verify(data, seed=0, plays=1, names=names).differences == found


@pytest.mark.parametrize(
    "sidecar",
    [
        "",
        "{",
        "{}",
        "[]",
        "null",
        '{"files": {}}',
        '{"files": [], "experiment_sha256": ""}',
        '{"files": null, "experiment_sha256": ""}',
    ],
)
def test_a_sidecar_that_cannot_be_read_is_named(data, sidecar):
    (data / "tiny.json").write_text(sidecar)
    found = verify(data, seed=0, plays=1).differences
    assert len(found) == 1
    assert f"{data / 'tiny.json'} is missing or cannot be read" in found[0]


def test_a_sidecar_that_vouches_for_no_file_is_not_taken_for_a_good_one(data):
    asked = digest(TINY.as_json())
    (data / "tiny.json").write_text(json.dumps({"files": {}, "experiment_sha256": asked}))
    assert check_files("tiny", data) != []


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("experiment", "first_seed"), 6),
        (("experiment", "seeds"), 3),
        (("experiment_sha256",), "0" * 64),
        (("checked", "by"), "a friend"),
        (("made_with", "engine"), 1),
        (("made_with", "scipy"), "1.17"),
    ],
)
def test_a_sidecar_whose_provenance_was_changed_is_named(data, where, value):
    sidecar = json.loads((data / "tiny.json").read_text())
    place = sidecar
    for key in where[:-1]:
        place = place.setdefault(key, {})
    place[where[-1]] = value
    (data / "tiny.json").write_text(json.dumps(sidecar))
    found = verify(data, seed=0, plays=1).differences
    assert len(found) == 1
    assert found[0].startswith(str(data / "tiny.json"))


def test_results_of_an_experiment_that_is_gone_are_named(data, monkeypatch):
    monkeypatch.delitem(EXPERIMENTS, "tiny")
    check = verify(data, seed=0, plays=1)
    assert check.runs == 0
    assert len(check.differences) == 1
    assert "tiny.json belongs to an experiment that no longer exists" in check.differences[0]


@pytest.mark.parametrize(
    ("data", "change"),
    [
        *((TINY, x) for x in ({"seeds": 3}, {"curve_seeds": 2}, {"policies": TINY.policies[::-1]})),
        (AUDITED, {"audit": False}),
    ],
    indirect=["data"],
)
def test_results_made_from_another_description_are_named(data, monkeypatch, change):
    other = dataclasses.replace(EXPERIMENTS["tiny"], **change)
    monkeypatch.setitem(EXPERIMENTS, "tiny", other)
    found = verify(data, seed=0, plays=1).differences
    assert len(found) == 1
    assert "another description of tiny" in found[0]
    assert "heavybandit sweep tiny" in found[0]


def test_a_new_sentence_about_an_experiment_does_not_make_its_results_old(data, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "tiny", dataclasses.replace(TINY, what="reworded"))
    assert check_files("tiny", data) == []


RUN = RunSpec.run


def sampled(data, monkeypatch, *, seed, plays):
    """The runs that a verification simulates."""
    seen = []

    def watched(specs):
        seen.extend(specs)
        return RUN(specs)

    monkeypatch.setattr(RunSpec, "run", staticmethod(watched))
    check = verify(data, seed=seed, plays=plays)
    assert check.differences == []
    assert (check.runs, check.plays) == (len(seen), sum(spec.plays for spec in seen))
    return seen


@pytest.mark.parametrize(
    ("plays", "runs"), [(0, 1), (1, 1), (299, 1), (300, 2), (600, 3), (1000, 4), (math.inf, 12)]
)
def test_a_sample_has_one_run_and_as_many_more_as_its_plays_allow(data, monkeypatch, plays, runs):
    seen = sampled(data, monkeypatch, seed=1, plays=plays)
    assert len(seen) == len({spec.key for spec in seen}) == runs


def test_a_sample_is_determined_by_its_seed_and_differs_between_seeds(data, monkeypatch):
    samples = [sampled(data, monkeypatch, seed=seed, plays=900) for seed in (0, 1, 2, 3)]
    again = [sampled(data, monkeypatch, seed=seed, plays=900) for seed in (0, 1, 2, 3)]
    assert samples == again
    # Four equal samples of 4 of 12 would have the probability (1/495)³.
    assert len({frozenset(spec.key for spec in sample) for sample in samples}) > 1


@pytest.mark.parametrize("long", [300, 50])
def test_a_sample_has_long_runs_only_if_its_plays_allow(tmp_path, monkeypatch, long):
    """If all runs are long, the one that every sample has is of the shortest."""
    mixed = {"policies": (recipe("Uniform"),), "horizons": (300, 100)}  # of each 4 runs
    short_and_long = dataclasses.replace(TINY, **mixed)
    store = filled(tmp_path / "store", short_and_long)
    data = published(monkeypatch, store, tmp_path / "data", short_and_long)
    monkeypatch.setattr("heavybandit.pipeline.verify.LONG", long)
    for seed in range(6):  # by chance (1/2)⁶
        assert [s.plays for s in sampled(data, monkeypatch, seed=seed, plays=99)] == [100]
    assert len(sampled(data, monkeypatch, seed=0, plays=math.inf)) == 8
