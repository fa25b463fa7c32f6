"""Prepare the instances of one cluster for the solvers."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit

from multitudes.kernels.dual_descent import forget, gather


class Scratch(NamedTuple):
    """Buffers that one thread reuses from cluster to cluster."""

    local_of: Any  # int32 (n_features,), all -1
    feature_of: Any  # int32 (n_features,)
    local: Any  # int32 (values of the largest gathered cluster,)
    value: Any  # float32 (same,)


@njit(nogil=True, cache=True)
def prepare_rows(
    x_indptr,  # IN int64 (n_instances + 1,)
    x_indices,  # IN int32
    x_data,  # IN float32
    x_square,  # IN float32 (n_instances,): |x|^2 plus that of the constant feature
    weight,  # IN float32 (n_instances,)
    rows,  # IN int32 (n_rows,): the cluster's instances
    gathered,  # IN bool: copy the rows and renumber their features, or read them in place
    local_of,  # TMP int32 (n_features,): all -1, and -1 again afterwards
    feature_of,  # OUT int32 (n_features,): global id of each local feature
    local,  # OUT int32: local feature of each value, where gathered
    value,  # OUT float32, where gathered
    begin,  # OUT int64 (n_rows,): where each row's values begin
    finish,  # OUT int64 (n_rows,): and where they end
    square,  # OUT float32 (n_rows,)
    own_weight,  # OUT float32 (n_rows,)
):
    """Returns the number of local features."""
    for r in range(rows.size):
        square[r] = x_square[rows[r]]
        own_weight[r] = weight[rows[r]]
    if gathered:
        n_local = gather(
            x_indptr, x_indices, x_data, rows, local_of, feature_of, begin, finish, local, value
        )
        forget(local_of, feature_of, n_local)
        return n_local
    for r in range(rows.size):
        begin[r] = x_indptr[rows[r]]
        finish[r] = x_indptr[rows[r] + 1]
    for f in range(feature_of.size):
        feature_of[f] = f
    return feature_of.size
