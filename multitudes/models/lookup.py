"""Find models by name: those of this library, and those that installed packages declare."""

from __future__ import annotations

import functools
import importlib
import warnings
from importlib.metadata import EntryPoint, entry_points

from multitudes.errors import ConfigError, MultitudesError, suggestion
from multitudes.models.spec import ModelSpec, imported

ENTRY_POINTS = "multitudes.models"
"""Group of entry points under which other packages declare models."""

FAMILIES = ("linear", "lexical", "encoder", "seq2set")
"""Modules beside this one that declare models, in the order in which help texts list them."""


@functools.cache
def built_in_models() -> dict[str, ModelSpec]:
    """Return the models of this library, by name."""
    return {
        spec.name: spec
        for family in FAMILIES
        for spec in imported(f"multitudes.models.{family}:MODELS")
    }


@functools.cache
def paper_models() -> dict[str, ModelSpec]:
    """Return models with the settings of their papers, by name: "prime:paper" and the like.

    The plain names have the best settings that we know instead.
    """
    families = [importlib.import_module(f"multitudes.models.{family}") for family in FAMILIES]
    return {spec.name: spec for family in families for spec in getattr(family, "PAPERS", ())}


def model_names() -> list[str]:
    """Return the names of all models, those of this library first; imports no other package."""
    ours = {**built_in_models(), **paper_models()}
    others = {entry.name for entry in _declared()} - ours.keys()
    return [*ours, *sorted(others)]


def model_spec(name: str) -> ModelSpec:
    """Return the model of a name.

    Raises
    ------
    ConfigError
        If there is none (the message names the nearest), if several other packages declare it, or
        if the package that declares it cannot be used.
    """
    entries = [entry for entry in _declared() if entry.name == name]
    owners = " and ".join(_package(entry) for entry in entries)
    ours = built_in_models().get(name) or paper_models().get(name)
    if ours is not None:
        if entries:
            warnings.warn(_taken(owners, name), RuntimeWarning, stacklevel=2)
        return ours
    if len(entries) > 1:
        raise ConfigError(
            f"the name of a model must be unique, and {name!r} is declared by {owners}: "
            f"uninstall {_package(entries[-1])}, or have its model renamed"
        )
    if not entries:
        raise ConfigError(
            f"there is no model {name!r}: {suggestion(name, ['auto', *model_names()])}"
        )
    return _loaded(entries[0])


def summaries() -> list[tuple[str, str]]:
    """Return (name, summary) of all models; a package that cannot be used says so in its place."""
    found = []
    for name in model_names():
        try:
            found.append((name, model_spec(name).summary))
        except MultitudesError as error:
            found.append((name, str(error)))
    return found


def stored_classes() -> dict[str, str]:
    """Return kind -> "module:Class" of the models of this library."""
    return {kind: home for spec in built_in_models().values() for kind, home in spec.stored.items()}


def stored_classes_of_others() -> tuple[dict[str, str], list[str]]:
    """Return kind -> "module:Class" of other packages' models, and what kept some from loading.

    A kind that is declared as two classes is nobody's: which of them comes first is chance.
    """
    owners: dict[str, dict[str, str]] = {}  # kind -> class -> the package that says so
    problems = []
    for entry in _declared():
        if entry.name in built_in_models():
            problems.append(_taken(_package(entry), entry.name))
            continue
        try:
            for kind, home in model_spec(entry.name).stored.items():
                owners.setdefault(kind, {}).setdefault(home, _package(entry))
        except MultitudesError as error:
            problems.append(str(error))
    for kind, homes in owners.items():
        if len(homes) > 1:
            said = " and by ".join(f"{package} as {home}" for home, package in homes.items())
            problems.append(
                f"the kind {kind!r} is declared by {said}: uninstall one, or have its kind renamed"
            )
    return {kind: next(iter(homes)) for kind, homes in owners.items() if len(homes) == 1}, problems


def _taken(owners: str, name: str) -> str:
    return (
        f"{owners} declares a model {name!r}, which is a name of multitudes itself: multitudes' "
        "own is used; have the other renamed, or uninstall it"
    )


@functools.cache
def _declared() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINTS))


def _package(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"the package {entry.dist.name}"


@functools.cache
def _loaded(entry: EntryPoint) -> ModelSpec:
    """Import the spec of an entry point; whatever is wrong with it is said in words."""
    who = f"{_package(entry)} declares the model {entry.name!r} as {entry.value}"
    advice = "upgrade or uninstall that package"
    try:
        spec = entry.load()
    except MultitudesError as error:  # e.g. an extra that is missing: its message says what to do
        raise ConfigError(f"{who}, which cannot be used: {error}") from error
    except Exception as error:  # another package's code may raise anything
        raise ConfigError(
            f"{who}, which cannot be imported ({type(error).__name__}: {error}): {advice}"
        ) from error
    if not isinstance(spec, ModelSpec):
        raise ConfigError(f"{who}, whose type is {type(spec).__name__}, not ModelSpec: {advice}")
    if spec.name != entry.name:
        raise ConfigError(f"{who}, whose name is {spec.name!r}: the two must be equal; {advice}")
    return spec
