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


def import_changed(file: str, source: str) -> None:
    """Import the changed source when the module is imported; it must not have been yet."""
    path = str(ROOT / file)
    as_it_is = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        if loader.path != path:
            return as_it_is(loader, name)
        return compile(source, path, "exec", dont_inherit=True)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]


def change_function(mutant: Mutant) -> int:
    """Give the code of the changed body to the living function; return to how many.

    Whoever has imported the function holds the same object, so that no module is imported again.
    """
    path = str(ROOT / mutant.file)
    changed = compile(mutant.source, path, "exec", dont_inherit=True)
    outermost = next(
        code
        for code in functions_of(changed)
        if code.co_qualname == outermost_function(mutant, changed)
        and code.co_firstlineno <= mutant.line
    )
    n_changed = 0
    for living in gc.get_objects():
        if isinstance(living, FunctionType):
            code = living.__code__
            if (code.co_filename, code.co_qualname, code.co_firstlineno) == (
                path,
                outermost.co_qualname,
                outermost.co_firstlineno,
            ):
                living.__code__ = outermost
                n_changed += 1
    return n_changed


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
        if isinstance(living, functools._lru_cache_wrapper):
            module = getattr(living, "__module__", "") or ""
            if module.startswith(("tests", "multitudes")) and "kernels" not in module:
                living.cache_clear()


def loaded(package_files: list[str]) -> list[str]:
    """Modules of these files that this process has imported."""
    paths = {str(ROOT / file) for file in package_files}
    return [
        name for name, module in sys.modules.items() if getattr(module, "__file__", "") in paths
    ]
