"""Why a label got its score: the features that carried it, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights
from multitudes.linear.scoring import Scoring
from multitudes.types import Sparse


@dataclass(frozen=True)
class Step:
    """One level of the path from the root to a label.

    Parameters
    ----------
    level : int
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
    """

    level: int
    cluster: int
    child: int
    features: npt.NDArray[np.int64]
    contributions: npt.NDArray[np.float64]
    bias: float
    margin: float
    score: float


@dataclass(frozen=True)
class Explanation:
    """The path to a label and its score: the product of the steps' scores (raw ones: the sum)."""

    label: int
    score: float
    steps: tuple[Step, ...]

    def table(self, feature_names: Sequence[str] | None = None, *, top: int = 8) -> str:
        """A line per level with its `top` strongest features."""
        lines = [f"label {self.label}: score {self.score:.4f}"]
        for step in self.steps:
            parts = [
                f"{f if feature_names is None else feature_names[f]} {value:+.2f}"
                for f, value in zip(step.features[:top], step.contributions[:top], strict=True)
            ]
            rest = step.contributions[top:].sum()
            parts += [f"{len(step.features) - top} others {rest:+.2f}"] * (len(step.features) > top)
            lines.append(
                f"  level {step.level}: score {step.score:.4f}, margin {step.margin:+.2f} "
                f"= {', '.join([*parts, f'bias {step.bias:+.2f}'])}"
            )
        return "\n".join(lines)


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
    """The steps from the root to a slot."""
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
    """What one cluster's ranker says about one of its children."""
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
        level,
        cluster,
        int(tree.slot_labels[child]) if is_label else child,
        weighted[order].astype(np.int64),
        contributions[order],
        bias,
        margin,
        rule.of_margin(margin),
    )
