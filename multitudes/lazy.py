"""Names of a package that load on first use, so that importing the package stays light.

A package lists them twice, for the type checker and for the interpreter::

    if TYPE_CHECKING:
        from multitudes.groups.miml import DeepMIML as DeepMIML
    else:
        __getattr__ = lazy_names(__name__, {"DeepMIML": "multitudes.groups.miml"})

Type checkers see the imports, and no `__getattr__` that would let any other name pass.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from multitudes.errors import suggestion


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that imports a name from its home when it is first used.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    homes : mapping of name to module
        Where each name comes from.
    """

    def look_up(name: str) -> Any:
        if name not in homes:
            hint = "" if name.startswith("_") else f": {suggestion(name, homes)}"
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)  # the next look-up does not come here
        return value

    return look_up
