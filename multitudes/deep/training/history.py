"""What is recorded of a run: the loss terms of its batches, and one record for each epoch."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch

from multitudes.errors import ConfigError, suggestion

LOSS = "loss"


@dataclass
class EpochRecord:
    """One epoch.

    Parameters
    ----------
    epoch : int
        Counts from 0.
    n_batches : int
        Batches seen so far.
    terms : dict of float
        Loss terms, each the mean over the batches.
    metrics : dict of float
        Metrics of the validation; empty if there was none.
    seconds : float
        Time of training, without validation and checkpoints.
    instances_per_second : float
    learning_rate : float
        Learning rate of the last step.
    """

    epoch: int
    n_batches: int = 0
    terms: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    instances_per_second: float = 0.0
    learning_rate: float = 0.0

    def add(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Take the terms of further batches into the means."""
        if not rows:
            return
        n_batches = self.n_batches + len(rows)
        for name in rows[0]:
            total = self.terms.get(name, 0.0) * self.n_batches + sum(row[name] for row in rows)
            self.terms[name] = total / n_batches
        self.n_batches = n_batches


@dataclass
class History:
    """The epochs of a run, finished ones only.

    Parameters
    ----------
    monitor : str, optional
        The metric that tells which epoch is best, higher being better; by default the first one
        that validation gives.
    epochs : list of EpochRecord
    """

    monitor: str | None = None
    epochs: list[EpochRecord] = field(default_factory=list)

    def value(self, record: EpochRecord) -> float:
        """The monitored metric of a validated epoch; one that is not a number is the worst."""
        name = next(iter(record.metrics)) if self.monitor is None else self.monitor
        if name not in record.metrics:
            raise ConfigError(
                f"monitor={name!r} is not a metric that validation gives: "
                f"{suggestion(name, record.metrics)}"
            )
        value = record.metrics[name]
        return -math.inf if math.isnan(value) else value

    @property
    def validated(self) -> list[EpochRecord]:
        """The epochs that were validated."""
        return [record for record in self.epochs if record.metrics]

    @property
    def best(self) -> EpochRecord | None:
        """The best validated epoch, the earliest of equals; None before the first validation."""
        return max(self.validated, key=self.value, default=None)

    def is_stale(self, patience: int | None) -> bool:
        """Whether none of the last `patience` validations was the best."""
        validated, best = self.validated, self.best
        if patience is None or best is None:
            return False
        return len(validated) - 1 - validated.index(best) >= patience

    def to_json(self) -> dict[str, Any]:
        """As plain values, for a checkpoint."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """From `to_json`."""
        epochs = [EpochRecord(**record) for record in values["epochs"]]
        return cls(values["monitor"], epochs)


class LossTerms:
    """The loss terms of the batches since they were last read.

    They stay on the device until then, because reading them waits for the device.

    Parameters
    ----------
    capacity : int
        Batches between two reads, at most.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.names: tuple[str, ...] = ()
        self._rows = torch.empty(0)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, terms: Mapping[str, torch.Tensor]) -> None:
        """Keep the terms of one batch: no copy to the host, nothing waits."""
        if not self.names:
            self._begin(terms)
        if len(terms) != len(self.names):
            raise ConfigError(
                f"a step must give the same terms each time: {list(self.names)} before, "
                f"{list(terms)} now"
            )
        row = [terms[name].detach().float().reshape(()) for name in self.names]
        torch.stack(row, out=self._rows[self._n])  # (n_terms,)
        self._n += 1

    def read(
        self, across: Callable[[torch.Tensor], torch.Tensor] | None = None
    ) -> list[dict[str, float]]:
        """The terms of each batch since the last read; waits for the device.

        `across` takes the mean over processes.
        """
        rows = self._rows[: self._n]  # (n_batches, n_terms)
        rows = across(rows) if across is not None and self._n else rows
        self._n = 0
        return [dict(zip(self.names, row, strict=True)) for row in rows.tolist()]

    def _begin(self, terms: Mapping[str, torch.Tensor]) -> None:
        if LOSS not in terms:
            raise ConfigError(f"a step must give a term {LOSS!r}, got {list(terms)}")
        self.names = tuple(terms)
        shape = (self.capacity, len(self.names))
        self._rows = torch.zeros(shape, device=terms[LOSS].device)


def first_not_finite(rows: list[dict[str, float]]) -> tuple[int, dict[str, float]] | None:
    """(batch, its bad terms) of the first batch with a term that is infinite or not a number."""
    for i, row in enumerate(rows):
        bad = {name: value for name, value in row.items() if not math.isfinite(value)}
        if bad:
            return i, bad
    return None
