"""The logistic loss for sibling labels, by dual coordinate descent (Yu, Huang and Lin, 2011).

The dual of ``1/2 |w|^2 + sum_i C_i log(1 + exp(-y_i w . x_i))`` keeps every variable strictly
between 0 and C_i. One step minimizes over a single variable by a few Newton iterations, on
whichever of z and C - z is safely away from 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multitudes.kernels.arrays import Floats, Ints, Longs, Vector
from multitudes.kernels.compiling import allocating, kernel
from multitudes.kernels.lanes import LANES, fma, load, splat, store
from multitudes.kernels.solver.dual_descent import shuffle

START = 1e-8  # the variables start here instead of at the boundary 0, whose logarithm is infinite
MAX_NEWTON = 100
# A variable so close to its bound that float32 puts it there starts its step this far inside.
INSIDE = 1e-12
# Costs below this would underflow; their instances have no say either way.
SMALLEST_COST = np.float32(1e-30)


@kernel
def newton_step(
    alpha: float, cost: float, square: float, margin: float, inner_epsilon: float
) -> tuple[float, float]:
    """Minimize over one dual variable; returns (its new value, the gradient before the step)."""
    sign = 1.0
    old = alpha
    if 0.5 * square * (cost - 2.0 * alpha) + margin < 0.0:
        sign = -1.0
        old = cost - alpha
    z = max(old, INSIDE * cost)
    if cost - z < 0.5 * cost:
        z = 0.1 * z
    gradient = square * (z - old) + sign * margin + math.log(z / (cost - z))
    first = abs(gradient)
    for _ in range(MAX_NEWTON):
        if abs(gradient) < inner_epsilon:
            break
        step = gradient / (square + cost / (cost - z) / z)
        z = z - step if z > step else 0.1 * z
        gradient = square * (z - old) + sign * margin + math.log(z / (cost - z))
    return (z if sign > 0 else cost - z), first


@allocating
def solve_logistic_lanes(
    begin: Longs,  # IN (n_rows,)
    finish: Longs,  # IN (n_rows,)
    local: Ints,  # IN
    value: Floats,  # IN
    square: Floats,  # IN (n_rows,): |x|^2 + bias^2
    weight: Floats,  # IN (n_rows,)
    mask: Ints,  # IN (n_rows,): positives
    cost_positive: Floats,  # IN (16,)
    cost_negative: Floats,  # IN (16,)
    bias: float,  # IN float32
    epsilon: float,  # IN float32
    max_epochs: int,  # IN
    live: Any,  # IN int32
    state: Any,  # IN uint64
    n_local: int,  # IN
    w: Floats,  # OUT ((n_local + 1) * 16,), zero at the start
    alpha: Floats,  # TMP (n_rows * 16,)
    order: Ints,  # TMP (n_rows,)
) -> int:
    """As `dual_descent.solve_lanes`, for the logistic loss; returns the number of epochs."""
    n_rows = mask.size
    constant = n_local * LANES
    lanes = np.zeros(LANES, np.float32)
    worst = np.zeros(LANES, np.float32)
    for r in range(n_rows):
        order[r] = r
        for lane in range(LANES):
            cost = cost_positive[lane] if (mask[r] >> lane) & 1 else cost_negative[lane]
            start = min(0.001 * max(cost * weight[r], SMALLEST_COST), START)
            alpha[r * LANES + lane] = start
            lanes[lane] = start if (mask[r] >> lane) & 1 else -start
        add_row(begin[r], finish[r], local, value, bias, constant, load(lanes, 0), w)
    epoch = 0
    inner_epsilon = 1e-2
    while epoch < max_epochs and live != 0:
        epoch += 1
        state = shuffle(order, n_rows, state)
        worst[:] = 0
        for j in range(n_rows):
            r = order[j]
            total = splat(bias) * load(w, constant)
            for t in range(begin[r], finish[r]):
                total = fma(splat(value[t]), load(w, LANES * np.int64(local[t])), total)
            store(lanes, 0, total)
            moved = False
            for lane in range(LANES):
                step = np.float32(0.0)
                if (live >> lane) & 1:
                    y = 1.0 if (mask[r] >> lane) & 1 else -1.0
                    cost = cost_positive[lane] if y > 0 else cost_negative[lane]
                    at = r * LANES + lane
                    cost = max(cost * weight[r], SMALLEST_COST)
                    new, gradient = newton_step(
                        alpha[at], cost, square[r], y * lanes[lane], inner_epsilon
                    )
                    new = np.float32(new)
                    if new != alpha[at]:  # else it is as good as float32 can say
                        worst[lane] = max(worst[lane], gradient)
                    step = np.float32(y * (new - alpha[at]))
                    alpha[at] = new
                    moved = moved or step != 0
                lanes[lane] = step
            if moved:
                add_row(begin[r], finish[r], local, value, bias, constant, load(lanes, 0), w)
        for lane in range(LANES):
            if worst[lane] < epsilon:
                live &= ~(np.int32(1) << np.int32(lane))
        inner_epsilon = max(0.1 * inner_epsilon, min(1e-8, 1e-3 * epsilon))
    return epoch


@kernel
def add_row(
    first: int, last: int, local: Ints, value: Floats, bias: float, constant: int, step: Vector,
    w: Floats,
) -> None:  # fmt: skip
    """Add step * x to w, for the 16 lanes of one row and its constant feature."""
    store(w, constant, fma(splat(bias), step, load(w, constant)))
    for t in range(first, last):
        at = LANES * np.int64(local[t])
        store(w, at, fma(splat(value[t]), step, load(w, at)))
