"""Losses over bags, with values worked out by hand."""

import doctest
import sys
from math import log

import pytest
import torch
from torch.nn.functional import cross_entropy

from multitudes.groups.miml.losses import LOSSES
from tests.groups.miml.problems import member_rows

# Two bags of two and of one instance over two labels; what stands at padding must not count.
LOGITS = torch.tensor([[[log(3), 0.0], [0.0, 0.0]], [[0.0, log(2)], [99.0, 99.0]]])
MEMBERS = member_rows([0, 1], [2])
COUNTS = torch.tensor([[2.0, 1.0], [0.0, 1.0]])

# Pooled logits: (log 3, 0) and (0, log 2). Probabilities of the instances: (3/4, 1/4), (1/2, 1/2)
# in the first bag, (1/3, 2/3) in the second.
EXPECTED = {
    "proportion": (-(2 / 3 * log(3 / 4) + 1 / 3 * log(1 / 4)) - log(2 / 3)) / 2,
    "presence": -(log(3 / 4) + log(1 / 2) + log(1 / 2) + log(2 / 3)) / 4,
    "counts": (-(2 / 3 * log(5 / 8) + 1 / 3 * log(3 / 8)) - log(2 / 3)) / 2,
}


@pytest.fixture(params=sorted(LOSSES))
def name(request):
    return request.param


def test_every_loss_has_a_known_value():
    assert EXPECTED.keys() == LOSSES.keys()


def test_by_hand(name):
    assert float(LOSSES[name]()(LOGITS, MEMBERS, COUNTS)) == pytest.approx(EXPECTED[name])


def test_more_padding_changes_nothing(name):
    wider = torch.cat([MEMBERS, torch.full((2, 3), -1)], dim=1)
    logits = torch.cat([LOGITS, torch.full((2, 3, 2), 7.0)], dim=1)
    found = LOSSES[name]()(logits, wider, COUNTS)
    torch.testing.assert_close(found, LOSSES[name]()(LOGITS, MEMBERS, COUNTS))


@pytest.mark.parametrize("name", ["proportion", "counts"])
def test_one_instance_with_one_label_is_softmax_classification(name):
    logits, labels = torch.randn(6, 1, 5), torch.arange(6) % 5
    found = LOSSES[name]()(logits, torch.arange(6)[:, None], torch.eye(5)[labels])
    torch.testing.assert_close(found, cross_entropy(logits[:, 0], labels))


@pytest.mark.parametrize("name", ["proportion", "counts"])
def test_only_the_shares_of_counts_matter(name):
    loss = LOSSES[name]()
    torch.testing.assert_close(loss(LOGITS, MEMBERS, COUNTS), loss(LOGITS, MEMBERS, 3 * COUNTS))


def test_only_the_presence_of_labels_matters():
    loss = LOSSES["presence"]()
    assert not loss.needs_labels
    torch.testing.assert_close(
        loss(LOGITS, MEMBERS, COUNTS), loss(LOGITS, MEMBERS, (COUNTS > 0).float())
    )


def test_counts_are_explained_by_all_instances_together():
    """Two instances of label 0 and one of label 1 fit a list of 2 : 1, better than any other."""
    sure = 40.0
    fitting = torch.tensor([[[sure, 0.0], [sure, 0.0], [0.0, sure]]])
    other = torch.tensor([[[sure, 0.0], [0.0, sure], [0.0, sure]]])
    members, counts = member_rows([0, 1, 2]), torch.tensor([[2.0, 1.0]])
    entropy = -(2 / 3 * log(2 / 3) + 1 / 3 * log(1 / 3))
    loss = LOSSES["counts"]()
    assert float(loss(fitting, members, counts)) == pytest.approx(entropy)
    assert float(loss(other, members, counts)) > entropy + 0.1


def test_gradients_stay_finite_far_out(name):
    logits = torch.tensor([[[200.0, 0.0], [0.0, 200.0]], [[0.0, 300.0], [0.0, 0.0]]])
    logits.requires_grad_()
    counts = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    value = LOSSES[name]()(logits, MEMBERS, counts)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(logits.grad).all()


def test_the_examples_in_the_docstrings_are_right(name):
    module = sys.modules[LOSSES[name].__module__]
    done = doctest.testmod(module, extraglobs={"torch": torch})
    assert (done.attempted > 1, done.failed) == (True, 0)
