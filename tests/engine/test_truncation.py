"""Truncation without the history: what is cleared, the bounds on the threshold, what is kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit.engine import truncation
from heavybandit.noise import SymmetricPareto


def stage_contexts(kind, n, d, rng):
    """Contexts no longer than 1: of full rank, in a plane, or all on one line."""
    V = rng.normal(size=(n, d))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    V *= rng.uniform(0.1, 1, size=(n, 1))
    if kind == "line":
        V = rng.uniform(0.1, 1, size=(n, 1)) * V[0] / np.linalg.norm(V[0])
    if kind == "plane":
        V[:, 2:] = 0.0
    if kind == "short":
        V *= 1e-6
    return V


def stage_of(V, eps, looks_after=()):
    """The state of a policy whose only stage has seen these contexts, which paid nothing."""
    policy = hb.FlatBTC(1000, 1, V.shape[1], eps=eps, v=1.0)
    for n, x in enumerate(V, start=1):
        policy.select(x[None])
        policy.update(0.0)
        if n in looks_after:
            truncation.look_again(policy._state, 0)
    return policy._state


by_kind = {
    "kind": st.sampled_from(["full", "line", "plane", "short"]),
    "seed": st.integers(0, 9999),
}


@settings(max_examples=60)
@given(
    **by_kind,
    d=st.integers(1, 6),
    n=st.integers(1, 60),
    ridge=st.sampled_from([1.0, 0.01, 300.0]),
    scale=st.sampled_from([1.0, 0.1, 7.0]),
)
def test_a_cleared_payoff_is_never_truncated_and_almost_every_payoff_that_never_is_gets_cleared(
    kind, d, n, ridge, scale, seed
):
    """A payoff of size c√(q/(xᵀG⁺x)) is within c times the threshold of every arm if and only if
    q ≤ 1; the arm x = AG⁺x_τ, y = G⁺x_τ, attains it, whatever the ridge in A. So q below 1 is
    cleared, q above 1 is not, and what is cleared stays within the threshold of these arms and of
    random ones, also after growth."""
    rng = np.random.default_rng(seed)
    V = stage_contexts(kind, n, d, rng)
    state = stage_of(V, eps=1.0)
    truncation.look_again(state, 0)
    G = V.T @ V
    G_plus = np.linalg.pinv(G, rcond=1e-12, hermitian=True)
    leverage = np.einsum("nd,de,ne->n", V, G_plus, V)
    q = rng.choice([0.01, 0.5, 0.99, 0.9999, 1.0001, 1.5, 100.0], size=n)
    payoffs = rng.choice([-1, 1], size=n) * scale * np.sqrt(q / leverage)
    reach = [truncation.leverage_bound(state.btc.whiten[0], x) for x in V]
    np.testing.assert_allclose(reach, leverage, rtol=1e-9)
    yes = np.array([truncation.cleared(reach[i], payoffs[i], scale) for i in range(n)])
    np.testing.assert_array_equal(yes, q < 1)
    grown = V
    for more in (0, 1, 30):
        grown = np.vstack([grown, stage_contexts("full", more, d, rng)])
        A = ridge * np.eye(d) + grown.T @ grown
        worst = V @ np.linalg.pinv(grown.T @ grown, rcond=1e-12, hermitian=True) @ A
        arms = np.vstack([worst, rng.normal(size=(20, d)), V])
        y = np.linalg.solve(A, arms.T).T
        beta = (y[:, None, :].astype(np.longdouble) * grown).sum(axis=2)
        h = np.sqrt((beta**2).sum(axis=1))  # the smallest of all thresholds: ε = 1
        terms = np.abs(beta[:, :n] * payoffs)[:, yes]
        assert (terms <= scale * h[:, None] * (1 + 1e-12)).all()


def test_before_the_first_look_only_a_payoff_of_zero_is_cleared():
    W = stage_of(np.empty((0, 3)), eps=1.0).btc.whiten[0]
    reach = truncation.leverage_bound(W, np.eye(3)[0])
    assert truncation.cleared(reach, 0.0, 1.0)
    assert not truncation.cleared(reach, 1e-12, 1.0)


@settings(max_examples=40)
@given(
    **by_kind,
    d=st.integers(1, 5),
    n=st.integers(1, 300),
    looks=st.integers(0, 3),
    eps=st.sampled_from([0.7, 0.5, 0.1]),
)
def test_the_threshold_lies_between_its_bounds_at_all_times(kind, d, n, looks, seed, eps):
    """ρ^{-e}‖β‖₂ ≤ ‖β‖_{1+ε} ≤ n^e‖β‖₂ for every y, e = (1−ε)/(2(1+ε)), with ρ as kept: at least
    the largest xᵀG⁺x of the stage, whether W is new, old or was never made."""
    rng = np.random.default_rng(seed)
    V = np.vstack([stage_contexts(kind, n, d, rng), stage_contexts("full", n // 3, d, rng)])
    cuts = sorted(rng.integers(1, len(V) + 1, size=looks))
    state = stage_of(V, eps=eps, looks_after=cuts)
    U, lengths, _ = np.linalg.svd(V, full_matrices=False)  # VᵀV would square the condition
    leverage = (U[:, lengths > 1e-10 * lengths[0]] ** 2).sum(axis=1)
    rho = state.btc.leverage[0]
    assert leverage.max() * (1 - 1e-9) <= rho <= 1
    if looks and cuts[-1] == len(V):
        assert rho <= leverage.max() * (1 + 1e-6)
    y = np.vstack([rng.normal(size=(20, d)), V @ np.linalg.pinv(V.T @ V, rcond=1e-13)])
    beta, e = y @ V.T, (1 - eps) / (2 * (1 + eps))
    h, norm = (np.linalg.norm(beta, ord=q, axis=1) for q in (1 + eps, 2))
    assert (rho**-e * norm <= h * (1 + 1e-9)).all()
    assert (h <= len(V) ** e * norm * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["SupBTC", "FlatBTC"])
def test_payoffs_are_cleared_though_all_contexts_lie_on_one_line(name):
    """λ_min(VᵀV) = 0 for ever, and yet the suspects stay few."""
    policy = getattr(hb, name)(2000, 1, 3, v=4.0, width_scale=0.01)
    rng = np.random.default_rng(9)
    for payoff in rng.standard_t(3, size=2000):
        policy.select(rng.uniform(0.1, 1) * np.array([[0.6, 0.0, -0.8]]))
        policy.update(payoff)
    assert policy.diagnostics["most_suspects"] < 60
    assert policy.diagnostics["truncated"] > 0


def test_suspects_stay_few_and_no_history_is_scanned():
    policy = hb.SupBTC(30_000, 20, 10, v=4.0, width_scale=0.05)
    seen = hb.simulate(policy, hb.section6("student-t")).diagnostics
    assert 0 < seen["most_suspects"] < 200
    assert seen["history_scans"] == 0
    assert seen["truncated"] > 10_000


def test_history_is_scanned_for_eps_below_one_and_rarely():
    world = hb.section6(SymmetricPareto(1.6, 0.3), n_arms=6, dim=3)
    policy = hb.SupBTC(3000, 6, 3, v=world.noise.raw_moment(0.5, 1.0), eps=0.5, width_scale=0.01)
    seen = hb.simulate(policy, world).diagnostics
    assert 0 < seen["history_scans"] < 0.1 * seen["estimates"]


@pytest.mark.parametrize(("eps", "shape"), [(0.5, 1.6), (0.25, 1.3)])
def test_a_scan_that_stops_early_chooses_the_arms_that_the_whole_history_does(eps, shape):
    """Several chunks of history, so that a scan can stop before the last of them."""
    world = hb.section6(SymmetricPareto(shape, 0.3), n_arms=5, dim=3)
    told = {"v": 3.0, "eps": eps, "width_scale": 0.01}
    ours, literal = (
        hb.simulate(m.FlatBTC(1_200, 5, 3, **told), world, seed=10, keep_arms=True)
        for m in (hb, hb.paper)
    )
    assert ours.diagnostics["history_scans"] > 1_000
    assert ours.arms.tolist() == literal.arms.tolist()
