"""Slow, obvious twins of the kernels of evaluation."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def find_hits(labels: Array, indptr: Array, indices: Array) -> list[tuple[int, int]]:
    """(instance, rank) of each hit, by instance and rank; ValueError(row) for a row refused."""
    hits = []
    for i, row in enumerate(labels.tolist()):
        present = [label for label in row if label >= 0]
        if row[: len(present)] != present or len(set(present)) < len(present):
            raise ValueError(i)
        true = indices[indptr[i] : indptr[i + 1]].tolist()
        hits += [(i, rank) for rank, label in enumerate(present) if label in true]
    return hits


def count_predicted(labels: Array, section: Array, n_sections: int, n_labels: int) -> Array:
    """How often each label stands in each section of the ranking, (n_sections, n_labels)."""
    counts = np.zeros((n_sections, n_labels), np.int64)
    for number in range(n_sections):
        inside = labels[:, section == number]
        counts[number] = np.bincount(inside[inside >= 0], minlength=n_labels)
    return counts


def count_draws(draws: Array, n: int) -> Array:
    """How often each of n ids was drawn, (n,)."""
    return np.bincount(draws, minlength=n).astype(np.float64)


def rank_in_rows(indptr: Array, weights: Array) -> Array:
    """Rank of each entry in its row by falling weight, ties to the earlier entry, (nnz,)."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((np.arange(len(weights)), -weights, rows))
    ranks = np.empty(len(weights), np.int64)
    ranks[order] = np.arange(len(weights)) - indptr[rows]
    return ranks


def best_in_rows(indptr: Array, indices: Array, scores: Array, top_k: int) -> Array:
    """The best labels of each row by (falling score, label id), -1 where there are fewer."""
    labels = np.full((len(indptr) - 1, top_k), -1, np.int64)
    for i, (start, end) in enumerate(itertools.pairwise(indptr.tolist())):
        entries = sorted(zip(-scores[start:end], indices[start:end], strict=True))[:top_k]
        labels[i, : len(entries)] = [label for _, label in entries]
    return labels
