import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from multitudes.encoder.search import exact_search
from multitudes.encoder.search.exact_search import exact_top_k


def by_sorting(queries, vectors, top_k):
    scores = queries @ vectors.T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
    return np.take_along_axis(scores, order, axis=1), order


@given(
    n=st.integers(0, 9),
    n_labels=st.integers(1, 40),
    dim=st.integers(1, 4),
    n_values=st.integers(1, 4),
    data=st.data(),
)
def test_the_best_come_first_and_ties_go_to_the_smaller_id(n, n_labels, dim, n_values, data):
    top_k = data.draw(st.integers(1, n_labels))
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    # Small whole numbers: many ties, and products that are exact in any order.
    queries = rng.integers(0, n_values, (n, dim)).astype(np.float32)
    vectors = rng.integers(0, n_values, (n_labels, dim)).astype(np.float32)
    scores, labels = exact_top_k(torch.from_numpy(queries), torch.from_numpy(vectors), top_k)
    expected_scores, expected_labels = by_sorting(queries, vectors, top_k)
    np.testing.assert_array_equal(scores, expected_scores)
    np.testing.assert_array_equal(labels, expected_labels)


def test_the_size_of_the_pieces_changes_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    queries = torch.from_numpy(rng.integers(0, 5, (50, 6)).astype(np.float32))
    vectors = torch.from_numpy(rng.integers(0, 5, (30, 6)).astype(np.float32))
    whole = exact_top_k(queries, vectors, 7)
    monkeypatch.setattr(exact_search, "CELLS_ON_CPU", 100)
    pieces = exact_top_k(queries, vectors, 7)
    assert torch.equal(whole[0], pieces[0])
    assert torch.equal(whole[1], pieces[1])


def test_scores_stay_float32_inside_autocast():
    queries, vectors = torch.randn(3, 4), torch.randn(5, 4)
    with torch.autocast("cpu", torch.bfloat16):
        scores, _ = exact_top_k(queries, vectors, 2)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, exact_top_k(queries, vectors, 2)[0])
