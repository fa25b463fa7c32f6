"""Tag a whole Dataset batch by batch: into a prediction file, or into metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from multitudes.data import Dataset
from multitudes.errors import DataError
from multitudes.metrics import Report, evaluate
from multitudes.progress import track
from multitudes.scores import remove_pairs
from multitudes.tagger.prediction_files import write_line
from multitudes.tagger.probabilities import Kind
from multitudes.tagger.tagger import BATCH, Tagger
from multitudes.types import Predictions


def predict_batches(
    tagger: Tagger, dataset: Dataset, *, top_k: int | None = None, kind: Kind = "scores"
) -> Iterator[tuple[Dataset, Predictions]]:
    """(some instances, their predictions), until all of the Dataset is done.

    A Dataset's filter pairs are left out before the `top_k` are cut, so rows stay full. Labels
    are the tagger's, and so must be the Dataset's label space if it has filter pairs.

    Parameters
    ----------
    top_k : int, optional
        Labels per instance, at most; 5 where absent, and for sets as many as they have.
    kind : "scores", "probabilities" or "sets"
        The latter two need a tagger that was calibrated, or a model that generates sets.
    """
    width = tagger.width_of(kind, top_k)
    pairs = dataset.filter_pairs
    spare = 0
    if pairs is not None and len(pairs):
        spare = int(np.bincount(pairs[:, 0]).max())
    with track("predicting", len(dataset), "instances") as task:
        for start in range(0, len(dataset), BATCH):
            batch = dataset[start : start + BATCH]
            predictions = tagger.candidates(inputs_of(tagger, batch), kind, top_k=width + spare)
            if spare and batch.filter_pairs is not None:
                predictions = remove_pairs(predictions, batch.filter_pairs)
            yield batch, tagger.as_kind(predictions.top(width), kind).top(top_k or width)
            task.advance(len(batch))


def inputs_of(tagger: Tagger, dataset: Dataset) -> Any:
    """The texts of a Dataset, or its X, whichever the tagger was fitted on."""
    inputs = dataset.texts if tagger.takes_texts_ else dataset.X
    if inputs is None:
        learned, given = ("texts", "features X") if tagger.takes_texts_ else ("features X", "texts")
        raise DataError(f"this tagger was fitted on {learned}, the data has {given} only")
    return inputs


def predict_to(
    out: BinaryIO,
    tagger: Tagger,
    dataset: Dataset,
    *,
    top_k: int | None = None,
    threshold: float | None = None,
    kind: Kind = "scores",
) -> int:
    """Write the predictions of a Dataset as JSON lines; returns how many labels were written."""
    row = n_written = 0
    for batch, found in predict_batches(tagger, dataset, top_k=top_k, kind=kind):
        predictions = found.above(threshold)
        kept = predictions.labels >= 0
        for i in range(len(batch)):
            instance = {"row": row} if batch.uids is None else {"uid": batch.uids[i]}
            labels = [tagger.labels_[label] for label in predictions.labels[i, kept[i]].tolist()]
            write_line(out, instance, labels, predictions.scores[i, kept[i]])
            row += 1
        n_written += int(kept.sum())
    return n_written


def evaluate_on(tagger: Tagger, dataset: Dataset, *, ks: Sequence[int] = (1, 3, 5)) -> Report:
    """The metrics of a tagger on a labeled Dataset over its label space."""
    return evaluate(predict_dataset(tagger, dataset, top_k=max(ks)), dataset.Y, ks=ks)


def predict_dataset(tagger: Tagger, dataset: Dataset, *, top_k: int) -> Predictions:
    """The best labels of every instance, in memory; filter pairs are left out."""
    batches = [found for _, found in predict_batches(tagger, dataset, top_k=top_k)]
    return Predictions(
        np.concatenate([batch.labels for batch in batches]),
        np.concatenate([batch.scores for batch in batches]),
        len(tagger.labels_),
    )
