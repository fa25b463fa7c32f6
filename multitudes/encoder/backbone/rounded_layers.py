"""The layers of an encoder with weights of 8 bits, over texts end to end, for CPUs.

Weights are rounded by column, activations by token. Widths are filled with zeros to multiples of
64, and sizes of heads to multiples of 16, as the kernels want them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from multitudes.deep.texts.tokens import TokenRows
from multitudes.encoder.backbone.architectures import Architecture, architecture_of
from multitudes.encoder.backbone.eight_bits import (
    as_array,
    evening_factors,
    guessed_sizes,
    quantized,
)
from multitudes.errors import ConfigError
from multitudes.kernels.encoder.attention import ROWS, attention
from multitudes.kernels.encoder.byte_products import COLUMNS, packed_weights, product
from multitudes.kernels.encoder.rounding import (
    GELU_LEAST,
    MIDDLE,
    gelu_rows,
    norm_rows,
    round_rows,
)
from multitudes.kernels.lanes import LANES, aligned_floats
from multitudes.kernels.threads import BufferPool
from multitudes.types import FloatArray

TRIAL_TEXTS, TRIAL_TOKENS = 64, 16  # of which channels' sizes are taken
ByteArray = npt.NDArray[np.uint8]


def known_architecture(model: Any) -> Architecture:
    """The description of a model whose family is known here.

    Raises
    ------
    ConfigError
        If a layer of it normalizes what it reads, or nothing is known of it.
    """
    parts = architecture_of(model)
    if parts is None or parts.pre_norm:
        raise ConfigError(
            f"precision='int8' is for BERT, DistilBERT, RoBERTa and MPNet, got "
            f"{type(model).__name__}: use 'bf16' or 'float32'"
        )
    return parts


class Room(NamedTuple):
    """Arrays for a number of tokens that the layers write to again and again."""

    states: FloatArray  # (n_tokens * width,)
    floats: FloatArray  # (n_tokens * widest,): what a product gives
    mixed: FloatArray  # (n_tokens * mixed width,): zero behind the heads
    values: ByteArray  # (n_tokens * widest,): what a product takes
    scales: FloatArray  # (n_tokens,): of `values`
    keys: FloatArray  # of one head, for as many tokens
    scores: FloatArray  # of some tokens, for as many


class Product(NamedTuple):
    """A linear layer with weights of 8 bits; see `multitudes.kernels.encoder.byte_products`."""

    weights: npt.NDArray[np.int8]
    starts: npt.NDArray[np.int32]
    columns: FloatArray
    biases: FloatArray
    n_in: int
    n_out: int

    @classmethod
    def of(cls, weight: FloatArray, bias: FloatArray) -> Self:
        """The layer of a weight (n_out, n_in)."""
        columns, scale = quantized(_filled(_filled(weight.T, 0), 1))
        starts = -MIDDLE * columns.sum(axis=0, dtype=np.int32)
        return cls(packed_weights(columns), starts, scale, _filled(bias, 0), *columns.shape)

    @classmethod
    def of_positive(cls, weight: FloatArray, bias: FloatArray) -> Self:
        """The same for what `gelu_rows` gives: `GELU_LEAST` too much, and no byte is below zero."""
        made = cls.of(weight, bias)
        missing = GELU_LEAST / MIDDLE * made.starts * made.columns
        return made._replace(
            starts=np.zeros_like(made.starts), biases=(made.biases + missing).astype(np.float32)
        )

    def __call__(self, room: Room) -> None:
        """The floats of what is rounded."""
        product(
            room.values, self.weights, self.starts, room.scales, self.columns, self.biases,
            room.floats, self.n_in, self.n_out,
        )  # fmt: skip


class Norm(NamedTuple):
    """A layer norm of a sum, which is then evened out and rounded for the product behind it."""

    norm: FloatArray  # (2 * width,)
    factors: FloatArray  # (width,)
    n_real: int
    epsilon: float

    @classmethod
    def of(cls, norm: Any, factors: FloatArray | None = None) -> Self:
        """That of torch's module, with the factors (d,) of `evening_factors`."""
        both = [_filled(as_array(part), 0) for part in (norm.weight, norm.bias)]
        if factors is None:
            factors = np.ones(len(norm.weight), np.float32)
        return cls(np.concatenate(both), _filled(factors, 0), len(norm.weight), norm.eps)

    def __call__(self, room: Room) -> None:
        """The states behind the norm of states and floats, which are evened out and rounded."""
        norm_rows(
            room.floats, room.states, self.norm, self.factors, room.values, room.scales,
            self.n_real, self.epsilon,
        )  # fmt: skip


