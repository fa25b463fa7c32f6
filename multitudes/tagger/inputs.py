"""Texts, labels and groups as users hold them: checked, and turned into a Dataset or Y."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data import Dataset, LabelSpace, relabel
from multitudes.data.records import Ragged
from multitudes.errors import DataError
from multitudes.features.text_buffer import as_texts
from multitudes.types import Sparse

Group = str | int
SEARCHED_NAMES = 20_000  # label names compared with a misspelled one: more would take seconds


def labeled_texts(
    texts: Sequence[str],
    labels: Sequence[Sequence[str]] | Sparse,
    label_names: Sequence[str] | None,
    label_texts: Mapping[str, str] | Sequence[str] | None,
) -> Dataset:
    """Return a Dataset of texts and their labels; see `Tagger.fit`."""
    texts = as_texts(texts)
    if sp.issparse(labels):
        Y: Any = labels
        names = label_names
    else:
        Y, names = label_matrix(labels, label_names)
        if len(texts) != Y.shape[0]:
            raise DataError(
                f"fit needs one list of labels per text, got {len(texts):,} texts and "
                f"{Y.shape[0]:,} lists"
            )
    texts_of_names = listed_texts(label_texts, names or [str(label) for label in range(Y.shape[1])])
    return Dataset(Y=Y, texts=texts, label_names=names, label_texts=texts_of_names)


def checked_inputs(texts: Any, *, takes_texts: bool) -> Any:
    """Return texts, or X, whichever a tagger was fitted on; refuse the other."""
    if not takes_texts:
        if not getattr(texts, "shape", ()):
            raise DataError(
                "this tagger was fitted on features X, not on texts: "
                f"pass X (n_instances, n_features), got {type(texts).__name__}"
            )
        return texts
    if isinstance(texts, str):
        raise DataError("predict takes a list of texts, got one str: write [text]")
    if sp.issparse(texts):
        raise DataError("this tagger was fitted on texts: pass a list of str, not a matrix")
    return as_texts(texts)


def inputs_of(dataset: Dataset, *, takes_texts: bool) -> Any:
    """Return the texts of a Dataset, or its X, whichever a tagger was fitted on."""
    inputs = dataset.texts if takes_texts else dataset.X
    if inputs is None:
        learned, given = ("texts", "features X") if takes_texts else ("features X", "texts")
        raise DataError(f"this tagger was fitted on {learned}, the data has {given} only")
    return inputs


def known_labels(dataset: Any, names: Sequence[str]) -> Dataset:
    """Return data to calibrate on, over the tagger's labels; refuse data without any of them."""
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"calibrate takes a Dataset, got {type(dataset).__name__}: multitudes.read_dataset "
            "gives one, so does Dataset(Y=..., texts=..., label_names=...)"
        )
    if not len(dataset):
        raise DataError("there are no instances to calibrate on")
    known = relabel(dataset, LabelSpace(tuple(names)))
    if not known.Y.nnz:
        some = ", ".join(map(repr, names[:3]))
        raise DataError(
            f"none of the {len(dataset):,} instances has a label that the model knows: give "
            f"data with labels of its {len(names):,}, such as {some}"
        )
    return known


def label_id(label: str, names: Sequence[str]) -> int:
    """Return the id of a label; an unknown one is an error that names the nearest."""
    if label not in names:
        near = get_close_matches(label, names[:SEARCHED_NAMES], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "classes_ lists them"
        raise DataError(f"there is no label {label!r} among {len(names):,}: {hint}")
    return names.index(label)


def label_matrix(
    labels: Sequence[Sequence[str]], label_names: Sequence[str] | None
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
    """Return a list of label names; `where` names it in messages."""
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


def texts_of_labels(dataset: Dataset, *, needed: bool = True) -> tuple[str, ...] | None:
    """Return each label's text, or its name if it has none; None if no label has either.

    Raises
    ------
    DataError
        If labels have neither and are `needed`: a number says nothing to a model that reads.
    """
    names, texts = dataset.label_names, dataset.label_texts
    if texts is None and names is None:
        if not needed:
            return None
        raise DataError(
            f"this model reads the texts of labels, and these {dataset.n_labels:,} labels have "
            "numbers alone: give label_texts, or label_names that say what they are"
        )
    if texts is None or names is None:
        return tuple(texts or names or ())
    return tuple(text if text.strip() else name for text, name in zip(texts, names, strict=True))


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


def grouped_texts(
    texts: Sequence[str],
    groups: Sequence[Group | Sequence[Group] | None],
    group_labels: Mapping[Group, Sequence[str]],
) -> Dataset:
    """Return a Dataset of texts whose labels are known for groups; see `Tagger.fit_groups`.

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
