"""Model and features of a tagger, put together from its parameters and the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from multitudes.data import Dataset
from multitudes.errors import ConfigError, DataError
from multitudes.features import PassThrough, TfidfFeatures
from multitudes.fusion.members import given_members
from multitudes.groups import Eagle
from multitudes.models import model_spec
from multitudes.scikit_learn import clone
from multitudes.tagger.costs.facts import lengths
from multitudes.tagger.devices import set_device
from multitudes.tagger.presets import (
    AUTO,
    AUTO_OVERLAP,
    AUTOMATIC,
    OVERLAP,
    Choice,
    asks_for_overlap,
    choose,
    default_features,
    full_model,
    make_model,
    named_features,
    names_of,
)
from multitudes.tagger.settings import (
    COMMON,
    FEATURES_PREFIX,
    Setting,
    apply_settings,
    check_names,
    set_together,
    set_where_known,
    settings_of,
)
from multitudes.types import FusesMembers, LearnsFromNames, Model, ReadsTexts

BY_NAMES = "lexical"  # what "auto" takes where there are names alone
GROUPS_PREFIX = "groups."
GROUP_DEFAULTS: dict[str, Any] = {"n_steps": "auto", "contrast": True, "use_counts": True}
"""Settings of `Eagle` that differ from its defaults, which are the paper's: better, for no time."""


class TaggerSpec(NamedTuple):
    """What a `Tagger` shall be made of: its parameters, settings under their dotted names."""

    model: str | Any
    features: Any
    settings: Mapping[str, Any]
    random_state: int
    n_jobs: int | None
    device: str | None

    @property
    def model_name(self) -> str:
        """The name of the model, or of its class."""
        return self.model if isinstance(self.model, str) else type(self.model).__name__


class Assembled(NamedTuple):
    """Unfitted parts of a tagger.

    Parameters
    ----------
    model : estimator
        In `Eagle` if it is to learn from groups.
    features : feature estimator or None
        None for a model that reads texts.
    choice : str
        Which model it is, and why.
    """

    model: Any
    features: Any
    choice: str


def reads_texts(model: Any) -> bool:
    """Whether a model, or the one inside an `Eagle`, learns from texts and not from features."""
    inside = model.model if isinstance(model, Eagle) else model
    return isinstance(inside, ReadsTexts) and bool(inside.reads_texts)


def learns_from_names(model: str | Any) -> bool:
    """Whether a model, maybe given by name, needs nothing but the names of labels."""
    if not isinstance(model, str):
        return isinstance(model, LearnsFromNames) and bool(model.learns_from_names)
    return model == AUTO or learns_from_names(model_spec(model).make_model())


def check_spec(spec: TaggerSpec) -> None:
    """Refuse an unknown model, setting or device at once, before any data is read.

    Which features and, with "auto", which model will be used depends on the data: a setting of
    any that may be used is accepted here.
    """
    models = [spec.model]
    if isinstance(spec.model, str):
        names = AUTOMATIC if spec.model == AUTO else (spec.model,)
        models = [full_model(model_spec(name)) for name in names]
        automatic = {OVERLAP: AUTO_OVERLAP} if spec.model == AUTO else {}
        make_model(names[0], {**automatic, **spec.settings})
    features = [TfidfFeatures(), PassThrough()]
    if reads_texts(models[0]) or spec.features is not None:
        features = [_given_features(spec, models[0])]
    known = {name for model in models for name in settings_of(model)}
    known |= {name for some in features for name in settings_of(some, FEATURES_PREFIX)}
    known |= group_settings().keys()
    check_names(spec.settings, known)
    if spec.device is not None:
        set_device(clone(models[0], safe=False), clone(features[0], safe=False), spec.device)


def assemble(spec: TaggerSpec, dataset: Dataset, *, from_groups: bool) -> Assembled:
    """Return the unfitted parts of a tagger for this data."""
    of_groups = {n: value for n, value in spec.settings.items() if n.startswith(GROUPS_PREFIX)}
    settings = {n: value for n, value in spec.settings.items() if n not in of_groups}
    if isinstance(spec.model, str):
        chosen = _chosen(spec, dataset)
        choice = chosen.reason
        model, settings = make_model(chosen.model, _with_overlap(settings, chosen, spec.model))
        defaults = default_features(model_spec(chosen.model))
    else:
        if not isinstance(spec.model, Model):
            raise ConfigError(
                f"model must be a model's name or an estimator with fit and predict, "
                f"got {spec.model!r}"
            )
        model, choice = clone(spec.model), _as_given(spec.model)
        defaults = TfidfFeatures()
    features = _features(spec, model, dataset, defaults)
    if not from_groups:
        _check_no_groups(model, of_groups)
    whole = _in_eagle(model, of_groups) if from_groups else model
    if isinstance(spec.model, str):  # an estimator that was handed over brings its own seed
        set_where_known(whole, "random_state", spec.random_state)
    if spec.n_jobs is not None:
        set_where_known(whole, "n_jobs", spec.n_jobs)
        set_where_known(features, "n_jobs", spec.n_jobs)
    apply_settings(model, features, settings)
    if spec.device is not None:
        set_device(model, features, spec.device)
    return Assembled(whole, features, f"{choice}; learned from groups" if from_groups else choice)


