"""From scores of all who could carry a label to those who get it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multitudes.data.groups import GroupCounts
from multitudes.errors import ConfigError
from multitudes.groups.candidates import Block, Candidates
from multitudes.kernels.groups.assignment import choose_members, share_out
from multitudes.kernels.sparse import transposed
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
        if not (_is_number(self.margin) and 0 <= self.margin < np.inf):
            raise ConfigError(f"margin must be a number >= 0, got {self.margin!r}")
        if not (_is_number(self.temperature) and 0 < self.temperature < np.inf):
            raise ConfigError(f"temperature must be a number > 0, got {self.temperature!r}")


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
        candidates.pair_count[pairs if rule.use_counts else slice(0)], rule.margin, scores,
        np.empty(candidates.largest_group, bool), instances, counts, gaps,
    )  # fmt: skip
    if not rule.soft:
        return Choice(instances[:n_chosen].copy(), np.empty(0, np.float32), counts)
    shares = np.empty(block.n_places, np.float32)
    share_out(candidates.group_indptr, group, rule.temperature, scores, shares)
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


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
