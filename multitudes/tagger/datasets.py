"""Tag a whole Dataset, or texts by kind of answer: what the command line and the server call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from multitudes.data import Dataset
from multitudes.data.prediction_files import write_line
from multitudes.tagger.evaluation import known_pairs
from multitudes.tagger.fitted import FittedTagger
from multitudes.tagger.prediction import Kind, Tag
from multitudes.types import Predictions


def predict_tags(
    tagger: FittedTagger,
    texts: Any,
    *,
    kind: Kind = "scores",
    top_k: int | None = None,
    threshold: float | None = None,
) -> list[list[Tag]]:
    """Return the labels of each text, with scores, with probabilities, or as sets.

    Parameters
    ----------
    tagger : Tagger
    texts : sequence of str
        Or X, for a tagger fitted on features.
    kind : "scores", "probabilities" or "sets"
        See `Tagger.predict`, `Tagger.predict_proba` and `Tagger.predict_sets`.
    top_k : int, optional
        Labels per text, at most; defaults to 5, and for sets to all they have.
    threshold : float, optional
        Leave out labels whose score or probability is lower.
    """
    return tagger._predict_kind(texts, kind, top_k=top_k, threshold=threshold)


def predict_batches(
    tagger: FittedTagger, dataset: Dataset, *, top_k: int | None = None, kind: Kind = "scores"
) -> Iterator[tuple[Dataset, Predictions]]:
    """Yield (some instances, their predictions) until all of the Dataset is done.

    A Dataset's filter pairs are left out before the `top_k` are cut, so rows stay full; their
    labels are matched by name. Labels of the predictions are the tagger's.

    Parameters
    ----------
    tagger : Tagger
    dataset : Dataset
    top_k : int, optional
        Labels per instance, at most; defaults to 5, and for sets to all they have.
    kind : "scores", "probabilities" or "sets"
        The latter two need a tagger that was calibrated, or a model that generates sets.
    """
    blocks = tagger._predictor().blocks(
        tagger._inputs_of(dataset), kind, top_k=top_k, filter_pairs=known_pairs(dataset, tagger)
    )
    for rows, found in blocks:
        yield dataset[rows], found


def predict_to(
    out: BinaryIO,
    tagger: FittedTagger,
    dataset: Dataset,
    *,
    top_k: int | None = None,
    threshold: float | None = None,
    kind: Kind = "scores",
) -> int:
    """Write the predictions of a Dataset as JSON lines; return how many labels were written."""
    row = n_written = 0
    for batch, found in predict_batches(tagger, dataset, top_k=top_k, kind=kind):
        predictions = found.above(threshold)
        kept = predictions.labels >= 0
        for i in range(len(batch)):
            instance = {"row": row} if batch.uids is None else {"uid": batch.uids[i]}
            labels = [tagger.classes_[label] for label in predictions.labels[i, kept[i]].tolist()]
            write_line(out, instance, labels, predictions.scores[i, kept[i]])
            row += 1
        n_written += int(kept.sum())
    return n_written
