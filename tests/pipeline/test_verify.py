"""Verification finds what was changed, added, left out or renamed."""

import dataclasses
import json
import math

import pytest

from forging import change_lines, check_a_changed_digit, seal_again
from heavybandit.pipeline.recipes import digest
from heavybandit.pipeline.spec import EXPERIMENTS, RunSpec
from heavybandit.pipeline.tables import check_files
from heavybandit.pipeline.verify import verify
from tiny import TINY

FILES = ("tiny.runs.csv", "tiny.curves.csv", "tiny.json")


# Verification.


def test_fresh_results_have_no_differences(data):
    check = verify(data, seed=0, plays=math.inf)
    assert (check.runs, check.plays, check.differences) == (12, 12 * 300, [])


@pytest.mark.parametrize(
    ("name", "line", "column", "words"),
    [
        ("tiny.runs.csv", 3, "regret", ["run 2", "Uniform", "seed 5", "row"]),
        ("tiny.runs.csv", 4, "intervals_missed", ["run 3", "SupBTC", "seed 6", "row"]),
        ("tiny.runs.csv", 1, "visited", ["run 0", "SupBTC", "seed 5", "row"]),
        ("tiny.curves.csv", 2, "regret", ["run 0", "SupBTC", "seed 5", "curve"]),
    ],
)
def test_a_changed_digit_is_found_by_checksum_and_by_simulating_again(
    data, name, line, column, words
):
    check_a_changed_digit(data, name, line, column, runs=12, words=words)


FORGED = {
    "a row too many": ("runs", lambda lines: [*lines, lines[-1].replace("11,", "99,", 1)]),
    "a row twice": (
        "runs",
        lambda lines: [lines[0], lines[1].replace("student-t", "pareto"), *lines[1:]],
    ),
    "a row missing": ("runs", lambda lines: lines[:-1]),
    "curves missing": ("curves", lambda lines: lines[:1]),
    "a curve too many": ("curves", lambda lines: [*lines, "11,300,1.5\n"]),
    "columns exchanged": (
        "runs",
        lambda lines: [lines[0].replace("estimates,truncated", "truncated,estimates"), *lines[1:]],
    ),
    "a column renamed": ("runs", lambda lines: ["ruin" + lines[0].removeprefix("run"), *lines[1:]]),
}


@pytest.mark.parametrize("forged", FORGED)
def test_simulating_all_again_finds_what_was_added_left_out_or_renamed(data, forged):
    change_lines(data, *FORGED[forged])
    seal_again(data)
    assert verify(data, seed=0, plays=math.inf).differences != []


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(data, name):
    (data / name).unlink()
    found = check_files("tiny", data)
    assert len(found) == 1
    assert f"{data / name} is missing" in found[0]
    assert verify(data, seed=0, plays=1, names=["tiny"]).differences == found


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


def test_results_of_an_experiment_that_is_gone_are_named(data, monkeypatch):
    monkeypatch.delitem(EXPERIMENTS, "tiny")
    check = verify(data, seed=0, plays=1)
    assert check.runs == 0
    assert len(check.differences) == 1
    assert "tiny.json belongs to an experiment that no longer exists" in check.differences[0]


@pytest.mark.parametrize(
    "change", [{"seeds": 3}, {"curve_seeds": 2}, {"policies": TINY.policies[::-1]}]
)
def test_results_made_from_another_description_are_named(data, monkeypatch, change):
    monkeypatch.setitem(EXPERIMENTS, "tiny", dataclasses.replace(TINY, **change))
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
    assert (check.runs, check.plays) == (len(seen), 300 * len(seen))
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
