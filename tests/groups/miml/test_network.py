"""Eq. 7 and the co-attention mask, held to plain loops."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.groups.miml import MIMLNetwork
from multitudes.groups.miml.network import pooled
from tests.groups.miml.problems import member_rows

MEMBERS = member_rows([0, 1, 2], [3], [4, 0])


def made(random_state=0, **settings):
    torch.manual_seed(random_state)
    settings = {"n_concepts": 3, "label_embeddings": torch.randn(4, 5), "tau": 0.7} | settings
    return MIMLNetwork(5, 4, **settings)


def instances(n=5, random_state=1):
    return torch.randn(n, 5, generator=torch.Generator().manual_seed(random_state))


def slow_instance_logits(network, X):
    """V2 of Eq. 7, entry by entry."""
    weights, bias = (p.detach().numpy() for p in network.concepts.parameters())
    if network.hidden is not None:
        inner, inner_bias = (p.detach().numpy() for p in network.hidden.parameters())
        X = np.maximum(X @ inner.T + inner_bias, 0)
    out = np.zeros((len(X), network.n_labels))
    for i, x in enumerate(X):
        for label in range(network.n_labels):
            concepts = [
                max(
                    weights[c * network.n_labels + label] @ x + bias[c * network.n_labels + label],
                    0,
                )
                for c in range(network.n_concepts)
            ]
            out[i, label] = max(concepts)
    return out


def slow_mask(network, X):
    """M of one bag: g times the softmax of each column."""
    raised = np.exp(network.tau * X @ network.label_embeddings.detach().numpy().T)
    return len(X) * raised / raised.sum(axis=0)


@pytest.mark.parametrize("hidden_size", [None, 6])
def test_instance_logits_are_eq_7(hidden_size):
    network, X = made(hidden_size=hidden_size), instances()
    found = network.instance_logits(X).detach().numpy()
    np.testing.assert_allclose(found, slow_instance_logits(network, X.numpy()), atol=1e-6)


def test_bags_are_the_masked_maximum_over_instances():
    network, X = made(), instances()
    found = pooled(network(X, MEMBERS), MEMBERS).detach().numpy()
    for row, bag in zip(found, ([0, 1, 2], [3], [4, 0]), strict=True):
        rows = X[bag].numpy()
        masked = slow_mask(network, rows) * slow_instance_logits(network, rows)
        np.testing.assert_allclose(row, masked.max(axis=0), atol=1e-5)


def test_mask_columns_sum_to_the_real_size_of_the_bag():
    mask = made().attention(instances(), MEMBERS).detach()
    sums = torch.tensor([3.0, 1.0, 2.0])[:, None].expand(-1, 4)
    torch.testing.assert_close(mask.sum(dim=1), sums)
    assert (mask[MEMBERS < 0] == 0).all()
    assert (mask[MEMBERS >= 0] > 0).all()


def test_tau_0_is_plain_deep_miml():
    X = instances()
    masked, plain = made(tau=0.0), made(label_embeddings=None)
    plain.load_state_dict({k: v for k, v in masked.state_dict().items() if "embed" not in k})
    kept = MEMBERS >= 0
    torch.testing.assert_close(masked.attention(X, MEMBERS)[kept], torch.ones(6, 4))
    torch.testing.assert_close(plain.attention(X, MEMBERS), masked.attention(X, MEMBERS))
    torch.testing.assert_close(masked(X, MEMBERS)[kept], plain(X, MEMBERS)[kept])


def test_a_hard_mask_gives_a_label_to_its_closest_instance():
    network, X = made(tau=1e4), instances()
    mask = network.attention(X, member_rows([0, 1, 2]))[0]
    closest = (X[:3] @ network.label_embeddings.T).argmax(dim=0)
    expected = torch.zeros(3, 4)
    expected[closest, torch.arange(4)] = 3
    torch.testing.assert_close(mask, expected)


def test_a_bag_of_one_is_the_instance_alone():
    network, X = made(), instances()
    alone = member_rows(*([i] for i in range(5)))
    torch.testing.assert_close(
        pooled(network(X, alone), alone), network.instance_logits(X), rtol=0, atol=0
    )


def test_padding_changes_nothing():
    network, X = made(), instances()
    wider = torch.cat([MEMBERS, torch.full((3, 4), -1)], dim=1)
    for one, other in (
        (network.attention(X, MEMBERS), network.attention(X, wider)[:, :3]),
        (pooled(network(X, MEMBERS), MEMBERS), pooled(network(X, wider), wider)),
    ):
        torch.testing.assert_close(one, other)


def test_padding_gets_no_gradient():
    network, X = made(), instances(6).requires_grad_()
    padded = member_rows([1, 2], [3])
    pooled(network(X, padded), padded).sum().backward()
    assert (X.grad[[0, 4, 5]] == 0).all()  # padding reads row 0, which is in no bag


@given(st.permutations(range(4)))
def test_order_within_a_bag_does_not_matter(order):
    network, X = made(), instances()
    one, other = member_rows(range(4)), member_rows(order)
    torch.testing.assert_close(pooled(network(X, one), one), pooled(network(X, other), other))


def test_no_label_starts_without_a_gradient():
    assert (made(n_concepts=1).instance_logits(torch.zeros(1, 5)) > 0).all()


@pytest.mark.parametrize("train_embeddings", [True, False])
def test_gradients_reach_every_weight(train_embeddings):
    network = made(hidden_size=6, train_embeddings=train_embeddings)
    pooled(network(instances(40), member_rows(range(40))), member_rows(range(40))).sum().backward()
    gradients = {name: p.grad for name, p in network.named_parameters()}
    assert ("label_embeddings" in gradients) == train_embeddings
    assert all(g is not None and g.abs().sum() > 0 for g in gradients.values())


@pytest.mark.parametrize("hidden_size", [None, 6])
def test_sparse_rows_give_the_same_outputs_and_gradients(hidden_size):
    X = instances() * (instances(random_state=2) > 0)
    found = []
    for rows in (X, X.to_sparse_coo()):
        network = made(hidden_size=hidden_size, train_embeddings=True)
        out = pooled(network(rows, MEMBERS), MEMBERS)
        out.sum().backward()
        found.append([out.detach(), *(p.grad for p in network.parameters())])
    for dense, sparse in zip(*found, strict=True):
        torch.testing.assert_close(dense, sparse)
