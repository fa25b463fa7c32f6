"""Vocabulary: the terms that have a column, in sorted order, ready for the counting kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.kernels.text import terms as kernels
from multitudes.kernels.text.terms import TermTable

FIRST_CAPACITY = 1 << 12
BYTES_PER_TERM = 16


def empty_table(capacity: int = FIRST_CAPACITY, pool_bytes: int | None = None) -> TermTable:
    """Return a table with room for `capacity` terms."""
    n_slots = 1 << max(int(2 * capacity - 1).bit_length(), 4)  # at most half full
    return TermTable(
        slots=np.zeros(n_slots, np.uint64),
        hashes=np.empty(capacity, np.uint64),
        ends=np.zeros(capacity + 1, np.int64),
        pool=np.empty(BYTES_PER_TERM * capacity if pool_bytes is None else pool_bytes, np.uint8),
        size=np.zeros(1, np.int64),
    )


def grown(table: TermTable, *, capacity: int | None = None) -> TermTable:
    """Return the same terms under the same ids, with at least twice the room that they use."""
    n_terms = int(table.size[0])
    used = int(table.ends[n_terms])
    capacity = max(capacity or 0, 2 * n_terms, FIRST_CAPACITY)
    larger = empty_table(capacity, max(2 * len(table.pool), BYTES_PER_TERM * capacity))
    larger.hashes[:n_terms] = table.hashes[:n_terms]
    larger.ends[: n_terms + 1] = table.ends[: n_terms + 1]
    larger.pool[:used] = table.pool[:used]
    larger.size[0] = n_terms
    kernels.fill_slots(larger.hashes, n_terms, larger.slots)
    return larger


def merged(
    tables: Sequence[TermTable], *, joined_words: bool
) -> tuple[TermTable, list[npt.NDArray[np.int32]]]:
    """One table with the terms of all, and for each table the new id of each of its terms."""
    if len(tables) == 1:
        return tables[0], [np.arange(tables[0].size[0], dtype=np.int32)]
    n_terms = [int(table.size[0]) for table in tables]
    n_bytes = sum(int(t.ends[n]) for t, n in zip(tables, n_terms, strict=True))
    union = empty_table(max(sum(n_terms), 1), n_bytes)
    new_ids = [np.empty(n, np.int32) for n in n_terms]
    for table, n, ids in zip(tables, n_terms, new_ids, strict=True):
        kernels.insert_terms(union, table.pool, table.ends[: n + 1], joined_words, ids)
    return union, new_ids


@dataclass(frozen=True)
class Vocabulary:
    """Terms in sorted order; the id of a term is its column.

    Parameters
    ----------
    pool : uint8 array (n_bytes,)
        The UTF-8 bytes of all terms, one after the other.
    ends : int64 array (n_terms + 1,)
        Term i is ``pool[ends[i]:ends[i + 1]]``.
    joined_words : bool
        Whether terms are word n-grams (words joined by spaces) or character n-grams.
    """

    pool: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    joined_words: bool

    def __len__(self) -> int:
        return len(self.ends) - 1

    @cached_property
    def table(self) -> TermTable:
        """The terms as a hash table for look-up; built on first use."""
        table = empty_table(max(len(self), 1), len(self.pool))
        new_ids = np.empty(len(self), np.int32)
        kernels.insert_terms(table, self.pool, self.ends, self.joined_words, new_ids)
        return table

    @cached_property
    def names(self) -> list[str]:
        """The terms as strings."""
        return [term.decode() for term in term_bytes(self.pool, self.ends)]

    @classmethod
    def from_names(cls, names: Sequence[str], *, joined_words: bool) -> Vocabulary:
        """From sorted, distinct terms; anything else means that a stored model was edited."""
        names = list(names)
        for i in range(1, len(names)):
            if names[i - 1] >= names[i]:
                raise DataError(
                    f"terms of a vocabulary must be sorted and distinct, got {names[i - 1]!r} "
                    f"before {names[i]!r} at {i}: restore the vocabulary as it was saved"
                )
        encoded = [name.encode() for name in names]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        pool = np.frombuffer(b"".join(encoded), np.uint8).copy()  # writable, as after fit
        return cls(pool, ends, joined_words)

    @classmethod
    def from_table(
        cls, table: TermTable, kept: npt.NDArray[np.int64], *, joined_words: bool
    ) -> tuple[Vocabulary, npt.NDArray[np.int32]]:
        """Return the terms `kept` of a table, sorted, and each term id's column (-1: not kept)."""
        n_terms = int(table.size[0])
        order = kept[sorted_order(table.pool, table.ends[kept], table.ends[kept + 1])]
        columns = np.full(n_terms, -1, np.int32)
        columns[order] = np.arange(len(kept), dtype=np.int32)
        pool = np.empty(int((table.ends[kept + 1] - table.ends[kept]).sum()), np.uint8)
        ends = np.empty(len(kept) + 1, np.int64)
        kernels.gather_terms(table.pool, table.ends, order, pool, ends)
        return cls(pool, ends, joined_words), columns


def sorted_order(
    pool: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Sort the byte strings pool[starts[i]:stops[i]], distinct and zero-free; returns the order.

    In UTF-8, byte order is code point order. Eight bytes are compared at a time, as numbers, and
    only the strings that are still equal go on to the next eight.
    """
    padded = np.concatenate([pool, np.zeros(8, np.uint8)])
    words = np.ndarray(len(pool) + 1, ">u8", buffer=padded, strides=(1,))
    order = np.arange(len(starts))
    places, groups, depth = order.copy(), np.zeros(len(starts), np.int64), 0
    while len(places):
        # Everything in `places` is sorted up to `depth`; equal strings share a number in `groups`.
        items = order[places]
        left = np.clip(stops[items] - starts[items] - depth, 0, 8).astype(np.uint64)
        keys = words[np.minimum(starts[items] + depth, len(pool))].astype(np.uint64)
        keys = np.where(left > 0, keys >> (8 * (8 - np.maximum(left, 1))), 0)
        keys = np.where(left > 0, keys << (8 * (8 - np.maximum(left, 1))), 0)  # bytes past the end
        by_key = np.lexsort((keys, groups)) if depth else np.argsort(keys, kind="stable")
        items, keys, groups = items[by_key], keys[by_key], groups[by_key]
        order[places] = items
        new = np.ones(len(items), bool)
        new[1:] = (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])
        alone = new & np.append(new[1:], True)
        groups = np.cumsum(new)[~alone]
        places, depth = places[~alone], depth + 8
    return order


def term_bytes(pool: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> list[bytes]:
    """Terms as bytes."""
    data = pool[: int(ends[-1])].tobytes()
    return [data[i:j] for i, j in pairwise(ends.tolist())]
