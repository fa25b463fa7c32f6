"""How kernels are compiled, and how they ask for memory ahead of time."""

from __future__ import annotations

import gc
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, event
from numba.extending import intrinsic

from multitudes.placeholders import placeholders

with placeholders("scipy.linalg", "scipy.linalg.cython_blas"):  # no kernel of ours needs them
    import numba.np.arraymath  # noqa: F401  before numba itself does, with its first kernel

# No kernel is handed to C as a pointer, so none needs the wrapper for that.
COMPILED: Any = {"nogil": True, "cache": True, "no_cfunc_wrapper": True}

# For kernels that make arrays of their own.
allocating: Any = njit(**COMPILED)

# For kernels that make no arrays but views. numba counts the references to an array with atomic
# instructions, for every function that takes one and every view: in loops over small pieces of work
# this took two fifths of the time, threads wait for each other, and it is code to be compiled.
# Whoever calls holds the arrays, so counting can be left out.
kernel: Any = njit(_nrt=False, **COMPILED)

# The same for functions that only other kernels call. Without the wrapper that makes them callable
# from Python they compile faster, the more so the more arrays they take.
inner: Any = njit(no_cpython_wrapper=True, **COMPILED)
borrowing: Any = njit(no_cpython_wrapper=True, _nrt=False, **COMPILED)

# Made part of whoever calls. A tuple of arrays is passed as some sixty words otherwise, which takes
# longer than what many of these functions do.
inlined: Any = njit(no_cpython_wrapper=True, _nrt=False, forceinline=True, **COMPILED)

# Made part of whoever calls before types are known: nothing of it is compiled by itself, which
# would take longer for most functions that are called in one place.
merged: Any = njit(nogil=True, cache=True, inline="always")


class _WithoutCollections(event.Listener):
    """Keeps Python's garbage collector out of compiling, which makes many objects and few cycles.

    It would look at each of them again and again: about a twelfth of the time.
    """

    def __init__(self) -> None:
        self.depth = 0  # of kernels that are compiled because another calls them
        self.was_on = False

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.was_on = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.was_on:
            gc.enable()


event.register("numba:compile", _WithoutCollections())


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Start loading ``array[index]`` (one-dimensional, index in range) into the cache.

    Only a hint: it changes no result. Worth it where a loop jumps to places it knows in advance;
    the processor finds runs of neighboring addresses on its own.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        data = context.make_array(array_type)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], signature.args[1], types.intp)
        pointer = builder.gep(data.data, [position])
        byte_pointer = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word]),
            "llvm.prefetch.p0",
        )
        read, keep, of_data = word(0), word(3), word(1)
        builder.call(function, [builder.bitcast(pointer, byte_pointer), read, keep, of_data])
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = intrinsic(_prefetch)  # a kernel calls it with the array and the index alone
