"""Several models' predictions made one."""

import numpy as np
import pytest

from multitudes.errors import DataError
from multitudes.scores.ensemble import average
from multitudes.types import Predictions

FIRST = Predictions.from_lists([[0, 1, 2], [3]], [[0.9, 0.6, 0.3], [0.8]], 5)
SECOND = Predictions.from_lists([[1, 4], []], [[0.8, 0.4], []], 5)


def test_labels_are_ranked_by_their_mean_score():
    found = average([FIRST, SECOND], top_k=4)
    assert found.labels.tolist() == [[1, 0, 4, 2], [3, -1, -1, -1]]
    np.testing.assert_allclose(found.scores[0], [0.7, 0.45, 0.2, 0.15], rtol=1e-6)
    assert found.scores[1].tolist() == pytest.approx([0.4, -np.inf, -np.inf, -np.inf])
    assert found.n_labels == 5


def test_it_is_the_mean_of_the_score_matrices():
    rng = np.random.default_rng(0)
    matrices = [rng.random((30, 12)).astype(np.float32) for _ in range(3)]
    found = average([Predictions.from_csr(matrix, 12) for matrix in matrices], top_k=12)
    np.testing.assert_allclose(found.to_csr().toarray(), np.mean(matrices, axis=0), rtol=1e-6)
    assert (np.diff(found.scores, axis=1) <= 0).all()


def test_the_order_of_the_models_does_not_matter():
    one, other = average([FIRST, SECOND], top_k=3), average([SECOND, FIRST], top_k=3)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.scores, other.scores)


def test_one_model_alone_is_its_own_mean():
    found = average([FIRST], top_k=3)
    np.testing.assert_array_equal(found.labels, FIRST.labels)
    np.testing.assert_array_equal(found.scores, FIRST.scores)


def test_fewer_labels_are_the_best_of_the_more():
    short, long = (average([FIRST, SECOND], top_k=k) for k in (2, 5))
    np.testing.assert_array_equal(short.labels, long.labels[:, :2])


def test_equal_means_go_to_the_smaller_label_id():
    one = Predictions.from_lists([[4, 2]], [[0.5, 0.5]], 5)
    other = Predictions.from_lists([[3, 2]], [[0.5, 0.0]], 5)
    assert average([one, other], top_k=3).labels.tolist() == [[2, 3, 4]]


def test_the_given_predictions_stay_as_they_are():
    before = FIRST.labels.copy(), FIRST.scores.copy()
    average([FIRST, SECOND], top_k=2)
    np.testing.assert_array_equal(FIRST.labels, before[0])
    np.testing.assert_array_equal(FIRST.scores, before[1])


def test_none_at_all_is_an_error():
    with pytest.raises(DataError, match="no predictions to average"):
        average([], top_k=3)


@pytest.mark.parametrize("other", [FIRST[:1], Predictions(FIRST.labels, FIRST.scores, 6)])
def test_other_instances_or_labels_are_an_error(other):
    with pytest.raises(DataError, match="same instances and labels, got 2 x 5 and"):
        average([FIRST, other], top_k=3)
