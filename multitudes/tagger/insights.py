"""Look into a fitted tagger: why a text got a label, and what a label means where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from multitudes.disentangle import ambiguous
from multitudes.errors import ConfigError
from multitudes.tagger.prototype_explanation import PrototypeExplanation
from multitudes.tagger.senses import AmbiguousLabel, WordSense, checked_overlapping, word_sense
from multitudes.tagger.word_explanation import WordExplanation


class Insights:
    """The part of `Tagger` that shows what was learned."""

    model_: Any
    features_: Any
    labels_: tuple[str, ...]
    examples_: Mapping[int, str]
    feature_names_: Sequence[str] | None
    takes_texts_: bool

    def explain(self, text: Any, label: str) -> WordExplanation | PrototypeExplanation:
        """What carried the score of a label: words of the text, or sources of its prototype.

        Any label can be asked about, also one that was not predicted.

        Parameters
        ----------
        text : str, or one row of X
        label : str

        Returns
        -------
        WordExplanation
            For a model over features: its words (or columns of X), level by level.
        PrototypeExplanation
            For a text encoder: parts of the label's prototype, and the training texts nearest to
            this one if the model keeps them.
        """
        self._check_fitted()
        label_id = self._label_id(label)
        if not hasattr(self.model_, "explain"):
            raise ConfigError(f"{type(self.model_).__name__} cannot explain its scores")
        inputs = self._checked_inputs([text] if self.takes_texts_ else text)
        if self.features_ is None:
            found = self.model_.explain(inputs[0], label_id)
            return PrototypeExplanation.of(found, label, self.examples_)
        X = self.features_.transform(inputs)
        return WordExplanation.of(self.model_.explain(X, label_id), label, self._feature_names())

    def senses(self, label: str) -> list[WordSense]:
        """What is around a label in each of its leaves; for a tagger with overlap.

        The senses with most texts come first; in an ensemble, tree by tree.
        """
        self._check_fitted()
        model = checked_overlapping(self.model_)
        names = self._feature_names()
        senses = model.senses(self._label_id(label))
        return [word_sense(sense, self.labels_, names, self.examples_) for sense in senses]

    def ambiguous_labels(self, *, top_k: int = 20) -> list[AmbiguousLabel]:
        """The labels whose senses are farthest apart; for a tagger with overlap."""
        self._check_fitted()
        found = ambiguous(checked_overlapping(self.model_))[:top_k]
        return [AmbiguousLabel(self.labels_[int(row.label)], *row[1:]) for row in found]

    def _feature_names(self) -> Sequence[str] | None:
        return getattr(self.features_, "feature_names", None) or self.feature_names_

    if TYPE_CHECKING:  # of Tagger

        def _checked_inputs(self, texts: Any) -> Any: ...
        def _check_fitted(self) -> None: ...
        def _label_id(self, label: str) -> int: ...
