"""The parameters of BERT layers end to end in one buffer: cast together, and their gradients alike.

Cast one by one they are a hundred small kernels in each pass, and the host starts kernels no
faster than a large card runs such small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class FlatLayer(NamedTuple):
    """One layer's parameters, or their gradients, as views of one buffer.

    What stands side by side is used side by side: the three maps before attention are one product,
    and one kernel makes the gradients of a norm and of the bias before it.
    """

    qkv: Tensor  # (3 d, d)
    qkv_bias: Tensor  # (3 d,)
    out: Tensor  # (d, d)
    norm: Tensor  # (3, d): the bias of `out`, then the norm's weight and bias
    up: Tensor  # (wide, d)
    up_bias: Tensor  # (wide,)
    down: Tensor  # (d, wide)
    last_norm: Tensor  # (3, d): the bias of `down`, then the norm's weight and bias

    def by_parameter(self) -> tuple[Tensor, ...]:
        """The same by parameter, in the order of `layer_parameters`."""
        return (
            *self.qkv.chunk(3),
            *self.qkv_bias.chunk(3),
            self.out,
            *self.norm.unbind(),
            self.up,
            self.up_bias,
            self.down,
            *self.last_norm.unbind(),
        )


def layer_parameters(module: Any) -> tuple[Tensor, ...]:
    """The 16 parameters of a layer of the transformers module, in the order of the buffer."""
    inner, attention = module.attention.self, module.attention.output
    maps = (inner.query, inner.key, inner.value)
    behind = (
        attention.dense,
        attention.LayerNorm,
        module.intermediate.dense,
        module.output.dense,
        module.output.LayerNorm,
    )
    return (
        *(part.weight for part in maps),
        *(part.bias for part in maps),
        *(tensor for part in behind for tensor in (part.weight, part.bias)),
    )


def flat_layer(buffer: Tensor, dim: int, wide: int) -> FlatLayer:
    """Views of a buffer (layer_size(dim, wide),); `wide` is the size of the feed-forward part."""
    sizes = _sizes(dim, wide)
    qkv, qkv_bias, out, norm, up, up_bias, down, last_norm = torch.split(buffer, sizes)
    return FlatLayer(
        qkv.view(3 * dim, dim),
        qkv_bias,
        out.view(dim, dim),
        norm.view(3, dim),
        up.view(wide, dim),
        up_bias,
        down.view(dim, wide),
        last_norm.view(3, dim),
    )


def layer_size(dim: int, wide: int) -> int:
    """Values of a layer's parameters."""
    return sum(_sizes(dim, wide))


def _sizes(dim: int, wide: int) -> list[int]:
    square, rectangle = dim * dim, dim * wide
    return [3 * square, 3 * dim, square, 3 * dim, rectangle, wide, rectangle, 3 * dim]


@torch.no_grad()
def cast_together(
    parameters: Sequence[tuple[Tensor, ...]], kind: torch.dtype, *, dim: int, wide: int
) -> list[FlatLayer]:
    """Copies of all layers' parameters in a type to compute in, without a gradient."""
    flat = [tensor for layer in parameters for tensor in layer]
    shape = (len(parameters), layer_size(dim, wide))
    buffer = torch.empty(shape, dtype=kind, device=flat[0].device)
    layers = [flat_layer(row, dim, wide) for row in buffer.unbind()]
    torch._foreach_copy_([part for layer in layers for part in layer.by_parameter()], flat)
    return layers
