"""The senses of a label: what is around it in each of its leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitudes.disentangle.sense_notes import SenseNotes
from multitudes.errors import ConfigError
from multitudes.types import FloatArray, LabelArray
from multitudes.validation import checked_label


@dataclass(frozen=True, eq=False)
class Sense:
    """A label in one of its leaves.

    Parameters
    ----------
    tree : int
        Which tree of an ensemble; 0 for a model of one.
    leaf : int
        Id of the leaf in that tree.
    n_instances : int
        Training instances that use the label in this sense: those that resemble the other labels
        of this leaf more than those of the label's other leaves.
    nearest : int32 array (at most 5,)
        Other labels of the leaf that these instances have, too, nearest first: by shared instances
        over the square root of all instances of the other label.
    words : int32 array (at most 12,)
        The features that speak most for the label in these instances: weight times mean value.
    weights : float32 array, like `words`
        How much each speaks for it, falling.
    examples : int32 array (at most `keep_examples`,)
        Rows of the training data that are most typical of this sense, best first.
    """

    tree: int
    leaf: int
    n_instances: int
    nearest: LabelArray
    words: LabelArray
    weights: FloatArray
    examples: LabelArray


def senses_of(model: Any, label: int) -> list[Sense]:
    """The senses of a label in a fitted `Disentangled`; those with most instances first.

    In an ensemble, tree by tree. A label with a single leaf has a single sense.
    """
    label = checked_label(label, model.n_labels_)
    senses: list[Sense] = []
    for number, (notes, part) in enumerate(zip(noted(model), model.models_, strict=True)):
        tree = part.tree_
        slots = np.flatnonzero(tree.slot_labels == label)
        leaves = np.searchsorted(tree.offsets[-1], slots, side="right") - 1
        of_tree = [
            _sense(notes, number, int(leaf), int(slot))
            for leaf, slot in zip(leaves, slots, strict=True)
        ]
        senses += sorted(of_tree, key=lambda sense: -sense.n_instances)
    return senses


def noted(model: Any) -> list[SenseNotes]:
    """The notes of every tree; an error that says why where there are none."""
    if any(part.tree_.n_slots == part.tree_.n_labels for part in model.models_):
        raise ConfigError(
            "every label of this model lives in one leaf and so has one sense: "
            "train with overlap=2 or more"
        )
    notes = [note for note in model.notes_ if note is not None]
    if len(notes) < len(model.models_):
        raise ConfigError(
            "this model was trained with keep_examples=0 and has no notes about the senses of "
            "its labels: train with keep_examples=1 or more"
        )
    return notes


def _sense(notes: SenseNotes, tree: int, leaf: int, slot: int) -> Sense:
    nearest, words, examples = (
        row[row >= 0] for row in (notes.nearest[slot], notes.words[slot], notes.examples[slot])
    )
    weights = notes.word_weights[slot, : len(words)].astype(np.float32)
    return Sense(tree, leaf, int(notes.counts[slot]), nearest, words, weights, examples)
