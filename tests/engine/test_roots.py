"""TOFU's rational root: its error, how it follows a growing matrix, and what is decided with it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit.engine import roots, tofu
from heavybandit.engine import state as layout
from heavybandit.engine.linear import add_context
from heavybandit.noise import StudentT, SymmetricPareto


@pytest.mark.parametrize("row", range(1, roots.WIDEST + 1))
def test_the_rational_root_is_as_near_as_its_bound_says_and_no_nearer(row):
    """It oscillates between its bounds, so that one pole fewer would miss ETA."""
    n, kappa = roots.COUNT[row], 2.0**row
    eigenvalues = np.geomspace(1, kappa, 5001)
    sigma, weight = roots.SIGMA[row, :n, None], roots.WEIGHT[row, :n, None]
    error = np.abs(np.sqrt(eigenvalues) * (weight / (eigenvalues + sigma)).sum(axis=0) - 1).max()
    per_pole = -math.log(error / 4) / n  # the error is 4q^{2N}
    assert error <= roots.ETA < 4 * math.exp(-per_pole * (n - 1))
    assert not roots.SIGMA[row, n:].any()


class Growing:
    """TOFU's state, and beside it the matrix that it is about."""

    def __init__(self, dim):
        self.state = hb.TOFU(10**6, 2, dim, v=4.0)._state
        self.A = np.eye(dim)
        self.made = 0  # how often the resolvents were made anew

    def add(self, x):
        add_context(self.state.A_inv[0], x, self.state.vector[0])
        roots.wait(self.state.tofu, x)
        self.A += np.outer(x, x)

    def root(self):
        """The rational root, brought up to date as TOFU does."""
        kept, square = self.state.tofu, self.state.square
        if not roots.catch_up(kept, self.state.A_inv[0], square[1]):
            tofu.decompose(self.state.A_inv[0], kept, square)
            roots.make_anew(kept, square[0], self.state.vector[1])
            self.made += 1
        return kept.root[:, : len(self.A)]

    def error(self):
        """‖A^{1/2}X̃ − I‖, against the root from LAPACK."""
        eigenvalues, Q = np.linalg.eigh(self.A)
        off = (Q * np.sqrt(eigenvalues)) @ Q.T @ self.root() - np.eye(len(self.A))
        return np.linalg.norm(off, ord=2)


@settings(max_examples=40)
@given(
    dim=st.integers(1, 12),
    kind=st.sampled_from(["full", "line", "short", "turning"]),
    gap=st.sampled_from([1, 3, 60]),
    seed=st.integers(0, 9999),
)
def test_the_rational_root_follows_the_matrix(dim, kind, gap, seed):
    """Every round, now and then, or so rarely that contexts are lost; also where the matrix grows
    in one direction only, so that its largest eigenvalue leaves the interval again and again."""
    rng = np.random.default_rng(seed)
    growing, line = Growing(dim), rng.normal(size=dim)
    for t in range(300):
        x = line if kind == "line" or (kind == "turning" and t > 100) else rng.normal(size=dim)
        growing.add(x / np.linalg.norm(x) * (0.01 if kind == "short" else 1.0))
        if t % gap == 0:
            assert growing.error() <= roots.NEAR
    assert 1 <= growing.made <= (20 if gap == 1 else 300 / gap)


def test_rounding_does_not_add_up():
    growing, rng = Growing(5), np.random.default_rng(3)
    X = rng.normal(size=(12_000, 5))
    worst = 0.0
    for t, x in enumerate(X / np.linalg.norm(X, axis=1, keepdims=True)):
        growing.add(x)
        growing.root()
        worst = max(worst, growing.error() if t % 97 == 0 else 0.0)
    assert worst <= 1.2 * roots.ETA  # a tenth of what NEAR allows
    assert growing.state.tofu.use[roots.TAKEN] < 4096


def test_a_matrix_too_far_from_the_identity_is_left_to_the_exact_root():
    growing = Growing(2)
    growing.state.A_inv[0, 0, 0] = 2.0**-(roots.WIDEST)
    growing.root()
    assert growing.state.tofu.use[roots.N_POLES] == 0


