"""PrimeNetwork: what is trained together, and one training step through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from multitudes.encoder.backbone import Backbone
from multitudes.encoder.centroids import Centroids
from multitudes.encoder.free_vectors import FreeVectors
from multitudes.encoder.loss_config import LossConfig
from multitudes.encoder.losses.multi_objective import multi_objective_loss
from multitudes.encoder.losses.targets import make_targets
from multitudes.encoder.prototype_config import SOURCES
from multitudes.encoder.prototypes import PrototypeNetwork
from multitudes.encoder.sampling.batch import Batch
from multitudes.encoder.tokens import PackedTokens, TokenRows, joined, pack
from multitudes.types import IntArray

ROUND_UP_TO = 256  # tokens of a batch on a GPU: fewer different sizes for its matrix kernels


@dataclass(frozen=True)
class StepInput:
    """A batch on its device: b instances and m labels, whose texts go through as one.

    Parameters
    ----------
    tokens : PackedTokens
        The texts of the instances, then those of the labels.
    instances : int64 tensor (b,)
        Rows of the training set.
    labels : int64 tensor (m,)
        Label ids.
    positives : int64 tensor (b, p)
        Columns of the drawn positives; -1 where an instance has fewer.
    known_rows, known_columns : int64 tensors (k,)
        Every known positive pair.
    seed : int
        Of what the step itself draws.
    """

    tokens: PackedTokens
    instances: Tensor
    labels: Tensor
    positives: Tensor
    known_rows: Tensor
    known_columns: Tensor
    seed: int


def put_on_device(
    batch: Batch,
    instance_tokens: TokenRows,
    label_tokens: TokenRows,
    *,
    device: torch.device,
    max_length: int | None,
    seed: int,
) -> StepInput:
    """A batch with its texts, on its way to the device; the host does not wait for it."""
    rows = joined(instance_tokens.take(batch.instances), label_tokens.take(batch.labels))
    on_gpu = device.type == "cuda"

    def moved(array: IntArray) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.pin_memory().to(device, non_blocking=True) if on_gpu else tensor.to(device)

    return StepInput(
        tokens=pack(
            rows, device=device, round_up_to=ROUND_UP_TO if on_gpu else 1, max_length=max_length
        ),
        instances=moved(batch.instances),
        labels=moved(batch.labels),
        positives=moved(batch.positives),
        known_rows=moved(batch.known_rows),
        known_columns=moved(batch.known_columns),
        seed=seed,
    )


class PrimeNetwork(nn.Module):
    """The text encoder, and what makes prototypes of labels out of their texts.

    Parameters
    ----------
    backbone : Backbone
    prototypes : PrototypeNetwork
    centroids : Centroids, optional
        Where prototypes have that source.
    free_vectors : FreeVectors, optional
        Likewise.
    loss : LossConfig
    """

    no_decay = ("free_vectors",)

    def __init__(
        self,
        backbone: Backbone,
        prototypes: PrototypeNetwork,
        *,
        centroids: Centroids | None = None,
        free_vectors: FreeVectors | None = None,
        loss: LossConfig | None = None,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.prototypes = prototypes
        self.centroids = centroids
        self.free_vectors = free_vectors
        self.loss = loss or LossConfig()

    def forward(self, batch: StepInput) -> tuple[Mapping[str, Tensor], Tensor]:
        """Loss terms of a training step, and the embeddings (b, d) of its instances."""
        embeddings = self.backbone(batch.tokens)  # (b + m, d)
        instances, texts = embeddings.split([len(batch.instances), len(batch.labels)])
        prototypes = self.prototypes_of(batch.labels, texts)  # (m, d)
        targets = make_targets(
            batch.positives,
            batch.known_rows,
            batch.known_columns,
            n_labels=len(batch.labels),
            seed=batch.seed,
        )
        terms = multi_objective_loss(instances, texts, prototypes, targets, config=self.loss)
        if self.centroids is not None and self.prototypes.config.centroids == "momentum":
            self.centroids.update(batch.labels, instances, batch.known_rows, batch.known_columns)
        return terms, instances.detach()

    def prototypes_of(self, labels: Tensor, texts: Tensor) -> Tensor:
        """Prototypes (m, d) of labels (m,) that training knows, given their text embeddings."""
        centroid = free = present = None
        if self.centroids is not None:
            centroid, has_centroid = self.centroids(labels)  # (m, d), (m,)
            present = torch.ones(len(labels), len(SOURCES), dtype=torch.bool, device=labels.device)
            present[:, SOURCES.index("centroid")] = has_centroid
        if self.free_vectors is not None:
            free = self.free_vectors(labels)  # (m, d)
        prototypes: Tensor = self.prototypes(texts, centroid, free, present)
        return prototypes

    @torch.no_grad()
    def all_prototypes(self, texts: Tensor, *, chunk: int = 65_536) -> Tensor:
        """Prototypes (n_labels, d) of all labels, given all text embeddings (n_labels, d)."""
        labels = torch.arange(len(texts), device=texts.device)
        parts = [
            self.prototypes_of(some, texts[some]).float()  # (chunk, d)
            for some in torch.split(labels, chunk)
        ]
        return torch.cat(parts)

    @torch.no_grad()
    def new_prototypes(self, texts: Tensor, centroids: Tensor | None = None) -> Tensor:
        """Prototypes (m, d) of labels that training never saw.

        Parameters
        ----------
        texts : float tensor (m, d)
            Their text embeddings.
        centroids : float tensor (m, d), optional
            Mean embedding of a few instances of each; a zero row for a label without any.
        """
        present = torch.zeros(len(texts), len(SOURCES), dtype=torch.bool, device=texts.device)
        present[:, SOURCES.index("text")] = True
        if centroids is not None:
            present[:, SOURCES.index("centroid")] = centroids.abs().sum(dim=1) > 0
        filler = torch.zeros_like(texts)
        given = filler if centroids is None else centroids
        prototypes: Tensor = self.prototypes(texts, given, filler, present)
        return prototypes
