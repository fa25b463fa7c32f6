"""A training step: from a batch to its loss terms, plain or captured as a CUDA graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
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
from multitudes.types import IntArray

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
        self,
        ids: Tensor,
        lengths: Tensor,
        targets: Tensor,
        host_lengths: Tensor | None = None,
        shares: Tensor | None = None,
    ) -> Mapping[str, Tensor]:
        """Terms () by name; see `WordBatch` and `TrainingBatch` for the inputs.

        Without `host_lengths` the device's are taken, which packing texts would wait for. `shares`
        (2,) are factors of the transport term and of the other one: a mean over a part of a batch
        becomes what the part adds to the mean over the batch.
        """
        words = WordBatch(ids, lengths, lengths if host_lengths is None else host_lengths)
        fed = None if self.objective == "set" else targets
        terms = self.of_decoded(self.network(words, fed), targets)
        return terms if shares is None else self._shared(terms, shares)

    def _shared(self, terms: Mapping[str, Tensor], shares: Tensor) -> Mapping[str, Tensor]:
        of_transport, of_targets = shares.unbind()
        if self.objective == "sequence":
            return {LOSS: of_targets * terms[LOSS]}
        weighed = {"matching": of_targets * terms["matching"]}
        total = weighed["matching"]
        if "transport" in terms:
            weighed["transport"] = of_transport * terms["transport"]
            total = total + self.loss.transport_weight * weighed["transport"]
        return {**weighed, LOSS: total}

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


def mean_weights(
    targets: IntArray, *, objective: Objective, empty_weight: float
) -> npt.NDArray[np.float64]:
    """What the terms of instances with targets (b, N) are divided by: the transport term, others.

    See `transport_loss`, `set_matching_loss` and `sequence_loss`; every target has a step.
    """
    has_target = targets >= 0  # (b, N)
    n_targets = int(has_target.sum())
    n_empty = targets.size - n_targets if objective == "set" else 0
    of_transport = int(has_target.any(axis=1).sum())
    return np.array([of_transport, n_targets + empty_weight * n_empty], np.float64)


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
        words, inputs = batch.words, (batch.words.ids, batch.words.lengths, batch.targets)
        if self.captures(batch):
            more = () if batch.shares is None else (words.lengths, batch.shares)
            return self.captured(*inputs, *more)
        terms: Mapping[str, Tensor] = self.terms(*inputs, words.host_lengths, batch.shares)
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
