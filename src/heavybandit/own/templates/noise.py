"""A noise to start from: a gain of `size` with probability `chance`, a small loss otherwise."""

import numpy as np


class MyNoise:
    # Settings are given on the command line: --noise my_noise.py:MyNoise:size=9,chance=0.01
    def __init__(self, size=4.0, chance=0.1):
        self.size, self.chance = size, chance
        self.loss = size * chance / (1 - chance)  # so that the mean is 0

    # The next n numbers of the noise, an array (n,). Draw from rng and from nothing else, one
    # number after the other: 3 draws and then 2 more must be the same as 5 at once.
    def draw(self, rng, n):
        return np.where(rng.random(n) < self.chance, self.size, -self.loss)

    # E|X - a|^q for 1 < q <= 2, exactly; math.inf where the tail is too heavy. From it come the
    # bounds v. Leave it out if you do not know it: policies that need a v are then given one by
    # hand (--set v=4).
    def moment_about(self, q, a):
        gain, loss = abs(self.size - a) ** q, abs(self.loss + a) ** q
        return self.chance * gain + (1 - self.chance) * loss
