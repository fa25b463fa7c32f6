"""Slow, obvious twins of the kernels of 8-bit encoders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def product(
    inputs: Array, weights: Array, starts: Array, scales: Array, columns: Array, biases: Array
) -> Array:
    """Whole numbers are multiplied and added, then scaled."""
    sums = inputs.astype(np.int64) @ weights.astype(np.int64) + starts
    return sums * (scales[:, None].astype(float) * columns) + biases


def rounded(values: Array, factors: Array) -> tuple[Array, Array]:
    """Bytes around 128, and each row's scale."""
    scaled = values.astype(float) * factors
    scales = np.maximum(np.abs(scaled).max(axis=1), 1e-9) / 127
    return np.floor(scaled / scales[:, None] + 128.5), scales


def normed(values: Array, gain: Array, offset: Array, epsilon: float) -> Array:
    """A layer norm."""
    values = values.astype(float)
    away = values - values.mean(axis=1, keepdims=True)
    return away / np.sqrt((away**2).mean(axis=1, keepdims=True) + epsilon) * gain + offset


def gelu(values: Array) -> Array:
    """By the error function."""
    shares = [0.5 + 0.5 * math.erf(x / math.sqrt(2)) for x in values.ravel().astype(float)]
    return values * np.array(shares).reshape(values.shape)


def attention(qkv: Array, bias: Array | None = None) -> Array:
    """One text: (n, 3, heads, head) to (n, heads, head)."""
    queries, keys, values = qkv.astype(float).transpose(1, 2, 0, 3)  # (heads, n, head) each
    scores = queries @ keys.transpose(0, 2, 1)
    if bias is not None:
        scores = scores + bias[:, : len(qkv), : len(qkv)]
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    mixed = (shares / shares.sum(axis=2, keepdims=True)) @ values
    return mixed.transpose(1, 0, 2)
