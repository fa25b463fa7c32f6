"""Models over texts: which they are, and one with all that it learns from but texts and Y.

A model that reads texts takes the texts of labels as well. Its ``fit`` is::

    fit(texts, Y, *, label_texts, validation=(texts, Y), checkpoint=folder)
"""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from multitudes.groups import Eagle
from multitudes.types import Predictions, Sparse


def reads_texts(model: Any) -> bool:
    """Whether a model, or the one inside an `Eagle`, learns from texts and not from features."""
    inside = model.model if isinstance(model, Eagle) else model
    return hasattr(inside, "fit") and bool(has_fit_parameter(inside, "label_texts"))


class TextLearner(BaseEstimator):  # type: ignore[misc]
    """A model over texts as a plain `Model`: ``fit(texts, Y)`` and ``predict(texts)``.

    `Eagle` and its like call ``fit`` with these two alone, and on parts of the data.

    Parameters
    ----------
    model : estimator that `reads_texts`
        It stays unfitted.
    label_texts : sequence of str or None
    validation : (texts, Y), optional
    checkpoint : path, optional

    Attributes
    ----------
    model_ : fitted model
    """

    def __init__(
        self,
        model: Any,
        label_texts: tuple[str, ...] | None,
        validation: tuple[Any, Sparse] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.model = model
        self.label_texts = label_texts
        self.validation = validation
        self.checkpoint = checkpoint

    def fit(self, X: Any, Y: Sparse) -> Self:
        """Learn from texts and their labels."""
        self.model_ = clone(self.model).fit(
            X,
            Y,
            label_texts=self.label_texts,
            validation=self.validation,
            checkpoint=self.checkpoint,
        )
        return self

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        """The best labels of each text."""
        found: Predictions = self.model_.predict(X, top_k=top_k)
        return found
