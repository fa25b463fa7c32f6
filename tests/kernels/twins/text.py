"""Slow, obvious twins of the kernels that read sparse text and count terms."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from multitudes.kernels.text import sparse_text

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
    """One line without its newline; None if it is not an instance. Raises `BadLine`."""
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
