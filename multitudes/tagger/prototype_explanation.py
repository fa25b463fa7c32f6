"""Why a text got a label from a model with prototypes: sources, and training texts like it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multitudes.tagger.senses import shortened

SOURCES = {"text": "its text", "centroid": "its training texts", "free": "its free vector"}


@dataclass(frozen=True)
class PrototypeExplanation:
    """What speaks for a label; see `multitudes.encoder.explanation.Explanation`.

    Parameters
    ----------
    label : str
    score : float
    shares : dict of float
        What "text", "centroid" and "free" vector of the label bring in.
    nearest : tuple of (str, float), or None
        Training texts of the label, shortened, and how like the text they are; None where the model
        has kept none (``keep_instances``).
    """

    label: str
    score: float
    shares: dict[str, float]
    nearest: tuple[tuple[str, float], ...] | None

    @classmethod
    def of(cls, found: Any, label: str, texts: Mapping[int, str]) -> PrototypeExplanation:
        """From a model's explanation, whose instances are rows; `texts` are those of the rows."""
        nearest = None
        if found.nearest is not None:
            rows, similarities = (values.tolist() for values in found.nearest)
            nearest = tuple(
                (texts.get(row, f"instance {row}"), similarity)
                for row, similarity in zip(rows, similarities, strict=True)
            )
        return cls(label, found.score, dict(found.shares), nearest)

    def table(self, *, top: int = 8) -> str:
        """A line for the sources of the prototype, and one for each of the `top` nearest texts."""
        parts = [f"{SOURCES.get(name, name)} {share:+.2f}" for name, share in self.shares.items()]
        lines = [f"{self.label}: score {self.score:.4f}", f"  prototype: {', '.join(parts)}"]
        if self.nearest is None:
            lines.append("  training texts: not kept; train with keep_instances=true to see them")
        for text, similarity in (self.nearest or ())[:top]:
            lines.append(f"  {similarity:.2f}  {text}")
        return "\n".join(lines)


def kept_texts(model: Any, texts: Sequence[str]) -> dict[int, str]:
    """The shortened texts, by row, that a model learned from, if it keeps its instances."""
    if getattr(model, "instances_", None) is None:
        return {}
    return {row: shortened(text) for row, text in enumerate(texts)}
