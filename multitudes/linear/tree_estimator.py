"""What all models made of one label tree share: fit, predict, explain, update, save."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes import memory, progress
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.estimator import Estimator
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree
from multitudes.linear.checkpoint import NOT_IN_RESULT, Checkpoint, fingerprint
from multitudes.linear.explanation import Explanation, explain
from multitudes.linear.level_checks import check_level
from multitudes.linear.level_weights import WEIGHT_TYPES, LevelWeights
from multitudes.linear.rehearsal import compile_ahead
from multitudes.linear.scoring import score_tree_pairs, scoring
from multitudes.linear.search_index import SearchIndex, checked_merge
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.train_tree import NEGATIVES, TreeTask, train_tree
from multitudes.linear.update import (
    add_labels,
    checked_new_labels,
    checked_update,
    checked_with_new,
    nearest_leaves,
    refit_clusters,
    remove_labels,
)
from multitudes.store import State, checks
from multitudes.types import Predictions, Sparse
from multitudes.validation import (
    checked_count,
    checked_features,
    checked_hard_negatives,
    checked_label,
    checked_labels,
    checked_pairs,
    checked_removal,
    checked_sparse,
    checked_vectors,
    checked_weights,
)

_NOT_SAVED = {*NOT_IN_RESULT, "tree"}

EXACT_LEAVES = 256
"""Leaves that are all searched for the labels that a prediction is restricted to."""


class TreeEstimator(Estimator):
    """A label tree whose clusters rank their children; subclasses say how the tree is made.

    A subclass has the settings `beam_width`, `score_function`, `negatives`, `solver`, `weights`,
    `checkpoint`, `random_state`, `n_jobs` and `verbose`, a `kind` for the store, and `_make_tree`.

    Attributes
    ----------
    tree_ : LabelTree
    levels_ : list of LevelWeights
        From the root down.
    n_features_in_ : int
    n_labels_ : int
    """

    fitted_attribute = "tree_"
    restricts_labels: ClassVar[bool] = True
    kind: ClassVar[str]
    beam_width: int
    score_function: str
    negatives: str
    solver: SolverConfig
    weights: str
    checkpoint: str | Path | None
    random_state: int
    n_jobs: int | None
    verbose: bool
    memory_limit: str | int | None = None
    _index: SearchIndex

    def fit(
        self,
        X: Any,
        y: Sparse,
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
        y : CSR or array (n_instances, n_labels)
            1 where an instance has a label.
        sample_weight : array (n_instances,), optional
            Factor on the cost of each instance; 0 leaves it out.
        label_weight : array (n_labels,), optional
            Factor on the cost of each label.
        hard_negatives : CSR (n_instances, n_labels), optional
            Labels an instance looks like but does not have; their clusters then learn from it too.
        label_embeddings : CSR or array (n_labels, any), optional
            What the tree is built from; PIFA of X and Y by default.
        """
        compile_ahead()
        with memory.limited(self.memory_limit):
            task = self._task(X, y, sample_weight, label_weight, hard_negatives)
            if label_embeddings is not None:
                label_embeddings = checked_vectors(label_embeddings, name="label_embeddings")
            tree, levels = self._trained(task, label_embeddings)
        self._set_learned(tree, levels, task.X.shape[1])
        self.note_feature_names(X)
        return self

    def _trained(
        self, task: TreeTask, label_embeddings: Any
    ) -> tuple[LabelTree, list[LevelWeights]]:
        """Build the tree and train its levels, or take them from the checkpoint."""
        checkpoint = self._checkpoint(task, label_embeddings)
        with progress.shown(self.verbose), checkpoint.held(), ThreadTeam(self.n_jobs) as team:
            checkpoint.announce()
            tree = checkpoint.tree()
            if tree is None or tree.n_labels != task.Y.shape[1]:
                tree = self._make_tree(task.X, task.Y, label_embeddings)
                checkpoint.keep("tree", tree)
            return tree, train_tree(task, tree, team, checkpoint)

    def fit_matcher(self, X: Any, y: Sparse, *, label_embeddings: Any = None) -> Self:
        """Build the tree and train the levels above its leaves: all that `match` needs."""
        task = self._task(X, y)
        with progress.shown(self.verbose), ThreadTeam(self.n_jobs) as team:
            tree = self._make_tree(task.X, task.Y, label_embeddings)
            levels = train_tree(task, tree, team, Checkpoint(None, ""), n_levels=tree.depth - 1)
        self._set_learned(tree, levels, task.X.shape[1])
        return self

    def fit_ranker(self, X: Any, y: Sparse, tree: LabelTree) -> Self:
        """Train the rankers of the leaves on a tree that differs from `tree_` in its leaves alone.

        The levels above stay as they are.
        """
        self.check_fitted(matcher_only=True)
        if not isinstance(tree, LabelTree):
            raise ConfigError(f"tree must be a LabelTree, got {type(tree).__name__}")
        same = all(map(np.array_equal, tree.offsets[:-1], self.tree_.offsets[:-1]))
        if tree.depth != self.tree_.depth or not same:
            raise ConfigError("the tree differs from the fitted one above its leaves: use fit")
        task = self._task(X, y)
        if tree.n_labels != task.Y.shape[1] or self.n_features_in_ != task.X.shape[1]:
            raise DataError(
                f"the tree holds {tree.n_labels:,} labels over {self.n_features_in_:,} features, "
                f"X and y have {task.Y.shape[1]:,} and {task.X.shape[1]:,}"
            )
        above = self.levels_[: tree.depth - 1]
        with progress.shown(self.verbose), ThreadTeam(self.n_jobs) as team:
            levels = train_tree(task, tree, team, Checkpoint(None, ""), above=above)
        self._set_learned(tree, levels, task.X.shape[1])
        return self

    def match(self, X: Any, *, beam_width: int | None = None) -> Predictions:
        """Return the leaves that the levels above lead each instance to, best first."""
        self.check_fitted(matcher_only=True)
        width = checked_count(self.beam_width if beam_width is None else beam_width, "beam_width")
        width = min(width, self.tree_.n_leaves)
        rule = scoring(self.score_function)
        with ThreadTeam(self.n_jobs) as team:
            X = self.known_features(X, team=team)
            if self.tree_.depth == 1:
                ones = np.ones((X.shape[0], 1), np.float32)
                return Predictions(np.zeros(ones.shape, np.int32), ones, 1)
            above = self.levels_[: self.tree_.depth - 1]
            index = SearchIndex(self.tree_, above, self.n_features_in_)
            found = index.search(X, top_k=width, beam_width=width, scoring=rule, team=team)
        return Predictions(*found, self.tree_.n_leaves)

    def predict(
        self,
        X: Any,
        *,
        top_k: int = 5,
        beam_width: int | None = None,
        threshold: float | None = None,
        labels: npt.ArrayLike | None = None,
        merge: str = "mean",
    ) -> Predictions:
        """Return the best labels of each instance.

        Parameters
        ----------
        X : CSR or array (n_instances, n_features)
        top_k : int
            Labels per instance at most; fewer where the leaves reached hold fewer.
        beam_width : int, optional
            Clusters kept per level, in place of the model's own setting; a larger beam is slower
            and misses less.
        threshold : float, optional
            Leave out labels whose score is lower.
        labels : array of label ids, optional
            Only these may be predicted. If they live in at most `EXACT_LEAVES` leaves, all of these
            are searched, whatever the beam, so that none of them is missed.
        merge : str
            How the scores of a label that lives in several leaves become one: 'mean' of the
            copies reached, 'max' or 'sum'. Without overlap it changes nothing.
        """
        self.check_fitted()
        top_k = checked_count(top_k, "top_k")
        width = checked_count(self.beam_width if beam_width is None else beam_width, "beam_width")
        with memory.limited(self.memory_limit), ThreadTeam(self.n_jobs) as team:
            X = self._known_rows(X, team=team)
            index, allowed = self._index, None
            if labels is not None:
                allowed = index.allow(labels)
                width = max(width, min(index.n_leaves_of(labels), EXACT_LEAVES))
            found, scores = index.search(
                X,
                top_k=min(top_k, self.n_labels_),
                beam_width=min(width, index.n_leaves),
                scoring=scoring(self.score_function),
                team=team,
                allowed=allowed,
                merge=checked_merge(merge),
            )
        return Predictions._of_kernel(found, scores, self.n_labels_).above(threshold)

    def score_pairs(self, X: Any, pairs: Sparse) -> sp.csr_array[Any]:
        """Return the logarithms of the scores of given pairs, found by `predict` or not.

        `pairs` is a CSR (n_instances, n_labels), stored wherever a score is wanted; so is the
        result. Raw margins stay as they are. Copies of a label are averaged.
        """
        self.check_fitted()
        X = self.known_features(X)
        pairs = checked_pairs(pairs, (X.shape[0], self.n_labels_))
        rule = scoring(self.score_function)
        return score_tree_pairs(self.tree_, self.levels_, X, pairs, rule, n_jobs=self.n_jobs)

    def explain(self, x: Any, label: int) -> Explanation:
        """Explain a label's score by the features that contributed at each level of the path.

        Parameters
        ----------
        x : CSR or array (1, n_features)
        label : int
        """
        self.check_fitted()
        x = self.known_features(x, name="x")
        if x.shape[0] != 1:
            raise DataError(f"explain takes one instance at a time, got {x.shape[0]} rows")
        label = checked_label(label, self.n_labels_)
        return explain(self.tree_, self.levels_, x, label, scoring(self.score_function))

    def partial_fit(self, X: Any, y: Sparse) -> Self:
        """Learn from further instances of known labels; only the clusters they touch change.

        The old instances are not needed: each touched ranker moves as little as the new ones ask
        for (it is trained towards its old weights instead of towards zero). A first call is `fit`.
        """
        if not hasattr(self, "tree_"):
            return self.fit(X, y)
        X, Y = checked_update(self, X, y)
        return self.fit_further(X, Y)

    def fit_further(self, X: Sparse, Y: Sparse, *, solver: SolverConfig | None = None) -> Self:
        """Do what `partial_fit` does, without warnings, with another solver if one is given."""
        X = self.known_features(X)
        Y = checked_labels(Y, n_instances=X.shape[0], n_labels=self.n_labels_)
        with progress.shown(self.verbose), ThreadTeam(self.n_jobs) as team:
            levels = refit_clusters(
                self.tree_, self.levels_, X, Y,
                solver=solver or self.solver, weights=self.weights,
                random_state=self.random_state, team=team,
            )  # fmt: skip
        self._set_learned(self.tree_, levels, self.n_features_in_)
        return self

    def add_labels(self, X: Any, y: Sparse, *, label_features: Any = None) -> Self:
        """Add labels without retraining the others.

        Each new label goes to the leaf where the tree already leads most of its instances, and
        only its own ranker is trained, against the leaf's instances.

        Parameters
        ----------
        X : CSR or array (n_instances, n_features)
            Old instances may be among them; they are what the new labels are told apart from.
        y : CSR or array (n_instances, n_labels + n_new)
            The columns from `n_labels_` on are the new labels.
        label_features : CSR or array (n_new, n_features), optional
            Features of each new label's text; they lead labels without instances to a leaf.
        """
        self.check_fitted()
        X, Y, label_features = checked_new_labels(self, X, y, label_features)
        return self.fit_new_labels(X, Y, self.leaves_for(X, Y, label_features))

    def leaves_for(self, X: Sparse, Y: Sparse, label_features: Sparse | None) -> Sparse:
        """Return where `add_labels` puts new labels, a CSR (n_new, n_leaves)."""
        X, Y = checked_with_new(self, X, Y)
        if label_features is not None:
            label_features = self.known_features(label_features, name="label_features")
            if label_features.shape[0] != Y.shape[1] - self.n_labels_:
                raise DataError("label_features must have a row for each new label")
        rule = scoring(self.score_function)
        with ThreadTeam(self.n_jobs) as team:
            return nearest_leaves(
                self.tree_, self.levels_, X, Y, label_features, scoring=rule, team=team
            )

    def fit_new_labels(
        self, X: Sparse, Y: Sparse, leaves: Sparse, *, solver: SolverConfig | None = None
    ) -> Self:
        """Add labels to given leaves, with another solver if one is given.

        `leaves` is a CSR (n_new, n_leaves), non-zero where a new label goes, one leaf or several.
        """
        X, Y = checked_with_new(self, X, Y)
        leaves = checked_sparse(leaves, name="leaves", axes="(n_new, n_leaves)")
        shape = (Y.shape[1] - self.n_labels_, self.tree_.n_leaves)
        if leaves.shape != shape:
            raise DataError(f"leaves must be (n_new, n_leaves) = {shape}, got {leaves.shape}")
        with progress.shown(self.verbose), ThreadTeam(self.n_jobs) as team:
            tree, levels = add_labels(
                self.tree_, self.levels_, X, Y, leaves,
                solver=solver or self.solver, weights=self.weights,
                random_state=self.random_state, team=team,
            )  # fmt: skip
        self._set_learned(tree, levels, self.n_features_in_)
        return self

    def remove_labels(self, labels: npt.ArrayLike) -> Self:
        """Drop labels; the others keep their order and are renumbered from 0."""
        self.check_fitted()
        dropped = checked_removal(labels, self.n_labels_)
        tree, levels = remove_labels(self.tree_, self.levels_, dropped)
        self._set_learned(tree, levels, self.n_features_in_)
        return self

    def take_over(self, other: object) -> bool:
        """Take what another model of the same class has learned; False if it is of another."""
        if not isinstance(other, type(self)):
            return False
        self._set_learned(other.tree_, other.levels_, other.n_features_in_)
        return True

    def to_state(self) -> State:
        """Return settings, tree and levels; paths and settings of the machine are left out."""
        self.check_fitted()
        config = {k: v for k, v in self.get_params(deep=False).items() if k not in _NOT_SAVED}
        config["solver"] = self.solver.to_dict()
        parts = {f"level-{i}": level.to_state() for i, level in enumerate(self.levels_)}
        return State(
            self.kind,
            {**config, "n_features": self.n_features_in_},
            parts={"tree": self.tree_.to_state(), **parts},
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the settings, and each level against the tree and the number of features."""
        tree = checks.part(state, "tree", "label-tree")
        levels = [f"level-{i}" for i in range(tree.config["depth"])]
        checks.names(state, parts=("tree", *levels))
        settings = checks.parameters(state, cls, without=_NOT_SAVED, beside=("n_features",))
        n_features = checks.count(state, "n_features")
        memory.ask(4 * n_features, f"a map of {n_features:,} features")
        solver = checks.settings(SolverConfig, settings.get("solver"), "solver")
        cls(**settings | {"solver": solver})._check_settings()
        for number, name in enumerate(levels):
            level = checks.part(state, name, "level-weights")
            with checks.as_part(name):
                check_level(level, tree.arrays[f"offsets_{number}"], n_features)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted model again; its arrays may be memory maps."""
        config = dict(state.config)
        n_features = config.pop("n_features")
        config["solver"] = SolverConfig.from_dict(config["solver"])
        model = cls(**config)
        tree = LabelTree.from_state(state.parts["tree"])
        levels = [LevelWeights.from_state(state.parts[f"level-{i}"]) for i in range(tree.depth)]
        model._set_learned(tree, levels, n_features)
        return model

    def _make_tree(self, X: Sparse, Y: Sparse, label_embeddings: Any) -> LabelTree:
        raise TypeError(f"{type(self).__name__} does not say how its tree is made")

    def _checkpoint(self, task: TreeTask, label_embeddings: Any) -> Checkpoint:
        if self.checkpoint is None:
            return Checkpoint(None, "")
        settings = self.get_params(deep=False)
        tree = settings.pop("tree", None)
        if tree is None and settings.get("warm_start"):
            tree = getattr(self, "tree_", None)
        data = [
            task.X, task.Y, task.sample_weight, task.label_weight, task.hard_negatives,
            label_embeddings, tree,
        ]  # fmt: skip
        return Checkpoint(
            self.checkpoint,
            fingerprint(data, {k: v for k, v in settings.items() if k not in NOT_IN_RESULT}),
        )

    def _set_learned(self, tree: LabelTree, levels: list[LevelWeights], n_features: int) -> None:
        self.tree_, self.levels_ = tree, levels
        self.n_features_in_, self.n_labels_ = int(n_features), tree.n_labels
        self._index = SearchIndex(tree, levels, self.n_features_in_)

    def _check_settings(self) -> None:
        checked_count(self.beam_width, "beam_width")
        checked_count(self.random_state, "random_state", at_least=0)
        scoring(self.score_function)
        if self.negatives not in NEGATIVES:
            raise ConfigError(f"negatives must be one of {NEGATIVES}, got {self.negatives!r}")
        if self.weights not in WEIGHT_TYPES:
            raise ConfigError(f"weights must be one of {WEIGHT_TYPES}, got {self.weights!r}")
        if not isinstance(self.solver, SolverConfig):
            raise ConfigError(f"solver must be a SolverConfig, got {self.solver!r}")

    def _task(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        label_weight: npt.ArrayLike | None = None,
        hard_negatives: Sparse | None = None,
    ) -> TreeTask:
        """Check everything, and put it together for `train_tree`."""
        self._check_settings()
        with ThreadTeam(self.n_jobs) as team:
            X = checked_features(X, team=team)
        Y = checked_labels(y, n_instances=X.shape[0])
        return TreeTask(
            X,
            Y,
            solver=self.solver,
            negatives=self.negatives,
            hard_negatives=checked_hard_negatives(hard_negatives, Y.shape),
            sample_weight=checked_weights(sample_weight, X.shape[0], "sample_weight"),
            label_weight=checked_weights(label_weight, Y.shape[1], "label_weight"),
            beam_width=self.beam_width,
            score_function=self.score_function,
            weights=self.weights,
            random_state=self.random_state,
        )

    def check_fitted(self, *, matcher_only: bool = False) -> None:
        """Raise a NotFittedError unless the model was fitted; its leaves too, by default."""
        super().check_fitted()
        if not matcher_only and len(self.levels_) < self.tree_.depth:
            raise NotFittedError(
                "only the levels above the leaves are trained: call fit, or fit_ranker"
            )
