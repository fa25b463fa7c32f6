"""All steps as one function, against step after step with autograd's gradients."""

import pytest
import torch
from torch import nn

from ..tiny import network, words

TARGETS = torch.tensor([[1, 3, 7, 7], [2, 0, 0, 7], [6, 5, 4, 3], [7, 7, 7, 7]])
VARIANTS = [
    {},
    {"convolution": False},
    {"bottleneck": 5},
    {"masked_softmax": True},
    {"layers": 1, "heads": 4},
]


class FixedDropout(nn.Module):
    """The same draw for all steps at once and for one after the other."""

    def __init__(self, *shapes):
        super().__init__()
        self.p = 0.4
        torch.manual_seed(7)
        self.masks = {s[-1]: (torch.rand(s) > self.p).double() / (1 - self.p) for s in shapes}
        self.at = dict.fromkeys(self.masks, 0)

    def forward(self, x):
        masks = self.masks[x.shape[-1]].to(x.device)
        if x.ndim == 3:
            return x * masks
        t, self.at[x.shape[-1]] = self.at[x.shape[-1]], self.at[x.shape[-1]] + 1
        return x * masks[t]


def decoded_and_gradients(net, targets, *, at_once, device="cpu"):
    """States, labels, and gradients by parameter's name; only training goes all at once."""
    net.zero_grad()
    memory = [part.to(device) for part in net.encode(words(round_up_to=4))]
    targets = None if targets is None else targets.to(device)
    net.decoder.train(at_once)
    decoded = net.decoder.forward(*memory, targets)
    torch.manual_seed(3)
    weight = torch.randn(decoded.states.shape, dtype=torch.float64).to(decoded.states)
    (decoded.states * weight).sum().backward()
    gradients = {n: p.grad for n, p in net.named_parameters() if p.grad is not None}
    return decoded.states.detach(), decoded.labels, gradients


@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("targets", [None, TARGETS])
def test_all_at_once_is_step_by_step(settings, targets):
    net = network(scale=4.0, **settings).double()
    found, expected = (decoded_and_gradients(net, targets, at_once=how) for how in (True, False))
    torch.testing.assert_close(found, expected)
    assert len(found[1].unique()) > 2


@pytest.mark.parametrize("settings", [{}, {"masked_softmax": True}])
def test_labels_in_pieces(settings, monkeypatch):
    net = network(scale=4.0, **settings).double()
    whole = decoded_and_gradients(net, None, at_once=True)
    monkeypatch.setattr("multitudes.seq2set.network.label_output.MAX_LABELS_AT_ONCE", 3)
    torch.testing.assert_close(decoded_and_gradients(net, None, at_once=True), whole)


@pytest.mark.parametrize("targets", [None, TARGETS])
def test_dropout_blanks_the_same_places(targets):
    net = network(scale=4.0).double()
    width = net.decoder.output.weight.shape[1]
    results = []
    for how in (True, False):
        net.decoder.dropout = FixedDropout((4, 4, 6), (4, 4, width))
        results.append(decoded_and_gradients(net, targets, at_once=how))
    torch.testing.assert_close(*results)


def test_dropout_is_drawn_anew():
    net = network(dropout=0.5)
    memory = net.encode(words())
    net.decoder.train()
    one, two = (net.decoder.forward(*memory, TARGETS).states for _ in range(2))
    assert not torch.allclose(one, two)
    assert (one == 0).double().mean() == pytest.approx(0.5, abs=0.1)


def test_the_gradient_that_comes_in_is_left_as_it_was():
    net = network()
    memory = net.encode(words())
    net.decoder.train()
    states = net.decoder.forward(*memory, TARGETS).states
    grad = torch.randn(states.shape)
    before = grad.clone()
    states.backward(grad)
    torch.testing.assert_close(grad, before, atol=0, rtol=0)


@pytest.mark.gpu
@pytest.mark.parametrize("settings", [{}, {"convolution": False, "bottleneck": 5}])
@pytest.mark.parametrize("targets", [None, TARGETS])
def test_a_gpu_gives_the_same(settings, targets):
    net = network(scale=2.0, **settings)
    expected = decoded_and_gradients(net, targets, at_once=False)
    expected = (expected[0], expected[1], {n: g.clone() for n, g in expected[2].items()})
    net.decoder.cuda()  # the encoder stays: both decoders read the same
    states, labels, gradients = decoded_and_gradients(net, targets, at_once=True, device="cuda")
    torch.testing.assert_close(states.cpu(), expected[0], atol=1e-2, rtol=1e-2)
    assert labels.tolist() == expected[1].tolist()
    for name, gradient in gradients.items():
        far = (gradient.cpu() - expected[2][name]).norm() / expected[2][name].norm()
        assert far < 1e-2, name
