"""Compiled building blocks: rank-one updates, quadratic forms, eigenvalues, order statistics.

Explicit loops and no BLAS, so that the bits do not depend on the processor; the inner loop runs
over independent entries, so that it vectorises without any sum being reordered.
"""

from __future__ import annotations

import math

from ..policy import TIE
from ._compile import apart, compiled
from .lanes import (
    LANES,
    ROWS,
    combine_lanes,
    quadratic_lanes,
    quadratic_thrice,
    quadratic_twice,
    transpose_rows,
)

FEW = 16  # so few values are sorted outright


@compiled
def solve(A_inv, x, y):
    """y ← A⁻¹x; returns xᵀA⁻¹x, never below 0."""
    combine(x, A_inv, x.size, y)  # A⁻¹ is symmetric: its rows are its columns
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return max(total, 0.0)


@compiled
def add_context(A_inv, x, y):
    """A⁻¹ ← (A + xxᵀ)⁻¹ by Sherman–Morrison, y ← A⁻¹x as it was before; returns
    xᵀA⁻¹x, by which det A grows: times one more than that."""
    d = x.size
    c2 = solve(A_inv, x, y)
    shrink = 1.0 / (1.0 + c2)
    for i in range(d):
        y_i = y[i]
        for j in range(d):
            A_inv[i, j] -= (y_i * y[j]) * shrink  # y_i·y_j commutes: stays symmetric
    return c2


@compiled
def copy(source, target):
    """target ← source, of vectors; a slice on the left would need reference counts."""
    for i in range(source.size):
        target[i] = source[i]


@compiled
def add_outer(G, lost, x):
    """G ← G + xxᵀ by Kahan's summation; `lost` carries what rounding has dropped so far.

    A million repeats of one context would otherwise leave errors of 1e-5 across it.
    """
    for i in range(x.size):
        x_i = x[i]
        for j in range(x.size):
            term = x_i * x[j] - lost[i, j]
            summed = G[i, j] + term
            lost[i, j] = (summed - G[i, j]) - term
            G[i, j] = summed


@compiled
def transpose(X, X_T, start, stop):
    """X_T ← Xᵀ for the arms from start up to stop: loops then run over arms, a column each."""
    a = start
    while a + ROWS <= stop:
        transpose_rows(X, X_T, a)
        a += ROWS
    for row in range(a, stop):
        for i in range(X.shape[1]):
            X_T[i, row] = X[row, i]


@compiled
def combine(weights, X_T, n, out):
    """out[a] ← Σ_i weights[i]·X_T[i, a] for the first n columns, summed in order of i.

    Columns up to the next multiple of LANES are filled too, as far as the arrays go.
    """
    a = 0
    while a < n and a + LANES <= out.size and a + LANES <= X_T.shape[1]:
        combine_lanes(weights, X_T, a, out)
        a += LANES
    for column in range(a, n):
        total = 0.0
        for i in range(weights.size):
            total += weights[i] * X_T[i, column]
        out[column] = total


@compiled
def multiply(M, X_T, n, Y):
    """Y ← M·X_T for the first n columns."""
    for i in range(M.shape[0]):
        combine(M[i], X_T, n, Y[i])


@compiled
def quadratic_forms(M, X_T, start, stop, out):
    """out[a] ← x_aᵀMx_a ≥ 0 for the columns from start up to stop; M is symmetric."""
    half_forms(M, X_T, start, stop, out)
    for column in range(start, stop):
        out[column] = max(2.0 * out[column], 0.0)


@compiled
def half_forms(M, X_T, start, stop, out):
    """out[a] ← ½ x_aᵀMx_a, which rounding may leave below 0; of M the lower half is enough. A
    column's bits do not depend on which others are asked for."""
    a, room = start, min(out.size, X_T.shape[1])
    while a + 2 * LANES < stop and a + 3 * LANES <= room:
        quadratic_thrice(M, X_T, a, out)
        a += 3 * LANES
    while a + LANES < stop and a + 2 * LANES <= room:
        quadratic_twice(M, X_T, a, out)
        a += 2 * LANES
    while a < stop and a + LANES <= room:
        quadratic_lanes(M, X_T, a, out)
        a += LANES
    for column in range(a, stop):
        total = 0.0
        for i in range(M.shape[0]):
            half = (0.5 * M[i, i]) * X_T[i, column]
            for j in range(i):
                half += M[i, j] * X_T[j, column]
            total += X_T[i, column] * half
        out[column] = total


@compiled
def largest(values, n):
    """The largest of the first n values, in four parts that do not wait for each other."""
    a = b = c = d = values[0]
    i = 0
    while i + 4 <= n:
        a, b = max(a, values[i]), max(b, values[i + 1])
        c, d = max(c, values[i + 2]), max(d, values[i + 3])
        i += 4
    for rest in range(i, n):
        a = max(a, values[rest])
    return max(max(a, b), max(c, d))


