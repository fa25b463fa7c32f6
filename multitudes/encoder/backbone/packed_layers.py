"""The forward pass of an encoder over packed texts: no padding between them.

The parameters stay those of the transformers module, so that it trains, saves and loads as ever;
only the way through them is ours. Linear layers see one row per real token, and attention of short
texts is a kernel on CUDA. The families differ in what `architectures` says of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from multitudes.deep.ops.residual_norm import Dropping
from multitudes.deep.ops.short_attention import takes_kernel, text_attention
from multitudes.deep.ops.switch import runs_kernel
from multitudes.deep.texts.tokens import PackedTokens
from multitudes.encoder.backbone.architectures import Architecture, architecture_of
from multitudes.encoder.backbone.behind_attention import (
    TailShape,
    TailWeights,
    behind_attention,
    compiled_behind_attention,
)
from multitudes.encoder.backbone.lora import weight_with_adapters
from multitudes.encoder.backbone.written_out import (
    LayerSettings,
    layer_parameters,
    written_out_layers,
)


class LayerWeights(NamedTuple):
    """The parameters of one layer, in the types to compute in."""

    qkv: Tensor  # (3 d, d)
    qkv_bias: Tensor | None  # (3 d,)
    tail: TailWeights
    first_norm: tuple[Tensor, Tensor | None] | None = None  # (d,) each, of a pre-norm layer


class Shape(NamedTuple):
    """What a layer needs to know beside its weights."""

    n_heads: int
    tail: TailShape
    attention_dropout: float = 0.0  # 0 outside training
    compiled: bool = False


class Surroundings(NamedTuple):
    """What a layer's attention takes from the places of tokens, beside their vectors."""

    bias: Tensor | None = None  # (n_heads, max_length, max_length), added to the scores
    angles: tuple[Tensor, Tensor] | None = None  # cosine and sine (n_tokens, head_size)
    window: int = 0  # tokens seen to either side; 0: all


def supports_packed(model: torch.nn.Module) -> bool:
    """Whether `packed_forward` knows the architecture."""
    return architecture_of(model) is not None


def packed_forward(
    model: Any, packed: PackedTokens, *, compiled: bool = False, checkpointing: bool = False
) -> Tensor:
    """Token states (n_tokens, d) of a packed batch; those of filling mean nothing.

    `compiled` is for training: outside of it there are too few batches to make up for the start.
    `checkpointing` computes each layer again for its gradients, rather than keep what it made.
    Matrix products are computed in the autocast type where autocast is on, else in the type of the
    weights. Sums and norms stay in the type of the weights, as in transformers, but for training
    post-norm layers: there each sum is normalized at once, and half the width moves half the bytes.
    """
    parts = architecture_of(model)
    assert parts is not None, "supports_packed says which models"
    device = packed.ids.device
    kind = _compute_type(model, parts, device)
    shape = _shape(model, parts, compiled=compiled)
    with torch.autocast(device.type, enabled=False):
        states = embedded(model, parts, packed)  # (n_tokens, d)
        if model.training and not parts.pre_norm:
            states = states.to(kind)
        sums = states.dtype
        layers = model.get_submodule(parts.layers)
        if _writes_out(model, parts, states, packed, shape) and not checkpointing:
            return _written_out(states, layers, parts, packed, shape)
        seeds = torch.randint(2**31, (len(layers), 1), device=device)  # of attention's dropout
        around = _Surrounded(model, parts, packed)

        def through(states: Tensor, layer: Any, seed: Tensor) -> Tensor:
            weights = layer_weights(layer, parts, kind, sums)
            return packed_layer(states, weights, packed, around.of(layer), seed, shape)

        for layer, seed in zip(layers, seeds, strict=True):
            if checkpointing and torch.is_grad_enabled():
                states = checkpoint(through, states, layer, seed, use_reentrant=False)
            else:
                states = through(states, layer, seed)
        if parts.final_norm:
            states = _normalized(states, model.get_submodule(parts.final_norm))
    return states


def _writes_out(
    model: Any, parts: Architecture, states: Tensor, packed: PackedTokens, shape: Shape
) -> bool:
    """Whether layers run with their gradient written out: in training, by kernels alone."""
    usual = not (parts.pre_norm or parts.gated or parts.relative_bias or parts.rotary)
    size = states.shape[1] // shape.n_heads
    heads = states.new_empty((0, 3, shape.n_heads, size))
    return (
        model.training
        and torch.is_grad_enabled()
        and usual
        and not shape.compiled
        and len(parts.qkv) == 3
        and runs_kernel("residual_norm", states.device)
        and takes_kernel(heads, packed.max_length)
    )


def _written_out(
    states: Tensor, layers: Any, parts: Architecture, packed: PackedTokens, shape: Shape
) -> Tensor:
    """All layers by `written_out_layers`."""
    seeds = torch.randint(2**31, (len(layers), 3, 1), device=states.device)
    shares = (shape.attention_dropout, shape.tail.out_dropout, shape.tail.feed_dropout)
    settings = [
        LayerSettings(
            packed,
            shape.n_heads,
            shape.tail.epsilon,
            *(Dropping(seed, share) for seed, share in zip(own, shares, strict=True)),
        )
        for own in seeds
    ]
    parameters = [layer_parameters(layer, parts) for layer in layers]
    return written_out_layers(states, parameters, settings)


def _compute_type(model: Any, parts: Architecture, device: torch.device) -> torch.dtype:
    if torch.is_autocast_enabled(device.type):
        return torch.get_autocast_dtype(device.type)
    kind: torch.dtype = model.get_submodule(parts.words).weight.dtype
    return kind


