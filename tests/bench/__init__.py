"""The parts of `tests/benchmark.py`."""
