"""An encoder as an ONNX graph whose matrix products are of 8-bit numbers, for CPUs.

The graph is built from the weights and the description of the family, node by node: nothing is
traced, and nothing that is built can hold more than arithmetic. Weights are rounded by column,
activations by token: what a token becomes does not depend on the texts beside it, which it would
with one scale for a batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.encoder.backbone.architectures import Architecture
from multitudes.encoder.backbone.eight_bits import LEVELS, as_array, evening_factors, quantized
from multitudes.encoder.backbone.rounded_layers import RoundedLayers, known_architecture
from multitudes.errors import require

OPSET, IR_VERSION = 17, 9
CONTRIB = "com.microsoft"  # operators of onnxruntime beside the standard ones
GELU_LEAST = 0.17  # below zero
IDS, MASK, POSITIONS, BIAS, STATES = "ids", "mask", "positions", "bias", "states"


def encoder_graph(model: Any) -> Any:
    """An ``onnx.ModelProto`` from token ids to token states.

    Its inputs are ids and a 0/1 mask (n_texts, length), positions (length,) as the encoder counts
    them, and for MPNet the biases (1, n_heads, length, length) of the attention.

    Raises
    ------
    ConfigError
        If the family is another one.
    MissingExtraError
        If onnx is not installed.
    """
    return _Builder(model, known_architecture(model)).model_proto()


class _Builder:
    """Collects the nodes and weights of a graph; methods return names of what they compute."""

    def __init__(self, model: Any, parts: Architecture) -> None:
        self.onnx: Any = require("onnx", extra="onnx")
        self.model, self.parts = model, parts
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.n_heads = int(model.config.num_attention_heads)

    def model_proto(self) -> Any:
        """The whole graph."""
        helper, types = self.onnx.helper, self.onnx.TensorProto
        last = self._layers(self._embedded())
        self.node("Identity", [last], [STATES])
        d = int(self.model.config.hidden_size)
        inputs = [
            helper.make_tensor_value_info(IDS, types.INT64, ["n", "length"]),
            helper.make_tensor_value_info(MASK, types.INT32, ["n", "length"]),
            helper.make_tensor_value_info(POSITIONS, types.INT64, ["length"]),
        ]
        if self.parts.relative_bias:
            shape = [1, self.n_heads, "length", "length"]
            inputs.append(helper.make_tensor_value_info(BIAS, types.FLOAT, shape))
        outputs = [helper.make_tensor_value_info(STATES, types.FLOAT, ["n", "length", d])]
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def node(
        self, kind: str, inputs: list[str], outputs: list[str] | None = None, **given: Any
    ) -> str:
        """Add an operation; returns the name of its first result."""
        outputs = outputs or [f"{kind}.{len(self.nodes)}"]
        made = self.onnx.helper.make_node(kind, inputs, outputs, **given)
        self.nodes.append(made)
        return outputs[0]

    def constant(self, array: npt.NDArray[Any]) -> str:
        """Add an array."""
        name = f"weights.{len(self.weights)}"
        self.weights.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _embedded(self) -> str:
        parts, model = self.parts, self.model
        words = self.node("Gather", [self.constant(_weight(model, parts.words)), IDS])
        places = _weight(model, parts.places)
        if parts.kinds:
            places = places + _weight(model, parts.kinds)[0]
        here = self.node("Gather", [self.constant(places), POSITIONS])
        norm = model.get_submodule(parts.embedding_norm)
        return self._normed(self.node("Add", [words, here]), norm)

    def _normed(self, states: str, norm: Any) -> str:
        gain, offset = (self.constant(as_array(part)) for part in (norm.weight, norm.bias))
        return self.node("LayerNormalization", [states, gain, offset], axis=-1, epsilon=norm.eps)

    def _layers(self, states: str) -> str:
        parts = self.parts
        sizes = iter(RoundedLayers(self.model).sizes)
        for layer in self.model.get_submodule(parts.layers):
            linear = [layer.get_submodule(name) for name in parts.qkv]
            weight = np.concatenate([as_array(one.weight) for one in linear])
            bias = np.concatenate([as_array(one.bias) for one in linear])
            mixed = self._attention(self.product(self.evened(states, weight, next(sizes))), bias)
            out = layer.get_submodule(parts.out)
            change = self.product((mixed, as_array(out.weight)))
            norm = layer.get_submodule(parts.norm)
            states = self._joined(change, as_array(out.bias), states, norm)
            up, down = layer.get_submodule(parts.up), layer.get_submodule(parts.down)
            wide = self.product(self.evened(states, as_array(up.weight), next(sizes)))
            wide = self.node("BiasGelu", [wide, self.constant(as_array(up.bias))], domain=CONTRIB)
            norm = layer.get_submodule(parts.last_norm)
            change, missing = self.product_of_positive(wide, as_array(down.weight))
            states = self._joined(change, as_array(down.bias) + missing, states, norm)
        return states

    def _attention(self, qkv: str, bias: npt.NDArray[Any]) -> str:
        """Mixed values (n, length, d) of queries, keys and values (n, length, 3 d) side by side."""
        names = [f"{qkv}.{part}" for part in "qkv"]
        self.node("Split", [qkv], names, axis=-1)
        biases = [BIAS] if self.parts.relative_bias else []
        given = [*names, self.constant(bias), MASK, *biases]
        return self.node("MultiHeadAttention", given, domain=CONTRIB, num_heads=self.n_heads)

    def _joined(self, change: str, bias: npt.NDArray[Any], states: str, norm: Any) -> str:
        """``norm(states + change + bias)``, (n, length, d)."""
        # onnxruntime's SkipLayerNormalization, which does all of it, takes several times as long.
        summed = self.node("Add", [self.node("Add", [change, self.constant(bias)]), states])
        return self._normed(summed, norm)

    def evened(
        self, states: str, weight: npt.NDArray[Any], sizes: npt.NDArray[Any]
    ) -> tuple[str, npt.NDArray[Any]]:
        """States and a weight (n_out, d) whose product is the same; see `evening_factors`."""
        factors = evening_factors(sizes, weight)
        return self.node("Mul", [states, self.constant(factors)]), weight / factors

    def product(self, factors: tuple[str, npt.NDArray[Any]]) -> str:
        """Inputs (n, length, n_in) times a weight (n_out, n_in), without its bias."""
        inputs, weight = factors
        columns, scale = quantized(weight.T)
        largest = self.node("ReduceMax", [self.node("Abs", [inputs])], axes=[-1], keepdims=1)
        return self._rounded_product(inputs, largest, columns, scale, step=1 / LEVELS, zero=128)

    def product_of_positive(
        self, inputs: str, weight: npt.NDArray[Any]
    ) -> tuple[str, npt.NDArray[np.float32]]:
        """The same for inputs that are no less than GELU's least value, by twice as fine steps.

        What is returned lacks an array (n_out,), which comes with it.
        """
        columns, scale = quantized(weight.T)
        inputs = self.node("Add", [inputs, self.constant(np.array(GELU_LEAST, np.float32))])
        largest = self.node("ReduceMax", [inputs], axes=[-1], keepdims=1)
        found = self._rounded_product(inputs, largest, columns, scale, step=1 / 255, zero=0)
        missing = -GELU_LEAST * columns.astype(np.float32).sum(axis=0) * scale
        return found, missing.astype(np.float32)

    def _rounded_product(
        self,
        inputs: str,
        largest: str,
        columns: npt.NDArray[np.int8],
        scale: npt.NDArray[np.float32],
        *,
        step: float,
        zero: int,
    ) -> str:
        # Each token's largest number becomes 1; nothing is so small that it must not be divided.
        largest = self.node("Max", [largest, self.constant(np.array(1e-9, np.float32))])
        scaled = self.node("Div", [inputs, largest])
        by = self.constant(np.array(step, np.float32))
        middle = self.constant(np.array(zero, np.uint8))
        rounded = self.node("QuantizeLinear", [scaled, by, middle])
        given = [rounded, self.constant(columns), by, self.constant(scale), middle]
        found = self.node("MatMulIntegerToFloat", given, domain=CONTRIB)
        return self.node("Mul", [found, largest])


def _weight(model: Any, name: str) -> npt.NDArray[Any]:
    return as_array(model.get_submodule(name).weight)
