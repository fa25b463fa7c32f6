"""Plain torch in the place of kernels computes the same, and variants are measured."""

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from benchmarks.kernels.__main__ import PRIME, SEQ2SET, Variant, measured, replaced
from benchmarks.kernels.plain import REPLACEMENTS, cudnn_gru
from multitudes.deep.ops.switch import kernels
from multitudes.seq2set.network.padded_gru import padded_gru
from tests.seq2set.tiny import network, words


def test_cudnns_gru_is_the_padded_one():
    torch.manual_seed(0)
    gru = nn.GRU(10, 8, num_layers=2, bidirectional=True, batch_first=True)
    x, lengths = torch.randn(5, 7, 10, requires_grad=True), torch.tensor([7, 5, 5, 2, 1])
    results = []
    for run in (padded_gru, cudnn_gru):
        hidden, last = run(gru, x, lengths)
        loss = hidden.sin().sum() + last.cos().sum()
        results.append([hidden, last, *torch.autograd.grad(loss, [x, *gru.parameters()])])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("plain", [("autograd",), ("cudnn", "autograd")])
def test_an_autograd_decoder_makes_the_same_states(plain):
    net = network(n_steps=3, compile="graphs", dropout=0.0).train()
    expected = net(words()).states
    with replaced(plain):
        torch.testing.assert_close(net(words()).states, expected)


def test_variants_name_known_operations_and_replacements():
    for variant in (*SEQ2SET, *PRIME):
        with kernels(variant.kernels):
            assert set(variant.plain) <= set(REPLACEMENTS)


def test_what_fails_is_recorded_and_the_rest_goes_on(capsys):
    def fail(variant):
        raise RuntimeError(f"{variant.name} is broken")

    assert measured(Variant("one"), fail) == {"error": "RuntimeError: one is broken"}
    assert "one is broken" in capsys.readouterr().err
