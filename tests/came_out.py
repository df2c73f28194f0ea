"""What came out, as pages cite it: computed now from data/, from the ledger or from the package."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

import heavybandit as hb
import prose
from heavybandit.pipeline.tables import read
from heavybandit.replication import (
    board_tables,
    catalogue,
    claims,
    leaderboard,
    leaps,
    protocol,
    section_6,
    timings,
)
from prose import Is, Recorded, count, rounded, ten

DATA = prose.ROOT / "data"
assert "section6" in catalogue.EXPERIMENTS
BOARD = pd.read_csv(DATA / "leaderboard.csv")
MEANS = BOARD.groupby("policy").cost.mean()
RIDGE = "GreedyRidge, tuned"


def powers(compute: Callable[[], Iterable[float]]) -> Is:
    return Is(compute, ten)


# The benchmark.


def means(*policies: str) -> Is:
    return Is(lambda: MEANS[list(policies)], "{:.1f}".format)


def cost(noise: str, policy: str) -> float:
    (found,) = BOARD[BOARD.noise.str.contains(noise) & (BOARD.policy == policy)].cost
    return float(found)


def beside_safe() -> list[int]:
    """How many other entries are not tuned, if SafeRidge costs significantly less than each.

    Limits hold for them and tuned ridge regression together.
    """
    found = leaderboard.standings(DATA)
    (safe,) = (e for e in found.entries if e.label == "SafeRidge, defaults")
    others = [e for e in found.entries if e.group in ("defaults", "published") and e != safe]
    beside = [*others, leaderboard.RIDGE]
    gaps = [found.gap(safe, one, len(beside)) for one in beside]
    assert all(gap + off < 0 for gap, off in gaps)
    return [len(others)]


def skewed_costs() -> list[float]:
    """Over cells with skewed noise: the least mean cost, tuned ridge's and SafeRidge's."""
    found = board_tables.skewed(BOARD).groupby("policy").cost.mean()
    return [found.min(), found[RIDGE], found["SafeRidge, defaults"]]


def below_ridge() -> list[int]:
    """In how many of these cells some entry costs significantly less than tuned ridge, and in how
    many any one of them does."""
    found = board_tables.skewed(BOARD)
    found = found[found.over_ridge + found.over_ridge_off < 0]
    return [found.cell.nunique(), found.groupby("policy").cell.nunique().max()]


def held_out(key: str) -> list[Any]:
    return [row[key] for row in board_tables.cell_rows() if row["set"] == "held out"]


def fixed(cells: tuple[protocol.Cell, ...]) -> int:
    """How many cells have contexts that do not vary."""
    return sum("fixed arms" in cell.name for cell in cells)


HELD_OUT = Is(lambda: [len(protocol.HELD_OUT)])
TRAINING = Is(lambda: [len(protocol.TRAINING)], count)


@functools.cache
def best_arm_first_and_last() -> tuple[float, ...]:
    """Median regrets on eight fixed arms, the best listed first and last, of three policies."""
    theta = np.array([1, 0.5, 0, 0, 0, 0, 0, 0]) / math.sqrt(1.25)
    medians = []
    for policy in (hb.SafeRidge, hb.ClippedUCB, hb.LinUCB):
        for arms in (np.eye(8), np.eye(8)[::-1]):
            world = hb.fixed_arms(arms, theta, hb.noise.StudentT(df=3.0))
            regrets = [hb.simulate(policy(10_000, 8, 8), world, s).regret for s in range(10)]
            medians.append(float(np.median(regrets)))
    return tuple(medians)


# The map of chapter 07.


def map_cells() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Its cells on Section 6's own instance and noises, and all others."""
    found = pd.read_csv(DATA / "map.csv", dtype={"width": str})
    own = found[(found.instance == "section6") & found.noise.str.contains("Student|Pareto")]
    return own, found.drop(own.index)


def nearest() -> pd.DataFrame:
    """The cells that are nearest to the text."""
    own, _ = map_cells()
    own = own[(own.width == "1") & ~own.noise.str.contains("exact")]
    return own[own.explore.isin(["first", "random"])]


def with_order(cells: pd.DataFrame) -> tuple[int, int]:
    return int((cells.outperform == "yes").sum()), len(cells)


def over_ridge() -> float:
    """The best of the six over greedy ridge, printed constants: the median of large noises."""
    found = pd.concat(map_cells()).query("width == '1'")
    six = found[list(section_6.COMPARED)].min(axis=1) / found.GreedyRidge
    assert (six > 1).all()
    return float(six[~found.noise.str.contains("Pareto")].median())


# What was timed.


def timed(section: str, policy: str, T: int) -> timings.Timing:
    """The comparison of this section for this policy and horizon."""
    known = timings.of(timings.load(DATA), section)
    (found,) = (one for one in known if (one.policy, one.T) == (policy, T))
    return found


