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
    tree : int
        Which tree of an ensemble; 0 for a model of one.
    level : int
        0 is the root; the last level ranks the labels of one leaf.
    words : tuple of (str, float)
        What each word of the text contributed, strongest first; with `bias` they add up to
        `margin`.
    bias, margin : float
    score : float
        What the scoring rule makes of the margin.
    """

    tree: int
    level: int
    words: tuple[tuple[str, float], ...]
    bias: float
    margin: float
    score: float


@dataclass(frozen=True)
class WordExplanation:
    """The path to a label, or one per tree of an ensemble, and the score it comes to."""

    label: str
    score: float
    steps: tuple[WordStep, ...]

    @classmethod
    def of(cls, explanations: Any, label: str, names: Sequence[str] | None) -> WordExplanation:
        """From a model's explanation, whose steps hold `features` by number.

        An ensemble gives a list of them, one per tree, and averages their scores.
        """
        trees = explanations if isinstance(explanations, list) else [explanations]

        def word(feature: int) -> str:
            return f"feature {feature}" if names is None else names[feature]

        steps = []
        for tree in trees:
            for step in tree.steps:
                pairs = zip(step.features.tolist(), step.contributions.tolist(), strict=True)
                words = tuple((word(feature), value) for feature, value in pairs)
                steps.append(
                    WordStep(step.tree, step.level, words, step.bias, step.margin, step.score)
                )
        return cls(label, sum(tree.score for tree in trees) / len(trees), tuple(steps))

    def table(self, *, top: int = 8) -> str:
        """A line per level with its `top` strongest words."""
        lines = [f"{self.label}: score {self.score:.4f}"]
        several = any(step.tree for step in self.steps)
        for step in self.steps:
            parts = [f"{word} {value:+.2f}" for word, value in step.words[:top]]
            rest = step.words[top:]
            if rest:
                parts.append(f"{len(rest)} others {sum(value for _, value in rest):+.2f}")
            parts.append(f"bias {step.bias:+.2f}")
            place = f"tree {step.tree}, " * several + f"level {step.level}"
            lines.append(
                f"  {place}: score {step.score:.4f}, margin {step.margin:+.2f} = {', '.join(parts)}"
            )
        return "\n".join(lines)
