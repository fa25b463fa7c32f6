"""F1 of sets of listed labels, as the rules are tuned for it."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError, NotFittedError
from multitudes.scores.outcomes import Mask, Outcomes
from multitudes.store import State, checks
from multitudes.types import IntArray

Metric = Literal["micro", "example"]
N_FOLDS = 5


def check_aim(metric: str, min_size: int) -> None:
    """Refuse any but the two averages of F1, and a smallest size that is not a count."""
    if isinstance(min_size, bool) or not isinstance(min_size, (int, np.integer)) or min_size < 0:
        raise ConfigError(f"min_size must be a whole number >= 0, got {min_size!r}")
    if metric not in get_args(Metric):
        raise ConfigError(f"metric must be one of {list(get_args(Metric))}, got {metric!r}")


def check_stored_aim(state: State) -> None:
    """Check the metric and the smallest size of a stored rule."""
    checks.choice(state, "metric", get_args(Metric))
    checks.count(state, "min_size")


def check_fitted(rule: object, learned: str) -> None:
    """Refuse a rule without the attribute that `fit` gives it."""
    if not hasattr(rule, learned):
        raise NotFittedError("this rule has not been fitted: call fit first")


def f1_of(taken: Mask, found: Outcomes, metric: Metric) -> float:
    """F1 of taking some places (n_instances, top_k).

    Parameters
    ----------
    metric : "micro" or "example"
        Over all (instance, label) pairs, or the mean over instances; an instance that neither has
        nor gets a label counts 0, as in `multitudes.metrics.set_scores`.
    """
    hits = 2.0 * (taken & found.is_true).sum(axis=1)
    sizes = taken.sum(axis=1) + found.n_true
    if metric == "micro":
        return float(hits.sum() / max(sizes.sum(), 1))
    return float(np.mean(hits / np.maximum(sizes, 1)))


def best_threshold(
    scores: npt.NDArray[np.floating[Any]],
    found: Outcomes,
    metric: Metric,
    *,
    min_size: int = 0,
    slack: float = 0.0,
) -> np.float64:
    """Return the score above which taking all labels, of all instances, has the largest F1.

    Parameters
    ----------
    scores : float array (n_instances, top_k)
        Falling in each row; at least one is listed.
    min_size : int
        The best labels of each instance that are taken in any case.
    slack : float
        F1 that may be lost for a higher threshold.

    Returns
    -------
    float64
        Half-way to the next lower score; of equal thresholds the highest.
    """
    forced = np.arange(scores.shape[1]) < min_size
    listed = np.where(forced, np.inf, scores.astype(np.float64))[found.is_listed]
    order = np.argsort(-listed, kind="stable")
    falling = listed[order]
    values = _f1_by_size(found, order, metric)
    is_last = np.append(falling[1:] < falling[:-1], True)  # equal scores are taken together
    values = np.where(is_last, values, -1.0)
    best = int(np.argmax(values >= values.max() - slack))
    if np.isinf(falling[best]):  # none but the forced ones
        below = falling[best + 1] if best + 1 < len(falling) else scores[found.is_listed].max()
        return np.float64(np.nextafter(np.float64(below), np.inf))
    lower = falling[best + 1] if best + 1 < len(falling) else falling[best]
    return np.float64((falling[best] + lower) / 2)


def _f1_by_size(found: Outcomes, order: IntArray, metric: Metric) -> npt.NDArray[np.float64]:
    """F1 (n_pairs,) of taking the first 1, 2, ... of the listed pairs in an order."""
    if metric == "micro":
        so_far = np.cumsum(found.is_true[found.is_listed][order])
        sizes = np.arange(1, len(order) + 1) + found.n_true.sum()
        return np.asarray(2 * so_far / sizes, np.float64)
    # Each pair adds what its instance's F1 gains when it is taken after those ranked before it.
    hits = 2.0 * np.cumsum(found.is_true, axis=1)
    taken = np.cumsum(found.is_listed, axis=1)
    f1 = hits / np.maximum(taken + found.n_true[:, None], 1)
    gains = np.diff(f1, axis=1, prepend=0.0)
    return np.asarray(np.cumsum(gains[found.is_listed][order]) / len(found), np.float64)


def folds(n_instances: int) -> list[tuple[IntArray, IntArray]]:
    """(rows to learn from, rows to check on), so that every row is checked on once."""
    order = np.random.default_rng(0).permutation(n_instances)
    parts = np.array_split(order, min(N_FOLDS, n_instances))
    return [(np.setdiff1d(order, part), np.sort(part)) for part in parts]
