"""Impute again with a model's own scores: hard EM, each instance scored by a model without it.

A model remembers the labels it was trained with, right or wrong. So groups are dealt into folds,
and the instances of a fold are scored by a model trained on the others.

Narrowing rounds begin with all labels of a group for all its members, and let fewer and fewer have
each of them. What instances of other groups have in common with a label's group decides, and a
first guess, which large groups of similar instances lead astray, is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.groups.candidates import Block, Candidates
from multitudes.groups.imputation import Imputation, Rule, assign
from multitudes.kernels.groups.assignment import place_scores
from multitudes.scikit_learn import clone
from multitudes.types import FloatArray, IntArray, ScoresPairs, Sparse

# What a round's scores count for in the next round's mean. Different folds err differently, so a
# mean is better than the last round alone; but the first rounds know least.
FADING = 0.5
# Labels that a model without `score_pairs` is asked for.
LISTED = 1000

NARROW = "narrow"
# What narrowing leaves of a group, round by round, as powers of its size.
NARROWING = (0.75, 0.5, 0.25, 0.0, 0.0)
# After them, the logarithm of a model's score from which on any member has a label that is listed
# as a set: how many do is not known.
LIKELY = -3.0
# Members whose scores are closer than this are equally likely.
EQUAL = 1e-4


class Round(NamedTuple):
    """What one round of imputing again did.

    Parameters
    ----------
    n_moved : int
        (instance, label) pairs that are new.
    n_labels : int
        (instance, label) pairs in all.
    """

    n_moved: int
    n_labels: int


class Step(NamedTuple):
    """What a round may choose.

    Parameters
    ----------
    power : float
        At least ``size ** power`` members of a group get a label; 0 is one.
    likely : float
        Members whose logarithm of a score is higher than this get it too.
    """

    power: float = 0.0
    likely: float = np.inf


def schedule(rounds: int | str, candidates: Candidates, model: Any) -> list[Step]:
    """The steps of a number of rounds, or of ``"narrow"``."""
    if rounds != NARROW:
        return [Step()] * int(rounds)
    is_set = int(candidates.pair_count.max(initial=0)) <= 1
    scores_pairs = isinstance(model, ScoresPairs)
    last = Step(NARROWING[-1], LIKELY if is_set and scores_pairs else np.inf)
    return [*map(Step, NARROWING[:-1]), last]


class Rounds:
    """Impute again and again, by a mean over rounds of what the models say.

    Parameters
    ----------
    candidates : Candidates
    start : function of a Block
        Scores of its places, for labels that no model knows.
    rule : Rule
    pairs : CSR (n_instances, n_labels)
        All who could carry each label, of `spread`.
    arguments : mapping, optional
        What the models' ``fit`` takes beside instances and labels.
    """

    def __init__(
        self,
        candidates: Candidates,
        start: Callable[[Block], FloatArray],
        rule: Rule,
        pairs: Sparse,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.candidates, self.start, self.rule, self.pairs = candidates, start, rule, pairs
        self.arguments = arguments or {}
        self._total = np.zeros(pairs.nnz, np.float32)
        self._weight = np.zeros(pairs.nnz, np.float32)

    def impute(
        self,
        model: Any,
        X: Any,
        Y: Sparse,
        folds: IntArray,
        step: Step = Step(),
        *,
        n_jobs: int | None = None,
    ) -> Imputation:
        """One round.

        Parameters
        ----------
        model : Model
            Unfitted; clones of it are trained.
        X : CSR, array, or sequence of texts (n_instances,)
        Y : CSR (n_instances, n_labels)
            The labels imputed so far.
        folds : int array (n_instances,)
            Of `group_folds`.
        step : Step
            How many instances may get a label.
        """
        scores = cross_fit(model, X, Y, self.pairs, folds, self.arguments)
        known = ~np.isnan(scores)
        self._total *= FADING
        self._weight *= FADING
        self._total[known] += scores[known]
        self._weight += known
        mean = np.full(len(scores), np.nan, np.float32)
        np.divide(self._total, self._weight, out=mean, where=self._weight > 0)
        np.minimum(mean, step.likely, out=mean)  # all who are likely are equal, and all get it
        parts: Any = (mean, self.pairs.indices, self.pairs.indptr)
        by_label = sp.csr_array(parts, shape=self.pairs.shape).tocsc()
        candidates, rule = self._allowed(step)
        return assign(candidates, lambda block: self._scores(block, by_label), rule, n_jobs=n_jobs)

    def _allowed(self, step: Step) -> tuple[Candidates, Rule]:
        """Candidates that say how many members a step gives each label to, and the rule for it."""
        candidates, rule = self.candidates, self.rule
        if np.isfinite(step.likely):
            rule = replace(rule, margin=max(rule.margin, EQUAL))
        if step.power == 0:
            return candidates, rule
        sizes = np.diff(candidates.group_indptr)[candidates.pair_group]
        least = np.ceil(sizes**step.power - EQUAL).astype(np.int32)
        counts = np.maximum(candidates.pair_count if rule.use_counts else 1, least)
        return replace(candidates, pair_count=counts), replace(rule, use_counts=True)

    def _scores(self, block: Block, by_label: Sparse) -> FloatArray:
        """The scores of a block's places."""
        candidates, pairs = self.candidates, block.pairs(self.candidates)
        begin, end = by_label.indptr[block.start], by_label.indptr[block.stop]
        scores = self.start(block)
        place_scores(
            candidates.group_indptr, candidates.members,
            block.label_indptr(candidates),
            candidates.pair_group[pairs],
            by_label.indptr[block.start : block.stop + 1].astype(np.int64) - int(begin),
            by_label.indices[begin:end].astype(np.int32, copy=False), by_label.data[begin:end],
            np.empty(candidates.n_instances, np.float32), scores,
        )  # fmt: skip
        return scores


