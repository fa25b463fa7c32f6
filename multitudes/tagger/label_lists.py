"""Label names as users hold them, one list per text, to the label matrix Y and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import DataError


def label_matrix(
    labels: Sequence[Sequence[str]], label_names: Sequence[str] | None
) -> tuple[sp.csr_array[Any], list[str]]:
    """Y and the name of each column.

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
        listed = list(labels)
    except TypeError:
        raise DataError(
            f"labels must be one list of label names per text, or a CSR matrix, got {labels!r}"
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
    """A list of label names; `where` names it in messages."""
    is_one = isinstance(row, (str, bytes)) or getattr(row, "ndim", 1) == 0
    if is_one or not hasattr(row, "__iter__"):
        raise DataError(
            f"{where} must be a list of label names, got {row!r}: for a single label write [label]"
        )
    names = list(row)
    for name in names:
        if not isinstance(name, str):
            raise DataError(
                f"{where} holds {name!r} ({type(name).__name__}); label names are str: "
                "convert ids with str(), or pass a CSR matrix and label_names"
            )
    return [str(name) for name in names]  # numpy has a str of its own
