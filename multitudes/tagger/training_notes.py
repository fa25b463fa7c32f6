"""What a training has to say afterwards: the epoch it kept, and texts it could not use whole."""

from __future__ import annotations

from typing import Any

# Attribute of a fitted text model -> what its count means.
COUNTS = {
    "n_left_out_": "training texts without labels, which teach nothing",
    "n_empty_": "training texts without a word",
    "n_labels_without_text_": "labels without a word in their text",
    "n_cut_": "texts that were cut; backbone.max_length and label_max_length say where",
}


def training_notes(model: Any) -> list[str]:
    """Sentences about a fitted model, for the person who trained it; none for most models."""
    notes = []
    history: Any = getattr(model, "history_", None)
    best = getattr(history, "best", None)
    if best is not None:
        measured = ", ".join(f"{name} {100 * value:.2f}" for name, value in best.metrics.items())
        notes.append(f"kept epoch {best.epoch + 1} of {len(history.epochs)}: {measured}")
    for attribute, meaning in COUNTS.items():
        count = getattr(model, attribute, 0)
        if count:
            notes.append(f"{count:,} {meaning}")
    return notes
