"""The training loop: what is kept, when it stops, and that it can be repeated."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from multitudes.errors import ConfigError
from multitudes.groups.miml import MIMLNetwork, MIMLTraining
from multitudes.groups.miml.bags import Bags
from multitudes.groups.miml.fit_network import bag_logits, fit_network
from multitudes.groups.miml.losses import ProportionLoss
from tests.groups.miml.problems import N_LABELS, bagged


def bags_of(problem):
    listed = np.flatnonzero(np.diff(problem.group_labels.indptr))
    return Bags(problem.X, sp.csr_array(problem.groups.T), problem.group_labels).take(listed)


def new_network():
    torch.manual_seed(0)
    return MIMLNetwork(N_LABELS + 2, N_LABELS)


def trained(training, *, validation=None, random_state=0, bags=None):
    network = new_network()
    bags = bags_of(bagged()) if bags is None else bags
    epochs = fit_network(
        network,
        bags,
        ProportionLoss(),
        validation=validation,
        training=training,
        random_state=random_state,
    )
    return network, epochs


def weights(network):
    return {name: p.detach().numpy().copy() for name, p in network.named_parameters()}


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("validation_fraction", (0.0, 0.9), (-0.1, 0.91)), ("n_epochs", (1,), (0,)),
        ("batch_size", (1,), (0,)), ("patience", (1,), (0,)), ("weight_decay", (0.0,), (-0.1,)),
        ("learning_rate", (1e-9, 100.0), (0.0, 101.0)), ("monitor", ("loss",), ("recall",)),
    ],
)  # fmt: skip
def test_settings_that_make_sense(name, allowed, refused):
    for value in allowed:
        assert getattr(MIMLTraining(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(ConfigError, match=name):
            MIMLTraining(**{name: value})


def test_the_loss_falls():
    _, epochs = trained(MIMLTraining(n_epochs=30, learning_rate=0.03))
    assert len(epochs) == 30
    assert epochs[-1].loss < 0.8 * epochs[0].loss
    assert {epoch.validation_loss for epoch in epochs} == {None}


def test_the_same_seed_gives_the_same_weights_and_another_one_others():
    training = MIMLTraining(n_epochs=2)
    first, second, other = (weights(trained(training, random_state=s)[0]) for s in (3, 3, 4))
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])
    assert any((value != other[name]).any() for name, value in first.items())


@pytest.mark.parametrize("monitor", ["loss", "precision"])
def test_training_stops_and_the_best_epoch_is_kept(monitor):
    """Validation labels are wrong, so that every step makes it worse but the first few."""
    problem, fooled = bagged(200), bagged(200, random_state=1)
    swapped = fooled._replace(group_labels=sp.csr_array(fooled.group_labels[:, [1, 0, 3, 2]]))
    training = MIMLTraining(n_epochs=60, learning_rate=0.05, patience=3, monitor=monitor)
    validation = bags_of(swapped)
    network, epochs = trained(training, validation=validation, bags=bags_of(problem))
    place = 1 if monitor == "loss" else 2
    sign = -1 if monitor == "loss" else 1
    best = int(np.argmax([sign * epoch[place] for epoch in epochs]))
    assert len(epochs) == best + 1 + training.patience < 60
    short, _ = trained(MIMLTraining(n_epochs=best + 1, learning_rate=0.05), bags=bags_of(problem))
    for name, value in weights(short).items():
        np.testing.assert_array_equal(value, weights(network)[name])


def test_validation_numbers_are_those_of_the_bags():
    bags = bags_of(bagged(40))
    network, epochs = trained(MIMLTraining(n_epochs=1), validation=bags, bags=bags)
    logits = bag_logits(network, bags)
    counts = bags.group_labels.toarray()
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shares = counts / counts.sum(axis=1, keepdims=True)
    loss = -(shares * np.log(chances)).sum(axis=1).mean()
    hits = counts[np.arange(len(counts)), logits.argmax(axis=1)] > 0
    assert epochs[0].validation_loss == pytest.approx(loss, rel=1e-5)
    assert epochs[0].validation_precision == pytest.approx(hits.mean())


def test_logits_do_not_depend_on_how_many_bags_fit_in_memory(monkeypatch):
    network, bags = new_network(), bags_of(bagged(40))
    whole = bag_logits(network, bags)
    monkeypatch.setattr("multitudes.groups.miml.fit_network.CELLS", 1)
    np.testing.assert_allclose(bag_logits(network, bags), whole, rtol=1e-6)


class Diverging(torch.nn.Module):
    def forward(self, logits, members, counts):
        return logits.sum() * torch.inf


def test_divergence_is_an_error_that_says_what_to_do():
    training = MIMLTraining(n_epochs=20, learning_rate=7.5)
    with pytest.raises(ConfigError, match=r"loss became (nan|inf) in epoch 1: lower .* \(7\.5\)"):
        fit_network(
            new_network(), bags_of(bagged(40)), Diverging(), validation=None, training=training,
            random_state=0,
        )  # fmt: skip
