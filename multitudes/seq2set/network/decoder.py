"""The decoder: a GRU that is fed a label and what attention finds, step by step (Eq. 8 to 10).

All steps have the same static shapes and nothing in them waits for the device, so that torch can
compile the whole unrolled loop, or capture it as one CUDA graph. Per step there are two matrix
products for the gates and the query together, one for the energies, one for the contexts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multitudes.deep.ops.additive_attention import Attended, spans_of
from multitudes.deep.ops.alignment import aligned, aligned_size
from multitudes.deep.ops.gru_cell import gru_cell
from multitudes.deep.ops.label_choice import choose_labels, looked_up
from multitudes.seq2set.network.attention import SharedAttention
from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.network.decoder_loop import Feeding, StepWeights, decoder_loop
from multitudes.seq2set.network.label_output import LabelOutput, without
from multitudes.seq2set.network.label_softmax import CELLS_AT_ONCE, Scored


class StepState(NamedTuple):
    """Where the decoder stands between two steps.

    Parameters
    ----------
    hidden : (b, hidden)
    label : int64 (b,)
        The symbol fed to the next step.
    expected : (b, d) or None
        The expected label embedding of the last step; for `GlobalEmbedding` alone.
    """

    hidden: Tensor
    label: Tensor
    expected: Tensor | None = None


class Decoded(NamedTuple):
    """What the steps gave.

    Parameters
    ----------
    states : (b, N, w)
        What the output layer reads at each step; in training in 16 bits it may be filled up with
        zeros, see `aligned_size`.
    labels : int64 (b, N)
        The likeliest symbol of each step, or the targets that were fed.
    scored : Scored, optional
        What the output layer made of the states, where it was used to choose symbols.
    """

    states: Tensor
    labels: Tensor
    scored: Scored | None = None


LABELS = "labels."

OnStep = Callable[[Tensor, Tensor, Tensor | None], bool]
"""Called after each step with its labels (b,), what the output layer read (b, w), and its logits
(b, n_symbols) unless there are too many; returns whether to stop."""


class GlobalEmbedding(nn.Module):
    """``(1 - h) * e + h * e'`` with ``h = sigmoid(W e + W' e')``, per dimension.

    e is the embedding of the label that is fed, e' the expected embedding under the distribution
    it was chosen from (Yang et al., SGM, 2018, Eq. 13 to 15).

    Parameters
    ----------
    dim : int
        Width of label embeddings.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gate = nn.Linear(2 * dim, dim)

    def forward(self, label: Tensor, expected: Tensor) -> Tensor:
        """The mix (b, dim) of both (b, dim)."""
        both = torch.cat([label.to(expected.dtype), expected], dim=1)  # (b, 2 * dim)
        share = torch.sigmoid(self.gate(both)).to(label.dtype)  # (b, dim)
        return torch.lerp(label, expected.to(label.dtype), share)


