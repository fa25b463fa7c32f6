"""Gathering a cluster's instances and solving its siblings, against one slow label at a time."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.lanes import NARROW, WIDE
from multitudes.kernels.solver import dual_descent
from multitudes.kernels.solver.clusters import prepare_rows
from tests.kernels.twins import trees as reference

SEED = 0x9E3779B97F4A7C15


def matrix(n_rows, n_features, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) * (rng.random((n_rows, n_features)) < density)
    return X.astype(np.float32)


def csr(X):
    X = sp.csr_array(X)
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32)


def twice(X):
    return np.concatenate([X, X])


MATRICES = {
    "random": matrix(30, 12),
    "one row": matrix(1, 5, density=0.9),
    "no row": np.zeros((0, 4), np.float32),
    "empty rows": np.concatenate([matrix(6, 4), np.zeros((3, 4), np.float32)]),
    "nothing": np.zeros((5, 4), np.float32),
    "duplicates": twice(matrix(10, 6, seed=1)),
    "all the same": np.tile(matrix(1, 6, seed=2, density=0.9), (12, 1)),
    "one feature": matrix(9, 1, density=1),
}


@pytest.fixture(name="X", params=MATRICES, ids=lambda name: name.replace(" ", "-"))
def matrix_fixture(request):
    return MATRICES[request.param]


@pytest.mark.parametrize("count", [0, 1, 2, 17, 200])
def test_shuffle_is_the_twins(count):
    order = np.arange(count + 3, dtype=np.int32)
    state = dual_descent.shuffle(order, count, np.uint64(SEED))
    expected, expected_state = reference.shuffle(list(range(count)), SEED)
    assert order.tolist() == [*expected, count, count + 1, count + 2]
    assert int(state) == expected_state


def test_shuffle_reaches_every_order_about_equally_often():
    state, seen = np.uint64(SEED), {}
    for _ in range(2400):
        order = np.arange(4, dtype=np.int32)
        state = np.uint64(dual_descent.shuffle(order, 4, state))
        seen[tuple(order)] = seen.get(tuple(order), 0) + 1
    assert len(seen) == 24
    # 100 expected of each, with a standard deviation of 10
    assert min(seen.values()) > 50
    assert max(seen.values()) < 150


@pytest.mark.parametrize("which", ["all", "some", "none", "twice"])
@pytest.mark.parametrize("apart", [True, False])
def test_gather_renumbers_features(X, which, apart):
    n = len(X)
    rows = {"all": range(n), "some": range(1, n, 2), "none": [], "twice": [*range(n)] * 2}[which]
    rows = np.array(rows, np.int32)
    indptr, indices, data = csr(X)
    local_of = np.full(X.shape[1], -1, np.int32)
    feature_of = np.full(X.shape[1], -9, np.int32)
    begin, middle, finish = (np.full(len(rows), -1, np.int64) for _ in range(3))
    room = 2 * len(data)
    local, value = np.full(room, -1, np.int32), np.full(room, np.nan, np.float32)
    n_local = dual_descent.gather(
        indptr, indices, data, rows, apart, local_of, feature_of, begin, middle, finish,
        local, value,
    )  # fmt: skip
    features, expected, n_shared = reference.gather(X, rows, apart=apart)
    assert feature_of[:n_local].tolist() == features
    for r in range(len(rows)):
        assert (local[begin[r] : middle[r]] < n_shared).all()
        assert (local[middle[r] : finish[r]] >= n_shared).all()
    dense = np.zeros((len(rows), n_local), np.float32)
    for r in range(len(rows)):
        dense[r, local[begin[r] : finish[r]]] = value[begin[r] : finish[r]]
    np.testing.assert_array_equal(dense, expected)
    dual_descent.forget(local_of, feature_of, n_local)
    assert (local_of == -1).all()


@pytest.mark.parametrize(("gathered", "apart"), [(True, True), (True, False), (False, True)])
def test_prepared_rows_are_the_instances(X, gathered, apart):
    rows = np.arange(0, len(X), 2, dtype=np.int32)
    indptr, indices, data = csr(X)
    rng = np.random.default_rng(0)
    x_square, weight = rng.random((2, len(X)), dtype=np.float32)
    local_of = np.full(X.shape[1], -1, np.int32)
    feature_of = np.empty(X.shape[1], np.int32)
    local, value = np.empty(len(data), np.int32), np.empty(len(data), np.float32)
    begin, middle, finish = (np.empty(len(rows), np.int64) for _ in range(3))
    alone, square, own = (np.empty(len(rows), np.float32) for _ in range(3))
    n_local = prepare_rows(
        indptr, indices, data, x_square, weight, rows, gathered, apart, local_of, feature_of,
        local, value, begin, middle, finish, alone, square, own,
    )  # fmt: skip
    local, value = (local, value) if gathered else (indices, data)
    dense = np.zeros((len(rows), X.shape[1]), np.float32)
    for r in range(len(rows)):
        entries = slice(begin[r], finish[r])
        dense[r, feature_of[:n_local][local[entries]]] = value[entries]
    np.testing.assert_array_equal(dense, X[rows])
    single = (X[rows] != 0).sum(axis=0) == int(gathered and apart)
    np.testing.assert_allclose(alone, (X[rows][:, single] ** 2).sum(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(square, x_square[rows])
    np.testing.assert_array_equal(own, weight[rows])
    assert (local_of == -1).all()


@pytest.mark.parametrize(("first", "count"), [(0, 16), (0, 3), (5, 16), (16, 1), (3, 33), (0, 40)])
@pytest.mark.parametrize("width", [4, 16])
def test_positives_are_the_bits_of_the_mask(first, count, width):
    rng = np.random.default_rng(0)
    Y = rng.random((40, 40)) < 0.2
    Y[3], Y[4] = True, False
    carried = [np.flatnonzero(row).tolist() for row in Y]
    rows = rng.integers(0, 40, 25).astype(np.int32)
    indptr, indices, _ = csr(Y)
    mask = np.full((-(-count // width), len(rows)), -1, np.int32)
    dual_descent.positives(indptr, indices, rows, first, count, width, mask)
    for block, own in enumerate(mask):
        in_block = min(width, count - block * width)
        start = first + block * width
        assert own.tolist() == reference.positives(carried, rows, start, in_block)


# --- the solver


def solve(
    X,
    Y,
    *,
    cost=(1.0, 1.0),
    weight=None,
    squared=True,
    bias=1.0,
    epsilon=1e-3,
    epochs=50,
    wide=False,
    apart=False,
):
    """Weights (n_labels, n_features + 1), alpha (n_rows, n_labels) and epochs, by the kernel."""
    n, n_features = X.shape
    n_labels = Y.shape[1]
    indptr, indices, data = csr(X)
    weight = np.ones(n, np.float32) if weight is None else weight.astype(np.float32)
    mask = (Y * (1 << np.arange(n_labels))).sum(axis=1).astype(np.int32)
    lanes = WIDE if n_labels > len(NARROW) or wide else NARROW
    width = len(lanes)
    w = np.zeros((n_features + 1) * width, np.float32)
    begin, finish, middle = indptr[:-1].copy(), indptr[1:].copy(), indptr[1:].copy()
    alone = np.zeros(n, np.float32)
    if apart:
        indices, data = put_last(X, indptr, indices, data, middle, alone)
    alpha = np.zeros(n * width, np.float32)
    yes, no = (np.full(width, c, np.float32) for c in cost)
    done = dual_descent.solve_lanes(
        begin, finish, indices, data,
        (X**2).sum(axis=1) + np.float32(bias**2), weight, mask, yes, no,
        squared, np.float32(bias), np.float32(epsilon), epochs, np.int32((1 << n_labels) - 1),
        np.uint64(SEED), n_features, w, alpha, np.empty(n, np.int32), middle, alone,
        lanes,
    )  # fmt: skip
    w = w.reshape(-1, width).T
    assert not w[n_labels:].any()  # lanes without a label stay zero
    return w[:n_labels], alpha.reshape(n, width)[:, :n_labels], done


def put_last(X, indptr, indices, data, middle, alone):
    """Each row's entries with those of features that no other row has at its end."""
    single = ((X != 0).sum(axis=0) == 1)[indices]
    row = np.repeat(np.arange(len(X)), np.diff(indptr))
    np.subtract.at(middle, row, single)
    np.add.at(alone, row, np.where(single, data**2, 0))
    order = np.lexsort((single, row))
    return indices[order], data[order]


