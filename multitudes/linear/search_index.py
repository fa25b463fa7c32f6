"""The trained tree, laid out for beam search; several leaves of one label count once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes import memory
from multitudes.errors import ConfigError, ResourceError
from multitudes.files.large import new_array
from multitudes.kernels import ahead
from multitudes.kernels.lane_masks import MATCHED
from multitudes.kernels.lanes import LANES
from multitudes.kernels.search import index
from multitudes.kernels.search.beam_search import search_block
from multitudes.kernels.search.index import SearchArrays
from multitudes.kernels.search.overlap_search import MAX, MEAN, SUM, Copies, rank_overlapping
from multitudes.kernels.threads import BufferPool, ThreadTeam
from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights, ends
from multitudes.linear.scoring import Scoring
from multitudes.types import FloatArray, LabelArray, room_for_lists
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
        self.n_leaves = tree.n_leaves

    @cached_property
    def arrays(self) -> SearchArrays:
        """What the kernels read."""
        ahead.need(ahead.INDEX)
        arrays = build_arrays(self.tree, self.levels, self.n_features)
        ahead.need(ahead.SEARCH)
        return arrays

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
        labels, scores = room_for_lists(n, top_k)

        def block(bounds: tuple[int, int]) -> None:
            start, stop = bounds
            if self.overlap is not None:
                self.overlap.rank(
                    (indptr, indices, data), bounds, arrays, beam_width=beam_width,
                    scoring=scoring, merge=merge,
                    out=(labels[start:stop], scores[start:stop]),
                )  # fmt: skip
                return
            search_block(
                indptr, indices, data, start, arrays, beam_width, scoring.kind, scoring.power,
                labels[start:stop], scores[start:stop],
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
        finished = scoring.finish(scores)
        if scoring.exponentiate and labels.size and labels[:, -1].min() < 0:
            finished[labels < 0] = -np.inf
        return labels, finished

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


def build_arrays(tree: LabelTree, levels: Sequence[LevelWeights], n_features: int) -> SearchArrays:
    """Lay out all levels as the kernels read them."""
    depth = len(levels)
    offsets = [tree.offsets[level] for level in range(depth)]
    level_start = ends([len(own) - 1 for own in offsets])
    cluster = np.zeros((level_start[-1], index.N_COLUMNS), np.int64)
    wide = any(level.entry_value.dtype == np.float32 for level in levels)
    codes = np.empty(len(cluster), np.int64)
    for number, level in enumerate(levels):
        own = slice(level_start[number], level_start[number + 1])
        cluster[own, index.CHILD_FIRST] = offsets[number][:-1]
        cluster[own, index.CHILD_COUNT] = np.diff(offsets[number])
        index.measure_chunks(
            level.chunk_row, level.row_entry, level.entry_child, np.diff(offsets[number]),
            1 + wide, codes[own],
        )  # fmt: skip
    check_lengths(codes)
    child_count = cluster[:, index.CHILD_COUNT]
    n_blocks = -(-child_count // LANES)
    rows = np.concatenate([np.diff(level.chunk_row) for level in levels])
    groups = rows // index.ROWS_PER_GROUP + 1
    cluster[:, index.BLOCK_FIRST] = ends(n_blocks)[:-1]
    cluster[:, index.GROUP_FIRST] = ends(groups)[:-1]
    cluster[:, index.GROUP_COUNT] = groups
    cluster[:, index.CODE_FIRST] = ends(codes)[:-1]
    group = in_whole_lines(int(groups.sum()) * index.GROUP_LINE, np.int32)
    group.fill(index.NO_FEATURE)
    code = new_array(codes.sum() + index.CODE_MARGIN, np.uint16)
    code[-index.CODE_MARGIN :] = 0
    heat = heat_of_features(levels, n_features)
    order = np.empty(rows.max(initial=0), np.int64)
    for number, level in enumerate(levels):
        index.fill_chunks(
            level.chunk_row, level.row_feature, level.row_entry, level.entry_child,
            as_units(level.entry_value, wide=wide), 1 + wide, heat,
            cluster[level_start[number] : level_start[number + 1]], order, group, code,
        )  # fmt: skip
    return SearchArrays(
        level_start=level_start,
        cluster=cluster,
        block_mask=np.concatenate(masks_by_level(tree, np.ones(tree.n_slots, bool))[:depth]),
        block_line=block_lines(levels, child_count),
        group=group,
        code=code,
        slot_labels=tree.slot_labels if depth == tree.depth else own_numbers(int(offsets[-1][-1])),
        largest_chunk=int(n_blocks.max(initial=1)),
        wide=int(wide),
    )


def in_whole_lines(size: int, dtype: Any) -> npt.NDArray[Any]:
    """Return an array that begins with a line of the cache, 64 bytes."""
    room = new_array(size * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size * np.dtype(dtype).itemsize].view(dtype)


def heat_of_features(levels: Sequence[LevelWeights], n_features: int) -> npt.NDArray[np.uint8]:
    """In how many clusters each feature has weights, in a few steps: most in the last."""
    known = np.zeros(n_features, np.int64)
    for level in levels:
        known += np.bincount(level.row_feature, minlength=n_features)
    shares = known / max(1, known.max(initial=0))
    steps = 2.0 ** -np.arange(index.HEATS - 1, 0, -1)
    return np.asarray(np.digitize(shares, steps), np.uint8)


def check_lengths(codes: npt.NDArray[np.int64]) -> None:
    """Refuse a cluster whose rows cannot be addressed."""
    if codes.max(initial=0) >= 1 << 32:
        raise ResourceError(
            f"the weights of one cluster take {2 * int(codes.max()) >> 30:,} GiB, and 8 GiB can be "
            "searched: train with a smaller max_leaf_size, or a larger threshold"
        )


def own_numbers(n: int) -> LabelArray:
    """Return 0 to n - 1, read-only like a tree's labels, so that the search is compiled once."""
    numbers = np.arange(n, dtype=np.int32)
    numbers.flags.writeable = False
    return numbers


