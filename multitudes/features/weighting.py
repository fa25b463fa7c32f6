"""From counts to rows of X: weigh, sort, put blocks side by side, normalize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.features.term_counts import Counts
from multitudes.files.large import joined, new_array
from multitudes.kernels.text import term_weights as kernels
from multitudes.types import FloatArray

SAME_COLUMNS = np.empty(0, np.int32)
NO_WEIGHTS = np.empty(0, np.float32)


def weighted(
    chunks: list[Counts],
    n_columns: int,
    *,
    sublinear_tf: bool,
    idf: FloatArray = NO_WEIGHTS,
    columns: npt.NDArray[np.int32] = SAME_COLUMNS,
) -> sp.csr_array[Any]:
    """Counts as one CSR (n_rows, n_columns), float32, indices sorted; empties `chunks`.

    Chunks are let go one by one, so that counts and output are not both held whole.
    """
    n_rows = sum(len(chunk.indptr) - 1 for chunk in chunks)
    most = sum(len(chunk.ids) for chunk in chunks)
    indptr = np.zeros(n_rows + 1, np.int64)
    indices, data = new_array(most, np.int32), new_array(most, np.float32)
    row, done = 0, 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        stop = row + len(chunk.indptr) - 1
        kernels.weigh_rows(
            chunk.indptr, chunk.ids, chunk.counts, columns, idf, sublinear_tf,
            indptr[row : stop + 1], indices[done:], data[done:],
        )  # fmt: skip
        indptr[row : stop + 1] += done
        row, done = stop, int(indptr[stop])
    if done < most:
        indices, data = joined([indices[:done]], np.int32), joined([data[:done]], np.float32)
    # scipy would widen the indices to the row pointer's type.
    pointer = indptr.astype(np.int32) if done <= np.iinfo(np.int32).max else indptr
    return sp.csr_array((data, indices, pointer), shape=(n_rows, n_columns))


def normalized(X: sp.csr_array[Any]) -> sp.csr_array[Any]:
    """X with each row scaled to Euclidean length 1, in place; an empty row stays empty."""
    kernels.normalize_rows(X.indptr, X.data)
    return X


def side_by_side(blocks: Sequence[sp.csr_array[Any]]) -> sp.csr_array[Any]:
    """Blocks of columns with the same rows as one CSR with sorted indices."""
    if len(blocks) == 1:
        return blocks[0]
    return sp.csr_array(sp.hstack(blocks, format="csr", dtype=np.float32))


def stacked(parts: Sequence[sp.csr_array[Any]]) -> sp.csr_array[Any]:
    """Rows of consecutive shards as one CSR."""
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts, format="csr", dtype=np.float32))
