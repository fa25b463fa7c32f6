"""Change the members of a fitted ensemble: further instances, new labels, fewer labels."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.fusion.members import Member
from multitudes.types import (
    NO_LABEL,
    AddsLabels,
    IntArray,
    RemovesLabels,
    Sparse,
    TakesLabelTexts,
    Updates,
)
from multitudes.validation import checked_removal


def with_instances(
    members: Sequence[Member], inputs: Any, Y: Sparse
) -> tuple[list[Member], list[str]]:
    """Have members learn from further instances; return them, and the names of those that cannot.

    Parameters
    ----------
    members : sequence of Member
    inputs : sequence of str, or X
    Y : CSR (n_instances, n_labels)
    """
    changed, left, made = [], [], dict[int, Any]()
    for member in members:
        own = member.own_labels(Y)
        if not isinstance(member.model, Updates):
            left.append(member.name)
        elif own.nnz:
            model = copy(member.model).partial_fit(member.read(inputs, made), own)
            member = member.with_model(model)
        changed.append(member)
    return changed, left


def with_labels(
    members: Sequence[Member],
    inputs: Any,
    Y: Sparse,
    n_known: int,
    label_texts: Sequence[str] | None,
) -> tuple[list[Member], list[str]]:
    """Give members new labels; return them, and the names of those that cannot take any.

    Parameters
    ----------
    members : sequence of Member
    inputs : sequence of str, or X
    Y : CSR (n_instances, n_labels)
        Known labels first.
    n_known : int
    label_texts : sequence of str, optional
        Names of the new labels.
    """
    new = np.arange(n_known, Y.shape[1])
    changed, left, made = [], [], dict[int, Any]()
    for member in members:
        known = np.arange(n_known) if member.label_map is None else member.label_map
        label_map = np.concatenate([known, new])
        same = len(label_map) == Y.shape[1] and bool((label_map == np.arange(Y.shape[1])).all())
        model = copy(member.model)
        if not isinstance(model, AddsLabels):
            left.append(member.name)
            changed.append(replace(member, label_map=known))
            continue
        if isinstance(model, TakesLabelTexts):
            names = [""] * len(new) if label_texts is None else list(label_texts)
            model.add_labels(names, _examples(inputs, Y, new))
        else:
            grown = replace(member, label_map=label_map)
            model.add_labels(member.read(inputs, made), grown.own_labels(Y))
        grown = replace(member.with_model(model), label_map=None if same else label_map)
        changed.append(grown)
    return changed, left


def without_labels(
    members: Sequence[Member], labels: npt.ArrayLike, n_labels: int
) -> tuple[list[Member], IntArray]:
    """Have members forget labels; return them, and the labels that are kept.

    A member that cannot forget keeps the labels to itself.
    """
    dropped = checked_removal(labels, n_labels)
    kept = np.setdiff1d(np.arange(n_labels), dropped)
    number = np.full(n_labels + 1, NO_LABEL, np.int64)  # the last place is that of -1
    number[kept] = np.arange(len(kept))
    changed = []
    for member in members:
        known = np.arange(n_labels) if member.label_map is None else member.label_map
        renumbered = number[known]
        forgotten = np.flatnonzero(renumbered == NO_LABEL)
        model = member.model
        if isinstance(model, RemovesLabels) and 0 < len(forgotten) < len(known):
            member = member.with_model(copy(model).remove_labels(forgotten.tolist()))
            renumbered = np.delete(renumbered, forgotten)
        same = len(renumbered) == len(kept) and bool((renumbered == np.arange(len(kept))).all())
        changed.append(replace(member, label_map=None if same else renumbered))
    return changed, kept


def _examples(inputs: Any, Y: Sparse, labels: IntArray) -> list[list[str]]:
    """Return the texts that have each of some labels."""
    columns = Y[:, labels].tocsc()
    return [
        [inputs[row] for row in columns.indices[start:end].tolist()]
        for start, end in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    ]
