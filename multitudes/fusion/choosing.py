"""Which way of fusion is best for some members, by what it is worth on held-out instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multitudes.errors import ConfigError, DataError
from multitudes.fusion.calibrated import CalibratedFusion
from multitudes.fusion.fusion import Fusion
from multitudes.fusion.learned import LearnedFusion
from multitudes.fusion.lists import Lists
from multitudes.fusion.rank import RankFusion
from multitudes.metrics import ndcg_at_k
from multitudes.types import FloatArray, IntArray, Predictions, Sparse, blank_lists

AUTO = "auto"
FUSIONS: dict[str, Callable[[], Fusion]] = {
    "rank": RankFusion, "calibrated": CalibratedFusion, "learned": LearnedFusion
}  # fmt: skip
"""Ways of fusion by name, those with less to learn first."""

ENOUGH = 30
"""Held-out instances with labels below which nothing is learned."""
COMPARED = 6000
"""Held-out instances on which ways of fusion are compared, at most."""
PREFERRED, WORTH_IT = "calibrated", 5e-4
"""The way of fusion that is taken unless nDCG of another is higher by this: its scores are
probabilities, which those of rank fusion are not, and it has less to learn than a ranker."""
METRIC_AT = 5


@dataclass(frozen=True)
class FusionReport:
    """What members and their fusion are worth on held-out instances.

    Parameters
    ----------
    fusion : str
        "rank", "calibrated" or "learned".
    n_held_out : int
        Instances that it was learned on; 0 if nothing was.
    members : mapping of str to float
        nDCG@5 of each member alone.
    fusions : mapping of str to float
        nDCG@5 of each way of fusion that was tried, learned on one half of the instances and
        measured on the other.
    """

    fusion: str
    n_held_out: int = 0
    members: Mapping[str, float] = field(default_factory=dict)
    fusions: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.n_held_out:
            return f"fused by {self.fusion}, without anything learned"
        alone = ", ".join(f"{name} {100 * value:.2f}" for name, value in self.members.items())
        fused = ", ".join(f"{name} {100 * value:.2f}" for name, value in self.fusions.items())
        return (
            f"fusion is {self.fusion}, by nDCG@{METRIC_AT} on {self.n_held_out:,} held-out "
            f"instances: {fused}; members alone: {alone}"
        )


@dataclass(frozen=True)
class HeldOut:
    """What members say about instances they were not trained on.

    Parameters
    ----------
    lists : Lists
    Y : CSR (n_instances, n_labels)
    counts : float32 array (n_labels,)
        Uses of labels in training.
    texts, label_texts : sequence of str or None
    """

    lists: Lists
    Y: Sparse
    counts: FloatArray
    texts: Sequence[str] | None
    label_texts: Sequence[str] | None

    def take(self, rows: IntArray) -> HeldOut:
        """Return some instances."""
        texts = None if self.texts is None else [self.texts[row] for row in rows.tolist()]
        return HeldOut(self.lists.take(rows), self.Y[rows], self.counts, texts, self.label_texts)

    def learned(self, fusion: Fusion) -> Fusion:
        """Fit a fusion on these instances."""
        return fusion.fit(
            self.lists.members,
            self.Y,
            label_counts=self.counts,
            texts=self.texts,
            label_texts=self.label_texts,
        )

    def fused(self, fusion: Fusion, top_k: int) -> Predictions:
        """Return what a fitted fusion makes of the lists."""
        return fusion.fuse(self.lists.members, top_k=top_k, texts=self.texts, n_jobs=1)


def made_fusion(fusion: Any, *, random_state: int = 0) -> Fusion:
    """Return a new fusion by name, or a copy of the one given."""
    if isinstance(fusion, Fusion):
        return fusion.unfitted()
    if not isinstance(fusion, str) or fusion not in FUSIONS:
        raise ConfigError(
            f"fusion must be one of {[AUTO, *FUSIONS]}, or a fusion of multitudes.fusion, got "
            f"{fusion!r:.80}"
        )
    if fusion == "learned":
        return LearnedFusion(random_state=random_state)
    return FUSIONS[fusion]()


def learned_fusion(
    fusion: Any, held_out: HeldOut, names: Sequence[str], *, random_state: int = 0
) -> tuple[Fusion, FusionReport]:
    """Return a fusion fitted on held-out instances, and what it is worth.

    Parameters
    ----------
    fusion : str or Fusion
        "auto" takes the best of all, by two-fold cross-validation.
    held_out : HeldOut
    names : sequence of str
        Of the members.
    random_state : int
    """
    n_labeled = int((np.diff(held_out.Y.indptr) > 0).sum())
    if isinstance(fusion, str) and fusion == AUTO:
        tried = list(FUSIONS)
    else:
        made_fusion(fusion)
        tried = [fusion if isinstance(fusion, str) else fusion.kind.removesuffix("-fusion")]
    if n_labeled < ENOUGH:
        if "rank" not in tried:
            raise DataError(
                f"{n_labeled} held-out instances with labels are too few to learn a fusion from "
                f"({ENOUGH} are needed): give more, or take fusion='rank'"
            )
        given = RankFusion() if isinstance(fusion, str) else fusion.unfitted()
        return given.untrained(len(names), held_out.lists.n_labels), FusionReport("rank")
    alone = {
        name: ndcg_at_k(one, held_out.Y, k=METRIC_AT)
        for name, one in zip(names, held_out.lists.members, strict=True)
    }
    worth = {
        name: _cross_validated(name if isinstance(fusion, str) else fusion, held_out, random_state)
        for name in tried
    }
    best = max(tried, key=lambda name: worth[name])
    if worth.get(PREFERRED, 0.0) > worth[best] - WORTH_IT:
        best = PREFERRED
    made = made_fusion(best if isinstance(fusion, str) else fusion, random_state=random_state)
    report = FusionReport(best, len(held_out.lists), alone, worth)
    return held_out.learned(made), report


def _cross_validated(fusion: Any, held_out: HeldOut, random_state: int) -> float:
    """Return nDCG of a fusion, learned on one half of the instances and measured on the other."""
    n = len(held_out.lists)
    some = held_out.take(np.sort(np.random.default_rng(random_state).permutation(n)[:COMPARED]))
    made = made_fusion(fusion, random_state=random_state)
    try:
        found = out_of_fold(made, some, top_k=METRIC_AT, random_state=random_state)
    except DataError:  # nothing to learn from in one half
        return 0.0
    return ndcg_at_k(found, some.Y, k=METRIC_AT)


def out_of_fold(
    fusion: Fusion, held_out: HeldOut, *, top_k: int, random_state: int = 0
) -> Predictions:
    """Return fused lists of labeled instances, by a fusion learned on the other half of them.

    Parameters
    ----------
    fusion : Fusion
        It stays as it is.
    held_out : HeldOut
    top_k : int
    random_state : int
        For the two halves.
    """
    n = len(held_out.lists)
    order = np.random.default_rng(random_state).permutation(n)
    halves = np.sort(order[::2]), np.sort(order[1::2])
    width = min(top_k, held_out.lists.n_labels)
    labels, scores = blank_lists(n, width)
    for learned_on, measured_on in (halves, halves[::-1]):
        fitted = held_out.take(learned_on).learned(fusion.unfitted())
        found = held_out.take(measured_on).fused(fitted, width)
        labels[measured_on], scores[measured_on] = found.labels, found.scores
    return Predictions(labels, scores, held_out.lists.n_labels)
