"""Functions of sixteen numbers at a time: exponential, GELU, sums, the largest, bytes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from multitudes.kernels.arrays import Vector
from multitudes.kernels.compiling import inlined
from multitudes.kernels.lanes import (
    LANES,
    element_pointer,
    emit_call,
    fma,
    intrinsic,
    larger,
    smaller,
    splat,
)

_WORDS = ir.VectorType(ir.IntType(32), LANES)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)


def _over_lanes(emit: Any, doc: str) -> Any:
    """Return an intrinsic that makes one number of all lanes, half by half."""

    def operation(typing_context: Any, lanes: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = args[0]
            while value.type.count > 1:
                half = value.type.count // 2
                low, high = (
                    ir.Constant(
                        ir.VectorType(ir.IntType(32), half), list(range(first, first + half))
                    )
                    for first in (0, half)
                )
                value = emit(
                    builder,
                    builder.shuffle_vector(value, value, low),
                    builder.shuffle_vector(value, value, high),
                )
            return builder.extract_element(value, ir.IntType(32)(0))

        return types.float32(lanes), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


total = _over_lanes(lambda builder, a, b: builder.fadd(a, b), "The sum of all lanes.")
largest = _over_lanes(emit_call("maxnum"), "The largest of all lanes.")


@intrinsic
def store_bytes(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write the lanes, from 0 to 255.99, to array[index], ... of uint8, without their fractions."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = element_pointer(context, builder, signature.args[0], args[0], place)
        kind = ir.VectorType(ir.IntType(8), LANES)
        found = builder.trunc(builder.fptosi(args[2], _WORDS), kind)
        instruction = builder.store(found, builder.bitcast(pointer, kind.as_pointer()))
        instruction.align = 1
        return context.get_dummy_value()

    return types.void(array, index, value), codegen


@intrinsic
def _cut(typing_context: Any, value: Any) -> Any:
    """Whole numbers, of what is below 2**31: fractions are cut off."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sitofp(builder.fptosi(args[0], _WORDS), _FLOATS)

    return value(value), codegen


@intrinsic
def _power_of_two(typing_context: Any, value: Any) -> Any:
    """2 to the power of whole numbers from -126 to 127."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.add(builder.fptosi(args[0], _WORDS), ir.Constant(_WORDS, [127] * LANES))
        bits = builder.shl(exponent, ir.Constant(_WORDS, [23] * LANES))
        return builder.bitcast(bits, _FLOATS)

    return value(value), codegen


@intrinsic
def turn(
    typing_context: Any, array: Any, index: Any, step: Any, count: Any, out: Any, out_index: Any,
    out_step: Any,
) -> Any:  # fmt: skip
    """A square of sixteen rows of sixteen numbers, its columns written as rows.

    The rows begin at array[index] and are `step` apart; those from `count` on are the last of them
    again.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index, step, count, out_index, out_step = (
            context.cast(builder, args[i], signature.args[i], types.int64) for i in (1, 2, 3, 5, 6)
        )
        word = ir.IntType(64)

        def at(array: int, start: Any, row: Any, by: Any) -> Any:
            place = builder.add(start, builder.mul(row, by))
            pointer = element_pointer(context, builder, signature.args[array], args[array], place)
            return builder.bitcast(pointer, _FLOATS.as_pointer())

        last, rows = builder.sub(count, word(1)), []
        for i in range(LANES):
            row = builder.select(builder.icmp_signed("<", word(i), last), word(i), last)
            rows.append(builder.load(at(0, index, row, step)))
            rows[-1].align = 4
        for i, row in enumerate(_turned(builder, rows)):
            builder.store(row, at(4, out_index, word(i), out_step)).align = 4
        return context.get_dummy_value()

    return types.void(array, index, step, count, out, out_index, out_step), codegen


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """Columns of a square of vectors: squares across the diagonal change places, ever smaller."""
    size = LANES // 2
    while size:
        kept = [(i & ~size) + (LANES if i & size else 0) for i in range(LANES)]
        moved = [place + size for place in kept]
        for i in range(LANES):
            if not i & size:
                pair = rows[i], rows[i + size]
                rows[i], rows[i + size] = (
                    builder.shuffle_vector(*pair, ir.Constant(_WORDS, places))
                    for places in (kept, moved)
                )
        size //= 2
    return rows


@inlined
def exponential(x: Vector) -> Vector:
    """exp(x) of what is not above 0, to 1e-6 of itself; below -80 that of -80, about 0."""
    x = larger(x, splat(-80.0))
    whole = _cut(fma(x, splat(1.4426950408889634), splat(-0.5)))  # the nearest
    rest = fma(whole, splat(-0.693359375), x)
    rest = fma(whole, splat(2.12194440e-4), rest)
    found = splat(1.0 / 720)
    found = fma(found, rest, splat(1.0 / 120))
    found = fma(found, rest, splat(1.0 / 24))
    found = fma(found, rest, splat(1.0 / 6))
    found = fma(found, rest, splat(0.5))
    found = fma(found, rest, splat(1.0))
    found = fma(found, rest, splat(1.0))
    return found * _power_of_two(whole)


@inlined
def gelu(x: Vector) -> Vector:
    """Return x times the share of a normal distribution below x, to 1e-6.

    The error function is a quotient of polynomials (those of Eigen), which is 1 within rounding
    from 4 on.
    """
    half = x * splat(0.5)
    z = smaller(larger(x * splat(0.7071067811865476), splat(-4.0)), splat(4.0))
    square = z * z
    above = splat(-2.72614225801306e-10)
    above = fma(above, square, splat(2.77068142495902e-08))
    above = fma(above, square, splat(-2.10102402082508e-06))
    above = fma(above, square, splat(-5.69250639462346e-05))
    above = fma(above, square, splat(-7.34990630326855e-04))
    above = fma(above, square, splat(-2.95459980854025e-03))
    above = fma(above, square, splat(-1.60960333262415e-02))
    below = splat(-1.45660718464996e-05)
    below = fma(below, square, splat(-2.13374055278905e-04))
    below = fma(below, square, splat(-1.68282697438203e-03))
    below = fma(below, square, splat(-7.37332916720468e-03))
    below = fma(below, square, splat(-1.42647390514189e-02))
    return fma(half, z * above / below, half)
