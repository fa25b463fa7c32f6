"""The trained tree, laid out for beam search; several leaves of one label count once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes import memory
from multitudes.errors import ConfigError
from multitudes.files.large import joined, new_array
from multitudes.kernels.lanes import LANES
from multitudes.kernels.search.beam_search import SearchArrays, search_block
from multitudes.kernels.search.index import fill_chunks, measure_chunks
from multitudes.kernels.search.overlap_search import MAX, MEAN, SUM, rank_overlapping
from multitudes.kernels.threads import BufferPool, ThreadBuffers, ThreadTeam
from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights, ends, joined_starts
from multitudes.linear.scoring import Scoring
from multitudes.types import FloatArray, LabelArray, blank_lists
from multitudes.validation import checked_label_ids

# Instances searched together: enough to share each chunk's weights, few enough for the beams to
# stay in cache.
BLOCK = 16_384


class SearchIndex:
    """Weights of the levels of a tree, expanded for speed on first use.

    Parameters
    ----------
    tree : LabelTree
    levels : sequence of LevelWeights
        From the root down; fewer than the tree's depth searches clusters instead of labels.
    n_features : int
    """

    def __init__(self, tree: LabelTree, levels: Sequence[LevelWeights], n_features: int) -> None:
        self.tree, self.levels, self.n_features = tree, levels, n_features
        self._buffers = ThreadBuffers()

    @cached_property
    def arrays(self) -> SearchArrays:
        """What the kernels read."""
        return build_arrays(self.tree, self.levels, self.n_features)

    @cached_property
    def overlap(self) -> OverlapSearch | None:
        """The search for labels with several leaves, if there are any."""
        overlaps = len(self.levels) == self.tree.depth and self.tree.n_slots > self.tree.n_labels
        return OverlapSearch(self.tree) if overlaps else None

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(a.nbytes for a in self.arrays if isinstance(a, np.ndarray))

    def search(
        self,
        X: Any,
        *,
        top_k: int,
        beam_width: int,
        scoring: Scoring,
        team: ThreadTeam | None = None,
        allowed: npt.NDArray[np.int32] | None = None,
        merge: str = "mean",
    ) -> tuple[LabelArray, FloatArray]:
        """Return the best labels (n, top_k) and their scores; -1 and -inf beyond the last.

        Without a `team` it takes one thread. `allowed` is a `block_mask` (see `allow`) that leaves
        labels out; `merge` says how the copies of a label become one.
        """
        arrays = self.arrays if allowed is None else self.arrays._replace(block_mask=allowed)
        n = X.shape[0]
        indptr, indices, data = X.indptr, X.indices, X.data
        if indptr.dtype != np.int64:
            indptr = indptr.astype(np.int64)
        if indices.dtype != np.int32:
            indices = indices.astype(np.int32)
        labels, scores = blank_lists(n, top_k)

        def block(bounds: tuple[int, int]) -> None:
            start, stop = bounds
            if self.overlap is not None:
                self.overlap.rank(
                    (indptr, indices, data), bounds, arrays, beam_width=beam_width,
                    scoring=scoring, merge=merge, row_of=self._row_of(),
                    out=(labels[start:stop], scores[start:stop]),
                )  # fmt: skip
                return
            search_block(
                indptr, indices, data, start, arrays, beam_width, scoring.kind, scoring.power,
                self._row_of(), labels[start:stop], scores[start:stop],
            )  # fmt: skip

        if n <= LANES:
            # Too few rows to be worth a thread.
            if n:
                block((0, n))
        else:
            team = team or ThreadTeam(1)
            size = min(BLOCK, -(-n // team.n_threads))
            if self.overlap is not None:
                size = min(size, self.overlap.block_size(beam_width))
            team.map(block, [(i, min(n, i + size)) for i in range(0, n, size)])
        scores = scoring.finish(scores)
        scores[labels < 0] = -np.inf
        return labels, scores

    def allow(self, labels: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Return the `block_mask` under which only the given labels are found."""
        kept = np.zeros(self.tree.n_labels, bool)
        kept[checked_label_ids(labels, self.tree.n_labels)] = True
        return np.concatenate(masks_by_level(self.tree, kept[self.tree.slot_labels]))

    def n_leaves_of(self, labels: npt.ArrayLike) -> int:
        """Return in how many leaves the given labels live."""
        kept = np.zeros(self.tree.n_labels, bool)
        kept[checked_label_ids(labels, self.tree.n_labels)] = True
        held = ends(kept[self.tree.slot_labels].astype(np.int64))[self.tree.offsets[-1]]
        return int(np.count_nonzero(np.diff(held)))

    def _row_of(self) -> npt.NDArray[np.int32]:
        """The calling thread's map from feature to the row of some chunk, -1 where none was met."""
        return self._buffers.get("row_of", lambda: np.full(self.n_features, -1, np.int32))


