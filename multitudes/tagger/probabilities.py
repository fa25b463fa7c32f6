"""Probabilities and label sets of a tagger, learned on labeled data that it was not fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from multitudes.data import Dataset, LabelSpace, relabel
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.scores.calibrated import Calibrated, CalibrationConfig, CalibrationReport
from multitudes.types import Predictions
from multitudes.validation import checked_count

if TYPE_CHECKING:
    from multitudes.tagger.tagger import Tag

Kind = Literal["scores", "probabilities", "sets"]


class Probabilities:
    """The part of `Tagger` that says how sure it is, and how many labels a text gets."""

    model_: Any
    features_: Any
    labels_: tuple[str, ...]
    calibrated_: Calibrated | None = None

    def calibrate(self, dataset: Dataset, *, config: CalibrationConfig | None = None) -> Self:
        """Learn probabilities and label sets from labeled texts that `fit` has not seen.

        `calibration_report` then tells how reliable they are. What changes the model, e.g.
        `add_labels`, forgets them.

        Parameters
        ----------
        dataset : Dataset
            A few hundred instances or more. Its labels are matched by name; those the tagger does
            not know are left out.
        config : CalibrationConfig, optional
            Method of calibration, rule for sets, the F1 it is tuned for.
        """
        from multitudes.tagger.batches import predict_dataset  # it imports the tagger

        self._check_fitted()
        config = CalibrationConfig() if config is None else config
        if not isinstance(config, CalibrationConfig):
            raise ConfigError(
                f"config must be a CalibrationConfig, got {type(config).__name__}: write "
                'config=CalibrationConfig(sets="threshold") or the like'
            )
        known = self._labeled(dataset)
        tagger: Any = self
        found = predict_dataset(tagger, known, top_k=config.candidates)
        self.calibrated_ = Calibrated(config=config).fit(found, known.Y)
        return self

    def _labeled(self, dataset: Dataset) -> Dataset:
        """Data to calibrate on, over the tagger's labels; refused where there is nothing in it."""
        if not isinstance(dataset, Dataset):
            raise DataError(
                f"calibrate takes a Dataset, got {type(dataset).__name__}: multitudes.read_dataset "
                "gives one, so does Dataset(Y=..., texts=..., label_names=...)"
            )
        if not len(dataset):
            raise DataError("there are no instances to calibrate on")
        known = relabel(dataset, LabelSpace(self.labels_))
        if not known.Y.nnz:
            names = ", ".join(map(repr, self.labels_[:3]))
            raise DataError(
                f"none of the {len(dataset):,} instances has a label that the model knows: give "
                f"data with labels of its {len(self.labels_):,}, such as {names}"
            )
        return known

    @property
    def generates_sets(self) -> bool:
        """Whether sets are as the model generates them; else a rule makes them of its ranking."""
        self._check_fitted()
        asked_for_rule = self.calibrated_ is not None and self.calibrated_.config.sets is not None
        return hasattr(self.model_, "predict_sets") and not asked_for_rule

    def calibration_report(self) -> CalibrationReport:
        """How reliable scores were before `calibrate`, and probabilities are since."""
        return self._check_calibrated().report_

    def predict_proba(
        self, texts: Any, *, top_k: int = 5, threshold: float | None = None
    ) -> list[list[Tag]]:
        """The best labels of each text with their probabilities, best first.

        Needs `calibrate`. The order is that of `predict`.

        Parameters
        ----------
        texts : sequence of str
            Or X, for a tagger fitted on features.
        top_k : int
            At most so many labels per text.
        threshold : float, optional
            Leave out labels whose probability is lower.
        """
        self._check_calibrated()
        found = self.as_kind(self.predict_ids(texts, top_k=top_k), "probabilities")
        return self._tags(found.above(threshold))

    def predict_sets(self, texts: Any) -> list[list[Tag]]:
        """The labels each text should get, as many as are right, with their probabilities.

        A model that generates sets says itself, unless `calibrate` was asked for a rule; any other
        needs `calibrate`, whose settings say how sets are made.

        Parameters
        ----------
        texts : sequence of str
            Or X, for a tagger fitted on features.
        """
        found = self.candidates(texts, "sets", top_k=self.width_of("sets"))
        return self._tags(self.as_kind(found, "sets"))

    def predict_as(
        self,
        kind: Kind,
        texts: Any,
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[list[Tag]]:
        """Scores, probabilities or sets, by the name of what is wanted.

        Parameters
        ----------
        kind : "scores", "probabilities" or "sets"
            See `predict`, `predict_proba`, `predict_sets`.
        texts : sequence of str
            Or X, for a tagger fitted on features.
        top_k : int, optional
            At most so many labels per text; by default 5, or all of a set.
        threshold : float, optional
            Leave out labels whose score or probability is lower.
        """
        width = self.width_of(kind, top_k)
        found = self.as_kind(self.candidates(texts, kind, top_k=width), kind)
        tags = self._tags(found.above(threshold))
        return [some[:top_k] for some in tags]

    def candidates(self, texts: Any, kind: Kind, *, top_k: int) -> Predictions:
        """What `as_kind` starts from: the best `top_k` labels, or the sets a model generates."""
        if not self._generates(kind):
            return self.predict_ids(texts, top_k=top_k)
        inputs = self._checked_inputs(texts)
        X = inputs if self.features_ is None else self.features_.transform(inputs)
        found: Predictions = self.model_.predict_sets(X)
        return found

    def as_kind(self, predictions: Predictions, kind: Kind) -> Predictions:
        """Candidates with scores as they are, with probabilities, or cut to sets."""
        if kind not in get_args(Kind):
            raise ConfigError(f"kind must be one of {list(get_args(Kind))}, got {kind!r}")
        if kind == "scores" or self._generates(kind):
            return predictions
        calibrated = self._check_calibrated()
        if kind == "probabilities":
            return calibrated.probabilities(predictions)
        return calibrated.sets(predictions)

    def width_of(self, kind: Kind, top_k: int | None = None) -> int:
        """How many labels per instance are needed: sets are made from more than they hold."""
        if top_k is not None:
            checked_count(top_k, "top_k")
        if self._generates(kind):
            return len(self.labels_)
        if kind in ("probabilities", "sets"):
            calibrated = self._check_calibrated()
            if kind == "sets":
                return calibrated.config.candidates
        return 5 if top_k is None else top_k

    def _generates(self, kind: Kind) -> bool:
        return kind == "sets" and self.generates_sets

    def _check_calibrated(self) -> Calibrated:
        self._check_fitted()
        if self.calibrated_ is None:
            raise NotFittedError(
                "this Tagger has scores but no probabilities: call calibrate(dataset) with "
                "labeled data that it was not fitted on (multitudes calibrate MODEL DATA); "
                "after a change of the model, do so again"
            )
        return self.calibrated_

    if TYPE_CHECKING:  # of Tagger

        def predict_ids(self, texts: Any, *, top_k: int = 5) -> Predictions:
            """See `Tagger.predict_ids`."""

        def _checked_inputs(self, texts: Any) -> Any: ...
        def _tags(self, predictions: Predictions) -> list[list[Tag]]: ...
        def _check_fitted(self) -> None: ...
