"""What evaluation refuses, and what the message says."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.metrics import (
    evaluate,
    frequency_bins,
    inverse_propensity,
    precision_at_k,
    set_scores,
)
from multitudes.metrics.inputs import label_space, truth_matrix
from multitudes.types import Predictions


def predictions(rows, n_labels=4):
    labels = np.array(rows, np.int32)
    made = Predictions(np.zeros_like(labels), np.zeros(labels.shape, np.float32), n_labels)
    made.labels[:] = labels  # also what would be refused when they are made
    return made


@pytest.mark.parametrize(
    ("given", "truth", "message"),
    [
        ([[0, 1, 0]], [[1]], "instance 0: label 0 is listed 2 times"),
        (predictions([[0, 1], [3, 3]]), [[1], [2]], "instance 1: label 3 is listed 2 times"),
        (predictions([[-1, 2]]), [[1]], "a label follows a missing one"),
        (predictions([[0, 4]]), [[1]], "instance 0, rank 2: label 4 is not in 0..3"),
        (predictions([[0, -2]]), [[1]], "label -2 is not in 0..3"),
        (predictions([[0, 1]]), [[4]], "truth, instance 0: label 4 is not in 0..3"),
        (predictions([[0, 1]]), [[1, 1]], "truth, instance 0: label 1 is listed 2 times"),
        (predictions([[0, 1]]), [[-1]], "label -1 is not in"),
        ([[0, 1]], [[1], [2]], "predictions have 1 instances and the truth 2"),
        ([], [], "0 instances"),
        (predictions([[0]]), sp.csr_array((1, 5)), "predictions: 4, truth: 5"),
        ([[0], [0, 3]], sp.csr_array((2, 3)), "instance 1, rank 2: label 3 is not in 0..2"),
        ([["cat"]], [[1]], "predictions are names, such as 'cat', and those of the truth are ids"),
        ([[1]], [["cat"]], "truth are names, such as 'cat', and those of the predictions are ids"),
        (predictions([[1]]), [["cat"]], "give both as names, or both as ids"),
        ([["cat", 1]], [["cat"]], "instance 0: 1 is not a label name, and others are"),
        ([[1, "cat"]], [[1]], "instance 0: 'cat' is a label name where label ids are expected"),
        ([["cat", "cat"]], [["cat"]], "instance 0: label 'cat' is listed twice"),
        ([[("cat", 0.5), "dog"]], [["cat"]], "give all or none"),
        ([[("cat", None)]], [["cat"]], "label cat has score None"),
        ({"cat": 1}, [["cat"]], "got dict"),
        ([["cat"]], None, "truth must be one list of labels per instance.*got NoneType"),
        ([["cat"]], ["cat"], "truth, instance 0: expected a list of labels, got 'cat'"),
        ([["cat"]], [3], "truth, instance 0: expected a list of labels, got 3"),
        ((row for row in [["cat"]]), [["cat"]], "got generator"),
        ([[1.5]], [[1]], "1.5 is not a label id"),
        ([[True]], [[1]], "True is not a label id"),
        ([[-3]], sp.csr_array((1, 5)), "-3 is not a label id"),
        (["cat"], [[1]], "expected a list of labels, got 'cat'"),
        ([3], [[1]], "expected a list of labels, got 3"),
        (np.ones(3), [[1]] * 3, "got ndarray of shape"),
        ([[1]], np.ones(3), "got ndarray of shape"),
        (np.eye(3), [[1]] * 2, "predictions have 3 instances and the truth 2"),
        ([[1]], np.eye(3), "predictions have 1 instances and the truth 3"),
        ("text", [[1]], "got str"),
        ([[(1, "high")]], [[1]], "label 1 has score 'high'"),
        ([[(1, float("nan"))]], [[1]], "label 1 has score NaN"),
        ([[(1, 0.5), 2]], [[1]], "give all or none"),
        (sp.csr_array(np.array([[1, 0], [np.nan, 1]])), [[1], [0]], "instance 1: a score is NaN"),
    ],
)
def test_bad_input_is_refused_with_its_place(given, truth, message):
    with pytest.raises(DataError, match=message.replace("(", r"\(").replace("[", r"\[")):
        evaluate(given, truth)


@pytest.mark.parametrize("ks", [(), (0,), (-1, 3), (1.5,), (True,), ("3",)])
def test_bad_cut_offs_are_refused(ks):
    with pytest.raises(ConfigError, match="k"):
        evaluate([[0]], [[0]], ks=ks)


def test_cut_offs_are_sorted_and_repeats_dropped():
    assert list(evaluate([[0]], [[0]], ks=(3, 1, 3)).values)[:2] == ["P@1", "P@3"]


def test_nothing_left_after_skipping_is_an_error():
    with pytest.raises(DataError, match="no instance has a true label"):
        evaluate([[0]], [[]], skip_empty=True)


def test_stored_zeros_of_the_truth_are_no_labels_and_of_scores_are_predictions():
    truth = sp.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert truth_matrix(truth, n_labels=2).indices.tolist() == [0]
    assert truth.nnz == 2  # the caller's matrix is left as it was
    scores = sp.csr_array((np.array([-1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert precision_at_k(scores, [[1]], k=1) == 1


def test_unsorted_and_doubled_truth_is_put_in_order():
    truth = sp.csr_array((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    assert truth_matrix(truth, n_labels=3).indices.tolist() == [0, 2]


def test_the_label_space_of_lists_ends_at_the_largest_id():
    assert label_space([[1], [7]], [[3], []]) == 8
    assert label_space([[]], [[]]) == 0
    assert label_space([[1]], sp.csr_array((1, 5))) == 5


def test_rows_without_predictions_are_legal():
    assert evaluate([[], []], [[1], []], ks=(1,))["P@1"] == 0
    assert evaluate(sp.csr_array((2, 3)), [[1], []], ks=(1,))["R@1"] == 0


@pytest.mark.parametrize(
    "form",
    [sp.csc_array, sp.coo_array, sp.csr_matrix, lambda Y: Y.toarray(), lambda Y: Y.toarray() > 0],
)
def test_the_truth_may_have_any_form(case, form):
    truth = form(case.Y)
    assert evaluate(case.predictions, truth).values == evaluate(case.predictions, case.Y).values
    assert set_scores(case.ranked, truth) == set_scores(case.ranked, case.Y)
    assert set_scores(truth, case.Y).f1 == 1


def test_a_dense_truth_gives_the_same_propensities_and_bins(case):
    dense = case.Y.toarray()
    np.testing.assert_array_equal(inverse_propensity(dense), inverse_propensity(case.Y))
    assert str(frequency_bins(dense)) == str(frequency_bins(case.Y))
