from __future__ import annotations

import torch

from multitudes.deep.training.threads import torch_threads


def test_threads_inside_and_as_before_afterwards():
    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with torch_threads(None):
        assert torch.get_num_threads() == before
