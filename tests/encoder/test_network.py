"""One training step: what it compares, what it learns from, and what it leaves alone."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from multitudes.encoder.network import PrimeNetwork, new_sources, put_on_device
from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.encoder.prototypes.free_vectors import FreeVectors
from multitudes.encoder.prototypes.network import PrototypeConfig, PrototypeNetwork
from multitudes.encoder.sampling.sampler import Batch

BATCH = Batch(
    instances=np.array([4, 0, 2]),
    labels=np.array([1, 3]),
    positives=np.array([[0], [1], [1]]),
    known_rows=np.array([0, 1, 2]),
    known_columns=np.array([0, 1, 1]),
)


def network(backbone, *, has_text=None, **settings):
    torch.manual_seed(0)
    config = PrototypeConfig(source_dropout=0.0, dropout=0.0, **settings)
    centroids = Centroids(4, backbone.dim)
    centroids.vectors.normal_()
    centroids.present[:] = torch.tensor([True, True, False, True])
    return PrimeNetwork(
        backbone,
        PrototypeNetwork(backbone.dim, config),
        centroids=centroids,
        free_vectors=FreeVectors(np.array([0, 1, 0, 1]), 2, backbone.dim),
        has_text=has_text,
    ).eval()


@pytest.fixture
def batch(tiny_backbone, texts):
    rows = tiny_backbone.tokenize(texts[:5]).rows, tiny_backbone.tokenize(texts[5:9]).rows
    device = torch.device("cpu")
    return put_on_device(BATCH, *rows, device=device, max_length=None, random_state=0)


def test_a_batch_carries_its_instances_then_its_labels(batch, tiny_backbone, texts):
    embeddings = tiny_backbone(batch.tokens).detach().numpy()
    alone = tiny_backbone.encode([texts[4], texts[0], texts[2], texts[6], texts[8]])
    np.testing.assert_allclose(embeddings, alone, atol=1e-5)


def test_a_step_trains_all_parts_and_moves_the_centroids_of_its_labels(batch, tiny_backbone):
    net = network(tiny_backbone)
    before = net.centroids.vectors.clone()
    terms, instances = net(batch)
    terms["loss"].backward()
    moved = (net.centroids.vectors != before).any(dim=1)
    assert moved.tolist() == [False, True, False, True]
    assert instances.shape == (3, 32)
    assert not instances.requires_grad
    assert net.free_vectors.vectors.grad.abs().sum() > 0
    assert net.prototypes.layer.feed_forward_in.weight.grad.abs().sum() > 0
    assert tiny_backbone.model.embeddings.word_embeddings.weight.grad.abs().sum() > 0


def test_a_centroid_of_the_batch_alone_can_be_dropped(batch, tiny_backbone):
    """Label 3 has its only two instances in the batch, label 1 has another elsewhere."""

    def prototypes(net, centroids):
        net.centroids.vectors.copy_(centroids)
        net.centroids.counts[:] = torch.tensor([1, 2, 0, 2])
        sources, tables = net.sources_of(batch.labels, texts), net._tables(batch)
        return net.prototypes(*net._without_leaks(sources, batch, tables)).detach()

    texts, some, others = torch.randn(2, 32), torch.randn(4, 32), torch.randn(4, 32)
    net = network(tiny_backbone, centroid_leak="drop")
    changed = (prototypes(net, some) - prototypes(net, others)).abs().amax(dim=1) > 1e-3
    assert changed.tolist() == [True, False]
    kept = network(tiny_backbone)
    assert (prototypes(kept, some) - prototypes(kept, others)).abs().amax(dim=1).min() > 1e-3


def test_exact_centroids_are_left_alone_by_a_step(batch, tiny_backbone):
    net = network(tiny_backbone, centroids="exact")
    before = net.centroids.vectors.clone()
    net(batch)
    assert torch.equal(net.centroids.vectors, before)


def test_the_embedding_of_no_text_takes_no_part(batch, tiny_backbone):
    net = network(tiny_backbone, has_text=torch.tensor([True, False, True, True]))
    labels, texts = torch.arange(4), torch.randn(4, 32)
    changed = texts.clone()
    changed[1] += 5
    one, other = net.prototypes_of(labels, texts), net.prototypes_of(labels, changed)
    torch.testing.assert_close(one, other)
    changed[0] += 5
    assert not torch.allclose(net.prototypes_of(labels, changed)[0], one[0], atol=0.01)
    # In the terms about texts its prototype stands in: a triplet of each cannot tell them apart.
    both = network(tiny_backbone, has_text=torch.zeros(4, dtype=torch.bool))
    terms, _ = both(batch)
    torch.testing.assert_close(terms["query_to_label"], terms["query_to_prototype"])


def test_all_prototypes_are_those_of_each_label(tiny_backbone):
    net, texts = network(tiny_backbone), torch.randn(4, 32)
    together = torch.from_numpy(net.all_prototypes(texts.numpy(), chunk=3))
    for label in range(4):
        own = net.prototypes_of(torch.tensor([label]), texts[label : label + 1])
        torch.testing.assert_close(together[label : label + 1], own.detach())


def test_a_new_label_has_text_and_perhaps_a_centroid_but_no_free_vector():
    centroids = torch.stack([torch.zeros(8), torch.ones(8)])
    sources = new_sources(torch.ones(2, 8), centroids, torch.tensor([True, False]))
    assert sources.present.tolist() == [[True, False, False], [False, True, False]]
