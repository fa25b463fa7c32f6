import math

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given

from multitudes.encoder.losses.softmax import softmax_loss

from .batches import batches, gradient, random_batch


def test_is_cross_entropy_where_each_row_has_one_known_label():
    similarity, _, _ = random_batch(4, rows=5, columns=5)
    loss = softmax_loss(similarity, torch.arange(5)[:, None], torch.eye(5, dtype=torch.bool))
    expected = torch.nn.functional.cross_entropy(similarity / 0.05, torch.arange(5))
    assert loss.item() == pytest.approx(expected.item())


def test_other_known_positives_are_left_out_of_the_sum():
    similarity = torch.tensor([[0.1, 0.9, 0.1]])
    loss = softmax_loss(similarity, torch.tensor([[0]]), torch.tensor([[True, True, False]]))
    assert loss.item() == pytest.approx(math.log(2))


def test_gradient_is_that_of_finite_differences():
    similarity, positives, known = random_batch(1)
    similarity.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: softmax_loss(s, positives, known), (similarity,))


@given(batches)
def test_known_positives_are_never_pushed_and_negatives_never_pulled(batch):
    similarity, positives, known = batch
    pushed = gradient(lambda s: softmax_loss(s, positives, known), similarity)
    assert torch.isfinite(pushed).all()
    assert (pushed[known] <= 0).all()
    assert (pushed[~known] >= 0).all()
