"""Whether what the titles of figures say is true, from data/, the ledger or a chapter's outputs.

One function for each title or number of one; `test_titles.py` says which is whose.
"""

import itertools
import re

import numpy as np

import came_out as out
import prose
from came_out import DATA
from heavybandit import theory
from heavybandit.replication import (
    claims,
    counterfactuals,
    leaderboard,
    map_figures,
    regrets,
    section_6,
    theorem_3,
    timings,
    what_is_left_open,
)
from heavybandit.replication.regrets import Runs, paired, runs
from prose import evidence, outputs

NUMBER = r"(−?\d+\.\d+)"


def shown(chapter: str, pattern: str) -> list[float]:
    """The numbers at the groups of a pattern in what a chapter puts out."""
    found = re.search(pattern, outputs(chapter))
    assert found, f"chapter {chapter} shows no {pattern}"
    return [float(one.replace("−", "-").replace(",", "")) for one in found.groups()]


def entry(claim: str, key: str) -> float:
    """A number of the ledger; of several, the first."""
    value = evidence(claim)[key]
    return float(value[0] if isinstance(value, list) else value)


def asserted(chapter: str, condition: str) -> bool:
    """Whether a cell, which is executed in every test, asserts this of its title."""
    code = "\n".join(prose.cells(chapter, "code"))
    return f"assert {condition}  # as the title says" in code


# Chapter 00, whose tables show an example in full.


def medians_of_three_plays() -> bool:
    rows = [
        shown("00", rf"j = {j} \S+ \S+ \S+ \S+ {NUMBER} {NUMBER} {NUMBER}") for j in range(1, 8)
    ]
    true = shown("00", rf"true mean – {NUMBER} {NUMBER} {NUMBER}")
    plays = np.argsort(rows, axis=0)[3]
    off = np.abs(np.array(rows) - true)
    return len(set(plays)) == 3 and off.max() > 1 and off[plays, range(3)].max() < 0.101


def kept_for_one_arm() -> bool:
    first, third = shown("00", r"round 3 2\.4 (\S+) 0\.000 (\S+)")
    (threshold,) = shown("00", r"threshold h – (\S+)")
    return first > threshold > third


def stages_one_after_the_other() -> bool:
    spans = [shown("00", rf" 1/{2**s} [123, ]+ (\d\S*) to (\S+) ") for s in range(1, 7)]
    return all(spans[s][0] == spans[s - 1][1] + 1 for s in range(1, 6))


# Chapters 01 and 02.


def half_of_lemma_1() -> bool:
    shares = [
        entry("lemma-1", f"largest share of the bound, {how}") for how in ("exact", "simulated")
    ]
    return max(shares) <= 0.5


def tails_of_ridge() -> bool:
    """Misses on Section 6's history of the three noises that are drawn."""
    rows = [
        shown("01", rf"{noise} (\d+) [\d,]+ [\d,]+ [\d,]+ ([\d,]+) ")
        for noise in ("Student's t, ε = 1", "skewed Pareto, ε = 1", "symmetric Pareto, ε = 0.5")
    ]
    bmm, ridge = zip(*rows, strict=True)
    return not any(bmm) and ridge[0] < ridge[1] < ridge[2]


def displayed_bound_fails() -> bool:
    bound, exact = shown("02", r" 36 (\S+)·10⁻¹¹ (\S+)·10⁻¹⁰")
    moments, variances = shown("02", r"second moments [\d,]+ (\d+) variances [\d,]+ ([\d,]+)")
    return bound < 10 * exact and moments == 0 < variances


# Chapters 03 to 05.


def grows_slowly(claim: str) -> bool:
    """By less than a tenth per power of ten from 10⁸ on, and below a hundredth of the bound."""
    slopes = evidence(claim)["by leaps, slope in T from 10⁸ to 10¹⁵"].values()
    growth = 10 ** (max(high for *_, high in slopes) - 0.5)
    return growth < 1.1 and entry(claim, out.SHARE) < 1 / 100


def only_optimistic() -> bool:
    mean, limit = evidence("lemma-4")["optimistic, mean and limit"]
    return entry("lemma-4", "largest |mean| over its limit, blind choices") < 1 < abs(mean) / limit


def bmm() -> list[Runs]:
    return [*runs("theorem1", DATA), *runs("theorem1_half", DATA)]


def learns_at_a_cost() -> bool:
    """At every horizon at which both were run."""
    ridge = {
        (o.where["noise"], o.horizon): o.per_play
        for o in runs("theorem_controls", DATA)
        if o.policy == "GreedyRidge"
    }
    cost = {(o.where["noise"], o.horizon): o.per_play for o in bmm()}
    ratios = [cost[key] / ridge[key] for key in ridge]
    slopes = [evidence("thm-1")[f"slope, ε = {eps}, where it learns"] for eps in ("1", "1/2")]
    return min(ratios) > 1000 and all(high < 1 for *_, high in slopes)


