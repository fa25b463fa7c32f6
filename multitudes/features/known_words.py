"""How many words of some texts a vocabulary knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from multitudes.features.concat import ConcatFeatures
from multitudes.features.term_counts import (
    Shard,
    count_hashed,
    count_known,
    on_shards,
)
from multitudes.features.tfidf import TfidfFeatures
from multitudes.progress import Task


class WordCount(NamedTuple):
    """Words of some texts, each as often as it occurs.

    Attributes
    ----------
    n_words : int
        All of them.
    n_unknown : int
        Those that features do not know, so that nothing is learned from them.
    """

    n_words: int
    n_unknown: int


def count_words(features: Any, texts: Sequence[str]) -> WordCount | None:
    """Count the words that fitted features know; None for features without a list of words.

    Parameters
    ----------
    features : TfidfFeatures, or any other
        Of `ConcatFeatures`, the part that has a vocabulary of words.
    texts : sequence of str
    """
    if isinstance(features, ConcatFeatures):
        parts = (count_words(part, texts) for part in features.blocks_)
        return next((found for found in parts if found is not None), None)
    if not isinstance(features, TfidfFeatures):
        return None
    config, vocabulary = features.config_, features.vocabularies_[0]
    if config.word_ngrams is None or config.word_ngrams[0] != 1:
        return None
    source = replace(config.sources(features.language_)[0], ngrams=(1, 1))

    def one_shard(shard: Shard, task: Task) -> tuple[int, int]:
        n_words = n_known = 0
        for n_rows, buffer in shard.chunks(source):
            n_words += int(count_hashed(buffer, n_rows, source, 1).counts.sum())
            n_known += int(count_known(buffer, n_rows, source, vocabulary).counts.sum())
            task.advance(n_rows)
        return n_words, n_known

    counted = on_shards(one_shard, texts, config.n_jobs)
    n_words, n_known = (sum(numbers) for numbers in zip(*counted, strict=True))
    return WordCount(n_words, n_words - n_known)
