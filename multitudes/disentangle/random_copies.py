"""The baseline of Appendix A.8: as many copies of each label, but placed at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.disentangle.capped import homes
from multitudes.disentangle.inputs import checked_assignment
from multitudes.disentangle.leaf_assignment import checked_caps
from multitudes.types import IntArray
from multitudes.validation import checked_count

ATTEMPTS = 64
"""Draws for all copies at once; the few that are left then choose among what is free for them."""

Taken = npt.NDArray[np.int64]


def random_assignment(
    current: Any, like: Any, *, random_state: int, max_cluster_size: int | None = None
) -> sp.csr_array[Any]:
    """Give each label as many clusters as it has in `like`, at random.

    Parameters
    ----------
    current : CSR (n_labels, n_clusters)
        The present assignment. The first copy of a label stays there: in its cluster with the
        smallest id, where it has several.
    like : CSR (n_labels, n_clusters)
        The assignment whose numbers of copies are taken over, e.g. from `assign`.
    random_state : int
        Same seed, same assignment.
    max_cluster_size : int, optional
        Labels of a cluster at most, as for `assign`; what it says about clusters that are already
        larger holds here, too.

    Returns
    -------
    csr_array (n_labels, n_clusters), float32
        Without a cap every further copy is drawn uniformly from the clusters that its label is not
        in; with one, from those of them with room. A copy for which no such cluster is left is
        left out: that takes a cap with hardly any room.
    """
    current = checked_assignment(current, "current")
    n_labels, n_clusters = current.shape
    like = checked_assignment(like, "like", n_labels=n_labels, n_clusters=n_clusters)
    rng = np.random.default_rng(checked_count(random_state, "random_state", at_least=0))
    most = n_labels if max_cluster_size is None else max_cluster_size
    caps = checked_caps(most, n_labels, n_clusters)
    copies = np.diff(like.indptr)
    home = homes(sp.csr_array(current.shape, dtype=np.float32), current, caps)
    taken = np.full((n_labels, int(copies.max(initial=1))), -1, np.int64)
    taken[:, 0] = home
    room = caps - np.bincount(home, minlength=n_clusters)
    for copy in range(1, taken.shape[1]):
        _draw_copies(taken, copy, np.flatnonzero(copies > copy), room, rng)
    rows, columns = np.nonzero(taken >= 0)
    data = np.ones(len(rows), np.float32)
    out = sp.csr_array((data, (rows, taken[rows, columns])), shape=current.shape)
    out.sort_indices()
    return out


def _draw_copies(
    taken: Taken,  # (n_labels, most copies): clusters, -1 for none
    copy: int,
    labels: IntArray,
    room: IntArray,
    rng: np.random.Generator,
) -> None:
    """Place copy number `copy` of the given labels; changes `taken` and `room`."""
    labels = rng.permutation(labels)  # who comes first where room is short
    for _ in range(ATTEMPTS):
        free = np.flatnonzero(room > 0)
        if not len(labels) or not len(free):
            break
        drawn = free[rng.integers(len(free), size=len(labels))]
        new = ~(taken[labels] == drawn[:, None]).any(axis=1)
        fits = np.zeros(len(labels), bool)
        fits[new] = _rank_within(drawn[new]) < room[drawn[new]]
        taken[labels[fits], copy] = drawn[fits]
        room -= np.bincount(drawn[fits], minlength=len(room))
        labels = labels[~fits]
    for label in labels.tolist():
        free = np.setdiff1d(np.flatnonzero(room > 0), taken[label])
        if len(free):
            taken[label, copy] = rng.choice(free)
            room[taken[label, copy]] -= 1


def _rank_within(values: IntArray) -> IntArray:
    """For each entry how many equal ones come before it."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(np.append(starts, len(values)))
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return ranks
