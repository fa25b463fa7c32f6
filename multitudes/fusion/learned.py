"""Learned fusion: boosted trees over what is known of each candidate."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.fusion.fusion import Fusion
from multitudes.fusion.lists import Block, Lists, checked_lists
from multitudes.fusion.names import LabelNames, TextWords
from multitudes.fusion.rank import CONSTANT, rank_worth
from multitudes.fusion.trees import (
    TreesConfig,
    check_trees,
    grown_trees,
    stored_trees,
    tree_arrays,
)
from multitudes.fusion.weights import to_probabilities
from multitudes.scores.outcomes import outcomes
from multitudes.store import State, build, checks
from multitudes.types import FloatArray, IntArray, LabelArray, Predictions, Sparse
from multitudes.validation import checked_count

if TYPE_CHECKING:
    from multitudes.kernels.fusion import NameWords

CANDIDATES = 40
"""Labels of an instance that are scored: the best by rank fusion."""
MAX_INSTANCES = 20_000
"""Instances that are learned from, at most."""


class LearnedFusion(Fusion):
    """Fuses lists by a ranker that has learned what to make of them.

    Candidates of an instance are the best labels by reciprocal rank fusion. Of each it is known:
    score, reciprocal rank and margins of every member; how many members list it; how often it is
    used; how much of its name the text has. Boosted trees make a probability of that.

    Parameters
    ----------
    candidates : int
        Labels of an instance that are scored.
    trees : TreesConfig
    random_state : int

    Attributes
    ----------
    names_ : LabelNames or None
        Words of label names, if it was fitted with texts.
    trees_ : arrays of the trees
    bias_ : float

    Examples
    --------
    >>> fusion = LearnedFusion().fit(
    ...     [a, b], Y, label_counts=counts, texts=texts, label_texts=names
    ... )  # doctest: +SKIP
    >>> fusion.fuse([a_test, b_test], top_k=5, texts=test_texts)  # doctest: +SKIP
    """

    kind = "learned-fusion"

    def __init__(
        self,
        *,
        candidates: int = CANDIDATES,
        trees: TreesConfig = TreesConfig(),
        random_state: int = 0,
    ) -> None:
        self.candidates = candidates
        self.trees = trees
        self.random_state = random_state

    def _learn(
        self, lists: Lists, truth: Sparse, counts: FloatArray | None, words: TextWords | None
    ) -> None:
        checked_count(self.candidates, "candidates")
        self.names_ = None if words is None else words.names
        counts = np.zeros(lists.n_labels, np.float32) if counts is None else counts
        self.log_counts_ = np.log1p(counts).astype(np.float32)
        rows = np.linspace(0, len(lists) - 1, min(len(lists), MAX_INSTANCES)).astype(np.int64)
        some, wanted = lists.take(rows), truth[rows]
        texts = None if words is None else [words.texts[row] for row in rows.tolist()]
        found, about = self._described(
            some.block(slice(0, len(rows))), some, texts, self.candidates
        )
        listed = found >= 0
        order = Predictions(found, np.where(listed, 0.0, -np.inf), lists.n_labels)
        is_true = outcomes(order, wanted).is_true[listed]
        if is_true.all() or not is_true.any():
            raise DataError(
                "there is nothing to learn from: of the labels that members list, "
                f"{'all' if is_true.any() else 'none'} are right; take fusion='rank'"
            )
        self.trees_, self.bias_ = grown_trees(about[listed], is_true, self.trees, self.random_state)

    def _described(
        self, block: Block, lists: Lists, texts: Sequence[str] | None, n_candidates: int
    ) -> tuple[LabelArray, FloatArray]:
        """Return candidates (n, n_candidates), and what is known of each."""
        from multitudes.kernels.fusion import (
            OF_LABEL,
            OF_MEMBER,
            describe_candidates,
            table_size,
        )

        n, width = len(block.labels), min(n_candidates, lists.width)
        size = table_size(lists.width)
        found = np.empty((n, width), np.int32)
        about = np.empty((n, width, OF_LABEL + OF_MEMBER * len(lists.members)), np.float32)
        words, worth = self._words(texts), rank_worth(lists, CONSTANT)
        starts = words.text_starts
        longest = int((starts[1:] - starts[:-1]).max(initial=0))
        describe_candidates(
            block.labels, block.scores, worth, lists.starts, self.log_counts_, words,
            np.full(size, -1, np.int32), np.empty(size, np.int32),
            np.zeros(table_size(longest), np.uint32), found, about,
        )  # fmt: skip
        return found, about

    def _words(self, texts: Sequence[str] | None) -> NameWords:
        from multitudes.kernels.fusion import NO_WORDS

        return NO_WORDS if self.names_ is None or texts is None else self.names_.beside(texts)

    def _fused(
        self, lists: Lists, texts: Sequence[str] | None, *, top_k: int, n_jobs: int | None
    ) -> Predictions:
        from multitudes.kernels.fusion import rank_candidates, score_by_trees

        if self.names_ is not None and texts is None:
            raise DataError("this fusion was fitted with texts: give the texts of these instances")
        n_candidates = max(self.candidates, checked_count(top_k, "top_k"))

        def fill(block: Block, labels: LabelArray, scores: FloatArray) -> None:
            of_block = None if texts is None else texts[block.rows]
            found, about = self._described(block, lists, of_block, n_candidates)
            sums = np.empty(found.shape, np.float32)
            score_by_trees(found, about, self.trees_, np.float32(self.bias_), sums)
            rank_candidates(found, sums, labels, scores)
            to_probabilities(scores)

        return lists.fused(fill, top_k=top_k, n_jobs=n_jobs)

    def resized(
        self, kept: IntArray, counts: FloatArray, new_texts: Sequence[str] | None = None
    ) -> Self:
        """Return it for other labels; see `Fusion.resized`."""
        other = copy(self)
        other.log_counts_, other.n_labels_ = np.log1p(counts).astype(np.float32), len(counts)
        if self.names_ is not None:
            n_new = len(counts) - len(kept)
            other.names_ = self.names_.resized(
                kept, [""] * n_new if new_texts is None else new_texts
            )
        return other

    def shares(
        self,
        predictions: Sequence[Predictions],
        label: int,
        *,
        texts: Sequence[str] | None = None,
    ) -> list[float]:
        """Return by how much the log-odds of a label fall without each member.

        Parameters
        ----------
        predictions : sequence of Predictions
            Of one instance.
        label : int
        texts : sequence of str, optional
            Its text, if the fusion was fitted with texts.
        """
        lists = checked_lists(predictions)
        whole = self._log_odds(lists, label, texts)
        without = (_without(lists, member) for member in range(self.n_members_))
        return [whole - self._log_odds(others, label, texts) for others in without]

    def _log_odds(self, lists: Lists, label: int, texts: Sequence[str] | None) -> float:
        from multitudes.kernels.fusion import score_by_trees

        found, about = self._described(lists.block(slice(0, 1)), lists, texts, lists.width)
        at = np.flatnonzero(found[0] == label)[:1]
        if not len(at):
            return self.bias_
        sums = np.empty((1, 1), np.float32)
        score_by_trees(
            np.ascontiguousarray(found[:, at]),
            np.ascontiguousarray(about[:, at]),
            self.trees_,
            np.float32(self.bias_),
            sums,
        )
        return float(sums[0, 0])

    def to_state(self) -> State:
        """Return settings, and trees and words as arrays."""
        config = {
            "candidates": self.candidates,
            "trees": self.trees.to_dict(),
            "random_state": self.random_state,
            "bias": self.bias_,
            "n_members": self.n_members_,
            "n_labels": self.n_labels_,
        }
        arrays = {"log_counts": self.log_counts_, **tree_arrays(self.trees_)}
        parts = {} if self.names_ is None else {"names": self.names_.to_state()}
        return State(self.kind, config, arrays, parts=parts)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that trees end, and that each label has its count and its name."""
        from multitudes.fusion.trees import DTYPES
        from multitudes.kernels.fusion import OF_LABEL, OF_MEMBER

        checks.names(
            state,
            config=("candidates", "trees", "random_state", "bias", "n_members", "n_labels"),
            arrays=("log_counts", *DTYPES),
            parts=("names",),
            optional=("names",),
        )
        checks.count(state, "candidates", at_least=1)
        checks.settings(TreesConfig, state.config["trees"], "trees")
        checks.count(state, "random_state", at_most=2**63 - 1)
        checks.number(state, "bias", at_least=-1e6, at_most=1e6)
        n_labels = checks.count(state, "n_labels")
        n_members = checks.count(state, "n_members", at_least=1, at_most=10_000)
        checks.finite(checks.array(state, "log_counts", "float32", (n_labels,)), "log_counts")
        check_trees(state, OF_LABEL + OF_MEMBER * n_members)
        if "names" in state.parts:
            names = checks.part(state, "names", LabelNames.kind)
            checks.same(len(names.arrays["starts"]) - 1, n_labels, "the number of labels")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build it again."""
        config = state.config
        fusion = cls(
            candidates=config["candidates"],
            trees=TreesConfig.from_dict(config["trees"]),
            random_state=config["random_state"],
        )
        fusion.n_members_, fusion.n_labels_ = config["n_members"], config["n_labels"]
        fusion.bias_, fusion.trees_ = float(config["bias"]), stored_trees(state)
        fusion.log_counts_ = np.ascontiguousarray(state.arrays["log_counts"])
        names: Any = build(state.parts["names"]) if "names" in state.parts else None
        fusion.names_ = names
        return fusion


def _without(lists: Lists, member: int) -> Lists:
    """Return the lists as if a member had listed nothing."""
    others: list[Any] = list(lists.members)
    one = others[member]
    blank: npt.NDArray[Any] = np.full_like(one.labels, -1)
    others[member] = Predictions(blank, np.full_like(one.scores, -np.inf), one.n_labels)
    return Lists(others)
