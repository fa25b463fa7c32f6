"""Slow, obvious twins of the kernels: what each kernel must compute, for tests and for readers.

Those of the kernels that train and search label trees are in `multitudes.kernels.reference_trees`.
"""

from __future__ import annotations

import itertools
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.kernels import sparse_text

# --- sparse_text ---------------------------------------------------------------------------------

DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
FEATURE = re.compile(rb"([0-9]+):(.*)", re.DOTALL)

ParsedRow = tuple[list[int], list[int], list[np.float32]]  # labels as listed, feature ids, values


class BadLine(ValueError):  # noqa: N818
    """A line the kernel must stop at: the kind of error and the offending token."""

    def __init__(self, status: int, token: bytes) -> None:
        super().__init__(status, token)
        self.status, self.token = status, token


def nearest_float32(token: str) -> np.float32:
    """The float32 nearest to a decimal by exact arithmetic, ties to the even mantissa."""
    exact = Fraction(Decimal(token))
    with np.errstate(over="ignore"):
        guess = np.float32(float(token))
        near = [np.nextafter(guess, np.float32(side)) for side in (-math.inf, math.inf)]
    if not np.isfinite(guess):
        return guess

    def distance(candidate: np.float32) -> tuple[Fraction, int]:
        mantissa_is_odd = int(candidate.view(np.uint32)) & 1
        return abs(Fraction(float(candidate)) - exact), mantissa_is_odd

    return min((c for c in [guess, *near] if np.isfinite(c)), key=distance)


def parse_line(line: bytes, limits: list[int]) -> ParsedRow | None:
    """One line without its newline; None where it is no instance. Raises `BadLine`."""
    n_features, n_labels, first_id, blank_is_row, _ = limits
    tokens = re.split(rb"[ \t\r]+", line.strip(b" \t\r"))
    comment = next((i for i, token in enumerate(tokens) if token.startswith(b"#")), len(tokens))
    if comment == 0 or (tokens == [b""] and not blank_is_row):
        return None
    tokens = [token for token in tokens[:comment] if token]
    labels: list[int] = []
    if tokens and b":" not in tokens[0]:
        labels = _parse_labels(tokens.pop(0), n_labels)
    ids: list[int] = []
    values: list[np.float32] = []
    previous = -1
    for token in tokens:
        previous, value = _parse_feature(token, previous, first_id, n_features)
        if value != 0:
            ids.append(previous)
            values.append(value)
    return labels, ids, values


def _parse_labels(field: bytes, n_labels: int) -> list[int]:
    labels = []
    for label in field.split(b","):
        if not re.fullmatch(rb"[0-9]+", label):
            raise BadLine(sparse_text.BAD_LABEL, field)
        if int(label) >= n_labels:
            raise BadLine(sparse_text.LABEL_RANGE, field)
        labels.append(int(label))
    return labels


def _parse_feature(
    token: bytes, previous: int, first_id: int, n_features: int
) -> tuple[int, np.float32]:
    match = FEATURE.fullmatch(token)
    if not match:
        raise BadLine(sparse_text.BAD_FEATURE, token)
    feature = int(match[1]) - first_id
    if not 0 <= feature < n_features:
        raise BadLine(sparse_text.FEATURE_RANGE, token)
    if feature <= previous:
        twice = feature == previous
        kind = sparse_text.FEATURE_TWICE if twice else sparse_text.FEATURE_ORDER
        raise BadLine(kind, token)
    if not DECIMAL.fullmatch(match[2]):
        raise BadLine(sparse_text.BAD_VALUE, token)
    if abs(float(match[2])) > sparse_text.LARGEST:
        raise BadLine(sparse_text.VALUE_RANGE, token)
    return feature, nearest_float32(match[2].decode())


def format_lines(
    rows: list[tuple[list[int], list[int], list[str]]],
) -> bytes:
    """Lines of (labels, feature ids, values as text), as `format_lines.format_lines` writes."""
    lines = []
    for labels, ids, values in rows:
        features = [f" {feature}:{value}" for feature, value in zip(ids, values, strict=True)]
        lines.append(",".join(map(str, labels)) + "".join(features) + "\n")
    return "".join(lines).encode()


# --- metrics -------------------------------------------------------------------------------------

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


# --- terms, term_weights -------------------------------------------------------------------------


def words_of(text: str) -> list[str]:
    """The words of a text that is already in its final case."""
    return re.findall(r"\w+(?:\+\+|\#)?", text)


def word_ngrams_of(text: str, n_min: int, n_max: int) -> list[str]:
    """All word n-grams of a text, repeated as often as they occur."""
    words = words_of(text)
    return [
        " ".join(words[i : i + n])
        for n in range(n_min, n_max + 1)
        for i in range(len(words) - n + 1)
    ]


def character_ngrams_of(text: str, n_min: int, n_max: int) -> list[str]:
    """All character n-grams inside words; a word too short for n counts once, and then no more."""
    grams = []
    for word in text.split():
        padded = f" {word} "
        for n in range(n_min, n_max + 1):
            grams += [padded[i : i + n] for i in range(max(len(padded) - n + 1, 1))]
            if len(padded) <= n:
                break
    return grams


def term_hash(term: bytes, *, joined_words: bool) -> int:
    """The 64-bit hash of a term: FNV-1a of each word, folded with splitmix64's finalizer."""
    mask = 2**64 - 1
    start, prime = 0xCBF29CE484222325, 0x100000001B3
    folded = start
    for word in term.split(b" ") if joined_words else [term]:
        key = start
        for byte in word:
            key = ((key ^ byte) * prime) & mask
        value = folded ^ key
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
        folded = ((value ^ (value >> 31)) * prime) & mask
    return folded


def weigh_rows(
    rows: list[dict[int, int]],
    columns: dict[int, int],
    weights: npt.NDArray[np.float64],
    *,
    sublinear: bool,
) -> list[list[tuple[int, float]]]:
    """Counts {term: count} of each row as (column, weight) pairs, sorted; others are dropped."""
    return [
        sorted(
            (columns[term], (1 + math.log(count) if sublinear else count) * weights[columns[term]])
            for term, count in row.items()
            if term in columns
        )
        for row in rows
    ]


def normalize_row(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A row at Euclidean length 1; zeros stay."""
    length = float(np.sqrt((values**2).sum()))
    return values / length if length > 0 else values


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
