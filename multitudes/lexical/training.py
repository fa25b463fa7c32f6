"""What labeled texts teach: how rare words are, how often labels are right, what matches mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from multitudes.distinct import distinct
from multitudes.features.stemming import Longs
from multitudes.features.term_counts import Shard, on_shards
from multitudes.lexical.evidence import LabelEvidence, MatchWeights, evidence_of
from multitudes.lexical.index import Matches, NameIndex
from multitudes.lexical.reading import Tokens
from multitudes.progress import Task
from multitudes.types import Sparse

LEAST_RIGHT = 20  # matches that were right, and that were wrong, to learn weights from
MOST_MATCHES = 2_000_000
"""Matches that weights are learned from: a dozen weights need no more, and some hundred bytes of
memory go to each. Where names are whole titles, a text has a thousand."""
PROBED = 100  # texts whose matches are counted beforehand

Read: TypeAlias = Callable[[Shard], Iterator[tuple[int, Tokens]]]
Match: TypeAlias = Callable[[Shard], Iterator[tuple[int, Matches]]]


def count_stems(
    read: Read, n_stems: int, texts: Sequence[str], n_jobs: int | None
) -> tuple[Longs, int]:
    """Return how many texts have each stem, and the number of texts."""

    def one_shard(shard: Shard, task: Task) -> Longs:
        counts = np.zeros(n_stems, np.int64)
        for n_rows, tokens in read(shard):
            row = np.repeat(np.arange(n_rows), np.diff(tokens.indptr))
            known = tokens.stems >= 0
            keys = distinct(row[known] * np.int64(n_stems) + tokens.stems[known])
            np.add.at(counts, keys % max(n_stems, 1), 1)
            task.advance(n_rows)
        return counts

    return np.sum(on_shards(one_shard, texts, n_jobs), axis=0), len(texts)


def learn_weights(
    match: Match,
    index: NameIndex,
    texts: Sequence[str],
    Y: Sparse,
    *,
    max_instances: int,
    n_jobs: int | None,
) -> tuple[LabelEvidence, MatchWeights | None]:
    """Learn how often each label is right, and what a match is worth.

    Parameters
    ----------
    match : function
        From a shard of texts to its matches.
    index : NameIndex
    texts : sequence of str
    Y : CSR (n_instances, n_labels)
    max_instances : int
        Texts that weights are learned from, spread evenly; 0 to learn none. Fewer if they have more
        than `MOST_MATCHES`.
    n_jobs : int or None

    Returns
    -------
    evidence : LabelEvidence
    weights : MatchWeights or None
        None if too few matches are right, or wrong, to learn from.
    """
    n_labels = Y.shape[1]
    truth = _keys(np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices, n_labels)
    truth = np.sort(truth[Y.data != 0])
    step = 0
    if max_instances:
        step = -(-len(texts) // min(max_instances, _texts_with_most_matches(match, texts)))

    def one_shard(shard: Shard, task: Task) -> tuple[Longs, Longs, list[tuple[Matches, Bools]]]:
        n_matches, n_right = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
        row, sample = shard.first_index, []
        for n_rows, found in match(shard):
            rows = found.rows + np.int64(row)
            is_right = _among(_keys(rows, found.labels, n_labels), truth)
            np.add.at(n_matches, found.labels, 1)
            np.add.at(n_right, found.labels[is_right], 1)
            if step:
                kept = rows % step == 0
                sample.append((found.take(kept), is_right[kept]))
            row += n_rows
            task.advance(n_rows)
        return n_matches, n_right, sample

    parts = on_shards(one_shard, texts, n_jobs)
    evidence = LabelEvidence(
        np.bincount(truth % n_labels, minlength=n_labels),
        np.sum([part[0] for part in parts], axis=0),
        np.sum([part[1] for part in parts], axis=0),
        len(texts),
    )
    return evidence, _weights(index, evidence, [one for part in parts for one in part[2]])


Bools: TypeAlias = npt.NDArray[np.bool_]


def _texts_with_most_matches(match: Match, texts: Sequence[str]) -> int:
    """Return how many texts have about `MOST_MATCHES`, going by some of them."""
    probed = texts[:: -(-len(texts) // PROBED)]
    n_matches = sum(len(found.rows) for _, found in match(Shard(probed, 0)))
    return max(1, MOST_MATCHES * len(probed) // max(n_matches, 1))


def _weights(
    index: NameIndex, evidence: LabelEvidence, sample: list[tuple[Matches, Bools]]
) -> MatchWeights | None:
    if not sample:
        return None
    found = Matches(
        *(np.concatenate(column) for column in zip(*(m for m, _ in sample), strict=True))
    )
    is_right = np.concatenate([right for _, right in sample])
    n_right = int(is_right.sum())
    if min(n_right, len(is_right) - n_right) < LEAST_RIGHT:
        return None
    return MatchWeights.learned(evidence_of(index, found, evidence, is_right), is_right)


def _keys(rows: npt.NDArray[np.int64], labels: npt.NDArray[np.int32], n_labels: int) -> Longs:
    return np.asarray(rows * np.int64(n_labels) + labels, np.int64)


def _among(keys: Longs, known: Longs) -> Bools:
    """Whether each key is among sorted ones."""
    if not len(known):
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.asarray(known[place] == keys)
