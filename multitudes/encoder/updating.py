"""Change a trained network: further instances, labels that were added, and fewer labels."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from multitudes.config import Config, setting
from multitudes.deep.devices import choose_device
from multitudes.deep.prefetch import prefetched
from multitudes.deep.texts.tokens import TokenRows
from multitudes.deep.training import Batches, History, TrainingConfig, World, train
from multitudes.encoder.backbone.embedding import embed
from multitudes.encoder.classifier import ClassifierConfig
from multitudes.encoder.fitting import (
    PrimeConfig,
    TrainingTexts,
    embed_together,
    label_memory,
    start_sampler,
    text_mask,
)
from multitudes.encoder.network import PrimeNetwork, StepInput, put_on_device
from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.encoder.prototypes.free_vectors import FreeVectors
from multitudes.encoder.sampling.positives import UNIFORM
from multitudes.encoder.sampling.sampler import Batch, BatchSampler
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.encoder.search.index import PrototypeIndex
from multitudes.types import FloatArray, IntArray


@dataclass(frozen=True)
class UpdateConfig(Config):
    """How `partial_fit` goes on with a trained encoder; the rest is as in its training."""

    epochs: int = setting(3, "Passes over the new instances.", at_least=1)
    learning_rate: float = setting(
        0.1, "Learning rate, in units of the training's: small, to keep what is known.", above=0
    )
    negatives: int = setting(
        64,
        "Labels of no new instance that are drawn for each batch: new texts are kept apart from "
        "them, too.",
        at_least=0,
    )


def update_network(
    network: PrimeNetwork, texts: TrainingTexts, config: PrimeConfig, update: UpdateConfig
) -> tuple[PrimeNetwork, History]:
    """Go on training with new instances alone; returns a new network, on its device.

    Parameters
    ----------
    network : PrimeNetwork
        Stays as it is.
    texts : TrainingTexts
        The new instances, and the texts of *all* labels of the network.
    config : PrimeConfig
        Of the first training.
    update : UpdateConfig
    """
    world = World.join(choose_device(config.training.device))
    network = copy.deepcopy(network).to(world.device)
    network.world = world
    config = _settings(config, update)
    embeddings = embed_together(world, network.backbone, texts.instances, "embedding instances")
    if network.centroids is not None:
        network.centroids.include(embeddings, texts.Y)
        world.from_first(network.centroids.vectors)
    network.memory = label_memory(network, config, further=update.negatives)
    sampler = start_sampler(texts.Y, embeddings, world, config)
    others = np.setdiff1d(np.arange(len(texts.labels)), texts.Y.indices)

    def step(batch: StepInput) -> Mapping[str, torch.Tensor]:
        terms: Mapping[str, torch.Tensor]
        terms, seen = network(batch)
        sampler.remember(batch.instances, seen)
        return terms

    def draw(epoch: int, start: int) -> Iterator[StepInput]:
        network.settle()
        inputs = (
            put_on_device(
                _with_others(batch, others, update.negatives, seed),
                texts.instances,
                texts.labels,
                device=network.backbone.device,
                max_length=None,
                random_state=seed,
                world=world,
                memory=network.memory,
            )
            for seed, batch in _seeded(sampler, config, epoch, start)
        )
        drawn = prefetched(inputs, config.sampler.prefetch)
        if network.memory is None:
            return drawn
        return network.memory.released(drawn, config.training.accumulate)

    history = train(
        network,
        Batches(draw, per_epoch=sampler.n_steps, n_instances=sampler.n_instances),
        step,
        config=config.training,
        stateful={"sampler": sampler},
    )
    network.settle()
    network.memory = None
    return network, history


Stage = TypeVar("Stage", TrainingConfig, ClassifierConfig)


def of_update(config: Stage, update: UpdateConfig) -> Stage:
    """Return the settings of a stage of training with those of an update in place."""
    rate = update.learning_rate * config.learning_rate
    return replace(config, epochs=update.epochs, learning_rate=rate)


def _settings(config: PrimeConfig, update: UpdateConfig) -> PrimeConfig:
    """The settings of a training with those of an update in place."""
    training = of_update(config.training, update)
    # The last, smaller batch too: an update often has no other. And a few new instances do not
    # tell how rare a label is.
    sampler = replace(config.sampler, keep_last=True, positive_weights=UNIFORM)
    return replace(config, training=training, sampler=sampler)


def _seeded(
    sampler: BatchSampler, config: PrimeConfig, epoch: int, start: int
) -> Iterator[tuple[int, Batch]]:
    first = config.training.random_state + epoch * sampler.n_steps
    for number, batch in enumerate(sampler.batches(epoch, start), start):
        yield first + number, batch


def _with_others(batch: Batch, others: IntArray, count: int, seed: int) -> Batch:
    """Return a batch with random labels of no new instance behind its own, as negatives."""
    rng = np.random.default_rng([seed, len(others)])
    drawn = rng.choice(others, min(count, len(others)), replace=False)
    return replace(batch, labels=np.concatenate([batch.labels, np.sort(drawn)]))


# ------------------------------------------------------------------ labels of a network


def with_added_labels(
    network: PrimeNetwork, labels: TokenRows, added_centroids: FloatArray
) -> PrimeNetwork:
    """Return a network that knows labels added after its training as it knows the others.

    An added label shares the free vector of the trained label whose text is nearest to its own.

    Parameters
    ----------
    network : PrimeNetwork
        Trained on the first of the labels.
    labels : TokenRows
        The texts of all labels.
    added_centroids : float32 array (n_added, d)
        Of the last of them; a zero row for a label without examples.
    """
    n_added = len(added_centroids)
    if not n_added:
        return network
    backbone, n_labels = network.backbone, len(labels)
    centroids = network.centroids
    if centroids is not None:
        has_one = added_centroids.any(axis=1)
        centroids = _centroids(
            centroids,
            torch.cat([centroids.vectors, torch.from_numpy(added_centroids).to(centroids.vectors)]),
            # How many examples there were is not known: as if it was one.
            np.concatenate([centroids.counts.cpu().numpy(), has_one.astype(np.int64)]),
        )
    free_vectors = network.free_vectors
    if free_vectors is not None:
        texts = embed(backbone, labels, "embedding labels")
        trained = PrototypeIndex(texts[: n_labels - n_added], IndexConfig(kind="flat"))
        nearest = trained.search(texts[n_labels - n_added :], top_k=1).labels[:, 0]
        clusters = free_vectors.clusters.cpu().numpy()
        free_vectors = _free_vectors(free_vectors, np.concatenate([clusters, clusters[nearest]]))
    mask = text_mask(labels, backbone, network.prototypes.config)
    return _with_labels(network, centroids, free_vectors, mask)


def without_labels(network: PrimeNetwork, kept: npt.NDArray[np.bool_]) -> PrimeNetwork:
    """Return a network of the labels marked in `kept` (n_labels,); the encoder is shared."""
    centroids, free_vectors, mask = network.centroids, network.free_vectors, network.has_text
    keep = torch.from_numpy(kept).to(network.backbone.device)
    if centroids is not None:
        there = keep.to(centroids.vectors.device)
        counts = centroids.counts[there].cpu().numpy()
        centroids = _centroids(centroids, centroids.vectors[there], counts)
    if free_vectors is not None:
        free_vectors = _free_vectors(free_vectors, free_vectors.clusters.cpu().numpy()[kept])
    return _with_labels(network, centroids, free_vectors, None if mask is None else mask[keep])


def _centroids(old: Centroids, vectors: torch.Tensor, counts: npt.NDArray[Any]) -> Centroids:
    new = Centroids(
        len(vectors),
        vectors.shape[1],
        momentum=old.momentum,
        unit_length=old.unit_length,
        on_host=old.on_host,
    ).to(vectors.device)
    new.vectors.copy_(vectors)
    new.present.copy_(vectors.abs().sum(dim=1) > 0)
    new.counts.copy_(torch.from_numpy(counts))
    return new


def _free_vectors(old: FreeVectors, clusters: npt.NDArray[Any]) -> FreeVectors:
    new = FreeVectors(clusters, *old.vectors.shape, sparse=old.sparse, on_host=old.on_host).to(
        old.vectors.device
    )
    new.vectors.data.copy_(old.vectors.data)
    return new


def _with_labels(
    network: PrimeNetwork,
    centroids: Centroids | None,
    free_vectors: FreeVectors | None,
    has_text: torch.Tensor | None,
) -> PrimeNetwork:
    other = PrimeNetwork(
        network.backbone,
        network.prototypes,
        centroids=centroids,
        free_vectors=free_vectors,
        has_text=has_text,
        loss=network.loss,
    )
    return other.to(network.backbone.device).train(network.training)
