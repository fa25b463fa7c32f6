"""The kernels behind training batches against their slow twins."""

import numpy as np
import pytest

from multitudes.kernels import batch_labels
from tests.kernels.twins import networks as reference

LABELS = {
    "random": [[0, 3, 5], [1], [2, 3, 4, 6, 7], [5, 7], [0, 1, 2, 3, 4, 5, 6, 7]],
    "empty row": [[], [1, 2], []],
    "one row": [[4, 6]],
    "no row": [],
    "repeated": [[1, 2, 3]] * 4,
}


def csr(labels_of):
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in labels_of])]).astype(np.int64)
    return indptr, np.array([label for row in labels_of for label in row], np.int32)


@pytest.fixture(params=LABELS, ids=lambda name: name.replace(" ", "-"))
def labels_of(request):
    return LABELS[request.param]


@pytest.mark.parametrize("n_drawn", [1, 2, 3, 9])
@pytest.mark.parametrize("tied", [False, True])
def test_draw_labels_takes_the_first_clocks_to_ring(labels_of, n_drawn, tied):
    rng = np.random.default_rng(n_drawn)
    instances = rng.permutation(len(labels_of))
    rows = [labels_of[i] for i in instances]
    weights = np.ones(8, np.float32) if tied else rng.uniform(0.5, 5, 8).astype(np.float32)
    waits = [
        [1.0] * len(row) if tied else rng.exponential(size=len(row)).astype(np.float32).tolist()
        for row in rows
    ]
    drawn = np.empty((len(rows), n_drawn), np.int64)
    flat = np.array([wait for row in waits for wait in row], np.float32)
    batch_labels.draw_labels(*csr(labels_of), weights, instances, flat, drawn)
    expected = reference.draw_labels(rows, weights, waits, n_drawn)
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("batch", [[], [3], [1, 2, 5], list(range(8))])
def test_known_pairs_are_all_that_y_has(labels_of, batch):
    instances = np.random.default_rng(0).permutation(len(labels_of))
    rows = [labels_of[i] for i in instances]
    column = np.full(8, -1, np.int32)
    column[batch] = np.arange(len(batch))
    out_rows, out_columns = np.empty((2, sum(map(len, rows))), np.int64)
    count = batch_labels.known_pairs(*csr(labels_of), instances, column, out_rows, out_columns)
    found = list(zip(out_rows[:count].tolist(), out_columns[:count].tolist(), strict=True))
    assert found == reference.known_pairs(rows, batch)
