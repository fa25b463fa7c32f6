"""`write`: a Dataset to a file or folder of any known format."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import cast

from multitudes.data.compression import uncompressed_suffix
from multitudes.data.dataset import Dataset
from multitudes.data.detect import known_format
from multitudes.data.feature_groups import check_instance_groups, write_instance_groups
from multitudes.data.formats import (
    DEFAULT_WRITE,
    FEATURE_FORMATS,
    FORMAT_SUFFIXES,
    FORMATS,
    WriteOptions,
)
from multitudes.data.group_file import write_groups
from multitudes.errors import DataError

WRITERS = {
    "json-lines": ("multitudes.data.json_lines", "write_json_lines"),
    "csv": ("multitudes.data.delimited", "write_delimited"),
    "tsv": ("multitudes.data.delimited", "write_delimited"),
    "parquet": ("multitudes.data.parquet", "write_parquet"),
    "lf": ("multitudes.data.lf_layout", "write_lf"),
    "sparse-text": ("multitudes.data.sparse_text", "write_sparse_text"),
    "npz": ("multitudes.data.npz_pair", "write_npz_pair"),
}


def write(
    dataset: Dataset,
    path: str | Path,
    *,
    format: str | None = None,
    options: WriteOptions = DEFAULT_WRITE,
) -> None:
    """Write a Dataset; the format goes by the suffix, and so does compression.

    A path without a suffix is a folder: the LF layout for texts, an npz pair for features.
    A file appears under its name only when it is whole.

    Parameters
    ----------
    dataset : Dataset
        What to write. What a format has no place for (e.g. filter pairs in CSV) stays behind.
    path : path
        The file or folder.
    format : str, optional
        One of `FORMATS`, where the suffix does not say.
    options : WriteOptions
        Names or ids, separators, the split of a folder, where the labels of groups go.
    """
    path = Path(path)
    format = _format_of(path, dataset) if format is None else known_format(format)
    if format in FEATURE_FORMATS and dataset.X is None:
        raise DataError(
            f"cannot write texts as {format}, which holds features; expected a Dataset with X: "
            "turn the texts into features first, or write JSON lines, CSV, Parquet or LF"
        )
    check_instance_groups(options.instance_groups, format)
    if not path.absolute().parent.is_dir():
        raise DataError(f"cannot write {path}: the folder {path.parent} does not exist: make it")
    if format == "tsv" and options.delimiter is None:
        options = dataclasses.replace(options, delimiter="\t")
    module, name = WRITERS[format]
    writer = cast(Callable[..., None], getattr(importlib.import_module(module), name))
    writer(dataset, path, options)
    if options.instance_groups is not None:
        write_instance_groups(dataset, options.instance_groups)
    if options.group_labels is not None:
        # Instances of the LF layout have ids, so their groups do, too.
        kind = "ids" if format == "lf" else options.label_kind
        write_groups(dataset, options.group_labels, dataclasses.replace(options, label_kind=kind))


def left_behind(dataset: Dataset, path: str | Path, options: WriteOptions) -> list[str]:
    """What `write` would not write of a Dataset's groups, a sentence each that says how to."""
    sentences = []
    if dataset.groups is not None and dataset.texts is None and options.instance_groups is None:
        sentences.append("the groups of instances stay behind: set instance_groups to a file")
    if dataset.group_labels is not None and options.group_labels is None:
        sentences.append("the labels of groups stay behind: set group_labels to a file")
    return [f"{path}: {sentence}" for sentence in sentences]


def _format_of(path: Path, dataset: Dataset) -> str:
    suffix = uncompressed_suffix(path)
    if path.is_dir() or not suffix:
        return "npz" if dataset.texts is None else "lf"
    if suffix in FORMAT_SUFFIXES:
        return FORMAT_SUFFIXES[suffix]
    raise DataError(
        f"cannot tell a format from the suffix {suffix!r} of {path}; expected one of "
        f"{', '.join(FORMAT_SUFFIXES)}, or a folder: or name one of {', '.join(FORMATS)}, e.g. "
        "format='csv' (--format csv)"
    )
