"""Plain torch in the place of kernels and hand-written gradients, for `benchmarks.kernels`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function

from multitudes.deep.ops.norm import Normed
from multitudes.encoder.packed import packed_bert, packed_layer
from multitudes.encoder.packed.packed_bert import PackedTokens
from multitudes.seq2set.network import text_encoder
from multitudes.seq2set.network.padded_gru import mirrored
from multitudes.seq2set.network.decoder import Decoder, StepState
from multitudes.deep.ops.gru_cell import gru_cell

Patch = tuple[Any, str, Any]


class _Mirrored(Function):
    """`mirrored`, which is its own inverse, and so its own gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, mirror: Tensor) -> Tensor:
        ctx.save_for_backward(mirror)
        return mirrored(x, mirror)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return mirrored(grads[0], *ctx.saved_tensors), None


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
            for way, own in (("", x), ("_reverse", _Mirrored.apply(x, mirror))):
                weights = [
                    getattr(gru, f"{name}_l{layer}{way}").to(kind)
                    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                ]
                made, _ = torch.gru(
                    own.contiguous(), hidden, weights, True, 1, 0.0, gru.training, False, False
                )  # (l, b, h)
                ways.append(made)
            both = torch.cat([ways[0], _Mirrored.apply(ways[1], mirror)], dim=2)  # (l, b, 2 h)
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


class _Norm:
    """Dropout, residual and norm by torch, in the place of the kernels of `packed_layer`."""

    def __init__(self) -> None:
        self.masks: dict[int, Tensor | None] = {}

    def forward(
        self, change: Tensor, states: Tensor, vectors: Tensor, *, epsilon: float, draw: Any
    ) -> Normed:
        mask = None
        if draw.p:
            change, mask = torch.native_dropout(change, draw.p, True)
        total = states + change
        out, mean, scale = torch.native_layer_norm(
            total, (total.shape[1],), vectors[1], vectors[2], epsilon
        )
        made = Normed(out, total, torch.stack([mean.flatten(), scale.flatten()]))
        self.masks[total.data_ptr()] = mask
        return made

    def backward(
        self, grad: Tensor, made: Normed, vectors: Tensor, *, draw: Any, sums: Tensor
    ) -> tuple[Tensor, Tensor]:
        mean, scale = (part[:, None] for part in made.moments)
        to_states, of_weight, of_bias = torch.ops.aten.native_layer_norm_backward(
            grad, made.total, (grad.shape[1],), mean, scale, vectors[1], vectors[2], [True] * 3
        )
        mask = self.masks.pop(made.total.data_ptr())
        to_change = to_states.clone()
        if mask is not None:
            to_change = torch.ops.aten.native_dropout_backward(to_states, mask, 1 / (1 - draw.p))
        torch.sum(to_change, 0, dtype=torch.float32, out=sums[0])
        sums[1].copy_(of_weight)
        sums[2].copy_(of_bias)
        return to_change, to_states


def norm() -> list[Patch]:
    own = _Norm()
    return [(packed_layer, "norm_forward", own.forward),
            (packed_layer, "norm_backward", own.backward)]  # fmt: skip


def plain_gelu_backward_(grad: Tensor, before: Tensor, *, sums: Tensor) -> None:
    """GELU's gradient by torch, then the sum over rows."""
    grad.copy_(torch.ops.aten.gelu_backward(grad, before))
    torch.sum(grad, 0, dtype=torch.float32, out=sums)


def gelu() -> list[Patch]:
    return [(packed_layer, "gelu_backward_", plain_gelu_backward_)]


class _Flash:
    """torch's flash attention over packed texts, in the place of the kernels of `packed_layer`."""

    def __init__(self) -> None:
        self.kept: dict[int, Any] = {}

    def forward(self, qkv: Tensor, packed: PackedTokens, draw: Any) -> Tensor:
        longest = packed.max_length
        out, *kept = torch.ops.aten._flash_attention_forward(
            *qkv.unbind(1), packed.offsets, packed.offsets, longest, longest, draw.p, False, False
        )
        real = (packed.texts < len(packed))[:, None, None]  # (n_tokens, 1, 1)
        out = torch.where(real, out, 0.0)
        self.kept[qkv.data_ptr()] = (out, real, *kept[:3])
        return out

    def backward(self, qkv: Tensor, grad: Tensor, packed: PackedTokens, draw: Any) -> Tensor:
        out, real, lse, random_state, offset = self.kept.pop(qkv.data_ptr())
        longest = packed.max_length
        grads = torch.ops.aten._flash_attention_backward(
            grad.view_as(out), *qkv.unbind(1), out, lse, packed.offsets, packed.offsets,
            longest, longest, draw.p, False, random_state, offset,
        )  # fmt: skip
        return torch.where(real[:, :, None], torch.stack(grads, dim=1), 0.0)


def flash() -> list[Patch]:
    own = _Flash()
    return [(packed_layer, "attention_forward", own.forward),
            (packed_layer, "attention_backward", own.backward)]  # fmt: skip


def flash_attention(
    qkv: Tensor, n_texts: int, texts: Tensor, positions: Tensor, shape: Any
) -> Tensor:
    """`padded_attention` by torch's flash attention, without padding."""
    places = torch.arange(n_texts + 1, device=texts.device)
    offsets = torch.searchsorted(texts, places).to(torch.int32)  # (n_texts + 1,)
    longest, real = shape.max_length, (texts < n_texts)[:, None, None]  # (n_tokens, 1, 1)
    q, k, v = torch.where(real[:, :, None], qkv, 0.0).unbind(1)  # no gradient from filling
    out = torch.ops.aten._flash_attention_forward(
        q, k, v, offsets, offsets, longest, longest, shape.attention_dropout, False, False
    )[0]
    return torch.where(real, out, 0.0)


def flash_plain() -> list[Patch]:
    return [(packed_bert, "padded_attention", flash_attention)]


REPLACEMENTS: dict[str, Callable[[], list[Patch]]] = {
    "cudnn": cudnn, "autograd": autograd, "compiled": compiled,
    "norm": norm, "gelu": gelu, "flash": flash, "flash_plain": flash_plain,
}  # fmt: skip
