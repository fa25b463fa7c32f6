"""Datasets whose labels are known only for groups of instances, made from ordinary ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data import Dataset, WriteOptions, write_dataset
from multitudes.data.groups import merge_labels
from multitudes.data.groups.folders import GROUPS, INSTANCES, KNOWN, MEMBERS
from multitudes.errors import DataError
from multitudes.features import PassThrough, TfidfFeatures
from multitudes.files.together import together
from multitudes.types import Sparse


def grouped_dataset(dataset: Dataset, groups: Sparse, *, as_counts: bool = True) -> Dataset:
    """Move the labels of instances to their groups.

    Parameters
    ----------
    dataset : Dataset
        Instances with labels.
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group, e.g. from `multitudes.groups.making`.
    as_counts : bool
        Whether a label that two members carry is listed twice.

    Returns
    -------
    Dataset
        The same instances without labels of their own, over the same label space.
    """
    if not dataset.Y.nnz:
        raise DataError(f"there are no labels to give to groups: {dataset!r}")
    return dataclasses.replace(
        dataset,
        Y=sp.csr_array(dataset.Y.shape, dtype=dataset.Y.dtype),
        groups=groups,
        group_labels=merge_labels(dataset.Y, groups, as_counts=as_counts),
        group_names=None,
    )


def groups_to_learn(dataset: Dataset) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
    """Return groups and their labels; a labeled instance without a group is a group of its own.

    Instances that are in a group keep their own labels, if they have any, out of it: they can be
    compared with what was assigned.

    Returns
    -------
    groups : CSR (n_instances, n_groups + n_single)
        With a group of one for each instance that has labels and is in no group.
    group_labels : CSR (n_groups + n_single, n_labels)
    """
    groups, group_labels = dataset.groups, dataset.group_labels
    if group_labels is None or groups is None:
        raise DataError(
            f"there are no labels of groups: {dataset!r}; expected a file of them, a line per "
            'group, {"group": id, "labels": [...]} (group_labels, or --groups)'
        )
    single = np.flatnonzero((np.diff(groups.indptr) == 0) & (np.diff(dataset.Y.indptr) > 0))
    if not groups.nnz and not len(single):
        raise DataError(
            f"no instance names a group, so the labels of {groups.shape[1]:,} groups say nothing "
            "about any; expected a field or column 'group', or another one named in group_column"
        )
    if not group_labels.nnz and not len(single):
        raise DataError(f"none of the {groups.shape[1]:,} groups lists a label")
    if not len(single):
        return groups, group_labels
    ones: Any = (np.ones(len(single), np.float32), (single, np.arange(len(single))))
    own = sp.csr_array(ones, shape=(len(dataset), len(single)))
    return (
        sp.csr_array(sp.hstack([groups, own], format="csr")),
        sp.csr_array(sp.vstack([group_labels, dataset.Y[single]], format="csr")),
    )


def features_of(dataset: Dataset, *, n_jobs: int | None = None) -> Any:
    """Return X with rows of length 1, (n_instances, n_features): TF-IDF, or the Dataset's X."""
    if dataset.texts is None:
        return PassThrough(normalize=True).fit_transform(dataset.X)
    return TfidfFeatures(n_jobs=n_jobs).fit_transform(dataset.texts)


def write_grouped(dataset: Dataset, folder: str | Path, *, known: Dataset | None = None) -> None:
    """Write grouped data into a folder, which is created if necessary.

    Texts go to ``instances.jsonl`` and the labels of groups to ``groups.jsonl``. Features go to
    ``instances.X.npz`` and ``instances.Y.npz``, their groups to ``instance_groups.jsonl``.

    Parameters
    ----------
    dataset : Dataset
        With groups and group_labels.
    folder : path
    known : Dataset, optional
        The same instances with their own labels, to check with; written beside them as ``known``.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    of_features = dataset.texts is None
    suffix = ".npz" if of_features else ".jsonl"
    members = str(folder / MEMBERS) if of_features else None
    options = WriteOptions(group_labels=str(folder / GROUPS), instance_groups=members)
    with together():
        write_dataset(dataset, folder / f"{INSTANCES}{suffix}", options=options)
        if known is not None:
            labeled = dataclasses.replace(dataset, Y=known.Y)
            write_dataset(labeled, folder / f"{KNOWN}{suffix}")
