"""Kernels of evaluation: who was hit, at which rank, and how often each label was predicted.

Callers validate; kernels trust. Each has a slow twin in `tests/kernels/twins/metrics.py`.
"""

from __future__ import annotations

import numpy as np

from multitudes.kernels.arrays import Array, Doubles, Ints, Longs
from multitudes.kernels.compiling import allocating, kernel


@kernel
def find_hits(
    labels: Ints,  # IN  (n, width): label ids best first, -1 where missing
    indptr: Longs,  # IN  (n + 1,): rows of the truth
    indices: Ints,  # IN  (n_true,): true labels, each once in a row
    mark: Ints,  # TMP (n_labels,): zeros
    hit_row: Ints,  # OUT (n_true,): instance of each hit
    hit_rank: Ints,  # OUT (n_true,): its rank, 0 is best
) -> int:
    """Write the hits, row by row and best first; return their number.

    A row that lists a label twice, or a label after a -1, ends the search: the result is then
    ``-1 - row``. One table of marks serves all rows, because row i writes only 2i + 1 (true) and
    2i + 2 (predicted): what an earlier row left behind is smaller than both.
    """
    n_hits = 0
    for i in range(labels.shape[0]):
        is_true = 2 * i + 1
        is_predicted = 2 * i + 2
        for t in range(indptr[i], indptr[i + 1]):
            mark[indices[t]] = is_true
        ended = False
        for j in range(labels.shape[1]):
            label = labels[i, j]
            if label < 0:
                ended = True
                continue
            found = mark[label]
            if ended or found == is_predicted:
                return -1 - i
            mark[label] = is_predicted
            if found == is_true:
                hit_row[n_hits] = i
                hit_rank[n_hits] = j
                n_hits += 1
    return n_hits


@kernel
def count_predicted(
    labels: Ints,  # IN  (n, width): label ids, -1 where missing
    section: Longs,  # IN  (width,): which row of `counts` a rank belongs to
    counts: Longs,  # OUT (n_sections, n_labels): zeros on entry
) -> None:
    """Count how often each label is predicted, by section of the ranking."""
    for i in range(labels.shape[0]):
        for j in range(labels.shape[1]):
            if labels[i, j] >= 0:
                counts[section[j], labels[i, j]] += 1


@allocating
def rank_in_rows(
    indptr: Longs,  # IN  (n + 1,)
    weights: Doubles,  # IN  (nnz,)
    ranks: Ints,  # OUT (nnz,): 0 for the largest weight of the row
) -> None:
    """Rank the entries of each row by falling weight; ties go to the earlier entry."""
    for i in range(indptr.shape[0] - 1):
        start = indptr[i]
        order = np.argsort(-weights[start : indptr[i + 1]], kind="mergesort")
        for rank in range(order.shape[0]):
            ranks[start + order[rank]] = rank


@kernel
def best_in_rows(
    indptr: Longs,  # IN  (n + 1,)
    indices: Ints,  # IN  (nnz,): label ids
    scores: Array,  # IN  (nnz,): float32 or float64, no NaN
    best: Array,  # TMP (top_k,): like `scores`
    labels: Ints,  # OUT (n, top_k): -1 on entry; top_k >= 1
) -> None:
    """The `top_k` best labels of each row, best first, ties to the smaller label id.

    Insertion into a short sorted list: most entries of a long row fail its first comparison.
    """
    top_k = labels.shape[1]
    for i in range(labels.shape[0]):
        filled = 0
        for t in range(indptr[i], indptr[i + 1]):
            score = scores[t]
            label = indices[t]
            if filled == top_k and not (
                score > best[top_k - 1] or (score == best[top_k - 1] and label < labels[i, -1])
            ):
                continue
            filled = min(filled + 1, top_k)
            j = filled - 1
            while j > 0 and (
                score > best[j - 1] or (score == best[j - 1] and label < labels[i, j - 1])
            ):
                best[j] = best[j - 1]
                labels[i, j] = labels[i, j - 1]
                j -= 1
            best[j] = score
            labels[i, j] = label


@kernel
def count_draws(
    draws: Ints,  # IN  (n_draws,): ids in 0..n-1
    counts: Doubles,  # OUT (n,)
) -> None:
    """Count how often each id was drawn, as floats that a matrix product can take."""
    counts[:] = 0
    for t in range(draws.shape[0]):
        counts[draws[t]] += 1
