"""The benchmark runs from end to end, takes turns, and shows a missed goal as missed."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import benchmark
from bench import peers, sections, sides
from bench.measuring import table, turns_of, weigh
from bench.sections import DEFAULT, FULL, QUICK, SECTIONS
from heavybandit.replication.timings import Timing, about, load

ROOT = Path(__file__).parents[2]
LEFT_OUT = "left out MABWiser and coba, which are not installed; make bench installs them"


def missed_row(goal: str = "≤ 2") -> Timing:
    return weigh("floor world", "SupBTC, T = 10", ("whole", "drawing"), [(9.0, 3.0)], goal=goal)


def test_the_quick_benchmark_runs_from_end_to_end(tmp_path: Path) -> None:
    command = [sys.executable, "tests/benchmark.py", "--quick", "--strict", "--record"]
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for title, _ in SECTIONS.values():
        assert f". {title}" in done.stdout
    assert "no goal was judged" in done.stdout
    assert "turn 1 of 1" in done.stderr
    measured = {cost.section.replace(" ", "-") for cost in load(tmp_path)}
    there = peers.installed()
    assert measured == set(SECTIONS) - (set() if there else {"peers"})
    assert (LEFT_OUT in done.stdout) == (not there)
    assert about(tmp_path)["scale"] == "quick"


def test_the_processor_time_of_a_command_is_also_that_of_its_children() -> None:
    """A child that ends once it has had 0.2 s of processor time, whatever the clock says."""
    child = "import time\nwhile time.process_time() < 0.2: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print(7)"
    answer, processor = sides.with_its_processes([sys.executable, "-c", parent])
    assert answer.strip() == b"7"
    assert processor >= 0.2


def test_without_the_peers_it_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda _: None)
    monkeypatch.setattr(benchmark, "POLICIES", ())
    assert benchmark.measure(QUICK, ["peers"]) == []
    assert LEFT_OUT in capsys.readouterr().out


def test_the_two_sides_take_turns_and_are_compared_turn_by_turn() -> None:
    calls = []

    def side(name: str, values: list[float]) -> float:
        calls.append(name)
        return values.pop(0)

    ones, others = [2.0, 30.0, 4.0], [1.0, 10.0, 1.0]
    pairs = turns_of("x", lambda: side("one", ones), lambda: side("other", others), 3)
    assert calls == ["one", "other"] * 3
    ratio = weigh("s", "x", ("one", "other"), pairs, goal="≤ 2.5")
    assert (ratio.one_median, ratio.other_median) == (4.0, 1.0)
    assert (ratio.median, ratio.low, ratio.high, ratio.turns) == (3.0, 2.0, 4.0, 3)
    assert ratio.verdict == "missed"
    difference = weigh("s", "x", ("one", "other"), pairs, by="difference")
    assert (difference.median, difference.low, difference.high) == (3.0, 1.0, 20.0)


def test_a_missed_goal_is_printed_as_missed(capsys: pytest.CaptureFixture[str]) -> None:
    table("A title", [missed_row(), missed_row("≤ 4")])
    title, _, *lines = capsys.readouterr().out.strip().splitlines()
    assert title == "A title, µs per round"
    assert [line.split()[-1] for line in lines] == ["missed", "met"]
    assert "3.00 [3.00, 3.00]" in lines[0]


def test_the_summary_lists_what_was_missed_and_strict_makes_it_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "measure", lambda *_: [missed_row()])
    listed = "goals missed: 1 of 1\n  floor world: SupBTC, T = 10: 3.00, goal ≤ 2"
    for options, code in (([], 0), (["--strict"], 1)):
        assert benchmark.main(["--record", str(tmp_path), *options]) == code
        assert listed in capsys.readouterr().out
        assert load(tmp_path) == [missed_row()]


def test_a_section_measured_alone_leaves_the_others_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {name: weigh(name, "x", ("a", "b"), [(9.0, 3.0)]) for name in ("uniform", "leaps")}
    found = list(rows.values())
    monkeypatch.setattr(benchmark, "measure", lambda *_: found)
    assert benchmark.main(["--record", str(tmp_path)]) == 0
    made = about(tmp_path)["made_with"]
    found = [weigh("leaps", "y", ("a", "b"), [(8.0, 2.0)])]
    assert benchmark.main(["--record", str(tmp_path), "--only", "leaps"]) == 0
    assert load(tmp_path) == [rows["uniform"], *found]
    told = about(tmp_path)
    assert (told["made_with"], told["added_with"]) == (made, {"leaps": made})
    assert told["sections"] == list(SECTIONS)
    with pytest.raises(SystemExit, match=r"same scale.*'default', this was 'quick'"):
        benchmark.main(["--record", str(tmp_path), "--only", "leaps", "--quick"])
    assert load(tmp_path) == [rows["uniform"], *found]


def test_leaps_are_measured_at_each_horizon_over_the_shortest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def leap_ms(policy: str, instance: str, T: int) -> float:
        asked.append((policy, instance, T))
        return float(len(str(T)))

    monkeypatch.setattr(sections, "leap_ms", leap_ms)
    rows = list(sections.leaps(FULL))
    assert len(rows) == 2 * 2 * len(FULL.leapt)
    assert [(row.T, row.median) for row in rows[:5]] == [
        (10**k, pytest.approx((k + 1) / 5)) for k in (4, 6, 9, 12, 15)
    ]
    assert asked[:4] == [("SupBMM", "coin", 10**4)] * 4
    assert {row.policy for row in rows} == {"SupBMM", "SupBTC"}


def test_two_workers_are_measured_by_the_clock_and_by_what_all_processes_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def swept(T: int, seeds: int, workers: int) -> sides.Swept:
        asked.append((T, seeds, workers))
        return sides.Swept(runs=64, wall=60.0 / workers, processor=58.0 + 2 * workers)

    monkeypatch.setattr(sections, "swept", swept)
    clock, processor = sections.workers(FULL)
    assert asked == [(FULL.long, FULL.seeds, 1), (FULL.long, FULL.seeds, 2)]
    assert (clock.median, clock.goal, clock.verdict) == (2.0, "≥ 1.7", "met")
    assert (processor.median, processor.goal) == (pytest.approx(60 / 62, rel=1e-5), "")


def test_tofu_is_held_against_supbtc_at_the_largest_d(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = {"TOFU": 24.0, "SupBTC": 6.0}
    monkeypatch.setattr(sides.Case, "whole", lambda case: lambda: cost.get(case.policy, 1.0))
    monkeypatch.setattr(sides.Case, "drawing", lambda _: lambda: 1.0)
    row = list(sections.growth_d(FULL))[-1]
    assert (row.what, row.d, row.median) == ("TOFU over SupBTC, d = 40", 40, 4.0)
    assert (row.goal, row.verdict, row.policy) == ("≤ 5", "met", "")


def test_a_section_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        benchmark.arguments(["--only", "peers,speed"])
    assert "--only must name some of uniform, horizon" in capsys.readouterr().err


def test_the_transcription_must_fall_further_behind_as_the_horizon_grows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratios = {1_000: 90.0, 2_000: 80.0, 5_000: 400.0, 10_000: 499.0}

    def twins(case: sides.Case, what: str, turns: int, goal: str = "") -> Timing:
        pairs = [(ratios[case.T], 1.0)] * turns
        return weigh("paper", what, ("paper.py", "engine"), pairs, goal=goal, T=case.T)

    monkeypatch.setattr(sections, "_twins", twins)
    sections._transcribed.cache_clear()
    rows = [(row.goal, row.verdict) for row in sections.paper(FULL)]
    assert rows[:4] == [("", ""), ("", ""), ("", ""), ("≥ 500", "missed")]
    growth = [(row.median, row.verdict) for row in sections.paper_grows(FULL)]
    assert growth == [(pytest.approx(8 / 9, rel=1e-5), "missed"), (5.0, "met"), (1.2475, "met")]
    sections._transcribed.cache_clear()


@pytest.mark.parametrize("name", ["NumPy", "MABWiser", "coba"])
def test_the_peers_choose_the_arms_that_the_engine_chooses(name: str) -> None:
    if name in peers.MODULES:
        pytest.importorskip(peers.MODULES[name])
    assert peers.task(150).other(name)() > 0


def test_a_peer_that_chooses_another_arm_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    task = peers.task(20)
    arms = task.arms.tolist()
    arms[7] = (arms[7] + 1) % 20
    monkeypatch.setitem(peers.LOOPS, "odd", lambda _: lambda: arms)
    with pytest.raises(AssertionError, match=f"odd chose arm {arms[7]} in round 8 where"):
        task.other("odd")()


def test_a_process_of_its_own_times_the_ends_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    clock = SimpleNamespace(process_time=lambda: next(seconds))  # a second a look
    monkeypatch.setattr(sides, "time", clock)
    seen = sides.run_alone("LinUCB", 20_000)
    # Blocks have 655 rounds: the third tenth ends after 10 of them, the ninth after 28.
    assert seen.whole == pytest.approx(1e6 * 10 / 20_000)
    assert seen.early == pytest.approx(1e6 * 3 / (10 * 655))
    assert seen.late == pytest.approx(1e6 * 1 / (20_000 - 28 * 655))
    assert seen.drawing > 0
    assert seen.peak > 50


def test_goals_are_for_full_horizons_and_not_for_a_try() -> None:
    assert (DEFAULT.goal("≤ 2"), FULL.goal("≤ 2"), QUICK.goal("≤ 2")) == ("≤ 2", "≤ 2", "")


def test_the_committed_costs_answer_every_section_and_no_other() -> None:
    assert {cost.section.replace(" ", "-") for cost in load(ROOT / "data")} == set(SECTIONS)
