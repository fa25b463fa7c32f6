"""FittedTagger: what a tagger can be asked once it has learned: predictions and explanations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from multitudes import progress, views
from multitudes.data import Dataset
from multitudes.disentangle import ambiguous
from multitudes.errors import DataError
from multitudes.estimator import Estimator
from multitudes.metrics import Report
from multitudes.scores.calibrated import Calibrated, CalibrationReport
from multitudes.tagger import inputs
from multitudes.tagger.auto.report import AutoReport
from multitudes.tagger.evaluation import evaluate_dataset
from multitudes.tagger.explanations import (
    WITHOUT_WORDS,
    checked_explaining,
    checked_overlapping,
)
from multitudes.tagger.prediction import BATCH, Kind, Predictor, count, says_nothing
from multitudes.tagger.reports.group_report import GroupReport
from multitudes.tagger.reports.summary import tagger_view
from multitudes.tagger.tags import TagLists, named_tags
from multitudes.types import Predictions
from multitudes.validation import checked_features

if TYPE_CHECKING:
    from multitudes.disentangle import Ambiguity, Sense
    from multitudes.encoder.explanation import Explanation as PrototypeExplanation
    from multitudes.linear.explanation import Explanation


class FittedTagger(Estimator):
    """The half of `Tagger` that changes nothing: it predicts, and says why.

    `Tagger` documents the attributes, which `fit` sets.
    """

    model_: Any
    features_: Any
    takes_texts_: bool
    classes_: tuple[str, ...]
    titles_: dict[str, str]
    feature_names_: Sequence[str] | None
    choice_: str
    examples_: dict[int, str]
    auto_report_: AutoReport | None = None  # of fit, with a budget
    group_report_: GroupReport | None
    calibrated_: Calibrated | None
    verbose: bool

    def predict(self, texts: Any, *, top_k: int = 5, threshold: float | None = None) -> TagLists:
        """Return the best labels of each text by name, best first.

        Parameters
        ----------
        texts : sequence of str
            Or X, for a tagger fitted on features.
        top_k : int
            Labels per text, at most.
        threshold : float, optional
            Leave out labels whose score is lower.
        """
        return self._predict_kind(texts, "scores", top_k=top_k, threshold=threshold)

    def predict_proba(
        self, texts: Any, *, top_k: int = 5, threshold: float | None = None
    ) -> TagLists:
        """Return the best labels of each text with their probabilities, best first.

        Needs `calibrate`. The order is that of `predict`, and so are the parameters; `threshold`
        is compared with probabilities.
        """
        return self._predict_kind(texts, "probabilities", top_k=top_k, threshold=threshold)

    def predict_sets(self, texts: Any) -> TagLists:
        """Return the labels each text should get, as many as are right, with their probabilities.

        A model that generates sets decides itself, unless `calibrate` was asked for a rule; any
        other needs `calibrate`, whose settings say how sets are made.
        """
        return self._predict_kind(texts, "sets")

    def predict_ids(self, texts: Any, *, top_k: int = 5) -> Predictions:
        """Return the best label ids of each text (or row of X), with scores."""
        predictor, given = self._predictor(), self._checked_inputs(texts)
        with progress.shown(self.verbose and count(given) > BATCH):
            return predictor.whole(given, top_k=top_k)

    def score(self, texts: Any, labels: Any = None) -> float:
        """Return the precision at 1: how often the best label of a text is among its labels.

        `cross_val_score` and `GridSearchCV` use it by default. A text without labels counts as a
        miss, and so does a label that the tagger does not know.

        Parameters
        ----------
        texts, labels : as in `Tagger.fit`
        """
        self.check_fitted()
        dataset = self._labeled(texts, labels)
        if not len(dataset):
            raise DataError("there are no texts to score")
        best = self.predict(self._inputs_of(dataset), top_k=1)
        rights = map(dataset.labels_of, range(len(dataset)))
        pairs = zip(best, rights, strict=True)
        return float(np.mean([bool(tags) and tags[0].label in right for tags, right in pairs]))

    def evaluate(
        self,
        texts: Any,
        labels: Any = None,
        *,
        ks: Iterable[int] = (1, 3, 5),
        known_labels: bool = False,
        train: Dataset | None = None,
        sets: bool = False,
        skip_empty: bool = False,
    ) -> Report:
        """Return all metrics on labeled texts that `fit` has not seen.

        Parameters
        ----------
        texts, labels : as in `Tagger.fit`
            Labels are matched by name.
        ks : iterable of int
            The cut-offs of P@k and so on.
        known_labels : bool
            Leave labels that the tagger does not know out of the truth; by default they count as
            missed.
        train : Dataset, optional
            The training data: adds propensity-scored metrics, and metrics by label frequency.
        sets : bool
            Measure the label sets of `predict_sets`, in place of the best k.
        skip_empty : bool
            Leave out texts without labels; by default they count.
        """
        self.check_fitted()
        dataset = self._labeled(texts, labels)
        return evaluate_dataset(
            self,
            dataset,
            ks=ks,
            known_labels=known_labels,
            train=train,
            sets=sets,
            skip_empty=skip_empty,
        )

    def calibration_report(self) -> CalibrationReport:
        """Return how reliable scores were before `calibrate`, and probabilities are since."""
        return self._predictor().checked_calibration().report_

    @property
    def generates_sets(self) -> bool:
        """Whether the model generates sets itself; else a rule makes them of its ranking."""
        return self._predictor().generates_sets

    def explain(self, text: Any, label: str) -> Explanation | PrototypeExplanation:
        """Return what carried the score of a label, also of one that was not predicted.

        A model over features names words of the text (or columns of X), level by level; a text
        encoder names parts of the label's prototype, and the training texts nearest to this one
        if the model keeps them.

        Parameters
        ----------
        text : str, or one row of X
        label : str
        """
        self.check_fitted()
        label_id = inputs.label_id(label, self.classes_)
        model = checked_explaining(self.model_)
        given = self._checked_inputs([text] if self.takes_texts_ else text)
        explanation: Explanation | PrototypeExplanation
        if self.features_ is None:
            found = model.explain(given[0], label_id)
            if says_nothing(given)[0]:
                found = dataclasses.replace(found, note=WITHOUT_WORDS)
            explanation = found.named(label, self.examples_)
        else:
            found = model.explain(self.features_.transform(given), label_id)
            explanation = found.named(label, self._feature_names())
        return explanation

    def senses(self, label: str) -> list[Sense]:
        """Return what is around a label in each of its leaves; for a tagger with overlap.

        The senses with most texts come first; in an ensemble, tree by tree.
        """
        self.check_fitted()
        senses = checked_overlapping(self.model_).senses(inputs.label_id(label, self.classes_))
        names = self._feature_names()
        named = (sense.named(self.classes_, names, self.examples_) for sense in senses)
        return views.Listing(named)

    def ambiguous_labels(self, *, top_k: int = 20) -> list[Ambiguity]:
        """Return the labels whose senses are farthest apart; for a tagger with overlap."""
        self.check_fitted()
        found = ambiguous(checked_overlapping(self.model_))[:top_k]
        return views.Listing(row._replace(label=self.classes_[int(row.label)]) for row in found)

    def unreadable(self, texts: Any) -> list[int]:
        """Return the rows of texts in which the model finds nothing that it knows.

        Empty ones, and over words those of unknown words alone: each gets the same labels, those
        that biases favor.

        Parameters
        ----------
        texts : sequence of str
            Or X, for a tagger fitted on features.
        """
        predictor, given = self._predictor(), self._checked_inputs(texts)
        if not self.takes_texts_:
            given = checked_features(given)
        rows: list[int] = []
        for start in range(0, count(given), BATCH):
            block = given[start : start + BATCH]
            known = says_nothing(predictor.transform(block))  # which checks the block
            empty = known | says_nothing(block)
            rows += (start + np.flatnonzero(empty)).tolist()
        return rows

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what notebooks show, a summary once it is fitted; before, scikit-learn's view."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown and self.__sklearn_is_fitted__():
            shown["text/html"] = tagger_view(self)
        return shown

    def _repr_html_inner(self) -> str:
        """Return what `_repr_html_` of scikit-learn does."""
        return self._repr_mimebundle_()["text/html"]

    def _predictor(self) -> Predictor:
        self.check_fitted()
        return Predictor(self.model_, self.features_, self.calibrated_, len(self.classes_))

    def _predict_kind(
        self, texts: Any, kind: Kind, *, top_k: int | None = None, threshold: float | None = None
    ) -> TagLists:
        predictor, given = self._predictor(), self._checked_inputs(texts)
        tags = TagLists()
        with progress.shown(self.verbose and count(given) > BATCH):
            for _, found in predictor.blocks(given, kind, top_k=top_k):
                tags += named_tags(found.above(threshold), self.classes_)
        return tags

    def _checked_inputs(self, texts: Any) -> Any:
        return inputs.checked_inputs(texts, takes_texts=self.takes_texts_)

    def _labeled(self, texts: Any, labels: Any) -> Dataset:
        return inputs.labeled_for(texts, labels, self.classes_, takes_texts=self.takes_texts_)

    def _inputs_of(self, dataset: Dataset) -> Any:
        return inputs.inputs_of(dataset, takes_texts=self.takes_texts_)

    def _feature_names(self) -> Sequence[str] | None:
        return getattr(self.features_, "feature_names", None) or self.feature_names_
