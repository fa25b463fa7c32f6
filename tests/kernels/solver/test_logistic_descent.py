"""The logistic solver against exact steps, one label at a time."""

import math

import numpy as np
import pytest

from multitudes.kernels.lanes import LANES
from multitudes.kernels.solver import logistic_descent
from tests.kernels.twins import trees as reference

from .test_dual_descent import MATRICES, SEED, csr, labels_of, matrix


def solve(X, Y, *, cost=(1.0, 1.0), weight=None, bias=1.0, epsilon=1e-5, epochs=1000):
    """Weights (n_labels, n_features + 1), alpha (n_rows, n_labels) and epochs, by the kernel."""
    n, n_features = X.shape
    n_labels = Y.shape[1]
    indptr, indices, data = csr(X)
    weight = np.ones(n, np.float32) if weight is None else weight.astype(np.float32)
    mask = (Y * (1 << np.arange(n_labels))).sum(axis=1).astype(np.int32)
    w = np.zeros((n_features + 1) * LANES, np.float32)
    alpha = np.zeros(n * LANES, np.float32)
    yes, no = (np.full(LANES, c, np.float32) for c in cost)
    done = logistic_descent.solve_logistic_lanes(
        indptr[:-1].copy(), indptr[1:].copy(), indices, data,
        (X**2).sum(axis=1) + np.float32(bias**2), weight, mask, yes, no,
        np.float32(bias), np.float32(epsilon), epochs, np.int32((1 << n_labels) - 1),
        np.uint64(SEED), n_features, w, alpha, np.empty(n, np.int32),
    )  # fmt: skip
    return w.reshape(-1, LANES).T[:n_labels], alpha.reshape(n, LANES)[:, :n_labels], done


def twins(X, Y, *, cost=(1.0, 1.0), weight=None, bias=1.0, epochs=150):
    """The same at convergence, label by label."""
    with_constant = np.c_[X, np.full(len(X), bias)].astype(np.float64)
    weight = np.ones(len(X)) if weight is None else weight
    solved = []
    for k in range(Y.shape[1]):
        y, costs = np.where(Y[:, k], 1.0, -1.0), np.where(Y[:, k], *cost) * weight
        solved.append(reference.solve_logistic(with_constant, y, costs, epochs=epochs))
    return np.array([s.w for s in solved]), np.array([s.alpha for s in solved]).T


@pytest.mark.parametrize("alpha", [1e-8, 0.3, 0.999])
@pytest.mark.parametrize("square", [0.0, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("margin", [-30.0, -2.0, 0.0, 0.5, 30.0])
def test_one_step_is_exact(alpha, square, margin):
    cost = 1.0
    found, _ = logistic_descent.newton_step(alpha, cost, square, margin, 1e-12)
    expected = reference.logistic_step(alpha, cost, square, margin)
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("bound", [0.0, 1.0])
@pytest.mark.parametrize("margin", [-40.0, 0.0, 40.0])
def test_a_step_from_the_bound_comes_back_inside(bound, margin):
    found, gradient = logistic_descent.newton_step(bound, 1.0, 2.0, margin, 1e-10)
    assert math.isfinite(gradient)
    expected = reference.logistic_step(bound, 1.0, 2.0, margin)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["random", "one row", "empty rows", "duplicates", "all the same"])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_solution_is_the_twins(name, bias):
    X = MATRICES[name]
    Y = labels_of(X, n_labels=3)[:, 1:]
    w, alpha, _ = solve(X, Y, bias=bias)
    expected_w, expected_alpha = twins(X, Y, bias=bias)
    np.testing.assert_allclose(w, expected_w, atol=1e-4)
    np.testing.assert_allclose(alpha, expected_alpha, atol=1e-4)


@pytest.mark.parametrize("epsilon", [1e-1, 1e-2, 1e-3, 1e-4])
def test_the_duality_gap_falls_below_epsilon_per_instance(epsilon):
    X, cost = matrix(200, 12, seed=5), 0.5
    Y = labels_of(X)
    found = solve(X, Y, cost=(cost, cost), epsilon=epsilon, epochs=10_000)
    with_constant = np.c_[X, np.ones(len(X))].astype(np.float64)
    for k in range(Y.shape[1]):
        w, alpha = found[0][k].astype(np.float64), found[1][:, k].astype(np.float64)
        y = np.where(Y[:, k], 1.0, -1.0)
        primal = w @ w / 2 + cost * np.logaddexp(0, -y * (with_constant @ w)).sum()
        of_alpha = (alpha * y) @ with_constant
        entropy = alpha * np.log(alpha) + (cost - alpha) * np.log(cost - alpha)
        dual = -(of_alpha @ of_alpha / 2 + entropy.sum() - len(X) * cost * np.log(cost))
        assert -1e-4 < primal - dual < epsilon * len(X)


def test_costs_and_instance_weights():
    X = MATRICES["random"]
    Y = labels_of(X, n_labels=3)
    given = {"cost": (3.0, 0.25), "weight": np.random.default_rng(0).random(len(X)) + 0.1}
    np.testing.assert_allclose(solve(X, Y, **given)[0], twins(X, Y, **given)[0], atol=1e-4)


def test_a_label_does_not_depend_on_its_siblings():
    X = MATRICES["random"]
    Y = labels_of(X, n_labels=16)
    together = solve(X, Y, epsilon=0.1)[0]
    for k in (0, 1, 7, 15):
        np.testing.assert_array_equal(solve(X, Y[:, [k]], epsilon=0.1)[0][0], together[k])


def test_an_instance_far_on_the_wrong_side_ends_too():
    """Its variable comes so close to the bound that float32 cannot tell it from there."""
    X = np.array([[1.0]] * 50 + [[30.0]], np.float32)
    Y = np.array([[False]] * 50 + [[True]])
    weight = np.r_[np.full(50, 100.0), 0.01]
    w, alpha, epochs = solve(X, Y, weight=weight, bias=0.0, epsilon=1e-4)
    assert alpha[-1, 0] == np.float32(0.01)
    assert epochs < 1000
    expected, _ = twins(X, Y, weight=weight, bias=0.0)
    np.testing.assert_allclose(w, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_long_instances_that_contradict_each_other_stay_finite(scale):
    X = MATRICES["duplicates"] * np.float32(scale)
    Y = np.random.default_rng(0).random((len(X), 3)) < 0.5  # the same row with and without a label
    w, alpha, _ = solve(X, Y, epochs=100)
    assert np.isfinite(w).all()
    assert alpha.min() >= 0
    assert alpha.max() <= 1


def test_costs_that_vanish_leave_no_weights():
    X = MATRICES["random"]
    w, _, _ = solve(X, labels_of(X), cost=(1e-38, 1e-38), weight=np.full(len(X), 1e-8))
    assert np.abs(w).max() < 1e-6


@pytest.mark.parametrize("name", ["no row", "nothing"])
def test_without_values_only_the_bias_learns(name):
    X = MATRICES[name]
    w, _, _ = solve(X, labels_of(X, n_labels=3))
    assert not w[:, :-1].any()
