"""The steps of training: the same in every way they run, in every precision."""

import copy

import pytest
import torch

from multitudes.seq2set.network import seq_network
from multitudes.seq2set.network.label_softmax import label_softmax

from ..tiny import network, words

SGM = {"global_embedding": True, "masked_softmax": True}
TARGETS = torch.tensor([[1, 3, 7]] * 4)


def gradients(net, targets, *, precision=None):
    """Of a loss, by parameter's name."""
    net.zero_grad()
    enabled = precision is not None
    with torch.autocast("cpu", dtype=precision or torch.bfloat16, enabled=enabled):
        states = net(words(), targets).states
        wanted = torch.tensor([[[1, 2]]]).expand(4, -1, -1)
        label_softmax(states, net.decoder.output.layer, wanted)[0].sum().backward()
    return {name: p.grad for name, p in net.named_parameters()}


@pytest.mark.parametrize("settings", [{}, {"bottleneck": 5}, SGM])
@pytest.mark.parametrize("targets", [None, TARGETS])
def test_every_weight_learns_under_autocast(settings, targets):
    net = network(n_steps=3, scale=2.0, **settings).train()
    full = gradients(net, TARGETS)
    for name, gradient in gradients(net, targets, precision=torch.bfloat16).items():
        assert gradient is not None, name
        assert gradient.any(), name
    half = gradients(net, TARGETS, precision=torch.bfloat16)
    for name, gradient in full.items():
        far = (half[name] - gradient).norm() / gradient.norm()
        assert far < 0.1, name


@pytest.mark.parametrize("settings", [{}, SGM])
def test_the_steps_compile_as_one_graph(settings, monkeypatch):
    torch._dynamo.reset()
    compile_ = torch.compile
    monkeypatch.setattr(
        seq_network.torch,
        "compile",
        lambda run, **options: compile_(run, backend="eager", **options),
    )
    plain = network(n_steps=2, **settings).train()
    compiled = network(n_steps=2, compile="on", **settings).train()
    for targets in (None, TARGETS[:, :2]):
        expected = gradients(plain, targets)
        for name, gradient in gradients(compiled, targets).items():
            torch.testing.assert_close(gradient, expected[name])


def test_graphs_need_a_gpu_and_do_without_on_a_cpu():
    expected = gradients(network(n_steps=3).train(), TARGETS)
    for name, gradient in gradients(network(n_steps=3, compile="graphs").train(), TARGETS).items():
        torch.testing.assert_close(gradient, expected[name])


def test_copies_leave_compiled_code_behind():
    net = network(compile="on")
    net.unrolling._made["key"] = lambda: None
    assert copy.deepcopy(net).unrolling._made == {}
