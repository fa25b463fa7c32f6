"""What a run has to tell: one record for each epoch, the best of them, and when to stop."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from multitudes.errors import ConfigError, suggestion


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
        What validation gave; empty where there was none.
    seconds : float
        Time of training, without validation and checkpoints.
    instances_per_second : float
    learning_rate : float
        Of the last step.
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
        """Whether the last `patience` validations were none of them the best."""
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
