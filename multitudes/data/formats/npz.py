"""A pair of SciPy ``.npz`` files: X, the features, and Y, the labels, rows being instances.

The pair is named by

* a folder that holds ``trn.X.npz`` and ``trn.Y.npz`` (or another `split`), or ``X.trn.npz`` and
  ``Y.trn.npz``, or ``X.npz`` and ``Y.npz``, looked for in this order;
* either of the two files: the other has the same name with X and Y exchanged;
* ``name.npz`` or ``name``, for ``name.X.npz`` and ``name.Y.npz``.

Names of labels and features are taken from ``lbl.jsonl`` and ``features.txt`` beside them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data.compression import open_write
from multitudes.data.dataset import Dataset
from multitudes.data.folders import NamesBeside, write_names
from multitudes.data.formats.format import FEATURES, Format, features_of, lost_uids
from multitudes.data.groups.files import with_groups
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.sparse_files import read_sparse
from multitudes.errors import DataError


def read_npz_pair(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read X and Y; nothing in the files can execute code.

    Parameters
    ----------
    path : path
        A folder, one of the two files, or their common name; see the module.
    options : ReadOptions
        `split`, `n_features` and `n_labels` matter here.
    labels : LabelSpace, optional
        The label space to read over.
    """
    x_path, y_path = find_pair(Path(path), options.split)
    X, Y = read_sparse(x_path), read_sparse(y_path)
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"{x_path} has {X.shape[0]:,} rows and {y_path.name} {Y.shape[0]:,}; expected one row "
            "per instance in both: pair the files of one split"
        )
    _check_binary(Y, y_path)
    _check_columns(x_path, X, options.n_features, "n_features")
    _check_columns(y_path, Y, options.n_labels, "n_labels")
    dataset = NamesBeside.of(x_path.parent).dataset(X, Y)
    dataset = with_groups(dataset, options, n_labels=dataset.n_labels)
    if labels is None:
        return dataset
    return relabel(dataset, labels, unknown_labels=options.unknown_labels, path=x_path)


def write_npz_pair(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write X and Y, and the names beside them unless ``options.label_kind`` is "ids".

    A folder, created if it does not exist, gets ``trn.X.npz`` and ``trn.Y.npz`` (or another
    `split`); a path that ends in ``.npz`` names the pair as in reading.
    """
    X = features_of(dataset, NPZ.name)
    path = Path(path)
    if path.suffix != ".npz":
        _make_folder(path)
        path = path / f"{options.split}.npz"
    x_path, y_path = _named_pair(path)
    if options.label_kind != "ids":
        write_names(dataset, x_path.parent)
    for part_path, matrix in ((x_path, X), (y_path, dataset.Y)):
        with open_write(part_path) as stream:
            sp.save_npz(stream, matrix)


def find_pair(path: Path, split: str) -> tuple[Path, Path]:
    """Return the paths of X and Y; an error lists what was looked for."""
    if path.is_dir():
        names = (f"{split}.X.npz", f"X.{split}.npz", "X.npz")
        pairs = [_named_pair(path / name) for name in names]
    else:
        pairs = [_named_pair(path)]
    for x_path, y_path in pairs:
        if x_path.is_file() and y_path.is_file():
            return x_path, y_path
    tried = ", ".join(f"{x.name} + {y.name}" for x, y in pairs)
    folder = path if path.is_dir() else path.parent
    raise DataError(f"no pair of .npz files at {path}; looked in {folder} for {tried}")


def is_npz_pair(path: Path, split: str = "trn") -> bool:
    """Return whether a path names an existing pair."""
    try:
        find_pair(path, split)
    except DataError:
        return False
    return True


def _named_pair(path: Path) -> tuple[Path, Path]:
    """Return the pair a path belongs to, by name: X or Y is one of the parts between its dots."""
    parts = path.name.removesuffix(".npz").split(".")
    place = next((i for i in range(len(parts) - 1, -1, -1) if parts[i] in ("X", "Y")), len(parts))
    x_parts, y_parts = ([*parts[:place], letter, *parts[place + 1 :], "npz"] for letter in "XY")
    return path.with_name(".".join(x_parts)), path.with_name(".".join(y_parts))


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot write into {path}: {error.strerror or error}") from error


def _check_binary(Y: sp.csr_array[Any], path: Path) -> None:
    other = np.flatnonzero((Y.data != 0) & (Y.data != 1))
    if len(other):
        raise DataError(
            f"{path} must hold 1 for each label of an instance, got {Y.data[other[0]]}: set its "
            "data to 1, or exchange X and Y"
        )
    Y.eliminate_zeros()


def _check_columns(path: Path, matrix: Any, asked: int | None, name: str) -> None:
    if asked is not None and matrix.shape[1] != asked:
        raise DataError(
            f"{path} has {matrix.shape[1]:,} columns, but {name}={asked:,} was asked for: leave "
            f"{name} out, or pair it with other data"
        )


def _sniff(head: bytes) -> bool:
    return head.startswith(b"PK\x03\x04")


def _sniff_path(path: Path, split: str) -> bool:
    if path.is_dir():
        return any(path.glob("*.npz"))
    return is_npz_pair(path, split)  # by its common name, which no file has


NPZ = Format(
    name="npz",
    summary="a pair of SciPy .npz files, X and Y",
    suffixes=(".npz",),
    holds=FEATURES,
    sniff=_sniff,
    sniff_path=_sniff_path,
    read=read_npz_pair,
    write=write_npz_pair,
    loses=lambda dataset, options: lost_uids(dataset),
)
