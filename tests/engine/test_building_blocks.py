"""The engine's building blocks against NumPy, and its vectors against plain loops."""

import math
import os
import resource
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

import heavybandit as hb
from heavybandit.engine import lanes, linear
from heavybandit.engine.lanes import LANES


def unit_contexts(rng, n, d, near_a_line):
    V = rng.normal(size=(n, d))
    if near_a_line:
        V = np.ones(d) / math.sqrt(d) + 1e-3 * V / np.linalg.norm(V, axis=1, keepdims=True)
    return V / np.linalg.norm(V, axis=1, keepdims=True)


@pytest.mark.parametrize("near_a_line", [False, True])
def test_rank_one_updates_stay_with_the_inverse_for_a_hundred_thousand_rounds(near_a_line):
    d = 10
    V = unit_contexts(np.random.default_rng(7), 100_000, d, near_a_line)
    A_inv, scratch, log_det = np.eye(d), np.empty(d), 0.0
    for x in V:
        log_det += math.log1p(linear.add_context(A_inv, x, scratch))
    A = np.eye(d) + V.T @ V
    error = np.linalg.norm(A_inv @ A - np.eye(d))
    assert np.linalg.cond(A) > 1e4 or not near_a_line
    assert error < (1e-8 if near_a_line else 1e-11)
    np.testing.assert_array_equal(A_inv, A_inv.T)
    assert log_det == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-11)


def symmetric_matrix(kind, d, rng):
    if kind == "indefinite":
        M = rng.normal(size=(d, d))
        return M + M.T
    if kind == "nearly diagonal":
        M = 1e-9 * rng.normal(size=(d, d))
        return M + M.T + np.diag(rng.random(d))
    if kind == "repeated eigenvalues":
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        M = Q @ np.diag(1.0 + (np.arange(d) % 2)) @ Q.T
        return (M + M.T) / 2
    rank = {"positive": 3 * d, "singular": (d + 1) // 2, "zero": 0}[kind]
    V = rng.normal(size=(rank, d))
    return V.T @ V


@pytest.mark.parametrize("d", [1, 2, 3, 7, 10, 24])
@pytest.mark.parametrize(
    "kind",
    ["positive", "singular", "zero", "indefinite", "nearly diagonal", "repeated eigenvalues"],
)
def test_jacobi_finds_eigenvalues_and_an_orthogonal_basis(kind, d):
    rng = np.random.default_rng([8, d])
    for _ in range(5):
        M = symmetric_matrix(kind, d, rng)
        size = np.abs(M).max() * d
        diagonal, rows = M.copy(), np.empty((d, d))
        linear.eigen(diagonal, rows)
        values = np.diag(diagonal).copy()
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(M), atol=3e-15 * size)
        np.testing.assert_allclose(rows @ rows.T, np.eye(d), atol=3e-14)
        np.testing.assert_allclose(rows.T @ np.diag(values) @ rows, M, atol=1e-14 * size)
        assert np.abs(diagonal - np.diag(values)).max() <= 1e-15 * size


@pytest.mark.parametrize("d", [1, 2, 3, 10, 24])
def test_eigenvectors_follow_a_shrinking_inverse_as_they_would_be_found_from_scratch(d):
    """200 updates of A⁻¹ by a context; each time the eigenvectors before are where it starts."""
    rng = np.random.default_rng([9, d])
    A_inv, rows = np.eye(d), np.eye(d)
    M, scratch, before = (np.empty((d, d)) for _ in range(3))
    for _ in range(200):
        linear.add_context(A_inv, rng.random(d) / d, np.empty(d))
        linear.eigen_again(A_inv, rows, M, scratch, before)
        values = np.diag(M)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A_inv), atol=1e-13)
        np.testing.assert_allclose(rows @ rows.T, np.eye(d), atol=1e-12)
        np.testing.assert_allclose(rows.T @ np.diag(values) @ rows, A_inv, atol=1e-12)


def test_jacobi_sees_a_small_eigenvalue_beside_a_large_one():
    """[[10¹², 1], [1, 1]] has eigenvalues 10¹² + 10⁻¹² and 1 − 10⁻¹²."""
    M, rows = np.array([[1e12, 1.0], [1.0, 1.0]]), np.empty((2, 2))
    linear.eigen(M, rows)
    assert 1 - M[1, 1] == pytest.approx(1e-12, rel=1e-3, abs=0)
    assert abs(rows[0, 1]) == pytest.approx(1e-12, rel=1e-9, abs=0)


@given(
    values=st.lists(st.integers(-3, 3) | st.floats(-1e300, 1e300), min_size=1, max_size=40),
    data=st.data(),
)
def test_order_statistic_is_the_entry_of_the_sorted_list(values, data):
    n = data.draw(st.integers(1, len(values)))
    rank = data.draw(st.integers(0, n - 1))
    array = np.array(values, dtype=float)
    assert linear.order_statistic(array, n, rank) == sorted(values[:n])[rank]
    np.testing.assert_array_equal(array[n:], values[n:])
    assert sorted(array[:n]) == sorted(values[:n])


