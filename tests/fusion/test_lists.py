"""Lists of members side by side."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes.errors import DataError
from multitudes.fusion.lists import BLOCK, checked_lists
from multitudes.types import Predictions


def two():
    """Two lists of two instances: three places and one."""
    first = Predictions.from_lists([[4, 2, 0], [1]], [[3.0, 2.0, 1.0], [5.0]], 6)
    return checked_lists([first, Predictions.from_lists([[2], [3]], [[0.5], [0.25]], 6)])


def test_places_are_those_of_one_member_after_the_other():
    lists = two()
    assert (len(lists), lists.n_labels) == (2, 6)
    assert (lists.widths, lists.width) == ([3, 1], 4)
    assert lists.columns.tolist() == [0, 0, 0, 1]
    assert lists.ranks.tolist() == [1, 2, 3, 1]
    assert lists.starts.tolist() == [0, 3, 4]
    block = lists.block(slice(1, 2))
    assert block.labels.tolist() == [[1, -1, -1, 3]]
    assert block.scores.tolist() == [[5, -np.inf, -np.inf, 0.25]]
    assert block.rows == slice(1, 2)
    assert lists.take([1]).block(slice(0, 1)).labels.tolist() == [[1, -1, -1, 3]]
    assert lists.top(2).widths == [2, 1]


@pytest.mark.parametrize("n", [0, 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_instance_is_filled_once(n, n_jobs):
    numbers = np.arange(n, dtype=np.float32)[:, None]
    lists = checked_lists([Predictions(np.zeros((n, 1), int), numbers, 3)])

    def fill(block, labels, scores):
        assert len(block.labels) == len(labels) <= BLOCK
        labels[:, 0] = 1
        scores[:, 0] = np.where(np.isinf(scores[:, 0]), 0, scores[:, 0]) + block.scores[:, 0]

    found = lists.fused(fill, top_k=10, n_jobs=n_jobs)
    assert found.shape == (n, 3)  # there are no more labels
    assert found.n_labels == 3
    np.testing.assert_array_equal(found.scores[:, 0], numbers[:, 0])
    assert (found.labels == [1, -1, -1]).all()


def test_what_differs_is_told_with_its_numbers():
    one = Predictions.from_lists([[1], [2]], None, 6)
    with pytest.raises(DataError, match=r"\[0\] is of 2 and 6, predictions\[1\] of 1 and 6"):
        checked_lists([one, one[:1]])
    with pytest.raises(DataError, match=r"\[0\] is of 2 and 6, predictions\[2\] of 2 and 7"):
        checked_lists([one, one, Predictions(one.labels, one.scores, 7)])
    with pytest.raises(DataError, match="got str"):
        checked_lists("ab")
