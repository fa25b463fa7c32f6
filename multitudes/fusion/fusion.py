"""Fusion: what all ways of making one list of several have in common."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError, NotFittedError
from multitudes.fusion.lists import Lists, checked_lists
from multitudes.fusion.names import TextWords, checked_texts
from multitudes.scores.outcomes import Truth
from multitudes.types import FloatArray, IntArray, Predictions, Sparse
from multitudes.validation import checked_truth


class Fusion(ABC):
    """Learns from the predictions of several members for labeled instances how to fuse them.

    It knows no models: predictions may come from anywhere, as long as they are of instances that
    the members were not trained on.

    Attributes
    ----------
    n_members_, n_labels_ : int
    """

    fitted_attribute = "n_labels_"
    kind: ClassVar[str]

    def fit(
        self,
        predictions: Sequence[Predictions],
        Y: Truth,
        *,
        label_counts: npt.ArrayLike | None = None,
        texts: Sequence[str] | None = None,
        label_texts: Sequence[str] | None = None,
    ) -> Self:
        """Learn from instances that the members were not trained on.

        Parameters
        ----------
        predictions : sequence of Predictions
            One per member, over the same instances and labels; 50 labels of each or so.
        Y : sparse or dense 0/1 matrix (n_instances, n_labels)
        label_counts : array (n_labels,), optional
            How many training instances have each label.
        texts : sequence of str, optional
            The text of each instance, and
        label_texts : sequence of str, optional
            the name of each label: how many words they share says something too.
        """
        lists, truth = checked_lists(predictions), checked_truth(Y)
        if truth.shape != (len(lists), lists.n_labels):
            raise DataError(
                f"predictions are of {len(lists):,} instances and {lists.n_labels:,} labels, Y is "
                f"of {truth.shape[0]:,} and {truth.shape[1]:,}: they must be the same, in one order"
            )
        if not len(lists) or not any((one.labels >= 0).any() for one in lists.members):
            raise DataError("there is nothing to learn from: no instance has a predicted label")
        check_finite(lists)
        counts = checked_label_counts(label_counts, lists.n_labels)
        words = TextWords.of(texts, label_texts, n=len(lists), n_labels=lists.n_labels)
        self._learn(lists, truth, counts, words)
        self.n_members_, self.n_labels_ = len(lists.members), lists.n_labels
        return self

    def fuse(
        self,
        predictions: Sequence[Predictions],
        *,
        top_k: int | None = None,
        texts: Sequence[str] | None = None,
        n_jobs: int | None = None,
    ) -> Predictions:
        """Return one list for each instance.

        Parameters
        ----------
        predictions : sequence of Predictions
            Of the members that it was fitted on, in the same order.
        top_k : int, optional
            Labels kept per instance; defaults to as many as the longest list has.
        texts : sequence of str, optional
            Needed if it was fitted with texts.
        n_jobs : int, optional
            Threads; defaults to all cores.
        """
        if not hasattr(self, self.fitted_attribute):
            raise NotFittedError(f"this {type(self).__name__} has learned nothing: call fit first")
        lists = checked_lists(predictions)
        given = (len(lists.members), lists.n_labels)
        if given != (self.n_members_, self.n_labels_):
            raise DataError(
                f"this fusion is of {self.n_members_} members and {self.n_labels_:,} labels, got "
                f"predictions of {given[0]} and {given[1]:,}"
            )
        check_finite(lists)
        if texts is not None:
            texts = checked_texts(texts, len(lists))
        top_k = max(lists.widths) if top_k is None else top_k
        return self._fused(lists, texts, top_k=top_k, n_jobs=n_jobs)

    def unfitted(self) -> Self:
        """Return a fusion with the same settings that has learned nothing."""
        names = inspect.signature(type(self)).parameters
        return type(self)(**{name: getattr(self, name) for name in names})

    def __repr__(self) -> str:
        names = inspect.signature(type(self)).parameters
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def resized(
        self, kept: IntArray, counts: FloatArray, new_texts: Sequence[str] | None = None
    ) -> Self:
        """Return it for other labels.

        Parameters
        ----------
        kept : int64 array
            The labels that stay, which come first.
        counts : float32 array
            Uses of all labels, those that are new behind the others.
        new_texts : sequence of str, optional
            Their names.
        """

    @abstractmethod
    def _learn(
        self, lists: Lists, truth: Sparse, counts: FloatArray | None, words: TextWords | None
    ) -> None:
        """Learn from checked lists; counts are those of labels."""

    @abstractmethod
    def _fused(
        self, lists: Lists, texts: Sequence[str] | None, *, top_k: int, n_jobs: int | None
    ) -> Predictions:
        """Return one list for each instance."""

    @abstractmethod
    def shares(
        self,
        predictions: Sequence[Predictions],
        label: int,
        *,
        texts: Sequence[str] | None = None,
    ) -> list[float]:
        """Return what each member adds to the score of a label of one instance."""


def check_finite(lists: Lists) -> None:
    """Refuse scores of listed labels that are not finite."""
    from multitudes.scores.outcomes import check_numbers

    for one in lists.members:
        check_numbers(one)


def checked_label_counts(counts: npt.ArrayLike | None, n_labels: int) -> FloatArray | None:
    """Return how often each label was used, float32 (n_labels,)."""
    if counts is None:
        return None
    array: Any = np.asarray(counts)
    if array.shape != (n_labels,) or array.dtype.kind not in "iuf":
        raise DataError(
            f"label_counts must be a number for each of {n_labels:,} labels, got "
            f"{array.dtype} of shape {array.shape}"
        )
    found: FloatArray = array.astype(np.float32)
    if not np.isfinite(found).all() or (found < 0).any():
        raise DataError("label_counts must be finite numbers >= 0")
    return found
