"""Copies and checks a few rows of features in one go."""

from __future__ import annotations

import numpy as np

from multitudes.placeholders import placeholders

with placeholders("yaml"):  # numba reads a file of settings with it, if there is one
    from numba import njit

from multitudes.kernels.arrays import Floats, Ints, Longs


@njit(nogil=True, cache=True)
def copy_rows(
    starts: Ints,  # IN (n + 1,)
    indices: Ints,  # IN (n_values,): others may write to it meanwhile
    values: Floats,  # IN (n_values,)
    n_features: int,  # IN
    own_starts: Longs,  # OUT (n + 1,)
    own_indices: Ints,  # OUT (n_values,)
    own_values: Floats,  # OUT (n_values,)
) -> bool:
    """Return whether the copy is sound: each row rises within its bounds, all values are finite."""
    n_values = indices.size
    for i in range(starts.size):
        own_starts[i] = starts[i]
    sound = own_starts[0] == 0 and own_starts[starts.size - 1] == n_values
    for i in range(starts.size - 1):
        sound &= own_starts[i] <= own_starts[i + 1]
    if not sound:
        return False
    for t in range(n_values):
        own_indices[t] = indices[t]
        own_values[t] = values[t]
        sound &= np.isfinite(own_values[t])
    for i in range(starts.size - 1):
        before = -1
        for t in range(own_starts[i], own_starts[i + 1]):
            sound &= before < own_indices[t] < n_features
            before = own_indices[t]
    return sound
