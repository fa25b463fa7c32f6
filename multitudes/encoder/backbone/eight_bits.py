"""Weights of encoders as 8-bit numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.types import FloatArray

LEVELS = 127  # of an 8-bit number, to either side of zero
MOVED = 0.65  # of what channels differ by, from activations to weights


def quantized(weight: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """A matrix (n_in, n_out) as 8-bit numbers and the scale (n_out,) of each column."""
    scale = np.abs(weight).max(axis=0) / LEVELS
    scale = np.where(scale > 0, scale, 1).astype(np.float32)
    rounded = np.rint(weight / scale).clip(-LEVELS, LEVELS)
    return rounded.astype(np.int8), scale


def evening_factors(sizes: FloatArray, weight: npt.NDArray[Any]) -> FloatArray:
    """Factors (d,) for states, by which a weight (n_out, d) behind them is to be divided.

    The product is the same, with no channel far out: a norm makes a few channels ten times as large
    as the others, which would then be rounded to a few steps. `sizes` (d,) is how large they get.
    Most of the difference (in logarithms) is moved to the weight.
    """
    theirs = np.maximum(np.abs(weight).max(axis=0), 1e-6) ** (1 - MOVED)
    share = np.maximum(sizes, 1e-3) ** MOVED / theirs
    return np.asarray(share.mean() / share, np.float32)


def guessed_sizes(norm: Any) -> FloatArray:
    """About how large the channels (d,) get that a norm gives."""
    return 3 * np.abs(as_array(norm.weight)) + np.abs(as_array(norm.bias))


def as_array(tensor: Any) -> FloatArray:
    """A parameter of torch as float32."""
    found: FloatArray = tensor.detach().float().cpu().numpy()
    return found
