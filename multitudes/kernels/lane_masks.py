"""Masks of lanes at work: counting their bits, finding a number, spreading packed numbers out.

A mask is an int whose bit k speaks of lane k, as in `multitudes.kernels.lanes`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config, extending

from multitudes.kernels.lanes import LANES, LanesType, element_pointer, to_float

# A kernel calls an intrinsic without the first argument, which its types do not say.
intrinsic: Any = extending.intrinsic

MATCHED = 8  # numbers that `matches` compares

_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)


def _of_mask(count: Any, doc: str) -> Any:
    """Return an intrinsic from a mask to a uint64."""

    def operation(typingctx: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word = context.cast(builder, args[0], signature.args[0], types.uint64)
            return count(builder, word)

        return types.uint64(mask), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


bit_count = _of_mask(lambda builder, word: builder.ctpop(word), "How many bits of a mask are set.")
lowest_bit = _of_mask(
    lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 0)),
    "The first lane whose bit is set; 64 where none is.",
)


@intrinsic
def matches(typingctx: Any, array: Any, index: Any, wanted: Any) -> Any:
    """Mask of the places where array[index + place] == wanted, 8 int32."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = context.cast(builder, args[1], signature.args[1], types.intp)
        number = context.cast(builder, args[2], signature.args[2], types.int32)
        pointer = element_pointer(context, builder, signature.args[0], args[0], at)
        vector = ir.VectorType(ir.IntType(32), MATCHED)
        found = builder.load(builder.bitcast(pointer, vector.as_pointer()))
        found.align = 4
        flags = builder.icmp_signed("==", found, _in_all_lanes(builder, vector, number))
        return builder.zext(builder.bitcast(flags, ir.IntType(MATCHED)), ir.IntType(32))

    return types.int32(array, index, wanted), codegen


def _in_all_lanes(builder: Any, vector: Any, number: Any) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _spread(dtype: Any, doc: str) -> Any:
    """Return an intrinsic that spreads packed numbers of a type, read from an array of uint16."""
    element = ir.FloatType() if dtype == types.float32 else ir.HalfType()

    def operation(typingctx: Any, array: Any, index: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = context.cast(builder, args[1], signature.args[1], types.intp)
            word = context.cast(builder, args[2], signature.args[2], types.uint16)
            pointer = element_pointer(context, builder, signature.args[0], args[0], at)
            vector = ir.VectorType(element, LANES)
            packed = builder.load(builder.bitcast(pointer, vector.as_pointer()))
            packed.align = 2
            numbers = to_float(builder, dtype, packed, _FLOATS)
            return _expanded(builder, numbers, word)

        return LanesType(LANES)(array, index, mask), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


spread_halves = _spread(
    types.uint16, "The float16 from array[index] on, one for each set bit of a mask; 0 elsewhere."
)
spread_floats = _spread(
    types.float32, "The float32 from array[index] on, one for each set bit of a mask; 0 elsewhere."
)


def _expanded(builder: Any, packed: Any, mask: Any) -> Any:
    """Move the first lanes to those that a mask names, 0 in the others."""
    zero = ir.Constant(_FLOATS, [0.0] * LANES)
    flags = builder.bitcast(mask, _BITS)
    if _expands_lanes():
        kind = ir.FunctionType(_FLOATS, [_FLOATS, _FLOATS, _BITS])
        name = "llvm.x86.avx512.mask.expand.v16f32"
        return builder.call(
            cgutils.get_or_insert_function(builder.module, kind, name), [packed, zero, flags]
        )
    word = ir.IntType(32)
    bits, place, moved = builder.zext(mask, word), ir.Constant(word, 0), zero
    for lane in range(LANES):
        number = builder.extract_element(packed, place)
        moved = builder.insert_element(moved, number, ir.Constant(word, lane))
        bit = builder.and_(builder.lshr(bits, ir.Constant(word, lane)), ir.Constant(word, 1))
        place = builder.and_(builder.add(place, bit), ir.Constant(word, LANES - 1))
    return builder.select(flags, moved, zero)


@cache
def _expands_lanes() -> bool:
    """Whether kernels are compiled for a processor that spreads lanes by an instruction."""
    if config.CPU_FEATURES is not None:
        return "+avx512f" in config.CPU_FEATURES.split(",")
    if config.CPU_NAME not in (None, "host"):  # whatever that one has, this is right for it
        return False
    return bool(binding.get_host_cpu_features().get("avx512f"))
