"""Slow, obvious twins of the kernels for grouped data.

Everything is dense and in float64; a group is the list of its members.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.kernels.groups.assignment import TIE
from multitudes.kernels.groups.embeddings import CANCELLED

Array = npt.NDArray[Any]


def unit_sum(rows: Array, weights: list[float]) -> Array:
    """The weighted sum of rows at length 1; 0 where they cancel but for rounding."""
    total = np.asarray(weights, np.float64) @ rows
    length = np.linalg.norm(total)
    if length <= np.sqrt(CANCELLED) * (weights @ np.linalg.norm(rows, axis=1)):
        return np.zeros_like(total)
    return np.asarray(total / length)


def cosines(rows: Array, e: Array) -> Array:
    """Of each row with e; 0 for rows and embeddings of length 0."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(e)
    out = np.zeros(len(rows))
    np.divide(rows @ e, lengths, out=out, where=lengths > 0)
    return out


def start_somewhere(X: Array, groups: list[list[int]], label: int) -> Array:
    """A member with features of the first group that has one, by the label's number."""
    for members in groups:
        filled = [i for i in members if X[i].any()]
        if filled:
            return unit_sum(X[[filled[label % len(filled)]]], [1.0])
    return np.zeros(X.shape[1])


def learn_embedding(
    X: Array, groups: list[list[int]], counts: list[float], label: int, n_steps: int, step: float
) -> Array:
    """Algorithm 1 of the paper for one label with these groups, each listing it so often."""
    X = np.asarray(X, np.float64)
    places = [i for members in groups for i in members]
    weights = [c for members, c in zip(groups, counts, strict=True) for _ in members]
    e = unit_sum(X[places], weights)
    if n_steps > 0 and not e.any():
        e = start_somewhere(X, groups, label)
    for _ in range(n_steps):
        closest = [members[best_of(cosines(X[members], e))] for members in groups if members]
        listed = [c for members, c in zip(groups, counts, strict=True) if members]
        gradient = unit_sum(X[closest], listed)
        moved = e + step * gradient
        if not gradient.any() or np.linalg.norm(moved) <= np.sqrt(CANCELLED):
            break
        e = moved / np.linalg.norm(moved)
    return e


def best_of(scores: Array) -> int:
    """The place of the best score; of scores that are equal but for rounding, the first."""
    best = 0
    for place in range(len(scores)):
        if scores[place] > scores[best] + TIE:
            best = place
    return best


def choose(scores: Array, wanted: int, slack: float) -> tuple[list[int], float]:
    """Places of the best scores, ascending, and the gap to the best one left."""
    left, last = list(range(len(scores))), np.inf
    chosen: list[int] = []
    while left and len(chosen) < wanted:
        chosen.append(left.pop(best_of(scores[left])))
        last = scores[chosen[-1]]
    chosen += [place for place in left if scores[place] > last - slack]
    gaps = [max(last - scores[place], 0) for place in left if place not in chosen]
    return sorted(chosen), min(gaps, default=np.inf)


def share(scores: Array, temperature: float) -> Array:
    """Softmax of scores / temperature."""
    weights = np.exp((scores - scores.max(initial=-np.inf)) / temperature)
    return np.asarray(weights / weights.sum())


def place_scores(members: list[int], known: dict[int, float], before: Array) -> Array:
    """Scores of a group's members: those known, or what was before where none is."""
    if not any(i in known for i in members):
        return before
    return np.array([known.get(i, -np.inf) for i in members])


def score_child(X: Array, weights: Array, bias: float, kind: str, power: int) -> Array:
    """The logarithm of one child's score for each instance; raw margins as they are."""
    margin = X @ weights + bias
    if kind == "hinge":
        return -(np.maximum(0, 1 - margin) ** power)
    return -np.logaddexp(0, -margin) if kind == "sigmoid" else margin
