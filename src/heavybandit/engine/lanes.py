"""Eight columns at once: the two inner loops that most of a round's time goes into.

Written in Python they are the plain loops below, which also run if numba is disabled. Compiled,
the eight sums must stay in registers from the first row to the last, and no way was found to say
that in Python: the compiler has to assume that a sum it writes back may change the row that it
reads next. So the compiled form is spelled out in LLVM's vectors, which it turns into whatever the
processor has. Every lane does the same operations in the same order as the loops here, without
fastmath or fused steps, so the bits are the same; a test holds the two equal.
"""

# numba asks for functions with these arguments; not all of them need every one.
# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

LANES = 8

_FLOAT = ir.DoubleType()


def combine_lanes(weights, X_T, start, out):
    """out[a] ← Σ_i weights[i]·X_T[i, a] for LANES columns from start on, summed in order of i."""
    lanes = slice(start, start + LANES)
    total = out[lanes]
    total[:] = 0.0
    for i in range(weights.size):
        total += weights[i] * X_T[i, lanes]


def quadratic_lanes(M, X_T, start, out):
    """out[a] ← ½ x_aᵀMx_a for LANES columns from start on; of M, symmetric, the lower half."""
    _quadratic_columns(M, X_T, slice(start, start + LANES), out)


def quadratic_twice(M, X_T, start, out):
    """The same for twice as many columns. Each addition must wait for the one before it; two rows
    of sums wait at the same time, and take little longer than one."""
    _quadratic_columns(M, X_T, slice(start, start + 2 * LANES), out)


def _quadratic_columns(M, X_T, lanes, out):
    total = out[lanes]
    total[:] = 0.0
    for i in range(M.shape[0]):
        half = (0.5 * M[i, i]) * X_T[i, lanes]
        for j in range(i):
            half += M[i, j] * X_T[j, lanes]
        total += X_T[i, lanes] * half


class _Emitter:
    """Writes vector instructions for a call (left, X_T, start, out) on arrays of doubles."""

    def __init__(
        self, context: Any, builder: Any, signature: Any, args: Any, lanes: int = LANES
    ) -> None:
        self.builder, self.start, self.lanes = builder, args[2], lanes
        self.vector = ir.VectorType(_FLOAT, lanes)
        self.left, self.X_T, self.out = (
            context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1, 3)
        )
        self.rows = cgutils.unpack_tuple(builder, self.left.shape)[0]
        self.width = cgutils.unpack_tuple(builder, self.X_T.shape)[1]

    def entry(self, data: Any, *offsets: Any) -> Any:
        """The address `offsets` doubles after data."""
        for offset in offsets:
            data = self.builder.gep(data, [offset])
        return data

    def columns(self, row: Any) -> Any:
        """As many entries of a row of X_T as there are lanes, from start on."""
        return self.load(self.entry(self.X_T.data, self.builder.mul(row, self.width), self.start))

    def load(self, address: Any) -> Any:
        """One double for each lane, from an address that need not be aligned to more than one."""
        loaded = self.builder.load(self.builder.bitcast(address, self.vector.as_pointer()))
        loaded.align = 8
        return loaded

    def store(self, value: Any, address: Any) -> None:
        stored = self.builder.store(value, self.builder.bitcast(address, self.vector.as_pointer()))
        stored.align = 8

    def everywhere(self, number: Any) -> Any:
        """The number in every lane."""
        undefined = ir.Constant(self.vector, ir.Undefined)
        zero = ir.Constant(ir.IntType(32), 0)
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        one = self.builder.insert_element(undefined, number, zero)
        return self.builder.shuffle_vector(one, undefined, mask)

    def variable(self) -> Any:
        """A vector variable that starts from 0."""
        nothing = ir.Constant(self.vector, [0.0] * self.lanes)
        return cgutils.alloca_once_value(self.builder, nothing)

    def add_product(self, sum_: Any, one: Any, other: Any) -> None:
        """sum ← sum + one·other, rounded twice."""
        product = self.builder.fmul(one, other)
        self.builder.store(self.builder.fadd(self.builder.load(sum_), product), sum_)


def _demand_c_order(*arrays: Any) -> None:
    """Addresses are computed from shapes alone, so rows must follow each other without gaps."""
    for array in arrays:
        if array.layout != "C" or array.dtype != types.float64:
            raise TypingError(f"lanes need C-ordered arrays of doubles, got {array}")


@intrinsic
def _combine(typing_context, weights, X_T, start, out):
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Emitter(context, builder, signature, args)
        # The weights may be a column of an array, so not one right after another.
        bytes_apart = cgutils.unpack_tuple(builder, e.left.strides)[0]
        apart = builder.sdiv(bytes_apart, ir.Constant(bytes_apart.type, 8))
        total = e.variable()
        with cgutils.for_range(builder, e.rows) as row:
            weight = builder.load(e.entry(e.left.data, builder.mul(row.index, apart)))
            e.add_product(total, e.everywhere(weight), e.columns(row.index))
        e.store(builder.load(total), e.entry(e.out.data, e.start))
        return context.get_dummy_value()

    _demand_c_order(X_T, out)
    return types.void(weights, X_T, start, out), emit


def _emit_quadratic(lanes: int) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Emitter(context, builder, signature, args, lanes)
        total, half = e.variable(), e.variable()
        with cgutils.for_range(builder, e.rows) as row:
            i, x_i = row.index, e.columns(row.index)
            M_i = e.entry(e.left.data, builder.mul(i, e.rows))
            halved = builder.fmul(ir.Constant(_FLOAT, 0.5), builder.load(e.entry(M_i, i)))
            builder.store(builder.fmul(e.everywhere(halved), x_i), half)
            with cgutils.for_range(builder, i) as column:
                M_ij = builder.load(e.entry(M_i, column.index))
                e.add_product(half, e.everywhere(M_ij), e.columns(column.index))
            e.add_product(total, x_i, builder.load(half))
        e.store(builder.load(total), e.entry(e.out.data, e.start))
        return context.get_dummy_value()

    return emit


@intrinsic
def _quadratic(typing_context, M, X_T, start, out):
    _demand_c_order(M, X_T, out)
    return types.void(M, X_T, start, out), _emit_quadratic(LANES)


@intrinsic
def _quadratic_2(typing_context, M, X_T, start, out):
    _demand_c_order(M, X_T, out)
    return types.void(M, X_T, start, out), _emit_quadratic(2 * LANES)


@overload(combine_lanes, jit_options={"forceinline": True})
def _compiled_combine(weights, X_T, start, out):
    return lambda weights, X_T, start, out: _combine(weights, X_T, start, out)  # type: ignore[call-arg]


@overload(quadratic_lanes, jit_options={"forceinline": True})
def _compiled_quadratic(M, X_T, start, out):
    return lambda M, X_T, start, out: _quadratic(M, X_T, start, out)  # type: ignore[call-arg]


@overload(quadratic_twice, jit_options={"forceinline": True})
def _compiled_quadratic_2(M, X_T, start, out):
    return lambda M, X_T, start, out: _quadratic_2(M, X_T, start, out)  # type: ignore[call-arg]
