"""OneVsAll: a linear ranker per label, each trained on all instances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from multitudes.labels import LabelTree
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.tree_estimator import TreeEstimator
from multitudes.types import Sparse


class OneVsAll(TreeEstimator):
    """One ranker per label against all other instances: exact, and slow for large label sets.

    It is a tree whose root is its only leaf, so that nothing can be lost on the way down: the
    accuracy ceiling of the linear models, and the right choice up to a few thousand labels.

    Parameters
    ----------
    score_function : str
        'l3-hinge' (or l1, l2, ...), 'sigmoid', 'log-sigmoid' or 'raw'.
    solver : SolverConfig
        How rankers are trained.
    weights : str
        'float16', 'float32' or 'int8': how weights are kept, in memory and on disk.
    checkpoint : path, optional
        Keep the trained level here, see `XRLinear`.
    random_state : int
    n_jobs : int, optional
        All cores by default.
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    tree_, levels_, n_labels_, n_features_in_, feature_names_in_
        As of `XRLinear`.

    References
    ----------
    Babbar and Schölkopf, DiSMEC, WSDM 2017: the same rankers, with small weights dropped.
    """

    kind = "one-vs-all"
    beam_width = 1
    negatives = "sibling"

    def __init__(
        self,
        *,
        score_function: str = "l3-hinge",
        solver: SolverConfig = SolverConfig(),
        weights: str = "float16",
        checkpoint: str | Path | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.score_function = score_function
        self.solver = solver
        self.weights = weights
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_tree(self, X: Sparse, Y: Sparse, label_embeddings: Any) -> LabelTree:
        return LabelTree.flat(Y.shape[1])
