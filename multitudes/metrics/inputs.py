"""What evaluation accepts, checked once and brought to one form.

Predictions may be `Predictions`, a sparse or dense array of scores, or one list per instance: of
label ids, best first, or of (label, score) pairs. The truth may be a sparse array, a dense 0/1
array, or one list of label ids per instance. Names in the place of ids: see `names`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from multitudes import memory
from multitudes.errors import ConfigError, DataError
from multitudes.scikit_learn import sparse as sp
from multitudes.types import NO_LABEL, LabelArray, Predictions, Sparse
from multitudes.validation import checked_predictions, checked_truth
from multitudes.validation.matrices import dense_rows
from multitudes.validation.sparse import MOST_COLUMNS, own_csr

# Predictions | CSR | Sequence[Sequence[int | str | tuple[int | str, float]]], and
# CSR | Sequence[Sequence[int | str]]:
# `Sparse` is Any, so a union with it would say no more to a type checker.
BYTES_PER_LABEL = 32  # that counting takes, about
PredictionsLike: TypeAlias = Any
TruthLike: TypeAlias = Any


def is_sparse(value: Any) -> bool:
    """Return whether a value is sparse; a plain bool tells the type checker nothing."""
    return bool(sp.issparse(value))


def is_matrix(value: Any) -> bool:
    """Return whether a value is sparse, or a dense array (n_instances, n_labels) of numbers."""
    is_dense = isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "fiub"
    return is_dense or (is_sparse(value) and len(value.shape) == 2)


MAX_K = (1 << 31) - 1  # as many labels as there can be


def check_ks(ks: Iterable[int]) -> tuple[int, ...]:
    """Return the cut-offs as a rising tuple without repeats, or a ConfigError."""
    if not isinstance(ks, Iterable):
        raise ConfigError(f"ks must be one or more whole numbers, e.g. (1, 3, 5), got {ks!r}")
    ks = tuple(ks)
    if not ks or any(isinstance(k, bool) or not isinstance(k, (int, np.integer)) for k in ks):
        raise ConfigError(f"ks must be one or more whole numbers, e.g. (1, 3, 5), got {ks!r}")
    if min(ks) < 1 or max(ks) > MAX_K:
        raise ConfigError(f"every k must be from 1 to {MAX_K:,}, got ks={ks!r}")
    return tuple(sorted({int(k) for k in ks}))


def label_space(predictions: PredictionsLike, truth: TruthLike, weights: Any = None) -> int:
    """Size of the label space on which all the inputs that know it must agree.

    Lists do not know it: where nothing else does, it is the largest label id plus one.
    """
    sizes: dict[str, int] = {}
    if isinstance(predictions, Predictions):
        sizes["predictions"] = int(predictions.n_labels)
    elif is_matrix(predictions):
        sizes["predictions"] = int(predictions.shape[1])
    if is_matrix(truth):
        sizes["truth"] = int(truth.shape[1])
    if weights is not None:
        sizes["inverse_propensity or frequency_bins"] = len(weights)
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise DataError(f"the label spaces differ ({listed}): all must have the same n_labels")
    if sizes:
        return _checked_size(next(iter(sizes.values())))
    largest = -1
    for name, rows in (("predictions", predictions), ("truth", truth)):
        for i, row in enumerate(label_rows(rows, name)):
            largest = max([largest, *_read_row(row, name, i)[0]])
    return _checked_size(largest + 1)


def _checked_size(n_labels: int) -> int:
    """Return the size of a label space that there is memory to count in."""
    if n_labels > MOST_COLUMNS:
        raise DataError(f"label id {n_labels - 1:,} is too large: {MOST_COLUMNS - 1:,} is the most")
    memory.ask(
        BYTES_PER_LABEL * n_labels,
        f"a label space of {n_labels:,} labels",
        advice="number the labels that occur, from 0 on",
    )
    return n_labels


def ranked_labels(predictions: PredictionsLike, *, top_k: int, n_labels: int) -> LabelArray:
    """Return the labels of each instance, best first.

    Returns
    -------
    int32 array (n_instances, width), C-contiguous
        -1 where an instance has fewer labels; `width` is at most `top_k`.
    """
    if isinstance(predictions, Predictions):
        labels = checked_predictions(predictions.top(top_k)).labels
    elif is_matrix(predictions):
        labels = _best_of_csr(predictions, top_k)
    else:
        labels = _labels_of_lists(predictions, top_k)
    if labels.size and (labels.max() >= n_labels or labels.min() < NO_LABEL):
        row, rank = np.argwhere((labels >= n_labels) | (labels < NO_LABEL))[0]
        raise DataError(
            f"predictions, instance {row}, rank {rank + 1}: label {labels[row, rank]} is not in "
            f"0..{n_labels - 1} (or -1 for none): use ids of the label space of the truth"
        )
    return labels


def truth_matrix(truth: TruthLike, *, n_labels: int) -> sp.csr_array[Any]:
    """Return the true labels as CSR (n_instances, n_labels): sorted, each once, no stored zeros."""
    if is_matrix(truth):
        matrix: sp.csr_array[Any] = checked_truth(truth, name="truth")
        return matrix
    return list_matrix(truth, n_labels=n_labels, name="truth")


def list_matrix(rows: Any, *, n_labels: int, name: str) -> sp.csr_array[Any]:
    """One list of label ids per instance as a CSR array of ones; repeats and strangers refused."""
    columns: list[int] = []
    indptr = [0]
    for i, row in enumerate(label_rows(rows, name)):
        labels, _ = _read_row(row, name, i)
        strangers = [label for label in labels if not 0 <= label < n_labels]
        if strangers:
            raise DataError(
                f"{name}, instance {i}: label {strangers[0]} is not in 0..{n_labels - 1}: "
                "use ids of one label space for predictions and truth"
            )
        if len(set(labels)) < len(labels):
            raise DataError(repeated(name, i, np.array(labels)))
        columns.extend(sorted(labels))
        indptr.append(len(columns))
    data = np.ones(len(columns), np.float32)
    index = (np.array(columns, np.int32), np.array(indptr, np.int64))
    return sp.csr_array((data, *index), shape=(len(indptr) - 1, n_labels))


def repeated(name: str, row: int, labels: LabelArray) -> str:
    """Return the message for a row of labels that a kernel or a check refused."""
    ids, counts = np.unique(labels[labels >= 0], return_counts=True)
    if np.any(counts > 1):
        return (
            f"{name}, instance {row}: label {ids[counts > 1][0]} is listed "
            f"{counts.max()} times: list each label once"
        )
    return (
        f"{name}, instance {row}: a label follows a missing one (-1) in {labels.tolist()}: "
        "put the -1 last"
    )


def _best_of_csr(scores: Sparse, top_k: int) -> LabelArray:
    """Return the best stored entries of each row; a stored 0 is a prediction of score 0."""
    from multitudes.kernels.metrics import best_in_rows  # loads numba: not before it is needed

    given = scores if is_sparse(scores) else dense_rows(scores, "predictions")
    matrix = own_csr(given, "predictions")
    data = matrix.data if matrix.dtype == np.float32 else matrix.data.astype(np.float64)
    if np.isnan(data).any():
        row = int(np.searchsorted(matrix.indptr, np.argmax(np.isnan(data)), "right")) - 1
        raise DataError(f"predictions, instance {row}: a score is NaN: scores must be comparable")
    width = min(top_k, int(np.diff(matrix.indptr).max(initial=0)))
    labels = np.full((matrix.shape[0], width), NO_LABEL, np.int32)
    if width:
        indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        best_in_rows(indptr, indices, data, np.empty(width, data.dtype), labels)
    return labels


def _labels_of_lists(rows: Any, top_k: int) -> LabelArray:
    """Return the first `top_k` labels of each list; pairs are put in order of score first."""
    ranked = []
    for i, row in enumerate(label_rows(rows, "predictions")):
        labels, scores = _read_row(row, "predictions", i)
        if scores is not None:
            order = sorted(range(len(labels)), key=lambda j: (-scores[j], labels[j]))
            labels = [labels[j] for j in order]
        if len(set(labels)) < len(labels):  # also past top_k, where the kernel does not look
            raise DataError(repeated("predictions", i, np.array(labels)))
        ranked.append(labels[:top_k])
    width = max((len(row) for row in ranked), default=0)
    out = np.full((len(ranked), width), NO_LABEL, np.int32)
    for i, labels in enumerate(ranked):
        if labels and not (min(labels) >= 0 and max(labels) < 2**31):
            bad = min(labels) if min(labels) < 0 else max(labels)
            raise DataError(f"predictions, instance {i}: {bad} is not a label id")
        out[i, : len(labels)] = labels
    return out


def label_rows(rows: Any, name: str) -> Sequence[Any]:
    """`rows` if it can hold one list per instance."""
    if isinstance(rows, (str, bytes, np.ndarray)) or not isinstance(rows, Sequence):
        raise DataError(
            f"{name} must be one list of labels per instance, or an array (n_instances, n_labels), "
            f"got {_shown(rows)}"
        )
    return rows


def split_pairs(row: Any, where: str) -> tuple[list[Any], bool]:
    """Return the entries of one instance, and whether they are (label, score) pairs."""
    if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
        raise DataError(f"{where}: expected a list of labels, got {row!r}")
    entries = row.tolist() if isinstance(row, np.ndarray) else list(row)
    is_pair = [isinstance(entry, tuple) and len(entry) == 2 for entry in entries]
    if any(is_pair) and not all(is_pair):
        raise DataError(f"{where}: some labels have a score and some do not: give all or none")
    return entries, any(is_pair)


def read_scores(pairs: list[tuple[Any, Any]], where: str) -> list[float]:
    """Return the scores of (label, score) pairs, or a DataError that names the label."""
    for label, score in pairs:
        if isinstance(score, bool) or not isinstance(score, (int, float, np.number)):
            raise DataError(f"{where}: label {label} has score {score!r}, which is not a number")
        if np.isnan(score):
            raise DataError(f"{where}: label {label} has score NaN: scores must be comparable")
    return [float(score) for _, score in pairs]


def _read_row(row: Any, name: str, number: int) -> tuple[list[int], list[float] | None]:
    """Return the labels of one instance as listed, and their scores where it lists pairs."""
    if type(row) is list and set(map(type, row)) <= {int}:  # nearly always, and most of the time
        return row, None
    where = f"{name}, instance {number}"
    entries, has_scores = split_pairs(row, where)
    labels = [entry[0] for entry in entries] if has_scores else entries
    for label in labels:
        if isinstance(label, str):
            raise DataError(f"{where}: {label!r} is a label name where label ids are expected")
        if isinstance(label, bool) or not isinstance(label, (int, np.integer)):
            raise DataError(f"{where}: {label!r} is not a label id or name")
    ids = [int(label) for label in labels]
    return ids, read_scores(entries, where) if has_scores else None


def _shown(value: Any) -> str:
    shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
    return f"{type(value).__name__}{shape}"
