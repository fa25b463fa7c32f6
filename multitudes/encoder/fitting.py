"""From tokenized texts to a trained network: PRIME's training, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from multitudes.config import Config
from multitudes.deep.devices import choose_device
from multitudes.deep.prefetch import prefetched
from multitudes.deep.texts.tokenizing import has_words
from multitudes.deep.texts.tokens import TokenRows, pack
from multitudes.deep.training import (
    ALONE,
    Batches,
    Checkpoint,
    History,
    Outlook,
    Stateful,
    TrainingConfig,
    World,
    digest_of,
    train,
    trial_seconds,
)
from multitudes.encoder.backbone.embedding import embed
from multitudes.encoder.backbone.model import Backbone
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.network import PrimeNetwork, StepInput, put_on_device
from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.encoder.prototypes.free_vectors import FreeVectors
from multitudes.encoder.prototypes.label_memory import LabelMemory
from multitudes.encoder.prototypes.network import PrototypeConfig, PrototypeNetwork
from multitudes.encoder.sampling import BatchSampler, SamplerConfig
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.encoder.search.index import PrototypeIndex
from multitudes.errors import DataError
from multitudes.metrics import precision_at_k, recall_at_k
from multitudes.progress import spelled
from multitudes.types import FloatArray, Sparse

FEW_TEXTS, MORE_TEXTS, SECONDS_TRIED = 16, 128, 5.0  # what tells how fast a CPU is
DEEPEST = 100
"""The k of the recall that validation measures."""


@dataclass(frozen=True)
class PrimeConfig(Config):
    """All settings of a training except those of its backbone."""

    prototypes: PrototypeConfig
    loss: LossConfig
    sampler: SamplerConfig
    training: TrainingConfig


@dataclass(frozen=True)
class TrainingTexts:
    """Training data: the texts of instances and labels as token ids, and the labels of each.

    Parameters
    ----------
    instances : TokenRows of n_instances texts
    labels : TokenRows of n_labels texts
    Y : CSR (n_instances, n_labels)
    """

    instances: TokenRows
    labels: TokenRows
    Y: Sparse

    def digest(self) -> str:
        """Return a fingerprint: a resumed training must have the same texts and labels."""
        arrays = [
            array for rows in (self.instances, self.labels) for array in (rows.ids, rows.offsets)
        ]
        return digest_of(*arrays, self.Y.indptr, self.Y.indices)


def fit_network(
    texts: TrainingTexts,
    backbone: Backbone,
    config: PrimeConfig,
    *,
    validate: Validation | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> tuple[PrimeNetwork, History]:
    """Train a backbone and what makes prototypes; the network is left on its device."""
    world = World.join(choose_device(config.training.device))
    backbone.to(world.device)
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, identity(texts, backbone, config, validate))
    network, embeddings = start_network(texts, backbone, config, world)
    sampler = start_sampler(texts.Y, embeddings, world, config)
    del embeddings
    network.memory = label_memory(network, config)
    stateful: dict[str, Stateful] = {"sampler": sampler}
    if network.memory is not None:
        stateful["label_memory"] = network.memory

    def step(batch: StepInput) -> Mapping[str, torch.Tensor]:
        terms: Mapping[str, torch.Tensor]
        terms, seen = network(batch)
        sampler.remember(batch.instances, seen)
        return terms

    def measured() -> Mapping[str, float]:
        refresh_centroids(network, texts)
        return {} if validate is None else validate(network)

    history = train(
        network,
        Batches(
            lambda epoch, start: draw(texts, network, sampler, config, epoch, start),
            per_epoch=sampler.n_steps,
            n_instances=sampler.n_instances,
        ),
        step,
        config=config.training,
        validate=None if validate is None else measured,
        stateful=stateful,
        checkpoint=saved,
        outlook=outlook_of(texts, backbone, sampler, config),
    )
    refresh_centroids(network, texts)
    network.settle()
    network.memory = None
    return network, history


def untrained_network(
    texts: TrainingTexts, backbone: Backbone, config: PrimeConfig
) -> PrimeNetwork:
    """Return a backbone as it was, on its device, that texts of labels are read with."""
    world = World.join(choose_device(config.training.device))
    backbone.to(world.device)
    network, _ = start_network(texts, backbone, config, world)
    return network


def no_instances(label_texts: Any) -> Sparse:
    """Return labels of no instances, one column for each text of a label."""
    if not hasattr(label_texts, "__len__") or not len(label_texts):
        raise DataError("there are no labels: label_texts must have the text of at least one")
    return sp.csr_array((0, len(label_texts)), dtype=np.float32)


def outlook_of(
    texts: TrainingTexts, backbone: Backbone, sampler: BatchSampler, config: PrimeConfig
) -> Outlook:
    """Return how to find out, by a few texts, how long an epoch takes on a CPU."""

    def seconds_of(n_texts: int) -> float:
        some = pack(texts.instances.take(np.arange(n_texts) % len(texts.instances)))
        return trial_seconds(backbone, lambda: backbone(some).sum()) / n_texts

    def epoch_seconds() -> float:
        first = seconds_of(FEW_TEXTS)  # slower than the next ones, which is no matter if it is slow
        seconds = seconds_of(MORE_TEXTS if first * MORE_TEXTS < SECONDS_TRIED else FEW_TEXTS)
        n_instances = sampler.n_instances / sampler.n_steps
        n_labels = min(n_instances * config.sampler.positives, len(texts.labels))
        return sampler.n_steps * (n_instances + n_labels) * seconds

    hint = ""
    if config.sampler.positives > 1:
        hint = f"one label drawn per text makes it lighter ({spelled('model', 'prime-lite')})"
    return Outlook(hint, epoch_seconds)


def identity(
    texts: TrainingTexts, backbone: Backbone, config: PrimeConfig, validate: Validation | None
) -> dict[str, Any]:
    """Return what the result of a training depends on; a resumed one must agree."""
    weights = (weight.detach().cpu().float().numpy() for weight in backbone.parameters())
    return {
        "data": texts.digest(),
        "validation": None if validate is None else validate.digest(),
        "backbone": {
            "name": backbone.config.name,
            "pooling": backbone.config.pooling,
            "weights": digest_of(*weights),
        },
        **config.to_dict(),
    }


def start_sampler(
    Y: Sparse, embeddings: FloatArray, world: World, config: PrimeConfig
) -> BatchSampler:
    """Return a sampler that knows the embeddings (n_instances, d) of all instances."""
    sampler = BatchSampler(
        Y,
        config.sampler,
        epochs=config.training.epochs,
        random_state=config.training.random_state,
        world=world,
    )
    everyone = torch.arange(len(embeddings), device=world.device)
    sampler.remember(everyone, torch.from_numpy(embeddings).to(world.device))
    return sampler


def label_memory(
    network: PrimeNetwork, config: PrimeConfig, *, further: int = 0
) -> LabelMemory | None:
    """Return what keeps the rows of batches on the device, if tables are in the host's memory.

    A batch may have `further` labels beside its positives.
    """
    if not config.prototypes.on_host:
        return None
    sampler = config.sampler
    return LabelMemory(
        network.centroids,
        network.free_vectors,
        labels_at_once=sampler.batch_size * sampler.positives + further,
        # Beside those that wait: one being made, one being asked for.
        batches_ahead=sampler.prefetch + config.training.accumulate + 2,
        device=network.backbone.device,
    )


def embed_together(world: World, backbone: Backbone, rows: TokenRows, what: str) -> FloatArray:
    """Embeddings (n, d) of tokenized texts, of which each process makes a part."""
    if world.size == 1:
        return embed(backbone, rows, what)
    own = embed(backbone, rows.take(world.own(len(rows))), what)
    return world.gathered_array(own, len(rows))


def start_network(
    texts: TrainingTexts, backbone: Backbone, config: PrimeConfig, world: World = ALONE
) -> tuple[PrimeNetwork, FloatArray]:
    """Return an untrained network on the backbone's device, and its embeddings (n_instances, d).

    Centroids start as the mean of these; free vectors are shared by labels of similar text.
    """
    settings = config.prototypes
    random_state = config.training.random_state
    embeddings = np.zeros((len(texts.instances), backbone.dim), np.float32)
    if settings.uses("centroid") or config.sampler.clustered:
        embeddings = embed_together(world, backbone, texts.instances, "embedding instances")
    centroids = free_vectors = None
    if settings.uses("centroid"):
        centroids = Centroids(
            len(texts.labels),
            backbone.dim,
            momentum=settings.momentum,
            unit_length=settings.unit_centroids,
            on_host=settings.on_host,
        )
        centroids.to(backbone.device).recompute(embeddings, texts.Y, world=world)
    if settings.uses("free"):
        free_vectors = FreeVectors.from_label_embeddings(
            embed_together(world, backbone, texts.labels, "embedding labels"),
            n_vectors=settings.n_free_vectors,
            start=settings.free_start,
            random_state=random_state,
            sparse=settings.sparse_updates,
            on_host=settings.on_host,
            world=world,
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        prototypes = PrototypeNetwork(backbone.dim, settings)
    network = PrimeNetwork(
        backbone,
        prototypes,
        centroids=centroids,
        free_vectors=free_vectors,
        has_text=text_mask(texts.labels, backbone, settings),
        loss=config.loss,
    )
    network.world = world
    return network.to(backbone.device), embeddings


def text_mask(
    labels: TokenRows, backbone: Backbone, settings: PrototypeConfig
) -> torch.Tensor | None:
    """Which labels (n_labels,) have a text; None if all have one, or have no other source."""
    mask = has_words(labels, backbone.tokenizer)
    if mask.all() or settings.sources == ("text",):
        return None
    return torch.from_numpy(mask)


def draw(
    texts: TrainingTexts,
    network: PrimeNetwork,
    sampler: BatchSampler,
    config: PrimeConfig,
    epoch: int,
    start: int,
) -> Iterator[StepInput]:
    """Draw the batches of an epoch from number `start` on, sent to the device in the background."""
    network.settle()
    if epoch and not start:
        refresh_centroids(network, texts)
    backbone = network.backbone
    compiled = backbone.config.compile
    longest = max(backbone.max_length, backbone.label_max_length) if compiled else None
    inputs = (
        put_on_device(
            batch,
            texts.instances,
            texts.labels,
            device=network.backbone.device,
            max_length=longest,
            world=network.world,
            memory=network.memory,
            random_state=config.training.random_state + epoch * sampler.n_steps + number,
        )
        for number, batch in enumerate(sampler.batches(epoch, start), start)
    )
    drawn = prefetched(inputs, config.sampler.prefetch)
    if network.memory is None:
        return drawn
    return network.memory.released(drawn, config.training.accumulate)


def refresh_centroids(network: PrimeNetwork, texts: TrainingTexts) -> None:
    """With exact centroids, set each to the mean of its instances' present embeddings."""
    if network.centroids is not None and network.prototypes.config.centroids == "exact":
        network.settle()
        world = network.world
        embeddings = embed_together(world, network.backbone, texts.instances, "embedding instances")
        network.centroids.recompute(embeddings, texts.Y, world=world)


