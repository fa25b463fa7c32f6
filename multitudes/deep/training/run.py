"""Run: everything that changes while training, and that a checkpoint must hold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol

import torch
from accelerate.utils import gather_object
from torch import nn

from multitudes.deep.training.batches import B, Batches, steps_per_epoch, windows
from multitudes.deep.training.checkpoint import Checkpoint
from multitudes.deep.training.config import TrainingConfig
from multitudes.deep.training.history import EpochRecord, History
from multitudes.deep.training.optimizer import learning_rate, make_optimizer
from multitudes.deep.training.process import (
    make_accelerator,
    random_states,
    restore_random_states,
)
from multitudes.deep.training.state_dicts import copied

# Settings that change neither the weights nor which of them are kept.
NOT_IN_RESULT = frozenset(
    {"checkpoint_minutes", "compile", "device", "log_every", "tensorboard"},
)


class Stateful(Protocol):
    """Something besides the model that changes while training: a sampler, centroids."""

    def state_dict(self) -> Mapping[str, Any]:
        """Tensors, arrays and plain values, nested in mappings and lists."""

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Take a state back; tensors come on the CPU, tuples as lists."""


@dataclass
class Position:
    """How far a run is: `batch` batches of `epoch` are done."""

    epoch: int = 0
    batch: int = 0


class TrainingStep(nn.Module, Generic[B]):
    """A step as a module, so that gradients are shared between processes once per batch."""

    def __init__(self, model: nn.Module, step: Callable[[B], Mapping[str, torch.Tensor]]) -> None:
        super().__init__()
        self.model = model
        self.step = step
        # torch's name for what its own sharing of gradients leaves alone.
        complete = getattr(model, "complete_gradients", ())
        self._ddp_params_and_buffers_to_ignore = [f"model.{name}" for name in complete]

    def forward(self, batch: B) -> Mapping[str, torch.Tensor]:
        """The loss terms of a batch."""
        return self.step(batch)


class Run(Generic[B]):
    """Model, optimizer, position and history of a run; see `multitudes.deep.training.train`."""

    def __init__(
        self,
        model: nn.Module,
        batches: Batches[B],
        step: Callable[[B], Mapping[str, torch.Tensor]],
        *,
        config: TrainingConfig,
        stateful: Mapping[str, Stateful],
    ) -> None:
        self.model, self.batches, self.config, self.stateful = model, batches, config, stateful
        self.accelerator = make_accelerator(config)
        self.n_processes = self.accelerator.num_processes
        model.to(self.accelerator.device)
        self.optimizer = self.accelerator.prepare_optimizer(make_optimizer(model, config))
        step = torch.compile(step) if config.compile else step
        with warnings.catch_warnings():  # new torch has another name for broadcast_buffers
            warnings.simplefilter("ignore", FutureWarning)
            self.forward = self.accelerator.prepare_model(TrainingStep(model, step))
        self.position = Position()
        self.record = EpochRecord(0)
        self.history = History(config.monitor)
        self.best: dict[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        """Whether all epochs are done, or validation has not become better for too long."""
        done = self.position.epoch >= self.config.epochs
        return done or self.history.is_stale(self.config.patience)

    @property
    def n_epochs_done(self) -> float:
        """How far the run is, in epochs."""
        return self.position.epoch + self.position.batch / self.batches.per_epoch

    def windows(self) -> Iterator[list[B]]:
        """The rest of this epoch's batches, those of one optimizer step at a time."""
        return windows(
            self.batches,
            self.position.epoch,
            self.position.batch,
            size=self.config.accumulate,
        )

    def learning_rate(self) -> float:
        """The learning rate of the next optimizer step."""
        n_steps = steps_per_epoch(self.batches, size=self.config.accumulate)
        step = self.position.epoch * n_steps + self.position.batch // self.config.accumulate
        return learning_rate(self.config, step, n_steps)

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Close the epoch's record and move on to the next one."""
        self.record.metrics = {name: float(value) for name, value in metrics.items()}
        self.history.epochs.append(self.record)
        if self.config.restore_best and metrics and self.history.best is self.record:
            self.best = copied(self._learned())
        self.position = Position(self.position.epoch + 1)
        self.record = EpochRecord(self.position.epoch)

    def restore_best(self) -> None:
        """Put the weights of the best validated epoch back, if validation chose one."""
        if self.best is None:
            return
        self.model.load_state_dict(self.best["model"])
        for name, part in self.stateful.items():
            part.load_state_dict(self.best[f"stateful-{name}"])

    def _learned(self) -> dict[str, Any]:
        parts = {f"stateful-{name}": part.state_dict() for name, part in self.stateful.items()}
        return {"model": self.model.state_dict(), **parts}

    def state(self) -> dict[str, Any]:
        """Everything as nested state dicts; every process must call it."""
        scaler = self.accelerator.scaler
        own = [{"states": random_states()}]
        everyone = gather_object(own) if self.n_processes > 1 else own
        parts = {
            **self._learned(),
            "optimizer": {"state": self.optimizer.state_dict()["state"]},
            "random": {str(i): entry["states"] for i, entry in enumerate(everyone)},
            "run": {
                "position": asdict(self.position),
                "record": asdict(self.record),
                "history": self.history.to_json(),
                "scaler": {} if scaler is None else scaler.state_dict(),
            },
        }
        return parts if self.best is None else {**parts, "best": self.best}

    def load(self, parts: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.model.load_state_dict(parts["model"])
        for name, part in self.stateful.items():
            part.load_state_dict(parts[f"stateful-{name}"])
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({**parts["optimizer"], "param_groups": groups})
        run = parts["run"]
        if self.accelerator.scaler is not None and run["scaler"]:
            self.accelerator.scaler.load_state_dict(run["scaler"])
        self.position = Position(**run["position"])
        self.record = EpochRecord(**run["record"])
        self.history = History.from_json(run["history"])
        self.best = parts.get("best")
        restore_random_states(parts["random"][str(self.accelerator.process_index)])

    def identity(self) -> dict[str, Any]:
        """What the result depends on, as far as it is known here; a resumed run must agree."""
        settings = self.config.to_dict().items()
        return {
            "training": {name: value for name, value in settings if name not in NOT_IN_RESULT},
            "model": {name: list(p.shape) for name, p in self.model.named_parameters()},
            "batches": {
                "per_epoch": self.batches.per_epoch,
                "n_instances": self.batches.n_instances,
                "processes": self.n_processes,
            },
            "stateful": sorted(self.stateful),
        }

    def checkpoint_of(self, checkpoint: Checkpoint) -> Checkpoint:
        """The same folder, for this run and no other.

        The run's own identity overrides what the caller gives under the same name: it leaves out
        the settings that do not change the weights.
        """
        return Checkpoint(checkpoint.folder, {**checkpoint.identity, **self.identity()})
