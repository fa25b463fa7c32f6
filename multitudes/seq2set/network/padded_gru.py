"""A bidirectional GRU over padded texts whose lengths never leave the device.

Packed sequences want lengths on the host, and launch kernels by them, so that no CUDA graph can be
captured of them. Here both directions of a layer make a step together, one product and one cell,
and texts that are over keep their state. The backward direction reads each text from its own end.
Gradients are written out: weights get theirs in one product over all steps.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function

from multitudes.deep.ops.alignment import aligned_size
from multitudes.deep.ops.gru_cell import CellInputs, cell_backward, cell_forward


def padded_gru(gru: nn.GRU, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """What `gru` gives for packed texts, up to rounding.

    Parameters
    ----------
    gru : GRU
        Bidirectional, with bias; its dropout between layers follows its mode.
    words : (b, l, d)
    lengths : int64 (b,)
        Words of each text, from 1 to l.

    Returns
    -------
    hidden : (b, l, 2 h)
        0 at padding.
    last : (b, 2 h)
        The last layer's directions, each at its own end of the text.
    """
    n, n_words, _ = words.shape
    times = torch.arange(n_words, device=words.device)[:, None]  # (l, 1)
    active = times < lengths  # (l, b)
    mirror = torch.where(active, lengths - 1 - times, times)  # (l, b)
    x = _aligned(words.transpose(0, 1))  # (l, b, >= d)
    for layer in range(gru.num_layers):
        if layer:
            x = F.dropout(x, gru.dropout, gru.training)
        states, last = _layer(gru, layer, x, mirror, active)  # (2, l, b, h) by steps, (2, b, h)
        x = torch.cat([states[0], mirrored(states[1], mirror)], dim=2)  # (l, b, 2 h)
        x = torch.where(active[:, :, None], x, 0.0)
    return x.transpose(0, 1).contiguous(), last.transpose(0, 1).reshape(n, -1)


def _layer(
    gru: nn.GRU, layer: int, x: Tensor, mirror: Tensor, active: Tensor
) -> tuple[Tensor, Tensor]:
    """States (2, l, b, h) of both directions in the order of their steps, and the last (2, b, h).

    x is (l, b, d).
    """
    n_words, n, dim = x.shape  # dim may be filled up
    ways = (f"l{layer}", f"l{layer}_reverse")
    of_input, of_state, input_bias, state_bias = (
        torch.stack([getattr(gru, f"{name}_{way}") for way in ways])
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )  # (2, 3 h, d), (2, 3 h, h), (2, 3 h), (2, 3 h)
    if of_input.shape[2] < dim:
        of_input = F.pad(of_input, (0, dim - of_input.shape[2]))  # (2, 3 h, dim)
    both = torch.stack([x, mirrored(x, mirror)]).view(2, n_words * n, dim)  # (2, l b, d)
    inputs = torch.baddbmm(input_bias[:, None], both, of_input.transpose(1, 2))  # (2, l b, 3 h)
    with torch.autocast(x.device.type, enabled=False):
        states, last = _Recurrence.apply(  # type: ignore[no-untyped-call]
            inputs.view(2, n_words, n, -1), of_state.to(inputs.dtype), state_bias, active
        )  # (2, l, b, h), (2, b, h)
    return states, last


def _aligned(words: Tensor) -> Tensor:
    """Words (l, b, d) in the precision of products, filled up with zeros; see `alignment`."""
    device = words.device.type
    if torch.is_autocast_enabled(device):
        words = words.to(torch.get_autocast_dtype(device))
    more = aligned_size(words.shape[2], words.dtype) - words.shape[2]
    return F.pad(words, (0, more)) if more else words


class _Recurrence(Function):
    """States (g, l, b, h) of GRUs side by side, from 0 on, and the last (g, b, h).

    Takes inputs (g, l, b, 3 h), weight (g, 3 h, h), bias (g, 3 h), active bool (l, b).
    """

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, active: Tensor
    ) -> tuple[Tensor, Tensor]:
        n_groups, n_steps, n, _ = inputs.shape
        size = weight.shape[2]
        states = inputs.new_empty((n_groups, n_steps + 1, n, size))
        states[:, 0] = 0
        # In full precision: what is rounded off a state is missing in all later ones.
        kind = torch.promote_types(inputs.dtype, torch.float32)
        hidden = states.new_zeros((n_groups, n, size), dtype=kind)
        gates = torch.empty_like(inputs)  # (g, l, b, 3 h)
        transposed = weight.transpose(1, 2)  # (g, h, 3 h)
        for t in range(n_steps):
            torch.bmm(states[:, t], transposed, out=gates[:, t])
            read = CellInputs(inputs[:, t], gates[:, t], bias, active[t])
            cell_forward(read, hidden, states[:, t + 1])
        ctx.save_for_backward(inputs, weight, bias, active, gates, states)
        # The last apart, whose gradient would else be written among zeros for all steps.
        return states[:, 1:], states[:, -1].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, bias, active, gates, states = ctx.saved_tensors
        n_groups, n_steps, n, width = inputs.shape
        size = weight.shape[2]
        to_inputs, to_gates = torch.empty_like(inputs), torch.empty_like(gates)
        kind = torch.promote_types(inputs.dtype, torch.float32)
        grad = grads[1].to(kind, copy=True).contiguous()  # (g, b, h)
        later = torch.zeros_like(grad, dtype=inputs.dtype)  # (g, b, h): through the next gates
        given = grads[0].contiguous()  # (g, l, b, h)
        for t in reversed(range(n_steps)):
            read = CellInputs(inputs[:, t], gates[:, t], bias, active[t])
            arriving = (later, given[:, t])
            cell_backward(read, states[:, t], grad, arriving, to_inputs[:, t], to_gates[:, t])
            if t:
                torch.bmm(to_gates[:, t], weight, out=later)
        flat = to_gates.view(n_groups, n_steps * n, width)  # (g, l b, 3 h)
        before = states[:, :-1].view(n_groups, n_steps * n, size)  # (g, l b, h)
        to_weight = torch.bmm(flat.transpose(1, 2), before)  # (g, 3 h, h)
        return to_inputs, to_weight, flat.sum(dim=1, dtype=kind).to(bias.dtype), None


class _Mirrored(Function):
    """See `mirrored`; twice is as before, so that the gradient is mirrored too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, mirror: Tensor) -> Tensor:
        ctx.save_for_backward(mirror)
        return x.gather(0, mirror[:, :, None].expand_as(x))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (mirror,) = ctx.saved_tensors
        return grads[0].gather(0, mirror[:, :, None].expand_as(grads[0])), None


def mirrored(x: Tensor, mirror: Tensor) -> Tensor:
    """Each text of x (l, b, w) from its end, padding where it is.

    Position t of a text is ``mirror[t]``, int64 (l, b), of the same text mirrored.
    """
    result: Tensor = _Mirrored.apply(x, mirror)  # type: ignore[no-untyped-call]
    return result
