"""Attention of texts that lie end to end, each over its own tokens."""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Floats, Longs
from multitudes.kernels.compiling import inlined
from multitudes.kernels.encoder.lane_functions import exponential, largest, total, turn
from multitudes.kernels.lanes import LANES, fma, larger, load, number, splat, store, subtract

NOTHING = -1e30  # the score of a token that is none
ROWS = 4  # tokens that look at once


@njit(nogil=True, cache=True)
def attention(
    qkv: Floats, offsets: Longs, bias: Floats, out: Floats, keys: Floats, scores: Floats,
    n_heads: int, head: int, step: int, out_step: int, bias_length: int,
) -> None:  # fmt: skip
    """What the tokens of each text take from each other.

    Parameters
    ----------
    qkv : float32 (n_tokens * step,), IN
        A token's queries, which hold the scale of the scores, then its keys and its values, of
        n_heads * head numbers each, then filling.
    offsets : int64 (n_texts + 1,), IN
        Where each text begins and ends.
    bias : float32 (n_heads * bias_length * bias_length,), IN
        Added to the scores, by the places of the two tokens.
    out : float32 (n_tokens * out_step,), OUT
    keys : float32 (longest * head,), TMP
        `longest` is the tokens of the longest text, rounded up to 16.
    scores : float32 (ROWS * longest,), TMP
    n_heads, head : int
        Heads, and the size of each, a multiple of 16.
    step, out_step : int
        From a token to the next.
    bias_length : int
        0 if there is no bias, else tokens of the longest text or more.
    """
    for text in range(len(offsets) - 1):
        first, n = offsets[text], offsets[text + 1] - offsets[text]
        padded = (n + LANES - 1) // LANES * LANES
        for h in range(n_heads):
            _turn_keys(qkv, first * step + (n_heads + h) * head, n, padded, keys, step, head)
            for i in range(0, n, ROWS):
                _score(qkv, first * step + h * head, n, padded, i, keys, scores, step, head)
                for r in range(ROWS):
                    if bias_length:
                        place = (h * bias_length + min(i + r, n - 1)) * bias_length
                        for j in range(n):
                            scores[r * padded + j] += bias[place + j]
                    _soften(scores, r * padded, n, padded)
                _mix(
                    qkv, first * step + (2 * n_heads + h) * head, n, padded, i, scores, out,
                    first * out_step + h * head, step, out_step, head,
                )  # fmt: skip


@inlined
def _turn_keys(
    qkv: Floats, first: int, n: int, padded: int, keys: Floats, step: int, head: int
) -> None:
    """Keys of a head, (head, padded)."""
    for j in range(0, padded, LANES):
        for c in range(0, head, LANES):
            turn(qkv, first + j * step + c, step, min(LANES, n - j), keys, c * padded + j, padded)


@inlined
def _score(
    qkv: Floats, first: int, n: int, padded: int, i: int, keys: Floats, scores: Floats, step: int,
    head: int,
) -> None:  # fmt: skip
    """Scores (ROWS, padded) of tokens from i on; behind the last token it is that one again."""
    a = first + i * step
    b = first + min(i + 1, n - 1) * step
    c = first + min(i + 2, n - 1) * step
    d = first + min(i + 3, n - 1) * step
    for j in range(0, padded, LANES):
        of_a, of_b, of_c, of_d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for k in range(head):
            key = load(keys, k * padded + j)
            of_a = fma(splat(number(qkv, a + k)), key, of_a)
            of_b = fma(splat(number(qkv, b + k)), key, of_b)
            of_c = fma(splat(number(qkv, c + k)), key, of_c)
            of_d = fma(splat(number(qkv, d + k)), key, of_d)
        store(scores, j, of_a)
        store(scores, padded + j, of_b)
        store(scores, 2 * padded + j, of_c)
        store(scores, 3 * padded + j, of_d)


@inlined
def _soften(scores: Floats, start: int, n: int, padded: int) -> None:
    """Scores become shares that add up to one."""
    for j in range(start + n, start + padded):
        scores[j] = NOTHING
    most = splat(NOTHING)
    for j in range(start, start + padded, LANES):
        most = larger(most, load(scores, j))
    top, sums = splat(largest(most)), splat(0.0)
    for j in range(start, start + padded, LANES):
        share = exponential(subtract(load(scores, j), top))
        store(scores, j, share)
        sums = sums + share
    inverse = splat(np.float32(1.0) / total(sums))
    for j in range(start, start + padded, LANES):
        store(scores, j, load(scores, j) * inverse)


@inlined
def _mix(
    qkv: Floats, first: int, n: int, padded: int, i: int, scores: Floats, out: Floats,
    out_first: int, step: int, out_step: int, head: int,
) -> None:  # fmt: skip
    """Values of a head, in the shares of the scores; the last token's may be written again."""
    a = out_first + i * out_step
    b = out_first + min(i + 1, n - 1) * out_step
    c = out_first + min(i + 2, n - 1) * out_step
    d = out_first + min(i + 3, n - 1) * out_step
    for k in range(0, head, LANES):
        of_a, of_b, of_c, of_d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(n):
            value = load(qkv, first + j * step + k)
            of_a = fma(splat(number(scores, j)), value, of_a)
            of_b = fma(splat(number(scores, padded + j)), value, of_b)
            of_c = fma(splat(number(scores, 2 * padded + j)), value, of_c)
            of_d = fma(splat(number(scores, 3 * padded + j)), value, of_d)
        store(out, a + k, of_a)
        store(out, b + k, of_b)
        store(out, c + k, of_c)
        store(out, d + k, of_d)
