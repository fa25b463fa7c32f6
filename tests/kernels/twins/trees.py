"""Slow, obvious twins of the kernels that train and search label trees.

Everything is dense, and float64 where rounding could matter. Patterns are lists of rows, each a
list of column ids.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitudes.kernels.search import index
from multitudes.kernels.search.beam_search import HINGE, SIGMOID
from multitudes.kernels.search.index import SearchArrays

Array = npt.NDArray[Any]
Rows = list[list[int]]

# --- lanes ---------------------------------------------------------------------------------------


def stored_numbers(values: Array) -> npt.NDArray[np.float32]:
    """What stored weights are worth: uint16 holds the bits of float16, other types themselves."""
    return (values.view(np.float16) if values.dtype == np.uint16 else values).astype(np.float32)


def lanes_of(mask: int) -> npt.NDArray[np.bool_]:
    """The 16 bits of a mask, lane 0 first."""
    return np.array([mask >> lane & 1 for lane in range(16)], bool)


# --- dual_descent --------------------------------------------------------------------------------


def shuffle(order: list[int], state: int) -> tuple[list[int], int]:
    """Fisher-Yates from the end, drawing from xorshift64*; also the generator's new state."""
    order, word = list(order), 2**64 - 1
    for j in range(len(order) - 1, 0, -1):
        state ^= state >> 12
        state ^= (state << 25) & word
        state ^= state >> 27
        draw = ((state * 2685821657736338717) & word) >> 32
        other = draw * (j + 1) >> 32
        order[j], order[other] = order[other], order[j]
    return order, state


def gather(X: Array, rows: Array, *, apart: bool) -> tuple[list[int], Array, int]:
    """(local features, the rows with those columns alone, how many come first).

    Features are numbered as they are met, or those that a single row has come last, and the others
    are numbered as they are met again.
    """
    met: dict[int, int] = {}
    again: dict[int, None] = {}
    for i in rows:
        for feature in np.flatnonzero(X[i]).tolist():
            met[feature] = met.get(feature, 0) + 1
            if met[feature] > 1:
                again[feature] = None
    first = list(again) if apart else list(met)
    features = first + [feature for feature in met if apart and met[feature] == 1]
    return features, X[rows][:, features], len(first)


def positives(carried: Rows, rows: Array, first: int, count: int) -> list[int]:
    """The mask of each row: bit k is set where it carries child first + k."""
    return [
        sum(1 << child - first for child in carried[i] if first <= child < first + count)
        for i in rows
    ]


class Solved(NamedTuple):
    """One label's solution."""

    w: npt.NDArray[np.float64]  # (n_columns,)
    alpha: npt.NDArray[np.float64]  # (n_rows,)
    epochs: int


def solve_hinge(
    X: Array,
    y: Array,
    cost: Array,
    *,
    squared: bool,
    epsilon: float,
    max_epochs: int,
    state: int,
) -> Solved:
    """One label by dual coordinate descent, in the kernel's order; X has its constant column."""
    w, alpha = np.zeros(X.shape[1]), np.zeros(len(X))
    order, epochs = list(range(len(X))), 0
    while epochs < max_epochs:
        epochs += 1
        order, state = shuffle(order, state)
        seen = []
        for r in order:
            ridge, upper = (0.5 / cost[r], math.inf) if squared else (0.0, cost[r])
            gradient = y[r] * (X[r] @ w) - 1 + ridge * alpha[r]
            projected = min(gradient, 0) if alpha[r] <= 0 else gradient
            projected = max(gradient, 0) if alpha[r] >= upper else projected
            seen.append(projected)
            if abs(projected) > 0.125 * epsilon:
                curvature = X[r] @ X[r] + ridge
                moved = alpha[r] - gradient / curvature if curvature > 0 else upper
                moved = min(max(moved, 0), upper)
                w += (moved - alpha[r]) * y[r] * X[r]
                alpha[r] = moved
        if max(seen) - min(seen) <= epsilon:
            break
    return Solved(w, alpha, epochs)


# --- logistic_descent ----------------------------------------------------------------------------


