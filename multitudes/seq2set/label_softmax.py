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
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.errors import DataError
from multitudes.seq2set.alignment import aligned, aligned_size
from multitudes.seq2set.softmax_blocks import Products, Running, absorb, spread

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
    product = _product_dtype(states)
    # Only the last block may then be filled up.
    layout = _Layout(min(aligned_size(chunk, product), n_labels), product)
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
        asked = states.new_zeros(labels.shape, dtype=dtype)  # (r, k)
        running = Running(highest, torch.zeros_like(highest), asked)
        width = 0 if embeddings is None else embeddings.shape[1]
        expected = states.new_zeros((len(states), width), dtype=dtype)  # (r, d)
        inputs = aligned(states, layout.product)  # (r, z)
        for part in _blocks(len(weight), layout.chunk):
            rows = aligned(weight[part], layout.product, rows=True)  # (c, z)
            block = _products(inputs, rows, bias, labels, excluded, part)
            unscaled = None if embeddings is None else torch.empty_like(block.products)  # (r, c)
            shrink = absorb(block, running, unscaled)  # (r,)
            if embeddings is not None and unscaled is not None:
                near = aligned(embeddings[part], layout.product, rows=True)  # (c, d)
                expected = expected * shrink.unsqueeze(1) + (unscaled @ near)[:, :width]
        normaliser = highest + running.total.log()  # (r,)
        expected /= running.total.unsqueeze(1)
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
        to_states: Tensor | None = None
        to_weight = torch.empty_like(weight) if needs_weight else None
        to_bias = torch.empty_like(bias) if needs_bias else None
        inputs, width = aligned(states, product), states.shape[1]  # (r, z)
        for part in _blocks(len(weight), ctx.layout.chunk):
            rows = aligned(weight[part], product, rows=True)  # (c, z)
            block = _products(inputs, rows, bias, labels, excluded, part)
            along = None
            if embeddings is not None:
                near = aligned(embeddings[part], product, rows=True)  # (c, d)
                along = aligned(to_expected, product) @ near.T  # (r, c)
            to_logits = spread(block, normaliser, shift, along, to_asked)  # (r, c)
            if to_bias is not None:
                total = to_logits.sum(dim=0, dtype=normaliser.dtype)  # (c,)
                to_bias[part] = total[: part.stop - part.start]
            if needs_states:
                owed = to_logits @ rows  # (r, z)
                to_states = owed if to_states is None else owed + to_states.to(normaliser.dtype)
            if to_weight is not None:
                of_rows = to_logits.T @ inputs  # (c, z)
                to_weight[part] = of_rows[: part.stop - part.start, :width]
        to_states = None if to_states is None else to_states[:, :width].to(states.dtype)
        return to_states, to_weight, to_bias, None, None, None, None


def _products(
    inputs: Tensor,
    rows: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    excluded: Tensor | None,
    part: slice,
) -> Products:
    """Products (r, c) of inputs (r, z) and a block of labels (c, z), -inf where one is excluded."""
    products = inputs @ rows.T  # (r, c)
    n_filled = len(rows) - (part.stop - part.start)
    own = None if bias is None else bias[part]  # (c,)
    if n_filled:  # labels that are not there have no probability
        own = inputs.new_zeros(len(rows) - n_filled, dtype=torch.float32) if own is None else own
        own = F.pad(own, (0, n_filled), value=-torch.inf)
    block = Products(products, own, labels - part.start)
    if excluded is not None:
        forbidden = block._replace(places=excluded - part.start)  # (r, e)
        penalty = torch.where(forbidden.inside, -torch.inf, 0.0).to(products.dtype)  # (r, e)
        products.scatter_add_(1, forbidden.columns, penalty)
    return block


def _blocks(n_labels: int, chunk: int) -> Iterator[slice]:
    """All labels, block by block."""
    for start in range(0, n_labels, chunk):
        yield slice(start, min(start + chunk, n_labels))


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