def as_units(values: npt.NDArray[Any], *, wide: bool) -> npt.NDArray[np.uint16]:
    """Return weights as the stream holds them; float16 holds the whole numbers of int8 exactly."""
    numbers = values.astype(np.float32 if wide else np.float16, copy=False)
    return np.ascontiguousarray(numbers).view(np.uint16)


def block_lines(levels: Sequence[LevelWeights], child_count: npt.NDArray[np.int64]) -> FloatArray:
    """Scales and biases of each block of 16 children, side by side."""
    columns = [
        padded([level.scale for level in levels], child_count).reshape(-1, LANES),
        padded([level.bias for level in levels], child_count).reshape(-1, LANES),
    ]
    return np.hstack(columns).ravel()


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
        start, slot = tree.slots_of_label()
        leaf = tree.parents(tree.depth - 1).astype(np.int32)[slot]
        self.most_copies = int(np.diff(start).max())
        numbers = np.maximum(np.arange(self.most_copies + 1), 1)
        self.copies = Copies(start, slot, leaf, np.log(numbers).astype(np.float32))
        self.largest_leaf = int(np.diff(tree.offsets[-1]).max())
        self.leaf_numbers = own_numbers(tree.n_leaves)
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
        out: tuple[LabelArray, FloatArray],
    ) -> None:
        """Fill `out` = (labels, scores), (n, top_k) each, for the rows of X within `bounds`."""
        start, stop = bounds
        n = stop - start
        beyond = np.zeros(n * beam_width + MATCHED, np.int32)  # kernels read a little further
        leaf = beyond[: n * beam_width].reshape(n, beam_width)
        leaf_score = np.empty((n, beam_width), np.float32)
        upper = arrays._replace(
            level_start=arrays.level_start[:-1],
            slot_labels=self.leaf_numbers,
        )
        search_block(*X, start, upper, beam_width, scoring.kind, scoring.power, leaf, leaf_score)
        count = (leaf >= 0).sum(axis=1)
        slack = np.float32(np.log(self.most_copies) if merge == "sum" else 0)
        # A few instances take what they need: to ask for more would read the system's limits.
        room_for = n if n <= LANES else max(n, self.block_size(beam_width))
        size = room_for * beam_width * self._stride()

        def room_of_size() -> FloatArray:
            what = f"a beam_width of {beam_width:,} leaves"
            memory.ask(4 * size, what, advice="lower beam_width")
            return np.empty(size, np.float32)

        with (
            self._buffers.lend("seen", lambda: np.zeros(self.n_labels, np.bool_)) as seen,
            self._buffers.lend(size, room_of_size) as buffer,
        ):
            room = buffer[: n * beam_width * self._stride()].reshape(n, beam_width, -1)
            rank_overlapping(
                *X, start, arrays, self.copies, slack,
                MERGES[merge], scoring.kind, scoring.power, leaf, leaf_score, count, seen,
                room, *out,
            )  # fmt: skip

    def _stride(self) -> int:
        return -(-self.largest_leaf // LANES) * LANES


def checked_merge(merge: str) -> str:
    """Return a known way to merge the scores of copies, or raise a ConfigError."""
    if merge not in MERGES:
        raise ConfigError(f"merge must be one of {list(MERGES)}, got {merge!r}")
    return merge
