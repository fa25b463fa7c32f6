"""Train one member: model and features by name, with the settings that a tagger was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from multitudes.data import Dataset
from multitudes.features import PassThrough
from multitudes.fusion.members import Member
from multitudes.models import model_spec
from multitudes.scikit_learn import clone
from multitudes.tagger.costs.candidates import Candidate
from multitudes.tagger.devices import set_device
from multitudes.tagger.presets import asks_for_overlap, full_model, make_model, named_features
from multitudes.tagger.settings import (
    FEATURES_PREFIX,
    apply_settings,
    set_where_known,
    settings_of,
)
from multitudes.tagger.training import TrainingData, fit_arguments, fitted, threads_of

DEFAULT = "tfidf"


class Given(NamedTuple):
    """What a user has said about all members.

    Parameters
    ----------
    features : str, feature estimator or None
        In the place of words.
    settings : mapping
        Each goes to the members that have it.
    random_state : int
    n_jobs : int or None
    device : str or None
    """

    features: Any = None
    settings: Mapping[str, Any] = {}
    random_state: int = 0
    n_jobs: int | None = None
    device: str | None = None


class Trainer:
    """Trains members on one dataset; features that several of them read are made once."""

    def __init__(self, given: Given, dataset: Dataset) -> None:
        self.given = given
        self.dataset = dataset
        self._made: dict[str, tuple[Any, Any]] = {}

    def train(self, candidate: Candidate) -> Member:
        """Return a member fitted on the dataset."""
        given, dataset = self.given, self.dataset
        model = self._model(candidate)
        set_where_known(model, "random_state", given.random_state)
        if given.n_jobs is not None:
            set_where_known(model, "n_jobs", given.n_jobs)
        if candidate.features is None:
            if given.device is not None and "training.device" in settings_of(model):
                set_device(model, None, given.device)
            arguments = fit_arguments(model, TrainingData(dataset, n_jobs=given.n_jobs))
            with threads_of(model, given.n_jobs):
                return Member(candidate.name, fitted(model, dataset.texts, dataset.Y, **arguments))
        features, X = self._features(candidate.features)
        return Member(candidate.name, fitted(model, X, dataset.Y), features)

    def read(self, member: Member, dataset: Dataset) -> Any:
        """Return what a member reads of other instances."""
        inputs = dataset.X if dataset.texts is None else dataset.texts
        return member.read(inputs)

    def _model(self, candidate: Candidate) -> Any:
        known = settings_of(full_model(model_spec(candidate.model)))
        own = {name: value for name, value in self.given.settings.items() if name in known}
        settings = {**candidate.settings, **own}
        if not asks_for_overlap(settings):  # those about several leaves have no use then
            plain = settings_of(model_spec(candidate.model).make_model())
            settings = {name: value for name, value in settings.items() if name in plain}
        model, settings = make_model(candidate.model, settings)
        apply_settings(model, None, settings)
        return model

    def _features(self, name: str) -> tuple[Any, Any]:
        """Return fitted features, and X of the dataset."""
        if name not in self._made:
            features = self._unfitted(name)
            known = settings_of(features, FEATURES_PREFIX)
            own = {n: value for n, value in self.given.settings.items() if n in known}
            apply_settings(None, features, own)
            if self.given.n_jobs is not None:
                set_where_known(features, "n_jobs", self.given.n_jobs)
            inputs = self.dataset.X if self.dataset.texts is None else self.dataset.texts
            self._made[name] = features, features.fit_transform(inputs)
        return self._made[name]

    def _unfitted(self, name: str) -> Any:
        if name != DEFAULT or self.given.features is None:
            is_x = self.dataset.texts is None
            return PassThrough(normalize=True) if is_x else named_features(name)
        given = self.given.features
        return named_features(given) if isinstance(given, str) else clone(given, safe=False)