class Decoder(nn.Module):
    """Generates symbols: labels, `empty` (which is also the end symbol), fed with `start` first.

    Parameters
    ----------
    label_vectors : tensor (n_labels + 2, d)
        Where the embeddings of labels, of `empty` and of `start` begin.
    n_steps : int
        N, steps of the loop.
    config : NetworkConfig
    """

    def __init__(self, label_vectors: Tensor, *, n_steps: int, config: NetworkConfig) -> None:
        super().__init__()
        n_symbols, dim = len(label_vectors) - 1, label_vectors.shape[1]
        size = config.hidden
        self.empty, self.start, self.n_steps = n_symbols - 1, n_symbols, n_steps
        contexts = 2 * size * (2 if config.convolution else 1)
        self.labels = nn.Embedding(n_symbols + 1, dim, _weight=label_vectors)
        self.attention = SharedAttention(2 * size, size)
        self.from_input = nn.Linear(dim + contexts, 3 * size)
        # The last state's part of the three gates, and behind it the query of attention.
        self.from_state = nn.Linear(size, 4 * size)
        self.output = LabelOutput(size + contexts + dim, n_symbols, bottleneck=config.bottleneck)
        self.global_embedding = GlobalEmbedding(dim) if config.global_embedding else None
        self.masked_softmax = config.masked_softmax
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        values: Tensor,
        bias: Tensor,
        state: Tensor,
        targets: Tensor | None = None,
        *,
        no_repeat: bool = False,
        on_step: OnStep | None = None,
    ) -> Decoded:
        """All steps.

        Parameters
        ----------
        values, bias, state
            See `Memory`.
        targets : int64 (b, N), optional
            Symbols to feed, each to the step after its own (teacher forcing); by default the
            likeliest symbol of a step is fed to the next one (student forcing).
        no_repeat : bool
            Choose no label twice.
        on_step : OnStep, optional
            Called after each step that chose a symbol; may stop before all are done.
        """
        keys = self.attention.keys(values)  # (b, m, hidden)
        if self._loops_at_once and not no_repeat and on_step is None:
            to = Attended(keys, values, spans_of(bias), self.attention.energy.weight[0])
            return self._all_steps(to, state, targets)
        now = self.first(state)
        features: list[Tensor] = []
        fed: list[Tensor] = []
        banned: Tensor | None = None  # (b, t)
        done = False
        for t in range(self.n_steps):
            if fed and (no_repeat or self.masked_softmax):
                banned = torch.stack(fed, dim=1)
            now, step_features = self.step(now, keys, values, bias)  # (b, z)
            features.append(step_features)
            if targets is not None:
                now = now._replace(label=targets[:, t])
            else:
                with torch.no_grad():  # the losses compute the logits of all steps again
                    chosen, done = self._chosen(step_features, banned, on_step)  # (b,)
                now = now._replace(label=chosen)
            fed.append(now.label)
            if self.global_embedding is not None:
                now = now._replace(expected=self.expected(step_features, banned))
            if done:
                break
        states = self.output.hidden(torch.stack(features, dim=1))  # (b, t, w)
        return Decoded(states, torch.stack(fed, dim=1))

    def _chosen(
        self, features: Tensor, banned: Tensor | None, on_step: OnStep | None
    ) -> tuple[Tensor, bool]:
        """The likeliest symbols (b,) of a step, but for those `banned`; and whether to stop."""
        hidden = self.output.hidden(features)  # (b, w)
        if on_step is None or not self.output.fits_at_once:
            chosen = self.output.best(hidden, banned)  # (b,)
            return chosen, on_step is not None and on_step(chosen, hidden, None)
        logits = self.output.logits(hidden)  # (b, n_symbols)
        allowed = logits
        if banned is not None:
            allowed = without(logits, banned, empty=self.empty)
        chosen = allowed.max(dim=1).indices  # (b,)
        return chosen, on_step(chosen, hidden, allowed if self.masked_softmax else logits)

    @property
    def casts_itself(self) -> tuple[str, ...]:
        """How names of weights begin that `forward` takes in full precision, whatever others are.

        Label embeddings are looked up, not multiplied: there is no need to cast all of them. And
        all steps at once cast the output layer themselves, if they need it.
        """
        if self._loops_at_once and self.output.fits_at_once:
            return LABELS, "output.weight", "output.bias"
        return (LABELS,)

    @property
    def _loops_at_once(self) -> bool:
        """In training, where gradients are wanted; not where torch.compile sees to it."""
        return self.training and self.global_embedding is None and not torch.compiler.is_compiling()

    def _all_steps(self, to: Attended, state: Tensor, targets: Tensor | None) -> Decoded:
        """All steps as one function, with its own gradient."""
        kind, dim = to.values.dtype, self.labels.weight.shape[1]
        width = self.from_state.in_features + self.from_input.in_features
        shape = (self.n_steps, len(state), aligned_size(width, kind))  # (N, b, z)
        label_mask = feature_mask = None
        if self.dropout.p:
            ones = torch.ones((*shape[:2], dim), device=state.device)
            label_mask = self.dropout(ones)  # (N, b, d)
            feature_mask = self.dropout(to.values.new_ones(shape))  # (N, b, z)
        choice = _Choice(self, len(state), label_mask)
        weights = StepWeights(
            self.labels.weight,
            self.from_input.weight,
            self.from_input.bias,
            self.from_state.weight,
            self.from_state.bias,
        )
        first = self.first(state)
        feeding = Feeding(first.label, targets, choice, self.n_steps, label_mask, feature_mask)
        features, fed = decoder_loop(weights, to, first.hidden, feeding)  # (N, b, z), (N, b)
        if self.output.narrow is not None:
            features = self.output.hidden(features[:, :, :width])  # (N, b, w)
        return Decoded(features.transpose(0, 1), fed.T, choice.scored)

    def first(self, state: Tensor) -> StepState:
        """Before the first step: the start symbol is fed."""
        label = torch.full((len(state),), self.start, dtype=torch.int64, device=state.device)
        # In full precision: what is rounded off a state is missing in all later ones.
        return StepState(state.to(self.labels.weight.dtype), label)

    def step(
        self, now: StepState, keys: Tensor, values: Tensor, bias: Tensor
    ) -> tuple[StepState, Tensor]:
        """The next state, and the features (b, z) that the output layer reads (Eq. 8 and 9)."""
        label = self.labels(now.label)  # (b, d)
        if self.global_embedding is not None and now.expected is not None:
            label = self.global_embedding(label, now.expected)  # (b, d)
        kind = values.dtype
        label = self.dropout(label).to(kind)
        size = now.hidden.shape[1]
        from_state = self.from_state(now.hidden.to(kind))  # (b, 4 * hidden)
        gates, query = from_state[:, : 3 * size], from_state[:, 3 * size :]
        contexts = self.attention(query, keys, values, bias)  # (b, n_memories * 2 * hidden)
        inputs = self.from_input(torch.cat([label, contexts], dim=1))  # (b, 3 * hidden)
        hidden = gru_cell(inputs, gates, now.hidden)  # (b, hidden)
        features = torch.cat([hidden.to(kind), contexts, label], dim=1)  # (b, z)
        return now._replace(hidden=hidden), self.dropout(features)

    def expected(self, features: Tensor, banned: Tensor | None) -> Tensor:
        """The mean label embedding (b, d) under the distribution of a step."""
        logits = self.output.logits(self.output.hidden(features))  # (b, n_symbols)
        if self.masked_softmax and banned is not None:
            logits = without(logits, banned, empty=self.empty)
        probabilities = torch.softmax(logits, dim=1)  # (b, n_symbols)
        weight = self.labels.weight[: self.start]  # (n_symbols, d)
        mean: Tensor = probabilities.to(features.dtype) @ weight.to(features.dtype)
        return mean


