"""Instance labels from group labels: each label of a group goes to its closest instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multitudes.data.groups import GroupCounts
from multitudes.groups.candidates import Block, Candidates, checked_candidates
from multitudes.groups.embeddings import checked_instances, embedder
from multitudes.kernels.groups.assignment import choose_members, share_out
from multitudes.kernels.sparse import transposed
from multitudes.types import FloatArray, IntArray, LabelArray, Sparse
from multitudes.validation import checked_number, checked_sparse


def impute(
    X: Any,
    groups: Sparse,
    group_labels: Sparse,
    *,
    n_steps: int | str = 20,
    step: float = 0.1,
    contrast: bool = False,
    use_counts: bool = False,
    margin: float = 0.0,
    soft: bool = False,
    temperature: float = 0.1,
    n_jobs: int | None = None,
) -> Imputation:
    """Algorithm 2 of the paper (EAGLE): learn label embeddings, give labels to the closest.

    The defaults are the paper's. Labels of groups without instances go to nobody, and instances in
    no group get none; `counts` of the result says how many.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group; it may be in several, or in none.
    group_labels : CSR (n_groups, n_labels)
        How often a group lists a label; ones where only the set is known.
    n_steps : int or 'auto'
        Steps of `group_label_embeddings`. 'auto': none for contrasting embeddings of groups whose
        instances differ as much as those of different groups, up to 20 otherwise.
    step : float
        Length of a step.
    contrast : bool
        Learn from the groups without a label too: an embedding is then what the label's groups
        have more of than the others.
    use_counts : bool
        A label that a group lists c times goes to c instances; otherwise to one, as in the paper.
    margin : float
        Further instances get a label if their cosine is less than this below that of the last one
        chosen.
    soft : bool
        Divide each label among all instances of the group, instead of choosing.
    temperature : float
        Of the softmax of cosines that divides: small is nearly a choice.
    n_jobs : int, optional
        All cores by default. The result is the same for any number.
    """
    X = checked_instances(X)
    groups = checked_sparse(groups, name="groups", axes="(n_instances, n_groups)")
    candidates = checked_candidates(groups, group_labels, n_instances=X.shape[0])
    rule = Rule(margin, use_counts, soft, temperature)
    learner = embedder(X, groups, candidates, n_steps=n_steps, step=step, contrast=contrast)
    return assign(candidates, lambda block: learner.cosines(candidates, block), rule, n_jobs=n_jobs)


def spread(groups: Sparse, group_labels: Sparse) -> sp.csr_array[Any]:
    """Give every instance all labels of its groups: the naive baseline, Y1 Y2 of the paper.

    Parameters
    ----------
    groups : CSR (n_instances, n_groups)
    group_labels : CSR (n_groups, n_labels)

    Returns
    -------
    CSR (n_instances, n_labels), float32
        1 where an instance is in a group that lists the label.
    """
    groups = checked_sparse(groups, name="groups", axes="(n_instances, n_groups)")
    group_labels = checked_sparse(group_labels, name="group_labels", axes="(n_groups, n_labels)")
    checked_candidates(groups, group_labels)
    Y = sp.csr_array(groups @ group_labels)
    Y.eliminate_zeros()
    Y.sort_indices()
    return sp.csr_array((np.ones(Y.nnz, np.float32), Y.indices, Y.indptr), shape=Y.shape)


@dataclass(frozen=True)
class Imputation:
    """Instance labels, and how sure each of them is.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels), float32
        1 where an instance was given a label; its share of it where the imputation is soft.
    margins : CSR (n_groups, n_labels), float32
        For each label of each group, how far the best instance that did not get it lies behind the
        last one that did, in units of the scores; infinite where all got it, or nobody could.
    counts : GroupCounts
        Sizes of the data, and what of it could not be used.
    """

    Y: sp.csr_array[Any]
    margins: sp.csr_array[Any]
    counts: GroupCounts


@dataclass(frozen=True)
class Rule:
    """How scores become labels.

    Parameters
    ----------
    margin : float
        Further instances get a label if they score less than this below the last one chosen.
    use_counts : bool
        A label that a group lists c times goes to c instances; otherwise to one.
    soft : bool
        Divide labels among all instances by a softmax of score / temperature, instead of choosing.
    temperature : float
    """

    margin: float = 0.0
    use_counts: bool = False
    soft: bool = False
    temperature: float = 0.1

    def __post_init__(self) -> None:
        checked_number(self.margin, "margin", at_least=0)
        checked_number(self.temperature, "temperature", above=0)


class Choice(NamedTuple):
    """Who gets the labels of a block, label by label; shares are empty where they are all 1."""

    instances: LabelArray
    shares: FloatArray
    counts: IntArray


def assign(
    candidates: Candidates,
    scores: Callable[[Block], FloatArray],
    rule: Rule,
    *,
    n_jobs: int | None = None,
) -> Imputation:
    """Give the labels of all groups to instances, by the scores of each block's places."""
    gaps = np.empty(len(candidates.pair_group), np.float32)

    def work(block: Block) -> Choice:
        return _choose(candidates, block, scores(block), rule, gaps[block.pairs(candidates)])

    Y = _labels(candidates, candidates.over_blocks(work, n_jobs=n_jobs))
    shape = (candidates.n_groups, candidates.n_labels)
    margins = _by_row(candidates.label_indptr, candidates.pair_group, gaps, shape)
    return Imputation(Y, margins, candidates.counts)