def last_two_stages() -> bool:
    rows = [row[: np.flatnonzero(row)[-1] + 1] for one in bmm() for row in one.explored]
    return all(row[-2:].sum() > row.sum() / 2 for row in rows)


def rises_before_a_stage_ends() -> bool:
    """The cost in the last fifth of a stage is above that in its first fifth."""
    rises = []
    for one in runs("theorem_section6", DATA):
        if one.policy == "SupBTC" and one.horizon > 10**4:
            plays, regret = regrets.curves(one, "theorem_section6", DATA)
            ends = np.r_[0, np.cumsum(one.explored[0])]
            for begin, end in itertools.pairwise(ends):
                if begin < end < one.horizon:  # a stage that was left behind
                    fifth = (end - begin) / 5
                    at = [begin, begin + fifth, end - fifth, end]
                    lost = np.interp(at, np.r_[0, plays], np.r_[0.0, regret[0]])
                    rises.append((lost[3] - lost[2]) / (lost[1] - lost[0]))
    return len(rises) == 3 and min(rises) > 1.2


def only_for_one() -> bool:
    """From the least to the largest dimension that is drawn."""

    def ratio(d: int, eps: float) -> float:
        return theory.theorem1(1e12, d, 4, 2.0, 0.01, eps) / theory.theorem3(1e12, d, eps)

    grown = {eps: ratio(7_000, eps) / ratio(5, eps) for eps in (1.0, 0.5, 0.25)}
    return grown.pop(1.0) < 1.1 and min(grown.values()) > 2


def nearly_parallel() -> bool:
    found = re.findall(r"Sup\w+ [\d,]+ [\d,]+ [\d,]+ (\d\.\d+) \(\d", outputs("05"))
    return bool(found) and all(float(slope) < 0.03 for slope in found)


def over_the_bound() -> list[float]:
    """Least and largest mean regret over Theorem 3's bound, at the longest horizons, d = 9."""
    means: dict[tuple[str, float], tuple[int, float]] = {}
    for name in ("lower", "lower_half", "lower_tofu", "lower_tofu_half"):
        for one in runs(name, DATA):
            if (one.dim, one.n_arms) == (9, 4):
                eps = float(one.where["eps"])
                over = one.regrets.mean() / theory.theorem3(float(one.plays), 9, eps)
                same = means.get((one.policy, eps), (0, 0.0))
                means[one.policy, eps] = max(same, (one.horizon, float(over)))
    ratios = [over for _, over in means.values()]
    return [min(ratios), max(ratios)]


def refuted_and_proved() -> bool:
    (ledger,) = (one for one in claims.read(DATA) if one.id == "thm-3")
    shaded = [f"{theorem_3.refuted_from(4, 1.0, moment):,}" for moment in (1, 2)]
    told = all(d in prose.descriptions("05") for d in shaded)
    return told and ledger.verdict == claims.REPAIRED


# Chapter 06.


def section6() -> dict[tuple[str, int, str], Runs]:
    return {(o.where["noise"], o.horizon, o.policy): o for o in runs("section6", DATA)}


def always_the_same_arm() -> bool:
    ours = [
        one
        for one in counterfactuals.copies("section6", DATA)
        if one.shown == "zero" and one.policy.name in ("SupBMM", "SupBTC")
    ]
    return len(ours) == 12 and all(first is None for one in ours for first in one.first)


def lowest_but_not_below() -> bool:
    every, lowest = section6(), []
    for noise in section_6.NOISES:
        for T in (10**4, 10**5):
            cost = [every[noise, T, policy].per_play for policy in section_6.COMPARED]
            lowest.append(max(cost[:2]) < min(cost[2:]))
    return all(lowest) and none_below_uniform()


def none_below_uniform() -> bool:
    every = section6()
    gaps = [
        paired(one, every[noise, T, "Uniform"])
        for (noise, T, policy), one in every.items()
        if policy in section_6.COMPARED
    ]
    return len(gaps) == 36 and all(mean + off >= 0 for mean, off in gaps)


def as_much_as_at_random() -> bool:
    """The difference is within its limits and below 2 %."""
    ours, uniform = (section6()["student-t", 10**5, policy] for policy in ("SupBMM", "Uniform"))
    mean, off = paired(ours, uniform)
    return abs(mean) <= off and abs(mean) < 0.02 * uniform.per_play


def habits(policy: str) -> list[float]:
    """Per cent of rounds with the widest arm, mean rank, half-width, error of ridge."""
    return shown("06", rf" {policy} (\d+) % {NUMBER} {NUMBER} {NUMBER} ")


