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


def test_a_store_opened_again_has_its_runs(kept):
    assert Store(kept.folder).load(spec()) == RESULT


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


def test_a_file_written_by_hand_with_the_right_checksum_is_a_result(kept):
    record = {"format": 1, "key": spec().key, "spec": spec().as_json(), "result": {"regret": 0.5}}
    with put_in_place(kept, sealed(record)):
        assert kept.load(spec()) == {"regret": 0.5}


def test_the_file_of_another_run_is_not_taken_for_this_one(kept, capsys):
    kept.save(spec(1), {"regret": -1.0})
    kept.path(spec()).write_bytes(kept.path(spec(1)).read_bytes())
    assert kept.load(spec()) is None
    assert "belongs to other parameters" in capsys.readouterr().err
    assert kept.load(spec(1)) == {"regret": -1.0}


@pytest.mark.parametrize("other", [{"key": spec(1).key}, {"spec": spec(1).as_json()}])
def test_a_file_whose_key_or_description_is_another_runs_is_not_taken(kept, other, capsys):
    record = {"format": 1, "key": spec().key, "spec": spec().as_json(), "result": RESULT}
    with put_in_place(kept, sealed(record | other)):
        assert kept.load(spec()) is None
        assert "belongs to other parameters" in capsys.readouterr().err


class Trap:
    """Creates a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize(
    "foreign",
    [
        *(b"", b"\n", b"null", b"[]", b"{}", b"17", b'"a result"', b"plays,regret\n1,2\n"),
        b'{"sha256": "", "format": 1}',
        b'{"sha256": null, "format": null, "result": NaN}',
        b"\xff\xfe\x00\x01",
        '{"format": 1}'.encode("utf-16"),
        b"[" * 100_000,
    ],
    ids=range(13),
)
def test_a_file_that_is_no_result_is_set_aside_and_the_run_can_be_done_again(kept, foreign):
    kept.path(spec()).write_bytes(foreign)
    assert kept.load(spec()) is None
    assert [p.read_bytes() for p in aside(kept)] == [foreign]
    kept.save(spec(), RESULT)
    assert kept.load(spec()) == RESULT


def test_a_pickle_is_set_aside_and_not_opened(kept, tmp_path):
    sprung = tmp_path / "sprung"
    trap = pickle.dumps(Trap(str(sprung)), protocol=0)
    kept.path(spec()).write_bytes(trap)
    assert kept.load(spec()) is None
    assert not sprung.exists()
    assert [p.read_bytes() for p in aside(kept)] == [trap]


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


def test_a_directory_in_a_runs_place_is_an_error_that_names_it(kept):
    path = kept.path(spec(1))
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match=path.name):
        kept.load(spec(1))
    assert path.is_dir()
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


def test_a_store_of_a_newer_format_is_refused_and_left_as_it_is(kept):
    (kept.folder / "tmp" / "half-written-1").write_text("x")
    (kept.folder / "format.json").write_text('{"format": 2}\n')
    before = everything(kept.folder)
    with pytest.raises(StoreError, match=r"format 2.*knows format 1.*another folder"):
        Store(kept.folder)
    assert everything(kept.folder) == before


@pytest.mark.parametrize("marker", ['{"format": 2}', "no marker of ours"])
def test_no_folder_is_made_in_a_store_that_is_refused(tmp_path, marker):
    (tmp_path / "format.json").write_text(marker)
    with pytest.raises(StoreError):
        Store(tmp_path)
    assert everything(tmp_path) == {"format.json": marker.encode()}


def test_a_single_result_of_a_newer_format_is_an_error_and_left_as_it_is(kept):
    newer = {"format": 2, "key": spec().key, "spec": spec().as_json(), "result": RESULT}
    with put_in_place(kept, sealed(newer)) as path:
        with pytest.raises(StoreError, match=r"format 2.*newer") as caught:
            kept.load(spec())
        assert path.name in str(caught.value)
        assert path.read_bytes() == sealed(newer)
        assert aside(kept) == []


@pytest.mark.parametrize("marker", [b"", b"{", b"{}", b"[]", b"null", b"\xff\xfe", b"store"])
def test_an_unreadable_format_file_is_an_error_that_names_it(kept, marker):
    path = kept.folder / "format.json"
    path.write_bytes(marker)
    before = everything(kept.folder)
    with pytest.raises(StoreError, match="cannot be read") as caught:
        Store(kept.folder)
    assert str(path) in str(caught.value)
    assert everything(kept.folder) == before


def test_a_folder_in_the_format_files_place_is_an_error_that_names_it(tmp_path):
    (tmp_path / "format.json").mkdir()
    with pytest.raises(StoreError, match=r"format\.json"):
        Store(tmp_path)


def test_a_file_in_the_stores_place_is_an_error_that_names_it(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(StoreError, match="notes"):
        Store(tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"
