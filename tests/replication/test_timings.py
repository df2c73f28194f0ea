"""What was measured is read back as written, and a broken file is refused with a sentence."""

import dataclasses
import re
from pathlib import Path

import pytest

import heavybandit as hb
from forging import seal_again
from heavybandit.pipeline.store import StoreError
from heavybandit.pipeline.tables import consolidated, differences
from heavybandit.pipeline.verify import verify
from heavybandit.replication import timings
from heavybandit.replication.timings import Timing, judged, load, save

DATA = Path(__file__).parents[2] / "data"
MET = Timing(
    *("paper", "SupBTC, T = 1,000", "SupBTC", 1000, 10, 20, 1, 1.0),
    *("paper.py", "engine", "µs per round", 401.25, 4.5),
    *("ratio", 89.5, 80.25, 91.0, 3, "≥ 50", "met"),
)
PLAIN = Timing(
    *("sweeps", "workers: 2", "", None, None, None, None, None),
    *("in a sweep", "alone", "ms", 2.5, 0.5),
    *("difference", 2.0, -1.0, 2.25, 2, "", ""),
)


@pytest.fixture
def folder(tmp_path):
    save([MET, PLAIN], {"scale": "for tests"}, tmp_path)
    return tmp_path


def test_what_was_saved_is_loaded_again(folder):
    assert load(folder) == [MET, PLAIN]
    assert timings.about(folder)["scale"] == "for tests"


def test_a_row_has_a_cell_for_every_field_and_six_digits(folder):
    save([dataclasses.replace(MET, one_median=1234.56789)], {}, folder)
    header, row = (folder / "bench.csv").read_text(encoding="utf-8").splitlines()
    assert header.split(",") == [field.name for field in dataclasses.fields(Timing)]
    assert ",1234.57," in row


@pytest.mark.parametrize(
    ("goal", "median", "verdict"),
    [
        ("≤ 3", 3.0, "met"),
        ("≤ 3", 3.1, "missed"),
        ("≥ 500", 500.0, "met"),
        ("≥ 500", 499.9, "missed"),
        ("", 7.0, ""),
    ],
)
def test_a_goal_is_judged_on_the_median(goal, median, verdict):
    assert judged(goal, median) == verdict


@pytest.mark.parametrize("goal", ["= 3", "≤ nan", "< 3"])
def test_a_goal_that_says_nothing_is_refused(goal):
    with pytest.raises(ValueError, match="must read like"):
        judged(goal, 1.0)


@pytest.mark.parametrize("name", ["bench.csv", "bench.json"])
def test_a_missing_file_is_named_with_the_way_to_make_it(folder, name):
    (folder / name).unlink()
    with pytest.raises(StoreError, match=rf"{name} is missing.*tests/benchmark.py"):
        load(folder)


def test_a_table_edited_by_hand_is_refused(folder):
    path = folder / "bench.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("89.5", "95"), encoding="utf-8")
    with pytest.raises(StoreError, match="checksum does not match"):
        load(folder)


BROKEN = {  # why a table is refused → what was replaced in it, and by what
    "must have the columns section, what": ("section,what", "section,that"),
    "must have the columns": (r"^section,.*\n", ""),
    "cannot be read as a table": (r"(?s).*", ""),
    "line 2: could not convert string to float: 'fast'": (",89.5,", ",fast,"),
    "line 2: median must be finite, got nan": (",89.5,", ",nan,"),
    r"line 2: the median must lie between low and high, got 79.0 and \[80": (",89.5,", ",79,"),
    "line 2: by must be one of ratio, difference; got 'sum'": (",ratio,", ",sum,"),
    "line 2: the verdict on 89.5 with the goal '≥ 50' cannot be 'missed'": (",met", ",missed"),
    "line 2: a goal must read like": (",≥ 50,", ",= 50,"),
    "Expected 20 fields in line 3, saw 21": (",difference,", ",difference,1,"),
}


@pytest.mark.parametrize(("why", "change"), BROKEN.items(), ids=BROKEN)
def test_a_broken_table_that_the_sidecar_vouches_for_is_refused_with_what_is_wrong(
    folder, why, change
):
    path = folder / "bench.csv"
    path.write_text(re.sub(*change, path.read_text(encoding="utf-8"), count=1), encoding="utf-8")
    seal_again(folder, "bench")
    with pytest.raises(StoreError, match=why):
        load(folder)


