"""Sixteen floats at a time: a portable SIMD type for numba kernels.

Sibling labels share their instances, so a kernel treats 16 of them ("lanes") with one instruction.
numba's loop vectoriser does not do this by itself: it will not keep a 16-float accumulator in
registers across a loop over sparse features. `Lanes` says it outright, as an LLVM vector of 16
floats, which becomes one AVX-512 register, two of AVX, or four of SSE or NEON.

Inside an ``@njit`` function::

    total = splat(0.0)
    for t in range(start, end):
        total = fma(splat(value[t]), load(weights, 16 * feature[t]), total)
    store(out, 0, total)

A mask is an int32 whose bit k speaks of lane k.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic, models, overload, register_model

LANES = 16


class LanesType(types.Type):
    """The numba type of sixteen float32."""

    def __init__(self) -> None:
        super().__init__(name="Lanes16f32")


lanes_type = LanesType()
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)
_WORD = ir.IntType(LANES)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _VECTOR)


def _element_pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Pointer to array[index] of a contiguous array."""
    struct = context.make_array(array_type)(context, builder, array)
    return builder.gep(struct.data, [index])


def _to_float(builder: Any, dtype: Any, value: Any, target: Any) -> Any:
    """Stored numbers as float32: float32 itself, float16 bits in uint16, or int8."""
    if dtype == types.float32:
        return value
    if dtype == types.uint16:
        return builder.fpext(value, target)
    return builder.sitofp(value, target)


_STORED = {types.float32: ir.FloatType(), types.uint16: ir.HalfType(), types.int8: ir.IntType(8)}


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index : index + 16] as floats; uint16 holds the bits of float16, int8 itself."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index_value = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = _element_pointer(context, builder, signature.args[0], args[0], index_value)
        stored = _STORED[signature.args[0].dtype]
        vector = ir.VectorType(stored, LANES)
        value = builder.load(builder.bitcast(pointer, vector.as_pointer()))
        value.align = 1
        return _to_float(builder, signature.args[0].dtype, value, _VECTOR)

    return lanes_type(array, index), codegen


@intrinsic
def number(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index] as float32, from the same three kinds of storage as `load`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index_value = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = _element_pointer(context, builder, signature.args[0], args[0], index_value)
        stored = _STORED[signature.args[0].dtype]
        value = builder.load(builder.bitcast(pointer, stored.as_pointer()))
        value.align = 1
        return _to_float(builder, signature.args[0].dtype, value, ir.FloatType())

    return types.float32(array, index), codegen


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write 16 floats to array[index : index + 16]."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index_value = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = _element_pointer(context, builder, signature.args[0], args[0], index_value)
        instruction = builder.store(args[2], builder.bitcast(pointer, _VECTOR.as_pointer()))
        instruction.align = 4
        return context.get_dummy_value()

    return types.void(array, index, lanes_type), codegen


@intrinsic
def splat(typingctx: Any, number: Any) -> Any:
    """One number in all 16 lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        scalar = context.cast(builder, args[0], signature.args[0], types.float32)
        first = builder.insert_element(
            ir.Constant(_VECTOR, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, ir.Constant(_VECTOR, ir.Undefined), zeros)

    return lanes_type(number), codegen


def _binary(emit: Any, doc: str) -> Any:
    """An intrinsic of two lanes and one result."""

    def operation(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return emit(builder, args[0], args[1])

        return lanes_type(lanes_type, lanes_type), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


def _call(name: str) -> Any:
    """Emit a call of LLVM's vector intrinsic `name` over any number of vectors."""

    def emit(builder: Any, *args: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(args))
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v16f32")
        return builder.call(function, args)

    return emit


add = _binary(lambda builder, a, b: builder.fadd(a, b), "a + b, lane by lane.")
subtract = _binary(lambda builder, a, b: builder.fsub(a, b), "a - b, lane by lane.")
multiply = _binary(lambda builder, a, b: builder.fmul(a, b), "a * b, lane by lane.")
divide = _binary(lambda builder, a, b: builder.fdiv(a, b), "a / b, lane by lane.")
larger = _binary(_call("maxnum"), "The larger of a and b, lane by lane.")
smaller = _binary(_call("minnum"), "The smaller of a and b, lane by lane.")


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Multiply and add with one rounding, a * b + c, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call("fma")(builder, *args)

    return lanes_type(lanes_type, lanes_type, lanes_type), codegen


@intrinsic
def select(typingctx: Any, mask: Any, yes: Any, no: Any) -> Any:
    """`yes` in the lanes whose bit of `mask` is set, `no` in the others."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = context.cast(builder, args[0], signature.args[0], types.int32)
        flags = builder.bitcast(builder.trunc(bits, _WORD), _MASK)
        return builder.select(flags, args[1], args[2])

    return lanes_type(mask, lanes_type, lanes_type), codegen


def _comparison(symbol: str, doc: str) -> Any:
    """An intrinsic that compares two lanes and gives a mask."""

    def operation(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            flags = builder.fcmp_ordered(symbol, args[0], args[1])
            return builder.zext(builder.bitcast(flags, _WORD), ir.IntType(32))

        return types.int32(lanes_type, lanes_type), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


less = _comparison("<", "Mask of the lanes where a < b.")
less_equal = _comparison("<=", "Mask of the lanes where a <= b.")
differs = _comparison("!=", "Mask of the lanes where a != b.")


def _overload_operator(symbol: Any, implementation: Any) -> None:
    def typer(left: Any, right: Any) -> Any:
        if isinstance(left, LanesType) and isinstance(right, LanesType):
            return lambda left, right: implementation(left, right)
        return None

    overload(symbol, strict=False)(typer)


_overload_operator(operator.add, add)
_overload_operator(operator.sub, subtract)
_overload_operator(operator.mul, multiply)
_overload_operator(operator.truediv, divide)
