"""Why a text got a label, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WordStep:
    """One level of the path to the label.

    Parameters
    ----------
    level : int
        0 is the root; the last level ranks the labels of one leaf.
    words : tuple of (str, float)
        What each word of the text contributed, strongest first; with `bias` they add up to
        `margin`.
    bias, margin : float
    score : float
        What the scoring rule makes of the margin.
    """

    level: int
    words: tuple[tuple[str, float], ...]
    bias: float
    margin: float
    score: float


@dataclass(frozen=True)
class WordExplanation:
    """The path to a label; its score is made of the scores of the steps."""

    label: str
    score: float
    steps: tuple[WordStep, ...]

    @classmethod
    def of(cls, explanation: Any, label: str, names: Sequence[str] | None) -> WordExplanation:
        """From a model's explanation, whose steps hold `features` by number."""

        def word(feature: int) -> str:
            return f"feature {feature}" if names is None else names[feature]

        steps = tuple(
            WordStep(
                step.level,
                tuple(
                    (word(int(feature)), float(contribution))
                    for feature, contribution in zip(step.features, step.contributions, strict=True)
                ),
                step.bias,
                step.margin,
                step.score,
            )
            for step in explanation.steps
        )
        return cls(label, explanation.score, steps)

    def table(self, *, top: int = 8) -> str:
        """A line per level with its `top` strongest words."""
        lines = [f"{self.label}: score {self.score:.4f}"]
        for step in self.steps:
            parts = [f"{word} {value:+.2f}" for word, value in step.words[:top]]
            rest = step.words[top:]
            if rest:
                parts.append(f"{len(rest)} others {sum(value for _, value in rest):+.2f}")
            parts.append(f"bias {step.bias:+.2f}")
            lines.append(
                f"  level {step.level}: score {step.score:.4f}, margin {step.margin:+.2f} = "
                + ", ".join(parts)
            )
        return "\n".join(lines)
