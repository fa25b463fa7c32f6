"""Rows of a multiple of eight numbers in 16 bits, and untouched ones in 32."""

import torch

from multitudes.deep.ops.alignment import aligned, aligned_size


def test_sizes():
    assert [aligned_size(n, torch.bfloat16) for n in (0, 1, 8, 9, 1636)] == [0, 8, 8, 16, 1640]
    assert [aligned_size(n, torch.float32) for n in (0, 1, 9)] == [0, 1, 9]


def test_zeros_change_no_product():
    torch.manual_seed(0)
    one, two = torch.randint(0, 5, (3, 5)).float(), torch.randint(0, 5, (7, 5)).float()
    wide, both = aligned(one, torch.bfloat16), aligned(two, torch.bfloat16, rows=True)
    assert wide.shape == (3, 8)
    assert both.shape == (8, 8)
    product = wide @ both.T
    torch.testing.assert_close(product[:, :7].float(), one @ two.T)
    assert not product[:, 7:].any()


def test_full_precision_and_fitting_sizes_are_left_alone():
    matrix = torch.randn(3, 5)
    assert aligned(matrix, torch.float32, rows=True) is matrix
    fitting = torch.randn(8, 16).bfloat16()
    assert aligned(fitting, torch.bfloat16, rows=True) is fitting