def label_prototypes(network: PrimeNetwork, labels: TokenRows) -> tuple[FloatArray, FloatArray]:
    """Prototypes and text embeddings, (n_labels, d) each, of the labels of a training.

    To be called by all processes that train.
    """
    texts = embed_together(network.world, network.backbone, labels, "embedding labels")
    network.settle()
    was_training = network.training
    network.eval()
    prototypes = network.all_prototypes(texts)
    network.train(was_training)
    return prototypes, texts


@dataclass(frozen=True)
class Validation:
    """Measures a network: P@1, P@5 and R@100.

    Parameters
    ----------
    instances : TokenRows
        Texts kept aside.
    Y : CSR (n, n_labels)
        Their labels.
    labels : TokenRows
        The texts of all labels.
    """

    instances: TokenRows
    Y: Sparse
    labels: TokenRows

    def digest(self) -> str:
        """Return a fingerprint: other instances may choose another epoch."""
        return digest_of(self.instances.ids, self.instances.offsets, self.Y.indices, self.Y.indptr)

    def __call__(self, network: PrimeNetwork) -> dict[str, float]:
        """Return the metrics of a network."""
        prototypes, _ = label_prototypes(network, self.labels)
        queries = embed_together(
            network.world, network.backbone, self.instances, "embedding validation texts"
        )
        memory = network.prototypes.config.label_memory
        index = PrototypeIndex(prototypes, IndexConfig(kind="flat", label_memory=memory))
        found = index.search(queries, top_k=DEEPEST)
        return {
            "P@1": precision_at_k(found, self.Y, k=1),
            "P@5": precision_at_k(found, self.Y, k=5),
            "R@100": recall_at_k(found, self.Y, k=DEEPEST),
        }
