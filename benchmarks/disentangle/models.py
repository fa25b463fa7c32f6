"""Models of the studies, fitted: trees, trees with labels in several leaves, and controls.

A control has all of the method but one thing:

- random copies: as many copies of each label as overlap 2 has, in leaves drawn at random, and
  everything trained on them in the same way (Appendix A.8);
- one leaf: the plain tree with two rankers for each label of a leaf, trained with different seeds,
  whose scores are averaged: copies that reach nothing new;
- same reach: overlap 2, of whose labels only those are kept that the plain tree reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from multitudes.disentangle import Disentangled, random_assignment
from multitudes.linear import Parabel, XRLinear
from multitudes.linear.tasks import SolverConfig
from multitudes.scores.ensemble import CANDIDATES, average
from multitudes.types import Predictions, Sparse

OTHER_SEED = 1000  # of the second rankers in one leaf
ENSEMBLE_SEEDS = 100  # apart: no two ensembles have a tree in common


class Fitted(Protocol):
    """What is measured: predictions, and the trees behind them."""

    def predict(self, X: Sparse, *, top_k: int = 5, beam_width: int | None = None) -> Predictions:
        """The best labels of each instance."""

    @property
    def trees(self) -> list[Any]:
        """Fitted tree models."""


def unfitted(settings: Mapping[str, Any], seed: int) -> Any:
    """The model of a row: ``tree``, ``n_trees``, ``shape``, ``solver``, ``overlapping``.

    Parameters
    ----------
    settings : dict
        `shape` are parameters of the tree, `larger_leaves` a factor of its `max_leaf_size`;
        `overlapping` those of `Disentangled`, None for a tree
        by itself; `n_trees` above 1 makes an ensemble of trees of the same shape.
    seed : int
    """
    solver = SolverConfig(**settings.get("solver", {}))
    shape = {**settings.get("shape", {}), "solver": solver, "n_jobs": settings["n_jobs"]}
    if "larger_leaves" in settings:
        size = shape.get("max_leaf_size", XRLinear().max_leaf_size)
        shape["max_leaf_size"] = settings["larger_leaves"] * size
    n_trees, model = settings.get("n_trees", 1), None
    if settings["tree"] == "parabel":
        model = Parabel(**shape | {"branching": 2}, random_state=ENSEMBLE_SEEDS * seed)
    elif n_trees > 1:
        branching = {"branching": XRLinear().branching} | shape
        model = Parabel(n_trees=n_trees, **branching, random_state=ENSEMBLE_SEEDS * seed)
    else:
        model = XRLinear(**shape, random_state=seed)
    overlapping = settings.get("overlapping")
    if overlapping is None:
        return model
    return Disentangled(model, **{"keep_examples": 0} | overlapping, random_state=seed)


def fitted(settings: Mapping[str, Any], X: Sparse, Y: Sparse, seed: int) -> Fitted:
    """The model of a row, or a control, after training."""
    model = unfitted(settings, seed)
    control = settings.get("control")
    if control is None:
        return Plain(model.fit(X, Y))
    plain = unfitted({**settings, "overlapping": None}, seed).fit(X, Y)
    if control == "one leaf":
        other = unfitted({**settings, "overlapping": None}, seed + OTHER_SEED)
        return Averaged([plain, other.set_params(tree=plain.tree_).fit(X, Y)])
    ours = model.fit(X, Y)
    if control == "same reach":
        return SameReach(plain, ours)
    tree = with_random_copies(plain.tree_, ours.models_[0].tree_, seed)
    again = unfitted({**settings, "overlapping": None}, seed)
    return Plain(again.set_params(tree=tree).fit(X, Y))


def with_random_copies(tree: Any, like: Any, seed: int) -> Any:
    """A tree with as many copies of each label as `like` has, at random."""
    leaves, found = (one.label_clusters(one.depth - 1) for one in (tree, like))
    return tree.with_leaves(random_assignment(leaves, found, random_state=seed))


def trees_of(model: Any) -> list[Any]:
    """The fitted trees inside a model."""
    if isinstance(model, XRLinear):
        return [model]
    found: list[Any] = model.models_ if isinstance(model, Disentangled) else model.trees_
    return found


@dataclass
class Plain:
    """A model as it is."""

    model: Any

    def predict(self, X: Sparse, *, top_k: int = 5, beam_width: int | None = None) -> Predictions:
        """The best labels of each instance."""
        found: Predictions = self.model.predict(X, top_k=top_k, beam_width=beam_width)
        return found

    @property
    def trees(self) -> list[Any]:
        """Fitted tree models."""
        return trees_of(self.model)


@dataclass
class Averaged:
    """Models whose scores are averaged."""

    models: list[Any]

    def predict(self, X: Sparse, *, top_k: int = 5, beam_width: int | None = None) -> Predictions:
        """The best labels of each instance by mean score."""
        found = [model.predict(X, top_k=CANDIDATES, beam_width=beam_width) for model in self.models]
        return average(found, top_k=top_k)

    @property
    def trees(self) -> list[Any]:
        """Fitted tree models."""
        return [tree for model in self.models for tree in trees_of(model)]


@dataclass
class SameReach:
    """`model`, with only those labels that `plain`, a tree, reaches."""

    plain: XRLinear
    model: Disentangled

    def predict(self, X: Sparse, *, top_k: int = 5, beam_width: int | None = None) -> Predictions:
        """The best labels of each instance among those within reach of the plain tree."""
        found = self.model.predict(X, top_k=CANDIDATES, beam_width=beam_width)
        return only_reached(found, candidates(self.plain, X, self.plain.beam_width), top_k=top_k)

    @property
    def trees(self) -> list[Any]:
        """Fitted tree models."""
        return trees_of(self.model)


def candidates(tree: Any, X: Sparse, beam_width: int) -> sp.csr_array[Any]:
    """Labels that a tree's matcher leads each instance to: M C^T, not zero where reached."""
    matched = tree.match(X, beam_width=beam_width).to_csr()
    matched.data = np.ones_like(matched.data)
    found = sp.csr_array(matched @ tree.tree_.label_clusters(tree.tree_.depth - 1).T)
    found.sort_indices()
    return found


def only_reached(found: Predictions, reached: Sparse, *, top_k: int) -> Predictions:
    """The best `top_k` of each row that are not zero in `reached`."""
    rows = np.repeat(np.arange(len(found)), found.labels.shape[1])
    kept = np.asarray(reached[rows, np.maximum(found.labels.ravel(), 0)]).ravel() > 0
    kept = kept.reshape(found.labels.shape) & (found.labels >= 0)
    order = np.argsort(~kept, axis=1, kind="stable")[:, :top_k]
    kept = np.take_along_axis(kept, order, axis=1)
    labels = np.where(kept, np.take_along_axis(found.labels, order, axis=1), -1)
    scores = np.where(kept, np.take_along_axis(found.scores, order, axis=1), -np.inf)
    return Predictions(labels.astype(np.int32), scores.astype(np.float32), found.n_labels)