def drawing_the_world() -> list[float]:
    """The least and the most time for drawing the world in the first panels of the figures."""
    known = timings.of(timings.load(DATA), "growth T")
    costs = [one.other_median for one in known if one.policy in ("SupBTC", "TOFU")]
    return [min(costs), max(costs)]


def longest_first(policy: str) -> list[int]:
    """The longest and the shortest horizon, if a round took less time at the longest."""
    points = timings.growth(timings.load(DATA), "T")[policy]
    (shortest, before), *_, (longest, after) = points
    assert after < before
    return [int(longest), int(shortest)]


# Sections 6 and the theorems.

BELOW_2 = "T from which the bound is below 2 per play, Section 6"
BELOW_UNIFORM = "T from which it is below uniform play"
VIOLATED = "by leaps, uniform play violates the bound from"
SHARE = "by leaps, regret over bound, largest"
FALSE_FROM = "printed γ, moments at most 2, K = 4, ε = 1: refuted from d"
UNIFORM_AT_MOST = "d = 16,001, T = 10⁶: uniform play on any such instance, at most"
AS_PRINTED = "left side as printed, any algorithm, T = 10⁴, K = 4, at most"
LONGEST_LEAP = powers(lambda: [read("leaps_bmm", DATA).horizon.max()])
LONGEST_LEAP_BTC = powers(lambda: [read("leaps_btc", DATA).horizon.max()])
NO_MORE_THAN = Recorded("thm-2", SHARE, lambda x: f"{10 ** math.floor(-math.log10(x))}th")
HORIZONS = powers(lambda: section_6.HORIZONS)
SEEN_T = Recorded("sec6-outperform-t", "seen at", count)
SEEN_PARETO = Recorded("sec6-outperform-pareto", "seen at", count)
SEEN_SMALLEST = Recorded("sec6-supbmm-smallest", "seen at", count)


def seen(claim: str) -> list[str]:
    """The horizons at which an order is seen: where its limit is below 0."""
    recorded = prose.evidence(claim).items()
    at = {key[4:]: one for key, one in recorded if key.startswith("T = ")}
    return [horizon for horizon, one in at.items() if one["order"] < 0]


def longest(begins: str) -> int:
    """The largest horizon of the experiments whose names begin so, in plays."""
    found = [one for name, one in catalogue.EXPERIMENTS.items() if name.startswith(begins)]
    return max(max(getattr(one, "horizons", (0,))) for one in found)


def more_than_uniform(policy: str) -> list[float]:
    """In per cent, at 10⁵ and 10⁶ plays of Section 6 with Student's t noise."""
    runs = read("section6", DATA).query("world_noise == 'student-t' and horizon > 10_000")
    mean = runs.groupby(["horizon", "policy"]).regret.mean().unstack()
    return list(100 * (mean[policy] / mean["Uniform"] - 1))


def more_at_a_million(policy: str) -> float:
    """The same in chapter 03, whose runs on Section 6 have other seeds."""
    runs = read("theorem_section6", DATA).query("horizon == 1_000_000")
    mean = runs.groupby("policy").regret.mean()
    return float(100 * (mean[policy] / mean["Uniform"] - 1))


def first_able() -> pd.Series:
    """By instance, the least horizon at which uniform play would violate Theorem 2's bound."""
    return leaps.informative(read("leaps_btc", DATA)).groupby("instance").horizon.min()


def below(name: str) -> Is:
    """The power of ten below which a regret is, of its bound, where uniform play violates that."""

    def most() -> list[float]:
        able = leaps.informative(read(name, DATA))
        return [10.0 ** math.ceil(math.log10((able.largest / able.bound).max()))]

    return Is(most, rounded)


def printed_widths() -> pd.DataFrame:
    """Chapter 04's runs of SupBTC with ε = ½, with plays by stage."""
    runs = read("theorem2_half", DATA)
    return runs[runs.policy_width_scale.isna() & (runs.policy == "SupBTC")]


def all_in_stage_1() -> int:
    """The largest horizon that stage 1 takes whole."""
    runs = printed_widths()
    whole = [row[0] == T for row, T in zip(runs.explored, runs.horizon, strict=True)]
    return int(runs[whole].horizon.max())


def in_stage_1() -> int:
    """The plays that stage 1 takes of a million, to a thousand."""
    return int(round(printed_widths().query("horizon == 1_000_000").explored.iloc[0][0], -3))


def in_small_world(policy: str) -> float:
    """What a policy costs in the small world at 10⁶ plays."""
    runs = read("theorem_controls", DATA)
    runs = runs[(runs.policy == policy) & (runs.horizon == 10**6)]
    return float((runs.regret / runs.plays).mean())


def repaired(chapter: str) -> int:
    """How many statements of a chapter are false as printed."""
    here = [one for one in claims.read(DATA) if one.notebook.startswith(chapter)]
    return sum(one.verdict == claims.REPAIRED for one in here)


def sites() -> list[Any]:
    """The rates that were drawn at each site of chapter 10's log."""
    return list(pd.read_csv(DATA / "rand_hie.csv").groupby("site").rate.unique())
