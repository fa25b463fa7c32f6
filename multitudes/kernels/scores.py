"""Kernels of scores: average ranked lists, and decide which labels make an instance's set."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Bools, Doubles, Floats, Ints, Longs
from multitudes.kernels.search.beam_search import insert


@njit(nogil=True, cache=True)
def average_lists(
    labels: Ints,  # IN (n, n_models * width): -1 where there is none
    scores: Floats,  # IN (n, n_models * width)
    n_models: int,  # IN
    place: Ints,  # TMP (n_labels,): all -1, and -1 again afterwards
    out_labels: Ints,  # OUT (n, top_k): -1 where there are no more
    out_scores: Floats,  # OUT (n, top_k): -inf beside -1
) -> None:
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


@njit(nogil=True, cache=True)
def best_sizes(
    probabilities: Doubles,  # IN (n, width): falling in a row; 0 where there is no label
    inverse: Doubles,  # IN (2 * width + 1,): at a >= 1, E[1 / (a + number of unlisted labels)]
    empty: float,  # IN float: what F1 is worth when both sets are empty, times P(none is unlisted)
    among: Doubles,  # TMP (width + 1, width + 1)
    rest: Doubles,  # TMP (2 * width + 1,)
    sizes: Longs,  # OUT (n,): how many of the first labels to take
    values: Doubles,  # OUT (n,): the expected F1 of taking them
) -> None:
    """The number of labels with the largest expected F1, labels being independent.

    The best set of a size is that of the likeliest labels. With k labels taken, h of them true
    and m true ones left out, F1 is 2h / (k + h + m). ``among[k, h]`` is the probability of h, and
    ``rest[a]`` the mean of 1 / (a + m): both follow label by label, so a row takes width^2 steps
    (Ye et al. 2012, section 4). Of equal values the smaller size wins.
    """
    n, width = probabilities.shape
    for i in range(n):
        listed = 0
        none_true = 1.0
        among[0, 0] = 1.0
        while listed < width and probabilities[i, listed] > 0:
            p = probabilities[i, listed]
            among[listed + 1, 0] = among[listed, 0] * (1 - p)
            for h in range(1, listed + 1):
                among[listed + 1, h] = among[listed, h] * (1 - p) + among[listed, h - 1] * p
            among[listed + 1, listed + 1] = among[listed, listed] * p
            none_true *= 1 - p
            listed += 1
        for a in range(1, 2 * listed + 1):
            rest[a] = inverse[a]
        best, size = 0.0, 0
        for k in range(listed, 0, -1):
            value = 0.0
            for h in range(1, k + 1):
                value += 2 * h * among[k, h] * rest[k + h]
            if value >= best * (1 - 1e-12):
                best, size = value, k
            p = probabilities[i, k - 1]
            for a in range(1, 2 * k):
                rest[a] = p * rest[a + 1] + (1 - p) * rest[a]
        if empty * none_true >= best:
            best, size = empty * none_true, 0
        sizes[i] = size
        values[i] = best


@njit(nogil=True, cache=True)
def cut_labels(
    starts: Longs,  # IN (n_labels + 1,): pairs of each label
    rows: Longs,  # IN (n_pairs,): instance of a pair
    is_true: Bools,  # IN (n_pairs,)
    scores: Doubles,  # IN (n_pairs,): falling within a label
    n_true: Longs,  # IN (n,): true labels of each instance
    price: float,  # IN float: micro: what a taken label costs, in units of half a hit; example: < 0
    first_cuts: Longs,  # IN (n_labels,): cuts that win among equals
    n_taken: Longs,  # IN, OUT (n,): labels taken of each instance under `cuts`
    n_hits: Longs,  # IN, OUT (n,): how many of them are true
    cuts: Longs,  # IN, OUT (n_labels,): how many pairs of a label are taken
) -> None:
    """Give each label in turn the cut that is best while the other labels stay.

    The gain of a pair is 2 * is_true - price (Dinkelbach's form of micro-F1), or where price < 0
    the change of its instance's F1. Pairs of equal score are taken together.
    """
    for label in range(starts.shape[0] - 1):
        start, end = starts[label], starts[label + 1]
        for t in range(start, start + cuts[label]):
            n_taken[rows[t]] -= 1
            n_hits[rows[t]] -= is_true[t]
        total = best = at_first = 0.0
        cut = 0
        for t in range(start, end):
            i = rows[t]
            if price >= 0:
                total += 2.0 * is_true[t] - price
            else:
                size = n_taken[i] + n_true[i]
                before = 2.0 * n_hits[i] / size if size > 0 else 0.0
                total += 2.0 * (n_hits[i] + is_true[t]) / (size + 1) - before
            if t + 1 < end and scores[t + 1] == scores[t]:
                continue
            if t + 1 - start == first_cuts[label]:
                at_first = total
            if total > best + 1e-12:
                best, cut = total, t + 1 - start
        if at_first >= best - 1e-12:
            cut = first_cuts[label]
        cuts[label] = cut
        for t in range(start, start + cut):
            n_taken[rows[t]] += 1
            n_hits[rows[t]] += is_true[t]
