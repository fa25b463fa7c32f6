"""`read`: a Dataset from a file or folder of any known format."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import cast

from multitudes.data.dataset import Dataset
from multitudes.data.detect import detect, known_format
from multitudes.data.feature_groups import check_instance_groups
from multitudes.data.formats import DEFAULT_READ, ReadOptions
from multitudes.data.label_space import LabelSpace

# Imported on use: one needs pyarrow, another compiled kernels.
READERS = {
    "json-lines": ("multitudes.data.json_lines", "read_json_lines"),
    "csv": ("multitudes.data.delimited", "read_delimited"),
    "tsv": ("multitudes.data.delimited", "read_delimited"),
    "parquet": ("multitudes.data.parquet", "read_parquet"),
    "lf": ("multitudes.data.lf_layout", "read_lf"),
    "sparse-text": ("multitudes.data.sparse_text", "read_sparse_text"),
    "npz": ("multitudes.data.npz_pair", "read_npz_pair"),
}


def read(
    path: str | Path,
    *,
    format: str | None = None,
    labels: LabelSpace | Dataset | None = None,
    options: ReadOptions = DEFAULT_READ,
) -> Dataset:
    """Read a file or a folder; the format is told from its content.

    Parameters
    ----------
    path : path
        A file, compressed or not (gz, xz, bz2, zst), or a folder with a file per split.
    format : str, optional
        One of `FORMATS`, where the content does not tell it or tells it wrongly.
    labels : LabelSpace or Dataset, optional
        The labels to read over, e.g. those of the training data: ids then agree, and names
        that it lacks are counted in the report.
    options : ReadOptions
        Columns, separators, the split of a folder, what to do with bad lines.

    Returns
    -------
    Dataset
        Its `report` says what was left out.

    Examples
    --------
    >>> train = read("train.jsonl")                                         # doctest: +SKIP
    >>> test = read("test.jsonl", labels=train)                             # doctest: +SKIP
    """
    path = Path(path)
    if format is None:
        format, path = detect(path, options.split)
    else:
        format = known_format(format)
    if format == "tsv" and options.delimiter is None:
        options = dataclasses.replace(options, delimiter="\t")
    check_instance_groups(options.instance_groups, format)
    space = LabelSpace.of(labels) if isinstance(labels, Dataset) else labels
    module, name = READERS[format]
    reader = cast(Callable[..., Dataset], getattr(importlib.import_module(module), name))
    return reader(path, options, labels=space)
