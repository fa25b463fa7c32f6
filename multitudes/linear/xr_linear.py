"""XRLinear: one balanced tree of sparse linear rankers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from multitudes.config import Search, among, between
from multitudes.errors import ConfigError, DataError
from multitudes.labels import LabelTree, build_tree, pifa
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.tree_estimator import TreeEstimator
from multitudes.types import Sparse
from multitudes.validation.sparse import owned


class XRLinear(TreeEstimator):
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
    score_function : str
        'l3-hinge' (or l1, l2, ...), 'log-l3-hinge', 'sigmoid', 'log-sigmoid' or 'raw'.
    negatives : str
        From which instances a cluster's children learn what they are not: 'sibling' (those that
        carry another child), 'matched' (those that the level above leads here) or 'both'.
    solver : SolverConfig
        How rankers are trained.
    weights : str
        'float16', 'float32' or 'int8': how weights are kept, in memory and on disk.
    tree : LabelTree, optional
        A tree of your own, instead of one built from the data.
    warm_start : bool
        A second `fit` keeps the tree of the first.
    checkpoint : path, optional
        Keep finished levels here; a fit that was killed goes on after the last one. They stay when
        `fit` is over: save the model, then remove the folder.
    random_state : int
        Same seed, same model, whatever the number of threads.
    n_jobs : int, optional
        All cores by default.
    verbose : bool
        Show progress on stderr.
    memory_limit : int or str, optional
        What the process may hold in all, e.g. "8GB": larger arrays then lie on disk, in the
        system's temporary folder. It changes nothing that is learned; see docs/scale.md.

    Attributes
    ----------
    tree_ : LabelTree
    levels_ : list of LevelWeights
        Weights, from the root down.
    n_labels_, n_features_in_ : int
    feature_names_in_ : array of str
        Names of the columns, if X was a table with names.

    References
    ----------
    Yu, Zhong, Zhang, Chang and Dhillon, PECOS, JMLR 2022.
    """

    kind = "xr-linear"
    search_space: ClassVar[dict[str, Search]] = {
        "branching": among(4, 8, 16, 32, 64),
        "max_leaf_size": among(25, 50, 100, 200, 400),
        "beam_width": between(5, 50, log=True),
        "score_function": among("l1-hinge", "l2-hinge", "l3-hinge", "sigmoid"),
        "negatives": among("sibling", "matched", "both"),
    }

    def __init__(
        self,
        *,
        branching: int = 16,
        max_leaf_size: int = 100,
        beam_width: int = 10,
        score_function: str = "l3-hinge",
        negatives: str = "sibling",
        solver: SolverConfig = SolverConfig(),
        weights: str = "float16",
        tree: LabelTree | None = None,
        warm_start: bool = False,
        checkpoint: str | Path | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        memory_limit: str | int | None = None,
    ) -> None:
        self.branching = branching
        self.max_leaf_size = max_leaf_size
        self.beam_width = beam_width
        self.score_function = score_function
        self.negatives = negatives
        self.solver = solver
        self.weights = weights
        self.tree = tree
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.memory_limit = memory_limit

    def partitions(self) -> list[XRLinear]:
        """Return the model itself, as its only tree."""
        return [self]

    def _make_tree(self, X: Sparse, Y: Sparse, label_embeddings: Any) -> LabelTree:
        tree = self.tree
        if tree is None and self.warm_start:
            tree = getattr(self, "tree_", None)
        if tree is not None:
            if not isinstance(tree, LabelTree):
                raise ConfigError(f"tree must be a LabelTree, got {type(tree).__name__}")
            if tree.n_labels != Y.shape[1]:
                raise ConfigError(
                    f"the tree holds {tree.n_labels:,} labels, but y has {Y.shape[1]:,}: "
                    "build another, or let fit build one (tree=None, warm_start=False)"
                )
            return tree
        # As an argument alone, so that it ends as soon as it has been read.
        built = build_tree(
            owned(pifa(X, Y, n_jobs=self.n_jobs)) if label_embeddings is None else label_embeddings,
            branching=self.branching,
            max_leaf_size=self.max_leaf_size,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        if built.n_labels != Y.shape[1]:
            raise DataError(
                f"label_embeddings has {built.n_labels:,} rows, but y has {Y.shape[1]:,} labels: "
                "it must have a row for each"
            )
        return built
