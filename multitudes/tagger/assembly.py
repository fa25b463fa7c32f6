"""Model and features of a tagger, put together from its settings and the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sklearn.base import clone

from multitudes.data import Dataset
from multitudes.errors import ConfigError, DataError
from multitudes.features import PassThrough, TfidfFeatures
from multitudes.tagger.devices import set_device
from multitudes.tagger.group_settings import (
    check_unused,
    group_settings,
    in_eagle,
    split_settings,
)
from multitudes.tagger.named_features import named_features
from multitudes.tagger.overlap import asks_for_overlap, preset_model
from multitudes.tagger.presets import AUTO, PRESETS, choose, preset
from multitudes.tagger.settings import (
    FEATURES_PREFIX,
    apply_settings,
    check_names,
    set_where_known,
    settings_of,
)
from multitudes.tagger.text_learner import reads_texts
from multitudes.types import Model


class Wishes(NamedTuple):
    """The parameters of a `Tagger` that say what it is made of."""

    model: str | Any
    features: Any
    settings: Mapping[str, Any]
    random_state: int
    n_jobs: int | None
    device: str | None


def check_wishes(wishes: Wishes) -> None:
    """Refuse an unknown model, setting or device at once, before any data is read.

    Which features and, with "auto", which model will be used depends on the data: a setting of
    any that may be is let through here.
    """
    models = [wishes.model]
    if isinstance(wishes.model, str):
        automatic = [one.name for one in PRESETS.values() if one.reads == "features"]
        names = automatic if wishes.model == AUTO else [wishes.model]
        models = [preset(name).make_full_model() for name in names]
    features = [TfidfFeatures(), PassThrough()]
    if reads_texts(models[0]) or wishes.features is not None:
        features = [_given_features(wishes, models[0])]
    known = {name for model in models for name in settings_of(model)}
    known |= {name for some in features for name in settings_of(some, FEATURES_PREFIX)}
    known |= group_settings().keys()
    if isinstance(wishes.model, str):
        chosen = preset("xr-linear" if wishes.model == AUTO else wishes.model)
        preset_model(chosen, wishes.settings)
    check_names(wishes.settings, known)
    if wishes.device is not None:
        set_device(clone(models[0], safe=False), clone(features[0], safe=False), wishes.device)


def assemble(wishes: Wishes, dataset: Dataset, *, from_groups: bool) -> tuple[Any, Any, str]:
    """Unfitted (model, features, why this model); the model in `Eagle` if groups teach it.

    There are no features (None) for a model that reads texts.
    """
    settings, of_groups = split_settings(wishes.settings)
    own = preset("xr-linear").make_features()
    if isinstance(wishes.model, str):
        name, reason = _preset_name(wishes, dataset)
        model, settings = preset_model(preset(name), settings)
        own = preset(name).make_features()
    else:
        if not isinstance(wishes.model, Model):
            raise ConfigError(
                f"model must be a preset's name or an estimator with fit and predict, "
                f"got {wishes.model!r}"
            )
        model, reason = clone(wishes.model), f"{type(wishes.model).__name__}, as given"
    features = _features(wishes, model, dataset, own)
    if not from_groups:
        check_unused(model, of_groups)
    whole = in_eagle(model, of_groups) if from_groups else model
    if isinstance(wishes.model, str):  # an estimator that was handed over brings its own seed
        set_where_known(whole, "random_state", wishes.random_state)
    if wishes.n_jobs is not None:
        set_where_known(whole, "n_jobs", wishes.n_jobs)
        set_where_known(features, "n_jobs", wishes.n_jobs)
    apply_settings(model, features, settings)
    if wishes.device is not None:
        set_device(model, features, wishes.device)
    return whole, features, f"{reason}; taught by groups" if from_groups else reason


def _features(wishes: Wishes, model: Any, dataset: Dataset, own: Any) -> Any:
    """The features for this data: those asked for, or `own` of the preset."""
    if reads_texts(model) and dataset.texts is None:
        raise DataError(
            f"{_name(wishes, model)} reads texts, and this data has features instead "
            f"({dataset!r}): give the texts, or take xr-linear, parabel or one-vs-all"
        )
    if reads_texts(model) or wishes.features is not None:
        return _given_features(wishes, model)
    return PassThrough(normalize=True) if dataset.texts is None else own


def _given_features(wishes: Wishes, model: Any) -> Any:
    """The features asked for; None for a model that reads texts, which can have none."""
    if not reads_texts(model):
        given = wishes.features
        return named_features(given) if isinstance(given, str) else clone(given, safe=False)
    if wishes.features is not None:
        raise ConfigError(
            f"{_name(wishes, model)} reads texts itself and takes no features, got "
            f"{wishes.features!r}: leave them out, or take xr-linear, parabel or one-vs-all"
        )
    return None


def _name(wishes: Wishes, model: Any) -> str:
    return wishes.model if isinstance(wishes.model, str) else type(model).__name__


def _preset_name(wishes: Wishes, dataset: Dataset) -> tuple[str, str]:
    """(preset, why this one)."""
    if wishes.model != AUTO:
        return wishes.model, f"{wishes.model}, as asked for"
    if asks_for_overlap(wishes.settings):
        return "xr-linear", "xr-linear, because labels can share leaves only in a tree"
    return choose(len(dataset), dataset.n_labels)
