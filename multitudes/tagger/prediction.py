"""Inputs to predictions, block by block: scores, probabilities or label sets of a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.data import Dataset
from multitudes.errors import ConfigError, MultitudesError, NotFittedError, TrainingError
from multitudes.progress import track
from multitudes.scores import remove_pairs
from multitudes.scores.calibrated import Calibrated, CalibrationConfig
from multitudes.tagger.restriction import best_among, only
from multitudes.types import IntArray, MakesSets, Predictions, RestrictsLabels
from multitudes.validation import checked_count
from multitudes.validation.sparse import own_csr

Kind = Literal["scores", "probabilities", "sets"]

BATCH = 4096  # instances scored at a time: enough to fill the threads, little memory
DEFAULT_TOP_K = 5


@dataclass(frozen=True)
class Predictor:
    """A fitted model with what comes before it, its features, and after it, its calibration.

    Parameters
    ----------
    model : fitted model
    features : fitted features, or None
        None for a model that reads texts.
    calibrated : Calibrated, optional
        Needed for probabilities, and for the sets of a model that does not generate them.
    n_labels : int
    """

    model: Any
    features: Any
    calibrated: Calibrated | None
    n_labels: int

    @property
    def generates_sets(self) -> bool:
        """Whether the model generates sets itself; else a rule makes them of its ranking."""
        asked_for_rule = self.calibrated is not None and self.calibrated.config.sets is not None
        return isinstance(self.model, MakesSets) and not asked_for_rule

    def blocks(
        self,
        inputs: Any,
        kind: Kind = "scores",
        *,
        top_k: int | None = None,
        filter_pairs: IntArray | None = None,
        labels: IntArray | None = None,
        watch: Callable[[Any], None] | None = None,
    ) -> Iterator[tuple[slice, Predictions]]:
        """Yield (rows, their predictions) until all inputs are done.

        Parameters
        ----------
        inputs : sequence of str, or X
        kind : "scores", "probabilities" or "sets"
            The latter two need a calibrated model, or one that generates sets.
        top_k : int, optional
            Labels per instance, at most; defaults to 5, and for sets to all they have.
        filter_pairs : int array (n, 2), optional
            (row, label) pairs that are left out before the `top_k` are cut, so that rows stay full.
        labels : int array, optional
            Ids of the only labels that may be predicted; rows stay full.
        watch : function, optional
            Called with what the model reads, block by block: rows of X, or texts.
        """
        width = self._width(kind, top_k)
        n = count(inputs)
        with track("predicting", n, "instances") as task:
            for start in range(0, max(n, 1), BATCH):
                rows = slice(start, min(start + BATCH, n))
                X = self.transform(inputs if n <= BATCH else inputs[rows])
                if watch is not None:
                    watch(X)
                pairs = _within(filter_pairs, rows)
                spare = int(np.bincount(pairs[:, 0]).max()) if len(pairs) else 0
                found = self._candidates(X, kind, width + spare, labels)
                if len(pairs):
                    found = remove_pairs(found, pairs)
                yield rows, self._as_kind(found.top(width), kind).top(top_k or width)
                task.advance(rows.stop - rows.start)

    def whole(
        self, inputs: Any, *, top_k: int | None = None, filter_pairs: IntArray | None = None
    ) -> Predictions:
        """Return the best labels of all inputs with their scores; see `blocks`."""
        blocks = self.blocks(inputs, top_k=top_k, filter_pairs=filter_pairs)
        return Predictions.joined([found for _, found in blocks])

    def checked_calibration(self) -> Calibrated:
        """Return what makes probabilities and sets of scores, or raise a NotFittedError."""
        if self.calibrated is None:
            raise NotFittedError(
                "this Tagger has scores but no probabilities: call calibrate(dataset) with "
                "labeled data that it was not fitted on (multitudes calibrate MODEL DATA); "
                "after a change of the model, do so again"
            )
        return self.calibrated

    def calibration(self, inputs: Any, dataset: Dataset, config: CalibrationConfig) -> Calibrated:
        """Return what makes probabilities and sets of scores, learned from labeled inputs."""
        if not isinstance(config, CalibrationConfig):
            raise ConfigError(
                f"config must be a CalibrationConfig, got {type(config).__name__}: write "
                'config=CalibrationConfig(sets="threshold") or the like'
            )
        found = self.whole(inputs, top_k=config.candidates, filter_pairs=dataset.filter_pairs)
        return Calibrated(config=config).fit(found, dataset.Y)

    def transform(self, inputs: Any) -> Any:
        """Return what the model reads: X, or the texts themselves."""
        return inputs if self.features is None else self.features.transform(inputs)

    def _candidates(self, X: Any, kind: Kind, top_k: int, labels: IntArray | None) -> Predictions:
        """Return what `_as_kind` starts from: the best labels, or the sets a model generates."""
        model, method = self.model, "predict_sets" if self._generates(kind) else "predict"
        restricts = isinstance(model, RestrictsLabels)
        with named_failures(model, method):
            if method == "predict_sets":
                found = model.predict_sets(X)
            elif labels is None:
                found = model.predict(X, top_k=top_k)
            elif restricts:
                found = model.predict(X, top_k=top_k, labels=labels)
            else:
                found = best_among(model, X, labels, top_k=top_k, n_labels=self.n_labels)
        found = checked_predictions(found, model, method, n=count(X))
        return found if labels is None else only(found, labels)

    def _as_kind(self, predictions: Predictions, kind: Kind) -> Predictions:
        if kind == "scores" or self._generates(kind):
            return predictions
        calibrated = self.checked_calibration()
        if kind == "probabilities":
            return calibrated.probabilities(predictions)
        return calibrated.sets(predictions)

    def _width(self, kind: Kind, top_k: int | None) -> int:
        """Return how many labels per instance are needed: sets are cut from longer lists."""
        if kind not in get_args(Kind):
            raise ConfigError(f"kind must be one of {list(get_args(Kind))}, got {kind!r}")
        if top_k is not None:
            checked_count(top_k, "top_k")
        if self._generates(kind):
            return self.n_labels
        if kind == "sets":
            return self.checked_calibration().config.candidates
        if kind == "probabilities":
            self.checked_calibration()
        return DEFAULT_TOP_K if top_k is None else int(top_k)

    def _generates(self, kind: Kind) -> bool:
        return kind == "sets" and self.generates_sets


def count(inputs: Any) -> int:
    """Return the number of texts, or of rows of X."""
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


@contextmanager
def named_failures(model: Any, method: str) -> Iterator[None]:
    """Say which model it was when one that is not of this library raises an error of its own."""
    try:
        yield
    except (MultitudesError, MemoryError):
        raise
    except Exception as error:
        who = type(inner_model(model))
        if _is_ours(who):
            raise
        kind = TrainingError if method == "fit" else MultitudesError
        raise kind(
            f"{who.__module__}.{who.__qualname__}.{method} failed ({type(error).__name__}: "
            f"{error}): this model is not part of multitudes; tell its authors"
        ) from error


def inner_model(model: Any) -> Any:
    """Return the model inside those of this library that wrap one, e.g. `Eagle`."""
    while _is_ours(type(model)) and hasattr(model, "model"):
        model = model.model
    return model


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "multitudes"


def checked_predictions(found: Any, model: Any, method: str, *, n: int) -> Predictions:
    """Return what a model predicted for n instances, or say what is wrong with it."""
    who = f"{type(model).__module__}.{type(model).__qualname__}.{method}"
    if not isinstance(found, Predictions):
        raise MultitudesError(
            f"{who} must return multitudes.types.Predictions, got {type(found).__name__}"
        )
    if len(found) != n:
        raise MultitudesError(f"{who} returned {len(found):,} rows for {n:,} instances")
    return found


def _within(pairs: IntArray | None, rows: slice) -> IntArray:
    """Return the pairs of a block of rows, counted from its first."""
    if pairs is None:
        return np.empty((0, 2), np.int64)
    inside = (pairs[:, 0] >= rows.start) & (pairs[:, 0] < rows.stop)
    found: IntArray = pairs[inside] - np.array([rows.start, 0])
    return found


def says_nothing(X: Any) -> npt.NDArray[np.bool_]:
    """Return for each row of X, or text, whether it holds nothing that a model could go by.

    A row of X is empty if no word of its text is known; a text without a letter or digit is empty
    to models that read texts themselves, which know parts of any word.
    """
    if sp.issparse(X):
        rows = own_csr(X, "X", copy=False)
        return np.asarray(np.diff(rows.indptr) == 0, np.bool_)
    if hasattr(X, "shape"):
        return np.asarray(~np.asarray(X).any(axis=1), np.bool_)
    return np.array([not any(letter.isalnum() for letter in text) for text in X], np.bool_)
