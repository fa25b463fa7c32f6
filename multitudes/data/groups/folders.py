"""Folders of grouped data, as ``multitudes group`` writes them.

::

    instances.jsonl                             texts, each with its groups;
    instances.X.npz  instances.Y.npz            or features,
    instance_groups.jsonl                       whose groups are in a file of their own
    groups.jsonl                                the labels of each group
    known.jsonl                                 the same instances with their labels, to check with
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from multitudes.data.folders import find_beside
from multitudes.data.options import ReadOptions

INSTANCES, GROUPS, KNOWN, MEMBERS = "instances", "groups.jsonl", "known", "instance_groups.jsonl"
"""Names of the files of a folder of grouped data."""


def within_grouped_folder(path: Path, options: ReadOptions) -> tuple[Path, ReadOptions]:
    """Return the instances of a folder of grouped data, and options that name its groups.

    A path that is no such folder, and options that name other groups, are returned as they are.
    """
    if not path.is_dir():
        return path, options
    instances = find_beside(path, [f"{INSTANCES}.jsonl", f"{INSTANCES}.X.npz"])
    groups, members = find_beside(path, [GROUPS]), find_beside(path, [MEMBERS])
    if instances is None or groups is None:
        return path, options
    return instances, dataclasses.replace(
        options,
        group_labels=options.group_labels or str(groups),
        instance_groups=options.instance_groups or (None if members is None else str(members)),
    )
