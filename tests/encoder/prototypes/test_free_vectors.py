import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from multitudes.encoder.prototypes.free_vectors import FreeVectors, cluster_labels, default_number
from multitudes.errors import DataError


def two_topics(n_labels=16, dim=6):
    """Text embeddings of labels about two things, odd and even ids."""
    rng = np.random.default_rng(0)
    embeddings = rng.normal(scale=0.1, size=(n_labels, dim)).astype(np.float32)
    embeddings[np.arange(n_labels), np.arange(n_labels) % 2] += 1
    return embeddings


@pytest.mark.parametrize(
    ("n_labels", "expected"),
    [(1, 1), (2, 1), (4, 2), (100, 32), (131_073, 65_536), (191_611, 65_536), (3_000_000, 131_072)],
)
def test_default_number_is_a_power_of_two_up_to_half_the_labels(n_labels, expected):
    assert default_number(n_labels) == expected


@pytest.mark.parametrize("n_vectors", [1, 2, 8, 32, 64])
@pytest.mark.parametrize("n_labels", [64, 65, 100, 127])
def test_clusters_are_balanced_and_as_many_as_asked_for(n_labels, n_vectors):
    sizes = np.bincount(cluster_labels(two_topics(n_labels), n_vectors))
    assert len(sizes) == n_vectors
    assert sizes.max() - sizes.min() <= 1


def test_clusters_follow_the_texts():
    clusters = cluster_labels(two_topics(), 2)
    assert len(set(clusters[0::2])) == len(set(clusters[1::2])) == 1
    assert clusters[0] != clusters[1]


@pytest.mark.parametrize("n_vectors", [16, 128])
def test_with_enough_vectors_each_label_has_its_own(n_vectors):
    bank = FreeVectors.from_label_embeddings(two_topics(16), n_vectors=n_vectors)
    assert bank.clusters.tolist() == list(range(16))
    assert bank.vectors.shape == (16, 6)


def test_labels_of_a_cluster_share_their_vector():
    bank = FreeVectors.from_label_embeddings(two_topics(), n_vectors=2)
    found = bank(torch.tensor([0, 2, 1]))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_the_gradient_of_a_cluster_is_the_sum_of_its_labels():
    bank = FreeVectors(np.array([0, 1, 0]), 3, 2)
    bank(torch.tensor([0, 1, 2])).backward(torch.tensor([[1.0, 2.0], [5.0, 5.0], [10.0, 20.0]]))
    assert bank.vectors.grad.tolist() == [[11.0, 22.0], [5.0, 5.0], [0.0, 0.0]]


def test_start_is_xavier_uniform_by_the_seed():
    bank = FreeVectors(np.zeros(4, np.int64), 500, 100, random_state=3)
    bound = np.sqrt(6 / 600)
    assert 0.99 * bound < bank.vectors.abs().max().item() <= bound
    assert torch.equal(
        bank.vectors, FreeVectors(np.zeros(4, np.int64), 500, 100, random_state=3).vectors
    )
    assert not torch.equal(
        bank.vectors, FreeVectors(np.zeros(4, np.int64), 500, 100, random_state=4).vectors
    )


def test_a_cluster_outside_the_bank_is_refused():
    with pytest.raises(DataError, match="from 0 to 1 for 2 free vectors, got 0 to 2"):
        FreeVectors(np.array([0, 2]), 2, 4)


def test_a_checkpoint_brings_it_back():
    bank = FreeVectors.from_label_embeddings(two_topics(), n_vectors=4, random_state=1)
    other = FreeVectors(np.zeros(16, np.int64), 4, 6)
    other.load_state_dict(bank.state_dict())
    labels = torch.arange(16)
    assert torch.equal(other(labels), bank(labels))


def test_start_from_text_is_the_mean_of_the_labels_that_share_a_vector():
    embeddings = two_topics()
    bank = FreeVectors.from_label_embeddings(embeddings, n_vectors=2, start="text")
    own = bank.clusters.numpy() == bank.clusters[0].item()
    np.testing.assert_allclose(
        bank(torch.tensor([0]))[0].detach().numpy(), embeddings[own].mean(axis=0), rtol=1e-5
    )
    assert bank.vectors.requires_grad
