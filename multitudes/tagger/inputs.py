"""Texts, labels and groups as users hold them: checked, and turned into a Dataset or Y."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Sized
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from multitudes.data import Dataset
from multitudes.data.label_lists import check_as_many, checked_row, labels_and_names, text_list
from multitudes.data.predictions.alignment import over_names, with_names
from multitudes.data.records import Ragged
from multitudes.errors import DataError
from multitudes.validation import checked_features
from multitudes.validation.sparse import own_csr

Group = str | int
SEARCHED_NAMES = 20_000  # label names compared with a misspelled one: more would take seconds


def labeled(
    texts: Any,
    labels: Any,
    *,
    takes_texts: bool = True,
    label_names: Sequence[str] | None = None,
    label_texts: Mapping[str, str] | Sequence[str] | None = None,
) -> Dataset:
    """Return what a user gave as texts (or X) and labels, or as one Dataset, as a Dataset.

    Parameters
    ----------
    texts : sequence of str, X, or Dataset
        A Dataset stands for both, and `labels` is None.
    labels : sequence of sequences of str, or 0/1 matrix; see `Dataset.from_lists`
    takes_texts : bool
        Whether the tagger was fitted on texts, not on X.
    label_names, label_texts
        See `Dataset.from_lists`.
    """
    if isinstance(texts, Dataset):
        if labels is not None or label_names is not None or label_texts is not None:
            raise DataError(
                "a Dataset holds texts, labels, label_names and label_texts: give it alone, or "
                "texts and labels"
            )
        return texts
    if not takes_texts:
        X = checked_features(checked_inputs(texts, takes_texts=False))
        Y, names = labels_and_names(labels, label_names)
        check_as_many(X.shape[0], Y.shape[0])
        return Dataset(Y=Y, X=X, label_names=names)
    if labels is None:
        text_list(texts)  # a table, or one text: says what to do instead
        raise DataError(
            "labels must be one list of label names per text, or a matrix of 0 and 1, got None: "
            "give texts and labels, or one Dataset"
        )
    return Dataset.from_lists(texts, labels, label_names=label_names, label_texts=label_texts)


def labeled_for(texts: Any, labels: Any, names: Sequence[str], *, takes_texts: bool) -> Dataset:
    """Return labeled data for a fitted tagger with labels of these names; see `labeled`.

    The columns of a matrix without names are the labels of the tagger, in order.
    """
    dataset = labeled(texts, labels, takes_texts=takes_texts)
    if dataset.label_names is not None:
        return dataset
    if isinstance(texts, Dataset):
        return with_names(dataset, names)  # ids of a file, which has not seen the same labels
    if dataset.n_labels != len(names):
        raise DataError(
            f"labels have {dataset.n_labels:,} columns without names, but the tagger has "
            f"{len(names):,} labels: give lists of label names, or a column for each of classes_"
        )
    return dataclasses.replace(dataset, label_names=names)


def checked_inputs(texts: Any, *, takes_texts: bool) -> Any:
    """Return texts, or X, whichever a tagger was fitted on; refuse the other.

    Parameters
    ----------
    texts : sequence of str, X, or Dataset that has either
    takes_texts : bool
    """
    if isinstance(texts, Dataset):
        return inputs_of(texts, takes_texts=takes_texts)
    if not takes_texts:
        if not getattr(texts, "shape", ()):
            raise DataError(
                "this tagger was fitted on features X, not on texts: "
                f"pass X (n_instances, n_features), got {type(texts).__name__}"
            )
        return own_csr(texts, "X") if issparse(texts) else texts
    if isinstance(texts, str):
        raise DataError("predict takes a list of texts, got one str: write [text]")
    if issparse(texts):
        raise DataError("this tagger was fitted on texts: pass a list of str, not a matrix")
    return text_list(texts)


def inputs_of(dataset: Dataset, *, takes_texts: bool) -> Any:
    """Return the texts of a Dataset, or its X, whichever a tagger was fitted on."""
    inputs = dataset.texts if takes_texts else dataset.X
    if inputs is None:
        learned, given = ("texts", "features X") if takes_texts else ("features X", "texts")
        raise DataError(f"this tagger was fitted on {learned}, the data has {given} only")
    return inputs


def known_labels(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """Return data to calibrate on, over the tagger's labels; refuse data without any of them."""
    if not len(dataset):
        raise DataError("there are no instances to calibrate on")
    known = over_names(dataset, names)
    if not known.Y.nnz:
        some = ", ".join(map(repr, names[:3]))
        raise DataError(
            f"none of the {len(dataset):,} instances has a label that the model knows: give "
            f"data with labels of its {len(names):,}, such as {some}"
        )
    return known


def label_id(label: str, names: Sequence[str]) -> int:
    """Return the id of a label; an unknown one is an error that names the nearest."""
    if not isinstance(label, str):
        raise DataError(f"a label is named by a str, got {label!r:.200}")
    if label not in names:
        near = get_close_matches(label, names[:SEARCHED_NAMES], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "classes_ lists them"
        raise DataError(f"there is no label {label!r} among {len(names):,}: {hint}")
    return names.index(label)


def label_titles(dataset: Dataset) -> dict[str, str]:
    """Return what people call each label, by its name, of those that are called something else."""
    pairs = zip(dataset.label_names or (), dataset.label_titles or (), strict=False)
    return {name: title for name, title in pairs if title != name}


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


def grouped_texts(
    texts: Sequence[str],
    groups: Sequence[Group | Sequence[Group] | None],
    group_labels: Mapping[Group, Sequence[str]],
) -> Dataset:
    """Return a Dataset of texts whose labels are known for groups; see `Tagger.fit_groups`.

    Labels are numbered by name, groups in the order of `group_labels`.
    """
    for name, given in (("texts", texts), ("groups", groups)):
        if issparse(given) or not isinstance(given, Sized):
            raise DataError(f"{name} must be a list, one for each text, got {type(given).__name__}")
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
    Y: Any = csr_array((len(texts), len(names)), dtype=np.float32)
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
    if isinstance(row, float) or not isinstance(row, (str, int, type(None), Iterable)):
        raise DataError(f"groups[{number}] must be a group, a list of them or None, got {row!r}")
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
