"""What is taken from scikit-learn, imported without the packages that it imports and we never use.

``sklearn.base`` imports scipy.stats and, where it is installed, pandas, for functions that
estimators of this library do not call. Together they take longer to import than everything else,
and 100 MB. So placeholders stand in their places until scikit-learn is imported, and no longer: a
later ``import pandas`` finds pandas. What scikit-learn looks up in a placeholder comes from the
package itself, imported then.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = [
    "BaseEstimator",
    "NotFittedError",
    "TargetTags",
    "TransformerMixin",
    "check_feature_names",
    "clone",
    "get_tags",
]

UNUSED = ("pandas", "scipy.stats")


class Placeholder(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # questions of the import system, which takes no for an answer
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def placeholders(*names: str) -> Iterator[None]:
    """Let modules that are installed, but not yet imported, be imported by name alone."""
    mine = {
        name: Placeholder(name)
        for name in names
        if name not in sys.modules and importlib.util.find_spec(name) is not None
    }
    sys.modules.update(mine)
    try:
        yield
    finally:
        for name, module in mine.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


with placeholders(*UNUSED):
    from sklearn.base import BaseEstimator, TransformerMixin, clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import TargetTags, get_tags
    from sklearn.utils.validation import _check_feature_names as check_feature_names