@settings(max_examples=60)
@given(dim=st.integers(1, 8), before=st.integers(0, 60), seed=st.integers(0, 9999))
def test_no_coordinate_exceeds_its_limit_before_the_determinant_has_grown_as_far(dim, before, seed):
    """Contexts mostly along one direction, which turns coordinates the most."""
    rng = np.random.default_rng(seed)
    growing = Growing(dim)
    for x in rng.normal(size=(before, dim)):
        growing.add(x / np.linalg.norm(x))
    x, payoff = rng.normal(size=dim), 10.0 ** rng.uniform(-2, 6)
    row = np.append(x / np.linalg.norm(x), [payoff, 0.0])
    root = growing.root().copy()
    u = root @ row[:dim]
    limit = np.abs(u * payoff).max() * rng.choice([1.0001, 1.1, 2.0])
    room = tofu.room_for_growth(growing.state.tofu.root, row, u, limit)
    assert room > 0
    start, towards = np.linalg.slogdet(growing.A)[1], rng.normal(size=dim)
    for _ in range(100):
        more = towards + 0.3 * rng.normal(size=dim)
        A = growing.A + np.outer(more, more) * rng.uniform(0, 1) / (more @ more)
        if np.linalg.slogdet(A)[1] - start > room:
            break
        growing.A = A
        eigenvalues, Q = np.linalg.eigh(A)
        now = Q @ ((Q.T @ row[:dim]) / np.sqrt(eigenvalues))
        assert np.abs(now * payoff).max() <= limit


def test_a_coordinate_may_exceed_its_limit_once_the_determinant_has_grown_four_times_as_far():
    """From A = I, x with equal coordinates and contexts along m ∝ e_1 − x move u_1 by
    (1 − e^{−L/2})(1 − x_1)/2, about a third of the bound (L/2)√(X_11·xᵀXx) for x_1 = 8^{−1/2}."""
    growing, x = Growing(8), np.full(8, 8**-0.5)
    growing.root()
    limit = 1.01 * x[0]
    room = tofu.room_for_growth(growing.state.tofu.root, np.append(x, [1.0, 0.0]), x, limit)
    assert room == pytest.approx(2 * 0.01 * x[0], rel=1e-3)
    for share, exceeds in ((1.0, False), (4.0, True)):
        u_1 = x[0] + (1 - math.exp(-share * room / 2)) * (1 - x[0]) / 2
        assert bool(u_1 > limit) == exceeds


def test_what_room_suspects_have_shrinks_by_the_growth_of_the_determinant():
    """Of payoffs of 0, none of which is a suspect."""
    policy, rng = hb.TOFU(1_000, 2, 4, v=4.0), np.random.default_rng(6)
    span, A = policy._state.tofu.span, np.eye(4)
    span[roots.WHOLE] = 7.0
    for _ in range(20):
        X = rng.normal(size=(2, 4))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        x = X[policy.select(X)]
        policy.update(0.0)
        A += np.outer(x, x)
        assert span[roots.WHOLE] == pytest.approx(7.0 - np.linalg.slogdet(A)[1], abs=1e-9)


def test_a_term_near_the_limit_is_not_decided():
    z = np.zeros(3)
    assert tofu.add_kept(np.array([1.0, -2.0, 0.1]), 2.0, 3.0, 0.9, z) == 1
    assert z.tolist() == [2.0, 0.0, 0.2]
    for error in (1.0, 1.1):
        assert tofu.add_kept(np.array([1.0, -2.0, 0.1]), 2.0, 3.0, error, z) == -1


