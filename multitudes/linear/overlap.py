"""Ranking in a tree where a label may live in several leaves: its copies count as one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError
from multitudes.kernels.lanes import LANES
from multitudes.kernels.search.beam_search import SearchArrays, search_block
from multitudes.kernels.search.overlap_search import MAX, MEAN, SUM, rank_overlapping
from multitudes.kernels.threads import BufferPool
from multitudes.labels import LabelTree
from multitudes.linear.scoring import Scoring
from multitudes.types import FloatArray, LabelArray

MERGES = {"mean": MEAN, "max": MAX, "sum": SUM}

# Scores of all children of all leaves in the beams of one block: as many instances together as for
# other trees, where leaves are of common size.
ROOM_BYTES = 64 << 20


class OverlapSearch:
    """Finds leaves with the levels above, then ranks the labels in them.

    Parameters
    ----------
    tree : LabelTree
        With labels in more than one leaf.
    """

    def __init__(self, tree: LabelTree) -> None:
        self.n_labels = tree.n_labels
        self.slot_start, self.slots = tree.slots_of_label()
        self.slot_leaf = tree.parents(tree.depth - 1).astype(np.int32)
        self.largest_leaf = int(np.diff(tree.offsets[-1]).max())
        self.most_copies = int(np.diff(self.slot_start).max())
        self.n_leaves = tree.n_leaves
        self._buffers = BufferPool()

    def block_size(self, beam_width: int) -> int:
        """Instances ranked together, so that their scores fit the room."""
        return max(1, ROOM_BYTES // (4 * beam_width * self._stride()))

    def rank(
        self,
        X: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], FloatArray],
        bounds: tuple[int, int],
        arrays: SearchArrays,
        *,
        beam_width: int,
        scoring: Scoring,
        merge: str,
        row_of: npt.NDArray[np.int32],
        out: tuple[LabelArray, FloatArray],
    ) -> None:
        """Fill `out` = (labels, scores), (n, top_k) each, for the rows of X within `bounds`."""
        start, stop = bounds
        n = stop - start
        leaf = np.empty((n, beam_width), np.int32)
        leaf_score = np.empty((n, beam_width), np.float32)
        upper = arrays._replace(
            level_start=arrays.level_start[:-1],
            slot_labels=np.arange(self.n_leaves, dtype=np.int32),
        )
        search_block(
            *X, start, upper, beam_width, scoring.kind, scoring.power, row_of, leaf, leaf_score
        )
        count = (leaf >= 0).sum(axis=1)
        slack = np.float32(np.log(self.most_copies) if merge == "sum" else 0)
        size = max(n, self.block_size(beam_width)) * beam_width * self._stride()
        with (
            self._buffers.lend("seen", lambda: np.zeros(self.n_labels, np.bool_)) as seen,
            self._buffers.lend(size, lambda: np.empty(size, np.float32)) as buffer,
        ):
            room = buffer[: n * beam_width * self._stride()].reshape(n, beam_width, -1)
            rank_overlapping(
                *X, start, arrays, self.slot_start, self.slots, self.slot_leaf, slack,
                MERGES[merge], scoring.kind, scoring.power, leaf, leaf_score, count, row_of, seen,
                room, *out,
            )  # fmt: skip

    def _stride(self) -> int:
        return -(-self.largest_leaf // LANES) * LANES


def checked_merge(merge: str) -> str:
    """One of the known ways to make one score of several copies'."""
    if merge not in MERGES:
        raise ConfigError(f"merge must be one of {list(MERGES)}, got {merge!r}")
    return merge
