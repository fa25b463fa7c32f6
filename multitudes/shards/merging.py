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
from multitudes.shards.run import Arrays, Run, cut_strings
from multitudes.types import FloatArray, IntArray


@dataclass(frozen=True)
class Labels:
    """The label space of all shards; `names` is None if labels are numbers."""

    names: list[str] | None
    n_labels: int


def merge_labels(run: Run, n_shards: int) -> Labels:
    """Number labels in the order in which they appear; write what each shard's numbers become."""
    numbers = empty_table()
    largest = 0
    kinds = set()
    for shard in range(n_shards):
        read = run.read("counts", shard)
        kinds.add("label_pool" in read)
        if "label_pool" in read:
            numbers, ids = _with_terms(numbers, read["label_pool"], read["label_ends"], False)
        else:
            largest = max(largest, int(read["n_labels"][0]))
            ids = np.arange(int(read["n_labels"][0]), dtype=np.int32)
        if not run.has("labels", shard):
            run.write("labels", shard, {"ids": ids})
    if len(kinds) > 1:
        raise DataError("some shards have names of labels and some only numbers: name all of them")
    if kinds != {True}:
        return Labels(None, largest)
    n = int(numbers.size[0])
    return Labels(cut_strings(numbers.pool[: numbers.ends[n]], numbers.ends[: n + 1]), n)


def merge_features(
    run: Run, n_shards: int, config: TfidfConfig | None, normalize: bool
) -> Features:
    """Return the fitted features of all shards."""
    if config is not None and "n_features" not in run.read("counts", 0):
        return merge_terms(run, n_shards, config)
    widths = [int(run.read("counts", shard)["n_features"][0]) for shard in range(n_shards)]
    features = PassThrough(normalize=normalize)
    features.n_features_in_ = max(widths)
    return features


Features = TfidfFeatures | PassThrough


def merge_terms(run: Run, n_shards: int, config: TfidfConfig) -> TfidfFeatures:
    """Return TF-IDF over the union of all vocabularies, cut and weighted as for one file.

    Writes the column of each term of each shard, too, so that no other machine need look it up.
    """
    if not run.has("vocabulary", 0):
        n_texts = sum(len(run.read("counts", i)["y_indptr"]) - 1 for i in range(n_shards))
        learned: Arrays = {}
        of_shards: list[Arrays] = [{} for _ in range(n_shards)]
        for kind, terms in enumerate(config.sources()):
            union, ids, documents, totals = _union(run, n_shards, kind, terms.words)
            vocabulary, columns, idf = _cut(union, documents, totals, terms.words, n_texts, config)
            for own, terms_of_shard in zip(of_shards, ids, strict=True):
                own[f"columns_{kind}"] = columns[terms_of_shard]
            learned |= {
                f"pool_{kind}": vocabulary.pool,
                f"ends_{kind}": vocabulary.ends,
                f"idf_{kind}": idf,
            }
        for shard, own in enumerate(of_shards):
            run.write("columns", shard, own)
        run.write("vocabulary", 0, learned)  # last: where it is, columns are
    return fitted_features(run, config)


def fitted_features(run: Run, config: TfidfConfig) -> TfidfFeatures:
    """Return the features that `merge_terms` has written."""
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


def _union(
    run: Run, n_shards: int, kind: int, joined_words: bool
) -> tuple[TermTable, list[npt.NDArray[np.int32]], IntArray, IntArray]:
    """The terms of all shards, their ids in each, in how many texts each is and how often."""
    union = empty_table()
    ids = []
    documents, totals = np.zeros((2, len(union.hashes)), np.int64)
    for shard in range(n_shards):
        read = run.read("counts", shard)
        union, own = _with_terms(union, read[f"pool_{kind}"], read[f"ends_{kind}"], joined_words)
        documents, totals = (_padded(one, len(union.hashes)) for one in (documents, totals))
        documents[own] += read[f"documents_{kind}"]  # a shard has each term once
        totals[own] += read[f"totals_{kind}"]
        ids.append(own)
    n = int(union.size[0])
    return union, ids, documents[:n], totals[:n]


def _with_terms(
    table: TermTable, pool: npt.NDArray[np.uint8], ends: IntArray, joined_words: bool
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


def _cut(
    union: TermTable,
    documents: np.ndarray,
    totals: np.ndarray,
    joined_words: bool,
    n_texts: int,
    config: TfidfConfig,
) -> tuple[Vocabulary, npt.NDArray[np.int32], FloatArray]:
    """Keep the terms that the settings let through, and weigh them: see `learn_terms`."""
    kept = frequent_enough(documents, n_texts, config)
    vocabulary, columns = Vocabulary.from_table(union, kept, joined_words=joined_words)
    if config.max_features is not None and config.max_features < len(vocabulary):
        kept = most_frequent(columns, totals, config.max_features)
        vocabulary, columns = Vocabulary.from_table(union, kept, joined_words=joined_words)
    counts = np.empty(len(vocabulary), np.int64)
    counts[columns[columns >= 0]] = documents[columns >= 0]
    return vocabulary, columns, (np.log((1 + n_texts) / (1 + counts)) + 1).astype(np.float32)
