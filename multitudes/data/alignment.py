"""Prediction files, truth and training data brought to one label space and one order of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multitudes.data.dataset import Dataset
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.prediction_files import PredictionFile
from multitudes.errors import ConfigError, DataError
from multitudes.scores import remove_pairs, remove_pairs_from_truth
from multitudes.types import NO_LABEL, NO_SCORE, IntArray, Predictions


@dataclass(frozen=True)
class Aligned:
    """What `metrics.evaluate` and `metrics.compare` need: ids that mean the same everywhere."""

    predictions: list[Predictions]
    truth: Dataset
    train: Dataset | None

    def without_filter_pairs(self, convention: str = "predictions") -> Aligned:
        """Leave the truth's filter pairs out of the predictions, of "both" sides, or of "none"."""
        known = ("predictions", "both", "none")
        if convention not in known:
            raise ConfigError(f"the filter must be one of {', '.join(known)}, got {convention!r}")
        pairs = self.truth.filter_pairs
        if convention == "none" or pairs is None:
            return self
        truth = self.truth
        if convention == "both":
            truth = truth.with_labels(remove_pairs_from_truth(truth.Y, pairs))
        kept = [remove_pairs(predictions, pairs) for predictions in self.predictions]
        return Aligned(kept, truth, self.train)


def align(
    files: Sequence[PredictionFile], truth: Dataset, *, train: Dataset | None = None
) -> Aligned:
    """Give labels common ids, and predictions the truth's order of instances.

    The label space is that of the training data (if given), then labels only the truth has,
    then labels only the predictions have. Rows are matched by uid if both sides have uids,
    else by position.
    """
    names = dict.fromkeys(LabelSpace.of(train).names) if train is not None else {}
    names |= dict.fromkeys(LabelSpace.of(truth).names)
    for file in files:
        names |= dict.fromkeys(file.names or ())
    space = LabelSpace(tuple(names))
    # Ids in a prediction file are the truth's ids, whatever the common space makes of them.
    truth_ids = np.array([space.index[name] for name in LabelSpace.of(truth).names], np.int64)
    return Aligned(
        [_predictions(file, truth, space, truth_ids) for file in files],
        _moved(truth, space),
        None if train is None else _moved(train, space),
    )


def _moved(dataset: Dataset, space: LabelSpace) -> Dataset:
    if dataset.label_names is None:
        names = LabelSpace.of(dataset).names
        dataset = Dataset(
            Y=dataset.Y, X=dataset.X, texts=dataset.texts, label_names=names, uids=dataset.uids,
            filter_pairs=dataset.filter_pairs,
        )  # fmt: skip
    return relabel(dataset, space)


def _predictions(
    file: PredictionFile, truth: Dataset, space: LabelSpace, truth_ids: IntArray
) -> Predictions:
    labels = _common_ids(file, space, truth_ids)
    n, width = len(file), int(file.counts.max(initial=0))
    starts = np.cumsum(file.counts) - file.counts
    rows = np.repeat(np.arange(n), file.counts)
    ranks = np.arange(len(labels)) - starts[rows]
    out = np.full((n, width), NO_LABEL, np.int32)
    scores = np.full((n, width), NO_SCORE, np.float32)
    out[rows, ranks] = labels
    scores[rows, ranks] = file.scores
    return Predictions(out, scores, len(space))[_row_order(file, truth)]


def _common_ids(file: PredictionFile, space: LabelSpace, truth_ids: IntArray) -> IntArray:
    if file.names is not None:
        return np.array([space.index[name] for name in file.names], np.int64)[file.labels]
    outside = (file.labels < 0) | (file.labels >= len(truth_ids))
    if outside.any():
        raise DataError(
            f"{file.path} holds label id {file.labels[outside][0]}, but the truth has "
            f"{len(truth_ids):,} labels: was it made for another label space?"
        )
    return truth_ids[file.labels]


def _row_order(file: PredictionFile, truth: Dataset) -> IntArray:
    """Return, for each instance of the truth, its row in the file."""
    if file.uids is None or truth.uids is None:
        if len(file) != len(truth):
            raise DataError(
                f"{file.path} has predictions for {len(file):,} instances, the truth has "
                f"{len(truth):,}: give the file it was made from"
            )
        return np.arange(len(truth))
    row_of = {uid: row for row, uid in enumerate(file.uids)}
    missing = [uid for uid in truth.uids if uid not in row_of]
    if missing:
        raise DataError(
            f"{file.path} has no prediction for {len(missing):,} of {len(truth):,} instances of "
            f"the truth (the first: uid {missing[0]!r}): predict them, or give the right truth"
        )
    if len(row_of) != len(file) or len(file) != len(set(truth.uids)):
        raise DataError(
            f"{file.path} has {len(file):,} predictions for {len(truth):,} instances: "
            "uids are repeated, or are not all in the truth"
        )
    return np.array([row_of[uid] for uid in truth.uids], np.int64)
