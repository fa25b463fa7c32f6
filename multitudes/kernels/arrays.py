"""The types of kernels' arguments: contiguous arrays, by what they hold."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]  # several types: numba compiles the kernel for each
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Shorts: TypeAlias = npt.NDArray[np.uint16]
Ints: TypeAlias = npt.NDArray[np.int32]
UInts: TypeAlias = npt.NDArray[np.uint32]
Longs: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

Vector: TypeAlias = Any  # some float32 in one register, see `multitudes.kernels.lanes`
Lanes: TypeAlias = tuple[int, ...]  # how many: `WIDE` or `NARROW`
