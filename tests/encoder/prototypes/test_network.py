import numpy as np
import pytest

pytest.importorskip("torch")

import json

import pytest
import torch
from scipy.special import erf
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from multitudes.encoder.prototypes.network import PrototypeConfig, PrototypeNetwork, drop_sources
from multitudes.errors import ConfigError

DIM = 8
PAPER = PrototypeConfig(feed_forward=12, source_dropout=0.0)


def network(config=PAPER, random_state=0):
    torch.manual_seed(random_state)
    made = PrototypeNetwork(DIM, config)
    for parameter in made.parameters():  # no bias at 0, no norm at 1
        nn.init.normal_(parameter, std=0.5)
    return made.eval()


def sources(n_labels=5, random_state=0):
    """Text, centroid and free vector (m, d) of some labels."""
    generator = torch.Generator().manual_seed(random_state)
    return functional.normalize(torch.randn(3, n_labels, DIM, generator=generator), dim=2).unbind(0)


def some_absent():
    """All eight ways of having and lacking three sources, bool (8, 3)."""
    return torch.tensor([[bool(i & 1), bool(i & 2), bool(i & 4)] for i in range(8)])


def plain_prototype(layer, tokens, n_heads):
    """One label's prototype by plain numpy attention over its tokens (t, d)."""
    w = {
        name: value.detach().numpy().astype(np.float64) for name, value in layer.named_parameters()
    }

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def norm(x, name):
        centered = x - x.mean(axis=1, keepdims=True)
        scaled = centered / np.sqrt(centered.var(axis=1, keepdims=True) + 1e-5)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    query, key, value = np.split(linear(tokens, "query_key_value"), 3, axis=1)
    size = DIM // n_heads
    mixed = np.zeros_like(tokens)
    for head in range(n_heads):
        part = slice(head * size, (head + 1) * size)
        for i in range(len(tokens)):
            weights = np.exp(key[:, part] @ query[i, part] / np.sqrt(size))
            mixed[i, part] = weights / weights.sum() @ value[:, part]
    x = norm(tokens + linear(mixed, "attention_output"), "attention_norm")
    hidden = linear(x, "feed_forward_in")
    hidden = hidden * (1 + erf(hidden / np.sqrt(2))) / 2
    mean = norm(x + linear(hidden, "feed_forward_out"), "feed_forward_norm").mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize("n_heads", [1, 2])
def test_against_plain_numpy_attention_with_any_source_absent(n_heads):
    config = PrototypeConfig(feed_forward=12, n_heads=n_heads)
    net, given, present = network(config), sources(8), some_absent()
    found = net(*given, present).detach().numpy()
    stacked = torch.stack(given, dim=1).double().numpy()  # (m, 3, d)
    assert found[0].tolist() == [0.0] * DIM  # the label without any source
    for label in range(1, 8):
        tokens = stacked[label][present[label].numpy()]
        expected = plain_prototype(net.layer, tokens, n_heads)
        np.testing.assert_allclose(found[label], expected, atol=1e-5)


def test_against_torch_transformer_encoder_layer():
    net, given, present = network(), sources(8), some_absent()
    peer = nn.TransformerEncoderLayer(DIM, 1, 12, 0.1, "gelu", batch_first=True).eval()
    names = {
        "self_attn.in_proj_weight": "query_key_value.weight",
        "self_attn.in_proj_bias": "query_key_value.bias",
        "self_attn.out_proj.weight": "attention_output.weight",
        "self_attn.out_proj.bias": "attention_output.bias",
        "linear1.weight": "feed_forward_in.weight",
        "linear1.bias": "feed_forward_in.bias",
        "linear2.weight": "feed_forward_out.weight",
        "linear2.bias": "feed_forward_out.bias",
        "norm1.weight": "attention_norm.weight",
        "norm1.bias": "attention_norm.bias",
        "norm2.weight": "feed_forward_norm.weight",
        "norm2.bias": "feed_forward_norm.bias",
    }
    ours = net.layer.state_dict()
    peer.load_state_dict({theirs: ours[name] for theirs, name in names.items()})
    with torch.no_grad():
        out = peer(torch.stack(given, dim=1), src_key_padding_mask=~present)[1:]  # (m, 3, d)
        mask = present[1:, :, None]
        expected = functional.normalize((out * mask).sum(dim=1) / mask.sum(dim=1), dim=1)
    torch.testing.assert_close(net(*given, present)[1:], expected, atol=1e-5, rtol=0)


def test_starts_like_torch_transformer_encoder_layer():
    torch.manual_seed(0)
    net = PrototypeNetwork(64, PrototypeConfig(feed_forward=128))
    peer = nn.TransformerEncoderLayer(64, 1, 128)
    pairs = [
        (net.layer.query_key_value.weight, peer.self_attn.in_proj_weight),
        (net.layer.attention_output.weight, peer.self_attn.out_proj.weight),
        (net.layer.feed_forward_in.weight, peer.linear1.weight),
        (net.layer.feed_forward_out.weight, peer.linear2.weight),
    ]
    for ours, theirs in pairs:
        assert ours.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=0.02)
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.05)
    assert net.layer.query_key_value.bias.abs().sum() == 0


