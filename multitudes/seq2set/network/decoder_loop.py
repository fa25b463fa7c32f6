"""All steps of the decoder in training as one function whose gradient is written out.

The same as `Decoder.step` time after time, which autograd would differentiate step by step: each
step would add to the gradient of every weight, of keys, of values, of label embeddings. Here what
steps read and make lies in buffers over all steps. Forwards a step is two products, attention and a
cell; backwards too; and every weight gets its gradient in one product over all steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.additive_attention import (
    Attended,
    Attention,
    attend,
    attend_backward,
    gradient_of_keys,
    gradient_of_values,
)
from multitudes.deep.ops.alignment import aligned_size
from multitudes.deep.ops.gru_cell import CellInputs, Dropped, cell_backward, cell_forward
from multitudes.deep.ops.label_choice import looked_up


class StepWeights(NamedTuple):
    """Weights of a decoder's step; see `Decoder`. All but `labels` in the precision of products.

    Parameters
    ----------
    labels : (n_symbols + 1, d)
    input, input_bias : (3 h, d + c), (3 h,)
    state, state_bias : (4 h, h), (4 h,)
    """

    labels: Tensor
    input: Tensor
    input_bias: Tensor
    state: Tensor
    state_bias: Tensor


class Feeding(NamedTuple):
    """Which symbols are fed.

    Parameters
    ----------
    first : int64 (b,)
        To the first step.
    targets : int64 (b, N), optional
        Each to the step after its own.
    choose : function of t, features IN (b, z), symbols OUT int64 (b,), next OUT (b, d)
        Without targets: what step t chooses, and what of it is fed to the next step. Features are
        those after dropout.
    n_steps : int
    label_mask, feature_mask : (N, b, d) and (N, b, z), optional
        Label embeddings and features are multiplied with them: dropout.
    """

    first: Tensor
    targets: Tensor | None
    choose: Callable[[int, Tensor, Tensor, Tensor], None]
    n_steps: int
    label_mask: Tensor | None = None
    feature_mask: Tensor | None = None


class _Buffers(NamedTuple):
    """What steps read and make.

    Parameters
    ----------
    features : (N + 2, b, z)
        State, contexts and label of each step; before them the first state alone, behind them the
        label that would be fed next.
    inputs : (N, b, 3 h)
        Products with contexts and label.
    products : (N, b, 4 h)
        Products with the state before: gates and query.
    found : Attention of (N, b, ...)
    contexts, labels : slice
        Where they are among features, behind the state.
    """

    features: Tensor
    inputs: Tensor
    products: Tensor
    found: Attention
    contexts: slice
    labels: slice

    def at(self, t: int) -> Attention:
        return Attention(self.found.energies[t], self.found.totals[t])

    def cell(self, t: int, size: int) -> CellInputs:
        return CellInputs(self.inputs[t : t + 1], self.products[t : t + 1, :, : 3 * size])


def decoder_loop(
    weights: StepWeights, to: Attended, state: Tensor, feeding: Feeding
) -> tuple[Tensor, Tensor]:
    """Features (N, b, z) of all steps, after dropout, and the symbols (N, b) after them.

    `state` (b, h) is where the decoder starts. z is h + c + d, and in 16 bits the next multiple of
    8: what is behind a label is 0.
    """
    features, symbols = _Loop.apply(  # type: ignore[no-untyped-call]
        feeding, *weights, *(part.contiguous() for part in to), state.contiguous()
    )
    return features, symbols


class _Loop(Function):
    """See `decoder_loop`."""

    @staticmethod
    def forward(ctx: Any, feeding: Feeding, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        weights, to, state = _parts(tensors)
        size = weights.state.shape[1]
        made = _buffers(weights, to, feeding.n_steps)
        by_features = _by_features(weights).T  # (z - h, 3 h)
        contexts = made.features[1:, :, made.contexts]  # (N + 1, b, c)
        labels = made.features[1:, :, made.labels]  # (N + 1, b, d)
        # One more, which is not fed any longer.
        fed = feeding.first.new_empty((feeding.n_steps + 1, len(state)))  # (N + 1, b)
        fed[0] = feeding.first
        n_known = 1
        if feeding.targets is not None:
            fed[1:] = feeding.targets.T
            n_known = feeding.n_steps
        mask = None if feeding.label_mask is None else feeding.label_mask[:n_known]
        labels[:n_known] = looked_up(weights.labels, fed[:n_known], mask)
        # In full precision: what is rounded off a state is missing in all later ones.
        hidden = state.to(weights.labels.dtype)[None].clone()  # (1, b, h)
        made.features[0, :, :size] = state
        masks, features = feeding.feature_mask, made.features[1:-1]  # (N, b, z) each
        given = features if masks is None else torch.empty_like(masks)  # (N, b, z)
        for t in range(feeding.n_steps):
            before = made.features[t, :, :size]  # (b, h)
            torch.addmm(weights.state_bias, before, weights.state.T, out=made.products[t])
            attend(to, made.products[t, :, 3 * size :], made.at(t), contexts[t])
            read = made.features[t + 1, :, size:]  # (b, z - h)
            torch.addmm(weights.input_bias, read, by_features, out=made.inputs[t])
            dropped = None if masks is None else Dropped(features[t], masks[t], given[t])
            cell_forward(made.cell(t, size), hidden, features[t : t + 1, :, :size], dropped)
            if feeding.targets is None:
                feeding.choose(t, given[t], fed[t + 1], labels[t + 1])
        ctx.save_for_backward(*tensors, fed, feeding.label_mask, masks, *made[:3], *made.found)
        ctx.places = made.contexts, made.labels
        symbols = fed[1:]
        ctx.mark_non_differentiable(symbols)
        return given, symbols

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        *tensors, fed, label_mask, mask, features, inputs, products = ctx.saved_tensors[:-2]
        weights, to, state = _parts(tensors)
        found = Attention(*ctx.saved_tensors[-2:])
        made = _Buffers(features, inputs, products, found, *ctx.places)
        # A copy: what arrives through the gates is added to it.
        given = grads[0].contiguous()  # (N, b, z)
        back = _Backwards(weights, to, made, given.clone() if mask is None else given * mask)
        for t in reversed(range(len(inputs))):
            back.step(t)
        to_labels = back.to_labels(fed[:-1], label_mask)
        to_keys, to_energy = gradient_of_keys(to, products[:, :, 3 * back.size :], back.to_energies)
        to_values = gradient_of_values(to.spans, made.found, back.to_contexts)
        to_state = (back.grad + back.later)[0].to(state.dtype)  # (b, h)
        of_weights = (to_labels, *back.to_products())
        return (None, *of_weights, to_keys, to_values, None, to_energy, to_state)


class _Backwards:
    """The steps' gradients, from the last to the first.

    Parameters
    ----------
    weights, to, made
        What the forward pass used and made.
    to_features : IN/OUT (N, b, z)
        Gradient of the features; what arrives through the gates is added to it.
    """

    def __init__(
        self, weights: StepWeights, to: Attended, made: _Buffers, to_features: Tensor
    ) -> None:
        self.weights, self.to, self.made, self.to_features = weights, to, made, to_features
        self.size = weights.state.shape[1]
        self.by_features = _by_features(weights)  # (3 h, z - h)
        self.to_inputs, self.to_made = (
            torch.empty_like(made.inputs),
            torch.empty_like(made.products),
        )
        self.to_energies = torch.zeros_like(made.found.energies)  # (N, b, m)
        n = to_features.shape[1]
        self.grad = weights.labels.new_zeros((1, n, self.size))
        self.later = to_features.new_zeros((1, n, self.size))

    def step(self, t: int) -> None:
        """From what is known of step t's features to what it owes to the step before."""
        size, made = self.size, self.made
        to_features = self.to_features[t : t + 1]  # (1, b, z)
        cell_backward(
            made.cell(t, size),
            made.features[t : t + 1, :, :size],
            self.grad,
            (self.later, to_features[:, :, :size]),
            self.to_inputs[t : t + 1],
            self.to_made[t : t + 1, :, : 3 * size],
        )
        to_features[0, :, size:].addmm_(self.to_inputs[t], self.by_features)
        attend_backward(
            self.to,
            made.products[t, :, 3 * size :],
            made.at(t),
            (made.features[t + 1, :, made.contexts], self.to_contexts[t]),
            self.to_energies[t],
            self.to_made[t, :, 3 * size :],
        )
        torch.mm(self.to_made[t], self.weights.state, out=self.later[0])

    @property
    def to_contexts(self) -> Tensor:
        """(N, b, c), whole for the steps that are done."""
        return self.to_features[:, :, self.made.contexts]

    def to_labels(self, fed: Tensor, mask: Tensor | None) -> Tensor:
        """Gradient (n_symbols + 1, d) of label embeddings; `fed` (N, b) were looked up."""
        grad = self.to_features[:, :, self.made.labels]  # (N, b, d)
        grad = grad if mask is None else grad * mask
        table = self.weights.labels
        result: Tensor = torch.ops.aten.embedding_dense_backward(
            grad.to(table.dtype).contiguous(), fed, len(table), -1, False
        )
        return result

    def to_products(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Gradients of input and input_bias, state and state_bias."""
        to_inputs, to_made = self.to_inputs.flatten(0, 1), self.to_made.flatten(0, 1)
        features = self.made.features  # (N + 2, b, z)
        before = features[:-2, :, : self.size].flatten(0, 1)  # (N b, h)
        read = features[1:-1, :, self.size :].flatten(0, 1)  # (N b, z - h)
        by_features = to_inputs.T @ read  # (3 h, z - h)
        n_contexts = self.made.contexts.stop - self.made.contexts.start
        n_read = self.weights.input.shape[1]
        to_input = torch.cat(
            [by_features[:, n_contexts:n_read], by_features[:, :n_contexts]], dim=1
        )  # (3 h, d + c)
        full = self.grad.dtype
        return (
            to_input,
            to_inputs.sum(dim=0, dtype=full).to(to_inputs.dtype),
            to_made.T @ before,
            to_made.sum(dim=0, dtype=full).to(to_made.dtype),
        )


def _parts(tensors: tuple[Tensor, ...] | list[Tensor]) -> tuple[StepWeights, Attended, Tensor]:
    return StepWeights(*tensors[:5]), Attended(*tensors[5:9]), tensors[9]


def _buffers(weights: StepWeights, to: Attended, n_steps: int) -> _Buffers:
    """Room for all steps."""
    size, dim = weights.state.shape[1], weights.labels.shape[1]
    (n, n_memories, _), m = to.spans.shape, to.keys.shape[1]
    end = size + weights.input.shape[1]
    full = weights.labels.dtype
    features = to.values.new_empty((n_steps + 2, n, _width(weights)))
    features[:, :, end:] = 0
    return _Buffers(
        features,
        to.values.new_empty((n_steps, n, 3 * size)),
        to.values.new_empty((n_steps, n, 4 * size)),
        Attention(
            features.new_zeros((n_steps, n, m), dtype=full),
            features.new_empty((n_steps, n, n_memories), dtype=full),
        ),
        contexts=slice(size, end - dim),
        labels=slice(end - dim, end),
    )


def _by_features(weights: StepWeights) -> Tensor:
    """The input's weights (3 h, z - h) in the order of features: contexts, then label."""
    dim = weights.labels.shape[1]
    in_order = torch.cat([weights.input[:, dim:], weights.input[:, :dim]], dim=1)
    more = _width(weights) - weights.state.shape[1] - in_order.shape[1]
    return F.pad(in_order, (0, more)) if more else in_order


def _width(weights: StepWeights) -> int:
    """Of features: z."""
    width = weights.state.shape[1] + weights.input.shape[1]
    return aligned_size(width, weights.input.dtype)
