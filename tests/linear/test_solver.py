"""Trained weights against scikit-learn, and what weights, costs and siblings must mean."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from multitudes.errors import ConfigError
from multitudes.linear import SolverConfig

from .problems import EXACT, dense_flat, problem, train_flat

LOSSES = ("squared-hinge", "hinge", "logistic")


@pytest.fixture(scope="module")
def data():
    X, Y = problem(n=80, n_features=20, n_labels=6)
    return X, Y[:, np.diff(Y.tocsc().indptr) > 0]


def sklearn_twin(loss, X, y, *, cost=1.0, bias=1.0, class_weight=None, sample_weight=None):
    """(weights, intercept) of one label."""
    given = {"C": cost, "class_weight": class_weight, "tol": 1e-8, "random_state": 0}
    given |= {"fit_intercept": bias > 0, "intercept_scaling": bias or 1.0}
    if loss == "logistic":
        model = LogisticRegression(solver="liblinear", max_iter=10_000, **given)
    else:
        model = LinearSVC(loss=loss.replace("-", "_"), dual=True, max_iter=1_000_000, **given)
    model.fit(sp.csr_matrix(X).astype(np.float64), y, sample_weight=sample_weight)
    return model.coef_[0], float(np.ravel(model.intercept_)[0])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("cost", "bias"), [(1.0, 1.0), (0.1, 1.0), (10.0, 1.0), (1.0, 0.0), (1.0, 3.0)]
)
def test_weights_agree_with_scikit_learn(data, loss, cost, bias):
    X, Y = data
    level = train_flat(X, Y, replace(EXACT, loss=loss, cost=cost, bias=bias))
    found = dense_flat(level, X.shape[1])
    for label, y in enumerate(Y.toarray().T.astype(int)):
        weights, intercept = sklearn_twin(loss, X, y, cost=cost, bias=bias)
        np.testing.assert_allclose(found[label], weights, atol=1e-3)
        assert level.bias[label] == pytest.approx(intercept, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_costs_of_positives_and_negatives_agree_with_scikit_learn(data, loss):
    X, Y = data
    solver = replace(EXACT, loss=loss, positive_weight=5.0, negative_weight=0.5)
    level = train_flat(X, Y, solver)
    for label, y in enumerate(Y.toarray().T.astype(int)):
        weights, intercept = sklearn_twin(loss, X, y, class_weight={1: 5.0, 0: 0.5})
        np.testing.assert_allclose(dense_flat(level, X.shape[1])[label], weights, atol=1e-3)
        assert level.bias[label] == pytest.approx(intercept, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_instance_weights_agree_with_scikit_learn(data, loss):
    X, Y = data
    weight = np.random.default_rng(0).random(X.shape[0]) * 3 + 0.01
    level = train_flat(X, Y, replace(EXACT, loss=loss), weight=weight)
    weights, _ = sklearn_twin(loss, X, Y.toarray()[:, 0].astype(int), sample_weight=weight)
    np.testing.assert_allclose(dense_flat(level, X.shape[1])[0], weights, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_weight_two_is_the_row_twice(data, loss):
    X, Y = data
    solver = replace(EXACT, loss=loss)
    rows = np.r_[np.arange(X.shape[0]), np.arange(0, X.shape[0], 3)]
    weight = np.bincount(rows)
    repeated, weighted = (
        train_flat(X[rows], Y[rows], solver),
        train_flat(X, Y, solver, weight=weight),
    )
    np.testing.assert_allclose(
        dense_flat(repeated, X.shape[1]), dense_flat(weighted, X.shape[1]), atol=1e-3
    )
    np.testing.assert_allclose(repeated.bias, weighted.bias, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_labels_weight_is_a_factor_on_its_cost(data, loss):
    X, Y = data
    factors = np.array([1, 2, 0.5, 4, 1, 0.1])[: Y.shape[1]]
    weighted = train_flat(X, Y, replace(EXACT, loss=loss), label_weight=factors)
    for label, factor in enumerate(factors):
        alone = train_flat(X, Y, replace(EXACT, loss=loss, cost=factor))
        np.testing.assert_allclose(
            dense_flat(weighted, X.shape[1])[label], dense_flat(alone, X.shape[1])[label], atol=1e-3
        )


# --- the objective (its duality gap: tests/kernels)


def primal(loss, w, X, y, cost):
    """1/2 |w|^2 + sum of losses; X has its constant column."""
    margins = y * (X @ w)
    losses = {
        "squared-hinge": np.maximum(0, 1 - margins) ** 2,
        "hinge": np.maximum(0, 1 - margins),
        "logistic": np.logaddexp(0, -margins),
    }
    return w @ w / 2 + cost * losses[loss].sum()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_falls_to_its_minimum_with_epsilon(data, loss):
    X, Y = data
    with_constant = np.c_[X.toarray(), np.ones(X.shape[0])].astype(np.float64)
    y = np.where(Y.toarray()[:, 0], 1.0, -1.0)
    # scikit-learn, run far beyond our tolerance
    best = np.r_[sklearn_twin(loss, X, (y > 0).astype(int))]
    minimum = primal(loss, best, with_constant, y, 1.0)
    for epsilon in (1e-1, 1e-2, 1e-3):
        level = train_flat(X, Y, replace(EXACT, loss=loss, epsilon=epsilon))
        w = np.r_[dense_flat(level, X.shape[1])[0], level.bias[0]].astype(np.float64)
        gap = primal(loss, w, with_constant, y, 1.0) - minimum
        # Each instance adds at most its cost times epsilon to the gap.
        assert -1e-6 < gap < epsilon * X.shape[0]


# --- siblings, blocks and parts


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_labels", [15, 16, 17, 33])
def test_a_label_is_the_same_among_any_number_of_siblings(loss, n_labels):
    X, Y = problem(n_labels=50)
    solver = SolverConfig(loss=loss, threshold=0)
    whole, part = train_flat(X, Y, solver), train_flat(X, Y[:, :n_labels], solver)
    np.testing.assert_array_equal(
        dense_flat(part, X.shape[1]), dense_flat(whole, X.shape[1])[:n_labels]
    )
    np.testing.assert_array_equal(part.bias, whole.bias[:n_labels])


@pytest.mark.parametrize("loss", LOSSES)
def test_converged_siblings_of_all_blocks_agree_with_themselves_alone(loss):
    X, Y = problem(n=60, n_labels=33)
    solver = replace(EXACT, loss=loss)
    together = train_flat(X, Y, solver)
    for label in (0, 15, 16, 31, 32):
        alone = train_flat(X, Y[:, [label]], solver)
        np.testing.assert_allclose(
            dense_flat(alone, X.shape[1])[0], dense_flat(together, X.shape[1])[label], atol=1e-3
        )


@pytest.mark.parametrize("loss", LOSSES)
def test_seeds_differ_only_in_the_order_of_steps(data, loss):
    X, Y = data
    loose = SolverConfig(loss=loss, threshold=0)
    first, other = (dense_flat(train_flat(X, Y, loose, random_state=s), X.shape[1]) for s in (0, 1))
    assert (first != other).any()
    exact = replace(EXACT, loss=loss)
    first, other = (dense_flat(train_flat(X, Y, exact, random_state=s), X.shape[1]) for s in (0, 1))
    np.testing.assert_allclose(first, other, atol=1e-3)


# --- what is kept


def test_weights_up_to_the_threshold_are_dropped(data):
    X, Y = data
    whole = dense_flat(train_flat(X, Y), X.shape[1])
    kept = train_flat(X, Y, replace(EXACT, threshold=0.2))
    np.testing.assert_array_equal(
        dense_flat(kept, X.shape[1]), np.where(np.abs(whole) > 0.2, whole, 0)
    )
    np.testing.assert_array_equal(kept.bias, train_flat(X, Y).bias)


@pytest.mark.parametrize("most", [1, 3, 19, 20, 1000])
def test_at_most_so_many_weights_of_each_label_the_largest(data, most):
    X, Y = data
    whole = dense_flat(train_flat(X, Y), X.shape[1])
    found = dense_flat(train_flat(X, Y, replace(EXACT, max_nonzeros=most)), X.shape[1])
    for label in range(Y.shape[1]):
        order = np.argsort(-np.abs(whole[label]), kind="stable")
        expected = np.zeros_like(whole[label])
        expected[order[:most]] = whole[label][order[:most]]
        np.testing.assert_array_equal(found[label], expected)


def test_tied_weights_never_exceed_the_most():
    X, Y = np.ones((4, 5), np.float32), np.array([[1], [0], [1], [1]], np.float32)
    assert train_flat(X, Y, replace(EXACT, max_nonzeros=2)).row_feature.size <= 2


def test_one_epoch_is_less_than_many(data):
    X, Y = data
    one = dense_flat(train_flat(X, Y, replace(EXACT, max_epochs=1)), X.shape[1])
    many = dense_flat(train_flat(X, Y), X.shape[1])
    assert np.abs(one - many).max() > 1e-3


# --- edges


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_labels_of_all_and_of_no_instances(loss, bias):
    X, _ = problem(n=20)
    Y = np.zeros((20, 2), np.float32)
    Y[:, 0] = 1
    level = train_flat(X, Y, replace(EXACT, loss=loss, bias=bias))
    margins = X @ dense_flat(level, X.shape[1]).T + level.bias
    assert (margins[:, 0] > 0).all()
    np.testing.assert_allclose(margins[:, 0], -margins[:, 1], atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_instances_without_features_teach_the_bias_alone(loss, bias):
    X, Y = np.zeros((6, 4), np.float32), np.array([[1], [0], [0], [0], [0], [0]], np.float32)
    level = train_flat(X, Y, replace(EXACT, loss=loss, bias=bias))
    assert level.row_feature.size == 0
    assert np.isfinite(level.bias).all()
    assert (level.bias < 0).all() == (bias > 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_cluster_without_instances_learns_nothing(loss):
    level = train_flat(
        sp.csr_array((0, 5), dtype=np.float32), sp.csr_array((0, 3)), replace(EXACT, loss=loss)
    )
    assert level.row_feature.size == 0
    np.testing.assert_array_equal(level.bias, np.zeros(3))


@pytest.mark.parametrize(
    ("setting", "value"),
    [("loss", "huber"), ("cost", 0), ("cost", -1.0), ("epsilon", 0), ("bias", -1),
     ("threshold", -1), ("max_epochs", 0), ("max_epochs", 1.5), ("max_nonzeros", 0),
     ("positive_weight", 0)],
)  # fmt: skip
def test_settings_out_of_range_are_refused_by_name(setting, value):
    with pytest.raises(ConfigError, match=rf"SolverConfig.{setting} must be .*{value}"):
        SolverConfig(**{setting: value})