def test_order_statistic_keeps_to_time_on_sorted_equal_and_organ_pipe_lists():
    for values in (np.arange(999.0), np.zeros(999), np.abs(np.arange(999.0) - 499)):
        for rank in (0, 1, 499, 997, 998):
            assert linear.order_statistic(values.copy(), 999, rank) == np.sort(values)[rank]


@given(
    values=st.lists(
        st.sampled_from([0.0, 1.0, 1 - 0.5e-9, 1 - 2e-9, 1 + 0.5e-9, -7.0, 1e6]),
        min_size=1,
        max_size=8,
    ),
    data=st.data(),
)
def test_the_lowest_index_within_a_billionth_of_the_best_wins(values, data):
    n = data.draw(st.integers(1, len(values)))
    first = next(i for i in range(n) if values[i] >= max(values[:n]) - 1e-9)
    assert linear.lowest_near_best(np.array(values), n) == first
    assert hb.paper.argmax(np.array(values[:n])) == first
    assert hb.paper.argmin(-np.array(values[:n])) == first
    assert linear.largest(np.array(values), n) == max(values[:n])


@pytest.mark.parametrize("n", range(1, 14))
def test_the_largest_is_seen_wherever_it_stands(n):
    for place in range(n):
        values = np.full(14, -2.0)
        values[place], values[n:] = -1.0, 9.0
        assert linear.largest(values, n) == -1.0


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_cholesky_is_numpys(d):
    V = np.random.default_rng(d).normal(size=(2 * d, d))
    M, L = V.T @ V, np.zeros((d, d))
    for shift in (0.0, 2.5):
        linear.cholesky(M, shift, L)
        expected = np.linalg.cholesky(M + shift * np.eye(d))
        np.testing.assert_allclose(L, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("room", [12, 20, 44, 50, 56])
@pytest.mark.parametrize(("start", "stop"), [(0, 9), (0, 16), (0, 33), (8, 20), (8, 50), (3, 44)])
def test_forms_in_groups_of_any_size_have_the_bits_of_forms_one_by_one(start, stop, room):
    stop = min(stop, room)
    X_T, B = (np.random.default_rng([start, stop, k]).normal(size=(5, room)) for k in (0, 1))
    M, one, memory = B @ B.T, np.empty(1), np.full(room + 3 * LANES, 9.0)
    out = memory[:room]  # what is written beyond it would be seen
    linear.half_forms(M, X_T, start, stop, out)
    for a in range(start, stop):
        linear.half_forms(M, X_T[:, a : a + 1].copy(), 0, 1, one)
        assert out[a] == one[0]
    after = min(room, start + LANES * math.ceil((stop - start) / LANES))
    assert (memory[:start] == 9).all()
    assert (memory[after:] == 9).all()


@pytest.mark.parametrize("n", [1, 2, 7, 20, 43, 52])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 10])
def test_products_over_arms_are_numpys_and_leave_later_blocks_alone(d, n):
    rng = np.random.default_rng([d, n])
    X, V, weights = rng.normal(size=(52, d)), rng.normal(size=(2 * d, d)), rng.normal(size=d)
    M, X_T = V.T @ V, np.empty((d, 52))
    linear.transpose(X, X_T, 0, len(X))
    np.testing.assert_array_equal(X_T, X.T)
    out, Y = np.full(52, 9.0), np.full((d, 52), 9.0)
    after = min(52, LANES * math.ceil(n / LANES))  # columns are worked on in blocks
    linear.quadratic_forms(M, X_T, 0, n, out)
    np.testing.assert_allclose(out[:n], np.einsum("ad,de,ae->a", X, M, X)[:n], rtol=1e-12)
    assert (out[after:] == 9).all()
    linear.combine(weights, X_T, n, out)
    np.testing.assert_allclose(out[:n], (X @ weights)[:n], rtol=1e-12, atol=1e-13)
    assert (out[after:] == 9).all()
    linear.multiply(M, X_T, n, Y)
    np.testing.assert_allclose(Y[:, :n], (M @ X.T)[:, :n], rtol=1e-12, atol=1e-12)
    assert (Y[:, after:] == 9).all()
    y = np.empty(d)
    assert linear.solve(M, X[0], y) == pytest.approx(X[0] @ M @ X[0], rel=1e-12)
    np.testing.assert_allclose(y, M @ X[0], rtol=1e-12, atol=1e-12)
    G = M.copy()
    linear.add_outer(G, np.zeros((d, d)), weights)
    np.testing.assert_allclose(G, M + np.outer(weights, weights), rtol=1e-14)


