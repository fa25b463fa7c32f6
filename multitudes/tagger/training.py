"""Fit a model on a Dataset: over features or texts, from labels of instances or of groups."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from multitudes.data import Dataset, LabelSpace, relabel
from multitudes.data.predictions.alignment import over_names, with_names
from multitudes.errors import ConfigError, DataError, TrainingError
from multitudes.fusion.members import given_members
from multitudes.groups import Eagle
from multitudes.groups.grouped_dataset import features_of
from multitudes.linear.checkpoint import clear_used
from multitudes.linear.rehearsal import compile_ahead
from multitudes.linear.tree_estimator import TreeEstimator
from multitudes.scikit_learn import BaseEstimator, clone
from multitudes.tagger.inputs import texts_of_labels
from multitudes.tagger.prediction import inner_model, named_failures
from multitudes.tagger.reports.group_report import GroupReport
from multitudes.tagger.settings import set_where_known, settings_of
from multitudes.types import (
    FusesMembers,
    Model,
    MovesToDevice,
    Predictions,
    Sparse,
    TakesLabelTexts,
    TrainsInEpochs,
)

# Attribute of a fitted text model -> what its count means.
COUNTS = {
    "n_left_out_": "training texts without labels, from which nothing was learned",
    "n_empty_": "training texts without a word",
    "n_labels_without_text_": "labels without a word in their text",
    "n_labels_cut_": "training texts with more labels than were learned; network.n_steps says how "
    "many",
}


class TrainingData(NamedTuple):
    """What a model learns from.

    Parameters
    ----------
    dataset : Dataset
    grouped : (groups, group_labels), optional
        Of `groups_to_learn`, to learn from these instead of the labels of instances.
    validation : Dataset, optional
        Instances kept aside; labels are matched by name, and those not learned are left out.
    checkpoint : path, optional
        Folder from which a stopped training goes on.
    n_jobs : int, optional
    """

    dataset: Dataset
    grouped: tuple[Sparse, Sparse] | None = None
    validation: Dataset | None = None
    checkpoint: str | PathLike[str] | None = None
    n_jobs: int | None = None

    def texts_of_rows(self) -> Sequence[str] | None:
        """Return the text of each row that the model has seen; None if it learned from X."""
        texts = self.dataset.texts
        if texts is None or self.grouped is None:
            return texts
        in_group = np.flatnonzero(np.diff(self.grouped[0].indptr))  # Eagle leaves out the others
        return [texts[row] for row in in_group.tolist()]


def fit_model(model: Any, features: Any, data: TrainingData) -> tuple[Any, GroupReport | None]:
    """Fit features and model.

    Parameters
    ----------
    model : estimator
        An `Eagle` if `data.grouped` is there.
    features : feature estimator or None
        None for a model that reads texts.
    data : TrainingData

    Returns
    -------
    model : the fitted model; the one inside an Eagle
    report : GroupReport or None
        How labels of groups were assigned, if the model learned from these.
    """
    if features is None:
        return _fit_on_texts(model, data)
    dataset = data.dataset
    if data.checkpoint is not None:
        set_where_known(model, "checkpoint", data.checkpoint)
    if dataset.texts is not None and isinstance(inner_model(model), TreeEstimator):
        compile_ahead(from_texts=True)
    X = features.fit_transform(dataset.X if dataset.texts is None else dataset.texts)
    if data.grouped is None:
        return fitted(model, X, dataset.Y, **_names_for(model, dataset)), None
    eagle = fitted(model, X, *data.grouped)
    return eagle.model_, _report(eagle, data)


def fitted(model: Any, *data: Any, **arguments: Any) -> Any:
    """Return what ``fit`` returns, the model itself; an error names a model that is not ours."""
    with named_failures(model, "fit"):
        found = model.fit(*data, **arguments)
    if not isinstance(found, Model):
        who = type(inner_model(model))
        raise TrainingError(
            f"{who.__module__}.{who.__qualname__}.fit must return the model, got "
            f"{type(found).__name__}: end it with  return self"
        )
    return found


def _fit_on_texts(model: Any, data: TrainingData) -> tuple[Any, GroupReport | None]:
    dataset = data.dataset
    inside = model.model if data.grouped else model
    arguments = fit_arguments(inside, data)
    with threads_of(inside, data.n_jobs):
        if data.grouped is None:
            return fitted(inside, dataset.texts, dataset.Y, **arguments), None
        if data.checkpoint is not None and model.rounds:
            raise ConfigError(
                f"groups.rounds={model.rounds} trains many models, which one checkpoint cannot "
                "hold: leave out the checkpoint, or the rounds"
            )
        eagle: Eagle = model.set_params(model=TextLearner(inside, **arguments))
        vectors = features_of(dataset, n_jobs=data.n_jobs)
        fitted(eagle, dataset.texts, *data.grouped, features=vectors)
        return eagle.model_.model_, _report(eagle, data)


def fit_arguments(model: Any, data: TrainingData) -> dict[str, Any]:
    """Return what a model over texts learns from beside texts and Y, as far as it takes it."""
    arguments = _names_for(model, data.dataset)
    if isinstance(model, TakesLabelTexts):
        arguments["label_texts"] = texts_of_labels(data.dataset, needed=model.needs_label_texts)
    if isinstance(model, TrainsInEpochs):
        if data.validation is not None:
            arguments["validation"] = _kept_aside(data.validation, data.dataset)
        if data.checkpoint is not None:
            arguments["checkpoint"] = data.checkpoint
    elif data.checkpoint is not None:
        raise ConfigError(f"{type(model).__name__} keeps no checkpoint: leave it out")
    return arguments


def _names_for(model: Any, dataset: Dataset) -> dict[str, Any]:
    """Return the names of labels for an ensemble, whose members may know labels by name."""
    return {"label_names": LabelSpace.of(dataset).names} if is_ensemble(model) else {}


def is_ensemble(model: Any) -> bool:
    """Whether a model is made of others, which have features and labels of their own."""
    return isinstance(model, FusesMembers)


def with_labels_of_members(model: Any, dataset: Dataset) -> Dataset:
    """Return a Dataset over its labels and those that fitted members of an ensemble know."""
    if not is_ensemble(model):
        return dataset
    known = model.label_names_of_members()
    own = LabelSpace.of(dataset).names
    if not known or set(known) <= set(own):
        return dataset
    return relabel(with_names(dataset, own), LabelSpace(list(dict.fromkeys([*own, *known]))))


def _kept_aside(validation: Dataset, dataset: Dataset) -> tuple[Any, Sparse]:
    """Return (texts, Y) to validate on, over the labels that are learned."""
    if validation.texts is None:
        raise DataError(
            f"the model reads texts, and the validation data has features instead "
            f"({validation!r}): give its texts, or leave it out"
        )
    known = over_names(validation, LabelSpace.of(dataset).names)
    return known.texts, known.Y


def threads_of(model: Any, n_jobs: int | None) -> Any:
    """Return the context in which a model is trained: torch has its own number of threads."""
    models = [one.model for one in given_members(model.members)] if is_ensemble(model) else [model]
    if not any(isinstance(one, MovesToDevice) for one in models):
        return nullcontext()
    from multitudes.deep.devices import torch_threads

    return torch_threads(n_jobs)


def _report(eagle: Eagle, data: TrainingData) -> GroupReport:
    assert data.grouped is not None  # else there was no Eagle
    return GroupReport.of(data.dataset, *data.grouped, eagle.imputation_.Y)


class TextLearner(BaseEstimator):  # type: ignore[misc]
    """A model over texts as `Eagle` calls one: ``fit(texts, Y)``, on parts of the data.

    Parameters
    ----------
    model : estimator that `reads_texts`
        It stays unfitted.
    label_texts, validation, checkpoint : what `fit_arguments` returned
        None is not handed on.

    Attributes
    ----------
    model_ : fitted model
    """

    def __init__(
        self,
        model: Any,
        label_texts: tuple[str, ...] | None = None,
        validation: tuple[Any, Sparse] | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.model = model
        self.label_texts = label_texts
        self.validation = validation
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Sparse) -> Self:
        """Learn from texts and their labels."""
        names = ("label_texts", "validation", "checkpoint")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        self.model_ = fitted(clone(self.model), X, y, **given)
        return self

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        """Return the best labels of each text."""
        found: Predictions = self.model_.predict(X, top_k=top_k)
        return found


def clear_checkpoint(model: Any, folder: str | PathLike[str]) -> None:
    """Remove the checkpoint of a training that is over and whose model is saved."""
    if isinstance(model, TrainsInEpochs) and isinstance(model, MovesToDevice):
        from multitudes.deep.training import Checkpoint

        Checkpoint(folder).clear()
    else:
        clear_used(folder)


def training_notes(model: Any) -> list[str]:
    """Return sentences about a fitted model for the person who trained it; none for most models.

    They say which epoch was kept, and which texts could not be used as they are.
    """
    notes = []
    history: Any = getattr(model, "history_", None)
    best = getattr(history, "best", None)
    if best is not None:
        measured = ", ".join(f"{name} {100 * value:.2f}" for name, value in best.metrics.items())
        notes.append(f"kept epoch {best.epoch + 1} of {len(history.epochs)}: {measured}")
    if is_ensemble(model):
        notes.append(str(model.report_))
        notes += [f"{one.name}: {n}" for one in model.members_ for n in training_notes(one.model)]
    for attribute, meaning in COUNTS.items():
        count = getattr(model, attribute, 0)
        if count:
            notes.append(f"{count:,} {meaning}")
    n_cut = getattr(model, "n_cut_", 0)
    if n_cut:
        notes.append(f"{n_cut:,} texts were cut{_length_settings(model)}")
    return notes


def _length_settings(model: Any) -> str:
    """Say which settings of a model limit the length of texts, if any does."""
    names = [name for name in settings_of(model) if name.endswith("max_length")]
    return f"; {' and '.join(names)} {'say' if len(names) > 1 else 'says'} where" if names else ""
