"""Slow, obvious twins of the kernels that put labels into clusters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# --- kmeans, kmeans_dense ------------------------------------------------------------------------


def best_go_left(scores: Array, n_left: int) -> Array:
    """Bool (n,): the `n_left` best scores, ties to the earlier row."""
    order = np.lexsort((np.arange(len(scores)), -scores))
    side = np.zeros(len(scores), bool)
    side[order[:n_left]] = True
    return side


def side_difference(left: Array, right: Array) -> Array:
    """The direction left / |left| - right / |right|; a zero vector stays zero."""
    lengths = [np.linalg.norm(side) or 1.0 for side in (left, right)]
    return np.asarray(left / lengths[0] - right / lengths[1])


def two_means(matrix: Array, n_left: int, max_iterations: int, first: int, second: int) -> Array:
    """Bool (n,): the left side of balanced spherical 2-means on dense rows, in float64."""
    matrix = matrix.astype(np.float64)
    direction = matrix[first] - matrix[second]
    side = np.zeros(len(matrix), bool)
    for _ in range(max_iterations):
        # Row by row, so that equal rows get equal scores.
        new_side = best_go_left(np.array([row @ direction for row in matrix]), n_left)
        if np.array_equal(new_side, side):
            break
        side = new_side
        direction = side_difference(matrix[side].sum(axis=0), matrix[~side].sum(axis=0))
    return side


def split_nodes(matrix: Array, nodes: Array, max_iterations: int, rows: Array) -> Array:
    """The rows reordered: within each node its left side comes first."""
    rows = rows.copy()
    for start, stop, n_left, first, second in nodes.tolist():
        if n_left:
            node = rows[start:stop].copy()
            side = two_means(matrix[node], n_left, max_iterations, first, second)
            rows[start:stop] = np.concatenate([node[side], node[~side]])
    return rows


# --- unit_rows -----------------------------------------------------------------------------------


def thinned_unit_rows(matrix: Array, min_weight: float) -> Array:
    """Dense rows of unit length without small values, unless that takes a tenth of the square."""
    out = matrix.astype(np.float64)
    for row in out:
        row /= np.linalg.norm(row) or 1.0
        small = np.abs(row) < min_weight
        if np.sum(row[small] ** 2) <= 0.1 * np.sum(row**2):
            row[small] = 0
    return out


# --- label_sums ----------------------------------------------------------------------------------


def sum_rows_by_label(X: Array, weights: Array) -> Array:
    """Rows of ``weights.T @ X`` (n_labels, n_features) of unit length, or zero; dense float64."""
    sums = weights.astype(np.float64).T @ X.astype(np.float64)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1))


# --- assignment ----------------------------------------------------------------------------------


def count_reached(Y: Array, matches: Array, assignment: Array) -> tuple[int, int]:
    """Tr(Y^T Binary(M C^T)) and Tr(Y^T M C^T) of dense 0/1 matrices."""
    candidates = matches @ assignment.T
    return int(np.trace(Y.T @ (candidates > 0))), int(np.trace(Y.T @ candidates))


def top_counts(counts: Array, limits: list[int]) -> Array:
    """Bool (n_labels, n_clusters): the largest positive counts of each row, ties to the left."""
    keep = np.zeros(counts.shape, bool)
    for row, kept, limit in zip(counts, keep, limits, strict=True):
        best = np.argsort(-row, kind="stable")[:limit]
        kept[best[row[best] > 0]] = True
    return keep


def auction(
    counts: Array,
    home: list[int],
    limits: list[int],
    places: list[int],
    order: list[int],
    *,
    step: float,
    patience: int,
    max_turns: int,
) -> tuple[Array, int]:
    """Bool (n_labels, n_clusters): the places won in an auction; and the number of turns."""
    holders: list[dict[int, float]] = [{} for _ in places]  # cluster -> {label: bid}
    queue, turns = list(order), 0

    def price(cluster: int) -> float:
        full = len(holders[cluster]) == places[cluster]
        return min(holders[cluster].values(), default=0.0) if full else 0.0

    while queue:
        label, turns = queue.pop(0), turns + 1
        step *= 2 if turns % patience == 0 else 1
        n_held = sum(label in cluster for cluster in holders)
        free = [k for k in np.flatnonzero(counts[label]).tolist() if label not in holders[k]]
        if counts[label, home[label]] == 0 and label not in holders[home[label]]:
            free.append(home[label])
        gains = {k: float(counts[label, k]) - price(k) for k in free}
        free.sort(key=lambda k: -gains[k])
        wanted = [k for k in free[: limits[label] - n_held] if gains[k] > 0]
        if n_held == 0 and not wanted:
            wanted = free[:1]
        instead = max([gains[k] for k in free[len(wanted) :]], default=-math.inf)
        if n_held > 0 or len(wanted) > 1:
            instead = max(instead, 0.0)
        bids = {k: price(k) + (gains[k] - instead) + step for k in wanted}
        if turns > max_turns:
            bids = {home[label]: math.inf} if n_held == 0 else {}
        for cluster, bid in bids.items():
            if len(holders[cluster]) == places[cluster]:
                loser = min(holders[cluster], key=lambda x: (holders[cluster][x], -x))
                del holders[cluster][loser]
                queue += [loser] if loser not in queue else []
            holders[cluster][label] = bid
    won = np.zeros(counts.shape, bool)
    for cluster, inside in enumerate(holders):
        won[list(inside), cluster] = True
    return won, turns


# --- senses --------------------------------------------------------------------------------------


def sense_similarities(X: Array, Y: Array, leaf_of_slot: Array, slot_labels: Array) -> list[Array]:
    """For each slot the dot products of its label's instances with the leaf's other labels."""
    sums = Y.T @ X
    found = []
    for leaf, label in zip(leaf_of_slot, slot_labels, strict=True):
        others = sums[slot_labels[(leaf_of_slot == leaf) & (slot_labels != label)]].sum(axis=0)
        found.append(X[Y[:, label] > 0] @ unit(others))
    return found


def sense_silhouettes(X: Array, slot_labels: Array, users: list[list[int]]) -> Array:
    """For each slot the mean of its instances' silhouettes."""
    X = np.array([unit(row) for row in X])
    mean = np.zeros(len(users))
    for slot, members in enumerate(users):
        others = [
            users[i]
            for i in np.flatnonzero(slot_labels == slot_labels[slot])
            if i != slot and users[i]
        ]
        if not others or not members:
            continue
        found = []
        for i in members:
            same = [X[i] @ X[j] for j in members if j != i]
            b = max(np.mean([X[i] @ X[j] for j in other]) for other in others)
            a = np.mean(same) if same else 0.0
            found.append((a - b) / max(a, b) if same and max(a, b) > 0 else 0.0)
        mean[slot] = np.mean(found)
    return mean


