"""Set-ups that several test files share: contexts, noises, rounds of a world, short runs."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import heavybandit as hb
from heavybandit.noise import Extremal, Gaussian, Noise, Pareto, StudentT, SymmetricPareto
from heavybandit.policy import CONTEXT_STREAM, NOISE_STREAM, stream

MASTERS = ("SupBMM", "SupBTC")
PLAIN = ("FlatBMM", "FlatBTC", "MoM", "CRT", "MENU", "TOFU")
SEVERAL_PLAYS = ("SupBMM", "FlatBMM", "MENU", "MoM")
KNOW_A_MOMENT = (*MASTERS, *PLAIN, "HeavyOFUL", "HvtUCB")
KNOW_NO_MOMENT = (
    "ClippedUCB",
    "SafeRidge",
    "Thompson",
    "Uniform",
    "GreedyRidge",
    "LinUCB",
    "Blind",
)
POLICIES = (*KNOW_A_MOMENT, *KNOW_NO_MOMENT)
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


def rounds_of(world: Any, seed: int, plays: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Contexts and payoffs (K, plays) of all arms, by round, with the streams of `simulate`."""
    context_rng, noise_rng = stream(seed, CONTEXT_STREAM), stream(seed, NOISE_STREAM)
    for t in itertools.count():
        X, means = world.contexts(context_rng, t, 1, plays)[0], np.zeros(world.n_arms)
        for x_i, theta_i in zip(X.T, world.theta_star(seed), strict=True):
            means += x_i * theta_i  # summed in the order in which the engine sums
        yield X, means[:, None] + world.noise.draw(noise_rng, plays)


def build(name: str, n_arms: int, dim: int, *, long: bool = True, **more: Any) -> Any:
    """A policy with narrow widths, so that it does something in a short run."""
    horizon = (40_000 if long else 2_500) if name in SEVERAL_PLAYS else (600 if long else 100)
    if name in KNOW_A_MOMENT:
        more = {"v": 1.0, "width_scale": 0.1 if name == "SupBMM" else 0.02, **more}
    if name in ("FlatBMM", "MENU") and not long:
        horizon, more["constants"] = 600, "circulated"
    return getattr(hb, name)(horizon, n_arms, dim, **more)


def assert_same_run(one: hb.Run, other: hb.Run) -> None:
    """The two runs are the same to the last bit."""
    assert (one.policy, one.world, one.seed) == (other.policy, other.world, other.seed)
    assert one.curve.tobytes() == other.curve.tobytes()
    assert one.regret == other.regret
    assert one.arms.tobytes() == other.arms.tobytes()
    np.testing.assert_array_equal(one.plays, other.plays)
    np.testing.assert_equal(one.diagnostics, other.diagnostics)


def fingerprints() -> dict[str, str]:
    """A digest of the arms and the curve of a short run of every policy in every world."""
    worlds = {
        "student-t": hb.section6("student-t", n_arms=5, dim=3),
        "pareto": hb.section6("pareto", n_arms=5, dim=3),
        "lower-bound": hb.lower_bound(2500, 9, 4, 1.0, gamma_from="stage"),
        "symmetric-pareto": hb.section6(SymmetricPareto(1.6, 0.3), n_arms=5, dim=3),
    }
    digests = {}
    for place, world in worlds.items():
        eps = {"eps": 0.5 if place == "symmetric-pareto" else 1.0}
        for name in POLICIES:
            more = eps if name in KNOW_A_MOMENT else {}
            policy = build(name, world.n_arms, world.dim, long=False, seed=1, **more)
            run = hb.simulate(policy, world, seed=2, keep_arms=True)
            digest = hashlib.sha256(run.arms.tobytes() + run.curve.tobytes())
            digests[f"{name} in {place}"] = digest.hexdigest()
    return digests
