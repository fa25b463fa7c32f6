"""Put a mutant in the place of a module of this process."""

from __future__ import annotations

import functools
import gc
import importlib.machinery
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType

from campaigns.mutants.mutant import Mutant
from campaigns.mutants.packages import ROOT

Change = tuple[list[FunctionType], CodeType | None]
"""Functions, and the code that they get."""


def import_changed(file: str, source: str) -> None:
    """Import the changed source when the module is imported; it must not have been yet."""
    path = str(ROOT / file)
    as_it_is = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        if loader.path != path:
            return as_it_is(loader, name)
        return compile(source, path, "exec", dont_inherit=True)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]


def functions_to_change(mutant: Mutant) -> Change | None:
    """Return the living functions whose body is changed, and their new code.

    Whoever has imported the function holds the same object, so that no module is imported again.
    None if there is none, or if the new code does not fit, as it needs other outer variables.
    """
    path = str(ROOT / mutant.file)
    changed = compile(mutant.source, path, "exec", dont_inherit=True)
    name = outermost_function(mutant, changed)
    of_name = (code for code in functions_of(changed) if code.co_qualname == name)
    new = max(
        (code for code in of_name if code.co_firstlineno <= mutant.line),
        key=lambda code: code.co_firstlineno,
    )
    place = (path, new.co_qualname, new.co_firstlineno)
    found = [
        function
        for function in gc.get_objects()
        if type(function) is FunctionType and _place(function.__code__) == place
    ]
    fits = all(function.__code__.co_freevars == new.co_freevars for function in found)
    return (found, new) if found and fits else None


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def outermost_function(mutant: Mutant, module: CodeType) -> str:
    """Return the function or method of a module or class that the change lies in."""
    names = {code.co_qualname for code in functions_of(module)}
    parts = mutant.function.split(".")
    starts = [".".join(parts[: i + 1]) for i in range(len(parts))]
    return next(start for start in starts if start in names)


def functions_of(code: CodeType) -> Iterator[CodeType]:
    """The code of functions and methods, but not of functions in them."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & 1 and constant.co_flags & 2:  # optimized, new locals: a function
                yield constant
            else:
                yield from functions_of(constant)


def forget_results() -> None:
    """Empty the caches of tests, which hold what the unchanged library has computed."""
    for living in gc.get_objects():
        if type(living) is functools._lru_cache_wrapper:  # isinstance asks what a proxy is of
            module = getattr(living, "__module__", "") or ""
            is_test = any(part.startswith("test") for part in module.split("."))
            if is_test or (module.startswith("multitudes") and "kernels" not in module):
                living.cache_clear()


def loaded(package_files: list[str]) -> list[str]:
    """Modules of these files that this process has imported."""
    paths = {str(ROOT / file) for file in package_files}
    return [
        name for name, module in sys.modules.items() if getattr(module, "__file__", "") in paths
    ]
