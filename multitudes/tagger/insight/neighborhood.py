"""Where a label lives in a model: its clusters, the labels nearest to it, texts that have it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from multitudes.disentangle import Disentangled
from multitudes.labels import LabelTree
from multitudes.lexical.index import NameIndex
from multitudes.linear.level_weights import LevelWeights
from multitudes.tagger.fitted import FittedTagger
from multitudes.types import FloatArray, IntArray

MOST_WEIGHTS = 50_000_000  # of a leaf whose labels are compared: some seconds of work


class Near(NamedTuple):
    """A label near another.

    Attributes
    ----------
    label : int
    similarity : float
        Cosine of the vectors that the model has of the two.
    """

    label: int
    similarity: float


def path_to(tagger: FittedTagger, label: int, *, most: int = 10) -> list[list[int]]:
    """Return the labels that share each cluster with a label, from the root to its leaf.

    Those of a cluster that are not in the next one on the path, at most `most`, the nearest in
    the order of the tree. Of the model's first tree, and the label's first place in it; empty for
    a model that does not group its labels.
    """
    for tree, own, names in _trees(tagger.model_, label):
        if len(tree.offsets) > 1:
            slot = int(np.flatnonzero(tree.slot_labels == own)[0])
            return [[names(one) for one in level] for level in _levels(tree, slot, most)]
    return []


def nearest_labels(tagger: FittedTagger, label: int, *, top_k: int = 10) -> list[Near]:
    """Return the labels most like a label, by the vectors that the model has of them.

    A text encoder compares a label with all others; a tree of linear rankers with those of the
    same leaf, whose rankers were trained to tell them apart: their cosine may well be below 0.
    Empty for a model that has no vectors of labels.
    """
    for model, own, names in _models(tagger.model_, label):
        vectors = getattr(model, "label_vectors_", None)
        if vectors is not None:
            similar = _cosines(np.asarray(vectors), own)
            labels = np.arange(len(similar))
            return _best(labels, similar, own, names, top_k)
        for part in _parts(model):
            return _best(*_in_leaf(part.tree_, part.levels_[-1], own), own, names, top_k)
    return []


def examples_of(tagger: FittedTagger, label: int, *, most: int = 5) -> list[str]:
    """Return training texts that have a label, shortened, most typical first; if any are kept."""
    rows: list[int] = []
    model = tagger.model_
    if isinstance(model, Disentangled):
        for part, notes in zip(model.models_, model.notes_, strict=True):
            if notes is not None:
                slots = np.flatnonzero(part.tree_.slot_labels == label)
                rows += notes.examples[slots].T.ravel().tolist()
    elif getattr(model, "instances_", None) is not None:
        query = np.asarray(model.label_vectors_[label], np.float32)
        rows = model.instances_.nearest(label, query, top_k=most).instances.tolist()
    texts = (tagger.examples_[row] for row in rows if row in tagger.examples_)
    return list(dict.fromkeys(texts))[:most]


def other_names(tagger: FittedTagger, label: int) -> list[str]:
    """Return the names by which a model finds a label in texts; empty for one that does not."""
    for model, own, _ in _models(tagger.model_, label):
        index = getattr(model, "index_", None)
        if isinstance(index, NameIndex):
            first, last = np.searchsorted(index.name_labels, [own, own + 1]).tolist()
            return list(index.names[first:last])
    return []


def n_texts_of(tagger: FittedTagger, label: int) -> int | None:
    """Return how many training texts have a label; None if the model does not remember."""
    model = tagger.model_
    instances = getattr(model, "instances_", None)
    if instances is not None:
        known = label < instances.Y.shape[1]
        return int(instances.Y.indptr[label + 1] - instances.Y.indptr[label]) if known else 0
    counts = getattr(model, "label_counts_", None)  # of an ensemble, if it saw the training data
    return int(counts[label]) if counts is not None and counts.any() else None


def _models(model: Any, label: int) -> Iterator[tuple[Any, int, Any]]:
    """Yield a model, or the members of an ensemble, that know a label, as (model, id, names).

    `names` is a function of the model's own id to that of the whole; -1 for one that is gone.
    """
    members = getattr(model, "members_", None)
    if members is None:
        yield model, label, int
        return
    for member in members:
        own = member.own_label(label)
        if own is not None:
            names = member.label_map
            yield member.model, own, int if names is None else lambda one, ids=names: int(ids[one])


def _parts(model: Any) -> list[Any]:
    """Return the models of one tree each that a model consists of."""
    parts = getattr(model, "models_", None) or getattr(model, "trees_", None) or [model]
    return [part for part in parts if isinstance(getattr(part, "tree_", None), LabelTree)]


def _trees(model: Any, label: int) -> Iterator[tuple[LabelTree, int, Any]]:
    for one, own, names in _models(model, label):
        for part in _parts(one):
            yield part.tree_, own, names


def _clusters(tree: LabelTree, slot: int) -> list[int]:
    """Return the cluster of each level that a slot is in, from the root down."""
    found, child = [], slot
    for offsets in reversed(tree.offsets):
        child = int(np.searchsorted(offsets, child, side="right")) - 1
        found.append(child)
    return found[::-1]


def _levels(tree: LabelTree, slot: int, most: int) -> Iterator[list[int]]:
    """Yield the labels around the next cluster on the path to a slot, level by level."""
    bounds = [_slots(tree, level, cluster) for level, cluster in enumerate(_clusters(tree, slot))]
    label = int(tree.slot_labels[slot])
    for (first, last), (inner, outer) in pairwise([*bounds, (slot, slot + 1)]):
        before = range(max(first, inner - most), inner)
        behind = range(outer, min(last, outer + most))
        slots = sorted([*before, *behind], key=lambda one: abs(2 * one - inner - outer + 1))
        labels = dict.fromkeys(tree.slot_labels[slots].tolist())
        yield [one for one in labels if one != label][:most]


def _slots(tree: LabelTree, level: int, cluster: int) -> tuple[int, int]:
    """Return the slots below a cluster, as (first, behind the last)."""
    first, last = cluster, cluster + 1
    for offsets in tree.offsets[level:]:
        first, last = int(offsets[first]), int(offsets[last])
    return first, last


def _in_leaf(tree: LabelTree, weights: LevelWeights, label: int) -> tuple[IntArray, FloatArray]:
    """Return the labels in the leaf of a label, and how similar their rankers' weights are."""
    slot = int(np.flatnonzero(tree.slot_labels == label)[0])
    leaf = _clusters(tree, slot)[-1]
    first, last = _slots(tree, len(tree.offsets) - 1, leaf)
    labels = tree.slot_labels[first:last].astype(np.int64)
    rows = slice(weights.chunk_row[leaf], weights.chunk_row[leaf + 1])
    n_weights = int(weights.row_entry[rows.stop] - weights.row_entry[rows.start])
    if n_weights > MOST_WEIGHTS:
        return labels[:0], np.zeros(0, np.float32)
    chunk = weights.chunk(leaf, first, last - first)
    child, value = chunk.entry_child.astype(np.int64), chunk.entry_value
    row = np.repeat(np.arange(len(chunk.row_feature)), np.diff(chunk.row_entry))
    mine = np.zeros(len(chunk.row_feature), np.float32)
    of_label = child == slot - first
    mine[row[of_label]] = value[of_label]
    n = len(labels)
    products = np.bincount(child, value * mine[row], minlength=n)
    lengths = np.sqrt(np.bincount(child, value * value, minlength=n))
    scale = lengths * lengths[slot - first]
    similar = np.divide(products, scale, out=np.zeros(n), where=scale > 0)
    return labels, similar.astype(np.float32)


def _cosines(vectors: FloatArray, label: int) -> FloatArray:
    """Return the cosine of each row with that of a label; rows have length 1, or nearly so."""
    mine = vectors[label] / max(float(np.linalg.norm(vectors[label])), 1e-12)
    found: FloatArray = vectors @ mine
    return found


def _best(labels: IntArray, similar: FloatArray, own: int, names: Any, top_k: int) -> list[Near]:
    keep = labels != own
    labels, similar = labels[keep], similar[keep]
    order = np.lexsort((labels, -similar))[: 2 * top_k]
    found: dict[int, Near] = {}
    for at in order.tolist():
        name = names(labels[at])
        if name >= 0:
            found.setdefault(name, Near(name, float(similar[at])))
    return list(found.values())[:top_k]
