"""NameIndex: all names of all labels, ready to be found in texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from multitudes.features.languages import FUNCTION_WORDS
from multitudes.features.stemming import Ints, Longs, distinct_words, stemmer, stems_by_row
from multitudes.features.text_buffer import text_chunks
from multitudes.features.vocabulary import Vocabulary
from multitudes.kernels.text import name_matching as kernels
from multitudes.lexical.lookup import looked_up
from multitudes.lexical.reading import Tokens
from multitudes.types import FloatArray, LabelArray

LEAST_WEIGHT, OF_FUNCTION_WORDS = 0.1, 0.2
ROOM = 1 << 17  # pairs at first; 52 bytes each
MIX = np.uint64(0x9E3779B97F4A7C15)


class Matches(NamedTuple):
    """Labels that some texts name.

    `rows`, `labels`, `names` int32 (n_pairs,): the text, the label, and which entry of the index
    is its best match. `measures` float32 (n_pairs, N_MEASURES): see `MEASURES`.
    """

    rows: Ints
    labels: Ints
    names: Ints
    measures: FloatArray

    def take(self, kept: Any) -> Matches:
        """Return some of them: ids or a mask."""
        return Matches(self.rows[kept], self.labels[kept], self.names[kept], self.measures[kept])


class Entries(NamedTuple):
    """Names as sets of stems; one name may have an entry for each language.

    `starts` int64 (n_entries + 1,); `stems` and `words` int32 (n,): entry i has the stems
    starts[i]:starts[i + 1] and, beside each, the word it is the stem of; `sources` int32
    (n_entries,): the name of each.
    """

    starts: Longs
    stems: Ints
    words: Ints
    sources: Ints


@dataclass(frozen=True)
class NameIndex:
    """The names of labels, by their stems.

    Parameters
    ----------
    names : sequence of str
    name_labels : int32 array (n_names,)
        The label of each name, rising.
    n_labels : int
    languages : tuple of str
        Names are stemmed in each of them; a text, in its own.
    stems, words : Vocabulary
        Of all names.
    entries : Entries
    text_counts : int64 array (n_stems,)
        Texts that have each stem, of the `n_texts` that were counted.
    n_texts : int
    coverage : float
        Least share of a name that matches.
    """

    names: Sequence[str]
    name_labels: LabelArray
    n_labels: int
    languages: tuple[str, ...]
    stems: Vocabulary
    words: Vocabulary
    entries: Entries
    text_counts: Longs
    n_texts: int
    coverage: float

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        name_labels: LabelArray,
        n_labels: int,
        languages: tuple[str, ...],
        coverage: float,
    ) -> Self:
        """Build the index of names; no texts have been counted."""
        stems, words, entries = read_names(names, languages)
        counts = np.zeros(len(stems), np.int64)
        return cls(
            names, name_labels, n_labels, languages, stems, words, entries, counts, 0, coverage
        )

    def with_counts(self, text_counts: Longs, n_texts: int) -> NameIndex:
        """Return the index with counted texts: words that many texts have weigh less."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return NameIndex(**fields | {"text_counts": text_counts, "n_texts": n_texts})

    def changed(self, names: Sequence[str], name_labels: LabelArray, n_labels: int) -> NameIndex:
        """Return the index of other names, with what is known of their words from texts."""
        new = NameIndex.of(names, name_labels, n_labels, self.languages, self.coverage)
        counts = np.zeros(len(new.stems), np.int64)
        place = looked_up([name.encode() for name in self.stems.names], new.stems)
        counts[place[place >= 0]] = self.text_counts[place >= 0]
        return new.with_counts(counts, self.n_texts)

    @cached_property
    def weights(self) -> FloatArray:
        """How rare each stem is, among names and texts: ln((1 + n) / (1 + df)) + 1.

        Function words weigh a fifth of that.
        """
        df = np.bincount(self.entries.stems, minlength=len(self.stems)) + self.text_counts
        n = len(self.entries.sources) + self.n_texts
        weights = np.log((1 + n) / (1 + df)) + 1
        weights[self._function_stems()] *= OF_FUNCTION_WORDS
        return np.asarray(np.maximum(weights, LEAST_WEIGHT), np.float32)

    def _function_stems(self) -> Ints:
        """Return the stems of words such as "of": a few names and texts do not show that."""
        forms = [
            stemmer(language, strip_accents=True)(word.encode())
            for language in self.languages
            for word in FUNCTION_WORDS.get(language, "").split()
        ]
        found = looked_up(forms, self.stems)
        return np.unique(found[found >= 0])

    @cached_property
    def table(self) -> kernels.Names:
        """The names as the kernels read them: the rarest stem of each first."""
        entries, weights = self.entries, self.weights
        row = np.repeat(np.arange(len(entries.sources)), np.diff(entries.starts))
        order = np.lexsort((entries.stems, -weights[entries.stems], row))
        stems, words = entries.stems[order], entries.words[order]
        counts, nothing = np.zeros(len(self.stems) + 1, np.int64), np.empty(0, np.int32)
        kernels.count_listed(entries.starts, stems, weights, self.coverage, counts, nothing)
        starts = np.cumsum(counts)
        listed = np.empty(int(starts[-1]), np.int32)
        if len(listed):
            position = starts.copy()
            kernels.count_listed(entries.starts, stems, weights, self.coverage, position, listed)
        labels = self.name_labels[entries.sources]
        return kernels.Names(entries.starts, stems, words, labels, weights, starts, listed)

    @cached_property
    def preferred(self) -> npt.NDArray[np.bool_]:
        """Whether each entry is of the first name of its label."""
        first = np.ones(len(self.names), bool)
        first[1:] = self.name_labels[1:] != self.name_labels[:-1]
        return first[self.entries.sources]

    @cached_property
    def homonyms(self) -> FloatArray:
        """Ln of the number of labels that share the stems of each entry."""
        keys = row_hashes(self.entries.starts, self.entries.stems)
        labels = self.name_labels[self.entries.sources]
        _, group = np.unique(keys, return_inverse=True)
        pairs = np.unique(np.stack([group.ravel(), labels], axis=1), axis=0)
        return np.log(np.bincount(pairs[:, 0], minlength=1)[group.ravel()]).astype(np.float32)

    def match(self, tokens: Tokens) -> Matches:
        """Return the labels that texts name, with the best name of each."""
        n_rows, row, room = len(tokens.indptr) - 1, 0, ROOM
        found = []
        while row < n_rows:
            pairs = np.empty((room, 3), np.int32)
            measures = np.empty((room, kernels.N_MEASURES), np.float32)
            row, n_pairs = kernels.match_names(
                tokens.indptr, tokens.stems, tokens.words, row, self.table, self.coverage,
                self._scratch(tokens.longest), pairs, measures,
            )  # fmt: skip
            found.append((pairs[:n_pairs], measures[:n_pairs]))
            room = room if n_pairs else 2 * room
        if not found:
            none = np.empty(0, np.int32)
            return Matches(none, none, none, np.empty((0, kernels.N_MEASURES), np.float32))
        rows, labels, names = np.concatenate([pairs for pairs, _ in found]).T.copy()
        return Matches(rows, labels, names, np.concatenate([measures for _, measures in found]))

    def _scratch(self, longest: int) -> kernels.Scratch:
        def marks(n: int) -> Ints:
            return np.zeros(n, np.int32)

        n = len(self.stems)
        return kernels.Scratch(
            marks(n), marks(n), marks(n), marks(n), marks(n),
            marks(len(self.words)), marks(len(self.entries.sources)), marks(self.n_labels),
            np.zeros(self.n_labels, np.int64), marks(longest),
        )  # fmt: skip