def test_measurements_are_no_results_to_verify_or_compare(folder, tmp_path):
    others = tmp_path / "others"
    save([PLAIN], {}, others)
    assert consolidated(folder) == []
    assert verify(folder, seed=0, plays=1e9).runs == 0
    assert verify(folder, seed=0, plays=1e9).differences == []
    assert differences(folder, others) == []
    (others / "bench.csv").unlink()
    assert differences(others, folder) == []


def test_the_committed_costs_name_no_host_no_path_and_no_time():
    record = timings.about(DATA)
    assert set(record["machine"]) == {"system", "processor", "cores"}
    text = (DATA / "bench.json").read_text(encoding="utf-8").replace("tests/benchmark.py", "")
    text = text.replace(record["world"], "")
    assert "/" not in text
    assert not re.search(r"\d\d:\d\d|20\d\d-\d\d", text)


def test_every_committed_goal_is_told_in_words():
    rows = timings.goals(load(DATA))
    assert len(rows) == sum(bool(one.goal) for one in load(DATA)) > 0
    told = [row["comparison"] for row in rows]
    assert len(set(told)) == len(told)
    assert "SupBTC, T = 10,000: transcription over engine" in told


def test_a_single_turn_has_no_spread():
    assert timings.spread(MET) == "80.2 to 91.0"
    assert timings.spread(dataclasses.replace(MET, turns=1)) == "one turn"


def test_twins_are_those_at_the_printed_constants():
    narrow = dataclasses.replace(MET, what="SupBTC, T = 1,000, widths × 0.1")
    other = dataclasses.replace(MET, policy="TOFU")
    assert timings.twins([MET, narrow, other, PLAIN], "SupBTC") == [MET]


def grown(by, policy, *costs):
    """Timings of a policy at 1, 10, 100 … of what varies, so many µs per play."""
    blank = dataclasses.replace(MET, section=f"growth {by}", policy=policy, plays=2)
    return [
        dataclasses.replace(blank, **{by: 10**i}, one_median=2 * cost)
        for i, cost in enumerate(costs)
    ]


def test_a_rise_is_from_any_point_to_a_later_one():
    assert timings.rise([(1, 2.0), (2, 1.0), (3, 4.0), (4, 3.0)]) == 4.0
    assert timings.rise([(1, 3.0), (2, 2.0)]) == 1.0


def test_the_panels_of_growth_say_who_grows_most_and_by_how_much():
    known = [*grown("d", "TOFU", 3, 1, 7), *grown("d", "CRT", 1, 5, 6)]
    assert timings.growth(known, "d")["CRT"] == [(1, 1), (10, 5), (100, 6)]
    said = timings.growth_finding("d", timings.growth(known, "d"))
    assert said == "d: TOFU's grows most, 7.0-fold (d²: 10,000-fold)"
    known = [*grown("eps", "TOFU", 3, 1, 2), *grown("eps", "CRT", 1, 2, 1)]
    said = timings.growth_finding("eps", timings.growth(known, "eps"))
    assert said == "ε: TOFU's changes 3.0-fold, others at most 2.0-fold"


def test_the_title_above_the_twins_is_true_of_the_lines_that_are_drawn():
    """The engine has the second of the three lines of each panel."""
    figure = timings.draw_twins(load(DATA))
    lines = [line.get_xydata() for axes in figure.axes for line in axes.get_lines()[1::3]]
    largest = max(timings.rise([tuple(p) for p in line if p[0] >= 10**4]) for line in lines)
    assert [line[-1][0] for line in lines] == [10**7, 10**7]
    assert f"to 10⁷ plays one of the engine becomes at most {largest:.1f} times" in (
        figure.get_suptitle()
    )


def test_no_time_per_play_grows_in_proportion_to_T_or_K_or_to_the_square_of_d():
    """As the prose below the figure says; the titles are computed."""
    known = load(DATA)
    for by, power in (("T", 1), ("K", 1), ("d", 2)):
        for points in timings.growth(known, by).values():
            assert timings.rise(points) < (points[-1][0] / points[0][0]) ** power


def test_exact_roots_are_counted_of_rounds():
    player = hb.TOFU(2_000, 20, 10, v=4.0)
    assert timings.exact_roots(player) == 0
    hb.simulate(player, hb.section6("student-t"), seed=8)
    assert 0 < timings.exact_roots(player) < player.diagnostics["matrix_roots"]


def test_suspects_are_counted_after_every_block():
    world = hb.section6("student-t")
    player = hb.SupBTC(1_500, 20, 10, v=4.0, width_scale=0.003)
    counts = timings.count_suspects(player, world, seed=8, block=500)
    assert len(counts) == 3
    assert counts[-1] == player.diagnostics["suspects"]
    assert 0 < counts.max() <= player.diagnostics["most_suspects"]
