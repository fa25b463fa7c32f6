"""PRIME (W): one vector per label, trained over the embeddings of a frozen encoder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from multitudes.config import Config, setting
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.triplet import triplet_loss
from multitudes.encoder.sampling import Batch, BatchSampler, SamplerConfig
from multitudes.encoder.sampling.positives import INVERSE_PROPENSITY, UNIFORM
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.encoder.search.index import PrototypeIndex
from multitudes.errors import DataError
from multitudes.progress import track
from multitudes.types import FloatArray, Sparse
from multitudes.validation import checked_labels


@dataclass(frozen=True)
class ClassifierConfig(Config):
    """How the vectors of the labels are trained over frozen embeddings."""

    epochs: int = setting(10, "Passes over the training instances.", at_least=1)
    batch_size: int = setting(1024, "Instances per step.", at_least=1)
    learning_rate: float = setting(2e-3, "Learning rate of Adam, falling to zero.", above=0)
    margin: float = setting(
        0.2, "By how much a positive should be nearer than a negative.", at_least=0, at_most=2
    )
    positives: int = setting(5, "Labels drawn for each instance of a batch.", at_least=1)
    positive_weights: str = setting(
        UNIFORM, "How they are drawn.", choices=(UNIFORM, INVERSE_PROPENSITY)
    )
    negatives: int = setting(
        50, "Nearest labels that an instance does not have, found again in each epoch.", at_least=1
    )
    softmax_weights: bool = setting(
        True, "Weigh the violating negatives by a softmax of their similarities."
    )


def train_classifier(
    embeddings: FloatArray,
    Y: Sparse,
    prototypes: FloatArray,
    *,
    config: ClassifierConfig = ClassifierConfig(),
    random_state: int = 0,
    device: torch.device | str = "cpu",
) -> FloatArray:
    """Train one-vs-all vectors of all labels, started from their prototypes.

    Parameters
    ----------
    embeddings : float32 array (n_instances, d)
        Of the training instances, of unit length; the encoder stays as it is.
    Y : CSR (n_instances, n_labels)
    prototypes : float32 array (n_labels, d)
    config : ClassifierConfig, optional
    random_state : int
    device : device or str
        Where the vectors, their two moments and the embeddings are kept while training.

    Returns
    -------
    float32 array (n_labels, d)
        Of unit length. Labels that never came up as positive or negative keep their prototype.

    References
    ----------
    PRIME, section 4.3 and Table 4; Dahiya et al., NGAME, WSDM 2023.
    """
    Y = checked_labels(Y, n_instances=len(embeddings), n_labels=len(prototypes))
    if embeddings.shape[1:] != prototypes.shape[1:]:
        raise DataError(
            f"embeddings have {embeddings.shape[1:]} dimensions and prototypes "
            f"{prototypes.shape[1:]}: both must come from one encoder"
        )
    sampler = _sampler(Y, config, random_state)
    loss_config = _loss_config(config)
    # Gradients are sparse: a step touches the rows of its labels alone, moments included.
    vectors = torch.tensor(prototypes, dtype=torch.float32, device=device, requires_grad=True)
    optimizer = torch.optim.SparseAdam([vectors], lr=config.learning_rate)
    inputs = torch.from_numpy(np.array(embeddings, np.float32)).to(device)  # (n, d)
    n_steps, step = config.epochs * sampler.n_steps, 0
    with track("training the classifier", config.epochs * len(inputs), "instances") as task:
        for epoch in range(config.epochs):
            mined = mine_negatives(inputs, Y, vectors, config.negatives)  # (n, k)
            for batch in sampler.epoch(epoch):
                optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - step / n_steps)
                instances = torch.from_numpy(batch.instances).to(device)  # (b,)
                labels, positives, known = candidates(batch, mined[instances])  # (b, c) ...
                # Instances share many labels: each is normalized, and updated, once.
                used, places = torch.unique(labels, return_inverse=True)  # (u,), (b, c)
                rows = functional.embedding(used, vectors, sparse=True)  # (u, d)
                found = functional.normalize(rows, dim=1)[places]  # (b, c, d)
                similarity = torch.einsum("bd,bcd->bc", inputs[instances], found)  # (b, c)
                loss = triplet_loss(similarity, positives, known, config=loss_config)  # ()
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()  # type: ignore[no-untyped-call]
                step += 1
                task.advance(len(batch))
    return _unit_rows(vectors)


def mine_negatives(inputs: Tensor, Y: Sparse, vectors: Tensor, count: int) -> Tensor:
    """Find the nearest labels that each instance does not have, for all instances at once.

    Parameters
    ----------
    inputs : float32 tensor (n_instances, d)
    Y : CSR (n_instances, n_labels)
    vectors : float32 tensor (n_labels, d)
    count : int

    Returns
    -------
    int64 tensor (n_instances, count)
        On the device of `vectors`; -1 if there are fewer other labels.
    """
    index = PrototypeIndex(_unit_rows(vectors), IndexConfig(device=vectors.device.type))
    found = index.search(inputs, count, filter_pairs=np.stack(Y.nonzero(), axis=1))
    return torch.from_numpy(found.labels.astype(np.int64)).to(vectors.device)


def candidates(batch: Batch, negatives: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The labels that each instance of a batch is compared with.

    Parameters
    ----------
    batch : Batch of b instances with p positives
    negatives : int64 tensor (b, k)
        Label ids; -1 for none.

    Returns
    -------
    labels : int64 tensor (b, p + k)
        Label ids, positives first; the instance's first positive fills empty places.
    positives : int64 tensor (b, p)
        Columns of the positives; -1 for none.
    known : bool tensor (b, p + k)
        True where a column is not a negative.
    """
    drawn = torch.from_numpy(batch.positives)  # (b, p)
    ids = torch.from_numpy(batch.labels)[drawn.clamp(min=0)]  # (b, p)
    device, is_drawn = negatives.device, (drawn >= 0).to(negatives.device)
    labels = torch.cat([ids.to(device), negatives], dim=1)  # (b, p + k)
    filled = torch.cat([is_drawn, negatives >= 0], dim=1)  # (b, p + k)
    columns = torch.arange(drawn.shape[1], device=device)  # (p,)
    known = torch.cat([torch.ones_like(is_drawn), negatives < 0], dim=1)  # (b, p + k)
    return torch.where(filled, labels, labels[:, :1]), torch.where(is_drawn, columns, -1), known


def _sampler(Y: Sparse, config: ClassifierConfig, random_state: int) -> BatchSampler:
    settings = SamplerConfig(
        batch_size=config.batch_size,
        positives=config.positives,
        positive_weights=config.positive_weights,
        clustered=False,
        keep_last=True,
    )
    return BatchSampler(Y, settings, epochs=config.epochs, random_state=random_state)


def _loss_config(config: ClassifierConfig) -> LossConfig:
    return LossConfig(
        margin="fixed",
        fixed_margin=config.margin,
        n_negatives=config.negatives,
        softmax_weights=config.softmax_weights,
    )


def _unit_rows(vectors: Tensor) -> FloatArray:
    """Vectors (n, d) of unit length, on the CPU."""
    unit: FloatArray = functional.normalize(vectors.detach(), dim=1).cpu().numpy()
    return unit
