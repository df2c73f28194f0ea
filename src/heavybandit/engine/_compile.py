"""How kernels are compiled: cached on disk, and without reference counting.

No kernel creates an array, so none needs numba's reference counts (`_nrt=False`); with them, taking
a row of a matrix costs more than the arithmetic on its ten numbers. No fastmath: it changes bits.

Three ways to reach the same bits; what differs is how long compiling and playing take.

`inlined`   kernels that are handed the whole `State`, of which passing on means copying some 200
            words. numba puts their source into their callers', before types are known, so that
            LLVM meets them once, as a part of the loop that is called. (Where LLVM inlined them it
            also translated each by itself, and as a part of every caller on the way up, which was
            more than half of all compiling.) What is not used in one place only gets the arrays
            that it needs instead, and is one of the next two.
`compiled`  short kernels that are called in every round: LLVM inlines them.
`apart`     those that Python calls, and long or rare ones: they stay functions.

numba compiles a kernel for a literal 0 and for a number that is 0 apart, with all that it calls. In
short kernels that is worth it: loops that start at 0 are faster. It is waste where a counter that
starts as a literal is handed on while it counts, as to `keep_arm`, which is therefore inlined.
"""

from numba import njit

from ._cache import find_a_place

CACHE = find_a_place()

apart = njit(cache=CACHE, _nrt=False)  # type: ignore[call-overload]

compiled = njit(cache=CACHE, _nrt=False, forceinline=True)  # type: ignore[call-overload]

inlined = njit(cache=CACHE, _nrt=False, inline="always")  # type: ignore[call-overload]
