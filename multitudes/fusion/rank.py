"""Reciprocal rank fusion: lists made one by the ranks alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError
from multitudes.fusion.lists import Block, Lists, checked_lists
from multitudes.fusion.names import TextWords
from multitudes.fusion.weights import (
    ARRAYS,
    Values,
    WeightedFusion,
    Weights,
    frequency_edges,
    searched_weights,
    summed,
)
from multitudes.store import State, checks
from multitudes.types import FloatArray, Predictions, Sparse
from multitudes.validation import checked_number, checked_weights

CONSTANT = 3.0
"""Added to ranks: the smaller, the more first places count."""
LARGEST_CONSTANT = 1e6


def fuse_predictions(
    predictions: Sequence[Predictions],
    *,
    top_k: int | None = None,
    weights: Any = None,
    constant: float = CONSTANT,
    n_jobs: int | None = None,
) -> Predictions:
    """Make one list of several by weighted reciprocal ranks; nothing is learned.

    The score of a label is the sum of ``weight / (constant + rank)`` over the lists that have it,
    scaled so that a label that is first in all of them has 1.

    Parameters
    ----------
    predictions : sequence of Predictions
        One per member, over the same instances and labels; each may list any number of labels.
    top_k : int, optional
        Labels kept per instance; defaults to as many as the longest list has.
    weights : sequence of float, optional
        How much each member counts; defaults to the same for all.
    constant : float
        The smaller, the more first places count.
    n_jobs : int, optional
        Threads; defaults to all cores.

    References
    ----------
    Cormack, Clarke and Buettcher, Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods, SIGIR 2009.

    Examples
    --------
    >>> fused = fuse_predictions([words.predict(X), encoder.predict(texts)])  # doctest: +SKIP
    """
    lists = checked_lists(predictions)
    constant = checked_constant(constant)
    each = checked_member_weights(weights, len(lists.members))
    top_k = max(lists.widths) if top_k is None else top_k
    scaled = Weights.of_members(each, lists.n_labels).scaled()
    return summed(lists, rank_values(lists, constant), scaled, top_k=top_k, n_jobs=n_jobs)


class RankFusion(WeightedFusion):
    """Fuses lists by weighted reciprocal ranks; weights may be learned, and differ by frequency.

    Parameters
    ----------
    constant : float
        Added to ranks: the smaller, the more first places count.
    weights : sequence of float, optional
        How much each member counts; by default that is learned.
    by_frequency : bool
        Learn weights for rare and for frequent labels, if there are instances enough.

    Attributes
    ----------
    weights_ : Weights
        A weight for each bin of labels and each member.

    Examples
    --------
    >>> fusion = RankFusion().fit([a, b], Y_validation, label_counts=counts)  # doctest: +SKIP
    >>> fusion.fuse([a_test, b_test], top_k=5)  # doctest: +SKIP
    """

    kind = "rank-fusion"

    def __init__(
        self, *, constant: float = CONSTANT, weights: Any = None, by_frequency: bool = True
    ) -> None:
        self.constant = constant
        self.weights = weights
        self.by_frequency = by_frequency

    def untrained(
        self, n_members: int, n_labels: int, *, knows: npt.NDArray[np.bool_] | None = None
    ) -> Self:
        """Take the weights given, or equal ones, without anything to learn from.

        Parameters
        ----------
        n_members, n_labels : int
        knows : bool array (n_labels, n_members), optional
            Whether a member knows a label; those that do not have no say in it.
        """
        checked_constant(self.constant)
        each = checked_member_weights(self.weights, n_members)
        weights = Weights.of_members(each, n_labels)
        self.weights_ = (weights if knows is None else Weights.of_knowing(each, knows)).scaled()
        self.n_members_, self.n_labels_ = n_members, n_labels
        return self

    def _learn(
        self, lists: Lists, truth: Sparse, counts: FloatArray | None, words: TextWords | None
    ) -> None:
        constant = checked_constant(self.constant)
        each = checked_member_weights(self.weights, len(lists.members))
        weights = Weights.of_members(each, lists.n_labels)
        if self.weights is None:
            edges = frequency_edges(counts if self.by_frequency else None, truth)
            weights = Weights.of_members(each, lists.n_labels, counts, edges)

            def fused(some: Lists, weights: Weights) -> Predictions:
                return summed(some, rank_values(some, constant), weights, top_k=5, n_jobs=1)

            weights = searched_weights(lists, truth, weights, fused)
        self.weights_ = weights.scaled()

    def _fused(
        self, lists: Lists, texts: Sequence[str] | None, *, top_k: int, n_jobs: int | None
    ) -> Predictions:
        values = rank_values(lists, self.constant)
        return summed(lists, values, self.weights_, top_k=top_k, n_jobs=n_jobs)

    def shares(
        self,
        predictions: Sequence[Predictions],
        label: int,
        *,
        texts: Sequence[str] | None = None,
    ) -> list[float]:
        """Return what each member adds to the score of a label of one instance."""
        lists = checked_lists(predictions)
        weights = self.weights_.table[self.weights_.bin_of[label]]
        ranks = [np.flatnonzero(one.labels[0] == label) for one in lists.members]
        worth = [
            (self.constant + 1) / (self.constant + 1 + at[0]) if len(at) else 0 for at in ranks
        ]
        return [float(weight * one) for weight, one in zip(weights, worth, strict=True)]

    def to_state(self) -> State:
        """Return the constant, and the weights of members."""
        config = {
            "constant": self.constant,
            "by_frequency": self.by_frequency,
            "n_members": self.n_members_,
            "n_labels": self.n_labels_,
        }
        return State(self.kind, config, self.weights_.to_arrays())

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that each label has a bin with a weight for each member."""
        checks.names(
            state,
            config=("constant", "by_frequency", "n_members", "n_labels"),
            arrays=ARRAYS,
        )
        checks.number(state, "constant", at_least=-0.999, at_most=LARGEST_CONSTANT)
        checks.flag(state, "by_frequency")
        n_members = checks.count(state, "n_members", at_least=1)
        Weights.check(state, n_members=n_members, n_labels=checks.count(state, "n_labels"))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build it again."""
        fusion = cls(constant=state.config["constant"], by_frequency=state.config["by_frequency"])
        fusion.weights_ = Weights.from_arrays(state.arrays)
        fusion.n_members_, fusion.n_labels_ = state.config["n_members"], state.config["n_labels"]
        return fusion


def rank_values(lists: Lists, constant: float) -> Values:
    """Return what a place is worth by its rank: 1 for a first place."""
    worth = rank_worth(lists, constant)[None]

    def values(block: Block) -> FloatArray:
        return worth

    return values


def rank_worth(lists: Lists, constant: float) -> FloatArray:
    """Return what each place is worth by its rank, float32 (width,): 1 for a first place."""
    worth: FloatArray = ((constant + 1) / (constant + lists.ranks)).astype(np.float32)
    return worth


def checked_constant(constant: Any) -> float:
    """Return a number that can be added to ranks."""
    return checked_number(constant, "constant", at_least=-0.999, at_most=LARGEST_CONSTANT)


def checked_member_weights(weights: Any, n_members: int) -> FloatArray:
    """Return a weight for each member, 1 by default; none is negative, and not all are 0."""
    if weights is None:
        return np.ones(n_members, np.float32)
    if isinstance(weights, str) or np.ndim(weights) != 1 or len(weights) != n_members:
        raise ConfigError(
            f"weights must be a number for each of {n_members} members, got {weights!r:.100}"
        )
    found = checked_weights(weights, n_members, "weights")
    assert found is not None  # None is None's alone
    return found
