"""A short way in for a few rows that are as they should be: what a server predicts one by one.

The long way (`checked_features`) takes any matrix and says what is wrong with it, in some 30 us of
Python and SciPy. Here one kernel copies and checks; whatever it does not take goes the long way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.kernels.few_rows import copy_rows

FEW = 16
_INT32, _FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)


class Rows(NamedTuple):
    """What kernels read of a CSR matrix, and nobody else can change."""

    shape: tuple[int, int]
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    data: npt.NDArray[np.float32]


def sound_rows(X: Any, n_features: int) -> Rows | None:
    """Return a copy of a sound CSR of at most `FEW` rows; None for anything else."""
    if type(X) is not sp.csr_matrix and type(X) is not sp.csr_array:
        return None
    starts, indices, values, shape = X.indptr, X.indices, X.data, X.shape
    if len(shape) != 2 or shape[0] > FEW or shape[1] != n_features:
        return None
    plain = _is_plain(starts, _INT32) and _is_plain(indices, _INT32)
    if not plain or not _is_plain(values, _FLOAT32):
        return None
    if len(starts) != shape[0] + 1 or len(indices) != len(values):
        return None
    own_starts = np.empty(len(starts), np.int64)
    own_indices, own_values = np.empty(len(indices), np.int32), np.empty(len(indices), np.float32)
    if copy_rows(starts, indices, values, n_features, own_starts, own_indices, own_values):
        return Rows(shape, own_starts, own_indices, own_values)
    return None


def _is_plain(array: Any, dtype: np.dtype[Any]) -> bool:
    """Whether the kernel is compiled for an array: others would have it compiled once more."""
    return (
        type(array) is np.ndarray
        and array.dtype is dtype
        and array.ndim == 1
        and bool(array.flags.carray)
    )
