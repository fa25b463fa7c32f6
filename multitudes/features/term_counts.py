"""Count the terms of texts, on any number of threads, against a fixed or a growing vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError
from multitudes.features.stemming import stemmed
from multitudes.features.text_buffer import character_classes, text_chunks
from multitudes.features.vocabulary import Vocabulary, empty_table, grown, merged
from multitudes.files.large import Shelf
from multitudes.kernels.text import terms as kernels
from multitudes.kernels.text.terms import HASH, INSERT, LOOKUP, TermTable
from multitudes.kernels.threads import resolve_threads
from multitudes.progress import Task, track

MIN_TEXTS_PER_THREAD = 2000
LONGEST = 64  # n-gram: room is made for all that a text may hold of each length


@dataclass(frozen=True)
class TermSource:
    """Which terms are read from a text, and how the text is prepared.

    Parameters
    ----------
    words : bool
        Word n-grams, or else character n-grams inside words.
    ngrams : (int, int)
        Shortest and longest n-gram.
    lowercase, strip_accents : bool
        See `multitudes.features.text_buffer.encoded`.
    stem, language : str, optional
        See `multitudes.features.stemming.stemmed`; `language` is its `fallback`.
    """

    words: bool
    ngrams: tuple[int, int]
    lowercase: bool = True
    strip_accents: bool = False
    stem: str | None = None
    language: str = "english"

    @property
    def kernel(self) -> Callable[..., Any]:
        """The kernel that counts these terms."""
        kernel: Callable[..., Any] = kernels.count_words if self.words else kernels.count_characters
        return kernel

    def most_terms(self, n_bytes: int) -> int:
        """Return an upper bound on the terms in a buffer of `n_bytes` bytes."""
        n_orders = self.ngrams[1] - self.ngrams[0] + 1
        # A word takes two bytes with its separator; so does "x ", which holds " ", "x" and " ".
        return n_orders * (n_bytes // 2 + 1 if self.words else 3 * n_bytes // 2 + 1)


def check_ngrams(name: str, ngrams: tuple[int, int] | None) -> None:
    """Refuse anything but None or (shortest, longest) with 1 <= shortest <= longest <= 64."""
    if ngrams is None:
        return
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in ngrams)
    if len(ngrams) != 2 or not whole or not 1 <= ngrams[0] <= ngrams[1] <= LONGEST:
        raise ConfigError(
            f"{name} must be (shortest, longest) with 1 <= shortest <= longest <= {LONGEST}, got "
            f"{ngrams!r}: e.g. (1, 2) for single words and pairs"
        )


@dataclass(frozen=True)
class Counts:
    """Term counts of consecutive texts: CSR-like, ids distinct but unsorted within a row.

    `indptr` int64 (n_rows + 1,), `ids` int32 (n_counts,), `counts` int32 (n_counts,).
    """

    indptr: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]

    def kept(self, shelf: Shelf) -> Counts:
        """Return the same counts on a shelf."""
        return Counts(shelf.kept(self.indptr), shelf.kept(self.ids), shelf.kept(self.counts))

    def renumbered(self, new_ids: npt.NDArray[np.int32]) -> Counts:
        """Return the same counts under other ids, in place of the old ones."""
        self.ids[:] = new_ids[self.ids]
        return self


def count_new(
    texts: Sequence[str], source: TermSource, *, n_jobs: int | None
) -> tuple[TermTable, list[Counts]]:
    """Count all terms, collecting the vocabulary; one `Counts` per chunk, in order.

    Term ids depend on the number of threads; a `Vocabulary` made of them does not.
    """

    def one_shard(shard: Shard, task: Task) -> tuple[TermTable, list[Counts]]:
        table = empty_table()
        chunks, shelf = [], Shelf()
        for n_rows, buffer in shard.chunks(source):
            table, counts = _count_growing(buffer, n_rows, source, table)
            chunks.append(counts.kept(shelf))
            task.advance(n_rows)
        return table, chunks

    results = on_shards(one_shard, texts, n_jobs)
    table, new_ids = merged([table for table, _ in results], joined_words=source.words)
    if len(results) == 1:
        return table, results[0][1]
    return table, [
        counts.renumbered(ids)
        for (_, chunks), ids in zip(results, new_ids, strict=True)
        for counts in chunks
    ]


def count_known(
    buffer: npt.NDArray[np.uint8], n_rows: int, source: TermSource, vocabulary: Vocabulary
) -> Counts:
    """Count the terms of a vocabulary; ids are columns, unknown terms are passed over."""
    where = np.empty(max(len(vocabulary), 1), np.int64)
    return _count(buffer, n_rows, source, vocabulary.table, LOOKUP, 0, where)


def count_hashed(
    buffer: npt.NDArray[np.uint8], n_rows: int, source: TermSource, n_columns: int
) -> Counts:
    """Count terms by their hash: the id is the hash modulo `n_columns`."""
    where = np.empty(n_columns, np.int64)
    return _count(buffer, n_rows, source, NO_TERMS, HASH, n_columns, where)


NO_TERMS = empty_table(1)


@dataclass(frozen=True)
class Shard:
    """A run of consecutive texts for one thread."""

    texts: Sequence[str]
    first_index: int

    def chunks(self, source: TermSource) -> Any:
        """(number of texts, buffer) for some hundred thousand characters at a time."""
        chunks = text_chunks(
            self.texts,
            lowercase=source.lowercase,
            strip_accents=source.strip_accents and source.stem is None,
            first_index=self.first_index,
        )
        return chunks if source.stem is None else _stemmed(chunks, source)


def _stemmed(chunks: Iterator[tuple[int, Any]], source: TermSource) -> Iterator[tuple[int, Any]]:
    assert source.stem is not None  # the caller has looked
    for n_rows, buffer in chunks:
        yield (
            n_rows,
            stemmed(
                buffer,
                n_rows,
                stem=source.stem,
                fallback=source.language,
                strip_accents=source.strip_accents,
            ),
        )


def on_shards(
    work: Callable[[Shard, Task], Any], texts: Sequence[str], n_jobs: int | None
) -> list[Any]:
    """Run `work` over consecutive shards of the texts, one per thread, results in order.

    The kernels release the interpreter lock, so threads do what processes would, without copies.
    """
    n_shards = min(resolve_threads(n_jobs), len(texts) // MIN_TEXTS_PER_THREAD + 1)
    bounds = [len(texts) * i // n_shards for i in range(n_shards + 1)]
    shards = [Shard(texts[i:j], i) for i, j in pairwise(bounds)]
    with track("reading texts", len(texts), "texts") as task:
        if n_shards == 1:
            return [work(Shard(texts, 0), task)]
        with ThreadPoolExecutor(n_shards) as pool:
            return list(pool.map(lambda shard: work(shard, task), shards))


def _count_growing(
    buffer: npt.NDArray[np.uint8], n_rows: int, source: TermSource, table: TermTable
) -> tuple[TermTable, Counts]:
    """Count and insert; the kernel stops at a text that needs a larger table, and goes on there."""
    most = source.most_terms(len(buffer))
    ids, counts = np.empty(most, np.int32), np.empty(most, np.int32)
    indptr = np.zeros(n_rows + 1, np.int64)
    position, row = 0, 0
    while True:
        where = np.empty(len(table.hashes), np.int64)
        position, row = source.kernel(
            buffer, position, row, character_classes(), source.ngrams,
            table, INSERT, 0, ids, counts, indptr, where,
        )  # fmt: skip
        if row == n_rows:
            break
        table = grown(table)
    n = int(indptr[-1])
    return table, Counts(indptr, ids[:n].copy(), counts[:n].copy())


def _count(
    buffer: npt.NDArray[np.uint8],
    n_rows: int,
    source: TermSource,
    table: TermTable,
    mode: int,
    n_columns: int,
    where: npt.NDArray[np.int64],
) -> Counts:
    most = source.most_terms(len(buffer))
    ids, counts = np.empty(most, np.int32), np.empty(most, np.int32)
    indptr = np.zeros(n_rows + 1, np.int64)
    source.kernel(
        buffer, 0, 0, character_classes(), source.ngrams,
        table, mode, n_columns, ids, counts, indptr, where,
    )  # fmt: skip
    n = int(indptr[-1])
    return Counts(indptr, ids[:n].copy(), counts[:n].copy())
