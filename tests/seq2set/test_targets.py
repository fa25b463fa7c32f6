"""Labels as rows of symbols."""

import numpy as np
import scipy.sparse as sp

from multitudes.seq2set.targets import target_rows

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
    assert (targets.n_cut, targets.n_steps) == (1, 3)
    assert targets.padded(np.array([0, 3])).tolist() == [[3, 1, 4], [3, 4, -1]]


def test_nobody_has_a_label():
    targets = target_rows(sp.csr_array((2, 3)), order="id", ends=False)
    assert targets.padded(np.arange(2)).tolist() == [[-1], [-1]]
