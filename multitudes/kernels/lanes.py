"""Several floats at a time: a portable SIMD type for numba kernels.

Sibling labels share their instances, so a kernel treats 16 of them ("lanes") with one instruction.
numba's loop vectorizer does not do this by itself: it will not keep a 16-float accumulator in
registers across a loop over sparse features. `LanesType` says it outright, as an LLVM vector: 16
floats become one AVX-512 register, two of AVX, or four of SSE or NEON.

Inside an ``@njit`` function::

    total = splat(0.0)
    for t in range(start, end):
        total = fma(splat(value[t]), load(weights, 16 * feature[t]), total)
    store(out, 0, total)

A mask is an int32 whose bit k speaks of lane k.

Where 16 are too many (the two children of a binary cluster), a kernel is handed its number of lanes
as a tuple of that length, `WIDE` or `NARROW`: numba compiles it for each. It then says
``splat(0.0, lanes)``, ``load(weights, at, lanes)`` and ``len(lanes)``.
"""

from __future__ import annotations

import operator
import platform
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config, extending
from numba.core.extending import lower_builtin, models, register_model, type_callable

# A kernel calls an intrinsic without the first argument, which its types do not say.
intrinsic: Any = extending.intrinsic

LANES = 16
WIDE = (0,) * LANES
NARROW = (0,) * 4


def aligned_floats(n: int) -> npt.NDArray[np.float32]:
    """Return an array of any float32 that begins with a line of the cache, as 16 lanes then do.

    Lanes that lie across two lines take twice as long to load; numpy's own arrays begin 16 bytes
    behind the start of a line.
    """
    line = 4 * LANES
    room = np.empty(4 * n + line, np.uint8)
    start = -room.ctypes.data % line
    return room[start : start + 4 * n].view(np.float32)


class LanesType(types.Type):
    """The numba type of some float32 in one vector."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Lanes{width}f32")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _vector(fe_type.width))


def _vector(width: int, element: Any = None) -> Any:
    return ir.VectorType(ir.FloatType() if element is None else element, width)


def _lanes_type(lanes: Any) -> LanesType:
    """Return the type that a tuple of lanes, or its absence, asks for."""
    absent = lanes is None or isinstance(lanes, types.Omitted)
    return LanesType(LANES if absent else lanes.count)


def _left_out(lanes: Any) -> Any:
    """Return the type of the argument `lanes`, which a call may leave out."""
    return types.Omitted(None) if lanes is None else lanes


def element_pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Pointer to array[index] of a contiguous array."""
    struct = context.make_array(array_type)(context, builder, array)
    return builder.gep(struct.data, [index])


def to_float(builder: Any, dtype: Any, value: Any, target: Any) -> Any:
    """Stored numbers as float32: float32 itself, float16 bits in uint16, or int8."""
    if dtype == types.float32:
        return value
    if dtype == types.uint16:
        return _widened(builder, value, target)
    return builder.sitofp(value, target)


def _widened(builder: Any, half: Any, target: Any) -> Any:
    """Return float16 as float32, by bits where the processor has no instruction for it.

    LLVM would call a function of the compiler's library there, which a process need not have: it
    ends the process instead.
    """
    if _widens_floats():
        return builder.fpext(half, target)
    vector = isinstance(target, ir.VectorType)
    count = target.count if vector else 1

    def kind(element: Any) -> Any:
        return ir.VectorType(element, count) if vector else element

    def constant(number: int) -> Any:
        return ir.Constant(word, [number] * count if vector else number)

    word = kind(ir.IntType(32))
    bits = builder.zext(builder.bitcast(half, kind(ir.IntType(16))), word)
    size = builder.and_(bits, constant(0x7FFF))
    # The exponent moves to its new place and is then 112 too small: subnormals come out right too.
    scaled = builder.fmul(
        builder.bitcast(builder.shl(size, constant(13)), target),
        builder.bitcast(constant((127 + 112) << 23), target),
    )
    finite = builder.bitcast(scaled, word)
    special = builder.icmp_unsigned(">=", size, constant(0x7C00))  # infinite, or not a number
    found = builder.select(special, builder.or_(finite, constant(0xFF << 23)), finite)
    sign = builder.shl(builder.and_(bits, constant(0x8000)), constant(16))
    return builder.bitcast(builder.or_(found, sign), target)


