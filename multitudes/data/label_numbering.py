"""Number the labels of records, names or ids, as columns of Y."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from multitudes.data.label_space import LabelSpace
from multitudes.data.options import ReadOptions
from multitudes.data.report import N_EXAMPLES, excerpt
from multitudes.errors import DataError
from multitudes.types import IntArray

LARGEST_ID = 2**31 - 2  # CSR keeps columns in int32
UNKNOWN = -1
_ID_DIGITS = 20  # of any id that could be meant, and some
# Labels that a file may have without saying which, and how many more per label that it names.
_FREE_LABELS = 3_000_000
_LABELS_PER_ID = 100


class _Growing(dict[str, int]):
    """A new name gets the next number."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


class LabelNumbering:
    """Numbers the labels of one file, which are all names or all ids.

    Without a label space, names are numbered in the order they first appear and ids are kept.
    With one, names are looked up and ids must lie within it.

    Parameters
    ----------
    options : ReadOptions
        `label_kind`, `n_labels` and `unknown_labels` matter here.
    space : LabelSpace, optional
        The label space to read over.
    for_ids_only : bool
        Whether `space` applies only if the file's labels turn out to be ids.
    """

    def __init__(
        self, options: ReadOptions, space: LabelSpace | None, *, for_ids_only: bool = False
    ) -> None:
        self.space = space
        self.kind: str | None = None if options.label_kind == "auto" else options.label_kind
        self._wanted = options.label_kind
        self._unknown_raises = options.unknown_labels == "raise"
        self._for_ids_only = for_ids_only
        self._n_labels = options.n_labels
        self._largest = -1
        self._n_ids = 0
        self._names: dict[str, int] = _Growing()
        self.n_unknown = 0
        self.unknown_examples: dict[str, None] = {}

    def problem(self, labels: Sequence[Any]) -> str | None:
        """Return why an instance cannot have these labels; None if it can.

        The first label of a file decides whether its labels are names or ids.
        """
        for label in labels:
            reason = self._problem_of(label)
            if reason is not None:
                return reason
        return None

    def _problem_of(self, label: Any) -> str | None:
        kind = {str: "names", int: "ids"}.get(type(label))
        if kind is None:
            return (
                f"a label is neither a name nor an id (got {excerpt(label)}); "
                "expected strings or whole numbers"
            )
        if self.kind is None:
            self.kind = kind
        if self.kind != kind and self._wanted == "auto":
            return (
                f"names and ids are mixed (got {excerpt(label)} in a file of {self.kind}); "
                "expected one kind in all lines: write all labels as strings, or set label_kind"
            )
        if self.kind == "names":
            return self._problem_of_name(str(label))
        if isinstance(label, str) and not (label.isascii() and label.isdigit()):
            return (
                f"a label is not an id (got {excerpt(label)}); "
                "expected a whole number, because of label_kind='ids'"
            )
        if isinstance(label, str) and len(label) > _ID_DIGITS:
            label = label.lstrip("0")[: _ID_DIGITS + 1] or "0"  # still too large, if it was
        return self._problem_of_id(int(label))

    def _problem_of_name(self, name: str) -> str | None:
        if not name:
            return "a label is empty (got ''); expected a name: leave the label out"
        fixed = self._fixed()
        if self._unknown_raises and fixed is not None and name not in fixed.index:
            return (
                f"the label is not in the label space (got {excerpt(name)}); expected one of its "
                f"{len(fixed):,} names: set unknown_labels='drop' to leave it out"
            )
        return None

    def _problem_of_id(self, label: int) -> str | None:
        limit = self._limit()
        if 0 <= label <= limit:
            return None
        return f"a label id is out of range (got {label}); expected 0 to {limit:,}" + (
            ": set label_kind='names' if it is a name" if self._fixed() is None else ""
        )

    def encode_if_valid(self, flat: list[Any]) -> IntArray | None:
        """Do what `problem` and `encode` do, but quickly; return None if there is any problem."""
        kinds = set(map(type, flat))
        if kinds == {int} and self.kind in (None, "ids"):
            self.kind = "ids"
            try:
                ids = np.fromiter(flat, np.int64, len(flat))
            except OverflowError:
                return None
            if ids.min() < 0 or ids.max() > self._limit():
                return None
            return self._noted(ids)
        if kinds == {str} and self.kind in (None, "names") and not self._unknown_raises:
            self.kind = "names"
            return None if "" in flat else self.encode(flat)
        return self.encode(flat) if self.problem(flat) is None else None

    def encode(self, flat: list[Any]) -> IntArray:
        """Return the ids of labels without a `problem`; -1 for names outside the label space.

        Parameters
        ----------
        flat : list of str or of int
            The labels of any number of instances, one after the other.
        """
        if self.kind != "names":
            ids = np.array(flat if self._wanted == "auto" else list(map(_to_id, flat)), np.int64)
            return self._noted(ids)
        names = flat if self._wanted == "auto" else list(map(str, flat))
        fixed = self._fixed()
        if fixed is None:
            return np.fromiter(map(self._names.__getitem__, names), np.int64, len(names))
        ids = np.fromiter(map(fixed.index.get, names, repeat(UNKNOWN)), np.int64, len(names))
        self._note_unknown(names, ids)
        return ids

    def _noted(self, ids: IntArray) -> IntArray:
        self._largest = max(self._largest, int(ids.max(initial=-1)))
        self._n_ids += len(ids)
        return ids

    def _note_unknown(self, names: list[str], ids: IntArray) -> None:
        unknown = np.flatnonzero(ids == UNKNOWN)
        self.n_unknown += len(unknown)
        for place in unknown:
            if len(self.unknown_examples) >= N_EXAMPLES:
                break
            self.unknown_examples[names[place]] = None

    def result(self, path: Path) -> tuple[int, LabelSpace | None]:
        """Return (n_labels, their label space if they have names), after all were encoded.

        Parameters
        ----------
        path : Path
            The file that the labels are from, for messages.
        """
        fixed = self._fixed()
        if fixed is not None:
            return len(fixed), fixed
        if self.kind == "names":
            return len(self._names), LabelSpace(tuple(self._names))
        if self._n_labels is not None:
            return self._n_labels, None
        check_largest(self._largest, self._n_ids, path)
        return self._largest + 1, None

    def _fixed(self) -> LabelSpace | None:
        return None if self._for_ids_only and self.kind == "names" else self.space

    def _limit(self) -> int:
        fixed = self._fixed()
        if fixed is not None:
            return len(fixed) - 1
        return LARGEST_ID if self._n_labels is None else self._n_labels - 1


def check_largest(largest: int, n_ids: int, path: Path) -> None:
    """Refuse ids that number far more labels than a file has: they are names, or a mistake.

    Each label takes memory later, whether any instance has it or not.
    """
    if largest >= _FREE_LABELS + _LABELS_PER_ID * n_ids:
        raise DataError(
            f"{path} holds label id {largest:,}, and ids are columns of Y, counted from 0, so "
            f"there would be {largest + 1:,} labels of which {n_ids:,} are used at most: set "
            f"label_kind='names' if the numbers are names, or n_labels={largest + 1} if it is right"
        )


def _to_id(label: int | str) -> int:
    """Return a label without a `problem` as a number; leading zeros may be many."""
    return int(label.lstrip("0") or "0") if isinstance(label, str) else int(label)
