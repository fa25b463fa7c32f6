"""Read a shard: its terms and how often each text has them, or its features, and its labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from multitudes.data import Dataset, ReadOptions, read_dataset
from multitudes.data.pieces import open_pieces
from multitudes.errors import ConfigError, DataError
from multitudes.features import PassThrough, TfidfFeatures
from multitudes.features.stemming import AUTO
from multitudes.features.term_counts import count_new
from multitudes.features.tfidf import TfidfConfig
from multitudes.features.weighting import normalized
from multitudes.kernels.text import term_weights
from multitudes.shards.places import PIECE_MARK, local_copy
from multitudes.shards.run import Arrays, Run, Stage, joined_strings
from multitudes.validation import checked_features


class Source(NamedTuple):
    """How shards are read: what `read_dataset` is told, and the terms that are counted."""

    format: str | None
    reading: Mapping[str, Any]
    tfidf: TfidfConfig | None
    normalize: bool

    @classmethod
    def of(cls, features: Any, format: str | None, reading: Mapping[str, Any]) -> Source:
        """From the unfitted features of a tagger; refuse those that look at all texts at once."""
        if isinstance(features, TfidfFeatures):
            config = TfidfConfig.from_dict(features.get_params())
            if config.stem == AUTO:
                raise ConfigError(
                    "stem='auto' looks at all texts at once, which no machine has: name the "
                    "language, e.g. features.stem=english"
                )
            return cls(format, dict(reading), config, normalize=True)  # if shards hold features
        if isinstance(features, PassThrough):
            return cls(format, dict(reading), None, normalize=features.normalize)
        raise ConfigError(
            f"shards are read with TF-IDF features, or hold features, not with "
            f"{type(features).__name__}: leave out --features, or train on this machine"
        )


def count_shard(run: Run, source: Source, place: str) -> Arrays:
    """Read one shard; its arrays hold no text any more."""
    folder, mark, number = place.rpartition(PIECE_MARK)
    if mark:
        piece = open_pieces(folder)[int(number)]
        dataset = Dataset(Y=piece.Y, X=piece.X)
        return _counted(source, place, dataset)
    options = ReadOptions.from_dict(dict(source.reading))
    dataset = read_dataset(local_copy(place), format=source.format, options=options)
    return _counted(source, place, dataset)


def _counted(source: Source, place: str, dataset: Dataset) -> Arrays:
    """Return the labels of a shard, and its features or counts of terms."""
    if not len(dataset):
        raise DataError(f"{place} holds no instance: leave the shard out")
    Y = dataset.Y
    out: Arrays = {"y_indptr": Y.indptr.astype(np.int64), "y_indices": Y.indices.astype(np.int32)}
    out["n_labels"] = np.array([Y.shape[1]], np.int64)
    if dataset.label_names is not None:
        out["label_pool"], out["label_ends"] = joined_strings(list(dataset.label_names))
    if dataset.texts is None:
        X = checked_features(dataset.X)
        X = normalized(X.copy()) if source.normalize else X
        return out | {
            "n_features": np.array([X.shape[1]], np.int64),
            "indptr": X.indptr.astype(np.int64),
            "indices": X.indices.astype(np.int32, copy=False),
            "data": X.data.astype(np.float32, copy=False),
        }
    if source.tfidf is None:
        raise DataError(f"{place} holds texts, and other shards features: train them apart")
    for kind, terms in enumerate(source.tfidf.sources()):
        table, chunks = count_new(dataset.texts, terms, n_jobs=1)
        n = int(table.size[0])
        documents, totals = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for chunk in chunks:
            term_weights.term_totals(chunk.ids, chunk.counts, documents, totals)
        starts = np.cumsum([0, *(len(chunk.ids) for chunk in chunks)])
        indptr = [chunk.indptr[1:] + start for chunk, start in zip(chunks, starts, strict=False)]
        out |= {
            f"pool_{kind}": table.pool[: int(table.ends[n])],
            f"ends_{kind}": table.ends[: n + 1],
            f"documents_{kind}": documents,
            f"totals_{kind}": totals,
            f"indptr_{kind}": np.concatenate([np.zeros(1, np.int64), *indptr]),
            f"ids_{kind}": np.concatenate([chunk.ids for chunk in chunks]),
            f"counts_{kind}": np.concatenate([chunk.counts for chunk in chunks]),
        }
    return out


COUNTING = Stage("counts", "reading shards", count_shard)
