"""Matrix products of 8-bit numbers: unsigned inputs, signed weights, exact sums of 32 bits.

Inputs are multiplied with 64 columns of the weights at a time, whose sums stay in registers. Where
the processor multiplies and adds bytes by one instruction (VNNI) that is used, else products of
16 bits, which are as exact: no sum is cut off, whatever the weights are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from multitudes.kernels.arrays import Vector
from multitudes.kernels.lane_masks import has_instructions
from multitudes.kernels.lanes import LANES, aligned_floats, element_pointer, intrinsic

COLUMNS = 64  # the widths of all matrices are multiples of it
TOGETHER = 4  # inputs of a column that one instruction multiplies and adds

_BYTE, _SHORT, _WORD, _PLACE = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_WORDS = ir.VectorType(_WORD, LANES)
_HALF = ir.VectorType(_WORD, LANES // 2)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)


def packed_weights(weights: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Weights (n_in, n_out), multiples of 64 each, in the order in which `product` reads them.

    Sixteen columns after another; of these, four inputs after another, column by column.
    """
    n_in, n_out = weights.shape
    blocks = weights.reshape(n_in // TOGETHER, TOGETHER, n_out // LANES, LANES)
    packed = aligned_floats(weights.size // TOGETHER).view(np.int8)  # lines of the cache are loaded
    packed[:] = blocks.transpose(2, 0, 3, 1).reshape(-1)
    return packed


@njit(nogil=True, cache=True)
def product(
    inputs: Vector, weights: Vector, starts: Vector, scales: Vector, columns: Vector,
    biases: Vector, out: Vector, n_in: int, n_out: int,
) -> None:  # fmt: skip
    """``out = (inputs @ weights + starts) * scales * columns + biases``, all arrays flat.

    Parameters
    ----------
    inputs : uint8 (n_rows * n_in,), IN
    weights : int8 (n_in * n_out,), IN
        As `packed_weights` has them.
    starts : int32 (n_out,), IN
        What is added to each column's sum.
    scales : float32 (n_rows,), IN
        Of each row of the inputs.
    columns, biases : float32 (n_out,), IN
        The scale of each column, and what is added to it.
    out : float32 (n_rows * n_out,), OUT
    n_in, n_out : int
        Multiples of 64.
    """
    n_rows = len(scales)
    height, width = _tile()
    for column in range(0, n_out, width):
        for row in range(0, n_rows, height):
            _multiply(
                inputs, weights, starts, scales, columns, biases, out, n_in, n_out, n_rows, row,
                column,
            )  # fmt: skip


def instructions() -> str:
    """What multiplies bytes here: ``"avx512vnni"``, ``"avxvnni"``, or by 16 bits with another."""
    known = ("avx512vnni", "avxvnni", "avx512bw", "avx2")
    return next((name for name in known if has_instructions(name)), "none")


def _shape() -> tuple[int, int]:
    """Rows of a tile, and vectors of 16 columns: as many sums as there are registers for."""
    return {"avx512vnni": (6, 4), "avx512bw": (4, 4), "avxvnni": (6, 1)}.get(instructions(), (3, 1))


@intrinsic
def _tile(typing_context: Any) -> Any:
    """Rows and columns of a tile."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        height, vectors = _shape()
        parts = [_PLACE(height), _PLACE(vectors * LANES)]
        return context.make_tuple(builder, signature.return_type, parts)

    return types.UniTuple(types.int64, 2)(), codegen


@intrinsic
def _multiply(
    typing_context: Any, inputs: Any, weights: Any, starts: Any, scales: Any, columns: Any,
    biases: Any, out: Any, n_in: Any, n_out: Any, n_rows: Any, row: Any, column: Any,
) -> Any:  # fmt: skip
    """One tile of `product`; rows beyond the last are the last one again."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        height, vectors = _shape()
        numbers = [
            context.cast(builder, args[i], signature.args[i], types.int64) for i in range(7, 12)
        ]
        n_in, n_out, n_rows, row, column = numbers

        def at(array: int, place: Any, kind: Any) -> Any:
            pointer = element_pointer(context, builder, signature.args[array], args[array], place)
            return builder.bitcast(pointer, kind.as_pointer())

        def loaded(pointer: Any) -> Any:
            value = builder.load(pointer)
            value.align = 1
            return value

        last = builder.sub(n_rows, _PLACE(1))
        rows = []
        for offset in range(height):
            own = builder.add(row, _PLACE(offset))
            rows.append(builder.select(builder.icmp_signed("<", own, last), own, last))
        n_words = builder.sdiv(n_in, _PLACE(TOGETHER))
        own_inputs = [at(0, builder.mul(own, n_in), _WORD) for own in rows]
        own_columns = [builder.add(column, _PLACE(LANES * v)) for v in range(vectors)]
        own_weights = [at(1, builder.mul(own, n_in), _WORDS) for own in own_columns]
        first = [loaded(at(2, own, _WORDS)) for own in own_columns]

        before = builder.basic_block
        body, after = builder.append_basic_block("words"), builder.append_basic_block("summed")
        builder.branch(body)
        builder.position_at_end(body)
        word = builder.phi(_PLACE)
        word.add_incoming(_PLACE(0), before)
        sums = [[builder.phi(_WORDS) for _ in range(vectors)] for _ in rows]
        taken = [_Weights(builder, loaded(builder.gep(own, [word]))) for own in own_weights]
        for own_sums, own in zip(sums, own_inputs, strict=True):
            given = _Inputs(builder, loaded(builder.gep(own, [word])))
            for v, total in enumerate(own_sums):
                total.add_incoming(first[v], before)
                total.add_incoming(_added(builder, total, given, taken[v]), body)
        following = builder.add(word, _PLACE(1))
        word.add_incoming(following, body)
        builder.cbranch(builder.icmp_signed("<", following, n_words), body, after)

        builder.position_at_end(after)
        for v, own_column in enumerate(own_columns):
            by, bias = (loaded(at(array, own_column, _FLOATS)) for array in (4, 5))
            for own_row, own_sums in zip(rows, sums, strict=True):
                scale = _everywhere(builder, builder.load(at(3, own_row, ir.FloatType())), LANES)
                # The last value of a sum is what was added to it at the end of the loop.
                total = builder.sitofp(own_sums[v].incomings[1][0], _FLOATS)
                total = builder.fmul(total, builder.fmul(scale, by))
                place = builder.add(builder.mul(own_row, n_out), own_column)
                stored = builder.store(builder.fadd(total, bias), at(6, place, _FLOATS))
                stored.align = 4
        return context.get_dummy_value()

    given = (inputs, weights, starts, scales, columns, biases, out)
    return types.void(*given, n_in, n_out, n_rows, row, column), codegen


def _everywhere(builder: Any, number: Any, count: int) -> Any:
    """One number in all lanes."""
    undefined = ir.Constant(ir.VectorType(number.type, count), ir.Undefined)
    first = builder.insert_element(undefined, number, _WORD(0))
    zeros = ir.Constant(ir.VectorType(_WORD, count), [0] * count)
    return builder.shuffle_vector(first, undefined, zeros)


class _Inputs:
    """Four inputs of a row, as `_added` wants them."""

    def __init__(self, builder: Any, word: Any) -> None:
        self.words = _everywhere(builder, word, LANES)
        if not _has_vnni():
            self.odd = builder.lshr(self.words, _constant(8))
            self.even = builder.and_(self.words, _constant(0x00FF00FF))
            self.odd = builder.and_(self.odd, _constant(0x00FF00FF))


class _Weights:
    """Four weights of each of 16 columns, as `_added` wants them."""

    def __init__(self, builder: Any, words: Any) -> None:
        self.words = words
        if not _has_vnni():
            shorts = _shorts(2 * LANES)
            eight = ir.Constant(shorts, [8] * (2 * LANES))
            pairs = builder.bitcast(words, shorts)
            self.odd = builder.bitcast(builder.ashr(pairs, eight), _WORDS)
            self.even = builder.bitcast(builder.ashr(builder.shl(pairs, eight), eight), _WORDS)


def _shorts(count: int) -> Any:
    return ir.VectorType(_SHORT, count)


def _constant(number: int) -> Any:
    return ir.Constant(_WORDS, [number] * LANES)


def _has_vnni() -> bool:
    return instructions() in ("avx512vnni", "avxvnni")


def _added(builder: Any, total: Any, inputs: _Inputs, weights: _Weights) -> Any:
    """Sums (16,), and to each of them the products of four bytes."""
    factors = [total, inputs.words, weights.words]
    if instructions() == "avx512vnni":
        return _instruction(builder, "avx512.vpdpbusd.512", [_WORDS] * 3, factors)
    if instructions() == "avxvnni":
        return _by_halves(builder, "avx512.vpdpbusd.256", [_HALF] * 3, factors)
    for part in ("even", "odd"):
        pair = getattr(inputs, part), getattr(weights, part)
        total = builder.add(total, _pairs_added(builder, *pair))
    return total


def _instruction(builder: Any, name: str, kinds: Any, args: list[Any]) -> Any:
    """Call of an instruction of x86 that gives words, with arguments as what it takes."""
    args = [builder.bitcast(arg, kind) for arg, kind in zip(args, kinds, strict=True)]
    result = ir.VectorType(_WORD, LANES if name.endswith("512") else LANES // 2)
    kind = ir.FunctionType(result, kinds)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}")
    return builder.call(function, args)


def _by_halves(builder: Any, name: str, kinds: Any, args: list[Any]) -> Any:
    """The same by an instruction of half the size."""
    half, found = LANES // 2, []
    for start in (0, half):
        lanes = ir.Constant(ir.VectorType(_WORD, half), list(range(start, start + half)))
        parts = [builder.shuffle_vector(arg, arg, lanes) for arg in args]
        found.append(_instruction(builder, name, kinds, parts))
    both = ir.Constant(_WORDS, list(range(LANES)))
    return builder.shuffle_vector(*found, both)


def _pairs_added(builder: Any, left: Any, right: Any) -> Any:
    """Each lane's two products of 16-bit numbers, added up: one instruction on x86."""
    if instructions() == "avx512bw":
        return _instruction(builder, "avx512.pmaddw.d.512", [_shorts(2 * LANES)] * 2, [left, right])
    if instructions() == "avx2":
        return _by_halves(builder, "avx2.pmadd.wd", [_shorts(LANES)] * 2, [left, right])
    low, sixteen = _shorts(LANES), _constant(16)

    def parts(words: Any) -> tuple[Any, Any]:
        first = builder.sext(builder.trunc(words, low), _WORDS)
        return first, builder.ashr(words, sixteen)

    (a, b), (c, d) = parts(left), parts(right)
    return builder.add(builder.mul(a, c), builder.mul(b, d))
