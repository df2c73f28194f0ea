"""A^{-1/2} of a matrix that grows by one context after another, in O(d²) per context.

An eigendecomposition takes O(d³), and the next round needs another. Instead the root is a sum of
N resolvents, each of which follows A by Sherman–Morrison as A⁻¹ does:

    r(A) = Σ_j c_j (A + σ_j I)⁻¹,   σ_j = a·sn²(t_j)/cn²(t_j),
    c_j = (2√a K)/(πN) · dn(t_j)/cn²(t_j),   t_j = (j − ½)K/N,   j = 1 … N,

with Jacobi's elliptic functions of modulus k, k² = 1 − 1/κ, K = K(k), K' = K(√(1−k²)). It is the
trapezoidal rule for λ^{-1/2} = (2/π)∫₀^∞ ds/(λ + s²) after the substitution s = √a sn t/cn t (Hale,
Higham and Trefethen 2008, method 3).

*Claim.* |√λ r(λ) − 1| ≤ η = 4q^{2N}/(1 − q^{2N}) for all λ in [a, κa], with q = exp(−πK'/K). So
r(A) = A^{-1/2}(I + E) with ‖E‖ ≤ η while all eigenvalues of A lie there, E and A commute, and
‖r(A)x − A^{-1/2}x‖ ≤ η‖x‖_{A⁻¹}.

*Proof.* Write λ = a/dn²(v) with v in [0, K]; dn falls from 1 to 1/√κ there. First, for every t

    dn(t) / (cn²(t)·λ/a + sn²(t)) = ½ dn(v) (dn(t − v) + dn(t + v)).                        (*)

Both sides have period 2K and change their sign with t + 2iK'. The denominator on the left is 0
where sn²(t) = 1/(k sn v)², at t = ±v + iK', and these are also the poles of the right-hand side.
All are simple (if v is 0 or K, by continuity). Both sides are even, so that on each side the
residue at −v + iK' is that at v + iK'; hence the left-hand side minus a multiple of the right-hand
side has no poles, is bounded, is constant, and is 0, as it changes its sign. At t = 0 both sides
are dn²(v), so that the multiple is 1. Now insert (*): √λ r(λ) = K/(πN) Σ_j (dn(t_j−v) + dn(t_j+v)).
As dn is even, these are the values of dn at 2N points K/N apart, a whole period. Its Fourier series
is dn(u) = π/(2K)·(1 + 4 Σ_{n≥1} q^n/(1+q^{2n}) cos(nπu/K)). Averaged over the 2N points only the
terms survive in which 2N divides n, and they add up to at most 4 Σ_{l≥1} q^{2Nl} = η. ∎

N is the smallest number with η ≤ ETA. As q is about exp(−π²/ln(16κ)), it grows with ln κ only: 6
for κ = 8, 11 for κ = 1024. a is the least eigenvalue of A when the resolvents were last made anew,
and A only grows. Its largest eigenvalue rises by no more than ‖x‖² with a context; once that might
leave the interval, a Cholesky factorisation says whether it has (A ≤ βI if and only if
A⁻¹ − I/β ≥ 0), and if it has come near, or if LONG contexts were added, all is made anew from an
eigendecomposition: so rounding has no time to add up. NEAR is ETA and ten times as much for
rounding. Whoever uses the root treats all that is within NEAR as undecided.
"""

from __future__ import annotations

import math

import numpy as np

from ..policy import LONGEST, Floats
from ._compile import apart
from .lanes import LANES
from .linear import combine

ETA = 1e-9  # the root's relative error on paper …
NEAR = 1.1e-8  # … and what it is taken to be
POLES = 24  # at most
WIDEST = 26  # κ is 2, 4, 8, … or at most 2 to this power
SPARE = 4.0  # times the largest eigenvalue: where the interval ends
LONG = 4096  # contexts until resolvents are made anew in any case
STEPS = 8  # of the arithmetic-geometric mean: each doubles the digits
LARGEST_DIM = 128  # beyond, so many resolvents would take too much room

# Entries of `use`: how many resolvents there are; contexts they lag behind; contexts that they have
# taken up since they were made; how often A⁻¹ was decomposed.
N_POLES, LAG, TAKEN, DECOMPOSED, N_USE = range(5)
# Entries of `span`: the end of the interval; by how much the largest eigenvalue may still rise; by
# how much ln det A may still grow before TOFU could drop a coordinate, below 0 if it may now.
END, ROOM, WHOLE, N_SPAN = range(4)
C, SHARE, MIXED = range(3)  # rows of `per_pole`


def poles_of(kappa: float) -> tuple[Floats, Floats]:
    """σ_j and c_j for the interval [1, κ]."""
    small = 1 / math.sqrt(kappa)  # k'
    k = math.sqrt((1 - small) * (1 + small))
    means, halves, other = [1.0], [k], small  # of the arithmetic-geometric mean
    for _ in range(STEPS):
        means.append((means[-1] + other) / 2)
        halves.append((means[-2] - other) / 2)
        other = math.sqrt(means[-2] * other)
    mean, other = 1.0, k
    for _ in range(STEPS):
        mean, other = (mean + other) / 2, math.sqrt(mean * other)
    K, K_prime = math.pi / (2 * means[-1]), math.pi / (2 * mean)
    q = math.exp(-math.pi * K_prime / K)
    n = math.ceil(math.log(ETA / (4 + ETA)) / (2 * math.log(q)))
    phase = 2.0**STEPS * means[-1] * (np.arange(n) + 0.5) * (K / n)
    for mean, half in zip(means[:0:-1], halves[:0:-1], strict=True):
        phase = (phase + np.arcsin(half / mean * np.sin(phase))) / 2
    sn, cn = np.sin(phase), np.cos(phase)
    dn = np.sqrt(small * small + (k * cn) ** 2)
    return (sn / cn) ** 2, 2 * K / (math.pi * n) * dn / cn**2


