"""Batch: the instances of a training step, the labels beside them, and which belong together."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.types import IntArray


@dataclass(frozen=True)
class Batch:
    """One step's instances and labels, on the CPU.

    Parameters
    ----------
    instances : int64 array (b,)
        Rows of the training set.
    labels : int64 array (m,)
        Distinct label ids, ascending: the positives drawn, and fillers where asked for.
    positives : int64 array (b, p)
        Column in `labels` of each positive drawn; -1 where an instance has fewer.
    known_rows, known_columns : int64 arrays (k,)
        Coordinates of *every* known positive pair in the (b, m) target, row by row: those drawn,
        and those that another instance brought along. None of them may serve as a negative.
    """

    instances: IntArray
    labels: IntArray
    positives: IntArray
    known_rows: IntArray
    known_columns: IntArray

    def __len__(self) -> int:
        return len(self.instances)
