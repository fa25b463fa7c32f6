"""From texts as word ids to a trained network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np

from multitudes.config import Config
from multitudes.encoder.sampling.prefetch import prefetched
from multitudes.encoder.texts.tokens import TokenRows
from multitudes.seq2set.generation.decoding_config import DecodingConfig
from multitudes.seq2set.losses.loss_config import SetLossConfig
from multitudes.seq2set.losses.matching import Matcher
from multitudes.seq2set.network.network import SeqNetwork, TrainingBatch
from multitudes.seq2set.network.network_config import NetworkConfig
from multitudes.seq2set.targets import TargetRows
from multitudes.seq2set.training_step import BatchTerms, Objective, TrainingStep
from multitudes.seq2set.words.word_batches import (
    LENGTHS_PER_DOUBLING,
    BatchConfig,
    epoch_rows,
    on_device,
    word_batch,
)
from multitudes.seq2set.words.words_config import WordsConfig
from multitudes.training import Batches, Checkpoint, History, TrainingConfig, train


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
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.rows.ids, self.rows.offsets, self.targets.labels, self.targets.offsets):
            digest.update(np.ascontiguousarray(array, np.int64).data)
        return digest.hexdigest()


def fit_network(
    network: SeqNetwork,
    texts: TrainingTexts,
    config: FitConfig,
    *,
    validate: Callable[[], Mapping[str, float]] | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> History:
    """Train a network in place; `config.loss.scheme` must be settled, not "auto"."""
    lengths = texts.rows.lengths
    size = min(config.batches.batch_size, len(lengths))
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, {"data": texts.digest(), **config.to_dict()})
    with Matcher(config.loss.scheme) as matcher:
        terms = BatchTerms(network, matcher, objective=config.objective, loss=config.loss)
        return train(
            network,
            Batches(
                lambda epoch, start: draw(network, texts, config, epoch, start),
                per_epoch=-(-len(lengths) // size),
                n_instances=len(lengths),
            ),
            TrainingStep(terms),
            config=config.training,
            validate=validate,
            checkpoint=saved,
        )


def draw(
    network: SeqNetwork, texts: TrainingTexts, config: FitConfig, epoch: int, start: int
) -> Iterator[TrainingBatch]:
    """The batches of an epoch from number `start` on, made in the background."""
    settings = config.batches
    batches = epoch_rows(
        texts.rows.lengths,
        batch_size=settings.batch_size,
        seed=config.training.seed,
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
        )
        for rows in batches[start:]
    )
    return prefetched(made, settings.prefetch)