def test_an_absent_source_may_hold_anything():
    net, (text, centroid, free), present = network(), sources(8), some_absent()
    expected = net(text, centroid, free, present)
    spoilt = [
        torch.where(present[:, i, None], part, torch.nan)
        for i, part in enumerate((text, centroid, free))
    ]
    assert torch.equal(net(*spoilt, present), expected)


@pytest.mark.parametrize("left_out", ["text", "centroid", "free"])
def test_a_source_that_is_switched_off_is_as_if_absent(left_out):
    names = ("text", "centroid", "free")
    kept = tuple(name for name in names if name != left_out)
    config = PrototypeConfig(sources=kept, feed_forward=12)
    given = dict(zip(names, sources(), strict=True))
    present = torch.ones(5, 3, dtype=torch.bool)
    present[:, names.index(left_out)] = False
    expected = network()(*given.values(), present)
    given[left_out] = None
    torch.testing.assert_close(network(config)(*given.values()), expected)


def test_a_missing_source_is_named():
    with pytest.raises(ConfigError, match="no 'centroid' vectors were given"):
        network()(sources()[0], None, sources()[2])


def test_sum_is_dexa():
    text, _, free = sources()
    net = network(PrototypeConfig(sources=("text", "free"), combine="sum"))
    torch.testing.assert_close(
        net(text, free=free), functional.normalize(text + free, dim=1), atol=1e-6, rtol=0
    )
    assert list(net.parameters()) == []


def test_text_alone_is_the_text():
    text, _, _ = sources()
    net = network(PrototypeConfig(sources=("text",), combine="sum"))
    assert net(text) is text


def test_heads_must_divide_the_width():
    with pytest.raises(ConfigError, match="n_heads must divide the embedding size 8"):
        PrototypeNetwork(DIM, PrototypeConfig(n_heads=3))


def test_batch_equals_single_label():
    net, given = network(), sources()
    together = net(*given)
    apart = torch.cat([net(*(part[i : i + 1] for part in given)) for i in range(5)])
    torch.testing.assert_close(together, apart)


def test_dropped_sources_come_in_three_kinds():
    torch.manual_seed(0)
    present = drop_sources(torch.ones(20_000, 3, dtype=torch.bool), 0.4)
    kinds, counts = torch.unique(present, dim=0, return_counts=True)
    shares = {
        tuple(kind): n / 20_000 for kind, n in zip(kinds.tolist(), counts.tolist(), strict=True)
    }
    assert shares == {
        (True, True, True): pytest.approx(0.6, abs=0.02),
        (True, True, False): pytest.approx(0.2, abs=0.02),
        (True, False, False): pytest.approx(0.2, abs=0.02),
    }


def test_a_label_without_text_keeps_what_it_has():
    present = torch.tensor([[False, True, True], [False, False, True]])
    assert torch.equal(drop_sources(present, 1.0), present)


def test_sources_are_dropped_in_training_only():
    config = PrototypeConfig(feed_forward=12, dropout=0.0, source_dropout=1.0)
    net, (text, centroid, free) = network(config), sources()
    quiet = net(text, centroid, free)
    torch.testing.assert_close(quiet, network()(text, centroid, free))
    net.train()
    torch.manual_seed(1)
    found = net(text, centroid, free)
    torch.manual_seed(1)
    torch.testing.assert_close(net(text, centroid, -free), found)
    assert not torch.allclose(found, quiet)


def test_is_of_unit_length_and_float32_under_mixed_precision():
    net, given = network(), sources()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = net(*given)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.norm(dim=1), torch.ones(5))
    torch.testing.assert_close(found, net(*given), atol=0.05, rtol=0)


def test_needs_no_values_on_the_host():
    """Fake tensors have no values: whatever would wait for a device raises on them."""
    with FakeTensorMode():
        net = PrototypeNetwork(DIM, PrototypeConfig())
        present = torch.ones(5, 3, dtype=torch.bool)
        assert net(*torch.randn(3, 5, DIM).unbind(0), present).shape == (5, DIM)


def test_compiles_to_one_graph():
    torch._dynamo.reset()
    net, given = network(), sources()
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(*given), net(*given))


def test_survives_json():
    config = PrototypeConfig(sources=("text", "free"), n_free_vectors=64)
    assert PrototypeConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_uses_only_the_named_sources():
    config = PrototypeConfig(sources=("text", "free"))
    assert config.uses("text")
    assert config.uses("free")
    assert not config.uses("centroid")


@pytest.mark.parametrize("sources", [(), ("text", "text"), "text"])
def test_sources_are_one_or_more_and_different(sources):
    with pytest.raises(ConfigError, match="sources"):
        PrototypeConfig(sources=sources)


def test_misspelt_source_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'centroid'"):
        PrototypeConfig(sources=("text", "centroids"))


def test_number_of_free_vectors_is_a_power_of_two():
    with pytest.raises(ConfigError, match="try 64 or 128"):
        PrototypeConfig(n_free_vectors=100)
