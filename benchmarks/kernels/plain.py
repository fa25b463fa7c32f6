"""Plain torch in the place of kernels and hand-written gradients, for `benchmarks.kernels`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multitudes.deep.ops import short_attention
from multitudes.deep.ops.gru_cell import gru_cell
from multitudes.deep.texts.tokens import PackedTokens
from multitudes.seq2set.network import text_encoder
from multitudes.seq2set.network.decoder import Decoder, StepState
from multitudes.seq2set.network.padded_gru import mirrored

Patch = tuple[Any, str, Any]


def cudnn_gru(gru: nn.GRU, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """`padded_gru` by cuDNN: each direction of a layer over padded texts, one of them mirrored."""
    device = words.device.type
    on = torch.is_autocast_enabled(device)
    kind = torch.get_autocast_dtype(device) if on else words.dtype
    n, n_words, _ = words.shape
    times = torch.arange(n_words, device=words.device)[:, None]  # (l, 1)
    active = times < lengths  # (l, b)
    mirror = torch.where(active, lengths - 1 - times, times)  # (l, b)
    x = words.transpose(0, 1).to(kind)  # (l, b, d)
    hidden = x.new_zeros((1, n, gru.hidden_size))
    with torch.autocast(device, enabled=False):
        for layer in range(gru.num_layers):
            if layer:
                x = F.dropout(x, gru.dropout, gru.training)
            ways = []
            for way, own in (("", x), ("_reverse", mirrored(x, mirror))):
                weights = [
                    getattr(gru, f"{name}_l{layer}{way}").to(kind)
                    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                ]
                made, _ = torch.gru(
                    own.contiguous(), hidden, weights, True, 1, 0.0, gru.training, False, False
                )  # (l, b, h)
                ways.append(made)
            both = torch.cat([ways[0], mirrored(ways[1], mirror)], dim=2)  # (l, b, 2 h)
            x = torch.where(active[:, :, None], both, 0.0)
    place = (lengths - 1)[None, :, None].expand(1, n, gru.hidden_size)
    last = torch.cat([own.gather(0, place)[0] for own in ways], dim=1)  # (b, 2 h)
    return x.transpose(0, 1).contiguous(), last


def cudnn() -> list[Patch]:
    return [(text_encoder, "padded_gru", cudnn_gru)]


def autograd() -> list[Patch]:
    return [(Decoder, "_loops_at_once", False)]


def plain_step(
    label: Tensor,
    hidden: Tensor,
    keys: Tensor,
    values: Tensor,
    bias: Tensor,
    weights: tuple[Tensor, ...],
    p: float,
) -> tuple[Tensor, Tensor]:
    """`Decoder.step` as a function of tensors alone."""
    of_input, input_bias, of_state, state_bias, energy = weights
    kind, size = values.dtype, hidden.shape[1]
    label = F.dropout(label, p).to(kind)  # (b, d)
    from_state = F.linear(hidden.to(kind), of_state, state_bias)  # (b, 4 h)
    gates, query = from_state[:, : 3 * size], from_state[:, 3 * size :]
    bent = torch.tanh(query[:, None].float() + keys.float())  # (b, m, h)
    energies = (bent * energy.float()).sum(dim=2)  # (b, m)
    weighted = torch.softmax(energies[:, None] + bias, dim=2)  # (b, n_memories, m)
    contexts = (weighted.to(kind) @ values).flatten(1)  # (b, n_memories * 2 h)
    inputs = F.linear(torch.cat([label, contexts], dim=1), of_input, input_bias)  # (b, 3 h)
    hidden = gru_cell(inputs.float(), gates.float(), hidden)  # (b, h)
    features = torch.cat([hidden.to(kind), contexts, label], dim=1)  # (b, z)
    return hidden, F.dropout(features, p)


def compiled() -> list[Patch]:
    """Autograd's decoder with each step compiled; one graph serves all lengths of texts."""
    compiled_step = torch.compile(plain_step)

    def step(
        self: Decoder, now: StepState, keys: Tensor, values: Tensor, bias: Tensor
    ) -> tuple[StepState, Tensor]:
        label = self.labels(now.label)  # (b, d)
        weights = (
            self.from_input.weight,
            self.from_input.bias,
            self.from_state.weight,
            self.from_state.bias,
            self.attention.energy.weight[0],
        )
        for tensor, dim in ((keys, 1), (values, 1), (bias, 2)):
            torch._dynamo.maybe_mark_dynamic(tensor, dim)
        p = self.dropout.p if self.training else 0.0
        hidden, features = compiled_step(label, now.hidden, keys, values, bias, weights, p)
        return now._replace(hidden=hidden), features

    return [*autograd(), (Decoder, "step", step)]


def flash_attention(qkv: Tensor, packed: PackedTokens, *, dropout: float) -> Tensor:
    """`padded_attention` by torch's flash attention, without padding."""
    offsets, longest = packed.offsets, packed.max_length
    real = (packed.texts < len(packed))[:, None, None]  # (n_tokens, 1, 1)
    q, k, v = torch.where(real[:, :, None], qkv, 0.0).unbind(1)  # no gradient from filling
    out = torch.ops.aten._flash_attention_forward(
        q, k, v, offsets, offsets, longest, longest, dropout, False, False
    )[0]
    return torch.where(real, out, 0.0)


def flash() -> list[Patch]:
    return [(short_attention, "padded_attention", flash_attention)]


REPLACEMENTS: dict[str, Callable[[], list[Patch]]] = {
    "cudnn": cudnn,
    "autograd": autograd,
    "compiled": compiled,
    "flash": flash,
}
