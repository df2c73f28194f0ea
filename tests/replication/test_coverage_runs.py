"""Coverage experiments: what identifies a run, and what a sweep writes of it."""

import dataclasses
import hashlib
import json
import math

import pytest

from forging import texts
from heavybandit import noise
from heavybandit.pipeline import spec as experiments
from heavybandit.pipeline.recipes import digest, recipe
from heavybandit.replication import coverage
from heavybandit.replication.catalogue import EXPERIMENTS
from heavybandit.replication.coverage import COUNTED, Case, Coverage, CoverageSpec, Trial, repeat
from tiny import CASES, COVERED

# Experiments.

SECTION6 = Case(recipe("section6", rounds=5), recipe("StudentT", df=3.0), 1.0, 10_000, 0.01)
SPEC = CoverageSpec("BMM", SECTION6, reps=10, seed=4)


def test_a_round_has_as_many_plays_as_printed_one_for_btc_or_what_the_case_says():
    printed = math.ceil(8 * math.log(2 * 20 * 10_000 * math.log(10_000) / 0.01))
    assert SPEC.plays_a_round == printed
    assert SPEC.plays == 10 * 5 * printed
    truncating = dataclasses.replace(SPEC, estimator="BTC")
    assert (truncating.plays_a_round, truncating.plays) == (1, 10 * 5)
    for estimator in coverage.ESTIMATORS:
        few = CoverageSpec(estimator, dataclasses.replace(SECTION6, plays=7), 10, 4)
        assert (few.plays_a_round, few.plays) == (7, 10 * 5 * 7)


CHANGES = {
    "estimator": lambda spec: dataclasses.replace(spec, estimator="BTC"),
    "reps": lambda spec: dataclasses.replace(spec, reps=11),
    "seed": lambda spec: dataclasses.replace(spec, seed=5),
    **{
        field: lambda spec, field=field, value=value: dataclasses.replace(
            spec, case=dataclasses.replace(spec.case, **{field: value})
        )
        for field, value in {
            "design": recipe("section6", rounds=6),
            "noise": recipe("StudentT", df=3.5),
            "eps": 0.5,
            "horizon": 10_001,
            "delta": 0.02,
            "plays": 8,
        }.items()
    },
}


def test_every_field_is_part_of_a_runs_identity():
    fields = {field.name for kind in (CoverageSpec, Case) for field in dataclasses.fields(kind)}
    assert set(CHANGES) == fields - {"case"}
    # with plays given, so that no change shows up in the number of plays alone
    given_plays = CoverageSpec("BMM", dataclasses.replace(SECTION6, plays=7), 10, 4)
    changed = [change(given_plays).key for change in CHANGES.values()]
    assert len({given_plays.key, *changed}) == 1 + len(CHANGES)


def test_a_run_names_how_it_was_counted_and_not_the_engine_that_it_does_not_use(monkeypatch):
    assert SPEC.as_json()["counting"] == coverage.COUNTING
    assert "engine" not in SPEC.as_json()
    key, salt = SPEC.key, SPEC.salt
    monkeypatch.setattr(experiments, "ENGINE_VERSION", experiments.ENGINE_VERSION + 1)
    again = dataclasses.replace(SPEC)  # a new one, since a run keeps its key
    assert (again.key, again.salt) == (key, salt)
    monkeypatch.setattr(coverage, "COUNTING", coverage.COUNTING + 1)
    assert dataclasses.replace(SPEC).key != key


def test_every_case_has_a_salt_of_its_own_that_its_seeds_and_repetitions_share():
    given_plays = CoverageSpec("BMM", dataclasses.replace(SECTION6, plays=7), 10, 4)
    salts = {field: change(given_plays).salt for field, change in CHANGES.items()}
    assert {field for field, salt in salts.items() if salt == given_plays.salt} == {"reps", "seed"}
    assert len(set(salts.values())) == len(CHANGES) - 1
    assert all(0 <= salt < 2**32 for salt in salts.values())


def test_a_salt_is_the_first_eight_digits_of_the_cases_checksum():
    written_out = (
        f'{{"counting":{coverage.COUNTING},"delta":0.01,'
        '"design":{"name":"section6","params":{"rounds":5.0}},"eps":1.0,"estimator":"BTC",'
        '"horizon":10000,"noise":{"name":"StudentT","params":{"df":3.0,"scale":1.0}},"plays":1}'
    )
    checksum = hashlib.sha256(written_out.encode()).hexdigest()
    assert CoverageSpec("BTC", SECTION6, 10, 4).salt == int(checksum[:8], 16)


@pytest.mark.parametrize("name", ["prop1", "prop2"])
def test_no_two_cases_of_an_experiment_draw_the_same_noise(name):
    salts = {run.case: run.salt for run in EXPERIMENTS[name].runs()}
    assert len(salts) > 50
    assert len(set(salts.values())) == len(salts)


def test_what_is_said_and_what_goes_without_saying_are_the_same_run():
    all_said = {"noise": recipe("StudentT", df=3, scale=1), "eps": 1, "plays": SPEC.plays_a_round}
    said = dataclasses.replace(SECTION6, **all_said)
    assert CoverageSpec("BMM", said, 10, 4).key == SPEC.key
    with_default, spelled = recipe("same"), recipe("same", rounds=2_500)
    keys = {
        CoverageSpec("BTC", dataclasses.replace(SECTION6, design=d), 1, 0).key
        for d in (with_default, spelled)
    }
    assert len(keys) == 1


