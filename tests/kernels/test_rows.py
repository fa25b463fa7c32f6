"""Rows of sparse and dense matrices, added up and multiplied alike."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from multitudes.kernels.rows import SparseRows, add_row, clear_row, dot_row


@njit
def used(rows, i, total):
    add_row(rows, i, total)
    product = dot_row(rows, i, total)
    after_adding = total.copy()
    clear_row(rows, i, total)
    return product, after_adding


@pytest.mark.parametrize("sparse", [True, False])
def test_rows_are_added_multiplied_and_cleared(sparse):
    dense = np.array([[0, 2, 0, -1], [0, 0, 0, 0]], np.float32)
    X = sp.csr_array(dense)
    rows = (
        SparseRows(X.indptr.astype(np.int64), X.indices.view(np.uint32), X.data)
        if sparse
        else dense
    )
    total = np.array([1, 1, 0, 1], np.float32)
    product, after_adding = used(rows, 0, total)
    assert (product, after_adding.tolist()) == (6, [1, 3, 0, 0])
    assert total.tolist() == ([1, 0, 0, 0] if sparse else [0, 0, 0, 0])


@pytest.mark.parametrize("sparse", [True, False])
def test_an_empty_row_adds_nothing(sparse):
    dense = np.zeros((1, 3), np.float32)
    X = sp.csr_array(dense)
    rows = (
        SparseRows(X.indptr.astype(np.int64), X.indices.view(np.uint32), X.data)
        if sparse
        else dense
    )
    product, after_adding = used(rows, 0, np.ones(3, np.float32))
    assert (product, after_adding.tolist()) == (0, [1, 1, 1])
