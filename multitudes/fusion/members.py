"""Members of an ensemble: models over their own features, and their own labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitudes.data import Dataset
from multitudes.errors import ConfigError, DataError, MultitudesError
from multitudes.features import DenseFeatures, PassThrough, TfidfFeatures
from multitudes.fusion.reference import Reference
from multitudes.scikit_learn import clone
from multitudes.types import (
    NO_LABEL,
    NO_SCORE,
    IntArray,
    Model,
    Predictions,
    Sparse,
    TakesLabelTexts,
)


class Given(NamedTuple):
    """A member as it was given.

    Attributes
    ----------
    name : str
    model : estimator
        A tagger if `is_tagger`.
    features : feature estimator or None
        None for a model without features of its own.
    is_tagger, is_fitted : bool
    """

    name: str
    model: Any
    features: Any
    is_tagger: bool
    is_fitted: bool

    @property
    def reads_texts(self) -> bool:
        """Whether it needs texts: a model over texts, or features that are made of texts."""
        if self.is_tagger:
            return bool(getattr(self.model, "takes_texts_", True))
        if self.features is not None:
            return not isinstance(self.features, (PassThrough, DenseFeatures))
        return bool(getattr(self.model, "reads_texts", False))


@dataclass(frozen=True)
class Member:
    """A fitted member.

    Parameters
    ----------
    name : str
    model : fitted model
    features : fitted features or None
        None for a model that reads what the ensemble is given.
    label_map : int64 array (labels of the model,), optional
        The ensemble's id of each of its labels, -1 for one that was removed; None if they are the
        same.
    source : Reference, optional
        The folder that model and features lie in, for an ensemble that is to refer to it.
    """

    name: str
    model: Any
    features: Any = None
    label_map: IntArray | None = None
    source: Reference | None = None

    def read(self, inputs: Any, made: dict[int, Any] | None = None) -> Any:
        """Return what the model reads: X, or the texts themselves.

        Parameters
        ----------
        inputs : sequence of str, or X
        made : dict, optional
            What features that members share have made of these inputs already.
        """
        if self.features is None:
            return inputs
        if made is None:
            return self.features.transform(inputs)
        if id(self.features) not in made:
            made[id(self.features)] = self.features.transform(inputs)
        return made[id(self.features)]

    def candidates(self, read: Any, *, top_k: int, n_labels: int) -> Predictions:
        """Return its best labels of each instance, over the labels of the ensemble.

        Parameters
        ----------
        read : what `read` returned
        top_k, n_labels : int
        """
        found = self.model.predict(read, top_k=top_k)
        if not isinstance(found, Predictions):
            raise MultitudesError(
                f"the member {self.name!r} must return multitudes.types.Predictions, got "
                f"{type(found).__name__}"
            )
        return self.mapped(found, n_labels)

    def mapped(self, found: Predictions, n_labels: int) -> Predictions:
        """Return predictions over the labels of the ensemble."""
        n_own = n_labels if self.label_map is None else len(self.label_map)
        if found.n_labels != n_own:
            raise MultitudesError(
                f"the member {self.name!r} predicts among {found.n_labels:,} labels, not {n_own:,}"
            )
        if self.label_map is None:
            return found
        labels = np.append(self.label_map, NO_LABEL)[found.labels].astype(np.int32)
        gone = (labels == NO_LABEL) & (found.labels != NO_LABEL)
        if not gone.any():
            return Predictions(labels, found.scores, n_labels)
        order = np.argsort(labels == NO_LABEL, axis=1, kind="stable")  # gaps go last
        scores = np.where(labels == NO_LABEL, np.float32(NO_SCORE), found.scores)
        kept = np.take_along_axis(labels, order, axis=1)
        return Predictions(kept, np.take_along_axis(scores, order, axis=1), n_labels)

    def knows(self, n_labels: int) -> npt.NDArray[np.bool_]:
        """Return which of the ensemble's labels it knows, bool (n_labels,)."""
        known = np.zeros(n_labels + 1, bool)  # the last place is that of -1
        known[np.arange(n_labels) if self.label_map is None else self.label_map] = True
        return known[:-1]

    def own_label(self, label: int) -> int | None:
        """Return the member's id of one of the ensemble's labels; None if it does not know it."""
        if self.label_map is None:
            return label
        found = np.flatnonzero(self.label_map == label)
        return int(found[0]) if len(found) else None

    def own_labels(self, Y: Sparse) -> Sparse:
        """Return labels of instances over those of the member, CSR (n_instances, its labels)."""
        if self.label_map is None:
            return Y
        known = np.flatnonzero(self.label_map >= 0)
        shape = (Y.shape[1], len(self.label_map))
        pick = type(Y)((np.ones(len(known), np.float32), (self.label_map[known], known)), shape)
        return (Y @ pick).tocsr()

    def with_model(self, model: Any) -> Member:
        """Return the member with another model."""
        return replace(self, model=model, source=None)


