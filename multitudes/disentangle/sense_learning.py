"""Which instances use a label in which sense, and what tells the senses apart."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.disentangle.inputs import rows_of
from multitudes.disentangle.senses import N_NEAREST, N_WORDS, SenseNotes
from multitudes.kernels.clustering.assignment import top_counts
from multitudes.kernels.clustering.senses import (
    own_similarities,
    sense_silhouettes,
    sense_similarities,
    shared_labels,
    telling_features,
)
from multitudes.kernels.threads import ThreadBuffers, ThreadTeam
from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights
from multitudes.types import FloatArray, IntArray, LabelArray, Predictions, Sparse

BLOCKS_PER_THREAD = 8  # of leaves or labels: enough to even out, few enough to cost nothing


def learn_senses(
    tree: LabelTree,
    rankers: LevelWeights,
    X: Sparse,
    Y: Sparse,
    *,
    keep_examples: int,
    n_jobs: int | None = None,
) -> SenseNotes:
    """Divide each label's instances among its leaves, and note what is typical of each part.

    Parameters
    ----------
    tree : LabelTree
    rankers : LevelWeights
        Weights of the tree's last level.
    X : csr_array (n_instances, n_features), float32
    Y : csr_array (n_instances, n_labels)
        Non-zero where an instance has a label.
    keep_examples : int
        Instances to note for each slot.
    n_jobs : int, optional
        All cores by default; it changes no result.
    """
    with ThreadTeam(n_jobs) as team:
        uses = sense_uses(tree, X, Y, team)
        words, weights = _words(tree, rankers, X, uses, team)
        silhouettes = _silhouettes(tree, X, uses, team)
    return SenseNotes(
        np.diff(uses.indptr).astype(np.int32),
        _most_similar(uses, keep_examples),
        _nearest(tree, Y, uses),
        words,
        weights.astype(np.float16),
        silhouettes,
    )


def sense_uses(tree: LabelTree, X: Sparse, Y: Sparse, team: ThreadTeam) -> sp.csr_array[Any]:
    """Find the sense in which each instance uses each of its labels.

    Returns
    -------
    csr_array (n_slots, n_instances), float32
        The similarity of an instance and a leaf, stored (also where it is 0) in one slot for each
        (instance, label) pair of Y.

    Notes
    -----
    An instance uses a label in the sense of the leaf whose *other* labels it resembles most: whose
    instances, summed and scaled to length 1, have the largest dot product with it. Ties go to the
    smaller leaf id. The model's own scores tell senses apart less well, because every copy of a
    label is trained to accept all instances of the label.
    """
    by_label: sp.csr_array[Any] = sp.csr_array(Y.T)
    by_label.sort_indices()
    label_start, instances = rows_of(by_label)
    counts = np.diff(label_start)[tree.slot_labels]
    slot_start = np.concatenate([[0], np.cumsum(counts)])
    similarity = np.empty(int(slot_start[-1]), np.float32)
    rows, buffers = _rows_and_values(X), ThreadBuffers()

    own, n = np.empty(len(instances)), X.shape[0]

    def multiply(labels: range) -> None:
        own_similarities(
            *rows, label_start[labels.start : labels.stop + 1], instances,
            buffers.get("total", partial(np.zeros, X.shape[1])), own,
        )  # fmt: skip

    def compare(leaves: range) -> None:
        sense_similarities(
            *rows, label_start, instances, own,
            tree.offsets[-1][leaves.start : leaves.stop + 1], tree.slot_labels, slot_start,
            buffers.get("total", partial(np.zeros, X.shape[1])),
            buffers.get("times", partial(np.zeros, n, np.int32)),
            buffers.get("members", partial(np.empty, n, np.int32)),
            buffers.get("whole", partial(np.empty, n)), similarity,
        )  # fmt: skip

    team.map(multiply, _blocks(tree.n_labels, team))
    team.map(compare, _blocks(tree.n_leaves, team))
    slot_of_pair, best = _winners(tree, label_start, slot_start, similarity)
    shape = (tree.n_slots, Y.shape[0])
    uses: sp.csr_array[Any] = sp.csr_array((best, (slot_of_pair, instances)), shape=shape)
    return uses


def _winners(
    tree: LabelTree, label_start: IntArray, slot_start: IntArray, similarity: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the most similar slot of each (label, instance) pair, and its similarity."""
    counts = np.diff(slot_start)
    first_slot, slots = tree.slots_of_label()
    best = np.full(label_start[-1], -np.inf, np.float32)
    slot_of_pair = np.zeros(label_start[-1], np.int64)
    for copy in range(int(np.diff(first_slot).max())):
        labels = np.flatnonzero(np.diff(first_slot) > copy)
        slot = slots[first_slot[labels] + copy]
        here = _ranges(slot_start[slot], counts[slot])
        pairs = _ranges(label_start[labels], counts[slot])
        better = similarity[here] > best[pairs]
        best[pairs[better]] = similarity[here[better]]
        slot_of_pair[pairs[better]] = np.repeat(slot, counts[slot])[better]
    return slot_of_pair, best


