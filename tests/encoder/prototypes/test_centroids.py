import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.errors import DataError

Y = sp.csr_array(np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 1]], np.float32))


def embeddings(n_instances=3, dim=6, random_state=0):
    generator = torch.Generator().manual_seed(random_state)
    return functional.normalize(torch.randn(n_instances, dim, generator=generator), dim=1)


def started():
    centroids = Centroids(4, 6, momentum=0.75)
    centroids.recompute(embeddings(), Y)
    return centroids


def test_start_is_the_normalized_mean_of_a_labels_instances():
    h, centroids = embeddings(), started()
    expected = torch.stack([h[0] + h[1], h[0] + h[2], torch.zeros(6), h[2]])
    torch.testing.assert_close(centroids.vectors, functional.normalize(expected, dim=1))
    assert centroids.present.tolist() == [True, True, False, True]


def test_recompute_takes_arrays_any_weights_and_many_blocks(monkeypatch):
    monkeypatch.setattr("multitudes.encoder.prototypes.centroids.PAIRS_AT_ONCE", 2)
    weighted = sp.csr_matrix(Y * 3 + sp.csr_array(([1.0], ([1], [2])), shape=Y.shape))
    weighted.data[weighted.data == 1] = 0  # a stored zero is no label
    centroids = Centroids(4, 6)
    centroids.recompute(embeddings().numpy(), weighted)
    torch.testing.assert_close(centroids.vectors, started().vectors)
    assert torch.equal(centroids.present, started().present)


def test_recompute_forgets_what_was_there():
    centroids = started()
    centroids.recompute(embeddings(random_state=1), sp.csr_array(Y * [[1, 0, 0, 0]]))
    assert centroids.present.tolist() == [True, False, False, False]
    assert centroids.vectors[1:].abs().sum() == 0


def test_recompute_refuses_other_shapes():
    with pytest.raises(DataError, match=r"got \(3, 4\) and \(5, 6\)"):
        started().recompute(embeddings(5), Y)


def test_momentum_is_eq_4_with_the_mean_of_several_instances():
    centroids, new = started(), embeddings(random_state=1)
    before = centroids.vectors.clone()
    # Labels 3 and 0: instances 0 and 2 have label 0, instance 1 has label 3.
    labels = torch.tensor([0, 3])
    centroids.update(labels, new, torch.tensor([0, 2, 1]), torch.tensor([0, 0, 1]))
    expected = before.clone()
    expected[0] = 0.75 * before[0] + 0.25 * (new[0] + new[2]) / 2
    expected[3] = 0.75 * before[3] + 0.25 * new[1]
    torch.testing.assert_close(centroids.vectors, expected)


def test_a_new_label_starts_from_its_instances_and_others_stay():
    centroids, new = started(), embeddings(random_state=1)
    before = centroids.vectors.clone()
    labels = torch.tensor([1, 2])  # label 1 has no instance in this batch
    centroids.update(labels, new, torch.tensor([0]), torch.tensor([1]))
    torch.testing.assert_close(centroids.vectors[2], new[0])
    assert torch.equal(centroids.vectors[[0, 1, 3]], before[[0, 1, 3]])
    assert centroids.present.tolist() == [True] * 4


def test_an_update_by_the_centroid_itself_changes_nothing():
    centroids = started()
    before = centroids.vectors.clone()
    labels = torch.tensor([0, 1, 3])
    centroids.update(labels, before[labels], torch.arange(3), torch.arange(3))
    torch.testing.assert_close(centroids.vectors, before)


def test_follows_instances_that_moved():
    centroids, moved = started(), embeddings(random_state=1)
    rows, columns = (torch.from_numpy(part).long() for part in Y.nonzero())
    labels = torch.arange(4)
    for _ in range(60):
        centroids.update(labels, moved, rows, columns)
    exact = Centroids(4, 6)
    exact.recompute(moved, Y)
    found = functional.normalize(centroids.vectors, dim=1)
    torch.testing.assert_close(found, exact.vectors, atol=1e-5, rtol=0)


def test_no_gradient_reaches_the_instances():
    centroids, new = started(), embeddings(random_state=1).requires_grad_()
    centroids.update(torch.tensor([0]), new, torch.tensor([0]), torch.tensor([0]))
    vectors, _ = centroids(torch.tensor([0]))
    assert not vectors.requires_grad


def test_looks_up_labels():
    centroids = started()
    vectors, present = centroids(torch.tensor([2, 0]))
    assert torch.equal(vectors, centroids.vectors[[2, 0]])
    assert present.tolist() == [False, True]


def test_a_checkpoint_brings_them_back():
    centroids, other = started(), Centroids(4, 6)
    other.load_state_dict(centroids.state_dict())
    assert torch.equal(other.vectors, centroids.vectors)
    assert torch.equal(other.present, centroids.present)


def test_an_update_needs_no_values_on_the_host():
    """Fake tensors have no values: whatever would wait for a device raises on them."""
    with FakeTensorMode():
        centroids = Centroids(4, 6)
        centroids.update(
            torch.arange(2), torch.randn(3, 6), torch.tensor([0, 1]), torch.tensor([1, 0])
        )
        assert centroids.vectors.shape == (4, 6)


def test_labels_with_instances_outside_a_batch():
    Y = sp.csr_array(np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0]], np.float32))
    centroids = Centroids(3, 2)
    centroids.recompute(torch.eye(3)[:, :2], Y)
    assert centroids.counts.tolist() == [3, 1, 0]
    labels, columns = torch.tensor([0, 1]), torch.tensor([0, 0, 1])
    assert centroids.has_others(labels, columns).tolist() == [True, False]
    all_of_them = torch.tensor([0, 0, 0])
    assert centroids.has_others(labels, all_of_them).tolist() == [False, True]
