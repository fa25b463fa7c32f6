"""Slow, obvious twins of the kernels that decide on sets."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


def expected_f1(
    probabilities: list[float], size: int, unlisted: list[float], empty: float
) -> float:
    """Mean F1 of taking the first `size` labels, over every outcome of every label.

    Parameters
    ----------
    probabilities : list of float
        Of each listed label, independent.
    unlisted : list of float
        Probability of 0, 1, 2, ... true labels beside the listed ones.
    empty : float
        F1 when nothing is taken and nothing is true.
    """
    total = 0.0
    for outcome in product([0, 1], repeat=len(probabilities)):
        chance = np.prod([p if y else 1 - p for p, y in zip(probabilities, outcome, strict=True)])
        for m, chance_of_m in enumerate(unlisted):
            sizes = size + sum(outcome) + m
            f1 = 2 * sum(outcome[:size]) / sizes if sizes else empty
            total += float(chance) * chance_of_m * f1
    return total


def best_size(probabilities: list[float], unlisted: list[float], empty: float) -> tuple[int, float]:
    """(size, expected F1) of the best number of first labels; the smaller among equals."""
    values = [
        expected_f1(probabilities, size, unlisted, empty) for size in range(len(probabilities) + 1)
    ]
    best = max(values)
    size = next(k for k, value in enumerate(values) if value >= best * (1 - 1e-12))
    return size, values[size]


def objective(
    taken: npt.NDArray[np.bool_], rows: Longs, is_true: npt.NDArray[np.bool_],
    n_true: Longs, price: float,
) -> float:  # fmt: skip
    """What some taken pairs (n_pairs,) are worth: see `kernels.set_sizes.cut_labels`."""
    if price >= 0:
        return float(np.sum(2.0 * is_true[taken] - price))
    total = 0.0
    for i, true in enumerate(n_true.tolist()):
        mine = taken & (rows == i)
        sizes = int(mine.sum()) + true
        total += 2 * int(is_true[mine].sum()) / sizes if sizes else 0.0
    return total


def cut_labels(
    starts: Longs, rows: Longs, is_true: npt.NDArray[np.bool_], scores: Floats,
    n_true: Longs, price: float, first_cuts: Longs, cuts: Longs,
) -> Longs:  # fmt: skip
    """Each label in turn tries every cut; the whole objective is computed anew each time."""
    cuts = cuts.copy()
    place = np.arange(len(rows)) - np.repeat(starts[:-1], np.diff(starts))
    for label in range(len(cuts)):
        own = scores[starts[label] : starts[label + 1]]
        allowed = [c for c in range(len(own) + 1) if c in (0, len(own)) or own[c - 1] != own[c]]
        values = {}
        for cut in allowed:
            tried = np.concatenate([cuts[:label], [cut], cuts[label + 1 :]])
            taken = place < np.repeat(tried, np.diff(starts))
            values[cut] = objective(taken, rows, is_true, n_true, price)
        near = [cut for cut in allowed if values[cut] >= max(values.values()) - 1e-9]
        cuts[label] = first_cuts[label] if first_cuts[label] in near else near[0]
    return cuts
