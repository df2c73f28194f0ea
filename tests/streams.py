"""Set-ups that several test files share: contexts and noises."""

from __future__ import annotations

import numpy as np

from heavybandit.noise import Extremal, Gaussian, Noise, Pareto, StudentT, SymmetricPareto

NOISES: tuple[Noise, ...] = (
    Gaussian(0.3),
    StudentT(3.0),
    Pareto(3.0, 0.01),
    SymmetricPareto(1.6, 0.3),
    SymmetricPareto(1.3, 0.5),
    Extremal(2.0, 0.1),
)


def awkward_contexts(rng: np.random.Generator, n: int, K: int, d: int) -> np.ndarray:
    """Rounds of unit, shrunken, zero, repeated and collinear contexts, and whole flat rounds."""
    X = rng.normal(size=(n, K, d))
    X[::2] = np.abs(X[::2])
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    kind = rng.integers(8, size=(n, K))
    X[kind == 1] *= rng.random(((kind == 1).sum(), 1))
    X[kind == 2] = 0.0
    repeats = np.argwhere(kind == 3)
    X[repeats[:, 0], repeats[:, 1]] = X[repeats[:, 0], (repeats[:, 1] + 1) % K]
    axes = np.argwhere(kind == 4)
    X[axes[:, 0], axes[:, 1]] = np.eye(d)[rng.integers(d, size=len(axes))]
    line = X[0, 0] / max(np.linalg.norm(X[0, 0]), 1e-300)
    on_line = np.argwhere(kind == 5)
    X[on_line[:, 0], on_line[:, 1]] = rng.uniform(-1, 1, (len(on_line), 1)) * line
    return X


def section6_contexts(rng: np.random.Generator, n: int, K: int, d: int) -> np.ndarray:
    X = rng.random((n, K, d))
    return X / np.linalg.norm(X, axis=2, keepdims=True)
