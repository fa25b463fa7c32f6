"""Instance labels from group labels: each label of a group goes to its closest instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multitudes.errors import ConfigError
from multitudes.groups.candidates import Block, Candidates, checked_candidates, checked_rows
from multitudes.groups.embeddings import checked_steps, learn_block, place_instances
from multitudes.kernels.group_assignment import choose_members, share_out
from multitudes.types import FloatArray, IntArray, LabelArray, Sparse


@dataclass(frozen=True)
class Imputation:
    """Instance labels, and how sure each of them is.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels), float32
        1 where an instance was given a label; its share of it where the imputation is soft.
    margins : CSR (n_groups, n_labels), float32
        For each label of each group, how far the best instance that did not get it lies behind the
        last one that did; infinite where nobody is left, or the group is empty.
    """

    Y: sp.csr_array[Any]
    margins: sp.csr_array[Any]


class Choice(NamedTuple):
    """Who gets the labels of a block, pair by pair: instances, their shares, how many, the gaps."""

    instances: LabelArray
    shares: FloatArray
    counts: IntArray
    gaps: FloatArray


@dataclass(frozen=True)
class Rule:
    """How scores become labels.

    Parameters
    ----------
    margin : float
        Further instances get a label if they score less than this below the last one chosen.
    use_counts : bool
        A label that a group lists c times goes to c instances; otherwise to one.
    temperature : float or None
        Divide labels among all instances by a softmax of score / temperature; None chooses.
    """

    margin: float = 0.0
    use_counts: bool = False
    temperature: float | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("margin", self.margin, self.margin >= 0),
            ("temperature", self.temperature, self.temperature is None or self.temperature > 0),
        ):
            if not allowed:
                raise ConfigError(f"{name} must be {'> 0' if value else '>= 0'}, got {value!r}")


def impute(
    X: Any,
    groups: Sparse,
    group_labels: Sparse,
    *,
    n_steps: int = 20,
    step: float = 0.1,
    soft: bool = False,
    temperature: float = 0.1,
    margin: float = 0.0,
    use_counts: bool = False,
    n_threads: int | None = None,
) -> Imputation:
    """Algorithm 2 of the paper (EAGLE): learn label embeddings, give labels to the closest.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group; it may be in several, or in none.
    group_labels : CSR (n_groups, n_labels)
        How often a group lists a label.
    n_steps, step : int, float
        As of `group_label_embeddings`.
    soft : bool
        Divide each label among all instances of the group instead of choosing.
    temperature : float
        Of the softmax that divides, in units of the cosine: small is nearly a choice.
    margin : float
        Further instances get a label if they score less than this below the last one chosen.
    use_counts : bool
        A label that a group lists c times goes to c instances; otherwise to one, as in the paper.
    n_threads : int, optional
        All cores by default. The result is the same for any number.
    """
    rows, lengths = checked_rows(X)
    candidates = checked_candidates(groups, group_labels, n_instances=len(lengths))
    n_steps, step = checked_steps(n_steps, step)
    rule = Rule(margin, use_counts, temperature if soft else None)
    n_features = X.shape[1]

    def assign(block: Block) -> Choice:
        scores, _ = learn_block(rows, lengths, candidates, block, n_features, n_steps, step)
        return choose(candidates, block, scores, rule)

    return gather(candidates, candidates.over_blocks(assign, n_threads=n_threads))


def choose(candidates: Candidates, block: Block, scores: FloatArray, rule: Rule) -> Choice:
    """Who gets the labels of a block, by scores (n_places,) of all who could."""
    pairs = block.pairs(candidates)
    group, wanted = candidates.pair_group[pairs], candidates.pair_count[pairs]
    if not rule.use_counts:
        wanted = np.ones_like(wanted)
    instances = np.empty(block.n_places, np.int32)
    counts, gaps = np.empty(len(group), np.int64), np.empty(len(group), np.float32)
    n_chosen = choose_members(
        candidates.group_indptr, candidates.members, group, wanted, rule.margin, scores,
        np.empty(candidates.largest_group, bool), instances, counts, gaps,
    )  # fmt: skip
    if rule.temperature is None:
        return Choice(instances[:n_chosen].copy(), np.ones(n_chosen, np.float32), counts, gaps)
    shares = np.empty(block.n_places, np.float32)
    share_out(candidates.group_indptr, group, rule.temperature, scores, shares)
    sizes = candidates.group_indptr[group + 1] - candidates.group_indptr[group]
    return Choice(place_instances(candidates, pairs), shares, sizes, gaps)


def gather(candidates: Candidates, choices: Sequence[Choice]) -> Imputation:
    """The choices of all blocks as matrices; of an instance's shares in a label the largest."""
    instances, shares, counts, gaps = (np.concatenate(part) for part in zip(*choices, strict=True))
    starts = np.concatenate([[0], np.cumsum(counts)])[candidates.label_indptr]
    shape = (candidates.n_instances, candidates.n_labels)
    Y = _largest(sp.csc_array((shares, instances, starts), shape=shape).tocsr())
    margins = sp.csc_array(
        (gaps, candidates.pair_group, candidates.label_indptr),
        shape=(candidates.n_groups, candidates.n_labels),
    )
    return Imputation(Y, margins.tocsr())


def _largest(Y: Sparse) -> sp.csr_array[Any]:
    """Of entries stored twice (an instance in two groups that share a label) keep the largest."""
    is_last = np.append(np.diff(Y.indices) != 0, True) if Y.nnz else np.ones(0, bool)
    is_last[Y.indptr[1:][np.diff(Y.indptr) > 0] - 1] = True
    if is_last.all():
        return sp.csr_array(Y)
    first = np.concatenate([[0], np.flatnonzero(is_last)[:-1] + 1])
    kept = np.concatenate([[0], np.cumsum(is_last)])[Y.indptr]
    data = np.maximum.reduceat(Y.data, first)
    return sp.csr_array((data, Y.indices[is_last], kept), shape=Y.shape)


def spread(groups: Sparse, group_labels: Sparse) -> sp.csr_array[Any]:
    """The naive baseline: every instance has all labels of its groups, Y1 Y2 of the paper.

    Parameters
    ----------
    groups : CSR (n_instances, n_groups)
    group_labels : CSR (n_groups, n_labels)

    Returns
    -------
    CSR (n_instances, n_labels), float32
        1 where an instance is in a group that lists the label.
    """
    checked_candidates(groups, group_labels)
    Y = sp.csr_array(sp.csr_array(groups) @ sp.csr_array(group_labels))
    Y.eliminate_zeros()
    Y.sort_indices()
    return sp.csr_array((np.ones(Y.nnz, np.float32), Y.indices, Y.indptr), shape=Y.shape)
