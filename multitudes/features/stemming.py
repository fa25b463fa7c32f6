"""Words brought to their stems: "gardens" and "gardening" count as "garden"."""

from __future__ import annotations

import functools
import importlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from multitudes.features.languages import DETECTED, FUNCTION_WORDS, LANGUAGES, function_words
from multitudes.features.text_buffer import character_classes, text_chunks, without_accents
from multitudes.features.vocabulary import Vocabulary, empty_table, grown, term_bytes
from multitudes.kernels.text import words as kernels

AUTO, FALLBACK = "auto", "english"
STEMS = (AUTO, *LANGUAGES)
"""What the setting `stem` may be: a language, or "auto" to recognize that of each text."""

KEPT = 1 << 19  # words whose stem is remembered; about 200 bytes each
LONGEST = 64  # letters of a word that is looked at
SAMPLE = 10_000  # texts that say which language most are in

Buffer = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


@functools.cache
def stemmer(language: str, *, strip_accents: bool = False) -> Callable[[bytes], bytes]:
    """Return the function from a word in small letters, as UTF-8, to its stem.

    It remembers what it has stemmed, so that a word costs its time once. The stemmers are those
    written in Python even where compiled ones are installed: versions differ in details, and
    stored models must read words as they did when they were trained.
    """
    module = importlib.import_module(f"snowballstemmer.{language}_stemmer")
    parts = language.split("_")
    algorithm = getattr(module, "".join(part.capitalize() for part in parts) + "Stemmer")()
    lock = threading.Lock()  # the algorithm works on fields of its own

    @functools.lru_cache(maxsize=KEPT)
    def stem(word: bytes) -> bytes:
        text = word.decode()
        if text.isalpha() and len(text) <= LONGEST:
            with lock:
                text = algorithm.stemWord(text) or text
        return (without_accents(text) if strip_accents else text).encode()

    return stem


def stemmed(
    buffer: Buffer, n_rows: int, *, stem: str, fallback: str, strip_accents: bool = False
) -> Buffer:
    """Return texts as the stems of their words, with a space behind each.

    Parameters
    ----------
    buffer : uint8 array (n_bytes,)
        Of `text_chunks`, in small letters, with accents.
    n_rows : int
    stem : str
        One of `STEMS`.
    fallback : str
        With "auto", the language of texts without function words.
    strip_accents : bool
        Drop accents of the stems: stemmers need those of the words.
    """
    words, indptr, ids = distinct_words(buffer, n_rows)
    if stem == AUTO:
        names, rows = DETECTED, languages_of(words, indptr, ids, fallback)
    else:
        names, rows = (stem,), np.zeros(n_rows, np.int32)
    forms, shifts = stems_by_row(words, indptr, ids, rows, names, strip_accents=strip_accents)
    pool = np.frombuffer(b"".join(forms), np.uint8)
    ends = np.concatenate([[0], np.cumsum(np.fromiter(map(len, forms), np.int64, len(forms)))])
    n_bytes = kernels.write_words(indptr, ids, shifts, pool, ends, np.empty(0, np.uint8))
    out = np.empty(n_bytes, np.uint8)
    kernels.write_words(indptr, ids, shifts, pool, ends, out)
    return out


def stems_by_row(
    words: list[bytes], indptr: Longs, ids: Ints, rows: Ints, names: Sequence[str], *,
    strip_accents: bool,
) -> tuple[list[bytes], Longs]:  # fmt: skip
    """Return the stems of words in each language that some row is in.

    Parameters
    ----------
    words, indptr, ids : of `distinct_words`
    rows : int32 array (n_rows,)
        The language of each row, as its place in `names`.
    names : sequence of str
    strip_accents : bool

    Returns
    -------
    forms : list of bytes
        The stems of all words in the first language that occurs, then in the next, and so on;
        empty where no row of the language has the word.
    shifts : int64 array (n_rows,)
        The stem of word i in row r is ``forms[i + shifts[r]]``.
    """
    present = np.unique(rows)
    lengths = np.diff(indptr)
    forms: list[bytes] = []
    for place in present.tolist():
        to_stem = stemmer(names[place], strip_accents=strip_accents)
        used = np.zeros(len(words), bool)
        used[ids[np.repeat(rows == place, lengths)]] = True
        forms += [
            to_stem(word) if is_used else b""
            for word, is_used in zip(words, used.tolist(), strict=True)
        ]
    return forms, np.searchsorted(present, rows) * np.int64(len(words))


def distinct_words(buffer: Buffer, n_rows: int) -> tuple[list[bytes], Longs, Ints]:
    """Return the distinct words of texts, and the words of each text as ids into them.

    Returns
    -------
    words : list of bytes
    indptr : int64 array (n_rows + 1,)
    ids : int32 array (n_words,)
    """
    table = empty_table(1 << 8 if len(buffer) < 1 << 12 else 1 << 15)
    ids, indptr = np.empty(len(buffer) // 2 + 1, np.int32), np.zeros(n_rows + 1, np.int64)
    position, row = 0, 0
    while True:
        position, row = kernels.read_words(
            buffer, position, row, character_classes(), table, True, ids, indptr
        )
        if row == n_rows:
            break
        table = grown(table)
    words = term_bytes(table.pool, table.ends[: int(table.size[0]) + 1])
    return words, indptr, ids[: int(indptr[-1])]


def known_words(buffer: Buffer, n_rows: int, vocabulary: Vocabulary) -> tuple[Longs, Ints]:
    """Return the words of each text as (indptr, ids) into a vocabulary; -1 for unknown ones."""
    ids, indptr = np.empty(len(buffer) // 2 + 1, np.int32), np.zeros(n_rows + 1, np.int64)
    kernels.read_words(buffer, 0, 0, character_classes(), vocabulary.table, False, ids, indptr)
    return indptr, ids[: int(indptr[-1])]


def languages_of(
    words: list[bytes],
    indptr: Longs,
    ids: Ints,
    fallback: str,
    *,
    among: Sequence[str] = DETECTED,
) -> Ints:
    """Return the language of each row as its place in `DETECTED`.

    Parameters
    ----------
    words, indptr, ids : of `distinct_words`
    fallback : str
        The language of rows without function words, which also wins ties.
    among : sequence of str
        The languages that may be found.
    """
    known, allowed = function_words(), sum(1 << DETECTED.index(name) for name in among)
    bits = np.fromiter((known.get(word, 0) & allowed for word in words), np.uint64, len(words))
    rows = np.empty(len(indptr) - 1, np.int32)
    kernels.vote_rows(indptr, ids, bits, DETECTED.index(fallback), rows)
    return rows


def most_common_language(texts: Sequence[str]) -> str:
    """Return the language that most of the texts are in, by a sample; English if none shows."""
    counts = language_counts(texts)
    return max(FUNCTION_WORDS, key=lambda name: counts[name])


def language_counts(texts: Sequence[str]) -> Counter[str]:
    """Count texts by the language that their function words show, in a sample of the texts."""
    step = max(len(texts) // SAMPLE, 1)
    counts: Counter[str] = Counter()
    for n_rows, buffer in text_chunks(texts[::step], lowercase=True, strip_accents=False):
        words, indptr, ids = distinct_words(buffer, n_rows)
        # A text without function words goes with the fallback: what both agree on is said by words.
        first = languages_of(words, indptr, ids, DETECTED[0])
        second = languages_of(words, indptr, ids, DETECTED[-1])
        counts.update(DETECTED[place] for place in first[first == second].tolist())
    return counts
