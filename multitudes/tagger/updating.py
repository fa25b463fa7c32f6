"""Change a fitted tagger without starting over: further texts, new labels, fewer labels."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from multitudes.data import Dataset, LabelSpace, relabel
from multitudes.errors import ConfigError, DataError, UnknownFeaturesWarning
from multitudes.features.known_words import count_words
from multitudes.tagger.inputs import checked_row, label_matrix
from multitudes.tagger.prediction import Predictor, count
from multitudes.tagger.presets import names_of
from multitudes.tagger.update_report import UpdateReport
from multitudes.types import AddsLabels, RemovesLabels, TakesLabelTexts, Updates

if TYPE_CHECKING:
    from multitudes.tagger.tagger import Tagger

METHODS: dict[str, type] = {
    "partial_fit": Updates, "add_labels": AddsLabels, "remove_labels": RemovesLabels
}  # fmt: skip


def check_updatable(model: Any, method: str) -> None:
    """Refuse a model that lacks what is asked of it."""
    if not isinstance(model, METHODS[method]):
        names = names_of(lambda spec: spec.updates)
        raise ConfigError(
            f"{type(model).__name__} has no {method}: fit again on all data, or take {names} "
            "without overlap, which can be changed"
        )


def add_labels(
    predictor: Predictor, inputs: Any, labels: Any, label_texts: Any, known: Sequence[str]
) -> tuple[str, ...]:
    """Add labels to a fitted model; return the names of all labels. See `Tagger.add_labels`."""
    model, takes_texts = predictor.model, isinstance(predictor.model, TakesLabelTexts)
    if takes_texts:
        new, texts, examples = new_labels(inputs, labels, described(label_texts), known)
        model.add_labels(texts, examples)
        return (*known, *new)
    if label_texts is not None or inputs is None or labels is None:
        raise ConfigError(
            f"{type(model).__name__} learns new labels from texts that have them: "
            "pass texts and labels; label_texts are for text encoders such as prime"
        )
    Y, names = grown_label_matrix(inputs, labels, known)
    model.add_labels(predictor.transform(inputs), Y)
    return tuple(names)


def new_labels(
    inputs: Any, labels: Any, label_texts: Mapping[str, str], known: Sequence[str]
) -> tuple[list[str], list[str], list[list[str]] | None]:
    """Return names, texts and examples of the new labels of a text encoder.

    Parameters
    ----------
    inputs, labels : texts and a list of label names for each, or None
        Examples; those of known labels are left out.
    label_texts : mapping of str to str
        Texts of labels by name.
    known : sequence of str
        The labels that the tagger has.
    """
    if (inputs is None) != (labels is None):
        raise DataError("examples are texts and their labels: give both, or neither")
    examples: dict[str, list[str]] = {}
    if inputs is not None:
        check_lengths(inputs, labels)
        for text, row in zip(inputs, labels, strict=True):
            for name in checked_row(row, "labels"):
                examples.setdefault(name, []).append(text)
    new = sorted(set(label_texts).union(examples).difference(known))
    check_new(new, label_texts, known)
    texts = [label_texts.get(name, name) for name in new]
    return new, texts, [examples.get(name, []) for name in new] if examples else None


def known_label_matrix(
    inputs: Any, labels: Sequence[Sequence[str]], known: Sequence[str]
) -> sp.csr_array[Any]:
    """Return Y over the labels of a tagger; a new label is an error."""
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
    """Return Y over the labels of a tagger and, after them, the new ones in alphabetical order."""
    check_lengths(inputs, labels)
    new = new_names(labels, known)
    check_new(new, (), known)
    return label_matrix(labels, [*known, *new])


def described(label_texts: Mapping[str, str] | Sequence[str] | None) -> Mapping[str, str]:
    """Return texts by name; a name alone is its own text."""
    if isinstance(label_texts, str):
        raise DataError("label_texts are several labels, got one str: write [label]")
    if isinstance(label_texts, Mapping):
        return label_texts
    return {name: name for name in label_texts or ()}


def check_new(new: Sequence[str], named: Iterable[str], known: Sequence[str]) -> None:
    """Refuse to add nothing, or a label by name (`named`) that the tagger has already."""
    old = set(known).intersection(named)
    if old:
        raise DataError(f"label {min(old)!r} is there already: leave it out of label_texts")
    if not new:
        raise DataError(
            f"none of the labels is new: the tagger already has all of them among its "
            f"{len(known):,}; to learn from further texts use partial_fit"
        )


def new_names(labels: Sequence[Sequence[str]], known: Sequence[str]) -> list[str]:
    """Return the names that a tagger does not know, sorted."""
    _, names = label_matrix(labels, None)  # checks that they are lists of str
    return sorted(set(names).difference(known))


def check_lengths(inputs: Any, labels: Any) -> None:
    """Refuse anything but one list of labels for each text, or row of X."""
    if sp.issparse(labels):
        raise DataError("labels must be a list of label names for each text, got a matrix")
    n = count(inputs)
    if n != len(labels):
        raise DataError(
            f"there must be one list of labels per text, got {n:,} texts and {len(labels):,} lists"
        )


def update_tagger(
    tagger: Tagger, dataset: Dataset | None = None, *, remove: Sequence[str] = ()
) -> UpdateReport:
    """Change a fitted tagger: learn from new instances and labels, and forget labels.

    Labels are matched by name. Those that are new, and that an instance has, are added, in
    alphabetical order behind the others; a text encoder also adds labels that the data merely
    describes. Then the model learns from all instances, if it can.

    Parameters
    ----------
    tagger : Tagger
        Changed in place; its calibration is discarded.
    dataset : Dataset, optional
        New instances; those without labels are left out.
    remove : sequence of str
        Names of labels to forget, before anything is learned.

    Returns
    -------
    UpdateReport
    """
    tagger.check_fitted()
    was_calibrated = tagger.calibrated_ is not None
    if remove:
        tagger.remove_labels(remove)
    changes: dict[str, Any] = {}
    if dataset is not None:
        changes = _learn(tagger, dataset)
    elif not remove:
        raise DataError("there is nothing to update: give new instances, or labels to remove")
    tagger.calibrated_ = None
    return UpdateReport(
        labels_removed=tuple(dict.fromkeys(remove)),
        n_labels=len(tagger.classes_),
        calibration_lost=was_calibrated,
        **changes,
    )


def _learn(tagger: Tagger, dataset: Dataset) -> dict[str, Any]:
    """Learn from a Dataset; return the fields of an `UpdateReport` about it."""
    known, model = tagger.classes_, tagger.model_
    takes_texts = isinstance(model, TakesLabelTexts)
    new = _new_labels(dataset, known, described=takes_texts)
    if dataset.label_names is None:
        dataset = dataclasses.replace(dataset, label_names=LabelSpace.of(dataset).names)
    labeled = relabel(dataset, LabelSpace((*known, *new)))
    labeled = labeled.take(np.flatnonzero(np.diff(labeled.Y.indptr)))
    if not len(labeled) and not new:
        raise DataError(
            f"there is nothing to learn from: none of the {len(dataset):,} instances has a label"
        )
    check_updatable(model, "add_labels" if new else "partial_fit")
    inputs = tagger._inputs_of(labeled)
    X = tagger._predictor().transform(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownFeaturesWarning)  # the report says it
        if new and takes_texts:
            model.add_labels(_texts_of(new, dataset), _examples(X, labeled.Y, len(known)))
        elif new:
            model.add_labels(X, labeled.Y)
        tagger.classes_ = (*known, *new)
        if isinstance(model, Updates):
            model.partial_fit(X, labeled.Y)
    touched = np.unique(labeled.Y.indices)
    return {
        "n_instances": len(labeled),
        "n_assigned": int(labeled.Y.nnz),
        "n_without_labels": len(dataset) - len(labeled),
        "labels_added": tuple(new),
        "n_labels_untouched": len(known) - int(np.count_nonzero(touched < len(known))),
        "words": None if labeled.texts is None else count_words(tagger.features_, labeled.texts),
        "n_unknown": int((np.diff(X.indptr) == 0).sum()) if sp.issparse(X) else 0,
        "only_new_labels": not isinstance(model, Updates),
    }


def _new_labels(dataset: Dataset, known: Sequence[str], *, described: bool) -> list[str]:
    """Return the names of labels that are new: those of instances, or all that are `described`.

    They are sorted; labels that are mere numbers keep their order.
    """
    names, there = LabelSpace.of(dataset).names, set(known)
    found = range(len(names))
    if not described or dataset.label_texts is None:
        found = np.unique(dataset.Y.indices).tolist()
    new = [names[label] for label in found if names[label] not in there]
    return new if dataset.label_names is None else sorted(new)


def _texts_of(names: Sequence[str], dataset: Dataset) -> list[str]:
    """Return the text of each label; its name if it has none."""
    listed = LabelSpace.of(dataset)
    texts = dict(zip(listed.names, listed.texts or listed.names, strict=True))
    return [texts[name] or name for name in names]


def _examples(texts: Sequence[str], Y: Any, first: int) -> list[list[str]]:
    """Return the texts of each label from the id `first` on."""
    by_label = sp.csc_array(Y)
    ends = by_label.indptr.tolist()
    rows = [by_label.indices[ends[i] : ends[i + 1]].tolist() for i in range(first, Y.shape[1])]
    return [[texts[row] for row in some] for some in rows]
