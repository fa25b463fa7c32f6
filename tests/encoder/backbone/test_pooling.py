from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from multitudes.deep.texts.tokens import TokenRows, pack
from multitudes.encoder.backbone.pooling import pooled

ROWS = TokenRows(np.zeros(6, np.uint16), np.array([0, 1, 4, 6]))


def test_means_leave_filling_out():
    states = torch.full((8, 2), torch.nan)
    states[:6] = torch.tensor([[3.0, 4], [1, 0], [0, 1], [2, 2], [-1, 0], [-2, 0]])
    expected = [[0.6, 0.8], [2**-0.5, 2**-0.5], [-1, 0]]
    found = pooled(states, pack(ROWS, round_up_to=8), "mean")
    torch.testing.assert_close(found, torch.tensor(expected))


def test_cls_is_the_first_state_of_each_text():
    states = torch.eye(6)
    assert torch.equal(pooled(states, pack(ROWS), "cls"), torch.eye(6)[[0, 1, 4]])


def test_half_precision_is_added_up_in_float32():
    states = torch.full((5000, 1), 1.0, dtype=torch.bfloat16)  # 256 + 1 is 256 in bfloat16
    states[0] = -4992.0
    rows = TokenRows(np.zeros(5000, np.uint16), np.array([0, 5000]))
    found = pooled(states, pack(rows), "mean")
    assert found.dtype == torch.float32
    assert found.item() == 1.0
