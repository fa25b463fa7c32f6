import numpy as np
import scipy.sparse as sp

from multitudes.kernels.gathering import take_rows


def test_rows_are_those_of_scipy():
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(sp.random(40, 20, 0.2, "csr", np.float32, random_state=rng))
    for rows in ([], [3], [5, 5, 0], list(range(40))):
        taken = np.array(rows, np.int32)
        expected = matrix[taken] if rows else sp.csr_array((0, 20), dtype=np.float32)
        indptr = expected.indptr.astype(np.int64)
        indices, values = np.full(expected.nnz, -1, np.int32), np.zeros(expected.nnz, np.float32)
        take_rows(
            matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, taken,
            indptr, indices, values,
        )  # fmt: skip
        np.testing.assert_array_equal(indices, expected.indices)
        np.testing.assert_array_equal(values, expected.data)
