"""Every error the library raises on purpose, and its warnings.

A message says what is wrong, the value, what is allowed and what to do. Each class maps to one
exit code of the command line, so that scripts can tell a bad file from a bad setting.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = [
    "ConfigError",
    "DataError",
    "MissingExtraError",
    "MultitudesError",
    "NotFittedError",
    "ResourceError",
    "StoreError",
    "TrainingError",
    "UnknownFeaturesWarning",
]


class MultitudesError(Exception):
    """Base of all errors raised on purpose; catch it to catch them all."""

    exit_code = 1


class DataError(MultitudesError, ValueError):
    """The user's data is not what it should be: names file, line, value and what was expected."""

    exit_code = 3


class ConfigError(MultitudesError, ValueError):
    """A setting is unknown or out of range."""

    exit_code = 2


class StoreError(MultitudesError):
    """A model folder is missing, damaged, foreign or from a newer version."""

    exit_code = 4


class MissingExtraError(MultitudesError, ImportError):
    """An optional dependency is not installed; the message is the pip line that installs it."""

    exit_code = 5


class ResourceError(MultitudesError, MemoryError):
    """The work will not fit this machine; the message has the numbers and what to lower."""

    exit_code = 6


class TrainingError(MultitudesError):
    """Training cannot go on, e.g. its loss is not a number; the message says where it was."""

    exit_code = 7


class UnknownFeaturesWarning(UserWarning):
    """A model was updated with instances that have none of the features it knows."""


class CutTextsWarning(UserWarning):
    """A text encoder is trained on texts of which it is set to read only the beginning."""


if TYPE_CHECKING:

    class NotFittedError(MultitudesError, ValueError, AttributeError):
        """A model was asked to predict before it was fitted or loaded; also scikit-learn's."""

        exit_code = 2


def __getattr__(name: str) -> Any:
    """Make NotFittedError on first use: importing scikit-learn, its parent, takes a while."""
    if name != "NotFittedError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from multitudes.scikit_learn import NotFittedError as SklearnNotFittedError

    body = {
        "__doc__": "A model was asked to predict before it was fitted or loaded.",
        "__module__": __name__,
        "exit_code": 2,
    }
    return globals().setdefault(name, type(name, (MultitudesError, SklearnNotFittedError), body))


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional dependency, or say in one line how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module} is not installed: run  pip install 'multitudes[{extra}]'"
        ) from error


def suggestion(unknown: object, known: Iterable[str]) -> str:
    """The tail of an "unknown name" message: the nearest known name, or all of them."""
    names = sorted(known)
    close = [name for name in names if name.rpartition(".")[2] == unknown]  # without "training."
    close = close or difflib.get_close_matches(str(unknown), names, n=1, cutoff=0.6)
    offered = " or ".join(repr(name) for name in close)
    return f"did you mean {offered}?" if close else f"known: {', '.join(names)}"


def counted(count: int, what: str) -> str:
    """A number and its noun, "1 label" or "3,000 labels"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
