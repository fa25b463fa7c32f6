import numpy as np
import pytest

from multitudes.kernels.text import term_weights
from tests.kernels.twins import text as reference


@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize(("n_rows", "longest"), [(0, 0), (1, 1), (1, 0), (20, 10), (5, 300)])
def test_weigh_rows_equals_the_twin(n_rows, longest, sublinear):
    rng = np.random.default_rng(n_rows + longest)
    n_terms = 400
    rows = [
        {int(t): int(rng.integers(1, 100)) for t in rng.choice(n_terms, longest, replace=False)}
        for _ in range(n_rows)
    ]
    kept = np.sort(rng.choice(n_terms, 250, replace=False))
    columns = np.full(n_terms, -1, np.int32)
    columns[kept] = rng.permutation(len(kept))
    weights = rng.uniform(1, 9, len(kept)).astype(np.float32)

    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    ids = np.array([t for row in rows for t in row], np.int32)
    counts = np.array([c for row in rows for c in row.values()], np.int32)
    out_indptr = np.zeros(n_rows + 1, np.int64)
    indices, data = np.empty(len(ids), np.int32), np.empty(len(ids), np.float32)
    term_weights.weigh_rows(
        indptr, ids, counts, columns, weights, sublinear, out_indptr, indices, data
    )

    expected = reference.weigh_rows(
        rows, {int(t): int(columns[t]) for t in kept}, weights.astype(float), sublinear=sublinear
    )
    assert np.diff(out_indptr).tolist() == [len(row) for row in expected]
    n = out_indptr[-1]
    assert indices[:n].tolist() == [column for row in expected for column, _ in row]
    np.testing.assert_allclose(data[:n], [v for row in expected for _, v in row], rtol=1e-6)


def test_normalize_rows_equals_the_twin():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=n) for n in (0, 1, 5, 30)] + [np.zeros(3)]
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    data = np.concatenate(rows).astype(np.float32)
    term_weights.normalize_rows(indptr, data)
    expected = np.concatenate([reference.normalize_row(row) for row in rows])
    np.testing.assert_allclose(data, expected, rtol=1e-5, atol=1e-7)


def test_term_totals_add_up():
    ids, counts = np.array([0, 2, 2], np.int32), np.array([3, 1, 5], np.int32)
    documents, totals = np.zeros(3, np.int64), np.ones(3, np.int64)
    term_weights.term_totals(ids, counts, documents, totals)
    assert documents.tolist() == [1, 0, 2]
    assert totals.tolist() == [4, 1, 7]
