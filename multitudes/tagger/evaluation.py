"""How good a tagger is on labeled data: the one way to a number that all others go through.

`evaluate_dataset` lets a tagger predict; the command line's evaluate and compare bring predictions
from files. Both then have the same `Aligned`, and `evaluate_aligned` makes the report.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from multitudes import metrics
from multitudes.data import Aligned, Dataset, PredictionFile, align
from multitudes.data.predictions.alignment import with_names
from multitudes.errors import DataError
from multitudes.metrics import Report, Resampling, propensity_preset
from multitudes.metrics.inputs import check_ks
from multitudes.tagger.prediction import Predictor
from multitudes.types import IntArray


class CanPredict(Protocol):
    """What is needed of a `Tagger`, whose module imports this one."""

    classes_: tuple[str, ...]

    def check_fitted(self) -> None:
        """Raise an error if it has not been fitted."""

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
    tagger.check_fitted()
    if not len(dataset):
        raise DataError("there are no instances to evaluate on")
    cutoffs = check_ks(ks)
    truth = with_names(dataset, tagger.classes_)
    found = predictions_of(tagger, truth, top_k=None if sets else cutoffs[-1])
    train = None if train is None else with_names(train, tagger.classes_)
    aligned = align([found], truth, train=train)
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


def predictions_of(
    tagger: CanPredict, dataset: Dataset, *, top_k: int | None, path: Path = Path("model")
) -> PredictionFile:
    """Return a tagger's best `top_k` labels of each instance, or its sets, as a file has them.

    Parameters
    ----------
    top_k : int, optional
        None for the label sets of `Tagger.predict_sets`.
    path : Path
        What messages call the predictions.
    """
    blocks = tagger._predictor().blocks(
        tagger._inputs_of(dataset),
        "sets" if top_k is None else "scores",
        top_k=top_k,
        filter_pairs=known_pairs(dataset, tagger),
    )
    return PredictionFile.of((found for _, found in blocks), tagger.classes_, path=path)


def known_pairs(dataset: Dataset, tagger: CanPredict) -> IntArray | None:
    """Return a Dataset's filter pairs with the tagger's label ids; those it does not know go."""
    pairs = dataset.filter_pairs
    if pairs is None or not len(pairs):
        return None
    names = with_names(dataset, tagger.classes_).label_names or ()
    index = {name: label for label, name in enumerate(tagger.classes_)}
    ids = np.array([index.get(name, -1) for name in names], np.int64)[pairs[:, 1]]
    return np.stack([pairs[:, 0], ids], axis=1)[ids >= 0]