def _as_given(model: Any) -> str:
    if isinstance(model, FusesMembers):
        names = [one.name for one in given_members(model.members)]
        return f"an ensemble of {', '.join(names)}"
    return f"{type(model).__name__}, as given"


def _chosen(spec: TaggerSpec, dataset: Dataset) -> Choice:
    """Return the model by name, with its overlap, and why it is this one."""
    overlap: int = spec.settings.get(OVERLAP, 0)
    if spec.model == AUTO and not len(dataset):
        return Choice(BY_NAMES, 1, f"{BY_NAMES}, because there are names of labels and no texts")
    if spec.model != AUTO:
        return Choice(spec.model, overlap or 1, f"{spec.model}, as asked for")
    if asks_for_overlap(spec.settings):
        return Choice(
            "xr-linear", overlap, "xr-linear, because labels can share leaves only in a tree"
        )
    size, words = (len(dataset), dataset.n_labels), lengths(dataset)[0]
    chosen = choose(*size, overlap=overlap or None, words=words)
    leaf_size = spec.settings.get("max_leaf_size", 0)
    if chosen.overlap > 1 and isinstance(leaf_size, int) and leaf_size >= dataset.n_labels:
        plain = choose(*size, overlap=1, words=words).reason
        return Choice(
            chosen.model, 1, f"{plain}; without overlap, because one leaf holds all labels"
        )
    return chosen


def _with_overlap(settings: Mapping[str, Any], chosen: Choice, asked: str) -> dict[str, Any]:
    """Return the settings of the chosen model; what "auto" has chosen says its overlap."""
    if asked != AUTO:
        return dict(settings)
    others = {name: value for name, value in settings.items() if name != OVERLAP}
    return others | {OVERLAP: chosen.overlap} if chosen.overlap > 1 else others


def _features(spec: TaggerSpec, model: Any, dataset: Dataset, defaults: Any) -> Any:
    """Return the features for this data: those asked for, or the `defaults` of the model."""
    if reads_texts(model) and dataset.texts is None:
        raise DataError(
            f"{spec.model_name} reads texts, and this data has features instead ({dataset!r}): "
            f"give the texts, or take {names_of(_over_features)}"
        )
    if reads_texts(model) or spec.features is not None:
        return _given_features(spec, model)
    return PassThrough(normalize=True) if dataset.texts is None else defaults


def _given_features(spec: TaggerSpec, model: Any) -> Any:
    """Return the features asked for; None for a model that reads texts, which takes none."""
    if not reads_texts(model):
        given = spec.features
        return named_features(given) if isinstance(given, str) else clone(given, safe=False)
    if spec.features is not None:
        raise ConfigError(
            f"{spec.model_name} reads texts itself and takes no features, got "
            f"{spec.features!r}: leave them out, or take {names_of(_over_features)}"
        )
    return None


def _over_features(spec: Any) -> bool:
    return bool(spec.reads == "features")


# ------------------------------------------------------------------ groups


def group_settings(eagle: Eagle | None = None) -> dict[str, Setting]:
    """Return full name -> Setting of an Eagle, without those of the model inside it."""
    if eagle is None:
        eagle = Eagle(model_spec("xr-linear").make_model(), **GROUP_DEFAULTS)
    return {
        name: setting
        for name, setting in settings_of(eagle, GROUPS_PREFIX, wrapped=False).items()
        if setting.key not in COMMON
    }


def describe_group_settings() -> list[tuple[str, Any, str]]:
    """Return (name, value, sentence) of each setting about groups, for help texts."""
    return [(name, one.get(), one.sentence()) for name, one in group_settings().items()]


def _in_eagle(model: Any, settings: Mapping[str, Any]) -> Eagle:
    """Return a model in `Eagle`, with the settings about groups; an Eagle stays as it is."""
    eagle = model if isinstance(model, Eagle) else Eagle(model, **GROUP_DEFAULTS)
    known = group_settings(eagle)
    check_names(settings, known)
    set_together((known[name], value) for name, value in settings.items())
    return eagle


def _check_no_groups(model: Any, settings: Mapping[str, Any]) -> None:
    """Refuse what is about groups if instances have labels of their own."""
    if isinstance(model, Eagle):
        raise ConfigError(
            "Eagle learns from the labels of groups, and these instances are learned from "
            "directly: pass the model inside it, or data with groups and group_labels"
        )
    for name in settings:
        raise ConfigError(
            f"setting {name!r} is about labels that were given to groups (--groups), and these "
            "instances are learned from directly: leave it out"
        )
