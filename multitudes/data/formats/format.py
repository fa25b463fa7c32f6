"""`Format`: all there is to know about one file format; and what writers of texts share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from multitudes.data.dataset import Dataset
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import ReadOptions, WriteOptions
from multitudes.errors import ConfigError, DataError
from multitudes.types import Sparse

TEXTS, FEATURES = "texts", "features"


class Reader(Protocol):
    """The type of `Format.read`."""

    def __call__(self, path: Path, options: ReadOptions, *, labels: LabelSpace | None) -> Dataset:
        """Read a path, over the label space `labels` if it is given."""


class Writer(Protocol):
    """The type of `Format.write`."""

    def __call__(self, dataset: Dataset, path: Path, options: WriteOptions) -> None:
        """Write a Dataset to a path."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format: how it is recognized, read and written.

    Functions import what is heavy (pyarrow, compiled kernels) when they are called, because the
    formats of all packages are loaded together.

    Parameters
    ----------
    name : str
        What users call it: ``format="csv"``, ``--format csv``.
    summary : str
        One line for lists of formats.
    holds : {"texts", "features"}
        What an instance is.
    holds_groups : bool
        Whether an instance names its groups, and they are read and written with it. If not, they
        go to a file of their own: `instance_groups` of the options.
    read : callable
        ``read(path, options, *, labels)`` returns a Dataset. `labels` is a LabelSpace to read
        over, or None; `relabel` moves a finished Dataset to it.
    write : callable, optional
        ``write(dataset, path, options)``; None if the format can only be read.
    suffixes : tuple of str
        Suffixes of its files, in lower case with their dot, without that of a compression. The
        first format with a suffix owns it.
    sniff : callable, optional
        ``sniff(head)``: whether a file is of this format, from its first 64 KiB, decompressed.
    certain : bool
        Whether a positive `sniff` is proof, which outweighs the suffix of another format. If it is
        only a guess, e.g. for tables, whose only mark is a comma, formats that are certain are
        asked first, and a file's suffix outweighs it, except ``.txt``, which tells nothing.
    sniff_path : callable, optional
        ``sniff_path(path, split)``: whether a folder, or a path without a file of this name (the
        common name of several files), is of this format.
    loses : callable, optional
        ``loses(dataset, options)``: a sentence for each part of a Dataset that it cannot hold.
    """

    name: str
    summary: str
    holds: str
    read: Reader
    write: Writer | None = None
    holds_groups: bool = False
    suffixes: tuple[str, ...] = ()
    sniff: Callable[[bytes], bool] | None = None
    certain: bool = True
    sniff_path: Callable[[Path, str], bool] | None = None
    loses: Callable[[Dataset, WriteOptions], list[str]] | None = None

    def __post_init__(self) -> None:
        if self.holds not in (TEXTS, FEATURES):
            raise ConfigError(
                f"Format.holds must be {TEXTS!r} or {FEATURES!r}, got {self.holds!r} "
                f"for {self.name!r}"
            )
        for suffix in self.suffixes:
            if not suffix.startswith(".") or suffix != suffix.lower():
                raise ConfigError(
                    "Format.suffixes must start with a dot and be in lower case, got "
                    f"{suffix!r} for {self.name!r}"
                )

    def check_instance_groups(self, path: str | None) -> None:
        """Refuse a file of groups for a format whose instances name their groups themselves."""
        if path is not None and self.holds_groups:
            raise ConfigError(
                f"instance_groups is for formats without groups (sparse-text, npz), got {path!r} "
                f"for {self.name}, in which an instance names its groups itself (group_column): "
                "leave it out"
            )


def texts_of(dataset: Dataset, format: str) -> Sequence[str]:
    """Return the texts of a Dataset to write; refuse one of features."""
    if dataset.texts is None:
        raise DataError(
            f"cannot write features as {format}, which holds texts; expected a Dataset with texts: "
            "write a format of features, e.g. sparse-text, npz"
        )
    return dataset.texts


def features_of(dataset: Dataset, format: str) -> Sparse:
    """Return the features of a Dataset to write; refuse one of texts."""
    if dataset.X is None:
        raise DataError(
            f"cannot write texts as {format}, which holds features; expected a Dataset with X: "
            "turn the texts into features first, or write a format of texts, e.g. json-lines, csv"
        )
    return dataset.X


def lost_uids(dataset: Dataset) -> list[str]:
    """Return what a format that has no uids loses of a Dataset."""
    return [] if dataset.uids is None else ["the uids of instances are not written"]


def writes_labels(dataset: Dataset) -> bool:
    """Return whether instances are written with their labels: not if only groups have any."""
    return dataset.groups is None or bool(dataset.Y.nnz)


def label_rows(dataset: Dataset, rows: range, *, as_names: bool) -> list[list[Any]]:
    """Return the labels of consecutive instances, as names or as ids."""
    Y = dataset.Y
    bounds = Y.indptr[rows.start : rows.stop + 1].tolist()
    ids = Y.indices[bounds[0] : bounds[-1]].tolist() if len(rows) else []
    labels = [dataset.label_name(label) for label in ids] if as_names else ids
    return [labels[start - bounds[0] : end - bounds[0]] for start, end in pairwise(bounds)]
