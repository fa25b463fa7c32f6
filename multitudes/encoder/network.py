"""PrimeNetwork: what is trained together, and one training step through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from multitudes.deep.texts.tokens import PackedTokens, TokenRows, joined, pack
from multitudes.deep.training import ALONE, SparseRows, World
from multitudes.encoder.backbone.model import Backbone
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.multi_objective import multi_objective_loss
from multitudes.encoder.losses.targets import Targets, draw_positives, known_pairs
from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.encoder.prototypes.free_vectors import FreeVectors
from multitudes.encoder.prototypes.label_memory import Held, LabelMemory
from multitudes.encoder.prototypes.network import SOURCES, PrototypeConfig, PrototypeNetwork
from multitudes.encoder.sampling.sampler import Batch
from multitudes.store import State
from multitudes.types import FloatArray, IntArray

KIND = "prime-network"
BACKBONE, PROTOTYPES = "backbone.", "prototypes."
ROUND_UP_TO = 256  # tokens of a batch on a GPU: fewer different sizes for its matrix kernels


@dataclass(frozen=True)
class StepInput:
    """A batch on its device: b instances and m labels, whose texts are encoded together.

    Parameters
    ----------
    tokens : PackedTokens
        The texts of the instances, then those of the labels; in one of several processes, of its
        part of both (`World.own`).
    instances : int64 tensor (b,)
        Rows of the training set.
    labels : int64 tensor (m,)
        Label ids.
    positives : int64 tensor (b, p)
        Columns of the drawn positives; -1 where an instance has fewer.
    known_rows, known_columns : int64 tensors (k,)
        Every known positive pair.
    label_positives : int64 tensor (m, 1)
        Row of an instance drawn for each label; -1 where it has none.
    held : Held, optional
        The rows of centroids and free vectors that the host's memory has sent.
    """

    tokens: PackedTokens
    instances: Tensor
    labels: Tensor
    positives: Tensor
    known_rows: Tensor
    known_columns: Tensor
    label_positives: Tensor
    held: Held | None = None


def put_on_device(
    batch: Batch,
    instance_tokens: TokenRows,
    label_tokens: TokenRows,
    *,
    device: torch.device,
    max_length: int | None,
    random_state: int,
    world: World = ALONE,
    memory: LabelMemory | None = None,
) -> StepInput:
    """Send a batch with its texts to the device; the host does not wait for it.

    What can be drawn before the step is drawn here, in a thread that runs during training;
    `random_state` is the step's own.
    """
    rows = joined(
        instance_tokens.take(batch.instances[world.own(len(batch.instances))]),
        label_tokens.take(batch.labels[world.own(len(batch.labels))]),
    )
    on_gpu = device.type == "cuda"

    drawn = draw_positives(
        torch.from_numpy(batch.known_columns),
        torch.from_numpy(batch.known_rows),
        n_rows=len(batch.labels),
        random_state=random_state,
    )  # (m, 1)
    arrays = (
        batch.instances, batch.labels, batch.positives, batch.known_rows, batch.known_columns,
        drawn.numpy(),
    )  # fmt: skip
    instances, labels, positives, known_rows, known_columns, label_positives = _moved(
        arrays, device
    )
    return StepInput(
        tokens=pack(
            rows, device=device, round_up_to=ROUND_UP_TO if on_gpu else 1, max_length=max_length
        ),
        instances=instances,
        labels=labels,
        positives=positives,
        known_rows=known_rows,
        known_columns=known_columns,
        label_positives=label_positives,
        held=None if memory is None else memory.load(batch.labels),
    )


def _moved(arrays: Sequence[IntArray], device: torch.device) -> list[Tensor]:
    """Arrays on a device as int64 tensors, in one copy."""
    together = torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))
    if device.type == "cuda":  # pinned memory lets the copy overlap with the device's work
        together = together.pin_memory()
    parts = torch.split(together.to(device, non_blocking=True), [a.size for a in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


class Sources(NamedTuple):
    """What the prototypes of m labels are made of, as `PrototypeNetwork` takes it."""

    text: Tensor  # (m, d)
    centroid: Tensor | None  # (m, d); None if prototypes do not use it
    free: Tensor | None  # (m, d); likewise
    present: Tensor | None  # bool (m, 3), which label has which; None: every label has all

    def part_of(self, world: World) -> Sources:
        """Those of the labels whose texts this process encodes, which are the texts given."""
        shared = (self.centroid, self.free, self.present)
        return Sources(self.text, *(None if x is None else world.own_rows(x) for x in shared))


class Tables(NamedTuple):
    """Where centroids and free vectors of m labels are, and in which rows (m,)."""

    centroids: Centroids | None
    centroid_rows: Tensor
    free_vectors: FreeVectors | None
    free_rows: Tensor


class PrimeNetwork(nn.Module):
    """The text encoder, and what makes prototypes of labels out of their texts.

    Parameters
    ----------
    backbone : Backbone
    prototypes : PrototypeNetwork
    centroids : Centroids, optional
        If prototypes use them.
    free_vectors : FreeVectors, optional
        Likewise.
    has_text : bool tensor (n_labels,), optional
        Which labels have a text; all by default. One without is made of its other sources.
    loss : LossConfig

    Attributes
    ----------
    world : World
        The processes that train it together.
    memory : LabelMemory or None
        While it is trained with centroids and free vectors in the host's memory: their rows on the
        device.
    """

    no_decay = ("free_vectors",)
    # Each process gathers the gradients of the batch's rows: only these are exchanged.
    complete_gradients = ("free_vectors.vectors",)
    has_text: Tensor | None

    def __init__(
        self,
        backbone: Backbone,
        prototypes: PrototypeNetwork,
        *,
        centroids: Centroids | None = None,
        free_vectors: FreeVectors | None = None,
        has_text: Tensor | None = None,
        loss: LossConfig = LossConfig(),
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.prototypes = prototypes
        self.centroids = centroids
        self.free_vectors = free_vectors
        self.register_buffer("has_text", has_text)
        self.loss = loss
        self.world = ALONE
        self.memory: LabelMemory | None = None

    @property
    def sparse_rows(self) -> tuple[SparseRows, ...]:
        """Tables of which a training step moves a few rows."""
        if self.memory is not None:
            return self.memory.sparse_rows
        if self.free_vectors is None or not self.free_vectors.sparse:
            return ()
        return (SparseRows(self.free_vectors.vectors),)

    def settle(self) -> None:
        """Bring tables in the host's memory up to date, between epochs of a training."""
        if self.memory is not None:
            self.memory.reset()

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """As of any module; tables in the host's memory are brought up to date first."""
        if self.memory is not None:
            self.memory.settle()
        return super().state_dict(*args, **kwargs)

    def forward(self, batch: StepInput) -> tuple[Mapping[str, Tensor], Tensor]:
        """Loss terms of a training step, and the embeddings (b, d) of its instances."""
        b, m, world = len(batch.instances), len(batch.labels), self.world
        embeddings = self.backbone(batch.tokens)  # (b + m, d), or this process's part of both
        instances, texts = embeddings.split([world.share(b), world.share(m)])
        tables = self._tables(batch)
        sources = self._without_leaks(self._sources(batch.labels, texts, tables), batch, tables)
        prototypes: Tensor = self.prototypes(*sources.part_of(world))  # (m, d), or a part
        if self.has_text is not None:
            # Nothing can be learned from the embedding of an empty text, which many may share.
            has_text = world.own_rows(self.has_text[batch.labels]).unsqueeze(1)  # (m, 1)
            texts = torch.where(has_text, texts, prototypes)
        instances = world.gathered(instances, b)  # (b, d)
        texts, prototypes = world.gathered(texts, m), world.gathered(prototypes, m)  # (m, d) each
        known = known_pairs(batch.known_rows, batch.known_columns, shape=(b, m))  # (b, m)
        targets = Targets(batch.positives, known, batch.label_positives)
        terms = multi_objective_loss(instances, texts, prototypes, targets, config=self.loss)
        if tables.centroids is not None and self.prototypes.config.centroids != "exact":
            tables.centroids.update(
                tables.centroid_rows, instances, batch.known_rows, batch.known_columns, world=world
            )
        return terms, instances.detach()

    def _tables(self, batch: StepInput) -> Tables:
        """Where a step finds centroids and free vectors, and in which rows."""
        held, memory = batch.held, self.memory
        if held is None or memory is None:
            return Tables(self.centroids, batch.labels, self.free_vectors, batch.labels)
        memory.insert(held)
        own = (held.centroid_slots, held.free_slots)
        centroid_rows, free_rows = (batch.labels if rows is None else rows for rows in own)
        return Tables(memory.centroids, centroid_rows, memory.free_vectors, free_rows)

    def _without_leaks(self, sources: Sources, batch: StepInput, tables: Tables) -> Sources:
        """Sources of a step without the centroids that consist only of the batch's instances."""
        settings = self.prototypes.config
        if tables.centroids is None or sources.present is None or settings.centroid_leak == "keep":
            return sources
        present = sources.present.clone()  # (m, 3)
        column = SOURCES.index("centroid")
        present[:, column] &= tables.centroids.has_others(tables.centroid_rows, batch.known_columns)
        return sources._replace(present=present)

    def prototypes_of(self, labels: Tensor, texts: Tensor) -> Tensor:
        """Prototypes (m, d) of labels (m,) seen in training, given their text embeddings."""
        prototypes: Tensor = self.prototypes(*self.sources_of(labels, texts))
        return prototypes

    def sources_of(self, labels: Tensor, texts: Tensor) -> Sources:
        """Return the sources of the prototypes of labels (m,) seen in training."""
        tables = Tables(self.centroids, labels, self.free_vectors, labels)
        return self._sources(labels, texts, tables)

    def _sources(self, labels: Tensor, texts: Tensor, tables: Tables) -> Sources:
        centroid = free = None
        columns: dict[str, Tensor] = {}  # of the mask, for sources that some labels lack
        if self.has_text is not None:
            columns["text"] = self.has_text[labels]  # (m,)
        if tables.centroids is not None:
            centroid, columns["centroid"] = tables.centroids(tables.centroid_rows)  # (m, d), (m,)
        if tables.free_vectors is not None:
            free = tables.free_vectors(tables.free_rows)  # (m, d)
        if not columns:
            return Sources(texts, centroid, free, None)
        present = torch.ones(len(labels), len(SOURCES), dtype=torch.bool, device=labels.device)
        for source, has_it in columns.items():
            present[:, SOURCES.index(source)] = has_it
        return Sources(texts, centroid, free, present)

    @torch.no_grad()
    def all_prototypes(self, texts: FloatArray, *, chunk: int = 65_536) -> FloatArray:
        """Prototypes (n_labels, d) of all labels, given all text embeddings (n_labels, d).

        Both are in the host's memory: the device has a chunk of them at a time.
        """
        device = self.backbone.device
        found = np.empty((len(texts), self.backbone.dim), np.float32)
        for start in range(0, len(texts), chunk):
            some = torch.from_numpy(texts[start : start + chunk]).to(device)  # (chunk, d)
            labels = torch.arange(start, start + len(some), device=device)  # (chunk,)
            found[start : start + chunk] = self.prototypes_of(labels, some).float().cpu().numpy()
        return found

    @torch.no_grad()
    def new_prototypes(
        self, texts: Tensor, centroids: Tensor, has_text: Tensor | None = None
    ) -> Tensor:
        """Prototypes (m, d) of labels that training never saw; see `new_sources`."""
        prototypes: Tensor = self.prototypes(*new_sources(texts, centroids, has_text))
        return prototypes

    def to_state(self) -> State:
        """Settings, arrays and the backbone."""
        named = self.state_dict().items()
        arrays = {name: v.cpu().numpy() for name, v in named if not name.startswith(BACKBONE)}
        return State(
            KIND,
            {"prototypes": self.prototypes.config.to_dict(), "loss": self.loss.to_dict()},
            arrays,
            parts={"backbone": self.backbone.to_state()},
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Restore the network, on the CPU, ready to predict."""
        backbone = Backbone.from_state(state.parts["backbone"])
        arrays = state.arrays
        settings = PrototypeConfig.from_dict(state.config["prototypes"])
        centroids = free_vectors = has_text = None
        if "centroids.vectors" in arrays:
            n_labels, dim = arrays["centroids.vectors"].shape
            centroids = Centroids(
                n_labels,
                dim,
                momentum=settings.momentum,
                unit_length=settings.unit_centroids,
                on_host=settings.on_host,
            )
        if "free_vectors.vectors" in arrays:
            n_vectors, dim = arrays["free_vectors.vectors"].shape
            free_vectors = FreeVectors(
                arrays["free_vectors.clusters"],
                n_vectors,
                dim,
                sparse=settings.sparse_updates,
                on_host=settings.on_host,
            )
        if "has_text" in arrays:
            has_text = torch.from_numpy(np.array(arrays["has_text"]))
        network = cls(
            backbone,
            PrototypeNetwork(backbone.dim, settings),
            centroids=centroids,
            free_vectors=free_vectors,
            has_text=has_text,
            loss=LossConfig.from_dict(state.config["loss"]),
        )
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        network.load_state_dict(tensors, strict=False)  # the backbone has its own already
        return network.eval()


def new_sources(texts: Tensor, centroids: Tensor, has_text: Tensor | None = None) -> Sources:
    """Return the sources of labels that training never saw; none has a free vector.

    Parameters
    ----------
    texts : float tensor (m, d)
        Their text embeddings.
    centroids : float tensor (m, d)
        Mean embedding of a few instances of each; a zero row for a label without any.
    has_text : bool tensor (m,), optional
        Which of them have a text; all by default.
    """
    present = torch.zeros(len(texts), len(SOURCES), dtype=torch.bool, device=texts.device)
    present[:, SOURCES.index("text")] = True if has_text is None else has_text
    present[:, SOURCES.index("centroid")] = centroids.abs().sum(dim=1) > 0
    return Sources(texts, centroids, torch.zeros_like(texts), present)
