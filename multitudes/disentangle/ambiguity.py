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


class Ambiguity(NamedTuple):
    """How far apart the senses of a label are.

    Attributes
    ----------
    label : int or str
        Its id, or its name.
    separation : float
        ``silhouette - error``, by which labels are ranked: what the silhouette is at least, by
        the number of instances that it was measured on.
    silhouette : float
        Mean silhouette of the label's instances, from -1 to 1 (Rousseeuw, 1987). With a the mean
        cosine of an instance with the others of its sense, and b with those of the label's
        nearest other sense, it is (a - b) / max(a, b): 1 if senses share no words, 0 if
        instances are as much like the other sense as like their own.
    error : float
        The standard error of the mean: small for many instances that agree.
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
    error: float
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
    silhouette, error, variation = measured  # (n_labels,) each
    separation = silhouette - error
    n_instances = np.bincount(trees[0].slot_labels, weights=notes[0].counts).astype(np.int64)
    labels = np.flatnonzero((variation > 0) & (n_instances >= min_instances))
    labels = labels[np.lexsort((labels, -separation[labels]))]
    columns = (separation, silhouette, error, variation, n_instances)
    rows = zip(labels.tolist(), *(column[labels].tolist() for column in columns), strict=True)
    return [Ambiguity(*row) for row in rows]


def _measure(tree: LabelTree, notes: SenseNotes) -> FloatArray:
    """Silhouette, its standard error and the variation of every label of one tree, (3, n_labels).

    Means and variances of a label come from those of its slots.
    """
    counts, labels = notes.counts.astype(np.float64), tree.slot_labels
    n = np.maximum(np.bincount(labels, weights=counts), 1)
    share = counts / n[labels]
    mean = np.bincount(labels, weights=share * notes.silhouettes)
    deviation = notes.silhouettes - mean[labels]
    variance = np.bincount(labels, weights=share * (notes.spreads**2 + deviation**2))
    error = np.sqrt(variance / np.maximum(n - 1, 1))
    bits = -share * np.log2(np.where(share > 0, share, 1))
    return np.stack([mean, error, np.bincount(labels, weights=bits)]).astype(np.float32)