def read_names(
    names: Sequence[str], languages: Sequence[str]
) -> tuple[Vocabulary, Vocabulary, Entries]:
    """Return the stems and words of names, and an entry of each name in each language.

    A name whose stems are the same in two languages has one entry for both; one without words
    has none.
    """
    chunks = []
    all_stems, all_words = set[bytes](), set[bytes]()
    for n_rows, buffer in text_chunks(names, lowercase=True, strip_accents=False):
        distinct, indptr, ids = distinct_words(buffer, n_rows)
        one = np.zeros(n_rows, np.int32)
        forms = [
            stems_by_row(distinct, indptr, ids, one, (language,), strip_accents=True)[0]
            for language in languages
        ]
        all_words.update(distinct)
        all_stems.update(*forms)
        chunks.append((distinct, forms, indptr, ids))
    stems, words = (_vocabulary(found) for found in (all_stems, all_words))
    parts, seen = [], list[npt.NDArray[np.uint64]]()
    for place in range(len(languages)):
        indptr, stem_ids, word_ids = _joined(chunks, place, stems, words)
        part = _distinct(indptr, stem_ids, word_ids)
        keys = row_hashes(part.starts, part.stems)
        new = np.diff(part.starts) > 0
        for others in seen:
            new &= keys != others
        seen.append(keys)
        parts.append(_kept(part, new))
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(p.starts) for p in parts]))])
    columns = [np.concatenate([part[i] for part in parts]) for i in (1, 2, 3)]
    return stems, words, Entries(starts, *columns)


