"""How kernels are compiled: cached on disk, and without reference counting.

No kernel creates an array, so none needs numba's reference counts (`_nrt=False`); with them, taking
a row of a matrix costs more than the arithmetic on its ten numbers. No fastmath: it changes bits.
"""

from numba import njit

compiled = njit(cache=True, _nrt=False)  # type: ignore[call-overload]
