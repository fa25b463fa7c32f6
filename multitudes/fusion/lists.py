"""Predictions of several members for the same instances, checked and laid side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.kernels.threads import ThreadTeam
from multitudes.types import FloatArray, LabelArray, Predictions, blank_lists
from multitudes.validation import checked_count, checked_predictions

BLOCK = 2048
"""Instances that a thread fuses at a time."""

Fill = Callable[["Block", LabelArray, FloatArray], None]


@dataclass(frozen=True)
class Block:
    """The lists of some instances, those of all members side by side.

    Parameters
    ----------
    labels : int32 array (n, width)
        -1 where there is none.
    scores : float32 array (n, width)
        As the members gave them.
    rows : slice
        Which instances these are.
    """

    labels: LabelArray
    scores: FloatArray
    rows: slice


@dataclass(frozen=True)
class Lists:
    """What members say about the same instances.

    Parameters
    ----------
    members : sequence of Predictions
    """

    members: Sequence[Predictions]

    def __len__(self) -> int:
        return len(self.members[0])

    @property
    def n_labels(self) -> int:
        """Size of the label space."""
        return self.members[0].n_labels

    @property
    def widths(self) -> list[int]:
        """Labels that each member lists for an instance, at most."""
        return [one.top_k for one in self.members]

    @property
    def width(self) -> int:
        """Places of an instance, of all members."""
        return sum(self.widths)

    @property
    def columns(self) -> npt.NDArray[np.int32]:
        """The member of each place, int32 (width,)."""
        return np.repeat(np.arange(len(self.members), dtype=np.int32), self.widths)

    @property
    def ranks(self) -> npt.NDArray[np.float32]:
        """The rank of each place in its own list, from 1: float32 (width,)."""
        return np.concatenate([np.arange(1, width + 1, dtype=np.float32) for width in self.widths])

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where the places of each member begin, int64 (n_members + 1,)."""
        return np.array([0, *accumulate(self.widths)], np.int64)

    def take(self, rows: Any) -> Lists:
        """Return the lists of some instances."""
        return Lists([one[rows] for one in self.members])

    def top(self, k: int) -> Lists:
        """Return only the best `k` labels of each list."""
        return Lists([one.top(k) for one in self.members])

    def block(self, rows: slice) -> Block:
        """Return the lists of some instances side by side."""
        labels = np.concatenate([one.labels[rows] for one in self.members], axis=1)
        scores = np.concatenate([one.scores[rows] for one in self.members], axis=1)
        return Block(np.ascontiguousarray(labels), np.ascontiguousarray(scores), rows)

    def fused(self, fill: Fill, *, top_k: int, n_jobs: int | None = None) -> Predictions:
        """Return one list for each instance.

        Parameters
        ----------
        fill : function of block, labels, scores
            Writes the best labels of a block and their scores, (n, top_k) each.
        top_k : int
        n_jobs : int, optional
        """
        n, top_k = len(self), min(checked_count(top_k, "top_k"), max(self.n_labels, 1))
        labels, scores = blank_lists(n, top_k)

        def work(start: int) -> None:
            rows = slice(start, min(start + BLOCK, n))
            fill(self.block(rows), labels[rows], scores[rows])

        if n <= BLOCK:  # one text should not wait for threads
            work(0)
        else:
            with ThreadTeam(n_jobs) as team:
                team.map(work, range(0, n, BLOCK))
        return Predictions(labels, scores, self.n_labels)


def checked_lists(predictions: Any) -> Lists:
    """Return the predictions of all members, of the same instances and labels."""
    if isinstance(predictions, Predictions) or not isinstance(predictions, Sequence):
        raise DataError(
            "predictions must be a list, one Predictions for each member, got "
            f"{type(predictions).__name__}"
        )
    if not predictions:
        raise DataError("there are no predictions to fuse")
    checked = [
        checked_predictions(given, name=f"predictions[{number}]")
        for number, given in enumerate(predictions)
    ]
    first = checked[0]
    for number, other in enumerate(checked):
        if (len(other), other.n_labels) != (len(first), first.n_labels):
            raise DataError(
                f"predictions must be of the same instances and labels: predictions[0] is of "
                f"{len(first):,} and {first.n_labels:,}, predictions[{number}] of "
                f"{len(other):,} and {other.n_labels:,}"
            )
    return Lists(checked)
