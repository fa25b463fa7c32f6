"""Labels that may not be chosen again."""

import torch

from multitudes.seq2set.network.label_output import fed_before, without


def test_fed_before():
    targets = torch.tensor([[2, 0, 9, -1]])
    expected = [[-1, -1, -1, -1], [2, -1, -1, -1], [2, 0, -1, -1], [2, 0, -1, -1]]
    assert fed_before(targets, empty=9)[0].tolist() == expected


def test_labels_fed_before_are_left_out_and_the_empty_one_never_is():
    empty = 3
    banned = fed_before(torch.tensor([[2, 3, 0]]), empty)[0]  # (3, 3): of each step
    logits = without(torch.zeros(3, 4), banned, empty=empty)
    assert torch.isinf(logits).tolist() == [
        [False, False, False, False],
        [False, False, True, False],
        [False, False, True, False],
    ]
