"""What the driver puts together of all shards: label names and vocabularies, no texts, no rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.features import PassThrough, TfidfFeatures
from multitudes.features.tfidf import TfidfConfig, frequent_enough, most_frequent
from multitudes.features.vocabulary import Vocabulary, empty_table, grown
from multitudes.kernels.text.terms import TermTable, insert_terms
from multitudes.shards.counting import COUNTING, Source
from multitudes.shards.run import Arrays, Run, cut_strings
from multitudes.types import FloatArray, IntArray


@dataclass(frozen=True)
class Labels:
    """The label space of all shards; `names` is None if labels are numbers."""

    names: list[str] | None
    n_labels: int


Features = TfidfFeatures | PassThrough


class Merger:
    """Puts label names and vocabularies together, shard by shard, in the order of shards.

    A shard may come as soon as it is counted: it waits for those before it.
    """

    def __init__(self, run: Run, source: Source) -> None:
        self._run, self._source = run, source
        self._waiting: set[int] = set()
        self._n_merged, self._n_texts = 0, 0
        self._labels, self._names = empty_table(), list[str]()
        self._named, self._largest = set[bool](), 0
        self._kinds, self._width = set[bool](), 0
        sources = () if source.tfidf is None else source.tfidf.sources()
        self._terms = [_Terms(kind, one.words) for kind, one in enumerate(sources)]
        self._has_terms = run.has("vocabulary", 0)

    def add(self, shard: int) -> None:
        """Take a shard that is counted."""
        self._waiting.add(shard)
        while self._n_merged in self._waiting:
            self._waiting.remove(self._n_merged)
            self._merge(self._n_merged, self._run.read(COUNTING.name, self._n_merged))
            self._n_merged += 1

    def _merge(self, shard: int, read: Arrays) -> None:
        self._number_labels(shard, read)
        self._n_texts += len(read["y_indptr"]) - 1
        self._kinds.add("n_features" in read)
        if len(self._kinds) > 1:
            raise DataError("some shards hold texts and some features: train them apart")
        if "n_features" in read:
            self._width = max(self._width, int(read["n_features"][0]))
        elif not self._has_terms:
            for terms in self._terms:
                terms.add(read)

    def _number_labels(self, shard: int, read: Arrays) -> None:
        """Number labels in the order in which they appear; write what the shard's become."""
        self._named.add("label_pool" in read)
        n_labels = int(read["n_labels"][0])
        if "label_pool" in read:
            known = int(self._labels.size[0])
            self._labels, ids = with_terms(
                self._labels, read["label_pool"], read["label_ends"], joined_words=False
            )
            new = self._labels.ends[known : int(self._labels.size[0]) + 1]
            self._names += cut_strings(self._labels.pool[new[0] : new[-1]], new - new[0])
        else:
            self._largest = max(self._largest, n_labels)
            ids = np.arange(n_labels, dtype=np.int32)
        if not self._run.has("labels", shard):
            self._run.write("labels", shard, {"ids": ids})

    def labels(self) -> Labels:
        """Return the label space of all shards."""
        if len(self._named) > 1:
            raise DataError(
                "some shards have names of labels and some only numbers: name all of them"
            )
        if self._named != {True}:
            return Labels(None, self._largest)
        return Labels(self._names, len(self._names))

    def features(self) -> Features:
        """Return the fitted features of all shards.

        TF-IDF is over the union of all vocabularies, cut and weighted as for one file. Writes the
        column of each term of each shard, too, so that no other machine need look it up.
        """
        config = self._source.tfidf
        if config is None or self._kinds == {True}:
            features = PassThrough(normalize=self._source.normalize)
            features.n_features_in_ = self._width
            return features
        if not self._has_terms:
            learned: Arrays = {}
            of_shards: list[Arrays] = [{} for _ in range(self._n_merged)]
            for terms in self._terms:
                kind = terms.kind
                vocabulary, columns, idf = terms.cut(self._n_texts, config)
                for own, ids in zip(of_shards, terms.ids, strict=True):
                    own[f"columns_{kind}"] = columns[ids]
                learned |= {
                    f"pool_{kind}": vocabulary.pool,
                    f"ends_{kind}": vocabulary.ends,
                    f"idf_{kind}": idf,
                }
            for shard, own in enumerate(of_shards):
                self._run.write("columns", shard, own)
            self._run.write("vocabulary", 0, learned)  # last: where it is, columns are
        return fitted_features(self._run, config)


