"""A policy to start from: greedy ridge regression on payoffs cut off at -clip and clip."""

import numpy as np


class MyPolicy:
    plays = 1  # how often the chosen arm is played in a round

    # Called with horizon (plays in all), n_arms and dim. Settings of your own, such as clip, are
    # given on the command line: --set clip=5. An argument called seed gets the run's seed (for
    # random numbers use np.random.default_rng(seed)), one called v the bound on the payoffs' raw
    # 1+eps moment.
    def __init__(self, horizon, n_arms, dim, clip=3.0, ridge=30.0):
        self.rounds = horizon // self.plays  # how many rounds you will be asked for
        self.clip = clip
        self.A, self.b = ridge * np.eye(dim), np.zeros(dim)

    # contexts: an array (n_arms, dim), each row of norm at most 1, read-only.
    # Returns the arm to play, a whole number from 0 to n_arms - 1.
    def select(self, contexts):
        estimates = contexts @ np.linalg.solve(self.A, self.b)
        arm = int(np.argmax(estimates))
        self.x = contexts[arm]
        return arm

    # payoffs: an array (plays,), those of the arm just selected. No others are shown.
    def update(self, payoffs):
        clipped = np.clip(payoffs, -self.clip, self.clip)
        self.A += self.plays * np.outer(self.x, self.x)
        self.b += clipped.sum() * self.x
