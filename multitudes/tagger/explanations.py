"""Texts that a tagger keeps to explain itself, and which models can do so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from multitudes.disentangle import Disentangled
from multitudes.errors import ConfigError
from multitudes.tagger.presets import names_of
from multitudes.types import Explains, KeepsInstances

MAX_TEXTS = 50_000
"""Typical texts that a tagger keeps at most: those of the senses with most instances."""

TEXT_LENGTH = 120
"""Characters of a typical text that are kept."""

WITHOUT_WORDS = "the text has no words: it gets what every such text gets"


def texts_to_show(model: Any, texts: Sequence[str] | None) -> dict[int, str]:
    """Return the shortened texts, by row, that explanations of a fitted model may refer to."""
    if texts is None:
        return {}
    if isinstance(model, KeepsInstances) and model.instances_ is not None:
        return {row: shortened(text) for row, text in enumerate(texts)}
    return typical_texts(model, texts)


def checked_explaining(model: Any) -> Explains:
    """Return a model that can explain its scores, or raise an error."""
    if not isinstance(model, Explains):
        raise ConfigError(f"{type(model).__name__} cannot explain its scores")
    return model


def checked_overlapping(model: Any) -> Disentangled:
    """Return a model whose labels may have senses, or raise an error that says how to get one."""
    if not isinstance(model, Disentangled):
        trees = names_of(lambda spec: spec.has_leaves)
        raise ConfigError(
            "every label of this model lives in one leaf and so has one sense: train a tree model "
            f"({trees}) with overlap=2 or more"
        )
    return model


def typical_texts(model: Any, texts: Sequence[str]) -> dict[int, str]:
    """Return the shortened texts that `model` noted as typical of some sense, by row.

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
    """Return one line of at most `TEXT_LENGTH` characters, cut between words if possible."""
    line = " ".join(text[: 8 * TEXT_LENGTH].split())
    line = line.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be saved
    if len(line) <= TEXT_LENGTH:
        return line
    cut = line[: TEXT_LENGTH - 1]
    return (cut.rpartition(" ")[0] or cut) + "…"
