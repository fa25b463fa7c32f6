import pytest

pytest.importorskip("torch")

import torch
from torch.nn import functional

from multitudes.seq2set.losses import sequence_loss
from multitudes.seq2set.network.label_softmax import OutputLayer

from .dense import random_problem


@pytest.mark.parametrize("labels_at_once", [None, 4])
def test_it_is_plain_cross_entropy_on_ordered_targets(labels_at_once):
    states, weight, bias, _, targets = random_problem(n_steps=4)
    leaves = [part.requires_grad_() for part in (states, weight, bias)]
    loss = sequence_loss(states, targets, OutputLayer(weight, bias), labels_at_once=labels_at_once)
    logits = functional.linear(states, weight, bias)
    expected = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(
        torch.autograd.grad(loss, leaves), torch.autograd.grad(expected, leaves)
    )


def test_labels_already_produced_can_be_excluded():
    states, weight, bias, _, targets = random_problem(n_steps=4, n=2)
    targets = torch.tensor([[3, 5, 0, -1], [1, 0, -1, -1]])  # 0 ends a sequence
    excluded = torch.full((2, 4, 3), -1)
    for step in range(1, 4):
        excluded[:, step, :step] = targets[:, :step]
    loss = sequence_loss(states, targets, OutputLayer(weight, bias), excluded=excluded)
    logits = functional.linear(states, weight, bias)
    logits[0, 1:, 3] = logits[0, 2:, 5] = logits[1, 1:, 1] = -torch.inf
    expected = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
    torch.testing.assert_close(loss, expected)


def test_no_target_is_no_loss():
    states, weight, bias, _, _ = random_problem()
    loss = sequence_loss(states.requires_grad_(), torch.full((5, 6), -1), OutputLayer(weight, bias))
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(states.grad, torch.zeros_like(states))
