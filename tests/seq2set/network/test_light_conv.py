"""LightConv against an explicit loop over texts, positions, channels and layers."""

import numpy as np
import pytest
import torch

from multitudes.deep.ops.depthwise_conv import depthwise_conv
from multitudes.seq2set.network.light_conv import LightConv, composed, shortest_input

PAPER = {"kernels": (3, 7, 15, 30), "strides": (1, 1, 1, 3)}


def explicit(x, weights, strides, heads):
    """One text (l, c): Eq. 7 as sums."""
    for weight, stride in zip(weights, strides, strict=True):
        kernel = np.exp(weight) / np.exp(weight).sum(axis=1, keepdims=True)
        width, channels = weight.shape[1], x.shape[1]
        n = (len(x) - width) // stride + 1
        out = np.zeros((n, channels))
        for i in range(n):
            for c in range(channels):
                head = c * heads // channels
                for k in range(width):
                    out[i, c] += kernel[head, k] * x[i * stride + k, c]
        x = np.maximum(out, 0)
    return x


@pytest.mark.parametrize("heads", [None, 2, 1])
@pytest.mark.parametrize("length", [52, 60, 71])
def test_is_the_explicit_sum(heads, length):
    torch.manual_seed(0)
    conv = LightConv(4, **PAPER, heads=heads).double()
    with torch.no_grad():
        for weight in conv.weights:
            weight *= 20
    memory = torch.randn(2, length, 4, dtype=torch.float64)
    found = conv(memory).detach().numpy()
    weights = [weight.detach().numpy() for weight in conv.weights]
    for i in range(2):
        expected = explicit(memory[i].numpy(), weights, PAPER["strides"], heads or 4)
        np.testing.assert_allclose(found[i], expected, atol=1e-12)
    assert found.any()


@pytest.mark.parametrize("strides", [(1, 1, 1), (2, 3, 1), (1, 2, 2)])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_any_strides(strides, n_layers):
    torch.manual_seed(0)
    kernels, strides = (2, 3, 4)[:n_layers], strides[:n_layers]
    conv = LightConv(3, kernels=kernels, strides=strides).double()
    memory = torch.randn(1, 40, 3, dtype=torch.float64)
    weights = [weight.detach().numpy() for weight in conv.weights]
    expected = explicit(memory[0].numpy(), weights, strides, 3)
    np.testing.assert_allclose(conv(memory)[0].detach().numpy(), expected, atol=1e-12)


def test_the_papers_kernels_see_52_positions():
    assert shortest_input(**PAPER) == 52
    assert shortest_input((3, 7, 15, 30), (1, 1, 1, 4)) == 52
    assert shortest_input((2, 3), (2, 1)) == 6


def test_a_short_text_is_filled_up_with_zeros():
    conv = LightConv(4, **PAPER)
    memory = torch.randn(1, 10, 4)
    filled = torch.cat([memory, torch.zeros(1, 42, 4)], dim=1)
    torch.testing.assert_close(conv(memory), conv(filled))
    assert conv(memory).shape == (1, 1, 4)


def test_outputs_that_belong_to_a_text_see_no_padding():
    conv = LightConv(4, **PAPER)
    lengths = torch.tensor([1, 52, 54, 55, 70])
    assert conv.n_outputs(lengths).tolist() == [1, 1, 1, 2, 7]
    memory = torch.randn(1, 70, 4)
    for length in (55, 61):
        n = int(conv.n_outputs(torch.tensor([length]))[0])
        changed = memory.clone()
        changed[:, length:] = 9
        torch.testing.assert_close(conv(memory)[:, :n], conv(changed)[:, :n])
        assert not torch.allclose(conv(memory)[:, n], conv(changed)[:, n])


@pytest.mark.parametrize("strides", [(1, 1, 1), (2, 3, 1), (1, 2, 2)])
@pytest.mark.parametrize("n_kernels", [1, 2, 3])
def test_a_composed_kernel_does_what_its_kernels_do_in_turn(strides, n_kernels):
    torch.manual_seed(0)
    kernels = [torch.randn(3, width).double() for width in (2, 3, 4)[:n_kernels]]
    x = torch.randn(2, 40, 3).double()
    expected = x
    for kernel, stride in zip(kernels, strides, strict=False):
        expected = depthwise_conv(expected, kernel, stride)
    kernel, stride = composed(kernels, strides[:n_kernels])
    found = depthwise_conv(x, kernel, stride)
    torch.testing.assert_close(found[:, : expected.shape[1]], expected)