def twins(X, Y, *, cost=(1.0, 1.0), weight=None, squared=True, bias=1.0, epsilon=1e-3, epochs=50):
    """The same, label by label."""
    with_constant = np.c_[X, np.full(len(X), bias)].astype(np.float64)
    weight = np.ones(len(X)) if weight is None else weight
    solved = []
    options = {"squared": squared, "epsilon": epsilon, "max_epochs": epochs, "state": SEED}
    for k in range(Y.shape[1]):
        y, costs = np.where(Y[:, k], 1.0, -1.0), np.where(Y[:, k], *cost) * weight
        solved.append(reference.solve_hinge(with_constant, y, costs, **options))
    alpha = np.array([s.alpha for s in solved]).T
    return np.array([s.w for s in solved]), alpha, max(s.epochs for s in solved)


def labels_of(X, n_labels=5, seed=0):
    Y = np.random.default_rng(seed).random((len(X), n_labels)) < 0.3
    Y[:, 0], Y[:, 1] = True, False  # a label of all and one of none
    return Y


SETTINGS = {
    "squared hinge": {},
    "hinge": {"squared": False},
    "no bias": {"bias": 0.0},
    "hinge without bias": {"squared": False, "bias": 0.0},
    "large bias": {"bias": 3.0},
    "unequal costs": {"cost": (4.0, 0.5)},
    "hinge with unequal costs": {"cost": (4.0, 0.5), "squared": False},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("epochs", [1, 3])
def test_each_epoch_is_the_twins(X, name, epochs):
    Y = labels_of(X)
    settings = {**SETTINGS[name], "epochs": epochs if len(X) else 0, "epsilon": 1e-4}
    w, alpha, done = solve(X, Y, **settings)
    expected_w, expected_alpha, expected_done = twins(X, Y, **settings)
    np.testing.assert_allclose(w, expected_w, atol=1e-4)
    np.testing.assert_allclose(alpha, expected_alpha, atol=1e-4)
    assert done == expected_done


@pytest.mark.parametrize("squared", [True, False])
def test_lanes_stop_when_their_own_twin_does(squared):
    X = MATRICES["random"]
    Y = labels_of(X, n_labels=16)
    w, alpha, done = solve(X, Y, squared=squared, epsilon=0.05, epochs=500)
    expected_w, expected_alpha, expected_done = twins(
        X, Y, squared=squared, epsilon=0.05, epochs=500
    )
    np.testing.assert_allclose(w, expected_w, atol=1e-4)
    np.testing.assert_allclose(alpha, expected_alpha, atol=1e-4)
    assert done == expected_done


@pytest.mark.parametrize("n_rows", [1, 2, 3, 20])
def test_fetching_ahead_changes_nothing(n_rows):
    """Problems with this many features fetch the weights of rows to come."""
    X = matrix(n_rows, dual_descent.PREFETCH_FROM // (4 * len(WIDE)), density=0.001)
    Y = labels_of(X)
    np.testing.assert_allclose(solve(X, Y, epochs=3)[0], twins(X, Y, epochs=3)[0], atol=1e-4)


def duality_gap(X, y, w, alpha, cost, *, squared, bias):
    """Primal of w minus dual of alpha, in float64."""
    X = np.c_[X, np.full(len(X), bias)].astype(np.float64)
    w, alpha = w.astype(np.float64), alpha.astype(np.float64)
    slack = np.maximum(0, 1 - y * (X @ w))
    losses = cost * (slack**2 if squared else slack)
    of_alpha = (alpha * y) @ X
    ridge = alpha**2 / (4 * cost) if squared else 0 * alpha
    return w @ w / 2 + losses.sum() - (alpha.sum() - of_alpha @ of_alpha / 2 - ridge.sum())


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", [1e-1, 1e-2, 1e-3, 1e-4])
def test_the_duality_gap_falls_below_epsilon_per_instance(squared, bias, epsilon):
    X, cost = matrix(200, 12, seed=5), 0.5
    Y = labels_of(X)
    w, alpha, _ = solve(
        X, Y, cost=(cost, cost), squared=squared, bias=bias, epsilon=epsilon, epochs=10_000
    )
    for k in range(Y.shape[1]):
        y = np.where(Y[:, k], 1.0, -1.0)
        gap = duality_gap(X, y, w[k], alpha[:, k], cost, squared=squared, bias=bias)
        assert -1e-4 < gap < epsilon * len(X)


def test_instance_weights_scale_the_cost():
    X = MATRICES["random"]
    weight = np.random.default_rng(3).random(len(X)) + 0.1
    given = {"weight": weight, "epochs": 5, "cost": (2.0, 1.0)}
    np.testing.assert_allclose(
        solve(X, labels_of(X), **given)[0], twins(X, labels_of(X), **given)[0], atol=1e-4
    )


def test_a_label_does_not_depend_on_its_siblings():
    X = MATRICES["random"]
    Y = labels_of(X, n_labels=16)
    together = solve(X, Y, epsilon=0.1)[0]
    for k in (0, 1, 7, 15):
        alone = solve(X, Y[:, [k]], epsilon=0.1)[0]
        np.testing.assert_array_equal(alone[0], together[k])


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("wide", [True, False])
def test_features_of_a_single_row_get_the_weights_they_had_in_place(squared, wide):
    X = np.concatenate([MATRICES["random"], np.zeros((30, 20), np.float32)], axis=1)
    X[range(20), range(12, 32)] = 1.5
    X[0, 13] = X[1, 13]  # not of a single row any more
    Y = labels_of(X, n_labels=4)
    settings = {"squared": squared, "wide": wide, "epochs": 20}
    apart, in_place = solve(X, Y, apart=True, **settings), solve(X, Y, **settings)
    np.testing.assert_allclose(apart[0], in_place[0], atol=1e-5)
    np.testing.assert_allclose(apart[1], in_place[1], atol=1e-5)


def test_no_rows_no_weights():
    w, _, epochs = solve(MATRICES["no row"], np.zeros((0, 3), bool))
    assert epochs == 1
    assert not w.any()


def test_four_lanes_do_what_sixteen_do():
    X = np.random.default_rng(4).standard_normal((30, 6)).astype(np.float32)
    Y = labels_of(X, n_labels=4)
    narrow, wide = (solve(X, Y, wide=wide) for wide in (False, True))
    for left, right in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(left, right)