@njit
def compiled_combine(weights, X_T, start, out):
    lanes.combine_lanes(weights, X_T, start, out)


@njit
def compiled_quadratic(M, X_T, start, out):
    lanes.quadratic_lanes(M, X_T, start, out)


@njit
def compiled_quadratic_twice(M, X_T, start, out):
    lanes.quadratic_twice(M, X_T, start, out)


@njit
def compiled_quadratic_thrice(M, X_T, start, out):
    lanes.quadratic_thrice(M, X_T, start, out)


@njit
def compiled_transpose(X, X_T, start):
    lanes.transpose_rows(X, X_T, start)


@pytest.mark.parametrize("start", [0, 3, 6])
@pytest.mark.parametrize("d", [1, 2, 7, 10, 33])
def test_compiled_lanes_have_the_bits_of_the_loops_that_they_stand_for(d, start):
    rng = np.random.default_rng([d, start])
    X_T, table, B = rng.normal(size=(d, 30)), rng.normal(size=(d, 3)), rng.normal(size=(d, d))
    M = np.tril(B @ B.T) + np.tril(B @ B.T, -1).T
    for weights in (np.ascontiguousarray(table[:, 1]), table[:, 1]):  # a column, too
        ours, plain = np.full(30, 9.0), np.full(30, 9.0)
        compiled_combine(weights, X_T, start, ours)
        lanes.combine_lanes(weights, X_T, start, plain)
        np.testing.assert_array_equal(ours, plain)
    for width, ours_of, plain_of in (
        (LANES, compiled_quadratic, lanes.quadratic_lanes),
        (2 * LANES, compiled_quadratic_twice, lanes.quadratic_twice),
        (3 * LANES, compiled_quadratic_thrice, lanes.quadratic_thrice),
    ):
        ours, plain = np.full(30, 9.0), np.full(30, 9.0)
        ours_of(M, X_T, start, ours)
        plain_of(M, X_T, start, plain)
        np.testing.assert_array_equal(ours, plain)
        assert (ours[start : start + width] != 9).all()
        assert (np.delete(ours, np.s_[start : start + width]) == 9).all()


@pytest.mark.parametrize("start", [0, 3, 6])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 8, 33])
def test_transposed_rows_become_columns_and_leave_the_others_alone(d, start):
    X = np.random.default_rng([d, start]).normal(size=(10, d))
    for transpose_rows in (compiled_transpose, lanes.transpose_rows):
        X_T = np.full((d, 12), 9.0)
        transpose_rows(X, X_T, start)
        turned = np.s_[start : start + lanes.ROWS]
        np.testing.assert_array_equal(X_T[:, turned], X[turned].T)
        assert (np.delete(X_T, turned, axis=1) == 9).all()


@pytest.mark.parametrize(("start", "stop"), [(0, 0), (0, 3), (0, 4), (1, 9), (5, 11), (3, 4)])
def test_only_the_rows_that_are_asked_for_are_transposed(start, stop):
    X, X_T = np.random.default_rng(5).normal(size=(11, 6)), np.full((6, 16), 9.0)
    linear.transpose(X, X_T, start, stop)
    np.testing.assert_array_equal(X_T[:, start:stop], X[start:stop].T)
    assert (np.delete(X_T, np.s_[start:stop], axis=1) == 9).all()


def test_lanes_refuse_columns_that_are_not_next_to_each_other():
    X_T = np.asfortranarray(np.ones((3, 8)))
    with pytest.raises(TypingError, match="C-ordered"):
        compiled_combine(np.ones(3), X_T, 0, np.ones(8))
    with pytest.raises(TypingError, match="C-ordered"):
        compiled_transpose(np.asfortranarray(np.ones((8, 3))), np.ones((3, 8)), 0)
    with pytest.raises(TypingError, match="weights that are doubles"):
        compiled_combine(np.ones(3, dtype=np.float32), np.ones((3, 8)), 0, np.ones(8))


@pytest.mark.parametrize("policy", [hb.SupBMM, hb.SupBTC, hb.TOFU, hb.HeavyOFUL, hb.Thompson])
def test_a_state_larger_than_the_machines_memory_is_refused_before_it_takes_any(
    policy, monkeypatch
):
    """The system may promise more memory than there is, and end the process that fills it."""
    more = {} if policy is hb.Thompson else {"v": 1.0}
    policy(10_000, 2, 300, **more)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 2**12, "SC_PHYS_PAGES": 2**14}.get)
    policy(10_000, 2, 300, **more)  # in 64 MB
    unit = 1 if sys.platform == "darwin" else 1024
    before = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="must leave room in memory, got 10000, 2 and 6000"):
        policy(10_000, 2, 6000, **more)  # a matrix has 288 MB
    assert unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1e8
