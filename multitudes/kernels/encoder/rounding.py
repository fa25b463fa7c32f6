"""Rows of numbers rounded to 8 bits, each by a scale of its own, beside what comes before.

A row is of one token: what it becomes does not depend on the tokens beside it. Widths are multiples
of 64, and what is beyond the real numbers is zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Bytes, Floats
from multitudes.kernels.compiling import inlined
from multitudes.kernels.encoder.lane_functions import gelu, largest, store_bytes, total
from multitudes.kernels.lanes import LANES, fma, larger, load, splat, store, subtract

LEVELS = 127  # to either side of zero
MIDDLE = 128  # the byte that means zero
POSITIVE_LEVELS = 255  # of numbers that are not below zero
GELU_LEAST = 0.17  # below zero: GELU's outputs are rounded from there on
SMALLEST = 1e-9  # of a row's largest number: zeros are not divided by zero


@njit(nogil=True, cache=True)
def round_rows(values: Floats, factors: Floats, out: Bytes, scales: Floats) -> None:
    """``values * factors`` as bytes around `MIDDLE`, and each row's scale.

    Parameters
    ----------
    values : float32 (n_rows * width,), IN
    factors : float32 (width,), IN
    out : uint8 (n_rows * width,), OUT
    scales : float32 (n_rows,), OUT
    """
    width = len(factors)
    for row in range(len(scales)):
        scales[row] = _round_row(values, row * width, factors, out)


@inlined
def _round_row(values: Floats, start: int, factors: Floats, out: Bytes) -> float:
    """One row's bytes; returns its scale."""
    most = splat(SMALLEST)
    for j in range(0, len(factors), LANES):
        scaled = load(values, start + j) * load(factors, j)
        most = larger(most, larger(scaled, subtract(splat(0.0), scaled)))
    size = largest(most)
    steps, middle = splat(LEVELS / size), splat(MIDDLE + 0.5)
    for j in range(0, len(factors), LANES):
        scaled = load(values, start + j) * load(factors, j)
        store_bytes(out, start + j, fma(scaled, steps, middle))
    return size / LEVELS


@njit(nogil=True, cache=True)
def norm_rows(
    changes: Floats, states: Floats, norm: Floats, factors: Floats, out: Bytes, scales: Floats,
    n_real: int, epsilon: float,
) -> None:  # fmt: skip
    """``states = norm(states + changes)``, and ``states * factors`` as bytes around `MIDDLE`.

    Parameters
    ----------
    changes : float32 (n_rows * width,), IN
    states : float32 (n_rows * width,), IN and OUT
    norm : float32 (2 * width,), IN
        What a normalized row is multiplied with, and what is added then.
    factors : float32 (width,), IN
    out : uint8 (n_rows * width,), OUT
    scales : float32 (n_rows,), OUT
    n_real : int
        Numbers of a row that are more than filling.
    epsilon : float
        Added to the variance.
    """
    width = len(factors)
    for row in range(len(scales)):
        start = row * width
        sums = splat(0.0)
        for j in range(0, width, LANES):
            both = load(states, start + j) + load(changes, start + j)
            store(states, start + j, both)
            sums = sums + both
        mean = total(sums) / n_real
        means, squares = splat(mean), splat(0.0)
        for j in range(0, width, LANES):
            away = subtract(load(states, start + j), means)
            squares = fma(away, away, squares)
        filling = (width - n_real) * mean * mean  # zeros are as far from the mean as that
        deviation = np.sqrt((total(squares) - filling) / n_real + epsilon)
        inverse = splat(1.0 / deviation)
        for j in range(0, width, LANES):
            away = subtract(load(states, start + j), means) * inverse
            store(states, start + j, fma(away, load(norm, j), load(norm, width + j)))
        scales[row] = _round_row(states, start, factors, out)


@njit(nogil=True, cache=True)
def gelu_rows(values: Floats, out: Bytes, scales: Floats, width: int) -> None:
    """``gelu(values) + GELU_LEAST`` as bytes from 0, and each row's scale.

    Parameters
    ----------
    values : float32 (n_rows * width,), IN and TMP
    out : uint8 (n_rows * width,), OUT
    scales : float32 (n_rows,), OUT
    width : int
    """
    for row in range(len(scales)):
        most = splat(SMALLEST)
        for at in range(row * width, (row + 1) * width, LANES):
            found = gelu(load(values, at)) + splat(GELU_LEAST)
            store(values, at, found)
            most = larger(most, found)
        size = largest(most)
        steps, half = splat(POSITIVE_LEVELS / size), splat(0.5)
        for at in range(row * width, (row + 1) * width, LANES):
            store_bytes(out, at, fma(load(values, at), steps, half))
        scales[row] = size / POSITIVE_LEVELS
