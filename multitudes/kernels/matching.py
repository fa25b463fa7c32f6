"""Exact one-to-one matching of a few targets to steps, for a batch of small dense matrices.

Shortest augmenting paths with dual prices (Jonker and Volgenant, "A shortest augmenting path
algorithm for dense and sparse linear assignment problems", 1987): targets are placed one by one,
each by the cheapest chain of moves that frees a step. A target whose best step is free takes one
scan over the steps, and that is the usual case.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from multitudes.kernels.arrays import Bools, Doubles, Floats, Longs
from multitudes.kernels.compiling import inner


@inner
def _cheapest_chain(
    gain: Floats,  # IN (n_targets, n_steps): of one instance
    target: int,  # IN  the target to place
    n_steps: int,  # IN  steps that may be used
    holder: Longs,  # IN (n_steps,): the target placed at each step, -1 for none
    target_price: Doubles,  # IN/OUT (n_targets,)
    step_price: Doubles,  # IN/OUT (n_steps,)
    distance: Doubles,  # TMP (n_steps,)
    before: Longs,  # OUT (n_steps,): the step before each one on its chain, -1 for the first
    reached: Bools,  # TMP (n_steps,)
) -> int:
    """Find the free step that the cheapest chain from `target` ends at, and move the prices."""
    for s in range(n_steps):
        distance[s] = np.inf
        reached[s] = False
        before[s] = -1  # stays so where gains are not numbers: any free step will do then
    mover, last = target, -1
    while True:
        nearest = -1
        for s in range(n_steps):
            if reached[s]:
                continue
            cost = -np.float64(gain[mover, s]) - target_price[mover] - step_price[s]
            if cost < distance[s]:
                distance[s] = cost
                before[s] = last
            # Strictly nearer: ties go to the smaller step.
            if nearest < 0 or distance[s] < distance[nearest]:
                nearest = s
        length = distance[nearest]
        target_price[target] += length
        for s in range(n_steps):
            if reached[s]:
                target_price[holder[s]] += length
                step_price[s] -= length
            else:
                distance[s] -= length
        if holder[nearest] < 0:
            return nearest
        reached[nearest] = True
        mover, last = holder[nearest], nearest


@njit(nogil=True, cache=True)
def match_targets(
    gain: Floats,  # IN (n_instances, n_targets, n_steps): the larger the better
    n_targets: Longs,  # IN (n_instances,): how many of the first rows count, from 0 to n_steps
    first_only: bool,  # IN  bool: use as many first steps as an instance has targets, not all
    steps: Longs,  # OUT (n_instances, n_targets): each target's step, -1 behind the last target
) -> None:
    """Give each instance's targets different steps such that the sum of gains is largest.

    Where gains are not numbers they still get different steps, whichever.
    """
    width, height = gain.shape[2], gain.shape[1]
    holder = np.empty(width, np.int64)
    before = np.empty(width, np.int64)
    reached = np.empty(width, np.bool_)
    distance = np.empty(width, np.float64)
    step_price = np.empty(width, np.float64)
    target_price = np.empty(height, np.float64)
    for i in range(gain.shape[0]):
        n_steps = n_targets[i] if first_only else width
        for s in range(n_steps):
            holder[s] = -1
            step_price[s] = 0.0
        for t in range(n_targets[i]):
            target_price[t] = 0.0
            at = _cheapest_chain(
                gain[i], t, n_steps, holder, target_price, step_price, distance, before, reached
            )
            while before[at] >= 0:
                holder[at] = holder[before[at]]
                at = before[at]
            holder[at] = t
        for t in range(height):
            steps[i, t] = -1
        for s in range(n_steps):
            if holder[s] >= 0:
                steps[i, holder[s]] = s