class _Choice:
    """Chooses the likeliest symbol of each step, in place; see `Feeding`.

    Parameters
    ----------
    decoder : Decoder
    n : int
        Instances.
    label_mask : (N, b, d), optional
        Dropout of all steps.
    """

    def __init__(self, decoder: Decoder, n: int, label_mask: Tensor | None) -> None:
        self.decoder, self.label_mask = decoder, label_mask
        self.chosen: list[Tensor] = []
        n_cells = decoder.n_steps * n * len(decoder.output.weight)
        self._n_kept = decoder.n_steps if n_cells <= CELLS_AT_ONCE else 1
        self._made: tuple[Scored, Tensor] | None = None

    @property
    def scored(self) -> Scored | None:
        """Products of all steps, where they were made and may be kept."""
        if self._made is None or self._n_kept < self.decoder.n_steps:
            return None
        return self._made[0]

    def __call__(self, t: int, features: Tensor, symbols: Tensor, label: Tensor) -> None:
        decoder, output = self.decoder, self.decoder.output
        banned = None
        if self.chosen and decoder.masked_softmax:
            banned = torch.stack(self.chosen, dim=1)  # (b, t)
        mask = None
        if self.label_mask is not None:  # behind the last step nothing is fed: any mask will do
            mask = self.label_mask[(t + 1) % decoder.n_steps]  # (b, d)
        table = decoder.labels.weight
        if output.fits_at_once:
            products, bias = self._products(t, features)  # (b, c), (c,)
            if banned is not None:
                products = without(products, banned, empty=decoder.empty)
            choose_labels(products, bias, table, mask, symbols, label)
        else:
            hidden = output.hidden(features[:, : output.n_features])  # (b, w)
            symbols.copy_(output.best(hidden, banned))
            label.copy_(looked_up(table, symbols, mask))
        self.chosen.append(symbols)

    def _products(self, t: int, features: Tensor) -> tuple[Tensor, Tensor]:
        """Products (b, c) of features (b, z), and bias (c,), -inf where rows are filled up."""
        output = self.decoder.output
        if self._made is None:
            rows = aligned(output.weight, features.dtype, rows=True)  # (c, >= w)
            products = rows.new_empty((self._n_kept, len(features), len(rows)))  # (N or 1, b, c)
            bias = F.pad(output.bias, (0, len(rows) - len(output.bias)), value=-torch.inf)
            self._made = Scored(products, rows), bias
        (products, rows), bias = self._made
        if output.narrow is not None:
            features = output.hidden(features[:, : output.n_features])  # (b, w)
            features = F.pad(features, (0, rows.shape[1] - features.shape[1]))
        now = products[t % self._n_kept]  # (b, c)
        return torch.mm(features, rows.T, out=now), bias
