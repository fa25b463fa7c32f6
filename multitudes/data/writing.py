"""What all writers of texts share: which texts, and an instance's labels as they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from multitudes.data.dataset import Dataset
from multitudes.data.formats import FORMATS
from multitudes.errors import DataError

TEXT_FORMATS = ("json-lines", "csv", "tsv", "parquet", "lf")


def check_writable(dataset: Dataset, format: str) -> Sequence[str]:
    """The texts of a Dataset, or an error where it has features instead."""
    if dataset.texts is not None:
        return dataset.texts
    others = ", ".join(name for name in FORMATS if name not in TEXT_FORMATS)
    raise DataError(
        f"cannot write features as {format}, which holds texts; expected a Dataset with texts: "
        f"write it as one of {others}"
    )


@contextmanager
def encoding_checked(path: str | Path) -> Iterator[None]:
    """Turn the complaint about a text that UTF-8 cannot hold into a DataError."""
    try:
        yield
    except (UnicodeEncodeError, TypeError) as error:
        if "surrogates" not in str(error):
            raise
        raise DataError(
            f"cannot write {path}: a text, label or uid holds half a character, a lone surrogate "
            f"({error}); expected valid Unicode: decode your data with errors='replace'"
        ) from error


def writes_names(dataset: Dataset, label_kind: str) -> bool:
    """Whether labels are written as names rather than ids."""
    return label_kind == "names" or (label_kind == "auto" and dataset.label_names is not None)


def writes_labels(dataset: Dataset) -> bool:
    """Whether instances are written with a field for labels: not where only groups have any."""
    return dataset.groups is None or bool(dataset.Y.nnz)


def label_rows(dataset: Dataset, rows: range, label_kind: str) -> list[list[Any]]:
    """The labels of consecutive instances, as names or as ids."""
    as_names = writes_names(dataset, label_kind)
    Y = dataset.Y
    bounds = Y.indptr[rows.start : rows.stop + 1].tolist()
    ids = Y.indices[bounds[0] : bounds[-1]].tolist() if len(rows) else []
    labels = [dataset.label_name(label) for label in ids] if as_names else ids
    return [labels[start - bounds[0] : end - bounds[0]] for start, end in pairwise(bounds)]
