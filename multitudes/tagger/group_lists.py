"""Groups as users hold them, ids and lists of label names, to a Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data import Dataset
from multitudes.data.records import Ragged
from multitudes.errors import DataError
from multitudes.tagger.label_lists import checked_row

Group = str | int


def grouped_texts(
    texts: Sequence[str],
    groups: Sequence[Group | Sequence[Group] | None],
    group_labels: Mapping[Group, Sequence[str]],
) -> Dataset:
    """A Dataset of texts whose labels are known for groups of them; see `Tagger.fit_groups`.

    Labels are numbered by name, groups in the order of `group_labels`.
    """
    if isinstance(texts, str) or isinstance(groups, str) or len(texts) != len(groups):
        raise DataError(
            "there must be one group, or list of groups, per text, got "
            f"{_counted(texts, 'texts')} and {_counted(groups, 'groups')}"
        )
    if not isinstance(group_labels, Mapping):
        raise DataError(
            "group_labels must be a mapping of group ids to lists of label names, got "
            f"{type(group_labels).__name__}"
        )
    index = {name: number for number, name in enumerate(group_labels)}
    members = [_members(row, number, index) for number, row in enumerate(groups)]
    lists = [checked_row(labels, f"group_labels[{g!r}]") for g, labels in group_labels.items()]
    names = sorted({name for row in lists for name in row})
    numbers = {name: label for label, name in enumerate(names)}
    listed = [[numbers[name] for name in row] for row in lists]
    Y: Any = sp.csr_array((len(texts), len(names)), dtype=np.float32)
    return Dataset(
        Y=Y,
        texts=texts,
        label_names=names,
        groups=_ragged(members).to_csr(len(index)),
        group_labels=_ragged(listed).to_csr(len(names), counted=True),
        group_names=[str(name) for name in group_labels],
    )


def _counted(values: Any, what: str) -> str:
    return "one str" if isinstance(values, str) else f"{len(values):,} {what}"


def _members(row: Any, number: int, index: Mapping[Group, int]) -> list[int]:
    names = [] if row is None else [row] if isinstance(row, (str, int)) else list(row)
    for name in names:
        if not isinstance(name, (str, int)) or name not in index:
            raise DataError(
                f"groups[{number}] holds {name!r}, which is not among the {len(index):,} keys of "
                "group_labels: add it there, with an empty list if it has no labels"
            )
    return [index[name] for name in names]


def _ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    ragged = Ragged()
    ragged.add(np.array([number for row in rows for number in row], np.int64), rows)
    return ragged
