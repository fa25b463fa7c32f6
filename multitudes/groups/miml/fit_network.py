"""How a network over bags is trained: batches of bags, early stopping on others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from multitudes.config import Config, setting
from multitudes.deep.training.checkpoint import Checkpoint
from multitudes.deep.training.world import ALONE, World
from multitudes.errors import ConfigError
from multitudes.groups.miml.bag_run import BagRun, Epoch
from multitudes.groups.miml.bags import Bags
from multitudes.groups.miml.losses import BagLoss
from multitudes.groups.miml.network import MIMLNetwork, pooled
from multitudes.progress import track
from multitudes.types import FloatArray, IntArray


@dataclass(frozen=True)
class MIMLTraining(Config):
    """Epochs, steps, and when to stop."""

    n_epochs: int = setting(100, "Passes over the bags at most.", at_least=1)
    batch_size: int = setting(64, "Bags per step.", at_least=1)
    learning_rate: float = setting(1e-3, "Step size of Adam.", above=0, at_most=100)
    weight_decay: float = setting(0.0, "L2 penalty on all weights.", at_least=0)
    validation_fraction: float = setting(
        0.1,
        "Share of the bags held out for early stopping, unless validation bags are given; 0: none.",
        at_least=0,
        at_most=0.9,
    )
    patience: int = setting(10, "Epochs without improvement before training stops.", at_least=1)
    monitor: str = setting(
        "loss",
        "What must improve on the validation bags: their loss, or precision at 1.",
        choices=("loss", "precision"),
    )


CELLS = 1 << 24  # numbers of a batch's largest tensor, when only predicting


def fit_network(
    network: MIMLNetwork,
    bags: Bags,
    loss: BagLoss,
    *,
    validation: Bags | None,
    training: MIMLTraining,
    random_state: int,
    checkpoint: Checkpoint | None = None,
    world: World = ALONE,
) -> list[Epoch]:
    """Train in place; with validation bags, the best epoch's weights are kept.

    Parameters
    ----------
    network : MIMLNetwork
        On the device it is trained on.
    bags, validation : Bags
        None of them empty.
    random_state : int
        Of the order of the bags.
    checkpoint : Checkpoint, optional
        Where to save; a training that is found there goes on, and ends with the same weights.
    world : World
        Processes that train the same network, of the same first weights, on the same bags.
    """
    adam = torch.optim.Adam(
        network.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay
    )
    run = BagRun(network, adam, random_state, world)
    progress = track("training on bags", training.n_epochs, "epochs")
    with run.saved_in(checkpoint, len(bags)), progress as task:
        task.resume_at(len(run.epochs))
        while not _is_over(run, training, has_validation=validation is not None):
            total = _pass_over(bags, run, loss, training)
            measured = _validate(network, validation, loss, world)
            run.epochs.append(Epoch(total / len(bags), *measured))
            if validation is not None and _is_best(run.epochs, training.monitor):
                run.keep_weights()
            task.advance()
            over = _is_over(run, training, has_validation=validation is not None)
            run.end_epoch(is_last=over)
    if run.best:
        network.load_state_dict(run.best)
    return run.epochs


def _pass_over(bags: Bags, run: BagRun, loss: BagLoss, training: MIMLTraining) -> float:
    """Learn from every bag once, and return the sum of their losses."""
    network, device = run.network, next(run.network.parameters()).device
    world, total = run.world, 0.0
    for chosen in _split(run.order(len(bags)), training.batch_size):
        own = chosen[world.rank :: world.size]
        X, members, counts = bags.batch(own if len(own) else chosen[:1], device)
        value = loss(network(X, members), members, counts)
        # What this part adds to the mean over the batch; processes average their gradients.
        value = value * (world.size * len(own) / len(chosen))
        run.adam.zero_grad()
        value.backward()
        world.average_gradients(network.parameters())
        run.adam.step()
        total += float(world.mean(value.detach())) * len(chosen)
    _check_finite(total, len(run.epochs), training)
    return total


def _is_over(run: BagRun, training: MIMLTraining, *, has_validation: bool) -> bool:
    n_done = len(run.epochs)
    waited = n_done - 1 - run.best_epoch
    return n_done >= training.n_epochs or (
        has_validation and n_done > 0 and waited >= training.patience
    )


@torch.no_grad()
def bag_logits(network: MIMLNetwork, bags: Bags) -> FloatArray:
    """The pooled logits of bags that are not empty, (n_bags, n_labels)."""
    found = [pooled(logits, members) for logits, members, _ in _outputs(network, bags)]
    return torch.cat(found).cpu().numpy()


@torch.no_grad()
def _validate(
    network: MIMLNetwork, bags: Bags | None, loss: BagLoss, world: World
) -> tuple[float | None, float | None]:
    """Loss and precision at 1 of the validation bags; None where there are none."""
    if bags is None:
        return None, None
    losses = hits = 0.0
    for logits, members, counts in _outputs(network, bags):
        losses += float(loss(logits, members, counts)) * len(members)
        top = pooled(logits, members).argmax(dim=1, keepdim=True)  # (bags, 1)
        hits += int((counts.gather(1, top) > 0).sum())
    # All processes measure the same but for the last bits; and they must decide the same.
    measured = torch.tensor([losses / len(bags), hits / len(bags)], dtype=torch.float64)
    mean_loss, precision = world.from_first(measured).tolist()
    return mean_loss, precision


def _outputs(network: MIMLNetwork, bags: Bags) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """(logits, members, counts) of all bags in order, as many at a time as memory allows."""
    device = next(network.parameters()).device
    widest = max(int(bags.sizes.max()) * network.n_concepts * network.n_labels, 1)
    for chosen in _split(np.arange(len(bags)), max(1, CELLS // widest)):
        X, members, counts = bags.batch(chosen, device)
        yield network(X, members), members, counts


def _split(order: IntArray, size: int) -> list[IntArray]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def _is_best(epochs: list[Epoch], monitor: str) -> bool:
    """Whether the last epoch is better than all before; the earlier of equal ones is kept."""
    if monitor == "loss":
        values = [-epoch.validation_loss for epoch in epochs if epoch.validation_loss is not None]
    else:
        values = [e.validation_precision for e in epochs if e.validation_precision is not None]
    return all(values[-1] > before for before in values[:-1])


def _check_finite(total: float, number: int, training: MIMLTraining) -> None:
    if not np.isfinite(total):
        raise ConfigError(
            f"the loss became {total} in epoch {number + 1}: lower learning_rate "
            f"({training.learning_rate:g}), or scale the features to about 1"
        )
