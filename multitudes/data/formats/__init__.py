"""The table of file formats: one file per format, one line here; other packages may add theirs.

Each format's file ends with its `Format`. A package adds a format through the entry point group
``multitudes.formats``, e.g. in its pyproject.toml::

    [project.entry-points."multitudes.formats"]
    hashtags = "multitudes_hashtags:HASHTAGS"      # a Format whose name is "hashtags"

Entry points are loaded only when no format of this table has the name or suffix in question, and
for lists of all formats.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from multitudes.data.dataset import Dataset
from multitudes.data.formats.annif_folder import ANNIF_FOLDER
from multitudes.data.formats.annif_tsv import ANNIF_TSV
from multitudes.data.formats.delimited import CSV, TSV
from multitudes.data.formats.fasttext import FASTTEXT
from multitudes.data.formats.format import Format
from multitudes.data.formats.json_lines import JSON_LINES
from multitudes.data.formats.lf import LF
from multitudes.data.formats.npz import NPZ
from multitudes.data.formats.parquet import PARQUET
from multitudes.data.formats.plain_lines import LINES
from multitudes.data.formats.sparse_text import SPARSE_TEXT
from multitudes.data.formats.xc_pair import XC_PAIR
from multitudes.data.groups.files import with_groups
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import ReadOptions, WriteOptions
from multitudes.errors import ConfigError, DataError, MultitudesError, suggestion

BUILT_IN = (
    JSON_LINES,
    CSV,
    TSV,
    PARQUET,
    LF,
    FASTTEXT,
    ANNIF_TSV,
    ANNIF_FOLDER,
    SPARSE_TEXT,
    XC_PAIR,
    NPZ,
    LINES,
)
ENTRY_POINTS = "multitudes.formats"


def list_formats() -> tuple[Format, ...]:
    """Return all formats: those of multitudes, then those of other installed packages.

    A format of another package that cannot be used is left out with a warning that names the
    package.

    Examples
    --------
    >>> [format.name for format in list_formats() if format.holds == "features"][:2]
    ['sparse-text', 'npz']
    """
    return (*BUILT_IN, *formats_of_packages().formats)


def find_format(name: str) -> Format:
    """Return the format of a name; ``jsonl`` and other suffixes stand for their formats.

    Raises
    ------
    DataError
        If there is no such format.
    ConfigError
        If a package declares the format but it cannot be loaded.
    """
    built_in = _named(BUILT_IN, name) or suffix_owner(BUILT_IN, f".{name}")
    if built_in is not None:
        return built_in
    others = formats_of_packages()
    if name in others.problems:
        raise ConfigError(others.problems[name])
    found = _named(others.formats, name) or suffix_owner(others.formats, f".{name}")
    if found is None:
        known = [format.name for format in list_formats()]
        raise DataError(f"unknown format {name!r}: {suggestion(name, known)}")
    return found


def format_of_suffix(suffix: str) -> Format | None:
    """Return the format that owns a suffix, such as ``".csv"``; None if there is none."""
    found = suffix_owner(BUILT_IN, suffix)
    if found is None and suffix:
        found = suffix_owner(formats_of_packages().formats, suffix)
    return found


def suffix_owner(formats: tuple[Format, ...], suffix: str) -> Format | None:
    """Return the first of some formats that has a suffix."""
    return next((format for format in formats if suffix in format.suffixes), None)


def _named(formats: tuple[Format, ...], name: str) -> Format | None:
    return next((format for format in formats if format.name == name), None)


@dataclass(frozen=True)
class PackageFormats:
    """The formats of other packages; `problems` says by name why others cannot be used."""

    formats: tuple[Format, ...]
    problems: dict[str, str]


@functools.cache
def formats_of_packages() -> PackageFormats:
    """Load the formats that other installed packages declare, once.

    One that cannot be used is a warning here, and an error when it is asked for by name.
    """
    taken = {format.name: "multitudes itself" for format in BUILT_IN}
    formats: list[Format] = []
    problems: dict[str, str] = {}
    for entry_point in sorted(metadata.entry_points(group=ENTRY_POINTS), key=_package):
        found = _load(entry_point, taken)
        if isinstance(found, Format):
            taken[found.name] = f"the package {_package(entry_point)}"
            formats.append(found)
        else:
            problems[entry_point.name] = found
            warnings.warn(found, RuntimeWarning, stacklevel=2)
    return PackageFormats(tuple(formats), problems)


def _load(entry_point: metadata.EntryPoint, taken: dict[str, str]) -> Format | str:
    """Return the format of an entry point, or why it cannot be used."""
    name, package = entry_point.name, _package(entry_point)
    if name in taken:
        return (
            f"the package {package} declares the format {name!r}, but {taken[name]} has a format "
            "of this name, which is used instead: ask its authors to rename theirs"
        )
    try:
        found = entry_point.load()
    except Exception as error:  # noqa: BLE001  importing another package can fail in any way
        return (
            f"the format {name!r} of the package {package} cannot be loaded "
            f"({type(error).__name__}: {error}): update or uninstall the package"
        )
    if not isinstance(found, Format) or found.name != name:
        got = f"one named {found.name!r}" if isinstance(found, Format) else type(found).__name__
        return (
            f"the format {name!r} of the package {package} cannot be used: {entry_point.value} "
            f"must be a multitudes.data.Format named {name!r}, got {got}: update or uninstall "
            "the package"
        )
    return _guarded(found, f"the format {name!r} of the package {package}")


def _guarded(format: Format, whose: str) -> Format:
    """Return the format with functions whose failures name the package, and stop nobody else."""

    def asked(sniff: Callable[..., bool] | None) -> Callable[..., bool] | None:
        return None if sniff is None else functools.partial(_sniff_safely, sniff, whose)

    def read(path: Path, options: ReadOptions, *, labels: LabelSpace | None) -> Dataset:
        dataset = _call(lambda: format.read(path, options, labels=labels), path, whose)
        if not isinstance(dataset, Dataset):
            raise ConfigError(
                f"{path}: {whose} cannot be used: its reader must return a multitudes.data.Dataset,"
                f" got {type(dataset).__name__}: update or uninstall the package"
            )
        if format.holds_groups or dataset.groups is not None:
            return dataset
        n_labels = None if labels is None else dataset.n_labels
        return with_groups(dataset, options, n_labels=n_labels)

    def write(dataset: Dataset, path: Path, options: WriteOptions) -> None:
        assert format.write is not None
        writer = format.write
        _call(lambda: writer(dataset, path, options), path, whose)

    return replace(
        format,
        sniff=asked(format.sniff),
        sniff_path=asked(format.sniff_path),
        read=read,
        write=None if format.write is None else write,
    )


def _sniff_safely(sniff: Callable[..., bool], whose: str, *arguments: Any) -> bool:
    try:
        return bool(sniff(*arguments))
    except Exception as error:  # noqa: BLE001  a broken package must not stop other formats
        warnings.warn(
            f"{whose} is passed over: it cannot tell whether a file is its own "
            f"({type(error).__name__}: {error}): update or uninstall the package",
            RuntimeWarning,
            stacklevel=2,
        )
        return False


def _call(function: Callable[[], Any], path: Path, whose: str) -> Any:
    try:
        return function()
    except (MultitudesError, MemoryError):
        raise
    except Exception as error:
        raise DataError(
            f"{path}: {whose} failed ({type(error).__name__}: {error}): check the file, or update "
            "the package"
        ) from error


def _package(entry_point: metadata.EntryPoint) -> str:
    dist = entry_point.dist
    return entry_point.value if dist is None else f"{dist.name} {dist.version}"
