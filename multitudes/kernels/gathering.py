"""Copy chosen rows of a sparse matrix that may lie on disk."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Array, Floats, Ints, Longs


@njit(cache=True, nogil=True)
def take_rows(
    indptr: Longs,  # IN  (n_rows + 1,)
    indices: Array,  # IN  (nnz,)
    values: Floats,  # IN  (nnz,)
    rows: Ints,  # IN  (n_taken,)
    out_indptr: Longs,  # IN  (n_taken + 1,): where each goes
    out_indices: Array,  # OUT
    out_values: Floats,  # OUT
) -> None:
    """Copy rows to given places."""
    for r in range(len(rows)):
        at = np.uint64(out_indptr[r])
        for k in range(np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])):
            out_indices[at] = indices[k]
            out_values[at] = values[k]
            at += np.uint64(1)
