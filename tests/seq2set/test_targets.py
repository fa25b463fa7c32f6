"""Labels as rows of symbols."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from multitudes.seq2set.targets import FEWEST_STEPS, enough_steps, target_rows

Y = sp.csr_array(np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1.0]]))
EVERYONE = np.arange(4)


def test_a_set():
    targets = target_rows(Y, order="id", ends=False)
    assert targets.n_steps == 3
    expected = [[0, 1, 3], [-1, -1, -1], [1, 3, -1], [3, -1, -1]]
    assert targets.padded(EVERYONE).tolist() == expected


def test_a_sequence_ends():
    targets = target_rows(Y, order="id", ends=True)
    assert targets.n_steps == 4
    expected = [[0, 1, 3, 4], [4, -1, -1, -1], [1, 3, 4, -1], [3, 4, -1, -1]]
    assert targets.padded(EVERYONE).tolist() == expected


def test_frequent_to_rare_ties_by_id():
    targets = target_rows(Y, order="frequent", ends=False)
    assert targets.padded(np.array([2, 0])).tolist() == [[3, 1, -1], [3, 1, 0]]


def test_more_labels_than_steps():
    targets = target_rows(Y, order="frequent", ends=True, n_steps=2)
    assert (targets.n_cut, targets.n_labels_cut, targets.n_steps) == (1, 1, 3)
    assert targets.padded(np.array([0, 3])).tolist() == [[3, 1, 4], [3, 4, -1]]


def test_nobody_has_a_label():
    targets = target_rows(sp.csr_array((2, 3)), order="id", ends=False)
    assert targets.padded(np.arange(2)).tolist() == [[-1], [-1]]


def test_one_text_with_many_labels_does_not_set_the_steps_of_all():
    counts = np.array([258, *[12] * 9, *[3] * 990])
    assert enough_steps(counts, 0.995) == 12
    assert enough_steps(counts, 1.0) == 258
    assert enough_steps(counts, 0.5) == FEWEST_STEPS


@pytest.mark.parametrize("counts", [[4], [0, 1, 2, 3, 4] * 100, [4, *[0] * 999]])
def test_a_few_steps_are_always_there(counts):
    assert enough_steps(np.array(counts), 0.9) == 4


def test_no_instance_has_a_label():
    assert enough_steps(np.zeros(5, int), 0.995) == 1
    assert enough_steps(np.zeros(0, int), 0.995) == 1


@given(st.lists(st.integers(0, 300), min_size=1), st.floats(0.01, 1.0))
def test_the_share_fits_and_no_step_is_wasted(counts, share):
    counts = np.array(counts)
    n_steps = enough_steps(counts, share)
    assert (counts <= n_steps).mean() >= share
    assert n_steps <= max(1, counts.max())
    wasted = n_steps > FEWEST_STEPS and (counts <= n_steps - 1).mean() >= share
    assert not wasted
