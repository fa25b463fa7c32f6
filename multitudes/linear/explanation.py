"""Why a label got its score: the features that carried it, level by level."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes import views
from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights
from multitudes.linear.scoring import Scoring
from multitudes.types import Sparse

N_WORDS = 8
"""Strongest features that a view shows for each level."""


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
    n_known : int, optional
        How many features the instance has: words of a text that the model knows.
    """

    label: int | str
    score: float
    steps: tuple[Step, ...]
    n_known: int | None = None

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        rows = []
        for step in self.steps:
            words = (*step.words[:N_WORDS], *self._rest(step, N_WORDS), ("bias", step.bias))
            rows.append([self._place(step), f"{step.score:.4f}", views.weighted_words(words)])
        head = views.paragraph(views.bold(self._name()), f"score {self.score:.4f}")
        note = views.paragraph(views.muted(self.note)) if self.note else ""
        return head + views.table(["", "score", "words"], rows, left=3) + note

    @property
    def note(self) -> str:
        """A remark if nothing in the instance spoke for or against the label; else empty."""
        if any(len(step.features) for step in self.steps):
            return ""
        if self.n_known == 0:
            return "the model knows nothing in this text: it gets what every such text gets"
        return "nothing in this text has a weight for the label: the score is made of biases alone"

    @classmethod
    def of_trees(cls, explanations: Sequence[Explanation]) -> Explanation:
        """Join the explanations of the trees of an ensemble, whose scores are averaged."""
        steps = [
            dataclasses.replace(step, tree=number)
            for number, explanation in enumerate(explanations)
            for step in explanation.steps
        ]
        score = sum(explanation.score for explanation in explanations) / len(explanations)
        return cls(explanations[0].label, score, tuple(steps), explanations[0].n_known)

    def named(self, label: str | None, feature_names: Sequence[str] | None = None) -> Explanation:
        """Return it with names, of the label and of the model's features; None keeps ids."""
        steps = self.steps
        if feature_names is not None:
            steps = tuple(
                dataclasses.replace(step, names=tuple(feature_names[f] for f in step.features))
                for step in steps
            )
        return dataclasses.replace(self, label=self.label if label is None else label, steps=steps)

    def table(self, *, top: int = N_WORDS) -> str:
        """Return a line per level with its `top` strongest features."""
        lines = [f"{self._name()}: score {self.score:.4f}"]
        for step in self.steps:
            words = (*step.words[:top], *self._rest(step, top), ("bias", step.bias))
            parts = ", ".join(f"{word} {value:+.2f}" for word, value in words)
            place = f"  {self._place(step)}: score {step.score:.4f}"
            lines.append(f"{place}, margin {step.margin:+.2f} = {parts}")
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)

    def _name(self) -> str:
        return self.label if isinstance(self.label, str) else f"label {self.label}"

    def _place(self, step: Step) -> str:
        several = any(step.tree for step in self.steps)
        return f"tree {step.tree}, " * several + f"level {step.level}"

    @staticmethod
    def _rest(step: Step, top: int) -> tuple[tuple[str, float], ...]:
        """Return what is beyond the strongest features as one of them; nothing if there is none."""
        n = len(step.features) - top
        return ((f"{n} others", float(step.contributions[top:].sum())),) if n > 0 else ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON, with (word, contribution) pairs step by step."""
        kept = ("tree", "level", "words", "bias", "margin", "score")
        steps = [{name: getattr(step, name) for name in kept} for step in self.steps]
        return {"label": self.label, "score": self.score, "steps": steps, "note": self.note}


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
        paths.append(Explanation(label, total, tuple(steps), int(x.nnz)))
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
