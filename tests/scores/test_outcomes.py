"""Which predicted labels are true."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from multitudes.errors import DataError
from multitudes.scores.outcomes import outcomes
from multitudes.types import Predictions

from .problems import small_problems


@given(small_problems())
def test_place_by_place_it_is_the_truth(problem):
    predictions, truth = problem
    found = outcomes(predictions, truth)
    dense = truth.toarray()
    for i, row in enumerate(predictions.labels.tolist()):
        assert found.is_listed[i].tolist() == [label >= 0 for label in row]
        assert found.is_true[i].tolist() == [label >= 0 and dense[i, label] > 0 for label in row]
    assert found.n_true.tolist() == (dense > 0).sum(axis=1).tolist()
    assert found.n_unlisted == dense.sum() - found.is_true.sum()


def test_stored_zeros_and_repeats_of_the_truth_are_harmless():
    predictions = Predictions.from_lists([[0, 1, 2]], [[0.9, 0.5, 0.1]], 3)
    truth = sp.csr_matrix((np.array([1, 1, 0], np.float32), np.array([1, 1, 2]), [0, 3]), (1, 3))
    found = outcomes(predictions, truth)
    assert found.is_true.tolist() == [[False, True, False]]
    assert found.n_true.tolist() == [1]


ONE = sp.csr_array(np.eye(2, dtype=np.float32))


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([[0], [1], [0]], None, "3 instances and 2 labels, the truth is of 2 and 2"),
        ([[0, 0], [1]], None, "instance 0: a label is listed twice"),
        ([[0], [2]], None, "instance 1, rank 1: label 2 is not in 0..1"),
        ([[0], [1]], [[1.0], [np.nan]], "instance 1, rank 1: the score is NaN"),
        ([[0], [1]], [[np.inf], [0.0]], "the score is inf"),
        ([[], []], None, "no instance has a predicted label"),
    ],
)
def test_bad_predictions_are_refused(labels, scores, message):
    with pytest.raises(DataError, match=message):
        outcomes(Predictions.from_lists(labels, scores, 2), ONE)


def test_no_instances_are_refused():
    nobody = Predictions(np.empty((0, 3), np.int32), np.empty((0, 3), np.float32), 2)
    with pytest.raises(DataError, match="no instances to learn from"):
        outcomes(nobody, ONE[:0])