def _choose(
    candidates: Candidates, block: Block, scores: FloatArray, rule: Rule, gaps: FloatArray
) -> Choice:
    """Choose within a block (OUT gaps)."""
    pairs = block.pairs(candidates)
    group = candidates.pair_group[pairs]
    instances = np.empty(block.n_places, np.int32)
    counts = np.empty(block.stop - block.start, np.int64)
    n_chosen = choose_members(
        candidates.group_indptr, candidates.members, block.label_indptr(candidates), group,
        candidates.pair_count[pairs if rule.use_counts else slice(0)], float(rule.margin), scores,
        np.empty(candidates.largest_group, bool), instances, counts, gaps,
    )  # fmt: skip
    if not rule.soft:
        return Choice(instances[:n_chosen].copy(), np.empty(0, np.float32), counts)
    shares = np.empty(block.n_places, np.float32)
    share_out(candidates.group_indptr, group, float(rule.temperature), scores, shares)
    places = candidates.label_places()[block.start : block.stop + 1]
    return Choice(candidates.instances(pairs), shares, np.diff(places))


def _labels(candidates: Candidates, choices: Sequence[Choice]) -> sp.csr_array[Any]:
    """The choices of all blocks as a matrix; of an instance's shares in a label the largest."""
    counts = np.concatenate([choice.counts for choice in choices])
    instances = np.concatenate([choice.instances for choice in choices])
    shares = np.concatenate([choice.shares for choice in choices])
    shape = (candidates.n_instances, candidates.n_labels)
    starts = np.concatenate([[0], np.cumsum(counts)])
    Y = _by_row(starts, instances, shares if len(shares) else None, shape)
    return _largest(Y) if candidates.counts.in_several else Y


def _by_row(
    indptr: IntArray, indices: LabelArray, values: FloatArray | None, shape: tuple[int, int]
) -> sp.csr_array[Any]:
    """A matrix given by column as float32 CSR with int32 indices; ones where it has no values."""
    dtype = None if values is None else np.float32
    starts, columns, data = transposed(indptr, indices, values, shape[0], dtype)
    if values is None:
        data = np.ones(len(columns), np.float32)
    if len(columns) < np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    return sp.csr_array((data, columns, starts), shape=shape)


def _largest(Y: Sparse) -> sp.csr_array[Any]:
    """Of entries stored twice (an instance in two groups that share a label) keep the largest."""
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    first = np.flatnonzero(np.append(True, (np.diff(Y.indices) != 0) | (np.diff(rows) != 0)))
    if len(first) >= Y.nnz:  # also where nothing is stored
        return sp.csr_array(Y)
    indptr = np.searchsorted(first, Y.indptr)
    parts: Any = (np.maximum.reduceat(Y.data, first), Y.indices[first], indptr)
    return sp.csr_array(parts, shape=Y.shape)
