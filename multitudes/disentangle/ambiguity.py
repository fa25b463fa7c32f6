"""Which labels are ambiguous: whose instances fall into senses that are far apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multitudes.disentangle.senses import SenseNotes, noted
from multitudes.errors import NotFittedError
from multitudes.labels import LabelTree
from multitudes.types import FloatArray
from multitudes.validation import checked_count

MIN_INSTANCES = 10
"""Labels with fewer training instances are not ranked by ambiguity: their senses are chance."""

PRIOR = 2
"""Instances of each sense that are imagined to tell nothing: a sense of few proves little."""


class Ambiguity(NamedTuple):
    """How far apart the senses of a label are.

    Attributes
    ----------
    label : int or str
        Its id, or its name.
    separation : float
        The mean over the label's senses of ``silhouette * n / (n + 2)`` for a sense of n
        instances, by which labels are ranked. A sense of few instances proves little, and many
        instances of one sense do not outvote the others.
    silhouette : float
        Mean silhouette of the label's instances, from -1 to 1 (Rousseeuw, 1987). With a the mean
        cosine of an instance with the others of its sense, and b with those of the label's
        nearest other sense, it is (a - b) / max(a, b): 1 if senses share no words, 0 if
        instances are as much like the other sense as like their own.
    variation : float
        Variation of information, in bits, between a label's instances as one cluster and as
        divided among its leaves, which is the entropy of the division: 1 for halves.
    n_instances : int
        Training instances of the label.

    Notes
    -----
    In an ensemble all are means over the trees.
    """

    label: int | str
    separation: float
    silhouette: float
    variation: float
    n_instances: int


def ambiguous(model: Any, *, min_instances: int = MIN_INSTANCES) -> list[Ambiguity]:
    """Rank the labels of a fitted `Disentangled` by how far apart their senses are.

    Parameters
    ----------
    model : Disentangled
    min_instances : int
        Leave out labels with fewer training instances. Labels whose instances are all in one leaf
        are left out, too.

    Returns
    -------
    list of Ambiguity
        The most ambiguous label first.
    """
    if not hasattr(model, "models_"):
        raise NotFittedError("this model has not learned anything yet: call fit or load first")
    min_instances = checked_count(min_instances, "min_instances", at_least=0)
    trees, notes = [part.tree_ for part in model.models_], noted(model)
    measured = np.mean([_measure(*pair) for pair in zip(trees, notes, strict=True)], axis=0)
    separation, silhouette, variation = measured  # (n_labels,) each
    n_instances = np.bincount(trees[0].slot_labels, weights=notes[0].counts).astype(np.int64)
    labels = np.flatnonzero((variation > 0) & (n_instances >= min_instances))
    labels = labels[np.lexsort((labels, -separation[labels]))]
    columns = (separation, silhouette, variation, n_instances)
    rows = zip(labels.tolist(), *(column[labels].tolist() for column in columns), strict=True)
    return [Ambiguity(*row) for row in rows]


def _measure(tree: LabelTree, notes: SenseNotes) -> FloatArray:
    """Separation, silhouette and variation of every label of one tree, float32 (3, n_labels)."""
    counts, labels = notes.counts.astype(np.float64), tree.slot_labels
    share = counts / np.maximum(np.bincount(labels, weights=counts), 1)[labels]
    n_senses = np.maximum(np.bincount(labels, weights=counts > 0), 1)
    shrunk = notes.silhouettes * counts / (counts + PRIOR)
    bits = -share * np.log2(np.where(share > 0, share, 1))
    separation = np.bincount(labels, weights=shrunk) / n_senses
    silhouette = np.bincount(labels, weights=share * notes.silhouettes)
    variation = np.bincount(labels, weights=bits)
    return np.stack([separation, silhouette, variation]).astype(np.float32)
