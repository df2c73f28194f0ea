"""What the paper leaves open, varied: the experiments behind the map of notebook 07.

A *reading* says how wide the intervals are and which arm "some arm" is. The width is the printed
one times 1, 0.1 or 0.01; or times a factor of the policy's own, calibrated on seeds that serve
nothing else; or it is the circulated one, which a public implementation uses and which does without
stages. Each reading is tried on three instances, with three noises and two ways to bound a moment.
"""

from __future__ import annotations

from ..pipeline.spec import CONTROLS, Experiment, Recipe, recipe
from ..policy import EXPLORE_RULES

SCALES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""What calibration multiplies widths with; the same for every policy."""

STAGED = tuple(
    recipe(name, explore=rule) for name in ("SupBMM", "SupBTC") for rule in EXPLORE_RULES
)
BASELINES = tuple(recipe(name) for name in ("MoM", "CRT", "MENU", "TOFU"))
FLAT = tuple(recipe(name) for name in ("FlatBMM", "FlatBTC"))
LINUCB = recipe("LinUCB")
ADJUSTABLE = (*STAGED, *BASELINES, *FLAT, LINUCB)

CALIBRATED = {
    "SupBMM(explore=first)": 0.03,
    "SupBMM(explore=random)": 0.03,
    "SupBMM(explore=widest)": 0.03,
    "SupBMM(explore=optimistic)": 0.03,
    "SupBTC(explore=first)": 0.001,
    "SupBTC(explore=random)": 0.003,
    "SupBTC(explore=widest)": 0.001,
    "SupBTC(explore=optimistic)": 0.003,
    "MoM": 0.001,
    "CRT": 0.003,
    "MENU": 0.003,
    "TOFU": 0.01,
    "FlatBMM": 0.001,
    "FlatBTC": 0.01,
    "LinUCB": 0.1,
}
"""The scale that cost least in `calibration`; a test holds it to that table."""

INSTANCES = ("section6", "misaligned", "symmetric")
HALF = recipe("SymmetricPareto", shape=1.6, scale=0.3)
"""A noise without a variance; its moment of order 1.5 is about that of Student's t noise."""


def scaled(policy: Recipe, scale: float, v: str, eps: float = 1.0) -> Recipe:
    """The policy with its widths multiplied, and v "printed" or "exact"."""
    bound = {} if policy.name in CONTROLS else {"v": v, "eps": eps, "delta": 0.01}
    return recipe(policy.name, **dict(policy.params), **bound, width_scale=scale)


def circulated(policy: Recipe, v: str, eps: float) -> Recipe:
    """The policy with the circulated constants."""
    return recipe(policy.name, v=v, eps=eps, delta=0.01, constants="circulated")


def _map(
    name: str, what: str, law: Recipe | str, v: str, *, eps: float = 1.0, long: bool = False
) -> Experiment:
    """All readings with one noise on the three instances; a part of them at ten times the plays.

    The circulated constants give TOFU the central moment as a bound on the raw one. With the
    printed 1 that passes; with Pareto noise's exact 7.5·10⁻⁵ it would truncate every payoff.
    """
    published = (*FLAT, *BASELINES) if (v, eps) != ("exact", 1.0) else ()
    scales = {p: (CALIBRATED[p.text()], 1.0, *(() if long else (0.1, 0.01))) for p in ADJUSTABLE}
    return Experiment(
        name=name,
        what=f"the map of readings: {what}",
        worlds=tuple(recipe(instance, noise=law) for instance in INSTANCES),
        policies=(
            *(scaled(p, s, v, eps) for p in ADJUSTABLE for s in dict.fromkeys(scales[p])),
            *(circulated(p, v, eps) for p in published),
            *(recipe(control) for control in ("Uniform", "GreedyRidge", "Blind")),
            recipe("GreedyRidge", plays=100),
        ),
        horizons=(10**5 if long else 10**4,),
        seeds=4 if long or eps < 1 else 8,  # the slow ones: for ε < 1 BTC scans its history
        first_seed=200,
        checkpoints=1,
        curve_seeds=0,
    )


CALIBRATION = Experiment(
    name="calibration",
    what="every policy on Section 6 with seven width scales, on seeds that serve nothing else",
    worlds=tuple(recipe("section6", noise=law) for law in ("student-t", "pareto")),
    policies=tuple(scaled(policy, s, "printed") for policy in ADJUSTABLE for s in SCALES),
    horizons=(10**4,),
    seeds=5,
    first_seed=800,
    checkpoints=1,
    curve_seeds=0,
)

MAPS = (
    _map("map_t", "Student's t noise, 10⁴ plays", "student-t", "printed"),
    _map("map_pareto", "Pareto noise, 10⁴ plays", "pareto", "printed"),
    _map("map_pareto_exact", "Pareto noise with its exact moment, 10⁴ plays", "pareto", "exact"),
    _map("map_half", "a noise without a variance, ε = ½, 10⁴ plays", HALF, "exact", eps=0.5),
    _map("map_t_long", "Student's t noise, 10⁵ plays", "student-t", "printed", long=True),
    _map("map_pareto_long", "Pareto noise, 10⁵ plays", "pareto", "printed", long=True),
)


SKEWED = recipe("Pareto", shape=2.2, scale=1.0, centred=True)
"""A noise with a variance, 7.6, that is large and far from symmetric."""


def _practice(name: str, law: Recipe | str, v: str, eps: float) -> Experiment:
    """Calibrated policies beside some that know nothing of heavy tails: many seeds."""
    tuned = ("CRT", "FlatBTC", "MoM", "FlatBMM", "LinUCB")
    return Experiment(
        name=name,
        what=f"what is gained over greedy ridge regression, {v} v, ε = {eps:g}: 40 seeds",
        worlds=tuple(recipe(instance, noise=law) for instance in INSTANCES),
        policies=(
            *(scaled(recipe(policy), CALIBRATED[policy], v, eps) for policy in tuned),
            recipe("GreedyRidge"),
            recipe("GreedyRidge", ridge=100.0),
            recipe("GreedyRidge", plays=100),
            recipe("GreedyRidge", plays=100, ridge=0.01),
            recipe("Uniform"),
        ),
        horizons=(10**4,),
        seeds=40,
        first_seed=400,
        checkpoints=1,
        curve_seeds=0,
    )


PRACTICE = (
    _practice("practice_t", "student-t", "printed", 1.0),
    _practice("practice_skewed", SKEWED, "exact", 1.0),
    _practice("practice_half", HALF, "exact", 0.5),
)

EXPERIMENTS = (CALIBRATION, *MAPS, *PRACTICE)
