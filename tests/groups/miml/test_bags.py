"""Batches of bags: each instance once, shorter bags padded."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from multitudes.groups.miml.bags import Bags, as_tensor

CPU = torch.device("cpu")
X = np.arange(10, dtype=np.float32).reshape(5, 2)
MEMBERS = sp.csr_array(
    np.array([[0, 1, 1, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 1]], np.float32)
)  # an instance in no bag, two in two bags
COUNTS = sp.csr_array(np.array([[2, 0], [0, 1], [0, 0]], np.float32))


@pytest.fixture(params=[np.asarray, sp.csr_array], ids=["dense", "sparse"])
def bags(request):
    return Bags(request.param(X), MEMBERS, COUNTS)


def dense(tensor):
    return tensor.to_dense().numpy()


def test_sizes(bags):
    assert len(bags) == 3
    assert bags.sizes.tolist() == [2, 1, 3]
    assert bags.n_listed.tolist() == [1, 1, 0]


def test_a_batch_holds_each_instance_once_and_pads_with_minus_1(bags):
    batch = bags.batch(np.array([2, 0]), CPU)
    np.testing.assert_array_equal(dense(batch.X), X[[1, 2, 3, 4]])
    assert batch.members.tolist() == [[0, 2, 3], [0, 1, -1]]
    assert batch.counts.tolist() == [[0, 0], [2, 0]]


def test_rows_keep_their_kind(bags):
    batch = bags.batch(np.array([0]), CPU)
    assert batch.X.is_sparse == sp.issparse(bags.X)
    assert batch.X.dtype == torch.float32


def test_taken_bags_are_the_same_bags(bags):
    taken = bags.take(np.array([1, 2])).batch(np.array([1]), CPU)
    whole = bags.batch(np.array([2]), CPU)
    np.testing.assert_array_equal(dense(taken.X), dense(whole.X))
    assert torch.equal(taken.members, whole.members)


def test_as_tensor_copies_what_is_not_contiguous():
    np.testing.assert_array_equal(as_tensor(X[:, ::-1]).numpy(), X[:, ::-1])


def test_as_tensor_of_sparse_rows_without_entries():
    empty = sp.csr_array((3, 2), dtype=np.float32)
    np.testing.assert_array_equal(dense(as_tensor(empty)), np.zeros((3, 2)))
