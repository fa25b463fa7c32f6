"""BagRun: everything that changes while a network learns from bags, and its checkpoint."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import torch

from multitudes.deep.training.checkpoint import Checkpoint, digest_of
from multitudes.deep.training.process import Interrupt, deferred_interrupt
from multitudes.deep.training.world import ALONE, World
from multitudes.groups.miml.bags import Bags
from multitudes.groups.miml.network import MIMLNetwork
from multitudes.progress import say
from multitudes.store.folder import writing
from multitudes.types import IntArray

SAVE_SECONDS = 60.0  # between two checkpoints; the end of training is always saved


class Epoch(NamedTuple):
    """What one pass over the bags came to.

    Parameters
    ----------
    loss : float
        Mean over the training bags, as they were met.
    validation_loss, validation_precision : float or None
        Of the validation bags after the pass; None without any.
    """

    loss: float
    validation_loss: float | None
    validation_precision: float | None


class BagRun:
    """A network, its optimizer, the epochs so far and the best weights.

    Parameters
    ----------
    network : MIMLNetwork
        On the device it is trained on.
    adam : torch.optim.Optimizer
        Of the network's parameters.
    random_state : int
        Of the order of the bags.
    world : World
        Processes that do the same; the first one saves.
    """

    def __init__(
        self,
        network: MIMLNetwork,
        adam: torch.optim.Optimizer,
        random_state: int,
        world: World = ALONE,
    ) -> None:
        self.network, self.adam, self.world = network, adam, world
        self.epochs: list[Epoch] = []
        self.best: dict[str, Any] = {}
        self.best_epoch = 0
        self.checkpoint: Checkpoint | None = None
        self._rng = np.random.default_rng(random_state)
        self._interrupt = Interrupt()
        self._saved_at = time.monotonic()

    def order(self, n_bags: int) -> IntArray:
        """Return the order of the bags in the next epoch."""
        return self._rng.permutation(n_bags)

    def keep_weights(self) -> None:
        """Note that the last epoch is the best so far."""
        self.best = copy.deepcopy(self.network.state_dict())
        self.best_epoch = len(self.epochs) - 1

    @contextmanager
    def saved_in(self, checkpoint: Checkpoint | None, n_bags: int) -> Iterator[None]:
        """Hold the folder of a checkpoint, and go on from what it has."""
        if checkpoint is None:
            yield
            return
        held = writing(checkpoint.path) if self.world.is_first else nullcontext()
        with held, deferred_interrupt(enabled=True) as self._interrupt:
            self.checkpoint = checkpoint
            found = checkpoint.read()
            if found is not None:
                self._load(found["run"])
                for _ in self.epochs:
                    self.order(n_bags)  # numbers that were drawn before
                say(f"going on after epoch {len(self.epochs)}, as saved in {checkpoint.path}")
            yield

    def end_epoch(self, *, is_last: bool) -> None:
        """Write a checkpoint if it is time; stop if that was asked for."""
        if self.checkpoint is None:
            return
        asked = torch.tensor(float(self._interrupt.requested))
        stop = bool(self.world.mean(asked) > 0)
        due = stop or is_last or time.monotonic() - self._saved_at >= SAVE_SECONDS
        if due and self.world.is_first:
            self.checkpoint.write({"run": self._state()})
            self._saved_at = time.monotonic()
        if stop:
            raise KeyboardInterrupt(
                f"training was stopped after epoch {len(self.epochs)} and saved in "
                f"{self.checkpoint.path}: the same call with the same folder goes on from there"
            )

    def _state(self) -> dict[str, Any]:
        return {
            "network": self.network.state_dict(),
            "adam": self.adam.state_dict(),
            "epochs": [list(epoch) for epoch in self.epochs],
            "best": self.best,
            "best_epoch": self.best_epoch,
        }

    def _load(self, state: Mapping[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.adam.load_state_dict(state["adam"])
        self.epochs = [Epoch(*epoch) for epoch in state["epochs"]]
        self.best, self.best_epoch = state["best"], state["best_epoch"]


def checkpoint_of(
    folder: str | PathLike[str],
    network: MIMLNetwork,
    bags: Bags,
    validation: Bags | None,
    settings: Mapping[str, Any],
) -> Checkpoint:
    """Return the checkpoint of a training in a folder; a resumed one must agree in all of this."""
    weights = (value.detach().cpu().numpy() for value in network.state_dict().values())
    identity = {
        "data": _digest(bags),
        "validation": None if validation is None else _digest(validation),
        "first_weights": digest_of(*weights),
        **settings,
    }
    return Checkpoint(folder, identity)


def _digest(bags: Bags) -> str:
    matrices = (bags.X, bags.members, bags.group_labels)
    return digest_of(
        *(
            array
            for matrix in matrices
            for array in (
                (matrix,)
                if isinstance(matrix, np.ndarray)
                else (matrix.indptr, matrix.indices, matrix.data)
            )
        )
    )
