"""Fit a model on a Dataset: over features or texts, from labels of instances or of groups."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from multitudes.data import Dataset, LabelSpace, relabel
from multitudes.errors import ConfigError, DataError
from multitudes.groups import Eagle
from multitudes.groups.grouped_dataset import features_of
from multitudes.tagger.group_report import GroupReport
from multitudes.tagger.label_texts import texts_of_labels
from multitudes.tagger.prototype_explanation import kept_texts
from multitudes.tagger.senses import typical_texts
from multitudes.tagger.settings import set_where_known
from multitudes.tagger.text_learner import TextLearner, reads_texts
from multitudes.types import Sparse


class Lesson(NamedTuple):
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

    def texts_to_show(self, model: Any) -> dict[int, str]:
        """Shortened texts that the fitted model refers to by row, for explanations."""
        texts = self.dataset.texts
        if texts is None:
            return {}
        if self.grouped is not None:  # Eagle leaves out instances that are in no group
            taught = np.flatnonzero(np.diff(self.grouped[0].indptr))
            texts = [texts[row] for row in taught.tolist()]
        return typical_texts(model, texts) or kept_texts(model, texts)


def learn(model: Any, features: Any, lesson: Lesson) -> tuple[Any, GroupReport | None]:
    """The fitted model, and how labels of groups were assigned if it learned from these.

    Parameters
    ----------
    model : estimator
        An `Eagle` if `lesson.grouped` is there.
    features : feature estimator or None
        None for a model that reads texts; it is fitted here.
    lesson : Lesson
    """
    if features is None:
        from multitudes.deep.devices import torch_threads

        with torch_threads(lesson.n_jobs):
            return _from_texts(model, lesson)
    dataset = lesson.dataset
    if lesson.checkpoint is not None:
        set_where_known(model, "checkpoint", lesson.checkpoint)
    X = features.fit_transform(dataset.X if dataset.texts is None else dataset.texts)
    if lesson.grouped is None:
        return model.fit(X, dataset.Y), None
    eagle = model.fit(X, *lesson.grouped)
    return eagle.model_, _report(eagle, lesson)


def clear_checkpoint(model: Any, folder: str | PathLike[str]) -> None:
    """Remove the checkpoint of a training that is over and whose model is saved.

    Models over features remove theirs themselves.
    """
    if reads_texts(model):
        from multitudes.deep.training import Checkpoint

        Checkpoint(folder).clear()


def _from_texts(model: Any, lesson: Lesson) -> tuple[Any, GroupReport | None]:
    dataset = lesson.dataset
    inside = model.model if lesson.grouped else model
    # What generates label sets learns what labels mean; an encoder compares their texts.
    label_texts = texts_of_labels(dataset, needed=not hasattr(inside, "predict_sets"))
    learner = TextLearner(inside, label_texts, _kept_aside(lesson), lesson.checkpoint)
    if lesson.grouped is None:
        return learner.fit(dataset.texts, dataset.Y).model_, None
    if lesson.checkpoint is not None and model.rounds:
        raise ConfigError(
            f"groups.rounds={model.rounds} trains many models, which one checkpoint cannot hold: "
            "leave out the checkpoint, or the rounds"
        )
    eagle: Eagle = model.set_params(model=learner)
    eagle.fit(dataset.texts, *lesson.grouped, features=features_of(dataset, n_jobs=lesson.n_jobs))
    return eagle.model_.model_, _report(eagle, lesson)


def _kept_aside(lesson: Lesson) -> tuple[Any, Sparse] | None:
    """(texts, Y) to validate on, over the labels that are learned."""
    if lesson.validation is None:
        return None
    if lesson.validation.texts is None:
        raise DataError(
            f"the model reads texts, and the validation data has features instead "
            f"({lesson.validation!r}): give its texts, or leave it out"
        )
    known = relabel(lesson.validation, LabelSpace.of(lesson.dataset))
    return known.texts, known.Y


def _report(eagle: Eagle, lesson: Lesson) -> GroupReport:
    assert lesson.grouped is not None  # else there was no Eagle
    return GroupReport.of(lesson.dataset, *lesson.grouped, eagle.imputation_.Y)
