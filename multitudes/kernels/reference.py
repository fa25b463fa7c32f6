"""Slow, obvious twins of the kernels: what each kernel must compute, for tests and for readers."""

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