# ------------------------------------------------------------------ what users give


def given_members(members: Any) -> list[Given]:
    """Return members in any of their forms, each with a name of its own.

    Raises
    ------
    ConfigError
        If there are none, one is not a model, or two have one name.
    """
    if isinstance(members, Mapping):
        members = list(members.items())
    if isinstance(members, str) or not isinstance(members, Sequence) or not len(members):
        raise ConfigError(
            "members must be a list of models, pairs (features, model), taggers, or pairs "
            f"(name, one of these), at least one, got {members!r:.100}"
        )
    found = [_given(member, number) for number, member in enumerate(members)]
    names: dict[str, int] = {}
    distinct = []
    for one, member in zip(found, members, strict=True):
        names[one.name] = count = names.get(one.name, 0) + 1
        if count > 1 and _is_named(member):
            raise ConfigError(f"two members are called {one.name!r}: give each a name of its own")
        distinct.append(one if count == 1 else one._replace(name=f"{one.name} {count}"))
    return distinct


def _is_named(member: Any) -> bool:
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)


def _given(member: Any, number: int) -> Given:
    name: str | None = None
    if _is_named(member):
        name, member = member
    features = None
    if isinstance(member, tuple) and len(member) == 2:
        features, member = member
        if not hasattr(features, "fit_transform") and not hasattr(features, "transform"):
            raise ConfigError(f"members[{number}]: {features!r:.80} are not features")
    if isinstance(member, type) or not isinstance(member, Model):
        raise ConfigError(
            f"members[{number}] must be a model, a pair (features, model) or a tagger, got "
            f"{member!r:.80}"
        )
    model: Any = member
    is_tagger = hasattr(model, "predict_ids") and hasattr(model, "features")
    if is_tagger and features is not None:
        raise ConfigError(f"members[{number}]: a tagger has features of its own: leave them out")
    called = model.model if is_tagger and isinstance(model.model, str) else _class_name(model)
    return Given(name or called, model, features, is_tagger, _is_fitted(model))


def _class_name(model: Any) -> str:
    inside = getattr(model, "model", None)
    own = type(model).__name__
    return own if inside is None or isinstance(inside, str) else f"{own}({type(inside).__name__})"


def _is_fitted(model: Any) -> bool:
    ask = getattr(model, "__sklearn_is_fitted__", None)
    if ask is not None:
        return bool(ask())
    return any(key.endswith("_") and not key.startswith("_") for key in vars(model))


# ------------------------------------------------------------------ fitting


class Learning(NamedTuple):
    """What members learn from.

    Attributes
    ----------
    inputs : sequence of str, or X
    Y : CSR (n_instances, n_labels)
    label_texts, label_names : sequence of str or None
    is_texts : bool
    """

    inputs: Any
    Y: Sparse
    label_texts: Sequence[str] | None
    label_names: Sequence[str] | None
    is_texts: bool

    def take(self, rows: IntArray) -> Learning:
        """Return some instances."""
        return self._replace(inputs=self.rows(rows), Y=self.Y[rows])

    def rows(self, rows: IntArray) -> Any:
        """Return the inputs of some instances."""
        return [self.inputs[row] for row in rows.tolist()] if self.is_texts else self.inputs[rows]


