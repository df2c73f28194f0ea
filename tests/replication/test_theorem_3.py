"""Lemma 8 on algorithms small enough to go through every sequence of payoffs."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from heavybandit import theory
from heavybandit.instances import LowerBound
from heavybandit.replication.theorem_3 import (
    change_of_measure,
    greedy_tree,
    kl_bits,
    policies_figure,
    proved_from,
    random_tree,
    refuted_from,
    stage_by_stage,
    stubborn_tree,
    until_the_first_payoff,
)
from tiny import some_runs

# KL(p‖q) of two coins.


@pytest.mark.parametrize(
    ("p", "q", "bits"),
    [
        (0.5, 0.25, 1 - math.log2(3) / 2),  # ½ + ½ log₂(⅔)
        (0.25, 0.5, 0.75 * math.log2(3) - 1),  # −¼ + ¾ log₂(3/2)
        # A coin that never pays is told from q by 1 − q alone, one that always pays by q.
        *((0.0, 0.75, 2), (1.0, 0.125, 3)),
        *((0.5, 0.0, math.inf), (1.0, 0.0, math.inf), (0.0, 1.0, math.inf), (0.5, 1.0, math.inf)),
        *((p, p, 0.0) for p in (0.0, 0.3, 1.0)),
    ],
)
def test_known_divergences_in_bits(p, q, bits):
    assert kl_bits(p, q) == pytest.approx(bits, abs=1e-15)


probabilities = st.floats(0.001, 0.999)


@given(probabilities, probabilities)
def test_a_divergence_is_a_sum_over_heads_and_tails_and_not_negative(p, q):
    wanted = p * math.log2(p / q) + (1 - p) * math.log2((1 - p) / (1 - q))
    assert kl_bits(p, q) == pytest.approx(wanted, abs=1e-12)
    assert kl_bits(p, q) >= -1e-15
    assert kl_bits(1 - p, 1 - q) == pytest.approx(kl_bits(p, q), abs=1e-12)


@given(st.floats(1e-6, 0.499))
def test_the_step_in_lemma_8s_proof_holds_for_every_p(p):
    """KL(p‖2p) ≤ p/(2(1−2p)) bits; Pinsker's √(ln 2/2 · KL) is then half of √(ln 2 · p/(1−2p))."""
    assert kl_bits(p, 2 * p) <= p / (2 * (1 - 2 * p))


# Trees.


def place(sequence):
    """Where a sequence of payoffs stands in its level: as a binary number, the first play first."""
    return int("".join(map(str, sequence)) or "0", 2)


def arms_of(tree, sequence):
    """The arms that the algorithm plays while this sequence is paid."""
    return [int(level[place(sequence[:t])]) for t, level in enumerate(tree)]


@pytest.mark.parametrize(("arm", "n_arms"), [(0, 2), (1, 3), (3, 4), (0, 1)])
def test_a_tree_has_an_arm_for_every_sequence_a_stubborn_one_stays_a_greedy_goes_on_unpaid(
    arm, n_arms
):
    stubborn, greedy = stubborn_tree(arm, 6), greedy_tree(arm, n_arms, 6)
    drawn = random_tree(np.random.default_rng(0), n_arms, 6)
    assert all(set(level) <= set(range(n_arms)) for level in drawn)
    for tree in (stubborn, greedy, drawn):
        assert [len(level) for level in tree] == [1, 2, 4, 8, 16, 32]
    for sequence in itertools.product((0, 1), repeat=6):
        assert arms_of(stubborn, sequence) == [arm] * 6
        unpaid = [t - sum(sequence[:t]) for t in range(6)]
        assert arms_of(greedy, sequence) == [(arm + k) % n_arms for k in unpaid]


# The change of measure.


def by_enumeration(tree, good, p):
    """½Σ|P_good − P_unif| and E_unif[N_good], a sequence at a time."""
    distance = count = 0.0
    for sequence in itertools.product((0, 1), repeat=len(tree)):
        unif = changed = 1.0
        plays = 0
        for arm, paid in zip(arms_of(tree, sequence), sequence, strict=True):
            pays = 2 * p if arm == good else p
            unif *= p if paid else 1 - p
            changed *= pays if paid else 1 - pays
            plays += arm == good
        distance += abs(changed - unif) / 2
        count += unif * plays
    return distance, count


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 6), st.floats(0.01, 0.5))
def test_the_change_of_measure_is_a_sum_over_all_sequences(seed, n_arms, plays, p):
    tree = random_tree(np.random.default_rng(seed), n_arms, plays)
    for one in (tree, greedy_tree(0, n_arms, plays), stubborn_tree(n_arms - 1, plays)):
        found = [change_of_measure(one, good, p) for good in range(n_arms + 1)]
        for good, both in enumerate(found):
            assert both == pytest.approx(by_enumeration(one, good, p), abs=1e-14)
        assert sum(count for _, count in found) == pytest.approx(plays)
        assert found[-1] == (0.0, 0.0)  # an arm that is never played


@pytest.mark.parametrize("plays", [1, 2, 7, 12])
@pytest.mark.parametrize("p", [0.01, 0.2, 0.5])
def test_a_stubborn_algorithm_sees_the_difference_of_two_binomials(plays, p):
    k = np.arange(plays + 1)
    apart = np.abs(binom.pmf(k, plays, 2 * p) - binom.pmf(k, plays, p)).sum() / 2
    assert change_of_measure(stubborn_tree(2, plays), 2, p) == pytest.approx((apart, plays))


