"""The short way in for a few rows: what it takes is what the long way gives."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.validation import checked_features
from multitudes.validation.few_rows import sound_rows


def some_rows(n=3, n_features=12, seed=0):
    X = sp.random_array((n, n_features), density=0.4, rng=seed, dtype=np.float32, format="csr")
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


@pytest.mark.parametrize("n", [0, 1, 3, 16])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_same_as_the_long_way(n, kind):
    X = kind(some_rows(n))
    found, expected = sound_rows(X, 12), checked_features(X)
    assert found.shape == expected.shape
    for field in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
        assert not np.shares_memory(getattr(found, field), getattr(X, field))


def spoiled(change):
    X = some_rows()
    change(X)
    return X


CHANGES = {
    "not finite": lambda X: X.data.__setitem__(2, np.nan),
    "infinite": lambda X: X.data.__setitem__(0, np.inf),
    "outside": lambda X: X.indices.__setitem__(X.indptr[1] - 1, 12),
    "negative": lambda X: X.indices.__setitem__(0, -1),
    "unsorted": lambda X: X.indices.__setitem__(slice(0, 2), X.indices[1::-1].copy()),
    "twice": lambda X: X.indices.__setitem__(1, X.indices[0]),
    "wrong start": lambda X: X.indptr.__setitem__(0, 1),
    "falling": lambda X: X.indptr.__setitem__(1, X.indptr[2] + 1),
    "wrong end": lambda X: X.indptr.__setitem__(3, X.indptr[3] - 1),
    "far beyond the end": lambda X: X.indptr.__setitem__(1, 1 << 30),
    "too few starts": lambda X: setattr(X, "indptr", X.indptr[:-1]),
    "too few values": lambda X: setattr(X, "data", X.data[:-1]),
    "float64": lambda X: setattr(X, "data", X.data.astype(np.float64)),
    "int64": lambda X: setattr(X, "indices", X.indices.astype(np.int64)),
    "strided": lambda X: setattr(X, "data", np.repeat(X.data, 2)[::2]),
    "read-only": lambda X: X.indices.setflags(write=False),
    "lists": lambda X: setattr(X, "indices", X.indices.tolist()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_anything_else_goes_the_long_way(change):
    assert sound_rows(spoiled(CHANGES[change]), 12) is None


@pytest.mark.parametrize(
    "given",
    [some_rows().tocsc(), some_rows().toarray(), some_rows(17), some_rows(n_features=11), [[1.0]]],
    ids=["CSC", "dense", "many rows", "other width", "list"],
)
def test_other_things_go_the_long_way(given):
    assert sound_rows(given, 12) is None
