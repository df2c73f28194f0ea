"""The compiled draws of noises and worlds are those of their own methods, to the last bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import heavybandit as hb
from heavybandit import noise
from heavybandit.engine import offers
from heavybandit.instances import UniformContexts
from heavybandit.policy import CONTEXT_STREAM, stream


@given(
    shape=st.floats(1, 50, exclude_min=True),
    scale=st.floats(1e-3, 1e3) | st.integers(1, 9),
    n=st.integers(0, 200),
    seed=st.integers(0, 2**32),
)
def test_compiled_draws_are_the_same_to_the_last_bit(shape, scale, n, seed):
    index = 1 + 1 / shape  # in (1, 2), as a stable law needs it
    for kind in (
        noise.SymmetricPareto(shape, scale),
        noise.StudentT(shape, scale),
        noise.AlphaStable(index, 2 * index - 3, scale),
        noise.LogNormal(shape / 10, scale),
        noise.Units(noise.Varying(noise.AlphaStable(index)), 10.0),
    ):
        literal, compiled = np.random.default_rng(seed), np.random.default_rng(seed)
        assert kind.draw(literal, n).tobytes() == offers.draw(kind, compiled, n).tobytes()
        assert literal.random() == compiled.random()  # and as many numbers were drawn for them


def test_a_noise_derived_from_ours_is_asked_for_its_own_draws():
    class Ones(noise.SymmetricPareto):
        def draw(self, rng, n):
            return np.ones(n)

    assert offers.draw(Ones(2.0), np.random.default_rng(0), 3).tolist() == [1.0, 1.0, 1.0]


class Given:
    """In place of a generator: what it draws is given."""

    def __init__(self, X):
        self.X = X

    def random(self, shape):
        assert self.X.shape == shape
        return self.X.copy()


@given(st.integers(0, 2**32), st.integers(0, 5), st.integers(1, 6), st.integers(1, 12))
def test_compiled_contexts_are_the_same_to_the_last_bit(seed, n_rounds, n_arms, dim):
    """Drawn ones, and any others: zero vectors, and such as have squares that vanish."""
    for world in (hb.section6(n_arms=n_arms, dim=dim), hb.symmetric(n_arms=n_arms, dim=dim)):
        literal, compiled = (stream(seed, CONTEXT_STREAM) for _ in range(2))
        drawn = world.contexts(literal, 0, n_rounds, 1)
        assert drawn.tobytes() == offers.contexts(world, compiled, 0, n_rounds, 1).tobytes()
    rng, odd = np.random.default_rng(seed), [0.0, -0.0, 5e-324, 1e-170, 1e-160, -0.1, 0.3, 1.0]
    X = rng.choice(odd, (n_rounds + 1, n_arms, dim))
    X[0] = 0.0
    world = hb.section6(n_arms=n_arms, dim=dim)
    unit = world.contexts(Given(X), 0, n_rounds + 1, 1)
    assert unit.tobytes() == offers.contexts(world, Given(X), 0, n_rounds + 1, 1).tobytes()
    assert not unit[0].any()


def test_a_world_derived_from_ours_is_asked_for_its_own_contexts():
    class Halves(UniformContexts):
        def contexts(self, *_):
            return np.full(1, 0.5)

    world = Halves("halves", 1, 1, noise.Gaussian(), (1.0,))
    assert offers.contexts(world, stream(0, CONTEXT_STREAM), 0, 1, 1) == [0.5]
