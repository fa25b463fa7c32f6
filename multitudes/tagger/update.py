"""Change a fitted tagger without starting over: further texts, new labels, fewer labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import scipy.sparse as sp

from multitudes import progress
from multitudes.errors import ConfigError, DataError
from multitudes.tagger.label_lists import checked_row, label_matrix


class Updates:
    """The part of `Tagger` that changes what was learned."""

    model_: Any
    features_: Any
    labels_: tuple[str, ...]
    calibrated_: Any
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
        self.calibrated_ = None  # other scores, other probabilities
        return self

    def add_labels(
        self,
        texts: Any = None,
        labels: Sequence[Sequence[str]] | None = None,
        *,
        label_texts: Mapping[str, str] | Sequence[str] | None = None,
    ) -> Self:
        """Add the labels that are new, without training the others again.

        New names are appended to `labels_`, in alphabetical order.

        Parameters
        ----------
        texts, labels : sequence of str (or X), and a list of label names for each
            Texts that have the new labels; a model over features needs them. Known labels may
            appear too: their texts are what new labels are told apart from.
        label_texts : mapping of str to str, or sequence of str
            New labels for a text encoder, which needs nothing but their description: texts by name,
            or names that say enough. `texts` with these labels are examples, and help.
        """
        self._check_fitted()
        check_updatable(self.model_, "add_labels")
        if self.features_ is None:
            return self._add_described(texts, labels, described(label_texts))
        if label_texts is not None or texts is None or labels is None:
            raise ConfigError(
                f"{type(self.model_).__name__} learns new labels from texts that have them: pass "
                "texts and labels; label_texts are for text encoders such as prime"
            )
        inputs = self._checked_inputs(texts)
        Y, names = grown_label_matrix(inputs, labels, self.labels_)
        with progress.shown(self.verbose):
            self.model_.add_labels(self.features_.transform(inputs), Y)
        self.labels_, self.calibrated_ = tuple(names), None
        return self

    def _add_described(self, texts: Any, labels: Any, label_texts: Mapping[str, str]) -> Self:
        """New labels of a text encoder."""
        if (texts is None) != (labels is None):
            raise DataError("examples are texts and their labels: give both, or neither")
        examples: dict[str, list[str]] = {}
        if texts is not None:
            inputs = self._checked_inputs(texts)
            check_lengths(inputs, labels)
            for text, row in zip(inputs, labels, strict=True):
                for name in checked_row(row, "labels"):
                    examples.setdefault(name, []).append(text)
        new = sorted(set(label_texts).union(examples).difference(self.labels_))
        check_new(new, label_texts, self.labels_)
        with progress.shown(self.verbose):
            self.model_.add_labels(
                [label_texts.get(name, name) for name in new],
                [examples.get(name, []) for name in new] if examples else None,
            )
        self.labels_, self.calibrated_ = (*self.labels_, *new), None
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
        self.calibrated_ = None
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
    check_new(new, (), known)
    return label_matrix(labels, [*known, *new])


def described(label_texts: Mapping[str, str] | Sequence[str] | None) -> Mapping[str, str]:
    """Texts by name; a name alone is its own text."""
    if isinstance(label_texts, str):
        raise DataError("label_texts are several labels, got one str: write [label]")
    if isinstance(label_texts, Mapping):
        return label_texts
    return {name: name for name in label_texts or ()}


def check_new(new: Sequence[str], named: Iterable[str], known: Sequence[str]) -> None:
    """Refuse to add nothing, or a label by name (`named`) that is there already."""
    there = set(known).intersection(named)
    if there:
        raise DataError(f"label {min(there)!r} is there already: leave it out of label_texts")
    if not new:
        raise DataError(
            f"none of the labels is new: the tagger already has all of them among its "
            f"{len(known):,}; to learn from further texts use partial_fit"
        )


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
