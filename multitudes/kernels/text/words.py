"""Words of texts in their order: read as ids, and written again in other forms."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Bytes, Ints, Longs, Words
from multitudes.kernels.compiling import kernel
from multitudes.kernels.text.terms import (
    FNV_START,
    NO_ROOM,
    WORD_CHAR,
    TermTable,
    class_at,
    end_of_word,
    find_term,
    fold,
)


def read_words(
    text: Bytes, start: int, row: int, classes: Bytes, table: TermTable, insert: bool,
    ids: Ints, indptr: Longs,
) -> tuple[int, int]:  # fmt: skip
    """Read the words of each text, one id after the other, from byte `start` and row `row` on.

    text     IN     uint8 (n_bytes,), texts as UTF-8, each ended by a zero byte
    classes  IN     uint8 (n_code_points,)
    table    INOUT  TermTable of single words
    insert   IN     bool, add words that are new; else their id is -1
    ids      OUT    int32 (enough,)
    indptr   INOUT  int64 (n_rows + 1,), filled up to `row` on entry

    Returns (byte, row) reached; short of the end when the table must grow first.
    """
    reached: tuple[int, int] = read_word_ids(
        text, start, row, classes, table, insert, ids, indptr, np.empty((1, 2), np.int64)
    )
    return reached


@kernel
def read_word_ids(
    text: Bytes, start: int, row: int, classes: Bytes, table: TermTable, insert: bool,
    ids: Ints, indptr: Longs,
    span: Longs,  # TMP int64 (1, 2)
) -> tuple[int, int]:  # fmt: skip
    """What `read_words` does, in memory that is there."""
    position, n_out, text_start = start, indptr[row], start
    while position < text.shape[0]:
        if text[position] == 0:
            position += 1
            row += 1
            indptr[row] = n_out
            text_start = position
            continue
        kind, width = class_at(text, position, classes)
        if kind != WORD_CHAR:
            position += width
            continue
        span[0, 0] = position
        position, key = end_of_word(text, position, width, classes)
        span[0, 1] = position
        word = find_term(table, fold(FNV_START, key), text, span, 0, 1, insert)
        if word == NO_ROOM:
            return text_start, row
        ids[n_out] = word
        n_out += 1
    return position, row


@njit(cache=True, nogil=True)
def vote_rows(indptr: Longs, ids: Ints, bits: Words, fallback: int, out: Ints) -> None:
    """For each row, the bit that most of its words have set; ties go to the lowest.

    indptr    IN   int64 (n_rows + 1,)
    ids       IN   int32 (n_words,), ids of words
    bits      IN   uint64 (n_distinct_words,)
    fallback  IN   int, for rows whose words have no bit set; it also wins ties
    out       OUT  int32 (n_rows,)
    """
    votes = np.zeros(64, np.int64)
    for row in range(indptr.shape[0] - 1):
        votes[:] = 0
        for i in range(indptr[row], indptr[row + 1]):
            word = bits[ids[i]]
            place = 0
            while word:
                votes[place] += np.int64(word & np.uint64(1))
                word >>= np.uint64(1)
                place += 1
        best = fallback
        for place in range(64):
            if votes[place] > votes[best]:
                best = place
        out[row] = best


@njit(cache=True, nogil=True)
def write_words(
    indptr: Longs, ids: Ints, shifts: Longs, pool: Bytes, ends: Longs, out: Bytes
) -> int:
    """Write the words of each row with a space behind each, and a zero byte behind each row.

    indptr  IN   int64 (n_rows + 1,)
    ids     IN   int32 (n_words,), ids of words
    shifts  IN   int64 (n_rows,), what is added to the ids of a row
    pool    IN   uint8, bytes of the written forms
    ends    IN   int64 (n_forms + 1,), form i is pool[ends[i] : ends[i + 1]]
    out     OUT  uint8 (enough,)

    Returns the number of bytes written; with an empty `out`, the number that it takes.
    """
    position, counting = 0, out.shape[0] == 0
    for row in range(indptr.shape[0] - 1):
        for i in range(indptr[row], indptr[row + 1]):
            form = ids[i] + shifts[row]
            if counting:
                position += ends[form + 1] - ends[form] + 1
                continue
            for j in range(ends[form], ends[form + 1]):
                out[position] = pool[j]
                position += 1
            out[position] = 32
            position += 1
        if not counting:
            out[position] = 0
        position += 1
    return position
