"""The instances a tree is trained on, as the kernels read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitudes.types import FloatArray, IntArray, Sparse


@dataclass(frozen=True)
class TrainingSet:
    """Features and weights of the instances, as the kernels read them.

    Parameters
    ----------
    indptr, indices, data : the CSR arrays of X: int64, int32, float32
    square : float32 array (n_instances,)
        Squared length of each row.
    weight : float32 array (n_instances,)
        Weight of each instance, > 0.
    n_features : int
    """

    indptr: IntArray
    indices: Any
    data: FloatArray
    square: FloatArray
    weight: FloatArray
    n_features: int

    @classmethod
    def of(cls, X: Sparse, weight: FloatArray | None = None) -> TrainingSet:
        """From a CSR matrix with sorted indices."""
        n = X.shape[0]
        data = X.data.astype(np.float32, copy=False)
        indptr = X.indptr.astype(np.int64)
        square = np.zeros(n, np.float32)
        filled = np.flatnonzero(np.diff(indptr))
        if len(filled):
            square[filled] = np.add.reduceat(data * data, indptr[filled])
        weight = np.ones(n, np.float32) if weight is None else weight
        return cls(indptr, X.indices.astype(np.int32, copy=False), data, square, weight, X.shape[1])
