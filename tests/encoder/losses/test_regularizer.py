import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.regularizer import prototype_regularizer

from .batches import batches, gradient, random_batch


def test_eq_6_and_7_by_hand():
    texts = torch.tensor([[0.5, 0.4, 0.2], [0.3, 0.3, 0.6]])
    prototypes = torch.tensor([[0.55, 0.1, 0.3], [0.1, 0.25, 0.9]])
    positives = torch.tensor([[0], [2]])
    known = torch.tensor([[True, False, False], [False, False, True]])
    positive_terms = [0.5 - 0.55 + 0.1]  # the second, 0.6 - 0.9 + 0.1, is below zero
    negative_terms = [0.3 - 0.2 + 0.1, 0.25 - 0.3 + 0.1]  # 0.1 - 0.4 + 0.1, 0.1 - 0.3 + 0.1 below
    expected = (sum(positive_terms) + sum(negative_terms) / 2) / 2
    loss = prototype_regularizer(prototypes, texts, positives, known)
    assert loss.item() == pytest.approx(expected)


def test_nothing_to_do_is_zero_and_not_a_number_short():
    texts, prototypes = torch.tensor([[0.1, 0.9]]), torch.tensor([[0.9, 0.1]])
    positives, known = torch.tensor([[0]]), torch.tensor([[True, False]])

    def loss(similarity):
        return prototype_regularizer(similarity, texts, positives, known)

    assert loss(prototypes).item() == 0
    assert gradient(loss, prototypes).tolist() == [[0.0, 0.0]]


def test_the_negatives_are_those_hardest_for_prototypes():
    texts, prototypes = torch.tensor([[0.9, 0.1, 0.5]]), torch.tensor([[0.9, 0.6, 0.3]])
    positives, known = torch.tensor([[0]]), torch.tensor([[True, False, False]])
    config = LossConfig(n_negatives=1)
    loss = prototype_regularizer(prototypes, texts, positives, known, config=config)
    assert loss.item() == pytest.approx((0.1 + (0.6 - 0.1 + 0.1)) / 2)


def test_gradient_is_that_of_finite_differences():
    prototypes, positives, known = random_batch(1)
    texts, _, _ = random_batch(2)
    prototypes.requires_grad_()
    texts.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda b, s: prototype_regularizer(b, s, positives, known), (prototypes, texts)
    )


@given(batches)
def test_prototypes_of_known_positives_are_never_pushed_away(batch):
    prototypes, positives, known = batch
    texts = prototypes.flip(0)
    pushed = gradient(lambda b: prototype_regularizer(b, texts, positives, known), prototypes)
    assert torch.isfinite(pushed).all()
    assert (pushed[known] <= 0).all()
    assert (pushed[~known] >= 0).all()
