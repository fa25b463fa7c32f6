"""Additive attention of one decoder step in place, with its gradient written out.

The same as `multitudes.seq2set.network.attention`, for a loop that owns its buffers.
``tanh(q + k)`` of every position is never kept: backwards it is computed anew, and the gradient of
keys is summed over all steps in one go. One kernel each where the device runs Triton
(`multitudes.deep.ops.attention`), plain tensor operations elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from multitudes.deep.ops.triton_support import runs_triton


class Attended(NamedTuple):
    """What all steps attend to.

    Parameters
    ----------
    keys : (b, m, h)
    values : (b, m, w)
    spans : int32 (b, n_memories, 2)
        Where each memory, one or two, begins and where it ends: its first position, and the one
        behind its last. Positions outside of all are padding.
    energy : (h,)
        What ``tanh(q + k)`` is multiplied with.
    """

    keys: Tensor
    values: Tensor
    spans: Tensor
    energy: Tensor


class Attention(NamedTuple):
    """What a step found, enough to know its weights; float32 at least.

    Parameters
    ----------
    energies : (b, m)
        0 where a position belongs to no memory.
    totals : (b, n_memories)
        The logarithm of each memory's sum of exponentials.
    """

    energies: Tensor
    totals: Tensor


def attend(to: Attended, query: Tensor, found: Attention, contexts: Tensor) -> None:
    """One step: query IN (b, h), found OUT and 0 before, contexts OUT (b, n_memories * w)."""
    if _on_device(found):
        # Here, because Triton may not be installed.
        from multitudes.deep.ops.attention import attend_on_device

        attend_on_device(to, query, found, contexts)
        return
    kind = found.energies.dtype
    tanh = torch.tanh(query[:, None].to(kind) + to.keys.to(kind))  # (b, m, h)
    bias = bias_of(to.spans, to.keys.shape[1])  # (b, n_memories, m)
    real = (bias == 0).any(dim=1)  # (b, m)
    found.energies.copy_(torch.where(real, tanh @ to.energy.to(kind), 0.0))
    found.totals.copy_((found.energies[:, None] + bias).logsumexp(dim=2))
    weights = weights_of(to.spans, found).to(to.values.dtype)  # (b, n_memories, m)
    contexts.copy_((weights @ to.values).flatten(1))


def attend_backwards(
    to: Attended,
    query: Tensor,
    found: Attention,
    contexts: tuple[Tensor, Tensor],
    to_energies: Tensor,
    to_query: Tensor,
) -> None:
    """The gradient of `attend`: of `contexts` IN, and their gradient; both (b, n_memories * w).

    to_energies OUT (b, m), float32 at least and 0 before; to_query OUT (b, h).
    """
    if _on_device(found):
        from multitudes.deep.ops.attention import attend_backwards_on_device

        attend_backwards_on_device(to, query, found, contexts, to_energies, to_query)
        return
    kind = to_energies.dtype
    n, n_memories, _ = to.spans.shape
    of, grad = (part.to(kind).reshape(n, n_memories, -1) for part in contexts)
    mean = (of * grad).sum(dim=2, keepdim=True)  # (b, n_memories, 1)
    to_weights = grad @ to.values.to(kind).transpose(1, 2)  # (b, n_memories, m)
    to_energies.copy_((weights_of(to.spans, found) * (to_weights - mean)).sum(dim=1))
    slope = 1 - torch.tanh(query[:, None].to(kind) + to.keys.to(kind)).square()  # (b, m, h)
    to_query.copy_((to_energies[:, None] @ slope)[:, 0] * to.energy)


def gradient_of_keys(to: Attended, queries: Tensor, to_energies: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of keys (b, m, h) and energy (h,), over all steps.

    Takes queries (N, b, h) and to_energies (N, b, m) of `attend_backwards`.
    """
    if runs_triton(to_energies.device, "attention") and to_energies.dtype == torch.float32:
        from multitudes.deep.ops.attention import gradient_of_keys_on_device

        return gradient_of_keys_on_device(to, queries, to_energies)
    kind = to_energies.dtype
    keys, energy = to.keys.to(kind), to.energy.to(kind)
    to_keys, to_energy = torch.zeros_like(keys), torch.zeros_like(energy)
    for query, grad in zip(queries, to_energies, strict=True):
        tanh = torch.tanh(query[:, None].to(kind) + keys)  # (b, m, h)
        to_keys += grad[:, :, None] * (1 - tanh.square())  # (b, m, h)
        to_energy += (grad[:, :, None] * tanh).sum(dim=(0, 1))  # (h,)
    return (to_keys * energy).to(to.keys.dtype), to_energy.to(to.energy.dtype)


def gradient_of_values(spans: Tensor, found: Attention, to_contexts: Tensor) -> Tensor:
    """Gradient (b, m, w) of values, over all steps, in one product.

    Takes spans (b, n_memories, 2), found (N, b, ...), to_contexts (N, b, n_memories * w).
    """
    if _on_device(found, "values"):
        from multitudes.deep.ops.values import gradient_of_values_on_device

        return gradient_of_values_on_device(spans, found, to_contexts)
    n_steps, n, n_memories = found.totals.shape
    weights = weights_of(spans, found).to(to_contexts.dtype)  # (N, b, n_memories, m)
    weights = weights.permute(1, 3, 0, 2).reshape(n, -1, n_steps * n_memories)  # (b, m, N M)
    grads = to_contexts.transpose(0, 1).reshape(n, n_steps * n_memories, -1)  # (b, N M, w)
    return weights @ grads


def spans_of(bias: Tensor) -> Tensor:
    """Spans int32 (b, n_memories, 2) of memories whose positions are 0 in bias (b, n_memories, m).

    The positions of each lie side by side.
    """
    own = (bias == 0).int()  # (b, n_memories, m)
    behind = torch.arange(1, bias.shape[2] + 1, dtype=torch.int32, device=bias.device)  # (m,)
    stop = (own * behind).amax(dim=2)  # (b, n_memories)
    return torch.stack([stop - own.sum(dim=2, dtype=torch.int32), stop], dim=2)


def bias_of(spans: Tensor, m: int) -> Tensor:
    """Bias (b, n_memories, m) of spans (b, n_memories, 2): 0 within, -inf elsewhere."""
    position = torch.arange(m, device=spans.device)  # (m,)
    return ((position >= spans[..., :1]) & (position < spans[..., 1:])).log()


def weights_of(spans: Tensor, found: Attention) -> Tensor:
    """Weights (..., b, n_memories, m) of each position."""
    bias = bias_of(spans, found.energies.shape[-1])  # (b, n_memories, m)
    return torch.exp(found.energies[..., None, :] + bias - found.totals[..., None])


def _on_device(found: Attention, op: str = "attention") -> bool:
    return runs_triton(found.energies.device, op) and found.energies.dtype == torch.float32
