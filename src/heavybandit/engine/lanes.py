"""Eight columns at once: the inner loops that most of a round's time goes into.

Written in Python they are the plain loops below, which also run if numba is disabled. Compiled,
the eight sums must stay in registers from the first row to the last, and no way was found to say
that in Python: the compiler has to assume that a sum it writes back may change the row that it
reads next. Contexts are transposed four by four, because an index that could be below 0 is looked
at before each number is copied, which took as long as a quadratic form. So the compiled form is
spelled out in LLVM's vectors, which it turns into whatever the processor has. Every lane does the
same operations in the same order as the loops here, without fastmath or fused steps, so the bits
are the same; a test holds the two equal.
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
ROWS = 4  # that are transposed together

_FLOAT = ir.DoubleType()


def transpose_rows(X, X_T, start):
    """X_T[i, a] ← X[a, i] for ROWS rows of X from start on."""
    for a in range(start, start + ROWS):
        for i in range(X.shape[1]):
            X_T[i, a] = X[a, i]


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
    """The same for twice as many columns. Each addition must wait for the one before it; two or
    three rows of sums wait at the same time, and take little longer than one."""
    _quadratic_columns(M, X_T, slice(start, start + 2 * LANES), out)


def quadratic_thrice(M, X_T, start, out):
    """The same for three times as many columns."""
    _quadratic_columns(M, X_T, slice(start, start + 3 * LANES), out)


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

    vector = ir.VectorType(_FLOAT, LANES)

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.builder, self.start = builder, args[2]
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

    def columns(self, row: Any, group: int = 0) -> Any:
        """As many entries of a row of X_T as there are lanes, from start on, or `group` times as
        many after that."""
        data = self.entry(self.X_T.data, self.builder.mul(row, self.width), self.start)
        return self.load(self.entry(data, _lanes_after(group)))

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
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        one = self.builder.insert_element(undefined, number, zero)
        return self.builder.shuffle_vector(one, undefined, mask)

    def variable(self) -> Any:
        """A vector variable that starts from 0."""
        nothing = ir.Constant(self.vector, [0.0] * LANES)
        return cgutils.alloca_once_value(self.builder, nothing)

    def add_product(self, sum_: Any, one: Any, other: Any) -> None:
        """sum ← sum + one·other, rounded twice."""
        product = self.builder.fmul(one, other)
        self.builder.store(self.builder.fadd(self.builder.load(sum_), product), sum_)


def _lanes_after(group: int) -> Any:
    """How many doubles there are before this group of lanes."""
    return ir.Constant(ir.IntType(64), group * LANES)


def _demand_c_order(*arrays: Any) -> None:
    """Addresses are computed from shapes alone, so rows must follow each other without gaps."""
    for array in arrays:
        if array.layout != "C" or array.dtype != types.float64:
            raise TypingError(f"lanes need C-ordered arrays of doubles, got {array}")


@intrinsic
def _transpose(typing_context, X, X_T, start):
    _demand_c_order(X, X_T)
    return types.void(X, X_T, start), _emit_transpose


def _emit_transpose(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    X, X_T = (context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1))
    d, width = (cgutils.unpack_tuple(builder, array.shape)[1] for array in (X, X_T))
    few = ir.VectorType(_FLOAT, ROWS)
    numbers = [ir.Constant(ir.IntType(64), k) for k in range(ROWS + 1)]
    starts = [builder.mul(builder.add(args[2], k), d) for k in numbers[:ROWS]]
    rows = [builder.gep(X.data, [start]) for start in starts]

    def target(i: Any) -> Any:
        """Where X_T[i, start] stands."""
        return builder.gep(X_T.data, [builder.add(builder.mul(i, width), args[2])])

    def choose(one: Any, other: Any, *lanes: int) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), ROWS), lanes)
        return builder.shuffle_vector(one, other, mask)

    blocks = builder.udiv(d, numbers[ROWS])
    with cgutils.for_range(builder, blocks) as block:
        i = builder.mul(block.index, numbers[ROWS])
        x = []
        for row in rows:
            loaded = builder.load(builder.bitcast(builder.gep(row, [i]), few.as_pointer()))
            loaded.align = 8
            x.append(loaded)
        # With rows abcd, efgh, ijkl, mnop: first aecg, bfdh, imko, jnlp, then aeim, bfjn and so on.
        even = choose(x[0], x[1], 0, 4, 2, 6), choose(x[2], x[3], 0, 4, 2, 6)
        odd = choose(x[0], x[1], 1, 5, 3, 7), choose(x[2], x[3], 1, 5, 3, 7)
        turned = [choose(*pair, 0, 1, 4, 5) for pair in (even, odd)]
        turned += [choose(*pair, 2, 3, 6, 7) for pair in (even, odd)]
        for k, column in zip(numbers, turned, strict=False):
            address = builder.bitcast(target(builder.add(i, k)), few.as_pointer())
            builder.store(column, address).align = 8
    done = builder.mul(blocks, numbers[ROWS])
    with cgutils.for_range(builder, builder.sub(d, done)) as left:
        i = builder.add(done, left.index)
        for k, row in zip(numbers, rows, strict=False):
            builder.store(builder.load(builder.gep(row, [i])), builder.gep(target(i), [k]))
    return context.get_dummy_value()


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
    if weights.dtype != types.float64:
        raise TypingError(f"lanes need weights that are doubles, got {weights}")
    return types.void(weights, X_T, start, out), emit


def _quadratic_of(groups: int) -> Any:
    """For so many groups of lanes, whose sums do not wait for each other."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        e = _Emitter(context, builder, signature, args)
        every = range(groups)
        totals, halves = [e.variable() for _ in every], [e.variable() for _ in every]
        with cgutils.for_range(builder, e.rows) as row:
            i = row.index
            M_i = e.entry(e.left.data, builder.mul(i, e.rows))
            halved = builder.fmul(ir.Constant(_FLOAT, 0.5), builder.load(e.entry(M_i, i)))
            weight = e.everywhere(halved)
            for g in every:
                builder.store(builder.fmul(weight, e.columns(i, g)), halves[g])
            with cgutils.for_range(builder, i) as column:
                M_ij = e.everywhere(builder.load(e.entry(M_i, column.index)))
                for g in every:
                    e.add_product(halves[g], M_ij, e.columns(column.index, g))
            for g in every:
                e.add_product(totals[g], e.columns(i, g), builder.load(halves[g]))
        for g in every:
            e.store(builder.load(totals[g]), e.entry(e.out.data, e.start, _lanes_after(g)))
        return context.get_dummy_value()

    @intrinsic
    def quadratic(typing_context, M, X_T, start, out):
        _demand_c_order(M, X_T, out)
        return types.void(M, X_T, start, out), emit

    return quadratic


_quadratic, _quadratic_2, _quadratic_3 = map(_quadratic_of, (1, 2, 3))


@overload(transpose_rows, jit_options={"forceinline": True})
def _compiled_transpose(X, X_T, start):
    return lambda X, X_T, start: _transpose(X, X_T, start)  # type: ignore[call-arg]


@overload(combine_lanes, jit_options={"forceinline": True})
def _compiled_combine(weights, X_T, start, out):
    return lambda weights, X_T, start, out: _combine(weights, X_T, start, out)  # type: ignore[call-arg]


@overload(quadratic_lanes, jit_options={"forceinline": True})
def _compiled_quadratic(M, X_T, start, out):
    return lambda M, X_T, start, out: _quadratic(M, X_T, start, out)


@overload(quadratic_twice, jit_options={"forceinline": True})
def _compiled_quadratic_2(M, X_T, start, out):
    return lambda M, X_T, start, out: _quadratic_2(M, X_T, start, out)


@overload(quadratic_thrice, jit_options={"forceinline": True})
def _compiled_quadratic_3(M, X_T, start, out):
    return lambda M, X_T, start, out: _quadratic_3(M, X_T, start, out)
