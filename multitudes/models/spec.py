"""ModelSpec: all that the library knows of a model before it imports it."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from multitudes.errors import ConfigError, MultitudesError

_HOME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # module:name


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
    in_processes : bool
        Whether several processes can train it as one, as `multitudes.deep.World` has them.
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
    in_processes: bool = False
    updates: bool = False
    stored: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("name", "summary"):
            if not isinstance(getattr(self, name), str):
                self._refuse(name, "a str")
        if not self.name:
            self._refuse("name", "a name that is not empty")
        if not (_HOME.fullmatch(self.make) if isinstance(self.make, str) else callable(self.make)):
            self._refuse("make", '"module:name", a class or a function')
        if self.reads not in ("features", "texts"):
            self._refuse("reads", '"features" or "texts"')
        for name in ("settings", "features", "stored"):
            given = getattr(self, name)
            if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
                self._refuse(name, "a mapping with str as keys")
        for home in self.stored.values():
            if not isinstance(home, str) or not _HOME.fullmatch(home):
                self._refuse("stored", 'a mapping of kind to "module:Class"')
        for name in ("has_leaves", "on_cluster", "in_processes", "updates"):
            if not isinstance(getattr(self, name), bool):
                self._refuse(name, "True or False")

    def make_model(self) -> Any:
        """Return a new, unfitted estimator with the settings of this model.

        Raises
        ------
        ConfigError
            If it cannot be made, has no ``fit`` and ``predict(X, top_k=)``, or reads something
            other than was declared.
        """
        make = imported(self.make) if isinstance(self.make, str) else self.make
        try:
            model = make()
            self._check(model)
            return model.set_params(**self.settings) if self.settings else model
        except MultitudesError:
            raise
        except Exception as error:  # another package's code may raise anything
            home = self.make if isinstance(self.make, str) else _home(make)
            raise ConfigError(
                f"the model {self.name!r} cannot be made from {home} ({type(error).__name__}: "
                f"{error}): upgrade or uninstall the package {_package(home)}"
            ) from error

    def _check(self, model: Any) -> None:
        """Refuse what is not a model, or reads something other than was declared."""
        from multitudes.types import Model

        is_model = not inspect.isclass(model) and isinstance(model, Model)
        if not is_model or not _takes(model.predict, "top_k"):
            what = f"the class {model.__name__}" if inspect.isclass(model) else repr(model)
            raise ConfigError(
                f"the model {self.name!r} must have fit(X, y) and predict(X, top_k=), and what "
                f"was made is {what}: see multitudes.types.Model"
            )
        says_texts = bool(getattr(type(model), "reads_texts", False))
        if says_texts != (self.reads == "texts"):
            raise ConfigError(
                f"the model {self.name!r} is declared to read {self.reads}, and its class "
                f"{type(model).__name__} has reads_texts={says_texts}: one of the two is wrong"
            )

    def _refuse(self, name: str, allowed: str) -> None:
        raise ConfigError(
            f"ModelSpec({self.name!r}): {name} must be {allowed}, got {getattr(self, name)!r}"
        )


def imported(home: str) -> Any:
    """Import "module:name"; what cannot be imported is an error that names the package."""
    module, _, name = home.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except MultitudesError:  # e.g. an extra that is missing: the message says what to install
        raise
    except Exception as error:  # another package's code may raise anything
        raise ConfigError(
            f"{home} cannot be imported ({type(error).__name__}: {error}): upgrade or uninstall "
            f"the package {_package(home)}"
        ) from error


def _home(make: Any) -> str:
    return f"{getattr(make, '__module__', '?')}:{getattr(make, '__name__', repr(make))}"


def _package(home: str) -> str:
    return re.split("[.:]", home)[0]


def _takes(function: Any, name: str) -> bool:
    """Whether a function has a parameter of this name, or takes any."""
    parameters = inspect.signature(function).parameters.values()
    return any(one.name == name or one.kind is one.VAR_KEYWORD for one in parameters)
