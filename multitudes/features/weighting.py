"""From counts to rows of X: weigh, sort, put blocks side by side, normalize."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.features.term_counts import Counts
from multitudes.files.large import new_array
from multitudes.kernels.text import term_weights as kernels
from multitudes.kernels.threads import ThreadTeam
from multitudes.types import FloatArray

SAME_COLUMNS = np.empty(0, np.int32)
NO_WEIGHTS = np.empty(0, np.float32)
NO_COUNTS = Counts(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


def weighted(
    chunks: list[Counts],
    n_columns: int,
    *,
    sublinear_tf: bool,
    idf: FloatArray = NO_WEIGHTS,
    columns: npt.NDArray[np.int32] = SAME_COLUMNS,
    n_jobs: int | None = 1,
) -> sp.csr_array[Any]:
    """Counts as one CSR (n_rows, n_columns), float32, indices sorted; empties `chunks`.

    Chunks are let go one by one, so that counts and output are not both held whole.
    """
    rows = ends_of([len(chunk.indptr) - 1 for chunk in chunks])
    all_kept = not len(columns) or columns.min() >= 0
    values = ends_of([
        len(chunk.ids) if all_kept else int(np.count_nonzero(columns[chunk.ids] >= 0))
        for chunk in chunks
    ])  # fmt: skip
    n_rows, done = int(rows[-1]), int(values[-1])
    indptr = np.zeros(n_rows + 1, np.int64)
    indices, data = new_array(done, np.int32), new_array(done, np.float32)

    def weigh(k: int) -> None:
        chunk, chunks[k] = chunks[k], NO_COUNTS
        own, place = np.empty_like(chunk.indptr), slice(values[k], values[k + 1])
        kernels.weigh_rows(
            chunk.indptr, chunk.ids, chunk.counts, columns, idf, sublinear_tf,
            own, indices[place], data[place],
        )  # fmt: skip
        indptr[rows[k] + 1 : rows[k + 1] + 1] = own[1:] + values[k]

    with ThreadTeam(n_jobs) as team:
        team.map(weigh, range(len(chunks)))
    chunks.clear()
    # scipy would widen the indices to the row pointer's type.
    pointer = indptr.astype(np.int32) if done <= np.iinfo(np.int32).max else indptr
    return sp.csr_array((data, indices, pointer), shape=(n_rows, n_columns))


def ends_of(sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """Where each of some pieces begins, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


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
