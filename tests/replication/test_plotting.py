"""Figures: the same bytes each time, words beside the picture, one identity per policy."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from IPython import display as ipython
from matplotlib.colors import to_rgba

import heavybandit as hb
from heavybandit.engine import POLICIES
from heavybandit.replication import map_figures, plotting, section_6


@pytest.fixture
def axes():
    return plotting.panels()[1]


def drawn():
    figure, axes = plotting.panels()
    plotting.rows(axes, ["a", "b"], [1.0, 10.0], spans=[(0.5, 2.0), (5.0, 20.0)], label="x")
    plotting.rule(axes, 3.0, "three")
    return figure


def test_every_policy_looks_like_no_other():
    assert len({kind.look for kind in POLICIES.values()}) == len(POLICIES)


def test_words_in_a_policys_colour_can_be_read_and_keep_its_hue():
    assert plotting.contrast("#000000") == pytest.approx(21)
    assert plotting.contrast("#767676") == pytest.approx(4.54, abs=0.005)  # the WCAG's example
    for colour in {kind.look.colour for kind in POLICIES.values()} | set(plotting.PALETTE):
        assert plotting.contrast(plotting.ink(colour)) >= 4.5
    assert plotting.ink("#0072B2") == "#0072B2"
    assert plotting.ink("#E69F00") == "#966700"


def test_policies_in_one_figure_look_different_and_known_ones_as_usual():
    names = ["CRT:v=4", "CRT", "Mine", "Mine:clip=2", "SupBTC:v=4", "Uniform"]
    found = plotting.looks(names)
    assert list(found.keys() ^ set(names)) == []
    assert len(set(found.values())) == len(names)
    for name in ("CRT", "Uniform"):
        assert found[name] == POLICIES[name].look
    assert found["SupBTC:v=4"] == hb.SupBTC.look
    assert found["Mine"] == plotting.look("Mine") == plotting.OTHERS[0]
    assert not set(plotting.OTHERS) & {kind.look for kind in POLICIES.values()}


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for suffix in (".png", ".svg", ".pdf"):
        files = [tmp_path / f"{name}{suffix}" for name in ("once", "twice")]
        for file in files:
            plotting.save(drawn(), file)
        assert len({file.read_bytes() for file in files}) == 1


def test_showing_writes_both_kinds_and_carries_the_words(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(ipython, "display", shown.append)
    plotting.show(drawn(), "one", "two dots and a line", tmp_path / "new")
    assert sorted(p.name for p in (tmp_path / "new" / "figures").iterdir()) == [
        "one.png",
        "one.svg",
    ]
    data, metadata = shown[0]._repr_png_()
    assert metadata["alt"] == "two dots and a line"
    assert data


def test_rows_stand_from_top_to_bottom_with_their_spans_and_a_rule_says_what_it_is():
    (axes,) = drawn().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    bottom, top = axes.get_ylim()
    assert bottom > top  # so that the first row is on top
    dots, line = axes.lines
    assert (dots.get_label(), list(dots.get_xdata())) == ("x", [1.0, 10.0])
    assert to_rgba(dots.get_color()) == to_rgba(plotting.PALETTE[0])
    (bars,) = axes.collections
    assert np.allclose([s[:, 0] for s in bars.get_segments()], [(0.5, 2.0), (5.0, 20.0)])
    assert list(line.get_xdata()) == [3.0, 3.0]
    assert [text.get_text() for text in axes.texts] == ["three"]


def test_panels_come_side_by_side_and_row_by_row_and_one_comes_alone():
    figure, (left, right) = plotting.panels(2, sharey=True)
    assert left.get_position().x1 <= right.get_position().x0
    assert left.get_shared_y_axes().joined(left, right)
    assert plotting.panels()[1].figure is not figure
    figure, six = plotting.panels(3, down=2)
    assert len(six) == 6
    assert figure.axes == six


def test_a_line_that_is_no_policys_has_a_colour_a_marker_and_dashes_of_its_own():
    styles = [plotting.style(which) for which in range(len(plotting.PALETTE))]
    for part in ("color", "marker", "linestyle"):
        assert len({one[part] for one in styles}) == len(styles)
    assert (styles[1]["color"], styles[1]["markersize"]) == (plotting.PALETTE[1], 4)
    with pytest.raises(IndexError):
        plotting.style(len(styles))


def test_rows_may_stand_below_their_middle_while_their_names_do_not(axes):
    plotting.rows(axes, ["a", "b"], [1.0, 2.0], lower=0.25)
    assert list(axes.lines[0].get_ydata()) == [0.25, 1.25]
    assert list(axes.get_yticks()) == [0, 1]


def test_regret_by_horizon_has_the_medians_the_range_and_the_policys_look(axes):
    regrets = [np.array([1.0, 2.0, 6.0]), np.array([10.0, 30.0, 20.0])]
    plotting.draw_horizons(axes, "SupBTC", [10, 100], regrets, "mine")
    (line,) = axes.lines
    assert list(line.get_ydata()) == [2.0, 20.0]
    assert line.get_color() == hb.SupBTC.look.colour
    (bars,) = axes.collections
    assert np.allclose([s[:, 1] for s in bars.get_segments()], [(1, 6), (10, 30)])
    assert [t.get_text() for t in axes.texts] == ["mine"]
    plotting.draw_horizons(axes, "SupBTC", [10, 100], regrets)
    assert axes.texts[-1].get_text() == "SupBTC"


def test_stage_bars_stack_up_and_number_the_stages_that_have_room(axes):
    plotting.stage_bars(axes, np.array([[0.05, 0.45, 0.5], [1.0, 0.0, 0.0]]), ["x", "y"])
    heights = [(p.get_y(), p.get_height()) for p in axes.patches]
    assert np.allclose(heights[:3], [(0.0, 0.05), (0.05, 0.45), (0.5, 0.5)])
    assert np.allclose(heights[3:], [(0.0, 1.0), (1.0, 0.0), (1.0, 0.0)])
    assert [t.get_text() for t in axes.texts] == ["2", "3", "1"]
    brightness = [sum(p.get_facecolor()[:3]) for p in axes.patches[:3]]
    assert brightness == sorted(set(brightness))
    assert [t.get_text() for t in axes.get_xticklabels()] == ["x", "y"]


def test_names_that_would_overlap_are_moved_apart_and_keep_their_order():
    assert plotting.apart([0.0, 0.5, 1.0], 0.1) == [0.0, 0.5, 1.0]
    moved = plotting.apart([0.5, 0.5, 0.5, 0.51, 0.9], 0.1)
    assert all(b - a >= 0.1 - 1e-6 for a, b in itertools.pairwise(moved))
    assert sum(moved[:4]) / 4 == pytest.approx(0.5025, abs=1e-6)
    assert moved[4] == 0.9
    assert plotting.apart([0.0, 0.0, 0.05], 0.1) == pytest.approx([0.0, 0.1, 0.2], abs=1e-6)


def test_runs_in_no_list_and_lists_without_runs_are_refused_with_how_to_write_it():
    run = hb.simulate(hb.Uniform(10, 20, 10), hb.section6())
    for wrong in (run, [run, run], [[run], run], [], [[]], [[run], []], [["run"]], None):
        with pytest.raises(TypeError, match=r"one list per policy.*\[\[run\], \[run\]\]"):
            plotting.regret_figure(wrong, "two")


def test_runs_that_do_not_belong_in_one_list_or_figure_are_refused():
    world = hb.section6()
    one, other = hb.simulate_all([hb.Uniform(40, 20, 10), hb.LinUCB(40, 20, 10)], world)
    longer, coarser = (
        hb.simulate(hb.Uniform(plays, 20, 10), world, 1, checkpoints=count)
        for plays, count in ((80, 40), (40, 20))
    )
    for words, runs in {  # what is said → of what
        "of Uniform must have the same plays": [[one, longer]],
        "of Uniform must .* of 40 points up to 40 plays and one of 20 points": [[one, coarser]],
        r"one policy, got LinUCB, Uniform in one list; .*zip\(\*runs\)": [[one, other]] * 2,
        "names, got two lists of Uniform": [[one], [other], [one]],
    }.items():
        with pytest.raises(ValueError, match=f"^runs .*{words}"):
            plotting.regret_figure(runs, "two")
    renamed = replace(one, policy="Uniform:seed=1")
    assert len(plotting.regret_figure([[one], [renamed], [other]], "three").axes[0].lines) == 3
    shorter = replace(longer, policy="Mine")  # of other plays, but in a list of its own
    assert len(plotting.regret_figure([[one], [shorter]], "two").axes[0].lines) == 2


def test_medians_over_seeds_start_at_0_and_names_of_equal_ones_do_not_cover_each_other():
    one = hb.simulate(hb.Uniform(200, 3, 2), hb.section6("student-t", n_arms=3, dim=2), 1)
    three = [replace(one, policy="Mine", curve=factor * one.curve) for factor in (0.2, 1, 9)]
    axes = plotting.regret_figure([[one], three], "two that are one").axes[0]
    for line in axes.lines:
        assert line.get_ydata().tolist() == [0, *one.curve]
    places = {text.get_text(): text.xy[1] / axes.get_ylim()[1] for text in axes.texts}
    assert set(places) == {"Uniform", "Mine"}
    assert abs(places["Uniform"] - places["Mine"]) > 0.05


def test_a_mosaic_has_a_square_for_each_colour_and_none_for_a_hole(axes):
    colours = [["#000000", None], ["#FFFFFF", "#0072B2"]]
    heavy = [[False, False], [False, True]]
    plotting.mosaic(axes, colours, [["a", ""], ["b", "c"]], heavy)
    colours = [matplotlib.colors.to_hex(p.get_facecolor()).upper() for p in axes.patches]
    assert colours == ["#000000", "#FFFFFF", "#0072B2"]
    assert [t.get_fontweight() for t in axes.texts] == ["normal", "normal", "bold"]
    said = [(t.get_text(), t.xy, t.get_color()) for t in axes.texts]
    assert said == [("a", (0, 0), "#FFFFFF"), ("b", (0, 1), "#000000"), ("c", (1, 1), "#FFFFFF")]


def test_stacked_bars_end_where_the_next_part_begins_and_name_parts_with_room(axes):
    table, words = np.array([[1.0, 3.0, 0.0], [0.1, 0.0, 3.9]]), [["a", "b", "c"], ["d", "e", "f"]]
    plotting.stacked(axes, ["x", "y"], table, ["#000000", "#FFFFFF", "#D55E00"], words)
    parts = [
        (p.get_x(), p.get_width(), round(p.get_y() + p.get_height() / 2)) for p in axes.patches
    ]
    assert np.allclose(parts, [(0, 1, 0), (1, 3, 0), (0, 0.1, 1), (0.1, 3.9, 1)])
    said = [(t.get_text(), t.get_color()) for t in axes.texts]
    assert said == [("a", "#FFFFFF"), ("b", "#000000"), ("f", "#000000")]
    bottom, top = axes.get_ylim()
    assert bottom > top  # so that the first name is on top


def test_words_on_any_colour_can_be_read():
    for colour in (*plotting.PALETTE, "#767676", "#777777", "#FFFFFF"):
        on_white = plotting.contrast(colour)
        found = on_white if plotting.over(colour) == "#FFFFFF" else 21 / on_white
        assert found >= 4.5


def in_the_dark(colour):
    """A colour as the filter of the reading edition shows it, by the matrix of the CSS standard."""
    css = (Path(__file__).parents[2] / "book" / "_static" / "book.css").read_text()
    share = float(re.search(r"invert\(([\d.]+)\) hue-rotate\(180deg\)", css)[1])
    red, green, blue = weights = 0.213, 0.715, 0.072
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    turned = [share * (1 - x) + (1 - share) * x for x in parts]
    grey = red * turned[0] + green * turned[1] + blue * turned[2]
    assert sum(weights) == pytest.approx(1)
    return "#" + "".join(f"{round(255 * min(max(2 * grey - x, 0), 1)):02X}" for x in turned)


def test_words_on_bars_and_squares_can_be_read_in_light_and_in_dark():
    grounds = [*section_6.PARTS.values(), *section_6.STAGES, *map_figures.INK.values()]
    grounds += [plotting.diverging(x) for x in np.linspace(-1, 1, 21)]
    for ground in grounds:
        pair = ground, plotting.over(ground)
        for shown in (pair, [in_the_dark(colour) for colour in pair]):
            lower, higher = sorted(plotting.contrast(colour) for colour in shown)
            assert higher / lower >= 4.5, ground


def test_led_labels_keep_apart_and_lead_to_where_their_curves_end(axes):
    axes.set(xlim=(0, 10), ylim=(0, 1))
    ends = {"high": (10.0, 0.51, "#E69F00"), "low": (9.0, 0.5, "#000000")}
    plotting.led_labels(axes, ends, least=0.1)
    assert [(t.get_text(), t.xy) for t in axes.texts] == [("low", (9, 0.5)), ("high", (10, 0.51))]
    low, high = (t.xyann[1] for t in axes.texts)
    assert high - low >= 0.1 - 1e-6
    assert [t.get_color() for t in axes.texts] == ["#000000", plotting.ink("#E69F00")]
    assert all(t.arrow_patch is not None for t in axes.texts)


def test_diverging_colours_are_white_in_the_middle_and_full_beyond_one():
    assert plotting.diverging(0.0) == "#FFFFFF"
    assert plotting.diverging(-1.0) == plotting.diverging(-7.0) == "#74B3E3"
    assert plotting.diverging(1.0) == plotting.diverging(3.0) == "#F0984A"
    assert plotting.contrast(plotting.diverging(0.5)) < plotting.contrast(plotting.diverging(0.9))


def test_a_title_a_key_and_heads_say_what_a_whole_figure_shows(axes):
    figure = axes.figure
    plotting.finding(figure, "it rises")
    plotting.keys(figure, {"true": "#0072B2", "false": "#BBBBBB"}, 2)
    plotting.over_columns(axes, {0.5: "both"}, 20)
    assert figure.get_suptitle() == "it rises"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["true", "false"]
    assert [(t.get_text(), t.xy) for t in axes.texts] == [("both", (0.5, 1.0))]
