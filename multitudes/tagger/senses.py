"""The senses of a label in names, words and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multitudes.disentangle import Disentangled, Sense
from multitudes.errors import ConfigError

MAX_TEXTS = 50_000
"""Typical texts that a tagger keeps at most: those of the senses with most instances."""

TEXT_LENGTH = 120
"""Characters of a typical text that are kept."""


@dataclass(frozen=True)
class WordSense:
    """A label in one of its leaves.

    Parameters
    ----------
    tree : int
        Which tree of an ensemble; 0 for a model of one.
    leaf : int
    n_texts : int
        Training texts that use the label in this sense.
    nearest : tuple of str
        Other labels of the leaf that these texts have, too, nearest first.
    words : tuple of (str, float)
        The words that speak most for the label in these texts, and how much.
    texts : tuple of str
        Typical ones, shortened; none for a label with one leaf, or of a tagger fitted on X.
    """

    tree: int
    leaf: int
    n_texts: int
    nearest: tuple[str, ...]
    words: tuple[tuple[str, float], ...]
    texts: tuple[str, ...]


class AmbiguousLabel(NamedTuple):
    """How far apart the senses of a label are; see `multitudes.disentangle.Ambiguity`."""

    label: str
    distance: float
    variation: float
    cosine: float
    n_texts: int


def word_sense(
    sense: Sense, labels: Sequence[str], names: Sequence[str] | None, texts: Mapping[int, str]
) -> WordSense:
    """A sense with names in the place of ids; features without a name are numbered."""
    found = sense.named(labels, names, texts)
    return WordSense(
        found.tree, found.leaf, found.n_instances, found.nearest, found.words, found.texts
    )


def checked_overlapping(model: Any) -> Disentangled:
    """A model whose labels may have senses, or an error that says how to get one."""
    if not isinstance(model, Disentangled):
        raise ConfigError(
            "every label of this model lives in one leaf and so has one sense: train a tree model "
            "(xr-linear or parabel) with overlap=2 or more"
        )
    return model


def typical_texts(model: Any, texts: Sequence[str]) -> dict[int, str]:
    """The shortened texts that `model` noted as typical of some sense, by row.

    Only labels with several leaves count. If there are more than `MAX_TEXTS`, first come the best
    text of every sense, then the second best; each time, senses with more instances first.
    """
    found: dict[int, str] = {}
    if not isinstance(model, Disentangled):
        return found
    ranked = []
    for part, notes in zip(model.models_, model.notes_, strict=True):
        if notes is not None:
            labels = part.tree_.slot_labels
            slots = np.flatnonzero(np.bincount(labels)[labels] > 1)
            slots = slots[np.argsort(-notes.counts[slots], kind="stable")]
            ranked.append(notes.examples[slots].T)  # (keep_examples, slots)
    for rank in range(max((len(rows) for rows in ranked), default=0)):
        for rows in ranked:
            for row in rows[rank][rows[rank] >= 0].tolist():
                if row not in found:
                    if len(found) == MAX_TEXTS:
                        return found
                    found[row] = shortened(texts[row])
    return found


def shortened(text: str) -> str:
    """One line of at most `TEXT_LENGTH` characters, cut between words where there are any."""
    line = " ".join(text[: 8 * TEXT_LENGTH].split())
    line = line.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be saved
    if len(line) <= TEXT_LENGTH:
        return line
    cut = line[: TEXT_LENGTH - 1]
    return (cut.rpartition(" ")[0] or cut) + "…"
