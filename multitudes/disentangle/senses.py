"""The senses of a label, one for each of its leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from multitudes import views
from multitudes.errors import ConfigError
from multitudes.store import State, checks
from multitudes.types import FloatArray, LabelArray
from multitudes.validation import checked_label

N_WORDS = 12
"""Telling words kept for each slot."""

N_NEAREST = 5
"""Nearest labels kept for each slot."""


@dataclass(frozen=True, eq=False)
class SenseNotes:
    """A row for each slot of a tree, that is, for each label in each of its leaves.

    Parameters
    ----------
    counts : int32 array (n_slots,)
        Training instances that use the label in the sense of this leaf.
    examples : int32 array (n_slots, keep_examples)
        Rows of the training data that do so most typically, best first; -1 where there are fewer.
    nearest : int32 array (n_slots, N_NEAREST)
        Other labels of the leaf, those that these instances share first; -1 where there are fewer.
    words : int32 array (n_slots, N_WORDS)
        Features that speak most for the label in these instances; -1 where there are fewer.
    word_weights : float16 array (n_slots, N_WORDS)
        How much each speaks for it, falling; 0 beside each -1.
    silhouettes : float32 array (n_slots,)
        Mean silhouette of these instances among those of the label's other leaves, see `Sense`.

    Notes
    -----
    About 100 bytes for each slot, whatever the size of the data.
    """

    counts: LabelArray
    examples: LabelArray
    nearest: LabelArray
    words: LabelArray
    word_weights: npt.NDArray[np.float16]
    silhouettes: FloatArray

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the arrays."""
        return [field.name for field in dataclasses.fields(cls)]

    def check(self, n_slots: int, n_labels: int, n_features: int) -> None:
        """Raise a StoreError unless there is a sound row for each slot."""
        state = State("senses", arrays=self.to_arrays(""))
        checks.array(state, "counts", "int32", (n_slots,))
        examples = checks.array(state, "examples", "int32", (n_slots, None))
        nearest = checks.array(state, "nearest", "int32", (n_slots, N_NEAREST))
        words = checks.array(state, "words", "int32", (n_slots, N_WORDS))
        weights = checks.array(state, "word_weights", "float16", (n_slots, N_WORDS))
        silhouettes = checks.array(state, "silhouettes", "float32", (n_slots,))
        checks.within(self.counts, "counts", checks.LARGEST_ID)
        checks.within(examples, "examples", checks.LARGEST_ID, low=-1)
        checks.within(nearest, "nearest", n_labels, low=-1)
        checks.within(words, "words", n_features, low=-1)
        checks.finite(weights, "word_weights")
        checks.finite(silhouettes, "silhouettes")

    def to_arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, for the store."""
        return {
            prefix + field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, npt.NDArray[Any]], prefix: str, model: Any
    ) -> Self | None:
        """Build the notes of a tree model again, checked against it; None if none were kept."""
        if prefix + "counts" not in arrays:
            return None
        notes = cls(**{f.name: arrays[prefix + f.name] for f in dataclasses.fields(cls)})
        notes.check(model.tree_.n_slots, model.n_labels_, model.n_features_in_)
        return notes


@dataclass(frozen=True)
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
    nearest : tuple of int, or of str
        Other labels of the leaf that these instances have, too, nearest first: by shared instances
        over the square root of all instances of the other label. Ids, or names; at most 5.
    words : tuple of (int, float), or of (str, float)
        The features that speak most for the label in these instances, and how much: weight times
        mean value, falling. Ids, or names; at most 12.
    examples : tuple of int
        Rows of the training data that are most typical of this sense, best first; at most
        `keep_examples`.
    silhouette : float
        How much nearer these instances are to each other than to those of the label's nearest
        other sense, from -1 to 1; 0 if there is no other. With a and b the mean cosine of an
        instance with the one and with the other, the mean of (a - b) / max(a, b).
    texts : tuple of str
        Those of the examples, if they are known.
    """

    tree: int
    leaf: int
    n_instances: int
    nearest: tuple[Any, ...]
    words: tuple[tuple[Any, float], ...]
    examples: tuple[int, ...]
    silhouette: float
    texts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.table()

    def table(self) -> str:
        """Return a line each for the leaf, its nearest labels, its words and its texts."""
        lines = [self._place()]
        if self.nearest:
            lines.append(f"  beside: {', '.join(map(str, self.nearest))}")
        lines.append(
            "  words: " + ", ".join(f"{word} {weight:+.2f}" for word, weight in self.words)
        )
        return "\n".join([*lines, *(f"  - {text}" for text in self.texts)])

    def _repr_html_(self) -> str:
        lines = [views.paragraph(views.bold(self._place()))]
        if self.nearest:
            lines.append(views.paragraph("beside:", ", ".join(map(str, self.nearest))))
        lines.append(views.paragraph("words:", views.weighted_words(self.words)))
        return "".join([*lines, *(views.paragraph(views.muted(text)) for text in self.texts)])

    def _place(self) -> str:
        return f"tree {self.tree}, leaf {self.leaf}: {self.n_instances:,} texts"

    def named(
        self,
        labels: Sequence[str],
        feature_names: Sequence[str] | None,
        texts: Mapping[int, str],
    ) -> Sense:
        """Return the sense with names in place of ids, and with the texts of its examples.

        Parameters
        ----------
        labels : sequence of str
            The name of each label.
        feature_names : sequence of str, optional
            The name of each feature; by default "feature 7".
        texts : mapping from row to str
            The texts that are known.
        """
        names = [
            f"feature {feature}" if feature_names is None else feature_names[feature]
            for feature, _ in self.words
        ]
        return dataclasses.replace(
            self,
            nearest=tuple(labels[label] for label in self.nearest),
            words=tuple(
                (name, weight) for name, (_, weight) in zip(names, self.words, strict=True)
            ),
            texts=tuple(texts[row] for row in self.examples if row in texts),
        )


def senses_of(model: Any, label: int) -> list[Sense]:
    """Return the senses of a label in a fitted `Disentangled`, those with most instances first.

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
    """Return the notes of every tree, or raise a ConfigError that says why there are none."""
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
    weights = notes.word_weights[slot, : len(words)].astype(np.float64)
    return Sense(
        tree,
        leaf,
        int(notes.counts[slot]),
        tuple(nearest.tolist()),
        tuple(zip(words.tolist(), weights.tolist(), strict=True)),
        tuple(examples.tolist()),
        float(notes.silhouettes[slot]),
    )