COUNT = np.zeros(WIDEST + 1, dtype=np.int64)  # for κ = 2^row: N …
SIGMA, WEIGHT = np.zeros((2, WIDEST + 1, POLES))  # … and, for a = 1, σ and c
for _row in range(1, WIDEST + 1):
    _sigma, _weight = poles_of(2.0**_row)
    COUNT[_row] = len(_sigma)
    SIGMA[_row, : len(_sigma)], WEIGHT[_row, : len(_sigma)] = _sigma, _weight


@apart
def make_anew(tofu, M, weights):
    """Resolvents and root from the eigenvectors in `tofu`, of A⁻¹, and its eigenvalues, M's
    diagonal. None are made where they would be too many."""
    rows, d = tofu.eigenvectors, M.shape[0]
    use, span = tofu.use, tofu.span
    use[N_POLES] = use[LAG] = use[TAKEN] = 0
    most, least = M[0, 0], M[0, 0]
    for i in range(d):
        most, least = max(most, M[i, i]), min(least, M[i, i])
    if tofu.resolvents.shape[0] == 0 or least <= 0.0:
        return
    a, largest = (1.0 - 1e-9) / most, (1.0 + 1e-9) / least
    row = max(1, math.ceil(math.log2(SPARE * largest / a)))
    if row > WIDEST:
        return
    n = COUNT[row]
    use[N_POLES] = n
    span[END] = a * 2.0**row
    span[ROOM] = span[END] - largest
    for i in range(d):
        for k in range(tofu.root.shape[1]):
            tofu.root[i, k] = 0.0
    for j in range(n):
        sigma = a * SIGMA[row, j]
        c = math.sqrt(a) * WEIGHT[row, j]
        tofu.per_pole[C, j] = c
        for i in range(d):
            for k in range(d):
                weights[k] = rows[k, i] / (1.0 / M[k, k] + sigma)
            combine(weights, rows, d, tofu.resolvents[j, i])
            for k in range(d):
                tofu.root[i, k] += c * tofu.resolvents[j, i, k]


@apart
def take_up(tofu, x):
    """(A + σ_j I)⁻¹ ← (A + σ_j I + xxᵀ)⁻¹ for each pole, and the root along with them."""
    resolvents, solved, root, per_pole = tofu.resolvents, tofu.solved, tofu.root, tofu.per_pole
    n, d, wide = tofu.use[N_POLES], root.shape[0], root.shape[1]
    for j in range(n):
        y = solved[j]
        combine(x, resolvents[j], d, y)
        c2 = 0.0
        for i in range(d):
            c2 += x[i] * y[i]
        shrink = 1.0 / (1.0 + max(c2, 0.0))
        for i in range(d):
            share = y[i] * shrink
            for k in range(wide):
                resolvents[j, i, k] -= share * y[k]
        per_pole[SHARE, j] = per_pole[C, j] * shrink
    change = solved[solved.shape[0] - 1]
    for i in range(d):
        for j in range(n):
            per_pole[MIXED, j] = per_pole[SHARE, j] * solved[j, i]
        combine(per_pole[MIXED, :n], solved, d, change)
        for k in range(wide):
            root[i, k] -= change[k]
    tofu.use[TAKEN] += 1
    tofu.span[ROOM] -= LONGEST * LONGEST


@apart
def catch_up(tofu, A_inv, L):
    """Let the resolvents take up what they lag behind; whether there are any, and they are good."""
    use, span = tofu.use, tofu.span
    if use[N_POLES] == 0 or use[LAG] > tofu.waiting.shape[0] or use[TAKEN] >= LONG:
        return False
    for i in range(use[LAG]):
        take_up(tofu, tofu.waiting[i])
    use[LAG] = 0
    if span[ROOM] < 0.0:
        if not all_above(A_inv, 2.0 / span[END], L):
            return False
        span[ROOM] = 0.5 * span[END]
    return True


@apart
def all_above(M, least, L):
    """Whether all eigenvalues of M are above `least`: then M − least·I has a Cholesky factor, L."""
    d = M.shape[0]
    for i in range(d):
        for j in range(i + 1):
            total = M[i, j] - (least if i == j else 0.0)
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = total / L[j, j]
            elif total > 0.0:
                L[i, i] = math.sqrt(total)
            else:
                return False
    return True


@apart
def wait(tofu, x):
    """Remember a context for the resolvents, if there is room; otherwise they are lost."""
    lag = tofu.use[LAG]
    if lag < tofu.waiting.shape[0]:
        for i in range(x.size):
            tofu.waiting[lag, i] = x[i]
    if lag <= tofu.waiting.shape[0]:
        tofu.use[LAG] = lag + 1


def room_for(dim: int) -> tuple[int, int, int]:
    """How many resolvents, entries per row and contexts that wait a policy in `dim` needs."""
    fits = 0 < dim <= LARGEST_DIM
    return POLES if fits else 0, LANES * math.ceil(dim / LANES), 2 * dim if fits else 0
