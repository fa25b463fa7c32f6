"""ModelSpec: all that the library knows of a model before it imports it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from multitudes.errors import ConfigError, MultitudesError


@dataclass(frozen=True)
class ModelSpec:
    """A model under a name: how it is made, what it reads, and how it is stored.

    Parameters
    ----------
    name : str
        As ``Tagger(name)`` and ``--model name`` take it.
    summary : str
        One line for help texts.
    make : str or function
        The estimator's class, or a function without parameters that returns an estimator; as
        "module:name" it is imported on first use.
    settings : mapping
        Parameters that differ from the estimator's defaults, as `set_params` takes them, e.g.
        ``{"solver__cost": 2.0}``.
    reads : "features" or "texts"
        Whether the model learns from X, which features make of texts, or from the texts. The
        class of a model that reads texts says so too, by ``reads_texts = True``.
    features : mapping
        Settings of `TfidfFeatures`, the default features, that differ from its defaults.
    has_leaves : bool
        Whether labels live in the leaves of trees, so that the setting `overlap` can give a label
        several of them. Such a model is a `multitudes.types.PartitionModel`.
    on_cluster : bool
        Whether its training can use all machines of a Ray cluster.
    updates : bool
        Whether a fitted model can learn from further instances, and gain and lose labels.
    stored : mapping of kind to "module:Class"
        The classes that a saved model of this name consists of and that the store does not know
        yet: each kind that ``to_state`` writes, and the class whose ``from_state`` reads it.
    """

    name: str
    summary: str
    make: str | Callable[[], Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    reads: Literal["features", "texts"] = "features"
    features: Mapping[str, Any] = field(default_factory=dict)
    has_leaves: bool = False
    on_cluster: bool = False
    updates: bool = False
    stored: Mapping[str, str] = field(default_factory=dict)

    def make_model(self) -> Any:
        """Return a new, unfitted estimator with the settings of this model."""
        make = imported(self.make) if isinstance(self.make, str) else self.make
        model = make()
        says_texts = bool(getattr(type(model), "reads_texts", False))
        if says_texts != (self.reads == "texts"):
            raise ConfigError(
                f"the model {self.name!r} is declared to read {self.reads}, and its class "
                f"{type(model).__name__} has reads_texts={says_texts}: one of the two is wrong"
            )
        return model.set_params(**self.settings) if self.settings else model


def imported(home: str) -> Any:
    """Import "module:name"; what cannot be imported is an error that names the package."""
    module, _, name = home.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except MultitudesError:  # e.g. an extra that is missing: the message says what to install
        raise
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{home} cannot be imported ({type(error).__name__}: {error}): upgrade or uninstall "
            f"the package {module.partition('.')[0]}"
        ) from error
