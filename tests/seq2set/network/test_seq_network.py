"""The network: its steps, its masks, its two ways of feeding, its gradients."""

import numpy as np
import pytest
import torch
from torch import nn

from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.network.label_softmax import label_softmax
from multitudes.seq2set.network.seq_network import SeqNetwork
from multitudes.seq2set.words.batches import word_batch
from multitudes.seq2set.words.start_vectors import StartVectors

from ..tiny import N_LABELS, network, token_rows, words

SGM = {"global_embedding": True, "masked_softmax": True}
VARIANTS = [
    {},
    {"convolution": False},
    {"bottleneck": 5},
    SGM,
    {"heads": 4, "layers": 1},
]


def test_one_step_is_the_papers_equations():
    """Eq. 8 and 9, with a decoder cell of torch's own that is given the same weights."""
    net = network()
    decoder = net.decoder
    memory = net.encode(words())
    keys = decoder.attention.keys(memory.values)
    now, features = decoder.step(decoder.first(memory.state), keys, *memory[:2])
    size = memory.state.shape[1]
    cell = nn.GRUCell(decoder.from_input.in_features, size)
    cell.weight_ih, cell.bias_ih = decoder.from_input.weight, decoder.from_input.bias
    cell.weight_hh = nn.Parameter(decoder.from_state.weight[: 3 * size])
    cell.bias_hh = nn.Parameter(decoder.from_state.bias[: 3 * size])
    query = memory.state @ decoder.from_state.weight[3 * size :].T
    query = query + decoder.from_state.bias[3 * size :]
    contexts = decoder.attention(query, keys, *memory[:2])
    label = decoder.labels.weight[decoder.start].expand(4, -1)
    state = cell(torch.cat([label, contexts], dim=1), memory.state)
    torch.testing.assert_close(now.hidden, state)
    torch.testing.assert_close(features, torch.cat([state, contexts, label], dim=1))


@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("round_up_to", [1, 16])
def test_a_batch_is_its_single_texts(settings, round_up_to):
    net = network(**settings)
    rows = token_rows((40, 17, 5, 1))
    together = net(word_batch(rows, round_up_to=round_up_to))
    for i in range(4):
        alone = net(word_batch(rows.take(np.array([i]))))
        torch.testing.assert_close(alone.states[0], together.states[i], atol=1e-5, rtol=1e-4)
        assert alone.labels[0].tolist() == together.labels[i].tolist()


def test_padding_is_never_looked_at():
    net = network()
    batch = words((9, 3), round_up_to=16)
    before = net(batch).states
    with torch.no_grad():
        net.encoder.words.weight[0] = 100.0
    torch.testing.assert_close(net(batch).states, before)


@pytest.mark.parametrize("settings", VARIANTS)
def test_feeding_its_own_choice_as_targets_changes_nothing(settings):
    net = network(**settings)
    free = net(words())
    forced = net(words(), free.labels)
    torch.testing.assert_close(forced.states, free.states)


def test_targets_matter_to_later_steps_alone():
    net = network()
    targets = torch.tensor([[0, 1, 2, 3]] * 4)
    other = torch.tensor([[0, 5, 2, 3]] * 4)
    one, two = net(words(), targets).states, net(words(), other).states
    torch.testing.assert_close(one[:, :2], two[:, :2])
    assert not torch.allclose(one[:, 2], two[:, 2])


def test_missing_targets_are_fed_as_the_empty_label():
    net = network()
    open_end, closed = torch.tensor([[1, -1, -1, -1]] * 4), torch.tensor([[1, 7, 7, 7]] * 4)
    torch.testing.assert_close(net(words(), open_end).states, net(words(), closed).states)


def test_the_choice_is_the_likeliest_symbol():
    net = network()
    decoded = net(words())
    logits = net.decoder.output.logits(decoded.states)
    assert decoded.labels.tolist() == logits.argmax(dim=2).tolist()
    assert len(set(decoded.labels.flatten().tolist())) > 1


def test_labels_in_pieces(monkeypatch):
    net = network()
    whole = net(words(), no_repeat=True).labels
    monkeypatch.setattr("multitudes.seq2set.network.label_output.MAX_LABELS_AT_ONCE", 3)
    assert net(words(), no_repeat=True).labels.tolist() == whole.tolist()


