"""Kernels behind the senses of labels against their slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.clustering.senses import (
    own_similarities,
    sense_silhouettes,
    sense_similarities,
    shared_labels,
    telling_features,
)
from tests.kernels.twins import clustering as reference

LEAVES = [[0, 1, 2, 3], [], [2, 4, 5, 6, 7], [0, 8, 9, 10, 11]]


def problem(seed):
    """Dense X (40, 30) and Y (40, 12); label 3 has no instance, instance 5 neither words nor label.

    Values are small whole numbers, so that ties are real ones.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 4, (40, 30)) * (rng.random((40, 30)) < 0.2).astype(float)
    Y = (rng.random((40, 12)) < 0.2).astype(float)
    Y[:, 3] = X[5] = Y[5] = 0
    return X, Y


def rows(matrix):
    csr = sp.csr_array(matrix.astype(np.float32))
    return csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data


def starts(parts):
    return np.cumsum([0, *map(len, parts)]).astype(np.int64)


def joined(parts):
    return np.array([item for part in parts for item in part], np.int32)


def similarities(X, Y, leaves):
    label_start, instances, _ = rows(Y.T)
    slots = joined(leaves)
    start = np.concatenate([[0], np.cumsum(np.diff(label_start)[slots])])
    total, out = np.zeros(X.shape[1]), np.full(start[-1], np.nan, np.float32)
    own = np.full(len(instances), np.nan)
    own_similarities(*rows(X), label_start, instances, total, own)
    assert not total.any()
    times, members = np.zeros(len(X), np.int32), np.full(len(X), -1, np.int32)
    sense_similarities(
        *rows(X), label_start, instances, own, starts(leaves), slots, start,
        total, times, members, np.full(len(X), np.nan), out,
    )  # fmt: skip
    assert not total.any()
    assert not times.any()
    return np.split(out, start[1:-1])


def similarities_by_twin(X, Y, leaves):
    leaf_of_slot = np.repeat(np.arange(len(leaves)), [len(leaf) for leaf in leaves])
    return reference.sense_similarities(X, Y, leaf_of_slot, joined(leaves))


@pytest.mark.parametrize("seed", range(5))
def test_similarities_equal_their_twin(seed):
    X, Y = problem(seed)
    expected = similarities_by_twin(X, Y, LEAVES)
    for mine, twin in zip(similarities(X, Y, LEAVES), expected, strict=True):
        np.testing.assert_allclose(mine, twin, atol=1e-5)


def test_a_label_alone_in_its_leaf_resembles_nothing():
    rng = np.random.default_rng(0)
    alone, other = similarities(rng.random((6, 4)), np.ones((6, 2)), [[0], [1]])
    assert not alone.any()
    assert not other.any()


def test_similarities_of_values_that_cancel():
    X = np.array([[0.0, 0.0], [1.0, -2.0], [0.5, 0.0]])
    Y = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    expected = similarities_by_twin(X, Y, [[0, 1]])
    for mine, twin in zip(similarities(X, Y, [[0, 1]]), expected, strict=True):
        np.testing.assert_allclose(mine, twin, atol=1e-6)


def telling(X, users, weights, n_kept):
    row_start, children, values = rows(weights.T)
    filled = np.flatnonzero(np.diff(row_start)).astype(np.int32)
    total = np.zeros(X.shape[1])
    features = np.full((len(users), n_kept), 99, np.int32)
    carried = np.full((len(users), n_kept), np.nan, np.float32)
    telling_features(
        *rows(X), starts(users), joined(users), filled, row_start[[*filled, len(row_start) - 1]],
        children.astype(np.uint32), values, total, features, carried,
    )  # fmt: skip
    assert not total.any()
    return features, carried


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_kept", [1, 4, 40])
def test_telling_features_equal_their_twin(seed, n_kept):
    X, _ = problem(seed)
    rng = np.random.default_rng(seed)
    weights = rng.integers(-1, 3, (6, 30)) * (rng.random((6, 30)) < 0.5)
    users = [[0, 1, 2], [], [5], [7], [7], list(range(20, 40))]
    features, carried = telling(X, users, weights, n_kept)
    expected, expected_carried = reference.telling_features(X, users, weights, n_kept)
    np.testing.assert_allclose(carried, expected_carried, atol=1e-6)
    np.testing.assert_array_equal(features, expected)


def test_a_leaf_without_weights_tells_nothing():
    X, _ = problem(0)
    features, carried = telling(X, [[0, 1]], np.zeros((1, 30)), 3)
    assert features.tolist() == [[-1, -1, -1]]
    assert carried.tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_kept", [1, 3, 10])
def test_shared_labels_equal_their_twin(seed, n_kept):
    _, Y = problem(seed)
    rng = np.random.default_rng(seed)
    users = [np.flatnonzero((Y[:, label] > 0) & (rng.random(40) < 0.6)) for label in joined(LEAVES)]
    counts = np.zeros(12, np.int32)
    nearest = np.full((len(users), n_kept), 99, np.int32)
    shared_labels(
        *rows(Y)[:2], Y.sum(axis=0).astype(np.int64), starts(LEAVES), joined(LEAVES),
        starts(users), joined(users), counts, nearest,
    )  # fmt: skip
    assert not counts.any()
    np.testing.assert_array_equal(nearest, reference.shared_labels(Y, LEAVES, users, n_kept))


@pytest.mark.parametrize("seed", range(5))
def test_silhouettes_equal_their_twin(seed):
    """Labels of one to four slots; a slot of nobody, of one, and an instance without words."""
    rng = np.random.default_rng(seed)
    X, _ = problem(seed)
    slot_labels = np.array([0, 1, 0, 2, 0, 1, 3, 0, 3])
    users = [rng.choice(40, n, replace=False).tolist() for n in (6, 5, 1, 7, 4, 0, 9, 2, 8)]
    users[0] = sorted({*users[0], 5})
    order = np.argsort(slot_labels, kind="stable")
    label_slot = np.cumsum([0, *np.bincount(slot_labels)]).astype(np.int64)
    norms = np.linalg.norm(X, axis=1)
    scale = np.where(norms > 0, 1 / np.maximum(norms, 1e-9), 0).astype(np.float32)
    total, own, other = np.zeros(30), np.zeros(40), np.zeros(40)
    mean = np.full(9, np.nan, np.float32)
    sense_silhouettes(
        *rows(X), scale, label_slot, order, starts(users), joined(users),
        total, own, other, mean,
    )  # fmt: skip
    assert not total.any()
    expected = reference.sense_silhouettes(X, slot_labels, users)
    np.testing.assert_allclose(mean, expected, atol=1e-5)
    assert mean[3] == 0  # the only slot of its label
    assert (np.abs(mean[[0, 6, 8]]) > 0).all()
