"""How good a tagger is on labeled data: the one way to a number that all others go through.

`evaluate_dataset` lets a tagger predict; the command line's evaluate and compare bring predictions
from files. Both then have the same `Aligned`, and `evaluate_aligned` makes the report.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from multitudes import metrics
from multitudes.data import Aligned, Dataset
from multitudes.data.alignment import align_predictions, with_names
from multitudes.errors import DataError
from multitudes.metrics import Report, Resampling, propensity_preset
from multitudes.metrics.inputs import check_ks
from multitudes.tagger.prediction import Predictor
from multitudes.types import IntArray, Predictions


class CanPredict(Protocol):
    """What is needed of a `Tagger`, whose module imports this one."""

    classes_: tuple[str, ...]

    def _predictor(self) -> Predictor: ...

    def _inputs_of(self, dataset: Dataset) -> Any: ...


def evaluate_dataset(
    tagger: CanPredict,
    dataset: Dataset,
    *,
    ks: Iterable[int] = (1, 3, 5),
    known_labels: bool = False,
    train: Dataset | None = None,
    sets: bool = False,
    skip_empty: bool = False,
    resampling: Resampling | None = None,
) -> Report:
    """Return the metrics of a tagger on labeled data that it was not fitted on.

    The numbers are those of `multitudes evaluate` on the predictions of `multitudes predict`.

    Parameters
    ----------
    tagger : Tagger
    dataset : Dataset
        Its labels are matched by name. Its filter pairs are not predicted.
    ks : iterable of int
        The cut-offs.
    known_labels : bool
        Leave labels that the tagger does not know out of the truth; by default they count as
        missed. `Report.unknown` says how many there are.
    train : Dataset, optional
        The training data: adds propensity-scored metrics, and metrics by label frequency.
    sets : bool
        Measure the label sets of `Tagger.predict_sets`; `ks` and `train` then play no part.
    skip_empty : bool
        Leave out instances without a true label; by default they count.
    resampling : Resampling, optional
        Adds bootstrap confidence intervals.
    """
    if not len(dataset):
        raise DataError("there are no instances to evaluate on")
    cutoffs = check_ks(ks)
    predictions = _predicted(tagger, dataset, top_k=None if sets else cutoffs[-1])
    aligned = align_predictions(predictions, tagger.classes_, dataset, train=train)
    aligned = aligned.held_to(tagger.classes_, leave_out=known_labels)
    return evaluate_aligned(
        aligned,
        ks=cutoffs,
        propensity=propensity_preset("default"),
        sets=sets,
        skip_empty=skip_empty,
        resampling=resampling,
    )


def evaluate_aligned(
    aligned: Aligned,
    *,
    ks: Iterable[int],
    propensity: tuple[float, float],
    sets: bool = False,
    skip_empty: bool = False,
    resampling: Resampling | None = None,
) -> Report:
    """Return the metrics of the first predictions; for the parameters see `evaluate_dataset`.

    Parameters
    ----------
    propensity : (float, float)
        The constants of `inverse_propensity`, which needs `aligned.train`.
    """
    found, Y, train = aligned.predictions[0], aligned.truth.Y, aligned.train
    if sets:
        report = metrics.evaluate_sets(found, Y, skip_empty=skip_empty, resampling=resampling)
    else:
        report = metrics.evaluate(
            found,
            Y,
            ks=ks,
            inverse_propensity=weights(aligned, propensity),
            frequency_bins=None if train is None else metrics.frequency_bins(train.Y),
            skip_empty=skip_empty,
            resampling=resampling,
        )
    return report.with_unknown(aligned.unknown)


def weights(aligned: Aligned, propensity: tuple[float, float]) -> npt.NDArray[np.float64] | None:
    """Return the inverse propensity of each label, if there is training data."""
    if aligned.train is None:
        return None
    a, b = propensity
    return metrics.inverse_propensity(aligned.train.Y, a=a, b=b)


def known_pairs(dataset: Dataset, tagger: CanPredict) -> IntArray | None:
    """Return a Dataset's filter pairs with the tagger's label ids; those it does not know go."""
    pairs = dataset.filter_pairs
    if pairs is None or not len(pairs):
        return None
    names = with_names(dataset, tagger.classes_).label_names or ()
    index = {name: label for label, name in enumerate(tagger.classes_)}
    ids = np.array([index.get(name, -1) for name in names], np.int64)[pairs[:, 1]]
    return np.stack([pairs[:, 0], ids], axis=1)[ids >= 0]


def _predicted(tagger: CanPredict, dataset: Dataset, *, top_k: int | None) -> Predictions:
    """Return the best labels of each instance, or its set if there is no `top_k`."""
    blocks = tagger._predictor().blocks(
        tagger._inputs_of(dataset),
        "scores" if top_k is not None else "sets",
        top_k=top_k,
        filter_pairs=known_pairs(dataset, tagger),
    )
    return joined([found for _, found in blocks])


def joined(parts: list[Predictions]) -> Predictions:
    """Put predictions below each other; sets of several blocks may differ in width."""
    width = max(part.top_k for part in parts)
    return Predictions.joined([_widened(part, width) for part in parts])


def _widened(predictions: Predictions, width: int) -> Predictions:
    missing = ((0, 0), (0, width - predictions.top_k))
    return dataclasses.replace(
        predictions,
        labels=np.pad(predictions.labels, missing, constant_values=-1),
        scores=np.pad(predictions.scores, missing, constant_values=-np.inf),
    )