@compiled
def lowest_near_best(values, n):
    """The lowest index among the first n values within TIE of the largest (reading R4)."""
    least = largest(values, n) - TIE
    i = 0
    while values[i] < least:
        i += 1
    return i


@apart
def order_statistic(values, n, rank):
    """The value of the given 0-based rank among the first n, which it overwrites.

    Quickselect without branches on data: whether a value is below the pivot cannot be foreseen, and
    each wrong guess of the processor costs more than ten comparisons.
    """
    while n > FEW:
        pivot = middle_of_five(values, n)
        below, not_above = 0, 0
        for i in range(n):
            below += 1 if values[i] < pivot else 0
            not_above += 1 if values[i] <= pivot else 0
        if below <= rank < not_above:
            return pivot
        kept = 0
        if rank < below:
            for i in range(n):
                value = values[i]
                values[kept] = value
                kept += 1 if value < pivot else 0
        else:
            for i in range(n):
                value = values[i]
                values[kept] = value
                kept += 1 if value > pivot else 0
            rank -= not_above
        n = kept
    for i in range(1, n):
        value = values[i]
        j = i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    return values[rank]


@compiled
def middle_of_five(values, n):
    """The median of five values spread over the first n."""
    step = n // 5
    a, b, c, d, e = values[0], values[step], values[2 * step], values[3 * step], values[4 * step]
    a, b = min(a, b), max(a, b)
    c, d = min(c, d), max(c, d)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)  # of the first four, a is the least and d the largest
    return max(min(b, c), min(max(b, c), e))


@apart
def eigen(M, rows):
    """M becomes diagonal, its eigenvalues; `rows`, the eigenvectors, one in each."""
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            rows[i, j] = 1.0 if i == j else 0.0
    rotate_to_diagonal(M, rows, 1e-16)


@apart
def eigen_again(A, rows, M, scratch, Q):
    """The same for a matrix A that is near one whose eigenvectors `rows` holds: some two sweeps.

    Q becomes the former eigenvectors, one in each column.
    """
    d = A.shape[0]
    scratch[:] = 0.0
    M[:] = 0.0
    transpose(rows, Q, 0, d)
    for i in range(d):
        for j in range(d):
            a = A[i, j]
            for k in range(d):
                scratch[i, k] += a * Q[j, k]
    for j in range(d):
        for i in range(d):
            q = Q[j, i]
            for k in range(d):
                M[i, k] += q * scratch[j, k]
    rotate_to_diagonal(M, rows, 1e-15)


@compiled
def turn(one, other, cosine, sine):
    """Rotate two vectors into each other."""
    for k in range(one.size):
        a, b = one[k], other[k]
        one[k] = cosine * a - sine * b
        other[k] = sine * a + cosine * b


@apart
def rotate_to_diagonal(M, rows, tolerance):
    """Cyclic Jacobi: M becomes diagonal by rotations, and the rows turn along.

    LAPACK would be faster for large matrices, but its last bits depend on the processor. Two rows
    of M are turned as a whole, four entries where they cross included, so that the loop vectorises;
    those four are known, and the two columns are the same numbers, since M is symmetric.
    """
    d = M.shape[0]
    trace = 0.0
    for i in range(d):
        trace += abs(M[i, i])
    for _ in range(60):  # it converges quadratically: some ten sweeps are the most ever needed
        rotated = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                off = M[p, q]
                # Below 1e-16 a rotation would change no bit of the eigenvalues that matter.
                if abs(off) <= tolerance * math.sqrt(abs(M[p, p] * M[q, q])) + 1e-20 * trace:
                    continue
                rotated = True
                half = (M[q, q] - M[p, p]) / (2.0 * off)
                tangent = 1.0 / (abs(half) + math.sqrt(1.0 + half * half))
                if half < 0.0:
                    tangent = -tangent
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                at_p, at_q = M[p, p] - tangent * off, M[q, q] + tangent * off
                turn(M[p], M[q], cosine, sine)
                M[p, p], M[p, q] = at_p, 0.0
                M[q, q], M[q, p] = at_q, 0.0
                for k in range(d):
                    M[k, p] = M[p, k]
                    M[k, q] = M[q, k]
                turn(rows[p], rows[q], cosine, sine)
        if not rotated:
            break


@apart
def cholesky(M, shift, L):
    """The lower-triangular L with LLᵀ = M + shift·I, positive definite."""
    d = L.shape[0]
    for i in range(d):
        for j in range(i + 1):
            total = M[i, j] + (shift if i == j else 0.0)
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = math.sqrt(max(total, 0.0))
            else:
                L[i, j] = total / L[j, j]