def fitted_members(given: Sequence[Given], data: Learning, *, n_jobs: int | None) -> list[Member]:
    """Return all members fitted; those that are already, as they are.

    Members without features of their own share one TF-IDF if the ensemble reads texts.
    """
    shared = _Shared(data)
    return [
        adopted(one, data.label_names, data.Y.shape[1])
        if one.is_fitted
        else _fitted(one, data, shared, n_jobs)
        for one in given
    ]


class _Shared:
    """Features that several members have in common, fitted once on the same texts."""

    def __init__(self, data: Learning) -> None:
        self.data = data
        self.made: dict[Any, tuple[Any, Any]] = {}

    def fitted(self, features: Any, n_jobs: int | None) -> tuple[Any, Any]:
        """Return fitted features, and what they make of the inputs."""
        key = 0 if features is None else id(features)
        if key not in self.made:
            own = TfidfFeatures() if features is None else clone(features, safe=False)
            set_jobs(own, n_jobs)
            self.made[key] = own, own.fit_transform(self.data.inputs)
        return self.made[key]


def _fitted(one: Given, data: Learning, shared: _Shared, n_jobs: int | None) -> Member:
    model = clone(one.model)
    set_jobs(model, n_jobs)
    if one.is_tagger:
        inputs = {"texts": data.inputs} if data.is_texts else {"X": data.inputs}
        names, texts = data.label_names, data.label_texts
        model.fit(Dataset(Y=data.Y, label_names=names, label_texts=texts, **inputs))
        return Member(one.name, model.model_, model.features_)
    if one.features is None and (one.reads_texts or not data.is_texts):
        arguments = {}
        if isinstance(model, TakesLabelTexts):
            arguments["label_texts"] = needed_texts(model, data.label_texts, one.name)
        return Member(one.name, model.fit(data.inputs, data.Y, **arguments))
    features, X = shared.fitted(one.features, n_jobs)
    return Member(one.name, model.fit(X, data.Y), features)


def needed_texts(model: Any, texts: Sequence[str] | None, name: str) -> Sequence[str] | None:
    """Return the texts of labels, which some models cannot do without."""
    if texts is None and model.needs_label_texts:
        raise DataError(f"the member {name!r} reads the texts of labels: give label_texts")
    return texts


def set_jobs(estimator: Any, n_jobs: int | None) -> None:
    """Set the threads of an estimator, if it has such a setting and a number is given."""
    if n_jobs is not None and "n_jobs" in getattr(estimator, "get_params", dict)():
        estimator.set_params(n_jobs=n_jobs)


def adopted(one: Given, names: Sequence[str] | None, n_labels: int) -> Member:
    """Return a fitted member as it is, its labels matched with those of the ensemble by name.

    Models are copied, so that what the ensemble learns later does not change them.
    """
    if not one.is_tagger:
        own = getattr(one.model, "n_labels_", n_labels)
        if own != n_labels:
            raise DataError(
                f"the member {one.name!r} was fitted on {own:,} labels, and there are "
                f"{n_labels:,}: their ids must be the same, or give a Tagger, which knows names"
            )
        return Member(one.name, copy(one.model), one.features)
    tagger = one.model
    if names is None:
        if len(tagger.classes_) != n_labels:
            raise DataError(
                f"the member {one.name!r} knows {len(tagger.classes_):,} labels by name, and there "
                f"are {n_labels:,}: give label_names, the name of each column of y"
            )
        return Member(one.name, copy(tagger.model_), tagger.features_)
    ids = {name: number for number, name in enumerate(names)}
    found = np.array([ids.get(name, NO_LABEL) for name in tagger.classes_], np.int64)
    is_same = len(found) == n_labels and bool((found == np.arange(n_labels)).all())
    return Member(one.name, copy(tagger.model_), tagger.features_, None if is_same else found)
