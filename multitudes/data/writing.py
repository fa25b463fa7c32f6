"""`write_dataset`: a Dataset to a file or folder of any known format."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from multitudes.data.compression import uncompressed_suffix, writable
from multitudes.data.dataset import Dataset
from multitudes.data.formats import find_format, format_of_suffix, list_formats
from multitudes.data.formats.format import FEATURES, Format, features_of, texts_of
from multitudes.data.formats.lf import LF
from multitudes.data.formats.npz import NPZ
from multitudes.data.groups.files import write_groups, write_instance_groups
from multitudes.data.options import DEFAULT_WRITE, WriteOptions
from multitudes.errors import DataError
from multitudes.files.together import together


def write_dataset(
    dataset: Dataset,
    path: str | Path,
    *,
    format: str | None = None,
    options: WriteOptions = DEFAULT_WRITE,
) -> None:
    """Write a Dataset to a file or a folder.

    A file appears under its name only when it is complete, and files that belong to each other
    (features and labels) appear together.

    Parameters
    ----------
    dataset : Dataset
        What to write. What a format cannot hold (e.g. filter pairs in CSV) is left out.
    path : path
        The file or folder. The suffix chooses the compression: gz, xz, bz2 or zst.
    format : str, optional
        The name of a format, see `list_formats`. By default the suffix tells the format. A path
        without a suffix is a folder: of the LF layout for texts, of npz files for features.
    options : WriteOptions
        Names or ids, separators, the split of a folder, where the labels of groups go.

    Examples
    --------
    >>> write_dataset(train, "train.parquet")                               # doctest: +SKIP
    """
    path = Path(path)
    known = _format_of(path, dataset) if format is None else find_format(format)
    (features_of if known.holds == FEATURES else texts_of)(dataset, known.name)
    known.check_instance_groups(options.instance_groups)
    if known.write is None:
        raise DataError(f"cannot write {path}: the format {known.name!r} can only be read")
    if not path.absolute().parent.is_dir():
        raise DataError(f"cannot write {path}: the folder {path.parent} does not exist: make it")
    with writable(path), together():
        known.write(dataset, path, options)
        if options.instance_groups is not None:
            write_instance_groups(dataset, options.instance_groups)
        if options.group_labels is not None:
            # Instances of the LF layout have label ids, so their groups do, too.
            kind = "ids" if known is LF else options.label_kind
            groups = dataclasses.replace(options, label_kind=kind)
            write_groups(dataset, options.group_labels, groups)


def left_behind(
    dataset: Dataset, path: str | Path, *, format: str | None = None, options: WriteOptions
) -> list[str]:
    """Return a sentence for each part of a Dataset that `write_dataset` leaves out or changes."""
    known = _format_of(Path(path), dataset) if format is None else find_format(format)
    sentences = [] if known.loses is None else known.loses(dataset, options)
    loses_groups = not known.holds_groups and options.instance_groups is None
    if dataset.groups is not None and loses_groups:
        sentences.append(
            "the groups of instances are not written: name a file with instance_groups"
        )
    if dataset.group_labels is not None and options.group_labels is None:
        sentences.append("the labels of groups are not written: name a file with group_labels")
    return [f"{path}: {sentence}" for sentence in sentences]


def _format_of(path: Path, dataset: Dataset) -> Format:
    suffix = uncompressed_suffix(path)
    if path.is_dir() or not suffix:
        return NPZ if dataset.texts is None else LF
    format = format_of_suffix(suffix)
    if format is None:
        formats = list_formats()
        suffixes = ", ".join(suffix for format in formats for suffix in format.suffixes)
        raise DataError(
            f"cannot write {path}: no format is known from the suffix {suffix!r}; expected one of "
            f"{suffixes}, or a folder: or name one of {', '.join(f.name for f in formats)}, as in "
            "format='csv'"
        )
    return format