class _Terms:
    """The terms of one kind of all shards: in how many texts each is and how often."""

    def __init__(self, kind: int, joined_words: bool) -> None:
        self.kind, self._joined_words = kind, joined_words
        self._union = empty_table()
        self._documents, self._totals = np.zeros((2, len(self._union.hashes)), np.int64)
        self.ids: list[npt.NDArray[np.int32]] = []  # of the terms of each shard

    def add(self, read: Arrays) -> None:
        """Add the terms of the next shard."""
        self._union, own = with_terms(
            self._union, read[f"pool_{self.kind}"], read[f"ends_{self.kind}"],
            joined_words=self._joined_words,
        )  # fmt: skip
        room = len(self._union.hashes)
        self._documents, self._totals = _padded(self._documents, room), _padded(self._totals, room)
        self._documents[own] += read[f"documents_{self.kind}"]  # a shard has each term once
        self._totals[own] += read[f"totals_{self.kind}"]
        self.ids.append(own)

    def cut(
        self, n_texts: int, config: TfidfConfig
    ) -> tuple[Vocabulary, npt.NDArray[np.int32], FloatArray]:
        """Keep the terms that the settings let through, and weigh them: see `learn_terms`."""
        n = int(self._union.size[0])
        documents, totals, joined_words = self._documents[:n], self._totals[:n], self._joined_words
        kept = frequent_enough(documents, n_texts, config)
        vocabulary, columns = Vocabulary.from_table(self._union, kept, joined_words=joined_words)
        if config.max_features is not None and config.max_features < len(vocabulary):
            kept = most_frequent(columns, totals, config.max_features)
            vocabulary, columns = Vocabulary.from_table(
                self._union, kept, joined_words=joined_words
            )
        counts = np.empty(len(vocabulary), np.int64)
        counts[columns[columns >= 0]] = documents[columns >= 0]
        return vocabulary, columns, (np.log((1 + n_texts) / (1 + counts)) + 1).astype(np.float32)


def fitted_features(run: Run, config: TfidfConfig) -> TfidfFeatures:
    """Return the features that a `Merger` has written."""
    learned = run.read("vocabulary", 0)
    sources = config.sources()
    vocabularies = [
        Vocabulary(np.array(learned[f"pool_{k}"]), np.array(learned[f"ends_{k}"]), source.words)
        for k, source in enumerate(sources)
    ]
    idf = np.concatenate([learned[f"idf_{kind}"] for kind in range(len(sources))])
    if not len(idf):
        raise DataError(
            f"no terms left with min_df={config.min_df} and max_df={config.max_df}: lower min_df, "
            "raise max_df, or check that the texts hold words"
        )
    features = TfidfFeatures(**config.to_dict())
    features._set_learned(config, "english", vocabularies, idf)
    return features


def with_terms(
    table: TermTable, pool: npt.NDArray[np.uint8], ends: IntArray, *, joined_words: bool
) -> tuple[TermTable, npt.NDArray[np.int32]]:
    """Return the table with further terms in it, and the id of each of them."""
    table = with_room(table, len(ends) - 1, len(pool))
    ids = np.empty(len(ends) - 1, np.int32)
    insert_terms(table, np.array(pool), np.array(ends), joined_words, ids)
    return table, ids


def with_room(table: TermTable, n_terms: int, n_bytes: int) -> TermTable:
    """Return a table in which so many terms, of so many bytes, still fit."""
    n = int(table.size[0])
    while len(table.hashes) < n + n_terms or len(table.pool) < int(table.ends[n]) + n_bytes:
        table = grown(table, capacity=n + n_terms)
    return table


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    if len(values) >= size:
        return values
    return np.concatenate([values, np.zeros(size - len(values), values.dtype)])
