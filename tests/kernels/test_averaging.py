"""Averaged lists against their slow twin."""

import numpy as np
import pytest

from multitudes.kernels import reference_trees
from multitudes.kernels.averaging import average_lists


def averaged(labels, scores, n_models, n_labels, top_k):
    """(labels, scores) of the kernel; what it leaves in its scratch is checked."""
    place = np.full(n_labels, -1, np.int32)
    out_labels = np.full((len(labels), top_k), 99, np.int32)
    out_scores = np.full((len(labels), top_k), 99, np.float32)
    average_lists(
        np.asarray(labels, np.int32), np.asarray(scores, np.float32), n_models, place,
        out_labels, out_scores,
    )  # fmt: skip
    assert (place == -1).all()
    return out_labels, out_scores


def assert_is_twin(labels, scores, n_models, n_labels, top_k):
    out_labels, out_scores = averaged(labels, scores, n_models, n_labels, top_k)
    expected = reference_trees.average_lists(
        np.asarray(labels, np.int32), np.asarray(scores, np.float32), n_models, top_k
    )
    for i, ranked in enumerate(expected):
        missing = top_k - len(ranked)
        assert out_labels[i].tolist() == [label for _, label in ranked] + [-1] * missing
        assert out_scores[i].tolist() == [score for score, _ in ranked] + [-np.inf] * missing


def random_lists(rng, n, n_models, width, n_labels, scores):
    """Each model lists `width` different labels, some of them missing at the end."""
    labels = np.array([
        [rng.permutation(n_labels)[:width] for _ in range(n_models)] for _ in range(n)
    ], np.int32)  # fmt: skip
    missing = np.arange(width) >= rng.integers(0, width + 1, (n, n_models, 1))
    scores = rng.choice(scores, labels.shape).astype(np.float32)
    labels[missing], scores[missing] = -1, -np.inf
    return labels.reshape(n, -1), scores.reshape(n, -1)


@pytest.mark.parametrize("top_k", [1, 4, 50])
@pytest.mark.parametrize("n_models", [1, 2, 5])
def test_equals_its_twin(n_models, top_k):
    rng = np.random.default_rng(0)
    labels, scores = random_lists(rng, 40, n_models, 6, 20, rng.random(1000))
    assert_is_twin(labels, scores, n_models, 20, top_k)


def test_equals_its_twin_where_many_scores_tie():
    rng = np.random.default_rng(1)
    labels, scores = random_lists(rng, 60, 3, 6, 12, [0.0, 0.25, 0.5])
    assert_is_twin(labels, scores, 3, 12, 5)


def test_ties_go_to_the_smaller_label_id():
    labels, scores = averaged([[7, 3, 5, 1]], [[0.5, 0.5, 0.5, 0.5]], 2, 8, 3)
    assert labels.tolist() == [[1, 3, 5]]
    assert scores.tolist() == [[0.25] * 3]


def test_a_model_that_does_not_list_a_label_gives_it_nothing():
    labels, scores = averaged([[0, 1, 1, -1]], [[0.75, 0.5, 0.5, -np.inf]], 2, 2, 2)
    assert labels.tolist() == [[1, 0]]
    assert scores.tolist() == [[0.5, 0.375]]


def test_nothing_listed_gives_nothing():
    labels, scores = averaged([[-1, -1]], [[-np.inf, -np.inf]], 2, 3, 2)
    assert labels.tolist() == [[-1, -1]]
    assert scores.tolist() == [[-np.inf, -np.inf]]


def test_no_rows():
    labels, _ = averaged(np.zeros((0, 4)), np.zeros((0, 4)), 2, 3, 2)
    assert labels.shape == (0, 2)
