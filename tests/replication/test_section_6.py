"""What a policy does, seen from outside, against a round-by-round account in NumPy."""

import json
from pathlib import Path

import numpy as np
import pytest

import front
import heavybandit as hb
from heavybandit.engine.state import GAIN
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, stream
from heavybandit.replication import section_6 as module
from heavybandit.replication.section_6 import habits
from tiny import some_runs

T, SEED = 300, 5
POLICIES = {
    "MENU": lambda: hb.MENU(T, 6, 3, v=3.0, delta=0.4, width_scale=0.01),
    "MoM": lambda: hb.MoM(T, 6, 3, v=3.0, delta=0.4, width_scale=0.01),
    "TOFU": lambda: hb.TOFU(T, 6, 3, v=4.0),
    "GreedyRidge": lambda: hb.GreedyRidge(T, 6, 3, plays=3),
    "Blind": lambda: hb.Blind(T, 6, 3, prefer="widest"),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("block", [7, 4096])
def test_habits_are_those_of_a_literal_account(name, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    world = hb.symmetric("student-t", n_arms=6, dim=3)
    found = habits(POLICIES[name](), world, seed=SEED)
    policy = POLICIES[name]()
    r = policy.plays
    draws = world.noise.draw(stream(SEED, NOISE_STREAM), r * policy.rounds).reshape(-1, r)
    rng = stream(SEED, CONTEXT_STREAM)
    theta = world.theta_star(SEED)
    A, b = np.eye(3), np.zeros(3)
    by_mean, by_width = np.zeros((2, 6), dtype=int)
    for t in range(policy.rounds):
        (X,) = world.contexts(rng, t, 1, r)
        arm = policy.select(X)
        means = X @ theta
        width = np.einsum("ad,de,ae->a", X, np.linalg.inv(A), X)
        by_mean[(means > means[arm]).sum()] += 1
        by_width[(width > width[arm] + (1e-12 if t else 1e-9)).sum()] += 1
        paid = means[arm] + draws[t]
        policy.update(paid)
        A += np.outer(X[arm], X[arm])
        b += paid.mean() * X[arm]
    assert found.by_mean.tolist() == by_mean.tolist()
    moved = np.abs(found.by_width - by_width).sum()
    assert moved <= 2  # in the first round all widths are 1 but for the last bit
    assert found.by_width.sum() == policy.rounds
    X = world.contexts(rng, policy.rounds, module.TRIALS, r)
    ridge, means = np.linalg.solve(A, b), X @ theta
    best = np.array([x[m.argmax()] for x, m in zip(X, means, strict=True)])
    assert found.error == pytest.approx(np.abs(best @ (ridge - theta)).mean(), rel=1e-9)
    costs = [m.max() - m[(x @ ridge).argmax()] for x, m in zip(X, means, strict=True)]
    assert found.greedy_cost == pytest.approx(np.mean(costs), rel=1e-9)
    c = np.sqrt(np.einsum("td,de,te->t", best, np.linalg.inv(A), best)).mean()
    factors = {
        "MENU": lambda: 0.01 * hb.theory.menu_beta(policy.rounds, 3, 3.0, 1.0),
        "MoM": lambda: (
            0.01
            * hb.theory.mom_beta(
                policy.rounds, policy.rounds, r, float(np.linalg.slogdet(A)[1]), 3.0, 0.4, 1.0
            )
        ),
        "TOFU": lambda: hb.theory.tofu_beta(T, T, 3, 4.0, 0.01, 1.0),
        "GreedyRidge": lambda: 0.0,
        "Blind": lambda: 1.0,
    }
    assert found.half_width == pytest.approx(float(factors[name]()) * c, rel=1e-9)
    assert found.widest == found.by_width[0] / policy.rounds
    ranks = np.repeat(np.arange(1, 7), found.by_mean)
    assert found.mean_rank == pytest.approx(ranks.mean())


def test_the_width_factor_is_that_which_the_policy_uses():
    """SupBMM with v = 3: √36 + 1 = 7."""
    assert module.width_factor("SupBMM", "student-t", 10**6) == pytest.approx(7)
    policy = hb.SupBTC(10**5, 20, 10, v=2.0)
    state = policy._state.num
    assert module.width_factor("SupBTC", "pareto", 10**5) == pytest.approx(state[GAIN] + 1)


def test_t_counted_in_rounds_is_a_horizon_of_so_many_rounds():
    (rounds,) = (one for one in module.EXPERIMENTS if one.name == "section6_rounds")
    made = [hb.SupBMM(T, 20, 10, v=3.0).rounds for T in rounds.horizons]
    assert made == [10**4, 10**5]


def test_the_narrowest_has_no_width_that_it_would_add():
    found = habits(hb.Blind(50, 6, 3), hb.symmetric("student-t", n_arms=6, dim=3))
    assert found.half_width == 0
    assert found.widest < 0.1


def test_a_difference_is_shown_with_the_limit_of_its_test():
    """Gaps 0.2, 0.3, 0.4: mean 0.3, and 6.965·0.1/√3 is Student's limit with two degrees."""
    one, other = some_runs([30.0, 50.0, 70.0]), some_runs([10.0, 20.0, 30.0])
    assert module.gap(one, other, 3) == "0.300 ± 0.402"


def test_figure_1_draws_the_six_and_two_controls_and_hides_none():
    plays = np.array([50, 100])
    shown = (*module.COMPARED, *module.CONTROLS)
    curves = {
        (noise, T, policy): (plays * T // 100, np.full((2, 2), 0.1 * T) * [0.5, 1.0])
        for noise in module.NOISES
        for T in module.HORIZONS
        for policy in shown
    }
    figure = module.figure_1(curves)
    assert len(figure.axes) == len(module.NOISES) * len(module.HORIZONS)
    for axes in figure.axes:
        named = {text.get_text() for text in axes.texts}
        assert named == {*module.COMPARED, "uniform play", "Blind"}
        broad = [line for line in axes.lines if line.get_linewidth() > 3]
        assert len(broad) == len(module.UNDER)
    left, right = module.figure_1_with_controls(curves).axes
    assert {text.get_text() for text in left.texts} == set(module.COMPARED)
    coloured = {line.get_color() for line in right.lines} - {"#BBBBBB"}
    assert len(coloured) == 6  # the four baselines are context, in grey


ROOT = Path(__file__).parents[2]


def test_every_page_tells_first_what_was_found_in_the_same_words():
    """The landing page takes its findings from README.md, by `front.findings`."""
    readme, landing = (ROOT / page for page in ("README.md", "book/index.md"))
    shown = front.findings(readme.read_text(encoding="utf-8")).replace("**", "")
    assert module.FOUND.rstrip(".") in " ".join(shown.split())  # a link to the chapter follows
    told = readme.read_text(encoding="utf-8").replace("**", "").partition("## What was found")[2]
    assert " ".join(told.split()).startswith(f"1. {module.FOUND}")
    assert "<!-- findings -->" in landing.read_text(encoding="utf-8")
    chapter = json.loads((ROOT / "notebooks/06_section_6.ipynb").read_text(encoding="utf-8"))
    for page in ("CLAIMS.md", "ERRATA.md"):
        assert module.FOUND in (ROOT / page).read_text(encoding="utf-8")
    assert f"**What was found.** {module.FOUND}" in "".join(chapter["cells"][0]["source"])


def test_the_ledger_tells_it_too_and_at_how_many_horizons_an_order_is_seen():
    ledger = json.loads((ROOT / "data/claims.json").read_text(encoding="utf-8"))
    orders = {e["id"]: e["evidence"] for e in ledger if e["id"].startswith("sec6-")}
    del orders["sec6-moments"]
    assert [next(iter(evidence.values())) for evidence in orders.values()] == [module.FOUND] * 3
    assert orders["sec6-supbmm-smallest"]["seen at"] == "1 of 3 horizons"
    for page in ("README.md", "CLAIMS.md"):
        rows = [r for r in (ROOT / page).read_text().splitlines() if "has the smallest regret" in r]
        assert len(rows) == 1
        assert "at 1 of 3 horizons" in rows[0]
