"""Kept places move up."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multitudes.scores.selection import keep

from .problems import small_problems


@given(small_problems(), st.integers(0, 2**24 - 1))
def test_kept_labels_stay_in_order_without_gaps(problem, bits):
    predictions, _ = problem
    wanted = np.array([bits >> j & 1 for j in range(predictions.labels.size)], bool)
    wanted = wanted.reshape(predictions.labels.shape)
    kept = keep(predictions, wanted)
    assert kept.labels.shape == predictions.labels.shape
    for i in range(len(predictions)):
        expected = predictions.labels[i][wanted[i] & (predictions.labels[i] >= 0)].tolist()
        size = len(expected)
        assert kept.labels[i].tolist() == expected + [-1] * (predictions.top_k - size)
        assert (kept.scores[i, size:] == -np.inf).all()
        assert kept.scores[i, :size].tolist() == predictions.scores[i][wanted[i]][:size].tolist()
