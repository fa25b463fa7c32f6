"""Estimator: the base of every model, scikit-learn's with settings that can be searched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from multitudes.config import Config
from multitudes.errors import ConfigError, NotFittedError, suggestion
from multitudes.kernels.threads import ThreadTeam
from multitudes.metrics import precision_at_k
from multitudes.scikit_learn import BaseEstimator, TargetTags, check_feature_names, sparse
from multitudes.types import Predictions, Sparse
from multitudes.validation import checked_features, label_matrix
from multitudes.validation.few_rows import Rows, sound_rows

__all__ = ["Estimator"]


class Estimator(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator whose parameters may be `Config` objects.

    The fields of a Config are parameters too, under the names that GridSearchCV and `set_params`
    use for nested ones: ``XRLinear().set_params(solver__cost=2.0)``. Configs are frozen, so a
    setting is changed by replacing its Config, and two models never share a change.

    A subclass has ``predict(X, *, top_k)``; one that learns from texts declares
    ``reads_texts = True``.
    """

    fitted_attribute: ClassVar[str | None] = None
    """The attribute that `fit` sets last: a model that has it is fitted. None is scikit-learn's
    rule, by which any attribute will do that ends in an underscore."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``config__field`` sets one field of a Config.

        Raises
        ------
        ConfigError
            If there is no such parameter or field, or a field does not allow the value.
        """
        plain, fields = {}, dict[str, dict[str, Any]]()
        for key, value in params.items():
            name, _, field = key.partition("__")
            if field and isinstance(params.get(name, getattr(self, name, None)), Config):
                fields.setdefault(name, {})[field] = value
            else:
                plain[key] = value
        known = self.get_params(deep=False)
        for key in plain:
            name = key.partition("__")[0]
            if name not in known:
                raise ConfigError(
                    f"{type(self).__name__} has no parameter {name!r}: {suggestion(name, known)}"
                )
        super().set_params(**plain)
        for name, changes in fields.items():
            setattr(self, name, getattr(self, name).replaced(**changes))
        return self

    def config_dicts(self) -> dict[str, dict[str, Any]]:
        """Return the parameters that are Configs, as plain values, for the model's manifest."""
        parameters = self.get_params(deep=False)
        return {
            name: config.to_dict()
            for name, config in parameters.items()
            if isinstance(config, Config)
        }

    @classmethod
    def from_stored(cls, parameters: Mapping[str, Any]) -> Self:
        """Return an unfitted model with the parameters of a manifest, Configs as plain values."""
        model = cls()
        for name, value in parameters.items():
            default = getattr(model, name, None)
            setting = default.from_dict(value) if isinstance(default, Config) else value
            model.set_params(**{name: setting})
        return model

    def score(self, X: Any, y: Sparse) -> float:
        """Return the precision at 1 on (X, y), by which GridSearchCV chooses by default.

        Parameters
        ----------
        X : what `predict` takes
        y : sparse matrix, array or list of lists (n_instances, n_labels)
            1 where an instance has a label.
        """
        found: Predictions = self.predict(X, top_k=1)
        return self._precision_at_1(found, y)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model has learned something, as scikit-learn asks for it."""
        if self.fitted_attribute is not None:
            return hasattr(self, self.fitted_attribute)
        return any(key.endswith("_") and not key.startswith("_") for key in vars(self))

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may know: features or texts go in, several labels come out."""
        tags = super().__sklearn_tags__()
        reads_texts = bool(getattr(self, "reads_texts", False))
        tags.input_tags.one_d_array = tags.input_tags.string = reads_texts
        tags.input_tags.two_d_array = tags.input_tags.sparse = not reads_texts
        tags.target_tags = TargetTags(
            required=True, two_d_labels=True, multi_output=True, single_output=False
        )
        return tags

    def _precision_at_1(self, found: Predictions, y: Sparse) -> float:
        """Return the precision at 1 of predictions, given the true labels."""
        Y = label_matrix(y, n_instances=len(found), n_labels=found.n_labels)
        return precision_at_k(found, Y, k=1)

    def check_fitted(self) -> None:
        """Raise a NotFittedError unless the model was fitted or loaded."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has not learned anything yet: call fit or load first"
            )

    def known_features(self, X: Any, *, name: str = "X", team: ThreadTeam | None = None) -> Sparse:
        """Return checked features of a fitted model: as many as in training, of the same names.

        The threads of a `team`, by default of `n_jobs` if the model has it, share a large X.
        """
        if team is None:
            with ThreadTeam(getattr(self, "n_jobs", 1)) as team:
                return self.known_features(X, name=name, team=team)
        if hasattr(self, "feature_names_in_"):
            check_feature_names(self, X, reset=False)
        return checked_features(
            X, n_features=self.n_features_in_, name=name, model=type(self).__name__, team=team
        )

    def _known_rows(self, X: Any, *, team: ThreadTeam | None = None) -> Sparse | Rows:
        """Return what kernels read of features; a few rows that are sound take a short way.

        A model made of others hands them the rows that it has checked.
        """
        if type(X) is Rows:
            return X
        named = hasattr(self, "feature_names_in_")
        rows = None if named else sound_rows(X, self.n_features_in_)
        return self.known_features(X, team=team) if rows is None else rows

    def note_feature_names(self, X: Any) -> None:
        """Set `feature_names_in_` if X is a table with names of columns."""
        has_none = isinstance(X, np.ndarray) or sparse.issparse(X)
        if not has_none or hasattr(self, "feature_names_in_"):  # of an earlier fit
            check_feature_names(self, X, reset=True)