@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 9),
    st.floats(1e-4, 0.499),
    st.floats(0.1, 1),
)
def test_lemma_8_holds_for_every_algorithm_every_arm_and_every_f(seed, n_arms, plays, p, eps):
    """0 ≤ f ≤ M: E_good f is at most E_unif f + M·distance, and that at most Lemma 8's bound."""
    gamma = p ** (1 / (1 + eps))
    rng = np.random.default_rng(seed)
    for tree in (random_tree(rng, n_arms, plays), greedy_tree(0, n_arms, plays)):
        for good in range(n_arms):
            distance, count = change_of_measure(tree, good, p)
            assert 0 <= distance <= 1
            assert 5 * distance <= theory.lemma8(0.0, 5.0, count, gamma, eps) + 1e-12
            pinsker = math.sqrt(math.log(2) / 2 * count * float(kl_bits(p, 2 * p)))
            assert distance <= pinsker + 1e-12


# The printed γ, and another.


@pytest.mark.parametrize(
    ("n_arms", "eps", "v", "least"),
    [
        (4, 1.0, 1, 2_305),  # 4·24² + 1
        (4, 1.0, 2, 9_217),  # 4·48² + 1
        (4, 0.5, 1, 55_297),  # 4·24³ + 1
        (20, 1.0, 1, 18_485),  # 20·30.4² = 18,483.2
    ],
)
def test_the_printed_gamma_is_refuted_from_a_dimension_known_by_hand(n_arms, eps, v, least):
    assert refuted_from(n_arms, eps, v) == least


@given(st.integers(4, 30), st.floats(0.3, 1), st.floats(0.5, 4), st.floats(1, 1e6))
def test_from_there_on_uniform_play_costs_less_than_is_claimed_at_every_horizon(K, eps, v, factor):
    d = refuted_from(K, eps, v)
    T = factor * (2 * d) ** ((1 + eps) / (2 * eps))
    # a mean is γ^ε times the raw moment, so the means lie between 0 and vγ^ε
    dearest = v * theory.theorem3_gamma(T, K, eps) ** eps * T * (1 - 1 / K)
    assert dearest < theory.theorem3(T, d, eps) * (1 + 1e-12)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 7), st.floats(0.01, 0.3))
def test_no_algorithm_costs_less_until_the_first_payoff_than_is_said(seed, K, plays, q):
    """A stage of K arms, one of which pays with probability q, and the rest never."""
    gamma = mean = math.sqrt(q)
    least = until_the_first_payoff(plays, 1, K, mean, gamma)
    for tree in (random_tree(np.random.default_rng(seed), K, plays), greedy_tree(0, K, plays)):
        regrets = []
        for good in range(K):
            law, missed = {(): 1.0}, 0.0
            for t, level in enumerate(tree):
                for seen in [s for s in law if len(s) == t]:
                    chance, arm = law.pop(seen), level[place(seen)]
                    missed += chance * mean * (arm != good)
                    pays = q if arm == good else 0.0
                    law |= {(*seen, 0): chance * (1 - pays), (*seen, 1): chance * pays}
            regrets.append(missed)
        assert np.mean(regrets) >= least - 1e-12


@settings(max_examples=300)
@given(st.integers(4, 40), st.integers(1, 40_000), st.floats(0.05, 1), st.floats(1, 1e6))
def test_theorem_3_prime_has_its_bound_from_its_horizon_on(K, more, eps, factor):
    d = K + more
    least = theory.theorem3_repaired(d, K, eps)
    assert least >= 2 * d
    for T in (least, least * factor):
        if T < 1e300:
            world = LowerBound(math.ceil(T), d, K, eps, "capped")
            assert world.theta_norm <= 1 + 1e-12
            assert stage_by_stage(world) >= theory.theorem3(T, d, eps)


@pytest.mark.parametrize("dim", [5, 1_943, 1_944, 2_306, 3_001])
def test_the_bound_is_proved_at_every_horizon_from_there_on_and_not_just_below(dim):
    least = proved_from(dim, 4, 1.0)
    upto = math.ceil(theory.theorem3_repaired(dim, 4, 1.0))
    step = max(1, (upto - least) // 2_000)
    for T in (least, *range(least, upto, step)):
        world = LowerBound(T, dim, 4, 1.0, "capped")
        assert stage_by_stage(world) >= theory.theorem3(float(T), dim, 1.0)
    if least > 2 * dim:
        below = LowerBound(least - 1, dim, 4, 1.0, "capped")
        assert stage_by_stage(below) < theory.theorem3(float(least - 1), dim, 1.0)
    assert (least > 2 * dim) is (dim >= 1_944)


def test_the_title_of_a_figure_says_what_the_policies_in_it_cost():
    """Of (d−1)^{ε/(1+ε)} T^{1/(1+ε)}/32, the bound, 3 to 17 times as much."""
    found = []
    for policy, eps, times in (("CRT", 1.0, 3), ("MoM", 1.0, 5), ("CRT", 0.5, 17), ("MoM", 0.5, 4)):
        bound = float(theory.theorem3(100.0, 5, eps))
        where = {"eps": eps, "dim": 5, "n_arms": 4}
        one = some_runs([0.9 * times * bound, 1.1 * times * bound])
        found.append(replace(one, policy=policy, where=where))
    (axes,) = policies_figure(found, 5).axes
    assert "all cost 3 to 17 times as much" in axes.get_title()
