"""Supervisor: reads the loss of a run now and then, shows progress, saves, and stops in time.

Reading the loss waits for the device, so it is checked seldom: every `log_every` batches, at the
end of an epoch, and every two seconds if steps are slow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from multitudes.deep.training.checkpoint import CURRENT, DIVERGED, Checkpoint
from multitudes.deep.training.forecast import Forecast
from multitudes.deep.training.history import LossTerms, first_not_finite
from multitudes.deep.training.process import Interrupt
from multitudes.deep.training.run import Position, Run
from multitudes.errors import TrainingError, require
from multitudes.progress import Task, speaks_in_flags

SECONDS_BETWEEN_CHECKS = 2.0
# Part of the time since the last checkpoint that one at the end of an epoch may take.
CHECKPOINT_SHARE = 0.05


class Curves:
    """The curves of a run for TensorBoard; without a writer nothing is kept."""

    def __init__(self, writer: Any = None) -> None:
        self._writer = writer

    def add(self, values: Mapping[str, float], step: int, *, group: str) -> None:
        """Add a point to the curve ``group/name`` of each value; `step` counts batches."""
        if self._writer is not None:
            for name, value in values.items():
                self._writer.add_scalar(f"{group}/{name}", value, step)


@contextmanager
def tensorboard_curves(folder: str | None) -> Iterator[Curves]:
    """Write curves to a folder, as TensorBoard's event files; None keeps none."""
    if folder is None:
        yield Curves()
        return
    require("tensorboard", extra="tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder)
    try:
        yield Curves(writer)
    finally:
        writer.close()


class Supervisor:
    """Checks a run in progress; see the module."""

    def __init__(
        self,
        run: Run[Any],
        *,
        checkpoint: Checkpoint | None,
        interrupt: Interrupt,
        task: Task,
        curves: Curves,
        forecast: Forecast,
    ) -> None:
        self.run, self.checkpoint, self.interrupt = run, checkpoint, interrupt
        self.task, self.curves, self.forecast = task, curves, forecast
        self.terms = LossTerms(run.config.log_every + run.config.accumulate)
        self.metrics: Mapping[str, float] = {}
        self.write_seconds = 0.0
        self.saved_at = self.checked_at = time.monotonic()

    def is_due(self) -> bool:
        """Whether to check now. Several processes check together, so they go by batches alone."""
        if len(self.terms) >= self.run.config.log_every:
            return True
        slow = time.monotonic() - self.checked_at > SECONDS_BETWEEN_CHECKS
        return self.run.n_processes == 1 and slow

    def resume_clock(self) -> None:
        """Do not count the time since the last check as training."""
        self.checked_at = time.monotonic()

    def check(self) -> None:
        """Read the loss terms, check and show them; stop or save if it is time."""
        run = self.run
        rows = self.terms.read(self._mean if run.n_processes > 1 else None)
        bad = first_not_finite(rows)
        if bad is not None:
            behind = len(rows) - 1 - bad[0]
            self._give_up(bad[1], Position(run.position.epoch, run.position.batch - behind))
        run.record.add(rows)
        self._show(rows)
        self.forecast.check()
        self.checked_at = time.monotonic()
        self._stop_or_save()

    def end_epoch(self, metrics: Mapping[str, float]) -> None:
        """Show the validation metrics, and save if that is cheap."""
        run = self.run
        if metrics:
            self.metrics = metrics
            self.curves.add(metrics, run.position.epoch * run.batches.per_epoch, group="validation")
        elapsed = time.monotonic() - self.saved_at
        cheap = self.write_seconds <= CHECKPOINT_SHARE * elapsed
        self._stop_or_save(due=cheap or run.is_over)

    def _show(self, rows: list[dict[str, float]]) -> None:
        run, record = self.run, self.run.record
        record.seconds += time.monotonic() - self.checked_at
        per_batch = run.batches.n_instances / run.batches.per_epoch
        done = record.n_batches * per_batch
        record.instances_per_second = done / max(record.seconds, 1e-9)
        if not rows or not run.accelerator.is_main_process:
            return
        means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        step = run.position.epoch * run.batches.per_epoch + run.position.batch
        self.curves.add(means, step, group="train")
        speeds = {
            "learning_rate": record.learning_rate,
            "instances_per_second": record.instances_per_second,
        }
        self.curves.add(speeds, step, group="speed")
        shown = [f"{name} {value:.4g}" for name, value in {**means, **self.metrics}.items()]
        self.task.note(f"epoch {run.position.epoch + 1}/{run.config.epochs}: {', '.join(shown)}")
        self.task.advance(len(rows) / run.batches.per_epoch)

    def _stop_or_save(self, *, due: bool = False) -> None:
        if self.checkpoint is None:
            return
        minutes = (time.monotonic() - self.saved_at) / 60
        due = due or minutes >= self.run.config.checkpoint_minutes
        stop, due = self._agreed(self.interrupt.requested, due)
        if stop or due:
            self.save()
        if stop:
            same = "command" if speaks_in_flags() else "call with the same folder"
            raise KeyboardInterrupt(
                f"training was stopped at {place_of(self.run)} and saved in "
                f"{self.checkpoint.path}: the same {same} goes on from there"
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
        self.checked_at += self.write_seconds  # no time of training

    def _write(self, name: str) -> None:
        assert self.checkpoint is not None
        parts = self.run.state()
        if self.run.accelerator.is_main_process:
            self.checkpoint.write(parts, name=name)
        self.run.accelerator.wait_for_everyone()

    def _give_up(self, bad: Mapping[str, float], position: Position) -> None:
        if self.checkpoint is not None:
            self._write(DIVERGED)
        raise _diverged(self.run, bad, position, self.checkpoint)

    def _mean(self, rows: torch.Tensor) -> torch.Tensor:
        mean: torch.Tensor = self.run.accelerator.reduce(rows, "mean")
        return mean

    def _agreed(self, stop: bool, due: bool) -> tuple[bool, bool]:
        """All processes stop if one of them is to, and save when the first one is due."""
        accelerator = self.run.accelerator
        if self.run.n_processes == 1:
            return stop, due
        flags = torch.tensor([stop, due and accelerator.is_main_process], dtype=torch.float32).to(
            accelerator.device
        )
        stop_votes, due_votes = accelerator.reduce(flags, "sum").tolist()
        return stop_votes > 0, due_votes > 0


def place_of(run: Run[Any], position: Position | None = None) -> str:
    """A position in a run, by default the current one, counted from 1."""
    position = position or run.position
    if position.epoch > 0 and position.batch == 0:
        return f"the end of epoch {position.epoch} of {run.config.epochs}"
    return (
        f"epoch {position.epoch + 1} of {run.config.epochs}, "
        f"batch {position.batch} of {run.batches.per_epoch}"
    )


def _diverged(
    run: Run[Any], bad: Mapping[str, float], position: Position, checkpoint: Checkpoint | None
) -> TrainingError:
    """The error for loss terms or weights that are infinite or not a number."""
    terms = ", ".join(f"{name} = {value}" for name, value in bad.items())
    kept = ""
    if checkpoint is not None:
        kept = f"; the weights as they are now are in {checkpoint.path / DIVERGED}"
        if checkpoint.exists():
            kept += f", the last good ones in {checkpoint.path / CURRENT}"
    advice = [f"a learning_rate below {run.config.learning_rate:g}"]
    advice += ["a limit on the gradient, e.g. clip=1.0"] if run.config.clip is None else []
    if run.accelerator.mixed_precision != "no":
        advice.append(f"precision='float32' instead of {run.accelerator.mixed_precision!r}")
    return TrainingError(
        f"training stopped at {place_of(run, position)}, because a number was not finite: {terms}"
        f"{kept}; begin again with {' or '.join(advice)}"
    )


def _not_finite(model: torch.nn.Module) -> str | None:
    """The first parameter with a value that is not finite."""
    good = {name: value.detach().isfinite().all() for name, value in model.named_parameters()}
    if not good:
        return None
    # One copy for all on the device; tables may be in the host's memory.
    device = next(model.parameters()).device
    found = torch.stack([is_good.to(device) for is_good in good.values()]).tolist()
    return next((name for name, is_good in zip(good, found, strict=True) if not is_good), None)
