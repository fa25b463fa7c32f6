"""The groups file: the labels of each group of instances, as JSON lines.

``{"group": "order-7", "labels": ["belt", "belt", "hat"]}``: a label that two members carry is
listed twice, and counts twice.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson

from multitudes.data.compression import open_write
from multitudes.data.dataset import Dataset
from multitudes.data.formats import ReadOptions, WriteOptions
from multitudes.data.json_objects import json_objects
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.records import Groups, Ragged
from multitudes.data.report import ErrorLog, excerpt
from multitudes.data.writing import encoding_checked, writes_names
from multitudes.errors import DataError


def read_groups(options: ReadOptions, numbering: LabelNumbering, log: ErrorLog) -> Groups:
    """The groups of `options.group_labels`, in its order; no groups where that is None.

    Labels enter the numbering, which may be that of the instances' own.
    """
    if options.group_labels is None:
        return Groups()
    path = Path(options.group_labels)
    names: dict[str, int] = {}
    labels = Ragged()
    for line, record in json_objects(path, log, max_line_bytes=options.max_line_bytes):
        problem = _problem(record, names, numbering)
        if problem is not None:
            log.bad_line(f"{path}:{line}: {problem}")
            continue
        names[str(record["group"])] = line
        labels.add(numbering.encode(record["labels"]), [record["labels"]])
    if not names:
        raise DataError(f"{path} holds no groups")
    return Groups(names, labels, numbering)


def _problem(
    record: dict[str, object], names: dict[str, int], numbering: LabelNumbering
) -> str | None:
    for field in ("group", "labels"):
        if field not in record:
            return (
                f"the field {field!r} is missing (got fields {excerpt(list(record))}); "
                'expected {"group": id, "labels": [...]}'
            )
    group, labels = record["group"], record["labels"]
    if type(group) not in (str, int):
        return f"'group' is not an id (got {excerpt(group)}); expected a string or a number"
    if str(group) in names:
        return (
            f"the group is listed twice (got {excerpt(group)}, first on line "
            f"{names[str(group)]}); expected one line per group: join the two lists"
        )
    if not isinstance(labels, list):
        return f"'labels' is not a list (got {excerpt(labels)}); expected a list of labels"
    return numbering.problem(labels)


def write_groups(dataset: Dataset, path: str | Path, options: WriteOptions) -> None:
    """Write the labels of each group; a label that counts twice is listed twice."""
    if dataset.group_labels is None:
        raise DataError(
            f"cannot write {path}: the Dataset has no group_labels; leave the setting out"
        )
    as_names = writes_names(dataset, options.label_kind)
    counts = dataset.group_labels
    with open_write(path) as stream, encoding_checked(path):
        for group in range(counts.shape[0]):
            entries = slice(counts.indptr[group], counts.indptr[group + 1])
            labels: list[int] = np.repeat(
                counts.indices[entries], counts.data[entries].astype(np.int64)
            ).tolist()
            record = {
                "group": str(group) if dataset.group_names is None else dataset.group_names[group],
                "labels": [dataset.label_name(label) for label in labels] if as_names else labels,
            }
            stream.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