@cache
def _widens_floats() -> bool:
    """Whether kernels are compiled for a processor that converts float16 by an instruction."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        return True
    if config.CPU_FEATURES is not None:
        return "+f16c" in config.CPU_FEATURES.split(",")
    if config.CPU_NAME not in (None, "host"):  # whatever that one has, this is right for it
        return False
    return bool(binding.get_host_cpu_features().get("f16c"))


_STORED = {types.float32: ir.FloatType(), types.uint16: ir.HalfType(), types.int8: ir.IntType(8)}


@intrinsic
def load(typingctx: Any, array: Any, index: Any, lanes: Any = None) -> Any:
    """array[index : index + 16] as floats; uint16 holds the bits of float16, int8 itself."""
    result = _lanes_type(lanes)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index_value = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = element_pointer(context, builder, signature.args[0], args[0], index_value)
        stored = _vector(result.width, _STORED[signature.args[0].dtype])
        value = builder.load(builder.bitcast(pointer, stored.as_pointer()))
        value.align = 1
        return to_float(builder, signature.args[0].dtype, value, _vector(result.width))

    return result(array, index, _left_out(lanes)), codegen


@intrinsic
def number(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index] as float32, from the same three kinds of storage as `load`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index_value = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = element_pointer(context, builder, signature.args[0], args[0], index_value)
        stored = _STORED[signature.args[0].dtype]
        value = builder.load(builder.bitcast(pointer, stored.as_pointer()))
        value.align = 1
        return to_float(builder, signature.args[0].dtype, value, ir.FloatType())

    return types.float32(array, index), codegen


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write the lanes to array[index], array[index + 1], ..."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index_value = context.cast(builder, args[1], signature.args[1], types.intp)
        pointer = element_pointer(context, builder, signature.args[0], args[0], index_value)
        vector = _vector(signature.args[2].width)
        instruction = builder.store(args[2], builder.bitcast(pointer, vector.as_pointer()))
        instruction.align = 4
        return context.get_dummy_value()

    return types.void(array, index, value), codegen


@intrinsic
def splat(typingctx: Any, number: Any, lanes: Any = None) -> Any:
    """One number in all lanes."""
    result = _lanes_type(lanes)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        scalar = context.cast(builder, args[0], signature.args[0], types.float32)
        vector = _vector(result.width)
        undefined = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(_vector(result.width, ir.IntType(32)), [0] * result.width)
        return builder.shuffle_vector(first, undefined, zeros)

    return result(number, _left_out(lanes)), codegen


def _binary(emit: Any, doc: str) -> Any:
    """Return an intrinsic of two lanes and one result."""

    def operation(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return emit(builder, args[0], args[1])

        return left(left, right), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


def emit_call(name: str) -> Any:
    """Return a function that emits a call of LLVM's vector intrinsic `name`."""

    def emit(builder: Any, *args: Any) -> Any:
        vector = args[0].type
        kind = ir.FunctionType(vector, [vector] * len(args))
        full_name = f"llvm.{name}.v{vector.count}f32"
        function = cgutils.get_or_insert_function(builder.module, kind, full_name)
        return builder.call(function, args)

    return emit


add = _binary(lambda builder, a, b: builder.fadd(a, b), "a + b, lane by lane.")
subtract = _binary(lambda builder, a, b: builder.fsub(a, b), "a - b, lane by lane.")
multiply = _binary(lambda builder, a, b: builder.fmul(a, b), "a * b, lane by lane.")
divide = _binary(lambda builder, a, b: builder.fdiv(a, b), "a / b, lane by lane.")
larger = _binary(emit_call("maxnum"), "The larger of a and b, lane by lane.")
smaller = _binary(emit_call("minnum"), "The smaller of a and b, lane by lane.")


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Multiply and add with one rounding, a * b + c, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return emit_call("fma")(builder, *args)

    return a(a, b, c), codegen


@intrinsic
def select(typingctx: Any, mask: Any, yes: Any, no: Any) -> Any:
    """`yes` in the lanes whose bit of `mask` is set, `no` in the others."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = context.cast(builder, args[0], signature.args[0], types.int32)
        width = signature.args[1].width
        word = builder.trunc(bits, ir.IntType(width))
        return builder.select(builder.bitcast(word, _vector(width, ir.IntType(1))), *args[1:])

    return yes(mask, yes, no), codegen


def _comparison(symbol: str, doc: str) -> Any:
    """Return an intrinsic that compares two lanes and gives a mask."""

    def operation(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            flags = builder.fcmp_ordered(symbol, args[0], args[1])
            word = builder.bitcast(flags, ir.IntType(signature.args[0].width))
            return builder.zext(word, ir.IntType(32))

        return types.int32(left, right), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


less = _comparison("<", "Mask of the lanes where a < b.")
less_equal = _comparison("<=", "Mask of the lanes where a <= b.")
differs = _comparison("!=", "Mask of the lanes where a != b.")


def _operator(symbol: Any, instruction: str) -> None:
    """Let a symbol between two lanes stand for one instruction.

    `overload` would make it a function, to be compiled for every symbol and number of lanes.
    """

    @type_callable(symbol)
    def result_of(context: Any) -> Any:
        def typer(left: Any, right: Any) -> Any:
            return left if isinstance(left, LanesType) and left == right else None

        return typer

    @lower_builtin(symbol, LanesType, LanesType)
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")
