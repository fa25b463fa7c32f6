import pytest

pytest.importorskip("torch")

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.encoder.losses import dynamic_margin_loss, softmax_loss, triplet_loss
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.triplets import mine_triplets, row_mean

from .batches import batches, gradient, random_batch


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
    third = other.within(torch.tensor([[4.0, 5.0, 6.0]]))
    assert third.picked.tolist() == [[4.0, 6.0]]
    assert torch.equal(third.valid, triplets.valid)


LOSSES = [triplet_loss, dynamic_margin_loss, softmax_loss]


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_lack_a_positive_or_a_negative_do_not_count(loss):
    similarity, positives, known = random_batch(2, rows=4)
    known[0], known[1] = True, False  # no negative, no positive
    positives[0, 0], positives[1] = 0, -1
    known[2:, 0], positives[2:, 0] = True, 0
    whole = loss(similarity, positives, known)
    rest = loss(similarity[2:], positives[2:], known[2:])
    assert whole.item() == pytest.approx(rest.item())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("known_everywhere", [True, False])
def test_a_batch_without_any_triplet_is_zero_with_zero_gradient(loss, known_everywhere):
    similarity, positives, _ = random_batch(2)
    known = torch.full(similarity.shape, known_everywhere)
    positives = torch.where(known[:, :2], 0, -1)
    assert loss(similarity, positives, known).item() == 0
    pushed = gradient(lambda s: loss(s, positives, known), similarity)
    assert torch.equal(pushed, torch.zeros_like(pushed))


def test_weights_favor_the_hardest_negative():
    positives, known = torch.tensor([[0]]), torch.tensor([[True, False, False]])
    similarity = torch.tensor([[0.5, 0.9, 0.5]])
    pushed = gradient(
        lambda s: triplet_loss(s, positives, known, config=LossConfig(detach_weights=True)),
        similarity,
    )
    expected = torch.tensor([9.0, 5.0]).softmax(0)
    assert torch.allclose(pushed[0, 1:], expected)


def test_row_mean_by_hand():
    losses = torch.tensor([[1.0, 3.0], [5.0, 9.0], [7.0, 7.0]])
    has_positive = torch.tensor([[True, True], [True, False], [True, True]])
    has_negative = torch.tensor([True, True, False])
    assert row_mean(losses, has_positive, has_negative).item() == pytest.approx((2 + 5) / 2)