def _shape(model: Any, parts: Architecture, *, compiled: bool) -> Shape:
    return Shape(
        n_heads=model.config.num_attention_heads,
        tail=TailShape(
            epsilon=model.get_submodule(parts.layers)[0].get_submodule(parts.norm).eps,
            out_dropout=_share(model, parts.out_dropout),
            feed_dropout=_share(model, parts.feed_dropout),
            pre_norm=parts.pre_norm,
            gated=parts.gated,
        ),
        attention_dropout=_share(model, parts.attention_dropout),
        compiled=compiled and model.training,
    )


def _share(model: Any, setting: str) -> float:
    """The share that a dropout drops now: nothing outside training."""
    return float(getattr(model.config, setting)) if setting and model.training else 0.0


def embedded(model: Any, parts: Architecture, packed: PackedTokens) -> Tensor:
    """Token states (n_tokens, d) before the first layer."""
    words = model.get_submodule(parts.words)
    states = words(packed.ids)  # (n_tokens, d)
    if parts.places:
        places = model.get_submodule(parts.places)
        first = places.padding_idx + 1 if parts.after_padding else 0
        states = states + places(packed.positions + first)
    if parts.kinds:
        states = states + model.get_submodule(parts.kinds).weight[0]
    states = _normalized(states, model.get_submodule(parts.embedding_norm))
    share = _share(model, parts.embedding_dropout)
    return F.dropout(states, share, training=share > 0)


def _normalized(states: Tensor, norm: Any) -> Tensor:
    kind = states.dtype
    return F.layer_norm(
        states, norm.normalized_shape, norm.weight.to(kind), _cast(norm.bias, kind), norm.eps
    )


class _Surrounded:
    """Biases and angles of a batch, made once and used by all layers."""

    def __init__(self, model: Any, parts: Architecture, packed: PackedTokens) -> None:
        self.bias = None
        if parts.relative_bias:
            length = max(packed.max_length, 1)
            like = torch.empty((1, length), device=packed.ids.device)
            biases = model.get_submodule(parts.relative_bias).compute_position_bias(like)
            self.bias = biases[0].float()  # (n_heads, max_length, max_length)
        self.angles: dict[str, tuple[Tensor, Tensor]] = {}
        if parts.rotary:
            rotary = model.get_submodule(parts.rotary)
            like = torch.empty(0, device=packed.ids.device)  # float32
            for kind in sorted(set(model.config.layer_types)):
                cosine, sine = rotary(like, packed.positions[None], kind)
                self.angles[kind] = (cosine[0], sine[0])  # (n_tokens, head_size) each
            self.window = int(model.config.sliding_window)

    def of(self, layer: Any) -> Surroundings:
        """Those of one layer."""
        if not self.angles:
            return Surroundings(bias=self.bias)
        local = layer.attention_type == "sliding_attention"
        return Surroundings(
            angles=self.angles[layer.attention_type], window=self.window if local else 0
        )


def layer_weights(
    layer: Any, parts: Architecture, kind: torch.dtype, sums: torch.dtype
) -> LayerWeights:
    """The parameters of a layer of transformers: of products in one type, of norms in another."""

    def linear(name: str) -> tuple[Tensor, Tensor | None]:
        module = layer.get_submodule(name)
        return weight_with_adapters(module).to(kind), _cast(module.bias, kind)

    def norm(name: str) -> tuple[Tensor | None, Tensor | None]:
        module = layer.get_submodule(name) if name else None
        if module is None or isinstance(module, torch.nn.Identity):
            return None, None
        return module.weight.to(sums), _cast(module.bias, sums)

    tail = (*linear(parts.out), *norm(parts.norm), *linear(parts.up), *linear(parts.down))
    first, first_bias = norm(parts.first_norm)
    weights, biases = zip(*(linear(name) for name in parts.qkv), strict=True)
    with_bias = all(bias is not None for bias in biases)
    return LayerWeights(
        qkv=weights[0] if len(weights) == 1 else torch.cat(weights),
        qkv_bias=torch.cat(biases) if with_bias else None,
        tail=TailWeights(*tail, *norm(parts.last_norm)),  # type: ignore[arg-type]
        first_norm=None if first is None else (first, first_bias),
    )


def _cast(tensor: Tensor | None, kind: torch.dtype) -> Tensor | None:
    return None if tensor is None else tensor.to(kind)


def packed_layer(
    states: Tensor,
    weights: LayerWeights,
    packed: PackedTokens,
    around: Surroundings,
    seed: Tensor,
    shape: Shape,
) -> Tensor:
    """One layer over (n_tokens, d) states."""
    size = states.shape[1]
    read = states
    if weights.first_norm is not None:
        read = F.layer_norm(states, (size,), *weights.first_norm, shape.tail.epsilon)
    qkv = F.linear(read.to(weights.qkv.dtype), weights.qkv, weights.qkv_bias)  # (n_tokens, 3 d)
    qkv = qkv.view(-1, 3, shape.n_heads, size // shape.n_heads)
    if around.angles is not None:
        qkv = turned(qkv, *around.angles)
    mixed = text_attention(
        qkv,
        packed,
        seed=seed,
        dropout=shape.attention_dropout,
        bias=around.bias,
        window=around.window,
    )
    mixed = mixed.flatten(1)  # (n_tokens, d)
    behind = compiled_behind_attention if shape.compiled else behind_attention
    return behind(states, mixed, weights.tail, shape.tail)  # (n_tokens, d)


def turned(qkv: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Queries and keys turned by the angles of their places; (n_tokens, 3, n_heads, head_size)."""
    both = qkv[:, :2].float()  # (n_tokens, 2, n_heads, head_size)
    left, right = both.chunk(2, dim=3)
    across = torch.cat([-right, left], dim=3)
    both = both * cosine[:, None, None] + across * sine[:, None, None]
    return torch.cat([both.to(qkv.dtype), qkv[:, 2:]], dim=1)