def group_folds(candidates: Candidates, n_folds: int, *, random_state: int) -> IntArray:
    """The fold of each instance: that of its first group; -1 where it is in none.

    Groups stay together, so that one model compares all members of a group. An instance in
    several groups is compared across models in all but the first.
    """
    order = np.random.default_rng(random_state).permutation(candidates.n_groups)
    fold_of_group = np.empty(candidates.n_groups, np.int64)
    fold_of_group[order] = np.arange(candidates.n_groups) % n_folds
    folds = np.full(candidates.n_instances, -1, np.int64)
    group = np.repeat(np.arange(candidates.n_groups), np.diff(candidates.group_indptr))
    folds[candidates.members[::-1]] = fold_of_group[group[::-1]]  # the first group writes last
    return folds


def cross_fit(
    model: Any,
    X: Any,
    Y: Sparse,
    pairs: Sparse,
    folds: IntArray,
    arguments: Mapping[str, Any] | None = None,
) -> FloatArray:
    """Scores of pairs by models that did not see the instance.

    Returns
    -------
    float32 array (n_pairs,)
        In the order of `pairs`; NaN where the model saw no instance of the label.
    """
    scores = np.full(pairs.nnz, np.nan, np.float32)
    for fold in range(int(folds.max(initial=-1)) + 1):
        others = np.flatnonzero((folds != fold) & (folds >= 0))
        asked = np.flatnonzero(folds == fold)
        seen = np.bincount(Y[others].indices, minlength=Y.shape[1]) > 0
        if not len(asked) or not seen.any():
            continue
        fitted = clone(model).fit(take(X, others), Y[others], **(arguments or {}))
        found = pair_scores(fitted, take(X, asked), pairs[asked])
        found.data[~seen[found.indices]] = np.nan
        lengths = np.diff(pairs.indptr)[asked]
        places = np.arange(lengths.sum()) + np.repeat(
            pairs.indptr[asked] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths
        )
        scores[places] = found.data
    return scores


def pair_scores(model: Any, X: Any, pairs: Sparse) -> Sparse:
    """What a fitted model says of pairs: its own `score_pairs`, or what it predicts.

    A model without `score_pairs` is asked for its best labels; a pair that is not among them
    scores as low as the worst of all that are.
    """
    if isinstance(model, ScoresPairs):
        return model.score_pairs(X, pairs)
    found = model.predict(X, top_k=min(LISTED, pairs.shape[1])).to_csr()
    lowest = found.data.min(initial=0.0)
    found.data = found.data - lowest + 1  # above 0, so that what was not listed differs
    parts: Any = (np.ones(pairs.nnz, np.float32), pairs.indices, pairs.indptr)
    wanted = sp.csr_array(parts, shape=pairs.shape)
    listed = found.multiply(wanted) + wanted  # the pattern of pairs
    return sp.csr_array(listed, dtype=np.float32)


def take(X: Any, rows: IntArray) -> Any:
    """Some instances: rows of a matrix, or texts."""
    if hasattr(X, "shape"):
        return X[rows]
    return [X[int(i)] for i in rows]


def checked_texts_or_rows(X: Any, n_instances: int) -> None:
    """Refuse an X that does not have a row or a text for each instance."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n != n_instances:
        raise DataError(
            f"X has {n:,} instances and groups has {n_instances:,} rows: they must describe the "
            "same instances"
        )
