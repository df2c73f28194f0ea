"""Compiles every family of kernels once, on all cores, before the tests start.

Each worker of pytest would otherwise compile all of them by itself, at the same time as the others.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

# Of each family one policy, the slowest to compile first.
FAMILIES = (
    *("TOFU", "SupBTC", "FlatBTC", "HeavyOFUL", "SafeRidge", "LinUCB", "Thompson", "Uniform"),
)


def compile_family(name: str) -> None:
    """A short run; who plays round by round enters the same loop."""
    import heavybandit as hb
    import streams

    hb.simulate(streams.build(name, 5, 3, long=False), hb.section6("student-t", n_arms=5, dim=3))


if __name__ == "__main__":
    with ProcessPoolExecutor() as pool:
        list(pool.map(compile_family, FAMILIES))
