"""Stand-ins for modules that others import and we never use, while these others are imported.

What is looked up in a stand-in comes from the module itself, imported then; functions that are only
handed on are imported when they are called. When the import that wanted them is over, so are the
stand-ins: a later ``import pandas`` finds pandas.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

HANDED_ON = {  # what scikit-learn imports by name, and calls at most
    "joblib": ("cpu_count",),
    "scipy.sparse.csgraph": ("laplacian",),
    "scipy.sparse.linalg": ("LinearOperator", "cg"),
    "sklearn.utils.parallel": ("_get_threadpool_controller",),
}


class Placeholder(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # questions of the import system, which takes no for an answer
            raise AttributeError(name)
        if name in HANDED_ON.get(self.__name__, ()):
            return self._when_called(name)
        return self._found(name)

    def _found(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)

    def _when_called(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._found(name)(*args, **kwargs)

        return call


@contextmanager
def placeholders(*names: str) -> Iterator[None]:
    """Let modules that are installed, but not yet imported, be imported by name alone.

    A module comes after the package that it is in.
    """
    mine = {name: Placeholder(name) for name in names if name not in sys.modules and _exists(name)}
    sys.modules.update(mine)
    for name, module in mine.items():
        package, _, last = name.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], last, module)
    try:
        yield
    finally:
        for name, module in mine.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
                _forget(name, module)


def import_without(modules: tuple[str, ...], unused: tuple[str, ...]) -> None:
    """Import modules of one package with placeholders for others, if that can be done.

    A version of the package that uses more of them while it is imported is left alone, as if nobody
    had tried: whoever imports it next gets it with all that it wants.
    """
    before = set(sys.modules)
    with suppress(Exception), placeholders(*unused):
        for name in modules:
            importlib.import_module(name)
        return
    package = modules[0].partition(".")[0]
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == package:
            del sys.modules[name]


def _exists(name: str) -> bool:
    """Return whether the distribution of a module is there, without importing any of it."""
    return importlib.util.find_spec(name.partition(".")[0]) is not None


def _forget(name: str, placeholder: ModuleType) -> None:
    """Let a package import its module by itself; one that cannot keeps the placeholder."""
    package, _, last = name.rpartition(".")
    names = vars(sys.modules.get(package, placeholder))
    if "__getattr__" in names and names.get(last) is placeholder:
        delattr(sys.modules[package], last)
