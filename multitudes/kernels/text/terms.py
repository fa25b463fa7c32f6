"""Find the terms (word or character n-grams) of many texts and count them, row by row.

Texts arrive as one UTF-8 buffer, each ended by a zero byte. A term is looked up in a `TermTable`,
an open-addressing hash table over exact byte strings: hashes only speed the search up, and
different terms of one hash are distinguished by their bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitudes.kernels.arrays import Bytes, Ints, Longs, Words
from multitudes.kernels.compiling import kernel, merged, prefetch

WORD_CHAR, SPACE_CHAR = 1, 2  # classes of code points, see `multitudes.features.text_buffer`
LOOKUP, INSERT, HASH = 0, 1, 2  # what to do with a term: find it, add it if new, or only hash it

FNV_START = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
UPPER = np.uint64(0xFFFFFFFF00000000)
LOWER = np.uint64(0x00000000FFFFFFFF)
NO_ROOM = -2
AHEAD = 16  # terms whose slots are fetched before they are looked at


class TermTable(NamedTuple):
    """A set of terms with ids 0, 1, 2, ... in the order of arrival.

    `slots` uint64 (a power of two): upper half of the hash, then term id + 1; 0 is empty. `hashes`
    uint64 (capacity). `ends` int64 (capacity + 1): term i is pool[ends[i] : ends[i + 1]]. `pool`
    uint8: the bytes of all terms. `size` int64 (1): number of terms.
    """

    slots: Words
    hashes: Words
    ends: Longs
    pool: Bytes
    size: Longs


@merged
def mix(value: np.uint64) -> np.uint64:
    """Spread a 64-bit value over all its bits (the finalizer of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * MIX_1
    value = (value ^ (value >> np.uint64(27))) * MIX_2
    return value ^ (value >> np.uint64(31))


@merged
def fold(gram_hash: np.uint64, token_hash: np.uint64) -> np.uint64:
    """Return the hash of an n-gram with one more token at its end."""
    return mix(gram_hash ^ token_hash) * FNV_PRIME


@merged
def find_term(
    table: TermTable, key: np.uint64, text: Bytes, parts: Longs, first: int, last: int, insert: bool
) -> np.int64:
    """Return the id of a term: -1 if unknown, NO_ROOM if it is to be added to a full table.

    table   INOUT  TermTable
    key     IN     uint64, hash of the term
    text    IN     uint8 (n_bytes,)
    parts   IN     int64 (n, 2), byte span of each token; the term is parts[first:last] joined by
                   single spaces, where row i lives at i % n (a ring)
    insert  IN     bool, add the term if it is new
    """
    n_parts = parts.shape[0]
    mask = table.slots.shape[0] - 1
    place = np.int64(key & np.uint64(mask))
    while True:
        slot = table.slots[place]
        if slot == 0:
            break
        if (slot & UPPER) == (key & UPPER):
            term = np.int64(slot & LOWER) - 1
            if _same_bytes(table, term, text, parts, first, last):
                return term
        place = (place + 1) & mask
    if not insert:
        return np.int64(-1)
    length = last - first - 1
    for i in range(first, last):
        length += parts[i % n_parts, 1] - parts[i % n_parts, 0]
    term = table.size[0]
    position = table.ends[term]
    if term + 1 >= table.ends.shape[0] or position + length > table.pool.shape[0]:
        return np.int64(NO_ROOM)
    for i in range(first, last):
        if i > first:
            table.pool[position] = 32
            position += 1
        for j in range(parts[i % n_parts, 0], parts[i % n_parts, 1]):
            table.pool[position] = text[j]
            position += 1
    table.ends[term + 1] = position
    table.hashes[term] = key
    table.slots[place] = (key & UPPER) | np.uint64(term + 1)
    table.size[0] = term + 1
    return term


@merged
def _same_bytes(
    table: TermTable, term: int, text: Bytes, parts: Longs, first: int, last: int
) -> bool:
    n_parts = parts.shape[0]
    position, end = table.ends[term], table.ends[term + 1]
    for i in range(first, last):
        if i > first:
            if position >= end or table.pool[position] != 32:
                return False
            position += 1
        start, stop = parts[i % n_parts, 0], parts[i % n_parts, 1]
        if end - position < stop - start:
            return False
        for j in range(start, stop):
            if table.pool[position] != text[j]:
                return False
            position += 1
    return position == end


@merged
def add_to_row(term: int, row_start: int, n_out: int, ids: Ints, counts: Ints, where: Longs) -> int:
    """Count `term` in the current row, which is ids[row_start:n_out]; returns the new n_out.

    `where` TMP int64 (n_terms,) holds each term's last place; it may hold anything at first,
    because a place only counts if it lies in this row and holds this term.
    """
    place = where[term]
    if row_start <= place < n_out and ids[place] == term:
        counts[place] += 1
        return n_out
    ids[n_out] = term
    counts[n_out] = 1
    where[term] = n_out
    return n_out + 1


@merged
def class_at(text: Bytes, position: int, classes: Bytes) -> tuple[Any, int]:
    """(class, byte length) of the UTF-8 character at `position`."""
    byte = text[position]
    if byte < 0x80:
        return classes[byte], 1
    if byte < 0xE0:
        point, width = byte & 0x1F, 2
    elif byte < 0xF0:
        point, width = byte & 0x0F, 3
    else:
        point, width = byte & 0x07, 4
    point = np.int64(point)
    for i in range(1, width):
        point = (point << 6) | (text[position + i] & 0x3F)
    return classes[point] if point < classes.shape[0] else np.uint8(0), width


@merged
def end_of_word(text: Bytes, position: int, width: int, classes: Bytes) -> tuple[int, np.uint64]:
    """(end, hash) of the word at `position`, whose first character has `width` bytes."""
    kind, key = np.uint8(WORD_CHAR), FNV_START
    while kind == WORD_CHAR:
        for i in range(width):
            key = (key ^ np.uint64(text[position + i])) * FNV_PRIME
        position += width
        kind, width = class_at(text, position, classes)
    suffix = 0
    if text[position] == 35:
        suffix = 1
    elif text[position] == 43 and text[position + 1] == 43:
        suffix = 2
    for _ in range(suffix):
        key = (key ^ np.uint64(text[position])) * FNV_PRIME
        position += 1
    return position, key


def count_words(
    text: Bytes, start: int, row: int, classes: Bytes, ngrams: tuple[int, int], table: TermTable,
    mode: int, n_columns: int, ids: Ints, counts: Ints, indptr: Longs, where: Longs,
) -> tuple[int, int]:  # fmt: skip
    """Count the word n-grams of each text, from byte `start` and row `row` on.

    A word is a run of word characters, with ``++`` or ``#`` behind it if there (C++, C#).

    text       IN     uint8 (n_bytes,), texts as UTF-8, each ended by a zero byte
    classes    IN     uint8 (n_code_points,)
    ngrams     IN     (int, int), shortest and longest n-gram in words
    table      INOUT  TermTable; not touched when mode is HASH
    mode       IN     LOOKUP, INSERT or HASH (id = hash modulo n_columns)
    ids        OUT    int32 (enough,)
    counts     OUT    int32 (enough,)
    indptr     INOUT  int64 (n_rows + 1,), filled up to `row` on entry
    where      TMP    int64 (table capacity or n_columns,)

    Returns (byte, row) reached; short of the end when the table must grow first.
    """
    n_max = ngrams[1]
    parts, token_hashes = np.empty((n_max, 2), np.int64), np.empty(n_max, np.uint64)
    reached: tuple[int, int] = count_word_terms(
        text, start, row, classes, ngrams, table, mode, n_columns, ids, counts, indptr, where,
        parts, token_hashes,
    )  # fmt: skip
    return reached


@kernel
def count_word_terms(
    text: Bytes, start: int, row: int, classes: Bytes, ngrams: tuple[int, int], table: TermTable,
    mode: int, n_columns: int, ids: Ints, counts: Ints, indptr: Longs, where: Longs,
    parts: Longs,  # TMP int64 (n_max, 2)
    token_hashes: Words,  # TMP uint64 (n_max,)
) -> tuple[int, int]:  # fmt: skip
    """What `count_words` does, in memory that is there."""
    n_min, n_max = ngrams
    position, n_out, n_bytes = start, indptr[row], text.shape[0]
    text_start, n_tokens = start, 0
    while position < n_bytes:
        if text[position] == 0:
            position += 1
            row += 1
            indptr[row] = n_out
            text_start, n_tokens = position, 0
            continue
        kind, width = class_at(text, position, classes)
        if kind != WORD_CHAR:
            position += width
            continue
        word_start = position
        position, key = end_of_word(text, position, width, classes)
        here = n_tokens % n_max
        parts[here, 0], parts[here, 1], token_hashes[here] = word_start, position, key
        n_tokens += 1
        for n in range(n_min, min(n_max, n_tokens) + 1):
            gram = FNV_START
            for i in range(n_tokens - n, n_tokens):
                gram = fold(gram, token_hashes[i % n_max])
            if mode == HASH:
                term = np.int64(gram % np.uint64(n_columns))
            else:
                term = find_term(table, gram, text, parts, n_tokens - n, n_tokens, mode == INSERT)
            if term == NO_ROOM:
                return text_start, row
            if term >= 0:
                n_out = add_to_row(term, indptr[row], n_out, ids, counts, where)
    return position, row


def count_characters(
    text: Bytes, start: int, row: int, classes: Bytes, ngrams: tuple[int, int], table: TermTable,
    mode: int, n_columns: int, ids: Ints, counts: Ints, indptr: Longs, where: Longs,
) -> tuple[int, int]:  # fmt: skip
    """Count the character n-grams of each text inside its words, as `count_words` does for words.

    A word here is a run without white space; it gets one space before and behind it. A word not
    longer than n counts once, whole, and is not looked at for greater n.
    """
    longest = text.shape[0] + 2  # of one word; the system gives memory only where it is written to
    reached: tuple[int, int] = count_character_terms(
        text, start, row, classes, ngrams, table, mode, n_columns, ids, counts, indptr, where,
        np.empty(longest, np.uint8), np.empty(longest + 1, np.int64), np.empty((1, 2), np.int64),
    )  # fmt: skip
    return reached


@kernel
def count_character_terms(
    text: Bytes, start: int, row: int, classes: Bytes, ngrams: tuple[int, int], table: TermTable,
    mode: int, n_columns: int, ids: Ints, counts: Ints, indptr: Longs, where: Longs,
    padded: Bytes,  # TMP (n_bytes + 2,): a word with its two spaces
    at: Longs,  # TMP (n_bytes + 3,): where each of its characters starts
    span: Longs,  # TMP (1, 2)
) -> tuple[int, int]:  # fmt: skip
    """What `count_characters` does, in memory that is there."""
    n_min, n_max = ngrams
    position, n_out, n_bytes = start, indptr[row], text.shape[0]
    text_start = start
    while position < n_bytes:
        if text[position] == 0:
            position += 1
            row += 1
            indptr[row] = n_out
            text_start = position
            continue
        kind, width = class_at(text, position, classes)
        if kind == SPACE_CHAR:
            position += width
            continue
        n_padded, n_chars = 1, 1
        padded[0], at[0] = 32, 0
        while kind != SPACE_CHAR and text[position] != 0:
            at[n_chars] = n_padded
            n_chars += 1
            for i in range(width):
                padded[n_padded + i] = text[position + i]
            n_padded += width
            position += width
            kind, width = class_at(text, position, classes)
        padded[n_padded], at[n_chars] = 32, n_padded
        n_chars += 1
        at[n_chars] = n_padded + 1
        for n in range(n_min, n_max + 1):
            for i in range(max(n_chars - n + 1, 1)):
                span[0, 0], span[0, 1] = at[i], at[min(i + n, n_chars)]
                key = FNV_START
                for j in range(span[0, 0], span[0, 1]):
                    key = (key ^ np.uint64(padded[j])) * FNV_PRIME
                key = fold(FNV_START, key)
                if mode == HASH:
                    term = np.int64(key % np.uint64(n_columns))
                else:
                    term = find_term(table, key, padded, span, 0, 1, mode == INSERT)
                if term == NO_ROOM:
                    return text_start, row
                if term >= 0:
                    n_out = add_to_row(term, indptr[row], n_out, ids, counts, where)
            if n_chars <= n:
                break
    return position, row


def insert_terms(
    table: TermTable, pool: Bytes, ends: Longs, joined_words: bool, new_ids: Ints
) -> None:
    """Insert whole terms, as when two tables are merged or a stored vocabulary is opened.

    table         INOUT  TermTable with room for all of them
    pool          IN     uint8, bytes of the terms
    ends          IN     int64 (n_terms + 1,), term i is pool[ends[i] : ends[i + 1]]
    joined_words  IN     bool, terms are words joined by spaces (else: characters, spaces count)
    new_ids       OUT    int32 (n_terms,)
    """
    span, keys = np.empty((1, 2), np.int64), np.empty(AHEAD, np.uint64)
    insert_whole_terms(table, pool, ends, joined_words, new_ids, span, keys)


@kernel
def insert_whole_terms(
    table: TermTable, pool: Bytes, ends: Longs, joined_words: bool, new_ids: Ints,
    span: Longs,  # TMP int64 (1, 2)
    keys: Words,  # TMP uint64 (AHEAD,): of the terms to come, whose slots are fetched meanwhile
) -> None:  # fmt: skip
    """What `insert_terms` does, in memory that is there."""
    n_terms, mask = ends.shape[0] - 1, table.slots.shape[0] - 1
    for i in range(-AHEAD, n_terms):
        key = keys[i % AHEAD]
        coming = i + AHEAD
        if coming < n_terms:
            later = _key_of(pool, ends[coming], ends[coming + 1], joined_words)
            keys[coming % AHEAD] = later
            prefetch(table.slots, np.int64(later & np.uint64(mask)))
        if i >= 0:
            span[0, 0], span[0, 1] = ends[i], ends[i + 1]
            new_ids[i] = find_term(table, key, pool, span, 0, 1, True)


@merged
def _key_of(pool: Bytes, start: int, stop: int, joined_words: bool) -> np.uint64:
    """Return the hash of a whole term, as counting finds it token by token."""
    gram, key = FNV_START, FNV_START
    for j in range(start, stop):
        if joined_words and pool[j] == 32:
            gram, key = fold(gram, key), FNV_START
        else:
            key = (key ^ np.uint64(pool[j])) * FNV_PRIME
    return fold(gram, key)


@kernel
def fill_slots(hashes: Words, n_terms: int, slots: Words) -> None:
    """Enter terms 0 .. n_terms - 1, known to differ, into empty slots.

    hashes  IN   uint64 (at least n_terms,)
    slots   OUT  uint64 (a power of two above n_terms,), all 0 on entry
    """
    mask = slots.shape[0] - 1
    for term in range(n_terms):
        key = hashes[term]
        place = np.int64(key & np.uint64(mask))
        while slots[place] != 0:
            place = (place + 1) & mask
        slots[place] = (key & UPPER) | np.uint64(term + 1)


@kernel
def gather_terms(pool: Bytes, ends: Longs, order: Longs, out_pool: Bytes, out_ends: Longs) -> None:
    """Copy terms in a new order.

    pool      IN   uint8, bytes of the terms
    ends      IN   int64 (n_terms + 1,)
    order     IN   int64 (n_kept,), term ids
    out_pool  OUT  uint8 (bytes of the terms in `order`,)
    out_ends  OUT  int64 (n_kept + 1,)
    """
    position = 0
    out_ends[0] = 0
    for i in range(order.shape[0]):
        for j in range(ends[order[i]], ends[order[i] + 1]):
            out_pool[position] = pool[j]
            position += 1
        out_ends[i + 1] = position
