"""The best labels of each leaf, against all of its labels ranked by their twin."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.search.beam_search import HINGE, RAW
from multitudes.kernels.search.leaf_lists import list_leaves
from multitudes.linear.search_index import SearchIndex
from tests.kernels.twins import trees as reference

from .dense_trees import SHAPES, dense_tree, whole_instances


@pytest.fixture(params=SHAPES, ids=lambda name: name.replace(" ", "-"))
def given(request):
    return dense_tree(**SHAPES[request.param])


def listed_by_twin(given, x, leaf, parent, n_kept, allowed, kind, power):
    """[(score, label), ...] of a leaf."""
    level = given.dense[-1]
    found = [
        (
            reference.path_score(level.weights[slot] @ x + level.bias[slot], parent, kind, power),
            int(given.tree.slot_labels[slot]),
        )
        for slot in range(level.offsets[leaf], level.offsets[leaf + 1])
        if given.tree.slot_labels[slot] in allowed
    ]
    return reference.best(found, n_kept)


@pytest.mark.parametrize("n_kept", [1, 3, 40])
@pytest.mark.parametrize(("kind", "power"), [(HINGE, 2), (RAW, 1)])
def test_equals_its_twin(given, n_kept, kind, power):
    rng = np.random.default_rng(n_kept)
    index = SearchIndex(given.tree, given.levels, given.n_features)
    allowed = set(rng.permutation(given.tree.n_labels)[: given.tree.n_labels * 3 // 4].tolist())
    arrays = index.arrays._replace(block_mask=index.allow(sorted(allowed)))
    n, first = 6, 2  # a block that starts at the third row
    X = whole_instances(n + first, given.n_features)
    leaf = rng.integers(-1, given.tree.n_leaves, (n, 3)).astype(np.int32)
    score = -rng.integers(0, 5, leaf.shape).astype(np.float32)
    labels = np.full((*leaf.shape, n_kept), -7, np.int32)
    scores = np.full(labels.shape, np.nan, np.float32)
    rows = sp.csr_array(X)
    list_leaves(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, first, arrays,
        kind, power, leaf, score, labels, scores,
    )  # fmt: skip
    for i, place in np.ndindex(leaf.shape):
        expected = [] if leaf[i, place] < 0 else listed_by_twin(
            given, X[first + i].astype(np.float64), leaf[i, place], score[i, place], n_kept,
            allowed, kind, power,
        )  # fmt: skip
        missing = n_kept - len(expected)
        assert labels[i, place].tolist() == [label for _, label in expected] + [-1] * missing
        assert scores[i, place].tolist() == [value for value, _ in expected] + [-np.inf] * missing


def test_no_instances():
    given = dense_tree(**SHAPES["one cluster"])
    index = SearchIndex(given.tree, given.levels, given.n_features)
    nothing, empty = np.zeros(0, np.int32), np.zeros(0, np.float32)
    list_leaves(
        np.zeros(1, np.int64), nothing, empty, 0, index.arrays, HINGE, 2,
        np.zeros((0, 3), np.int32), np.zeros((0, 3), np.float32),
        np.zeros((0, 3, 2), np.int32), np.zeros((0, 3, 2), np.float32),
    )  # fmt: skip
