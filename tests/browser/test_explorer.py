"""The explorer in a browser: its numbers are those of data/, by mouse, keyboard and address."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page

from .conftest import BOOK, load

DATA = BOOK.parents[2] / "data"
READY = '() => document.getElementById("regrets").dataset.ready === "true"'
SHOWN = """() => ["world", "noise", "horizon"].map((name) =>
  document.getElementById(`explorer-${name}`).value).join(" ") ===
  document.getElementById("regrets").dataset.place"""
PLACE = ["world", "world_settings", "horizon"]
Open = Callable[..., Page]


@pytest.fixture
def explorer(open_page: Open) -> Page:
    page = open_page("explorer.html", width=1400)
    page.wait_for_function(READY)
    return page


def tables() -> dict[str, pd.DataFrame]:
    """Every table of data/ that holds regrets."""
    read = {p.name: pd.read_csv(p, na_filter=False) for p in sorted(DATA.glob("*.runs.csv"))}
    return {name.split(".")[0]: t for name, t in read.items() if {*PLACE, "regret"} <= set(t)}


def choose(page: Page, **wanted: object) -> None:
    """Set the controls as a reader does; each changes what the next one offers."""
    for name in ("world", "noise", "horizon", "relative", "scale"):
        if name in wanted:
            page.locator(f"#explorer-{name}").select_option(str(wanted[name]))
            page.wait_for_function(SHOWN)


def shown(page: Page) -> dict[str, list[float]]:
    """The numbers of each row: mean, first and ninth decile, per play, relative."""
    rows = page.locator(".hbx-numbers tbody tr").evaluate_all(
        """rows => rows.map((row) => [row.dataset.key,
             [...row.querySelectorAll("td[data-value]")].map((cell) => cell.dataset.value)])"""
    )
    return {key: [float(value) for value in values] for key, values in rows}


def cost(rows: pd.DataFrame) -> float:
    return float(rows["regret"].mean() / rows["plays"].iloc[0])


def test_the_numbers_are_those_of_the_tables_for_random_settings(explorer: Page) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    found = tables()
    for _ in range(8):
        name = str(rng.choice(list(found)))
        table = found[name]
        world, where, horizon = table[PLACE].iloc[rng.integers(len(table))]
        relative = str(rng.choice(["", "Uniform", "GreedyRidge"]))
        scale = str(rng.choice(["linear", "log"]))
        choose(explorer, world=world, noise=where, horizon=horizon, relative=relative, scale=scale)
        box = explorer.locator(".hbx-policies details", has_text=f"{name}: ").first
        box.wait_for()
        box.evaluate("box => (box.open = true)")
        here = table[(table[PLACE] == [world, where, horizon]).all(axis=1)]
        groups = list(here.groupby(["policy", "settings"], sort=False))
        picked = int(rng.integers(len(groups)))
        ticks = box.locator("input")
        assert ticks.count() == len(groups), f"seed {seed}: {name} {world} {where} {horizon}"
        ticks.nth(picked).check()
        rows = groups[picked][1]
        values = shown(explorer)[ticks.nth(picked).input_value()]
        deciles = np.quantile(rows["regret"], (0.1, 0.9))
        wanted = [rows["regret"].mean(), *deciles, cost(rows)]
        assert values[:4] == pytest.approx(wanted, rel=1e-12), (
            f"seed {seed}: {name} {groups[picked][0]}"
        )
        others = here[(here["policy"] == relative) & ~here["settings"].str.contains("plays|ridge")]
        if relative and len(others):
            assert values[4] == pytest.approx(cost(rows) / cost(others), rel=1e-12), f"seed {seed}"


def test_a_curve_is_drawn_and_read_out_where_the_table_has_it(explorer: Page) -> None:
    curves = pd.read_csv(DATA / "section6.curves.csv")
    runs = pd.read_csv(DATA / "section6.runs.csv", na_filter=False)
    mine = runs[
        (runs["policy"] == "SupBTC")
        & (runs["world_settings"] == "noise=student-t")
        & (runs["horizon"] == 100_000)
    ]
    choose(explorer, world="section6", noise="noise=student-t", horizon=100_000)
    explorer.locator("#explorer-plot").focus()
    explorer.keyboard.press("ArrowRight")
    explorer.wait_for_function(
        "() => document.getElementById('explorer-readout').textContent.startsWith('After')"
    )
    for _ in range(7):  # SupBMM has points of its own, and by now its first
        explorer.keyboard.press("ArrowRight")
    first = explorer.inner_text("#explorer-readout")
    for _ in range(200):
        explorer.keyboard.press("ArrowRight")
    said = explorer.inner_text("#explorer-readout")
    at = curves[curves["run"].isin(mine["run"]) & (curves["plays"] == 100_000)]["regret"]
    low, high = np.quantile(at, (0.1, 0.9))
    words = [f"{float(f'{x:.4g}'):,.0f}" for x in (at.mean(), low, high)]
    assert said.startswith("After 100,000 plays: ")
    assert f"SupBTC {words[0]} ({words[1]} to {words[2]})" in said
    drawn = explorer.locator(".hbx-numbers tbody tr").count()
    assert drawn > 3
    for one in (first, said):
        assert len(re.findall(r"\(\S+ to \S+\)", one)) == drawn, one


def test_each_line_has_its_name_at_its_end(explorer: Page) -> None:
    """SupBMM plays in rounds, so that its curve has no point where the others end."""
    names = explorer.locator("#explorer-plot canvas").evaluate(
        """(canvas) => {
          const { width } = canvas, room = 90 * devicePixelRatio;
          const height = canvas.height - 80 * devicePixelRatio;  // without the axis of plays
          const { data } = canvas.getContext("2d").getImageData(width - room, 0, room, height);
          const rows = Array.from({ length: height }, (_, y) =>
            data.subarray(4 * room * y, 4 * room * (y + 1)).some((value) => value > 0));
          return rows.filter((dark, y) => dark && !rows[y - 1]).length;  // lines of words
        }"""
    )
    assert names == explorer.locator(".hbx-numbers tbody tr").count()


def test_a_cell_of_the_map_shows_the_runs_behind_it_by_keyboard_alone(explorer: Page) -> None:
    table = pd.read_csv(DATA / "map.csv", dtype=str, na_filter=False)
    first = (table[["instance", "noise", "horizon"]] == table.iloc[0, :3]).all(axis=1)
    widths = explorer.locator("#explorer-map tbody td:first-child")
    assert widths.all_inner_texts() == list(table.loc[first, "width"])
    row = table.iloc[len(table) - 1]
    for name in ("instance", "noise", "horizon"):
        explorer.locator(f"#explorer-map-{name}").select_option(row[name])
    here = table[
        (table[["instance", "noise", "horizon"]] == row[["instance", "noise", "horizon"]]).all(
            axis=1
        )
    ]
    lines = explorer.locator("#explorer-map tbody tr")
    assert lines.count() == len(here)
    button = lines.last.get_by_role("button", name=f"SupBTC {row['SupBTC']}")
    button.focus()
    explorer.keyboard.press("Enter")
    dialog = explorer.locator("#regrets dialog[open]")
    dialog.wait_for()
    regrets = [float(x) for x in dialog.locator("td[data-value]").all_inner_texts()]
    plays = int(dialog.locator("tbody td").first.inner_text().replace(",", ""))
    assert len(regrets) == int(row["seeds"])
    assert f"{np.mean(regrets) / plays:.5f}" == row["SupBTC"]
    explorer.keyboard.press("Escape")
    assert dialog.count() == 0


def test_every_cost_of_the_board_leads_to_runs_that_give_it(explorer: Page) -> None:
    table = pd.read_csv(DATA / "leaderboard.csv", dtype=str, na_filter=False)
    first = table[
        (table["instance"] == table["instance"][0]) & (table["noise"] == table["noise"][0])
    ]
    buttons = explorer.locator("#explorer-board tbody button")
    assert buttons.evaluate_all("all => all.map(b => b.dataset.value)") == list(first["cost"])
    assert buttons.all_inner_texts() == [f"{float(x):.1f}" for x in first["cost"]]
    index = explorer.evaluate("() => window.heavybanditData.index.board")
    at = index["columns"].index("cost")
    assert all(len(row[at]) == 3 for row in index["rows"])
    runs = buttons.evaluate_all(
        """async (all) => {
             const found = [];
             for (const button of all) {
               button.click();
               let dialog = null;
               while (!(dialog = document.querySelector("#regrets dialog[open]")))
                 await new Promise(requestAnimationFrame);
               const words = (cells) => [...dialog.querySelectorAll(cells)].map((e) => e.innerText);
               found.push([words("td[data-value]"), words("tbody td")[0]]);
               dialog.close();
             }
             return found;
           }"""
    )
    costs = [
        np.mean([float(x) for x in regrets]) / int(plays.replace(",", ""))
        for regrets, plays in runs
    ]
    uniform = costs[list(first["policy"]).index("Uniform")]
    assert [f"{100 * cost / uniform:.4f}" for cost in costs] == list(first["cost"])
    explorer.set_viewport_size({"width": 390, "height": 900})
    explorer.wait_for_function("() => !document.querySelector('#explorer-map thead')")
    for width in (390, 1400):
        explorer.set_viewport_size({"width": width, "height": 900})
        wide = explorer.locator(".hbx-wide").evaluate_all(
            """async (all) => {
                 await new Promise(requestAnimationFrame);
                 return all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.ariaLabel);
               }"""
        )
        assert wide == [], f"{width}: {wide} must be scrolled sideways"


def test_every_choice_has_rows_and_a_phone_has_the_same_numbers(explorer: Page) -> None:
    for name, file in (("map", "map.csv"), ("board", "leaderboard.csv")):
        table = pd.read_csv(DATA / file, dtype=str, na_filter=False)
        noises = explorer.locator(f"#explorer-{name}-noise")
        for world, rows in table.groupby("instance", sort=False):
            explorer.locator(f"#explorer-{name}-instance").select_option(str(world))
            offered = noises.locator("option").evaluate_all("all => all.map((e) => e.value)")
            assert offered == list(rows["noise"].unique())
            noises.select_option(offered[-1])
            assert explorer.locator(f"#explorer-{name} tbody tr").count() > 0
    numbers = "all => all.map((e) => e.ariaLabel).sort()"
    buttons = explorer.locator("#explorer-map tbody button")
    before = buttons.evaluate_all(numbers)
    widths = set(explorer.locator("#explorer-map tbody td:first-child").all_inner_texts())
    explorer.set_viewport_size({"width": 390, "height": 900})
    explorer.wait_for_function("() => !document.querySelector('#explorer-map thead')")
    assert buttons.evaluate_all(numbers) == before
    assert explorer.locator("#explorer-map tbody").count() == len(widths)


def test_an_address_brings_the_setting_back(explorer: Page) -> None:
    choose(explorer, world="misaligned", noise="noise=pareto", relative="Uniform", scale="log")
    explorer.wait_for_url("**world=misaligned**scale=log**")
    before = shown(explorer)
    explorer.reload()
    explorer.wait_for_function(READY)
    assert str(shown(explorer)) == str(before)  # also where there is no number
    assert explorer.input_value("#explorer-scale") == "log"


def test_the_page_weighs_at_most_a_megabyte_and_a_half(browser: Browser, book: str) -> None:
    page = browser.new_page()  # which has kept nothing
    weights: dict[str, int] = {}
    page.on("response", lambda r: weights.update({r.url: int(r.headers["content-length"])}))
    load(page, book + "explorer.html", width=1400).wait_for_function(READY)
    page.wait_for_load_state("networkidle")
    page.close()
    assert any("explorer/section6.js" in url for url in weights)
    print(f"{sum(weights.values())} bytes")
    assert sum(weights.values()) <= 1_500_000


def test_the_library_is_shipped_with_its_licence_and_named() -> None:
    vendor = Path(BOOK) / "_static" / "vendor"
    assert "MIT" in (vendor / "uPlot.LICENSE").read_text()
    assert "version 1.6.32" in (vendor / "README.md").read_text()
