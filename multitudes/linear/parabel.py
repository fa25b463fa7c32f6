"""Parabel: an ensemble of binary label trees."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy.typing as npt
import scipy.sparse as sp

from multitudes.config import Search, among, between
from multitudes.errors import ConfigError, StoreError
from multitudes.estimator import Estimator
from multitudes.labels import pifa
from multitudes.linear.checkpoint import NOT_IN_RESULT, Checkpoint, fingerprint
from multitudes.linear.explanation import Explanation
from multitudes.linear.scoring import mean_of_logs, scoring
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.update import checked_new_labels, checked_update
from multitudes.linear.xr_linear import XRLinear
from multitudes.scores.ensemble import CANDIDATES, average
from multitudes.store import State, checks
from multitudes.types import Predictions, Sparse
from multitudes.validation import (
    checked_count,
    checked_features,
    checked_labels,
    checked_vectors,
)
from multitudes.validation.sparse import owned


class Parabel(Estimator):
    """Binary trees from different starts, whose scores are averaged.

    Parameters
    ----------
    n_trees : int
        Trees whose scores are averaged.
    branching : int
        Children per cluster; 2 is Parabel's.
    max_leaf_size : int
        Labels per leaf at most.
    beam_width : int
        Clusters kept per level when predicting.
    score_function : str
        'l3-hinge' (or l1, l2, ...) or 'sigmoid'; raw margins cannot be averaged.
    solver : SolverConfig
        How rankers are trained.
    weights : str
        'float16', 'float32' or 'int8': how weights are kept, in memory and on disk.
    checkpoint : path, optional
        Keep finished levels and trees here, see `XRLinear`.
    random_state : int
        The trees take seed, seed + 1, ...
    n_jobs : int, optional
        All cores by default.
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    trees_ : list of XRLinear
    n_labels_, n_features_in_, feature_names_in_
        As of `XRLinear`.

    References
    ----------
    Prabhu, Kag, Harsola, Agrawal and Varma, Parabel, WWW 2018.
    """

    fitted_attribute = "trees_"
    search_space: ClassVar[dict[str, Search]] = {
        "n_trees": among(1, 3, 5),
        "branching": among(2, 4, 16),
        "max_leaf_size": among(25, 50, 100, 200, 400),
        "beam_width": between(5, 50, log=True),
        "score_function": among("l1-hinge", "l2-hinge", "l3-hinge", "sigmoid"),
    }
    restricts_labels: ClassVar[bool] = True

    def __init__(
        self,
        *,
        n_trees: int = 3,
        branching: int = 2,
        max_leaf_size: int = 100,
        beam_width: int = 10,
        score_function: str = "l3-hinge",
        solver: SolverConfig = SolverConfig(),
        weights: str = "float16",
        checkpoint: str | Path | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_trees = n_trees
        self.branching = branching
        self.max_leaf_size = max_leaf_size
        self.beam_width = beam_width
        self.score_function = score_function
        self.solver = solver
        self.weights = weights
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Sparse, *, label_embeddings: Any = None) -> Self:
        """Train every tree; parameters as in `XRLinear.fit`."""
        checked_count(self.n_trees, "n_trees")
        if not scoring(self.score_function).exponentiate:
            raise ConfigError(
                f"score_function {self.score_function!r} cannot be averaged: use a hinge or sigmoid"
            )
        given, X = X, checked_features(X)
        Y = checked_labels(y, n_instances=X.shape[0])
        if label_embeddings is None:
            label_embeddings = owned(pifa(X, Y, n_jobs=self.n_jobs))
        label_embeddings = checked_vectors(label_embeddings, name="label_embeddings")
        checkpoint = self._checkpoint(X, Y, label_embeddings)
        trees = self.partitions()
        with checkpoint.held():
            checkpoint.announce()
            for number, tree in enumerate(trees):
                stage = f"trained-{number}"
                if not tree.take_over(checkpoint.stage(stage)):
                    tree.checkpoint = checkpoint.folder  # its levels go when the ensemble's do
                    tree.fit(X, Y, label_embeddings=label_embeddings)
                    checkpoint.keep(stage, tree)
                    tree.checkpoint = self.checkpoint
        self._set_learned(trees)
        self.note_feature_names(given)
        return self

    def predict(
        self,
        X: Any,
        *,
        top_k: int = 5,
        beam_width: int | None = None,
        threshold: float | None = None,
        labels: npt.ArrayLike | None = None,
    ) -> Predictions:
        """Return the best labels of each instance; parameters as in `XRLinear.predict`."""
        self.check_fitted()
        top_k = min(checked_count(top_k, "top_k"), self.n_labels_)
        X = self._known_rows(X)
        width = max(top_k, CANDIDATES)
        found = [
            tree.predict(X, top_k=width, beam_width=beam_width, labels=labels)
            for tree in self.trees_
        ]
        return average(found, top_k=top_k).above(threshold)

    def score_pairs(self, X: Any, pairs: Sparse) -> sp.csr_array[Any]:
        """Return the logarithms of the scores of given pairs; see `XRLinear.score_pairs`."""
        self.check_fitted()
        X = self.known_features(X)
        return mean_of_logs([tree.score_pairs(X, pairs) for tree in self.trees_])

    def explain(self, x: Any, label: int) -> Explanation:
        """Explain a label's score, tree by tree; see `XRLinear.explain`."""
        self.check_fitted()
        x = self.known_features(x, name="x")
        return Explanation.of_trees([tree.explain(x, label) for tree in self.trees_])

    def partial_fit(self, X: Any, y: Sparse) -> Self:
        """Learn from further instances; see `XRLinear.partial_fit`."""
        if not hasattr(self, "trees_"):
            return self.fit(X, y)
        X, Y = checked_update(self, X, y)
        self._set_learned([copy(tree).fit_further(X, Y) for tree in self.trees_])
        return self

    def add_labels(self, X: Any, y: Sparse, *, label_features: Any = None) -> Self:
        """Add labels to every tree; see `XRLinear.add_labels`."""
        self.check_fitted()
        X, Y, label_features = checked_new_labels(self, X, y, label_features)
        self._set_learned(
            [
                copy(tree).fit_new_labels(X, Y, tree.leaves_for(X, Y, label_features))
                for tree in self.trees_
            ]
        )
        return self

    def remove_labels(self, labels: npt.ArrayLike) -> Self:
        """Drop labels from every tree; see `XRLinear.remove_labels`."""
        self.check_fitted()
        self._set_learned([copy(tree).remove_labels(labels) for tree in self.trees_])
        return self

    def partitions(self) -> list[XRLinear]:
        """Return the trees, unfitted."""
        return [self._tree(self.random_state + i) for i in range(self.n_trees)]

    def to_state(self) -> State:
        """Return the settings, and the trees as parts."""
        self.check_fitted()
        config = {"n_trees": self.n_trees}
        parts = {f"tree-{i}": tree.to_state() for i, tree in enumerate(self.trees_)}
        return State("parabel", config, parts=parts)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that there are trees, over the same labels and features."""
        checks.names(state, config=("n_trees",), parts=state.parts)
        checks.count(state, "n_trees", at_least=1)
        trees = checks.numbered_parts(state, "tree")
        first = trees[0]
        for number, tree in enumerate(trees):
            checks.part(state, f"tree-{number}", "xr-linear")
            if not scoring(tree.config["score_function"]).exponentiate:
                raise StoreError("the scores of its trees cannot be averaged")
            own, other = (one.parts["tree"].config["n_labels"] for one in (tree, first))
            checks.same(own, other, "the number of labels")
            own, other = (one.config["n_features"] for one in (tree, first))
            checks.same(own, other, "the number of features")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted ensemble again."""
        trees = [XRLinear.from_state(state.parts[f"tree-{i}"]) for i in range(len(state.parts))]
        own = set(cls().get_params(deep=False))
        shared = {k: v for k, v in trees[0].get_params(deep=False).items() if k in own}
        model = cls(**{**shared, "n_trees": state.config["n_trees"]})
        model._set_learned(trees)
        return model

    def _checkpoint(self, X: Sparse, Y: Sparse, label_embeddings: Any) -> Checkpoint:
        """Where finished trees are kept; each tree keeps its levels in a folder of its own."""
        if self.checkpoint is None:
            return Checkpoint(None, "")
        settings = {k: v for k, v in self.get_params(deep=False).items() if k not in NOT_IN_RESULT}
        return Checkpoint(self.checkpoint, fingerprint([X, Y, label_embeddings], settings))

    def _tree(self, random_state: int) -> XRLinear:
        return XRLinear(
            branching=self.branching,
            max_leaf_size=self.max_leaf_size,
            beam_width=self.beam_width,
            score_function=self.score_function,
            solver=self.solver,
            weights=self.weights,
            checkpoint=self.checkpoint,
            random_state=random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _set_learned(self, trees: list[XRLinear]) -> None:
        self.trees_ = trees
        self.n_features_in_, self.n_labels_ = trees[0].n_features_in_, trees[0].n_labels_
