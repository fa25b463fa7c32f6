"""Padded texts through a GRU, step by step, against torch's GRU over packed ones."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from multitudes.seq2set.network.padded_gru import mirrored, padded_gru

from ..tiny import network, words

LENGTHS = [[5, 3, 1], [4, 4], [1], [7, 1, 1, 1]]


def packed(gru, x, lengths):
    hidden, last = gru(pack_padded_sequence(x, lengths, batch_first=True))
    hidden, _ = pad_packed_sequence(hidden, batch_first=True, total_length=x.shape[1])
    return hidden, torch.cat([last[-2], last[-1]], dim=1)


def with_gradients(run, gru, x, lengths):
    """Both results, and the gradients of input and weights."""
    gru.zero_grad()
    x = x.clone().requires_grad_()
    hidden, last = run(gru, x, lengths)
    torch.manual_seed(5)
    (hidden * torch.randn(hidden.shape, dtype=x.dtype)).sum().backward(retain_graph=True)
    (last * torch.randn(last.shape, dtype=x.dtype)).sum().backward()
    return hidden.detach(), last.detach(), x.grad, {n: p.grad for n, p in gru.named_parameters()}


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 2])
def test_it_is_the_gru_over_packed_texts(lengths, n_layers, padding):
    torch.manual_seed(0)
    gru = nn.GRU(4, 3, num_layers=n_layers, bidirectional=True, batch_first=True).double()
    x = torch.randn(len(lengths), max(lengths) + padding, 4, dtype=torch.float64)
    lengths = torch.tensor(lengths)
    found = with_gradients(padded_gru, gru, x, lengths)
    torch.testing.assert_close(found, with_gradients(packed, gru, x, lengths))


def test_the_order_of_texts_is_free():
    torch.manual_seed(0)
    gru = nn.GRU(4, 3, bidirectional=True, batch_first=True)
    x, lengths, order = torch.randn(3, 5, 4), torch.tensor([5, 3, 1]), torch.tensor([2, 0, 1])
    hidden, last = padded_gru(gru, x, lengths)
    torch.testing.assert_close(
        padded_gru(gru, x[order], lengths[order]), (hidden[order], last[order])
    )


def test_dropout_between_layers_and_only_there():
    torch.manual_seed(0)
    lengths = torch.tensor([5, 3])
    gru = nn.GRU(4, 3, num_layers=2, bidirectional=True, batch_first=True, dropout=0.5)
    x = torch.randn(2, 5, 4)
    one, two = (padded_gru(gru, x, lengths)[0] for _ in range(2))
    assert not torch.allclose(one, two)
    gru.eval()
    torch.testing.assert_close(padded_gru(gru, x, lengths), packed(gru, x, lengths))
    single = nn.GRU(4, 3, bidirectional=True, batch_first=True)
    torch.testing.assert_close(padded_gru(single, x, lengths), packed(single, x, lengths))


def test_all_of_it_dropped_is_a_layer_without_input():
    torch.manual_seed(0)
    gru = nn.GRU(4, 3, num_layers=2, bidirectional=True, batch_first=True, dropout=1.0)
    hidden = padded_gru(gru, torch.randn(2, 5, 4), torch.tensor([5, 3]))[0]
    again = padded_gru(gru, torch.randn(2, 5, 4), torch.tensor([5, 3]))[0]
    torch.testing.assert_close(hidden, again)


def test_products_in_half_precision_are_near():
    torch.manual_seed(0)
    gru = nn.GRU(4, 8, num_layers=2, bidirectional=True, batch_first=True)
    x, lengths = torch.randn(3, 6, 4), torch.tensor([6, 4, 1])
    expected = with_gradients(packed, gru, x, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        found = with_gradients(padded_gru, gru, x, lengths)
    assert found[0].dtype == torch.bfloat16
    for name, gradient in expected[3].items():
        assert (found[3][name] - gradient).norm() / gradient.norm() < 0.05, name


@pytest.mark.parametrize("settings", [{}, {"convolution": False, "layers": 1}])
def test_an_encoder_made_for_graphs_gives_the_same_memory(settings):
    batch = words((9, 6, 3, 1), round_up_to=8)
    expected = network(**settings).train().encode(batch)
    for found, wanted in zip(
        network(compile="graphs", **settings).train().encode(batch), expected, strict=True
    ):
        torch.testing.assert_close(found, wanted)


def test_texts_are_mirrored_and_padding_stays():
    lengths, times = torch.tensor([4, 1, 3]), torch.arange(5)[:, None]
    mirror = torch.where(times < lengths, lengths - 1 - times, times)
    x = torch.arange(15.0).view(5, 3, 1)
    found = mirrored(x, mirror)
    assert found[:, 0, 0].tolist() == [9, 6, 3, 0, 12]
    assert found[:, 1, 0].tolist() == [1, 4, 7, 10, 13]
    assert torch.equal(mirrored(found, mirror), x)
    wide = torch.randn(5, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(mirrored, (wide, mirror))


@pytest.mark.gpu
@pytest.mark.parametrize("precision", [None, torch.bfloat16])
def test_a_gpu_gives_the_same(precision):
    torch.manual_seed(0)
    gru = nn.GRU(4, 40, num_layers=2, bidirectional=True, batch_first=True)
    x, lengths = torch.randn(5, 9, 4), torch.tensor([9, 7, 7, 2, 1])
    hidden, last = packed(gru, x, lengths)
    (hidden.square().sum() + last.sum()).backward()
    expected = {name: p.grad.cuda() for name, p in gru.named_parameters()}
    gru.zero_grad()
    gru.cuda()
    with torch.autocast("cuda", precision or torch.bfloat16, enabled=precision is not None):
        found, ends = padded_gru(gru, x.cuda(), lengths.cuda())
        (found.float().square().sum() + ends.float().sum()).backward()
    near = {"atol": 2e-2, "rtol": 2e-2} if precision else {"atol": 1e-3, "rtol": 1e-3}
    torch.testing.assert_close(found.float(), hidden.cuda(), **near)
    for name, p in gru.named_parameters():
        far = (p.grad - expected[name]).norm() / expected[name].norm()
        assert far < (0.05 if precision else 2e-3), name
