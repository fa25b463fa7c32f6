"""Filter pairs in both conventions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from multitudes.errors import ConfigError, DataError
from multitudes.metrics import evaluate
from multitudes.scores import filter_pairs, filtering, remove_pairs, remove_pairs_from_truth
from multitudes.types import Predictions

from .problems import small_problems

RANKED = [[0, 1, 2], [3, 0], [2]]
SCORES = [[0.9, 0.8, 0.7], [0.6, 0.5], [0.4]]
PAIRS = np.array([[0, 0], [1, 2], [1, 0], [2, 2]])
TRUTH = sp.csr_array(np.array([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]], np.float32))


@pytest.fixture
def predictions():
    return Predictions.from_lists(RANKED, SCORES, 4)


def test_labels_behind_a_removed_one_move_up(predictions):
    kept = remove_pairs(predictions, PAIRS)
    assert kept.labels.tolist() == [[1, 2, -1], [3, -1, -1], [-1, -1, -1]]
    expected = [[0.8, 0.7, -np.inf], [0.6, -np.inf, -np.inf], [-np.inf] * 3]
    np.testing.assert_array_equal(kept.scores, np.array(expected, np.float32))
    assert predictions.labels[0].tolist() == [0, 1, 2]


def test_the_top_is_cut_after_removing(predictions):
    assert remove_pairs(predictions, PAIRS, top_k=1).labels.tolist() == [[1], [3], [-1]]


def test_the_truth_keeps_the_pairs_by_default(predictions):
    kept, truth = filter_pairs(predictions, TRUTH, PAIRS)
    np.testing.assert_array_equal(truth.toarray(), TRUTH.toarray())
    assert evaluate(kept, truth, ks=(1,))["R@1"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)


def test_the_truth_loses_the_pairs_under_both(predictions):
    kept, truth = filter_pairs(predictions, TRUTH, PAIRS, convention="both", top_k=1)
    assert truth.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert TRUTH.nnz == 5
    report = evaluate(kept, truth, ks=(1,))
    assert report["R@1"] == pytest.approx((1 + 1 + 0) / 3)
    assert evaluate(kept, truth, ks=(1,), skip_empty=True)["R@1"] == 1


def test_random_pairs_equal_the_obvious_loop(monkeypatch):
    monkeypatch.setattr(filtering, "CELLS_IN_MEMORY", 40)  # many small steps
    rng = np.random.default_rng(0)
    ranked = [rng.permutation(12)[: rng.integers(0, 8)].tolist() for _ in range(60)]
    pairs = np.stack([rng.integers(0, 60, 300), rng.integers(0, 12, 300)], axis=1)
    unwanted = set(map(tuple, pairs.tolist()))
    expected = [[x for x in row if (i, x) not in unwanted] for i, row in enumerate(ranked)]
    kept = remove_pairs(Predictions.from_lists(ranked, None, 12), pairs)
    assert [[x for x in row if x >= 0] for row in kept.labels.tolist()] == expected
    truth = sp.csr_array(sp.random(60, 12, 0.4, random_state=rng))
    dense = truth.toarray()
    dense[pairs[:, 0], pairs[:, 1]] = 0
    np.testing.assert_array_equal(remove_pairs_from_truth(truth, pairs).toarray(), dense)


def test_no_pairs_change_nothing(predictions):
    for none in (np.empty((0, 2), np.int64), []):
        np.testing.assert_array_equal(remove_pairs(predictions, none).labels, predictions.labels)
        assert remove_pairs_from_truth(TRUTH, none).nnz == TRUTH.nnz


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 0], [3, 0]], "filter pair 1 is \\(instance 3, label 0\\): instances go to 2"),
        ([[0, 4]], "label 4"),
        ([[-1, 0]], "instance -1"),
        ([[0, 1, 2]], "shape \\(1, 3\\)"),
        ([[0.5, 1.0]], "float64"),
    ],
)
def test_bad_pairs_are_refused(predictions, pairs, message):
    with pytest.raises(DataError, match=message):
        remove_pairs(predictions, pairs)


def test_an_unknown_convention_is_refused(predictions):
    with pytest.raises(ConfigError, match="predictions.*both.*got 'truth'"):
        filter_pairs(predictions, TRUTH, PAIRS, convention="truth")


@given(small_problems(), st.integers(0, 2**24 - 1))
def test_kept_labels_stay_in_order_without_gaps(problem, bits):
    predictions, _ = problem
    wanted = np.array([bits >> j & 1 for j in range(predictions.labels.size)], bool)
    wanted = wanted.reshape(predictions.labels.shape)
    kept = filtering.keep(predictions, wanted)
    assert kept.labels.shape == predictions.labels.shape
    for i in range(len(predictions)):
        expected = predictions.labels[i][wanted[i] & (predictions.labels[i] >= 0)].tolist()
        size = len(expected)
        assert kept.labels[i].tolist() == expected + [-1] * (predictions.top_k - size)
        assert (kept.scores[i, size:] == -np.inf).all()
        assert kept.scores[i, :size].tolist() == predictions.scores[i][wanted[i]][:size].tolist()
