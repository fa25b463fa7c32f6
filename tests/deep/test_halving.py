from itertools import pairwise

import numpy as np
import pytest
import torch

from multitudes.deep import halving
from multitudes.deep.halving import halve, halve_from_host


def blobs(n_blobs=8, per_blob=6, dim=16, random_state=0):
    generator = torch.Generator().manual_seed(random_state)
    centers = torch.eye(dim)[:n_blobs]
    labels = torch.arange(n_blobs).repeat(per_blob)
    vectors = centers[labels] + 0.02 * torch.randn(len(labels), dim, generator=generator)
    return torch.nn.functional.normalize(vectors, dim=1), labels


@pytest.mark.parametrize("n", [1, 2, 7, 48, 101])
@pytest.mark.parametrize("size", [1, 4, 200])
def test_every_vector_is_in_one_cluster_of_balanced_size(n, size):
    vectors = torch.randn(n, 5, generator=torch.Generator().manual_seed(1))
    order, offsets = halve(vectors, size=size, random_state=0)
    sizes = np.diff(offsets)
    assert sorted(order.tolist()) == list(range(n))
    assert sizes.max() <= size
    assert sizes.max() - sizes.min() <= 1
    assert offsets[-1] == n


def test_finds_blobs():
    vectors, labels = blobs()
    order, offsets = halve(vectors, size=6, random_state=0)
    found = [set(labels[order[a:b]].tolist()) for a, b in pairwise(offsets)]
    pure = sum(len(some) == 1 for some in found)
    assert pure >= 6


def test_same_seed_same_clusters_and_zero_rows_are_taken():
    vectors, _ = blobs()
    vectors[3] = 0
    first, _ = halve(vectors, size=4, random_state=5)
    second, _ = halve(vectors, size=4, random_state=5)
    other, _ = halve(vectors, size=4, random_state=6)
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    assert sorted(first.tolist()) == list(range(len(vectors)))


def test_half_precision_is_enough():
    vectors, labels = blobs()
    order, offsets = halve(vectors.half(), size=6, random_state=0)
    assert sorted(order.tolist()) == list(range(len(labels)))
    assert len(offsets) == 9


@pytest.mark.parametrize(("n", "size"), [(1, 1), (48, 1), (101, 4), (101, 60), (33, 2)])
def test_a_device_without_room_for_all_makes_balanced_clusters_too(monkeypatch, n, size):
    monkeypatch.setattr(halving, "VECTORS_ON_DEVICE", 16)
    monkeypatch.setattr(halving, "SAMPLE", 8)
    vectors = torch.randn(n, 5, generator=torch.Generator().manual_seed(1))
    order, offsets = halve_from_host(vectors, size=size, random_state=0, device="cpu")
    expected = np.diff(halve(vectors, size=size, random_state=0)[1])
    assert sorted(order.tolist()) == list(range(n))
    np.testing.assert_array_equal(np.sort(np.diff(offsets)), np.sort(expected))


def test_blobs_are_found_in_pieces(monkeypatch):
    monkeypatch.setattr(halving, "VECTORS_ON_DEVICE", 16)
    monkeypatch.setattr(halving, "SAMPLE", 16)
    vectors, labels = blobs()
    order, offsets = halve_from_host(vectors, size=6, random_state=0, device="cpu")
    found = [set(labels[order[a:b]].tolist()) for a, b in pairwise(offsets)]
    assert sum(len(some) == 1 for some in found) >= 5


def test_with_room_for_all_nothing_changes():
    vectors, _ = blobs()
    order, offsets = halve_from_host(vectors, size=6, random_state=3, device="cpu")
    expected = halve(vectors, size=6, random_state=3)
    assert torch.equal(order, expected[0])
    np.testing.assert_array_equal(offsets, expected[1])
