"""XRLinear: one balanced tree of sparse linear rankers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from multitudes import progress
from multitudes.errors import ConfigError, NotFittedError
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree, build_tree, pifa
from multitudes.linear.inputs import (
    checked_count,
    checked_features,
    checked_labels,
    checked_weights,
)
from multitudes.linear.level_weights import WEIGHT_TYPES, LevelWeights
from multitudes.linear.scoring import scoring
from multitudes.linear.search_index import SearchIndex
from multitudes.linear.solver_config import SolverConfig
from multitudes.linear.train_tree import NEGATIVES, TreeTask, train_tree
from multitudes.store import State
from multitudes.types import Predictions, Sparse


class XRLinear(BaseEstimator):  # type: ignore[misc]
    """A label tree in which every cluster ranks its children with sparse linear models.

    An instance goes down from the root; at each level the `beam_width` best clusters are kept, and
    the labels of the leaves reached are ranked. Scores multiply along the path.

    Parameters
    ----------
    branching : int
        Children per cluster.
    max_leaf_size : int
        Labels per leaf at most.
    beam_width : int
        Clusters kept per level when predicting.
    score : str
        'l3-hinge' (or l1, l2, ...), 'sigmoid', 'log-sigmoid' or 'raw'.
    negatives : str
        Which instances teach a cluster's children what they are not: 'sibling' (those that carry
        another child), 'matched' (those that the level above leads here) or 'both'.
    solver : SolverConfig, optional
        How rankers are trained.
    weights : str
        'float16', 'float32' or 'int8': how weights are kept, in memory and on disk.
    tree : LabelTree, optional
        A tree of your own, instead of one built from the data.
    checkpoint : path, optional
        Keep finished levels here while fitting; a fit that was killed goes on after the last one.
    seed : int
        Same seed, same model, whatever the number of threads.
    n_threads : int, optional
        All cores by default.
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    tree_ : LabelTree
    levels_ : list of LevelWeights
    n_features_in_ : int
    n_labels_ : int

    References
    ----------
    Yu, Zhong, Zhang, Chang and Dhillon, PECOS, JMLR 2022.
    """

    def __init__(
        self,
        branching: int = 16,
        max_leaf_size: int = 100,
        beam_width: int = 10,
        score: str = "l3-hinge",
        negatives: str = "sibling",
        solver: SolverConfig | None = None,
        weights: str = "float16",
        tree: LabelTree | None = None,
        checkpoint: str | Path | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.branching = branching
        self.max_leaf_size = max_leaf_size
        self.beam_width = beam_width
        self.score = score
        self.negatives = negatives
        self.solver = solver
        self.weights = weights
        self.tree = tree
        self.checkpoint = checkpoint
        self.seed = seed
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        Y: Sparse,
        *,
        sample_weight: npt.ArrayLike | None = None,
        label_weight: npt.ArrayLike | None = None,
        hard_negatives: Sparse | None = None,
        label_embeddings: Any = None,
    ) -> Self:
        """Build the tree and train its rankers.

        Parameters
        ----------
        X : CSR or array (n_instances, n_features)
        Y : CSR (n_instances, n_labels)
            1 where an instance has a label.
        sample_weight : array (n_instances,), optional
            Factor on the cost of each instance; 0 leaves it out.
        label_weight : array (n_labels,), optional
            Factor on the cost of each label.
        hard_negatives : CSR (n_instances, n_labels), optional
            Labels an instance looks like but does not have; it then also teaches their clusters.
        label_embeddings : CSR or array (n_labels, any), optional
            What the tree is built from; PIFA of X and Y by default.
        """
        self._check_settings()
        X = checked_features(X)
        Y = checked_labels(Y, n_instances=X.shape[0])
        task = TreeTask(
            X,
            Y,
            solver=self.solver or SolverConfig(),
            negatives=self.negatives,
            hard_negatives=hard_negatives,
            sample_weight=checked_weights(sample_weight, X.shape[0], "sample_weight"),
            label_weight=checked_weights(label_weight, Y.shape[1], "label_weight"),
            beam_width=self.beam_width,
            score=self.score,
            weights=self.weights,
            seed=self.seed,
        )
        with progress.shown(self.verbose), ThreadTeam(self.n_threads) as team:
            tree = self._make_tree(X, Y, label_embeddings)
            levels = train_tree(task, tree, team)
        self._set_learned(tree, levels, X.shape[1])
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
        """The best labels of each instance.

        Parameters
        ----------
        X : CSR or array (n_instances, n_features)
        top_k : int
            At most so many labels per instance; fewer where the leaves reached hold fewer.
        beam_width : int, optional
            Instead of the model's own; a larger one is slower and misses less.
        threshold : float, optional
            Leave out labels whose score is lower.
        labels : array of label ids, optional
            Only these may be predicted.
        """
        self._check_fitted()
        top_k = checked_count(top_k, "top_k")
        width = checked_count(self.beam_width if beam_width is None else beam_width, "beam_width")
        X = checked_features(X, n_features=self.n_features_in_)
        index = self.index()
        found, scores = index.search(
            X,
            top_k=min(top_k, self.n_labels_),
            beam_width=min(width, self.tree_.n_leaves),
            scoring=scoring(self.score),
            n_threads=self.n_threads,
            allowed=None if labels is None else index.allow(self.tree_, labels),
        )
        if threshold is not None:
            low = scores < threshold
            found[low], scores[low] = -1, -np.inf
        return Predictions(found, scores, self.n_labels_)

    def index(self) -> SearchIndex:
        """The layout that prediction reads; built on first use."""
        if getattr(self, "_index", None) is None:
            self._index = SearchIndex(self.tree_, self.levels_, self.n_features_in_)
        return self._index

    def to_state(self) -> State:
        """Settings, tree and levels."""
        self._check_fitted()
        config = {
            "branching": self.branching,
            "max_leaf_size": self.max_leaf_size,
            "beam_width": self.beam_width,
            "score": self.score,
            "negatives": self.negatives,
            "solver": (self.solver or SolverConfig()).to_dict(),
            "weights": self.weights,
            "seed": self.seed,
            "n_features": self.n_features_in_,
        }
        parts = {f"level-{i}": level.to_state() for i, level in enumerate(self.levels_)}
        return State("xr-linear", config, parts={"tree": self.tree_.to_state(), **parts})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """A fitted model again; its arrays may be memory maps."""
        config = dict(state.config)
        n_features = config.pop("n_features")
        config["solver"] = SolverConfig.from_dict(config["solver"])
        model = cls(**config)
        tree = LabelTree.from_state(state.parts["tree"])
        levels = [
            LevelWeights.from_state(state.parts[f"level-{i}"]) for i in range(tree.depth)
        ]
        model._set_learned(tree, levels, n_features)
        return model

    def _make_tree(self, X: Sparse, Y: Sparse, label_embeddings: Any) -> LabelTree:
        if self.tree is not None:
            if self.tree.n_labels != Y.shape[1]:
                raise ConfigError(
                    f"the tree holds {self.tree.n_labels:,} labels, but Y has {Y.shape[1]:,}"
                )
            return self.tree
        if label_embeddings is None:
            label_embeddings = pifa(X, Y, n_threads=self.n_threads)
        return build_tree(
            label_embeddings,
            branching=self.branching,
            max_leaf_size=self.max_leaf_size,
            seed=self.seed,
            n_threads=self.n_threads,
        )

    def _set_learned(self, tree: LabelTree, levels: list[LevelWeights], n_features: int) -> None:
        self.tree_, self.levels_ = tree, levels
        self.n_features_in_, self.n_labels_ = int(n_features), tree.n_labels
        self._index = None

    def _check_settings(self) -> None:
        checked_count(self.beam_width, "beam_width")
        checked_count(self.seed, "seed", at_least=0)
        scoring(self.score)
        if self.negatives not in NEGATIVES:
            raise ConfigError(f"negatives must be one of {NEGATIVES}, got {self.negatives!r}")
        if self.weights not in WEIGHT_TYPES:
            raise ConfigError(f"weights must be one of {WEIGHT_TYPES}, got {self.weights!r}")
        if self.solver is not None and not isinstance(self.solver, SolverConfig):
            raise ConfigError(f"solver must be a SolverConfig, got {self.solver!r}")

    def _check_fitted(self) -> None:
        if not hasattr(self, "tree_"):
            raise NotFittedError(
                f"this {type(self).__name__} has not learned anything yet: call fit or load first"
            )
