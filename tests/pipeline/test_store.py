"""The store: what goes in comes out exactly, and no damage to it passes for a result."""

import ast
import contextlib
import hashlib
import json
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heavybandit.pipeline import store, sweep
from heavybandit.pipeline import tables as results
from heavybandit.pipeline.spec import Experiment
from heavybandit.pipeline.store import Store, StoreError
from stored import RESULT, aside, everything, spec


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("shared"))


# What goes in comes out.

finite = st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(result=st.dictionaries(st.text(), plain, max_size=4))
def test_any_plain_result_comes_back_as_it_was(shared, result):
    shared.save(spec(), result)
    back = shared.load(spec())
    assert back == result
    # 1, 1.0 and True are equal, −0.0 and 0.0 too; in JSON they are not.
    assert json.dumps(back, sort_keys=True) == json.dumps(result, sort_keys=True)


def test_a_run_that_is_not_there_is_none_and_leaves_no_trace(kept):
    before = everything(kept.folder)
    assert kept.load(spec(1)) is None
    assert everything(kept.folder) == before
    assert kept.set_aside == []


def test_saving_leaves_nothing_behind_but_the_run(kept):
    assert list((kept.folder / "tmp").iterdir()) == []
    files = [p for p in (kept.folder / "runs").rglob("*") if p.is_file()]
    assert files == [kept.path(spec())]


# Damage.


@contextlib.contextmanager
def put_in_place(where, raw):
    """Other bytes in the place of seed 0's run; the set-aside folder is emptied afterwards."""
    path = where.path(spec())
    path.write_bytes(raw)
    yield path
    for left in aside(where):
        left.unlink()


def check_damage(where, good, bad):
    """A damaged file is set aside as it is, or says the same in other bytes and is taken."""
    with put_in_place(where, bad) as path:
        found = where.load(spec())
        if found is None:
            assert not path.exists()
            assert [p.read_bytes() for p in aside(where)] == [bad]
        else:
            assert json.loads(bad) == json.loads(good)
            assert json.dumps(found, sort_keys=True) == json.dumps(RESULT, sort_keys=True)
            assert path.read_bytes() == bad
            assert aside(where) == []


@pytest.mark.parametrize("bit", range(8))
def test_no_flipped_bit_anywhere_in_a_file_passes_for_a_result(kept, bit):
    good = kept.path(spec()).read_bytes()
    for position in range(len(good)):
        bad = bytearray(good)
        bad[position] ^= 1 << bit
        check_damage(kept, good, bytes(bad))


def test_no_file_cut_short_at_any_length_passes_for_a_result(kept):
    good = kept.path(spec()).read_bytes()
    for length in range(len(good)):
        check_damage(kept, good, good[:length])
        assert (kept.load(spec()) is None) == (length < len(good) - 1)  # the last is a newline


def sealed(record):
    """A record with a checksum that matches, as anyone could write it."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return json.dumps({**record, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, ""),
        ({"key": spec(1).key}, "belongs to other parameters"),
        ({"spec": spec(1).as_json()}, "belongs to other parameters"),
        ({"key": spec(1).key, "spec": spec(1).as_json()}, "belongs to other parameters"),
        ({"result": None}, "has no result"),
        ({"made_with": 3}, "does not say what made it"),
    ],
)
def test_a_file_written_by_hand_is_a_result_only_if_it_is_one_of_this_run(
    kept, other, said, capsys
):
    record = {"format": 1, "key": spec().key, "spec": spec().as_json()}
    record |= {"made_with": {"numpy": "2"}, "result": {"regret": 0.5}}
    with put_in_place(kept, sealed(record | other)):
        assert kept.load(spec()) == (None if other else {"regret": 0.5})
        assert said in capsys.readouterr().err


def test_a_file_as_deep_as_python_can_just_read_is_set_aside(kept):
    """At some of these depths it can be read and not be written again for its checksum."""
    for depth in range(800, 1000):
        nested = "[" * depth + "]" * depth
        with put_in_place(kept, f'{{"sha256": "", "format": 1, "result": {nested}}}'.encode()):
            assert kept.load(spec()) is None


def test_a_checked_file_without_a_regret_is_told_with_its_place(kept, tmp_path):
    kept.save(spec(), {})
    parts = {"worlds": (spec().world,), "policies": (spec().policy,), "horizons": (300,)}
    one = Experiment(name="one", what="", **parts, seeds=1, checkpoints=3)
    assert one.runs() == [spec()]
    with pytest.raises(StoreError, match=r"holds no result of .*KeyError.*remove it") as caught:
        results.consolidate(one, kept, tmp_path / "data")
    assert str(kept.path(spec())) in str(caught.value)


class Trap:
    """Creates a folder when unpickled."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


