"""Change a fitted tagger without starting over: further texts, new labels, fewer labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import scipy.sparse as sp

from multitudes import progress
from multitudes.errors import ConfigError, DataError
from multitudes.tagger.label_lists import label_matrix


class Updates:
    """The part of `Tagger` that changes what was learned."""

    model_: Any
    features_: Any
    labels_: tuple[str, ...]
    verbose: bool

    def partial_fit(self, texts: Any, labels: Sequence[Sequence[str]]) -> Self:
        """Learn from further texts (or rows of X) of known labels; a first call is `fit`.

        Words that no text had when the tagger was fitted stay unknown.
        """
        if not hasattr(self, "model_"):
            return self.fit(texts, labels)
        check_updatable(self.model_, "partial_fit")
        inputs = self._checked_inputs(texts)
        Y = known_label_matrix(inputs, labels, self.labels_)
        with progress.shown(self.verbose):
            self.model_.partial_fit(self.features_.transform(inputs), Y)
        return self

    def add_labels(self, texts: Any, labels: Sequence[Sequence[str]]) -> Self:
        """Add the labels that are new, without training the others again.

        Known labels may appear too: their texts are what new labels are told apart from. New names
        are appended to `labels_`, in alphabetical order.
        """
        self._check_fitted()
        check_updatable(self.model_, "add_labels")
        inputs = self._checked_inputs(texts)
        Y, names = grown_label_matrix(inputs, labels, self.labels_)
        with progress.shown(self.verbose):
            self.model_.add_labels(self.features_.transform(inputs), Y)
        self.labels_ = tuple(names)
        return self

    def remove_labels(self, labels: Sequence[str]) -> Self:
        """Drop labels by name; the others keep their order."""
        self._check_fitted()
        check_updatable(self.model_, "remove_labels")
        if isinstance(labels, str):
            raise DataError("remove_labels takes a list of label names, got one str: write [label]")
        dropped = {self._label_id(label) for label in labels}
        self.model_.remove_labels(sorted(dropped))
        self.labels_ = tuple(name for i, name in enumerate(self.labels_) if i not in dropped)
        return self

    if TYPE_CHECKING:  # of Tagger

        def fit(self, texts: Any, labels: Any) -> Self:
            """See `Tagger.fit`."""

        def _checked_inputs(self, texts: Any) -> Any: ...
        def _check_fitted(self) -> None: ...
        def _label_id(self, label: str) -> int: ...


def check_updatable(model: Any, method: str) -> None:
    """Refuse a model that cannot do what is asked of it."""
    if not hasattr(model, method):
        raise ConfigError(
            f"{type(model).__name__} has no {method}: fit again on all data, or take xr-linear, "
            "parabel or one-vs-all without overlap, which can be changed"
        )


def known_label_matrix(
    inputs: Any, labels: Sequence[Sequence[str]], known: Sequence[str]
) -> sp.csr_array[Any]:
    """Y over the labels of a tagger; a new label is an error."""
    check_lengths(inputs, labels)
    new = new_names(labels, known)
    if new:
        raise DataError(
            f"{len(new):,} labels are new to this tagger, the first is {new[0]!r}: "
            "use add_labels, or leave them out"
        )
    return label_matrix(labels, known)[0]


def grown_label_matrix(
    inputs: Any, labels: Sequence[Sequence[str]], known: Sequence[str]
) -> tuple[sp.csr_array[Any], list[str]]:
    """Y over the labels of a tagger and, after them, the new ones in alphabetical order."""
    check_lengths(inputs, labels)
    new = new_names(labels, known)
    if not new:
        raise DataError(
            f"none of the labels is new: the tagger already has all of them among its "
            f"{len(known):,}; to learn from further texts use partial_fit"
        )
    return label_matrix(labels, [*known, *new])


def new_names(labels: Sequence[Sequence[str]], known: Sequence[str]) -> list[str]:
    """Names that a tagger does not know, sorted."""
    _, names = label_matrix(labels, None)  # checks that they are lists of str
    return sorted(set(names).difference(known))


def check_lengths(inputs: Any, labels: Any) -> None:
    """One list of labels for each text, or row of X."""
    if sp.issparse(labels):
        raise DataError("labels must be a list of label names for each text, got a matrix")
    n = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
    if n != len(labels):
        raise DataError(
            f"there must be one list of labels per text, got {n:,} texts and {len(labels):,} lists"
        )
