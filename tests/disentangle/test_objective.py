"""What an assignment is worth."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.disentangle import linear_bound, tp_bound
from multitudes.errors import DataError

from .problems import sparse

Y = sparse([[1, 1, 0], [0, 1, 1], [1, 0, 0]])
MATCHES = sparse([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def test_counts_positives_with_a_matched_cluster():
    # Instance 0 finds label 0 (twice) and label 1; instance 1 label 2; instance 2 nothing.
    assignment = sparse([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]])
    assert tp_bound(Y, MATCHES, assignment) == 3
    assert linear_bound(Y, MATCHES, assignment) == 4


def test_without_overlap_both_bounds_agree():
    assignment = sparse([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert tp_bound(Y, MATCHES, assignment) == linear_bound(Y, MATCHES, assignment) == 2


def test_values_do_not_matter_only_which_are_stored():
    assignment = sparse([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]])
    assert tp_bound(Y * 3, MATCHES * 0.5, assignment * 2) == 3
    assert linear_bound(sp.csr_matrix(Y), sp.coo_array(MATCHES), assignment.toarray()) == 4


def test_stored_zeros_and_duplicates_are_no_positives():
    given = sp.csr_array(
        (np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2)
    )
    everything = sparse([[1], [1]])
    assert tp_bound(given, sparse([[1]]), everything) == 1


def test_a_label_without_a_cluster_is_never_reached():
    assert tp_bound(Y, MATCHES, sp.csr_array((3, 4))) == 0


def test_no_instances():
    assert tp_bound(sp.csr_array((0, 3)), sp.csr_array((0, 4)), sp.csr_array((3, 4))) == 0


@pytest.mark.parametrize("bound", [tp_bound, linear_bound])
def test_shapes_that_disagree_are_refused(bound):
    with pytest.raises(DataError, match="Y has 3 rows and matches has 2"):
        bound(Y, MATCHES[:2], sp.csr_array((3, 4)))
    with pytest.raises(DataError, match=r"\(n_labels, n_clusters\) = \(3, 4\).*got \(4, 3\)"):
        bound(Y, MATCHES, sp.csr_array((4, 3)))


def test_other_than_matrices_of_counts_are_refused():
    assignment = sp.csr_array((3, 4))
    with pytest.raises(DataError, match="Y must be a .* sparse matrix, got list"):
        tp_bound([[0, 1]], MATCHES, assignment)
    with pytest.raises(DataError, match="matches must hold finite numbers >= 0"):
        tp_bound(Y, -MATCHES, assignment)
    with pytest.raises(DataError, match="dtype <U1"):
        tp_bound(np.array([["a"]]), MATCHES, assignment)


def test_a_corrupt_matrix_is_refused_before_a_kernel_reads_it():
    corrupt = MATCHES.copy()
    corrupt.indices[0] = 10**6
    with pytest.raises(DataError, match="matches has column index 1000000 outside its 4 columns"):
        tp_bound(Y, corrupt, sp.csr_array((3, 4)))
