import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.encoder.losses.mining import mine_triplets

from .batches import batches


@given(batches, st.integers(1, 12))
def test_negatives_are_the_most_similar_unknown_columns(batch, n_negatives):
    similarity, positives, known = batch
    triplets = mine_triplets(similarity, positives, known, n_negatives=n_negatives)
    for row in range(len(similarity)):
        expected = sorted(similarity[row][~known[row]].tolist(), reverse=True)[:n_negatives]
        mined = triplets.negative[row][triplets.has_negative[row]].tolist()
        assert sorted(mined, reverse=True) == expected


@given(batches)
def test_positives_are_the_drawn_ones(batch):
    similarity, positives, known = batch
    triplets = mine_triplets(similarity, positives, known, n_negatives=3)
    drawn = positives >= 0
    assert torch.equal(triplets.has_positive, drawn)
    rows = drawn.nonzero()[:, 0]
    assert torch.equal(triplets.positive[drawn], similarity[rows, positives[drawn]])


def test_more_negatives_than_columns_is_all_there_are():
    similarity = torch.tensor([[0.1, 0.2, 0.3]])
    known = torch.tensor([[True, False, False]])
    triplets = mine_triplets(similarity, torch.tensor([[0]]), known, n_negatives=100)
    assert triplets.negative.shape == (1, 3)
    assert triplets.has_negative.sum() == 2


def test_the_same_pairs_in_another_matrix():
    similarity = torch.tensor([[0.1, 0.2, 0.3]])
    known = torch.tensor([[True, False, False]])
    triplets = mine_triplets(similarity, torch.tensor([[0]]), known, n_negatives=1)
    other = triplets.within(torch.tensor([[1.0, 2.0, 3.0]]))
    assert other.positive.tolist() == [[1.0]]
    assert other.negative.tolist() == [[3.0]]
