"""From texts as word ids to a trained network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import torch

from multitudes.config import Config, setting_again
from multitudes.deep.devices import choose_device
from multitudes.deep.prefetch import prefetched
from multitudes.deep.texts.tokens import TokenRows
from multitudes.deep.training import (
    Batches,
    Checkpoint,
    History,
    TrainingConfig,
    World,
    digest_of,
    train,
)
from multitudes.seq2set.generation.generate import DecodingConfig
from multitudes.seq2set.generation.prediction import Validation
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.losses.step_matching import Matcher
from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.network.seq_network import SeqNetwork, TrainingBatch
from multitudes.seq2set.targets import TargetRows
from multitudes.seq2set.training_step import BatchTerms, Objective, TrainingStep, mean_weights
from multitudes.seq2set.words.batches import (
    LENGTHS_PER_DOUBLING,
    BatchConfig,
    epoch_rows,
    on_device,
    word_batch,
)
from multitudes.seq2set.words.vocabulary import WordsConfig
from multitudes.types import FloatArray, IntArray


@dataclass(frozen=True)
class Seq2SetTraining(TrainingConfig):
    """Section 3.4: Adam without decay, a cosine by epochs, gradients clipped at 8."""

    learning_rate: float = setting_again(TrainingConfig, "learning_rate", 1e-3)
    weight_decay: float = setting_again(TrainingConfig, "weight_decay", 0.0)
    warmup_steps: int = setting_again(TrainingConfig, "warmup_steps", 0)
    schedule: str = setting_again(TrainingConfig, "schedule", "cosine-epochs")
    clip: float | None = setting_again(TrainingConfig, "clip", 8.0)


@dataclass(frozen=True)
class FitConfig(Config):
    """All settings of a training."""

    words: WordsConfig
    network: NetworkConfig
    loss: SetLossConfig
    batches: BatchConfig
    decoding: DecodingConfig
    training: TrainingConfig
    objective: Objective
    order: str


@dataclass(frozen=True)
class TrainingTexts:
    """What is learned from.

    Parameters
    ----------
    rows : TokenRows of n_instances texts, as word ids
    targets : TargetRows of n_instances label lists
    """

    rows: TokenRows
    targets: TargetRows

    def digest(self) -> str:
        """A fingerprint: a resumed training must have the same texts and labels."""
        return digest_of(
            self.rows.ids, self.rows.offsets, self.targets.labels, self.targets.offsets
        )


def fit_network(
    network: SeqNetwork,
    texts: TrainingTexts,
    config: FitConfig,
    *,
    validate: Validation | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> History:
    """Train a network in place; `config.loss.scheme` must be settled, not "auto"."""
    lengths = texts.rows.lengths
    size = min(config.batches.batch_size, len(lengths))
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, identity(network, texts, config, validate))
    world = World.join(choose_device(config.training.device))
    with Matcher(config.loss.scheme) as matcher:
        terms = BatchTerms(network, matcher, objective=config.objective, loss=config.loss)
        return train(
            network,
            Batches(
                lambda epoch, start: draw(network, texts, config, world, epoch, start),
                per_epoch=-(-len(lengths) // size),
                n_instances=len(lengths),
            ),
            TrainingStep(terms),
            config=config.training,
            validate=validate,
            checkpoint=saved,
        )


def identity(
    network: SeqNetwork, texts: TrainingTexts, config: FitConfig, validate: Validation | None
) -> dict[str, Any]:
    """What the result of a training depends on; one that is resumed must agree.

    Label texts and word vectors take part through the embeddings of the untrained network.
    """
    embeddings = (network.encoder.words.weight, network.decoder.labels.weight)
    return {
        "data": texts.digest(),
        "validation": None if validate is None else validate.digest(),
        "start_vectors": digest_of(*(weight.detach().cpu().numpy() for weight in embeddings)),
        **config.to_dict(),
    }


def draw(
    network: SeqNetwork,
    texts: TrainingTexts,
    config: FitConfig,
    world: World,
    epoch: int,
    start: int,
) -> Iterator[TrainingBatch]:
    """The batches of an epoch from number `start` on, or this process's part of each.

    Made in the background.
    """
    settings = config.batches
    batches = epoch_rows(
        texts.rows.lengths,
        batch_size=settings.batch_size,
        random_state=config.training.random_state,
        epoch=epoch,
    )
    made = (
        TrainingBatch(
            word_batch(
                texts.rows.take(rows),
                round_up_to=settings.round_up_to,
                per_doubling=LENGTHS_PER_DOUBLING[config.network.compile],
                device=network.device,
            ),
            on_device(texts.targets.padded(rows), network.device),
            None if shares is None else torch.from_numpy(shares).to(network.device),
        )
        for rows, shares in (part_of(batch, texts, config, world) for batch in batches[start:])
    )
    return prefetched(made, settings.prefetch)


def part_of(
    rows: IntArray, texts: TrainingTexts, config: FitConfig, world: World
) -> tuple[IntArray, FloatArray | None]:
    """The rows that this process takes of a batch, and their shares of the means over all.

    Every process has long texts and short ones. Shares are times the number of processes, whose
    terms are averaged; one that has no rows takes one of another's, which does not count.
    """
    if world.size == 1:
        return rows, None
    own = rows[world.rank :: world.size]
    weights = [
        mean_weights(
            texts.targets.padded(some),
            objective=config.objective,
            empty_weight=config.loss.empty_weight,
        )
        for some in (own, rows)
    ]
    shares = world.size * weights[0] / np.maximum(weights[1], 1e-9)  # (2,)
    return own if len(own) else rows[:1], shares.astype(np.float32)
