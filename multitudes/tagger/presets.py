"""Models and features by name, as estimators: "auto", overlap, "tfidf,encoder:FOLDER"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from multitudes import features
from multitudes.disentangle import Disentangled
from multitudes.errors import ConfigError, counted, suggestion
from multitudes.features import ConcatFeatures, TfidfFeatures
from multitudes.models import ModelSpec, built_in_models, model_spec
from multitudes.models.features import ENCODER, FEATURES, feature_spec
from multitudes.tagger.costs.estimates import seconds_of_rankers
from multitudes.tagger.settings import settings_of
from multitudes.validation import checked_count, checked_number

AUTO = "auto"
AUTOMATIC = ("xr-linear", "one-vs-all")
"""The models among which "auto" chooses; it takes the first if labels shall share leaves."""

# One ranker per label is trained up to here: CPU seconds, of the machine of `SECONDS`. On a part of
# the training data held out it was better than a tree with overlap on eurlex-titles, and about as
# good on debian-debtags (choices-validation.json); it is also smaller, and faster to ask.
ONE_VS_ALL_SECONDS = 4.0
FEW_LABELS = 200  # with less, a tree has a leaf or two
# Instances miss leaves of a tree, and a second leaf pays.
AUTO_OVERLAP = 2

OVERLAP = "overlap"


class Choice(NamedTuple):
    """What "auto" takes for some data.

    Attributes
    ----------
    model : str
        A model's name.
    overlap : int
        Leaves of a label at most; 1 for a model without leaves, or where labels share none.
    reason : str
        Model and overlap, and why.
    """

    model: str
    overlap: int
    reason: str


def choose(
    n_instances: int, n_labels: int, *, overlap: int | None = None, words: float = 30.0
) -> Choice:
    """Return what "auto" means for data of this size, without a budget.

    Parameters
    ----------
    n_instances, n_labels : int
    overlap : int, optional
        1 if labels shall not share leaves; by default they do where that pays.
    words : float
        Of a text, on average: distinct ones.
    """
    n_instances = checked_count(n_instances, "n_instances", at_least=0)
    n_labels = checked_count(n_labels, "n_labels", at_least=0)
    words = checked_number(words, "words", at_least=0)
    size = f"{counted(n_labels, 'label')} and {counted(n_instances, 'instance')}"
    if seconds_of_rankers(n_instances, n_labels, words) <= ONE_VS_ALL_SECONDS:
        reason = (
            f"one-vs-all, because {size} are few enough to score every label of a text: "
            "none can be lost on the way down a tree"
        )
        return Choice("one-vs-all", 1, reason)
    why = (
        f"because one ranker per label over {size} would be slow: "
        "a label tree reaches the same labels in far fewer steps"
    )
    if n_labels < FEW_LABELS or overlap == 1:
        return Choice("xr-linear", 1, f"xr-linear, {why}")
    reason = f"xr-linear with overlap {AUTO_OVERLAP}, {why}, and finds more with two leaves a label"
    return Choice("xr-linear", AUTO_OVERLAP, reason)


def names_of(having: Callable[[ModelSpec], bool]) -> str:
    """Return the names of our models with a property, as a choice: "a, b or c"."""
    *most, last = [name for name, spec in built_in_models().items() if having(spec)]
    return f"{', '.join(most)} or {last}" if most else last


def default_features(spec: ModelSpec) -> Any:
    """Return new features with the settings of a model; None for one that reads texts."""
    return None if spec.reads == "texts" else TfidfFeatures(**spec.features)


# ------------------------------------------------------------------ overlap


def full_model(spec: ModelSpec) -> Any:
    """Return a new estimator that has every setting of a model, those of overlap included."""
    model = spec.make_model()
    return Disentangled(model, overlap=1) if spec.has_leaves else model


def asks_for_overlap(settings: Mapping[str, Any]) -> bool:
    """Whether labels may live in several leaves."""
    overlap = settings.get(OVERLAP, 1)
    if isinstance(overlap, bool) or not isinstance(overlap, int) or overlap < 1:
        raise ConfigError(f"overlap must be a whole number >= 1, got {overlap!r}")
    return overlap > 1


def make_model(name: str, settings: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the model of a name, and the settings it takes.

    With overlap it is in `Disentangled`. Without, it is the plain model, and a setting that only
    matters with overlap is an error.
    """
    spec = model_spec(name)
    overlapping = asks_for_overlap(settings)
    if not spec.has_leaves:
        model = spec.make_model()
        if OVERLAP in settings and OVERLAP not in settings_of(model):
            raise ConfigError(
                f"{spec.name} has no leaves that labels could share: take "
                f"{names_of(lambda spec: spec.has_leaves)}, or leave out overlap"
            )
        return model, dict(settings)
    if overlapping:
        return full_model(spec), dict(settings)
    plain = spec.make_model()
    rest = {name: value for name, value in settings.items() if name != OVERLAP}
    only_with_overlap = settings_of(full_model(spec)).keys() - settings_of(plain).keys()
    for setting in rest:
        if setting in only_with_overlap:
            raise ConfigError(
                f"setting {setting!r} is about labels that live in several leaves: add overlap=2, "
                "or leave it out"
            )
    return plain, rest


# ------------------------------------------------------------------ features


def named_features(names: str) -> Any:
    """Return unfitted features by name; several, with commas between, are put side by side.

    The names are those of `multitudes.models.features`: "tfidf", "words-bigrams", "subwords", ...
    ``encoder:`` is followed by a saved model that has a text encoder (`Prime`), or by a folder or
    name of sentence-transformers; its embeddings of the texts are the features.
    """
    blocks = [_block(name.strip()) for name in names.split(",")]
    return blocks[0] if len(blocks) == 1 else ConcatFeatures(blocks)


def _block(name: str) -> Any:
    kind, _, source = name.partition(":")
    if kind == ENCODER:
        if not source:
            raise ConfigError(
                f"the features {name!r} name no encoder: write encoder:FOLDER, the folder of a "
                "saved model or of sentence-transformers, or encoder:minilm"
            )
        from multitudes.encoder.features import EncoderFeatures

        return EncoderFeatures(source)
    model = built_in_models().get(name)
    if model is not None and model.reads == "texts":
        raise ConfigError(
            f"features of {name!r} come from a model that is trained already: train one first, "
            f"and write encoder:FOLDER with its folder"
        )
    spec = feature_spec(name)
    if spec is None:
        known = [*(spec.name for spec in FEATURES), f"{ENCODER}:FOLDER"]
        raise ConfigError(f"there are no features {name!r}: {suggestion(name, known)}")
    return getattr(features, spec.make)(**spec.settings)