def build_arrays(tree: LabelTree, levels: Sequence[LevelWeights], n_features: int) -> SearchArrays:
    """Expand all levels into the arrays that the kernels read."""
    depth = len(levels)
    offsets = [tree.offsets[level] for level in range(depth)]
    child_count = np.concatenate([np.diff(own) for own in offsets])
    n_blocks = -(-child_count // LANES)
    chunk_row = ends(np.concatenate([np.diff(level.chunk_row) for level in levels]))
    row_feature = joined([level.row_feature for level in levels], np.int32)
    row_entry = joined_starts([level.row_entry for level in levels])
    child_type = np.result_type(*[level.entry_child.dtype for level in levels])
    entry_child = joined([level.entry_child for level in levels], child_type)
    value_type = np.result_type(*[level.entry_value.dtype for level in levels])
    stored = joined([level.entry_value for level in levels], value_type)
    n_clusters = len(child_count)
    filled = np.zeros(int(n_blocks.max(initial=1)), np.int32)
    dense, shift = np.empty(n_clusters, np.uint8), np.empty(n_clusters, np.uint8)
    segments, entries, buckets = (np.empty(n_clusters, np.int64) for _ in range(3))
    measure_chunks(
        chunk_row, row_entry, entry_child, child_count, n_features,
        dense, shift, segments, entries, buckets, filled,
    )  # fmt: skip
    chunk_segment, chunk_entry, chunk_bucket = ends(segments), ends(entries), ends(buckets)
    values = as_bits(stored)
    row_place = new_array(2 * (len(row_feature) + 1), np.int64)
    block_type = np.uint16 if len(filled) <= 1 << 16 else np.uint32
    segment_block = new_array(chunk_segment[-1], block_type)
    segment_value = new_array(chunk_segment[-1] * LANES, values.dtype, zeros=True)
    index_child = new_array(chunk_entry[-1], child_type)
    index_value = new_array(chunk_entry[-1], values.dtype)
    bucket = new_array(chunk_bucket[-1], np.int32)
    fill_chunks(
        chunk_row, row_feature, row_entry, entry_child, values, child_count, dense, shift,
        chunk_segment[:-1], chunk_entry[:-1], chunk_bucket[:-1],
        row_place, segment_block, segment_value, index_child, index_value, bucket, filled,
    )  # fmt: skip
    full = depth == tree.depth
    return SearchArrays(
        level_start=ends([len(own) - 1 for own in offsets]),
        child_first=np.concatenate([own[:-1] for own in offsets]),
        child_count=child_count,
        block_first=ends(n_blocks)[:-1],
        block_mask=np.concatenate(masks_by_level(tree, np.ones(tree.n_slots, bool))[:depth]),
        child_scale=padded([level.scale for level in levels], child_count),
        child_bias=padded([level.bias for level in levels], child_count),
        chunk_row=chunk_row,
        chunk_dense=dense,
        chunk_shift=shift,
        chunk_bucket=chunk_bucket[:-1],
        bucket=bucket,
        row_feature=row_feature,
        row_place=row_place,
        segment_block=segment_block,
        segment_value=segment_value,
        entry_child=index_child,
        entry_value=index_value,
        slot_labels=tree.slot_labels if full else own_numbers(int(offsets[-1][-1])),
        largest_chunk=int(n_blocks.max(initial=1)),
    )


def own_numbers(n: int) -> LabelArray:
    """Return 0 to n - 1, read-only like a tree's labels, so that the search is compiled once."""
    numbers = np.arange(n, dtype=np.int32)
    numbers.flags.writeable = False
    return numbers


def as_bits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return float16 as the uint16 of its bits, as kernels read it."""
    return values.view(np.uint16) if values.dtype == np.float16 else values


def padded(values: Sequence[FloatArray], child_count: npt.NDArray[np.int64]) -> FloatArray:
    """One number per child, each cluster's filled up with zeros to whole blocks of 16 lanes."""
    joined = np.concatenate(values)
    n_blocks = -(-child_count // LANES)
    start = np.repeat(ends(n_blocks)[:-1] * LANES - ends(child_count)[:-1], child_count)
    out = np.zeros(int(n_blocks.sum()) * LANES, np.float32)
    out[start + np.arange(len(joined))] = joined
    return out


def masks_by_level(tree: LabelTree, slots: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.int32]]:
    """The block masks of each level: children above a marked slot, so never an empty leaf."""
    masks, children = [], slots
    for offsets in reversed(tree.offsets):
        masks.append(block_masks(offsets, children))
        below = ends(children.astype(np.int64))
        children = below[offsets[1:]] > below[offsets[:-1]]
    return masks[::-1]


def block_masks(
    offsets: npt.NDArray[np.int64], children: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    """Bit k of a block is set where its k-th child is marked; padding is never set."""
    counts = np.diff(offsets)
    n_blocks = -(-counts // LANES)
    place = np.arange(len(children)) - np.repeat(offsets[:-1], counts)
    block = np.repeat(ends(n_blocks)[:-1], counts) + place // LANES
    masks = np.zeros(int(n_blocks.sum()), np.int32)
    np.bitwise_or.at(masks, block[children], (1 << (place % LANES))[children].astype(np.int32))
    return masks


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
        """Return how many instances are ranked together, so that their scores fit the room."""
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
        memory.ask(4 * size, f"a beam_width of {beam_width:,} leaves", advice="lower beam_width")
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
    """Return a known way to merge the scores of copies, or raise a ConfigError."""
    if merge not in MERGES:
        raise ConfigError(f"merge must be one of {list(MERGES)}, got {merge!r}")
    return merge