@pytest.mark.parametrize("payoffs", [[5.0], [5.0, -2.0, 7.0]])
def test_what_the_rational_root_may_be_off_by_is_returned(payoffs):
    """With X̃ = (1 + NEAR)A^{-1/2} it is off by 2·NEAR·‖z‖ in the norm of A, to first order; that
    is what is returned for one suspect, and less than it for several."""
    growing, rng = Growing(5), np.random.default_rng(3)
    for x in rng.normal(size=(40, 5)):
        growing.add(x / np.linalg.norm(x))
    growing.root()
    state, X = growing.state, rng.normal(size=(len(payoffs), 5))
    lengths = np.einsum("nd,nd->n", X, np.linalg.solve(growing.A, X.T).T)
    suspects = np.column_stack([X, payoffs, lengths])
    eigenvalues, Q = np.linalg.eigh(growing.A)
    state.tofu.root[:, :5] = (1 + roots.NEAR) * (Q / np.sqrt(eigenvalues)) @ Q.T
    error = tofu.near_suspects(suspects, 1e9, state.tofu, state.vector, state.counts)
    off = state.vector[layout.U, :5] - np.linalg.solve(growing.A, X.T @ payoffs)
    size = math.sqrt(off @ growing.A @ off)
    assert size <= error * (1 + 1e-6)
    assert len(payoffs) > 1 or size == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("width_scale", [1.0, 0.01])
@pytest.mark.parametrize("constants", ["theory", "circulated"])
@pytest.mark.parametrize("noise", [StudentT(3.0), SymmetricPareto(1.6, 0.3)], ids=["t", "Pareto"])
@pytest.mark.parametrize(("dim", "eps"), [(3, 1.0), (10, 1.0), (10, 0.5), (24, 1.0)])
def test_with_and_without_the_rational_root_all_arms_and_counts_are_the_same(
    dim, eps, noise, constants, width_scale
):
    world = hb.section6(noise, n_arms=8, dim=dim)
    told = {"v": 4.0, "eps": eps, "constants": constants, "width_scale": width_scale}
    quick = hb.TOFU(2_000, 8, dim, **told)
    exact = without_resolvents(hb.TOFU(2_000, 8, dim, **told))
    one, other = (hb.simulate(p, world, seed=5, keep_arms=True) for p in (quick, exact))
    np.testing.assert_array_equal(one.arms, other.arms)
    np.testing.assert_equal(one.diagnostics, other.diagnostics)
    decomposed = [p._state.tofu.use[roots.DECOMPOSED] for p in (quick, exact)]
    assert decomposed[1] == other.diagnostics["matrix_roots"]
    assert decomposed[1] < 100 or decomposed[0] < 0.2 * decomposed[1]


def without_resolvents(policy):
    """The same policy, which can only use exact roots."""
    kept = policy._state.tofu
    policy._state = policy._state._replace(tofu=kept._replace(resolvents=kept.resolvents[:0]))
    return policy


def test_where_arms_are_tied_every_round_is_left_to_the_exact_root_and_counted_once():
    rng = np.random.default_rng(8)
    policies = hb.TOFU(400, 6, 4, v=4.0), without_resolvents(hb.TOFU(400, 6, 4, v=4.0))
    for payoff in rng.standard_t(1.5, size=400):
        X = rng.normal(size=(3, 4))
        X = np.repeat(X / np.linalg.norm(X, axis=1, keepdims=True), 2, axis=0)
        arms = [policy.select(X) for policy in policies]
        assert arms[0] == arms[1]
        for policy in policies:
            policy.update(payoff)
    one, other = (policy.diagnostics for policy in policies)
    np.testing.assert_equal(one, other)
    assert one["truncated"] > 100


def test_the_lengths_of_suspects_follow_the_matrix():
    policy, rng = hb.TOFU(2_000, 2, 6, v=4.0), np.random.default_rng(2)
    state, seen = policy._state, 0
    for payoff in rng.standard_t(1.5, size=500):
        X = rng.normal(size=(2, 6))
        policy.select(X / np.linalg.norm(X, axis=1, keepdims=True))
        policy.update(payoff)
        kept = policy._state.suspects[0, : policy.diagnostics["suspects"]]
        lengths = np.einsum("nd,de,ne->n", kept[:, :6], state.A_inv[0], kept[:, :6])
        np.testing.assert_allclose(kept[:, 7], lengths, rtol=1e-12)
        seen += len(kept)
    assert seen > 1_000