def widest_and_worst() -> bool:
    baselines = [habits(policy) for policy in section_6.COMPARED[2:]]
    return all(widest > 80 and rank > 19 for widest, rank, *_ in baselines)


def over_the_error() -> list[float]:
    ratios = [habits(policy)[2] / habits(policy)[3] for policy in section_6.COMPARED]
    return [min(ratios), max(ratios)]


def last_stage(T: int) -> int:
    """The last that any run with Student's t noise reaches."""
    rows = [section6()["student-t", T, policy].explored for policy in ("SupBMM", "SupBTC")]
    return max(int(np.flatnonzero(row.sum(axis=0))[-1]) + 1 for row in rows)


# Chapter 07.


def map_cells(own: bool) -> list[what_is_left_open.Cell]:
    """Those on Section 6's own instance and noises, or all others."""
    return [c for c in what_is_left_open.cells(DATA) if map_figures.own(c) == own]


def with_order(own: bool) -> list[int]:
    cells = map_cells(own)
    return [sum(c.outperform == "yes" for c in cells), len(cells)]


def both_beat_uniform_as_circulated() -> bool:
    return {c.width for c in map_cells(True) if c.learns == c.outperform == "yes"} == {"circulated"}


def aligned_or_circulated() -> bool:
    true = [c for c in map_cells(False) if c.outperform == "yes"]
    return all(c.instance == "section6" or c.width == "circulated" for c in true)


def shrinking_widths() -> bool:
    """SupBMM ends where it began, within a twentieth of uniform play; what has no stages, below."""
    plain = runs("map_t", DATA, policy="Uniform", world="section6")
    uniform = float(np.mean([one.per_play for one in plain]))
    ratios: dict[tuple[str, str], list[float]] = {}
    for one in runs("calibration", DATA):  # the widest first
        if one.settings.get("explore", "first") == "first":
            ratios.setdefault((one.policy, one.where["noise"]), []).append(one.per_play / uniform)
    flat = [tried[-1] for (policy, _), tried in ratios.items() if not policy.startswith("Sup")]
    bmm = [tried for (policy, _), tried in ratios.items() if policy == "SupBMM"]
    returned = all(tried[-1] == tried[0] and abs(tried[0] - 1) < 0.05 for tried in bmm)
    return (len(flat), len(bmm)) == (14, 2) and max(flat) <= 1 and returned


def nowhere_below_ridge() -> bool:
    places = [p for p in what_is_left_open.places(DATA) if "Pareto" not in p.law]
    less = {
        name: [p.instance for p in places if p.everyone[name].per_play < ridge(p)]
        for name in map_figures.AGAINST
    }
    many = ("GreedyRidge(plays=100)", "MoM", "FlatBMM")  # means and medians of many plays
    nowhere = all(len(those) < len(places) for those in less.values())
    return nowhere and all(set(less[name]) == {"section6"} for name in many)


def ridge(place: what_is_left_open.Place) -> float:
    return place.everyone["GreedyRidge"].per_play


# Chapter 08.


def twins() -> list[str]:
    """From where to where the transcription was timed and how it grew; the same of the engine."""
    known, rises = timings.load(DATA), []
    first, *_, last = timings.twins(known, "SupBTC")
    long = timings.growth(known, "T")
    for name in ("SupBTC", "TOFU"):  # up to the last horizon of the transcription, then beyond
        short = [(float(c.T or 0), c.other_median) for c in timings.twins(known, name)]
        points = [*short, *(point for point in long[name] if point[0] > short[-1][0])]
        rises.append(timings.rise([point for point in points if point[0] >= 10**4]))
    ends = [out.ten(one.T or 0) for one in (first, last)]
    longest = out.ten(long["SupBTC"][-1][0])
    return [
        *ends,
        f"{last.one_median / first.one_median:.1f}",
        ends[1],
        longest,
        f"{max(rises):.1f}",
    ]


def engine_grows() -> list[str]:
    times = timings.growth(timings.load(DATA), "T")
    horizons = [T for points in times.values() for T, _ in points]
    most = max(map(timings.rise, times.values()))
    return [out.ten(min(horizons)), out.ten(max(horizons)), f"{most:.1f}"]


# Chapter 09.


def only_these_below_ridge() -> bool:
    """Of SafeRidge any entry; of ClippedUCB and TOFU such as were searched on these cells."""
    found = leaderboard.standings(DATA)
    gaps = {entry: found.over_ridge(entry) for entry in found.entries}
    below = {entry for entry, (gap, off) in gaps.items() if gap + off < 0}
    others = {(e.recipe.name, e.group) for e in below if e.recipe.name != "SafeRidge"}
    return len(others) < len(below) and others == {("ClippedUCB", "counter"), ("TOFU", "counter")}
