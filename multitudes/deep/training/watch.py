"""The look at a run every now and then: loss, progress, Ctrl-C, checkpoints.

A look waits for the device, so there are few: every `log_every` batches, at the end of an epoch,
and where steps are slow every two seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch

from multitudes.deep.training.checkpoint import CURRENT, DIVERGED, Checkpoint
from multitudes.deep.training.failures import diverged, where
from multitudes.deep.training.interrupt import Interrupt
from multitudes.deep.training.loss_terms import LossTerms, first_not_finite
from multitudes.deep.training.run import Position, Run
from multitudes.deep.training.tensorboard import Events
from multitudes.progress import Task

SECONDS_BETWEEN_LOOKS = 2.0
# A checkpoint at the end of an epoch may cost one part in so many of the time since the last one.
EPOCHS_SHARE = 20


class Watch:
    """Keeps an eye on a run."""

    def __init__(
        self,
        run: Run[Any],
        *,
        checkpoint: Checkpoint | None,
        interrupt: Interrupt,
        task: Task,
        events: Events,
    ) -> None:
        self.run, self.checkpoint, self.interrupt = run, checkpoint, interrupt
        self.task, self.events = task, events
        self.terms = LossTerms(run.config.log_every + run.config.accumulate)
        self.metrics: Mapping[str, float] = {}
        self.write_seconds = 0.0
        self.saved_at = self.looked_at = time.monotonic()

    def is_due(self) -> bool:
        """Whether to look now. Several processes look together, so they go by batches alone."""
        if len(self.terms) >= self.run.config.log_every:
            return True
        slow = time.monotonic() - self.looked_at > SECONDS_BETWEEN_LOOKS
        return self.run.n_processes == 1 and slow

    def resume_clock(self) -> None:
        """Training goes on after something that is not training."""
        self.looked_at = time.monotonic()

    def look(self) -> None:
        """Read the loss terms, check and show them; stop or save if it is time."""
        run = self.run
        rows = self.terms.read(self._mean if run.n_processes > 1 else None)
        bad = first_not_finite(rows)
        if bad is not None:
            behind = (len(rows) - 1 - bad[0]) * run.n_processes
            self._give_up(bad[1], Position(run.position.epoch, run.position.batch - behind))
        run.record.add(rows)
        self._show(rows)
        self.looked_at = time.monotonic()
        self._stop_or_save()

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Show what validation gave, and save where that costs little."""
        run = self.run
        if metrics:
            self.metrics = metrics
            self.events.add(metrics, run.position.epoch * run.batches.per_epoch, group="validation")
        elapsed = time.monotonic() - self.saved_at
        cheap = elapsed >= EPOCHS_SHARE * self.write_seconds
        self._stop_or_save(due=cheap or run.is_over)

    def _show(self, rows: list[dict[str, float]]) -> None:
        run, record = self.run, self.run.record
        record.seconds += time.monotonic() - self.looked_at
        per_batch = run.batches.n_instances / run.batches.per_epoch
        n_batches = len(rows) * run.n_processes
        done = record.n_batches * run.n_processes * per_batch
        record.instances_per_second = done / max(record.seconds, 1e-9)
        if not rows or not run.accelerator.is_main_process:
            return
        means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        step = run.position.epoch * run.batches.per_epoch + run.position.batch
        self.events.add(means, step, group="train")
        speeds = {
            "learning_rate": record.learning_rate,
            "instances_per_second": record.instances_per_second,
        }
        self.events.add(speeds, step, group="speed")
        shown = [f"{name} {value:.4g}" for name, value in {**means, **self.metrics}.items()]
        self.task.note(f"epoch {run.position.epoch + 1}/{run.config.epochs}: {', '.join(shown)}")
        self.task.advance(n_batches * per_batch)

    def _stop_or_save(self, *, due: bool = False) -> None:
        if self.checkpoint is None:
            return
        minutes = (time.monotonic() - self.saved_at) / 60
        due = due or minutes >= self.run.config.checkpoint_minutes
        stop, due = self._agreed(self.interrupt.requested, due)
        if stop or due:
            self.save()
        if stop:
            raise KeyboardInterrupt(
                f"training was stopped at {where(self.run)} and saved in "
                f"{self.checkpoint.path}: the same call with the same folder goes on from there"
            )

    def save(self) -> None:
        """Write a checkpoint now; weights that are not finite never replace good ones."""
        assert self.checkpoint is not None
        began = time.monotonic()
        bad = _not_finite(self.run.model)
        if bad is not None:
            self._give_up({bad: float("nan")}, self.run.position)
        self._write(CURRENT)
        self.saved_at = time.monotonic()
        self.write_seconds = self.saved_at - began
        self.looked_at += self.write_seconds  # no time of training

    def _write(self, name: str) -> None:
        assert self.checkpoint is not None
        parts = self.run.state()
        if self.run.accelerator.is_main_process:
            self.checkpoint.write(parts, name=name)
        self.run.accelerator.wait_for_everyone()

    def _give_up(self, bad: Mapping[str, float], position: Position) -> None:
        if self.checkpoint is not None:
            self._write(DIVERGED)
        raise diverged(self.run, bad, position, self.checkpoint)

    def _mean(self, rows: torch.Tensor) -> torch.Tensor:
        mean: torch.Tensor = self.run.accelerator.reduce(rows, "mean")
        return mean

    def _agreed(self, stop: bool, due: bool) -> tuple[bool, bool]:
        """All processes stop if one was told to, and save when the first one says so."""
        accelerator = self.run.accelerator
        if self.run.n_processes == 1:
            return stop, due
        flags = torch.tensor([stop, due and accelerator.is_main_process], dtype=torch.float32).to(
            accelerator.device
        )
        stop_votes, due_votes = accelerator.reduce(flags, "sum").tolist()
        return stop_votes > 0, due_votes > 0


def _not_finite(model: torch.nn.Module) -> str | None:
    """The first parameter with a value that is not finite."""
    named = dict(model.named_parameters())
    if not named:
        return None
    good = torch.stack([value.detach().isfinite().all() for value in named.values()]).tolist()
    return next((name for name, is_good in zip(named, good, strict=True) if not is_good), None)
