"""Estimator: the base of every model, scikit-learn's with settings that can be searched."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from multitudes.config import Config
from multitudes.errors import ConfigError, suggestion


class Estimator(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator whose parameters may be `Config` objects.

    The fields of a Config are parameters too, under the names that GridSearchCV and `set_params`
    use for nested ones: ``XRLinear().set_params(solver__cost=2.0)``. Configs are frozen, so a
    setting is changed by replacing its Config, and two models never share a change.
    """

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
        """The parameters that are Configs, as plain values, for the model's manifest."""
        parameters = self.get_params(deep=False)
        return {
            name: config.to_dict()
            for name, config in parameters.items()
            if isinstance(config, Config)
        }
