"""A training step: from a batch to its loss terms, plain or captured as a CUDA graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from multitudes.deep.training import LOSS
from multitudes.seq2set.graph_capture import CapturedGradients
from multitudes.seq2set.losses import sequence_loss, set_generation_loss
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.losses.step_matching import Matcher
from multitudes.seq2set.network.decoder import Decoded
from multitudes.seq2set.network.label_output import fed_before
from multitudes.seq2set.network.seq_network import SeqNetwork, TrainingBatch
from multitudes.seq2set.words.batches import WordBatch

Objective = Literal["set", "sequence"]


class BatchTerms(nn.Module):
    """Loss terms of a batch: of sets with the network's own labels fed, of sequences the true.

    Parameters
    ----------
    network : SeqNetwork
    matcher : Matcher
        For sets.
    objective : "set" or "sequence"
    loss : SetLossConfig
    """

    def __init__(
        self, network: SeqNetwork, matcher: Matcher, *, objective: Objective, loss: SetLossConfig
    ) -> None:
        super().__init__()
        self.network, self.matcher = network, matcher
        self.objective, self.loss = objective, loss

    def forward(
        self, ids: Tensor, lengths: Tensor, targets: Tensor, host_lengths: Tensor | None = None
    ) -> Mapping[str, Tensor]:
        """Terms () by name; see `WordBatch` and `TrainingBatch` for the inputs.

        Without `host_lengths` the device's are taken, which packing texts would wait for.
        """
        words = WordBatch(ids, lengths, lengths if host_lengths is None else host_lengths)
        fed = None if self.objective == "set" else targets
        return self.of_decoded(self.network(words, fed), targets)

    def of_decoded(self, decoded: Decoded, targets: Tensor) -> Mapping[str, Tensor]:
        """Terms () by name, of what the decoder gave; targets (b, N)."""
        states = decoded.states  # (b, N, w)
        decoder = self.network.decoder
        if self.objective == "set":
            return set_generation_loss(
                states,
                targets,
                decoder.output.layer,
                empty=decoder.empty,
                matcher=self.matcher,
                embeddings=self.network.label_embeddings,
                config=self.loss,
                scored=decoded.scored,
            )
        excluded = None
        if decoder.masked_softmax:
            excluded = fed_before(targets, decoder.empty)  # (b, N, N)
        loss = sequence_loss(
            states,
            targets,
            decoder.output.layer,
            excluded=excluded,
            labels_at_once=self.loss.labels_at_once,
        )
        return {LOSS: loss}


class TrainingStep:
    """Calls `BatchTerms`; on CUDA with ``compile="graphs"``, as a captured graph.

    Parameters
    ----------
    terms : BatchTerms
    """

    def __init__(self, terms: BatchTerms) -> None:
        self.terms = terms
        self.captured = CapturedGradients(terms)

    def __call__(self, batch: TrainingBatch) -> Mapping[str, Tensor]:
        """Terms () by name."""
        words = batch.words
        if self.captures(batch):
            return self.captured(words.ids, words.lengths, batch.targets)
        terms: Mapping[str, Tensor] = self.terms(
            words.ids, words.lengths, batch.targets, words.host_lengths
        )
        return terms

    def captures(self, batch: TrainingBatch) -> bool:
        """Whether all of a step happens on the device, and so asked for."""
        ids, n_steps = batch.words.ids, batch.targets.shape[1]
        network = self.terms.network
        if network.config.compile != "graphs" or not network.training or not ids.is_cuda:
            return False
        # Gradients in float16 come from a loss that is scaled up before, which a graph's is not.
        if torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.float16:
            return False
        return self.terms.objective == "sequence" or self.terms.matcher.stays_on(ids, n_steps)
