"""What an assignment of labels to clusters is worth: the positives the matcher can reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from multitudes.disentangle.inputs import checked_pattern, rows_of
from multitudes.errors import DataError
from multitudes.kernels.clustering.assignment import count_reached


def tp_bound(Y: Any, matches: Any, assignment: Any) -> int:
    """The true positives a perfect ranker could find: Tr(Y^T Binary(M C^T)).

    It counts the positives with at least one cluster among those the matcher leads their instance
    to, and bounds the true positives of any top k from above.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Labels; non-zero is 1.
    matches : CSR (n_instances, n_clusters)
        M of the paper: non-zero where the matcher leads an instance to a cluster (Eq. 5).
    assignment : CSR (n_labels, n_clusters)
        C of the paper: non-zero where a label lives in a cluster. A label without any is never
        reached.

    References
    ----------
    Liu et al., Label Disentanglement in Partition-based Extreme Multilabel Classification, 2021,
    Eq. 6 and 7.
    """
    return _reached(Y, matches, assignment)[0]


def linear_bound(Y: Any, matches: Any, assignment: Any) -> int:
    """The linear stand-in for `tp_bound` that `assign` maximizes: Tr(Y^T M C^T), Eq. 9.

    A positive counts once for each of its clusters that is reached, so this is at least `tp_bound`,
    and equal to it where no label has two clusters. Parameters as there.
    """
    return _reached(Y, matches, assignment)[1]


def _reached(Y: Any, matches: Any, assignment: Any) -> tuple[int, int]:
    """Both bounds in one pass: no (n_instances, n_labels) candidates are ever made."""
    Y = checked_pattern(Y, "Y", "(n_instances, n_labels)")
    matches = checked_pattern(matches, "matches", "(n_instances, n_clusters)")
    assignment = checked_pattern(assignment, "assignment", "(n_labels, n_clusters)")
    check_same_instances(Y, matches)
    expected = (Y.shape[1], matches.shape[1])
    if assignment.shape != expected:
        raise DataError(
            f"assignment must be (n_labels, n_clusters) = {expected}, as Y and matches have it, "
            f"got {assignment.shape}"
        )
    reached_by = np.full(matches.shape[1], -1, np.int64)
    positives, pairs = count_reached(
        *rows_of(Y), *rows_of(matches), *rows_of(assignment), reached_by
    )
    return int(positives), int(pairs)


def check_same_instances(Y: Any, matches: Any) -> None:
    """Y and M have a row for each instance."""
    if Y.shape[0] != matches.shape[0]:
        raise DataError(
            f"Y has {Y.shape[0]:,} rows and matches has {matches.shape[0]:,}: they must describe "
            "the same instances"
        )
