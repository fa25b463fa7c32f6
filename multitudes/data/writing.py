"""What all writers of texts share: which texts, and an instance's labels as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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


def label_rows(dataset: Dataset, rows: range, label_kind: str) -> list[list[Any]]:
    """The labels of consecutive instances, as names or as ids."""
    as_names = label_kind == "names" or (label_kind == "auto" and dataset.label_names is not None)
    Y = dataset.Y
    bounds = Y.indptr[rows.start : rows.stop + 1].tolist()
    ids = Y.indices[bounds[0] : bounds[-1]].tolist() if len(rows) else []
    labels = [dataset.label_name(label) for label in ids] if as_names else ids
    return [labels[start - bounds[0] : end - bounds[0]] for start, end in pairwise(bounds)]
