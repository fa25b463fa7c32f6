"""Predictions, truth and training data brought to one label space and one order of rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from multitudes import memory
from multitudes.data.dataset import Dataset
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.predictions.files import PredictionFile
from multitudes.errors import ConfigError, DataError
from multitudes.metrics import UnknownLabels
from multitudes.metrics.unknown import split_unknown
from multitudes.scores import remove_pairs, remove_pairs_from_truth
from multitudes.types import IntArray, Predictions, blank_lists


@dataclass(frozen=True)
class Aligned:
    """What `metrics.evaluate` and `metrics.compare` need: ids that mean the same everywhere.

    Parameters
    ----------
    predictions : list of Predictions
    truth : Dataset
        Over the common label space; its `label_names` are the names of all.
    train : Dataset, optional
    unknown : UnknownLabels, optional
        Labels of the truth that the model does not know, if it is known what it knows.
    """

    predictions: list[Predictions]
    truth: Dataset
    train: Dataset | None
    unknown: UnknownLabels | None = None

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
        return dataclasses.replace(self, predictions=kept, truth=truth)

    def held_to(
        self, known: Iterable[str], *, leave_out: bool, known_by: str = "the model"
    ) -> Aligned:
        """Count the labels of the truth that are not among `known`, and leave them out if asked to.

        Parameters
        ----------
        known : iterable of str
            The labels of the models that made the predictions.
        leave_out : bool
        known_by : str
            Whose labels these are: "the model" or "the training data".
        """
        names, space = set(known), self.truth.label_names or ()
        is_known = np.array([name in names for name in space], np.bool_)
        for predictions in self.predictions:
            predicted = predictions.labels[predictions.labels >= 0]
            strange = predicted[~is_known[predicted]]
            if leave_out and len(strange):
                raise DataError(
                    f"the predictions hold the label {space[strange[0]]!r}, which {known_by} does "
                    "not know: unknown labels can be left out only by the labels of the model, or "
                    "of the training data, that the predictions come from"
                )
            is_known[strange] = True
        Y, unknown = split_unknown(self.truth.Y, is_known, leave_out=leave_out, known_by=known_by)
        return dataclasses.replace(self, truth=self.truth.with_labels(Y), unknown=unknown)


def align(
    files: Sequence[PredictionFile], truth: Dataset, *, train: Dataset | None = None
) -> Aligned:
    """Give labels common ids, and predictions the truth's order of instances.

    The same predictions give the same numbers from a file and from a model, because both come by
    here. The label space is that of the training data (if given), then labels only the truth has,
    then labels only the predictions have. Rows are matched by uid if both sides have uids,
    else by position.
    """
    predicted = list(dict.fromkeys(name for file in files for name in file.names or ()))
    for what, dataset in (("truth", truth), ("training data", train)):
        _refuse_ids_for_names(dataset, predicted, what)
    space = _common_space(train, truth, predicted)
    # Ids in a prediction file are the truth's ids, whatever the common space makes of them.
    truth_ids = np.array([space.index[name] for name in LabelSpace.of(truth).names], np.int64)
    return Aligned(
        [_of_file(file, truth, space, truth_ids) for file in files],
        _moved(truth, space),
        None if train is None else _moved(train, space),
    )


def with_names(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """Return a Dataset that has label names: its own, or those that its ids mean to a model.

    Parameters
    ----------
    dataset : Dataset
    names : sequence of str
        What a model calls its labels. If these are all numbers, an id is a name; else it is a
        position in `names`.
    """
    if dataset.label_names is not None:
        return dataset
    own: Sequence[str] = LabelSpace.of(dataset).names
    if not _are_numbers(names):
        if dataset.n_labels > len(names):
            raise DataError(
                f"the data has label ids up to {dataset.n_labels - 1} and no label names, and the "
                f"model knows {len(names):,} labels, such as {names[0]!r}: give data with names"
            )
        own = names[: dataset.n_labels]
    return dataclasses.replace(dataset, label_names=own)


def over_names(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """Return a Dataset over the labels of a model; others are dropped and counted in its report.

    For ids see `with_names`.
    """
    return relabel(with_names(dataset, names), LabelSpace(names))


def _common_space(train: Dataset | None, truth: Dataset, predicted: Sequence[str]) -> LabelSpace:
    names = dict.fromkeys(LabelSpace.of(train).names) if train is not None else {}
    names |= dict.fromkeys(LabelSpace.of(truth).names)
    return LabelSpace(tuple(names | dict.fromkeys(predicted)))


def _are_numbers(names: Sequence[str]) -> bool:
    return all(name.isascii() and name.isdigit() for name in names)


def _refuse_ids_for_names(dataset: Dataset | None, predicted: Sequence[str], what: str) -> None:
    """Refuse data that has ids where the predictions have names: nothing would ever be right."""
    if dataset is None or dataset.label_names is not None or _are_numbers(predicted):
        return
    word = next(name for name in predicted if not _are_numbers([name]))
    raise DataError(
        f"the predictions call labels by name, such as {word!r}, and the {what} by id: give data "
        "with the names of labels, e.g. a folder with its lbl file"
    )


def _moved(dataset: Dataset, space: LabelSpace) -> Dataset:
    named = dataclasses.replace(dataset, label_names=LabelSpace.of(dataset).names)
    return relabel(named, space)


def _of_file(
    file: PredictionFile, truth: Dataset, space: LabelSpace, truth_ids: IntArray
) -> Predictions:
    labels = _common_ids(file, space, truth_ids)
    n, width = len(file), int(file.counts.max(initial=0))
    starts = np.cumsum(file.counts) - file.counts
    rows = np.repeat(np.arange(n), file.counts)
    ranks = np.arange(len(labels)) - starts[rows]
    what = f"{file.path}: {n:,} instances, the longest with {width:,} labels,"
    memory.ask(32 * n * width, what, advice="predict fewer labels for it")
    out, scores = blank_lists(n, width)
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
