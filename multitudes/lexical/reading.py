"""Texts and names as sequences of known stems and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multitudes.features.languages import DETECTED
from multitudes.features.stemming import (
    Buffer,
    Ints,
    Longs,
    distinct_words,
    languages_of,
    stems_by_row,
)
from multitudes.features.vocabulary import Vocabulary
from multitudes.kernels.text.name_matching import PART
from multitudes.lexical.compounds import COMPOUNDING, parts_of
from multitudes.lexical.lookup import looked_up


class Tokens(NamedTuple):
    """Words of consecutive texts, as ids: of their stems, and of the words as written.

    `indptr` int64 (n_rows + 1,); `stems` and `words` int32 (n_tokens,), -1 for unknown ones; the
    `words` of parts of words are `PART`.
    `places` int64 (n_tokens,): which word of all texts each token is, or is a part of.
    """

    indptr: Longs
    stems: Ints
    words: Ints
    places: Longs

    @property
    def longest(self) -> int:
        """The number of words of the longest text."""
        return int(np.diff(self.indptr).max(initial=0))


def read_tokens(
    buffer: Buffer,
    n_rows: int,
    languages: Sequence[str],
    stems: Vocabulary,
    words: Vocabulary,
    *,
    compounds: bool,
) -> Tokens:
    """Read texts over the stems and words of names.

    Parameters
    ----------
    buffer : uint8 array
        Of `text_chunks`, in small letters, with accents.
    n_rows : int
    languages : sequence of str
        The languages that texts are in; the first is that of texts that show none.
    stems, words : Vocabulary
    compounds : bool
        Whether a word also stands for the stems at its start and at its end, in languages that
        write compounds as one word.
    """
    distinct, indptr, ids = distinct_words(buffer, n_rows)
    rows = np.zeros(n_rows, np.int32)
    if len(languages) > 1:
        found = languages_of(distinct, indptr, ids, languages[0], among=languages)
        place = {DETECTED.index(name): i for i, name in enumerate(languages)}
        rows = np.array([place.get(i, 0) for i in range(len(DETECTED))], np.int32)[found]
    forms, shifts = stems_by_row(distinct, indptr, ids, rows, languages, strip_accents=True)
    stem_ids, word_ids = looked_up(forms, stems), looked_up(distinct, words)
    of_tokens = np.asarray(ids + np.repeat(shifts, np.diff(indptr)), np.int64)
    tokens = Tokens(indptr, stem_ids[of_tokens], word_ids[ids], np.arange(len(ids)))
    if not compounds or COMPOUNDING.isdisjoint(languages):
        return tokens
    present = [languages[place] in COMPOUNDING for place in np.unique(rows).tolist()]
    open_words = [one for one in present for _ in distinct]
    read = [form if one else b"" for form, one in zip(forms, open_words, strict=True)]
    return with_parts(tokens, of_tokens, *parts_of(read, stems))


def with_parts(tokens: Tokens, of_tokens: Longs, starts: Longs, parts: Ints) -> Tokens:
    """Return tokens with the parts of each word behind it.

    Parameters
    ----------
    tokens : Tokens
    of_tokens : int64 array (n_tokens,)
        The form of each token.
    starts, parts : of `parts_of`
        The parts of each form.
    """
    n_parts = np.diff(starts)[of_tokens]
    ends = np.concatenate([[0], np.cumsum(n_parts + 1)])
    stems, words = np.empty(int(ends[-1]), np.int32), np.full(int(ends[-1]), PART, np.int32)
    stems[ends[:-1]], words[ends[:-1]] = tokens.stems, tokens.words
    behind = np.arange(int(n_parts.sum())) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    stems[np.repeat(ends[:-1] + 1, n_parts) + behind] = parts[
        np.repeat(starts[of_tokens], n_parts) + behind
    ]
    return Tokens(ends[tokens.indptr], stems, words, np.repeat(tokens.places, n_parts + 1))
