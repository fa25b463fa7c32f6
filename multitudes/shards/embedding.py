"""Label embeddings (PIFA), a range of labels at a time, ready for clustering.

A label is summed by one machine, over its instances in ascending order, as one machine alone does:
partial sums of several machines would round differently. So rows of X travel, not sums.
"""

from __future__ import annotations

import numpy as np

from multitudes.kernels.clustering.label_sums import sum_rows_by_label
from multitudes.kernels.sparse import copy_rows, measure_rows
from multitudes.labels.node_splitting import check_lengths
from multitudes.shards.pieces import Pieces
from multitudes.shards.run import Arrays, Run, Stage
from multitudes.types import FloatArray, LabelArray

MIN_WEIGHT = 0.01  # the default of `build_tree`


def embed_labels(run: Run, pieces: Pieces, labels: tuple[int, int]) -> Arrays:
    """Return the thinned embeddings of a range of labels, rows of unit length or zero."""
    first, stop = labels
    ids, instances = pieces.of_labels(first, stop)
    needed, local = np.unique(instances, return_inverse=True)
    indptr, indices, data = pieces.rows_of(needed)
    weights = _weights(pieces, needed)[local]
    label_indptr = np.searchsorted(ids, np.arange(first, stop + 1)).astype(np.int64)
    most = int(np.diff(indptr)[local].sum())
    starts = np.empty(stop - first + 1, np.int64)
    columns, values = np.empty(most, np.uint32), np.empty(most, np.float32)
    sum_rows_by_label(
        indptr, indices.view(np.uint32), data, label_indptr, local.astype(np.int32), weights,
        pieces.n_features, starts, columns, values,
    )  # fmt: skip
    return _thinned(starts, columns[: starts[-1]], values[: starts[-1]])


def _weights(pieces: Pieces, instances: LabelArray) -> FloatArray:
    """1 / ||Y[i]|| of ascending instances: how much each counts for a label of its."""
    cuts = np.searchsorted(instances, pieces.starts)
    counts = []
    for piece, start, a, b in zip(
        pieces.mapped, pieces.starts[:-1], cuts[:-1], cuts[1:], strict=True
    ):
        rows = instances[a:b] - start
        counts.append(piece["y_indptr"][rows + 1] - piece["y_indptr"][rows])
    squares = np.concatenate(counts).astype(np.float64)
    return (1.0 / np.sqrt(np.maximum(squares, 1))).astype(np.float32)


def _thinned(indptr: np.ndarray, indices: np.ndarray, values: FloatArray) -> Arrays:
    """Leave out small values and scale rows, as `SparseRows` does."""
    n = len(indptr) - 1
    lengths, smallest = np.empty((2, n), np.float32)
    sizes = np.empty(n, np.int64)
    measure_rows(indptr, values, MIN_WEIGHT, 0, n, lengths, smallest, sizes)
    check_lengths(lengths)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    out = np.empty(starts[-1], np.uint32), np.empty(starts[-1], np.float32)
    same = np.empty(0, np.uint32)
    copy_rows(indptr, indices, values, lengths, smallest, 0, n, same, starts, *out)
    return {"indptr": starts, "indices": out[0], "values": out[1]}


EMBEDDING = Stage("embeddings", "embedding labels", embed_labels)
