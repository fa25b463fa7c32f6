"""From margins to scores: the rules, how they join along a path, and the scores of given pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.errors import ConfigError
from multitudes.kernels.search.beam_search import HINGE, RAW, SIGMOID
from multitudes.kernels.search.pair_scores import score_children
from multitudes.kernels.threads import ThreadBuffers, ThreadTeam
from multitudes.labels import LabelTree
from multitudes.linear.level_weights import LevelWeights
from multitudes.types import FloatArray, Sparse

SCORES = "'l3-hinge' (or l1, l2, ... l9), 'log-l3-hinge', 'sigmoid', 'log-sigmoid' or 'raw'"


class Scoring(NamedTuple):
    """A scoring rule as the kernels read it.

    The hinge score of margin v is exp(-max(0, 1 - v)^p), the sigmoid 1 / (1 + exp(-v)); both
    multiply along the path. Raw margins add up.
    """

    kind: int
    power: int
    exponentiate: bool

    def of_margin(self, margin: float) -> float:
        """Return the score of a single margin, as it enters the product (or, raw, the sum)."""
        if self.kind == HINGE:
            log_score = -(max(0.0, 1.0 - margin) ** self.power)
        elif self.kind == SIGMOID:
            log_score = -float(np.logaddexp(0.0, -margin))
        else:
            log_score = margin
        return math.exp(log_score) if self.exponentiate else log_score

    def finish(self, path_scores: FloatArray) -> FloatArray:
        """Return scores as users see them, from the kernels' sums of logarithms."""
        return np.exp(path_scores) if self.exponentiate else path_scores


RULES = {
    "sigmoid": Scoring(SIGMOID, 1, True),
    "log-sigmoid": Scoring(SIGMOID, 1, False),
    "raw": Scoring(RAW, 1, False),
    **{f"l{power}-hinge": Scoring(HINGE, power, True) for power in range(1, 10)},
    **{f"log-l{power}-hinge": Scoring(HINGE, power, False) for power in range(1, 10)},
}


def scoring(name: str) -> Scoring:
    """Return the rule of a name."""
    rule = RULES.get(name) if isinstance(name, str) else None
    if rule is None:
        raise ConfigError(f"score_function must be {SCORES}, got {name!r}")
    return rule


def score_tree_pairs(
    tree: LabelTree,
    levels: Sequence[LevelWeights],
    X: Sparse,
    pairs: Sparse,
    rule: Scoring,
    *,
    n_jobs: int | None = None,
) -> sp.csr_array[Any]:
    """Score pairs all the way from the root, as a search with an unlimited beam would.

    Parameters
    ----------
    X : CSR (n_instances, n_features)
    pairs : CSR (n_instances, n_labels), of `multitudes.validation.checked_pairs`
    rule : Scoring

    Returns
    -------
    CSR (n_instances, n_labels), float32
        Where `pairs` is stored, the logarithm of the score: scores themselves become 0 where a
        pair is unlikely, and could not be compared. Raw margins stay as they are. Of a label with
        several leaves, the logarithm of the mean of its copies' scores.
    """
    patterns = [sp.csc_array(pairs.tocsc()[:, tree.slot_labels])]
    for level in range(tree.depth - 1, -1, -1):
        patterns.append(_clusters_of(patterns[-1], tree.offsets[level]))
    above = patterns.pop()
    above.data.fill(0)
    with ThreadTeam(n_jobs) as team:
        for level, pattern in enumerate(reversed(patterns)):
            scores = _score_level(tree, levels[level], level, X, above, pattern, rule, team)
            above = sp.csc_array((scores, pattern.indices, pattern.indptr), shape=pattern.shape)
    return _merge_copies(above, tree, rule)


def mean_of_logs(scores: Sequence[Sparse]) -> sp.csr_array[Any]:
    """Return the logarithm of the mean score of several models that scored the same pairs."""
    first = scores[0]
    merged = np.logaddexp.reduce([one.data for one in scores]) - np.log(len(scores))
    parts: Any = (merged.astype(np.float32), first.indices, first.indptr)
    return sp.csr_array(parts, shape=first.shape)


def _score_level(
    tree: LabelTree, weights: LevelWeights, level: int, X: Sparse, above: Sparse, pattern: Sparse,
    rule: Scoring, team: ThreadTeam,
) -> FloatArray:  # fmt: skip
    """Scores of the pairs of a level's children, given those of its clusters."""
    offsets = tree.offsets[level]
    indptr = pattern.indptr.astype(np.int64)
    x_indptr, x_indices = X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False)
    out = np.empty(pattern.nnz, np.float32)
    buffers = ThreadBuffers()

    def score(cluster: int) -> None:
        first, last = int(offsets[cluster]), int(offsets[cluster + 1])
        begin, end = int(indptr[first]), int(indptr[last])
        if begin == end:
            return
        chunk = weights.chunk(cluster, first, last - first)
        known = slice(int(above.indptr[cluster]), int(above.indptr[cluster + 1]))
        score_children(
            x_indptr, x_indices, X.data,
            chunk.row_feature, chunk.row_entry, chunk.entry_child, chunk.entry_value, chunk.bias,
            rule.kind, rule.power,
            above.indices[known].astype(np.int32, copy=False), above.data[known],
            indptr[first : last + 1] - begin,
            pattern.indices[begin:end].astype(np.int32, copy=False),
            buffers.get("weight", lambda: np.zeros(X.shape[1], np.float32)),
            buffers.get("score", lambda: np.empty(X.shape[0], np.float32)),
            out[begin:end],
        )  # fmt: skip

    sizes = indptr[offsets[1:]] - indptr[offsets[:-1]]
    team.map(score, np.argsort(-sizes, kind="stable").tolist())
    return out


def _clusters_of(pattern: Sparse, offsets: npt.NDArray[np.int64]) -> sp.csc_array[Any]:
    """Which clusters each instance needs, from which of their children it needs."""
    n_children = pattern.shape[1]
    parts: Any = (np.ones(n_children, np.float32), np.arange(n_children), offsets)
    members = sp.csc_array(parts, shape=(n_children, len(offsets) - 1))
    clusters: sp.csc_array[Any] = sp.csc_array(pattern @ members)
    clusters.sort_indices()
    return clusters


def _merge_copies(scores: Sparse, tree: LabelTree, rule: Scoring) -> sp.csr_array[Any]:
    """From slots to labels; the copies of a label have the same instances."""
    first_slot, slots = tree.slots_of_label()
    columns, indices = [], []
    for label in range(tree.n_labels):
        own = slots[first_slot[label] : first_slot[label + 1]]
        indices.append(scores.indices[scores.indptr[own[0]] : scores.indptr[own[0] + 1]])
        copies = [scores.data[scores.indptr[s] : scores.indptr[s + 1]] for s in own]
        if len(copies) == 1:
            columns.append(copies[0])
        elif rule.exponentiate:
            columns.append(np.logaddexp.reduce(copies) - np.float32(np.log(len(copies))))
        else:
            columns.append(np.mean(copies, axis=0))
    counts = [len(column) for column in columns]
    parts: Any = (
        np.concatenate(columns).astype(np.float32, copy=False),
        np.concatenate(indices),
        np.concatenate([[0], np.cumsum(counts)]),
    )
    merged: sp.csr_array[Any] = sp.csc_array(parts, shape=(scores.shape[0], tree.n_labels)).tocsr()
    merged.sort_indices()
    return merged
