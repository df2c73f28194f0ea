"""Thompson sampling without an inverse: A's triangular root, turned by rotations.

Let R be upper triangular with RᵀR = A, and Rᵀq = b. Then the ridge estimate is θ̂ = A⁻¹b = R⁻¹q, and
R⁻¹z has the covariance R⁻¹R⁻ᵀ = A⁻¹ if z is standard normal. So θ̂ + v·R⁻¹z = R⁻¹(q + v·z): a draw
from the posterior is one substitution. A round adds xxᵀ to A and r·x to b, that is, a row (x, r)
below (R, q). Rotations of this row with those above, which change neither RᵀR nor Rᵀq, make its
first d entries 0 one by one. A round takes O(d²) operations, and rotations do not magnify rounding.
"""

from __future__ import annotations

import math

from ._compile import compiled


@compiled
def rotate_in(factor, row):
    """(R, q) ← what it is with one more row (x, r), which is used up."""
    d = factor.shape[0]
    for k in range(d):
        if row[k] == 0.0:
            continue
        root = math.sqrt(factor[k, k] * factor[k, k] + row[k] * row[k])
        cosine, sine = factor[k, k] / root, row[k] / root
        for i in range(k, d + 1):
            above, below = factor[k, i], row[i]
            factor[k, i] = cosine * above + sine * below
            row[i] = cosine * below - sine * above


@compiled
def draw_theta(factor, v, z, theta):
    """θ ← R⁻¹(q + v·z)."""
    d = theta.size
    for k in range(d - 1, -1, -1):
        total = factor[k, d] + v * z[k]
        for i in range(k + 1, d):
            total -= factor[k, i] * theta[i]
        theta[k] = total / factor[k, k]