def _vocabulary(forms: set[bytes]) -> Vocabulary:
    """Return a vocabulary of the forms that are single words."""
    given = sorted(forms)
    buffer = np.frombuffer(b"\0".join(given) + b"\0", np.uint8)
    words, indptr, _ = distinct_words(buffer, len(given)) if given else ([], np.zeros(1), None)
    single = set(words)
    kept = [
        form.decode()
        for form, (start, stop) in zip(given, pairwise(indptr.tolist()), strict=True)
        if stop - start == 1 and form in single
    ]
    return Vocabulary.from_names(kept, joined_words=True)


def _joined(
    chunks: list[tuple[list[bytes], list[list[bytes]], Longs, Ints]],
    place: int,
    stems: Vocabulary,
    words: Vocabulary,
) -> tuple[Longs, Ints, Ints]:
    """Return all names as (indptr, stems, words), stemmed in the language at `place`."""
    lengths, stem_ids, word_ids = [np.zeros(1, np.int64)], [], []
    for distinct, forms, indptr, ids in chunks:
        lengths.append(np.diff(indptr))
        stem_ids.append(looked_up(forms[place], stems)[ids])
        word_ids.append(looked_up(distinct, words)[ids])
    none = [np.empty(0, np.int32)]
    indptr = np.cumsum(np.concatenate(lengths))
    return indptr, np.concatenate(stem_ids or none), np.concatenate(word_ids or none)


def _distinct(indptr: Longs, stems: Ints, words: Ints) -> Entries:
    """Return each stem of a row once, in the order of their ids."""
    row = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    kept = stems >= 0
    row, stems, words = row[kept], stems[kept], words[kept]
    order = np.lexsort((stems, row))
    row, stems, words = row[order], stems[order], words[order]
    new = np.ones(len(row), bool)
    new[1:] = (row[1:] != row[:-1]) | (stems[1:] != stems[:-1])
    counts = np.bincount(row[new], minlength=len(indptr) - 1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = np.arange(len(indptr) - 1, dtype=np.int32)
    return Entries(starts, stems[new], words[new], rows)


def _kept(entries: Entries, rows: npt.NDArray[np.bool_]) -> Entries:
    lengths = np.diff(entries.starts)
    kept = np.repeat(rows, lengths)
    starts = np.concatenate([[0], np.cumsum(lengths[rows])])
    return Entries(starts, entries.stems[kept], entries.words[kept], entries.sources[rows])


def row_hashes(starts: Longs, stems: Ints) -> npt.NDArray[np.uint64]:
    """Return a hash of the set of stems of each row."""
    mixed = (stems.astype(np.uint64) + np.uint64(1)) * MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * MIX
    mixed ^= mixed >> np.uint64(32)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[starts[1:]] - sums[starts[:-1]], np.uint64)
