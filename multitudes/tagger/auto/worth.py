"""What members are worth, on instances that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from multitudes.fusion.choosing import HeldOut, made_fusion
from multitudes.fusion.lists import Lists
from multitudes.tagger.auto.report import METRIC_AT, Score
from multitudes.types import NO_LABEL, NO_SCORE, Predictions, Sparse

LEAST_GAIN = 5e-4  # in the mean of P@1 and nDCG@5, for which another member is worth its time


def cross_fused(held_out: HeldOut, kind: str, *, random_state: int = 0) -> Predictions:
    """Return what a fusion makes of lists, learned on the other half of the instances each time."""
    n = len(held_out.lists)
    order = np.random.default_rng(random_state).permutation(n)
    halves = np.sort(order[::2]), np.sort(order[1::2])
    labels = np.full((n, METRIC_AT), NO_LABEL, np.int32)
    scores = np.full((n, METRIC_AT), NO_SCORE, np.float32)
    for learned_on, fused in (halves, halves[::-1]):
        fusion = held_out.take(learned_on).learned(made_fusion(kind, random_state=random_state))
        found = held_out.take(fused).fused(fusion, METRIC_AT)
        labels[fused, : found.top_k], scores[fused, : found.top_k] = found.labels, found.scores
    return Predictions(labels, scores, held_out.lists.n_labels)


def some_of(held_out: HeldOut, members: Sequence[int]) -> HeldOut:
    """Return the lists of some members."""
    return replace(held_out, lists=Lists([held_out.lists.members[i] for i in members]))


def gain(after: Predictions, before: Predictions, Y: Sparse) -> float:
    """Return what predictions gained in the mean of P@1 and nDCG@5."""
    return Score.of(after, Y).mean - Score.of(before, Y).mean
