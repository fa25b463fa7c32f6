"""Split a Dataset in two, or into folds: at random, by group, or without losing a label.

Three ways, chosen with ``by``:

random
    Each instance by itself.
group
    No group is in both parts. An instance may be in several groups, which ties these groups
    together: what moves is a connected component of instances and groups. An instance without a
    group moves by itself.
label-aware
    No label loses its last training instance, so every label that can be tested was trained.

Parts keep the order of the Dataset. The same seed gives the same split.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from multitudes.data.dataset import Dataset
from multitudes.errors import ConfigError, DataError, suggestion
from multitudes.types import IntArray
from multitudes.validation import checked_count

WAYS = ("random", "group", "label-aware")


def split(
    dataset: Dataset,
    *,
    test_size: float | int = 0.2,
    by: str = "random",
    fill: bool = False,
    random_state: int = 0,
) -> tuple[Dataset, Dataset]:
    """Split into a training and a test part.

    Parameters
    ----------
    test_size : float or int
        A share of the instances, between 0 and 1, or a number of them. By group and label-aware,
        the test part may be smaller: it holds whole components, or what the labels can spare. It
        is larger only if even the smallest component is.
    by : {"random", "group", "label-aware"}
        Each instance by itself; no group in both parts; or no label without training instances.
    fill : bool
        If labels can spare too few instances for `test_size`, take others too: label-aware as far
        as possible.
    random_state : int
        Same seed, same split.

    Returns
    -------
    train, test : Dataset
        Both over the whole label space; neither is empty.
    """
    n_test = _n_test(len(dataset), test_size)
    order = _generator(random_state, by)
    if by == "group":
        test = _whole_components(_components(dataset), n_test, order)
    elif by == "label-aware":
        candidates = order.permutation(len(dataset))
        test = _spare(dataset, candidates, n_test)
        if fill:
            others = candidates[~np.isin(candidates, test)]
            test = np.concatenate([test, others[: n_test - len(test)]])
        _check_spared(len(test))
    else:
        test = order.permutation(len(dataset))[:n_test]
    return _parts(dataset, test)


def k_fold(
    dataset: Dataset, n_folds: int = 5, *, by: str = "random", random_state: int = 0
) -> Iterator[tuple[Dataset, Dataset]]:
    """Yield `n_folds` pairs of a training and a test part.

    Every instance is in the test part of exactly one fold; label-aware, of at most one: what a
    label cannot spare stays in the training parts. By group the folds are as even as whole
    components allow.

    Parameters
    ----------
    n_folds : int
        At least 2, and no more than there are instances (by group: components).
    by : {"random", "group", "label-aware"}
        As for `split`.
    random_state : int
        Same seed, same folds.
    """
    order = _generator(random_state, by)
    n = len(dataset)
    if by == "group":
        components = _components(dataset)
        _check_n_folds(n_folds, int(components.max(initial=-1)) + 1, "connected groups")
        fold_of = _even_folds(components, n_folds, order)
        folds = [np.flatnonzero(fold_of == fold) for fold in range(n_folds)]
    else:
        _check_n_folds(n_folds, n, "instances")
        folds = np.array_split(order.permutation(n), n_folds)
    if by == "label-aware":
        folds = [_spare(dataset, fold, len(fold)) for fold in folds]
        _check_spared(min(len(fold) for fold in folds))
    return (_parts(dataset, fold) for fold in folds)


def _generator(random_state: int, by: str) -> np.random.Generator:
    if by not in WAYS:
        raise ConfigError(f"cannot split by={by!r}: {suggestion(str(by), WAYS)}")
    return np.random.default_rng(checked_count(random_state, "random_state", at_least=0))


def _n_test(n: int, test_size: float | int) -> int:
    """Return how many instances to test, leaving at least one on either side."""
    if n < 2:
        raise DataError(f"a split needs at least 2 instances, got {n}")
    is_count = isinstance(test_size, (int, np.integer)) and not isinstance(test_size, bool)
    if is_count and 1 <= test_size < n:
        return int(test_size)
    if isinstance(test_size, (float, np.floating)) and 0 < test_size < 1:
        return min(max(round(float(test_size) * n), 1), n - 1)
    raise ConfigError(
        f"test_size must be a share between 0 and 1, or a count from 1 to {n - 1:,} "
        f"(one less than the instances), got {test_size!r}"
    )


def _check_n_folds(n_folds: int, n_parts: int, what: str) -> None:
    if checked_count(n_folds, "n_folds", at_least=2) > n_parts:
        raise ConfigError(
            f"n_folds must be <= {n_parts:,}, the number of {what}, got {n_folds}: lower it"
        )


def _check_spared(n_spared: int) -> None:
    if n_spared == 0:
        raise DataError(
            "a label-aware test part is empty: too few instances have only labels that others "
            "have as well; split by='random', use fewer folds, or drop rare labels first"
        )


def _parts(dataset: Dataset, test: IntArray) -> tuple[Dataset, Dataset]:
    is_test = np.zeros(len(dataset), bool)
    is_test[test] = True
    return dataset.take(~is_test), dataset.take(is_test)


def _components(dataset: Dataset) -> IntArray:
    """Return the component (n_instances,) of each instance, numbered by first appearance."""
    if dataset.groups is None:
        raise DataError(
            "this Dataset has no groups, so it cannot be split by='group': split by='random', or "
            "read a file with a group field"
        )
    from scipy.sparse.csgraph import connected_components  # slow to import

    links = dataset.groups.tocoo()
    linked = links.data != 0
    n, n_groups = links.shape
    edges = sp.csr_array(
        (
            np.ones(int(linked.sum()), np.int8),
            (links.coords[0][linked], links.coords[1][linked] + n),
        ),
        shape=(n + n_groups, n + n_groups),
    )
    component = connected_components(edges, directed=False)[1][:n]
    return np.unique(component, return_inverse=True)[1].astype(np.int64)


def _whole_components(components: IntArray, n_test: int, order: np.random.Generator) -> IntArray:
    """Return the instances of random components that together hold at most `n_test`."""
    sizes = np.bincount(components)
    if len(sizes) < 2:
        raise DataError(
            f"all {len(components):,} instances are connected through shared groups: no split by "
            "group leaves both parts something; split by='random', or remove the largest groups"
        )
    chosen, room = np.zeros(len(sizes), bool), n_test
    for component in order.permutation(len(sizes)):
        if sizes[component] <= room:
            chosen[component] = True
            room -= sizes[component]
    if not chosen.any():
        chosen[np.argmin(sizes)] = True
    return np.flatnonzero(chosen[components])


def _even_folds(components: IntArray, n_folds: int, order: np.random.Generator) -> IntArray:
    """Return the fold (n_instances,) of each instance: largest components to the emptiest fold."""
    sizes = np.bincount(components)
    shuffled = order.permutation(len(sizes))
    fold_of = np.empty(len(sizes), np.int64)
    filled = np.zeros(n_folds, np.int64)
    for component in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold = int(np.argmin(filled))
        fold_of[component] = fold
        filled[fold] += sizes[component]
    return fold_of[components]


def _spare(dataset: Dataset, candidates: IntArray, n_wanted: int) -> IntArray:
    """Return up to `n_wanted` of the candidates, in order, whose labels all keep an instance."""
    Y = dataset.Y
    if not Y.data.all():
        Y = Y.copy()
        Y.eliminate_zeros()
    left = np.bincount(Y.indices, minlength=dataset.n_labels)
    # An instance that is the only one of a label can never go, so most need no look at all.
    rows = np.repeat(np.arange(len(dataset)), np.diff(Y.indptr))
    is_bound = np.bincount(rows[left[Y.indices] < 2], minlength=len(dataset)) > 0
    taken: list[int] = []
    for instance in candidates[~is_bound[candidates]].tolist():
        if len(taken) == n_wanted:
            break
        labels = Y.indices[Y.indptr[instance] : Y.indptr[instance + 1]]
        if (left[labels] > 1).all():
            left[labels] -= 1
            taken.append(instance)
    return np.array(taken, np.int64)