def test_no_repeat_lets_only_the_empty_label_come_again():
    net = network(n_steps=12)
    with torch.no_grad():
        net.decoder.output.bias[2] += 50
    assert (net(words()).labels == 2).all()
    for row in net(words(), no_repeat=True).labels.tolist():
        chosen = [label for label in row if label != net.empty]
        assert len(set(chosen)) == len(chosen)
    assert len(net(words(), no_repeat=True).labels.unique()) > 3


@pytest.mark.parametrize("settings", [{"bottleneck": 5, "heads": 2}, SGM])
def test_gradients_by_finite_differences(settings):
    net = network(n_steps=3, scale=3.0, **{"hidden": 4, "layers": 1, **settings}).double()
    batch = words((4, 2))
    targets = torch.tensor([[1, 3, 7], [2, 7, -1]])
    names = [name for name, p in net.named_parameters() if p.requires_grad]
    tensors = [p.detach().clone().requires_grad_() for p in net.parameters() if p.requires_grad]

    def loss(*values):
        weights = dict(zip(names, values, strict=True))
        states = torch.func.functional_call(net, weights, (batch, targets)).states
        return states.square().sum(dtype=torch.float64)

    assert torch.autograd.gradcheck(loss, tensors, fast_mode=True, atol=1e-6)


def test_all_weights_learn_from_both_ways_of_feeding():
    net = network(bottleneck=5).train()
    for targets in (None, torch.tensor([[1, 3, 7, -1]] * 4)):
        net.zero_grad()
        states = net(words(), targets).states
        wanted = torch.tensor([[[1, 2]]]).expand(4, -1, -1)
        label_softmax(states, net.decoder.output.layer, wanted)[0].sum().backward()
        for name, parameter in net.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name


def test_sgm_excludes_what_was_fed_from_the_expected_embedding():
    net = network(global_embedding=True, masked_softmax=True)
    decoder = net.decoder
    features = torch.randn(1, decoder.output.weight.shape[1])
    banned = torch.tensor([[0, 3]])
    logits = decoder.output.logits(features)[0]
    kept = [1, 2, 4, 5, 6, N_LABELS]
    weights = torch.softmax(logits[kept], dim=0)
    expected = weights @ decoder.labels.weight[kept]
    torch.testing.assert_close(decoder.expected(features, banned)[0], expected)


@pytest.mark.parametrize(
    ("n_labels", "bottleneck", "stride", "millions"),
    [
        pytest.param(3_956, None, 3, 40.5 - 34.8, id="Eurlex-4K"),
        pytest.param(30_938, 300, 4, 47.5 - 45.5, id="Wiki10-31K"),
        pytest.param(13_330, None, 3, 70.1 - 54.8, id="AmazonCat-13K"),
        pytest.param(670_091, 512, 3, 439.8 - 437.7, id="Amazon-670K"),
    ],
)
def test_a_convolution_adds_as_many_weights_as_in_the_papers_table_7(
    n_labels, bottleneck, stride, millions
):
    """OTSeq2Set less Seq2Seq, each rounded there; weights without memory, nothing is computed."""
    start = StartVectors(np.zeros((1, 300)), np.zeros((n_labels, 1)), 0, 0)
    sizes = []
    for convolution in (True, False):
        config = NetworkConfig(
            bottleneck=bottleneck, strides=(1, 1, 1, stride), convolution=convolution
        )
        with torch.device("meta"):
            net = SeqNetwork(start, n_steps=1, config=config)
        sizes.append(sum(p.numel() for p in net.parameters()))
    assert (sizes[0] - sizes[1]) / 1e6 == pytest.approx(millions, abs=0.1)


def test_the_convolution_itself_has_few_weights():
    net = network(hidden=512, layers=1, kernels=(3, 7, 15, 30), strides=(1, 1, 1, 3))
    weights = net.encoder.convolution.parameters()
    assert sum(p.numel() for p in weights) == 1024 * (3 + 7 + 15 + 30)


def test_weights_start_within_a_tenth_and_embeddings_where_they_were_put():
    net = network(scale=1.0)
    assert net.decoder.from_input.weight.detach().abs().max() <= 0.1
    assert net.decoder.labels.weight[:N_LABELS].detach().abs().max() > 0.5