def telling_features(
    X: Array, users: list[list[int]], weights: Array, n_kept: int
) -> tuple[Array, Array]:
    """Features and what they carry, (n_children, n_kept); `weights` is (n_children, n_features)."""
    features = np.full((len(users), n_kept), -1)
    carried = np.zeros((len(users), n_kept))
    for child, members in enumerate(users):
        product = (weights[child] * unit(X[members].sum(axis=0))).astype(np.float32)
        best = [f for f in np.argsort(-product, kind="stable") if product[f] > 0][:n_kept]
        features[child, : len(best)], carried[child, : len(best)] = best, product[best]
    return features, carried


def shared_labels(Y: Array, leaves: list[list[int]], users: list[list[int]], n_kept: int) -> Array:
    """Nearest labels (n_slots, n_kept); `users` lists the instances of each slot."""
    slots = [(leaf, label) for leaf in leaves for label in leaf]
    nearest = np.full((len(slots), n_kept), -1)
    sizes = Y.sum(axis=0)
    for slot, ((leaf, own), members) in enumerate(zip(slots, users, strict=True)):
        shared = (Y[members].sum(axis=0) / np.sqrt(np.maximum(sizes, 1))).astype(np.float32)
        others = [label for label in leaf if label != own and shared[label] > 0]
        best = sorted(others, key=lambda label: (-shared[label], label))[:n_kept]
        nearest[slot, : len(best)] = best
    return nearest


def unit(vector: Array) -> Array:
    """The vector scaled to length 1; zeros stay zeros."""
    length = float(np.sqrt(vector @ vector))
    return vector / length if length else vector
