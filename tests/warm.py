"""Compiles every family of kernels once, on all cores, before the tests start.

Each worker of pytest would otherwise compile all of them by itself, at the same time as the others.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

# Of each family one policy, the slowest to compile first.
FAMILIES = ("SupBTC", "TOFU", "HeavyOFUL", "LinUCB", "SafeRidge", "Thompson", "Uniform")


def compile_family(name: str) -> None:
    """Play in blocks, and round by round, which other kernels do."""
    import heavybandit as hb
    import streams

    world = hb.section6("student-t", n_arms=5, dim=3)
    hb.simulate(streams.build(name, 5, 3, long=False), world)
    policy = streams.build(name, 5, 3, long=False)
    contexts, payoffs = next(streams.rounds_of(world, 0, policy.plays))
    policy.update(payoffs[policy.select(contexts)])


if __name__ == "__main__":
    with ProcessPoolExecutor() as pool:
        list(pool.map(compile_family, FAMILIES))
