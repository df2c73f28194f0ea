"""Compiled parts of a world: unit contexts, what each arm pays in the mean, powers of uniforms.

`contexts` and `draw` give what the world's and the noise's own methods give, to the last bit; they
are for where speed matters.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..instances import UniformContexts
from ..noise import AlphaStable, LogNormal, Shaped, SymmetricPareto
from ..policy import LONGEST, Floats
from ._compile import apart
from .linear import add_context, quadratic_forms, transpose


def contexts(
    world: Any, rng: np.random.Generator, first_round: int, n_rounds: int, plays: int
) -> Floats:
    """`world.contexts`, compiled for worlds with contexts uniform on a cube."""
    if getattr(type(world), "contexts", None) is not UniformContexts.contexts:
        X: Floats = world.contexts(rng, first_round, n_rounds, plays)
        return X
    X = world.points(rng, n_rounds)
    normalise(X)
    return X


def draw(noise: Any, rng: np.random.Generator, n: int) -> Floats:
    """`noise.draw`, compiled for the noises that are not drawn by NumPy alone."""
    while isinstance(noise, Shaped):
        noise = noise.noise
    own = getattr(type(noise), "draw", None)
    if own is SymmetricPareto.draw:
        draws = rng.random(n)
        symmetric_powers(draws, float(noise.scale), -1 / noise.shape)
    elif own is AlphaStable.draw:
        pairs, draws = rng.random((n, 2)), np.empty(n)
        stable_numbers(pairs, draws, float(noise.alpha), *noise.turn_and_stretch)
    elif own is LogNormal.draw:
        draws = rng.standard_normal(n)
        log_normal_numbers(draws, float(noise.sigma), float(noise.scale))
    else:
        draws = noise.draw(rng, n)
    return draws


@apart
def normalise(X):
    """Divide every context of a block (n, K, d) by its Euclidean norm; zero stays zero."""
    for t in range(X.shape[0]):
        for a in range(X.shape[1]):
            x = X[t, a]
            total = 0.0
            for i in range(x.size):
                total += x[i] * x[i]
            if total > 0.0:
                norm = math.sqrt(total)
                for i in range(x.size):
                    x[i] /= norm


@apart
def price(X, theta, means, best):
    """Fill means[t, a] = xᵀθ* and best[t] = max_a; returns the first round with a context that is
    not finite or too long, or −1."""
    longest = LONGEST * LONGEST
    bad = -1
    for t in range(X.shape[0]):
        top = -math.inf
        for a in range(X.shape[1]):
            x = X[t, a]
            mean = 0.0
            length = 0.0
            for i in range(x.size):
                mean += x[i] * theta[i]
                length += x[i] * x[i]
            if not length <= longest and bad < 0:
                bad = t
            means[t, a] = mean
            top = max(top, mean)
        best[t] = top
    return bad


@apart
def symmetric_powers(draws, scale, exponent):
    """Turn uniforms on [0, 1), in place, into ±scale·U^exponent with U uniform on (0, 1].

    NumPy's own power of an array gives other last bits on processors with wider vectors.
    """
    for i in range(draws.size):
        doubled = 2.0 * draws[i]
        if doubled < 1.0:
            draws[i] = -scale * math.pow(1.0 - doubled, exponent)
        else:
            draws[i] = scale * math.pow(2.0 - doubled, exponent)


@apart
def stable_numbers(pairs, draws, alpha, turn, stretch):
    """Fill `draws` from pairs of uniforms, as `noise.stable.stable_number` does."""
    for i in range(draws.size):
        u, w = pairs[i, 0], pairs[i, 1]
        angle = math.pi * ((u - 0.5) + 2.0**-54)
        wait = -math.log(1.0 - w) if w > 0.0 else 2.0**-54
        turned = alpha * (angle + turn)
        bent = math.pow(max(math.cos(angle - turned), 2.0**-60) / wait, (1.0 - alpha) / alpha)
        draws[i] = stretch * math.sin(turned) / math.pow(math.cos(angle), 1.0 / alpha) * bent


@apart
def log_normal_numbers(draws, sigma, scale):
    """Turn standard Gaussian numbers, in place, into centred log-normal ones."""
    for i in range(draws.size):
        draws[i] = scale * math.expm1(sigma * draws[i] - sigma * sigma / 2.0)


@apart
def rank_by_width(X, arms, A_inv, ranks, scratch, X_T, width):
    """How many arms are wider than the one played, for each round; A⁻¹ is brought up to date."""
    n_arms = X.shape[1]
    for t in range(X.shape[0]):
        transpose(X[t], X_T, 0, n_arms)
        quadratic_forms(A_inv, X_T, 0, n_arms, width)
        wider = 0
        for a in range(n_arms):
            wider += 1 if width[a] > width[arms[t]] else 0
        ranks[t] = wider
        add_context(A_inv, X[t, arms[t]], scratch)
