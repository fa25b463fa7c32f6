"""A softmax over all labels of which only a few numbers are kept.

The losses need, of each step's distribution, the log-probabilities of a few labels and the expected
label embedding; not the distribution. Both come out of one pass over blocks of labels, as in
attention without its matrix: states are the queries, the output layer's weights the keys, label
embeddings the values. The backward pass computes each block's logits anew. So what is held of (b,
N, labels) is one block at a time, forwards and backwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from multitudes.errors import DataError

CELLS_AT_ONCE = 1 << 25
"""Logits of a block where nothing else is set: 128 MiB of float32."""


@dataclass(frozen=True)
class OutputLayer:
    """The last layer: logits are ``states @ weight.T + bias``.

    Parameters
    ----------
    weight : float tensor (V, z)
    bias : float tensor (V,), optional
    """

    weight: Tensor
    bias: Tensor | None = None


def label_softmax(
    states: Tensor,
    output: OutputLayer,
    labels: Tensor,
    *,
    embeddings: Tensor | None = None,
    excluded: Tensor | None = None,
    labels_at_once: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Log-probabilities of some labels at each step, and the expected embedding of all.

    Parameters
    ----------
    states : float tensor (b, N, z)
        What the output layer reads.
    output : OutputLayer
        Under autocast its products are of that precision; sums and logarithms are float32.
    labels : int64 tensor (b, N, k) or (b, 1, k)
        Labels asked for at each step, or the same at all steps; -1 for none.
    embeddings : float tensor (V, d), optional
        Label embeddings; no gradient flows to them.
    excluded : int64 tensor (b, N, e) or (b, 1, e), optional
        Labels of probability 0, e.g. those already produced; -1 for none. None of them may be
        among `labels` of that step.
    labels_at_once : int, optional
        Labels per block; None for `CELLS_AT_ONCE` logits.

    Returns
    -------
    log_probs : float tensor (b, N, k)
        0 where the label is -1.
    expected : float tensor (b, N, d) or None
        The mean of `embeddings` under each step's distribution.
    """
    n, n_steps, width = states.shape
    _check_shapes(states, output, labels, embeddings)
    n_labels = len(output.weight)
    chunk = labels_at_once or max(1, CELLS_AT_ONCE // max(1, n * n_steps))
    asked = _per_step(labels, n_steps)  # (b N, k)
    forbidden = None if excluded is None else _per_step(excluded, n_steps)  # (b N, e)
    layout = _Layout(min(chunk, n_labels), _product_dtype(states))
    values = None if embeddings is None else embeddings.detach()  # (V, d)
    with torch.autocast(states.device.type, enabled=False):
        log_probs, expected = _LabelSoftmax.apply(  # type: ignore[no-untyped-call]
            states.reshape(-1, width), output.weight, output.bias, asked, forbidden, values, layout
        )
    log_probs = log_probs.view(n, n_steps, -1)  # (b, N, k)
    return log_probs, None if embeddings is None else expected.view(n, n_steps, -1)


@dataclass(frozen=True)
class _Layout:
    """Labels per block, and the precision of products."""

    chunk: int
    product: torch.dtype


@dataclass(frozen=True)
class _Block:
    """A block of c labels, from the `start`-th to before the `stop`-th."""

    start: int
    stop: int

    def places(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Columns (r, k) of labels in this block, any column for others; bool (r, k): which are."""
        at = labels - self.start
        inside = (at >= 0) & (at < self.stop - self.start)
        return at.clamp(0, self.stop - self.start - 1), inside


class _LabelSoftmax(Function):
    """See `label_softmax`; r is b N."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        excluded: Tensor | None,
        embeddings: Tensor | None,
        layout: _Layout,
    ) -> tuple[Tensor, Tensor]:
        dtype = torch.promote_types(states.dtype, torch.float32)
        highest = states.new_full((len(states),), torch.finfo(dtype).min, dtype=dtype)  # (r,)
        total = torch.zeros_like(highest)  # (r,)
        asked = states.new_zeros(labels.shape, dtype=dtype)  # (r, k)
        width = 0 if embeddings is None else embeddings.shape[1]
        expected = states.new_zeros((len(states), width), dtype=dtype)  # (r, d)
        for block in _blocks(len(weight), layout.chunk):
            logits = _logits(states, weight, bias, excluded, block, layout.product)  # (r, c)
            columns, inside = block.places(labels)  # (r, k)
            asked = torch.where(inside, logits.gather(1, columns), asked)  # (r, k)
            before, highest = highest, torch.maximum(highest, logits.amax(dim=1))  # (r,)
            shrink = (before - highest).exp_()  # (r,)
            unscaled = logits.sub_(highest.unsqueeze(1)).exp_()  # (r, c)
            total = total * shrink + unscaled.sum(dim=1)  # (r,)
            if embeddings is not None:
                part = unscaled.to(layout.product) @ _rows(embeddings, block, layout.product)
                expected = expected * shrink.unsqueeze(1) + part  # (r, d)
        normaliser = highest + total.log()  # (r,)
        expected /= total.unsqueeze(1)
        ctx.layout = layout
        ctx.save_for_backward(
            states, weight, bias, labels, excluded, embeddings, normaliser, expected
        )
        return torch.where(labels >= 0, asked - normaliser.unsqueeze(1), 0.0), expected

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        states, weight, bias, labels, excluded, embeddings, normaliser, expected = ctx.saved_tensors
        product = ctx.layout.product
        to_asked = torch.where(labels >= 0, grads[0], 0.0)  # (r, k)
        to_expected = grads[1]  # (r, d)
        shift = -to_asked.sum(dim=1) - (to_expected * expected).sum(dim=1)  # (r,)
        needs_states, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        to_states = torch.zeros_like(states, dtype=normaliser.dtype) if needs_states else None
        to_weight = torch.empty_like(weight) if needs_weight else None
        to_bias = torch.empty_like(bias) if needs_bias else None
        inputs = states.to(product)  # (r, z)
        for block in _blocks(len(weight), ctx.layout.chunk):
            part = slice(block.start, block.stop)
            logits = _logits(states, weight, bias, excluded, block, product)  # (r, c)
            to_logits = logits.sub_(normaliser.unsqueeze(1)).exp_()  # (r, c): probabilities
            if embeddings is None:
                to_logits *= shift.unsqueeze(1)
            else:
                along = to_expected.to(product) @ _rows(embeddings, block, product).T  # (r, c)
                to_logits *= along + shift.unsqueeze(1)
            columns, inside = block.places(labels)  # (r, k)
            to_logits.scatter_add_(1, columns, torch.where(inside, to_asked, 0.0))
            if to_bias is not None:
                to_bias[part] = to_logits.sum(dim=0)  # (c,)
            to_logits = to_logits.to(product)  # (r, c)
            if to_states is not None:
                to_states += to_logits @ _rows(weight, block, product)  # (r, z)
            if to_weight is not None:
                to_weight[part] = to_logits.T @ inputs  # (c, z)
        to_states = None if to_states is None else to_states.to(states.dtype)
        return to_states, to_weight, to_bias, None, None, None, None


def _logits(
    states: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    excluded: Tensor | None,
    block: _Block,
    product: torch.dtype,
) -> Tensor:
    """Logits (r, c) of a block, float32 at least, -inf where a label is excluded."""
    logits = states.to(product) @ _rows(weight, block, product).T  # (r, c)
    logits = logits.to(torch.promote_types(states.dtype, torch.float32))
    if bias is not None:
        logits += bias[block.start : block.stop]
    if excluded is not None:
        columns, inside = block.places(excluded)  # (r, e)
        logits.scatter_add_(1, columns, torch.where(inside, -torch.inf, 0.0).to(logits.dtype))
    return logits


def _blocks(n_labels: int, chunk: int) -> Iterator[_Block]:
    """All labels, block by block."""
    for start in range(0, n_labels, chunk):
        yield _Block(start, min(start + chunk, n_labels))


def _rows(matrix: Tensor, block: _Block, dtype: torch.dtype) -> Tensor:
    """A block's rows, (c, ...), in the precision of products."""
    return matrix[block.start : block.stop].to(dtype)


def _per_step(labels: Tensor, n_steps: int) -> Tensor:
    """Labels (b, N, k) or (b, 1, k) as (b N, k)."""
    return labels.expand(-1, n_steps, -1).reshape(len(labels) * n_steps, -1)


def _product_dtype(states: Tensor) -> torch.dtype:
    """Autocast's precision where it is on, else that of the states."""
    device = states.device.type
    on = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if on else states.dtype


def _check_shapes(
    states: Tensor, output: OutputLayer, labels: Tensor, embeddings: Tensor | None
) -> None:
    """Raise where sizes do not fit each other; looks at no value, so nothing waits."""
    n_labels, width = output.weight.shape
    if states.shape[2] != width:
        raise DataError(
            f"states have {states.shape[2]} dimensions and the output layer reads {width}"
        )
    if labels.ndim != 3 or len(labels) != len(states):
        raise DataError(
            f"labels must be of shape (b, N, k) or (b, 1, k) with b = {len(states)}, "
            f"got {tuple(labels.shape)}"
        )
    if embeddings is not None and len(embeddings) != n_labels:
        raise DataError(
            f"there are {len(embeddings)} label embeddings and {n_labels} outputs: one each, the "
            "empty label's included"
        )
