"""Boosted trees as plain arrays: trained by scikit-learn, stored and evaluated by us."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from multitudes.config import Config, setting
from multitudes.errors import StoreError
from multitudes.store import State, checks
from multitudes.types import FloatArray

if TYPE_CHECKING:
    from multitudes.kernels.fusion import Trees

DTYPES = {
    "roots": "int32", "feature": "int32", "threshold": "float32", "missing_left": "bool",
    "left": "int32", "right": "int32", "value": "float32",
}  # fmt: skip


@dataclass(frozen=True)
class TreesConfig(Config):
    """How the trees of a learned fusion are trained."""

    n_trees: int = setting(80, "Trees at most; fewer where candidates are few.", at_least=1)
    max_leaves: int = setting(12, "Leaves of a tree, at most.", at_least=2)
    learning_rate: float = setting(0.1, "How much each tree corrects those before it.", above=0)
    min_leaf: int = setting(40, "Candidates that a leaf holds, at least.", at_least=1)
    l2: float = setting(5.0, "Penalty on what leaves say.", at_least=0)


def grown_trees(
    about: FloatArray, is_true: npt.NDArray[np.bool_], config: TreesConfig, seed: int
) -> tuple[Trees, float]:
    """Train trees that tell true candidates from others; return them, and where sums begin.

    Parameters
    ----------
    about : float32 array (n_candidates, n_numbers)
        What is known of each candidate; NaN where a member does not list it.
    is_true : bool array (n_candidates,)
    config : TreesConfig
    seed : int
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

    known = np.flatnonzero(~np.isnan(about).all(axis=0))  # scikit-learn fails at empty columns
    model: Any = HistGradientBoostingClassifier(
        max_iter=config.n_trees,
        max_leaf_nodes=config.max_leaves,
        learning_rate=config.learning_rate,
        min_samples_leaf=config.min_leaf,
        l2_regularization=config.l2,
        early_stopping=False,
        random_state=seed,
    )
    model.fit(about[:, known], is_true)
    return _as_arrays([trees[0].nodes for trees in model._predictors], known), float(
        np.ravel(model._baseline_prediction)[0]
    )


def _as_arrays(grown: list[npt.NDArray[Any]], known: npt.NDArray[np.int64]) -> Trees:
    """Return scikit-learn's nodes, tree after tree, as arrays; features as they were numbered."""
    from multitudes.kernels.fusion import Trees

    roots = np.cumsum([0, *(len(nodes) for nodes in grown)]).astype(np.int32)
    nodes = np.concatenate(grown)
    first = np.repeat(roots[:-1], [len(one) for one in grown])
    is_leaf = nodes["is_leaf"].astype(bool)
    own = np.arange(len(nodes), dtype=np.int32)
    left, right = (
        np.where(is_leaf, own, nodes[side].astype(np.int32) + first).astype(np.int32)
        for side in ("left", "right")
    )
    feature = np.where(is_leaf, -1, known[np.where(is_leaf, 0, nodes["feature_idx"])])
    return Trees(
        roots[:-1],
        feature.astype(np.int32),
        _rounded_down(np.where(is_leaf, 0.0, nodes["num_threshold"])),
        nodes["missing_go_to_left"].astype(bool),
        left,
        right,
        np.where(is_leaf, nodes["value"], 0.0).astype(np.float32),
    )


def _rounded_down(values: npt.NDArray[np.float64]) -> FloatArray:
    """Return the largest float32 that is not above a value: float32 numbers compare the same."""
    with np.errstate(over="ignore"):
        near = values.astype(np.float32)
        lower = np.nextafter(near, np.float32(-np.inf))
    return np.where(near > values, lower, near).clip(*_LIMITS).astype(np.float32)


_LIMITS = (np.finfo(np.float32).min, np.finfo(np.float32).max)


def tree_arrays(trees: Trees) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of trees to store."""
    return {name: getattr(trees, name) for name in DTYPES}


def check_trees(state: State, n_numbers: int) -> None:
    """Raise a StoreError unless every walk down a tree ends, within the arrays.

    Parameters
    ----------
    state : State
        With the arrays of `tree_arrays`.
    n_numbers : int
        What is known of a candidate.
    """
    n = len(checks.array(state, "feature", "int32", (None,)))
    arrays = {
        name: checks.array(state, name, dtype, (None if name == "roots" else n,))
        for name, dtype in DTYPES.items()
    }
    checks.within(arrays["roots"], "roots", n)
    checks.within(arrays["feature"], "feature", n_numbers, low=-1)
    checks.finite(arrays["threshold"], "threshold")
    checks.finite(arrays["value"], "value")
    inside = arrays["feature"] >= 0
    own = np.arange(n)
    for side in ("left", "right"):
        checks.within(arrays[side], side, n)
        if (inside & (arrays[side] <= own)).any():
            raise StoreError(f"{side} must name a node behind its own, so that walks end")


def stored_trees(state: State) -> Trees:
    """Return checked trees."""
    from multitudes.kernels.fusion import Trees

    return Trees(*(np.ascontiguousarray(state.arrays[name]) for name in Trees._fields))