def logistic_step(alpha: float, cost: float, square: float, margin: float) -> float:
    """The z in (0, cost) where square (z - alpha) + margin + log(z / (cost - z)) is 0.

    By bisection over the log-odds of z, in which the gradient rises from -inf to inf.
    """
    low, high = -700.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        z = cost / (1 + math.exp(-middle))
        low, high = (low, middle) if square * (z - alpha) + margin + middle > 0 else (middle, high)
    return cost / (1 + math.exp(-low))


def solve_logistic(X: Array, y: Array, cost: Array, *, epochs: int) -> Solved:
    """One label by exact steps over one dual variable after another; X has its constant column."""
    alpha = np.minimum(0.001 * cost, 1e-8).astype(np.float64)
    w = (alpha * y) @ X.astype(np.float64)
    for _ in range(epochs):
        for r in range(len(X)):
            moved = logistic_step(alpha[r], cost[r], X[r] @ X[r], y[r] * (X[r] @ w))
            w += (moved - alpha[r]) * y[r] * X[r]
            alpha[r] = moved
    return Solved(w, alpha, epochs)


# --- chunks --------------------------------------------------------------------------------------


def kept_weights(
    w: Array, feature_of: Array, cut: Array, first_child: int
) -> dict[int, list[tuple[int, float]]]:
    """{feature: [(child, weight), ...]}, ascending, where |w| > cut; w is (n_children, n_local)."""
    kept: dict[int, list[tuple[int, float]]] = {}
    for own in np.argsort(feature_of):
        entries = [
            (first_child + child, float(w[child, own]))
            for child in range(len(w))
            if abs(w[child, own]) > cut[child]
        ]
        if entries:
            kept[int(feature_of[own])] = entries
    return kept


# --- search_index --------------------------------------------------------------------------------


