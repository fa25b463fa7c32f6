"""One trial's work: learn from a part of the data with some settings, and measure."""

from __future__ import annotations

import base64
import time
import zlib
from typing import Any, NamedTuple

import numpy as np

from multitudes import progress
from multitudes.data import Dataset
from multitudes.errors import DataError
from multitudes.scikit_learn import clone
from multitudes.tagger import Tagger
from multitudes.tuning.metric import Examiner, Metric
from multitudes.tuning.parts import Parts
from multitudes.tuning.space import Settings
from multitudes.types import Predictions


class Measured(NamedTuple):
    """A fitted tagger, its metric on the validation data, and the seconds that both took."""

    tagger: Tagger
    value: float
    seconds: float


class Learner:
    """Trains taggers on growing parts of the data.

    Parameters
    ----------
    tagger : Tagger
        Unfitted; its own settings are those of every trial.
    parts : Parts
    metric : Metric
    """

    def __init__(self, tagger: Tagger, parts: Parts, metric: Metric) -> None:
        self._tagger, self._parts, self._metric = tagger, parts, metric
        self._calibration: Dataset | None = None
        chosen_on = parts.validation
        if metric.of_sets:
            self._calibration, chosen_on = _halves(chosen_on)
        self._validation = Examiner(metric, chosen_on, parts.train)
        self.test = Examiner(metric, parts.test, parts.train)

    def with_settings(self, settings: Settings) -> Tagger:
        """Return an unfitted tagger with these settings beside the fixed ones."""
        fixed = dict(self._tagger.settings or {})
        made: Tagger = clone(self._tagger)
        return made.set_params(settings=fixed | settings, verbose=False)

    def measured(self, settings: Settings, n_instances: int) -> Measured:
        """Learn from the first instances, and measure on the validation data."""
        started = time.monotonic()
        with progress.hushed():
            tagger = self.with_settings(settings).fit(
                self._parts.first(n_instances), from_groups=False
            )
            if self._calibration is not None:
                tagger.calibrate(self._calibration, config=self._metric.calibration())
            value = self._validation.value(self._validation.predictions(tagger))
        return Measured(tagger, value, time.monotonic() - started)

    def on_test(self, tagger: Tagger) -> Predictions:
        """Return what a tagger says about the test data; nothing is measured here."""
        with progress.hushed():
            return self.test.predictions(tagger)


def _halves(dataset: Dataset) -> tuple[Dataset, Dataset]:
    """Return what label sets are learned on, and what they are measured on."""
    if len(dataset) < 2:
        raise DataError(
            "a metric of label sets needs validation data to learn sets on and to measure them "
            f"on, got {len(dataset)} instance: hold out more"
        )
    order = np.random.default_rng(0).permutation(len(dataset))
    middle = len(dataset) // 2
    return dataset.take(np.sort(order[:middle])), dataset.take(np.sort(order[middle:]))


# ------------------------------------------------------------------ predictions in a study


def packed(predictions: Predictions) -> dict[str, Any]:
    """Return the labels of predictions as JSON can hold them; their order is their score."""
    data = zlib.compress(np.ascontiguousarray(predictions.labels, "<i4").tobytes())
    return {
        "labels": base64.b64encode(data).decode(),
        "shape": list(predictions.labels.shape),
        "n_labels": predictions.n_labels,
    }


def unpacked(stored: dict[str, Any]) -> Predictions:
    """Return what `packed` was given, with falling numbers as scores."""
    data = zlib.decompress(base64.b64decode(stored["labels"]))
    labels = np.frombuffer(data, "<i4").reshape(stored["shape"]).astype(np.int32)
    ranks = -np.arange(labels.shape[1], dtype=np.float32)
    scores = np.where(labels >= 0, ranks, -np.inf).astype(np.float32)
    return Predictions(labels, scores, stored["n_labels"])
