"""Average the ranked lists of several models."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.beam_search import insert


@njit(nogil=True, cache=True)
def average_lists(
    labels,  # IN int32 (n, n_models * width): -1 where there is none
    scores,  # IN float32 (n, n_models * width)
    n_models,  # IN
    place,  # TMP int32 (n_labels,): all -1, and -1 again afterwards
    out_labels,  # OUT int32 (n, top_k): -1 where there are no more
    out_scores,  # OUT float32 (n, top_k): -inf beside -1
):
    """Rank labels by their mean score; a model that does not list a label gives it 0."""
    width = labels.shape[1]
    found = np.empty(width, np.int32)
    total = np.empty(width, np.float32)
    for i in range(labels.shape[0]):
        n_found = 0
        for j in range(width):
            label = labels[i, j]
            if label < 0:
                continue
            if place[label] < 0:
                place[label] = n_found
                found[n_found] = label
                total[n_found] = 0.0
                n_found += 1
            total[place[label]] += scores[i, j]
        count = 0
        for p in range(n_found):
            place[found[p]] = -1
            mean = total[p] / np.float32(n_models)
            count = insert(out_labels[i], out_scores[i], count, found[p], mean)
        for p in range(count, out_labels.shape[1]):
            out_labels[i, p] = -1
            out_scores[i, p] = -np.inf
