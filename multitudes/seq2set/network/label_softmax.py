"""A softmax over all labels of which only a few numbers are kept.

The losses need, of each step's distribution, the log-probabilities of a few labels and the expected
label embedding; not the distribution. Both come out of one pass over blocks of labels, as in
attention without its matrix: states are the queries, the output layer's weights the keys, label
embeddings the values. So what is held of (b, N, labels) is one block at a time, forwards and
backwards: where there are several, the backward pass computes each one's logits again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from multitudes.deep.ops.alignment import aligned, aligned_size
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


class Scored(NamedTuple):
    """Products of states and weights that were made already, without the bias.

    Parameters
    ----------
    products : (N, b, c)
        In the precision of products; c is V, and in 16 bits the next multiple of 8.
    rows : (c, z)
        The weights, see `aligned`.
    """

    products: Tensor
    rows: Tensor


def label_softmax(
    states: Tensor,
    output: OutputLayer,
    labels: Tensor,
    *,
    embeddings: Tensor | None = None,
    excluded: Tensor | None = None,
    labels_at_once: int | None = None,
    scored: Scored | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Log-probabilities of some labels at each step, and the expected embedding of all.

    Parameters
    ----------
    states : float tensor (b, N, z)
        What the output layer reads; it may be filled up with zeros, see `aligned_size`. Nothing is
        copied where steps are first in memory.
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
    scored : Scored, optional
        Made from the same states and weights; used if all labels are one block.

    Returns
    -------
    log_probs : float tensor (b, N, k)
        0 where the label is -1.
    expected : float tensor (b, N, d) or None
        The mean of `embeddings` under each step's distribution.
    """
    n, n_steps, _ = states.shape
    _check_shapes(states, output, labels, embeddings)
    n_labels = len(output.weight)
    chunk = labels_at_once or max(1, CELLS_AT_ONCE // max(1, n * n_steps))
    asked = _per_step(labels, n_steps)  # (N b, k)
    forbidden = None if excluded is None else _per_step(excluded, n_steps)  # (N b, e)
    product = _product_dtype(states)
    # Only the last block may then be filled up.
    layout = _Layout(min(aligned_size(chunk, product), n_labels), product)
    made: Scored | tuple[None, None] = (None, None)
    if scored is not None and layout.chunk == n_labels and scored.rows.dtype == product:
        made = scored
    values = None if embeddings is None else embeddings.detach()  # (V, d)
    with torch.autocast(states.device.type, enabled=False):
        log_probs, expected = _LabelSoftmax.apply(  # type: ignore[no-untyped-call]
            states.transpose(0, 1).flatten(0, 1),
            output.weight,
            output.bias,
            asked,
            forbidden,
            values,
            *made,
            layout,
        )
    log_probs = log_probs.view(n_steps, n, -1).transpose(0, 1)  # (b, N, k)
    if embeddings is None:
        return log_probs, None
    return log_probs, expected.view(n_steps, n, -1).transpose(0, 1)


@dataclass(frozen=True)
class _Layout:
    """Labels per block, and the precision of products."""

    chunk: int
    product: torch.dtype


class _LabelSoftmax(Function):
    """See `label_softmax`; r is N b."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        excluded: Tensor | None,
        embeddings: Tensor | None,
        products: Tensor | None,
        rows: Tensor | None,
        layout: _Layout,
    ) -> tuple[Tensor, Tensor]:
        dtype = torch.promote_types(states.dtype, torch.float32)
        highest = states.new_full((len(states),), torch.finfo(dtype).min, dtype=dtype)  # (r,)
        asked = states.new_zeros(labels.shape, dtype=dtype)  # (r, k)
        running = _Running(highest, torch.zeros_like(highest), asked)
        expected = states.new_zeros((len(states), 0), dtype=dtype)  # (r, d)
        inputs, near = aligned(states, layout.product), None  # (r, z)
        for part in _blocks(len(weight), layout.chunk):
            if rows is None or layout.chunk < len(weight):
                rows = aligned(weight[part], layout.product, rows=True)  # (c, z)
            block = _block(inputs, rows, bias, labels, excluded, part, products)
            unscaled = None if embeddings is None else torch.empty_like(block.products)  # (r, c)
            shrink = _absorb(block, running, unscaled)  # (r,)
            if embeddings is not None and unscaled is not None:
                near = aligned(embeddings[part], layout.product, rows=True)  # (c, d)
                more = (unscaled @ near)[:, : embeddings.shape[1]]  # (r, d)
                expected = expected * shrink.unsqueeze(1) + more if part.start else more
        normalizer = highest + running.total.log()  # (r,)
        expected = expected / running.total.unsqueeze(1)  # (r, d)
        ctx.layout, ctx.width, ctx.kind = layout, states.shape[1], states.dtype
        # One block is kept, several would be too much.
        kept = (block.products, rows, near) if layout.chunk == len(weight) else (None,) * 3
        ctx.save_for_backward(
            inputs, weight, bias, labels, excluded, embeddings, normalizer, expected, *kept
        )
        log_probs = (asked - normalizer.unsqueeze(1)).masked_fill_(labels < 0, 0.0)  # (r, k)
        return log_probs, expected

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, bias, labels, excluded, embeddings, *found = ctx.saved_tensors
        normalizer, expected, products, rows, near = found
        product, n_read = ctx.layout.product, weight.shape[1]
        to_asked = grads[0].masked_fill(labels < 0, 0.0)  # (r, k)
        to_expected = grads[1]  # (r, d)
        shift = -to_asked.sum(dim=1) - (to_expected * expected).sum(dim=1)  # (r,)
        needs_states, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        to_states: Tensor | None = None
        to_weight = torch.empty_like(weight) if needs_weight else None
        to_bias = torch.empty_like(bias) if needs_bias else None
        for part in _blocks(len(weight), ctx.layout.chunk):
            if products is None:
                rows = aligned(weight[part], product, rows=True)  # (c, z)
                block = _block(inputs, rows, bias, labels, excluded, part, None)
            else:
                block = _Products(products, _own_bias(bias, part, rows), _places(labels, part))
            along = None
            if embeddings is not None:
                if products is None:
                    near = aligned(embeddings[part], product, rows=True)  # (c, d)
                along = aligned(to_expected, product) @ near.T  # (r, c)
            to_logits = _room(block.products, along, is_kept=products is not None)  # (r, c)
            _spread(block, normalizer, shift, along, to_asked, to_logits)
            if to_bias is not None:
                total = to_logits.sum(dim=0, dtype=normalizer.dtype)  # (c,)
                to_bias[part] = total[: part.stop - part.start]
            if needs_states:
                owed = to_logits @ rows  # (r, z)
                to_states = owed if to_states is None else owed + to_states.to(normalizer.dtype)
            if to_weight is not None:
                of_rows = to_logits.T @ inputs  # (c, z)
                to_weight[part] = of_rows[: part.stop - part.start, :n_read]
        to_states = None if to_states is None else to_states[:, : ctx.width].to(ctx.kind)
        return to_states, to_weight, to_bias, *[None] * 6


def _block(
    inputs: Tensor,
    rows: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    excluded: Tensor | None,
    part: slice,
    made: Tensor | None,
) -> _Products:
    """Products (r, c) of inputs (r, z) and a block of labels (c, z), -inf where one is excluded.

    `made` are they, if they are there already.
    """
    products = inputs @ rows.T if made is None else made.flatten(0, 1)  # (r, c)
    block = _Products(products, _own_bias(bias, part, rows), _places(labels, part))
    if excluded is not None:
        forbidden = block._replace(places=_places(excluded, part))  # (r, e)
        penalty = torch.where(forbidden.inside, -torch.inf, 0.0).to(products.dtype)  # (r, e)
        own = products if made is None else products.clone()
        block = block._replace(products=own.scatter_add_(1, forbidden.columns, penalty))
    return block


def _places(labels: Tensor, part: slice) -> Tensor:
    """Where labels (r, k) are in a block."""
    return labels - part.start if part.start else labels


def _own_bias(bias: Tensor | None, part: slice, rows: Tensor) -> Tensor | None:
    """A block's bias (c,): labels that are not there, but fill it up, have no probability."""
    n_own = part.stop - part.start
    own = None if bias is None else bias[part]
    if len(rows) == n_own:
        return own
    if own is None:
        own = rows.new_zeros(n_own, dtype=torch.float32)
    return F.pad(own, (0, len(rows) - n_own), value=-torch.inf)


def _room(products: Tensor, along: Tensor | None, *, is_kept: bool) -> Tensor:
    """Where a block's gradient (r, c) goes: over what is not needed any longer, if there is any."""
    if along is not None:
        return along
    return torch.empty_like(products) if is_kept else products


def _blocks(n_labels: int, chunk: int) -> Iterator[slice]:
    """All labels, block by block."""
    for start in range(0, n_labels, chunk):
        yield slice(start, min(start + chunk, n_labels))


def _per_step(labels: Tensor, n_steps: int) -> Tensor:
    """Labels (b, N, k) or (b, 1, k) as (N b, k)."""
    return labels.expand(-1, n_steps, -1).transpose(0, 1).reshape(len(labels) * n_steps, -1)


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
    if states.shape[2] not in (width, aligned_size(width, states.dtype)):
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


# ------------------------------------------------------------------ one block


class _Products(NamedTuple):
    """A block of logits.

    Parameters
    ----------
    products : (r, c)
    bias : (c,), optional
    places : int64 (r, k)
        Columns asked for; those outside of 0 to c - 1 are in no or another block.
    """

    products: Tensor
    bias: Tensor | None
    places: Tensor

    @property
    def inside(self) -> Tensor:
        """Which places are in this block: bool (r, k)."""
        return (self.places >= 0) & (self.places < self.products.shape[1])

    @property
    def columns(self) -> Tensor:
        """The places, int64 (r, k); any column for those that are not inside."""
        return self.places.clamp(0, self.products.shape[1] - 1)


class _Running(NamedTuple):
    """A softmax over the blocks so far.

    Parameters
    ----------
    highest, total : (r,)
        The highest logit, and the sum of exponentials relative to it.
    asked : (r, k)
        Logits of the labels asked for.
    """

    highest: Tensor
    total: Tensor
    asked: Tensor


def _absorb(block: _Products, running: _Running, unscaled: Tensor | None) -> Tensor:
    """Add a block to what is running, IN/OUT.

    `unscaled` OUT (r, c), if wanted: exponentials relative to the highest logit now. Gives the
    factor (r,) that brings older ones there.
    """
    logits = _logits(block, running.total.dtype)  # (r, c)
    found = logits.gather(1, block.columns)  # (r, k)
    running.asked.copy_(torch.where(block.inside, found, running.asked))
    before = running.highest.clone()  # (r,)
    running.highest.copy_(torch.maximum(before, logits.amax(dim=1)))
    shrink = (before - running.highest).exp_()  # (r,)
    exponentials = logits.sub_(running.highest.unsqueeze(1)).exp_()  # (r, c)
    running.total.mul_(shrink).add_(exponentials.sum(dim=1))
    if unscaled is not None:
        unscaled.copy_(exponentials)
    return shrink


def _spread(
    block: _Products,
    normalizer: Tensor,
    shift: Tensor,
    along: Tensor | None,
    to_asked: Tensor,
    out: Tensor,
) -> None:
    """The gradient of a block's logits.

    Parameters
    ----------
    block : _Products
    normalizer : IN (r,)
        The logarithm of all exponentials' sum.
    shift : IN (r,)
        Probabilities are multiplied with ``shift + along``.
    along : IN (r, c), optional
    to_asked : IN (r, k)
        What is added at the places asked for.
    out : OUT (r, c)
        May be ``block.products`` or `along`.
    """
    logits = _logits(block, normalizer.dtype)  # (r, c)
    gradient = logits.sub_(normalizer.unsqueeze(1)).exp_()  # (r, c): probabilities
    gradient *= shift.unsqueeze(1) if along is None else along + shift.unsqueeze(1)
    gradient.scatter_add_(1, block.columns, torch.where(block.inside, to_asked, 0.0))
    out.copy_(gradient)


def _logits(block: _Products, dtype: torch.dtype) -> Tensor:
    logits = block.products.to(dtype, copy=True)  # (r, c)
    return logits if block.bias is None else logits.add_(block.bias)
