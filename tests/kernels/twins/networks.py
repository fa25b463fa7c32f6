"""Slow, obvious twins of the kernels that networks train with: batches and matching."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]


def draw_labels(
    labels_of: list[list[int]],
    weights: npt.NDArray[np.float32],
    waits: list[list[float]],
    n_drawn: int,
) -> Longs:
    """The `n_drawn` labels of each instance whose clocks ring first; -1 where there are fewer."""
    drawn = np.full((len(labels_of), n_drawn), -1, np.int64)
    for i, (labels, row) in enumerate(zip(labels_of, waits, strict=True)):
        rings = sorted(
            (np.float32(wait) / weights[label], label)
            for wait, label in zip(row, labels, strict=True)
        )
        for j, (_, label) in enumerate(rings[:n_drawn]):
            drawn[i, j] = label
    return drawn


def known_pairs(labels_of: list[list[int]], batch_labels: list[int]) -> list[tuple[int, int]]:
    """(row, column) of every label of an instance that is among the batch's labels."""
    return [
        (row, batch_labels.index(label))
        for row, labels in enumerate(labels_of)
        for label in labels
        if label in batch_labels
    ]


def best_total(gain: npt.NDArray[np.float32], n_steps: int) -> float:
    """The largest sum of gains that the targets (rows) of one instance reach at different steps.

    Tries every way to place them at the first `n_steps` steps (columns).
    """
    total = -np.inf
    for steps in itertools.permutations(range(n_steps), len(gain)):
        total = max(total, sum(float(row[step]) for row, step in zip(gain, steps, strict=True)))
    return total
