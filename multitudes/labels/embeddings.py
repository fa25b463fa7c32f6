"""Label embeddings: one vector per label, from its instances, its neighbors or its own text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from multitudes.errors import ConfigError, DataError
from multitudes.files.large import new_array
from multitudes.kernels import ahead
from multitudes.kernels.clustering.label_sums import sum_rows_by_label
from multitudes.kernels.threads import ThreadTeam
from multitudes.scikit_learn import sparse as sp
from multitudes.types import FloatArray, IntArray, Sparse
from multitudes.validation import checked_number, checked_truth, checked_vectors
from multitudes.validation.sparse import csr_of

BLOCK = 1 << 20
"""Values of X that one task adds up, about: the same blocks for any number of threads."""


class Transformer(Protocol):
    """A fitted text to features transformer."""

    def transform(self, texts: Sequence[str]) -> Any:
        """CSR or dense rows, one per text."""


def pifa(X: Any, Y: Sparse, *, n_jobs: int | None = None) -> Any:
    """Positive instance feature aggregation: a label is the mean direction of its instances.

    Row l is sum_i (Y[i, l] / ||Y[i]||) X[i], then L2-normalized: an instance with many labels says
    less about each of them.

    Parameters
    ----------
    X : CSR or float array (n_instances, n_features)
        Features. ``pifa(Y, Y)`` embeds labels by the labels they occur with.
    Y : CSR (n_instances, n_labels)
        Labels of each instance.
    n_jobs : int, optional
        All cores by default. The result is the same for any number.

    Returns
    -------
    CSR (n_labels, n_features), float32, sorted indices
        A dense float32 array where X is dense. A label without instances has a zero row.

    References
    ----------
    Yu et al., PECOS, JMLR 2022, section 3.1.1.
    """
    ahead.need(ahead.CLUSTERING)
    X, Y = checked_vectors(X, name="X"), checked_truth(Y, name="Y")
    if X.shape[0] != Y.shape[0]:
        raise DataError(f"X and Y must have one row per instance: X is {X.shape}, Y is {Y.shape}")
    return weighted_sums(X, _normalized_rows(Y).tocsc(), n_jobs=n_jobs)


def weighted_sums(X: Any, weights: Sparse, *, n_jobs: int | None = None) -> Any:
    """For each label the weighted sum of its instances, L2-normalized.

    Parameters
    ----------
    X : CSR or float array (n_instances, n_features)
    weights : CSC (n_instances, n_labels), float32
        Column l: the instances of label l and how much each counts.
    n_jobs : int, optional
        All cores by default. The result is the same for any number.

    Returns
    -------
    CSR (n_labels, n_features), float32, sorted indices
        A dense float32 array where X is dense.
    """
    X = checked_vectors(X, name="X")
    is_sparse = sp.issparse(X)
    return _sum_sparse(X, weights, n_jobs) if is_sparse else _normalized_dense(weights.T @ X)


def pii(Y: Sparse) -> sp.csr_array[Any]:
    """Positive instance indices: a label is the set of its instances.

    Row l is the L2-normalized column l of Y, as in PECOS: the similarity of two labels is the
    cosine of their instance sets.

    Returns
    -------
    CSR (n_labels, n_instances) float32, sorted indices
        A label without instances has a zero row.
    """
    return _normalized_rows(checked_truth(Y, name="Y").T.tocsr())


def from_texts(label_texts: Sequence[str], features: Transformer) -> Any:
    """Embed each label as the features of its own text, e.g. its title; rows L2-normalized.

    Parameters
    ----------
    label_texts : sequence of str (n_labels,)
        A description of each label; one without any known word has a zero row.
    features : fitted transformer
        ``features.transform(texts)`` gives CSR or dense rows; use the one that made X, and the
        result can be compared with, and put beside, `pifa`.
    """
    return _normalized(features.transform(label_texts), "features")


def concatenate(blocks: Sequence[Any], *, weights: Sequence[float] | None = None) -> Any:
    """Label embeddings side by side, e.g. PIFA beside features of the labels' texts.

    Parameters
    ----------
    blocks : sequence of CSR or float arrays (n_labels, any width)
        Each row of each block is L2-normalized first, so that only `weights` decide how much a
        block counts.
    weights : sequence of float, optional
        One per block; all equal by default.

    Returns
    -------
    CSR float32, or a dense float32 array where all blocks are dense
        (n_labels, total width), rows L2-normalized.
    """
    weights = [1.0] * len(blocks) if weights is None else list(weights)
    if len(blocks) == 0 or len(weights) != len(blocks):
        raise ConfigError(
            f"concatenate needs at least one block and one weight each, got {len(blocks)} blocks "
            f"and {len(weights)} weights"
        )
    weights = [checked_number(weight, "weights", at_least=0) for weight in weights]
    if not any(weights):
        raise ConfigError("weights must not all be zero")
    parts = [_normalized(block, f"blocks[{i}]") for i, block in enumerate(blocks)]
    heights = {int(part.shape[0]) for part in parts}
    if len(heights) > 1:
        raise DataError(f"blocks must have one row per label, got heights {sorted(heights)}")
    parts = [part * np.float32(weight) for part, weight in zip(parts, weights, strict=True)]
    if any(sp.issparse(part) for part in parts):
        return _normalized_rows(sp.hstack([sp.csr_array(p) for p in parts], format="csr"))
    return _normalized_dense(np.hstack(parts))


def _normalized(vectors: Any, name: str) -> Any:
    """Return a copy of vectors, checked, each of unit length or zero."""
    vectors = checked_vectors(vectors, name=name)
    is_sparse = sp.issparse(vectors)
    return _normalized_rows(vectors) if is_sparse else _normalized_dense(vectors.copy())


def _sum_sparse(X: Sparse, by_label: Sparse, n_jobs: int | None) -> sp.csr_array[Any]:
    """Normalized ``by_label.T @ X``: blocks of labels, each summed by one thread."""
    n_labels, n_features = by_label.shape[1], X.shape[1]
    indptr, label_indptr = X.indptr.astype(np.int64), by_label.indptr.astype(np.int64)
    columns, instances = X.indices.view(np.uint32), by_label.indices.astype(np.int32, copy=False)
    lengths = np.concatenate([[0], np.cumsum(np.diff(indptr)[instances])])[label_indptr]
    bounds = np.searchsorted(lengths, np.arange(0, lengths[-1] + BLOCK, BLOCK))
    bounds = np.unique(np.append(np.minimum(bounds, n_labels), [0, n_labels]))

    indices, values = (new_array(int(lengths[-1]), kind) for kind in (np.uint32, np.float32))

    def sum_block(block: int) -> IntArray:
        start, stop = int(bounds[block]), int(bounds[block + 1])
        first, last = label_indptr[start], label_indptr[stop]
        room = slice(int(lengths[start]), int(lengths[stop]))
        starts = np.empty(stop - start + 1, np.int64)
        sum_rows_by_label(
            indptr, columns, X.data, label_indptr[start : stop + 1] - first, instances[first:last],
            by_label.data[first:last], n_features, starts, indices[room], values[room],
        )  # fmt: skip
        return starts

    with ThreadTeam(n_jobs) as team:
        blocks = team.map(sum_block, range(len(bounds) - 1))
    if not blocks:
        return sp.csr_array((n_labels, n_features), dtype=np.float32)
    out_indptr = np.concatenate([[0], np.cumsum(np.concatenate([*map(np.diff, blocks)]))])
    # Each block lies where it would if no feature occurred twice: move them together, in place.
    for block, start in enumerate(bounds[:-1]):
        old, new, n = int(lengths[start]), int(out_indptr[start]), int(blocks[block][-1])
        if old != new:
            indices[new : new + n] = indices[old : old + n]
            values[new : new + n] = values[old : old + n]
    shape, n = (n_labels, n_features), int(out_indptr[-1])
    sums: sp.csr_array[Any] = csr_of(values[:n], indices[:n].view(np.int32), out_indptr, shape)
    return sums


def _normalized_rows(matrix: Sparse) -> sp.csr_array[Any]:
    """Float32 CSR with sorted indices and rows of unit length; zero rows stay zero."""
    matrix = matrix.astype(np.float32, copy=False)
    counts = np.diff(matrix.indptr)
    filled, squares = counts > 0, np.zeros(len(counts))
    if matrix.nnz:
        values = np.square(matrix.data, dtype=np.float64)
        squares[filled] = np.add.reduceat(values, matrix.indptr[:-1][filled])
    scale = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
    data = matrix.data * np.repeat(scale.astype(np.float32), counts)
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _normalized_dense(matrix: FloatArray) -> FloatArray:
    """Rows of unit length, in place; zero rows stay zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    norms[norms == 0] = 1
    matrix /= norms[:, None]
    return matrix
