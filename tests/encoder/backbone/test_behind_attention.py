"""One compiled graph serves all sizes and layers, gives the same, and can be done without."""

import warnings

import pytest

pytest.importorskip("torch")

import torch
from torch._dynamo.testing import CompileCounter

from multitudes.encoder.backbone import behind_attention as module
from multitudes.encoder.backbone.behind_attention import (
    TailShape,
    TailWeights,
    behind_attention,
    compiled_behind_attention,
)

D, WIDE, SHAPE = 8, 16, TailShape(1e-12)


@pytest.fixture(autouse=True)
def _nothing_compiled_before():
    torch._dynamo.reset()
    module._compiled.cache_clear()
    module._cannot_compile.clear()
    yield
    module._compiled.cache_clear()
    module._cannot_compile.clear()


def weights(random_state):
    generator = torch.Generator().manual_seed(random_state)
    shapes = [(D, D), D, D, D, (WIDE, D), WIDE, (D, WIDE), D, D, D]
    return TailWeights(
        *(torch.randn(shape, generator=generator).requires_grad_() for shape in shapes)
    )


def given(n_tokens, random_state=0):
    generator = torch.Generator().manual_seed(random_state)
    # A view, as attention gives it, and a non-leaf, as a layer gives it.
    states = torch.randn(n_tokens, D, generator=generator, requires_grad=True)
    mixed = torch.randn(n_tokens, 2, D // 2, generator=generator, requires_grad=True)
    return states, mixed


def test_one_graph_for_all_sizes_and_layers():
    counter = CompileCounter()
    for layer, n_tokens in enumerate([7, 7, 12, 256, 3, 1024]):
        states, mixed = given(n_tokens)
        tensors = (states * 1, mixed.flatten(1), weights(layer))
        expected = behind_attention(*tensors, SHAPE)
        found = compiled_behind_attention(*tensors, SHAPE, backend=counter)
        torch.testing.assert_close(found, expected)
    assert counter.frame_count == 1


def test_the_same_gradients():
    found = []
    for function in (behind_attention, compiled_behind_attention):
        (states, mixed), own = given(9), weights(0)
        out = function(states, mixed.flatten(1), own, SHAPE, **_with_aot(function))
        out.square().sum().backward()
        found.append([tensor.grad for tensor in (states, mixed, *own)])
    for expected, other in zip(*found, strict=True):
        torch.testing.assert_close(other, expected, rtol=1e-4, atol=1e-4)


def _with_aot(function):
    return {} if function is behind_attention else {"backend": "aot_eager"}


def test_dropout_is_drawn_anew_in_each_step():
    tensors = (*(t.flatten(1) for t in given(50)), weights(0))
    one, other = (
        compiled_behind_attention(*tensors, SHAPE._replace(feed_dropout=0.5), backend="aot_eager")
        for _ in range(2)
    )
    assert not torch.allclose(one, other)


def test_where_torch_cannot_compile_it_goes_on_without_and_says_so_once():
    def broken(graph, inputs):
        raise RuntimeError("no compiler here")

    states, mixed = given(5)
    tensors = (states, mixed.flatten(1), weights(0))
    expected = behind_attention(*tensors, SHAPE)
    with pytest.warns(RuntimeWarning, match="cannot compile here"):
        found = compiled_behind_attention(*tensors, SHAPE, backend=broken)
    torch.testing.assert_close(found, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compiled_behind_attention(*tensors, SHAPE, backend=broken)
    torch.testing.assert_close(found, expected)
