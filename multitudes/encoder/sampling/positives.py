"""Positives of a batch: a few labels of each instance, drawn by weight."""

from __future__ import annotations

import numpy as np

from multitudes.kernels import batch_labels
from multitudes.metrics import inverse_propensity, propensity_preset
from multitudes.types import FloatArray, IntArray, LabelArray, Sparse

INVERSE_PROPENSITY = "inverse-propensity"
UNIFORM = "uniform"


def positive_weights(Y: Sparse, kind: str, *, propensity: str = "default") -> FloatArray:
    """How strongly each label is drawn, float32 (n_labels,); only ratios matter.

    `kind` is "uniform" or "inverse-propensity", with the constants of the data set `propensity`.
    Inverse propensities are Appendix I of the paper: p(l | instance) = γ_l / Σ γ_j over the
    instance's labels j.
    """
    if kind == UNIFORM:
        return np.ones(Y.shape[1], np.float32)
    a, b = propensity_preset(propensity)
    return inverse_propensity(Y, a=a, b=b).astype(np.float32)


class PositiveDrawer:
    """Draws labels of instances without repeats, and says which labels of a batch are known.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Checked: 0/1, sorted, nothing stored twice.
    weights : float32 array (n_labels,)
        Above 0, e.g. from `positive_weights`.
    """

    def __init__(self, Y: Sparse, weights: FloatArray) -> None:
        self.indptr: IntArray = Y.indptr.astype(np.int64, copy=False)
        self.indices: LabelArray = Y.indices.astype(np.int32, copy=False)
        self.weights = weights
        self.n_labels = int(Y.shape[1])

    def draw(self, instances: IntArray, n_drawn: int, rng: np.random.Generator) -> IntArray:
        """Up to `n_drawn` label ids of each instance, int64 (b, n_drawn); -1 where it has fewer."""
        drawn = np.empty((len(instances), n_drawn), np.int64)
        waits = rng.standard_exponential(self._n_pairs(instances), dtype=np.float32)
        batch_labels.draw_labels(self.indptr, self.indices, self.weights, instances, waits, drawn)
        return drawn

    def known(self, instances: IntArray, column: LabelArray) -> tuple[IntArray, IntArray]:
        """(rows, columns) of every known pair, where `column` (n_labels,) is -1 outside a batch."""
        rows, columns = np.empty((2, self._n_pairs(instances)), np.int64)
        count = batch_labels.known_pairs(
            self.indptr, self.indices, instances, column, rows, columns
        )
        return rows[:count], columns[:count]

    def _n_pairs(self, instances: IntArray) -> int:
        return int((self.indptr[instances + 1] - self.indptr[instances]).sum())
