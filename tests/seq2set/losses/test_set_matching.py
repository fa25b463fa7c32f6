import math

import pytest

pytest.importorskip("torch")

import torch
from torch.nn import functional

from multitudes.seq2set.losses import set_matching_loss


def random_log_probs(n=3, n_steps=5, n_labels=8, random_state=0):
    generator = torch.Generator().manual_seed(random_state)
    logits = torch.randn(n, n_steps, n_labels, generator=generator, dtype=torch.float64)
    return logits.log_softmax(dim=2)


def test_by_hand():
    targets = torch.tensor([[[0.5, 0.25], [0.125, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]).log()
    empty = torch.tensor([[0.25, 0.25], [0.5, 0.125]]).log()
    steps = torch.tensor([[1, 0], [-1, -1]])  # the first has two targets, the second none
    loss = set_matching_loss(targets, empty, steps, empty_weight=0.5)
    bits = (3 + 2) + 0.5 * (1 + 3)
    assert loss.item() == pytest.approx(bits * math.log(2) / (2 + 0.5 * 2))


@pytest.mark.parametrize("empty_weight", [0.2, 1.0])
def test_it_is_weighted_cross_entropy_on_the_matched_order(empty_weight):
    log_probs = random_log_probs()
    wanted = torch.tensor([[3, 0, 5, 0, 0], [0, 0, 0, 0, 0], [1, 2, 3, 4, 5]])  # 0 is empty
    labels = torch.tensor([[3, 5, -1, -1, -1], [-1] * 5, [5, 1, 4, 3, 2]])
    steps = torch.tensor([[0, 2, -1, -1, -1], [-1] * 5, [4, 0, 3, 2, 1]])
    of_targets = torch.stack([row[:, ids] for row, ids in zip(log_probs, labels, strict=True)])
    weight = torch.ones(8, dtype=torch.float64)
    weight[0] = empty_weight
    expected = functional.nll_loss(log_probs.flatten(0, 1), wanted.flatten(), weight)
    loss = set_matching_loss(of_targets, log_probs[:, :, 0], steps, empty_weight=empty_weight)
    torch.testing.assert_close(loss, expected)


def test_empty_steps_weigh_a_fifth_unless_told_otherwise():
    log_probs = random_log_probs()
    batch = log_probs[:, :, :1], log_probs[:, :, 1], torch.tensor([[2], [-1], [0]])
    default, same = set_matching_loss(*batch), set_matching_loss(*batch, empty_weight=0.2)
    assert default.item() == same.item()


def test_what_a_missing_target_holds_has_no_say():
    log_probs = random_log_probs()
    steps = torch.tensor([[0, -1], [-1, -1], [3, 1]])
    leaf = log_probs[:, :, :2].clone().requires_grad_()
    set_matching_loss(leaf, log_probs[:, :, 2], steps).backward()
    reached = leaf.grad.nonzero().tolist()
    assert reached == [[0, 0, 0], [2, 1, 1], [2, 3, 0]]


def test_a_batch_without_any_target_learns_empty_steps():
    empty = torch.full((2, 3), 0.5).log()
    nobody = torch.full((2, 0), -1)
    loss = set_matching_loss(torch.zeros(2, 3, 0), empty, nobody)
    assert loss.item() == pytest.approx(math.log(2))
