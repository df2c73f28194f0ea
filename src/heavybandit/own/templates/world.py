"""A world to start from: contexts in all directions, and a theta* with two features that count."""

import numpy as np


class MyWorld:
    # noise is what --noise names; settings of your own are given by --world-set n_arms=8.
    def __init__(self, noise, n_arms=5, dim=4):
        self.noise, self.n_arms, self.dim = noise, n_arms, dim

    # The true parameter, an array (dim,). It may be drawn anew for each seed.
    def theta_star(self, seed):
        theta = np.zeros(self.dim)
        theta[:2] = 0.6, -0.8
        return theta

    # The contexts of the next n_rounds rounds, an array (n_rounds, n_arms, dim), each of norm at
    # most 1. Draw from rng alone, round after round. first_round counts from 0; plays is how often
    # the policy that asks plays its arm in a round. Most worlds need neither.
    def contexts(self, rng, first_round, n_rounds, plays):
        X = rng.standard_normal((n_rounds, self.n_arms, self.dim))
        return X / np.linalg.norm(X, axis=2, keepdims=True)
