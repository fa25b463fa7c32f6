"""Dense arrays from whatever a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

REAL = "fiub"  # kinds of numpy dtypes that hold real numbers


def as_array(values: Any) -> npt.NDArray[Any] | None:
    """Return any array-like as an array; None if it is none, such as rows of different lengths."""
    try:
        return np.asarray(values)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 (objects may raise what they like when asked for an array)
        return None


def is_native(array: npt.NDArray[Any]) -> bool:
    """Whether an array is laid out as kernels read it: contiguous, aligned, of this machine."""
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative


def is_frozen(array: npt.NDArray[Any]) -> bool:
    """Whether nobody can write to an array, through whichever view of it."""
    holder: Any = array
    while isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            return False
        holder = holder.base
    if holder is None:
        return True
    try:
        return memoryview(holder).readonly
    except TypeError:
        return False
