"""Change a fitted tagger without starting over: further texts, new labels, fewer labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from multitudes.data import Dataset, LabelSpace, relabel
from multitudes.data.predictions.alignment import with_names
from multitudes.errors import ConfigError, DataError, UnknownFeaturesWarning
from multitudes.features.known_words import count_words
from multitudes.tagger.explanations import shortened
from multitudes.tagger.inputs import label_titles
from multitudes.tagger.prediction import Predictor, says_nothing
from multitudes.tagger.presets import names_of
from multitudes.tagger.reports.update_report import UpdateReport
from multitudes.types import (
    AddsLabels,
    FusesMembers,
    KeepsInstances,
    RemovesLabels,
    Sparse,
    TakesLabelTexts,
    Updates,
)

METHODS: dict[str, type] = {
    "partial_fit": Updates, "add_labels": AddsLabels, "remove_labels": RemovesLabels
}  # fmt: skip


def check_updatable(model: Any, method: str) -> None:
    """Refuse a model that lacks what is asked of it."""
    if not isinstance(model, METHODS[method]):
        names = names_of(lambda spec: spec.updates)
        raise ConfigError(
            f"{type(model).__name__} has no {method}: fit again on all data, or take {names}, "
            "which can be changed"
        )


def add_labels(
    predictor: Predictor,
    inputs: Any,
    dataset: Dataset | None,
    label_texts: Any,
    known: Sequence[str],
) -> tuple[str, ...]:
    """Add labels to a fitted model; return the names of all labels. See `Tagger.add_labels`.

    Parameters
    ----------
    predictor : Predictor
    inputs : sequence of str, or X, optional
        What the tagger reads of the dataset.
    dataset : Dataset, optional
        Instances that have new labels, and maybe known ones.
    label_texts : mapping of str to str, or sequence of str, optional
    known : sequence of str
        The labels that the tagger has.
    """
    model = predictor.model
    if isinstance(model, FusesMembers) and dataset is not None:
        new = new_names(dataset, known)
        check_new(new, described(label_texts), known)
        said = _texts_of_new(dataset, known) | dict(described(label_texts))
        texts = [said.get(name, name) for name in new]
        Y = relabel(dataset, LabelSpace((*known, *new))).Y
        model.add_labels(predictor.transform(inputs), Y, label_texts=texts)  # type: ignore[attr-defined]
        return (*known, *new)
    if isinstance(model, TakesLabelTexts) and not isinstance(model, FusesMembers):
        new, texts, examples = new_labels(dataset, described(label_texts), known)
        model.add_labels(texts, examples)  # type: ignore[attr-defined]
        return (*known, *new)
    if label_texts is not None or dataset is None:
        raise ConfigError(
            f"{type(model).__name__} learns new labels from texts that have them: "
            "pass texts and labels; label_texts are for text encoders such as prime"
        )
    names = (*known, *new_names(dataset, known))
    check_new(names[len(known) :], (), known)
    model.add_labels(predictor.transform(inputs), relabel(dataset, LabelSpace(names)).Y)
    return names


def new_labels(
    dataset: Dataset | None, label_texts: Mapping[str, str], known: Sequence[str]
) -> tuple[list[str], list[str], list[list[str]] | None]:
    """Return names, texts and examples of the new labels of a text encoder.

    Parameters
    ----------
    dataset : Dataset of texts, optional
        Examples; those of known labels are left out.
    label_texts : mapping of str to str
        Texts of labels by name.
    known : sequence of str
        The labels that the tagger has.
    """
    examples: dict[str, list[str]] = {}
    if dataset is not None and dataset.texts is not None:
        for row, text in enumerate(dataset.texts):
            for name in dataset.labels_of(row):
                examples.setdefault(name, []).append(text)
    new = sorted(set(label_texts).union(examples).difference(known))
    check_new(new, label_texts, known)
    texts = [label_texts.get(name, name) for name in new]
    return new, texts, [examples.get(name, []) for name in new] if examples else None


def known_matrix(dataset: Dataset, known: Sequence[str]) -> Sparse:
    """Return Y over the labels of a tagger; a new label is an error."""
    new = new_names(dataset, known)
    if new:
        raise DataError(
            f"{len(new):,} labels are new to this tagger, the first is {new[0]!r}: "
            "use add_labels, or leave them out"
        )
    return relabel(dataset, LabelSpace(known)).Y


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


def new_names(dataset: Dataset, known: Sequence[str]) -> list[str]:
    """Return the names of labels that instances have and a tagger does not know, sorted."""
    used = np.unique(dataset.Y.indices[dataset.Y.data > 0]).tolist()
    return sorted({dataset.label_name(label) for label in used}.difference(known))


class Changeable(Protocol):
    """What is needed of a `Tagger`, whose module imports this one."""

    model_: Any
    features_: Any
    classes_: tuple[str, ...]
    calibrated_: Any
    examples_: dict[int, str]
    titles_: dict[str, str]

    def check_fitted(self) -> None:
        """Raise an error if it has not been fitted."""

    def remove_labels(self, labels: Sequence[str]) -> Any:
        """Drop labels by name."""

    def _predictor(self) -> Predictor: ...

    def _inputs_of(self, dataset: Dataset) -> Any: ...


def update_tagger(
    tagger: Changeable, dataset: Dataset | None = None, *, remove: Sequence[str] = ()
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


def _learn(tagger: Changeable, dataset: Dataset) -> dict[str, Any]:
    """Learn from a Dataset; return the fields of an `UpdateReport` about it."""
    known, model, predictor = tagger.classes_, tagger.model_, tagger._predictor()
    dataset = with_names(dataset, known)
    labeled = dataset.take(np.flatnonzero(np.diff(dataset.Y.indptr)))
    texts = {}
    if isinstance(model, TakesLabelTexts) and not isinstance(model, FusesMembers):
        texts = _texts_of_new(dataset, known)  # an ensemble needs instances of new labels
    if not len(labeled) and not texts:
        raise DataError(
            f"there is nothing to learn from: none of the {len(dataset):,} instances has a label"
        )
    new = sorted({*texts, *new_names(labeled, known)})
    check_updatable(model, "add_labels" if new else "partial_fit")
    inputs, examples = tagger._inputs_of(labeled), labeled if _takes_examples(model) else None
    if examples is None:
        texts = {name: texts.get(name, name) for name in new}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownFeaturesWarning)  # the report says it
        if new:
            tagger.classes_ = add_labels(predictor, inputs, examples, texts or None, known)
            tagger.titles_ = {**tagger.titles_, **label_titles(dataset)}
        Y = relabel(labeled, LabelSpace(tagger.classes_)).Y
        X = predictor.transform(inputs)
        if isinstance(model, Updates) and len(labeled):
            model.partial_fit(X, Y)
            _keep_texts(tagger, labeled.texts)
    return {
        "n_instances": len(labeled),
        "n_assigned": int(Y.nnz),
        "n_without_labels": len(dataset) - len(labeled),
        "labels_added": tagger.classes_[len(known) :],
        "n_labels_untouched": len(known) - int(np.count_nonzero(np.unique(Y.indices) < len(known))),
        "words": None if labeled.texts is None else count_words(tagger.features_, labeled.texts),
        "n_unknown": int(np.count_nonzero(says_nothing(X))),
        "only_new_labels": not isinstance(model, Updates),
    }


def _texts_of_new(dataset: Dataset, known: Sequence[str]) -> dict[str, str]:
    """Return the texts of the labels that a Dataset describes and a tagger does not know."""
    there = set(known)
    pairs = zip(LabelSpace.of(dataset).names, dataset.label_texts or (), strict=False)
    return {name: text or name for name, text in pairs if name not in there}


def _takes_examples(model: Any) -> bool:
    """Return whether new labels are learned from texts that have them, not from their own alone."""
    prototypes = getattr(model, "prototypes", None)  # of a text encoder
    return prototypes is None or bool(prototypes.uses("centroid"))


def _keep_texts(tagger: Changeable, texts: Sequence[str] | None) -> None:
    """Keep the new texts if explanations of the model may refer to them, by row."""
    model = tagger.model_
    if texts is not None and isinstance(model, KeepsInstances) and model.instances_ is not None:
        first = len(tagger.examples_)
        more = {first + row: shortened(text) for row, text in enumerate(texts)}
        tagger.examples_ = {**tagger.examples_, **more}