def expand_chunk(arrays: SearchArrays, g: int, n_features: int) -> npt.NDArray[np.float32]:
    """The stored weights of cluster g, dense (n_children, n_features)."""
    n_children = arrays.cluster[g, index.CHILD_COUNT]
    n_blocks = -(-n_children // 16)
    out = np.zeros((n_blocks * 16, n_features), np.float32)
    for feature, start in rows_of(arrays, g).items():
        column, at = out[:, feature], start
        if n_blocks <= index.FULL_BLOCKS:
            masks = arrays.code[start : start + n_blocks]
            at += n_blocks
            for block, mask in enumerate(masks):
                at = unpack(arrays, at, int(mask), column[16 * block :][:16])
            continue
        block = 0
        while arrays.code[at : at + 2].any():
            block += int(arrays.code[at])
            at = unpack(arrays, at + 2, int(arrays.code[at + 1]), column[16 * block :][:16])
    return out[:n_children]


def unpack(arrays: SearchArrays, at: int, mask: int, lanes: Array) -> int:
    """Write the packed weights from `at` on to their lanes; returns where they end."""
    marked = np.flatnonzero(lanes_of(mask))
    end = at + len(marked) * (1 + arrays.wide)
    lanes[marked] = arrays.code[at:end].view(np.float32 if arrays.wide else np.float16)
    return end


def rows_of(arrays: SearchArrays, g: int) -> dict[int, int]:
    """{feature: where its row begins in the stream} of cluster g, by feature."""
    first, count = arrays.cluster[g, [index.GROUP_FIRST, index.GROUP_COUNT]]
    groups = arrays.group.reshape(-1, 2, index.GROUP)[first : first + count]
    features, starts = groups[:, 0].ravel(), groups[:, 1].ravel().view(np.uint32)
    kept = np.flatnonzero(features != index.NO_FEATURE)
    kept = kept[np.argsort(features[kept])]
    code = int(arrays.cluster[g, index.CODE_FIRST])
    return {int(features[k]): code + int(starts[k]) for k in kept}


def find_rows(arrays: SearchArrays, g: int, features: Array) -> list[tuple[int, int]]:
    """(place in the stream, place among `features`) of every feature that cluster g has."""
    row_of = rows_of(arrays, g)
    return [(row_of[f], t) for t, f in enumerate(features.tolist()) if f in row_of]


# --- beam_search ---------------------------------------------------------------------------------

Ranked = list[tuple[float, int]]  # (score, id), best first


class Level(NamedTuple):
    """One level of a tree, dense."""

    offsets: Array  # (n_clusters + 1,)
    weights: Array  # (n_children, n_features)
    bias: Array  # (n_children,)


def best(candidates: Ranked, count: int) -> Ranked:
    """The `count` largest scores, equal ones by smaller id."""
    return sorted(candidates, key=lambda pair: (-pair[0], pair[1]))[:count]


def path_score(margin: float, parent: float, kind: int, power: int) -> float:
    """The parent's score plus the logarithm of the child's own."""
    if kind == HINGE:
        return parent - max(0.0, 1.0 - margin) ** power
    return parent - np.logaddexp(0.0, -margin) if kind == SIGMOID else parent + margin


def search(
    x: Array,
    levels: list[Level],
    slot_labels: Array,
    *,
    beam_width: int,
    top_k: int,
    kind: int,
    power: int = 1,
    allowed: Array | None = None,
) -> Ranked:
    """Beam search for one dense instance that visits every cluster of its beam.

    `allowed` are the labels that may be found; clusters without any are not entered.
    """
    allowed = np.arange(slot_labels.max() + 1) if allowed is None else allowed
    beam: Ranked = [(0.0, 0)]
    for number, level in enumerate(levels):
        below = children_below(levels[number:], np.isin(slot_labels, allowed))
        found = [
            (path_score(level.weights[child] @ x + level.bias[child], score, kind, power), child)
            for score, cluster in beam
            for child in range(level.offsets[cluster], level.offsets[cluster + 1])
            if below[child]
        ]
        is_leaf_level = number == len(levels) - 1
        if is_leaf_level:
            found = [(score, int(slot_labels[slot])) for score, slot in found]
        beam = best(found, top_k if is_leaf_level else beam_width)
    return beam


def children_below(levels: list[Level], slots: Array) -> Array:
    """Which children of the first of these levels have a marked slot below them, or are one."""
    for level in reversed(levels[1:]):
        slots = np.array([slots[start:stop].any() for start, stop in pairwise(level.offsets)])
    return slots


def brute_force(
    x: Array, levels: list[Level], slot_labels: Array, *, kind: int, power: int = 1
) -> Ranked:
    """All labels by the score of their path, without any beam."""
    scores = [0.0]
    for level in levels:
        parents = np.repeat(np.arange(len(level.offsets) - 1), np.diff(level.offsets))
        margins = level.weights @ x + level.bias
        scores = [
            path_score(margin, scores[parent], kind, power)
            for margin, parent in zip(margins, parents, strict=True)
        ]
    return best(list(zip(scores, slot_labels.tolist(), strict=True)), len(scores))


def order_visits(
    cluster: Array, score: Array, count: Array, places: range, bar: Array
) -> list[tuple[int, int]]:
    """(instance, place) of the beams' clusters that score at least `bar`, by cluster, instance."""
    worth = [
        (int(cluster[i, p]), i, p)
        for i in range(len(count))
        for p in places
        if p < count[i] and score[i, p] >= bar[i]
    ]
    return [(i, p) for _, i, p in sorted(worth)]


# --- averaging -----------------------------------------------------------------------------------


def average_lists(labels: Array, scores: Array, n_models: int, top_k: int) -> list[Ranked]:
    """Of each row, the `top_k` (mean score, label) pairs; sums in float32, in listed order."""
    ranked = []
    for own_labels, own_scores in zip(labels.tolist(), scores, strict=True):
        total: dict[int, np.float32] = {}
        for label, score in zip(own_labels, own_scores, strict=True):
            if label >= 0:
                total[label] = np.float32(total.get(label, np.float32(0)) + score)
        means = [(float(np.float32(t / np.float32(n_models))), label) for label, t in total.items()]
        ranked.append(best(means, top_k))
    return ranked