@pytest.mark.parametrize(
    "foreign",
    [
        *(b"", b"\n", b"null", b"[]", b"{}", b"17", b'"a result"', b"plays,regret\n1,2\n"),
        b'{"sha256": "", "format": 1}',
        b'{"sha256": null, "format": null, "result": NaN}',
        b"\xff\xfe\x00\x01",
        '{"format": 1}'.encode("utf-16"),
        b"[" * 100_000,
        pickle.dumps(Trap(), protocol=0),
    ],
    ids=range(14),
)
def test_a_file_that_is_no_result_is_set_aside_and_the_run_can_be_done_again(
    kept, tmp_path, monkeypatch, foreign
):
    monkeypatch.chdir(tmp_path)
    kept.path(spec()).write_bytes(foreign)
    assert kept.load(spec()) is None
    assert not Path("sprung").exists()  # a pickle is not opened
    assert [p.read_bytes() for p in aside(kept)] == [foreign]
    kept.save(spec(), RESULT)
    assert kept.load(spec()) == RESULT


@pytest.mark.parametrize("module", [store, results, sweep], ids=lambda m: m.__name__)
def test_no_source_that_reads_results_can_unpickle_or_evaluate(module):
    banned = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "eval", "exec"}
    used = set()
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
            used |= {part for name in names for part in name.split(".")}
        elif isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            assert (owner, node.attr) not in {("np", "load"), ("joblib", "load")}
    assert not used & banned


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_in_a_runs_place_is_an_error_that_names_it(kept, make):
    """Reading a pipe without a writer would wait for ever."""
    path = kept.path(spec(1))
    path.parent.mkdir(exist_ok=True)
    make(path)
    with pytest.raises(StoreError, match=path.name):
        kept.load(spec(1))
    assert path.exists()
    assert kept.load(spec()) == RESULT


def test_set_aside_files_are_numbered_and_never_overwritten(kept):
    bad = [b"first", b"second", b"third"]
    for raw in bad:
        kept.path(spec()).write_bytes(raw)
        assert kept.load(spec()) is None
    key = spec().key
    assert [p.name for p in aside(kept)] == [f"{key}.{n}.json" for n in range(3)]
    assert [p.read_bytes() for p in aside(kept)] == bad


def test_the_message_about_a_damaged_file_names_it_the_reason_and_its_new_place(kept, capsys):
    path = kept.path(spec())
    damaged = path.read_text().replace("31.8", "31.9")
    reasons = {b"{": "cut short", damaged.encode(): "checksum"}
    for number, (raw, reason) in enumerate(reasons.items()):
        path.write_bytes(raw)
        kept.load(spec())
        message = capsys.readouterr().err
        assert message.startswith("heavybandit: ")
        assert message.count("\n") == 1
        for part in (path.name, reason, str(aside(kept)[number]), "again"):
            assert part in message
        assert kept.set_aside[number] in message


def test_damage_to_one_run_leaves_the_others_untouched(kept):
    for seed in range(1, 6):
        kept.save(spec(seed), {"regret": float(seed)})
    before = everything(kept.folder / "runs")
    kept.path(spec(3)).write_bytes(b"{")
    assert kept.load(spec(3)) is None
    gone = str(kept.path(spec(3)).relative_to(kept.folder / "runs"))
    del before[gone]
    assert everything(kept.folder / "runs") == before
    found = [kept.load(spec(seed)) for seed in (1, 2, 4, 5)]
    assert found == [{"regret": float(seed)} for seed in (1, 2, 4, 5)]


def test_a_damaged_file_that_another_process_has_just_set_aside_counts_as_not_there(
    kept, monkeypatch
):
    path = kept.path(spec())
    path.write_bytes(b"{")
    examine = store._what_is_wrong

    def slowly(raw, asked):
        path.unlink()  # the other was quicker
        return examine(raw, asked)

    monkeypatch.setattr(store, "_what_is_wrong", slowly)
    assert kept.load(spec()) is None


# Other versions.


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize(
    ("marker", "said"),
    [
        (b'{"format": 2}\n', "format 2.*knows format 1.*another folder"),
        *((x, "cannot be read") for x in (b"", b"{", b"{}", b"[]", b"null", b"\xff\xfe", b"store")),
        (None, "format.json"),  # a folder in its place
    ],
)
def test_a_store_whose_format_is_not_ours_is_refused_and_left_as_it_is(
    kept, tmp_path, used, marker, said
):
    """A used one, and a folder with nothing else in it, in which no other folder is made."""
    folder = kept.folder if used else tmp_path / "new"
    folder.mkdir(exist_ok=True)
    path = folder / "format.json"
    path.unlink(missing_ok=True)
    if marker is None:
        path.mkdir()
    else:
        path.write_bytes(marker)
    if used:
        (folder / "tmp" / "half-written-1").write_text("x")
    before = everything(folder)
    with pytest.raises(StoreError, match=said) as caught:
        Store(folder)
    assert str(folder) in str(caught.value)
    assert everything(folder) == before


def test_a_file_in_the_stores_place_is_an_error_that_names_it(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(StoreError, match="notes"):
        Store(tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_single_result_of_a_newer_format_is_an_error_and_left_as_it_is(kept):
    newer = {"format": 2, "key": spec().key, "spec": spec().as_json(), "result": RESULT}
    with put_in_place(kept, sealed(newer)) as path:
        with pytest.raises(StoreError, match=r"format 2.*newer") as caught:
            kept.load(spec())
        assert path.name in str(caught.value)
        assert path.read_bytes() == sealed(newer)
        assert aside(kept) == []
