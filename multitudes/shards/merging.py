"""What the driver puts together of all shards: label names and vocabularies, no texts, no rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multitudes.errors import DataError
from multitudes.features import PassThrough, TfidfFeatures
from multitudes.features.tfidf import TfidfConfig, frequent_enough, most_frequent
from multitudes.features.vocabulary import Vocabulary, empty_table, grown
from multitudes.kernels.text.terms import TermTable, insert_terms
from multitudes.shards.run import Arrays, Run, cut_strings


@dataclass(frozen=True)
class Labels:
    """The label space of all shards; `names` is None if labels are numbers."""

    names: list[str] | None
    n_labels: int


def merge_labels(run: Run, n_shards: int) -> Labels:
    """Number labels in the order in which they appear; write what each shard's numbers become."""
    numbers: dict[str, int] = {}
    largest = 0
    kinds = set()
    for shard in range(n_shards):
        read = run.read("counts", shard)
        kinds.add("label_pool" in read)
        if "label_pool" in read:
            names = cut_strings(read["label_pool"], read["label_ends"])
            ids = [numbers.setdefault(name, len(numbers)) for name in names]
        else:
            largest = max(largest, int(read["n_labels"][0]))
            ids = list(range(int(read["n_labels"][0])))
        if not run.has("labels", shard):
            run.write("labels", shard, {"ids": np.array(ids, np.int32)})
    if len(kinds) > 1:
        raise DataError("some shards have names of labels and some only numbers: name all of them")
    return Labels(list(numbers), len(numbers)) if kinds == {True} else Labels(None, largest)


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
    """Return TF-IDF over the union of all vocabularies, cut and weighted as for one file."""
    if not run.has("vocabulary", 0):
        n_texts = sum(len(run.read("counts", i)["y_indptr"]) - 1 for i in range(n_shards))
        learned: Arrays = {}
        for kind, terms in enumerate(config.sources()):
            union, documents, totals = _union(run, n_shards, kind, terms.words)
            vocabulary, idf = _cut(union, documents, totals, terms.words, n_texts, config)
            learned |= {
                f"pool_{kind}": vocabulary.pool,
                f"ends_{kind}": vocabulary.ends,
                f"idf_{kind}": idf,
            }
        run.write("vocabulary", 0, learned)
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
) -> tuple[TermTable, np.ndarray, np.ndarray]:
    """The terms of all shards, and how many texts have each and how often it occurs."""
    union = empty_table()
    documents, totals = np.zeros((2, len(union.hashes)), np.int64)
    for shard in range(n_shards):
        read = run.read("counts", shard)
        pool, ends = np.array(read[f"pool_{kind}"]), np.array(read[f"ends_{kind}"])
        union = with_room(union, len(ends) - 1, len(pool))
        ids = np.empty(len(ends) - 1, np.int32)
        insert_terms(union, pool, ends, joined_words, ids)
        documents, totals = (_padded(one, len(union.hashes)) for one in (documents, totals))
        documents[ids] += read[f"documents_{kind}"]  # a shard has each term once
        totals[ids] += read[f"totals_{kind}"]
    n = int(union.size[0])
    return union, documents[:n], totals[:n]


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
) -> tuple[Vocabulary, np.ndarray]:
    """Keep the terms that the settings let through, and weigh them: see `learn_terms`."""
    kept = frequent_enough(documents, n_texts, config)
    vocabulary, columns = Vocabulary.from_table(union, kept, joined_words=joined_words)
    if config.max_features is not None and config.max_features < len(vocabulary):
        kept = most_frequent(columns, totals, config.max_features)
        vocabulary, columns = Vocabulary.from_table(union, kept, joined_words=joined_words)
    counts = np.empty(len(vocabulary), np.int64)
    counts[columns[columns >= 0]] = documents[columns >= 0]
    return vocabulary, (np.log((1 + n_texts) / (1 + counts)) + 1).astype(np.float32)
