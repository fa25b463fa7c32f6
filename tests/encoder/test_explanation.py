import json

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")

import torch
from torch.nn.functional import normalize

from multitudes.encoder.explanation import (
    Explanation,
    NearestInstances,
    nearest_instances,
    source_shares,
)
from multitudes.encoder.prototypes.network import PrototypeConfig, PrototypeNetwork
from multitudes.errors import ConfigError, DataError

EMBEDDINGS = np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8], [0.8, 0.6]], np.float32)
Y = sp.csr_array(np.array([[1, 0], [1, 1], [1, 1], [0, 1], [1, 0]], np.float32))


@pytest.mark.parametrize("to", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_the_instances_of_a_label_nearest_first_ties_to_the_smaller_row(to):
    found = nearest_instances(0, [0.8, 0.6], EMBEDDINGS, to(Y), top_k=3)
    assert found.instances.tolist() == [1, 4, 0]
    np.testing.assert_allclose(found.similarities, [1, 1, 0.8], rtol=1e-6)
    assert nearest_instances(1, [1, 0], EMBEDDINGS, to(Y)).instances.tolist() == [1, 3, 2]


def test_a_label_without_instances_has_none():
    empty = nearest_instances(2, [1, 0], EMBEDDINGS, sp.csr_array((5, 3), dtype=np.float32))
    assert len(empty.instances) == len(empty.similarities) == 0


def test_bad_requests_are_named():
    with pytest.raises(DataError, match="label must be an id from 0 to 1, got 2"):
        nearest_instances(2, [1, 0], EMBEDDINGS, Y)
    with pytest.raises(DataError, match="one embedding of shape"):
        nearest_instances(0, [1, 0, 0], EMBEDDINGS, Y)
    with pytest.raises(DataError, match="there are 4 embeddings, and Y has 5 rows"):
        nearest_instances(0, [1, 0], EMBEDDINGS[:4], Y)
    with pytest.raises(ConfigError, match="top_k"):
        nearest_instances(0, [1, 0], EMBEDDINGS, Y, top_k=0)


def sources(m=6, dim=8):
    torch.manual_seed(0)
    return [normalize(torch.randn(m, dim), dim=1) for _ in range(3)]


def network(**settings):
    torch.manual_seed(1)
    return PrototypeNetwork(8, PrototypeConfig(**settings)).train()


def test_shares_add_up_to_the_similarity_of_the_query():
    net, given = network(), sources()
    queries = normalize(torch.randn(6, 8), dim=1)
    shares = source_shares(net, *given, queries=queries)
    with torch.no_grad():
        similarity = (net.eval()(*given) * queries).sum(dim=1)
    torch.testing.assert_close(shares.sum(dim=1), similarity)


def test_without_a_query_shares_of_a_prototype_add_up_to_one():
    net = network()
    shares = source_shares(net, *sources())
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(6))
    assert net.training  # as it was


def test_an_absent_source_has_no_share():
    present = torch.ones(6, 3, dtype=torch.bool)
    present[:, 1] = False
    present[3, 2] = False
    shares = source_shares(network(), *sources(), present=present)
    assert shares[:, 1].tolist() == [0] * 6
    assert shares[3].tolist() == pytest.approx([1, 0, 0], abs=1e-6)


def test_a_source_that_is_switched_off_has_no_share():
    text, _, free = sources()
    net = network(sources=("text", "free"), combine="sum")
    shares = source_shares(net, text, None, free)
    assert shares[:, 1].tolist() == [0] * 6
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(6))


def test_equal_sources_have_equal_shares():
    text = sources()[0]
    shares = source_shares(network(), text, text.clone(), text.clone())
    torch.testing.assert_close(shares, torch.full((6, 3), 1 / 3))


def test_an_explanation_can_hold_names_and_texts():
    found = NearestInstances(np.array([3, 7]), np.array([0.5, 0.25], np.float32))
    why = Explanation(2, 0.75, {"text": 0.5, "centroid": 0.25, "free": 0.0}, found)
    assert why.table().splitlines() == [
        "label 2: score 0.7500",
        "  prototype: its text +0.50, its training texts +0.25, its free vector +0.00",
        "  0.50  instance 3",
        "  0.25  instance 7",
    ]
    named = why.named("fruit", {3: "a ripe apple"})
    assert named.label == "fruit"
    assert named.nearest.pairs == (("a ripe apple", 0.5), ("instance 7", 0.25))
    assert named.table(top=1).splitlines()[2:] == ["  0.50  a ripe apple"]
    assert json.loads(json.dumps(named.to_dict()))["nearest"] == [
        ["a ripe apple", 0.5],
        ["instance 7", 0.25],
    ]
    assert why.named(None).label == 2
    alone = Explanation(2, 0.75, why.shares, None).named("fruit", {3: "a"})
    assert "not kept" in alone.table()
    assert alone.to_dict()["nearest"] is None
