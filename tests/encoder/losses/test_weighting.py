import pytest

pytest.importorskip("torch")

import torch

from multitudes.encoder.losses import dynamic_margin_loss, softmax_loss, triplet_loss
from multitudes.encoder.losses.loss_config import LossConfig
from multitudes.encoder.losses.weighting import row_mean

from .batches import gradient, random_batch

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
