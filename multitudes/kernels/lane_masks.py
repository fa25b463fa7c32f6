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
_WORD = ir.IntType(32)
_TABLE = "multitudes.places_of_packed"


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
            pointer = builder.bitcast(pointer, element.as_pointer())

            def packed(offset: Any, count: int) -> Any:
                vector = ir.VectorType(element, count).as_pointer()
                found = builder.load(builder.bitcast(builder.gep(pointer, [offset]), vector))
                found.align = 2
                return to_float(builder, dtype, found, ir.VectorType(ir.FloatType(), count))

            return _expanded(builder, packed, word)

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
    """Move numbers to the lanes that a mask names, 0 in the others.

    `packed(offset, count)` gives some of the numbers.
    """
    zero = ir.Constant(_FLOATS, [0.0] * LANES)
    flags = builder.bitcast(mask, _BITS)
    if has_instructions("avx512f"):
        kind = ir.FunctionType(_FLOATS, [_FLOATS, _FLOATS, _BITS])
        name = "llvm.x86.avx512.mask.expand.v16f32"
        expand = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(expand, [packed(_word(0), LANES), zero, flags])
    bits = builder.zext(mask, _WORD)
    moved = _moved_by_table if has_instructions("avx2") else _moved_one_by_one
    return builder.select(flags, moved(builder, packed, bits), zero)


def _moved_by_table(builder: Any, packed: Any, bits: Any) -> Any:
    """Move the numbers in two halves, each by a permutation from a table; other lanes have any."""
    eight = ir.VectorType(ir.FloatType(), 8)
    places = ir.VectorType(_WORD, 8)
    kind = ir.FunctionType(eight, [eight, places])
    permute = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.permps")
    table, halves, offset = _table(builder.module), [], _word(0)
    for half in range(2):
        own = builder.and_(builder.lshr(bits, _word(8 * half)), _word(255))
        row = builder.load(builder.gep(table, [_word(0), own], inbounds=True))
        halves.append(builder.call(permute, [packed(offset, 8), builder.zext(row, places)]))
        offset = builder.ctpop(own)
    both = ir.Constant(ir.VectorType(_WORD, LANES), list(range(LANES)))
    return builder.shuffle_vector(*halves, both)


def _table(module: Any) -> Any:
    """For each mask of 8 lanes, which packed number goes to each of them."""
    if _TABLE in module.globals:
        return module.globals[_TABLE]
    row = ir.VectorType(ir.IntType(8), 8)
    rows = [
        ir.Constant(row, [(mask & ((1 << lane) - 1)).bit_count() for lane in range(8)])
        for mask in range(256)
    ]
    table = ir.GlobalVariable(module, ir.ArrayType(row, 256), _TABLE)
    table.linkage, table.global_constant = "internal", True
    table.initializer = ir.Constant(table.value_type, rows)
    return table


def _moved_one_by_one(builder: Any, packed: Any, bits: Any) -> Any:
    """Move the numbers lane by lane; other lanes have any."""
    numbers, place = packed(_word(0), LANES), _word(0)
    moved = ir.Constant(_FLOATS, ir.Undefined)
    for lane in range(LANES):
        number = builder.extract_element(numbers, place)
        moved = builder.insert_element(moved, number, _word(lane))
        bit = builder.and_(builder.lshr(bits, _word(lane)), _word(1))
        place = builder.and_(builder.add(place, bit), _word(LANES - 1))
    return moved


def _word(number: int) -> Any:
    return ir.Constant(_WORD, number)


@cache
def has_instructions(feature: str) -> bool:
    """Whether kernels are compiled for a processor that has some instructions."""
    if config.CPU_FEATURES is not None:
        return f"+{feature}" in config.CPU_FEATURES.split(",")
    if config.CPU_NAME not in (None, "host"):  # whatever that one has, this is right for it
        return False
    return bool(binding.get_host_cpu_features().get(feature))
