"""Slow, obvious twin of the kernel that matches targets to steps."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt


def best_total(gain: npt.NDArray[np.float32], n_steps: int) -> float:
    """The largest sum of gains that the targets (rows) of one instance reach at different steps.

    Tries every way to place them at the first `n_steps` steps (columns).
    """
    total = -np.inf
    for steps in itertools.permutations(range(n_steps), len(gain)):
        total = max(total, sum(float(row[step]) for row, step in zip(gain, steps, strict=True)))
    return total