class Layer(NamedTuple):
    """One layer; `last_norm` evens out for the product of the next."""

    qkv: Product
    out: Product
    norm: Norm
    up: Product
    down: Product
    last_norm: Norm


class RoundedLayers:
    """An encoder from token ids to token states.

    Parameters
    ----------
    model : transformers.PreTrainedModel

    Raises
    ------
    ConfigError
        If it is of another family; see `known_architecture`.
    """

    def __init__(self, model: Any) -> None:
        parts = known_architecture(model)
        self.parts = parts
        self.n_heads = int(model.config.num_attention_heads)
        self.dim = int(model.config.hidden_size)
        self.head = _up_to(self.dim // self.n_heads, LANES)
        tables = model.get_submodule(parts.words), model.get_submodule(parts.places)
        words, places = (as_array(table.weight) for table in tables)
        if parts.kinds:
            places = places + as_array(model.get_submodule(parts.kinds).weight)[0]
        first = tables[1].padding_idx + 1 if parts.after_padding else 0
        self.words, self.places = _filled(words, 1), _filled(places[first:], 1)
        self.sizes = self._guessed(model)  # (n_norms, d)
        self._round(model, self.sizes)
        self._as_it_is = np.ones(self.layers[0].out.n_in, np.float32)
        self._rooms = BufferPool()
        self.sizes = self._measured()
        self._round(model, self.sizes)

    def __call__(
        self, rows: TokenRows, bias: FloatArray, watch: Callable[[FloatArray], object] | None = None
    ) -> FloatArray:
        """Token states (n_tokens, d).

        Parameters
        ----------
        rows : TokenRows
        bias : float32 (n_heads, length, length)
            Of the longest text at least, added to the scores of the attention; it is empty where
            there is none.
        watch : callable, optional
            Given the states (n_tokens, d) behind each norm.
        """
        watch = watch or (lambda _: None)
        n, width = int(rows.offsets[-1]), len(self.first_norm.factors)
        capacity = 1 << (n - 1).bit_length()  # few sizes
        with self._rooms.lend(capacity, lambda: self._room(capacity)) as room:
            room = room._replace(scales=room.scales[:n])
            states, places = (array[: n * width].reshape(n, width) for array in room[:2])
            positions = np.arange(n) - np.repeat(rows.offsets[:-1], rows.lengths)
            np.take(self.words, rows.ids, axis=0, out=states)
            np.take(self.places, positions, axis=0, out=places)
            real = states[:, : self.dim]
            self.first_norm(room)
            watch(real)
            for layer in self.layers:
                self._attend(layer, room, rows, bias)
                layer.out(room)
                layer.norm(room)
                watch(real)
                layer.up(room)
                gelu_rows(room.floats, room.values, room.scales, layer.up.n_out)
                layer.down(room)
                layer.last_norm(room)
                watch(real)
            return real.copy()

    def _attend(self, layer: Layer, room: Room, rows: TokenRows, bias: FloatArray) -> None:
        """What tokens take from each other, rounded."""
        width = layer.out.n_in
        layer.qkv(room)
        attention(
            room.floats, rows.offsets, bias.reshape(-1), room.mixed, room.keys, room.scores,
            self.n_heads, self.head, layer.qkv.n_out, width, bias.shape[1],
        )  # fmt: skip
        round_rows(room.mixed, self._as_it_is, room.values, room.scales)

    def _room(self, n_tokens: int) -> Room:
        layer, longest = self.layers[0], _up_to(n_tokens, LANES)
        widest = max(layer.qkv.n_out, layer.up.n_out)
        mixed = aligned_floats(n_tokens * layer.out.n_in)
        mixed[:] = 0
        return Room(
            states=aligned_floats(n_tokens * len(self.first_norm.factors)),
            floats=aligned_floats(n_tokens * widest),
            mixed=mixed,
            values=np.empty(n_tokens * widest, np.uint8),
            scales=np.empty(n_tokens, np.float32),
            keys=aligned_floats(longest * self.head),
            scores=aligned_floats(ROWS * longest),
        )

    def _guessed(self, model: Any) -> FloatArray:
        """About the same as `_measured`, by the norms alone."""
        parts = self.parts
        names = [
            parts.embedding_norm,
            *(
                f"{parts.layers}.{i}.{name}"
                for i in range(len(model.get_submodule(parts.layers)))
                for name in (parts.norm, parts.last_norm)
            ),
        ]
        return np.stack([guessed_sizes(model.get_submodule(name)) for name in names])

    def _measured(self) -> FloatArray:
        """How large the channels (d,) of each norm get, by texts of random words."""
        ids = np.random.default_rng(0).integers(len(self.words), size=TRIAL_TEXTS * TRIAL_TOKENS)
        offsets = np.arange(TRIAL_TEXTS + 1) * TRIAL_TOKENS
        sizes: list[FloatArray] = []
        self(
            TokenRows(ids, offsets),
            np.zeros((self.n_heads, 0, 0), np.float32),
            lambda states: sizes.append(np.abs(states).max(axis=0)),
        )
        return np.stack(sizes)

    def _round(self, model: Any, sizes: FloatArray) -> None:
        """Make the layers, the last first: a norm evens out for the product behind it.

        `sizes` (n_norms, d) are those of `evening_factors`.
        """
        self.layers: list[Layer] = []
        factors = None
        for i, module in reversed(list(enumerate(model.get_submodule(self.parts.layers)))):
            last_norm = Norm.of(module.get_submodule(self.parts.last_norm), factors)
            weight, bias = self._qkv(module)
            factors = evening_factors(sizes[2 * i], weight)
            qkv = Product.of(weight / factors, bias)
            self.layers.insert(0, self._layer(module, qkv, last_norm, sizes[2 * i + 1]))
        self.first_norm = Norm.of(model.get_submodule(self.parts.embedding_norm), factors)

    def _qkv(self, module: Any) -> tuple[FloatArray, FloatArray]:
        """Queries, scaled, keys and values: a weight (3 n_heads head, d) and its bias."""
        linear = [module.get_submodule(name) for name in self.parts.qkv]
        size = self.dim // self.n_heads
        weight, bias = (
            np.stack([as_array(getattr(one, name)) for one in linear]).reshape(
                3, self.n_heads, size, -1
            )
            for name in ("weight", "bias")
        )
        filled = []
        for array in (weight, bias):
            array[0] *= size**-0.5
            room = [(0, 0), (0, 0), (0, self.head - size), (0, 0)]
            filled.append(np.pad(array, room).reshape(3 * self.n_heads * self.head, -1))
        return filled[0], filled[1][:, 0]

    def _layer(self, module: Any, qkv: Product, last_norm: Norm, sizes: FloatArray) -> Layer:
        parts, size = self.parts, self.dim // self.n_heads
        out, norm, up, down = (
            module.get_submodule(name) for name in (parts.out, parts.norm, parts.up, parts.down)
        )
        by_head = as_array(out.weight).reshape(self.dim, self.n_heads, size)
        by_head = np.pad(by_head, [(0, 0), (0, 0), (0, self.head - size)])
        factors = evening_factors(sizes, as_array(up.weight))
        return Layer(
            qkv,
            Product.of(by_head.reshape(self.dim, -1), as_array(out.bias)),
            Norm.of(norm, factors),
            Product.of(as_array(up.weight) / factors, as_array(up.bias)),
            Product.of_positive(as_array(down.weight), as_array(down.bias)),
            last_norm,
        )


def _up_to(number: int, step: int) -> int:
    return number + -number % step


def _filled(array: FloatArray, axis: int) -> FloatArray:
    """Zeros at the end of an axis, to a multiple of 64."""
    if not array.shape[axis] % COLUMNS:
        return array  # a table of words is large
    room = [(0, 0)] * array.ndim
    room[axis] = (0, -array.shape[axis] % COLUMNS)
    return np.pad(array, room)
