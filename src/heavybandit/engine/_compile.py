"""How kernels are compiled: cached on disk, and without reference counting.

No kernel creates an array, so none needs numba's reference counts (`_nrt=False`); with them, taking
a row of a matrix costs more than the arithmetic on its ten numbers. No fastmath: it changes bits.

Kernels that are handed the whole `State` on every round are `inlined` into their callers: passing
it on means copying some 200 words, and a round of uniform play took eight times as long that way.
"""

from numba import njit

from ._cache import find_a_place

CACHE = find_a_place()

compiled = njit(cache=CACHE, _nrt=False)  # type: ignore[call-overload]

inlined = njit(cache=CACHE, _nrt=False, forceinline=True)  # type: ignore[call-overload]
