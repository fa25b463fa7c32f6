"""Which labels are ambiguous: how far apart the senses of each label are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.disentangle.sense_notes import SenseNotes
from multitudes.disentangle.senses import noted
from multitudes.errors import NotFittedError
from multitudes.labels import LabelTree
from multitudes.types import FloatArray, IntArray
from multitudes.validation import checked_count

MIN_INSTANCES = 10
"""Labels with fewer training instances are left out: their senses are chance."""


@dataclass(frozen=True, eq=False)
class Ambiguity:
    """Labels by how far apart their senses are, the most ambiguous first.

    Parameters
    ----------
    labels : int64 array (n,)
    distance : float32 array (n,)
        ``variation * (1 - cosine)``, by which labels are ranked: large where a label's instances
        are divided evenly among leaves *and* other words speak for it in each.
    variation : float32 array (n,)
        Variation of information, in bits, between a label's instances as one cluster and as
        divided among its leaves, which is the entropy of the division: 0 if all are in one leaf,
        1 for halves.
    cosine : float32 array (n,)
        Between the weights of the label's copies on their telling words, each weight times the
        word's mean value in the instances of the sense. With more than two copies the mean over
        pairs of instances in different senses; 1 where all instances are in one.
    n_instances : int64 array (n,)
        Training instances of each label.

    Notes
    -----
    In an ensemble all are means over the trees.
    """

    labels: IntArray
    distance: FloatArray
    variation: FloatArray
    cosine: FloatArray
    n_instances: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    def top(self, n: int) -> Ambiguity:
        """Only the `n` most ambiguous labels."""
        return Ambiguity(*(column[:n] for column in vars(self).values()))


def ambiguous(model: Any, *, min_instances: int = MIN_INSTANCES) -> Ambiguity:
    """Rank the labels of a fitted `Disentangled` by how far apart their senses are.

    Parameters
    ----------
    model : Disentangled
    min_instances : int
        Leave out labels with fewer training instances. Labels with one leaf are left out, too.
    """
    if not hasattr(model, "models_"):
        raise NotFittedError("this model has not learned anything yet: call fit or load first")
    min_instances = checked_count(min_instances, "min_instances", at_least=0)
    trees, notes = [part.tree_ for part in model.models_], noted(model)
    measured = np.stack(
        [_measure(*pair, model.n_features_in_) for pair in zip(trees, notes, strict=True)]
    )  # (n_trees, 2, n_labels)
    variation, cosine = measured.mean(axis=0, dtype=np.float32)
    distance = (measured[:, 0] * (1 - measured[:, 1])).mean(axis=0, dtype=np.float32)
    n_leaves = np.max([np.bincount(tree.slot_labels) for tree in trees], axis=0)
    n_instances = np.bincount(trees[0].slot_labels, weights=notes[0].counts).astype(np.int64)
    labels = np.flatnonzero((n_leaves > 1) & (n_instances >= min_instances))
    labels = labels[np.lexsort((labels, -distance[labels]))]
    return Ambiguity(
        labels, distance[labels], variation[labels], cosine[labels], n_instances[labels]
    )


def _measure(tree: LabelTree, notes: SenseNotes, n_features: int) -> FloatArray:
    """Variation and cosine of every label of one tree, float32 (2, n_labels)."""
    counts = notes.counts.astype(np.float64)
    n_instances = np.bincount(tree.slot_labels, weights=counts)
    share = counts / np.maximum(n_instances, 1)[tree.slot_labels]
    bits = -share * np.log2(np.where(share > 0, share, 1))
    variation = np.bincount(tree.slot_labels, weights=bits)
    words = _unit_words(notes, n_features)
    members: sp.csr_array[Any] = sp.csr_array(
        (share, (tree.slot_labels, np.arange(tree.n_slots))), shape=(tree.n_labels, tree.n_slots)
    )
    mean = members @ words
    # |sum of share * words|^2 has every pair of copies twice, and each copy with itself once.
    with_itself = np.bincount(tree.slot_labels, weights=share**2)
    own = np.bincount(tree.slot_labels, weights=share**2 * (notes.words[:, 0] >= 0))
    different = np.asarray(mean.multiply(mean).sum(axis=1)).ravel() - own
    pairs = 1 - with_itself
    cosine = np.where(pairs > 1e-9, different / np.maximum(pairs, 1e-9), 1)
    return np.stack([variation, np.clip(cosine, 0, 1)]).astype(np.float32)


def _unit_words(notes: SenseNotes, n_features: int) -> sp.csr_array[Any]:
    """The telling words of each slot as a row of length 1, (n_slots, n_features)."""
    weights = notes.word_weights.astype(np.float64)
    weights /= np.maximum(np.sqrt((weights**2).sum(axis=1, keepdims=True)), 1e-12)
    known = notes.words >= 0
    slots = np.repeat(np.arange(len(known)), known.sum(axis=1))
    shape = (len(known), n_features)
    return sp.csr_array((weights[known], (slots, notes.words[known])), shape=shape)
