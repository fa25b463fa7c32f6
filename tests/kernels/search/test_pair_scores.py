"""Scores of given pairs of one cluster against their slow twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.kernels.search.beam_search import HINGE, RAW, SIGMOID
from multitudes.kernels.search.pair_scores import score_children
from tests.kernels.twins import groups as reference

KINDS = {"hinge": HINGE, "sigmoid": SIGMOID, "raw": RAW}


@pytest.mark.parametrize(
    ("kind", "power"), [("hinge", 1), ("hinge", 3), ("sigmoid", 1), ("raw", 1)]
)
def test_equals_its_twin(kind, power):
    rng = np.random.default_rng(0)
    X = sp.random_array((12, 9), density=0.4, rng=rng, format="csr")
    weights = sp.random_array((9, 4), density=0.4, rng=rng, format="csr").toarray()
    weights[:, 2] = 0
    filled = np.flatnonzero(weights.any(axis=1))
    chunk = sp.csr_array(weights[filled])
    bias = rng.standard_normal(4).astype(np.float32)
    pairs = sp.csc_array(rng.random((12, 4)) < 0.5)
    above = np.arange(12, dtype=np.int32)[::-1].copy()
    above_score = rng.standard_normal(12).astype(np.float32)
    weight = np.zeros(9, np.float32)
    score = np.full(pairs.nnz, np.nan, np.float32)
    score_children(
        X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32),
        filled.astype(np.int32), chunk.indptr.astype(np.int64), chunk.indices.astype(np.uint16),
        chunk.data.astype(np.float32), bias, KINDS[kind], power, above, above_score,
        pairs.indptr.astype(np.int64), pairs.indices.astype(np.int32), weight,
        np.empty(12, np.float32), score,
    )  # fmt: skip
    parent = np.empty(12)
    parent[above] = above_score
    for child in range(4):
        part = slice(pairs.indptr[child], pairs.indptr[child + 1])
        own = reference.score_child(X.toarray(), weights[:, child], bias[child], kind, power)
        rows = pairs.indices[part]
        np.testing.assert_allclose(score[part], (parent + own)[rows], rtol=1e-4, atol=1e-5)
    assert not weight.any()