def _words(
    tree: LabelTree, rankers: LevelWeights, X: Sparse, uses: sp.csr_array[Any], team: ThreadTeam
) -> tuple[LabelArray, FloatArray]:
    """The features that carry most of a copy's margin in the instances of its sense.

    A copy's weights alone would not do: they hold the words of all senses of its label.
    """
    words = np.empty((tree.n_slots, N_WORDS), np.int32)
    weights = np.empty((tree.n_slots, N_WORDS), np.float32)
    use_start, users = rows_of(uses)
    rows, buffers, leaf_start = _rows_and_values(X), ThreadBuffers(), tree.offsets[-1].tolist()

    def tell(leaves: range) -> None:
        total = buffers.get("total", partial(np.zeros, X.shape[1]))
        for leaf in leaves:
            first, last = leaf_start[leaf], leaf_start[leaf + 1]
            chunk = rankers.chunk(leaf, first, last - first)
            telling_features(
                *rows, use_start[first : last + 1], users,
                chunk.row_feature, chunk.row_entry, chunk.entry_child.astype(np.uint32),
                chunk.entry_value, total, words[first:last], weights[first:last],
            )  # fmt: skip

    team.map(tell, _blocks(tree.n_leaves, team))
    return words, weights


def _silhouettes(
    tree: LabelTree, X: Sparse, uses: sp.csr_array[Any], team: ThreadTeam
) -> FloatArray:
    """Mean silhouette of each slot's instances, float32 (n_slots,)."""
    mean = np.empty(tree.n_slots, np.float32)
    label_slot, slots = tree.slots_of_label()
    use_start, users = rows_of(uses)
    sizes = np.bincount(tree.slot_labels, weights=np.diff(use_start), minlength=tree.n_labels)
    largest = int(sizes.max(initial=0))
    rows, buffers = _rows_and_values(X), ThreadBuffers()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel())
    scale = np.divide(1, lengths, out=np.zeros(len(lengths)), where=lengths > 0)

    def measure(labels: range) -> None:
        sense_silhouettes(
            *rows, scale.astype(np.float32),
            label_slot[labels.start : labels.stop + 1], slots, use_start, users,
            buffers.get("total", partial(np.zeros, X.shape[1])),
            buffers.get("own", partial(np.zeros, largest)),
            buffers.get("other", partial(np.zeros, largest)), mean,
        )  # fmt: skip

    team.map(measure, _blocks(tree.n_labels, team))
    return mean


def _nearest(tree: LabelTree, Y: Sparse, uses: sp.csr_array[Any]) -> LabelArray:
    """The labels of a leaf that the instances of a sense have as well."""
    sizes = np.bincount(Y.indices, minlength=tree.n_labels).astype(np.int64)
    nearest = np.empty((tree.n_slots, N_NEAREST), np.int32)
    shared_labels(
        *rows_of(Y), sizes, tree.offsets[-1], tree.slot_labels, *rows_of(uses),
        np.zeros(tree.n_labels, np.int32), nearest,
    )  # fmt: skip
    return nearest


def _most_similar(uses: sp.csr_array[Any], k: int) -> LabelArray:
    """The k instances of each slot with the largest similarity, best first."""
    indptr, instances = rows_of(uses)
    keep = np.empty(uses.nnz, bool)
    limits = np.full(uses.shape[0], k)
    top_counts(indptr, uses.data, limits, keep)  # first, as sorting all would take longer
    ends = np.concatenate([[0], np.cumsum(keep)])[indptr]
    kept = sp.csr_array((uses.data[keep], instances[keep], ends), shape=uses.shape)
    return Predictions.from_csr(kept, k).labels


def _blocks(n: int, team: ThreadTeam) -> list[range]:
    """Divide 0 to n - 1 into runs: leaves, or labels."""
    size = max(1, n // (BLOCKS_PER_THREAD * team.n_threads))
    return [range(start, min(start + size, n)) for start in range(0, n, size)]


def _rows_and_values(X: Sparse) -> tuple[IntArray, LabelArray, FloatArray]:
    return *rows_of(X), X.data.astype(np.float32, copy=False)


def _ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """start, start + 1, ... of each count, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1], dtype=np.int64) + np.repeat(starts - ends + counts, counts)