def test_a_run_is_called_by_all_that_tells_it_apart():
    assert SPEC.text() == (
        "BMM on section6(rounds=5) with StudentT(df=3.0), eps 1.0, horizon 10000, seed 4"
    )


by_estimator = pytest.mark.parametrize("estimator", coverage.ESTIMATORS)


@by_estimator
def test_descriptions_survive_json(estimator):
    for what in (SPEC, COVERED[estimator], *COVERED[estimator].runs()):
        described = what.as_json()
        assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert COVERED[estimator].as_json()["cases"][1]["estimator"] == estimator
    assert COVERED[estimator].as_json()["cases"][1]["plays"] == 3


def test_a_description_names_every_field_of_an_experiment_but_its_sentence():
    tiny = COVERED["BMM"]
    changes = {
        "name": "other",
        "estimator": "BTC",
        "cases": CASES[:1],
        "reps": 9,
        "seeds": 3,
        "first_seed": 6,
    }
    assert {*changes, "what"} == {field.name for field in dataclasses.fields(Coverage)}
    changed = {digest(dataclasses.replace(tiny, **{k: v}).as_json()) for k, v in [*changes.items()]}
    assert len({digest(tiny.as_json()), *changed}) == 1 + len(changes)
    assert dataclasses.replace(tiny, what="reworded").as_json() == tiny.as_json()


def test_more_seeds_add_runs_and_leave_the_others_as_they_are():
    few, more = COVERED["BMM"], dataclasses.replace(COVERED["BMM"], seeds=4)
    assert few.as_json()["cases"] == more.as_json()["cases"]
    assert (few.as_json()["seeds"], more.as_json()["seeds"]) == (2, 4)
    assert {run.key for run in few.runs()} < {run.key for run in more.runs()}
    assert all(more.has_curve(run) for run in more.runs())
    assert all("seed" not in case for case in few.as_json()["cases"])


def test_every_run_goes_alone_a_case_after_the_other_and_its_seeds_in_order():
    groups = list(COVERED["BTC"].groups())
    assert [len(group) for group in groups] == [1] * 4
    wanted = [(case, seed) for case in CASES for seed in (5, 6)]
    assert [(run.case, run.seed) for (run,) in groups] == wanted
    assert COVERED["BTC"].runs() == [run for (run,) in groups]
    assert all((run.estimator, run.reps) == ("BTC", 8) for (run,) in groups)
    assert len({run.key for (run,) in groups}) == 4
    assert all(run.group == run.key for (run,) in groups)


# What a sweep writes.


@pytest.mark.parametrize("data", COVERED.values(), ids=COVERED, indirect=True)
def test_every_line_says_what_repeat_does(data):
    rows, curves = texts(data)
    runs = [run for run in EXPERIMENTS["tiny"].runs() if isinstance(run, CoverageSpec)]
    lines = []
    for i, (row, run) in enumerate(zip(rows, runs, strict=True)):
        first = run.case == CASES[0]
        design = coverage.section6_design(5) if first else coverage.same_design(50)
        law = noise.StudentT(3.0) if first else noise.SymmetricPareto(1.6)
        eps, T, plays = (1.0, 6, run.plays_a_round) if first else (0.5, 51, 3)
        found = repeat(Trial(design, law, run.estimator, eps, T, 0.9, plays), 8, run.seed, run.salt)
        assert row == {
            "run": str(i),
            "estimator": run.estimator,
            "design": "section6(rounds=5)" if first else "same(rounds=50)",
            "rounds": "5" if first else "50",
            "arms": "20" if first else "1",
            "law": "StudentT(df=3.0)" if first else "SymmetricPareto(shape=1.6)",
            "eps": "1" if first else "0.5",
            "v": f"{found['v']:.9g}",
            "horizon": str(T),
            "delta": "0.9",
            "plays": str(plays),
            "alpha": f"{found['alpha']:.9g}",
            "seed": str(5 + i % 2),
            "reps": "8",
            **{name: str(found[name]) for name in COUNTED},
            **{name: " ".join(map(str, found[name])) for name in ("high", "low")},
        }
        for kind in ("largest", "ridge", "single"):
            bins = dict(found["histograms"][kind])
            counts = " ".join(str(bins.get(k, 0)) for k in range(min(bins), max(bins) + 1))
            line = {"run": str(i), "kind": kind, "bin": str(min(bins)), "counts": counts}
            lines.append(line)
    assert curves == lines


@by_estimator
def test_a_sweep_counts_as_many_plays_as_its_runs_say(estimator):
    for run in COVERED[estimator].runs():
        reported = []
        run.run([run], reported.append)
        assert sum(reported) == run.plays


@pytest.mark.parametrize("name", ["bmm", "SupBMM", ""])
def test_an_estimator_or_a_number_of_plays_that_cannot_be_is_refused_at_the_door(name):
    with pytest.raises(ValueError, match=rf"estimator must be one of BMM, BTC; got {name!r}"):
        CoverageSpec(name, SECTION6, 10, 0)
    with pytest.raises(ValueError, match="estimator must be one of BMM, BTC; got "):
        Trial(coverage.same_design(2), noise.StudentT(), name, 1.0, 10, 0.1, 1)
    with pytest.raises(ValueError, match="plays"):
        CoverageSpec("BMM", dataclasses.replace(SECTION6, plays=-1), 1, 0)
