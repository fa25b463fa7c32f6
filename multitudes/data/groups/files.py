"""Files of groups: the labels of each group, and the groups of each instance.

Both are JSON lines. The first lists a label twice if two members carry it, and then it counts
twice::

    {"group": "order-7", "labels": ["belt", "belt", "hat"]}

In formats of texts, an instance names its groups (`Format.holds_groups`). Formats of features
cannot hold them, so a second file has a line per instance::

    {"group": "order-1"}
    {"group": ["order-1", "order-2"]}
    {}
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from pathlib import Path

import numpy as np
import orjson
import scipy.sparse as sp

from multitudes.data.compression import encoding_checked, open_write
from multitudes.data.dataset import Dataset
from multitudes.data.field_names import GROUPS
from multitudes.data.json_fields import group_names
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace
from multitudes.data.lines import json_objects
from multitudes.data.options import ReadOptions, WriteOptions
from multitudes.data.records import Groups, Ragged, report_of
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError


def read_groups(options: ReadOptions, numbering: LabelNumbering, log: ErrorLog) -> Groups:
    """Read the groups of the file `options.group_labels`, in its order; none if that is None.

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
    as_names = options.writes_names(dataset)
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


def with_groups(dataset: Dataset, options: ReadOptions, *, n_labels: int | None) -> Dataset:
    """Return the Dataset with the groups that `options` names, or as it is without such names.

    Parameters
    ----------
    dataset : Dataset
        Instances without groups.
    options : ReadOptions
        `instance_groups`, `group_labels` and `group_column` matter here.
    n_labels : int, optional
        The size of the label space, if the file fixes it; otherwise groups may add labels.
    """
    if options.instance_groups is None:
        _check_no_group_labels(options)
        return dataset
    # A line that is left out would shift the groups of all that follow.
    log = ErrorLog("strict")
    space = None if dataset.label_names is None else LabelSpace.of(dataset)
    numbering = LabelNumbering(dataclasses.replace(options, n_labels=n_labels), space)
    groups = read_groups(options, numbering, log)
    memberships = _memberships(Path(options.instance_groups), options, groups, log)
    _check_rows(dataset, memberships, options)
    width = max(dataset.n_labels, numbering.result(Path(options.group_labels or ""))[0])
    Y = sp.csr_array((dataset.Y.data, dataset.Y.indices, dataset.Y.indptr), (len(dataset), width))
    labels = groups.labels
    unknown = report_of(log, numbering)
    report = unknown if dataset.report is None else dataset.report
    return dataclasses.replace(
        dataset,
        Y=Y,
        groups=memberships.to_csr(len(groups.index)),
        group_names=tuple(groups.index),
        group_labels=None if labels is None else labels.to_csr(width, counted=True),
        report=dataclasses.replace(
            report,
            unknown_labels=unknown.unknown_labels,
            unknown_label_examples=unknown.unknown_label_examples,
        ),
    )


def _check_no_group_labels(options: ReadOptions) -> None:
    if options.group_labels is not None:
        raise DataError(
            f"{options.group_labels} lists the labels of groups, but nothing says which instances "
            'are in a group: name a file of a line per instance, {"group": id}, with '
            "instance_groups"
        )


def _memberships(path: Path, options: ReadOptions, groups: Groups, log: ErrorLog) -> Ragged:
    """Read the group numbers of each line; its groups must be those of the groups file."""
    fields = GROUPS if options.group_column is None else (options.group_column,)
    rows: list[list[str]] = []
    for line, record in json_objects(path, log, max_line_bytes=options.max_line_bytes):
        names = group_names(next((record[name] for name in fields if name in record), []))
        problem = names if isinstance(names, str) else groups.problem(names)
        if problem is not None:
            log.bad_line(f"{path}:{line}: {problem}")
        rows.append(list(names))
    memberships = Ragged()
    memberships.add(groups.encode(chain.from_iterable(rows)), rows)
    return memberships


def _check_rows(dataset: Dataset, memberships: Ragged, options: ReadOptions) -> None:
    n_rows = len(memberships.counts[0])
    if n_rows != len(dataset):
        skipped = 0 if dataset.report is None else dataset.report.skipped
        raise DataError(
            f"{options.instance_groups} has {n_rows:,} lines, but there are {len(dataset):,} "
            "instances; expected a line per instance, {} for one without a group"
            + (f": {skipped:,} bad lines were skipped, correct those" if skipped else "")
        )


def write_instance_groups(dataset: Dataset, path: str | Path) -> None:
    """Write the groups of each instance, a line each."""
    if dataset.groups is None:
        raise DataError(f"cannot write {path}: the Dataset has no groups; leave the setting out")
    with open_write(path) as stream, encoding_checked(path):
        for row in range(len(dataset)):
            record = {"group": dataset.group_names_of(row)}
            stream.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
