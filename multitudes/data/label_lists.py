"""Labels as people hold them, lists of names or a 0/1 matrix, turned into Y and label names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.validation import label_matrix

SEPARATORS = (";", "|", ",", "\t")  # what may be between labels, for advice
NUMBERS = "biuf"  # kinds of numpy dtypes that a 0/1 matrix may have


def as_list(column: Any) -> list[Any]:
    """Return a column of any library as a list.

    Parameters
    ----------
    column : list, numpy array, Series of pandas or polars, column of Hugging Face or pyarrow
    """
    if isinstance(column, (list, tuple)):
        return list(column)
    for method in ("to_pylist", "to_list", "tolist"):  # of pyarrow, of pandas and polars, of numpy
        if hasattr(column, method) and getattr(column, "ndim", 1) != 0:
            return list(getattr(column, method)())
    try:
        if hasattr(column, "tocsr"):  # its rows are no values of a column
            raise TypeError
        return list(column)
    except TypeError as error:
        raise DataError(f"expected a list or a column, got {type(column).__name__}") from error


def text_list(texts: Any) -> list[Any]:
    """Return a column of texts as a list; refuse one text, and a whole table.

    Elements are not looked at here.
    """
    if isinstance(texts, (str, bytes)):
        shown = repr(texts) if len(texts) <= 60 else repr(texts[:57]) + "..."
        raise DataError(
            f"expected a sequence of texts, got the single {type(texts).__name__} {shown}: "
            "wrap it in a list"
        )
    if is_table(texts):
        raise DataError(
            f"expected one column of texts, got a whole table ({type(texts).__name__}): pass "
            "table[column], or make a Dataset of it with " + _way_from(texts)
        )
    has_rows = hasattr(texts, "__iter__") and not isinstance(texts, Mapping)
    if getattr(texts, "ndim", 1) != 1 or not has_rows:
        shape = getattr(texts, "shape", "")
        raise DataError(
            f"expected a sequence of texts, got {type(texts).__name__}{shape}: pass a list of str, "
            "one per instance; features X go into Dataset(X=..., Y=...)"
        )
    return as_list(texts)


def _way_from(table: Any) -> str:
    is_huggingface = type(table).__module__.partition(".")[0] == "datasets"
    way = "from_huggingface(data" if is_huggingface else "from_pandas(frame"
    return f"Dataset.{way}, text=..., labels=...)"


def check_as_many(texts: int, lists: int) -> None:
    """Refuse anything but one list of labels for each text, or row of X."""
    if texts != lists:
        raise DataError(
            f"there must be one list of labels per text, got {texts:,} texts and {lists:,} lists"
        )


def is_table(value: Any) -> bool:
    """Return whether a value has named columns: a DataFrame, a Hugging Face Dataset, and so on."""
    return hasattr(value, "columns") or hasattr(value, "column_names")


def labels_and_names(
    labels: Any, label_names: Sequence[str] | None = None
) -> tuple[sp.csr_array[Any], list[str] | None]:
    """Return Y and the name of each column, or None if labels have numbers alone.

    Parameters
    ----------
    labels : sequence of sequences of str, or 0/1 matrix (n_instances, n_labels)
        The label names of each text; or a sparse matrix, array or DataFrame of 0 and 1, whose
        columns `label_names` name (of a DataFrame: its own columns do).
    label_names : sequence of str, optional
    """
    names = None if label_names is None else [str(name) for name in as_list(label_names)]
    if not _is_matrix(labels):
        return label_lists_matrix(labels, names)
    if names is None and hasattr(labels, "columns"):
        names = [str(name) for name in labels.columns]
    values = labels.to_numpy() if hasattr(labels, "to_numpy") else labels
    Y = label_matrix(values, n_instances=labels.shape[0], name="labels")
    if names is not None and len(names) != Y.shape[1]:
        raise DataError(
            f"label_names must have one name per column of the labels ({Y.shape[1]:,}), "
            f"got {len(names):,}"
        )
    return Y, names


def _is_matrix(labels: Any) -> bool:
    if sp.issparse(labels):
        return True
    if hasattr(labels, "columns"):
        return len(getattr(labels, "shape", ())) == 2
    return isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.dtype.kind in NUMBERS


def label_lists_matrix(
    labels: Iterable[Any], label_names: Sequence[str] | None
) -> tuple[sp.csr_array[Any], list[str]]:
    """Return Y and the name of each column.

    Parameters
    ----------
    labels : sequence of sequences of str
        The label names of each text; a text may have none, and a repeated name counts once.
    label_names : sequence of str, optional
        The label space; without it, all names that occur, sorted, so that the order of the texts
        does not change label ids.

    Returns
    -------
    Y : CSR (n_instances, n_labels), float32
    label_names : list of str
    """
    try:
        listed = as_list(labels)
    except DataError:
        raise DataError(
            "labels must be one list of label names per text, or a matrix of 0 and 1 "
            f"(n_instances, n_labels), got {labels!r}"
        ) from None
    rows = [checked_row(row, f"labels[{number}]") for number, row in enumerate(listed)]
    names = sorted({name for row in rows for name in row})
    if label_names is not None:
        names = list(label_names)
    index = {name: label for label, name in enumerate(names)}
    try:
        ids = [sorted({index[name] for name in row}) for row in rows]
    except KeyError as error:
        raise DataError(
            f"label {error.args[0]!r} is not among the {len(names):,} label_names: add it there"
        ) from None
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in ids])]).astype(np.int64)
    indices = np.array([label for row in ids for label in row], np.int32)
    ones = np.ones(len(indices), np.float32)
    return sp.csr_array((ones, indices, indptr), shape=(len(rows), len(names))), names


def checked_row(row: Any, where: str) -> list[str]:
    """Return a list of label names; `where` names it in messages."""
    is_one = isinstance(row, (str, bytes)) or getattr(row, "ndim", 1) == 0
    if is_one or not hasattr(row, "__iter__"):
        raise DataError(f"{where} must be a list of label names, got {row!r}: {_advice(row)}")
    names = list(row)
    for name in names:
        if not isinstance(name, str):
            raise DataError(
                f"{where} holds {name!r} ({type(name).__name__}); label names are str: "
                "convert ids with str(), or pass a 0/1 matrix and label_names"
            )
    return [str(name) for name in names]  # numpy has a str of its own


def _advice(row: Any) -> str:
    """Return what to do with a row that is not a list of label names."""
    if row is None:
        return "for no label write []"
    mark = next((mark for mark in SEPARATORS if isinstance(row, str) and mark in row), None)
    if mark is not None:
        return f"divide it, text.split({mark!r}); for a single label write [label]"
    return "for a single label write [label]"


def listed_texts(
    label_texts: Mapping[str, str] | Sequence[str] | None, names: Sequence[str]
) -> list[str] | None:
    """Return one text per name, from texts by name (defaults to the name itself) or in order."""
    if label_texts is None:
        return None
    if isinstance(label_texts, Mapping):
        known = set(names)
        unknown = [name for name in label_texts if name not in known]
        if unknown:
            raise DataError(
                f"label_texts has {unknown[0]!r}, which is not among the {len(names):,} labels"
            )
        return [label_texts.get(name, name) for name in names]
    if isinstance(label_texts, str) or len(label_texts) != len(names):
        given = "one str" if isinstance(label_texts, str) else f"{len(label_texts):,}"
        raise DataError(
            f"label_texts must be one text per label ({len(names):,}), in the order of "
            f"label_names, or a mapping of names to texts, got {given}"
        )
    return list(label_texts)
