"""Ensembles by name: "xr-linear,parabel,xr-linear@chars" as an `Ensemble`; taggers fused as one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from multitudes.data import Dataset, LabelSpace
from multitudes.data.predictions.alignment import over_names
from multitudes.errors import ConfigError, DataError, suggestion
from multitudes.features import PassThrough
from multitudes.fusion import Ensemble, Fusion
from multitudes.fusion.reference import Reference
from multitudes.models import model_names, model_spec
from multitudes.progress import say
from multitudes.scores import Calibrated
from multitudes.tagger.inputs import inputs_of, texts_of_labels
from multitudes.tagger.presets import OVERLAP, default_features, make_model, named_features
from multitudes.tagger.settings import apply_settings, set_where_known

if TYPE_CHECKING:
    from multitudes.tagger.tagger import Tagger

AT = "@"
"""Between the name of a model and those of its features."""


def named_members(
    names: Sequence[str],
    *,
    settings: Mapping[str, Any] | None = None,
    overlap: int | None = None,
    random_state: int = 0,
) -> list[tuple[str, Any]]:
    """Return members of an ensemble by name, unfitted, as `Ensemble` takes them.

    Parameters
    ----------
    names : sequence of str
        A model, or a model and its features: "parabel", "xr-linear@chars". Members whose features
        have one name share them.
    settings : mapping, optional
        Settings of a member under its name: ``{"parabel.n_trees": 5}``.
    overlap : int, optional
        Leaves of a label at most, of all members that have leaves.
    random_state : int
    """
    names = [name.strip() for name in names]
    given = dict(settings or {})
    shared: dict[str, Any] = {}
    members = []
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the member {name!r} is there twice: name each once")
        own = _settings_of(name, given)
        members.append((name, _member(name, own, overlap, random_state, shared)))
    return members


def is_of_member(setting: str, names: Sequence[str]) -> bool:
    """Whether a setting is that of a member: its name begins with that of the member."""
    return any(setting.startswith(f"{name.strip()}.") for name in names)


def _settings_of(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key.removeprefix(f"{name}."): value
        for key, value in settings.items()
        if key.startswith(f"{name}.")
    }


def _member(
    name: str,
    settings: Mapping[str, Any],
    overlap: int | None,
    random_state: int,
    shared: dict[str, Any],
) -> Any:
    model_name, _, features_name = name.partition(AT)
    if model_name not in model_names():
        near = suggestion(model_name, model_names())
        raise ConfigError(f"there is no model {model_name!r} for a member: {near}")
    spec = model_spec(model_name)
    settings = dict(settings)
    if overlap is not None and spec.has_leaves:
        settings.setdefault(OVERLAP, overlap)
    model, settings = make_model(model_name, settings)
    set_where_known(model, "random_state", random_state)
    if spec.reads == "texts":
        if features_name:
            raise ConfigError(f"the member {name!r}: {model_name} reads texts, without features")
        apply_settings(model, None, settings)
        return model
    own = any(key.startswith("features.") for key in settings)
    key = name if own else features_name or repr(sorted(spec.features.items()))
    if key not in shared:
        shared[key] = named_features(features_name) if features_name else default_features(spec)
    apply_settings(model, shared[key], settings)
    return shared[key], model


def fused_tagger(
    taggers: Mapping[str, Tagger],
    dataset: Dataset | None = None,
    *,
    fusion: str | Fusion = "auto",
    weights: Sequence[float] | None = None,
    train: Dataset | None = None,
    references: Mapping[str, Reference] | None = None,
) -> Tagger:
    """Return fitted taggers as one, over all labels that any of them knows.

    Parameters
    ----------
    taggers : mapping of str to Tagger
        By the names they get as members.
    dataset : Dataset, optional
        Labeled data that none of them was trained on, to learn the fusion from; without it, they
        are fused by rank.
    fusion : str or Fusion
        See `Ensemble`.
    weights : sequence of float, optional
        How much each counts, without a dataset; defaults to the same for all.
    train : Dataset, optional
        What they were trained on, if it is at hand: how often labels are used there is what
        members can be weighed by.
    references : mapping of str to Reference, optional
        The folders that they were loaded from, to which the new one is to refer when it is saved;
        by default it holds copies.
    """
    from multitudes.tagger.tagger import Tagger

    if len({tagger.takes_texts_ for tagger in taggers.values()}) != 1:
        raise ConfigError("some of the models read texts and others features X: fuse one kind")
    ensemble, calibrated = Ensemble(list(taggers.items()), fusion=fusion), None
    first, names = next(iter(taggers.values())), ensemble.label_names_of_members()
    if dataset is None:
        ensemble.join(len(names), label_names=names, weights=weights)
    else:
        known = over_names(dataset, names)  # labels that no member knows cannot be found
        calibrated = _fit_fusion(ensemble, known, train, taggers.values())
    if references is not None:
        ensemble.members_ = [
            replace(member, source=references[member.name]) for member in ensemble.members_
        ]
    whole = Tagger(ensemble)
    whole.model_, whole.features_ = ensemble, _features(first, ensemble)
    whole.classes_, whole.choice_ = tuple(names), f"an ensemble of {', '.join(taggers)}"
    whole.takes_texts_, whole.feature_names_ = first.takes_texts_, first.feature_names_
    whole.group_report_, whole.calibrated_ = None, calibrated
    whole.titles_, whole.examples_ = {}, {}
    for tagger in taggers.values():
        whole.titles_ = {**tagger.titles_, **whole.titles_}
        whole.examples_ = whole.examples_ or dict(tagger.examples_)
    return whole


def _fit_fusion(
    ensemble: Ensemble, dataset: Dataset, train: Dataset | None, taggers: Collection[Tagger]
) -> Calibrated | None:
    """Learn how to fuse fitted members, and what makes probabilities and sets of that."""
    names, counts = LabelSpace.of(dataset).names, None
    if train is not None:
        counts = np.bincount(over_names(train, names).Y.indices, minlength=len(names))
    titles = {name: title for tagger in taggers for name, title in tagger.titles_.items()}
    said = texts_of_labels(dataset, needed=False) or names
    texts = [
        titles.get(name, name) if text == name else text
        for name, text in zip(names, said, strict=True)
    ]
    inputs = inputs_of(dataset, takes_texts=next(iter(taggers)).takes_texts_)
    ensemble.fit(inputs, dataset.Y, label_texts=texts, label_names=names, label_counts=counts)
    calibrated = Calibrated()
    try:
        found = ensemble.out_of_fold(
            inputs, dataset.Y, top_k=calibrated.config.candidates, label_texts=texts
        )
        return calibrated.fit(found, dataset.Y)
    except DataError as error:  # without them the tagger is still worth having
        say(f"not calibrated: {error}")
        return None


def _features(tagger: Tagger, ensemble: Ensemble) -> Any:
    """Return what a tagger of taggers over X reads X with: each member brings its own features."""
    if tagger.takes_texts_:
        return None
    width = tagger.features_.n_features_
    ensemble.n_features_in_ = width
    empty: Any = sp.csr_array((1, width), dtype=np.float32)
    return PassThrough().fit(empty)
