"""Why a label got its score: the features that carried it, level by level."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights
from multitudes.linear.scoring import Scoring
from multitudes.types import Sparse


@dataclass(frozen=True, eq=False)
class Step:
    """One level of the path from the root to a label.

    Parameters
    ----------
    tree : int
        Which tree of an ensemble; 0 for a model of one.
    level : int
        0 is the root; the last level ranks the labels of one leaf.
    cluster : int
        The cluster whose ranker decided.
    child : int
        What it scored: a cluster of the next level; at the last level the label.
    features : int array (n,)
        Features of the instance that have a weight, largest contribution first.
    contributions : float array (n,)
        Weight times value of each. With `bias` they add up to `margin`.
    bias : float
    margin : float
    score : float
        What the scoring rule makes of the margin.
    names : tuple of str, optional
        The name of each of `features`, e.g. a word.
    """

    tree: int
    level: int
    cluster: int
    child: int
    features: npt.NDArray[np.int64]
    contributions: npt.NDArray[np.float64]
    bias: float
    margin: float
    score: float
    names: tuple[str, ...] | None = None

    @property
    def words(self) -> tuple[tuple[str, float], ...]:
        """(name, contribution) of each feature; one without a name is "feature 7"."""
        names = self.names or [f"feature {feature}" for feature in self.features.tolist()]
        return tuple(zip(names, self.contributions.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Explanation:
    """The path to a label, or one per tree of an ensemble, and the score it comes to.

    Parameters
    ----------
    label : int or str
        Its id, or its name.
    score : float
        The product of the steps' scores (raw ones: the sum); the mean over the trees.
    steps : tuple of Step
        From the root to the label, tree by tree.
    """

    label: int | str
    score: float
    steps: tuple[Step, ...]

    @classmethod
    def of_trees(cls, explanations: Sequence[Explanation]) -> Explanation:
        """Join the explanations of the trees of an ensemble, whose scores are averaged."""
        steps = [
            dataclasses.replace(step, tree=number)
            for number, explanation in enumerate(explanations)
            for step in explanation.steps
        ]
        score = sum(explanation.score for explanation in explanations) / len(explanations)
        return cls(explanations[0].label, score, tuple(steps))

    def named(self, label: str | None, feature_names: Sequence[str] | None = None) -> Explanation:
        """Return it with names, of the label and of the model's features; None keeps ids."""
        steps = self.steps
        if feature_names is not None:
            steps = tuple(
                dataclasses.replace(step, names=tuple(feature_names[f] for f in step.features))
                for step in steps
            )
        return Explanation(self.label if label is None else label, self.score, steps)

    def table(self, *, top: int = 8) -> str:
        """Return a line per level with its `top` strongest features."""
        name = self.label if isinstance(self.label, str) else f"label {self.label}"
        lines = [f"{name}: score {self.score:.4f}"]
        several = any(step.tree for step in self.steps)
        for step in self.steps:
            words = step.words
            parts = [f"{word} {value:+.2f}" for word, value in words[:top]]
            if len(words) > top:
                parts.append(f"{len(words) - top} others {step.contributions[top:].sum():+.2f}")
            parts.append(f"bias {step.bias:+.2f}")
            place = f"tree {step.tree}, " * several + f"level {step.level}"
            lines.append(
                f"  {place}: score {step.score:.4f}, margin {step.margin:+.2f} = {', '.join(parts)}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON, with (word, contribution) pairs step by step."""
        kept = ("tree", "level", "words", "bias", "margin", "score")
        steps = [{name: getattr(step, name) for name in kept} for step in self.steps]
        return {"label": self.label, "score": self.score, "steps": steps}


def explain(
    tree: LabelTree, levels: Sequence[LevelWeights], x: Sparse, label: int, rule: Scoring
) -> Explanation:
    """Explain the score of one label for one instance; of several copies, the best one's.

    Parameters
    ----------
    x : CSR (1, n_features)
    """
    indptr, slots = tree.slots_of_label()
    paths = []
    for slot in slots[indptr[label] : indptr[label + 1]]:
        steps = path_steps(tree, levels, x, int(slot), rule)
        scores = [step.score for step in steps]
        total = float(np.prod(scores)) if rule.exponentiate else float(np.sum(scores))
        paths.append(Explanation(label, total, tuple(steps)))
    return max(paths, key=lambda path: path.score)


def path_steps(
    tree: LabelTree, levels: Sequence[LevelWeights], x: Sparse, slot: int, rule: Scoring
) -> list[Step]:
    """Return the steps from the root to a slot."""
    steps: list[Step] = []
    child = slot
    for level in range(tree.depth - 1, -1, -1):
        cluster = int(np.searchsorted(tree.offsets[level], child, side="right")) - 1
        steps.append(one_step(tree, levels[level], x, level, cluster, child, rule))
        child = cluster
    return steps[::-1]


def one_step(
    tree: LabelTree, weights: LevelWeights, x: Sparse, level: int, cluster: int, child: int,
    rule: Scoring,
) -> Step:  # fmt: skip
    """Return what one cluster's ranker says about one of its children."""
    first, last = tree.offsets[level][cluster], tree.offsets[level][cluster + 1]
    chunk = weights.chunk(cluster, int(first), int(last - first))
    of_child = chunk.entry_child == child - first
    row = np.repeat(np.arange(len(chunk.row_feature)), np.diff(chunk.row_entry))[of_child]
    weighted, at, own = np.intersect1d(
        chunk.row_feature[row], x.indices, assume_unique=True, return_indices=True
    )
    contributions = chunk.entry_value[of_child][at].astype(np.float64) * x.data[own]
    order = np.argsort(-np.abs(contributions), kind="stable")
    bias = float(chunk.bias[child - first])
    margin = float(contributions.sum()) + bias
    is_label = level == tree.depth - 1
    return Step(
        0,
        level,
        cluster,
        int(tree.slot_labels[child]) if is_label else child,
        weighted[order].astype(np.int64),
        contributions[order],
        bias,
        margin,
        rule.of_margin(margin),
    )
